// Divisors of many numbers, with their reciprocal. A quotient is the product with the reciprocal, corrected by the remainder,
// which rounds it as division does (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor",
// 1990), without division's subroutine for extreme operands, of f32 without a branch. For f32 one correction is enough: before
// it the quotient is less than 1.5 ulp off, and after it wrong only if the exact one is nearer to the middle of two numbers
// than 8 / (2^25 by), for `by` from 1 to 2; tests/unit/test_divisors.c tries all such cases. The remainder is exact for
// dividends of 2^-102 (f64: 2^-969) and more, and for whole divisors; else it may underflow, which leaves the quotient
// within 2 ulp. Subnormal quotients halfway between two numbers may round to either; one that rounds to the largest number may be
// infinite.
template <class T> struct kn_divisor {
    // The dividend is scaled first: by 1, by a power of two where the reciprocal would be infinite or subnormal, by the
    // reciprocal itself of 0 and of what is not finite; negative, if the divisor is, so that `by` is positive. Then the
    // correction of a zero is a zero of its sign.
    T scale, by, reciprocal;
};
#ifdef __CUDACC_RTC__
__device__ __forceinline__ float kn_rough_reciprocal(float by) // within 2^-23
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(by));
    return r;
}
__device__ __forceinline__ double kn_rough_reciprocal(double by) // within 2^-20
{
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(by));
    return r;
}
#else
template <class T> T kn_rough_reciprocal(T by) { return 1 / by; }
#endif
__device__ __forceinline__ float kn_correct_reciprocal(float r, float by) { return fmaf(fmaf(-by, r, 1.0f), r, r); }
__device__ __forceinline__ double kn_correct_reciprocal(double r, double by)
{
    for (int i = 0; i < 3; ++i)
        r = fma(fma(-by, r, 1.0), r, r);
    return r;
}
#define KN_DIVISION(T, abs, copysign, least, most, huge)                                           \
    __device__ __forceinline__ kn_divisor<T> kn_make_divisor(T by)                                 \
    {                                                                                              \
        const T size = abs(by), times = size < least ? huge : size < most ? (T)1 : 1 / huge;       \
        const bool finite = size > 0 && size < (T)KN_INF;                                          \
        const T one = finite ? size * times : (T)1;                                                \
        return kn_divisor<T>{finite ? copysign(times, by) : kn_rough_reciprocal(by), one,          \
                             kn_correct_reciprocal(kn_rough_reciprocal(one), one)};                \
    }                                                                                              \
    /* Of a positive number whose reciprocal is not extreme, or of 0, of infinity or NaN. */        \
    __device__ __forceinline__ kn_divisor<T> kn_make_ordinary_divisor(T by)                        \
    {                                                                                              \
        const bool finite = by > 0 && by < (T)KN_INF;                                              \
        const T one = finite ? by : (T)1, rough = kn_rough_reciprocal(by);                         \
        return kn_divisor<T>{1, one, finite ? kn_correct_reciprocal(rough, one) : rough};          \
    }                                                                                              \
    /* Of a positive constant whose reciprocal is not extreme, and is a constant, too. */          \
    __device__ __forceinline__ kn_divisor<T> kn_make_constant_divisor(T by)                        \
    {                                                                                              \
        return kn_divisor<T>{1, by, 1 / by};                                                       \
    }
KN_DIVISION(float, fabsf, copysignf, 1.17549435e-38f, 8.50705917e37f, 18446744073709551616.0f)
KN_DIVISION(double, fabs, copysign, 2.2250738585072014e-308, 4.4942328371557898e307, 1.3407807929942597e154)
#undef KN_DIVISION
__device__ __forceinline__ float operator/(float a, const kn_divisor<float> &d)
{
    const float x = a * d.scale, q = x * d.reciprocal, corrected = fmaf(-fmaf(q, d.by, -x), d.reciprocal, q);
    return fabsf(q) < (float)KN_INF ? corrected : q;
}
// By 1 to 4, or NaN: rounded as division does, but for dividends below 2^-102, whose remainder may underflow.
__device__ __forceinline__ float kn_divide_moderately(float a, float by)
{
    const float r = kn_correct_reciprocal(kn_rough_reciprocal(by), by), q = a * r;
    return fabsf(q) < (float)KN_INF ? fmaf(-fmaf(q, by, -a), r, q) : q;
}
__device__ __forceinline__ double operator/(double a, const kn_divisor<double> &d)
{
    const double x = a * d.scale;
    double q = x * d.reciprocal;
    if (fabs(q) < KN_INF) {
        q = fma(-fma(q, d.by, -x), d.reciprocal, q);
        q = fma(-fma(q, d.by, -x), d.reciprocal, q);
    }
    return q;
}
// A quotient that is only rounded to 16 bits: within 2^-22 of the exact one.
__device__ __forceinline__ float kn_rough_quotient(float a, const kn_divisor<float> &d) { return a * d.scale * d.reciprocal; }
