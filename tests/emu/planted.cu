// Kernels as people write them, all right: a test takes one thing away at a time, and the emulator has to notice.
// Each sums or moves `in` into `out`; blocks of 64 threads.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;

__device__ __forceinline__ unsigned place(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void init(void *bar, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(place(bar)), "r"(count)
                 : "memory");
}
__device__ __forceinline__ void expect(void *bar, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place(bar)),
                 "r"(bytes)
                 : "memory");
}
__device__ __forceinline__ void arrive(void *bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(place(bar)) : "memory");
}
__device__ __forceinline__ void load(void *to, const void *from, unsigned bytes, void *bar)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(place(to)),
                 "l"(from), "r"(bytes), "r"(place(bar))
                 : "memory");
}
__device__ __forceinline__ void wait(void *bar, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "AGAIN:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra AGAIN;\n"
                 "}" ::"r"(place(bar)),
                 "r"(parity)
                 : "memory");
}
__device__ __forceinline__ void cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Clusters of 4: each block's sum goes to all.
extern "C" __global__ void cluster_sum(const float *in, float *out)
{
    __shared__ float warps[2], mine;
    const cg::cluster_group cluster = cg::this_cluster();
    const unsigned t = threadIdx.x;
    float v = cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()),
                         in[blockIdx.x * 64 + t], cg::plus<float>());
    if (t % 32 == 0)
        warps[t / 32] = v;
    __syncthreads();
    if (t == 0)
        mine = warps[0] + warps[1];
    cluster.sync();
    float sum = 0;
    for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank)
        sum += *cluster.map_shared_rank(&mine, rank);
    cluster.sync();
    out[blockIdx.x * 64 + t] = sum;
}

// Clusters of 4: a value goes around, each block taking it from the next.
extern "C" __global__ void cluster_ring(const float *in, float *out)
{
    __shared__ float slots[2][64];
    const unsigned t = threadIdx.x;
    unsigned rank, there;
    float v;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    slots[0][t] = in[blockIdx.x * 64 + t];
    for (unsigned i = 0; i < 3; ++i) {
        cluster_arrive();
        cluster_wait();
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                     : "=r"(there)
                     : "r"(place(&slots[i % 2][t])), "r"((rank + 1) % 4));
        asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there) : "memory");
        slots[(i + 1) % 2][t] = v + i;
    }
    cluster_arrive();
    cluster_wait();
    out[blockIdx.x * 64 + t] = v;
}

// Clusters of 4: every block writes into the first one's memory.
extern "C" __global__ void cluster_gather(const float *in, float *out)
{
    __shared__ float all[4][64];
    const unsigned t = threadIdx.x;
    const cg::cluster_group cluster = cg::this_cluster();
    cluster.sync();
    cluster.map_shared_rank(&all[cluster.block_rank()][t], 0)[0] = in[blockIdx.x * 64 + t];
    cluster.sync();
    if (cluster.block_rank() == 0)
        out[blockIdx.x / 4 * 64 + t] = all[0][t] + all[1][t] + all[2][t] + all[3][t];
}

// Copies of single threads, a slot ahead.
extern "C" __global__ void staged(const float *in, float *out)
{
    __shared__ alignas(16) float slots[2][64];
    const unsigned t = threadIdx.x;
    float sum = 0;
    __pipeline_memcpy_async(&slots[0][t], &in[t], 4);
    __pipeline_commit();
    for (unsigned i = 0; i < 6; ++i) {
        if (i + 1 < 6)
            __pipeline_memcpy_async(&slots[(i + 1) % 2][t], &in[(i + 1) * 64 + t], 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += slots[i % 2][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}

// A block copies together.
extern "C" __global__ void together(const float *in, float *out)
{
    __shared__ alignas(16) float slab[128];
    const cg::thread_block block = cg::this_thread_block();
    const unsigned t = threadIdx.x;
    float sum = 0;
    for (unsigned i = 0; i < 3; ++i) {
        cg::memcpy_async(block, slab, in + i * 128, sizeof slab);
        cg::wait(block);
        sum += slab[127 - t] + slab[63 - t];
        block.sync();
    }
    out[t] = sum;
}

// Bulk copies into a ring of slots, that one thread starts and the other warp takes out.
extern "C" __global__ void ring(const float *in, float *out)
{
    enum { SLOTS = 2, SIZE = 32, SLABS = 6 };
    __shared__ alignas(16) float slots[SLOTS][SIZE];
    __shared__ alignas(8) unsigned long long full[SLOTS], empty[SLOTS];
    const unsigned t = threadIdx.x;
    if (t == 0)
        for (int i = 0; i < SLOTS; ++i) {
            init(&full[i], 1);
            init(&empty[i], 32);
        }
    __syncthreads();
    if (t == 0) {
        for (int i = 0; i < SLABS; ++i) {
            if (i >= SLOTS)
                wait(&empty[i % SLOTS], (i / SLOTS - 1) & 1);
            expect(&full[i % SLOTS], SIZE * 4);
            load(slots[i % SLOTS], in + i * SIZE, SIZE * 4, &full[i % SLOTS]);
        }
    } else if (t >= 32) {
        float sum = 0;
        for (int i = 0; i < SLABS; ++i) {
            wait(&full[i % SLOTS], i / SLOTS & 1);
            sum += slots[i % SLOTS][t - 32];
            arrive(&empty[i % SLOTS]);
        }
        out[t] = sum;
    }
}

// A bulk copy out of shared memory.
extern "C" __global__ void stores(const float *in, float *out)
{
    __shared__ alignas(16) float tile[64];
    const unsigned t = threadIdx.x;
    for (int i = 0; i < 2; ++i) {
        tile[t] = in[i * 64 + t] * 2;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (t == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                             out + i * 64),
                         "r"(place(tile)), "r"(256)
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        }
        __syncthreads();
    }
}

// The last block to come adds up what the others left; its last warp by hand.
extern "C" __global__ void last_block(const float *in, float *out, unsigned *count)
{
    __shared__ float s[64];
    __shared__ bool last;
    const unsigned t = threadIdx.x, lanes = 32;
    s[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    if (t < lanes) {
        s[t] += s[t + 32];
        __syncwarp();
        for (unsigned step = 16; step > 0; step /= 2) {
            const float v = s[t ^ step];
            __syncwarp();
            s[t] += v;
            __syncwarp();
        }
    }
    if (t == 0) {
        out[1 + blockIdx.x] = s[0];
        __threadfence();
        last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t < lanes) {
        const float v = t < gridDim.x ? out[1 + t] : 0;
        const float sum = cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), v,
                                     cg::plus<float>());
        if (t == 0)
            out[0] = sum;
    }
}
