// Asynchronous copies: bulk copies that an mbarrier counts, bulk stores, and copies of single threads. 64
// threads. `which` 0 is right, every other a mistake; the test finds the line to be named by its mark.
#include <cuda_pipeline.h>

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
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared::cta.b64 state, [%0];\n}" ::"r"(
                     place(bar))
                 : "memory");
}
__device__ __forceinline__ void bulk(void *to, const void *from, unsigned bytes, void *bar)
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
                 "@done bra OVER;\n"
                 "bra AGAIN;\n"
                 "OVER:\n"
                 "}" ::"r"(place(bar)),
                 "r"(parity)
                 : "memory");
}

__device__ __forceinline__ void bulk_out(void *to, const void *from, unsigned bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
                 "r"(place(from)), "r"(bytes)
                 : "memory");
}
__device__ __forceinline__ void bulk_both(void *to, const void *from, unsigned bytes, void *bar)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(place(to)),
                 "l"(from), "r"(bytes), "r"(place(bar)), "h"((unsigned short)3)
                 : "memory");
}
__device__ __forceinline__ void copy_16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(place(to)), "l"(from)
                 : "memory");
}
__device__ __forceinline__ float far_load(unsigned address)
{
    float v;
    asm volatile("ld.shared::cluster.f32 %0, [%1+16];" : "=f"(v) : "r"(address) : "memory");
    return v;
}

extern "C" __global__ void loads(int which, const float *in, float *out)
{
    __shared__ alignas(16) float tile[128];
    __shared__ alignas(8) unsigned long long bar, other;
    const int t = threadIdx.x;
    if (t == 0) {
        init(&bar, which == 7 ? 2 : 1); // one
        if (which == 9)
            init(&bar, 1); // twice
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    if (which != 11)
        __syncthreads();
    if (t == 32 * (which == 11)) {
        expect(&bar, which == 3 ? 512 : 256); // too many bytes
        if (which == 10)
            tile[5] = 1;
        void *to = which == 6 ? tile + 1 : tile, *counter = which == 4 ? &other : &bar;
        bulk(to, in, which == 5 ? 252 : 256, counter); // the copy
        if (which == 10)
            tile[5] = 1; // under the copy
        if (which == 8)
            expect(&bar, 16); // once too often
    }
    if (which == 1)
        out[t] = tile[t]; // early
    if (which != 2 && (which != 12 || t < 32))
        wait(&bar, 0); // the wait
    if (which != 2)
        out[t] = tile[63 - t]; // afterwards
    if (which == 13)
        wait(&bar, 1); // one phase too far
    if (which == 14 && t == 0)
        arrive(&bar), expect(&bar, 16); // nothing comes
}

// A ring of slots: a producer's warp fills them, 32 consumers empty them.
extern "C" __global__ void ring(int which, const float *in, float *out, int n)
{
    enum { SLOTS = 3, SIZE = 32 };
    __shared__ alignas(16) float slots[SLOTS][SIZE];
    __shared__ alignas(8) unsigned long long full[SLOTS], empty[SLOTS];
    const int t = threadIdx.x;
    if (t == 0) {
        for (int i = 0; i < SLOTS; ++i) {
            init(&full[i], 1);
            init(&empty[i], 32);
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (t == 0) {
        for (int i = 0; i < n; ++i) {
            if (i >= SLOTS && which != 1)
                wait(&empty[i % SLOTS], (i / SLOTS - 1) & 1);
            expect(&full[i % SLOTS], SIZE * 4);
            bulk(slots[i % SLOTS], in + i * SIZE, SIZE * 4, &full[i % SLOTS]); // fill
        }
    } else if (t >= 32) {
        float sum = 0;
        for (int i = 0; i < n; ++i) {
            wait(&full[i % SLOTS], i / SLOTS & 1);
            if (which == 2)
                arrive(&empty[i % SLOTS]);
            sum += slots[i % SLOTS][t - 32]; // take
            if (which != 2)
                arrive(&empty[i % SLOTS]);
        }
        out[t - 32] = sum;
    }
}

extern "C" __global__ void stores(int which, const float *in, float *out)
{
    __shared__ alignas(16) float tile[64];
    const int t = threadIdx.x;
    tile[t] = in[t] + 1;
    if (which != 1)
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if (which != 5)
        __syncthreads();
    if (t == 0) {
        bulk_out(out, tile, 256); // out
        if (which != 4)
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        if (which == 3)
            tile[3] = 0;
        if (which == 6)
            copy_16(tile + 8, in);
        if (which != 2)
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        tile[7] = 0;
    }
}

// Two slots, each filled while the other is used.
extern "C" __global__ void groups(int which, const float *in, float *out, int n)
{
    __shared__ alignas(16) float slots[2][64];
    const int t = threadIdx.x;
    float sum = 0;
    for (int i = 0; i <= n; ++i) {
        if (i < n && t < 16)
            copy_16(&slots[i % 2][t * 4 + (which == 3)], in + i * 64 + t * 4); // a piece
        if (which != 4)
            asm volatile("cp.async.commit_group;" ::: "memory");
        if (i == 0)
            continue;
        if (which == 1)
            asm volatile("cp.async.wait_group 2;" ::: "memory");
        else
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        if (which != 2)
            __syncthreads();
        sum += slots[(i - 1) % 2][63 - t]; // use
        __syncthreads();
    }
    out[t] = sum;
}

// A copy with a tail of zeros, waited for by an mbarrier.
extern "C" __global__ void tails(const float *in, float *out)
{
    __shared__ alignas(16) float tile[64];
    __shared__ alignas(8) unsigned long long bar;
    const int t = threadIdx.x;
    if (t == 0)
        init(&bar, 16);
    __syncthreads();
    if (t < 16) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(place(tile + 4 * t)),
                     "l"(in + 4 * t), "r"(t < 15 ? 16 : 4)
                     : "memory");
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(place(&bar))
                     : "memory");
    }
    wait(&bar, 0);
    out[t] = tile[t];
    __syncthreads();
    if (t == 0)
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(place(&bar)) : "memory");
}

