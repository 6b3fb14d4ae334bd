// The device language of CUDA C++ for a host compiler: put in front of a kernel's unchanged source text.
// Includes no system header, so that a kernel compiles in a fraction of a second.
#pragma once
#include <kn_emu_abi.h>

// ---- keywords ----

#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __constant__
#define __managed__
// A block's threads share an operating system thread, and with it the thread-local image of the module.
#define __shared__ thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define __restrict __restrict__
#define __align__(n) __attribute__((aligned(n)))
// The standard's form may not follow __shared__; this one may.
#define alignas(...) __attribute__((aligned(__VA_ARGS__)))
#define __CUDACC__ 1
#define __CUDA_ARCH__ 900

#define KN_EMU_INLINE static inline __attribute__((always_inline))
// Where a call is in the text: the last parameter of what threads wait in.
#define KN_EMU_LINE int kn_emu_line = __builtin_LINE()

typedef decltype(sizeof(0)) size_t;
typedef decltype((char *)0 - (char *)0) ptrdiff_t;
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned char uchar;
typedef unsigned long ulong;

// ---- vector types ----

#define KN_EMU_VECTORS(T, N)                                                                       \
    struct N##1 { T x; };                                                                          \
    struct alignas(2 * sizeof(T)) N##2 { T x, y; };                                                \
    struct N##3 { T x, y, z; };                                                                    \
    struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) N##4 { T x, y, z, w; };                \
    KN_EMU_MAKERS(T, N)                                                                            \
    KN_EMU_INLINE N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; }
#define KN_EMU_MAKERS(T, N)                                                                        \
    KN_EMU_INLINE N##1 make_##N##1(T x) { return {x}; }                                            \
    KN_EMU_INLINE N##2 make_##N##2(T x, T y) { return {x, y}; }                                    \
    KN_EMU_INLINE N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
