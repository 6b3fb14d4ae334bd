// kiln's device prelude: elementwise operations. ir/ops.def says what they mean. Needs no header.

#define KN_INF __longlong_as_double(0x7ff0000000000000LL)
#define KN_NAN __longlong_as_double(0x7ff8000000000000LL)

// Integers wrap: their arithmetic is that of an unsigned type of at least their size.
template <int BYTES> struct kn_modular { typedef unsigned type; };
template <> struct kn_modular<8> { typedef unsigned long long type; };
template <class T> __device__ __forceinline__ T kn_add(T a, T b)
{
    typedef typename kn_modular<sizeof(T)>::type word;
    return (T)((word)a + (word)b);
}
template <class T> __device__ __forceinline__ T kn_subtract(T a, T b)
{
    typedef typename kn_modular<sizeof(T)>::type word;
    return (T)((word)a - (word)b);
}
template <class T> __device__ __forceinline__ T kn_multiply(T a, T b)
{
    typedef typename kn_modular<sizeof(T)>::type word;
    return (T)((word)a * (word)b);
}
__device__ __forceinline__ float kn_add(float a, float b) { return a + b; }
__device__ __forceinline__ double kn_add(double a, double b) { return a + b; }
__device__ __forceinline__ float kn_multiply(float a, float b) { return a * b; }
__device__ __forceinline__ double kn_multiply(double a, double b) { return a * b; }
__device__ __forceinline__ bool kn_logical_and(bool a, bool b) { return a & b; }
__device__ __forceinline__ bool kn_logical_or(bool a, bool b) { return a | b; }
__device__ __forceinline__ bool kn_logical_not(bool a) { return !a; }

template <class T> __device__ __forceinline__ T kn_negative(T a) { return kn_subtract((T)0, a); }
__device__ __forceinline__ float kn_negative(float a) { return -a; }
__device__ __forceinline__ double kn_negative(double a) { return -a; }
template <class T> __device__ __forceinline__ T kn_abs(T a) { return a < 0 ? kn_negative(a) : a; }
__device__ __forceinline__ float kn_abs(float a) { return fabsf(a); }
__device__ __forceinline__ double kn_abs(double a) { return fabs(a); }
template <class T> __device__ __forceinline__ T kn_where(bool c, T a, T b) { return c ? a : b; }
template <class T> __device__ __forceinline__ T kn_copy(T a) { return a; }

// NaN wins.
template <class T> __device__ __forceinline__ T kn_minimum(T a, T b)
{
    return a < b || a != a ? a : b;
}
template <class T> __device__ __forceinline__ T kn_maximum(T a, T b)
{
    return a > b || a != a ? a : b;
}
#if defined __CUDACC_RTC__ && __CUDA_ARCH__ >= 800 // one instruction each
__device__ __forceinline__ float kn_minimum(float a, float b)
{
    float c;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}
__device__ __forceinline__ float kn_maximum(float a, float b)
{
    float c;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}
#endif

// The one that is no NaN.
template <class T> __device__ __forceinline__ T kn_fmin(T a, T b)
{
    return a != a || b < a ? b : a;
}
template <class T> __device__ __forceinline__ T kn_fmax(T a, T b)
{
    return a != a || b > a ? b : a;
}

template <class T> __device__ __forceinline__ T kn_floor(T a) { return a; }
template <class T> __device__ __forceinline__ T kn_ceil(T a) { return a; }
template <class T> __device__ __forceinline__ T kn_trunc(T a) { return a; }
template <class T> __device__ __forceinline__ T kn_sign(T a) { return (T)((a > 0) - (a < 0)); }
__device__ __forceinline__ float kn_sign(float a) { return a > 0 ? 1.0f : a < 0 ? -1.0f : a == 0 ? 0.0f : a; }
__device__ __forceinline__ double kn_sign(double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : a == 0 ? 0.0 : a; }

