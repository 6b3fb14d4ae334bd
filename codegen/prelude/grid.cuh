// The blocks of a grid.

// All blocks of a cooperative launch meet; what was written to memory before is seen after. The arrivals add
// up to 2^31: the word's top bit turns over when all have come. The other bits are zero again then, so that
// one word, zeroed once, serves launch after launch.
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

// True for all threads of the block that is the last of `blocks` to come here, and for no other's; what was written
// to memory before, by any of them, is seen after. The word is 0 before the first comes and after the last has.
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
