/* How far a device's results may be from the reference: the bounds of ir/ops.def, carried through a program. Scalars go
 * by address: a copy of one that was just written field by field is a wide load behind narrow stores, which cannot be
 * forwarded to it. */
#include <math.h>
#include <string.h>

#include "ir/eval.h"
#include "ir/fast.h"
#include "ir/interp_impl.h"

static bool is_nan(kn_scalar v) { return isnan(kn_scalar_number(v)) || isnan(v.im); }

/* |a - b|, infinite when one of them is not finite and they differ. */
static double distance(const kn_scalar *a, const kn_scalar *b)
{
    double x = kn_scalar_number(*a), y = kn_scalar_number(*b);
    if ((x == y && a->im == b->im) || (is_nan(*a) && is_nan(*b)))
        return 0;
    double d = a->im == b->im ? fabs(x - y) : hypot(x - y, a->im - b->im);
    return isnan(d) ? INFINITY : d;
}

/* Of numbers that are not finite only copies are known: which part of a result is NaN or infinite hangs on the order in
 * which it is computed. */
static double complex_rounding(double err, double ulp, const kn_scalar *r)
{
    double x = hypot(r->f, r->im);
    if (isnan(x) || isinf(x))
        return err > 0 || ulp > 0 ? INFINITY : 0;
    err += 2 * ulp * (kn_unit_roundoff(r->dtype) * x + 2 * kn_least(r->dtype));
    return ulp > 0 && x + err > kn_largest(r->dtype) / 2 ? INFINITY : err;
}

/* `err` plus the operation's own rounding; infinite where the result may overflow. The reference rounds too, to the
 * same side only where both round the same number: else a device's result may be the next number on the other side. */
double kn_interp_rounding(double err, double ulp, const kn_scalar *r)
{
    double x = fabs(kn_scalar_number(*r)), u = kn_unit_roundoff(r->dtype);
    if (kn_is_complex(r->dtype))
        return complex_rounding(err, ulp, r);
    if (u == 0 || isnan(x))
        return err;
    if (isinf(x))
        return err > 0 ? INFINITY : 0;
    if (ulp > 0.5 || (ulp > 0 && err > 0))
        ulp += 0.5;
    err += 2 * ulp * (u * x + fmax(kn_least(r->dtype) / 2, 0x1p-1074));
    return x + err > kn_largest(r->dtype) ? INFINITY : err;
}

/* Directions that a value can move in: there and back along the real line, of complex numbers along the imaginary
 * one. */
static unsigned directions(kn_dtype t) { return kn_is_complex(t) ? 4 : 2; }

