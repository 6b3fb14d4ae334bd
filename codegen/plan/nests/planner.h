/* A plan being made: what the steps of planning share. codegen/plan/plan.h lists the steps. */
#ifndef KN_CODEGEN_PLANNER_H
#define KN_CODEGEN_PLANNER_H

#include "codegen/plan/plan.h"
#include "codegen/sched/bind.h"

/* Raw phases refer to buffers, extents and graph inputs (scalars) of the planner; assembly gives each kernel its own
 * lists. */
typedef KN_VEC(kn_buf) kn_bufs;
typedef KN_VEC(kn_extent_param) kn_extent_params;
typedef KN_VEC(kn_phase) kn_phases;

typedef KN_VEC(int) kn_layouts; /* types and alignments of buffers */
/* Raw phases, local ones and their host, and what they look like normalised and shaped. */
typedef struct kn_shaped {
    const kn_phase *raw, *phases;
    int n;
    bool alone;
    kn_layouts layouts;
    bool divided; /* ranges are known */
    kn_range ranges;
} kn_shaped;
/* Those that were asked for, so that nothing is shaped twice. They decide nothing. */
typedef struct kn_shapes {
    kn_arena *arena;
    KN_VEC(kn_shaped *) list;
    kn_finder found;
} kn_shapes;

typedef struct kn_planner {
    kn_arena *arena;
    const kn_problem *problem;
    const kn_regions *regions;
    kn_bufs bufs;
    KN_VEC(int) align; /* alignment in bytes of the first buffers: kn_planner_site() */
    kn_extent_params extents;
    kn_phases phases;
    int exports;           /* of local phases */
    KN_VEC(int) region_of; /* per phase: its region; an unfused plan has a kernel for each */
    /* per graph node: the buffer of a value that goes through memory; -1: none */
    int *buf_of_node;
    bool *again;        /* per graph node: other regions rematerialise it */
    int *buf_of_input;  /* per graph input; -1 for by-value ones */
    int *buf_of_output; /* per graph output */
    int *output_of;     /* per graph node: the first output that it is; -1: none */
    int *next_output;   /* per graph output: the next one that is the same node; -1: none */
    /* a reshape that these strides do not allow as a view */
    const kn_node *blocked;
    kn_shapes *shapes;
} kn_planner;

/* codegen/plan/build.c: the plan of the refined problem with these regions; `base` has the steps so far. */
kn_status kn_plan_with(kn_arena *a, const kn_problem *problem, kn_regions *regions,
                       const kn_plan *base, kn_plan **plan);
/* codegen/plan/build.c: lowers these regions of the refined problem, of which the planner has a copy. */
kn_status kn_plan_lower(kn_arena *a, const kn_problem *problem, kn_regions *regions, kn_planner *p);
/* codegen/plan/build.c: gives the problem a graph of its own, refined. */
kn_status kn_problem_refine(kn_arena *a, kn_problem *problem);
/* codegen/plan/partition.c: the plan of a problem, fused, with the regions of the least predicted time; `refined` is
 * the same problem, refined. */
kn_status kn_partition_plan(kn_arena *a, const kn_problem *problem, const kn_problem *refined,
                            const kn_plan *base, kn_plan **plan);
/* codegen/plan/bound.c: a lower bound on the predicted nanoseconds of any plan whose regions are these parts.
 * part_of[] per node: the first node of its part; -1: it is no value. */
typedef struct kn_bounding kn_bounding;
kn_bounding *kn_bounding_of(kn_arena *a, const kn_graph *g, const int64_t *sizes,
                            const kn_target *target);
double kn_partition_bound(const kn_bounding *bounds, const int *part_of);
/* codegen/plan/trial.c: what is planned for its predicted time alone. */
typedef struct kn_trial {
    const kn_regions *regions;
    const bool *again; /* per node: rematerialised */
    double ns;
    /* as it was lowered */
    const kn_graph *graph;
    bool fusion;
    kn_bufs bufs;
    kn_extent_params extents;
    kn_phases phases;
} kn_trial;
typedef struct kn_trials {
    kn_arena *arena, scratch;
    KN_VEC(kn_trial *) list; /* those that were lowered differently */
    kn_shapes shapes;
} kn_trials;
void kn_trials_begin(kn_trials *all, kn_arena *a);
kn_status kn_plan_try(kn_trials *all, const kn_problem *problem, kn_regions *regions,
                      const kn_trial **trial);
/* codegen/plan/nests/lower.c. Stops with KN_OK and p->blocked set when an input must be made compact first. */
kn_status kn_lower(kn_planner *p);
/* codegen/plan/nests/place.c: buf_of_node and again. */
void kn_place_values(kn_planner *p);
/* codegen/plan/nests/planner.c: what binding needs, with the planner's buffers or with a kernel's. */
kn_site kn_planner_site(kn_planner *p);
kn_site kn_kernel_site(const kn_planner *p, const kn_kernel *k);
/* codegen/plan/nests/planner.c: adds a temporary, and returns its number among the buffers. */
int kn_planner_temp(kn_planner *p, kn_dtype dtype, const char *name, int64_t count);
/* codegen/plan/nests/layout.c: the number of a node's elements. */
kn_dim kn_shape_elements(kn_planner *p, const kn_node *n);
/* codegen/plan/nests/locate.c: where a node's elements are: an argument, a temporary, or a view of one. False if
 * strides cannot express a view (p->blocked says which). */
