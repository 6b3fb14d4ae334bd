/* Every access of a kernel comes here first: is there memory, and is it the kernel's? */
#include <stdio.h>
#include <string.h>

#include "runtime/emu/emu.h"

/* So far past a buffer's end an address still belongs to it, for messages. */
enum { NEARBY = 1 << 20, SHARED_NEARBY = 1 << 16 };

static bool inside(const kn_emu_span *s, const char *p, size_t bytes)
{
    return p >= s->low && p <= s->high && bytes <= (size_t)(s->high - p);
}

static const kn_emu_span *find_span(kn_emu_worker *w, const char *p, size_t bytes)
{
    const kn_emu_launch *l = w->launch;
    for (int i = 0; i < l->nspans; i++)
        if (inside(&l->spans[i], p, bytes)) {
            w->last_span = i;
            return &l->spans[i];
        }
    return NULL;
}

/* The block of the gang, not the running one, whose shared memory this is. */
static kn_emu_block *find_peer(const kn_emu_worker *w, const char *p)
{
    size_t offset;
    kn_emu_block *b = kn_emu_owner(w, p, &offset);
    return b == w->block ? NULL : b;
}

static uintptr_t distance(const char *a, const char *b)
{
    return (uintptr_t)a > (uintptr_t)b ? (uintptr_t)a - (uintptr_t)b : (uintptr_t)b - (uintptr_t)a;
}

/* The span that an address is in, or else nearest to, within reach; *away is how far. */
static const kn_emu_span *nearest(const kn_emu_launch *l, const char *p, uintptr_t *away)
{
    const kn_emu_span *best = NULL;
    *away = NEARBY;
    for (int i = 0; i < l->nspans; i++) {
        const kn_emu_span *s = &l->spans[i];
        /* at its end it is already past it */
        uintptr_t by = p < s->low     ? distance(p, s->low)
                       : p >= s->high ? distance(p, s->high) + 1
                                      : 0;
        if (by < *away) {
            *away = by;
            best = s;
        }
    }
    return best;
}

static void describe_shared(const kn_emu_worker *w, size_t offset, char *text, size_t size)
{
    const kn_code *code = w->launch->code;
    if (code->has_dynamic && offset >= code->dynamic) {
        snprintf(text, size, "dynamic shared memory+%zu (of %zu bytes)", offset - code->dynamic,
                 w->launch->grid.shared);
        return;
    }
    for (int i = 0; i < code->nshared; i++) {
        const kn_emu_shared *s = &code->shared[i];
        if (offset >= s->offset && offset < s->offset + s->bytes) {
            snprintf(text, size, "shared %s+%zu (of %zu bytes)", s->name, offset - s->offset,
                     s->bytes);
            return;
        }
    }
    snprintf(text, size, "shared memory+%zu (past its %zu bytes)", offset, w->shared_bytes);
}

void kn_emu_describe(const kn_emu_worker *w, const char *p, char *text, size_t size)
{
    const kn_emu_block *peer = find_peer(w, p);
    if (peer) {
        describe_shared(w, (size_t)(p - peer->image), text, size);
        return;
    }
    uintptr_t offset = (uintptr_t)p - (uintptr_t)w->image, away;
    const kn_emu_span *s = nearest(w->launch, p, &away);
    uintptr_t reach = w->shared_bytes + (away < SHARED_NEARBY ? away : SHARED_NEARBY);
    if (w->shared_bytes && offset < reach)
        describe_shared(w, offset, text, size);
    else if (s)
        snprintf(text, size, "%s%c%zu (of %zu bytes)", s->name, p < s->low ? '-' : '+',
                 (size_t)distance(p, s->low), (size_t)(s->high - s->low));
    else
        snprintf(text, size, "%p, which is no memory of this launch", (const void *)p);
}

_Noreturn static void out_of_bounds(kn_emu_worker *w, const char *p, size_t bytes, int how,
                                    int line, void *pc)
{
    char where[200];
    kn_emu_describe(w, p, where, sizeof where);
    kn_emu_fail(w, line, pc, "out of bounds: %s %zu bytes at %s",
                how & KN_EMU_WRITE ? "writes" : "reads", bytes, where);
}

