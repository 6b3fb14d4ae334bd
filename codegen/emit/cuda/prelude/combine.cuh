// Combines of the accumulators of threads that share a group.

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

// A product that is not contracted to a fused multiply-add.
__device__ __forceinline__ float kn_product(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double kn_product(double a, double b) { return __dmul_rn(a, b); }

template <class T> __device__ __forceinline__ T kn_from_lane_xor(T v, int mask)
{
    return __shfl_xor_sync(0xffffffffu, v, mask);
}
__device__ __forceinline__ bool kn_from_lane_xor(bool v, int mask)
{
    return __shfl_xor_sync(0xffffffffu, (int)v, mask) != 0;
}
#ifdef __CUDACC_RTC__ // the same instruction; it compiles in half the time
__device__ __forceinline__ float kn_from_lane_xor(float v, int mask)
{
    float other;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(other) : "f"(v), "r"(mask));
    return other;
}
#endif

// True for user-defined reductions, which need not be commutative.
template <class Op> struct kn_ordered { static const bool value = false; };

// Over WIDTH neighbouring lanes, in their order: each step combines two contiguous ranges of lanes. Every lane gets the
// result. FROM: over every FROM-th lane.
template <class Op, int WIDTH, int FROM, class T> __device__ __forceinline__ T kn_combine_lanes_in_order(T v)
{
#pragma unroll 1
    for (int step = FROM; step < WIDTH; step *= 2) {
        const T other = kn_from_lane_xor(v, step);
        const bool upper = threadIdx.x & step;
        v = Op::of(upper ? other : v, upper ? v : other);
    }
    return v;
}

// Over WIDTH neighbouring lanes; every lane gets the result. Called by whole, converged warps. States of several numbers take
// many instructions to merge, so their loop is not unrolled: it would double the time that the kernel takes to compile.
template <class Op, int WIDTH, int FROM = 1, class T> __device__ __forceinline__ T kn_combine_lanes(T v)
{
    if constexpr (kn_ordered<Op>::value)
        return kn_combine_lanes_in_order<Op, WIDTH, FROM>(v);
#pragma unroll(__is_class(T) ? 1 : 5)
    for (int step = WIDTH / 2; step >= FROM; step /= 2)
        v = Op::of(v, kn_from_lane_xor(v, step));
    return v;
}

// Over `width` neighbouring lanes, a number that the compiler does not know.
template <class Op, class T> __device__ __forceinline__ T kn_combine_few_lanes(T v, int width)
{
#pragma unroll 1
    for (int step = width / 2; step > 0; step /= 2)
        v = Op::of(v, kn_from_lane_xor(v, step));
    return v;
}

// Over whole warps of a block, in two functions with a barrier between them, so that several accumulators share that barrier
// and the one that frees `warps` again. Each warp stores its result, then all threads combine `count` of them from `first`
// on.
template <class Op, class T> __device__ __forceinline__ void kn_store_warp_result(T v, void *warps)
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

// The same for two accumulators: the lower half of each warp combines one, the upper half the other, in as many steps as one
// alone would take. The results of the second lie behind 32 of the first.
template <class Op, class T> __device__ __forceinline__ void kn_store_warp_results(T a, T b, void *warps)
{
    const bool upper = threadIdx.x & 16;
    const T other = kn_from_lane_xor(upper ? a : b, 16);
    const T v = kn_combine_lanes<Op, 16>(Op::of(upper ? b : a, other));
    if (threadIdx.x % 16 == 0)
        ((T *)warps)[threadIdx.x / 32 + (upper ? 32 : 0)] = v;
}
template <class Op, class T>
__device__ __forceinline__ void kn_combine_warps(T &a, T &b, T identity, const void *warps, unsigned first, unsigned count)
{
    const bool upper = threadIdx.x & 16;
    const unsigned lane = threadIdx.x % 16;
    const T *const from = (const T *)warps + (upper ? 32 : 0) + first;
    T v = lane < count ? from[lane] : identity;
    if (count > 16)
        v = Op::of(v, lane + 16 < count ? from[lane + 16] : identity);
    v = kn_combine_lanes<Op, 16>(v);
    const T other = kn_from_lane_xor(v, 16);
    a = upper ? other : v;
    b = upper ? v : other;
}

// Over groups packed into rows. Each thread stores N sums, of neighbouring columns. After a barrier warp g combines, over
// `rows` rows of `lanes` threads, the `run` columns of group g of `groups`. After another barrier any thread loads a group's
// result. `sums` has room for N values a thread and one a group.
template <int N, class T> __device__ __forceinline__ void kn_store_packed(const T (&v)[N], void *sums)
{
#pragma unroll
    for (int l = 0; l < N; ++l)
        ((T *)sums)[threadIdx.x * N + l] = v[l];
}
template <class Op, int N, class T>
__device__ __forceinline__ void kn_combine_packed(T identity, void *sums, unsigned rows, unsigned lanes, unsigned groups,
                                                   unsigned run)
{
    const unsigned g = threadIdx.x / 32;
    if (g >= groups)
        return;
    T one = identity;
#pragma unroll 1
    for (unsigned i = threadIdx.x % 32; i < run; i += 32)
#pragma unroll 1
        for (unsigned row = 0; row < rows; ++row)
            one = Op::of(one, ((const T *)sums)[row * lanes * N + g * run + i]);
    one = kn_combine_lanes<Op, 32>(one);
    if (threadIdx.x % 32 == 0)
        ((T *)sums)[blockDim.x * N + g] = one;
}
template <int N, class T> __device__ __forceinline__ T kn_load_packed(const void *sums, unsigned own)
{
    return ((const T *)sums)[blockDim.x * N + own];
}

