// 16-bit floats, as bits. Arithmetic is in float, rounded once.
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
// A float of these digits: the upper half of two that are rounded together.
__device__ __forceinline__ float kn_round_to_bf16(float f)
{
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(f), "f"(0.0f));
    return __uint_as_float(pair);
}
#else // the same, bit by bit
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
    else if (m < 0x38800000) // subnormal: adding 1/2 rounds at the last bit
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
__device__ __forceinline__ float kn_round_to_bf16(float f)
{
    kn_bf16 h;
    kn_narrow(f, h);
    return kn_widen(h);
}
#endif

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
// By float rounded to odd, so that the second rounding gives what a single one would.
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

// Each result is rounded once.
#define KN_ON_HALVES(operation, T)                                                                 \
    __device__ __forceinline__ T operator operation(T x, T y)                                      \
    {                                                                                              \
        return kn_converter<T, float>::of(kn_widen(x) operation kn_widen(y));                      \
    }
KN_ON_HALVES(+, kn_f16)
KN_ON_HALVES(-, kn_f16)
KN_ON_HALVES(*, kn_f16)
KN_ON_HALVES(+, kn_bf16)
KN_ON_HALVES(-, kn_bf16)
KN_ON_HALVES(*, kn_bf16)
#undef KN_ON_HALVES
__device__ __forceinline__ kn_f16 kn_negative(kn_f16 x) { return kn_f16{(unsigned short)(x.bits ^ 0x8000)}; }
__device__ __forceinline__ kn_bf16 kn_negative(kn_bf16 x) { return kn_bf16{(unsigned short)(x.bits ^ 0x8000)}; }
__device__ __forceinline__ kn_f16 kn_abs(kn_f16 x) { return kn_f16{(unsigned short)(x.bits & 0x7fff)}; }
__device__ __forceinline__ kn_bf16 kn_abs(kn_bf16 x) { return kn_bf16{(unsigned short)(x.bits & 0x7fff)}; }
__device__ __forceinline__ kn_f16 kn_maximum(kn_f16 x, kn_f16 y)
{
    return kn_converter<kn_f16, float>::of(kn_maximum(kn_widen(x), kn_widen(y)));
}
__device__ __forceinline__ kn_bf16 kn_maximum(kn_bf16 x, kn_bf16 y)
{
    return kn_converter<kn_bf16, float>::of(kn_maximum(kn_widen(x), kn_widen(y)));
}
__device__ __forceinline__ kn_f16 kn_minimum(kn_f16 x, kn_f16 y)
{
    return kn_converter<kn_f16, float>::of(kn_minimum(kn_widen(x), kn_widen(y)));
}
__device__ __forceinline__ kn_bf16 kn_minimum(kn_bf16 x, kn_bf16 y)
{
    return kn_converter<kn_bf16, float>::of(kn_minimum(kn_widen(x), kn_widen(y)));
}
