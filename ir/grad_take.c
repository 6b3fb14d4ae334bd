/* The gradient of elements at computed indices: each element gets the sum of what was taken from it. Indices that follow
 * from the position alone, as of joining, padding and repeating, are inverted; others are searched for. */
#include "ir/grad_impl.h"

/* ---- patterns ---- */

typedef enum kind {
    OTHER,
    SHIFTED,  /* i - by where that is in the axis, else anything */
    ROLLED,   /* (i - by) % n */
    TILED,    /* i % n, `by` times over */
    REPEATED, /* i // by */
} kind;

typedef struct pattern {
    kind kind;
    kn_dim by;
} pattern;

/* Indices along one axis. */
typedef struct line {
    kn_node *index;
    int axis;
    kn_dim length, n; /* how many, and of how many */
} line;

/* Below views, and casts of integers. */
static const kn_node *plain(const kn_node *n)
{
    while (kn_ops[n->op].cls == KN_VIEW ||
           (n->op == KN_OP_CAST && kn_is_int(n->dtype) && kn_is_int(n->in[0]->dtype)))
        n = n->in[0];
    return n;
}

static bool is_size(kn_graph *g, const kn_node *n, kn_dim d)
{
    kn_dim size = d ? kn_build_size(g, plain(n)) : NULL;
    return size && kn_dim_equal(g->syms, size, d);
}

/* Is n the index less *by? */
static bool is_shifted(kn_graph *g, const kn_node *n, kn_dim *by)
{
    kn_dim less;
    n = plain(n);
    *by = kn_dim_const(g->syms, 0);
    if (n->op == KN_OP_IOTA)
        return true;
    if (n->op != KN_OP_SUB || plain(n->in[0])->op != KN_OP_IOTA ||
        !(less = kn_build_size(g, plain(n->in[1]))))
        return false;
    *by = less;
    return true;
}

/* What is clamped to the axis; n itself where it is not. */
static const kn_node *unclamped(kn_graph *g, const kn_node *n, kn_dim size)
{
    kn_symbols *s = g->syms;
    kn_dim last = kn_dim_sub(s, size, kn_dim_const(s, 1));
    if (n->op != KN_OP_MAXIMUM || !is_size(g, n->in[1], kn_dim_const(s, 0)))
        return n;
    const kn_node *least = plain(n->in[0]);
    return least->op == KN_OP_MINIMUM && is_size(g, least->in[1], last) ? plain(least->in[0]) : n;
}

/* minimum(t, end - t), t a remainder by `period`: forwards and backwards in turns, and first forwards over all of n. */
static const kn_node *unreflected(kn_graph *g, const kn_node *n, kn_dim size)
{
    kn_symbols *s = g->syms;
    kn_dim one = kn_dim_const(s, 1), two = kn_dim_const(s, 2);
    if (n->op != KN_OP_MINIMUM)
        return n;
    const kn_node *t = plain(n->in[0]), *back = plain(n->in[1]);
    if (t->op != KN_OP_MOD || back->op != KN_OP_SUB || plain(back->in[1]) != t)
        return n;
    kn_dim reflect = kn_dim_mul(s, two, kn_dim_sub(s, size, one)), whole = kn_dim_mul(s, two, size);
    bool known =
        (is_size(g, t->in[1], reflect) && is_size(g, back->in[0], reflect)) ||
        (is_size(g, t->in[1], whole) && is_size(g, back->in[0], kn_dim_sub(s, whole, one)));
    return known ? t->in[0] : n;
}

static pattern pattern_of(kn_graph *g, const line *l)
{
    kn_symbols *s = g->syms;
    pattern p = {OTHER, NULL};
    const kn_node *n = plain(l->index);
    if (n->op == KN_OP_FLOORDIV && plain(n->in[0])->op == KN_OP_IOTA &&
        (p.by = kn_build_size(g, plain(n->in[1])))) {
        kn_dim all = kn_dim_mul(s, p.by, l->n);
        return all && kn_dim_equal(s, all, l->length) ? (pattern){REPEATED, p.by} : p;
    }
    n = unreflected(g, unclamped(g, n, l->n), l->n);
    if (n->op == KN_OP_MOD && is_size(g, n->in[1], l->n) && is_shifted(g, n->in[0], &p.by)) {
        if (kn_dim_equal(s, l->length, l->n))
            return (pattern){ROLLED, p.by};
        kn_dim times = kn_dim_divide_exact(s, l->length, l->n);
        if (times && kn_dim_equal(s, p.by, kn_dim_const(s, 0)))
            return (pattern){TILED, times};
        p.kind = SHIFTED;
    } else if (is_shifted(g, n, &p.by)) {
        p.kind = SHIFTED;
    }
    kn_dim behind = p.kind == SHIFTED ? kn_dim_sub(s, kn_dim_sub(s, l->length, p.by), l->n) : NULL;
    bool inside = behind && kn_facts_not_negative(&g->facts, s, p.by) &&
                  kn_facts_not_negative(&g->facts, s, behind);
    return inside ? p : (pattern){OTHER, NULL};
}

