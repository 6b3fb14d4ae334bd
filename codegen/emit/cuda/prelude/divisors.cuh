// Divisors of many numbers, with their reciprocal. A quotient is the product with the reciprocal, corrected by the remainder,
// which rounds it as division does (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor",
// 1990), without a branch and without division's subroutine for extreme operands. For f32 one correction is enough: before
// it the quotient is less than 1.5 ulp off, and after it wrong only if the exact one is nearer to the middle of two numbers
// than 8 / (2^25 by), for `by` from 1 to 2; tests/unit/test_divisors.c tries all such cases. The remainder is exact for
// dividends of 2^-102 (f64: 2^-969) and more, and for whole divisors; else it may underflow, which leaves the quotient
// within 2 ulp. Subnormal quotients halfway between two numbers may round to either. For zeros, infinities and NaN the
// product with the reciprocal is the quotient.
template <class T> struct kn_divisor {
    T scale, by, reciprocal; // both operands are scaled where the reciprocal would be infinite or subnormal
};
__device__ __forceinline__ float kn_nonzero_or(float a, float b) { return fabsf(a) > 0 ? a : b; }
__device__ __forceinline__ double kn_nonzero_or(double a, double b) { return fabs(a) > 0 ? a : b; }
// As division's, for numbers that are neither subnormal nor 2^126 (f64: 2^1022) and more, and for 0, infinities and NaN.
#ifdef __CUDACC_RTC__
__device__ __forceinline__ float kn_ordinary_reciprocal(float by)
{
    float rough; // within 2^-23
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(rough) : "f"(by));
    return kn_nonzero_or(fmaf(fmaf(-by, rough, 1.0f), rough, rough), rough);
}
__device__ __forceinline__ double kn_ordinary_reciprocal(double by)
{
    double rough; // within 2^-20
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(rough) : "d"(by));
    double r = rough;
    for (int i = 0; i < 3; ++i)
        r = fma(fma(-by, r, 1.0), r, r);
    return kn_nonzero_or(r, rough);
}
#else
template <class T> T kn_ordinary_reciprocal(T by) { return 1 / by; }
#endif
#define KN_DIVISION(T, abs, least, most, scale)                                                    \
    __device__ __forceinline__ kn_divisor<T> kn_make_divisor(T by)                                 \
    {                                                                                              \
        const T times = abs(by) < least ? 1 / scale : abs(by) < most ? (T)1 : scale;               \
        return kn_divisor<T>{times, by * times, kn_ordinary_reciprocal(by * times)};               \
    }                                                                                              \
    /* Of a number known not to be extreme, such as a count. */                                    \
    __device__ __forceinline__ kn_divisor<T> kn_make_ordinary_divisor(T by)                        \
    {                                                                                              \
        return kn_divisor<T>{1, by, kn_ordinary_reciprocal(by)};                                   \
    }                                                                                              \
    /* Of a constant that is not extreme: its reciprocal is one, too. */                           \
    __device__ __forceinline__ kn_divisor<T> kn_make_constant_divisor(T by)                        \
    {                                                                                              \
        return kn_divisor<T>{1, by, 1 / by};                                                       \
    }
KN_DIVISION(float, fabsf, 1.17549435e-38f, 8.50705917e37f, 5.42101086e-20f)
KN_DIVISION(double, fabs, 2.2250738585072014e-308, 4.4942328371557898e307, 7.4583407312002070e-155)
#undef KN_DIVISION
__device__ __forceinline__ float operator/(float a, const kn_divisor<float> &d)
{
    const float x = a * d.scale, q = x * d.reciprocal;
    return kn_nonzero_or(fmaf(fmaf(-q, d.by, x), d.reciprocal, q), q);
}
__device__ __forceinline__ double operator/(double a, const kn_divisor<double> &d)
{
    const double x = a * d.scale, q = x * d.reciprocal, once = fma(fma(-q, d.by, x), d.reciprocal, q);
    return kn_nonzero_or(fma(fma(-once, d.by, x), d.reciprocal, once), q);
}
// A quotient that is only rounded to 16 bits: within 2^-22 of the exact one.
__device__ __forceinline__ float kn_rough_quotient(float a, const kn_divisor<float> &d) { return a * d.scale * d.reciprocal; }
