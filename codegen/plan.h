/* From regions to kernels: everything between the optimised graph and source text.
 *
 *   place      what goes through memory between regions, and what is computed again where it is read
 *   lower      regions -> raw phases: values, reductions, stores, strides along every axis of the region
 *   moments    mean and centred squares: without cancellation, and in one sweep where a group does not stay within a
 *              block
 *   online     maximum and sum of exponentials likewise
 *   cross      reductions along the columns of an array in the sweep that reduces its rows
 *   spread     a reduction with too few groups for the machine becomes split phases and finishing ones
 *   local      small reductions by each block for itself instead of once behind a grid barrier
 *   normalise  axes ordered by memory, neighbours that every array walks as one collapsed
 *   schedule   walk, threads a group, vector width (codegen/sched)
 *   assemble   kernels: barriers, parameter kinds, the canonical key
 *   workspace  temporaries that do not live at the same time share memory
 *
 * What a program is parted into is decided by predicted time: codegen/partition.c plans other partitions too where one of
 * them may be quicker.
 *
 * A pure function of the problem: no device, no environment, no clock. */
#ifndef KN_CODEGEN_PLAN_H
#define KN_CODEGEN_PLAN_H

#include "codegen/census.h"
#include "codegen/force.h"
#include "codegen/kir.h"
#include "codegen/target.h"
#include "ir/interp.h"
#include "ir/pass/pass.h"
#include "ir/region.h"

/* An argument's place in memory: strides in elements; align: the largest power of two up to 16 that
 * divides its address. */
typedef struct kn_layout {
    int rank;
    int64_t shape[KN_MAX_RANK], stride[KN_MAX_RANK];
    int64_t offset; /* of element (0, 0, ...), in elements */
    int align;
} kn_layout;

/* What is tried in place of the planner's own choices. Nodes are those of the refined graph. */
typedef struct kn_choices {
    const kn_merge *merges; /* of loop nests: kn_regions_form_by() */
    int nmerges;
    const kn_reuse
        *reuse; /* per node: of what crosses from one loop nest to another; NULL: all by cost */
} kn_choices;

typedef struct kn_problem {
    kn_graph *graph;      /* optimised */
    const int64_t *sizes; /* per symbol */
    const kn_layout *in;  /* per graph input */
    const kn_layout *out; /* per graph output */
    const int *over; /* per graph input: the output that lies exactly on it, or -1. NULL: none */
    const kn_target *target;
    bool fusion;
    kn_force force;
    bool fast; /* fast_math */
    /* Kernels that rely on nothing: of every size, stride, alignment and overlap, one each. */
    bool universal;
    const kn_choices *choices; /* NULL: the planner's own */
} kn_problem;

/* A step of planning and what it left. */
typedef struct kn_plan_step {
    const char *name, *what;
    kn_census after;
} kn_plan_step;

typedef struct kn_plan {
    kn_arena *arena;
    KN_VEC(kn_kernel *) kernels; /* in order */
    int64_t workspace;           /* bytes, at the peak; temporaries are at kn_buf.offset in it */
    kn_census before, after;     /* one stage an operation; as planned */
    KN_VEC(kn_plan_step) steps;  /* from the one to the other, in order */
    KN_VEC(kn_buf) temporaries;  /* those that a kernel touches */
    const int64_t *sizes;        /* per symbol of the graph */
    const kn_regions *regions;
    const bool *again;    /* per node of regions->graph: other loop nests compute it again */
    double ns;            /* predicted: codegen/predict.h */
    int tried;            /* plans that were compared, this one included; 0: none */
    const char *schedule; /* "whole", "cluster", "split", "resident" or "tiles" */
} kn_plan;

/* Arena memory; the plan lives as long as `a`. Several threads may plan the same graph, which stays as it is. */
kn_status kn_plan_make(kn_arena *a, const kn_problem *problem, kn_plan **plan);

/* What running a plan takes of it, in `a`, which shares nothing with the plan's arena: its kernels, whose extents have no
 * dimensions then, its workspace, and what the kernels move. codegen/plan_keep.c */
kn_plan *kn_plan_keep(kn_arena *a, const kn_plan *plan);

/* May `output` be written over `input`, of the same address, shape, strides and element size, without a copy?
 * Yes when whoever stores an element has read it and nobody reads it later. codegen/alias.c */
bool kn_plan_in_place(kn_arena *a, const kn_plan *plan, int input, int output);

/* ---- between the files of codegen/ ---- */

