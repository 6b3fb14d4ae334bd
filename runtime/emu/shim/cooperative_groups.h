// Cooperative groups: blocks, tiles of a warp, clusters and grids.
#pragma once

namespace cooperative_groups {

struct thread_block {
    static unsigned thread_rank() { return kn_emu_lane().y; }
    static unsigned size() { return kn_emu_lane().z; }
    static unsigned num_threads() { return size(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
    static __forceinline__ void sync(KN_EMU_LINE) { __syncthreads(kn_emu_line); }
};
KN_EMU_INLINE thread_block this_thread_block() { return {}; }

struct grid_group {
    static bool is_valid() { return true; }
    static unsigned long long num_blocks()
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    static unsigned long long block_rank()
    {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    static unsigned long long num_threads() { return num_blocks() * thread_block::size(); }
    static unsigned long long size() { return num_threads(); }
    static unsigned long long thread_rank()
    {
        return block_rank() * thread_block::size() + thread_block::thread_rank();
    }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 group_dim() { return gridDim; }
    static dim3 block_index() { return blockIdx; }
    static __forceinline__ void sync(KN_EMU_LINE)
    {
        kn_emu_barrier_wait(KN_EMU_BARRIER_GRID, 0, kn_emu_line);
    }
};
KN_EMU_INLINE grid_group this_grid() { return {}; }

struct cluster_group {
    static unsigned num_blocks()
    {
        const kn_emu_dim d = kn_emu_cluster_dim();
        return d.x * d.y * d.z;
    }
    static unsigned block_rank()
    {
        const kn_emu_dim i = kn_emu_cluster_idx(), d = kn_emu_cluster_dim();
        return (i.z * d.y + i.y) * d.x + i.x;
    }
    static unsigned num_threads() { return num_blocks() * thread_block::size(); }
    static unsigned size() { return num_threads(); }
    static unsigned thread_rank()
    {
        return block_rank() * thread_block::size() + thread_block::thread_rank();
    }
    static dim3 block_index() { return kn_emu_cluster_idx(); }
    static dim3 dim_blocks() { return kn_emu_cluster_dim(); }
    static __forceinline__ void barrier_arrive(KN_EMU_LINE)
    {
        kn_emu_cluster_arrive(0, kn_emu_line);
    }
    static __forceinline__ void barrier_wait(KN_EMU_LINE)
    {
        kn_emu_barrier_wait(KN_EMU_BARRIER_CLUSTER, 0, kn_emu_line);
    }
    static __forceinline__ void sync(KN_EMU_LINE)
    {
        kn_emu_cluster_arrive(0, kn_emu_line);
        kn_emu_barrier_wait(KN_EMU_BARRIER_CLUSTER, 0, kn_emu_line);
    }
    template <class T> static __forceinline__ T *map_shared_rank(T *p, unsigned rank, KN_EMU_LINE)
    {
        return (T *)kn_emu_peer((const void *)p, rank, kn_emu_line);
    }
};
KN_EMU_INLINE cluster_group this_cluster() { return {}; }

// ---- tiles ----

template <unsigned N, class Parent = thread_block> struct thread_block_tile {
    static_assert(N <= 32 && (N & (N - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");
    static unsigned thread_rank() { return kn_emu_lane().x % N; }
    static constexpr unsigned size() { return N; }
    static constexpr unsigned num_threads() { return N; }
    static unsigned meta_group_rank() { return kn_emu_lane().y / N; }
    static unsigned meta_group_size() { return (thread_block::size() + N - 1) / N; }
    static unsigned mask()
    {
        if constexpr (N == 32)
            return 0xffffffffu;
        else
            return ((1u << N) - 1) << (kn_emu_lane().x / N * N);
    }
    static __forceinline__ void sync(KN_EMU_LINE) { __syncwarp(mask(), kn_emu_line); }
    template <class T> static __forceinline__ T shfl(T v, int from, KN_EMU_LINE)
    {
        return __shfl_sync(mask(), v, from, N, kn_emu_line);
    }
    template <class T> static __forceinline__ T shfl_up(T v, unsigned d, KN_EMU_LINE)
    {
        return __shfl_up_sync(mask(), v, d, N, kn_emu_line);
    }
    template <class T> static __forceinline__ T shfl_down(T v, unsigned d, KN_EMU_LINE)
    {
        return __shfl_down_sync(mask(), v, d, N, kn_emu_line);
    }
    template <class T> static __forceinline__ T shfl_xor(T v, unsigned d, KN_EMU_LINE)
    {
        return __shfl_xor_sync(mask(), v, (int)d, N, kn_emu_line);
    }
    static __forceinline__ int any(int p, KN_EMU_LINE)
    {
        return __any_sync(mask(), p, kn_emu_line);
    }
    static __forceinline__ int all(int p, KN_EMU_LINE)
    {
        return __all_sync(mask(), p, kn_emu_line);
    }
    static __forceinline__ unsigned ballot(int p, KN_EMU_LINE)
    {
        return __ballot_sync(mask(), p, kn_emu_line) >> (kn_emu_lane().x / N * N);
    }
    template <class T> static __forceinline__ unsigned match_any(T v, KN_EMU_LINE)
    {
        return __match_any_sync(mask(), v, kn_emu_line) >> (kn_emu_lane().x / N * N);
    }
};
template <unsigned N, class G> KN_EMU_INLINE thread_block_tile<N, G> tiled_partition(const G &)
{
    return {};
}

struct thread_group_of_one {
    static unsigned thread_rank() { return 0; }
    static unsigned size() { return 1; }
    static unsigned num_threads() { return 1; }
    static void sync() {}
};
KN_EMU_INLINE thread_group_of_one this_thread() { return {}; }

template <class G> KN_EMU_INLINE void sync(const G &g, KN_EMU_LINE) { g.sync(kn_emu_line); }

} // namespace cooperative_groups