/* ---- parts of an axis ---- */

typedef struct window {
    int axis;
    kn_dim lo, hi;
} window;

static bool not_negative(kn_graph *g, kn_dim d)
{
    return d && kn_facts_not_negative(&g->facts, g->syms, d);
}

enum { DEEPEST = 8, MOST_PARTS = 128 };

/* The condition c within a window: what of it is open there. NULL where it is decided, *holds. */
static kn_node *open_part(const kn_grad_site *s, kn_node *c, const window *w, int depth,
                          bool *holds)
{
    kn_graph *g = s->g;
    kn_dim by, bound;
    *holds = true;
    if (c->op == KN_OP_AND && c->rank > w->axis && depth < DEEPEST) {
        kn_node *a = open_part(s, c->in[0], w, depth + 1, holds);
        if (!a && !*holds)
            return NULL;
        kn_node *b = open_part(s, c->in[1], w, depth + 1, holds);
        if (!b && !*holds)
            return NULL;
        return a && b ? kn_grad_op2(s, KN_OP_AND, a, b) : a ? a : b;
    }
    for (int i = 0; i < c->rank; i++)
        if (kn_dim_is_one(g->syms, c->shape[i]) == (i == w->axis))
            return c;
    if ((c->op != KN_OP_LT && c->op != KN_OP_GE) || !is_shifted(g, c->in[0], &by) ||
        !(bound = kn_build_size(g, plain(c->in[1]))))
        return c;
    bound = kn_dim_add(g->syms, bound, by); /* of the index itself */
    bool below = not_negative(g, kn_dim_sub(g->syms, bound, w->hi));
    bool above = not_negative(g, kn_dim_sub(g->syms, w->lo, bound));
    *holds = c->op == KN_OP_LT ? below : above;
    return below || above ? NULL : c;
}

/* v within a window, where selections that are decided there are made; at most so many of them. */
static kn_node *cut(const kn_grad_site *s, kn_node *v, const window *w, int most)
{
    kn_graph *g = s->g;
    kn_index_item items[KN_MAX_RANK];
    kn_dim shape[KN_MAX_RANK];
    bool holds;
    if (!v || kn_dim_is_one(g->syms, v->shape[w->axis]))
        return v;
    kn_node *c = v->op == KN_OP_WHERE && most > 0 ? open_part(s, v->in[0], w, 0, &holds) : NULL;
    if (v->op != KN_OP_WHERE || most == 0 || c == v->in[0]) {
        for (int i = 0; i < v->rank; i++)
            items[i] = i == w->axis ? (kn_index_item){KN_INDEX_SLICE, w->lo, w->hi, 1}
                                    : (kn_index_item){.kind = KN_INDEX_SLICE, .step = 1};
        return kn_build_index(g, v, items, v->rank, s->loc);
    }
    kn_node *made;
    if (c) {
        kn_node *condition = cut(s, c, w, 0), *yes = cut(s, v->in[1], w, most / 2);
        made = kn_grad_select(s, condition, yes, cut(s, v->in[2], w, most / 2));
    } else
        made = cut(s, v->in[holds ? 1 : 2], w, most - 1);
    for (int i = 0; i < v->rank; i++)
        shape[i] = i == w->axis ? kn_dim_sub(g->syms, w->hi, w->lo) : v->shape[i];
    return kn_build_broadcast_to(g, made, shape, v->rank, s->loc);
}

/* ---- from indices to elements ---- */

static const char *what(const kn_grad_site *s)
{
    return kn_sprintf(s->g->arena, "the gradient of %s%s", kn_node_title(s->y),
                      kn_loc_place(s->y->loc).text);
}

