/* The search for the partition of the least predicted time. */
#ifndef KN_CODEGEN_SEARCH_H
#define KN_CODEGEN_SEARCH_H

#include "codegen/plan/partition.h"
#include "codegen/plan/parts.h"
#include "codegen/plan/trial.h"

/* The first plan is taken unless another is quicker by more than this, so that sizes share kernels. */
static const double kn_alike = 1 / 1.02;

/* Of these only the order of merging is chosen: a partition has no room for more. */
bool kn_is_large(const kn_graph *g);
/* A hash of what the node numbers of a graph refer to: operations, ranks and operands. */
uint64_t kn_graph_hash(kn_arena *a, const kn_graph *g);
/* Is it forced how groups are divided, what is kept, or how large blocks are? That is meant for the loop nests of the first
 * plan, so that no others are searched. */
bool kn_is_forced(const kn_problem *pr);

/* The problem is refined; `written` is the same, not refined. */
kn_status kn_partition_search(kn_arena *a, const kn_problem *written, const kn_problem *problem,
                              kn_partition *partition);

/* What became of each value that crosses between the regions, in a plan of them that has no copies. */
kn_reuse *kn_outcome(kn_arena *a, const kn_regions *r, const bool *again);

/* One kernel an operation, except that bonds hold: sets *regions to its regions, and *ns, if it takes less than that. */
kn_status kn_unfused_try(kn_trials *trials, const kn_problem *problem, const kn_bonds *bonds,
                         double *ns, kn_regions **regions);

#endif
