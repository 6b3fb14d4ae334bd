
// Under fast_math functions of float are the hardware's approximations; ir/fast.h has their bounds. Functions of double and of
// complex numbers are as ever, and so are sin, cos and tan, whose approximations are good near 0 only.
__device__ __forceinline__ float kn_approximate_sqrt(float a)
{
    float r;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
__device__ __forceinline__ float kn_approximate_rsqrt(float a)
{
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
__device__ __forceinline__ float kn_approximate_tanh(float a)
{
    return 1.0f - __fdividef(2.0f, 1.0f + __expf(2.0f * a));
}
__device__ __forceinline__ float kn_fast_divide(float a, float b) { return __fdividef(a, b); }
#define KN_FAST_FUNCTION(name, f32)                                                                \
    __device__ __forceinline__ float kn_fast_##name(float a) { return f32(a); }                    \
    template <class T> __device__ __forceinline__ T kn_fast_##name(T a) { return kn_##name(a); }
KN_FAST_FUNCTION(exp, __expf)
KN_FAST_FUNCTION(exp2, kn_approximate_exp2)
KN_FAST_FUNCTION(log, __logf)
KN_FAST_FUNCTION(log2, __log2f)
KN_FAST_FUNCTION(log10, __log10f)
KN_FAST_FUNCTION(sqrt, kn_approximate_sqrt)
KN_FAST_FUNCTION(rsqrt, kn_approximate_rsqrt)
KN_FAST_FUNCTION(tanh, kn_approximate_tanh)
#undef KN_FAST_FUNCTION
#define kn_exp kn_fast_exp
#define kn_exp2 kn_fast_exp2
#define kn_log kn_fast_log
#define kn_log2 kn_fast_log2
#define kn_log10 kn_fast_log10
#define kn_sqrt kn_fast_sqrt
#define kn_rsqrt kn_fast_rsqrt
#define kn_tanh kn_fast_tanh
