/* The operations that are made of others: FORMULA rows of ops.def. */
#include <math.h>

#include "ir/formula.h"

/* ---- operands in the float type of the result ---- */

kn_logistic kn_build_logistic(const maker *m, kn_op exp, kn_node *x)
{
    kn_logistic l = {.below = op1(m, KN_OP_SIGNBIT, x)};
    l.e = op1(m, exp, where(m, l.below, x, op1(m, KN_OP_NEG, x)));
    l.d = add(m, l.e, number(m, 1));
    return l;
}

static kn_node *sigmoid(const maker *m, kn_node *x)
{
    const kn_logistic l = kn_build_logistic(m, KN_OP_EXP, x);
    return divide(m, where(m, l.below, l.e, number(m, 1)), l.d);
}

kn_node *kn_build_apart(const maker *m, kn_node *x, kn_node *y)
{
    kn_node *equal = op2(m, KN_OP_EQ, x, y);
    kn_node *same = op2(m, KN_OP_AND, equal, op1(m, KN_OP_ISINF, x));
    kn_node *zero = number(m, 0);
    return where(m, same, zero, op2(m, KN_OP_SUB, x, y));
}

/* log(b^x + b^y) / log(b). The larger is chosen by the sign that e is written with, so that the parts have derivatives that fit. */
static kn_node *log_add(const maker *m, kn_node *x, kn_node *y, kn_op exp, double scale)
{
    const kn_logistic l = kn_build_logistic(m, exp, kn_build_apart(m, x, y));
    kn_node *more = op1(m, KN_OP_LOG1P, l.e);
    if (scale != 1)
        more = mul(m, more, number(m, scale));
    return add(m, where(m, l.below, y, x), more);
}

static kn_node *softplus(const maker *m, kn_node *x)
{
    const kn_logistic l = kn_build_logistic(m, KN_OP_EXP, x);
    kn_node *more = op1(m, KN_OP_LOG1P, l.e), *zero = cast(m, number(m, 0), x->dtype);
    return add(m, where(m, l.below, zero, x), more);
}

static kn_node *sinc(const maker *m, kn_node *x)
{
    kn_node *zero = op2(m, KN_OP_EQ, x, whole(m, 0));
    kn_node *y = scaled(m, where(m, zero, number(m, 1e-20), x), M_PI);
    return divide(m, op1(m, KN_OP_SIN, y), y);
}

kn_node *kn_build_twice_cdf(const maker *m, kn_node *x)
{
    return op1(m, KN_OP_ERFC, scaled(m, x, -M_SQRT1_2));
}

static kn_node *gelu(const maker *m, kn_node *x)
{
    kn_node *tail = kn_build_twice_cdf(m, x);
    return mul(m, scaled(m, x, 0.5), tail);
}

kn_node *kn_build_gelu_tanh(const maker *m, kn_node *x)
{
    kn_node *cube = scaled(m, mul(m, mul(m, x, x), x), KN_GELU_CUBE);
    return op1(m, KN_OP_TANH, scaled(m, add(m, x, cube), M_SQRT1_2 * M_2_SQRTPI));
}

static kn_node *gelu_tanh(const maker *m, kn_node *x)
{
    kn_node *t = kn_build_gelu_tanh(m, x), *half = scaled(m, x, 0.5);
    return mul(m, half, add(m, t, number(m, 1)));
}

static kn_node *heaviside(const maker *m, kn_node *x, kn_node *at_zero)
{
    kn_node *below = op2(m, KN_OP_LT, x, whole(m, 0));
    kn_node *zero = number(m, 0), *one = cast(m, number(m, 1), x->dtype);
    kn_node *step = where(m, below, zero, one);
    step = where(m, op2(m, KN_OP_EQ, x, whole(m, 0)), at_zero, step);
    return where(m, op1(m, KN_OP_ISNAN, x), x, step);
}

static kn_node *fraction(const maker *m, kn_node *x)
{
    kn_node *rest = op2(m, KN_OP_SUB, x, op1(m, KN_OP_TRUNC, x));
    kn_node *infinite = op1(m, KN_OP_ISINF, x);
    return op2(m, KN_OP_COPYSIGN, where(m, infinite, number(m, 0), rest), x);
}

