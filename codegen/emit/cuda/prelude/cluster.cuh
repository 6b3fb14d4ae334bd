// The blocks of a cluster, bulk copies, and the exchange buffer in distributed shared memory.

__device__ __forceinline__ unsigned kn_cluster_rank()
{
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ __forceinline__ unsigned kn_cluster_blocks()
{
    unsigned blocks;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
}

// The barrier of the cluster, in two halves: what a thread writes before it arrives, others see after their wait.
__device__ __forceinline__ void kn_cluster_arrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
__device__ __forceinline__ void kn_cluster_wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }

// ---- bulk copies into shared memory, whose bytes an mbarrier counts ----

// Of one arrival: one thread announces the bytes of each phase.
__device__ __forceinline__ void kn_init_barrier(unsigned long long *barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(kn_shared_address(barrier)) : "memory");
}
// Makes initialised mbarriers visible to the async proxy and, after a barrier, to all threads of the cluster.
__device__ __forceinline__ void kn_fence_barrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// Orders this thread's writes to shared memory before bulk copies to the same place that start after a barrier.
__device__ __forceinline__ void kn_fence_async_proxy()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void kn_expect_bytes(unsigned long long *barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(kn_shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}
__device__ __forceinline__ void kn_copy_bulk(void *to, const void *from, unsigned bytes, unsigned long long *barrier,
                                         unsigned long long policy)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], "
                 "%4;" ::"r"(kn_shared_address(to)),
                 "l"(from), "r"(bytes), "r"(kn_shared_address(barrier)), "l"(policy)
                 : "memory");
}
__device__ __forceinline__ unsigned long long kn_global_timer()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
__device__ __forceinline__ void kn_spin(unsigned nanoseconds)
{
    const unsigned long long start = kn_global_timer();
    while (kn_global_timer() - start < nanoseconds) {
    }
}
// Waits until the phase of this parity completes.
__device__ __forceinline__ void kn_wait_barrier(unsigned long long *barrier, unsigned parity)
{
    asm volatile("{\n.reg .pred done;\nAGAIN:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra OVER;\nbra AGAIN;\nOVER:\n}" ::"r"(kn_shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

// ---- the exchange buffer: each block has STRIDE bytes for every block of the cluster, which alone writes them ----

// A T in whole words, as st.async stores them.
template <class T> union kn_message {
    T value;
    unsigned words[(sizeof(T) + 3) / 4];
};

// Stores N messages, one behind the other, to shared memory of another block, whose mbarrier at `counter` counts the bytes.
// They begin at a multiple of their size, or of 16 bytes, and go there by as many words at a time.
template <int N, class T>
__device__ __forceinline__ void kn_store_async(const kn_message<T> (&messages)[N], unsigned to, unsigned counter)
{
    enum { EACH = sizeof(kn_message<T>) / 4, WORDS = N * EACH, SIDE = WORDS % 4 == 0 ? 4 : WORDS % 2 == 0 ? 2 : 1 };
    unsigned word[WORDS];
#pragma unroll
    for (int i = 0; i < WORDS; ++i)
        word[i] = messages[i / EACH].words[i % EACH];
#pragma unroll
    for (int i = 0; i < WORDS; i += SIDE)
        if constexpr (SIDE == 4)
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                             to + 4 * i),
                         "r"(word[i]), "r"(word[i + 1]), "r"(word[i + 2]), "r"(word[i + 3]), "r"(counter)
                         : "memory");
        else if constexpr (SIDE == 2)
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(to + 4 * i),
                         "r"(word[i]), "r"(word[i + 1]), "r"(counter)
                         : "memory");
        else
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to + 4 * i),
                         "r"(word[i]), "r"(counter)
                         : "memory");
}

// Is this thread of the block's first warp? Asked by a vote, which is not hoisted: the compiler would make two of the loop around
// it, one for the first warp, which is twice the code and spills.
__device__ __forceinline__ bool kn_is_first_warp() { return __any_sync(0xffffffffu, threadIdx.x < 32); }

