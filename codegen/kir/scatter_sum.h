/* Sums by index: sum over n of where(destination[n] == a, x, 0), for each index a of an axis. A member adds to the groups
 * of one index of that axis, its destination, which is the same for all groups. So a block compacts the members to those of
 * its own groups, and skips the others, which would add 0. The members of a group are added in their order, by one thread,
 * whatever the schedule. */
#ifndef KN_CODEGEN_SCATTER_SUM_H
#define KN_CODEGEN_SCATTER_SUM_H

#include "codegen/kir/phase.h"

typedef struct kn_scatter_sum {
    int destination; /* the value that is a member's destination */
    int index;       /* the value that is a group's index */
    int axis;        /* the group axis of that */
} kn_scatter_sum;

/* Is every reduction of the phase such a sum, all by the same destinations? */
bool kn_find_scatter_sum(const kn_phase *ph, kn_scatter_sum *s);

/* The part of the members that belongs to `width` neighbouring groups, if destinations are spread evenly. */
double kn_scatter_sum_part(const kn_phase *ph, double width);

#endif
