/* What is planned for its predicted time alone. */
#ifndef KN_CODEGEN_TRIAL_H
#define KN_CODEGEN_TRIAL_H

#include "codegen/plan/nests/planner.h"

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

#endif
