/* Sums of what is added by index: sum over n of where(place[n] == a, x, 0), for each index a of an axis. A member counts
 * for the groups of one index of that axis only, which its place says; the places of all members are the same for all
 * groups. So a block compacts the members to those of its own groups, and skips the others: these would add 0.
 * The members of a group are added in their order, by one thread, whatever the schedule. */
#ifndef KN_CODEGEN_SCATTER_SUM_H
#define KN_CODEGEN_SCATTER_SUM_H

#include "codegen/kir/phase.h"

typedef struct kn_scatter_sum {
    int place; /* the value: a member's place */
    int index; /* the value: a group's index */
    int axis;  /* the group axis of that */
} kn_scatter_sum;

/* Is every reduction of the phase such a sum, all by the same places? */
bool kn_find_scatter_sum(const kn_phase *ph, kn_scatter_sum *s);

/* The part of the members that a block of `width` neighbouring groups finds, if places are spread evenly. */
double kn_scatter_sum_part(const kn_phase *ph, double width);

#endif