template <class T> __device__ __forceinline__ bool kn_isnan(T a) { return a != a; }
template <class T> __device__ __forceinline__ bool kn_isinf(T) { return false; }
template <class T> __device__ __forceinline__ bool kn_isfinite(T) { return true; }
template <class T> __device__ __forceinline__ bool kn_signbit(T a) { return a < 0; }
__device__ __forceinline__ bool kn_isinf(float a) { return fabsf(a) == (float)KN_INF; }
__device__ __forceinline__ bool kn_isinf(double a) { return fabs(a) == KN_INF; }
__device__ __forceinline__ bool kn_isfinite(float a) { return fabsf(a) < (float)KN_INF; }
__device__ __forceinline__ bool kn_isfinite(double a) { return fabs(a) < KN_INF; }
__device__ __forceinline__ bool kn_signbit(float a) { return __float_as_int(a) < 0; }
__device__ __forceinline__ bool kn_signbit(double a) { return __double_as_longlong(a) < 0; }

template <class T> __device__ __forceinline__ T kn_bitwise_and(T a, T b) { return (T)(a & b); }
template <class T> __device__ __forceinline__ T kn_bitwise_or(T a, T b) { return (T)(a | b); }
template <class T> __device__ __forceinline__ T kn_bitwise_xor(T a, T b) { return (T)(a ^ b); }
template <class T> __device__ __forceinline__ T kn_invert(T a) { return (T)~a; }
// A shift by the type's width and more, or by a negative number, shifts everything out.
template <class T> __device__ __forceinline__ T kn_left_shift(T a, T b)
{
    typedef typename kn_modular<sizeof(T)>::type word;
    return (word)b < 8 * sizeof(T) ? (T)((word)a << b) : (T)0;
}
template <class T> __device__ __forceinline__ T kn_right_shift(T a, T b)
{
    typedef typename kn_modular<sizeof(T)>::type word;
    return (word)b < 8 * sizeof(T) ? (T)(a >> b) : a < 0 ? (T)-1 : (T)0;
}
template <class T> __device__ __forceinline__ typename kn_modular<sizeof(T)>::type kn_magnitude(T a)
{
    typedef typename kn_modular<sizeof(T)>::type word;
    return a < 0 ? (word)0 - (word)a : (word)a;
}
template <class T> __device__ __forceinline__ T kn_gcd(T x, T y)
{
    typename kn_modular<sizeof(T)>::type a = kn_magnitude(x), b = kn_magnitude(y);
    while (b) {
        const auto r = a % b;
        a = b;
        b = r;
    }
    return (T)a;
}
template <class T> __device__ __forceinline__ T kn_lcm(T x, T y)
{
    const auto d = kn_magnitude(kn_gcd(x, y));
    return d == 0 ? (T)0 : (T)(kn_magnitude(x) / d * kn_magnitude(y));
}
#define KN_FLOAT_FUNCTION(name, f32, f64)                                                          \
    __device__ __forceinline__ float kn_##name(float a) { return f32(a); }                         \
    __device__ __forceinline__ double kn_##name(double a) { return f64(a); }
