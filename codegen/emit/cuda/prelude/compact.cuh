// Compacts members for a block. All of its threads call it, after which list[] has the numbers from `from` on of those members
// below `end` for which is(member), in their order. A thread tests KN_COMPACT_EACH of them. Returns how many are in the list,
// the same for all threads, which have all read the list that they had before.
constexpr int KN_COMPACT_EACH = 8;
template <class Count, class Is>
__device__ __forceinline__ unsigned kn_compact(Count from, Count end, unsigned short *list, unsigned *warps, Is is)
{
    const unsigned lane = threadIdx.x % 32, first = threadIdx.x * KN_COMPACT_EACH;
    unsigned mine = 0; // a bit each
#pragma unroll
    for (unsigned j = 0; j < KN_COMPACT_EACH; ++j)
        if (from + first + j < end && is(from + first + j))
            mine |= 1u << j;
    if (!__syncthreads_or(mine != 0))
        return 0;
    unsigned at = __popc(mine); // of the lanes up to this one
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
        const unsigned before = __shfl_up_sync(0xffffffffu, at, step);
        at += lane >= step ? before : 0;
    }
    if (lane == 31)
        warps[threadIdx.x / 32] = at;
    __syncthreads();
    at -= __popc(mine);
    unsigned found = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w) {
        at += w < threadIdx.x / 32 ? warps[w] : 0;
        found += warps[w];
    }
    for (; mine; mine &= mine - 1)
        list[at++] = (unsigned short)(first + __ffs((int)mine) - 1);
    __syncthreads();
    return found;
}
