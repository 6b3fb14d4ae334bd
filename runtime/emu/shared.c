/* Shared memory: bounds, reads of what nobody wrote, and races between the threads of a block (and, through
 * distributed shared memory, of a cluster).
 *
 * Two accesses race when one is a write, they are of two threads, and nothing orders them: no barrier that
 * both threads were at in between, and within a warp no __syncwarp. A cell keeps the last write and the
 * reads since that are not before each other; `time` counts the worker's synchronisations.
 *
 *     written_by   | 0 | atomic | rank in cluster (4) | thread (10) |
 *     read_by      | 0 ... | rank (4) | warp (5) |     or MANY: of several warps
 */
#include <string.h>

#include "runtime/emu/emu.h"

enum { THREAD_BITS = 10, ATOMIC = 1 << 14, WARP_BITS = 5, MANY = 0xffff };
_Static_assert(KN_EMU_MAX_THREADS <= 1 << THREAD_BITS, "a thread's number fits");
_Static_assert(KN_EMU_MAX_CLUSTER << THREAD_BITS <= ATOMIC, "and its block's rank");

void kn_emu_shared_reset(kn_emu_worker *w, kn_emu_block *b)
{
    memset(b->image ? b->image : w->image, 0xff, w->shared_bytes);
}

/* Was what thread `number` of block `rank` did at `time` before anything that `t` does now? */
static bool before(const kn_emu_thread *t, uint32_t time, unsigned rank, unsigned number)
{
    const kn_emu_block *b = t->block;
    if (rank != b->rank)
        return time < b->cluster->cluster_time;
    if (number == t->number || time < b->barrier_time)
        return true;
    if (number / KN_EMU_WARP != t->number / KN_EMU_WARP)
        return false;
    const kn_emu_warp_state *s = &b->warps[number / KN_EMU_WARP];
    return time < s->full || (s->partial && time < s->known[t->lane][number % KN_EMU_WARP]);
}

static bool write_before(const kn_emu_thread *t, const kn_emu_cell *c)
{
    return before(t, c->written, c->written_by >> THREAD_BITS & (KN_EMU_MAX_CLUSTER - 1),
                  c->written_by & ((1 << THREAD_BITS) - 1));
}

static bool reads_before(const kn_emu_thread *t, const kn_emu_cell *c)
{
    unsigned rank = c->read_by >> WARP_BITS, warp = c->read_by & ((1 << WARP_BITS) - 1);
    if (c->read_by == MANY || rank == t->block->rank)
        if (c->read < t->block->barrier_time)
            return true;
    if (c->read_by == MANY)
        return false;
    for (unsigned lanes = c->readers; lanes; lanes &= lanes - 1)
        if (!before(t, c->read, rank, warp * KN_EMU_WARP + (unsigned)__builtin_ctz(lanes)))
            return false;
    return true;
}

static void note_read(kn_emu_worker *w, const kn_emu_block *owner, kn_emu_cell *c)
{
    const kn_emu_thread *t = w->thread;
    unsigned by = t->block->rank << WARP_BITS | t->number / KN_EMU_WARP;
    if (c->read < owner->start || reads_before(t, c)) {
        c->read = w->time;
        c->read_by = (uint16_t)by;
        c->readers = 1u << t->lane;
    } else if (c->read_by == by) {
        c->readers |=
            1u << t->lane; /* at the earlier time: that may miss a race, and invents none */
    } else {
        c->read_by = MANY;
    }
}

_Noreturn static void race(kn_emu_worker *w, kn_emu_block *owner, size_t offset, const char *kind,
                           unsigned other, int line, void *pc)
{
    char where[200];
    const char *base = owner->image && owner != w->block ? owner->image : w->image;
    kn_emu_describe(w, base + offset, where, sizeof where);
    if (other == MANY)
        kn_emu_fail(w, line, pc, "%s race on %s: with several threads, no barrier between", kind,
                    where);
    const kn_emu_block *b = w->block->cluster + (other >> THREAD_BITS & (KN_EMU_MAX_CLUSTER - 1));
    kn_emu_fail(w, line, pc, "%s race on %s: thread %u with thread %u%s, no barrier between", kind,
                where, w->thread->number, other & ((1 << THREAD_BITS) - 1),
                b != w->block ? " of another block of the cluster" : "");
}

static unsigned a_reader(const kn_emu_cell *c)
{
    if (c->read_by == MANY)
        return MANY;
    unsigned rank = c->read_by >> WARP_BITS, warp = c->read_by & ((1 << WARP_BITS) - 1);
    return rank << THREAD_BITS |
           (warp * KN_EMU_WARP + (c->readers ? (unsigned)__builtin_ctz(c->readers) : 0));
}

void kn_emu_check_shared(kn_emu_worker *w, kn_emu_block *owner, size_t offset, size_t bytes,
                         int how, bool atomic, int line, void *pc)
{
    const kn_code *code = w->launch->code;
    const kn_emu_thread *t = w->thread;
    size_t end = offset + bytes;
    bool write = how & KN_EMU_WRITE;
    if (end > code->fixed && (offset < code->dynamic || end > w->shared_bytes)) {
        char where[200];
        const char *base = owner->image && owner != w->block ? owner->image : w->image;
        kn_emu_describe(w, base + offset, where, sizeof where);
        kn_emu_fail(w, line, pc, "out of bounds: %s %zu bytes at %s", write ? "writes" : "reads",
                    bytes, where);
    }
    unsigned me = t->block->rank << THREAD_BITS | t->number | (atomic ? ATOMIC : 0);
    for (size_t i = offset; i < end; i++) {
        kn_emu_cell *c = &owner->cells[i];
        bool written = c->written >= owner->start;
        if (!written && (!write || atomic)) {
            char where[200];
            const char *base = owner->image && owner != w->block ? owner->image : w->image;
            kn_emu_describe(w, base + i, where, sizeof where);
            kn_emu_fail(w, line, pc, "reads %s, which nobody has written", where);
        }
        if (written && !write_before(t, c) && !(atomic && c->written_by & ATOMIC))
            race(w, owner, i, write ? "write-after-write" : "read-after-write", c->written_by, line,
                 pc);
        if (!write) {
            note_read(w, owner, c);
            continue;
        }
        if (c->read >= owner->start && !reads_before(t, c))
            race(w, owner, i, "write-after-read", a_reader(c), line, pc);
        c->written = w->time;
        c->written_by = (uint16_t)me;
    }
}
