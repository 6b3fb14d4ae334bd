/* Plans that may be faster than the planner's own choice: for the same problem, with one or two of its choices forced
 * otherwise. What the problem itself forces stays. A pure function. */
#ifndef KN_CODEGEN_CANDIDATES_H
#define KN_CODEGEN_CANDIDATES_H

#include "codegen/plan/plan.h"

typedef struct kn_candidate {
    kn_force force;
    double ns; /* predicted */
} kn_candidate;

/* Lists the planner's own choice, then other plans by predicted time. All differ in structure or in numbers, and none
 * is predicted to take twice as long as the first. `list` has room for `most` >= 1; *n are filled in. Temporary
 * memory comes from `from`; fails only where planning fails. */
kn_status kn_candidates_find(const kn_problem *problem, const kn_allocator *from, int most,
                             kn_candidate *list, int *n);

#endif
