/* Complex numbers: their parts, and operations that are made of operations on the parts. */
#include <math.h>

#include "ir/maker.h"

/* A complex value by its parts. */
typedef struct parts {
    kn_node *re, *im;
} parts;

static kn_node *sub(const maker *m, kn_node *a, kn_node *b) { return op2(m, KN_OP_SUB, a, b); }

static parts parts_of(const maker *m, kn_node *x)
{
    return (parts){op1(m, KN_OP_REAL, x), op1(m, KN_OP_IMAG, x)};
}

static kn_node *pair(const maker *m, kn_node *re, kn_node *im)
{
    return op2(m, KN_OP_PAIR, re, im);
}

static kn_node *each(const maker *m, kn_op op, parts z)
{
    return pair(m, op1(m, op, z.re), op1(m, op, z.im));
}

/* Both parts times a number. */
static kn_node *times(const maker *m, kn_node *x, double by)
{
    parts z = parts_of(m, x);
    return pair(m, mul(m, z.re, number(m, by)), mul(m, z.im, number(m, by)));
}

/* exp(x) - 1 of a complex number, as NumPy has it: cos(y) is 1 - 2 sin(y/2)^2. */
static kn_node *expm1_of(const maker *m, parts z)
{
    kn_node *half = op1(m, KN_OP_SIN, mul(m, z.im, number(m, 0.5)));
    kn_node *re = mul(m, op1(m, KN_OP_EXPM1, z.re), op1(m, KN_OP_COS, z.im));
    re = sub(m, re, mul(m, number(m, 2), mul(m, half, half)));
    return pair(m, re, mul(m, op1(m, KN_OP_EXP, z.re), op1(m, KN_OP_SIN, z.im)));
}

/* Near 0 by abs(1 + x)^2 - 1, which 1 + x would lose. */
static kn_node *log1p_of(const maker *m, kn_node *x)
{
    parts z = parts_of(m, x);
    kn_node *one = number(m, 1), *quarter = number(m, 0.25);
    kn_node *far = op1(m, KN_OP_LOG, pair(m, add(m, z.re, one), z.im));
    kn_node *square = add(m, mul(m, z.re, add(m, z.re, number(m, 2))), mul(m, z.im, z.im));
    kn_node *near = mul(m, op1(m, KN_OP_LOG1P, square), number(m, 0.5));
    kn_node *small = op2(m, KN_OP_AND, op2(m, KN_OP_LT, op1(m, KN_OP_ABS, z.re), quarter),
                         op2(m, KN_OP_LT, op1(m, KN_OP_ABS, z.im), quarter));
    parts f = parts_of(m, far);
    return pair(m, where(m, small, near, f.re), f.im);
}

/* x / abs(x); of infinities the direction, NaN where both parts are infinite, and 0 of 0. */
static kn_node *sign_of(const maker *m, parts z)
{
    kn_node *a = op1(m, KN_OP_ABS, z.re), *b = op1(m, KN_OP_ABS, z.im);
    kn_node *most = op2(m, KN_OP_FMAX, a, b);
    kn_node *none =
        op2(m, KN_OP_AND, op2(m, KN_OP_EQ, a, number(m, 0)), op2(m, KN_OP_EQ, b, number(m, 0)));
    kn_node *infinite = op1(m, KN_OP_ISINF, most);
    kn_node *scale = where(m, none, number(m, 1), most);
    kn_node *x[] = {divide(m, z.re, scale), divide(m, z.im, scale)};
    kn_node *size = op2(m, KN_OP_HYPOT, x[0], x[1]), *of[] = {z.re, z.im};
    for (int k = 0; k < 2; k++) {
        kn_node *own = op1(m, KN_OP_ISINF, of[k]), *other = op1(m, KN_OP_ISINF, of[1 - k]);
        kn_node *far = where(m, own, op2(m, KN_OP_COPYSIGN, number(m, 1), of[k]), number(m, 0));
        far = where(m, op2(m, KN_OP_AND, own, other), number(m, NAN), far);
        x[k] = where(m, none, of[k], where(m, infinite, far, divide(m, x[k], size)));
    }
    return pair(m, kn_build_cast(m->g, x[0], z.re->dtype, m->loc),
                kn_build_cast(m->g, x[1], z.im->dtype, m->loc));
}

kn_node *kn_build_complex(kn_graph *g, kn_op op, kn_node *x, kn_loc loc)
{
    const maker m = {g, loc};
    if (op == KN_OP_ABS && x->weak && x->op == KN_OP_CONST)
        return number(&m, hypot(x->u.value.f, x->u.value.im));
    parts z = parts_of(&m, x);
    if (!z.re || !z.im)
        return NULL;
    switch (op) {
    case KN_OP_ABS: return op2(&m, KN_OP_HYPOT, z.re, z.im);
    case KN_OP_EXP2: return op1(&m, KN_OP_EXP, times(&m, x, M_LN2));
    case KN_OP_LOG2: return times(&m, op1(&m, KN_OP_LOG, x), M_LOG2E);
    case KN_OP_LOG10: return times(&m, op1(&m, KN_OP_LOG, x), M_LOG10E);
    case KN_OP_EXPM1: return expm1_of(&m, z);
    case KN_OP_LOG1P: return log1p_of(&m, x);
    case KN_OP_RINT: return each(&m, KN_OP_RINT, z);
    case KN_OP_SIGN: return sign_of(&m, z);
    case KN_OP_ISNAN:
    case KN_OP_ISINF: return op2(&m, KN_OP_OR, op1(&m, op, z.re), op1(&m, op, z.im));
    case KN_OP_ISFINITE: return op2(&m, KN_OP_AND, op1(&m, op, z.re), op1(&m, op, z.im));
    default: return NULL;
    }
}

kn_node *kn_build_part(kn_graph *g, kn_op op, kn_node *x, kn_loc loc)
{
    switch (op) {
    case KN_OP_REAL: return x->weak ? x : kn_build_elem(g, KN_OP_COPY, &x, 1, loc);
    case KN_OP_CONJ: return kn_build_cast_to(g, x, x->dtype == KN_BOOL ? KN_I8 : x->dtype);
    default: {
        kn_node *zero = kn_build_const(g, (kn_scalar){.dtype = x->dtype}, loc);
        return kn_build_broadcast_to(g, zero, x->shape, x->rank, loc);
    }
    }
}

kn_node *kn_build_square_size(kn_graph *g, kn_node *x, kn_loc loc)
{
    const maker m = {g, loc};
    if (!x || !kn_is_complex(x->dtype))
        return mul(&m, x, x);
    parts z = parts_of(&m, x);
    return add(&m, mul(&m, z.re, z.re), mul(&m, z.im, z.im));
}
