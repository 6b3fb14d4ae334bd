// Minimum and maximum.

// NaN if either is.
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

// The other one if one is NaN.
template <class T> __device__ __forceinline__ T kn_fmin(T a, T b)
{
    return a != a || b < a ? b : a;
}
template <class T> __device__ __forceinline__ T kn_fmax(T a, T b)
{
    return a != a || b > a ? b : a;
}
__device__ __forceinline__ float kn_fmin(float a, float b) { return fminf(a, b); }
__device__ __forceinline__ double kn_fmin(double a, double b) { return fmin(a, b); }
__device__ __forceinline__ float kn_fmax(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ double kn_fmax(double a, double b) { return fmax(a, b); }
