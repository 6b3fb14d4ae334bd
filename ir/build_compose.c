/* Reductions with a mask or a start, and functions that are made of several operations. */
#include <math.h>

#include "ir/build_impl.h"
#include "ir/eval.h"

/* Operands of these may be NULL after a failure; then so is the result. */

static kn_node *unary(kn_graph *g, kn_op op, kn_node *x, kn_loc loc)
{
    return kn_build_elem(g, op, &x, 1, loc);
}

static kn_node *binary(kn_graph *g, kn_op op, kn_node *a, kn_node *b, kn_loc loc)
{
    return kn_build_elem(g, op, (kn_node *[]){a, b}, 2, loc);
}

static kn_node *select(kn_graph *g, kn_node *c, kn_node *a, kn_node *b, kn_loc loc)
{
    return kn_build_elem(g, KN_OP_WHERE, (kn_node *[]){c, a, b}, 3, loc);
}

static kn_node *float_of(kn_graph *g, kn_node *x, kn_loc loc)
{
    return x && !kn_is_inexact(x->dtype) ? kn_build_cast(g, x, KN_F64, loc) : x;
}

/* r's axes, kept. */
static kn_reduction kept(const kn_reduction *r)
{
    return (kn_reduction){.axes = r->axes, .naxes = r->naxes, .keepdims = true};
}

static kn_node *reduce(kn_graph *g, kn_op op, kn_node *x, kn_reduction r, kn_loc loc)
{
    return kn_build_reduce_over(g, op, x, &r, false, loc);
}

/* ---- where=, initial=, nan... ---- */

static bool skips_nan(const kn_node *x, const kn_reduction *r)
{
    return r->skip_nan && kn_is_inexact(x->dtype);
}

/* The mask of the elements that count, in x's shape; NULL where all do. False after a failure. */
static bool mask_of(kn_graph *g, kn_op op, kn_node *x, const kn_reduction *r, kn_node **mask,
                    kn_loc loc)
{
    *mask = r->where;
    if (r->where && r->where->dtype != KN_BOOL && !r->where->weak) {
        kn_fail(KN_TYPE, "%s: where= must be bool, not %s", kn_ops[op].text,
                kn_dtypes[r->where->dtype].text);
        return false;
    }
    if (r->where) {
        kn_node *m = kn_build_cast(g, r->where, KN_BOOL, loc);
        *mask = m = kn_build_broadcast_to(g, m, x->shape, x->rank, loc);
        if (!m)
            return kn_fail_prefix(KN_SHAPE, "%s, where=: ", kn_ops[op].text), false;
    }
    if (skips_nan(x, r)) {
        kn_node *number = binary(g, KN_OP_EQ, x, x, loc);
        *mask = *mask ? binary(g, KN_OP_AND, *mask, number, loc) : number;
    }
    return true;
}

/* How many elements count, in type t; r's keepdims and axes. */
static kn_node *count_of(kn_graph *g, kn_node *mask, kn_reduction r, kn_dtype t, kn_loc loc)
{
    r.dtype = KN_I64;
    return kn_build_cast(g, reduce(g, KN_OP_SUM, mask, r, loc), t, loc);
}

static kn_node *masked(kn_graph *g, kn_node *mask, kn_node *x, kn_scalar otherwise, kn_loc loc)
{
    return select(g, mask, x, kn_build_const(g, otherwise, loc), loc);
}

