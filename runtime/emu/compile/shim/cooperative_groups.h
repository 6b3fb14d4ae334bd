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

// ---- lanes of a warp ----

// Of the lanes in a mask, numbered from the lowest up.
KN_EMU_INLINE unsigned kn_emu_rank_in(unsigned lanes)
{
    return (unsigned)__popc(lanes & ((1u << kn_emu_lane().x) - 1));
}
KN_EMU_INLINE unsigned kn_emu_lane_of(unsigned lanes, unsigned rank)
{
    for (; rank > 0; --rank)
        lanes &= lanes - 1;
    return (unsigned)__ffs((int)lanes) - 1;
}
// Bits of lanes as bits of ranks.
KN_EMU_INLINE unsigned kn_emu_pack(unsigned lanes, unsigned bits)
{
    unsigned packed = 0;
    for (unsigned rank = 0; lanes; lanes &= lanes - 1, ++rank)
        packed |= (bits >> (__ffs((int)lanes) - 1) & 1) << rank;
    return packed;
}

// Any lanes. (Where they lie among other groups is not known: meta_group_rank() is of tiles only.)
struct coalesced_group {
    unsigned lanes;
    unsigned mask() const { return lanes; }
    unsigned thread_rank() const { return kn_emu_rank_in(lanes); }
    unsigned size() const { return (unsigned)__popc(lanes); }
    unsigned num_threads() const { return size(); }
    __forceinline__ void sync(KN_EMU_LINE) const { __syncwarp(lanes, kn_emu_line); }
    template <class T> __forceinline__ T shfl(T v, unsigned from, KN_EMU_LINE) const
    {
        return __shfl_sync(lanes, v, (int)kn_emu_lane_of(lanes, from), 32, kn_emu_line);
    }
    template <class T> __forceinline__ T shfl_up(T v, unsigned d, KN_EMU_LINE) const
    {
        const unsigned rank = thread_rank();
        return shfl(v, rank < d ? rank : rank - d, kn_emu_line);
    }
    template <class T> __forceinline__ T shfl_down(T v, unsigned d, KN_EMU_LINE) const
    {
        const unsigned rank = thread_rank();
        return shfl(v, rank + d < size() ? rank + d : rank, kn_emu_line);
    }
    __forceinline__ int any(int p, KN_EMU_LINE) const { return __any_sync(lanes, p, kn_emu_line); }
    __forceinline__ int all(int p, KN_EMU_LINE) const { return __all_sync(lanes, p, kn_emu_line); }
    __forceinline__ unsigned ballot(int p, KN_EMU_LINE) const
    {
        return kn_emu_pack(lanes, __ballot_sync(lanes, p, kn_emu_line));
    }
    template <class T> __forceinline__ unsigned match_any(T v, KN_EMU_LINE) const
    {
        return kn_emu_pack(lanes, __match_any_sync(lanes, v, kn_emu_line));
    }
    template <class T> __forceinline__ unsigned match_all(T v, int &all, KN_EMU_LINE) const
    {
        return kn_emu_pack(lanes, __match_all_sync(lanes, v, &all, kn_emu_line));
    }
};
KN_EMU_INLINE coalesced_group coalesced_threads(KN_EMU_LINE) { return {__activemask(kn_emu_line)}; }

template <unsigned N, class Parent = thread_block> struct thread_block_tile;
// Where a tile lies among those of its parent: a block, or a larger tile.
template <class Parent> struct kn_emu_tiles {
    static unsigned rank() { return Parent::thread_rank(); }
    static unsigned size() { return Parent::size(); }
};
template <unsigned N, class Parent> struct thread_block_tile {
    static_assert(N >= 1 && (N & (N - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");
    static_assert(N <= 32, "the emulator knows no tiles of more than 32 threads");
    static unsigned thread_rank() { return kn_emu_lane().x % N; }
    static constexpr unsigned size() { return N; }
    static constexpr unsigned num_threads() { return N; }
    static unsigned meta_group_rank() { return kn_emu_tiles<Parent>::rank() / N; }
    static unsigned meta_group_size() { return (kn_emu_tiles<Parent>::size() + N - 1) / N; }
    static unsigned mask()
    {
        if constexpr (N == 32)
            return 0xffffffffu;
        else
            return ((1u << N) - 1) << first();
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
        return __ballot_sync(mask(), p, kn_emu_line) >> first();
    }
    template <class T> static __forceinline__ unsigned match_any(T v, KN_EMU_LINE)
    {
        return __match_any_sync(mask(), v, kn_emu_line) >> first();
    }
    template <class T> static __forceinline__ unsigned match_all(T v, int &all, KN_EMU_LINE)
    {
        return __match_all_sync(mask(), v, &all, kn_emu_line) >> first();
    }

  private:
    static unsigned first() { return kn_emu_lane().x / N * N; }
};
template <unsigned N, class G> KN_EMU_INLINE thread_block_tile<N, G> tiled_partition(const G &)
{
    return {};
}

// Some group, by value: a block, a tile, or any lanes.
struct thread_group {
    unsigned lanes; // 0: the block
    thread_group(const thread_block &) : lanes(0) {}
    thread_group(const coalesced_group &g) : lanes(g.lanes) {}
    template <unsigned N, class P>
    thread_group(const thread_block_tile<N, P> &tile) : lanes(tile.mask() & kn_emu_there())
    {
    }
    unsigned thread_rank() const { return lanes ? kn_emu_rank_in(lanes) : kn_emu_lane().y; }
    unsigned size() const { return lanes ? (unsigned)__popc(lanes) : kn_emu_lane().z; }
    unsigned num_threads() const { return size(); }
    __forceinline__ void sync(KN_EMU_LINE) const
    {
        if (lanes)
            __syncwarp(lanes, kn_emu_line);
        else
            __syncthreads(kn_emu_line);
    }

  private:
    static unsigned kn_emu_there() // lanes that the last warp of the block has
    {
        const unsigned left = kn_emu_lane().z - (kn_emu_lane().y - kn_emu_lane().x);
        return left >= 32 ? 0xffffffffu : (1u << left) - 1;
    }
};
// Of a size that is not known before: `size` threads of the group, in the order of their ranks.
KN_EMU_INLINE thread_group tiled_partition(const thread_group &g, unsigned size, KN_EMU_LINE)
{
    if (size == 0 || size > 32 || (size & (size - 1)))
        kn_emu_trap("the emulator knows tiles of 1, 2, 4, 8, 16 and 32 threads", kn_emu_line);
    const unsigned all = g.lanes ? g.lanes : thread_group(thread_block_tile<32>()).lanes;
    const unsigned first = kn_emu_rank_in(all) / size * size;
    unsigned lanes = 0;
    for (unsigned rank = first; rank < first + size && rank < (unsigned)__popc(all); ++rank)
        lanes |= 1u << kn_emu_lane_of(all, rank);
    return coalesced_group{lanes};
}

// Those with the same label.
template <class G, class T>
KN_EMU_INLINE coalesced_group labeled_partition(const G &g, T label, KN_EMU_LINE)
{
    return {__match_any_sync(g.mask(), label, kn_emu_line)};
}
template <class G>
KN_EMU_INLINE coalesced_group binary_partition(const G &g, bool side, KN_EMU_LINE)
{
    return {__match_any_sync(g.mask(), (int)side, kn_emu_line)};
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
