/* Complex numbers for expr.h. Except for sums and products, c64 computes in double and rounds once. */
#ifndef KN_RUNTIME_CPU_COMPLEX_H
#define KN_RUNTIME_CPU_COMPLEX_H

#include <math.h>

#include "ir/complex.h"
#include "runtime/cpu/whole.h"

#define KN_PARTS(D, T, cr, ci)                                                                     \
    static inline kn_c_##D kn_pair_##D(T re, T im) { return __builtin_complex(re, im); }           \
    static inline kn_c_##D kn_mul_##D(kn_c_##D a, kn_c_##D b)                                      \
    {                                                                                              \
        const T ar = cr(a), ai = ci(a), br = cr(b), bi = ci(b);                                    \
        return kn_pair_##D(ar * br - ai * bi, ar * bi + ai * br);                                  \
    }                                                                                              \
    static inline T kn_real_##D(kn_c_##D a) { return cr(a); }                                      \
    static inline T kn_imag_##D(kn_c_##D a) { return ci(a); }
KN_PARTS(C64, float, crealf, cimagf)
KN_PARTS(C128, double, creal, cimag)
#undef KN_PARTS

/* In double no square of a part of a c64 overflows or underflows. */
static inline kn_c_C64 kn_div_C64(kn_c_C64 a, kn_c_C64 b)
{
    const double ar = (double)crealf(a), ai = (double)cimagf(a), br = (double)crealf(b),
                 bi = (double)cimagf(b), square = br * br + bi * bi;
    if (!(square > 0 && square < INFINITY))
        return (kn_c_C64)kn_complex_div(a, b);
    return kn_pair_C64((float)((ar * br + ai * bi) / square),
                       (float)((ai * br - ar * bi) / square));
}
#define kn_div_C128 kn_complex_div

#define KN_E_ADD_COMPLEX(D, a, b) ((a) + (b))
#define KN_E_SUB_COMPLEX(D, a, b) ((a) - (b))
#define KN_E_MUL_COMPLEX(D, a, b) kn_mul_##D(a, b)
#define KN_E_DIV_COMPLEX(D, a, b) kn_div_##D(a, b)
#define KN_E_POW_COMPLEX(D, a, b) kn_complex_pow(a, b)
#define KN_E_NEG_COMPLEX(D, a) (-(a))
#define KN_E_CONJ_COMPLEX(D, a) kn_pair_##D(kn_real_##D(a), -kn_imag_##D(a))
#define KN_E_REAL_COMPLEX(D, a) kn_real_##D(a)
#define KN_E_IMAG_COMPLEX(D, a) kn_imag_##D(a)
#define KN_E_PAIR_FLOAT(D, a, b) __builtin_complex(a, b)
#define KN_E_SQRT_COMPLEX(D, a) csqrt(a)
#define KN_E_EXP_COMPLEX(D, a) cexp(a)
#define KN_E_LOG_COMPLEX(D, a) clog(a)
#define KN_E_SIN_COMPLEX(D, a) csin(a)
#define KN_E_COS_COMPLEX(D, a) ccos(a)
#define KN_E_TAN_COMPLEX(D, a) ctan(a)
#define KN_E_SINH_COMPLEX(D, a) csinh(a)
#define KN_E_COSH_COMPLEX(D, a) ccosh(a)
#define KN_E_TANH_COMPLEX(D, a) ctanh(a)
#define KN_E_ARCSIN_COMPLEX(D, a) casin(a)
#define KN_E_ARCCOS_COMPLEX(D, a) cacos(a)
#define KN_E_ARCTAN_COMPLEX(D, a) catan(a)
#define KN_E_ARCSINH_COMPLEX(D, a) casinh(a)
#define KN_E_ARCCOSH_COMPLEX(D, a) cacosh(a)
#define KN_E_ARCTANH_COMPLEX(D, a) catanh(a)
#define KN_E_MINIMUM_COMPLEX(D, a, b) kn_complex_minimum(a, b)
#define KN_E_MAXIMUM_COMPLEX(D, a, b) kn_complex_maximum(a, b)
#define KN_E_FMIN_COMPLEX(D, a, b)                                                                 \
    ((b) != (b) ? (a) : kn_complex_minimum((a) != (a) ? (b) : (a), b))
#define KN_E_FMAX_COMPLEX(D, a, b)                                                                 \
    ((b) != (b) ? (a) : kn_complex_maximum((a) != (a) ? (b) : (a), b))
#define KN_E_LT_COMPLEX(D, a, b) kn_complex_less(a, b)
#define KN_E_LE_COMPLEX(D, a, b) kn_complex_less_equal(a, b)
#define KN_E_GT_COMPLEX(D, a, b) kn_complex_less(b, a)
#define KN_E_GE_COMPLEX(D, a, b) kn_complex_less_equal(b, a)
#define KN_E_EQ_COMPLEX(D, a, b) ((a) == (b))
#define KN_E_NE_COMPLEX(D, a, b) ((a) != (b))
#define KN_E_WHERE_COMPLEX(D, c, a, b) ((c) ? (a) : (b))
#define KN_E_COPY_COMPLEX(D, a) (a)

/* Other conversions convert the real part. */
#define KN_CAST_COMPLEX_BOOL(D, a) ((a) != 0)
#define KN_CAST_COMPLEX_COMPLEX(D, a) ((kn_c_##D)(a))
#define KN_CAST_FLOAT_COMPLEX(D, a) ((kn_c_##D)(a))

#define KN_ID_SUM_COMPLEX(D) 0
#define KN_ID_PROD_COMPLEX(D) 1
#define KN_ID_MIN_COMPLEX(D) kn_pair_##D(INFINITY, INFINITY)
#define KN_ID_MAX_COMPLEX(D) kn_pair_##D(-INFINITY, -INFINITY)

#endif
