/* Reshapes that split and merge axes, as views.
 *
 *     x           [N,      C,      H, W]         [N, G, K, H, W]
 *     reshape     [N, G, K*H*W         ]   -->   [N, G, K, H, W]      K = C / G
 *     reshape     [N,      C,      H, W]         [N, G, K, H, W]
 *
 * The axes on both sides of a reshape are cut into their common refinement, and so are, everywhere in the
 * graph, the axes that are walked together with them. On refined axes the reshape changes nothing: it is gone,
 * and what was on both its sides shares one iteration space. Arguments keep their shapes: reading or writing
 * one under a finer shape only splits axes, which strides can always express.
 *
 * A factor is an axis or a part of one: a leaf, or split in an outer and an inner factor. Factors that are the
 * same axis are united (union-find). Whether a size divides another is known from the call's sizes; that two
 * sizes happen to be equal is not used. A reshape whose boundaries do not divide one another ([4, 6] to [6, 4])
 * stays, and what it reads goes through memory. */
#include <string.h>

#include "ir/build_impl.h"
#include "ir/pass/pass.h"
#include "ir/view.h"

enum { MAX_LEAVES = 2 * KN_MAX_RANK, NONE = -1 };

typedef struct factor {
    int parent;       /* towards the representative of the factors united with it */
    int outer, inner; /* NONE in a leaf */
    kn_dim dim;
    int64_t size;
} factor;

typedef struct refiner {
    kn_graph *g; /* dimensions are added to its symbols */
    KN_VEC(int64_t) sizes;
    KN_VEC(factor) factors;
    int (*axis)[KN_MAX_RANK]; /* per node: the factor of each axis, NONE for axes of size 1 */
    bool *stays;              /* per node: a regrouping reshape that is no view on refined axes */
} refiner;

/* ---- factors ---- */

static int find(refiner *r, int f)
{
    factor *all = r->factors.data;
    while (all[f].parent != f)
        f = all[f].parent = all[all[f].parent].parent;
    return f;
}

/* The older one stands for both: the user's dimension rather than a quotient of ours. */
static void unite(refiner *r, int a, int b)
{
    a = find(r, a);
    b = find(r, b);
    r->factors.data[a > b ? a : b].parent = a < b ? a : b;
}

static int new_factor(refiner *r, kn_dim dim, int64_t size)
{
    int f = r->factors.len;
    kn_push(r->g->arena, &r->factors, ((factor){f, NONE, NONE, dim, size}));
    return f;
}

typedef struct leaves {
    int n, at[MAX_LEAVES];
    bool full;
} leaves;

static void put_leaves(refiner *r, int f, leaves *l)
{
    f = find(r, f);
    const factor *x = &r->factors.data[f];
    if (x->outer != NONE) {
        put_leaves(r, x->outer, l);
        put_leaves(r, r->factors.data[f].inner, l);
    } else if (l->n == MAX_LEAVES) {
        l->full = true;
    } else if (!kn_dim_is_one(r->g->syms, x->dim)) {
        l->at[l->n++] = f;
    }
}

static leaves leaves_of(refiner *r, const kn_node *n)
{
    leaves l = {0};
    for (int j = 0; j < n->rank; j++)
        if (r->axis[n->id][j] != NONE)
            put_leaves(r, r->axis[n->id][j], &l);
    return l;
}

/* ---- which axes are the same ---- */

static void unite_axes(refiner *r, const kn_node *a, int i, const kn_node *b, int j)
{
    int f = r->axis[a->id][i], g = r->axis[b->id][j];
    if (f != NONE && g != NONE)
        unite(r, f, g);
}

static void unite_with_operands(refiner *r, const kn_node *n)
{
    int8_t map[KN_MAX_RANK];
    if (n->op == KN_OP_INDEX)
        return;
    if (n->op == KN_OP_RESHAPE) {
        if (!kn_reshape_axes(r->g, n, map))
            return;
        for (int j = 0; j < n->in[0]->rank; j++)
            if (map[j] >= 0)
                unite_axes(r, n, map[j], n->in[0], j);
        return;
    }
    bool takes = n->op == KN_OP_TAKE;
    for (int j = 0; takes && j < n->in[0]->rank; j++)
        if (!n->u.gather.by[j] && n->u.gather.axis[j] >= 0)
            unite_axes(r, n, n->u.gather.axis[j], n->in[0], j);
    for (int k = takes; k < n->nin; k++)
        for (int j = 0; j < n->rank; j++)
            unite_axes(r, n, j, n->in[k], n->op == KN_OP_PERMUTE ? n->u.perm[j] : j);
    for (int k = 1; n->op == KN_OP_REDUCE_BY && k < n->nin; k++)
        for (int j = 0; j < n->rank; j++)
            unite_axes(r, n->in[0], j, n->in[k], j);
}