bool kn_locate(kn_planner *p, const kn_node *n, int *buf, kn_layout *out);
/* codegen/plan/nests/layout.c: the layout of a reshaped view; false if strides cannot express it. */
bool kn_layout_reshape(const kn_layout *from, const int64_t *shape, int rank, kn_layout *to);
/* codegen/plan/nests/layout.c: the formulas of that, of the sizes of RESHAPE `n` and its operand; NULL if they are not the
 * same for all sizes. */
const kn_strides *kn_strides_reshape(kn_planner *p, const kn_node *n, const kn_strides *from);
/* codegen/plan/form/instead.c: adds a value, or an operation on two, at the end of a raw phase, and finds its stage and level. */
int kn_add_value(kn_planner *p, kn_phase *phase, kn_value v);
int kn_add_elem(kn_planner *p, kn_phase *phase, kn_op op, kn_dtype dtype, int a, int b);
/* Rewrites a raw phase's values: after each result of reduction `red` it adds what `make` makes of it, and all later
 * uses refer to that instead. to[] has the new numbers of the values before. */
typedef int (*kn_instead_fn)(kn_planner *p, kn_phase *phase, int result, const int *to, void *ctx);
void kn_instead_of_result(kn_planner *p, kn_phase *phase, int red, kn_instead_fn make, void *ctx);
/* codegen/plan/form/moments.c: sum((x - mean)**2) of a raw phase without cancellation: in the sweep of sum(x), or in
 * the next. False if it has none. */
bool kn_use_moments(kn_planner *p, kn_phase *phase, bool one_sweep);
/* codegen/plan/form/online.c: max(x) and sum(exp(x - max)) of a raw phase in one sweep. False if it has none. */
bool kn_use_online(kn_planner *p, kn_phase *phase);
/* codegen/plan/form/narrow.c: argmin and argmax in 32 bits, on GPUs. */
void kn_narrow_indices(kn_planner *p, kn_phase *phase);
/* codegen/plan/nests/shape.c: shapes n raw phases of the planner. */
kn_shaped *kn_shape(kn_planner *p, const kn_phase *phases, int n, bool alone);
/* codegen/plan/nests/preview.c: a phase by itself as it would be shaped, to base decisions on; and the ranges that its
 * members would be split into. */
kn_shaped *kn_preview(kn_planner *p, const kn_phase *phase);
kn_range kn_preview_splits(kn_planner *p, kn_shaped *preview);
/* Where groups of a phase stay on chip, so that further sweeps are cheap; NONE if any does not. What a cluster could
 * keep in registers counts as in shared memory. alone: would one of its blocks take all the shared memory of a
 * multiprocessor, with elements of at least 32 bits? */
typedef struct kn_keeping {
    kn_keep keep;
    bool alone;
} kn_keeping;
/* codegen/plan/nests/preview.c: where groups of phase `index` stay. It is expensive: call it only where a decision
 * depends on it. */
kn_keeping kn_preview_keep(kn_planner *p, int index);
/* codegen/plan/pass/spread.c: an operand of v whose copy_of[] is negative; -1: all have copies. */
int kn_uncopied(const kn_value *v, const int *copy_of);
/* Partial results of a phase's stage-0 reductions that another phase stores: `n` of each, each compact over the
 * phase's group axes; buf[] per reduction. */
typedef struct kn_partials {
    int64_t n;
    const int *buf;
} kn_partials;
/* codegen/plan/pass/spread.c: replaces phase `index` by its split form; `made`: its partial results of stage 0, if
 * another phase stores them, or NULL. */
void kn_spread(kn_planner *p, int index, kn_range members, const kn_partials *made);
/* codegen/plan/pass/spread.c: the number of groups of a raw phase, and an access to a compact array over them. */
int64_t kn_count_groups(const kn_phase *phase);
kn_access kn_over_groups(const kn_phase *phase, int buf);
/* codegen/plan/pass/part.c: divides raw phase `index` in two, if it waits for what phases [from, index) store but no
 * reduction of it does: its reductions, and its stores, which read their results through new temporaries. */
bool kn_part_phase(kn_planner *p, int index, int from, kn_phase *head, kn_phase *tail);
/* codegen/plan/pass/local.c: inserts a phase as number `at`; `region`: its region's number. */
void kn_insert_phase(kn_planner *p, int at, kn_phase phase, int region);
/* Passes over the raw phases, in codegen/plan/pass/. */
void kn_pass_moments(kn_planner *p);
void kn_pass_online(kn_planner *p);
void kn_pass_cross(kn_planner *p);
void kn_pass_spread(kn_planner *p);
void kn_pass_local(kn_planner *p);
/* codegen/plan/pass/table.c: runs all passes in order; after each the phases are verified and counted, unless plan is
 * NULL. */
kn_status kn_run_passes(kn_planner *p, kn_plan *plan);
/* codegen/plan/form/normalise.c: normalises a phase, the last of n, and its local phases. keep_ones: kernels are
 * compiled, so an extent of 1 should need no other kernel than 2. */
void kn_normalise(kn_arena *arena, kn_phase *phases, int n, bool keep_ones);
/* codegen/plan/assemble.c: binds kernels made of p->phases, as far as their predicted time depends on it. */
kn_status kn_bind_phases(kn_planner *p, kn_kernel_list *kernels);
/* The same: makes plan->kernels of them, complete. */
kn_status kn_assemble(kn_planner *p, kn_plan *plan);
/* codegen/plan/workspace.c: plan->temporaries, plan->workspace, and the offsets in it. */
void kn_place_temporaries(kn_planner *p, kn_plan *plan);

#endif
