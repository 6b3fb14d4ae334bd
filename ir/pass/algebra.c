/* Algebra that floating point allows: every rule gives the same value for every operand, NaN, infinities, both zeros
 * and the smallest numbers included (which NaN is not defined). With t the result's type, which x has:
 *
 *     x * 1, x / 1, x - 0, x + -0             x           x + 0 is none of them: -0 + 0 is 0
 *     x * -1, x / -1                         -x
 *     x / c                                   x * (1 / c)  c a power of two, so that 1 / c is exact
 *     --x                                     x
 *     x + -y, -y + x                          x - y
 *     x - -y                                  x + y
 *     -x * -y, -x / -y                        x * y, x / y
 *     abs(-x), abs(abs(x))                    abs(x)
 *     maximum(x, x), minimum(x, x), where(c, x, x)   x
 *     where(signbit(x), x, -x)               -abs(x)
 *     where(signbit(x), -x, x)                abs(x)
 *     t(u(x))                                 x           u a wider float or complex type, which holds every x
 *     real(complex_of(x, y)), imag(...)       x, y
 *     complex_of(real(z), imag(z))            z
 *
 * Integers wrap, so that all but division hold for them too, and 0 has one sign; abs(-x) needs one that has a sign.
 * What only fast_math would allow is left alone. */
#include <math.h>

#include "ir/build.h"
#include "ir/pass/pass.h"

static const kn_node *constant_under(const kn_node *n)
{
    n = kn_view_root(n);
    return n->op == KN_OP_CONST ? n : NULL;
}

/* Is n the constant `f`, of its sign? Integers have one zero. */
static bool is(const kn_node *n, double f)
{
    const kn_node *c = constant_under(n);
    if (!c || c->dtype == KN_BOOL || kn_is_complex(c->dtype)) /* (x + yj) * (1 + 0j) can be NaN */
        return false;
    if (!kn_is_float(c->dtype))
        return c->u.value.i == (int64_t)f && !(f < 0 && kn_is_unsigned(c->dtype));
    return c->u.value.f == f && signbit(c->u.value.f) == signbit(f);
}

/* x as the result of `old`; NULL if it is of another type. */
static kn_node *as(kn_graph *g, const kn_node *old, kn_node *x)
{
    return x && x->dtype == old->dtype && x->weak == old->weak
               ? kn_build_broadcast_to(g, x, old->shape, old->rank, old->loc)
               : NULL;
}

static kn_node *elem(kn_graph *g, kn_op op, const kn_node *old, kn_node *a, kn_node *b)
{
    kn_node *in[] = {a, b};
    kn_node *made = a && b ? kn_build_elem(g, op, in, 2, old->loc) : NULL;
    if (made && !made->name)
        made->name = old->name;
    return as(g, old, made);
}

static kn_node *negative(kn_graph *g, const kn_node *old, kn_node *x)
{
    return kn_is_unsigned(old->dtype) ? NULL
                                      : as(g, old, kn_build_elem(g, KN_OP_NEG, &x, 1, old->loc));
}

static kn_node *operand_of(kn_op op, const kn_node *n) { return n->op == op ? n->in[0] : NULL; }

/* A choice by the sign of x between x and -x. */
static kn_node *by_sign(kn_graph *g, const kn_node *old, kn_node *const *in)
{
    kn_node *x = operand_of(KN_OP_SIGNBIT, in[0]), *n = x ? operand_of(KN_OP_NEG, x) : NULL;
    bool opposite = operand_of(KN_OP_NEG, in[1]) == in[2] || operand_of(KN_OP_NEG, in[2]) == in[1];
    if (!x || !opposite || (in[1] != x && in[2] != x))
        return NULL;
    kn_node *size = kn_build_elem(g, KN_OP_ABS, n ? &n : &x, 1, old->loc);
    return in[1] == x ? negative(g, old, size) : as(g, old, size);
}

