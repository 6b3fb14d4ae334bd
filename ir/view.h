/* Following views: which element of a value does a use of it read?
 *
 * Permutations, broadcasts and reshapes that only add or drop axes of size 1 move axes as a whole, so
 * a use reads its base with a map of axes:  base index j = user's index axis[j], or 0 where axis[j] < 0.
 * A reshape that regroups elements does not, nor does an INDEX; uses end there, and it is read from memory. */
#ifndef KN_IR_VIEW_H
#define KN_IR_VIEW_H

#include "ir/graph.h"

typedef struct kn_use {
    const kn_node *base; /* an ELEM, REDUCE or leaf, or a view that moves elements */
    int8_t axis[KN_MAX_RANK];
} kn_use;

/* How `user`, an elementwise node or a reduction, reads its operand k: axes of the result (ELEM) or of the
 * operand (REDUCE). */
kn_use kn_use_of(const kn_graph *g, const kn_node *user, int k);
/* The base of that. */
static inline const kn_node *kn_base_of(const kn_graph *g, const kn_node *user, int k);
/* Finds the uses of all nodes at once, for a graph that is asked for them again and again and has all its facts. */
void kn_find_uses(kn_graph *g);

/* A RESHAPE that only adds or drops axes of size 1: the result's axis for each axis of the operand, -1 for those
 * of size 1. False for any other. */
bool kn_reshape_axes(const kn_graph *g, const kn_node *reshape, int8_t *to_out);
/* True for a RESHAPE that regroups elements, not only axes of size 1. */
bool kn_regroups(const kn_graph *g, const kn_node *n);

/* A view that moves elements, at which uses end: a regrouping RESHAPE, or an INDEX. */
bool kn_moves(const kn_graph *g, const kn_node *n);

/* A leaf or elementwise result that is one number for the whole program: no axes at all. */
bool kn_is_uniform_leaf(const kn_node *n);

/* The elements of a view, or of a leaf, as a value of their own. */
kn_node *kn_copy_of(kn_graph *g, kn_node *x);
/* The same in a loop nest of its own. */
kn_node *kn_compact_copy_of(kn_graph *g, kn_node *x);

static inline const kn_node *kn_base_of(const kn_graph *g, const kn_node *user, int k)
{
    const bool found = user->id < g->used && g->nodes.data[user->id] == user;
    return found ? g->uses[user->id * KN_MAX_IN + k].base : kn_use_of(g, user, k).base;
}

#endif
