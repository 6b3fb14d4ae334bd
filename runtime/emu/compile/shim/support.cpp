// The functions of a module that lead to the emulator: see abi.h. Compiled once and linked into every
// module, without the instrumentation that kernels get.
#include <kn_emu_abi.h>

#define PC __builtin_return_address(0)
#define SITE kn_emu_site{line, PC}

extern "C" {
static kn_emu_calls_table kn_emu_calls;
__attribute__((visibility("default"))) kn_emu_calls_table *kn_emu_find_calls() { return &kn_emu_calls; }
// The module's thread-local image is the block's shared memory; this finds where it lies.
__attribute__((visibility("default"))) thread_local char kn_emu_anchor;
__attribute__((visibility("default"))) void *kn_emu_find_anchor() { return &kn_emu_anchor; }

unsigned kn_emu_thread_idx_at(int axis) { return kn_emu_calls.thread_idx(axis); }
unsigned kn_emu_block_idx_at(int axis) { return kn_emu_calls.block_idx(axis); }
unsigned kn_emu_block_dim_at(int axis) { return kn_emu_calls.block_dim(axis); }
unsigned kn_emu_grid_dim_at(int axis) { return kn_emu_calls.grid_dim(axis); }
unsigned kn_emu_cluster_idx_at(int axis) { return kn_emu_calls.cluster_idx(axis); }
unsigned kn_emu_cluster_dim_at(int axis) { return kn_emu_calls.cluster_dim(axis); }
unsigned kn_emu_lane_at(int axis) { return kn_emu_calls.lane(axis); }

kn_emu_word kn_emu_warp(int op, unsigned mask, kn_emu_word value, unsigned b, unsigned c, int line)
{
    return kn_emu_calls.warp(op, mask, value, {b, c}, SITE);
}
int kn_emu_barrier_wait(int kind, int predicate, int line)
{
    return kn_emu_calls.barrier(kind, predicate, SITE);
}
void kn_emu_cluster_arrive(int relaxed, int line) { kn_emu_calls.cluster_arrive(relaxed, SITE); }
kn_emu_word kn_emu_atomic(int op, int type, void *p, kn_emu_word value, kn_emu_word compare, int line)
{
    return kn_emu_calls.atomic(op, type, p, value, compare, SITE);
}
void kn_emu_fence(int scope) { kn_emu_calls.fence(scope, PC); }
void kn_emu_relax(int line) { kn_emu_calls.relax(SITE); }
void *kn_emu_peer(const void *shared, unsigned rank, int line)
{
    return kn_emu_calls.peer(shared, rank, SITE);
}
unsigned kn_emu_to_shared(const void *p, int line) { return kn_emu_calls.to_shared(p, SITE); }
void *kn_emu_from_shared(unsigned address, int cluster, int line)
{
    return kn_emu_calls.from_shared(address, cluster, SITE);
}
unsigned kn_emu_map_rank(unsigned address, unsigned rank, int line)
{
    return kn_emu_calls.map_rank(address, rank, SITE);
}
void kn_emu_copy_async(void *to, const void *from, unsigned bytes, unsigned zeros,
                       unsigned alignment, int line)
{
    kn_emu_calls.copy_async({to, from, bytes, zeros}, alignment, SITE);
}
void kn_emu_copy_commit(int kind) { kn_emu_calls.copy_commit(kind); }
void kn_emu_copy_wait(int kind, unsigned newest, int line)
{
    kn_emu_calls.copy_wait(kind, newest, SITE);
}
void kn_emu_bulk_copy(int kind, void *to, const void *from, unsigned bytes, void *barrier,
                      unsigned mask, int line)
{
    kn_emu_calls.bulk(kind, {to, from, bytes, 0}, barrier, mask, SITE);
}
kn_emu_word kn_emu_mbarrier_call(int op, void *p, kn_emu_word a, unsigned bytes, int line)
{
    return kn_emu_calls.mbarrier(op, p, a, bytes, SITE);
}
void kn_emu_proxy_fence() { kn_emu_calls.proxy_fence(); }
void kn_emu_trap(const char *message, int line) { kn_emu_calls.trap(message, SITE); }

// ---- what -fsanitize=thread calls before each access ----

#define HOOKS(n)                                                                                   \
    void __tsan_read##n(void *p) { kn_emu_calls.access(p, n, KN_EMU_READ, PC); }                   \
    void __tsan_write##n(void *p) { kn_emu_calls.access(p, n, KN_EMU_WRITE, PC); }                 \
    void __tsan_unaligned_read##n(void *p) { kn_emu_calls.access(p, n, KN_EMU_READ, PC); }         \
    void __tsan_unaligned_write##n(void *p) { kn_emu_calls.access(p, n, KN_EMU_WRITE, PC); }       \
    void __tsan_volatile_read##n(void *p)                                                          \
    {                                                                                              \
        kn_emu_calls.access(p, n, KN_EMU_READ | KN_EMU_VOLATILE, PC);                              \
    }                                                                                              \
    void __tsan_volatile_write##n(void *p)                                                         \
    {                                                                                              \
        kn_emu_calls.access(p, n, KN_EMU_WRITE | KN_EMU_VOLATILE, PC);                             \
    }                                                                                              \
    void __tsan_unaligned_volatile_read##n(void *p)                                                \
    {                                                                                              \
        kn_emu_calls.access(p, n, KN_EMU_READ | KN_EMU_VOLATILE, PC);                              \
    }                                                                                              \
    void __tsan_unaligned_volatile_write##n(void *p)                                               \
    {                                                                                              \
        kn_emu_calls.access(p, n, KN_EMU_WRITE | KN_EMU_VOLATILE, PC);                             \
    }                                                                                              \
    void __tsan_read_write##n(void *p) { kn_emu_calls.access(p, n, KN_EMU_WRITE, PC); }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_read_range(void *p, unsigned long n) { kn_emu_calls.access(p, n, KN_EMU_READ, PC); }
void __tsan_write_range(void *p, unsigned long n) { kn_emu_calls.access(p, n, KN_EMU_WRITE, PC); }
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}

