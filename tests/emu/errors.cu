// One mistake a case; the test finds the line to be named by its mark. 64 threads, a block.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#define F 0xffffffffu
namespace cg = cooperative_groups;

extern __shared__ int dyn[];

__device__ void warps(int which, int *o)
{
    const int t = threadIdx.x;
    switch (which) {
    case 1:
        o[t] = __shfl_xor_sync(0xffffu, t, 1); // own mask
        break;
    case 2:
        if (t < 16)
            o[t] = __shfl_down_sync(F, t, 1); // half a warp
        __syncthreads(); // the others
        break;
    case 3:
        if (t < 16)
            o[t] = __shfl_down_sync(F, t, 1); // mask one
        else
            o[t] = __shfl_down_sync(0xffff0001u, t, 1); // mask two
        break;
    }
}

__device__ void barriers(int which, int *o)
{
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = t;
    switch (which) {
    case 10:
        if (t < 16)
            __syncthreads(); // then
        else
            __syncthreads(); // else
        o[t] = s[63 - t];
        break;
    case 11:
        if (t < 16)
            __syncthreads(); // first
        __syncthreads(); // second
        o[t] = s[63 - t];
        break;
    case 12:
        cg::this_grid().sync(); // not cooperative
        break;
    }
}

__device__ void global(int which, int *o, int n)
{
    const int t = threadIdx.x;
    switch (which) {
    case 20:
        o[t + n] = t; // past the end
        break;
    case 21:
        o[t] = o[t - n]; // before the beginning
        break;
    case 22: {
        float4 *v = (float4 *)(o + n);
        v[0].x = v[1].y; // misaligned
        break;
    }
    case 23:
        *(int *)(size_t)(n * 8) = 1; // nothing there
        break;
    case 24:
        atomicAdd(o + 64 * n, 1); // atomic
        break;
    case 25:
        o[t] = t % (n - 1); // by zero
        break;
    case 26:
        o[t] = (t - 0x7fffffff - n) / -n; // too large
        break;
    }
}

// Threads of a block, on global memory.
__device__ void together(int which, int *o)
{
    const int t = threadIdx.x;
    int v;
    switch (which) {
    case 50:
        o[t] = t;
        if (t >= 32)
            o[t] = o[t - 32]; // global read after write
        break;
    case 51:
        o[t / 2] = t; // global write after write
        break;
    case 52:
        if (t < 32)
            v = o[t + 32];
        else
            o[t] = v = 1; // global write after read
        if (v == 12345)
            o[0] = v;
        break;
    case 53:
        v = o[63];
        o[t] = v; // global write after many reads
        break;
    case 54: // clean: a barrier between
        v = o[63 - t];
        __syncthreads();
        o[t] = v;
        __syncthreads();
        v = o[63];
        __syncthreads();
        o[t] -= v;
        break;
    case 55: // clean: within warps
        o[t] = t;
        __syncwarp();
        v = o[t ^ 1];
        __syncwarp();
        o[t] = v;
        break;
    case 56:
        if (t == 0)
            o[0] = 0;
        atomicAdd(&o[0], t); // global write beside atomic
        break;
    case 57: // clean: a lock
        o[1] = 0;
        for (bool done = false; !done;)
            if (atomicCAS(&o[0], 0, 1) == 0) {
                __threadfence();
                o[2] += t;
                __threadfence();
                atomicExch(&o[0], 0);
                done = true;
            }
        break;
    }
}

