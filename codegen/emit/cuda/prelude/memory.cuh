// N neighbouring elements as one access of up to 16 bytes, aligned as the largest power of two that divides their bytes.
template <class T, int N> struct alignas(sizeof(T) * N % 16 == 0 ? 16 : sizeof(T) * N & -(sizeof(T) * N)) kn_vec {
    T at[N];
};

template <int N, class T> __device__ __forceinline__ kn_vec<T, N> kn_load(const T *p)
{
    return *reinterpret_cast<const kn_vec<T, N> *>(p);
}

template <int N, class T> __device__ __forceinline__ void kn_store(T *p, const kn_vec<T, N> &v)
{
    *reinterpret_cast<kn_vec<T, N> *>(p) = v;
}
template <int N, class T> __device__ __forceinline__ void kn_store(T *p, const T (&v)[N])
{
    kn_vec<T, N> all;
#pragma unroll
    for (int l = 0; l < N; ++l)
        all.at[l] = v[l];
    kn_store(p, all);
}

// Streaming accesses: the line is the first to be evicted.
template <int BYTES> struct kn_word;
template <> struct kn_word<1> { typedef unsigned char type; };
template <> struct kn_word<2> { typedef unsigned short type; };
template <> struct kn_word<4> { typedef unsigned type; };
template <> struct kn_word<8> { typedef uint2 type; };
template <> struct kn_word<16> { typedef uint4 type; };
template <int N, class T> __device__ __forceinline__ void kn_store_streaming(T *p, const kn_vec<T, N> &v)
{
    typedef typename kn_word<sizeof(T) * N>::type word;
    __stcs(reinterpret_cast<word *>(p), *reinterpret_cast<const word *>(&v));
}
template <int N, class T> __device__ __forceinline__ kn_vec<T, N> kn_load_streaming(const T *p)
{
    typedef typename kn_word<sizeof(T) * N>::type word;
    kn_vec<T, N> v;
    *reinterpret_cast<word *>(&v) = __ldcs(reinterpret_cast<const word *>(p));
    return v;
}
// A load under a policy of the L2 cache, as createpolicy encodes it. Of 16-bit elements as one word: on structs of them NVRTC 13.0
// crashes for sm_100 and sm_120.
template <int N, class T> __device__ __forceinline__ kn_vec<T, N> kn_load_with_policy(unsigned long long policy, const T *p)
{
#if __CUDA_ARCH__ >= 800
    p = static_cast<const T *>(__nv_associate_access_property(p, policy));
#endif
    if constexpr (sizeof(T) == 2) {
        typedef typename kn_word<sizeof(T) * N>::type word;
        kn_vec<T, N> v;
        *reinterpret_cast<word *>(&v) = *reinterpret_cast<const word *>(p);
        return v;
    } else {
        return kn_load<N>(p);
    }
}

// Hides from the compiler what is in v, so that it does not hoist what is computed from v out of a loop, where that would take
// registers throughout.
template <class T, int N> __device__ __forceinline__ void kn_opaque(kn_vec<T, N> &v)
{
    union {
        kn_vec<T, N> v;
        unsigned words[(sizeof(kn_vec<T, N>) + 3) / 4];
    } as = {v};
#pragma unroll
    for (int i = 0; i < (int)sizeof(as) / 4; ++i)
        asm volatile("" : "+r"(as.words[i]));
    v = as.v;
}

// The same of an address in global memory, so that it is found before a branch and not in it, where parameters would be loaded again.
template <class T> __device__ __forceinline__ void kn_opaque(T *&p)
{
    size_t at = __cvta_generic_to_global(p);
    asm volatile("" : "+l"(at));
    p = (T *)__cvta_global_to_generic(at);
}

// An address in shared memory, in a register: the compiler would compute it again in each branch.
template <class T> __device__ __forceinline__ T *kn_in_register(T *p)
{
    unsigned at = (unsigned)__cvta_generic_to_shared(p);
    asm("" : "+r"(at));
    return (T *)__cvta_shared_to_generic(at);
}

// A peeled vector, which begins before its group or ends after it: lane l is a member if 0 <= first + l < n.
template <int N, class T, class I, class C>
__device__ __forceinline__ kn_vec<T, N> kn_load_edge(const T *p, I first, C n)
{
    kn_vec<T, N> v = {};
#pragma unroll
    for (int l = 0; l < N; ++l)
        if ((C)(first + l) < n)
            v.at[l] = p[l];
    return v;
}
template <int N, class T, class I, class C>
__device__ __forceinline__ void kn_store_edge(T *p, const kn_vec<T, N> &v, I first, C n)
{
#pragma unroll
    for (int l = 0; l < N; ++l)
        if ((C)(first + l) < n)
            p[l] = v.at[l];
}
