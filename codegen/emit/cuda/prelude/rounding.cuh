// Floor division, and remainders.

// Rounded towards minus infinity; 0 for a divisor of 0. (T)-1 < 0 says that T is signed.
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
// The remainder of a division rounded towards 0.
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
