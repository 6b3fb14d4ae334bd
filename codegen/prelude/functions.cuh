// Functions of floats, and powers.

#define KN_FUNCTION(name, f32, f64)                                                                \
    __device__ __forceinline__ float name(float a) { return f32(a); }                              \
    __device__ __forceinline__ double name(double a) { return f64(a); }
KN_FUNCTION(kn_sqrt, sqrtf, sqrt)
KN_FUNCTION(kn_rsqrt, rsqrtf, rsqrt)
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
KN_FUNCTION(kn_cbrt, cbrtf, cbrt)
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
#undef KN_FUNCTION
#define KN_FUNCTION_OF_TWO(name, f32, f64)                                                         \
    __device__ __forceinline__ float name(float a, float b) { return f32(a, b); }                  \
    __device__ __forceinline__ double name(double a, double b) { return f64(a, b); }
KN_FUNCTION_OF_TWO(kn_arctan2, atan2f, atan2)
KN_FUNCTION_OF_TWO(kn_hypot, hypotf, hypot)
KN_FUNCTION_OF_TWO(kn_copysign, copysignf, copysign)
#undef KN_FUNCTION_OF_TWO

// a * 2**b, b a whole number of any size; NaN of a NaN.
template <class T> __device__ __forceinline__ int kn_clamped(T b)
{
    return b > 5000 ? 5000 : b < -5000 ? -5000 : (int)b;
}
__device__ __forceinline__ float kn_scalb(float a, float b) { return b != b ? b : ldexpf(a, kn_clamped(b)); }
__device__ __forceinline__ double kn_scalb(double a, double b) { return b != b ? b : ldexp(a, kn_clamped(b)); }
// The parts of a float; what is not finite is its own mantissa, and has the exponent 0.
__device__ __forceinline__ float kn_frexp_mantissa(float a)
{
    int e;
    return kn_isfinite(a) ? frexpf(a, &e) : a;
}
__device__ __forceinline__ double kn_frexp_mantissa(double a)
{
    int e;
    return kn_isfinite(a) ? frexp(a, &e) : a;
}
template <class T> __device__ __forceinline__ int kn_frexp_exponent(T a)
{
    int e = 0;
    frexp(kn_isfinite(a) ? (double)a : 0.0, &e);
    return e;
}

// By squaring; a negative exponent gives the whole part of 1 / a**-b.
template <class T> __device__ __forceinline__ T kn_power(T a, T b)
{
    if (b < 0)
        return a == 1 ? 1 : a == (T)-1 ? (b & 1 ? (T)-1 : 1) : 0;
    T result = 1;
    for (; b; b = (T)(b >> 1), a = kn_multiply(a, a))
        if (b & 1)
            result = kn_multiply(result, a);
    return result;
}
__device__ __forceinline__ float kn_power(float a, float b) { return powf(a, b); }
__device__ __forceinline__ double kn_power(double a, double b) { return pow(a, b); }

__device__ __forceinline__ float kn_approximate_exp2(float a)
{
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
// exp(a) within 4 + 3/4 abs(a) units of the last place: half of its exponent is far from where numbers end.
__device__ __forceinline__ float kn_rough_exp(float a)
{
    const float root = kn_approximate_exp2(a * 0.72134752f);
    return root * root;
}
