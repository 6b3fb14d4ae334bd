/* Shared memory: bounds, reads of what nobody wrote, copies under way, and races between the threads of a
 * block (and, through distributed shared memory, of a cluster).
 *
 * Two accesses race when one is a write, they are of two threads, and nothing orders them: see order.c. A
 * cell for each byte keeps the last write and the reads since that are not before each other. */
#include <stdio.h>
#include <string.h>

#include "runtime/emu/check/check.h"

_Noreturn static void race(kn_emu_worker *w, kn_emu_place at, const char *kind, unsigned other,
                           kn_emu_site site)
{
    char where[200];
    kn_emu_describe(w, kn_emu_shared_at(w, at), where, sizeof where);
    const kn_emu_thread *o = kn_emu_who(w, other);
    kn_emu_fail(w, site, "%s race on %s: thread %u with %sthread %u%s, no barrier between", kind,
                where, w->thread->number, kn_emu_is_copy(other) ? "a copy begun by " : "",
                o->number, o->block != w->block ? " of another block of the cluster" : "");
}

_Noreturn static void unwritten(kn_emu_worker *w, kn_emu_place at, kn_emu_site site)
{
    char where[200];
    kn_emu_describe(w, kn_emu_shared_at(w, at), where, sizeof where);
    kn_emu_fail(w, site, "reads %s, which nobody has written", where);
}

_Noreturn static void under_way(kn_emu_worker *w, kn_emu_place at, bool write, kn_emu_site site)
{
    char where[200];
    kn_emu_describe(w, kn_emu_shared_at(w, at), where, sizeof where);
    kn_emu_fail(w, site,
                "%s %s, which an asynchronous copy is to fill, and nobody has waited for it",
                write ? "writes" : "reads", where);
}

static void check_bounds(kn_emu_worker *w, kn_emu_place at, size_t bytes, bool write,
                         kn_emu_site site)
{
    const kn_code *code = w->launch->code;
    size_t end = at.offset + bytes;
    if (end <= code->fixed || (at.offset >= code->dynamic && end <= w->shared_bytes))
        return;
    char where[200];
    kn_emu_describe(w, kn_emu_shared_at(w, at), where, sizeof where);
    kn_emu_fail(w, site, "out of bounds: %s %zu bytes at %s", write ? "writes" : "reads", bytes,
                where);
}

void kn_emu_check_shared(kn_emu_worker *w, kn_emu_place at, size_t bytes, int how, kn_emu_site site)
{
    kn_emu_block *owner = at.owner;
    bool write = how & KN_EMU_WRITE, atomic = how & KN_EMU_ATOMIC;
    check_bounds(w, at, bytes, write, site);
    for (size_t end = at.offset + bytes; at.offset < end; at.offset++) {
        kn_emu_cell *c = &owner->cells[at.offset];
        unsigned other;
        if (c->written < owner->start) {
            if (!write || atomic)
                unwritten(w, at, site);
        } else if (c->written_by == KN_EMU_IN_FLIGHT) {
            under_way(w, at, write, site);
        }
        const char *kind = kn_emu_note_access(w, c, owner->start, write, atomic, &other);
        if (kind)
            race(w, at, kind, other, site);
    }
}

/* ---- asynchronous copies ---- */

void kn_emu_shared_in_flight(kn_emu_worker *w, kn_emu_place at, size_t bytes, kn_emu_site site)
{
    if (!w->launch->checked)
        return;
    kn_emu_check_shared(w, at, bytes, KN_EMU_WRITE, site);
    for (size_t i = 0; i < bytes; i++)
        at.owner->cells[at.offset + i].written_by = KN_EMU_IN_FLIGHT;
    memset(kn_emu_shared_at(w, at), 0xff, bytes);
}

void kn_emu_shared_landed(kn_emu_worker *w, kn_emu_place at, size_t bytes, const kn_emu_thread *by,
                          bool async)
{
    for (size_t i = 0; w->launch->checked && i < bytes; i++)
        kn_emu_note_landing(w, &at.owner->cells[at.offset + i], by, async);
}

/* The source of a copy that the bulk engine reads: written before `issued`, and made known to it. */
void kn_emu_check_fenced(kn_emu_worker *w, kn_emu_place at, size_t bytes, kn_emu_site site)
{
    for (size_t end = at.offset + bytes; at.offset < end; at.offset++) {
        const kn_emu_cell *c = &at.owner->cells[at.offset];
        const kn_emu_thread *o = kn_emu_who(w, c->written_by);
        if (c->written < at.owner->start || c->written < w->thread->proxy_fence ||
            c->written < o->proxy_fence || kn_emu_is_copy(c->written_by))
            continue;
        char where[200];
        kn_emu_describe(w, kn_emu_shared_at(w, at), where, sizeof where);
        kn_emu_fail(w, site, "copies %s, which thread %u wrote, with no fence.proxy.async between",
                    where, o->number);
    }
}

void kn_emu_check_unchanged(kn_emu_worker *w, kn_emu_place at, size_t bytes, uint32_t issued,
                            kn_emu_site site)
{
    for (size_t end = at.offset + bytes; at.offset < end; at.offset++) {
        const kn_emu_cell *c = &at.owner->cells[at.offset];
        if (c->written < issued)
            continue;
        char where[200], by[32] = "another copy";
        kn_emu_describe(w, kn_emu_shared_at(w, at), where, sizeof where);
        if (c->written_by != KN_EMU_IN_FLIGHT)
            snprintf(by, sizeof by, "thread %u", kn_emu_who(w, c->written_by)->number);
        kn_emu_fail(w, site,
                    "%s was written again, by %s, before the copy out of it was waited for", where,
                    by);
    }
}