// Clusters of 2: the first block's copy goes to both, and each adds the other's half.
extern "C" __global__ void clusters(int which, const float *in, float *out)
{
    __shared__ alignas(16) float tile[64];
    __shared__ alignas(8) unsigned long long bar, done;
    const int t = threadIdx.x;
    unsigned rank, there, far;
    float theirs;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t == 0) {
        init(&bar, 1);
        init(&done, 2); // done
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        expect(&bar, 256);
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    if (which != 1)
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (rank == 0 && t == 0)
        bulk_both(tile, in, 256, &bar); // multicast
    wait(&bar, 0);
    tile[t] += (float)rank; // mine
    if (which != 2) {
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    }
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(there)
                 : "r"(place(tile)), "r"(rank ^ 1));
    theirs = far_load(there + t * 4 - 16); // theirs
    out[blockIdx.x * 64 + t] = theirs;
    // each block's first thread arrives at both mbarriers when it has read
    __syncthreads();
    if (t < 2) {
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                     : "=r"(far)
                     : "r"(place(&done)), "r"(t));
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(far)
                     : "memory");
    }
    if (which != 3)
        wait(&done, 0);
}

// Each thread stores a number to its counterpart's buffer in the other block, without a fence or a barrier of both.
extern "C" __global__ void exchange(int which, const float *in, float *out)
{
    __shared__ float buffer[64];
    __shared__ alignas(8) unsigned long long received;
    const int t = threadIdx.x;
    unsigned rank, to, counter;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t == 0) {
        init(&received, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (t == 0)
        expect(&received, which == 1 ? 252 : 256);
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(place(buffer + t)), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(counter)
        : "r"(place(&received)), "r"(which == 2 ? rank : rank ^ 1));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(to), // remote store
                 "f"(in[t] + (float)rank), "r"(counter)
                 : "memory");
    if (which == 3)
        buffer[t] = 0; // over it
    if (which != 4)
        wait(&received, 0);
    out[blockIdx.x * 64 + t] = buffer[t]; // read
}

// Clusters of 2: every thread reads the first block's value and says so, and then its first thread changes it.
extern "C" __global__ void readers(int which, const float *in, float *out)
{
    __shared__ float value;
    __shared__ alignas(8) unsigned long long done;
    const int t = threadIdx.x;
    unsigned rank, there, counter;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t == 0) {
        value = in[0] + 1;
        init(&done, 128);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(place(&value)));
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(counter) : "r"(place(&done)));
    // too early: of the same warp, of another, of the other block
    const bool early = (which == 1 && rank == 0 && t == 7) || (which == 2 && rank == 0 && t == 33) ||
                       (which >= 3 && rank == 1 && t == 40);
    float seen = early ? 0 : far_load(there - 16);
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(counter)
                 : "memory");
    if (early)
        seen = far_load(there - 16);
    out[blockIdx.x * 64 + t] = seen;
    if (rank == 0)
        wait(&done, 0);
    if (which == 4)
        __syncthreads(); // which the other block has no part in
    if (rank == 0 && t == 0)
        value = seen + 1; // changed
}
