// The blocks of a grid.

// Phases side by side: a block's index among those that have a work item of the phase, and how many these are.
struct kn_part_of_grid {
    unsigned block, blocks;
};

// The work items of all such phases are assigned to the blocks round-robin, and `first` of them lie in front of this phase's. Blocks without
// one of it have larger indices.
__device__ __forceinline__ kn_part_of_grid kn_part_of(unsigned first, unsigned items)
{
    const unsigned begin = first % gridDim.x;
    kn_part_of_grid part = {blockIdx.x < begin ? blockIdx.x + gridDim.x - begin : blockIdx.x - begin, gridDim.x};
    if (items < part.blocks)
        part.blocks = items;
    return part;
}

// The barrier of all blocks of a cooperative launch: what any wrote before it, all see after it. The arrivals add up to 2^31,
// so the word's top bit flips when the last block arrives. The other bits are then zero again, so one word, zeroed once,
// serves any number of launches.
__device__ __forceinline__ void kn_grid_barrier(unsigned *barrier)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned top = 0x80000000u;
        unsigned before, now;
        asm volatile("atom.release.gpu.global.add.u32 %0, [%1], %2;"
                     : "=r"(before)
                     : "l"(barrier), "r"(blockIdx.x == 0 ? top - (gridDim.x - 1) : 1u)
                     : "memory");
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(barrier) : "memory");
        } while (((now ^ before) & top) == 0);
    }
    __syncthreads();
}

// True for all threads of the last of `blocks` blocks to arrive here, false for those of the others. The last block sees what
// any of them wrote before. The word is 0 before the first arrives and after the last has.
__device__ __forceinline__ bool kn_last_block(unsigned *word, unsigned blocks)
{
    unsigned before = 0;
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                     : "=r"(before)
                     : "l"(word), "r"(blocks - 1)
                     : "memory");
    return __syncthreads_or(threadIdx.x == 0 && before == blocks - 1);
}

// Packed atomics: true for thread 0 of the last of `blocks` blocks, at most 65535, to arrive here, whose `sum` then is the sum
// of all blocks', modulo 2^64. One word adds up the lower halves of sums, another the upper halves, and both count arrivals in
// their top 16 bits. So no block needs a fence for a partial sum in memory. If one block is the last in the first word and
// another in the second, they exchange their halves in a third. The words are 0 before the first block arrives and after the
// last has.
template <class T> __device__ __forceinline__ bool kn_last_to_add(T &sum, unsigned *words, unsigned blocks)
{
    typedef unsigned long long word;
    const word one = 1ull << 48, sums = one - 1;
    word *const low_word = reinterpret_cast<word *>(words), *const high_word = low_word + 1,
                *const meeting = low_word + 2;
    if (threadIdx.x != 0)
        return false;
    const word low_part = one + (unsigned)sum, high_part = one + ((word)sum >> 32);
    const word low = atomicAdd(low_word, low_part) + low_part, high = atomicAdd(high_word, high_part) + high_part;
    const bool last_low = low >> 48 == blocks, last_high = high >> 48 == blocks;
    if (last_low)
        atomicExch(low_word, 0ull);
    if (last_high)
        atomicExch(high_word, 0ull);
    word other = last_low ? high & sums : low & sums;
    if (last_low != last_high) {
        other = atomicExch(meeting, one + (last_low ? low & sums : high & sums));
        if (other == 0)
            return false;
        atomicExch(meeting, 0ull);
    }
    sum = (T)(last_low ? (low & sums) + (other << 32) : (other & sums) + (high << 32));
    return last_low || last_high;
}