/* The mean, or the variance about it, of what the mask lets through. */
static kn_node *masked_moment(kn_graph *g, kn_op op, kn_node *x, kn_node *mask,
                              const kn_reduction *r, kn_loc loc)
{
    const kn_dtype t = kn_build_reduce_type(op, x->dtype, r->dtype);
    const kn_scalar zero = kn_identity(KN_OP_SUM, t);
    kn_reduction outer = {.axes = r->axes, .naxes = r->naxes, .keepdims = r->keepdims};
    kn_reduction inner = op == KN_OP_VAR ? kept(r) : outer;
    kn_node *v = kn_build_cast(g, x, t, loc);
    kn_node *sum = reduce(g, KN_OP_SUM, masked(g, mask, v, zero, loc), inner, loc);
    kn_node *mean = binary(g, KN_OP_DIV, sum, count_of(g, mask, inner, t, loc), loc);
    if (op == KN_OP_MEAN)
        return mean;
    kn_node *d = masked(g, mask, binary(g, KN_OP_SUB, v, mean, loc), zero, loc);
    kn_node *squares = reduce(g, KN_OP_SUM, kn_build_square_size(g, d, loc), outer, loc);
    kn_node *n = count_of(g, mask, outer, KN_I64, loc);
    kn_node *dof = binary(g, KN_OP_SUB, n, kn_build_int(g, r->ddof, loc), loc);
    dof = binary(g, KN_OP_MAXIMUM, dof, kn_build_int(g, 0, loc), loc);
    dof = kn_build_cast(g, dof, kn_real_of(t), loc);
    kn_node *var = binary(g, KN_OP_DIV, squares, dof, loc);
    if (!skips_nan(x, r))
        return var;
    /* nanvar: too few elements give NaN, where var gives inf too */
    kn_node *few = binary(g, KN_OP_LE, dof, kn_build_int(g, 0, loc), loc);
    return select(g, few, kn_build_float(g, NAN, loc), var, loc);
}

static bool check_initial(kn_op op, const kn_node *initial)
{
    bool takes = op == KN_OP_SUM || op == KN_OP_PROD || op == KN_OP_MIN || op == KN_OP_MAX;
    if (takes && initial->rank == 0)
        return true;
    kn_fail(KN_TYPE, takes ? "%s: initial= must be a number" : "%s has no argument initial",
            kn_ops[op].text);
    return false;
}

kn_node *kn_build_reduction(kn_graph *g, kn_op op, kn_node *x, const kn_reduction *r, kn_loc loc)
{
    kn_node *mask;
    if (!x || !mask_of(g, op, x, r, &mask, loc) ||
        (r->initial[0] && !check_initial(op, r->initial[0])))
        return NULL;
    kn_dtype t = kn_build_reduce_type(op, x->dtype, r->dtype);
    if (!t)
        return NULL;
    bool extreme = op == KN_OP_MIN || op == KN_OP_MAX;
    if (extreme && r->where && !r->initial[0]) {
        kn_fail(KN_SHAPE, "%s has no identity: with where= it needs initial=", kn_ops[op].text);
        return NULL;
    }
    if (mask && (op == KN_OP_MEAN || op == KN_OP_VAR))
        return masked_moment(g, op, x, mask, r, loc);

    kn_node *all = x;
    if (mask)
        all = masked(g, mask, kn_build_cast(g, x, t, loc), kn_identity(op, t), loc);
    kn_node *made = kn_build_reduce_over(g, op, all, r, r->initial[0] != NULL, loc);
    if (!made)
        return NULL;
    if (extreme && !r->initial[0] && skips_nan(x, r)) { /* nanmin of nothing but NaN is NaN */
        kn_reduction any = {.axes = r->axes, .naxes = r->naxes, .keepdims = r->keepdims};
        kn_node *some = kn_build_reduce_over(g, KN_OP_ANY, mask, &any, false, loc);
        made = select(g, some, made, kn_build_float(g, NAN, loc), loc);
    }
    if (!r->initial[0])
        return made;
    kn_node *initial = r->initial[0];
    if (initial->weak &&
        !kn_build_need_number(g, kn_sprintf(g->arena, "initial of %s", kn_ops[op].text), initial, t,
                              loc))
        return NULL;
    return binary(g, kn_ops[op].combine, kn_build_cast(g, initial, t, loc), made, loc);
}

/* ---- made of several ---- */

kn_node *kn_build_ptp(kn_graph *g, kn_node *x, const kn_reduction *r, kn_loc loc)
{
    kn_node *most = reduce(g, KN_OP_MAX, x, *r, loc);
    return binary(g, KN_OP_SUB, most, reduce(g, KN_OP_MIN, x, *r, loc), loc);
}

