/* Reductions of reductions.
 *
 * Before: sum(x, axes B) and sum(x, axes A) with A a part of B. After: the one over B is a reduction of the one
 * over A, along the axes that are left: x is read once for both. The same for every operation whose parts
 * combine by itself; a mean is a mean of means, of groups that are all as large. Adding up in another order is
 * what a reduction may do anyway.
 *
 * Not where the result is subtracted from x itself: mean and centred squares want to stay one pattern. */
#include "base/arena.h"
#include "base/work.h"
#include "ir/pass/pass.h"

typedef struct nesting {
    const kn_node **inner; /* per node: the reduction that it is a reduction of, or NULL */
    const kn_node **first_of,
        **next;   /* per node: its first reduction; the next one of the same operand */
    bool *centre; /* per node: a reduction's result that is subtracted from what it reduces */
} nesting;

static bool is_nestable(const kn_node *n)
{
    return kn_ops[n->op].cls == KN_REDUCE && n->op != KN_OP_VAR && n->op != KN_OP_REDUCE_BY;
}

/* Marks the results of reductions that are subtracted from what they reduce, as a variance over the same axes does
 * too. */
static void find_centres(nesting *ns, const kn_graph *g)
{
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *user = g->nodes.data[i];
        const kn_node *b = user->op == KN_OP_SUB ? kn_view_root(user->in[1]) : NULL;
        if (b && kn_ops[b->op].cls == KN_REDUCE &&
            kn_view_root(user->in[0]) == kn_view_root(b->in[0]))
            ns->centre[b->id] = true;
        if (user->op != KN_OP_VAR)
            continue;
        for (b = ns->first_of[user->in[0]->id]; b; b = ns->next[b->id])
            if (b->op == KN_OP_MEAN && user->u.reduce.axes == b->u.reduce.axes)
                ns->centre[b->id] = true;
    }
}

/* The reductions of each node, in order. */
static void list_reductions(nesting *ns, const kn_graph *g)
{
    for (int i = g->nodes.len - 1; i >= 0; i--) {
        const kn_node *n = g->nodes.data[i];
        if (kn_ops[n->op].cls != KN_REDUCE)
            continue;
        ns->next[i] = ns->first_of[n->in[0]->id];
        ns->first_of[n->in[0]->id] = n;
    }
}

/* Of the reductions that b can be one of, the one that leaves least to do; of several, the one over the
 * foremost axes: those of the last axes are the ones that share a loop nest with what comes after. */
static const kn_node *find_inner(const nesting *ns, const kn_node *b)
{
    const kn_node *best = NULL;
    for (const kn_node *a = ns->first_of[b->in[0]->id]; a; a = ns->next[a->id]) {
        uint32_t axes = a->u.reduce.axes;
        kn_work(1);
        if (a == b || a->op != b->op || (axes & b->u.reduce.axes) != axes ||
            axes == b->u.reduce.axes || !axes)
            continue;
        int more = best ? __builtin_popcount(axes) - __builtin_popcount(best->u.reduce.axes) : 1;
        if (more > 0 || (more == 0 && axes < best->u.reduce.axes))
            best = a;
    }
    return ns->centre[b->id] ? NULL : best;
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
    int n = g->nodes.len + 1;
    nesting ns = {KN_NEW_ARRAY(a, const kn_node *, n), KN_NEW_ARRAY(a, const kn_node *, n),
                  KN_NEW_ARRAY(a, const kn_node *, n), KN_NEW_ARRAY(a, bool, n)};
    list_reductions(&ns, g);
    find_centres(&ns, g);
    for (int i = 0; i < g->nodes.len; i++)
        if (is_nestable(g->nodes.data[i]))
            ns.inner[i] = find_inner(&ns, g->nodes.data[i]);
    return kn_graph_rewrite(a, g, rewrite, &ns);
}