/* 1 / c of a power of two c that is far from the largest and the smallest numbers, else NULL. */
static kn_node *reciprocal(kn_graph *g, const kn_node *old, const kn_node *n)
{
    const kn_node *c = constant_under(n);
    int exponent, most = old->dtype == KN_F16 ? 10 : 100;
    if (!c || !kn_is_float(c->dtype) || c->dtype != old->dtype ||
        fabs(frexp(c->u.value.f, &exponent)) != 0.5 || exponent > most || exponent < -most)
        return NULL;
    return kn_build_const(g, (kn_scalar){.dtype = c->dtype, .f = 1 / c->u.value.f}, old->loc);
}

static bool holds(kn_dtype wide, kn_dtype narrow)
{
    if (wide == KN_C128)
        return narrow == KN_C64;
    return kn_is_float(wide) && kn_is_float(narrow) &&
           (wide == KN_F64 || (wide == KN_F32 && kn_is_half(narrow)));
}

/* What `old`, of operands in[], is by one of the rules; NULL: itself. */
static kn_node *simpler(kn_graph *g, const kn_node *old, kn_node *const *in)
{
    kn_node *a = in[0], *b = old->nin > 1 ? in[1] : NULL, *na = operand_of(KN_OP_NEG, a),
            *nb = b ? operand_of(KN_OP_NEG, b) : NULL;
    bool real = kn_is_float(old->dtype);
    switch (old->op) {
    case KN_OP_MUL:
        if (is(a, 1) || is(b, 1))
            return as(g, old, is(b, 1) ? a : b);
        if (is(a, -1) || is(b, -1))
            return negative(g, old, is(b, -1) ? a : b);
        return na && nb ? elem(g, KN_OP_MUL, old, na, nb) : NULL;
    case KN_OP_DIV:
        if (is(b, 1))
            return as(g, old, a);
        if (is(b, -1))
            return negative(g, old, a);
        if (na && nb)
            return elem(g, KN_OP_DIV, old, na, nb);
        return elem(g, KN_OP_MUL, old, a, reciprocal(g, old, b));
    case KN_OP_ADD:
        if (is(b, real ? -0.0 : 0) || is(a, real ? -0.0 : 0))
            return as(g, old, is(b, real ? -0.0 : 0) ? a : b);
        return nb ? elem(g, KN_OP_SUB, old, a, nb) : na ? elem(g, KN_OP_SUB, old, b, na) : NULL;
    case KN_OP_SUB:
        if (is(b, 0))
            return as(g, old, a);
        return nb ? elem(g, KN_OP_ADD, old, a, nb) : NULL;
    case KN_OP_NEG: return as(g, old, na);
    case KN_OP_ABS:
        if (a->op == KN_OP_ABS)
            return as(g, old, a);
        return na && !kn_is_unsigned(old->dtype)
                   ? as(g, old, kn_build_elem(g, KN_OP_ABS, &na, 1, old->loc))
                   : NULL;
    case KN_OP_MAXIMUM:
    case KN_OP_MINIMUM: return a == b ? as(g, old, a) : NULL;
    case KN_OP_WHERE: return b == in[2] ? as(g, old, b) : real ? by_sign(g, old, in) : NULL;
    case KN_OP_REAL: return a->op == KN_OP_PAIR ? as(g, old, a->in[0]) : NULL;
    case KN_OP_IMAG: return a->op == KN_OP_PAIR ? as(g, old, a->in[1]) : NULL;
    case KN_OP_PAIR:
        return a->op == KN_OP_REAL && b->op == KN_OP_IMAG && a->in[0] == b->in[0]
                   ? as(g, old, a->in[0])
                   : NULL;
    case KN_OP_CAST:
        return a->op == KN_OP_CAST && holds(a->dtype, old->dtype) ? as(g, old, a->in[0]) : NULL;
    default: return NULL;
    }
}

static kn_node *rewrite(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    (void)ctx;
    kn_node *made = kn_ops[old->op].cls == KN_ELEM ? simpler(g, old, in) : NULL;
    return made ? made : kn_node_copy(g, old, in);
}

kn_graph *kn_pass_algebra(kn_arena *a, kn_graph *g)
{
    return kn_graph_rewrite(a, g, rewrite, NULL);
}
