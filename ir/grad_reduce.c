/* The gradients of reductions; they keep their axes as 1, so that what follows repeats along them by itself. */
#include "ir/grad_impl.h"

static kn_node *repeated(const kn_grad_site *s, kn_node *x)
{
    const kn_node *of = s->y->in[0];
    return kn_build_broadcast_to(s->g, x, of->shape, of->rank, s->loc);
}

/* As the reduction of s, of x. */
static kn_node *reduce(const kn_grad_site *s, kn_op op, kn_node *x)
{
    int axes[KN_MAX_RANK], n = 0;
    for (int j = 0; j < s->y->rank; j++)
        if (s->y->u.reduce.axes >> j & 1)
            axes[n++] = j;
    const kn_reduction r = {.axes = axes, .naxes = n, .keepdims = true};
    return kn_build_reduction(s->g, op, x, &r, s->loc);
}

/* How many elements each result is of, less ddof, in type t. */
static kn_node *members(const kn_grad_site *s, int ddof, kn_dtype t)
{
    kn_symbols *syms = s->g->syms;
    kn_dim n = kn_grad_count(s, s->y->in[0], s->y->u.reduce.axes);
    n = kn_dim_max(syms, kn_dim_sub(syms, n, kn_dim_const(syms, ddof)), kn_dim_const(syms, 0));
    return kn_grad_cast(s, kn_build_extent(s->g, n, s->loc), t);
}

kn_node *kn_grad_sum(const kn_grad_site *s, int k)
{
    (void)k;
    return repeated(s, s->dy);
}

kn_node *kn_grad_mean(const kn_grad_site *s, int k)
{
    (void)k;
    return repeated(s, kn_grad_op2(s, KN_OP_DIV, s->dy, members(s, 0, s->dy->dtype)));
}

/* dy * 2 * (x - mean(x)) / (n - ddof); of 16-bit floats in f32, as the variance is. */
kn_node *kn_grad_var(const kn_grad_site *s, int k)
{
    (void)k;
    kn_dtype t = kn_compute_dtype(s->dy->dtype);
    kn_node *x = kn_grad_cast(s, s->y->in[0], t), *dy = kn_grad_cast(s, s->dy, t);
    kn_node *d = kn_grad_op2(s, KN_OP_SUB, x, reduce(s, KN_OP_MEAN, x));
    kn_node *twice = kn_grad_op2(s, KN_OP_MUL, dy, kn_grad_number(s, 2));
    kn_node *each = kn_grad_op2(s, KN_OP_DIV, twice, members(s, s->y->u.reduce.ddof, t));
    return kn_grad_cast(s, kn_grad_op2(s, KN_OP_MUL, d, each), s->dy->dtype);
}

/* dy times the product of the others: by division, but where an element is 0. */
kn_node *kn_grad_prod(const kn_grad_site *s, int k)
{
    (void)k;
    kn_node *x = s->y->in[0], *zero = kn_grad_number(s, 0), *one = kn_grad_number(s, 1);
    kn_node *none = kn_grad_op2(s, KN_OP_EQ, x, zero), *zeros = reduce(s, KN_OP_SUM, none);
    kn_node *rest = kn_grad_select(s, none, one, x), *product = reduce(s, KN_OP_PROD, rest);
    kn_node *alone = kn_grad_op2(s, KN_OP_EQ, zeros, kn_build_int(s->g, 1, s->loc));
    alone = kn_grad_op2(s, KN_OP_AND, none, alone);
    kn_node *others = kn_grad_select(s, alone, product, kn_grad_op2(s, KN_OP_DIV, s->y, rest));
    return kn_grad_op2(s, KN_OP_MUL, s->dy, others);
}

/* Elements that are the extreme share its gradient; those are NaN where one is. */
kn_node *kn_grad_extreme(const kn_grad_site *s, int k)
{
    (void)k;
    kn_node *x = s->y->in[0];
    kn_node *here = kn_grad_op2(s, KN_OP_EQ, x, s->y);
    here = kn_grad_op2(s, KN_OP_OR, here, kn_grad_op2(s, KN_OP_NE, x, x));
    kn_node *count = kn_grad_cast(s, here, kn_compute_dtype(s->dy->dtype));
    kn_node *share = kn_grad_cast(s, reduce(s, KN_OP_SUM, count), s->dy->dtype);
    share = kn_grad_op2(s, KN_OP_DIV, s->dy, share);
    return kn_grad_select(s, here, share, kn_grad_cast(s, kn_grad_number(s, 0), s->dy->dtype));
}

/* By the user's rule, which gets all operands and results. */
kn_node *kn_grad_reduce_by(const kn_grad_site *s, int k)
{
    const kn_reducer *by = s->y->by;
    kn_node *x[KN_MAX_CARRIED], *y[KN_MAX_CARRIED];
    if (!by->rule.gradient) {
        kn_node_fail(KN_TYPE, s->y,
                     "a reduction of the user's own that has no rule for its gradient");
        return NULL;
    }
    for (int c = 0; c < by->count; c++) {
        kn_node result = *s->y;
        result.u.reduce.carried = c;
        result.dtype = by->dtype[c];
        result.name = NULL;
        x[c] = s->y->in[c];
        y[c] = kn_graph_intern(s->g, &result);
    }
    const kn_reduced of = {by->count, s->y->u.reduce.carried, x, y, s->dy};
    kn_node *dx = by->rule.gradient(by->rule.user, &of, k);
    if (!dx)
        return NULL;
    if (kn_is_complex(dx->dtype) && !kn_is_complex(x[k]->dtype)) {
        kn_node_fail(KN_TYPE, s->y, "the rule for its gradient gives %s for %s",
                     kn_dtypes[dx->dtype].text, kn_dtypes[x[k]->dtype].text);
        return NULL;
    }
    dx = kn_build_broadcast_to(s->g, kn_grad_cast(s, dx, x[k]->dtype), x[k]->shape, x[k]->rank,
                               s->loc);
    if (!dx)
        kn_fail_prefix(KN_SHAPE, "%s, the rule for its gradient: ", kn_node_title(s->y));
    return dx;
}
