// Functions of floats, and rounding to integers.

template <class T> __device__ __forceinline__ T kn_floor(T a) { return a; }
template <class T> __device__ __forceinline__ T kn_ceil(T a) { return a; }
template <class T> __device__ __forceinline__ T kn_trunc(T a) { return a; }
#define KN_FUNCTION(name, f32, f64)                                                                \
    __device__ __forceinline__ float name(float a) { return f32(a); }                              \
    __device__ __forceinline__ double name(double a) { return f64(a); }
KN_FUNCTION(kn_exp, expf, exp)
KN_FUNCTION(kn_log, logf, log)
KN_FUNCTION(kn_tanh, tanhf, tanh)
KN_FUNCTION(kn_sin, sinf, sin)
KN_FUNCTION(kn_cos, cosf, cos)
KN_FUNCTION(kn_exp2, exp2f, exp2)
KN_FUNCTION(kn_expm1, expm1f, expm1)
KN_FUNCTION(kn_log2, log2f, log2)
KN_FUNCTION(kn_log10, log10f, log10)
KN_FUNCTION(kn_log1p, log1pf, log1p)
KN_FUNCTION(kn_tan, tanf, tan)
KN_FUNCTION(kn_arcsin, asinf, asin)
KN_FUNCTION(kn_arccos, acosf, acos)
KN_FUNCTION(kn_arctan, atanf, atan)
KN_FUNCTION(kn_sinh, sinhf, sinh)
KN_FUNCTION(kn_cosh, coshf, cosh)
KN_FUNCTION(kn_arcsinh, asinhf, asinh)
KN_FUNCTION(kn_arccosh, acoshf, acosh)
KN_FUNCTION(kn_arctanh, atanhf, atanh)
KN_FUNCTION(kn_erf, erff, erf)
KN_FUNCTION(kn_erfc, erfcf, erfc)
KN_FUNCTION(kn_erfinv, erfinvf, erfinv)
KN_FUNCTION(kn_gamma, tgammaf, tgamma)
KN_FUNCTION(kn_lgamma, lgammaf, lgamma)
KN_FUNCTION(kn_floor, floorf, floor)
KN_FUNCTION(kn_ceil, ceilf, ceil)
KN_FUNCTION(kn_trunc, truncf, trunc)
KN_FUNCTION(kn_rint, rintf, rint)
#undef KN_FUNCTION
#define KN_FUNCTION_OF_TWO(name, f32, f64)                                                         \
    __device__ __forceinline__ float name(float a, float b) { return f32(a, b); }                  \
    __device__ __forceinline__ double name(double a, double b) { return f64(a, b); }
KN_FUNCTION_OF_TWO(kn_arctan2, atan2f, atan2)
KN_FUNCTION_OF_TWO(kn_hypot, hypotf, hypot)
KN_FUNCTION_OF_TWO(kn_copysign, copysignf, copysign)
#undef KN_FUNCTION_OF_TWO

__device__ __forceinline__ float kn_approximate_exp2(float a)
{
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
// Within 2 ulp, for all operands, without division's subroutine.
__device__ __forceinline__ float kn_approximate_quotient(float a, float b)
{
    float r;
    asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
// exp(a) within 4 + 3/4 abs(a) ulp, as the square of exp(a / 2), whose exp2 is far from overflow and underflow.
__device__ __forceinline__ float kn_approximate_exp(float a)
{
    const float root = kn_approximate_exp2(a * 0.72134752f);
    return root * root;
}
