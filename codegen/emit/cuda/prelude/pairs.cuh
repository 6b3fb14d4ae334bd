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
