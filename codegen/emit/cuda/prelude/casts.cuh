// Casts. A float out of the range of int, or NaN, becomes INT_MIN, of which narrower types take the low bits, as on x86.
// Types of 64 bits, and unsigned, go through long long in the same way.
template <class To, class From> struct kn_converter {
    static __device__ __forceinline__ To of(From v) { return (To)v; }
};
template <class From> struct kn_converter<bool, From> {
    static __device__ __forceinline__ bool of(From v) { return v != 0; }
};
template <class From> __device__ __forceinline__ int kn_to_int(From v)
{
    return v >= (From)-2147483648.0 && v < (From)2147483648.0 ? (int)v : (int)0x80000000u;
}
template <class From> __device__ __forceinline__ long long kn_to_long(From v)
{
    return v >= (From)-9223372036854775808.0 && v < (From)9223372036854775808.0
               ? (long long)v
               : (long long)0x8000000000000000ull;
}
#define KN_FLOAT_TO_INT(To, way)                                                                   \
    template <> struct kn_converter<To, float> {                                                   \
        static __device__ __forceinline__ To of(float v) { return (To)way(v); }                    \
    };                                                                                             \
    template <> struct kn_converter<To, double> {                                                  \
        static __device__ __forceinline__ To of(double v) { return (To)way(v); }                   \
    };
KN_FLOAT_TO_INT(signed char, kn_to_int)
KN_FLOAT_TO_INT(short, kn_to_int)
KN_FLOAT_TO_INT(int, kn_to_int)
KN_FLOAT_TO_INT(long long, kn_to_long)
KN_FLOAT_TO_INT(unsigned char, kn_to_int)
KN_FLOAT_TO_INT(unsigned short, kn_to_int)
KN_FLOAT_TO_INT(unsigned, kn_to_long)
template <class From> __device__ __forceinline__ unsigned long long kn_to_unsigned_long(From v)
{
    const From half = (From)9223372036854775808.0;
    return v >= half ? (unsigned long long)kn_to_long(v - half) ^ 0x8000000000000000ull
                     : (unsigned long long)kn_to_long(v);
}
KN_FLOAT_TO_INT(unsigned long long, kn_to_unsigned_long)
#undef KN_FLOAT_TO_INT
template <class To, class From> __device__ __forceinline__ To kn_cast(From v)
{
    return kn_converter<To, From>::of(v);
}
// To integers of 8 and 16 bits, of which NaN becomes 0, of floats between -2^21 and 2^21: towards zero, and to the nearest
// integer, which is the last place of a sum of that size.
template <class To> __device__ __forceinline__ To kn_cast_small(float v)
{
#ifdef __CUDACC_RTC__
    return (To)__float2int_rz(v);
#else
    return kn_cast<To>(v);
#endif
}
template <class To> __device__ __forceinline__ To kn_cast_nearest(float v)
{
    const unsigned bits = __float_as_uint(v + 12582912.0f), nan = 0x4c000000u;
    return (To)(bits < nan ? bits : nan);
}
