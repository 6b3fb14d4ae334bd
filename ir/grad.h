/* Reverse-mode differentiation, graph to graph: the gradients are ordinary values of the same graph, which can be
 * differentiated again. The rules are in ir/grad.def. */
#ifndef KN_IR_GRAD_H
#define KN_IR_GRAD_H

#include "ir/graph.h"

/* What is differentiated: values y[], each of which a loss depends on by seed[], its gradient there. */
typedef struct kn_differentiation {
    kn_node *const *y, *const *seed;
    int ny;
    kn_node *const *wrt;
    int nwrt;
} kn_differentiation;

/* grads[i] is what reaches wrt[i], of its type and shape: the sum over all y of seed times the derivative; zeros where
 * no y depends on it. A seed is cast to its y's type and broadcast to its shape. Values of wrt may be computed ones.
 * TYPE where one is neither float nor complex, where a seed is complex and its y is not, or where a reduction of the
 * user's in between has no rule; SHAPE where a seed does not broadcast. */
kn_status kn_grad(kn_graph *g, const kn_differentiation *d, kn_node **grads, kn_loc loc);

#endif