static void move(kn_scalar *to, const kn_scalar *from, double by, unsigned direction)
{
    by = direction % 2 ? by : -by;
    if (kn_is_complex(from->dtype)) {
        to->f = from->f + (direction > 1 ? 0 : by);
        to->im = from->im + (direction > 1 ? by : 0);
    } else if (kn_is_float(from->dtype)) {
        to->f = from->f + by;
    } else if (from->dtype == KN_BOOL) {
        to->i = by > 0;
    } else {
        by = by < 0 ? floor(by) : ceil(by);
        to->i = (int64_t)((uint64_t)from->i + (uint64_t)(int64_t)by);
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

/* The farthest that the result gets when every operand in `mask` moves to an end of its interval. `varied` are the
 * operands, which are moved in it. */
static double farthest(const kn_node *n, const kn_scalar *r, const kn_scalar *in,
                       const kn_cell *const *c, unsigned mask, kn_scalar *varied)
{
    double worst = 0;
    unsigned all = 1;
    for (int k = 0; k < n->nin; k++)
        all *= mask >> k & 1 ? directions(in[k].dtype) : 1;
    for (unsigned ends = 0; ends < all; ends++) {
        unsigned left = ends;
        for (int k = 0; k < n->nin; k++)
            if (mask >> k & 1) {
                const unsigned d = directions(in[k].dtype); /* 2 or 4 */
                move(&varied[k], &in[k], c[k]->err, left & (d - 1));
                left >>= d / 2;
            }
        if (may_wrap(n, varied))
            return INFINITY;
        const kn_scalar there = kn_eval(n->op, n->dtype, varied);
        double d = distance(r, &there);
        worst = d > worst ? d : worst;
    }
    for (int k = 0; k < n->nin; k++) {
        varied[k].i = in[k].i;
        varied[k].im = in[k].im;
    }
    return worst;
}

/* The sign of a NaN is whatever made it. */
static bool asks_sign_of_nan(const kn_node *n, const kn_scalar *in)
{
    return (n->op == KN_OP_SIGNBIT && kn_is_float(in[0].dtype) && isnan(in[0].f)) ||
           (n->op == KN_OP_COPYSIGN && isnan(in[1].f));
}

/* The operation's own bound in ULP. */
static double ulp_of(const kn_node *n, const kn_scalar *in)
{
    double ulp = kn_op_ulp(n->op, n->dtype);
    if (n->op != KN_OP_POW || !kn_is_complex(n->dtype))
        return ulp;
    double turn = hypot(log(hypot(in[0].f, in[0].im)), atan2(in[0].im, in[0].f));
    return ulp * fmax(1, hypot(in[1].f, in[1].im) * fmax(1, turn));
}

/* How far off an operation with correct operands may be: a quotient by 2 units of its last place, an exponential by 4
 * and 3/4 for each unit of its operand; others only pass on the errors of their operands. Infinite where the result
 * may leave f32's range. */
double kn_interp_rough(const kn_node *n, const kn_scalar *r, const kn_scalar *in,
                       const kn_cell *const *c)
{
    double rough = 0;
    if (n->dtype != KN_F32)
        return 0;
    if (n->op == KN_OP_MUL || n->op == KN_OP_DIV)
        rough = c[0]->rough + c[1]->rough;
    if (n->op == KN_OP_ADD && in[0].f >= 0 && in[1].f >= 0)
        rough = fmax(c[0]->rough, c[1]->rough);
    if (n->op == KN_OP_NEG || n->op == KN_OP_ABS)
        rough = c[0]->rough;
    if (n->op == KN_OP_WHERE)
        rough = c[in[0].i ? 1 : 2]->rough;
    if (n->op == KN_OP_DIV)
        rough += 4 * kn_unit_roundoff(KN_F32);
    if (n->op == KN_OP_EXP)
        rough = (8 + 1.5 * fabs(in[0].f)) * kn_unit_roundoff(KN_F32);
    return fabs(r->f) * (1 + rough) > kn_largest(KN_F32) ? INFINITY : rough;
}

/* How far the result is from that of an f32 which is off as it may be where nothing is left of it but this rounding to
 * 16 bits. An exponential that is itself what is rounded keeps its own bound. */
static double rough_rounding(const kn_node *n, const kn_scalar *r, const kn_scalar *in,
                             const kn_cell *const *c)
{
    bool cast =
        n->op == KN_OP_CAST && in[0].dtype == KN_F32 && kn_view_root(n->in[0])->op != KN_OP_EXP;
    if (!kn_is_half(n->dtype) || !(cast || n->op == KN_OP_DIV))
        return 0;
    double q = cast ? in[0].f : in[0].f / in[1].f;
    double off = (cast ? c[0]->rough : 4 * kn_unit_roundoff(KN_F32)) * fabs(q);
    if (!isfinite(q) || off == 0)
        return 0;
    if (!isfinite(off))
        return INFINITY;
    kn_scalar less = *r, more = *r;
    less.f = kn_round(r->dtype, q - off);
    more.f = kn_round(r->dtype, q + off);
    return fmax(distance(r, &less), distance(r, &more));
}

/* `err` plus the own rounding of n. */
static double own_rounding(double err, const kn_node *n, const kn_scalar *r, const kn_scalar *in,
                           const kn_cell *const *c, bool fast)
{
    kn_scalar of;
    double ulp = ulp_of(n, in);
    if (fast) {
        of = *r;
        ulp = kn_fast_ulp(n, in, *r, &of);
        r = &of;
    }
    err += rough_rounding(n, r, in, c);
    return isinf(ulp) ? INFINITY : kn_interp_rounding(err, ulp, r);
}

double kn_interp_bound(const kn_node *n, const kn_scalar *r, const kn_scalar *in,
                       const kn_cell *const *c, bool fast)
{
    double err = 0, reach = 0;
    unsigned inexact = 0;
    kn_scalar varied[KN_MAX_IN];
    if (asks_sign_of_nan(n, in))
        return INFINITY;
    for (int k = 0; k < n->nin; k++) {
        if (c[k]->err == 0)
            continue;
        if (isinf(c[k]->err) || c[k]->err > 0x1p62)
            return INFINITY;
        if (!inexact)
            memcpy(varied, in, sizeof varied);
        inexact |= 1u << k;
        err += farthest(n, r, in, c, 1u << k, varied);
        reach += c[k]->err;
    }
    if (!inexact)
        return own_rounding(0, n, r, in, c, fast);
    if (inexact & (inexact - 1)) { /* together they may do more: (0 +- e) * (0 +- e) */
        double together = farthest(n, r, in, c, inexact, varied);
        err = together > err ? together : err;
    }
    bool close = kn_ops[n->op].rule == KN_RULE_COMPARE && kn_is_inexact(in[0].dtype) &&
                 fabs(in[0].f - in[1].f) <= reach;
    if (close || (n->op == KN_OP_CAST && n->dtype == KN_BOOL && kn_interp_may_be_zero(in, c, 0)))
        return 1;
    if (kn_interp_may_jump(n, in, c) ||
        ((n->op == KN_OP_MOD || n->op == KN_OP_FMOD) && wraps(in, c, err)))
        return INFINITY;
    return own_rounding(err, n, r, in, c, fast);
}