static void add_axes(refiner *r, const kn_node *n)
{
    for (int j = 0; j < n->rank; j++) {
        int64_t size = 0;
        kn_dim_eval(n->shape[j], r->sizes.data, &size);
        r->axis[n->id][j] =
            kn_dim_is_one(r->g->syms, n->shape[j]) ? NONE : new_factor(r, n->shape[j], size);
    }
}

/* ---- the common refinement of the two sides of a reshape ---- */

/* Do the boundaries of both sides divide one another? */
static bool can_refine(const refiner *r, const leaves *s, const leaves *t)
{
    int64_t a = 1, b = 1; /* what is left of the current factor on either side */
    for (int i = 0, j = 0;;) {
        if (a == 1 && i < s->n)
            a = r->factors.data[s->at[i++]].size;
        else if (b == 1 && j < t->n)
            b = r->factors.data[t->at[j++]].size;
        else if (a == b && a == 1)
            return true;
        else if (a < 1 || b < 1 || a == 1 || b == 1 || (a % b != 0 && b % a != 0))
            return false; /* nothing to walk, unknown, other numbers of elements, or no divisor */
        else if (a % b == 0)
            a /= b, b = 1;
        else
            b /= a, a = 1;
    }
}

/* f becomes `by` times the rest. */
static bool split(refiner *r, int f, int by)
{
    kn_dim rest = kn_dim_quotient(r->g->syms, r->factors.data[f].dim, r->factors.data[by].dim);
    if (!rest)
        return false;
    int64_t size = r->factors.data[f].size / r->factors.data[by].size;
    while (r->sizes.len < kn_symbols_count(r->g->syms))
        kn_push(r->g->arena, &r->sizes, size); /* the quotient, if it is a new symbol */
    int inner = new_factor(r, rest, size);
    r->factors.data[f].outer = by;
    r->factors.data[f].inner = inner;
    return true;
}

/* Was an axis of f's size cut so before? Then this one is too, if sizes leave the choice. */
static bool cut_before(refiner *r, int f, int by)
{
    const factor *all = r->factors.data;
    for (int i = 0; i < r->factors.len; i++)
        if (all[i].outer != NONE && kn_dim_equal(r->g->syms, all[i].dim, all[f].dim) &&
            kn_dim_equal(r->g->syms, all[all[i].outer].dim, all[by].dim))
            return true;
    return false;
}

/* One split or union towards the common refinement of what `n` reads and makes. 0 when there is nothing to do,
 * -1 when it cannot be had. */
static int refine_step(refiner *r, const kn_node *n)
{
    leaves s = leaves_of(r, n->in[0]), t = leaves_of(r, n);
    while (s.n && t.n && s.at[s.n - 1] == t.at[t.n - 1])
        s.n--, t.n--;
    if (s.full || t.full || !can_refine(r, &s, &t))
        return -1;
    int i = 0;
    while (i < s.n && i < t.n && s.at[i] == t.at[i])
        i++;
    if (i == s.n && i == t.n)
        return 0;
    if (i == s.n || i == t.n) { /* what is left on one side is 1 for these sizes */
        r->factors.data[i < s.n ? s.at[i] : t.at[i]].dim = kn_dim_const(r->g->syms, 1);
        return 1;
    }
    int a = s.at[i], b = t.at[i];
    const factor *x = &r->factors.data[a], *y = &r->factors.data[b];
    bool last_a = i == s.n - 1, last_b = i == t.n - 1;
    if ((last_a && last_b) || kn_dim_equal(r->g->syms, x->dim, y->dim)) {
        unite(r, a, b);
        return 1;
    }
    bool cut_a = x->size % y->size == 0 && !last_b, cut_b = y->size % x->size == 0 && !last_a;
    if (cut_a && cut_b) /* equal, perhaps by chance: as the dimensions have it */
        cut_a = cut_before(r, a, b) ||
                (!cut_before(r, b, a) && !kn_dim_divide_exact(r->g->syms, y->dim, x->dim));
    return (cut_a ? split(r, a, b) : split(r, b, a)) ? 1 : -1;
}