/* a / b, each rounded to t, as NumPy has its constants. */
static kn_node *ratio(const maker *m, double a, double b, kn_dtype t)
{
    kn_node *above = cast(m, number(m, a), t);
    return divide(m, above, cast(m, number(m, b), t));
}

static kn_node *leaky_relu(const maker *m, kn_node *x, kn_node *slope)
{
    kn_node *below = op2(m, KN_OP_LT, x, whole(m, 0));
    return where(m, below, mul(m, x, slope ? slope : number(m, 0.01)), x);
}

static kn_node *of_floats(const maker *m, kn_op op, kn_node *const *x, int n)
{
    switch (op) {
    case KN_OP_FRACTION: return fraction(m, x[0]);
    case KN_OP_WHOLE: return op1(m, KN_OP_TRUNC, x[0]);
    case KN_OP_FABS: return op1(m, KN_OP_ABS, x[0]);
    case KN_OP_LOGADDEXP: return log_add(m, x[0], x[1], KN_OP_EXP, 1);
    case KN_OP_LOGADDEXP2: return log_add(m, x[0], x[1], KN_OP_EXP2, M_LOG2E);
    case KN_OP_SINC: return sinc(m, x[0]);
    case KN_OP_HEAVISIDE: return heaviside(m, x[0], x[1]);
    case KN_OP_DEG2RAD: return mul(m, x[0], ratio(m, M_PI, 180, x[0]->dtype));
    case KN_OP_RAD2DEG: return mul(m, x[0], ratio(m, 180, M_PI, x[0]->dtype));
    case KN_OP_SIGMOID: return sigmoid(m, x[0]);
    case KN_OP_SOFTPLUS: return softplus(m, x[0]);
    case KN_OP_SILU: return mul(m, x[0], sigmoid(m, x[0]));
    case KN_OP_GELU: return gelu(m, x[0]);
    case KN_OP_GELU_TANH: return gelu_tanh(m, x[0]);
    case KN_OP_LEAKY_RELU: return leaky_relu(m, x[0], n > 1 ? x[1] : NULL);
    default: return NULL;
    }
}

/* ---- operands as they are ---- */

static bool is_number(const kn_node *x, kn_op op)
{
    if (x->dtype != KN_BOOL)
        return true;
    kn_fail(KN_TYPE, "%s of bool: cast first", kn_ops[op].text);
    return false;
}

/* Of an infinity the largest numbers, unless others are given; of NaN 0. */
static kn_node *nan_to_num(const maker *m, kn_node *x, kn_node *const *instead)
{
    if (kn_is_complex(x->dtype)) {
        kn_node *re = nan_to_num(m, op1(m, KN_OP_REAL, x), instead);
        return op2(m, KN_OP_PAIR, re, nan_to_num(m, op1(m, KN_OP_IMAG, x), instead));
    }
    if (!kn_is_float(x->dtype))
        return op1(m, KN_OP_COPY, x);
    kn_node *most = cast(m, number(m, kn_largest(x->dtype)), x->dtype);
    kn_node *nan = instead[0] ? cast(m, instead[0], x->dtype) : number(m, 0);
    kn_node *far = op2(m, KN_OP_COPYSIGN, most, x);
    kn_node *below = instead[1] || instead[2] ? op1(m, KN_OP_SIGNBIT, x) : NULL;
    if (instead[1])
        far = where(m, below, far, cast(m, instead[1], x->dtype));
    if (instead[2])
        far = where(m, below, cast(m, instead[2], x->dtype), far);
    kn_node *is_nan = op1(m, KN_OP_ISNAN, x);
    return where(m, is_nan, nan, where(m, op1(m, KN_OP_ISINF, x), far, x));
}

