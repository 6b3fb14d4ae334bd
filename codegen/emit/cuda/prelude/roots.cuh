// Roots.

__device__ __forceinline__ float kn_sqrt(float a) { return sqrtf(a); }
__device__ __forceinline__ double kn_sqrt(double a) { return sqrt(a); }
__device__ __forceinline__ float kn_rsqrt(float a) { return rsqrtf(a); }
__device__ __forceinline__ double kn_rsqrt(double a) { return rsqrt(a); }
__device__ __forceinline__ float kn_cbrt(float a) { return cbrtf(a); }
__device__ __forceinline__ double kn_cbrt(double a) { return cbrt(a); }
