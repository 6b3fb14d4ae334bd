/* The rungs: each adds n ints and leaves one partial sum a block in out[]. Rung by rung one thing is
 * changed; what two rungs share is a function. Blocks have a power of two threads, 64 at least. */

#ifdef LADDER_TILES /* its header is the CUDA toolkit's, and takes long to compile */
#include <cooperative_groups.h>
#endif

extern __shared__ int part[]; /* an int a thread */

/* ---- what a thread begins with ---- */

static __device__ int load_one(const int *in, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    return i < n ? in[i] : 0;
}

/* The sum of two elements, which lie a block apart so that neighbours read neighbours. */
static __device__ int load_two(const int *in, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    int sum = i < n ? in[i] : 0;
    if (i + blockDim.x < n)
        sum += in[i + blockDim.x];
    return sum;
}

/* The sum of all that is this thread's when the whole grid strides over the array, two at a time. */
template <unsigned kThreads> static __device__ int load_many(const int *in, unsigned n)
{
    int sum = 0;
    for (unsigned i = blockIdx.x * kThreads * 2 + threadIdx.x; i < n; i += gridDim.x * kThreads * 2) {
        sum += in[i];
        if (i + kThreads < n)
            sum += in[i + kThreads];
    }
    return sum;
}

/* ---- how a block adds its values ---- */

/* Halves the values until `left` of them are left. */
static __device__ void halve_until(unsigned left)
{
    unsigned t = threadIdx.x;
    for (unsigned half = blockDim.x / 2; half >= left; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        __syncthreads();
    }
}

/* The same down to 64 values, with the number of threads known to the compiler: no loop is left. */
template <unsigned kThreads> static __device__ void unrolled_to_64()
{
    unsigned t = threadIdx.x;
    if (kThreads >= 1024) {
        if (t < 512)
            part[t] += part[t + 512];
        __syncthreads();
    }
    if (kThreads >= 512) {
        if (t < 256)
            part[t] += part[t + 256];
        __syncthreads();
    }
    if (kThreads >= 256) {
        if (t < 128)
            part[t] += part[t + 128];
        __syncthreads();
    }
    if (kThreads >= 128) {
        if (t < 64)
            part[t] += part[t + 64];
        __syncthreads();
    }
}

/* One step of a warp: all read before any writes, all have written before the next step reads. */
static __device__ int warp_step(int sum, unsigned gap)
{
    unsigned t = threadIdx.x;
    sum += part[t + gap];
    __syncwarp();
    part[t] = sum;
    __syncwarp();
    return sum;
}

/* The last 64 values, by the first warp alone; the sum is lane 0's. */
static __device__ int last_warp()
{
    int sum = warp_step(part[threadIdx.x], 32);
    sum = warp_step(sum, 16);
    sum = warp_step(sum, 8);
    sum = warp_step(sum, 4);
    sum = warp_step(sum, 2);
    return warp_step(sum, 1);
}

/* ---- the rungs ---- */

/* Neighbours first. The threads at work are further and further apart, so every warp stays busy with
 * ever fewer of its lanes. */
extern "C" __global__ void reduce1(const int *in, int *out, unsigned n)
{
    unsigned t = threadIdx.x;
    part[t] = load_one(in, n);
    __syncthreads();
    for (unsigned gap = 1; gap < blockDim.x; gap *= 2) {
        if (t % (2 * gap) == 0)
            part[t] += part[t + gap];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}

/* The same additions by the first threads: whole warps drop out. But the lanes of a warp now meet at
 * the same banks of shared memory. */
extern "C" __global__ void reduce2(const int *in, int *out, unsigned n)
{
    unsigned t = threadIdx.x;
    part[t] = load_one(in, n);
    __syncthreads();
    for (unsigned gap = 1; gap < blockDim.x; gap *= 2) {
        unsigned at = 2 * gap * t;
        if (at < blockDim.x)
            part[at] += part[at + gap];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}

/* The lower half adds the upper half: neighbouring lanes, neighbouring banks. */
extern "C" __global__ void reduce3(const int *in, int *out, unsigned n)
{
    part[threadIdx.x] = load_one(in, n);
    __syncthreads();
    halve_until(1);
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}

/* Half of the threads only ever loaded a value: half as many blocks load two values a thread. */
extern "C" __global__ void reduce4(const int *in, int *out, unsigned n)
{
    part[threadIdx.x] = load_two(in, n);
    __syncthreads();
    halve_until(1);
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}

/* One warp needs no barrier of the block. This is how that was written while the lanes of a warp moved
 * in lockstep; since they need not, nothing orders one lane's write and another's read: a race. */
extern "C" __global__ void reduce5_volatile(const int *in, int *out, unsigned n)
{
    unsigned t = threadIdx.x;
    part[t] = load_two(in, n);
    __syncthreads();
    halve_until(64);
    if (t < 32) {
        volatile int *v = part;
        v[t] += v[t + 32];
        v[t] += v[t + 16];
        v[t] += v[t + 8];
        v[t] += v[t + 4];
        v[t] += v[t + 2];
        v[t] += v[t + 1];
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}

/* The same with the order said: a barrier of the warp is cheap. */
extern "C" __global__ void reduce5(const int *in, int *out, unsigned n)
{
    part[threadIdx.x] = load_two(in, n);
    __syncthreads();
    halve_until(64);
    if (threadIdx.x < 32) {
        int sum = last_warp();
        if (threadIdx.x == 0)
            out[blockIdx.x] = sum;
    }
}

/* No loop at all: an instance for each size of block. */
template <unsigned kThreads> __global__ void reduce6(const int *in, int *out, unsigned n)
{
    part[threadIdx.x] = load_two(in, n);
    __syncthreads();
    unrolled_to_64<kThreads>();
    if (threadIdx.x < 32) {
        int sum = last_warp();
        if (threadIdx.x == 0)
            out[blockIdx.x] = sum;
    }
}

/* A grid of a fixed size: each thread adds many elements in a register first. */
template <unsigned kThreads> __global__ void reduce7(const int *in, int *out, unsigned n)
{
    part[threadIdx.x] = load_many<kThreads>(in, n);
    __syncthreads();
    unrolled_to_64<kThreads>();
    if (threadIdx.x < 32) {
        int sum = last_warp();
        if (threadIdx.x == 0)
            out[blockIdx.x] = sum;
    }
}

#ifdef LADDER_TILES
/* The warp's barrier as a tile's: the same, in the words of cooperative groups. */
template <unsigned kThreads> __global__ void reduce8(const int *in, int *out, unsigned n)
{
    namespace cg = cooperative_groups;
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    unsigned t = block.thread_rank();
    part[t] = load_many<kThreads>(in, n);
    block.sync();
    unrolled_to_64<kThreads>();
    if (t < 32) {
        int sum = part[t];
        for (unsigned gap = 32; gap > 0; gap /= 2) {
            sum += part[t + gap];
            tile.sync();
            part[t] = sum;
            tile.sync();
        }
        if (t == 0)
            out[blockIdx.x] = sum;
    }
}
#endif

/* The last warp passes values from register to register. */
template <unsigned kThreads> __global__ void reduce9(const int *in, int *out, unsigned n)
{
    unsigned t = threadIdx.x;
    part[t] = load_many<kThreads>(in, n);
    __syncthreads();
    unrolled_to_64<kThreads>();
    if (t < 32) {
        int sum = part[t] + part[t + 32];
        for (unsigned gap = 16; gap > 0; gap /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, gap);
        if (t == 0)
            out[blockIdx.x] = sum;
    }
}
