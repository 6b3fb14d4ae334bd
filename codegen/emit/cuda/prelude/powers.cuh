// Powers, mantissas and exponents.

// a * 2**b for an integer b of any size; NaN if b is.
template <class T> __device__ __forceinline__ int kn_clamped(T b)
{
    return b > 5000 ? 5000 : b < -5000 ? -5000 : (int)b;
}
__device__ __forceinline__ float kn_scalb(float a, float b) { return b != b ? b : ldexpf(a, kn_clamped(b)); }
__device__ __forceinline__ double kn_scalb(double a, double b) { return b != b ? b : ldexp(a, kn_clamped(b)); }
// An infinity or NaN is its own mantissa, and has the exponent 0.
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

// By squaring; a negative exponent gives 1 / a**-b rounded towards 0.
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
