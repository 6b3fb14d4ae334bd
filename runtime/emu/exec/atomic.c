/* Atomic operations, on shared and on global memory. */
#include <string.h>

#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/calls.h"
#include "runtime/emu/exec/exec.h"

static const char *name_of(int op)
{
    static const char *const names[] = {
#define NAME(name, text) text,
        KN_EMU_ATOMICS(NAME)
#undef NAME
    };
    _Static_assert(sizeof names / sizeof *names == KN_EMU_ATOMIC_COUNT, "a name for each");
    return names[op];
}

static float f32_of(kn_emu_word w)
{
    uint32_t bits = (uint32_t)w;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static kn_emu_word word_of_f32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static double f64_of(kn_emu_word w)
{
    double f;
    memcpy(&f, &w, sizeof f);
    return f;
}

static kn_emu_word word_of_f64(double f)
{
    kn_emu_word w;
    memcpy(&w, &f, sizeof w);
    return w;
}

static bool less(int type, kn_emu_word a, kn_emu_word b)
{
    switch (type) {
    case KN_EMU_I32: return (int32_t)(uint32_t)a < (int32_t)(uint32_t)b;
    case KN_EMU_U32: return (uint32_t)a < (uint32_t)b;
    case KN_EMU_I64: return (long long)a < (long long)b;
    case KN_EMU_F32: return f32_of(a) < f32_of(b);
    case KN_EMU_F64: return f64_of(a) < f64_of(b);
    default: return a < b;
    }
}

static kn_emu_word sum(int type, kn_emu_word a, kn_emu_word b)
{
    return type == KN_EMU_F32   ? word_of_f32(f32_of(a) + f32_of(b))
           : type == KN_EMU_F64 ? word_of_f64(f64_of(a) + f64_of(b))
                                : a + b;
}

/* What the word becomes. `old` has the type's width. */
static kn_emu_word outcome(int op, int type, kn_emu_word old, kn_emu_word v, kn_emu_word compare)
{
    switch (op) {
    case KN_EMU_ATOMIC_ADD: return sum(type, old, v);
    case KN_EMU_ATOMIC_SUB: return old - v;
    case KN_EMU_ATOMIC_MIN: return less(type, v, old) ? v : old;
    case KN_EMU_ATOMIC_MAX: return less(type, old, v) ? v : old;
    case KN_EMU_ATOMIC_CAS: return old == compare ? v : old;
    case KN_EMU_ATOMIC_AND: return old & v;
    case KN_EMU_ATOMIC_OR: return old | v;
    case KN_EMU_ATOMIC_XOR: return old ^ v;
    case KN_EMU_ATOMIC_INC: return less(type, old, v) ? old + 1 : 0;
    case KN_EMU_ATOMIC_DEC: return old == 0 || less(type, v, old) ? v : old - 1;
    default: return v;
    }
}

/* Blocks run on several operating system threads: the exchange is a real one. */
static kn_emu_word exchange(int op, int type, void *p, kn_emu_word v, kn_emu_word compare,
                            kn_emu_word *now)
{
    if (type == KN_EMU_I32 || type == KN_EMU_U32 || type == KN_EMU_F32) {
        uint32_t old = __atomic_load_n((uint32_t *)p, __ATOMIC_SEQ_CST), next;
        do
            next = (uint32_t)outcome(op, type, old, v, compare);
        while (!__atomic_compare_exchange_n((uint32_t *)p, &old, next, true, __ATOMIC_SEQ_CST,
                                            __ATOMIC_SEQ_CST));
        *now = next;
        return old;
    }
    uint64_t old = __atomic_load_n((uint64_t *)p, __ATOMIC_SEQ_CST), next;
    do
        next = outcome(op, type, old, v, compare);
    while (!__atomic_compare_exchange_n((uint64_t *)p, &old, next, true, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST));
    *now = next;
    return old;
}

kn_emu_word kn_emu_call_atomic(int op, int type, void *p, kn_emu_word value, kn_emu_word compare,
                               kn_emu_site site)
{
    kn_emu_worker *w = kn_emu_here;
    size_t bytes = type == KN_EMU_I32 || type == KN_EMU_U32 || type == KN_EMU_F32 ? 4 : 8;
    if (w->launch->checked) {
        kn_emu_check(w, p, bytes, KN_EMU_WRITE | KN_EMU_ATOMIC, site);
        if ((uintptr_t)p % bytes) {
            char where[200];
            kn_emu_describe(w, p, where, sizeof where);
            kn_emu_fail(w, site, "misaligned: %s on %s, no multiple of %zu", name_of(op), where,
                        bytes);
        }
    }
    kn_emu_before_strong_write(w, p);
    kn_emu_word now, old = exchange(op, type, p, value, compare, &now);
    kn_emu_after_atomic(w, p);
    /* One that changes nothing may be a loop that waits for another thread. */
    if (now == old && op != KN_EMU_ATOMIC_EXCH)
        kn_emu_yield(w, site);
    else
        w->progress++;
    return old;
}