// Several numbers as one access; a state alone without its padding, which nobody writes.
template <class T, int N> __device__ __forceinline__ kn_vec<T, N> kn_plane(const kn_vec<T, N> &at)
{
    if constexpr (N > 1)
        return at;
    else
        return {{at.at[0]}};
}

// How many of n values of so many bytes are one plane: a power of two that divides n, of up to 16 bytes.
__device__ constexpr int kn_plane_width(int bytes, int n)
{
    int width = 1;
    while (n % (2 * width) == 0 && 2 * width * bytes <= 16)
        width *= 2;
    return width;
}

// N values of a thread, in planes of SIDE that lie PITCH apart.
template <int PITCH, int N, int SIDE, class T>
__device__ __forceinline__ void kn_store_planes(kn_vec<T, SIDE> *to, const T (&v)[N])
{
#pragma unroll
    for (int l = 0; l < N; l += SIDE) {
        kn_vec<T, SIDE> mine;
#pragma unroll
        for (int k = 0; k < SIDE; ++k)
            mine.at[k] = v[l + k];
        to[l / SIDE * PITCH] = mine;
    }
}
template <int PITCH, int N, int SIDE, class T>
__device__ __forceinline__ void kn_load_planes(T (&v)[N], const kn_vec<T, SIDE> *from)
{
#pragma unroll
    for (int l = 0; l < N; l += SIDE) {
        const kn_vec<T, SIDE> one = kn_plane(from[l / SIDE * PITCH]);
#pragma unroll
        for (int k = 0; k < SIDE; ++k)
            v[l + k] = one.at[k];
    }
}

// Combines each of N values with its other.
template <class Op, int N, class T>
__device__ __forceinline__ void kn_combine_each(T (&v)[N], const T (&others)[N])
{
#pragma unroll
    for (int l = 0; l < N; ++l)
        v[l] = Op::of(v[l], others[l]);
}

// Where the ROWS threads of a block that share threadIdx.x % WIDTH leave N values each: in planes of up to 16 bytes a thread. Rows
// within a warp are combined by shuffles before, so that as many rows are left as there are warps, or rows.
template <int ROWS, int WIDTH, int N, class T> struct kn_rows {
    enum {
        SIDE_BY_SIDE = WIDTH < 32 ? 32 / WIDTH : 1,
        LEFT = ROWS / SIDE_BY_SIDE,
        SIDE = kn_plane_width(sizeof(T), N),
        PITCH = LEFT * WIDTH
    };
    typedef kn_vec<T, SIDE> plane;
    static __device__ __forceinline__ int own() { return threadIdx.x / (SIDE_BY_SIDE * WIDTH); }
    static __device__ __forceinline__ bool stores() { return SIDE_BY_SIDE == 1 || threadIdx.x % 32 < WIDTH; }
    static __device__ __forceinline__ plane *at(void *scratch, int row)
    {
        return (plane *)scratch + row * WIDTH + threadIdx.x % WIDTH;
    }
};

// Leaves a thread's values there.
template <class Op, int ROWS, int WIDTH, int N, class T>
__device__ __forceinline__ void kn_store_row(T (&v)[N], void *scratch)
{
    typedef kn_rows<ROWS, WIDTH, N, T> rows;
    if constexpr (rows::SIDE_BY_SIDE > 1)
#pragma unroll
        for (int l = 0; l < N; ++l)
            v[l] = kn_combine_lanes<Op, 32, WIDTH>(v[l]);
    if (rows::stores())
        kn_store_planes<rows::PITCH>(rows::at(scratch, rows::own()), v);
}

// One of the values that rows have left, of the steps behind each other that they lie there of: which one it is, and its sum.
template <int ROWS, int WIDTH, int N, class T> struct kn_column {
    typedef kn_rows<ROWS, WIDTH, N, T> rows;
    enum { ACROSS = WIDTH * rows::SIDE, PLANES = N / rows::SIDE };
    int plane, at;
    __device__ __forceinline__ kn_column(int number) : plane(number / ACROSS), at(number % ACROSS) {}
    __device__ __forceinline__ int step() const { return plane / PLANES; }
    __device__ __forceinline__ int lane() const { return at / rows::SIDE; }
    __device__ __forceinline__ int element() const { return plane % PLANES * rows::SIDE + at % rows::SIDE; }
    template <class Op> __device__ __forceinline__ T combined(const void *scratch) const
    {
        const T *const from = (const T *)scratch + plane * (rows::LEFT * ACROSS) + at;
        T sum = from[0];
#pragma unroll(sizeof(T) > 4 ? 4 : 8)
        for (int row = 1; row < rows::LEFT; ++row)
            sum = Op::of(sum, from[row * ACROSS]);
        return sum;
    }
};