static bool refine(refiner *r, const kn_node *n)
{
    bool changed = false;
    for (int steps = 0;; steps++) {
        int step = steps < 4 * MAX_LEAVES ? refine_step(r, n) : -1;
        if (step < 0)
            r->stays[n->id] = true;
        if (step <= 0)
            return changed;
        changed = true;
    }
}

typedef KN_VEC(const kn_node *) nodes;

/* False when some node would have too many axes. */
static bool refine_all(refiner *r, const nodes *regroupings)
{
    int n = r->g->nodes.len;
    for (int i = 0; i < n; i++)
        unite_with_operands(r, r->g->nodes.data[i]);
    for (bool changed = true, forward = true; changed; forward = !forward) {
        changed = false;
        for (int i = 0; i < regroupings->len; i++) {
            const kn_node *v = regroupings->data[forward ? i : regroupings->len - 1 - i];
            if (!r->stays[v->id] && refine(r, v))
                changed = true;
        }
    }
    for (int i = 0; i < n; i++) {
        const kn_node *v = r->g->nodes.data[i];
        leaves l = leaves_of(r, v);
        int rank = l.n;
        for (int j = 0; j < v->rank; j++) /* an axis of size 1 where an operand may have several */
            rank += r->axis[v->id][j] == NONE;
        if (l.full || rank > KN_MAX_RANK)
            return false;
    }
    return true;
}

/* ---- the graph on refined axes ---- */

/* The dimensions that axis j of `old` becomes; at least one. */
static int put_axis(refiner *r, const kn_node *old, int j, kn_dim *dims)
{
    leaves l = {0};
    if (r->axis[old->id][j] != NONE)
        put_leaves(r, r->axis[old->id][j], &l);
    for (int i = 0; i < l.n; i++)
        dims[i] = r->factors.data[l.at[i]].dim;
    if (l.n == 0)
        dims[l.n++] = kn_dim_const(r->g->syms, 1);
    return l.n;
}

static kn_node *view(kn_graph *to, kn_op op, kn_node *x, const kn_dim *shape, int rank, kn_loc loc)
{
    while (op == KN_OP_RESHAPE && x->op == KN_OP_RESHAPE)
        x = x->in[0];
    bool same = x->rank == rank;
    for (int i = 0; same && i < rank; i++)
        same = kn_dim_equal(to->syms, x->shape[i], shape[i]);
    if (same)
        return x;
    kn_node n = {.op = op, .dtype = x->dtype, .rank = rank, .shape = shape, .nin = 1, .loc = loc};
    n.in[0] = x;
    return kn_graph_intern(to, &n);
}

/* What a TAKE reads: axes that it walks are refined as the result's are, the others stay. */
static kn_node *taken(refiner *r, kn_graph *to, const kn_node *old, kn_node *x, kn_gathering *how)
{
    const kn_gathering *was = &old->u.gather;
    kn_dim shape[KN_MAX_RANK];
    int first[KN_MAX_RANK + 1] = {0}, rank = 0;
    for (int i = 0; i < old->rank; i++)
        first[i + 1] = first[i] + put_axis(r, old, i, shape);
    *how = (kn_gathering){.checked = was->checked};
    for (int j = 0; j < old->in[0]->rank; j++) {
        bool walked = !was->by[j] && was->axis[j] >= 0;
        int m = 1;
        if (walked)
            m = put_axis(r, old->in[0], j, shape + rank);
        else
            shape[rank] = old->in[0]->shape[j];
        for (int i = 0; i < m; i++, rank++) {
            how->by[rank] = was->by[j];
            how->axis[rank] = (int8_t)(walked ? first[was->axis[j]] + i : -1);
        }
    }
    return view(to, KN_OP_RESHAPE, x, shape, rank, old->loc);
}

static bool is_checked_count(const kn_node *take, const kn_node *x)
{
    return take->u.gather.checked && kn_view_root(x)->op == KN_OP_IOTA;
}

/* Where indices are checked they are places in memory: of a count, which is in none, there is an array. */
static kn_node *checkable(kn_graph *to, const kn_node *take, kn_node *x)
{
    return is_checked_count(take, x) ? kn_build_in_memory(to, kn_copy_of(to, x), take->loc) : x;
}

