/* How far a device's results may be from the reference: the bounds of ir/ops.def, carried through a program. */
#include <math.h>
#include <string.h>

#include "ir/eval.h"
#include "ir/fast.h"
#include "ir/interp_impl.h"

/* |a - b|, infinite when one of them is not finite and they differ. */
static double distance(kn_scalar a, kn_scalar b)
{
    double x = kn_scalar_number(a), y = kn_scalar_number(b);
    if (x == y || (isnan(x) && isnan(y)))
        return 0;
    double d = fabs(x - y);
    return isnan(d) ? INFINITY : d;
}

/* `err` plus the operation's own rounding; infinite where the result may overflow. The reference rounds too, to the same
 * side only where both round the same number: else a device's result may be the next number on the other side. */
double kn_interp_rounding(double err, double ulp, kn_scalar r)
{
    double x = fabs(kn_scalar_number(r)), u = kn_unit_roundoff(r.dtype);
    if (u == 0 || isnan(x))
        return err;
    if (isinf(x))
        return err > 0 ? INFINITY : 0;
    if (ulp > 0.5 || (ulp > 0 && err > 0))
        ulp += 0.5;
    err += 2 * ulp * (u * x + fmax(kn_least(r.dtype) / 2, 0x1p-1074));
    return x + err > kn_largest(r.dtype) ? INFINITY : err;
}

static kn_scalar moved(kn_scalar v, double by)
{
    if (kn_is_float(v.dtype))
        v.f += by;
    else if (v.dtype == KN_BOOL)
        v.i = by > 0;
    else
        v.i = (int64_t)((uint64_t)v.i + (uint64_t)(int64_t)(by < 0 ? floor(by) : ceil(by)));
    return v;
}

/* Does the interval around operand k hold 0? */
static bool may_be_zero(const kn_scalar *in, const kn_cell *const *c, int k)
{
    return c[k]->err > 0 && fabs(kn_scalar_number(in[k])) <= c[k]->err;
}

/* Where the result may jump or be infinite somewhere inside an operand's interval, so that its ends say
 * nothing. */
static bool may_jump(const kn_node *n, const kn_scalar *in, const kn_cell *const *c)
{
    switch (n->op) {
    case KN_OP_DIV:
    case KN_OP_FLOORDIV:
    case KN_OP_MOD: return may_be_zero(in, c, 1);
    case KN_OP_FMOD:
    case KN_OP_COPYSIGN: return may_be_zero(in, c, 1);
    case KN_OP_RSQRT:
    case KN_OP_LOG2:
    case KN_OP_LOG10:
    case KN_OP_LOG: return may_be_zero(in, c, 0);
    case KN_OP_LOG1P: return fabs(1 + in[0].f) <= c[0]->err;
    case KN_OP_GAMMA:
    case KN_OP_LGAMMA: /* poles at whole numbers, up to 0 */
        return in[0].f - c[0]->err <= 0 && floor(in[0].f - c[0]->err) != floor(in[0].f + c[0]->err);
    case KN_OP_TAN: /* the sign of the cosine changes at a pole */
        return c[0]->err > 1 || cos(in[0].f - c[0]->err) * cos(in[0].f + c[0]->err) <= 0;
    case KN_OP_ARCTAN2: return may_be_zero(in, c, 0) && in[1].f - c[1]->err <= 0;
    case KN_OP_MANTISSA: return c[0]->err > fabs(in[0].f) / 4;
    case KN_OP_BITAND: /* which bits change says nothing about how much */
    case KN_OP_BITOR:
    case KN_OP_BITXOR:
    case KN_OP_GCD:
    case KN_OP_LCM: return true;
    case KN_OP_POW: return may_be_zero(in, c, 0) && kn_scalar_number(in[1]) - c[1]->err <= 0;
    case KN_OP_SIN:
    case KN_OP_COS: return c[0]->err > 1;
    default: return false;
    }
}

