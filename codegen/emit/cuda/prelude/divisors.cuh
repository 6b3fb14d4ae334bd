// Divisors of many numbers, with their reciprocal. A quotient is the product with the reciprocal, corrected by the remainder,
// which rounds it as division does (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor",
// 1990). For f32 one correction is enough: before it the quotient is less than 1.5 ulp off, and after it wrong only if the
// exact one is nearer to the middle of two numbers than 8 / (2^25 by), for `by` from 1 to 2; tests/unit/test_divisors.c tries
// all such cases. Where the remainder could underflow, for infinities and NaN, and for divisors of extreme size, the quotient
// is a division's.
template <class T> struct kn_divisor {
    T by, reciprocal;
};
__device__ __forceinline__ float kn_correct(float q, float x, const kn_divisor<float> &d)
{
    return fmaf(fmaf(-q, d.by, x), d.reciprocal, q);
}
__device__ __forceinline__ double kn_correct(double q, double x, const kn_divisor<double> &d)
{
    const double once = fma(fma(-q, d.by, x), d.reciprocal, q);
    return fma(fma(-once, d.by, x), d.reciprocal, once);
}
#define KN_DIVISION(T, abs, small, large)                                                          \
    __device__ __forceinline__ kn_divisor<T> kn_make_divisor(T by)                                 \
    {                                                                                              \
        return kn_divisor<T>{by, abs(by) > small && abs(by) < large ? 1 / by : (T)KN_NAN};         \
    }                                                                                              \
    /* Clears `exact` where the result may be wrong. */                                            \
    __device__ __forceinline__ T kn_divide_by_reciprocal(T x, const kn_divisor<T> &d, bool &exact) \
    {                                                                                              \
        const T q = kn_correct(x * d.reciprocal, x, d);                                            \
        exact &= abs(q) > small;                                                                   \
        return q;                                                                                  \
    }                                                                                              \
    /* Of any operands. Zeros are frequent and stand beside ordinary numbers, so neither is a division. */ \
    __device__ __forceinline__ T kn_divide_any(T x, const kn_divisor<T> &d)                        \
    {                                                                                              \
        const T product = x * d.reciprocal;                                                        \
        const T q = kn_correct(product, x, d);                                                     \
        const bool zero = x == 0 && product == 0;                                                  \
        if (zero || abs(q) > small)                                                                \
            return zero ? product : q;                                                             \
        return x / d.by;                                                                           \
    }                                                                                              \
    __device__ __forceinline__ T operator/(T x, const kn_divisor<T> &d)                            \
    {                                                                                              \
        bool exact = true;                                                                         \
        const T q = kn_divide_by_reciprocal(x, d, exact);                                          \
        return exact ? q : kn_divide_any(x, d);                                                    \
    }
KN_DIVISION(float, fabsf, 1e-15f, 1e15f)
KN_DIVISION(double, fabs, 1e-140, 1e140)
#undef KN_DIVISION

// Divisors of results that are integers, such as the count of members: the steps of a division without its subroutine for
// extreme operands. The remainder by an integer is a multiple of the smallest subnormal, so it is exact even where others
// underflow; subnormal quotients halfway between two numbers may round to either. For zeros, infinities and NaN the product
// with the reciprocal is the quotient.
struct kn_integer_divisor {
    float by, reciprocal;
};
__device__ __forceinline__ float kn_nonzero_or(float a, float b) { return fabsf(a) > 0 ? a : b; }
__device__ __forceinline__ kn_integer_divisor kn_make_integer_divisor(float by)
{
#ifdef __CUDACC_RTC__
    float rough;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(rough) : "f"(by));
    return kn_integer_divisor{by, kn_nonzero_or(fmaf(fmaf(-by, rough, 1.0f), rough, rough), rough)};
#else
    return kn_integer_divisor{by, 1 / by};
#endif
}
__device__ __forceinline__ float operator/(float x, const kn_integer_divisor &d)
{
    const float q = x * d.reciprocal;
    return kn_nonzero_or(fmaf(fmaf(-q, d.by, x), d.reciprocal, q), q);
}

// Divisors of quotients that are only rounded to 16 bits: within 2^-22 of the exact ones. The reciprocal of a subnormal may
// overflow, so both operands are scaled then.
struct kn_approximate_divisor {
    float scale, reciprocal;
};
__device__ __forceinline__ kn_approximate_divisor kn_make_approximate_divisor(float by)
{
    const float scale = fabsf(by) < 1.17549435e-38f ? 18446744073709551616.0f : 1.0f;
    return kn_approximate_divisor{scale, 1 / (by * scale)};
}
__device__ __forceinline__ float operator/(float x, const kn_approximate_divisor &d) { return x * d.scale * d.reciprocal; }
