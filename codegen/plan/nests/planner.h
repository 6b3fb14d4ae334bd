/* A plan being made: what the steps of planning share. codegen/plan/plan.h says what they are. */
#ifndef KN_CODEGEN_PLANNER_H
#define KN_CODEGEN_PLANNER_H

#include "codegen/plan/plan.h"
#include "codegen/sched/bind.h"

/* A plan being made. Raw phases refer to buffers, extents and graph inputs (scalars) of the planner; assembly
 * gives each kernel its own lists. */
typedef struct kn_planner {
    kn_arena *arena;
    const kn_problem *problem;
    const kn_regions *regions;
    KN_VEC(kn_buf) bufs;
    KN_VEC(int) align; /* of the first buffers, in bytes: kn_planner_site() */
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

/* codegen/plan/build.c: the plan of the refined problem with these loop nests; `base` has what is there of it already. */
kn_status kn_plan_with(kn_arena *a, const kn_problem *problem, kn_regions *regions,
                       const kn_plan *base, kn_plan **plan);
/* codegen/plan/build.c: a problem as it is given becomes one of a graph of its own, refined. */
kn_status kn_problem_refine(kn_arena *a, kn_problem *problem);
/* codegen/plan/partition.c: the plan of a problem, which is fused, with the loop nests that are predicted to take the least
 * time; `refined` is the same problem, refined. */
kn_status kn_partition_plan(kn_arena *a, const kn_problem *problem, const kn_problem *refined,
                            const kn_plan *base, kn_plan **plan);
/* codegen/plan/bound.c: nanoseconds that no plan is predicted to be quicker than whose loop nests are these parts. Per node: the
 * first node of its part; -1 where it is no value. */
double kn_partition_bound(kn_arena *a, const kn_graph *g, const int *part_of, const int64_t *sizes,
                          const kn_target *target);
/* codegen/plan/nests/lower.c. Stops with KN_OK and p->blocked set when an input must be made compact first. */
kn_status kn_lower(kn_planner *p);
/* codegen/plan/nests/place.c: buf_of_node and again. */
void kn_place_values(kn_planner *p);
/* codegen/plan/nests/planner.c: what binding goes by, of the planner's arrays or of a kernel's; a new temporary, and its number among
 * the buffers. */
kn_site kn_planner_site(kn_planner *p);
kn_site kn_kernel_site(const kn_planner *p, const kn_kernel *k);
int kn_planner_temp(kn_planner *p, kn_dtype dtype, const char *name, int64_t count);
/* codegen/plan/nests/locate.c: where a node's elements are: an argument, a temporary, or a view of one of them. False when a view
 * cannot be expressed by strides (p->blocked says which). */
bool kn_locate(kn_planner *p, const kn_node *n, int *buf, kn_layout *out);
/* codegen/plan/nests/layout.c: the layout of a view of a buffer; false when it is not expressible as strides. */
bool kn_layout_reshape(const kn_layout *from, const int64_t *shape, int rank, kn_layout *to);
/* codegen/plan/form/instead.c: a value at the end of a raw phase, one of two operands, its stage found. */
int kn_add_value(kn_planner *p, kn_phase *phase, kn_value v);
int kn_add_elem(kn_planner *p, kn_phase *phase, kn_op op, kn_dtype dtype, int a, int b);
/* Writes a raw phase's values anew: behind the result of reduction `red` comes what `make` adds, which stands for it
 * in all that follows, reductions and stores. `to` has the new places of the values before. */
typedef int (*kn_instead_fn)(kn_planner *p, kn_phase *phase, int result, const int *to, void *ctx);
void kn_instead_of_result(kn_planner *p, kn_phase *phase, int red, kn_instead_fn make, void *ctx);
/* codegen/plan/form/moments.c: sum((x - mean)**2) of a raw phase without cancellation, in one sweep with sum(x) or in the
 * one behind. True if it had any. */
bool kn_use_moments(kn_planner *p, kn_phase *phase, bool one_sweep);
/* codegen/plan/form/online.c: max(x) and sum(exp(x - max)) of a raw phase in one sweep. True if it had any. */
bool kn_use_online(kn_planner *p, kn_phase *phase);
/* codegen/plan/form/narrow.c: GPU targets. */
void kn_narrow_indices(kn_planner *p, kn_phase *phase);
/* A phase without axes of one element, with the walk and the vectors it would have: to decide by. preview.c */
kn_phase kn_preview(kn_planner *p, const kn_phase *phase);
/* Partial results of a phase's reductions of stage 0 that another phase leaves: how many of each, compact over the
 * phase's group axes one behind the other, and their buffers, per reduction. */
typedef struct kn_partials {
    int64_t n;
    const int *buf;
} kn_partials;
/* preview.c: the ranges that the members of a phase as it was previewed are split into. */
kn_range kn_preview_splits(const kn_planner *p, const kn_phase *phase);
/* Where every group of a phase stays on chip, so that sweeps are cheap; NONE if it does not. What a cluster could keep in
 * registers it has in shared memory. alone: would a block take all the shared memory of a multiprocessor, and more, for
 * elements of 32 bits at least? */
typedef struct kn_keeping {
    kn_keep keep;
    bool alone;
} kn_keeping;
/* preview.c: of phase `index`. Dear: ask where it decides something. */
kn_keeping kn_preview_keep(kn_planner *p, int index);
/* codegen/plan/pass/spread.c: an operand of v that has no copy yet (copy_of, per value, is negative), or -1. */
int kn_uncopied(const kn_value *v, const int *copy_of);
/* codegen/plan/pass/spread.c: replaces phase `index` by its split form; `made`: its partial results of stage 0, or NULL. */
void kn_spread(kn_planner *p, int index, kn_range members, const kn_partials *made);
/* codegen/plan/pass/spread.c: the groups of a raw phase, and a compact array over them. */
int64_t kn_count_groups(const kn_phase *phase);
kn_access kn_over_groups(const kn_phase *phase, int buf);
/* codegen/plan/pass/part.c: raw phase `index` in two, if it waits for what phases [from, index) store and no reduction of it
 * does: its reductions, and its stores, which read their results. They go through new temporaries. */
bool kn_part_phase(kn_planner *p, int index, int from, kn_phase *head, kn_phase *tail);
/* codegen/plan/pass/local.c: a phase becomes number `at`, of a region. */
void kn_insert_phase(kn_planner *p, int at, kn_phase phase, int region);
/* Passes over the raw phases, each in codegen/plan/pass/ by its name. */
void kn_pass_moments(kn_planner *p);
void kn_pass_online(kn_planner *p);
void kn_pass_cross(kn_planner *p);
void kn_pass_spread(kn_planner *p);
void kn_pass_local(kn_planner *p);
/* codegen/plan/pass/table.c: all of them in order; what is left after each is verified, counted and recorded. */
kn_status kn_run_passes(kn_planner *p, kn_plan *plan);
/* codegen/plan/form/normalise.c: a phase, the last of n, and the local ones that it is the host of. keep_ones: kernels are
 * compiled, and a size that is 1 shall need no other than 2. */
void kn_normalise(kn_arena *arena, kn_phase *phases, int n, bool keep_ones);
/* codegen/plan/assemble.c: p->phases into plan->kernels. */
kn_status kn_assemble(kn_planner *p, kn_plan *plan);
/* codegen/plan/workspace.c: plan->temporaries, plan->workspace, and the offsets in it. */
void kn_place_temporaries(kn_planner *p, kn_plan *plan);

#endif