// Stores v, which the first warp of the block has, to the buffer of every block of the cluster, whose mbarrier counts the
// bytes. There is no fence: other stores of the block need not have completed.
template <int STRIDE, class T>
__device__ __forceinline__ void kn_exchange_store(const T &v, unsigned char *buffer, unsigned long long *barrier)
{
    kn_message<T> message[1] = {};
    message[0].value = v;
    if (threadIdx.x < kn_cluster_blocks()) {
        unsigned to, counter;
        asm("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(to)
            : "r"(kn_shared_address(buffer + kn_cluster_rank() * STRIDE)), "r"(threadIdx.x));
        asm("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(counter)
            : "r"(kn_shared_address(barrier)), "r"(threadIdx.x));
        kn_store_async(message, to, counter);
    }
}

// Merges what the blocks of the cluster, at most WIDTH, have stored to this block's buffer.
template <class Op, int WIDTH, int STRIDE, class T>
__device__ __forceinline__ T kn_exchange_merge(const unsigned char *buffer, T identity)
{
    const unsigned rank = threadIdx.x % WIDTH;
    return kn_combine_lanes<Op, WIDTH>(
        rank < kn_cluster_blocks() ? ((const kn_message<T> *)(buffer + rank * STRIDE))->value : identity);
}

// The same for columns: the ROWS threads of the block that share threadIdx.x % WIDTH all have the same N values. Each row
// of threads stores to other blocks; rows within a warp share the merging.
template <int ROWS, int WIDTH, int STRIDE, int N, class T>
__device__ __forceinline__ void kn_exchange_store_rows(const T (&v)[N], unsigned char *buffer, unsigned long long *barrier)
{
    const kn_message<T> *mine = (const kn_message<T> *)(buffer + kn_cluster_rank() * STRIDE) + threadIdx.x % WIDTH * N;
    kn_message<T> messages[N] = {};
#pragma unroll
    for (int l = 0; l < N; ++l)
        messages[l].value = v[l];
#pragma unroll 1
    for (unsigned rank = threadIdx.x / WIDTH; rank < kn_cluster_blocks(); rank += ROWS) {
        unsigned to, counter;
        asm("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(to)
            : "r"(kn_shared_address(mine)), "r"(rank));
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(counter) : "r"(kn_shared_address(barrier)), "r"(rank));
        kn_store_async(messages, to, counter);
    }
}
template <int ROWS, int WIDTH, int STRIDE, class T>
__device__ __forceinline__ void kn_exchange_store_rows(const T &v, unsigned char *buffer, unsigned long long *barrier)
{
    const T one[1] = {v};
    kn_exchange_store_rows<ROWS, WIDTH, STRIDE, 1>(one, buffer, barrier);
}
template <class Op, int WIDTH, int STRIDE, int N, class T>
__device__ __forceinline__ void kn_exchange_merge_rows(T (&v)[N], const unsigned char *buffer, T identity)
{
    enum { SIDE_BY_SIDE = WIDTH < 32 ? 32 / WIDTH : 1 };
    const unsigned blocks = kn_cluster_blocks(), share = (blocks + SIDE_BY_SIDE - 1) / SIDE_BY_SIDE;
    const unsigned first = threadIdx.x % 32 / WIDTH * share;
    typedef kn_vec<kn_message<T>, N> slot;
#pragma unroll
    for (int l = 0; l < N; ++l)
        v[l] = identity;
#pragma unroll(__is_class(T) ? 1 : 4)
    for (unsigned block = first; block < first + share && block < blocks; ++block) {
        const slot theirs = ((const slot *)(buffer + block * STRIDE))[threadIdx.x % WIDTH];
        T next[N];
#pragma unroll
        for (int l = 0; l < N; ++l)
            next[l] = theirs.at[l].value;
        kn_combine_each<Op>(v, next);
    }
#pragma unroll
    for (int l = 0; l < N; ++l)
        if constexpr (SIDE_BY_SIDE > 1)
            v[l] = kn_combine_lanes<Op, 32, WIDTH>(v[l]);
}
template <class Op, int WIDTH, int STRIDE, class T>
__device__ __forceinline__ void kn_exchange_merge_rows(T &v, const unsigned char *buffer, T identity)
{
    T one[1];
    kn_exchange_merge_rows<Op, WIDTH, STRIDE, 1>(one, buffer, identity);
    v = one[0];
}
