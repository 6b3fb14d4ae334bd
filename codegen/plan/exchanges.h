/* What ranks exchange while a plan's kernels run, in which order. */
#ifndef KN_CODEGEN_EXCHANGES_H
#define KN_CODEGEN_EXCHANGES_H

#include "codegen/plan/plan.h"

/* Do kernels hold what the ranks of this graph exchange while they run? */
bool kn_fits_mailboxes(const kn_graph *g, const int64_t *sizes);
/* A hash of what is exchanged in which order, phase by phase, and of the order of their groups; where a group has two
 * exchanges, one after the other, also of how many groups are taken in step. Every block takes its groups in increasing
 * order, and sends what a group has before it waits for it: so of all groups that ranks with the same hash wait for, the
 * first is always sent. */
uint64_t kn_plan_exchanges(kn_arena *a, const kn_plan *plan);

#endif