KN_FLOAT_FUNCTION(floor, floorf, floor)
KN_FLOAT_FUNCTION(ceil, ceilf, ceil)
KN_FLOAT_FUNCTION(sqrt, sqrtf, sqrt)
KN_FLOAT_FUNCTION(rsqrt, rsqrtf, rsqrt)
KN_FLOAT_FUNCTION(exp, expf, exp)
KN_FLOAT_FUNCTION(log, logf, log)
KN_FLOAT_FUNCTION(tanh, tanhf, tanh)
KN_FLOAT_FUNCTION(sin, sinf, sin)
KN_FLOAT_FUNCTION(cos, cosf, cos)
KN_FLOAT_FUNCTION(exp2, exp2f, exp2)
KN_FLOAT_FUNCTION(expm1, expm1f, expm1)
KN_FLOAT_FUNCTION(log2, log2f, log2)
KN_FLOAT_FUNCTION(log10, log10f, log10)
KN_FLOAT_FUNCTION(log1p, log1pf, log1p)
KN_FLOAT_FUNCTION(cbrt, cbrtf, cbrt)
KN_FLOAT_FUNCTION(tan, tanf, tan)
KN_FLOAT_FUNCTION(arcsin, asinf, asin)
KN_FLOAT_FUNCTION(arccos, acosf, acos)
KN_FLOAT_FUNCTION(arctan, atanf, atan)
KN_FLOAT_FUNCTION(sinh, sinhf, sinh)
KN_FLOAT_FUNCTION(cosh, coshf, cosh)
KN_FLOAT_FUNCTION(arcsinh, asinhf, asinh)
KN_FLOAT_FUNCTION(arccosh, acoshf, acosh)
KN_FLOAT_FUNCTION(arctanh, atanhf, atanh)
KN_FLOAT_FUNCTION(erf, erff, erf)
KN_FLOAT_FUNCTION(erfc, erfcf, erfc)
KN_FLOAT_FUNCTION(erfinv, erfinvf, erfinv)
KN_FLOAT_FUNCTION(gamma, tgammaf, tgamma)
KN_FLOAT_FUNCTION(lgamma, lgammaf, lgamma)
KN_FLOAT_FUNCTION(trunc, truncf, trunc)
KN_FLOAT_FUNCTION(rint, rintf, rint)
#undef KN_FLOAT_FUNCTION
#define KN_FLOAT_FUNCTION(name, f32, f64)                                                          \
    __device__ __forceinline__ float kn_##name(float a, float b) { return f32(a, b); }             \
    __device__ __forceinline__ double kn_##name(double a, double b) { return f64(a, b); }
KN_FLOAT_FUNCTION(arctan2, atan2f, atan2)
KN_FLOAT_FUNCTION(hypot, hypotf, hypot)
KN_FLOAT_FUNCTION(copysign, copysignf, copysign)
KN_FLOAT_FUNCTION(fmin, fminf, fmin)
KN_FLOAT_FUNCTION(fmax, fmaxf, fmax)
#undef KN_FLOAT_FUNCTION

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

// Division towards minus infinity; by zero it gives 0. (T)-1 < 0 says that T is signed.
template <class T> __device__ __forceinline__ T kn_floor_divide(T a, T b)
{
    if (b == 0)
        return 0;
    if ((T)-1 < 0 && b == (T)-1)
        return kn_negative(a);
    return (T)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}
template <class T> __device__ __forceinline__ T kn_remainder(T a, T b)
{
    if (b == 0 || ((T)-1 < 0 && b == (T)-1))
        return 0;
    const T r = (T)(a % b);
    return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;
}
// The remainder of division towards 0.
template <class T> __device__ __forceinline__ T kn_fmod(T a, T b)
{
    return b == 0 || ((T)-1 < 0 && b == (T)-1) ? (T)0 : (T)(a % b);
}
__device__ __forceinline__ float kn_fmod(float a, float b) { return fmodf(a, b); }
__device__ __forceinline__ double kn_fmod(double a, double b) { return fmod(a, b); }
#define KN_FLOAT_DIVISION(T, fmod, floor, copysign)                                                \
    __device__ __forceinline__ T kn_remainder(T a, T b)                                            \
    {                                                                                              \
        const T r = fmod(a, b);                                                                    \
        if (b != 0 && r != 0 && (r < 0) != (b < 0))                                                \
            return r + b;                                                                          \
        return r == 0 ? copysign((T)0, b) : r;                                                     \
    }                                                                                              \
    __device__ __forceinline__ T kn_floor_divide(T a, T b)                                         \
    {                                                                                              \
        if (b == 0)                                                                                \
            return a / b;                                                                          \
        const T r = fmod(a, b);                                                                    \
        T q = (a - r) / b;                                                                         \
        if (r != 0 && (r < 0) != (b < 0))                                                          \
            q -= 1;                                                                                \
        if (q == 0)                                                                                \
            return copysign((T)0, a / b);                                                          \
        const T whole = floor(q);                                                                  \
        return q - whole > (T)0.5 ? whole + 1 : whole;                                             \
    }
KN_FLOAT_DIVISION(float, fmodf, floorf, copysignf)
KN_FLOAT_DIVISION(double, fmod, floor, copysign)
#undef KN_FLOAT_DIVISION

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

