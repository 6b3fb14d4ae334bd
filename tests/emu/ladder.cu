// Reductions of a block's 2 * THREADS elements, the classical steps from slow to fast.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern __shared__ __align__(8) unsigned char memory[];

template <class T> __device__ void last_warp(T *s, unsigned t)
{
    T v = s[t];
    v += s[t + 32], __syncwarp(), s[t] = v, __syncwarp();
    v += s[t + 16], __syncwarp(), s[t] = v, __syncwarp();
    v += s[t + 8], __syncwarp(), s[t] = v, __syncwarp();
    v += s[t + 4], __syncwarp(), s[t] = v, __syncwarp();
    v += s[t + 2], __syncwarp(), s[t] = v, __syncwarp();
    v += s[t + 1], __syncwarp(), s[t] = v;
}

template <int STEP, class T>
__global__ void ladder(const T *__restrict__ in, T *__restrict__ out, unsigned n)
{
    T *const s = (T *)memory;
    const unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x * (STEP < 3 ? 1 : 2) + t;
    if (STEP < 3) {
        s[t] = i < n ? in[i] : 0;
    } else if (STEP < 6) {
        s[t] = (i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0);
    } else {
        T v = 0;
        for (; i < n; i += blockDim.x * 2 * gridDim.x)
            v += in[i] + (i + blockDim.x < n ? in[i + blockDim.x] : 0);
        s[t] = v;
    }
    __syncthreads();
    if (STEP == 0) {
        for (unsigned k = 1; k < blockDim.x; k *= 2) {
            if (t % (2 * k) == 0)
                s[t] += s[t + k];
            __syncthreads();
        }
    } else if (STEP == 1) {
        for (unsigned k = 1; k < blockDim.x; k *= 2) {
            const unsigned j = 2 * k * t;
            if (j < blockDim.x)
                s[j] += s[j + k];
            __syncthreads();
        }
    } else if (STEP < 4) {
        for (unsigned k = blockDim.x / 2; k > 0; k /= 2) {
            if (t < k)
                s[t] += s[t + k];
            __syncthreads();
        }
    } else {
        for (unsigned k = blockDim.x / 2; k > 32; k /= 2) {
            if (t < k)
                s[t] += s[t + k];
            __syncthreads();
        }
        if (t < 32)
            last_warp(s, t);
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}

template <class T> __global__ void tiles(const T *in, T *out, unsigned n)
{
    __shared__ T partial[32];
    const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    T v = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += in[i];
    for (int k = 16; k > 0; k /= 2)
        v += tile.shfl_down(v, k);
    if (tile.thread_rank() == 0)
        partial[tile.meta_group_rank()] = v;
    cg::this_thread_block().sync();
    if (tile.meta_group_rank() == 0) {
        v = tile.thread_rank() < tile.meta_group_size() ? partial[tile.thread_rank()] : 0;
        for (int k = 16; k > 0; k /= 2)
            v += tile.shfl_down(v, k);
        if (tile.thread_rank() == 0)
            out[blockIdx.x] = v;
    }
}

// One launch: a grid barrier between the blocks' sums and theirs.
extern "C" __global__ void grid_sum(const int *in, int *partial, int *out, int n)
{
    __shared__ int s[64];
    const int t = threadIdx.x;
    int v = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
        v += in[i];
    s[t] = v;
    __syncthreads();
    for (int k = 32; k > 0; k /= 2) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        partial[blockIdx.x] = s[0];
    cg::this_grid().sync();
    if (t == 0 && s[0] != partial[blockIdx.x])
        out[1] = 1;
    if (blockIdx.x == 0 && t == 0) {
        v = 0;
        for (unsigned b = 0; b < gridDim.x; ++b)
            v += partial[b];
        out[0] = v;
    }
}

// Places in three dimensions, and types.
extern "C" __global__ void shapes(int *o, float4 *v, double2 scale)
{
    const int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const int b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    o[b * 24 + t] = b * 100 + t;
    if (b == 0 && t == 0) {
        const float4 x = __ldg(v);
        v[1] = make_float4(fmaf(x.x, x.y, 1.0f), rsqrtf(x.z), max(x.w, 7.0f), (float)(scale.x + scale.y));
        v[2] = make_float4(__expf(0.0f), (float)__popc(0xff00ffu), (float)__clz(1), __int_as_float(0x40000000));
    }
}
