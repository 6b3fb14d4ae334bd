/* The scalar evaluator of complex numbers: in double, each part rounded once. */
#include <math.h>

#include "ir/complex.h"
#include "ir/eval_impl.h"

static kn_scalar rounded(kn_dtype t, kn_complex z)
{
    return (kn_scalar){.dtype = t, .f = kn_round(t, creal(z)), .im = kn_round(t, cimag(z))};
}

static kn_scalar of_bool(bool b) { return (kn_scalar){.dtype = KN_BOOL, .i = b}; }

kn_scalar kn_eval_complex(kn_op op, kn_dtype t, kn_scalar x, kn_scalar y)
{
    const kn_complex a = CMPLX(x.f, x.im), b = CMPLX(y.f, y.im);
    switch (op) {
    case KN_OP_ADD: return rounded(t, a + b);
    case KN_OP_SUB: return rounded(t, a - b);
    case KN_OP_MUL: return rounded(t, kn_complex_mul(a, b));
    case KN_OP_DIV: return rounded(t, kn_complex_div(a, b));
    case KN_OP_POW: return rounded(t, kn_complex_pow(a, b));
    case KN_OP_NEG: return rounded(t, -a);
    case KN_OP_CONJ: return rounded(t, conj(a));
    case KN_OP_REAL: return (kn_scalar){.dtype = t, .f = x.f};
    case KN_OP_IMAG: return (kn_scalar){.dtype = t, .f = x.im};
    case KN_OP_SQRT: return rounded(t, csqrt(a));
    case KN_OP_EXP: return rounded(t, cexp(a));
    case KN_OP_LOG: return rounded(t, clog(a));
    case KN_OP_SIN: return rounded(t, csin(a));
    case KN_OP_COS: return rounded(t, ccos(a));
    case KN_OP_TAN: return rounded(t, ctan(a));
    case KN_OP_SINH: return rounded(t, csinh(a));
    case KN_OP_COSH: return rounded(t, ccosh(a));
    case KN_OP_TANH: return rounded(t, ctanh(a));
    case KN_OP_ARCSIN: return rounded(t, casin(a));
    case KN_OP_ARCCOS: return rounded(t, cacos(a));
    case KN_OP_ARCTAN: return rounded(t, catan(a));
    case KN_OP_ARCSINH: return rounded(t, casinh(a));
    case KN_OP_ARCCOSH: return rounded(t, cacosh(a));
    case KN_OP_ARCTANH: return rounded(t, catanh(a));
    case KN_OP_MINIMUM: return rounded(t, kn_complex_minimum(a, b));
    case KN_OP_MAXIMUM: return rounded(t, kn_complex_maximum(a, b));
    case KN_OP_FMIN: return rounded(t, b != b ? a : kn_complex_minimum(a != a ? b : a, b));
    case KN_OP_FMAX: return rounded(t, b != b ? a : kn_complex_maximum(a != a ? b : a, b));
    case KN_OP_LT: return of_bool(kn_complex_less(a, b));
    case KN_OP_LE: return of_bool(kn_complex_less_equal(a, b));
    case KN_OP_GT: return of_bool(kn_complex_less(b, a));
    case KN_OP_GE: return of_bool(kn_complex_less_equal(b, a));
    case KN_OP_EQ: return of_bool(a == b);
    case KN_OP_NE: return of_bool(a != b);
    default: return rounded(t, CMPLX(NAN, NAN));
    }
}
