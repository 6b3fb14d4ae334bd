#include "ir/grouped.h"

#include "base/work.h"
#include "ir/build.h"

/* Larger graphs stay as they are: they are searched for little else. */
enum { MOST_NODES = 512 };

typedef struct grouping {
    const kn_graph *g;
    KN_VEC(const kn_node *) reductions;
    bool *centre; /* per node: a mean, or a sum, that is subtracted from what it is of */
    int *seen;    /* per node: the last search that was there */
    int searches;
} grouping;

/* ---- which reductions ---- */

/* The reduction that x subtracts from what it reduces, perhaps divided by a count; NULL: there is none. */
static const kn_node *centre_of(const kn_node *x)
{
    const kn_node *m = x->op == KN_OP_SUB ? kn_view_root(x->in[1]) : NULL;
    if (m && (m->op == KN_OP_DIV || m->op == KN_OP_MUL))
        m = kn_view_root(m->in[0]);
    return m && kn_ops[m->op].cls == KN_REDUCE && kn_view_root(m->in[0]) == kn_view_root(x->in[0])
               ? m
               : NULL;
}

/* Does a condition compare with an index? Each part of it is looked at once a search. */
static bool is_by_index(grouping *gr, const kn_node *x)
{
    kn_work(1);
    if (gr->seen[x->id] == gr->searches)
        return false;
    gr->seen[x->id] = gr->searches;
    if (x->op == KN_OP_AND)
        return is_by_index(gr, x->in[0]) || is_by_index(gr, x->in[1]);
    return x->op == KN_OP_EQ &&
           (kn_view_root(x->in[0])->op == KN_OP_IOTA || kn_view_root(x->in[1])->op == KN_OP_IOTA);
}

/* May n become a reduction of reductions? Not what is part of a pattern: a mean and its centred squares
 * (codegen/plan/form/moments.c), a sum by index (codegen/kir/scatter_sum.h). */
static bool may_be_grouped(grouping *gr, const kn_node *n)
{
    const kn_node *x = n->in[0];
    if (kn_ops[n->op].cls != KN_REDUCE || n->op == KN_OP_VAR || n->op == KN_OP_REDUCE_BY ||
        gr->centre[n->id])
        return false;
    if (x->op == KN_OP_MUL && x->in[0] == x->in[1]) {
        const kn_node *m = centre_of(x->in[0]);
        return !m || m->u.reduce.axes != n->u.reduce.axes;
    }
    gr->searches++;
    return x->op != KN_OP_WHERE || !is_by_index(gr, x->in[0]);
}

static bool is_as_large(const grouping *gr, const kn_node *x, const kn_node *as)
{
    bool same = x->rank == as->rank;
    for (int j = 0; j < x->rank && same; j++)
        same = kn_dim_equal(gr->g->syms, x->shape[j], as->shape[j]);
    return same;
}

/* Goes through what a reduction's operand is computed from and is as large: has search `of` been to an array there? */
static bool search(grouping *gr, const kn_node *x, const kn_node *operand, int of)
{
    const bool is_elem = kn_ops[x->op].cls == KN_ELEM;
    kn_work(1);
    if (gr->seen[x->id] == gr->searches || !is_as_large(gr, x, operand))
        return false;
    bool found = of && !is_elem && gr->seen[x->id] == of;
    gr->seen[x->id] = gr->searches;
    for (int k = 0; k < x->nin && is_elem && !found; k++)
        found = search(gr, x->in[k], operand, of);
    return found;
}

/* Are x and y computed from the elements of one array? */
static bool share_elements(grouping *gr, const kn_node *x, const kn_node *y)
{
    const int of = ++gr->searches;
    search(gr, x, x, 0);
    gr->searches++;
    return is_as_large(gr, y, x) && search(gr, y, x, of);
}

/* The axes, part of these, that another reduction reduces elements of x's arrays over: those that leave least to do; of
 * several, the last, for the sums of rows are in fewer threads than those of columns. 0: there are none. */
static uint32_t axes_within(grouping *gr, const kn_node *x, uint32_t axes)
{
    uint32_t best = 0;
    for (int i = 0; i < gr->reductions.len; i++) {
        const kn_node *r = gr->reductions.data[i];
        const uint32_t part = r->u.reduce.axes;
        const int more = __builtin_popcount(part) - __builtin_popcount(best);
        kn_work(1);
        if ((part & axes) == part && part != axes && (more > 0 || (more == 0 && part > best)) &&
            share_elements(gr, x, r->in[0]))
            best = part;
    }
    return best;
}

/* ---- the graph ---- */

/* Reduction `old` of x over these axes, from the innermost part on. `operand` is x in the old graph. */
static kn_node *reduce(grouping *gr, kn_graph *g, const kn_node *old, uint32_t axes, kn_node *x)
{
    const uint32_t within = axes_within(gr, old->in[0], axes);
    kn_node n = *old;
    if (within)
        x = reduce(gr, g, old, within, x);
    n.u.reduce.axes = axes & ~within;
    n.dtype = x->dtype;
    n.name = NULL;
    kn_dim *shape = KN_NEW_ARRAY(g->arena, kn_dim, n.rank);
    for (int j = 0; j < n.rank; j++)
        shape[j] = axes >> j & 1 ? kn_dim_const(g->syms, 1) : x->shape[j];
    n.shape = shape;
    n.in[0] = x;
    return kn_graph_intern(g, &n);
}

static kn_node *rewrite(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    grouping *gr = ctx;
    if (!may_be_grouped(gr, old) || !axes_within(gr, old->in[0], old->u.reduce.axes))
        return kn_node_copy(g, old, in);
    kn_node *x = in[0];
    const bool adds = old->op == KN_OP_SUM || old->op == KN_OP_MEAN || old->op == KN_OP_PROD;
    if (adds && kn_compute_dtype(old->dtype) != old->dtype)
        x = kn_build_cast(g, x, kn_compute_dtype(old->dtype), old->loc);
    x = x ? reduce(gr, g, old, old->u.reduce.axes, x) : NULL;
    return x && x->dtype != old->dtype ? kn_build_cast(g, x, old->dtype, old->loc) : x;
}

/* Finds the reductions, and which of them are centres. True: one can be grouped. */
static bool find(grouping *gr, kn_arena *a)
{
    const bool *needed = kn_needed_nodes(gr->g, a);
    bool any = false;
    for (int i = 0; i < gr->g->nodes.len; i++) {
        const kn_node *n = gr->g->nodes.data[i], *m = centre_of(n);
        if (needed[i] && kn_ops[n->op].cls == KN_REDUCE)
            kn_push(a, &gr->reductions, n);
        if (needed[i] && m)
            gr->centre[m->id] = true;
    }
    for (int i = 0; i < gr->reductions.len && !any; i++) {
        const kn_node *r = gr->reductions.data[i];
        any = may_be_grouped(gr, r) && axes_within(gr, r->in[0], r->u.reduce.axes);
    }
    return any;
}

kn_graph *kn_graph_grouped(kn_arena *a, const kn_graph *g)
{
    const int n = g->nodes.len + 1;
    grouping gr = {.g = g, .centre = KN_NEW_ARRAY(a, bool, n), .seen = KN_NEW_ARRAY(a, int, n)};
    if (g->nodes.len > MOST_NODES || g->ranks > 1 || !find(&gr, a))
        return NULL;
    return kn_graph_rewrite(a, g, rewrite, &gr);
}
