// Cooperative groups, barriers and pipelines as libraries give them: one result a step of 64 threads.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

// As in many a text on reductions: of a block or of a tile.
__device__ int group_sum(cg::thread_group g, int *temp, int v)
{
    const int rank = g.thread_rank();
    for (int i = g.size() / 2; i > 0; i /= 2) {
        temp[rank] = v;
        g.sync();
        if (rank < i)
            v += temp[rank + i];
        g.sync();
    }
    return v;
}

extern "C" __global__ void groups(int *o)
{
    __shared__ int temp[64], counter;
    const int t = threadIdx.x;
    int step = 0;
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    const cg::thread_block_tile<8, cg::thread_block_tile<32>> eight = cg::tiled_partition<8>(warp);
#define NOTE(x) o[step++ * 64 + t] = (int)(x)
    NOTE(group_sum(block, temp, t)); // 0
    NOTE(group_sum(cg::tiled_partition(block, 16), temp + t / 16 * 16, t)); // 1
    NOTE(eight.meta_group_rank() * 100 + eight.meta_group_size() * 10 + eight.thread_rank()); // 2
    NOTE(cg::reduce(eight, t, cg::plus<int>())); // 3
    NOTE(cg::reduce(warp, t ^ 21, cg::greater<int>())); // 4
    // the lanes that came here
    int r = -1;
    if (t % 3 == 0) {
        const cg::coalesced_group some = cg::coalesced_threads();
        r = some.thread_rank() * 100 + some.size();
    }
    NOTE(r); // 5
    r = -1;
    if (t % 3 == 0) {
        const cg::coalesced_group some = cg::coalesced_threads();
        r = cg::reduce(some, t, cg::plus<int>());
    }
    NOTE(r); // 6
    r = -1;
    if (t % 3 == 0) {
        const cg::coalesced_group some = cg::coalesced_threads();
        r = some.shfl_down(t, 1) + 1000 * some.shfl_up(t, 2) + 100000 * some.shfl(t, 3);
    }
    NOTE(r); // 7
    // one atomic operation for all that come together
    if (t == 0)
        counter = 0;
    block.sync();
    r = -1;
    if (t % 2) {
        const cg::coalesced_group some = cg::coalesced_threads();
        if (some.thread_rank() == 0)
            r = atomicAdd(&counter, (int)some.size());
        r = some.shfl(r, 0) >= 0;
    }
    block.sync();
    NOTE(counter * 10 + r); // 8
    const cg::coalesced_group same = cg::labeled_partition(warp, t % 5);
    NOTE(cg::reduce(same, t, cg::plus<int>()) * 100 + same.thread_rank()); // 9
    const cg::coalesced_group side = cg::binary_partition(warp, t % 32 < 7);
    NOTE(side.size() * 100 + cg::inclusive_scan(side, 1)); // 10
    NOTE(cg::inclusive_scan(warp, t)); // 11
    NOTE(cg::exclusive_scan(eight, t % 8 + 1, cg::plus<int>())); // 12
    NOTE(side.ballot(t & 1)); // 13
    NOTE(eight.shfl_xor(t, 3) * 100 + eight.ballot(t % 8 == 2)); // 14
    NOTE(side.any(t % 32 == 3) * 10 + side.all(t % 32 < 9)); // 15
}

// A slab goes through the barrier's phases; a bulk copy at the end.
extern "C" __global__ void barriers(int which, const float *in, float *out)
{
    __shared__ alignas(16) float slab[128];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    const cg::thread_block block = cg::this_thread_block();
    const unsigned t = threadIdx.x;
    float sum = 0;
    if (t == 0)
        init(&bar, 64);
    block.sync();
    for (unsigned i = 0; i < 3; ++i) {
        cuda::memcpy_async(block, slab, in + i * 64, 256, bar); // the copy
        if (which != 1)
            bar.arrive_and_wait();
        sum += slab[63 - t]; // early
        if (which != 2)
            bar.arrive_and_wait();
    }
    slab[64 + t] = sum;
    auto token = bar.arrive();
    if (which != 3)
        bar.wait(cuda::std::move(token));
    sum += slab[127 - t]; // after arriving
    block.sync();
    if (t == 0) {
        cuda::device::memcpy_async_tx(slab, in, cuda::aligned_size_t<16>(256), bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, 256);
    } else {
        token = bar.arrive();
    }
    bar.wait(cuda::std::move(token));
    out[t] = sum + slab[t];
}

// Two stages ahead, by each thread for itself and by the block.
extern "C" __global__ void pipelines(int which, const float *in, float *out)
{
    enum { STAGES = 2, SLABS = 6 };
    __shared__ alignas(16) float slots[STAGES][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    const cg::thread_block block = cg::this_thread_block();
    const unsigned t = threadIdx.x;
    float own = 0, sum = 0;
    auto mine = cuda::make_pipeline();
    for (int i = 0; i < STAGES; ++i) {
        mine.producer_acquire();
        cuda::memcpy_async(&slots[i][t], &in[i * 64 + t], sizeof(float), mine);
        mine.producer_commit();
    }
    for (int i = 0; i < SLABS; ++i) {
        if (which != 1)
            mine.consumer_wait();
        own += slots[i % STAGES][t]; // own
        mine.consumer_release();
        mine.producer_acquire();
        if (i + STAGES < SLABS)
            cuda::memcpy_async(&slots[i % STAGES][t], &in[(i + STAGES) * 64 + t], sizeof(float),
                               mine);
        mine.producer_commit();
    }
    block.sync();
    auto all = cuda::make_pipeline(block, &state);
    for (int i = 0; i < SLABS + STAGES; ++i) {
        if (i < SLABS) {
            all.producer_acquire();
            cuda::memcpy_async(block, slots[i % STAGES], in + i * 64, 256, all);
            all.producer_commit();
        }
        if (i < STAGES - 1)
            continue;
        if (i - (STAGES - 1) >= SLABS)
            break;
        if (which != 2)
            all.consumer_wait();
        sum += slots[(i - (STAGES - 1)) % STAGES][63 - t]; // all's
        all.consumer_release();
    }
    out[t] = own * 1000 + sum;
}

// By the names that the language has.
extern "C" __global__ void cluster_names(int *o)
{
    __shared__ int mine[64];
    const unsigned t = threadIdx.x;
    unsigned x, n;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(x));
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(n));
    mine[t] = (int)(__clusterRelativeBlockRank() * 1000 + __clusterIdx().x * 100 + x + n +
                    __clusterSizeInBlocks());
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    o[blockIdx.x * 64 + t] = *(int *)__cluster_map_shared_rank(
        &mine[t], (__clusterRelativeBlockRank() + 1) % __clusterDim().x);
    __cluster_barrier_arrive_relaxed();
    __cluster_barrier_wait();
}
