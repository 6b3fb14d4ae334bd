/* The table of grad.def; gradients of elementwise operations. */
#include <math.h>

#include "ir/formula.h"
#include "ir/grad_impl.h"

#define OP1(name, x) kn_grad_op1(s, KN_OP_##name, x)
#define OP2(name, x, y) kn_grad_op2(s, KN_OP_##name, x, y)
#define ADD(x, y) OP2(ADD, x, y)
#define SUB(x, y) OP2(SUB, x, y)
#define MUL(x, y) OP2(MUL, x, y)
#define DIV(x, y) OP2(DIV, x, y)
#define NEG(x) OP1(NEG, x)
#define WHERE(c, x, y) kn_grad_select(s, c, x, y)
#define CAST(x, t) kn_grad_cast(s, x, t)
#define NUM(v) kn_grad_number(s, v)
#define SCALE(x, v) scale(s, x, v)
#define ZEROS(x) kn_grad_zeros(s, x)

/* ---- parts of formulas ---- */

static kn_node *scale(const kn_grad_site *s, kn_node *x, double v) { return MUL(x, NUM(v)); }

static kn_node *one_less(const kn_grad_site *s, kn_node *x) { return SUB(NUM(1), x); }

static kn_node *one_more(const kn_grad_site *s, kn_node *x) { return ADD(x, NUM(1)); }

/* 1 - a * a, exact near 1. */
static kn_node *one_less_square(const kn_grad_site *s, kn_node *a)
{
    kn_node *less = one_less(s, a);
    return MUL(less, one_more(s, a));
}

/* sqrt(a * a - 1), which does not overflow. */
static kn_node *root_of_square_less_one(const kn_grad_site *s, kn_node *a)
{
    kn_node *less = OP1(SQRT, SUB(a, NUM(1)));
    return MUL(less, OP1(SQRT, one_more(s, a)));
}

static kn_node *times_cube(const kn_grad_site *s, kn_node *x, kn_node *a)
{
    return MUL(x, MUL(MUL(a, a), a));
}

static kn_node *over_squares(const kn_grad_site *s, kn_node *x, kn_node *a, kn_node *b)
{
    kn_node *square = MUL(a, a);
    return DIV(x, ADD(square, MUL(b, b)));
}

static kn_node *nonzero(const kn_grad_site *s, kn_node *a)
{
    kn_node *zero = OP2(EQ, a, NUM(0));
    return WHERE(zero, NUM(1), a);
}

static kn_node *over_nonzero(const kn_grad_site *s, kn_node *x, kn_node *a)
{
    return DIV(x, nonzero(s, a));
}

/* dy, negative where one of a and b is. */
static kn_node *by_signs(const kn_grad_site *s, kn_node *dy, kn_node *a, kn_node *b)
{
    kn_node *sign = OP1(SIGNBIT, a), *differs = OP2(NE, sign, OP1(SIGNBIT, b));
    return WHERE(differs, NEG(dy), dy);
}

static kn_node *imaginary(const kn_grad_site *s, kn_node *x)
{
    return OP2(PAIR, CAST(NUM(0), x->dtype), x);
}

/* Of the smaller or larger one of a and b what reaches a: equal ones share it. */
static kn_node *extreme(const kn_grad_site *s, kn_node *dy, kn_node *a, kn_node *b, kn_op beats)
{
    kn_node *equal = OP2(EQ, a, b), *half = SCALE(dy, 0.5), *tie = WHERE(equal, half, NUM(0));
    return WHERE(kn_grad_op2(s, beats, a, b), dy, tie);
}

/* The same of fmin and fmax, which prefer numbers to NaN. */
static kn_node *extreme_number(const kn_grad_site *s, kn_node *dy, kn_node *a, kn_node *b,
                               kn_op beats)
{
    kn_node *alone = OP2(NE, b, b);
    return WHERE(alone, dy, extreme(s, dy, a, b, beats));
}

/* The exponent, where it is a known number. */
static bool known(const kn_node *b, double *v)
{
    b = kn_view_root(b);
    *v = b->op == KN_OP_CONST ? b->u.value.f : 0;
    return b->op == KN_OP_CONST && b->u.value.im == 0;
}

/* dy * b * a ** (b - 1), and 0 for b == 0, whatever a is. */
static kn_node *base_of_power(const kn_grad_site *s, kn_node *dy, kn_node *a, kn_node *b)
{
    double v;
    if (!known(b, &v)) {
        kn_node *zero = NUM(0), *one = NUM(1), *none = OP2(EQ, b, zero);
        kn_node *less = WHERE(none, one, SUB(b, one));
        return WHERE(none, zero, MUL(dy, MUL(b, OP2(POW, a, less))));
    }
    if (v == 0 || v == 1)
        return v == 0 ? ZEROS(a) : dy;
    kn_node *less = v == 2 ? a : v == 3 ? MUL(a, a) : OP2(POW, a, NUM(v - 1));
    return MUL(dy, SCALE(less, v));
}

