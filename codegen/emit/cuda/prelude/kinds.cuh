// Signs, and tests for NaN and infinity.

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
