// Pairs of lanes. Two 16-bit floats are one register, and an instruction computes both, each rounded once.
template <class T> using kn_pair = kn_vec<T, 2>;
template <class T> __device__ __forceinline__ kn_pair<T> kn_both(T v) { return {v, v}; }
template <class T, int N> __device__ __forceinline__ kn_pair<T> kn_pair_of(const kn_vec<T, N> &v, int l)
{
    return {v.at[l], v.at[l + 1]};
}
template <class T, int N> __device__ __forceinline__ void kn_set_pair(kn_vec<T, N> &v, int l, const kn_pair<T> &pair)
{
    v.at[l] = pair.at[0];
    v.at[l + 1] = pair.at[1];
}
template <class T> __device__ __forceinline__ kn_pair<float> kn_widen_pair(const kn_pair<T> &v)
{
    return {kn_widen(v.at[0]), kn_widen(v.at[1])};
}
template <class T> __device__ __forceinline__ kn_pair<T> kn_narrow_pair(const kn_pair<float> &v)
{
    return {kn_cast<T>(v.at[0]), kn_cast<T>(v.at[1])};
}
#if defined __CUDACC_RTC__ && __CUDA_ARCH__ >= 800
template <class T> __device__ __forceinline__ unsigned kn_bits_of_pair(const kn_pair<T> &v)
{
    return v.at[0].bits | (unsigned)v.at[1].bits << 16;
}
template <class T> __device__ __forceinline__ kn_pair<T> kn_pair_of_bits(unsigned bits)
{
    return {T{(unsigned short)bits}, T{(unsigned short)(bits >> 16)}};
}
// A vector that only pairs are taken from stays in whole registers.
template <class T, int N> __device__ __forceinline__ kn_pair<T> kn_half_pair_of(const kn_vec<T, N> &v, int l)
{
    unsigned bits;
    memcpy(&bits, v.at + l, sizeof bits);
    return kn_pair_of_bits<T>(bits);
}
template <class T, int N>
__device__ __forceinline__ void kn_set_half_pair(kn_vec<T, N> &v, int l, const kn_pair<T> &pair)
{
    const unsigned bits = kn_bits_of_pair(pair);
    memcpy(v.at + l, &bits, sizeof bits);
}
#define KN_PAIRS_OF(narrow, T)                                                                     \
    template <int N> __device__ __forceinline__ kn_pair<T> kn_pair_of(const kn_vec<T, N> &v, int l) \
    {                                                                                              \
        return kn_half_pair_of(v, l);                                                              \
    }                                                                                              \
    template <int N>                                                                               \
    __device__ __forceinline__ void kn_set_pair(kn_vec<T, N> &v, int l, const kn_pair<T> &pair)   \
    {                                                                                              \
        kn_set_half_pair(v, l, pair);                                                              \
    }                                                                                              \
    template <> __device__ __forceinline__ kn_pair<T> kn_narrow_pair<T>(const kn_pair<float> &v) \
    {                                                                                              \
        unsigned bits;                                                                             \
        asm(narrow " %0, %1, %2;" : "=r"(bits) : "f"(v.at[1]), "f"(v.at[0]));                      \
        return kn_pair_of_bits<T>(bits);                                                           \
    }                                                                                              \
    __device__ __forceinline__ kn_pair<T> kn_negative(const kn_pair<T> &x)                      \
    {                                                                                              \
        return kn_pair_of_bits<T>(kn_bits_of_pair(x) ^ 0x80008000);                                \
    }                                                                                              \
    __device__ __forceinline__ kn_pair<T> kn_abs(const kn_pair<T> &x)                               \
    {                                                                                              \
        return kn_pair_of_bits<T>(kn_bits_of_pair(x) & 0x7fff7fff);                                \
    }
KN_PAIRS_OF("cvt.rn.f16x2.f32", kn_f16)
KN_PAIRS_OF("cvt.rn.bf16x2.f32", kn_bf16)
#undef KN_PAIRS_OF
template <> __device__ __forceinline__ kn_pair<float> kn_widen_pair(const kn_pair<kn_bf16> &v)
{
    const unsigned bits = kn_bits_of_pair(v);
    return {__uint_as_float(bits << 16), __uint_as_float(bits & 0xffff0000)};
}
#define KN_ON_PAIRS(operation, T, instruction)                                                     \
    __device__ __forceinline__ kn_pair<T> operator operation(const kn_pair<T> &x, const kn_pair<T> &y) \
    {                                                                                              \
        unsigned bits;                                                                             \
        asm(instruction : "=r"(bits) : "r"(kn_bits_of_pair(x)), "r"(kn_bits_of_pair(y)));          \
        return kn_pair_of_bits<T>(bits);                                                           \
    }