kn_node *kn_build_count_nonzero(kn_graph *g, kn_node *x, const kn_reduction *r, kn_loc loc)
{
    return x ? count_of(g, kn_build_cast(g, x, KN_BOOL, loc), *r, KN_I64, loc) : NULL;
}

/* The largest element over r's axes, kept; 0 where it is not finite, so that x - m has no inf - inf. */
static kn_node *finite_max(kn_graph *g, kn_node *x, const kn_reduction *r, kn_loc loc)
{
    kn_reduction k = kept(r);
    kn_node *m = kn_build_reduce_over(g, KN_OP_MAX, x, &k, true, loc);
    kn_node *zero = kn_build_int(g, 0, loc);
    kn_node *finite = binary(g, KN_OP_EQ, binary(g, KN_OP_SUB, m, m, loc), zero, loc);
    return select(g, finite, m, zero, loc);
}

/* m without its axes of r, unless they stay. */
static kn_node *without_axes(kn_graph *g, kn_node *m, const kn_reduction *r, kn_loc loc)
{
    kn_dim shape[KN_MAX_RANK];
    uint32_t mask;
    int rank = 0;
    if (!m || r->keepdims)
        return m;
    if (!kn_build_axes(g, "reshape", m, r->axes, r->naxes, &mask))
        return NULL;
    for (int i = 0; i < m->rank; i++)
        if (!(mask >> i & 1))
            shape[rank++] = m->shape[i];
    return kn_build_reshape_to(g, m, shape, rank, loc);
}

/* The same for what is of real numbers only. */
static kn_node *real_float_of(kn_graph *g, const char *what, kn_node *x, kn_loc loc)
{
    if (!x || !kn_is_complex(x->dtype))
        return float_of(g, x, loc);
    kn_fail(KN_TYPE, "%s of %s: it is of real numbers", what, kn_dtypes[x->dtype].text);
    return NULL;
}

kn_node *kn_build_logsumexp(kn_graph *g, kn_node *x, const kn_reduction *r, kn_loc loc)
{
    x = real_float_of(g, "logsumexp", x, loc);
    kn_node *m = finite_max(g, x, r, loc);
    kn_node *e = unary(g, KN_OP_EXP, binary(g, KN_OP_SUB, x, m, loc), loc);
    kn_node *log = unary(g, KN_OP_LOG, reduce(g, KN_OP_SUM, e, *r, loc), loc);
    return binary(g, KN_OP_ADD, log, without_axes(g, m, r, loc), loc);
}

kn_node *kn_build_softmax(kn_graph *g, kn_node *x, const kn_reduction *r, bool log, kn_loc loc)
{
    x = real_float_of(g, "softmax", x, loc);
    kn_reduction k = kept(r);
    kn_node *m =
        log ? finite_max(g, x, r, loc) : kn_build_reduce_over(g, KN_OP_MAX, x, &k, true, loc);
    kn_node *d = binary(g, KN_OP_SUB, x, m, loc), *e = unary(g, KN_OP_EXP, d, loc);
    kn_node *sum = reduce(g, KN_OP_SUM, e, k, loc);
    return log ? binary(g, KN_OP_SUB, d, unary(g, KN_OP_LOG, sum, loc), loc)
               : binary(g, KN_OP_DIV, e, sum, loc);
}

kn_node *kn_build_norm(kn_graph *g, kn_node *x, double order, const kn_reduction *r, kn_loc loc)
{
    x = float_of(g, x, loc);
    kn_node *a = unary(g, KN_OP_ABS, x, loc);
    if (!a)
        return NULL;
    if (isinf(order))
        return reduce(g, order > 0 ? KN_OP_MAX : KN_OP_MIN, a, *r, loc);
    if (order == 1)
        return reduce(g, KN_OP_SUM, a, *r, loc);
    if (order == 2)
        return unary(g, KN_OP_SQRT, reduce(g, KN_OP_SUM, kn_build_square_size(g, x, loc), *r, loc),
                     loc);
    if (order == 0) {
        kn_node *count = kn_build_count_nonzero(g, x, r, loc);
        return count ? kn_build_cast(g, count, a->dtype, loc) : NULL;
    }
    kn_node *powers = binary(g, KN_OP_POW, a, kn_build_float(g, order, loc), loc);
    kn_node *sum = reduce(g, KN_OP_SUM, powers, *r, loc);
    return binary(g, KN_OP_POW, sum, kn_build_float(g, 1 / order, loc), loc);
}