/* A new node like `old` on refined axes `shape`, its operands given axes of size 1 where they lack some. */
static kn_node *elementwise(refiner *r, kn_graph *to, const kn_node *old, kn_node *const *in)
{
    kn_node n = *old;
    kn_dim shape[KN_MAX_RANK], padded[KN_MAX_RANK];
    kn_node *operands[KN_MAX_IN] = {0};
    bool takes = old->op == KN_OP_TAKE;
    if (takes)
        operands[0] = taken(r, to, old, checkable(to, old, in[0]), &n.u.gather);
    for (int k = takes; k < old->nin; k++) {
        int rank = 0, m;
        for (int j = 0; j < old->rank; j++, rank += m) {
            m = put_axis(r, old, j, shape + rank);
            if (r->axis[old->in[k]->id][j] != NONE)
                put_axis(r, old->in[k], j, padded + rank);
            else
                for (int i = 0; i < m; i++)
                    padded[rank + i] = kn_dim_const(to->syms, 1);
        }
        operands[k] = view(to, KN_OP_RESHAPE, in[k], padded, rank, old->loc);
        n.rank = rank;
    }
    if (old->op == KN_OP_BROADCAST)
        return view(to, KN_OP_BROADCAST, operands[0], shape, n.rank, old->loc);
    n.shape = shape;
    return kn_node_copy(to, &n, operands);
}

static kn_node *reduction(refiner *r, kn_graph *to, const kn_node *old, kn_node *const *in)
{
    kn_node n = *old;
    kn_dim wide[KN_MAX_RANK], shape[KN_MAX_RANK];
    int rank = 0, narrow = 0;
    n.u.reduce.axes = 0;
    for (int j = 0; j < old->rank; j++) {
        int m = put_axis(r, old->in[0], j, wide + rank);
        bool reduced = old->u.reduce.axes >> j & 1;
        for (int i = rank; i < rank + m; i++) {
            if (reduced && !kn_dim_is_one(to->syms, wide[i]))
                n.u.reduce.axes |= 1u << i;
            if (!reduced)
                shape[narrow++] = wide[i];
            else
                wide[i] = kn_dim_const(to->syms, 1);
        }
        if (reduced)
            shape[narrow++] = kn_dim_const(to->syms, 1);
        rank += m;
    }
    n.rank = rank;
    n.shape = wide;
    kn_node *made = n.u.reduce.axes ? kn_node_copy(to, &n, in) : kn_reduce_nothing(to, &n, in);
    return view(to, KN_OP_RESHAPE, made, shape, narrow, old->loc);
}

static kn_node *permute(refiner *r, kn_graph *to, const kn_node *old, kn_node *x)
{
    kn_node n = *old;
    kn_dim dims[KN_MAX_RANK], shape[KN_MAX_RANK];
    int first[KN_MAX_RANK], count[KN_MAX_RANK], at = 0;
    for (int j = 0; j < old->rank; j++) {
        first[j] = at;
        at += count[j] = put_axis(r, old->in[0], j, dims + at);
    }
    n.rank = 0;
    for (int j = 0; j < old->rank; j++)
        for (int i = 0; i < count[old->u.perm[j]]; i++) {
            n.u.perm[n.rank] = (int8_t)(first[old->u.perm[j]] + i);
            shape[n.rank] = dims[n.u.perm[n.rank]];
            n.rank++;
        }
    n.shape = shape;
    return kn_node_copy(to, &n, &x);
}

static kn_node *below_reshapes(kn_node *x)
{
    while (x->op == KN_OP_RESHAPE)
        x = x->in[0];
    return x;
}

/* What a view that moves elements reads must lie in memory: a value, or an input or a count, whose strides the
 * planner knows. */
static bool is_in_memory(kn_node *x)
{
    kn_op leaf = kn_view_root(x)->op;
    return kn_is_value(below_reshapes(x)) || leaf == KN_OP_INPUT || leaf == KN_OP_IOTA;
}

static kn_node *in_memory(kn_graph *to, kn_node *x)
{
    return is_in_memory(x) ? x
                           : view(to, KN_OP_RESHAPE, kn_copy_of(to, below_reshapes(x)), x->shape,
                                  x->rank, x->loc);
}

