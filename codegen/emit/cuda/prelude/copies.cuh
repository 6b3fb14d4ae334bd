// Asynchronous copies into shared memory, by the thread that uses them.

__device__ __forceinline__ unsigned kn_shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

// Copies one vector. The L2 hint fetches the rest of its line, which another block reads next (docs/lab/columns-on-chip.md).
// Then: waits for all copies that this thread has started.
template <class T, int N> __device__ __forceinline__ void kn_copy_async(kn_vec<T, N> *to, const T *from)
{
    if (sizeof(T) * N == 16)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(kn_shared_address(to)), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;" ::"r"(kn_shared_address(to)), "l"(from),
                     "n"((int)sizeof(T) * N)
                     : "memory");
}
__device__ __forceinline__ void kn_wait_copies()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}