/* A plan being made. Raw phases refer to buffers, extents and graph inputs (scalars) of the planner; assembly
 * gives each kernel its own lists. */
typedef struct kn_planner {
    kn_arena *arena;
    const kn_problem *problem;
    const kn_regions *regions;
    KN_VEC(kn_buf) bufs;
    KN_VEC(int) align; /* per buffer, at least: what previews take for its alignment */
    KN_VEC(kn_extent_param) extents;
    KN_VEC(kn_phase) phases;
    KN_VEC(int)
    region_of;          /* per phase: its region's number, for one kernel a region when unfused */
    int *buf_of_node;   /* per graph node: buffer of a value that goes through memory; -1 */
    bool *again;        /* per graph node: other regions compute it again */
    int *buf_of_input;  /* per graph input; -1 for by-value ones */
    int *buf_of_output; /* per graph output */
    int *output_of;     /* per graph node: the first output that it is, or -1 */
    int *next_output;   /* per graph output: the next one that the same node is, or -1 */
    const kn_node *blocked; /* a regrouping reshape that these strides do not allow as a view */
} kn_planner;

/* codegen/plan.c: the plan of the refined problem with these loop nests; `base` has what is there of it already. */
kn_status kn_plan_with(kn_arena *a, const kn_problem *problem, kn_regions *regions,
                       const kn_plan *base, kn_plan **plan);
/* codegen/partition.c: the plan of the refined problem, which is fused, with the loop nests that are predicted to take the
 * least time. */
kn_status kn_partition(kn_arena *a, const kn_problem *problem, const kn_plan *base, kn_plan **plan);
/* codegen/bound.c: nanoseconds that no plan is predicted to be quicker than whose loop nests are these parts. Per node: the
 * first node of its part; -1 where it is no value. */
double kn_partition_bound(kn_arena *a, const kn_graph *g, const int *part_of, const int64_t *sizes,
                          const kn_target *target);
/* codegen/lower.c. Stops with KN_OK and p->blocked set when an input must be made compact first. */
kn_status kn_lower(kn_planner *p);
/* codegen/place.c: buf_of_node and again. */
void kn_place_values(kn_planner *p);
int kn_planner_temp(kn_planner *p, kn_dtype dtype, const char *name, int64_t count);
/* codegen/locate.c: where a node's elements are: an argument, a temporary, or a view of one of them. False when a view
 * cannot be expressed by strides (p->blocked says which). */
bool kn_locate(kn_planner *p, const kn_node *n, int *buf, kn_layout *out);
/* codegen/layout.c: the layout of a view of a buffer; false when it is not expressible as strides. */
bool kn_layout_reshape(const kn_layout *from, const int64_t *shape, int rank, kn_layout *to);
/* Gives axes of one element, whose strides do not matter, those of a compact array: what follows from strides is
 * then the same as for other sizes. */
void kn_layout_ones(kn_layout *layout);
/* codegen/dead.c: without the values and reductions of a raw phase that no store and no export needs. */
void kn_drop_dead(kn_arena *arena, kn_phase *phase);
/* codegen/pass/instead.c: a value at the end of a raw phase, one of two operands, its stage found. */
int kn_add_value(kn_planner *p, kn_phase *phase, kn_value v);
int kn_add_elem(kn_planner *p, kn_phase *phase, kn_op op, kn_dtype dtype, int a, int b);
/* Writes a raw phase's values anew: behind the result of reduction `red` comes what `make` adds, which stands for it
 * in all that follows, reductions and stores. `to` has the new places of the values before. */
typedef int (*kn_instead_fn)(kn_planner *p, kn_phase *phase, int result, const int *to, void *ctx);
void kn_instead_of_result(kn_planner *p, kn_phase *phase, int red, kn_instead_fn make, void *ctx);
/* codegen/pass/moments.c: sum((x - mean)**2) of a raw phase without cancellation, in one sweep with sum(x) or in the
 * one behind. */
void kn_use_moments(kn_planner *p, kn_phase *phase, bool one_sweep);
/* codegen/pass/online.c: max(x) and sum(exp(x - max)) of a raw phase in one sweep. True if it had any. */
bool kn_use_online(kn_planner *p, kn_phase *phase);
/* codegen/pass/narrow.c: GPU targets. */
void kn_narrow_indices(kn_planner *p, kn_phase *phase);
/* A phase without axes of one element, with the walk and the vectors it would have: to decide by. plan.c */
kn_phase kn_preview(kn_planner *p, const kn_phase *phase);
/* `n` ranges of `length` each, the last perhaps shorter. */
typedef struct kn_range {
    int64_t n, length;
    bool resident; /* each for a block that keeps on chip what it loads of it */
} kn_range;
/* Partial results of a phase's reductions of stage 0 that another phase leaves: how many of each, compact over the
 * phase's group axes one behind the other, and their buffers, per reduction. */
