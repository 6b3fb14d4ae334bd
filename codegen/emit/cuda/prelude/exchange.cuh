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

// For groups that exchange one by one, in shared memory: it would take registers throughout. By the first warp, for itself: others
// need a barrier.
struct kn_peers {
    kn_exchange exchange;
    unsigned long long *mailboxes[1];
};
template <int RANKS> __device__ __forceinline__ const kn_exchange &kn_begin_peers(kn_ranks *ranks, unsigned char *scratch)
{
    kn_peers &peers = *(kn_peers *)scratch;
    if (threadIdx.x < 32) {
        const kn_exchange mine = kn_begin_exchange(ranks);
#pragma unroll 1
        for (int r = threadIdx.x; r < RANKS; r += 32)
            peers.mailboxes[r] = ranks->mailboxes[r];
        if (threadIdx.x == 0) {
            peers.exchange = mine;
            peers.exchange.mailboxes = peers.mailboxes;
        }
        __syncwarp();
    }
    return peers.exchange;
}

// What groups exchange one by one: element `at` of a rank's part, which goes by the words of mailboxes from `word` on.
template <class T>
__device__ __forceinline__ void kn_send_element(const kn_exchange &m, const T &mine, unsigned word, unsigned at)
{
    kn_send(m, word + at * kn_payload<T>::WORDS, mine);
}

// What `rank` has of it: looked for, and then waited for. `mine` is this rank's.
template <class T> __device__ __forceinline__ kn_mail<T> kn_look_at(const kn_exchange &m, unsigned word, unsigned at, unsigned rank)
{
    return kn_look<T>(m, word + at * kn_payload<T>::WORDS, rank);
}
template <class T>
__device__ __forceinline__ T
kn_of_rank(const kn_exchange &m, const T &mine, const kn_mail<T> &mail, unsigned word, unsigned at, unsigned rank)
{
    return rank == m.rank ? mine : kn_receive<T>(m, mail, word + at * kn_payload<T>::WORDS, rank);
}