__device__ void shared(int which, int *o, int n)
{
    __shared__ int s[64], a[32], counter;
    const int t = threadIdx.x;
    switch (which) {
    case 30:
        dyn[64 * n + t] = t; // dynamic
        break;
    case 31:
        if (t < 63)
            s[t] = t;
        __syncthreads();
        o[t] = s[t]; // unwritten
        break;
    case 32:
        s[t] = t;
        o[t] = s[63 - t]; // read after write
        break;
    case 33:
        s[t] = t;
        __syncthreads();
        if (t < 32)
            o[t] = s[t + 32];
        else
            s[t] = 1; // write after read
        break;
    case 34:
        s[t / 2] = t; // write after write
        break;
    case 35:
        a[t + n - 1] = t; // index
        break;
    case 36: // clean: __syncwarp orders
        s[t] = t;
        __syncwarp();
        n = s[t ^ 1];
        __syncwarp();
        s[t] = n;
        __syncwarp();
        o[t] = s[t ^ 2];
        break;
    case 37: // clean: atomic operations
        if (t == 0)
            counter = 0;
        __syncthreads();
        atomicAdd(&counter, t);
        __syncthreads();
        o[t] = counter;
        break;
    case 38: // clean: halves of a warp order themselves
        s[t] = t;
        cg::tiled_partition<16>(cg::this_thread_block()).sync();
        o[t] = s[t ^ 8];
        break;
    case 39: // halves of a warp, read across
        s[t] = t;
        cg::tiled_partition<16>(cg::this_thread_block()).sync();
        o[t] = s[t ^ 16]; // another tile
        break;
    case 40: {
        volatile int *w = s; // an unrolled last warp
        w[t] = t;
        if (t < 32)
            w[t] += w[t + 32]; // volatile
        if (t < 16)
            w[t] += w[t + 16];
        break;
    }
    case 41:
        __pipeline_memcpy_async(&s[t], &o[t], 4);
        __pipeline_commit();
        o[t] = s[t] + 1; // before the wait
        __pipeline_wait_prior(0);
        break;
    case 42:
        __pipeline_memcpy_async(&s[t], &o[t], 4); // never waited for
        __pipeline_commit();
        break;
    case 43: // clean: a copy
        __pipeline_memcpy_async(&s[t], &o[t], 4);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        o[t] = s[63 - t];
        break;
    case 44:
        o[t] = atomicAdd((int *)((char *)s + 2), 1); // atomic misaligned
        break;
    }
}

extern "C" __global__ void mistake(int which, int *o, int n)
{
    warps(which, o);
    if (which / 10 == 1)
        barriers(which, o);
    global(which, o, n);
    together(which, o);
    shared(which, o, n);
}

// Blocks that meet.
extern "C" __global__ void blocks(int which, int *o)
{
    const unsigned t = threadIdx.x, b = blockIdx.x;
    switch (which) {
    case 1:
        if (b != 1)
            cg::this_grid().sync(); // grid barrier
        o[t] = 1;
        break;
    case 2:
        o[b * 64 + t] = b;
        if (b == 1)
            o[0] = o[t]; // of another block
        break;
    case 3:
        o[t] = b; // everyone
        break;
    case 4: // clean: ordered by the barrier
        o[b * 64 + t] = b;
        cg::this_grid().sync();
        o[64 * gridDim.x + b * 64 + t] = o[(b + 1) % gridDim.x * 64 + t];
        break;
    case 5: { // clean: the last block to come adds up
        __shared__ bool last;
        if (t == 0) {
            o[1 + b] = b + 1;
            __threadfence();
            last = atomicAdd(&o[0], 1) == (int)gridDim.x - 1;
        }
        __syncthreads();
        if (last && t == 0)
            for (unsigned i = 0; i < gridDim.x; ++i)
                o[100] += o[1 + i];
        break;
    }
    case 6: { // the same without the fence
        __shared__ bool last;
        if (t == 0) {
            o[1 + b] = b + 1;
            last = atomicAdd(&o[0], 1) == (int)gridDim.x - 1;
        }
        __syncthreads();
        if (last && t == 0)
            for (unsigned i = 0; i < gridDim.x; ++i)
                o[100] += o[1 + i]; // no fence
        break;
    }
    case 7:
        if (t == 0)
            while (*(volatile int *)o == 5) { // for ever
            }
        break;
    case 8: { // clean: a lock
        bool done = t != 0;
        while (!done) {
            if (atomicCAS(&o[0], 0, 1) == 0) {
                __threadfence();
                o[1] += 1;
                __threadfence();
                atomicExch(&o[0], 0);
                done = true;
            }
        }
        break;
    }
    case 9: // what the other threads wrote is not there yet, perhaps
    case 10: // clean
    case 11: { // clean: the fences are every thread's own
        __shared__ bool last;
        o[1 + b * 64 + t] = 1;
        if (which == 11)
            __threadfence();
        if (which != 9)
            __syncthreads();
        if (t == 0) {
            if (which != 11)
                __threadfence();
            last = atomicAdd(&o[0], 1) == (int)gridDim.x - 1;
        }
        __syncthreads();
        for (unsigned i = t; last && i < gridDim.x * 64; i += 64)
            atomicAdd(&o[1000], o[1 + i]); // not fenced
        break;
    }
    case 12: // clean: flags
    case 13: // not made known
    case 14: // not learnt
    case 15: // another's flag
        if (t != 0)
            break;
        if (b < 2) {
            o[10 + b] = 7;
            if (which != 13)
                __threadfence();
            *(volatile int *)&o[b] = 1;
        } else {
            while (*(volatile int *)&o[which == 15] == 0) {
            }
            if (which != 14)
                __threadfence();
            o[20] = o[10]; // behind a flag
        }
        break;
    case 16:
        if (b != 2)
            o[100 + b * 64 + t] = o[0];
        else if (t == 0)
            o[0] = 1; // which others read
        break;
    }
}

