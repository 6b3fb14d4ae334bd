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
    kn_node *re = op1(m, KN_OP_REAL, x);
    return (parts){re, op1(m, KN_OP_IMAG, x)};
}

static kn_node *pair(const maker *m, kn_node *re, kn_node *im)
{
    return op2(m, KN_OP_PAIR, re, im);
}

static kn_node *each(const maker *m, kn_op op, parts z)
{
    kn_node *re = op1(m, op, z.re);
    return pair(m, re, op1(m, op, z.im));
}

/* What `op` says of the parts, together. */
static kn_node *both(const maker *m, kn_op op, parts z, kn_op together)
{
    kn_node *re = op1(m, op, z.re);
    return op2(m, together, re, op1(m, op, z.im));
}

/* Both parts times a number. */
static kn_node *times(const maker *m, kn_node *x, double by)
{
    parts z = parts_of(m, x);
    kn_node *re = scaled(m, z.re, by);
    return pair(m, re, scaled(m, z.im, by));
}

/* exp(x) - 1 of a complex number, as NumPy has it: cos(y) is 1 - 2 sin(y/2)^2. */
static kn_node *expm1_of(const maker *m, parts z)
{
    kn_node *half = op1(m, KN_OP_SIN, scaled(m, z.im, 0.5));
    kn_node *less = op1(m, KN_OP_EXPM1, z.re), *turn = op1(m, KN_OP_COS, z.im);
    kn_node *re = mul(m, less, turn);
    re = sub(m, re, scaled(m, mul(m, half, half), 2));
    kn_node *size = op1(m, KN_OP_EXP, z.re);
    return pair(m, re, mul(m, size, op1(m, KN_OP_SIN, z.im)));
}

/* Near 0 by abs(1 + x)^2 - 1, which 1 + x would lose. */
static kn_node *log1p_of(const maker *m, kn_node *x)
{
    parts z = parts_of(m, x);
    kn_node *one = number(m, 1), *quarter = number(m, 0.25);
    kn_node *far = op1(m, KN_OP_LOG, pair(m, add(m, z.re, one), z.im));
    kn_node *square = mul(m, z.re, add(m, z.re, number(m, 2)));
    square = add(m, square, mul(m, z.im, z.im));
    kn_node *near = scaled(m, op1(m, KN_OP_LOG1P, square), 0.5);
    kn_node *small = op2(m, KN_OP_LT, op1(m, KN_OP_ABS, z.re), quarter);
    small = op2(m, KN_OP_AND, small, op2(m, KN_OP_LT, op1(m, KN_OP_ABS, z.im), quarter));
    parts f = parts_of(m, far);
    return pair(m, where(m, small, near, f.re), f.im);
}

/* x / abs(x); of infinities the direction, NaN where both parts are infinite, and 0 of 0. */
static kn_node *sign_of(const maker *m, parts z)
{
    kn_node *a = op1(m, KN_OP_ABS, z.re), *b = op1(m, KN_OP_ABS, z.im);
    kn_node *most = op2(m, KN_OP_FMAX, a, b);
    kn_node *zero = number(m, 0), *one = number(m, 1), *none = op2(m, KN_OP_EQ, a, zero);
    none = op2(m, KN_OP_AND, none, op2(m, KN_OP_EQ, b, zero));
    kn_node *infinite = op1(m, KN_OP_ISINF, most), *scale = where(m, none, one, most);
    kn_node *re = divide(m, z.re, scale), *x[] = {re, divide(m, z.im, scale)};
    kn_node *size = op2(m, KN_OP_HYPOT, x[0], x[1]), *of[] = {z.re, z.im};
    for (int k = 0; k < 2; k++) {
        kn_node *own = op1(m, KN_OP_ISINF, of[k]), *other = op1(m, KN_OP_ISINF, of[1 - k]);
        kn_node *far = where(m, own, op2(m, KN_OP_COPYSIGN, one, of[k]), zero);
        kn_node *neither = op2(m, KN_OP_AND, own, other);
        far = where(m, neither, number(m, NAN), far);
        x[k] = where(m, none, of[k], where(m, infinite, far, divide(m, x[k], size)));
    }
    x[0] = cast(m, x[0], z.re->dtype);
    return pair(m, x[0], cast(m, x[1], z.im->dtype));
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
    case KN_OP_ISINF: return both(&m, op, z, KN_OP_OR);
    case KN_OP_ISFINITE: return both(&m, op, z, KN_OP_AND);
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
    kn_node *re = mul(&m, z.re, z.re);
    return add(&m, re, mul(&m, z.im, z.im));
}
