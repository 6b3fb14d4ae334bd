/* Asynchronous copies into shared memory, conversions of bf16, and cache policies: what CUDA C++ has no short words for. */
#pragma once
#include <cstdint>
#include <cstring>

#include <cuda_bf16.h>

__device__ inline uint32_t shared_address(const void *p)
{
    return uint32_t(__cvta_generic_to_shared(p));
}

/* 16 bytes, for the thread that asks: it waits by groups, in the order in which it asked. */
__device__ inline void async_copy(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from)
                 : "memory");
}
__device__ inline void async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LATER> __device__ inline void async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
}

/* Multiples of 16 bytes by the copy engine; a barrier in shared memory counts the bytes that have come. */
__device__ inline void barrier_init(uint64_t *barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier))
                 : "memory");
}
__device__ inline void barrier_init_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void barrier_expect(uint64_t *barrier, uint32_t bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
        "r"(bytes)
        : "memory");
}
__device__ inline void barrier_wait(uint64_t *barrier, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

__device__ inline void bulk_copy(void *to, const void *from, uint32_t bytes, uint64_t *barrier)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
}

/* The L2 cache lets go of such lines first. */
__device__ inline uint64_t evict_first()
{
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
__device__ inline float4 load_first(const float4 *p, uint64_t policy)
{
    float4 v;
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.f32 {%0,%1,%2,%3}, [%4], %5;"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(p), "l"(policy));
    return v;
}

struct float8 {
    float v[8];
};

__device__ inline float8 widen(uint4 u)
{
    float8 out;
    uint32_t words[4] = {u.x, u.y, u.z, u.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        out.v[2 * i] = __uint_as_float(words[i] << 16);
        out.v[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
    }
    return out;
}

__device__ inline uint4 narrow(const float8 &x)
{
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        __nv_bfloat162 pair = __floats2bfloat162_rn(x.v[2 * i], x.v[2 * i + 1]);
        memcpy(&words[i], &pair, 4);
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}
