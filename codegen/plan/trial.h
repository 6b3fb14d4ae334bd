/* What is planned for its predicted time alone. */
#ifndef KN_CODEGEN_TRIAL_H
#define KN_CODEGEN_TRIAL_H

#include "codegen/plan/nests/planner.h"

typedef struct kn_trial {
    double ns;
    const bool *again; /* per node: rematerialised */
    bool copies;       /* for a reshape, so that it is a plan of another graph */
} kn_trial;

/* What regions were lowered to. */
typedef struct kn_lowered {
    bool fusion;
    kn_bufs bufs;
    kn_extent_params extents;
    KN_VEC(const kn_phase *) phases; /* raw ones, of which those that are the same are one */
    double ns;
} kn_lowered;

typedef struct kn_trials {
    kn_arena *arena;         /* of trials */
    kn_arena lowered;        /* of raw phases and the list */
    kn_arena scratch;        /* of one trial */
    kn_raws raws;            /* of the problem's graph */
    KN_VEC(kn_lowered) list; /* all that differ */
    kn_finder found;         /* of the list */
    kn_shapes shapes;
} kn_trials;

void kn_trials_begin(kn_trials *all, kn_arena *a);
/* What was tried is of no use for problems that force something else. */
void kn_trials_forget(kn_trials *all);
/* Keeps nothing of the regions. */
kn_status kn_plan_try(kn_trials *all, const kn_problem *problem, kn_regions *regions,
                      kn_trial *trial);

#endif
