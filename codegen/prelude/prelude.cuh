// kiln's device prelude, after elementwise.cuh: memory, and combining what threads found. Needs no header.

// ---- memory: N neighbouring elements as one access of up to 16 bytes ----

template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) kn_vec {
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

// The same for what nobody reads again soon: caches let go of it first.
template <int BYTES> struct kn_word;
template <> struct kn_word<1> { typedef unsigned char type; };
template <> struct kn_word<2> { typedef unsigned short type; };
template <> struct kn_word<4> { typedef unsigned type; };
template <> struct kn_word<8> { typedef uint2 type; };
template <> struct kn_word<16> { typedef uint4 type; };
template <int N, class T> __device__ __forceinline__ void kn_stream(T *p, const kn_vec<T, N> &v)
{
    typedef typename kn_word<sizeof(T) * N>::type word;
    __stcs(reinterpret_cast<word *>(p), *reinterpret_cast<const word *>(&v));
}
template <int N, class T> __device__ __forceinline__ kn_vec<T, N> kn_load_once(const T *p)
{
    typedef typename kn_word<sizeof(T) * N>::type word;
    kn_vec<T, N> v;
    *reinterpret_cast<word *>(&v) = __ldcs(reinterpret_cast<const word *>(p));
    return v;
}

// a / n for a below 2^31, by two numbers that stand for n.
__device__ __forceinline__ unsigned kn_quotient(unsigned a, int times, int shift)
{
    return __umulhi(2 * a, (unsigned)times) >> shift;
}

// A bool that is known when the code is compiled.
template <bool B> struct kn_bool {
    __device__ __forceinline__ constexpr operator bool() const { return B; }
};

// A vector that begins before a group does, or ends after it: lane l is the group's if first + l is from 0 to below n.
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

template <class T> __device__ __forceinline__ T kn_least(T a, T b) { return a < b ? a : b; }

// How many of first, first + step, ... are below `end`; and the first that is not.
template <class T> __device__ __forceinline__ T kn_steps(T first, T end, T step)
{
    return first < end ? (end - first + step - 1) / step : 0;
}
template <class T> __device__ __forceinline__ T kn_walk_end(T first, T end, T step)
{
    return first + kn_steps(first, end, step) * step;
}

// A place that the caller's data gives: out of bounds it is an error where that can be told, else the nearest. Threads
// without a group have no data.
template <class I> __device__ __forceinline__ I kn_checked_index(long long at, I size, bool live)
{
#ifdef KN_EMU_INLINE
    if (live && (at < 0 || at >= (long long)size))
        kn_emu_trap("an index is out of bounds for its axis", __LINE__);
#endif
    return at < 0 ? 0 : at < (long long)size ? (I)at : size - 1;
}

// ---- combining the accumulators of the threads that share a group ----

struct kn_sum {
    template <class T> static __device__ __forceinline__ T of(T a, T b) { return kn_add(a, b); }
};
struct kn_prod {
    template <class T> static __device__ __forceinline__ T of(T a, T b) { return kn_multiply(a, b); }
};
struct kn_min {
    template <class T> static __device__ __forceinline__ T of(T a, T b) { return kn_minimum(a, b); }
};
struct kn_max {
    template <class T> static __device__ __forceinline__ T of(T a, T b) { return kn_maximum(a, b); }
};
struct kn_any {
    static __device__ __forceinline__ bool of(bool a, bool b) { return a | b; }
};
struct kn_all {
    static __device__ __forceinline__ bool of(bool a, bool b) { return a & b; }
};

// A product that does not become part of a fused multiply-add.
__device__ __forceinline__ float kn_product(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double kn_product(double a, double b) { return __dmul_rn(a, b); }

// Welford's running mean and sum of squared deviations. The reciprocal need not be exact: what the mean is off
// by, the later deviations take up. Accumulators that count alike share it.
__device__ __forceinline__ float kn_reciprocal(float n) { return __fdividef(1, n); }
__device__ __forceinline__ double kn_reciprocal(double n) { return 1 / n; }
template <class T> struct kn_moments {
    T n, mean, m2;
    __device__ __forceinline__ void add(T x, T count, T reciprocal)
    {
        const T d = x - mean;
        n = count;
        mean += d * reciprocal;
        m2 += d * (x - mean);
    }
    __device__ __forceinline__ void add(T x) { add(x, n + 1, kn_reciprocal(n + 1)); }
    // N at once: their own mean and squared deviations, and Chan's merge with what was before.
    template <int N> __device__ __forceinline__ void add(const kn_vec<T, N> &x)
    {
        T sum = x.at[0], squares = 0;
#pragma unroll
        for (int l = 1; l < N; ++l)
            sum += x.at[l];
        const T center = sum / N;
#pragma unroll
        for (int l = 0; l < N; ++l)
            squares += (x.at[l] - center) * (x.at[l] - center);
        const T d = center - mean, share = N * kn_reciprocal(n + N);
        m2 += squares + d * d * (n * share);
        mean += d * share;
        n += N;
    }
};
// Chan's merge; symmetric, so that lanes that exchange their halves agree to the bit.
struct kn_var {
    template <class T>
    static __device__ __forceinline__ kn_moments<T> of(const kn_moments<T> &a, const kn_moments<T> &b)
    {
        const T n = a.n + b.n, d = a.mean - b.mean, each = kn_reciprocal(n);
        if (n == 0)
            return a;
        return kn_moments<T>{n, (kn_product(a.n, a.mean) + kn_product(b.n, b.mean)) * each,
                             a.m2 + b.m2 + d * d * (a.n * b.n * each)};
    }
};

// The largest value so far and the sum of exp(x - max) so far (Milakov and Gimelshein, "Online normalizer calculation
// for softmax", 2018). Infinite maxima stay out of the differences, so that a finite sum is one.
template <class T> struct kn_peak {
    T max, sum;
    static __device__ __forceinline__ T scale(T x, T max) { return kn_exp(x == max ? (T)0 : x - max); }
    __device__ __forceinline__ void add(T x)
    {
        const T e = kn_exp(kn_fmin(-kn_abs(x - max), (T)0)); // 1 of equal infinities
        sum = x > max ? sum * e + 1 : sum + e;
        max = kn_maximum(max, x);
    }
    // N at once: what is there is scaled down once for all of them.
    template <int N> __device__ __forceinline__ void add(const kn_vec<T, N> &x)
    {
        T top = max;
#pragma unroll
        for (int l = 0; l < N; ++l)
            top = kn_maximum(top, x.at[l]);
        sum *= scale(max, top);
#pragma unroll
        for (int l = 0; l < N; ++l)
            sum += scale(x.at[l], top);
        max = top;
    }
    // The sum as the definition has it: x - max of infinities is NaN.
    __device__ __forceinline__ T whole() const { return sum + (max - max); }
};
// Symmetric, so that lanes that exchange their halves agree to the bit.
struct kn_max_and_sum {
    template <class T> static __device__ __forceinline__ kn_peak<T> of(const kn_peak<T> &a, const kn_peak<T> &b)
    {
        const T max = kn_maximum(a.max, b.max);
        return kn_peak<T>{max, kn_product(a.sum, kn_peak<T>::scale(a.max, max)) +
                                   kn_product(b.sum, kn_peak<T>::scale(b.max, max))};
    }
};

template <class T> __device__ __forceinline__ T kn_from_lane_xor(T v, int mask)
{
    return __shfl_xor_sync(0xffffffffu, v, mask);
}
__device__ __forceinline__ bool kn_from_lane_xor(bool v, int mask)
{
    return __shfl_xor_sync(0xffffffffu, (int)v, mask) != 0;
}

template <class T>
__device__ __forceinline__ kn_moments<T> kn_from_lane_xor(const kn_moments<T> &v, int mask)
{
    return kn_moments<T>{kn_from_lane_xor(v.n, mask), kn_from_lane_xor(v.mean, mask),
                         kn_from_lane_xor(v.m2, mask)};
}

template <class T>
__device__ __forceinline__ kn_peak<T> kn_from_lane_xor(const kn_peak<T> &v, int mask)
{
    return kn_peak<T>{kn_from_lane_xor(v.max, mask), kn_from_lane_xor(v.sum, mask)};
}

// True for operations of the user's own, which may depend on the order of their operands.
template <class Op> struct kn_ordered { static const bool value = false; };

// Among WIDTH neighbouring lanes, in their order: what has met so far is of neighbours. Every lane gets the result.
template <class Op, int WIDTH, class T> __device__ __forceinline__ T kn_combine_lanes_in_order(T v)
{
#pragma unroll 1
    for (int step = 1; step < WIDTH; step *= 2) {
        const T other = kn_from_lane_xor(v, step);
        const bool upper = threadIdx.x & step;
        v = Op::of(upper ? other : v, upper ? v : other);
    }
    return v;
}

// Among WIDTH neighbouring lanes; every lane gets the result. Called by whole, converged warps. States of several
// numbers take many instructions to merge: written out five times they are half of what a kernel takes to compile.
template <class Op, int WIDTH, class T> __device__ __forceinline__ T kn_combine_lanes(T v)
{
    if constexpr (kn_ordered<Op>::value)
        return kn_combine_lanes_in_order<Op, WIDTH>(v);
#pragma unroll(__is_class(T) ? 1 : 5)
    for (int step = WIDTH / 2; step > 0; step /= 2)
        v = Op::of(v, kn_from_lane_xor(v, step));
    return v;
}
// Moments all at once: the whole mean, and then how far from it each part is. Two by two they would take a division for
// every step, one after the other.
template <class Op, int WIDTH, class T>
__device__ __forceinline__ kn_moments<T> kn_combine_lanes(kn_moments<T> v)
{
    const T n = kn_combine_lanes<kn_sum, WIDTH>(v.n);
    const T sum = kn_combine_lanes<kn_sum, WIDTH>(kn_product(v.n, v.mean)); // by all, also those without members
    const T mean = n == 0 ? 0 : sum / n;
    const T d = v.mean - mean;
    return kn_moments<T>{n, mean, kn_combine_lanes<kn_sum, WIDTH>(v.m2 + v.n * d * d)};
}

// Among threads of a block that are whole warps, in two parts with a barrier between: so several accumulators share it,
// and the one that frees `warps` again. Each warp leaves what it has in its place, then all threads combine `count` of
// them from the first on.
template <class Op, class T> __device__ __forceinline__ void kn_leave_of_warp(T v, void *warps)
{
    v = kn_combine_lanes<Op, 32>(v);
    if (threadIdx.x % 32 == 0)
        ((T *)warps)[threadIdx.x / 32] = v;
}
template <class Op, class T>
__device__ __forceinline__ T kn_combine_warps(T identity, const void *warps, unsigned first, unsigned count)
{
    const unsigned lane = threadIdx.x % 32;
    return kn_combine_lanes<Op, 32>(lane < count ? ((const T *)warps)[first + lane] : identity);
}

// Among the ROWS threads of the block that share threadIdx.x % WIDTH, in order, each of their N values; every one
// of them gets the results. `scratch` has room for N values a thread and is free again on return.
template <class Op, int ROWS, int WIDTH, int N, class T>
__device__ __forceinline__ void kn_combine_rows(T (&v)[N], T identity, void *scratch)
{
    T *const all = (T *)scratch;
#pragma unroll
    for (int l = 0; l < N; ++l)
        all[l * ROWS * WIDTH + threadIdx.x] = v[l];
    __syncthreads();
#pragma unroll
    for (int l = 0; l < N; ++l)
        v[l] = identity;
#pragma unroll(__is_class(T) ? 1 : 8 / N)
    for (int row = 0; row < ROWS; ++row)
#pragma unroll
        for (int l = 0; l < N; ++l)
            v[l] = Op::of(v[l], all[(l * ROWS + row) * WIDTH + threadIdx.x % WIDTH]);
    __syncthreads();
}
template <class Op, int ROWS, int WIDTH, int N, class T>
__device__ __forceinline__ void kn_combine_rows(T &v, T identity, void *scratch)
{
    T one[1] = {v};
    kn_combine_rows<Op, ROWS, WIDTH, 1>(one, identity, scratch);
    v = one[0];
}

// ---- the blocks of a cluster ----

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

// All threads of the cluster meet: what one of them wrote before it arrives, the others see after they have waited.
__device__ __forceinline__ void kn_cluster_arrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
__device__ __forceinline__ void kn_cluster_wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }

// ---- bulk copies into shared memory, whose bytes an mbarrier counts ----

__device__ __forceinline__ unsigned kn_shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}
// One thread announces the bytes of each phase.
__device__ __forceinline__ void kn_init_barrier(unsigned long long *barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(kn_shared_address(barrier)) : "memory");
}
// After the last of them: the copy engine, and after a barrier all threads, see them.
__device__ __forceinline__ void kn_publish_barriers()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// What this thread has written to shared memory comes before bulk copies there that are asked for behind a barrier.
__device__ __forceinline__ void kn_write_before_fetch()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void kn_expect(unsigned long long *barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(kn_shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}
__device__ __forceinline__ void kn_fetch(void *to, const void *from, unsigned bytes, unsigned long long *barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     kn_shared_address(to)),
                 "l"(from), "r"(bytes), "r"(kn_shared_address(barrier))
                 : "memory");
}
// Until the phase of this parity has ended.
__device__ __forceinline__ void kn_await(unsigned long long *barrier, unsigned parity)
{
    asm volatile("{\n.reg .pred done;\nAGAIN:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra OVER;\nbra AGAIN;\nOVER:\n}" ::"r"(kn_shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

// ---- what the blocks of a cluster tell each other ----

// A T in whole words; a board has one for each block.
template <class T> union kn_message {
    T value;
    unsigned words[(sizeof(T) + 3) / 4];
};

// Writes v, which all threads of the block have, on the board of every block of the cluster, whose mbarrier `told`
// counts the bytes. No fence: what the block has stored elsewhere meanwhile need not have got there.
template <class T>
__device__ __forceinline__ void kn_publish(const T &v, unsigned char *board, unsigned long long *told)
{
    kn_message<T> message = {};
    message.value = v;
    if (threadIdx.x < kn_cluster_blocks()) {
        unsigned to, counter;
        asm("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(to)
            : "r"(kn_shared_address((kn_message<T> *)board + kn_cluster_rank())), "r"(threadIdx.x));
        asm("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(counter)
            : "r"(kn_shared_address(told)), "r"(threadIdx.x));
#pragma unroll
        for (int i = 0; i < (int)(sizeof(message) / 4); ++i)
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to + 4 * i),
                         "r"(message.words[i]), "r"(counter)
                         : "memory");
    }
}

// What the blocks, of which there are at most WIDTH, wrote on this block's board.
template <class Op, int WIDTH, class T>
__device__ __forceinline__ T kn_merge(const unsigned char *board, T identity)
{
    const unsigned rank = threadIdx.x % WIDTH;
    return kn_combine_lanes<Op, WIDTH>(rank < kn_cluster_blocks() ? ((const kn_message<T> *)board)[rank].value
                                                                  : identity);
}

// All blocks of a cooperative launch meet; what was written to memory before is seen after. The arrivals add
// up to 2^31: the word's top bit turns over when all have come. The other bits are zero again then, so that
// one word, zeroed once, serves launch after launch.
__device__ __forceinline__ void kn_grid_barrier(unsigned *barrier)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned top = 0x80000000u;
        const unsigned before = atomicAdd(barrier, blockIdx.x == 0 ? top - (gridDim.x - 1) : 1u);
        while (((*(volatile unsigned *)barrier ^ before) & top) == 0) {
        }
        __threadfence();
    }
    __syncthreads();
}

// True for all threads of the block that is the last of the grid to come here, and for no other's; what was written
// to memory before, by any block, is seen after. The word is then as it was before the first came.
__device__ __forceinline__ bool kn_last_block(unsigned *barrier)
{
    bool last = false;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = (atomicAdd(barrier, 1u) & 0x7fffffffu) == gridDim.x - 1;
        if (last)
            atomicSub(barrier, gridDim.x);
        __threadfence();
    }
    return __syncthreads_or(last);
}
