// Vectors of N elements that begin anywhere in memory: each lies in two aligned words, of which it is what is behind the elements that
// come before it. How many these are is its shift.

template <int N, class T> __device__ __forceinline__ unsigned kn_shift_of(const T *p)
{
    return (unsigned)((size_t)p / sizeof(T)) % N;
}

template <int N, class T> union kn_around {
    enum { WORDS = (2 * N * sizeof(T) + 3) / 4 };
    typename kn_word<sizeof(T) * N>::type vectors[2];
    unsigned words[WORDS];
};

// The words around the vector at array[at]. Of an array of the elements [first, end) nothing beyond these is read: where the words
// are not within it, others are loaded, of which nothing is used. It has room for them: 4 * N elements at least.
template <int N, bool STREAMING, class T, class I>
__device__ __forceinline__ kn_around<N, T> kn_load_around(const T *array, unsigned shift, I at, I first, I end)
{
    typedef typename kn_word<sizeof(T) * N>::type word;
    const I least = first + (I)((N - kn_shift_of<N>(array + first)) % N), most = end - (I)kn_shift_of<N>(array + end) - 2 * N;
    I from = at - (I)shift;
    from = from < least ? least : from > most ? most : from;
    const word *words = reinterpret_cast<const word *>(array + from);
    kn_around<N, T> around;
    if constexpr (STREAMING) {
        around.vectors[0] = __ldcs(words);
        around.vectors[1] = __ldcs(words + 1);
    } else {
        around.vectors[0] = words[0];
        around.vectors[1] = words[1];
    }
    return around;
}

// An array whose loads are under a policy of the L2 cache.
template <class T> __device__ __forceinline__ const T *kn_with_policy(unsigned long long policy, const T *array)
{
#if __CUDA_ARCH__ >= 800
    array = static_cast<const T *>(__nv_associate_access_property(array, policy));
#endif
    return array;
}

// The vector: words are chosen by the bits of the shift, and parts of words shifted in pairs. At the ends of the array, elements are
// read one by one.
template <int N, class T, class I>
__device__ __forceinline__ kn_vec<T, N> kn_assembled(kn_around<N, T> around, const T *array, unsigned shift, I at, I first, I end)
{
    enum { HALF = kn_around<N, T>::WORDS / 2, WORDS = HALF > 0 ? HALF : 1 };
    const unsigned bytes = shift * sizeof(T), bits = bytes % 4 * 8;
    const I from = at - (I)shift;
    if (from < first || from + 2 * N > end) {
        kn_vec<T, N> v = {};
#pragma unroll
        for (int l = 0; l < N; ++l)
            if (at + l < end)
                v.at[l] = array[at + l];
        return v;
    }
#pragma unroll
    for (int by = WORDS / 2; by > 0; by /= 2)
        if (4 * by >= (int)sizeof(T))
#pragma unroll
            for (int i = 0; i < WORDS + by; ++i)
                around.words[i] = bytes & 4 * by ? around.words[i + by] : around.words[i];
    if constexpr (sizeof(T) < 4)
#pragma unroll
        for (int i = 0; i < WORDS; ++i)
            around.words[i] = HALF > 0 ? __funnelshift_r(around.words[i], around.words[i + 1], bits) : around.words[i] >> bits;
    return *reinterpret_cast<const kn_vec<T, N> *>(&around.vectors[0]);
}
