// Arithmetic of the device language: the C library's functions, the overloads that CUDA has, and the
// approximate functions, which are as exact here as the others.
#pragma once

#define KN_EMU_UNARY(F)                                                                            \
    F(sqrt)                                                                                        \
    F(cbrt)                                                                                        \
    F(exp)                                                                                         \
    F(exp2)                                                                                        \
    F(expm1)                                                                                       \
    F(log)                                                                                         \
    F(log2)                                                                                        \
    F(log10)                                                                                       \
    F(log1p)                                                                                       \
    F(sin)                                                                                         \
    F(cos)                                                                                         \
    F(tan)                                                                                         \
    F(asin)                                                                                        \
    F(acos)                                                                                        \
    F(atan)                                                                                        \
    F(sinh)                                                                                        \
    F(cosh)                                                                                        \
    F(tanh)                                                                                        \
    F(asinh)                                                                                       \
    F(acosh)                                                                                       \
    F(atanh)                                                                                       \
    F(floor)                                                                                       \
    F(ceil)                                                                                        \
    F(trunc)                                                                                       \
    F(round)                                                                                       \
    F(rint)                                                                                        \
    F(nearbyint)                                                                                   \
    F(fabs)                                                                                        \
    F(erf)                                                                                         \
    F(erfc)                                                                                        \
    F(tgamma)                                                                                      \
    F(lgamma)                                                                                      \
    F(logb)
#define KN_EMU_BINARY(F)                                                                           \
    F(pow)                                                                                         \
    F(fmod)                                                                                        \
    F(atan2)                                                                                       \
    F(hypot)                                                                                       \
    F(fmin)                                                                                        \
    F(fmax)                                                                                        \
    F(fdim)                                                                                        \
    F(copysign)                                                                                    \
    F(remainder)                                                                                   \
    F(nextafter)

extern "C" {
#define KN_EMU_DECLARE(name)                                                                       \
    double name(double) noexcept;                                                                  \
    float name##f(float) noexcept;
KN_EMU_UNARY(KN_EMU_DECLARE)
#undef KN_EMU_DECLARE
#define KN_EMU_DECLARE(name)                                                                       \
    double name(double, double) noexcept;                                                          \
    float name##f(float, float) noexcept;
KN_EMU_BINARY(KN_EMU_DECLARE)
#undef KN_EMU_DECLARE
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double frexp(double, int *) noexcept;
float frexpf(float, int *) noexcept;
double modf(double, double *) noexcept;
float modff(float, float *) noexcept;
int abs(int) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
long lrint(double) noexcept;
long lrintf(float) noexcept;
long long llrint(double) noexcept;
long long llrintf(float) noexcept;
}

