// Arithmetic.

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