kn_node *kn_build_nan_to_num(kn_graph *g, kn_node *x, kn_node *const *instead, kn_loc loc)
{
    const maker m = {g, loc};
    for (int i = 0; i < KN_NOT_FINITE; i++)
        if (instead[i] && (instead[i]->rank > 0 || kn_is_complex(instead[i]->dtype))) {
            kn_fail(KN_TYPE, "nan_to_num: what NaN and infinities become must be real numbers");
            return NULL;
        }
    return x ? nan_to_num(&m, x->weak ? kn_build_cast_to(g, x, x->dtype) : x, instead) : NULL;
}

/* Is it a Python integer that x's integer type does not reach, on its side? */
static bool is_beyond(const kn_node *x, const kn_node *bound, bool low)
{
    if (!bound->weak || bound->op != KN_OP_CONST || !kn_is_int(bound->dtype) ||
        !kn_is_int(x->dtype) || kn_int_fits(bound->u.value, x->dtype))
        return false;
    return low == (bound->dtype != KN_U64 && bound->u.value.i < 0);
}

kn_node *kn_build_clip(kn_graph *g, kn_node *x, kn_node *lo, kn_node *hi, kn_loc loc)
{
    if (!x)
        return NULL;
    lo = lo && is_beyond(x, lo, true) ? NULL : lo;
    hi = hi && is_beyond(x, hi, false) ? NULL : hi;
    kn_node *made = lo ? kn_build_elem(g, KN_OP_MAXIMUM, (kn_node *[]){x, lo}, 2, loc) : x;
    if (hi)
        return made ? kn_build_elem(g, KN_OP_MINIMUM, (kn_node *[]){made, hi}, 2, loc) : NULL;
    return lo ? made : kn_build_elem(g, KN_OP_COPY, &x, 1, loc);
}

static kn_node *reciprocal(const maker *m, kn_node *x)
{
    kn_dtype t = x->dtype == KN_BOOL ? KN_I8 : x->dtype;
    return cast(m, divide(m, cast(m, number(m, 1), kn_is_inexact(t) ? t : KN_F64), x), t);
}

/* By the power of ten that is a whole number, as NumPy. */
static kn_node *rounded(const maker *m, kn_node *x, int64_t decimals)
{
    kn_dtype t = x->dtype;
    if (kn_is_complex(t)) {
        kn_node *re = rounded(m, op1(m, KN_OP_REAL, x), decimals);
        return op2(m, KN_OP_PAIR, re, rounded(m, op1(m, KN_OP_IMAG, x), decimals));
    }
    if (kn_is_int(t) && decimals >= 0)
        return op1(m, KN_OP_COPY, x);
    x = kn_is_int(t) ? cast(m, x, KN_F64) : x;
    if (decimals == 0)
        return op1(m, KN_OP_RINT, x);
    bool up = decimals > 0;
    kn_node *power = number(m, pow(10, (double)(up ? decimals : -decimals)));
    x = op1(m, KN_OP_RINT, op2(m, up ? KN_OP_MUL : KN_OP_DIV, x, power));
    x = op2(m, up ? KN_OP_DIV : KN_OP_MUL, x, power);
    return kn_is_int(t) ? cast(m, x, t) : x;
}

static kn_node *round_to(const maker *m, kn_node *const *x, int n)
{
    if (n > 1 && (x[1]->op != KN_OP_CONST || kn_is_inexact(x[1]->dtype))) {
        kn_fail(KN_TYPE, "round: the number of decimals must be an integer that is known here");
        return NULL;
    }
    return rounded(m, x[0], n > 1 ? x[1]->u.value.i : 0);
}

static kn_node *ldexp_of(const maker *m, kn_node *x, kn_node *n)
{
    if (kn_is_float(n->dtype)) {
        kn_fail(KN_TYPE, "ldexp: the exponent must be an integer, not %s",
                kn_dtypes[n->dtype].text);
        return NULL;
    }
    kn_dtype t = kn_float_of(x->dtype), wide = kn_compute_dtype(t);
    x = cast(m, x, wide);
    return cast(m, op2(m, KN_OP_SCALB, x, cast(m, n, wide)), t);
}

static kn_node *exclusive_or(const maker *m, kn_node *a, kn_node *b)
{
    a = cast(m, a, KN_BOOL);
    return op2(m, KN_OP_NE, a, cast(m, b, KN_BOOL));
}