typedef struct kn_partials {
    int64_t n;
    const int *buf;
} kn_partials;
/* plan.c: the ranges that the members of a phase as it was previewed are split into. */
kn_range kn_preview_splits(const kn_planner *p, const kn_phase *phase);
/* plan.c: where every group of phase `index` stays on chip, so that sweeps are cheap; NONE if it does not. What a cluster
 * could keep in registers it has in shared memory. */
kn_keep kn_preview_keep(kn_planner *p, int index);
/* The same: would a block take all the shared memory of a multiprocessor, and more, for elements of 32 bits at least? */
bool kn_preview_alone(kn_planner *p, int index);
/* codegen/pass/spread.c: an operand of v that has no copy yet (copy_of, per value, is negative), or -1. */
int kn_uncopied(const kn_value *v, const int *copy_of);
/* codegen/pass/spread.c: replaces phase `index` by its split form; `made`: its partial results of stage 0, or NULL. */
void kn_spread(kn_planner *p, int index, kn_range members, const kn_partials *made);
/* codegen/pass/spread.c: the groups of a raw phase, and a compact array over them. */
int64_t kn_count_groups(const kn_phase *phase);
kn_access kn_over_groups(const kn_phase *phase, int buf);
/* codegen/pass/part.c: raw phase `index` in two, if it waits for what phases [from, index) store and no reduction of it
 * does: its reductions, and its stores, which read their results. They go through new temporaries. */
bool kn_part_phase(kn_planner *p, int index, int from, kn_phase *head, kn_phase *tail);
/* codegen/pass/local.c: a phase becomes number `at`, of a region. */
void kn_insert_phase(kn_planner *p, int at, kn_phase phase, int region);
/* codegen/pass/local.c: bytes that a phase loads; INT64_MAX if they are as many or more. */
int64_t kn_phase_bytes_read(const kn_phase *phase, const kn_buf *bufs);
/* Passes over the raw phases, each in codegen/pass/ by its name. */
void kn_pass_moments(kn_planner *p);
void kn_pass_online(kn_planner *p);
void kn_pass_cross(kn_planner *p);
void kn_pass_spread(kn_planner *p);
void kn_pass_local(kn_planner *p);
/* codegen/pass/table.c: all of them in order; what is left after each is verified, counted and recorded. */
kn_status kn_run_passes(kn_planner *p, kn_plan *plan);
/* codegen/pass/normalise.c: a phase, the last of n, and the local ones that it is the host of. keep_ones: kernels are
 * compiled, and a size that is 1 shall need no other than 2. */
void kn_normalise(kn_arena *arena, kn_phase *phases, int n, bool keep_ones);
/* codegen/pass/normalise.c: of a phase that has no local ones. */
void kn_swap_axes(kn_phase *phase, int a, int b);
/* codegen/assemble.c: what was written since the last barrier: buffers b whose at[b] is `since`. */
typedef struct kn_written {
    int since, *at;
} kn_written;
kn_written kn_nothing_written(kn_arena *a, int nbufs);
/* codegen/assemble.c: is there a barrier in front of phase i, since it, or a local phase of it, reads what was written
 * since the last one? Then nothing is any more; what it writes is. */
bool kn_phase_waits(const kn_phase *phases, int i, kn_written *written);
/* codegen/assemble.c: nsweeps, and how many sweeps need each value. */
void kn_count_sweeps(kn_arena *arena, kn_phase *phase);
/* codegen/assemble.c: p->phases into plan->kernels. */
kn_status kn_assemble(kn_planner *p, kn_plan *plan);
/* codegen/sums.c: of a kernel whose last phase is the last block's. */
void kn_sums_by_words(kn_kernel *k);
/* codegen/workspace.c: plan->temporaries, plan->workspace, and the offsets in it. */
void kn_place_temporaries(kn_planner *p, kn_plan *plan);
/* The access that stands for the phase's data, the one that varies along the most axes: among the stores of a
 * phase without reductions, else among the loads. NULL if there is none. */
const kn_access *kn_phase_primary(const kn_phase *phase);

#endif