KN_ON_PAIRS(+, kn_f16, "add.rn.f16x2 %0, %1, %2;")
KN_ON_PAIRS(-, kn_f16, "sub.rn.f16x2 %0, %1, %2;")
KN_ON_PAIRS(*, kn_f16, "mul.rn.f16x2 %0, %1, %2;")
#if __CUDA_ARCH__ >= 900
KN_ON_PAIRS(+, kn_bf16, "add.rn.bf16x2 %0, %1, %2;")
KN_ON_PAIRS(-, kn_bf16, "sub.rn.bf16x2 %0, %1, %2;")
KN_ON_PAIRS(*, kn_bf16, "mul.rn.bf16x2 %0, %1, %2;")
#else // x * 1 + y, y * -1 + x, x * y + -0
KN_ON_PAIRS(+, kn_bf16, "{.reg .b32 one; mov.b32 one, 0x3f803f80; fma.rn.bf16x2 %0, %1, one, %2;}")
KN_ON_PAIRS(-, kn_bf16, "{.reg .b32 one; mov.b32 one, 0xbf80bf80; fma.rn.bf16x2 %0, %2, one, %1;}")
KN_ON_PAIRS(*, kn_bf16, "{.reg .b32 zero; mov.b32 zero, 0x80008000; fma.rn.bf16x2 %0, %1, %2, zero;}")
#endif
#undef KN_ON_PAIRS
#else
#define KN_ON_PAIRS(operation)                                                                     \
    template <class T>                                                                             \
    __device__ __forceinline__ kn_pair<T> operator operation(const kn_pair<T> &x, const kn_pair<T> &y) \
    {                                                                                              \
        return {x.at[0] operation y.at[0], x.at[1] operation y.at[1]};                             \
    }
KN_ON_PAIRS(+)
KN_ON_PAIRS(-)
KN_ON_PAIRS(*)
#undef KN_ON_PAIRS
template <class T> __device__ __forceinline__ kn_pair<T> kn_negative(const kn_pair<T> &x)
{
    return {kn_negative(x.at[0]), kn_negative(x.at[1])};
}
template <class T> __device__ __forceinline__ kn_pair<T> kn_abs(const kn_pair<T> &x)
{
    return {kn_abs(x.at[0]), kn_abs(x.at[1])};
}
template <class T> __device__ __forceinline__ kn_pair<T> kn_maximum(const kn_pair<T> &x, const kn_pair<T> &y)
{
    return {kn_maximum(x.at[0], y.at[0]), kn_maximum(x.at[1], y.at[1])};
}
template <class T> __device__ __forceinline__ kn_pair<T> kn_minimum(const kn_pair<T> &x, const kn_pair<T> &y)
{
    return {kn_minimum(x.at[0], y.at[0]), kn_minimum(x.at[1], y.at[1])};
}
#endif

// The maximum or minimum of a vector of 16-bit floats, two lanes in an instruction.

#if defined __CUDACC_RTC__ && __CUDA_ARCH__ >= 800
#define KN_EXTREME_OF_PAIRS(instruction, Op, T)                                                    \
    __device__ __forceinline__ unsigned kn_extreme_of_pairs(Op, T, unsigned a, unsigned b)         \
    {                                                                                              \
        unsigned c;                                                                                \
        asm(instruction " %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));                                \
        return c;                                                                                  \
    }
KN_EXTREME_OF_PAIRS("max.NaN.bf16x2", kn_max, kn_bf16)
KN_EXTREME_OF_PAIRS("max.NaN.f16x2", kn_max, kn_f16)
KN_EXTREME_OF_PAIRS("min.NaN.bf16x2", kn_min, kn_bf16)
KN_EXTREME_OF_PAIRS("min.NaN.f16x2", kn_min, kn_f16)
#undef KN_EXTREME_OF_PAIRS
template <class T> __device__ __forceinline__ kn_pair<T> kn_maximum(const kn_pair<T> &x, const kn_pair<T> &y)
{
    return kn_pair_of_bits<T>(kn_extreme_of_pairs(kn_max(), T(), kn_bits_of_pair(x), kn_bits_of_pair(y)));
}
template <class T> __device__ __forceinline__ kn_pair<T> kn_minimum(const kn_pair<T> &x, const kn_pair<T> &y)
{
    return kn_pair_of_bits<T>(kn_extreme_of_pairs(kn_min(), T(), kn_bits_of_pair(x), kn_bits_of_pair(y)));
}
template <class Op, int N, class T> __device__ __forceinline__ float kn_extreme(const kn_vec<T, N> &v)
{
    unsigned pairs[N / 2];
#pragma unroll
    for (int i = 0; i < N / 2; ++i)
        pairs[i] = v.at[2 * i].bits | (unsigned)v.at[2 * i + 1].bits << 16;
#pragma unroll
    for (int n = N / 4; n > 0; n /= 2)
#pragma unroll
        for (int i = 0; i < n; ++i)
            pairs[i] = kn_extreme_of_pairs(Op(), T(), pairs[i], pairs[i + n]);
    return Op::of(kn_widen(T{(unsigned short)pairs[0]}), kn_widen(T{(unsigned short)(pairs[0] >> 16)}));
}
#else
template <class Op, int N, class T> __device__ __forceinline__ float kn_extreme(const kn_vec<T, N> &v)
{
    float most = kn_widen(v.at[0]);
#pragma unroll
    for (int l = 1; l < N; ++l)
        most = Op::of(most, kn_widen(v.at[l]));
    return most;
}
#endif