// Clusters: each block sums the shared memory of all.
extern "C" __global__ void cluster(int which, int *o)
{
    __shared__ int mine[64];
    const cg::cluster_group c = cg::this_cluster();
    const unsigned t = threadIdx.x;
    mine[t] = (int)(c.block_rank() * 1000 + t);
    if (which != 1)
        c.sync();
    int sum = 0;
    for (unsigned r = 0; r < c.num_blocks(); ++r)
        sum += *c.map_shared_rank(&mine[t], r); // another block's
    if (which != 2)
        c.sync();
    o[blockIdx.x * 64 + t] = sum;
    if (which == 2)
        return;
    if (which != 4)
        c.sync();
    const unsigned other = blockIdx.x ^ 1;
    if (which != 4 || blockIdx.x % 2)
        sum = o[other * 64 + t]; // global, of the cluster
    if (which == 3 && blockIdx.x >= 4)
        sum += o[(other ^ 4) * 64 + t]; // global, of another cluster
    if (which == 5) { // clean: what is between does not touch what others read
        c.barrier_arrive();
        mine[t] = sum;
        c.barrier_wait();
    }
    if (which == 6) {
        c.barrier_arrive();
        mine[t] = sum;
        c.barrier_wait();
        sum = *c.map_shared_rank(&mine[t], c.block_rank() ^ 1); // after arriving
    }
    c.sync();
    o[blockIdx.x * 64 + t] += sum > 1000000;
}

// Blocks of clusters that meet at a counter, by one thread of each.
extern "C" __global__ void counter(int which, unsigned *arrived, int *o)
{
    const unsigned t = threadIdx.x;
    o[blockIdx.x * 64 + t] = (int)(blockIdx.x * 100 + t); // read too early
    __syncthreads();
    if (t == 0) {
        unsigned now;
        asm volatile("atom.release.gpu.global.add.u32 %0, [%1], 1;" : "=r"(now) : "l"(arrived) : "memory");
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(arrived) : "memory");
        while (now < gridDim.x);
    }
    if (which == 0)
        __syncthreads();
    const int sum = o[(blockIdx.x ^ 1) * 64 + t] + o[(blockIdx.x ^ 4) * 64 + t];
    o[(gridDim.x + blockIdx.x) * 64 + t] = sum;
}
