/* From a problem and its regions to kernels. */
#ifndef KN_CODEGEN_BUILD_H
#define KN_CODEGEN_BUILD_H

#include "codegen/plan/nests/planner.h"

/* build.c: the plan of the refined problem with these regions; `base` has the steps so far. */
kn_status kn_plan_with(kn_arena *a, const kn_problem *problem, kn_regions *regions,
                       const kn_plan *base, kn_plan **plan);
/* build.c: lowers these regions of the refined problem, of which the planner has a copy. */
kn_status kn_plan_lower(kn_arena *a, const kn_problem *problem, kn_regions *regions, kn_planner *p);
/* build.c: gives the problem a graph of its own, refined. */
kn_status kn_problem_refine(kn_arena *a, kn_problem *problem);
/* assemble.c: binds kernels made of p->phases, as far as their predicted time depends on it. */
kn_status kn_bind_phases(kn_planner *p, kn_kernel_list *kernels);
/* The same: makes plan->kernels of them, complete. */
kn_status kn_assemble(kn_planner *p, kn_plan *plan);
/* workspace.c: plan->temporaries, plan->workspace, and the offsets in it. */
void kn_place_temporaries(kn_planner *p, kn_plan *plan);

#endif