// 16-bit floats: bits in memory and between operations. Arithmetic is that of float, rounded once.
struct kn_f16 {
    unsigned short bits;
};
struct kn_bf16 {
    unsigned short bits;
};
#if defined __CUDACC_RTC__ && __CUDA_ARCH__ >= 800 // one instruction each
__device__ __forceinline__ float kn_widen(kn_bf16 h)
{
    float f;
    asm("mov.b32 %0, {%1, %2};" : "=f"(f) : "h"((unsigned short)0), "h"(h.bits));
    return f;
}
__device__ __forceinline__ float kn_widen(kn_f16 h)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h.bits));
    return f;
}
__device__ __forceinline__ void kn_narrow(float f, kn_f16 &h)
{
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(f));
}
__device__ __forceinline__ void kn_narrow(float f, kn_bf16 &h)
{
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h.bits) : "f"(f));
}
#else // what they do, bit by bit
__device__ __forceinline__ float kn_widen(kn_bf16 h) { return __uint_as_float((unsigned)h.bits << 16); }
__device__ __forceinline__ float kn_widen(kn_f16 h)
{
    const unsigned m = h.bits & 0x7fff;
    const unsigned u = m >= 0x7c00 ? m << 13 | 0x7f800000
                                   : __float_as_uint(__uint_as_float(m << 13) * 5192296858534827628530496329220096.0f);
    return __uint_as_float(u | (unsigned)(h.bits & 0x8000) << 16);
}
__device__ __forceinline__ void kn_narrow(float f, kn_f16 &h)
{
    const unsigned u = __float_as_uint(f), m = u & 0x7fffffff;
    unsigned r;
    if (m > 0x7f800000)
        r = 0x7fff;
    else if (m >= 0x477ff000)
        r = 0x7c00;
    else if (m < 0x38800000) // below the normal numbers, adding 1/2 rounds where the last bit is
        r = __float_as_uint(__uint_as_float(m) + 0.5f) - 0x3f000000;
    else
        r = (m - 0x38000000 + 0xfff + (m >> 13 & 1)) >> 13;
    h.bits = (unsigned short)(r | (u >> 16 & 0x8000));
}
__device__ __forceinline__ void kn_narrow(float f, kn_bf16 &h)
{
    const unsigned u = __float_as_uint(f);
    h.bits = (unsigned short)(f != f ? 0x7fff : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}
#endif

// What many numbers are divided by: with its reciprocal, and two corrections by the remainder, which round the quotient
// as division rounds it (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990).
// Where a remainder could underflow, for what is not finite, which makes it NaN, and for divisors that are no ordinary
// number, by division.
template <class T> struct kn_divisor {
    T by, reciprocal;
};
#define KN_DIVISION(T, fma, abs, small, large)                                                     \
    __device__ __forceinline__ kn_divisor<T> kn_divide_by(T by)                                    \
    {                                                                                              \
        return kn_divisor<T>{by, abs(by) > small && abs(by) < large ? 1 / by : (T)KN_NAN};         \
    }                                                                                              \
    /* Clears `exact` where it is not the quotient. */                                             \
    __device__ __forceinline__ T kn_divide_quickly(T x, const kn_divisor<T> &d, bool &exact)       \
    {                                                                                              \
        const T q0 = x * d.reciprocal, q1 = fma(fma(-q0, d.by, x), d.reciprocal, q0);              \
        const T q = fma(fma(-q1, d.by, x), d.reciprocal, q1);                                      \
        exact &= abs(q) > small;                                                                   \
        return q;                                                                                  \
    }                                                                                              \
    __device__ __forceinline__ T operator/(T x, const kn_divisor<T> &d)                            \
    {                                                                                              \
        bool exact = true;                                                                         \
        const T q = kn_divide_quickly(x, d, exact);                                                \
        return exact ? q : x / d.by;                                                               \
    }
KN_DIVISION(float, fmaf, fabsf, 1e-15f, 1e15f)
KN_DIVISION(double, fma, fabs, 1e-140, 1e140)
#undef KN_DIVISION

// The same for quotients that are only rounded to 16 bits: within 2^-22 of them. The reciprocal of what is below the
// normal numbers may be none, so that is scaled, with what it divides.
struct kn_rough_divisor {
    float scale, reciprocal;
};
__device__ __forceinline__ kn_rough_divisor kn_divide_roughly_by(float by)
{
    const float scale = fabsf(by) < 1.17549435e-38f ? 18446744073709551616.0f : 1.0f;
    return kn_rough_divisor{scale, 1 / (by * scale)};
}
__device__ __forceinline__ float operator/(float x, const kn_rough_divisor &d) { return x * d.scale * d.reciprocal; }

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

// A float out of the range of int, and NaN, become its smallest value, of which narrower types have the low
// bits; unsigned ones of 32 bits and 64-bit ones go through long long in the same way.
template <class To, class From> struct kn_converter {
    static __device__ __forceinline__ To of(From v) { return (To)v; }
};
template <class From> struct kn_converter<bool, From> {
    static __device__ __forceinline__ bool of(From v) { return v != 0; }
};
template <class From> __device__ __forceinline__ int kn_to_int(From v)
{
    return v >= (From)-2147483648.0 && v < (From)2147483648.0 ? (int)v : (int)0x80000000u;
}
template <class From> __device__ __forceinline__ long long kn_to_long(From v)
{
    return v >= (From)-9223372036854775808.0 && v < (From)9223372036854775808.0
               ? (long long)v
               : (long long)0x8000000000000000ull;
}
#define KN_FLOAT_TO_INT(To, way)                                                                   \
    template <> struct kn_converter<To, float> {                                                   \
        static __device__ __forceinline__ To of(float v) { return (To)way(v); }                    \
    };                                                                                             \
    template <> struct kn_converter<To, double> {                                                  \
        static __device__ __forceinline__ To of(double v) { return (To)way(v); }                   \
    };
KN_FLOAT_TO_INT(signed char, kn_to_int)
KN_FLOAT_TO_INT(short, kn_to_int)
KN_FLOAT_TO_INT(int, kn_to_int)
KN_FLOAT_TO_INT(long long, kn_to_long)
KN_FLOAT_TO_INT(unsigned char, kn_to_int)
KN_FLOAT_TO_INT(unsigned short, kn_to_int)
KN_FLOAT_TO_INT(unsigned, kn_to_long)
template <class From> __device__ __forceinline__ unsigned long long kn_to_unsigned_long(From v)
{
    const From half = (From)9223372036854775808.0;
    return v >= half ? (unsigned long long)kn_to_long(v - half) ^ 0x8000000000000000ull
                     : (unsigned long long)kn_to_long(v);
}
KN_FLOAT_TO_INT(unsigned long long, kn_to_unsigned_long)
#undef KN_FLOAT_TO_INT
template <> struct kn_converter<float, kn_f16> {
    static __device__ __forceinline__ float of(kn_f16 v) { return kn_widen(v); }
};
template <> struct kn_converter<float, kn_bf16> {
    static __device__ __forceinline__ float of(kn_bf16 v) { return kn_widen(v); }
};
template <> struct kn_converter<kn_f16, float> {
    static __device__ __forceinline__ kn_f16 of(float v)
    {
        kn_f16 h;
        kn_narrow(v, h);
        return h;
    }
};
template <> struct kn_converter<kn_bf16, float> {
    static __device__ __forceinline__ kn_bf16 of(float v)
    {
        kn_bf16 h;
        kn_narrow(v, h);
        return h;
    }
};
// To float with the last bit set when anything was cut off, so that rounding once more rounds as at once.
template <> struct kn_converter<kn_f16, double> {
    static __device__ __forceinline__ kn_f16 of(double v)
    {
        float f = (float)v;
        const double back = (double)f;
        const unsigned u = __float_as_uint(f);
        if (back != v && v == v && !(u & 1))
            f = __uint_as_float(fabs(back) > fabs(v) ? u - 1 : u + 1);
        return kn_converter<kn_f16, float>::of(f);
    }
};
template <class To, class From> __device__ __forceinline__ To kn_cast(From v)
{
    return kn_converter<To, From>::of(v);
}

