/* Reductions by the groups of others.
 *
 *     q = sum(h * h, axis=1); t = sum(abs(h))          h is read for q, row by row, and for t, as a whole
 *                        or   t = sum(sum(abs(h), axis=1))    both row sums share a sweep
 *
 * That reads less, but leaves what groups come to for a second reduction. Neither is always better: the planner has both
 * graphs. */
#ifndef KN_IR_GROUPED_H
#define KN_IR_GROUPED_H

#include "ir/graph.h"

/* `g`, which is optimised, where each reduction over axes of which others of the same elements reduce a part is taken over
 * that part first. Sums of 16-bit floats stay f32 until the last. NULL without a message where there is none. */
kn_graph *kn_graph_grouped(kn_arena *a, const kn_graph *g);

#endif