/* dy * y * log(a), and 0 for a == 0: the limit from where the power has a value. */
static kn_node *exponent_of_power(const kn_grad_site *s, kn_node *dy, kn_node *a, kn_node *y)
{
    return MUL(dy, MUL(y, OP1(LOG, nonzero(s, a))));
}

/* The derivative of lgamma: the asymptotic series at x + 8, whose first term left out is below 2e-14 there, and 8 steps
 * back; of x < 0 by its value at 1 - x. */
static kn_node *digamma(const kn_grad_site *s, kn_node *a)
{
    static const double series[] = {691.0 / 32760, -1.0 / 132, 1.0 / 240, -1.0 / 252,
                                    1.0 / 120,     -1.0 / 12,  0};
    enum { STEPS = 8 };
    kn_node *one = NUM(1), *negative = OP2(LT, a, NUM(0));
    kn_node *x = WHERE(negative, SUB(one, a), a), *w = ADD(x, NUM(STEPS));
    kn_node *square = DIV(one, MUL(w, w)), *sum = NUM(series[0]);
    for (size_t i = 1; i < sizeof series / sizeof *series; i++) {
        sum = MUL(sum, square);
        sum = ADD(sum, NUM(series[i]));
    }
    kn_node *half = DIV(NUM(0.5), w), *y = ADD(SUB(OP1(LOG, w), half), sum);
    for (int i = STEPS - 1; i >= 0; i--)
        y = SUB(y, DIV(one, ADD(x, NUM(i))));
    kn_node *pi = NUM(M_PI), *reflected = SUB(y, DIV(pi, OP1(TAN, MUL(a, pi))));
    return WHERE(negative, reflected, y);
}

kn_node *kn_grad_where(const kn_grad_site *s, int k)
{
    kn_node *none = CAST(NUM(0), s->dy->dtype);
    return k == 1 ? WHERE(s->y->in[0], s->dy, none) : WHERE(s->y->in[0], none, s->dy);
}

/* ---- derivatives of formulas ---- */

static maker maker_of(const kn_grad_site *s) { return (maker){s->g, s->loc}; }

/* a, but 0 from `far` on, where what it is a factor of is 0 anyway, and an infinity would make it NaN. */
static kn_node *near_zero(const kn_grad_site *s, kn_node *a, double far)
{
    kn_node *size = OP1(ABS, a), *near = OP2(LT, size, NUM(far));
    return WHERE(near, a, NUM(0));
}

/* e / (1 + e)**2, the same on both sides of 0 */
static kn_node *sigmoid_slope(const kn_grad_site *s, kn_node *a)
{
    const maker m = maker_of(s);
    const kn_logistic l = kn_build_logistic(&m, KN_OP_EXP, a);
    return DIV(l.e, MUL(l.d, l.d));
}

/* sigmoid(a) + a * e / (1 + e)**2 as one quotient */
static kn_node *silu_slope(const kn_grad_site *s, kn_node *a)
{
    const maker m = maker_of(s);
    const kn_logistic l = kn_build_logistic(&m, KN_OP_EXP, a);
    kn_node *part = WHERE(l.below, l.e, NUM(1)), *flat = MUL(near_zero(s, a, 1 << 11), l.e);
    part = MUL(part, l.d);
    kn_node *above = ADD(part, flat);
    return DIV(above, MUL(l.d, l.d));
}

/* The cumulative distribution function of the normal distribution plus a times its density. */
static kn_node *gelu_slope(const kn_grad_site *s, kn_node *a)
{
    const maker m = maker_of(s);
    kn_node *near = near_zero(s, a, 1 << 6), *u = SCALE(near, M_SQRT1_2);
    kn_node *bell = SCALE(OP1(EXP, NEG(MUL(u, u))), M_SQRT1_2 * M_2_SQRTPI);
    kn_node *flat = MUL(near, bell);
    return SCALE(ADD(kn_build_twice_cdf(&m, a), flat), 0.5);
}