static kn_node *rewrite(void *ctx, kn_graph *to, const kn_node *old, kn_node *const *in)
{
    refiner *r = ctx;
    kn_dim shape[KN_MAX_RANK];
    int rank = 0;
    switch (kn_ops[old->op].cls) {
    case KN_GATHER:
    case KN_ELEM: return elementwise(r, to, old, in);
    case KN_REDUCE: return reduction(r, to, old, in);
    default: break;
    }
    if (old->op == KN_OP_BROADCAST)
        return elementwise(r, to, old, in);
    if (old->op == KN_OP_PERMUTE)
        return permute(r, to, old, in[0]);
    for (int j = 0; j < old->rank; j++)
        rank += put_axis(r, old, j, shape + rank);
    kn_node *whole = NULL; /* what an INDEX reads, on the axes that it counts along */
    if (old->op == KN_OP_INDEX)
        whole = in_memory(
            to, view(to, KN_OP_RESHAPE, in[0], old->in[0]->shape, old->in[0]->rank, old->loc));
    kn_node *x = old->op == KN_OP_INDEX     ? kn_node_copy(to, old, &whole)
                 : old->op != KN_OP_RESHAPE ? kn_node_copy(to, old, in)
                 : r->stays[old->id]        ? in_memory(to, in[0])
                                            : in[0];
    return view(to, KN_OP_RESHAPE, x, shape, rank, old->loc);
}

static void start(refiner *r, nodes *regroupings)
{
    r->factors.len = 0;
    for (int i = 0; i < r->g->nodes.len; i++) {
        const kn_node *n = r->g->nodes.data[i];
        add_axes(r, n);
        if (kn_regroups(r->g, n))
            kn_push(r->g->arena, regroupings, n);
    }
}

/* Arguments as they are, results by what computes them. */
static kn_graph *finish(kn_graph *g)
{
    for (int i = 0; i < g->inputs.len; i++)
        g->inputs.data[i].node = below_reshapes(g->inputs.data[i].node);
    for (int i = 0; i < g->outputs.len; i++)
        g->outputs.data[i].node = below_reshapes(g->outputs.data[i].node);
    kn_find_uses(g);
    return g;
}

static bool reduces_nothing(const kn_graph *g, const kn_node *n)
{
    for (int j = 0; kn_ops[n->op].cls == KN_REDUCE && j < n->in[0]->rank; j++)
        if (n->u.reduce.axes >> j & 1 && kn_dim_is_one(g->syms, n->in[0]->shape[j]))
            return true;
    return false;
}

/* Would rewrite() make the same node again, of operands that are the same? */
static bool stays_same(const kn_graph *g, const kn_node *n)
{
    switch (n->op) {
    case KN_OP_INDEX: return is_in_memory(n->in[0]);
    case KN_OP_TAKE: return !is_checked_count(n, n->in[0]);
    case KN_OP_RESHAPE: return n->in[0]->op != KN_OP_RESHAPE && !kn_regroups(g, n);
    default: return !reduces_nothing(g, n);
    }
}

/* Then another size needs no other graph. */
static bool is_refined(kn_arena *a, const kn_graph *g)
{
    const bool *needed = kn_needed_nodes(g, a);
    bool same = true;
    for (int i = 0; i < g->nodes.len && same; i++)
        same = needed[i] && stays_same(g, g->nodes.data[i]);
    return same;
}

/* A graph of the same nodes, with inputs and outputs of its own. */
static kn_graph *share_nodes(kn_arena *a, const kn_graph *g)
{
    kn_graph *to = kn_alloc_copy(a, g, sizeof *g);
    kn_copy_vec(a, &to->inputs, &g->inputs);
    kn_copy_vec(a, &to->outputs, &g->outputs);
    return to;
}

kn_graph *kn_refine(kn_arena *a, kn_graph *g, bool fuse, const int64_t **sizes)
{
    if (is_refined(a, g))
        return finish(share_nodes(a, g));
    refiner r = {.g = g};
    nodes regroupings = {0};
    int n = g->nodes.len;
    for (int i = 0; i < kn_symbols_count(g->syms); i++)
        kn_push(a, &r.sizes, (*sizes)[i]);
    r.axis = kn_alloc(a, sizeof *r.axis * (size_t)(n + 1));
    r.stays = KN_NEW_ARRAY(a, bool, n + 1);
    start(&r, &regroupings);
    if (!fuse || !refine_all(&r, &regroupings)) {
        for (int i = 0; i < regroupings.len; i++)
            r.stays[regroupings.data[i]->id] = true;
        start(&r, &(nodes){0});
    }
    kn_graph *to = kn_graph_rewrite(a, r.g, rewrite, &r);
    if (!to)
        return NULL;
    *sizes = r.sizes.data;
    return finish(to);
}
