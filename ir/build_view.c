/* Views: the same elements under another index. */
#include "ir/build_impl.h"

static kn_node *view(kn_graph *g, kn_op op, kn_node *x, const kn_dim *shape, int rank, kn_loc loc)
{
    kn_node n = {.op = op,
                 .dtype = x->dtype,
                 .weak = x->weak,
                 .rank = rank,
                 .shape = shape,
                 .nin = 1,
                 .loc = loc,
                 .in = {x}};
    return kn_graph_intern(g, &n);
}

kn_node *kn_build_reshape_to(kn_graph *g, kn_node *x, const kn_dim *shape, int rank, kn_loc loc)
{
    bool same = rank == x->rank;
    for (int i = 0; same && i < rank; i++)
        same = kn_dim_equal(g->syms, shape[i], x->shape[i]);
    if (same)
        return x;
    return view(g, KN_OP_RESHAPE, x, shape, rank, loc);
}

kn_node *kn_build_pad_rank(kn_graph *g, kn_node *x, int rank, kn_loc loc)
{
    kn_dim shape[KN_MAX_RANK];
    int more = rank - x->rank;
    for (int i = 0; i < rank; i++)
        shape[i] = i < more ? kn_dim_const(g->syms, 1) : x->shape[i - more];
    return kn_build_reshape_to(g, x, shape, rank, loc);
}

/* Takes C // G among the new sizes as exact, and records that G must divide C, since a reshape keeps the number of
 * elements. True where there was one. */
static bool take_exact(kn_graph *g, kn_dim *shape, int rank, kn_loc loc)
{
    bool any = false;
    for (int i = 0; i < rank; i++) {
        kn_dim num, den, exact;
        while (shape[i] && (exact = kn_dim_take_exact(g->syms, shape[i], &num, &den))) {
            kn_build_need(g, KN_FACT_DIVIDES, num, den, "reshape", loc);
            shape[i] = exact;
            any = true;
        }
    }
    return any;
}

kn_node *kn_build_reshape(kn_graph *g, kn_node *x, const kn_dim *shape, int rank, kn_loc loc)
{
    if (!x)
        return NULL;
    if (rank > KN_MAX_RANK) {
        kn_fail(KN_SHAPE, "reshape: %d dimensions; %d is the limit", rank, KN_MAX_RANK);
        return NULL;
    }
    kn_symbols *s = g->syms;
    kn_dim to[KN_MAX_RANK], count = kn_dim_const(s, 1), total = kn_node_count(g, x);
    int hole = -1;
    for (int i = 0; i < rank; i++) {
        to[i] = shape[i] && total ? kn_dim_divided_as(s, shape[i], total) : shape[i];
        if (to[i]) {
            count = kn_dim_mul(s, count, to[i]);
        } else if (hole >= 0) {
            kn_fail(KN_SHAPE, "reshape: only one dimension can be -1");
            return NULL;
        } else {
            hole = i;
        }
    }
    if (!count || !total)
        return NULL;
    bool fits =
        hole >= 0 ? kn_dim_divide_exact(s, total, count) != NULL : kn_dim_equal(s, total, count);
    if (!fits && take_exact(g, to, rank, loc))
        return kn_build_reshape(g, x, to, rank, loc);
    if (hole >= 0) {
        int64_t vc, vt;
        if (kn_dim_is_const(s, count, &vc) && kn_dim_is_const(s, total, &vt) &&
            (vc == 0 || vt % vc != 0)) {
            kn_fail(KN_SHAPE, "reshape: %s does not divide into parts of %lld",
                    kn_build_shape_text(g, x->shape, x->rank), (long long)vc);
            return NULL;
        }
        to[hole] = kn_dim_quotient(s, total, count);
        return to[hole] ? kn_build_reshape_to(g, x, to, rank, loc) : NULL;
    }
    if (!fits) {
        const char *a = kn_build_shape_text(g, x->shape, x->rank),
                   *b = kn_build_shape_text(g, to, rank);
        kn_fact fact = {.kind = KN_FACT_EQUAL, .a = total, .b = count};
        if (kn_dim_unify(s, total, count) == KN_NEVER) {
            kn_fail(KN_SHAPE, "reshape: %s and %s have different numbers of elements", a, b);
            return NULL;
        }
        fact.why = kn_sprintf(g->arena, "reshape%s of %s to %s", kn_build_place(g, loc), a, b);
        kn_facts_add(&g->facts, s, g->arena, fact);
    }
    return kn_build_reshape_to(g, x, to, rank, loc);
}

