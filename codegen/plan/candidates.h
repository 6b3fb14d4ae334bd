/* Plans that may be faster than the planner's own choice: for the same problem, with one or two of its choices forced
 * otherwise (codegen/kir/force.h), or one merge of loop nests undone. What the problem itself forces stays; where it gives
 * schedules, there is nothing to choose. A pure function.
 *
 * A candidate is what makes its plan again: the choices that its phases follow from, and the schedules that they came
 * to, without what follows from the sizes (codegen/kir/force.h has the text of both). So other sizes get the same
 * kernels, or, where the schedules do not bind, KN_ARGUMENT. */
#ifndef KN_CODEGEN_CANDIDATES_H
#define KN_CODEGEN_CANDIDATES_H

#include "codegen/plan/plan.h"

typedef struct kn_candidate {
    kn_force force; /* of the first, the problem's own */
    double ns;      /* predicted */
} kn_candidate;

/* Lists the planner's own choice, then other plans by predicted time. All differ in structure or in numbers, and none
 * is predicted to take twice as long as the first. `list` has room for `most` >= 1; *n are filled in. Their texts are
 * in `a`, temporary memory comes from `from`; fails only where planning fails. */
kn_status kn_candidates_find(const kn_problem *problem, kn_arena *a, const kn_allocator *from,
                             int most, kn_candidate *list, int *n);

#endif
