/* What may be quicker than what the planner chooses: plans for the same problem in which one or two of its choices are
 * forced otherwise. What the problem itself forces stays as it is. A pure function. */
#ifndef KN_CODEGEN_CANDIDATES_H
#define KN_CODEGEN_CANDIDATES_H

#include "codegen/plan/plan.h"

typedef struct kn_candidate {
    kn_force force;
    double ns; /* that the plan is predicted to take */
} kn_candidate;

/* The planner's own choice, then others, the quickest by prediction first: plans that all differ from each other, in structure
 * or in numbers, and none that is predicted to take twice as long as the first. `list` has room for `most`, at least one; *n
 * of them are filled in. Memory in between comes from `from`; fails only as planning does. */
kn_status kn_candidates_find(const kn_problem *problem, const kn_allocator *from, int most,
                             kn_candidate *list, int *n);

#endif