kn_node *kn_build_transpose(kn_graph *g, kn_node *x, const int *perm, int n, kn_loc loc)
{
    if (!x)
        return NULL;
    if (perm && n != x->rank) {
        kn_fail(KN_SHAPE, "transpose: %d axes given for %s", n,
                kn_build_shape_text(g, x->shape, x->rank));
        return NULL;
    }
    kn_node node = {.op = KN_OP_PERMUTE,
                    .dtype = x->dtype,
                    .weak = x->weak,
                    .rank = x->rank,
                    .nin = 1,
                    .loc = loc};
    kn_dim shape[KN_MAX_RANK];
    uint32_t seen = 0;
    bool identity = true;
    for (int i = 0; i < x->rank; i++) {
        int from = perm ? perm[i] : x->rank - 1 - i;
        if (from < 0)
            from += x->rank;
        if (from < 0 || from >= x->rank || seen >> from & 1) {
            kn_fail(KN_SHAPE, "transpose: axis %d of %s is out of bounds or given twice",
                    perm ? perm[i] : from, kn_build_shape_text(g, x->shape, x->rank));
            return NULL;
        }
        seen |= 1u << from;
        node.u.perm[i] = (int8_t)from;
        shape[i] = x->shape[from];
        identity = identity && from == i;
    }
    if (identity)
        return x;
    node.shape = shape;
    node.in[0] = x;
    return kn_graph_intern(g, &node);
}

kn_node *kn_build_broadcast_to(kn_graph *g, kn_node *x, const kn_dim *shape, int rank, kn_loc loc)
{
    if (!x)
        return NULL;
    if (rank < x->rank || rank > KN_MAX_RANK) {
        kn_fail(KN_SHAPE, "broadcast_to: %s does not broadcast to %s",
                kn_build_shape_text(g, x->shape, x->rank), kn_build_shape_text(g, shape, rank));
        return NULL;
    }
    x = kn_build_pad_rank(g, x, rank, loc);
    bool same = true;
    for (int i = 0; i < rank; i++) {
        if (kn_dim_equal(g->syms, x->shape[i], shape[i]))
            continue;
        if (kn_dim_is_one(g->syms, x->shape[i])) {
            same = false;
            continue;
        }
        const char *a = kn_build_shape_text(g, x->shape, rank),
                   *b = kn_build_shape_text(g, shape, rank);
        kn_fact fact = {.kind = KN_FACT_EQUAL, .a = x->shape[i], .b = shape[i]};
        if (kn_dim_unify(g->syms, x->shape[i], shape[i]) != KN_UNIFIED) {
            kn_fail(KN_SHAPE, "broadcast_to: %s does not broadcast to %s", a, b);
            return NULL;
        }
        fact.why = kn_sprintf(g->arena, "broadcast_to%s of %s to %s", kn_build_place(g, loc), a, b);
        kn_facts_add(&g->facts, g->syms, g->arena, fact);
    }
    if (same)
        return x;
    return view(g, KN_OP_BROADCAST, x, shape, rank, loc);
}

kn_node *kn_build_expand_dims(kn_graph *g, kn_node *x, const int *axes, int naxes, kn_loc loc)
{
    if (!x)
        return NULL;
    int rank = x->rank + naxes, from = 0;
    bool added[KN_MAX_RANK] = {false};
    kn_dim shape[KN_MAX_RANK];
    if (rank > KN_MAX_RANK) {
        kn_fail(KN_SHAPE, "expand_dims: the result has more than %d axes", KN_MAX_RANK);
        return NULL;
    }
    for (int i = 0; i < naxes; i++) {
        int at = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (at < 0 || at >= rank || added[at]) {
            kn_fail(KN_SHAPE, "expand_dims: axis %d %s %s", axes[i],
                    at < 0 || at >= rank ? "is out of bounds for" : "is given twice for",
                    kn_build_shape_text(g, x->shape, x->rank));
            return NULL;
        }
        added[at] = true;
    }
    for (int i = 0; i < rank; i++)
        shape[i] = added[i] ? kn_dim_const(g->syms, 1) : x->shape[from++];
    return kn_build_reshape_to(g, x, shape, rank, loc);
}