/* Whatever the indices are. */
static kn_node *searched(const kn_grad_site *s, const line *l, kn_node *v)
{
    kn_scatter t = {.what = what(s), .rank = v->rank};
    for (int j = 0; j < v->rank; j++) {
        t.shape[j] = j == l->axis ? l->n : v->shape[j];
        t.axis[j] = j;
    }
    t.indices[l->axis] = l->index;
    return kn_build_scatter(s->g, &t, v, s->loc);
}

/* A fringe of what is shifted: its indices are anywhere. */
static kn_node *with_fringe(const kn_grad_site *s, const line *l, kn_node *v, window w,
                            kn_node *sum)
{
    if (!sum || kn_dim_equal(s->g->syms, w.lo, w.hi) || !(v = cut(s, v, &w, MOST_PARTS)))
        return v ? sum : NULL;
    if (kn_grad_is_zero(v))
        return sum;
    line part = *l;
    part.index = cut(s, l->index, &w, 0);
    return part.index ? kn_grad_op2(s, KN_OP_ADD, sum, searched(s, &part, v)) : NULL;
}

static kn_node *unshifted(const kn_grad_site *s, const line *l, kn_dim by, kn_node *v)
{
    kn_dim end = kn_dim_add(s->g->syms, by, l->n), zero = kn_dim_const(s->g->syms, 0);
    kn_node *sum = cut(s, v, &(window){l->axis, by, end}, MOST_PARTS);
    sum = with_fringe(s, l, v, (window){l->axis, zero, by}, sum);
    return with_fringe(s, l, v, (window){l->axis, end, l->length}, sum);
}

/* An axis that is n elements `by` times each, or n elements `by` times over. */
static kn_node *summed(const kn_grad_site *s, const line *l, const pattern *p, kn_node *v)
{
    kn_dim shape[KN_MAX_RANK];
    int inner = p->kind == REPEATED, summed = l->axis + inner;
    if (v->rank == KN_MAX_RANK)
        return searched(s, l, v);
    for (int j = 0, i = 0; j < v->rank; j++) {
        shape[i++] = j != l->axis ? v->shape[j] : inner ? l->n : p->by;
        if (j == l->axis)
            shape[i++] = inner ? p->by : l->n;
    }
    v = kn_build_reshape_to(s->g, v, shape, v->rank + 1, s->loc);
    return kn_build_reduction(s->g, KN_OP_SUM, v,
                              &(kn_reduction){.axes = &summed, .naxes = 1, .dtype = v->dtype},
                              s->loc);
}

static kn_node *backwards(const kn_grad_site *s, const line *l, kn_node *v)
{
    int64_t by;
    const pattern p = pattern_of(s->g, l);
    switch (p.kind) {
    case ROLLED:
        if (!kn_dim_is_const(s->g->syms, p.by, &by))
            return searched(s, l, v);
        by = -by;
        return kn_build_roll(s->g, v, &by, 1, &l->axis, 1, s->loc);
    case TILED:
    case REPEATED: return summed(s, l, &p, v);
    case SHIFTED: return unshifted(s, l, p.by, v);
    default: return searched(s, l, v);
    }
}

/* Does each axis of the operand depend on the result's axis of the same number alone? */
static bool is_separable(kn_graph *g, const kn_node *take)
{
    const kn_node *x = take->in[0];
    if (x->rank != take->rank)
        return false;
    for (int j = 0; j < x->rank; j++) {
        const kn_node *index = take->u.gather.by[j] ? take->in[take->u.gather.by[j]] : NULL;
        int axis = take->u.gather.axis[j];
        if (!index && axis != j && axis >= 0)
            return false;
        for (int i = 0; index && i < take->rank; i++)
            if (i != j && !kn_dim_is_one(g->syms, index->shape[i]))
                return false;
    }
    return true;
}

kn_node *kn_grad_take(const kn_grad_site *s, int k)
{
    (void)k;
    const kn_node *take = s->y, *x = take->in[0];
    kn_node *v = s->dy;
    if (!is_separable(s->g, take)) {
        const kn_scatter t = kn_scatter_of(take, what(s));
        return kn_build_scatter(s->g, &t, v, s->loc);
    }
    for (int j = 0; j < x->rank && v; j++) {
        int by = take->u.gather.by[j];
        line l = {by ? take->in[by] : NULL, j, v->shape[j], x->shape[j]};
        v = by ? backwards(s, &l, v) : v;
    }
    return v;
}