/* (1 + t) / 2 * (1 + a * u' * (1 - t)) where t is tanh(u) */
static kn_node *gelu_tanh_slope(const kn_grad_site *s, kn_node *a)
{
    enum { SATURATED = 8 }; /* 1 - t is 0 from there on, in any type */
    const double k = M_SQRT1_2 * M_2_SQRTPI;
    const maker m = maker_of(s);
    kn_node *t = kn_build_gelu_tanh(&m, a), *near = near_zero(s, a, SATURATED);
    kn_node *slope = SCALE(MUL(near, near), 3 * k * KN_GELU_CUBE), *less = one_less(s, t);
    slope = ADD(slope, NUM(k));
    slope = one_more(s, MUL(MUL(near, slope), less));
    return MUL(SCALE(one_more(s, t), 0.5), slope);
}

static double factorial(int n) { return n > 1 ? n * factorial(n - 1) : 1; }

/* (cos(u) - sinc) / a where u is pi * a, and near 0 by its series, whose first term left out is far below the last digit
 * there. */
static kn_node *sinc_slope(const kn_grad_site *s, kn_node *a, kn_node *y)
{
    const int terms = a->dtype == KN_F64 ? 9 : 5;
    kn_node *u = SCALE(a, M_PI), *square = MUL(u, u), *one = NUM(1), *sum = NULL;
    kn_node *near = OP2(LT, square, one);
    for (int k = terms; k > 0; k--) { /* (-1)**k * 2k / (2k + 1)! */
        kn_node *c = NUM((k % 2 ? -1 : 1) * 2 * k / factorial(2 * k + 1));
        sum = sum ? ADD(MUL(sum, square), c) : c;
    }
    kn_node *by = WHERE(near, one, a), *far = DIV(SUB(OP1(COS, u), y), by);
    return WHERE(near, MUL(sum, SCALE(u, M_PI)), far);
}

/* Of log(base**a + base**b) / log(base): the share of base**a in the sum; of the other one where k is 1. */
static kn_node *share(const kn_grad_site *s, int k, kn_op exp)
{
    const maker m = maker_of(s);
    const kn_logistic l =
        kn_build_logistic(&m, exp, kn_build_apart(&m, s->as->in[0], s->as->in[1]));
    kn_node *one = NUM(1), *less = DIV(one, l.d);
    return MUL(k == 0 ? WHERE(l.below, l.e, one) : WHERE(l.below, one, l.e), less);
}

/* ---- the table ---- */

#define OPERANDS                                                                                   \
    kn_node *a = s->as->in[0], *b = s->as->in[1], *y = s->y, *dy = s->dy;                          \
    (void)a, (void)b, (void)y, (void)dy, (void)k

#define GRAD1(name, da)                                                                            \
    static kn_node *grad_##name(const kn_grad_site *s, int k)                                      \
    {                                                                                              \
        OPERANDS;                                                                                  \
        return da;                                                                                 \
    }
#define GRAD2(name, da, db) GRAD1(name, k == 0 ? da : db)
#define GRAD(name, function)
#define ZERO(name)
#define NONE(name)
#include "ir/grad.def"
#undef GRAD1
#undef GRAD2
#undef GRAD
#undef ZERO
#undef NONE

const kn_grad_rule kn_grad_rules[KN_OP_COUNT] = {
#define GRAD1(name, da) [KN_OP_##name] = {.of = grad_##name},
#define GRAD2(name, da, db) [KN_OP_##name] = {.of = grad_##name},
#define GRAD(name, function) [KN_OP_##name] = {.of = function},
#define ZERO(name) [KN_OP_##name] = {.kind = KN_GRAD_ZERO},
#define NONE(name) [KN_OP_##name] = {.kind = KN_GRAD_NONE},
#include "ir/grad.def"
#undef GRAD1
#undef GRAD2
#undef GRAD
#undef ZERO
#undef NONE
};

/* An operation without a row has no HAS_ here. */
enum {
#define GRAD1(name, da) HAS_##name,
#define GRAD2(name, da, db) HAS_##name,
#define GRAD(name, function) HAS_##name,
#define ZERO(name) HAS_##name,
#define NONE(name) HAS_##name,
#include "ir/grad.def"
    ROWS
};
enum {
#define ELEM(name, text, arity, rule, f32, f64, cost, infix) WANTED_##name = HAS_##name,
#define FORMULA(name, text, least, most, rule, ulp, of, is)
#define REDUCE(name, text, rule, combine, empty) WANTED_##name = HAS_##name,
#define VIEW(name, text) WANTED_##name = HAS_##name,
#define LEAF(name, text) WANTED_##name = HAS_##name,
#define GATHER(name, text) WANTED_##name = HAS_##name,
#define REDUCE_OWN(name, text) WANTED_##name = HAS_##name,
#include "ir/ops.def"
};
