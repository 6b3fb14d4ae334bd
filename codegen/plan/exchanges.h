/* What ranks exchange while a plan's kernels run, in which order. */
#ifndef KN_CODEGEN_EXCHANGES_H
#define KN_CODEGEN_EXCHANGES_H

#include "codegen/plan/plan.h"

/* Do kernels hold what the ranks of this graph exchange while they run? */
bool kn_fits_mailboxes(const kn_graph *g, const int64_t *sizes);
/* A hash of what is exchanged in which order, phase by phase, and of the order of their groups. Ranks whose plans have
 * the same wait for each other in the same order: the first that any of them waits for is always sent. */
uint64_t kn_plan_exchanges(kn_arena *a, const kn_plan *plan);

#endif