/* x % y moves with x, and against y by the quotient; farther means that it went back to 0. */
static bool wraps(const kn_scalar *in, const kn_cell *const *c, double err)
{
    double y = fabs(kn_scalar_number(in[1])), quotient = fabs(kn_scalar_number(in[0])) / y;
    double moves = c[0]->err + (quotient + 1) * c[1]->err;
    return err > 2 * moves || moves > y / 2;
}

/* Does a narrow integer leave its type, so that the result wraps somewhere in the operands' intervals? */
static bool may_wrap(const kn_node *n, const kn_scalar *in)
{
    kn_scalar wide[KN_MAX_IN];
    if (!kn_is_int(n->dtype) || kn_bytes(n->dtype) == 8)
        return false;
    for (int k = 0; k < n->nin; k++) {
        wide[k] = in[k];
        if (kn_is_int(in[k].dtype))
            wide[k].dtype = KN_I64;
    }
    int64_t r = kn_eval(n->op, KN_I64, wide).i;
    return r < kn_int_min(n->dtype) || r > kn_int_max(n->dtype);
}

/* The farthest that the result gets when every operand in `mask` moves to an end of its interval. */
static double farthest(const kn_node *n, kn_scalar r, const kn_scalar *in, const kn_cell *const *c,
                       unsigned mask)
{
    double worst = 0;
    for (unsigned ends = 0; ends < 1u << n->nin; ends++) {
        if (ends & ~mask)
            continue;
        kn_scalar varied[KN_MAX_IN];
        memcpy(varied, in, sizeof varied);
        for (int k = 0; k < n->nin; k++)
            if (mask >> k & 1)
                varied[k] = moved(in[k], ends >> k & 1 ? c[k]->err : -c[k]->err);
        if (may_wrap(n, varied))
            return INFINITY;
        double d = distance(r, kn_eval(n->op, n->dtype, varied));
        worst = d > worst ? d : worst;
    }
    return worst;
}

/* The sign of a NaN is whatever made it. */
static bool asks_sign_of_nan(const kn_node *n, const kn_scalar *in)
{
    return (n->op == KN_OP_SIGNBIT && kn_is_float(in[0].dtype) && isnan(in[0].f)) ||
           (n->op == KN_OP_COPYSIGN && isnan(in[1].f));
}

/* `err` plus the own rounding of n. */
static double own_rounding(double err, const kn_node *n, kn_scalar r, const kn_scalar *in,
                           bool fast)
{
    kn_scalar of = r;
    double ulp = fast ? kn_fast_ulp(n, in, r, &of) : kn_op_ulp(n->op, n->dtype);
    return isinf(ulp) ? INFINITY : kn_interp_rounding(err, ulp, of);
}

double kn_interp_bound(const kn_node *n, kn_scalar r, const kn_scalar *in, const kn_cell *const *c,
                       bool fast)
{
    double err = 0, reach = 0;
    unsigned inexact = 0;
    if (asks_sign_of_nan(n, in))
        return INFINITY;
    for (int k = 0; k < n->nin; k++) {
        if (c[k]->err == 0)
            continue;
        if (isinf(c[k]->err) || c[k]->err > 0x1p62)
            return INFINITY;
        inexact |= 1u << k;
        err += farthest(n, r, in, c, 1u << k);
        reach += c[k]->err;
    }
    if (!inexact)
        return own_rounding(0, n, r, in, fast);
    if (inexact & (inexact - 1)) { /* together they may do more: (0 +- e) * (0 +- e) */
        double together = farthest(n, r, in, c, inexact);
        err = together > err ? together : err;
    }
    bool close = kn_ops[n->op].rule == KN_RULE_COMPARE && kn_is_float(in[0].dtype) &&
                 fabs(in[0].f - in[1].f) <= reach;
    if (close || (n->op == KN_OP_CAST && n->dtype == KN_BOOL && may_be_zero(in, c, 0)))
        return 1;
    if (may_jump(n, in, c) || ((n->op == KN_OP_MOD || n->op == KN_OP_FMOD) && wraps(in, c, err)))
        return INFINITY;
    return own_rounding(err, n, r, in, fast);
}
