// The PTX instructions of asm statements as functions: what ptx.def names. Registers are C++ variables,
// addresses numbers of 64 bits, those of shared memory as __cvta_generic_to_shared() gives them.
#pragma once
#include <cooperative_groups.h>

namespace kn_emu_ptx {
typedef unsigned long long address;
typedef unsigned long long word;

// ---- operands ----

template <class A, class B> struct is_same {
    static constexpr bool value = false;
};
template <class A> struct is_same<A, A> {
    static constexpr bool value = true;
};
template <class T> struct is_float {
    static constexpr bool value = is_same<T, float>::value || is_same<T, double>::value;
};
template <class T> struct is_pointer {
    static constexpr bool value = false;
};
template <class T> struct is_pointer<T *> {
    static constexpr bool value = true;
};
// Registers have no type: bits stay when the two sides have one size and are not both integers.
template <class T, class V> KN_EMU_INLINE T as(V v)
{
    if constexpr (is_same<T, V>::value || is_pointer<T>::value || is_pointer<V>::value)
        return (T)v;
    else if constexpr (sizeof(T) == sizeof(V) &&
                       (__is_class(T) || __is_class(V) || is_float<T>::value != is_float<V>::value))
        return __builtin_bit_cast(T, v);
    else
        return (T)v;
}
template <class T, class V> KN_EMU_INLINE T in(V v) { return as<T>(v); }
template <class D, class V> KN_EMU_INLINE void out(D &d, V v) { d = as<D>(v); }
struct sink {};
template <class T> struct bare {
    typedef T type;
};
template <class T> struct bare<T &> {
    typedef T type;
};
template <class D, class V> KN_EMU_INLINE void put(D &&d, V v)
{
    d = as<typename bare<D>::type>(v);
}
template <class V> KN_EMU_INLINE void put(sink, V) {}

template <class T, int N> struct alignas(sizeof(T) * N) vec {
    T at[N];
};
// Into several registers: a vector's elements, or the parts of a number from the lowest up.
template <class V, class... D> KN_EMU_INLINE void put_each(V v, D &&...d)
{
    int i = 0;
    if constexpr (__is_class(V))
        (put(d, v.at[i++]), ...);
    else if constexpr (sizeof(V) / sizeof...(D) == 4)
        (put(d, (unsigned)(v >> 32 * i++)), ...);
    else
        (put(d, (unsigned short)(v >> 16 * i++)), ...);
}
template <class... V> struct bunch; // of any registers
template <> struct bunch<> {
};
template <class V, class... More> struct bunch<V, More...> {
    V first;
    bunch<More...> more;
};
KN_EMU_INLINE bunch<> several() { return {}; }
template <class V, class... More> KN_EMU_INLINE bunch<V, More...> several(V v, More... more)
{
    return {v, several(more...)};
}
template <class T> KN_EMU_INLINE void spread(T *, const bunch<> &) {}
template <class T, class V, class... More>
KN_EMU_INLINE void spread(T *to, const bunch<V, More...> &b)
{
    *to = as<T>(b.first);
    spread(to + 1, b.more);
}

// ---- memory ----

enum space { anywhere, shared, cluster };
template <space S> KN_EMU_INLINE void *at(address a, int line)
{
    if constexpr (S == anywhere)
        return (void *)a;
    else
        return kn_emu_from_shared((unsigned)a, S == cluster, line);
}
template <class T, int N> struct element {
    typedef vec<T, N> type;
};
template <class T> struct element<T, 1> {
    typedef T type;
};
template <class T, int N, space S>
KN_EMU_INLINE typename element<T, N>::type load(address a, KN_EMU_LINE)
{
    return *(const typename element<T, N>::type *)at<S>(a, kn_emu_line);
}
template <class T, int N, space S>
KN_EMU_INLINE typename element<T, N>::type load_volatile(address a, KN_EMU_LINE)
{
    const volatile T *p = (const volatile T *)at<S>(a, kn_emu_line);
    if constexpr (N == 1) {
        return *p;
    } else {
        vec<T, N> v;
        for (int i = 0; i < N; ++i)
            v.at[i] = p[i];
        return v;
    }
}
template <class T, int N, space S>
KN_EMU_INLINE typename element<T, N>::type load_acquire(address a, KN_EMU_LINE)
{
    const auto v = load_volatile<T, N, S>(a, kn_emu_line);
    kn_emu_fence(1);
    return v;
}
template <class T, int N, space S, class V> KN_EMU_INLINE void store(address a, V v, KN_EMU_LINE)
{
    typename element<T, N>::type *p = (typename element<T, N>::type *)at<S>(a, kn_emu_line);
    if constexpr (N == 1) {
        *p = as<T>(v);
    } else {
        vec<T, N> all;
        spread(all.at, v);
        *p = all;
    }
}
template <class T, int N, space S, class V>
KN_EMU_INLINE void store_volatile(address a, V v, KN_EMU_LINE)
{
    volatile T *p = (volatile T *)at<S>(a, kn_emu_line);
    if constexpr (N == 1) {
        *p = as<T>(v);
    } else {
        vec<T, N> all;
        spread(all.at, v);
        for (int i = 0; i < N; ++i)
            p[i] = all.at[i];
    }
}
template <class T, int N, space S, class V>
KN_EMU_INLINE void store_release(address a, V v, KN_EMU_LINE)
{
    kn_emu_fence(1);
    store_volatile<T, N, S>(a, v, kn_emu_line);
}

#define KN_EMU_ATOM(name, op)                                                                      \
    template <class T, space S, class V> KN_EMU_INLINE T atom_##name(address a, V v, KN_EMU_LINE)  \
    {                                                                                              \
        return kn_emu::value<T>(kn_emu_atomic(op, kn_emu::type_of<T>::of, at<S>(a, kn_emu_line),   \
                                              kn_emu::bits(as<T>(v)), 0, kn_emu_line));            \
    }                                                                                              \
    template <class T, space S, class V>                                                           \
    KN_EMU_INLINE T fenced_##name(address a, V v, KN_EMU_LINE)                                     \
    {                                                                                              \
        kn_emu_fence(1);                                                                           \
        const T old = atom_##name<T, S>(a, v, kn_emu_line);                                        \
        kn_emu_fence(1);                                                                           \
        return old;                                                                                \
    }
KN_EMU_ATOM(add, KN_EMU_ATOMIC_ADD)
KN_EMU_ATOM(min, KN_EMU_ATOMIC_MIN)
KN_EMU_ATOM(max, KN_EMU_ATOMIC_MAX)
KN_EMU_ATOM(exch, KN_EMU_ATOMIC_EXCH)
KN_EMU_ATOM(and, KN_EMU_ATOMIC_AND)
KN_EMU_ATOM(or, KN_EMU_ATOMIC_OR)
KN_EMU_ATOM(xor, KN_EMU_ATOMIC_XOR)
KN_EMU_ATOM(inc, KN_EMU_ATOMIC_INC)
KN_EMU_ATOM(dec, KN_EMU_ATOMIC_DEC)
#undef KN_EMU_ATOM
template <class T, space S, class C, class V>
KN_EMU_INLINE T atom_cas(address a, C compare, V v, KN_EMU_LINE)
{
    return kn_emu::value<T>(kn_emu_atomic(KN_EMU_ATOMIC_CAS, kn_emu::type_of<T>::of,
                                          at<S>(a, kn_emu_line), kn_emu::bits(as<T>(v)),
                                          kn_emu::bits(as<T>(compare)), kn_emu_line));
}
template <class T, space S, class C, class V>
KN_EMU_INLINE T fenced_cas(address a, C compare, V v, KN_EMU_LINE)
{
    kn_emu_fence(1);
    const T old = atom_cas<T, S>(a, compare, v, kn_emu_line);
    kn_emu_fence(1);
    return old;
}

template <class... A> KN_EMU_INLINE void nothing(A...) {}
template <class... A> KN_EMU_INLINE word policy(A...) { return 0; }
template <class V> KN_EMU_INLINE word to_shared(V p, KN_EMU_LINE)
{
    return kn_emu_to_shared((const void *)(address)p, kn_emu_line);
}
template <class V> KN_EMU_INLINE word from_shared(V a, KN_EMU_LINE)
{
    return (word)kn_emu_from_shared((unsigned)a, 1, kn_emu_line);
}
template <class V> KN_EMU_INLINE V same(V v) { return v; }
KN_EMU_INLINE word in_rank(word p, unsigned rank, KN_EMU_LINE)
{
    return (word)kn_emu_peer((const void *)p, rank, kn_emu_line);
}
KN_EMU_INLINE unsigned map_rank(unsigned a, unsigned rank, KN_EMU_LINE)
{
    return kn_emu_map_rank(a, rank, kn_emu_line);
}

// ---- asynchronous copies ----

// Of functions that have an operand more or less: no number is taken for the line.
struct place {
    int line;
};
#define KN_EMU_HERE place here = {__builtin_LINE()}

KN_EMU_INLINE void copy_async(address to, address from, unsigned bytes, unsigned taken, KN_EMU_HERE)
{
    if (bytes != 4 && bytes != 8 && bytes != 16)
        kn_emu_trap("cp.async copies 4, 8 or 16 bytes", here.line);
    kn_emu_copy_async(at<shared>(to, here.line), (const void *)from, bytes, bytes - taken, bytes,
                      here.line);
}
KN_EMU_INLINE void copy_async(address to, address from, unsigned bytes, KN_EMU_HERE)
{
    copy_async(to, from, bytes, bytes, here);
}
KN_EMU_INLINE void copy_async_16(address to, address from, unsigned bytes, unsigned taken,
                                 KN_EMU_HERE)
{
    if (bytes != 16)
        kn_emu_trap("cp.async.cg copies 16 bytes", here.line);
    copy_async(to, from, bytes, taken, here);
}
KN_EMU_INLINE void copy_async_16(address to, address from, unsigned bytes, KN_EMU_HERE)
{
    copy_async_16(to, from, bytes, bytes, here);
}
KN_EMU_INLINE void commit_group() { kn_emu_copy_commit(KN_EMU_COPY_THREAD); }
KN_EMU_INLINE void wait_group(unsigned newest, KN_EMU_LINE)
{
    kn_emu_copy_wait(KN_EMU_COPY_THREAD, newest, kn_emu_line);
}
KN_EMU_INLINE void wait_all(KN_EMU_LINE)
{
    kn_emu_copy_commit(KN_EMU_COPY_THREAD);
    kn_emu_copy_wait(KN_EMU_COPY_THREAD, 0, kn_emu_line);
}
KN_EMU_INLINE void bulk_load(address to, address from, unsigned bytes, address barrier, KN_EMU_LINE)
{
    kn_emu_bulk_copy(KN_EMU_BULK_LOAD, at<cluster>(to, kn_emu_line), (const void *)from, bytes,
                     at<cluster>(barrier, kn_emu_line), 0, kn_emu_line);
}
KN_EMU_INLINE void bulk_multicast(address to, address from, unsigned bytes, address barrier,
                                  unsigned mask, KN_EMU_LINE)
{
    kn_emu_bulk_copy(KN_EMU_BULK_MULTICAST, at<cluster>(to, kn_emu_line), (const void *)from, bytes,
                     at<cluster>(barrier, kn_emu_line), mask, kn_emu_line);
}
KN_EMU_INLINE void bulk_send(address to, address from, unsigned bytes, address barrier, KN_EMU_LINE)
{
    kn_emu_bulk_copy(KN_EMU_BULK_LOAD, at<cluster>(to, kn_emu_line), at<shared>(from, kn_emu_line),
                     bytes, at<cluster>(barrier, kn_emu_line), 0, kn_emu_line);
}
KN_EMU_INLINE void bulk_store(address to, address from, unsigned bytes, KN_EMU_LINE)
{
    kn_emu_bulk_copy(KN_EMU_BULK_STORE, (void *)to, at<shared>(from, kn_emu_line), bytes, nullptr,
                     0, kn_emu_line);
}
template <class T, int N, class V>
KN_EMU_INLINE void store_async(address to, V value, address barrier, KN_EMU_LINE)
{
    vec<T, N> all;
    if constexpr (N == 1)
        all.at[0] = as<T>(value);
    else
        spread(all.at, value);
    kn_emu_bulk_copy(KN_EMU_BULK_VALUE, at<cluster>(to, kn_emu_line), &all, sizeof all,
                     at<cluster>(barrier, kn_emu_line), 0, kn_emu_line);
}
KN_EMU_INLINE void bulk_commit() { kn_emu_copy_commit(KN_EMU_COPY_BULK); }
KN_EMU_INLINE void bulk_wait(unsigned newest, KN_EMU_LINE)
{
    kn_emu_copy_wait(KN_EMU_COPY_BULK, newest, kn_emu_line);
}

// ---- mbarriers ----

template <space S>
KN_EMU_INLINE word on_mbarrier(int op, address a, word value, unsigned bytes, int line)
{
    return kn_emu_mbarrier_call(op, at<S>(a, line), value, bytes, line);
}
template <space S> KN_EMU_INLINE void mbarrier_init(address a, unsigned count, KN_EMU_LINE)
{
    on_mbarrier<S>(KN_EMU_MBARRIER_INIT, a, count, 0, kn_emu_line);
}
template <space S> KN_EMU_INLINE void mbarrier_inval(address a, KN_EMU_LINE)
{
    on_mbarrier<S>(KN_EMU_MBARRIER_INVAL, a, 0, 0, kn_emu_line);
}
template <space S> KN_EMU_INLINE void mbarrier_expect(address a, unsigned bytes, KN_EMU_LINE)
{
    on_mbarrier<S>(KN_EMU_MBARRIER_EXPECT, a, 0, bytes, kn_emu_line);
}
template <space S> KN_EMU_INLINE word mbarrier_arrive(address a, unsigned n, KN_EMU_HERE)
{
    return on_mbarrier<S>(KN_EMU_MBARRIER_ARRIVE, a, n, 0, here.line);
}
template <space S> KN_EMU_INLINE word mbarrier_arrive(address a, KN_EMU_HERE)
{
    return mbarrier_arrive<S>(a, 1, here);
}
template <space S> KN_EMU_INLINE word mbarrier_arrive_expect(address a, unsigned bytes, KN_EMU_LINE)
{
    return on_mbarrier<S>(KN_EMU_MBARRIER_ARRIVE, a, 1, bytes, kn_emu_line);
}
template <space S> KN_EMU_INLINE word mbarrier_drop(address a, KN_EMU_LINE)
{
    return on_mbarrier<S>(KN_EMU_MBARRIER_DROP, a, 1, 0, kn_emu_line);
}
template <space S> KN_EMU_INLINE void copies_arrive(address a, KN_EMU_LINE)
{
    on_mbarrier<S>(KN_EMU_MBARRIER_COPIES, a, 0, 0, kn_emu_line);
}
template <space S> KN_EMU_INLINE void copies_arrive_noinc(address a, KN_EMU_LINE)
{
    on_mbarrier<S>(KN_EMU_MBARRIER_COPIES, a, 1, 0, kn_emu_line);
}
// How long try_wait may take is an operand that means nothing here.
#define KN_EMU_WAIT(name, op)                                                                      \
    template <space S> KN_EMU_INLINE bool name(address a, word phase, KN_EMU_HERE)                 \
    {                                                                                              \
        return on_mbarrier<S>(op, a, phase, 0, here.line) != 0;                                    \
    }                                                                                              \
    template <space S> KN_EMU_INLINE bool name(address a, word phase, unsigned, KN_EMU_HERE)       \
    {                                                                                              \
        return name<S>(a, phase, here);                                                            \
    }
KN_EMU_WAIT(mbarrier_test, KN_EMU_MBARRIER_TEST)
KN_EMU_WAIT(mbarrier_try, KN_EMU_MBARRIER_TRY)
KN_EMU_WAIT(mbarrier_test_parity, KN_EMU_MBARRIER_TEST_PARITY)
KN_EMU_WAIT(mbarrier_try_parity, KN_EMU_MBARRIER_TRY_PARITY)
#undef KN_EMU_WAIT

// ---- fences and barriers ----

KN_EMU_INLINE void fence_proxy() { kn_emu_proxy_fence(); }
template <int SCOPE> KN_EMU_INLINE void fence() { kn_emu_fence(SCOPE); }
KN_EMU_INLINE void block_barrier(unsigned which, KN_EMU_LINE)
{
    if (which != 0)
        kn_emu_trap("the emulator knows no named barriers, only number 0", kn_emu_line);
    __syncthreads(kn_emu_line);
}
KN_EMU_INLINE void warp_barrier(unsigned mask, KN_EMU_LINE) { __syncwarp(mask, kn_emu_line); }
template <int RELAXED> KN_EMU_INLINE void cluster_arrive(KN_EMU_LINE)
{
    kn_emu_cluster_arrive(RELAXED, kn_emu_line);
}
KN_EMU_INLINE void cluster_wait(KN_EMU_LINE)
{
    kn_emu_barrier_wait(KN_EMU_BARRIER_CLUSTER, 0, kn_emu_line);
}
KN_EMU_INLINE void relax(unsigned, KN_EMU_LINE) { kn_emu_relax(kn_emu_line); }
KN_EMU_INLINE void trap(KN_EMU_LINE) { kn_emu_trap("trap", kn_emu_line); }

// ---- warps ----

#define KN_EMU_SHUFFLE(name, op)                                                                   \
    template <class T, class V>                                                                    \
    KN_EMU_INLINE T shuffle_##name(V v, unsigned b, unsigned c, unsigned mask, KN_EMU_LINE)        \
    {                                                                                              \
        return kn_emu::value<T>(kn_emu_warp(op | (int)sizeof(T) << 8, mask,                        \
                                            kn_emu::bits(as<T>(v)), b, c, kn_emu_line));           \
    }
KN_EMU_SHUFFLE(up, KN_EMU_SHFL_UP)
KN_EMU_SHUFFLE(down, KN_EMU_SHFL_DOWN)
KN_EMU_SHUFFLE(bfly, KN_EMU_SHFL_XOR)
KN_EMU_SHUFFLE(idx, KN_EMU_SHFL)
#undef KN_EMU_SHUFFLE
KN_EMU_INLINE unsigned vote_ballot(bool p, unsigned mask, KN_EMU_LINE)
{
    return __ballot_sync(mask, p, kn_emu_line);
}
KN_EMU_INLINE bool vote_any(bool p, unsigned mask, KN_EMU_LINE)
{
    return __any_sync(mask, p, kn_emu_line) != 0;
}
KN_EMU_INLINE bool vote_all(bool p, unsigned mask, KN_EMU_LINE)
{
    return __all_sync(mask, p, kn_emu_line) != 0;
}
KN_EMU_INLINE unsigned active_mask(KN_EMU_LINE) { return __activemask(kn_emu_line); }
template <class T, class V> KN_EMU_INLINE unsigned match_any(V v, unsigned mask, KN_EMU_LINE)
{
    return __match_any_sync(mask, as<T>(v), kn_emu_line);
}
#define KN_EMU_REDUX(name)                                                                         \
    template <class T> KN_EMU_INLINE T redux_##name(T v, unsigned mask, KN_EMU_LINE)               \
    {                                                                                              \
        return __reduce_##name##_sync(mask, v, kn_emu_line);                                       \
    }
KN_EMU_REDUX(add)
KN_EMU_REDUX(min)
KN_EMU_REDUX(max)
KN_EMU_REDUX(and)
KN_EMU_REDUX(or)
KN_EMU_REDUX(xor)
#undef KN_EMU_REDUX
// The lane that leads, and whether it is this one.
KN_EMU_INLINE vec<unsigned, 2> elect(unsigned mask, KN_EMU_LINE)
{
    const unsigned lanes = __ballot_sync(mask, 1, kn_emu_line), leader = __ffs((int)lanes) - 1;
    return {{leader, leader == kn_emu_lane().x}};
}

// ---- special registers ----

#define KN_EMU_PLACES(name, place)                                                                 \
    KN_EMU_INLINE unsigned special_##name##_x() { return place.x; }                                \
    KN_EMU_INLINE unsigned special_##name##_y() { return place.y; }                                \
    KN_EMU_INLINE unsigned special_##name##_z() { return place.z; }
KN_EMU_PLACES(tid, threadIdx)
KN_EMU_PLACES(ntid, blockDim)
KN_EMU_PLACES(ctaid, blockIdx)
KN_EMU_PLACES(nctaid, gridDim)
KN_EMU_PLACES(clusterid, __clusterIdx())
KN_EMU_PLACES(nclusterid, __clusterGridDimInClusters())
KN_EMU_PLACES(cluster_ctaid, kn_emu_cluster_idx())
KN_EMU_PLACES(cluster_nctaid, kn_emu_cluster_dim())
#undef KN_EMU_PLACES
// A GPU of four units, to which blocks go in turn.
KN_EMU_INLINE unsigned special_nsmid() { return 4; }
KN_EMU_INLINE unsigned special_smid()
{
    return (unsigned)(cooperative_groups::grid_group::block_rank() % special_nsmid());
}
KN_EMU_INLINE word special_gridid() { return 0; }
KN_EMU_INLINE unsigned special_laneid() { return kn_emu_lane().x; }
KN_EMU_INLINE unsigned special_warpid() { return kn_emu_lane().y / 32; }
KN_EMU_INLINE unsigned special_nwarpid() { return (kn_emu_lane().z + 31) / 32; }
KN_EMU_INLINE unsigned special_cluster_ctarank()
{
    return cooperative_groups::cluster_group::block_rank();
}
KN_EMU_INLINE unsigned special_cluster_nctarank()
{
    return cooperative_groups::cluster_group::num_blocks();
}
KN_EMU_INLINE unsigned special_clock() { return (unsigned)clock64(); }
KN_EMU_INLINE word special_clock64() { return (word)clock64(); }
KN_EMU_INLINE word special_globaltimer() { return kn_emu_global_timer(); }
KN_EMU_INLINE unsigned special_lanemask_eq() { return 1u << kn_emu_lane().x; }
KN_EMU_INLINE unsigned special_lanemask_lt() { return special_lanemask_eq() - 1; }
KN_EMU_INLINE unsigned special_lanemask_le() { return special_lanemask_eq() * 2 - 1; }
KN_EMU_INLINE unsigned special_lanemask_gt() { return ~special_lanemask_le(); }
KN_EMU_INLINE unsigned special_lanemask_ge() { return ~special_lanemask_lt(); }
} // namespace kn_emu_ptx

#include <kn_emu_ptx_numbers.h>
