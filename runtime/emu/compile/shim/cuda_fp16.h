// Half precision, computed in single precision and rounded once.
#pragma once

namespace kn_emu {
KN_EMU_INLINE unsigned short half_of(float f)
{
    const unsigned x = __float_as_uint(f), sign = x >> 16 & 0x8000;
    unsigned m = x & 0x7fffffff;
    if (m > 0x7f800000)
        return (unsigned short)(sign | 0x7fff);
    if (m >= 0x477ff000) // rounds past the largest
        return (unsigned short)(sign | 0x7c00);
    if (m < 0x38800000) { // a subnormal: the sum is rounded where its last bit is
        const float shifted = __uint_as_float(m) + 0.5f;
        return (unsigned short)(sign | (__float_as_uint(shifted) - 0x3f000000));
    }
    m += 0xc8000fff + (m >> 13 & 1);
    return (unsigned short)(sign | m >> 13);
}
KN_EMU_INLINE float float_of_half(unsigned short h)
{
    const unsigned sign = (unsigned)(h & 0x8000) << 16, m = h & 0x7fff;
    if (m >= 0x7c00)
        return __uint_as_float(sign | 0x7f800000 | (m & 0x3ff) << 13);
    if (m < 0x400)
        return __uint_as_float(sign | __float_as_uint((float)m * 5.9604644775390625e-8f));
    return __uint_as_float(sign | (m + 0x1c000) << 13);
}
} // namespace kn_emu

struct alignas(2) __half {
    unsigned short bits;
    __half() = default;
    __half(float f) : bits(kn_emu::half_of(f)) {}
    __half(double f) : bits(kn_emu::half_of((float)f)) {}
    __half(int i) : bits(kn_emu::half_of((float)i)) {}
    operator float() const { return kn_emu::float_of_half(bits); }
};
typedef __half half;
KN_EMU_DTYPE(__half, 10)
struct alignas(4) __half2 {
    __half x, y;
};
typedef __half2 half2;

#define KN_EMU_SMALL_FLOAT(T, T2, name)                                                            \
    KN_EMU_INLINE T __float2##name(float f) { return T(f); }                                       \
    KN_EMU_INLINE T __float2##name##_rn(float f) { return T(f); }                                  \
    KN_EMU_INLINE T __double2##name(double f) { return T((float)f); }                              \
    KN_EMU_INLINE T __int2##name##_rn(int i) { return T((float)i); }                               \
    KN_EMU_INLINE float __##name##2float(T h) { return (float)h; }                                 \
    KN_EMU_INLINE T2 __floats2##name##2_rn(float x, float y) { return {T(x), T(y)}; }              \
    KN_EMU_INLINE T2 __float2##name##2_rn(float x) { return {T(x), T(x)}; }                        \
    KN_EMU_INLINE T2 __float22##name##2_rn(float2 v) { return {T(v.x), T(v.y)}; }                  \
    KN_EMU_INLINE float2 __##name##22float2(T2 v) { return {(float)v.x, (float)v.y}; }             \
    KN_EMU_INLINE float __low2float(T2 v) { return (float)v.x; }                                   \
    KN_EMU_INLINE float __high2float(T2 v) { return (float)v.y; }                                  \
    KN_EMU_INLINE T __low2##name(T2 v) { return v.x; }                                             \
    KN_EMU_INLINE T __high2##name(T2 v) { return v.y; }                                            \
    KN_EMU_INLINE T __hadd(T a, T b) { return T((float)a + (float)b); }                            \
    KN_EMU_INLINE T __hsub(T a, T b) { return T((float)a - (float)b); }                            \
    KN_EMU_INLINE T __hmul(T a, T b) { return T((float)a * (float)b); }                            \
    KN_EMU_INLINE T __hdiv(T a, T b) { return T((float)a / (float)b); }                            \
    KN_EMU_INLINE T __hneg(T a) { return T(-(float)a); }                                           \
    KN_EMU_INLINE T __hfma(T a, T b, T c) { return T(fmaf((float)a, (float)b, (float)c)); }        \
    KN_EMU_INLINE T __hmax(T a, T b) { return T(fmaxf((float)a, (float)b)); }                      \
    KN_EMU_INLINE T __hmin(T a, T b) { return T(fminf((float)a, (float)b)); }                      \
    KN_EMU_INLINE bool __hisnan(T a) { return isnan((float)a); }                                   \
    KN_EMU_INLINE T2 __hadd2(T2 a, T2 b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }          \
    KN_EMU_INLINE T2 __hmul2(T2 a, T2 b) { return {__hmul(a.x, b.x), __hmul(a.y, b.y)}; }          \
    KN_EMU_INLINE T2 __hfma2(T2 a, T2 b, T2 c)                                                     \
    {                                                                                              \
        return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};                                     \
    }
KN_EMU_SMALL_FLOAT(__half, __half2, half)
KN_EMU_INLINE unsigned short __half_as_ushort(__half h) { return h.bits; }
KN_EMU_INLINE __half __ushort_as_half(unsigned short bits)
{
    __half h;
    h.bits = bits;
    return h;
}
