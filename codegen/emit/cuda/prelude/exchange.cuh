// What a whole grid exchanges with other ranks, between two grid barriers: `all` has `part` elements of each rank, in their
// order, and this rank's are there. It goes by the words of mailboxes from `word` on.
template <class T>
__device__ __forceinline__ void kn_send_part(const kn_exchange &m, const T *all, unsigned part, unsigned word)
{
    const T *const mine = all + (size_t)m.rank * part;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < part; i += gridDim.x * blockDim.x)
        kn_send(m, word + i * kn_payload<T>::WORDS, mine[i]);
}

template <class T>
__device__ __forceinline__ void kn_receive_parts(const kn_exchange &m, T *all, unsigned part, unsigned word)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < part; i += gridDim.x * blockDim.x)
        for (unsigned r = 0; r < m.count; ++r)
            if (r != m.rank)
                all[(size_t)r * part + i] = kn_receive<T>(m, word + i * kn_payload<T>::WORDS, r);
}
