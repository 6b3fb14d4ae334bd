// What a whole grid exchanges with other ranks, between two grid barriers: `all` has `part` elements of each rank, in their
// order, and this rank's are there. The mail begins at `word`.
template <class T>
__device__ __forceinline__ void kn_tell_part(const kn_meeting &m, const T *all, unsigned part, unsigned word)
{
    const T *const mine = all + (size_t)m.rank * part;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < part; i += gridDim.x * blockDim.x)
        kn_tell(m, word + i * kn_letter<T>::WORDS, mine[i]);
}

template <class T>
__device__ __forceinline__ void kn_hear_parts(const kn_meeting &m, T *all, unsigned part, unsigned word)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < part; i += gridDim.x * blockDim.x)
        for (unsigned r = 0; r < m.count; ++r)
            if (r != m.rank)
                all[(size_t)r * part + i] = kn_hear<T>(m, word + i * kn_letter<T>::WORDS, r);
}
