// Bits, shifts and common divisors.

template <class T> __device__ __forceinline__ T kn_bitwise_and(T a, T b) { return (T)(a & b); }
template <class T> __device__ __forceinline__ T kn_bitwise_or(T a, T b) { return (T)(a | b); }
template <class T> __device__ __forceinline__ T kn_bitwise_xor(T a, T b) { return (T)(a ^ b); }
template <class T> __device__ __forceinline__ T kn_invert(T a) { return (T)~a; }
// A shift by a negative count, or by the type's width or more, shifts all bits out.
template <class T> __device__ __forceinline__ T kn_left_shift(T a, T b)
{
    typedef typename kn_modular<sizeof(T)>::type word;
    return (word)b < 8 * sizeof(T) ? (T)((word)a << b) : (T)0;
}
template <class T> __device__ __forceinline__ T kn_right_shift(T a, T b)
{
    typedef typename kn_modular<sizeof(T)>::type word;
    return (word)b < 8 * sizeof(T) ? (T)(a >> b) : a < 0 ? (T)-1 : (T)0;
}
// In C the factors would be of 64 bits, of which the compiler multiplies the upper halves too.
__device__ __forceinline__ unsigned long long kn_multiply_wide(unsigned a, unsigned b)
{
#if defined __CUDACC_RTC__
    unsigned long long product;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
    return product;
#else
    return (unsigned long long)a * b;
#endif
}
template <class T> __device__ __forceinline__ typename kn_modular<sizeof(T)>::type kn_magnitude(T a)
{
    typedef typename kn_modular<sizeof(T)>::type word;
    return a < 0 ? (word)0 - (word)a : (word)a;
}
template <class T> __device__ __forceinline__ T kn_gcd(T x, T y)
{
    typename kn_modular<sizeof(T)>::type a = kn_magnitude(x), b = kn_magnitude(y);
    while (b) {
        const auto r = a % b;
        a = b;
        b = r;
    }
    return (T)a;
}
template <class T> __device__ __forceinline__ T kn_lcm(T x, T y)
{
    const auto d = kn_magnitude(kn_gcd(x, y));
    return d == 0 ? (T)0 : (T)(kn_magnitude(x) / d * kn_magnitude(y));
}