/* One weight an element of axis `axis` of x, which is given by r. */
static kn_node *weights_along(kn_graph *g, kn_node *x, kn_node *w, const kn_reduction *r,
                              kn_loc loc)
{
    kn_dim shape[KN_MAX_RANK];
    uint32_t mask;
    if (r->naxes < 0 || w->rank != r->naxes || w->rank != 1) {
        kn_fail(KN_SHAPE,
                "average: weights of %s do not fit %s; they have its shape, or one axis= is given "
                "and they have its size",
                kn_build_shape_text(g, w->shape, w->rank),
                kn_build_shape_text(g, x->shape, x->rank));
        return NULL;
    }
    if (!kn_build_axes(g, "average", x, r->axes, r->naxes, &mask))
        return NULL;
    for (int i = 0; i < x->rank; i++)
        shape[i] = mask >> i & 1 ? w->shape[0] : kn_dim_const(g->syms, 1);
    return kn_build_reshape_to(g, w, shape, x->rank, loc);
}

kn_node *kn_build_average(kn_graph *g, kn_node *x, kn_node *w, const kn_reduction *r, kn_loc loc)
{
    if (!w || !x)
        return reduce(g, KN_OP_MEAN, x, *r, loc);
    kn_dtype t = kn_promote(x->dtype, w->dtype);
    if (!kn_is_inexact(x->dtype))
        t = kn_promote(t, KN_F64);
    if (w->rank != x->rank)
        w = weights_along(g, x, w, r, loc);
    w = w ? kn_build_broadcast_to(g, w, x->shape, x->rank, loc) : NULL;
    if (!w)
        return NULL;
    w = kn_build_cast(g, w, t, loc);
    kn_node *xw = binary(g, KN_OP_MUL, kn_build_cast(g, x, t, loc), w, loc);
    kn_node *sum = reduce(g, KN_OP_SUM, xw, *r, loc);
    return binary(g, KN_OP_DIV, sum, reduce(g, KN_OP_SUM, w, *r, loc), loc);
}

kn_node *kn_build_dot(kn_graph *g, kn_node *a, kn_node *b, bool conjugate, kn_loc loc)
{
    if (!a || !b)
        return NULL;
    a = a->weak ? kn_build_cast(g, a, a->dtype, loc) : a;
    b = b->weak ? kn_build_cast(g, b, b->dtype, loc) : b;
    if (a->rank && b->rank && (a->rank > 1 || b->rank > 1)) {
        kn_fail(KN_SHAPE, "dot of %s and %s: only of vectors",
                kn_build_shape_text(g, a->shape, a->rank),
                kn_build_shape_text(g, b->shape, b->rank));
        return NULL;
    }
    if (a->rank && b->rank && kn_dim_unify(g->syms, a->shape[0], b->shape[0]) == KN_NEVER) {
        kn_fail(KN_SHAPE, "dot of %s and %s: their lengths differ",
                kn_build_shape_text(g, a->shape, 1), kn_build_shape_text(g, b->shape, 1));
        return NULL;
    }
    if (a->rank && b->rank)
        kn_build_need(g, KN_FACT_EQUAL, a->shape[0], b->shape[0], "dot", loc);
    if (conjugate && kn_is_complex(a->dtype))
        a = unary(g, KN_OP_CONJ, a, loc);
    kn_node *product = binary(g, KN_OP_MUL, a, b, loc);
    if (!product || !a->rank || !b->rank)
        return product;
    return reduce(g, KN_OP_SUM, product, (kn_reduction){.naxes = -1, .dtype = product->dtype}, loc);
}