static kn_node *angle(const maker *m, kn_node *x)
{
    if (!kn_is_complex(x->dtype))
        return op2(m, KN_OP_ARCTAN2, whole(m, 0), x);
    kn_node *im = op1(m, KN_OP_IMAG, x);
    return op2(m, KN_OP_ARCTAN2, im, op1(m, KN_OP_REAL, x));
}

static kn_node *of_any(const maker *m, kn_op op, kn_node *const *x, int n)
{
    switch (op) {
    case KN_OP_CLIP: return kn_build_clip(m->g, x[0], x[1], x[2], m->loc);
    case KN_OP_POSITIVE: return is_number(x[0], op) ? op1(m, KN_OP_COPY, x[0]) : NULL;
    case KN_OP_SQUARE:
        return x[0]->dtype == KN_BOOL ? op1(m, KN_OP_SQUARE, cast(m, x[0], KN_I8))
                                      : mul(m, x[0], x[0]);
    case KN_OP_RECIPROCAL: return reciprocal(m, x[0]);
    case KN_OP_XOR: return exclusive_or(m, x[0], x[1]);
    case KN_OP_NAN_TO_NUM: return nan_to_num(m, x[0], (kn_node *[KN_NOT_FINITE]){0});
    case KN_OP_ROUND: return round_to(m, x, n);
    case KN_OP_LDEXP: return ldexp_of(m, x[0], x[1]);
    case KN_OP_ANGLE: return angle(m, x[0]);
    case KN_OP_RELU: return op2(m, KN_OP_MAXIMUM, x[0], whole(m, 0));
    default: return NULL;
    }
}

/* In floats, of operands of one type and rank, so that they are what all operations of the expansion take. */
static kn_node *expanded(const maker *m, kn_op op, kn_node *const *x, int n)
{
    kn_node *made = of_floats(m, op, x, n);
    kn_expansion e = {.op = op, .nin = n};
    if (!made)
        return NULL;
    e.node = made->id;
    for (int i = 0; i < n; i++)
        e.in[i] = x[i]->id;
    kn_push(m->g->arena, &m->g->expansions, e);
    return made;
}

kn_node *kn_build_formula(kn_graph *g, kn_op op, kn_node *const *args, int n, kn_loc loc)
{
    const maker m = {g, loc};
    kn_node *x[KN_MAX_IN];
    for (int i = 0; i < n; i++)
        if (kn_is_complex(args[i]->dtype) && !kn_complex_ops[op].exists) {
            kn_fail(KN_TYPE, "%s of %s: complex numbers do not have it", kn_ops[op].text,
                    kn_dtypes[args[i]->dtype].text);
            return NULL;
        }
    if (kn_ops[op].rule != KN_RULE_FLOAT)
        return of_any(&m, op, args, n);
    kn_dtype t = kn_build_float_type(args, n);
    int rank = 0;
    for (int i = 0; i < n; i++)
        rank = args[i]->rank > rank ? args[i]->rank : rank;
    for (int i = 0; i < n; i++)
        x[i] = kn_build_pad_rank(g, cast(&m, args[i], kn_compute_dtype(t)), rank, loc);
    return cast(&m, expanded(&m, op, x, n), t);
}

/* NumPy compares i64 and u64 by value: what is negative is less than every u64, and the rest is a u64. */
kn_node *kn_build_compare_signs(kn_graph *g, kn_op op, kn_node *a, kn_node *b, kn_loc loc)
{
    const maker m = {g, loc};
    bool first = !kn_is_unsigned(a->dtype), holds;
    holds = op == KN_OP_NE ||
            (first ? op == KN_OP_LT || op == KN_OP_LE : op == KN_OP_GT || op == KN_OP_GE);
    kn_node *negative = op2(&m, KN_OP_LT, first ? a : b, whole(&m, 0));
    a = cast(&m, a, KN_U64);
    kn_node *other = op2(&m, op, a, cast(&m, b, KN_U64));
    return where(&m, negative, kn_build_bool(g, holds, loc), other);
}