#define KN_EMU_OVERLOAD(name)                                                                      \
    KN_EMU_INLINE float name(float x) { return name##f(x); }
KN_EMU_UNARY(KN_EMU_OVERLOAD)
#undef KN_EMU_OVERLOAD
#define KN_EMU_OVERLOAD(name)                                                                      \
    KN_EMU_INLINE float name(float x, float y) { return name##f(x, y); }
KN_EMU_BINARY(KN_EMU_OVERLOAD)
#undef KN_EMU_OVERLOAD
#undef KN_EMU_UNARY
#undef KN_EMU_BINARY
KN_EMU_INLINE float fma(float x, float y, float z) { return fmaf(x, y, z); }
KN_EMU_INLINE float ldexp(float x, int e) { return ldexpf(x, e); }
KN_EMU_INLINE float abs(float x) { return fabsf(x); }
KN_EMU_INLINE double abs(double x) { return fabs(x); }
KN_EMU_INLINE long abs(long x) { return x < 0 ? -x : x; }
KN_EMU_INLINE long long abs(long long x) { return x < 0 ? -x : x; }
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf_sign(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

// Newton's method on erf; in the tails on log(erfc), whose slope is known from the other side too.
KN_EMU_INLINE double erfinv(double x)
{
    const double a = fabs(x), slope = 1.1283791670955126; // 2 / sqrt(pi)
    if (!(a < 1))
        return a == 1 ? copysign((double)INFINITY, x) : NAN;
    if (a < 3e-9)
        return x / slope;
    const double w = -log((1 - a) * (1 + a));
    double y = w > 3 ? sqrt(w) : a / slope;
    for (int i = 0; i < 60; ++i) {
        const double density = slope * exp(-y * y), tail = erfc(y);
        const double step =
            a < 0.5 ? (erf(y) - a) / density : -log(tail / (1 - a)) * tail / density;
        y -= step;
        if (fabs(step) <= 1e-17 * y)
            break;
    }
    return copysign(y, x);
}
KN_EMU_INLINE float erfinvf(float x) { return (float)erfinv((double)x); }
KN_EMU_INLINE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
KN_EMU_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
KN_EMU_INLINE float rsqrt(float x) { return rsqrtf(x); }
KN_EMU_INLINE float rcbrtf(float x) { return 1.0f / cbrtf(x); }
KN_EMU_INLINE double rcbrt(double x) { return 1.0 / cbrt(x); }
KN_EMU_INLINE float exp10f(float x) { return powf(10.0f, x); }
KN_EMU_INLINE double exp10(double x) { return pow(10.0, x); }
KN_EMU_INLINE float sinpif(float x) { return (float)sin(3.14159265358979323846 * (double)x); }
KN_EMU_INLINE float cospif(float x) { return (float)cos(3.14159265358979323846 * (double)x); }
KN_EMU_INLINE float saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
#define __saturatef saturatef
KN_EMU_INLINE void sincosf(float x, float *s, float *c)
{
    *s = sinf(x);
    *c = cosf(x);
}
KN_EMU_INLINE void sincos(double x, double *s, double *c)
{
    *s = sin(x);
    *c = cos(x);
}
KN_EMU_INLINE float __expf(float x) { return expf(x); }
KN_EMU_INLINE float __exp10f(float x) { return exp10f(x); }
KN_EMU_INLINE float __logf(float x) { return logf(x); }
KN_EMU_INLINE float __log2f(float x) { return log2f(x); }
KN_EMU_INLINE float __log10f(float x) { return log10f(x); }
KN_EMU_INLINE float __sinf(float x) { return sinf(x); }
KN_EMU_INLINE float __cosf(float x) { return cosf(x); }
KN_EMU_INLINE float __tanf(float x) { return tanf(x); }
KN_EMU_INLINE float __powf(float x, float y) { return powf(x, y); }
KN_EMU_INLINE float __fdividef(float x, float y) { return x / y; }
KN_EMU_INLINE float fdividef(float x, float y) { return x / y; }

#define KN_EMU_ROUNDED(T, p)                                                                       \
    KN_EMU_INLINE T __##p##add_rn(T x, T y) { return x + y; }                                      \
    KN_EMU_INLINE T __##p##sub_rn(T x, T y) { return x - y; }                                      \
    KN_EMU_INLINE T __##p##mul_rn(T x, T y) { return x * y; }                                      \
    KN_EMU_INLINE T __##p##div_rn(T x, T y) { return x / y; }                                      \
    KN_EMU_INLINE T __##p##rcp_rn(T x) { return 1 / x; }                                           \
    KN_EMU_INLINE T __##p##sqrt_rn(T x) { return sqrt(x); }
KN_EMU_ROUNDED(float, f)
KN_EMU_ROUNDED(double, d)
#undef KN_EMU_ROUNDED
KN_EMU_INLINE float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
KN_EMU_INLINE double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
KN_EMU_INLINE float __frsqrt_rn(float x) { return 1.0f / sqrtf(x); }

// ---- the smaller and the larger ----

#define KN_EMU_EXTREMA(R, A, B)                                                                    \
    KN_EMU_INLINE R min(A a, B b) { return (R)b < (R)a ? (R)b : (R)a; }                            \
    KN_EMU_INLINE R max(A a, B b) { return (R)a < (R)b ? (R)b : (R)a; }
#define KN_EMU_MIXED(R, A, B) KN_EMU_EXTREMA(R, A, B) KN_EMU_EXTREMA(R, B, A)
KN_EMU_EXTREMA(int, int, int)
KN_EMU_EXTREMA(unsigned, unsigned, unsigned)
KN_EMU_EXTREMA(long, long, long)
KN_EMU_EXTREMA(unsigned long, unsigned long, unsigned long)
KN_EMU_EXTREMA(long long, long long, long long)
KN_EMU_EXTREMA(unsigned long long, unsigned long long, unsigned long long)
KN_EMU_MIXED(unsigned, int, unsigned)
KN_EMU_MIXED(unsigned long, long, unsigned long)
KN_EMU_MIXED(unsigned long long, long long, unsigned long long)
#undef KN_EMU_EXTREMA
#define KN_EMU_EXTREMA(R, A, B)                                                                    \
    KN_EMU_INLINE R min(A a, B b) { return fmin((R)a, (R)b); }                                     \
    KN_EMU_INLINE R max(A a, B b) { return fmax((R)a, (R)b); }
KN_EMU_EXTREMA(float, float, float)
KN_EMU_EXTREMA(double, double, double)
KN_EMU_MIXED(double, float, double)
#undef KN_EMU_EXTREMA
#undef KN_EMU_MIXED

// ---- bits ----

// Not the compiler's own: that calls a function of its library on machines without the instruction.
KN_EMU_INLINE int __popc(unsigned x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    return (int)(((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24);
}
KN_EMU_INLINE int __popcll(unsigned long long x)
{
    return __popc((unsigned)x) + __popc((unsigned)(x >> 32));
}
KN_EMU_INLINE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
KN_EMU_INLINE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
KN_EMU_INLINE int __ffs(int x) { return __builtin_ffs(x); }
KN_EMU_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
KN_EMU_INLINE unsigned __brev(unsigned x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
KN_EMU_INLINE unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
KN_EMU_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n)
{
    return (unsigned)((((unsigned long long)high << 32 | low) << (n & 31)) >> 32);
}
KN_EMU_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n)
{
    return (unsigned)(((unsigned long long)high << 32 | low) >> (n & 31));
}
KN_EMU_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned s)
{
    const unsigned long long all = (unsigned long long)y << 32 | x;
    unsigned r = 0;
    for (int i = 0; i < 4; ++i)
        r |= (unsigned)(all >> ((s >> (4 * i) & 7) * 8) & 0xff) << (8 * i);
    return r;
}
KN_EMU_INLINE int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
KN_EMU_INLINE unsigned __umulhi(unsigned x, unsigned y)
{
    return (unsigned)((unsigned long long)x * y >> 32);
}
KN_EMU_INLINE unsigned long long __umul64hi(unsigned long long x, unsigned long long y)
{
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}
KN_EMU_INLINE int __mul24(int x, int y) { return (x << 8 >> 8) * (y << 8 >> 8); }
KN_EMU_INLINE unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffff) * (y & 0xffffff); }

KN_EMU_INLINE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
KN_EMU_INLINE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
KN_EMU_INLINE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
KN_EMU_INLINE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
KN_EMU_INLINE long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
KN_EMU_INLINE double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
KN_EMU_INLINE int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
KN_EMU_INLINE int __double2loint(double x) { return (int)__double_as_longlong(x); }
KN_EMU_INLINE double __hiloint2double(int high, int low)
{
    return __longlong_as_double(
        (long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}
KN_EMU_INLINE int __float2int_rz(float x) { return (int)x; }
KN_EMU_INLINE int __float2int_rn(float x) { return (int)rintf(x); }
KN_EMU_INLINE int __float2int_rd(float x) { return (int)floorf(x); }
KN_EMU_INLINE int __float2int_ru(float x) { return (int)ceilf(x); }
KN_EMU_INLINE unsigned __float2uint_rz(float x) { return (unsigned)x; }
KN_EMU_INLINE unsigned __float2uint_rn(float x) { return (unsigned)rintf(x); }
KN_EMU_INLINE float __int2float_rn(int x) { return (float)x; }
KN_EMU_INLINE float __uint2float_rn(unsigned x) { return (float)x; }
KN_EMU_INLINE float __double2float_rn(double x) { return (float)x; }
KN_EMU_INLINE int __double2int_rz(double x) { return (int)x; }
KN_EMU_INLINE int __double2int_rn(double x) { return (int)rint(x); }
KN_EMU_INLINE double __int2double_rn(int x) { return (double)x; }
KN_EMU_INLINE double __ll2double_rn(long long x) { return (double)x; }

// A clock that only ever moves forward.
extern "C" long clock() noexcept;
KN_EMU_INLINE long long clock64() { return clock(); }
// One that is everybody's, in nanoseconds.
extern "C" int kn_emu_clock_gettime(int clock, long long *time) __asm__("clock_gettime");
KN_EMU_INLINE unsigned long long kn_emu_global_timer()
{
    long long time[2];
    kn_emu_clock_gettime(1, time);
    return (unsigned long long)(time[0] * 1000000000 + time[1]);
}
