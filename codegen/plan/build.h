/* From a problem and its regions to kernels. */
#ifndef KN_CODEGEN_BUILD_H
#define KN_CODEGEN_BUILD_H

#include "codegen/plan/nests/planner.h"

/* A plan as far as plans are compared: its kernels are bound, and plan->ns is predicted. */
typedef struct kn_draft {
    kn_planner p;
    kn_plan *plan;
} kn_draft;

/* build.c: a draft of the refined problem with these regions; `base` has the steps so far. */
kn_status kn_plan_draft(kn_arena *a, const kn_problem *problem, kn_regions *regions,
                        const kn_plan *base, kn_draft *draft);
/* build.c: binds it again, by schedules that are given. */
kn_status kn_draft_bind_as(kn_draft *draft, const char *schedules);
/* build.c: completes draft->plan. */
kn_status kn_draft_finish(kn_draft *draft);
/* build.c: lowers these regions of the refined problem, of which the planner has a copy. With `raws` (NULL: none) its phases
 * belong to these. */
kn_status kn_plan_lower(kn_arena *a, const kn_problem *problem, kn_regions *regions, kn_raws *raws,
                        kn_planner *p);
/* build.c: gives the problem a graph of its own, refined. */
kn_status kn_problem_refine(kn_arena *a, kn_problem *problem);
/* cut.c: the same problem with its outputs in pieces, which its graph has. */
kn_status kn_problem_cut(kn_arena *a, const kn_problem *whole, kn_problem *cut);
/* compact.c: does an argument lie transposed, and may it be copied first? */
bool kn_may_compact(const kn_problem *problem);
/* compact.c: the same problem with compact copies of arguments that lie transposed, each made in a loop nest of its own. */
kn_status kn_problem_compact(kn_arena *a, const kn_problem *as_laid_out, kn_problem *compact);
/* assemble.c: binds kernels made of p->phases, as far as their predicted time depends on it. */
kn_status kn_bind_phases(kn_planner *p, kn_kernel_list *kernels);
/* assemble.c: completes plan->kernels, which are bound. */
kn_status kn_complete_kernels(kn_planner *p, kn_plan *plan);
/* workspace.c: plan->temporaries, plan->workspace, and the offsets in it. */
void kn_place_temporaries(kn_planner *p, kn_plan *plan);

#endif
