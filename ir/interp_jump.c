/* Operations that jump, or have poles, within the error of their operands. */
#include <math.h>

#include "ir/interp_impl.h"

bool kn_interp_may_be_zero(const kn_scalar *in, const kn_cell *const *c, int k)
{
    return c[k]->err > 0 && hypot(kn_scalar_number(in[k]), in[k].im) <= c[k]->err;
}

/* Is operand 0 within its error of the real axis, or of the imaginary one, where the inverse functions are cut? */
static bool near_axis(const kn_scalar *in, const kn_cell *const *c)
{
    return fabs(in[0].f) <= c[0]->err || fabs(in[0].im) <= c[0]->err;
}

static bool complex_may_jump(const kn_node *n, const kn_scalar *in, const kn_cell *const *c)
{
    const double x = in[0].f, y = in[0].im, err = c[0]->err;
    switch (n->op) {
    case KN_OP_DIV: return kn_interp_may_be_zero(in, c, 1);
    case KN_OP_POW: /* by the logarithm */
    case KN_OP_LOG:
    case KN_OP_SQRT: return x <= err && fabs(y) <= err;
    case KN_OP_EXP:
    case KN_OP_SIN:
    case KN_OP_COS:
    case KN_OP_SINH:
    case KN_OP_COSH: return err > 1;
    case KN_OP_TAN: return hypot(cos(x), sinh(y)) < 4 * err; /* abs(cos(z)) */
    case KN_OP_TANH: return hypot(cos(y), sinh(x)) < 4 * err;
    case KN_OP_ARCSIN:
    case KN_OP_ARCCOS:
    case KN_OP_ARCTAN:
    case KN_OP_ARCSINH:
    case KN_OP_ARCCOSH:
    case KN_OP_ARCTANH: return near_axis(in, c);
    default: return false;
    }
}

bool kn_interp_may_jump(const kn_node *n, const kn_scalar *in, const kn_cell *const *c)
{
    if (kn_is_complex(in[0].dtype))
        return complex_may_jump(n, in, c);
    switch (n->op) {
    case KN_OP_DIV:
    case KN_OP_FLOORDIV:
    case KN_OP_MOD: return kn_interp_may_be_zero(in, c, 1);
    case KN_OP_FMOD:
    case KN_OP_COPYSIGN: return kn_interp_may_be_zero(in, c, 1);
    case KN_OP_RSQRT:
    case KN_OP_LOG2:
    case KN_OP_LOG10:
    case KN_OP_LOG: return kn_interp_may_be_zero(in, c, 0);
    case KN_OP_LOG1P: return fabs(1 + in[0].f) <= c[0]->err;
    case KN_OP_GAMMA:
    case KN_OP_LGAMMA: /* poles at whole numbers, up to 0 */
        return in[0].f - c[0]->err <= 0 && floor(in[0].f - c[0]->err) != floor(in[0].f + c[0]->err);
    case KN_OP_TAN: /* the sign of the cosine changes at a pole */
        return c[0]->err > 1 || cos(in[0].f - c[0]->err) * cos(in[0].f + c[0]->err) <= 0;
    case KN_OP_ARCTAN2: return kn_interp_may_be_zero(in, c, 0) && in[1].f - c[1]->err <= 0;
    case KN_OP_MANTISSA: return c[0]->err > fabs(in[0].f) / 4;
    case KN_OP_BITAND: /* which bits change says nothing about how much */
    case KN_OP_BITOR:
    case KN_OP_BITXOR:
    case KN_OP_GCD:
    case KN_OP_LCM: return true;
    case KN_OP_POW:
        return kn_interp_may_be_zero(in, c, 0) && kn_scalar_number(in[1]) - c[1]->err <= 0;
    case KN_OP_SIN:
    case KN_OP_COS: return c[0]->err > 1;
    default: return false;
    }
}