static void check_peer(kn_emu_worker *w, kn_emu_block *owner, const char *p, size_t bytes, int how,
                       bool atomic, int line, void *pc)
{
    const kn_emu_block *mine = w->block;
    if (owner->cluster != mine->cluster)
        out_of_bounds(w, p, bytes, how, line, pc);
    bool exited = !owner->live && owner->fresh == owner->nthreads;
    if (exited || !(kn_emu_has_started(w, owner) || w->dev->options.relaxed)) {
        char where[200];
        kn_emu_describe(w, p, where, sizeof where);
        kn_emu_fail(w, line, pc, "%s %s of block (%u,%u,%u), rank %u of the cluster, %s",
                    how & KN_EMU_WRITE ? "writes" : "reads", where, owner->idx.x, owner->idx.y,
                    owner->idx.z, owner->rank,
                    exited ? "all of whose threads have exited"
                           : "which may not have started: no barrier of the cluster comes before");
    }
    kn_emu_check_shared(w, owner, (size_t)(p - owner->image), bytes, how, atomic, line, pc);
}

const kn_emu_span *kn_emu_check(kn_emu_worker *w, const char *p, size_t bytes, int how, bool atomic,
                                int line, void *pc)
{
    const kn_emu_launch *l = w->launch;
    size_t offset = (uintptr_t)p - (uintptr_t)w->image;
    if (offset < w->shared_bytes) {
        kn_emu_check_shared(w, w->block, offset, bytes, how, atomic, line, pc);
        return NULL;
    }
    const kn_emu_span *s = l->nspans ? &l->spans[w->last_span] : NULL;
    if (!s || !inside(s, p, bytes))
        s = find_span(w, p, bytes);
    if (s) {
        if (how & KN_EMU_WRITE && s->constant)
            kn_emu_fail(w, line, pc, "writes to the input %s", s->name);
        if (s->shadow)
            kn_emu_check_global(w, s, p, bytes, how & KN_EMU_WRITE, atomic || how & KN_EMU_VOLATILE,
                                line, pc);
        w->quiet = s->low;
        w->quiet_bytes = s->shadow ? 0 : (size_t)(s->high - s->low);
        return s;
    }
    const kn_emu_fiber *f = w->fibers.current;
    if (p >= f->low && p < f->low + f->bytes)
        return NULL;
    kn_emu_block *peer = find_peer(w, p);
    if (peer) {
        check_peer(w, peer, p, bytes, how, atomic, line, pc);
        return NULL;
    }
    const kn_code *code = l->code;
    bool write = how & KN_EMU_WRITE;
    if (p >= (write ? code->writable : code->low) &&
        p + bytes <= (write ? code->writable_end : code->high))
        return NULL;
    out_of_bounds(w, p, bytes, how, line, pc);
}

void kn_emu_call_access(const void *p, unsigned long bytes, int how, void *pc)
{
    kn_emu_worker *w = kn_emu_here;
    if (!w)
        return;
    size_t offset = (uintptr_t)p - (uintptr_t)w->quiet;
    if (how == KN_EMU_READ && offset < w->quiet_bytes && bytes <= w->quiet_bytes - offset)
        return;
    if (!w->thread)
        return;
    bool poll = how == (KN_EMU_READ | KN_EMU_VOLATILE);
    if (poll)
        kn_emu_yield(w, 0, pc);
    if (!w->launch->checked || !bytes)
        return;
    kn_emu_check(w, p, bytes, how, false, 0, pc);
    if (poll)
        kn_emu_polls(w, p);
    else if (how == (KN_EMU_WRITE | KN_EMU_VOLATILE))
        kn_emu_before_strong_write(w, p);
    w->progress += (how & KN_EMU_WRITE) != 0;
}

void kn_emu_call_misaligned(const void *p, unsigned long alignment, void *pc)
{
    kn_emu_worker *w = kn_emu_here;
    if (!w || !w->thread || !w->launch->checked)
        return;
    char where[200];
    kn_emu_describe(w, p, where, sizeof where);
    kn_emu_fail(w, 0, pc, "misaligned: the address %s is no multiple of %lu", where, alignment);
}

void kn_emu_call_bad_index(const void *array, long long index, void *pc)
{
    kn_emu_worker *w = kn_emu_here;
    (void)array;
    if (!w || !w->thread || !w->launch->checked)
        return;
    if (index > INT32_MAX && index <= UINT32_MAX)
        index = (int32_t)index;
    kn_emu_fail(w, 0, pc, "out of bounds: index %lld is not one of the array's", index);
}

void kn_emu_call_relax(int line, void *pc) { kn_emu_yield(kn_emu_here, line, pc); }

void kn_emu_call_trap(const char *message, int line, void *pc)
{
    kn_emu_fail(kn_emu_here, line, pc, "%s", message);
}