// Copies that the compiler, or the kernel, leaves to the C library.
void *memcpy(void *to, const void *from, unsigned long n)
{
    kn_emu_calls.access(from, n, KN_EMU_READ, PC);
    kn_emu_calls.access(to, n, KN_EMU_WRITE, PC);
    for (unsigned long i = 0; i < n; ++i)
        ((volatile char *)to)[i] = ((const volatile char *)from)[i];
    return to;
}
void *memmove(void *to, const void *from, unsigned long n)
{
    kn_emu_calls.access(from, n, KN_EMU_READ, PC);
    kn_emu_calls.access(to, n, KN_EMU_WRITE, PC);
    const bool down = (const char *)to < (const char *)from;
    for (unsigned long i = 0; i < n; ++i) {
        const unsigned long at = down ? i : n - 1 - i;
        ((volatile char *)to)[at] = ((const volatile char *)from)[at];
    }
    return to;
}
void *memset(void *to, int value, unsigned long n)
{
    kn_emu_calls.access(to, n, KN_EMU_WRITE, PC);
    for (unsigned long i = 0; i < n; ++i)
        ((volatile char *)to)[i] = (char)value;
    return to;
}
void *__tsan_memcpy(void *to, const void *from, unsigned long n) { return memcpy(to, from, n); }
void *__tsan_memmove(void *to, const void *from, unsigned long n) { return memmove(to, from, n); }
void *__tsan_memset(void *to, int value, unsigned long n) { return memset(to, value, n); }

// ---- what -fsanitize=alignment,bounds and its kin call when something is wrong ----

struct kn_emu_source_place {
    const char *file;
    unsigned line, column;
};
struct kn_emu_mismatch {
    kn_emu_source_place place;
    const void *type;
    unsigned char log_alignment, kind;
};
void __ubsan_handle_type_mismatch_v1(kn_emu_mismatch *data, const void *p)
{
    kn_emu_calls.misaligned(p, 1ul << data->log_alignment, PC);
}
void __ubsan_handle_out_of_bounds(kn_emu_source_place *data, unsigned long index)
{
    kn_emu_calls.bad_index(data, (long long)index, PC);
}
void __ubsan_handle_type_mismatch_v1_abort(kn_emu_mismatch *data, const void *p)
{
    kn_emu_calls.misaligned(p, 1ul << data->log_alignment, PC);
}
void __ubsan_handle_out_of_bounds_abort(kn_emu_source_place *data, unsigned long index)
{
    kn_emu_calls.bad_index(data, (long long)index, PC);
}
// What would end the process; no GPU says what it gives.
void __ubsan_handle_divrem_overflow(void *, unsigned long, unsigned long by)
{
    kn_emu_calls.trap(by ? "the quotient of an integer division does not fit" : "integer division by zero",
                      kn_emu_site{0, PC});
}
// Left over from cleanups that never run: kernels throw nothing.
void _Unwind_Resume() {}
void __gxx_personality_v0() {}
void __gcc_personality_v0() {}
}
