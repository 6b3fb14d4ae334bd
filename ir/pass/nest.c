/* Reductions of reductions.
 *
 * Before: sum(x, axes B) and sum(x, axes A) with A a part of B. After: the one over B is a reduction of the one
 * over A, along the axes that are left: x is read once for both. The same for every operation whose parts
 * combine by itself; a mean is a mean of means, of groups that are all as large. Adding up in another order is
 * what a reduction may do anyway.
 *
 * Not where the result is subtracted from x itself: mean and centred squares want to stay one pattern. */
#include "base/arena.h"
#include "ir/pass/pass.h"

typedef struct nesting {
    const kn_node **inner; /* per node: the reduction that it is a reduction of, or NULL */
} nesting;

static bool is_nestable(const kn_node *n)
{
    return kn_ops[n->op].cls == KN_REDUCE && n->op != KN_OP_VAR && n->op != KN_OP_REDUCE_BY;
}

/* Is the result of reduction b subtracted from what it reduces, as a variance over the same axes does too? */
static bool is_centre(const kn_graph *g, const kn_node *b)
{
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *user = g->nodes.data[i];
        if (user->op == KN_OP_VAR && b->op == KN_OP_MEAN && user->in[0] == b->in[0] &&
            user->u.reduce.axes == b->u.reduce.axes)
            return true;
        if (user->op == KN_OP_SUB && kn_view_root(user->in[0]) == kn_view_root(b->in[0]) &&
            kn_view_root(user->in[1]) == b)
            return true;
    }
    return false;
}

/* Of the reductions that b can be one of, the one that leaves least to do; of several, the one over the
 * foremost axes: those of the last axes are the ones that share a loop nest with what comes after. */
static const kn_node *find_inner(const kn_graph *g, const kn_node *b)
{
    const kn_node *best = NULL;
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *a = g->nodes.data[i];
        if (a == b || a->op != b->op || a->in[0] != b->in[0])
            continue;
        uint32_t axes = a->u.reduce.axes;
        if ((axes & b->u.reduce.axes) != axes || axes == b->u.reduce.axes || !axes)
            continue;
        int more = best ? __builtin_popcount(axes) - __builtin_popcount(best->u.reduce.axes) : 1;
        if (more > 0 || (more == 0 && axes < best->u.reduce.axes))
            best = a;
    }
    return best && !is_centre(g, b) ? best : NULL;
}

/* `old` of the old graph over x of the new one. */
static kn_node *reduce(const nesting *ns, kn_graph *g, const kn_node *old, kn_node *x)
{
    const kn_node *inner = ns->inner[old->id];
    kn_node n = *old;
    if (inner) {
        n.u.reduce.axes &= ~inner->u.reduce.axes;
        x = reduce(ns, g, inner, x);
    }
    return kn_node_copy(g, &n, &x);
}

static kn_node *rewrite(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    const nesting *ns = ctx;
    return ns->inner[old->id] ? reduce(ns, g, old, in[0]) : kn_node_copy(g, old, in);
}

kn_graph *kn_pass_nest(kn_arena *a, kn_graph *g)
{
    nesting ns = {KN_NEW_ARRAY(a, const kn_node *, g->nodes.len + 1)};
    for (int i = 0; i < g->nodes.len; i++)
        if (is_nestable(g->nodes.data[i]))
            ns.inner[i] = find_inner(g, g->nodes.data[i]);
    return kn_graph_rewrite(a, g, rewrite, &ns);
}