KN_EMU_VECTORS(signed char, char)
KN_EMU_VECTORS(unsigned char, uchar)
KN_EMU_VECTORS(short, short)
KN_EMU_VECTORS(unsigned short, ushort)
KN_EMU_VECTORS(int, int)
KN_EMU_VECTORS(long long, longlong)
KN_EMU_VECTORS(unsigned long long, ulonglong)
KN_EMU_VECTORS(float, float)
KN_EMU_VECTORS(double, double)
struct uint1 {
    unsigned x;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
typedef kn_emu_dim uint3;
KN_EMU_MAKERS(unsigned, uint)
KN_EMU_INLINE uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
#undef KN_EMU_VECTORS
#undef KN_EMU_MAKERS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

// ---- the emulator: see kn_emu_abi.h ----

#pragma GCC visibility push(hidden)
extern "C" {
unsigned kn_emu_thread_idx_at(int axis) __attribute__((const));
unsigned kn_emu_block_idx_at(int axis) __attribute__((const));
unsigned kn_emu_block_dim_at(int axis) __attribute__((const));
unsigned kn_emu_grid_dim_at(int axis) __attribute__((const));
unsigned kn_emu_cluster_idx_at(int axis) __attribute__((const));
unsigned kn_emu_cluster_dim_at(int axis) __attribute__((const));
unsigned kn_emu_lane_at(int axis) __attribute__((const));
kn_emu_word kn_emu_warp(int op, unsigned mask, kn_emu_word value, unsigned b, unsigned c, int line);
int kn_emu_barrier_wait(int kind, int predicate, int line);
void kn_emu_cluster_arrive(int relaxed, int line);
kn_emu_word kn_emu_atomic(int op, int type, void *p, kn_emu_word value, kn_emu_word compare,
                          int line);
void kn_emu_fence(int scope);
void kn_emu_relax(int line);
void *kn_emu_peer(const void *shared, unsigned rank, int line);
unsigned kn_emu_to_shared(const void *p, int line);
void *kn_emu_from_shared(unsigned address, int cluster, int line);
unsigned kn_emu_map_rank(unsigned address, unsigned rank, int line);
void kn_emu_copy_async(void *to, const void *from, unsigned bytes, unsigned zeros,
                       unsigned alignment, int line);
void kn_emu_copy_commit(int kind);
void kn_emu_copy_wait(int kind, unsigned newest, int line);
void kn_emu_bulk_copy(int kind, void *to, const void *from, unsigned bytes, void *barrier,
                      unsigned mask, int line);
kn_emu_word kn_emu_mbarrier_call(int op, void *p, kn_emu_word a, unsigned bytes, int line);
void kn_emu_proxy_fence();
void kn_emu_trap(const char *message, int line);
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
}
#pragma GCC visibility pop
extern "C" int printf(const char *, ...);

// Each number is a call of its own: those that are not used fall away, the others leave their loops. (No
// constructor is called, for that would be checked, and keep the numbers in memory.)
#define KN_EMU_PLACE(name) (uint3{name##_at(0), name##_at(1), name##_at(2)})
#define threadIdx KN_EMU_PLACE(kn_emu_thread_idx)
#define blockIdx KN_EMU_PLACE(kn_emu_block_idx)
#define blockDim (__builtin_bit_cast(dim3, KN_EMU_PLACE(kn_emu_block_dim)))
#define gridDim (__builtin_bit_cast(dim3, KN_EMU_PLACE(kn_emu_grid_dim)))
KN_EMU_INLINE uint3 kn_emu_cluster_idx() { return KN_EMU_PLACE(kn_emu_cluster_idx); }
KN_EMU_INLINE uint3 kn_emu_cluster_dim() { return KN_EMU_PLACE(kn_emu_cluster_dim); }
KN_EMU_INLINE uint3 kn_emu_lane() { return KN_EMU_PLACE(kn_emu_lane); }
static constexpr int warpSize = 32;

#define assert(condition)                                                                          \
    ((condition) ? (void)0 : kn_emu_trap("assertion failed: " #condition, __LINE__))
KN_EMU_INLINE void __trap(KN_EMU_LINE) { kn_emu_trap("__trap()", kn_emu_line); }

namespace kn_emu {
template <class T> struct same {
    typedef T type;
};
template <class T> KN_EMU_INLINE kn_emu_word bits(T v)
{
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    if constexpr (sizeof(T) == 8)
        return __builtin_bit_cast(kn_emu_word, v);
    else if constexpr (sizeof(T) == 4)
        return __builtin_bit_cast(unsigned, v);
    else if constexpr (sizeof(T) == 2)
        return __builtin_bit_cast(unsigned short, v);
    else
        return __builtin_bit_cast(unsigned char, v);
}
template <class T> KN_EMU_INLINE T value(kn_emu_word w)
{
    if constexpr (sizeof(T) == 8)
        return __builtin_bit_cast(T, w);
    else if constexpr (sizeof(T) == 4)
        return __builtin_bit_cast(T, (unsigned)w);
    else if constexpr (sizeof(T) == 2)
        return __builtin_bit_cast(T, (unsigned short)w);
    else
        return __builtin_bit_cast(T, (unsigned char)w);
}
// The clamp and the segment mask of a shuffle within `width` lanes, as the instruction has them.
KN_EMU_INLINE unsigned segment(int width, unsigned clamp)
{
    return ((32u - width) << 8 & 0x1f00) | clamp;
}

// The type of an atomic operation.
template <class T> struct type_of;
#define KN_EMU_TYPE(T, name)                                                                       \
    template <> struct type_of<T> {                                                                \
        static constexpr int of = name;                                                            \
    };
KN_EMU_TYPE(int, KN_EMU_I32)
KN_EMU_TYPE(unsigned, KN_EMU_U32)
KN_EMU_TYPE(long, KN_EMU_I64)
KN_EMU_TYPE(long long, KN_EMU_I64)
KN_EMU_TYPE(unsigned long, KN_EMU_U64)
KN_EMU_TYPE(unsigned long long, KN_EMU_U64)
KN_EMU_TYPE(float, KN_EMU_F32)
KN_EMU_TYPE(double, KN_EMU_F64)
#undef KN_EMU_TYPE
// How a kernel's entry calls it: each parameter is copied from where its pointer leads.
template <unsigned... I> struct indices {
};
template <unsigned N, unsigned... I> struct indices_to : indices_to<N - 1, N - 1, I...> {
};
template <unsigned... I> struct indices_to<0, I...> {
    typedef indices<I...> type;
};
template <class T> struct plain {
    typedef T type;
};
template <class T> struct plain<const T> {
    typedef T type;
};
template <class... A, unsigned... I>
__attribute__((no_sanitize("thread", "alignment"))) inline void
call(void (*kernel)(A...), void *const *params, indices<I...>)
{
    kernel(*(typename plain<A>::type *)params[I]...);
}
template <class... A>
__attribute__((no_sanitize("thread", "alignment"))) inline void call(void (*kernel)(A...),
                                                                     void *const *params)
{
    call(kernel, params, typename indices_to<sizeof...(A)>::type());
}
// What can be reached through a parameter: see kn_emu_param.
template <class T> struct kind_of {
    static constexpr char is = __is_class(T) || __is_union(T) ? '?' : '.';
};
template <class T> struct kind_of<const T> : kind_of<T> {
};
template <class T> struct kind_of<T &> {
    static constexpr char is = '?';
};
template <class T> struct kind_of<T *> {
    static constexpr char is = kind_of<T>::is == '.' || __is_class(T) ? 'p' : '?';
};
template <class T> struct kind_of<const T *> {
    static constexpr char is = kind_of<T>::is == '.' || __is_class(T) ? 'c' : '?';
};
template <class T> struct dtype_of {
    static constexpr unsigned char is = 0;
};
#define KN_EMU_DTYPE(T, number)                                                                    \
    template <> struct kn_emu::dtype_of<T> {                                                       \
        static constexpr unsigned char is = number;                                                \
    };
template <class T> struct size_of {
    static constexpr unsigned short is = sizeof(T);
};
template <> struct size_of<void> {
    static constexpr unsigned short is = 0;
};
template <class T> struct param_of {
    static constexpr kn_emu_param is = {kind_of<T>::is, dtype_of<typename plain<T>::type>::is,
                                        sizeof(T), 0};
};
template <class T> struct param_of<T *> {
    typedef typename plain<T>::type element;
    static constexpr kn_emu_param is = {kind_of<T *>::is, dtype_of<element>::is, sizeof(T *),
                                        size_of<element>::is};
};
template <class T> struct param_of<T *const> : param_of<T *> {
};
template <unsigned N> struct params {
    kn_emu_param at[N];
};
template <class... A> constexpr params<sizeof...(A) + 1> params_of(void (*)(A...))
{
    return {{param_of<A>::is..., {}}};
}
} // namespace kn_emu
KN_EMU_DTYPE(bool, 1)
KN_EMU_DTYPE(char, 2)
KN_EMU_DTYPE(signed char, 2)
KN_EMU_DTYPE(short, 3)
KN_EMU_DTYPE(int, 4)
KN_EMU_DTYPE(long, 5)
KN_EMU_DTYPE(long long, 5)
KN_EMU_DTYPE(unsigned char, 6)
KN_EMU_DTYPE(unsigned short, 7)
KN_EMU_DTYPE(unsigned, 8)
KN_EMU_DTYPE(unsigned long, 9)
KN_EMU_DTYPE(unsigned long long, 9)
KN_EMU_DTYPE(float, 12)
KN_EMU_DTYPE(double, 13)

// ---- barriers and fences ----

KN_EMU_INLINE void __syncthreads(KN_EMU_LINE)
{
    kn_emu_barrier_wait(KN_EMU_BARRIER_SYNC, 0, kn_emu_line);
}
KN_EMU_INLINE int __syncthreads_count(int p, KN_EMU_LINE)
{
    return kn_emu_barrier_wait(KN_EMU_BARRIER_COUNT, p, kn_emu_line);
}
KN_EMU_INLINE int __syncthreads_and(int p, KN_EMU_LINE)
{
    return kn_emu_barrier_wait(KN_EMU_BARRIER_AND, p, kn_emu_line);
}
KN_EMU_INLINE int __syncthreads_or(int p, KN_EMU_LINE)
{
    return kn_emu_barrier_wait(KN_EMU_BARRIER_OR, p, kn_emu_line);
}
KN_EMU_INLINE void __threadfence_block() { kn_emu_fence(0); }
KN_EMU_INLINE void __threadfence() { kn_emu_fence(1); }
KN_EMU_INLINE void __threadfence_system() { kn_emu_fence(1); }
KN_EMU_INLINE void __nanosleep(unsigned, KN_EMU_LINE) { kn_emu_relax(kn_emu_line); }

// ---- clusters ----

KN_EMU_INLINE void __cluster_barrier_arrive(KN_EMU_LINE) { kn_emu_cluster_arrive(0, kn_emu_line); }
KN_EMU_INLINE void __cluster_barrier_arrive_relaxed(KN_EMU_LINE)
{
    kn_emu_cluster_arrive(1, kn_emu_line);
}
KN_EMU_INLINE void __cluster_barrier_wait(KN_EMU_LINE)
{
    kn_emu_barrier_wait(KN_EMU_BARRIER_CLUSTER, 0, kn_emu_line);
}
KN_EMU_INLINE void *__cluster_map_shared_rank(const void *p, unsigned rank, KN_EMU_LINE)
{
    return kn_emu_peer(p, rank, kn_emu_line);
}
KN_EMU_INLINE dim3 __clusterDim() { return kn_emu_cluster_dim(); }
KN_EMU_INLINE dim3 __clusterRelativeBlockIdx() { return kn_emu_cluster_idx(); }
KN_EMU_INLINE unsigned __clusterSizeInBlocks()
{
    const uint3 d = kn_emu_cluster_dim();
    return d.x * d.y * d.z;
}
KN_EMU_INLINE unsigned __clusterRelativeBlockRank()
{
    const uint3 i = kn_emu_cluster_idx(), d = kn_emu_cluster_dim();
    return (i.z * d.y + i.y) * d.x + i.x;
}
KN_EMU_INLINE dim3 __clusterIdx()
{
    const uint3 b = blockIdx, d = kn_emu_cluster_dim();
    return dim3(b.x / d.x, b.y / d.y, b.z / d.z);
}
KN_EMU_INLINE dim3 __clusterGridDimInClusters()
{
    const uint3 g = gridDim, d = kn_emu_cluster_dim();
    return dim3(g.x / d.x, g.y / d.y, g.z / d.z);
}

// ---- warps ----

#define KN_EMU_SHUFFLE(name, op, operand, clamp)                                                   \
    template <class T>                                                                             \
    KN_EMU_INLINE T name(unsigned mask, T v, operand b, int width = 32, KN_EMU_LINE)               \
    {                                                                                              \
        return kn_emu::value<T>(kn_emu_warp(op | (int)sizeof(T) << 8, mask, kn_emu::bits(v),       \
                                            (unsigned)b, kn_emu::segment(width, clamp),            \
                                            kn_emu_line));                                         \
    }
KN_EMU_SHUFFLE(__shfl_sync, KN_EMU_SHFL, int, 31)
KN_EMU_SHUFFLE(__shfl_up_sync, KN_EMU_SHFL_UP, unsigned, 0)
KN_EMU_SHUFFLE(__shfl_down_sync, KN_EMU_SHFL_DOWN, unsigned, 31)
KN_EMU_SHUFFLE(__shfl_xor_sync, KN_EMU_SHFL_XOR, int, 31)
#undef KN_EMU_SHUFFLE

KN_EMU_INLINE unsigned __ballot_sync(unsigned mask, int p, KN_EMU_LINE)
{
    return (unsigned)kn_emu_warp(KN_EMU_BALLOT, mask, p != 0, 0, 0, kn_emu_line);
}
KN_EMU_INLINE int __any_sync(unsigned mask, int p, KN_EMU_LINE)
{
    return (int)kn_emu_warp(KN_EMU_ANY, mask, p != 0, 0, 0, kn_emu_line);
}
KN_EMU_INLINE int __all_sync(unsigned mask, int p, KN_EMU_LINE)
{
    return (int)kn_emu_warp(KN_EMU_ALL, mask, p != 0, 0, 0, kn_emu_line);
}
KN_EMU_INLINE void __syncwarp(unsigned mask = 0xffffffffu, KN_EMU_LINE)
{
    kn_emu_warp(KN_EMU_SYNCWARP, mask, 0, 0, 0, kn_emu_line);
}
KN_EMU_INLINE unsigned __activemask(KN_EMU_LINE)
{
    return (unsigned)kn_emu_warp(KN_EMU_ACTIVEMASK, 0, 0, 0, 0, kn_emu_line);
}
template <class T> KN_EMU_INLINE unsigned __match_any_sync(unsigned mask, T v, KN_EMU_LINE)
{
    return (unsigned)kn_emu_warp(KN_EMU_MATCH_ANY, mask, kn_emu::bits(v), 0, 0, kn_emu_line);
}
template <class T>
KN_EMU_INLINE unsigned __match_all_sync(unsigned mask, T v, int *all, KN_EMU_LINE)
{
    const unsigned same =
        (unsigned)kn_emu_warp(KN_EMU_MATCH_ALL, mask, kn_emu::bits(v), 0, 0, kn_emu_line);
    *all = same != 0;
    return same;
}
#define KN_EMU_REDUCE(name, T, op)                                                                 \
    KN_EMU_INLINE T name(unsigned mask, T v, KN_EMU_LINE)                                          \
    {                                                                                              \
        return (T)kn_emu_warp(op, mask, (unsigned)v, 0, 0, kn_emu_line);                           \
    }
KN_EMU_REDUCE(__reduce_add_sync, int, KN_EMU_REDUCE_ADD)
KN_EMU_REDUCE(__reduce_add_sync, unsigned, KN_EMU_REDUCE_ADD)
KN_EMU_REDUCE(__reduce_min_sync, int, KN_EMU_REDUCE_MIN)
KN_EMU_REDUCE(__reduce_min_sync, unsigned, KN_EMU_REDUCE_UMIN)
KN_EMU_REDUCE(__reduce_max_sync, int, KN_EMU_REDUCE_MAX)
KN_EMU_REDUCE(__reduce_max_sync, unsigned, KN_EMU_REDUCE_UMAX)
KN_EMU_REDUCE(__reduce_and_sync, unsigned, KN_EMU_REDUCE_AND)
KN_EMU_REDUCE(__reduce_or_sync, unsigned, KN_EMU_REDUCE_OR)
KN_EMU_REDUCE(__reduce_xor_sync, unsigned, KN_EMU_REDUCE_XOR)
#undef KN_EMU_REDUCE

// ---- atomics ----

#define KN_EMU_ATOMIC_SCOPE(name, op)                                                              \
    template <class T> KN_EMU_INLINE T name(T *p, typename kn_emu::same<T>::type v, KN_EMU_LINE)   \
    {                                                                                              \
        return kn_emu::value<T>(                                                                   \
            kn_emu_atomic(op, kn_emu::type_of<T>::of, p, kn_emu::bits(v), 0, kn_emu_line));        \
    }                                                                                              \
    template <class T>                                                                             \
    KN_EMU_INLINE T name(volatile T *p, typename kn_emu::same<T>::type v, KN_EMU_LINE)             \
    {                                                                                              \
        return name((T *)p, v, kn_emu_line);                                                       \
    }
#define KN_EMU_ATOMIC_FUNCTION(name, op)                                                           \
    KN_EMU_ATOMIC_SCOPE(name, op)                                                                  \
    KN_EMU_ATOMIC_SCOPE(name##_block, op)                                                          \
    KN_EMU_ATOMIC_SCOPE(name##_system, op)
KN_EMU_ATOMIC_FUNCTION(atomicAdd, KN_EMU_ATOMIC_ADD)
KN_EMU_ATOMIC_FUNCTION(atomicSub, KN_EMU_ATOMIC_SUB)
KN_EMU_ATOMIC_FUNCTION(atomicMin, KN_EMU_ATOMIC_MIN)
KN_EMU_ATOMIC_FUNCTION(atomicMax, KN_EMU_ATOMIC_MAX)
KN_EMU_ATOMIC_FUNCTION(atomicExch, KN_EMU_ATOMIC_EXCH)
KN_EMU_ATOMIC_FUNCTION(atomicAnd, KN_EMU_ATOMIC_AND)
KN_EMU_ATOMIC_FUNCTION(atomicOr, KN_EMU_ATOMIC_OR)
KN_EMU_ATOMIC_FUNCTION(atomicXor, KN_EMU_ATOMIC_XOR)
KN_EMU_ATOMIC_FUNCTION(atomicInc, KN_EMU_ATOMIC_INC)
KN_EMU_ATOMIC_FUNCTION(atomicDec, KN_EMU_ATOMIC_DEC)
#undef KN_EMU_ATOMIC_FUNCTION
#undef KN_EMU_ATOMIC_SCOPE
#define KN_EMU_ATOMIC_FUNCTION(name)                                                               \
    template <class T>                                                                             \
    KN_EMU_INLINE T name(T *p, typename kn_emu::same<T>::type compare,                             \
                         typename kn_emu::same<T>::type v, KN_EMU_LINE)                            \
    {                                                                                              \
        return kn_emu::value<T>(kn_emu_atomic(KN_EMU_ATOMIC_CAS, kn_emu::type_of<T>::of, p,        \
                                              kn_emu::bits(v), kn_emu::bits(compare),              \
                                              kn_emu_line));                                       \
    }
KN_EMU_ATOMIC_FUNCTION(atomicCAS)
KN_EMU_ATOMIC_FUNCTION(atomicCAS_block)
KN_EMU_ATOMIC_FUNCTION(atomicCAS_system)
#undef KN_EMU_ATOMIC_FUNCTION

// ---- loads and stores with cache hints ----

#define KN_EMU_LOAD(name)                                                                          \
    template <class T> KN_EMU_INLINE T name(const T *p) { return *p; }
KN_EMU_LOAD(__ldg)
KN_EMU_LOAD(__ldca)
KN_EMU_LOAD(__ldcg)
KN_EMU_LOAD(__ldcs)
KN_EMU_LOAD(__ldlu)
KN_EMU_LOAD(__ldcv)
#undef KN_EMU_LOAD
KN_EMU_INLINE void *__nv_associate_access_property(const void *p, unsigned long long)
{
    return const_cast<void *>(p);
}
#define KN_EMU_STORE(name)                                                                         \
    template <class T> KN_EMU_INLINE void name(T *p, typename kn_emu::same<T>::type v) { *p = v; }
KN_EMU_STORE(__stwb)
KN_EMU_STORE(__stcg)
KN_EMU_STORE(__stcs)
KN_EMU_STORE(__stwt)
#undef KN_EMU_STORE

// Shared addresses as numbers and back.
KN_EMU_INLINE size_t __cvta_generic_to_shared(const void *p, KN_EMU_LINE)
{
    return kn_emu_to_shared(p, kn_emu_line);
}
KN_EMU_INLINE size_t __cvta_generic_to_global(const void *p) { return (size_t)p; }
KN_EMU_INLINE void *__cvta_shared_to_generic(size_t p, KN_EMU_LINE)
{
    return kn_emu_from_shared((unsigned)p, 1, kn_emu_line);
}
KN_EMU_INLINE void *__cvta_global_to_generic(size_t p) { return (void *)p; }

#include <kn_emu_math.h>
