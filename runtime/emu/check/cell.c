/* What a byte of shared memory remembers: its last write, and the reads since that the next must come after.
 *
 * The lanes of one warp that read it at one time are in the cell itself. Where there are others too, all are in a list
 * in the worker's memory, each at its last read; no list outlives the gang. */
#include <stdlib.h>

#include "runtime/emu/check/check.h"

/* written_by   | async | atomic | rank in cluster (4) | thread (10) |     or KN_EMU_IN_FLIGHT
 * read_by      | 0 ... | rank (4) | warp (5) |                            or LISTED */
enum { THREAD_BITS = 10, ATOMIC = 1 << 14, ASYNC = 1 << 15, WARP_BITS = 5 };
enum { LISTED = 0xffff, NOBODY = 0xffff };
_Static_assert(KN_EMU_MAX_THREADS <= 1 << THREAD_BITS, "a thread's number fits");
_Static_assert(KN_EMU_MAX_CLUSTER << THREAD_BITS <= ATOMIC, "and its block's rank");

struct kn_emu_reads {
    uint32_t next; /* 0: none */
    uint32_t time, lanes;
    uint16_t by;
};

static unsigned rank_of(unsigned who) { return who >> THREAD_BITS & (KN_EMU_MAX_CLUSTER - 1); }
static unsigned number_of(unsigned who) { return who & ((1 << THREAD_BITS) - 1); }

static unsigned name_of(const kn_emu_thread *t)
{
    return t->block->rank << THREAD_BITS | t->number;
}

bool kn_emu_is_copy(unsigned who) { return who & ASYNC; }

kn_emu_thread *kn_emu_who(const kn_emu_worker *w, unsigned who)
{
    return &w->block->cluster[rank_of(who)].threads[number_of(who)];
}

/* ---- reads ---- */

void kn_emu_forget_reads(kn_emu_worker *w) { w->nreads = w->free_reads = 0; }

/* In w->reads; never 0. */
static uint32_t new_place(kn_emu_worker *w)
{
    uint32_t i = w->free_reads;
    if (i) {
        w->free_reads = w->reads[i].next;
        return i;
    }
    if (w->nreads + 1 >= w->cap_reads) {
        uint32_t cap = w->cap_reads ? 2 * w->cap_reads : 256;
        kn_emu_reads *more = realloc(w->reads, cap * sizeof *more);
        if (!more)
            kn_emu_fail(w, (kn_emu_site){0}, "out of memory for what threads have read");
        w->reads = more;
        w->cap_reads = cap;
    }
    return ++w->nreads;
}

static void free_place(kn_emu_worker *w, uint32_t i)
{
    w->reads[i].next = w->free_reads;
    w->free_reads = i;
}

static void free_list(kn_emu_worker *w, kn_emu_cell *c)
{
    if (c->read_by != LISTED)
        return;
    for (uint32_t i = c->readers, next; i; i = next) {
        next = w->reads[i].next;
        free_place(w, i);
    }
}

/* The first of these lanes whose read is not before what `t` does now, or NOBODY. */
static unsigned lane_not_before(const kn_emu_thread *t, uint32_t time, unsigned by, uint32_t lanes)
{
    unsigned rank = by >> WARP_BITS, warp = by & ((1 << WARP_BITS) - 1);
    if (rank == t->block->rank && time < t->block->barrier_time)
        return NOBODY;
    for (; lanes; lanes &= lanes - 1) {
        unsigned number = warp * KN_EMU_WARP + (unsigned)__builtin_ctz(lanes);
        if (!kn_emu_before(t, time, rank, number, KN_EMU_DID_READ))
            return rank << THREAD_BITS | number;
    }
    return NOBODY;
}

static unsigned reader_not_before(const kn_emu_worker *w, const kn_emu_thread *t,
                                  const kn_emu_cell *c)
{
    if (c->read_by != LISTED)
        return lane_not_before(t, c->read, c->read_by, c->readers);
    unsigned who = NOBODY;
    for (uint32_t i = c->readers; i && who == NOBODY; i = w->reads[i].next)
        who = lane_not_before(t, w->reads[i].time, w->reads[i].by, w->reads[i].lanes);
    return who;
}

static void add_read(kn_emu_worker *w, kn_emu_cell *c, uint32_t time, unsigned by, uint32_t lanes)
{
    uint32_t i = new_place(w);
    w->reads[i] = (kn_emu_reads){c->readers, time, lanes, (uint16_t)by};
    c->readers = i;
}

/* A lane reads again: its earlier read says nothing more. */
static void drop_lane(kn_emu_worker *w, kn_emu_cell *c, unsigned by, uint32_t lane)
{
    for (uint32_t *at = &c->readers; *at; at = &w->reads[*at].next) {
        uint32_t i = *at;
        if (w->reads[i].by != by || !(w->reads[i].lanes & lane))
            continue;
        w->reads[i].lanes &= ~lane;
        if (!w->reads[i].lanes) {
            *at = w->reads[i].next;
            free_place(w, i);
        }
        return;
    }
}

static void note_listed(kn_emu_worker *w, kn_emu_cell *c, unsigned by, uint32_t lane)
{
    const kn_emu_reads *first = &w->reads[c->readers];
    bool here = first->by == by && first->time == w->time;
    if (here && first->lanes & lane)
        return;
    drop_lane(w, c, by, lane);
    if (here)
        w->reads[c->readers].lanes |= lane;
    else
        add_read(w, c, w->time, by, lane);
}

static void note_read(kn_emu_worker *w, const kn_emu_thread *t, uint32_t since, kn_emu_cell *c)
{
    unsigned by = t->block->rank << WARP_BITS | t->number / KN_EMU_WARP;
    uint32_t lane = 1U << t->lane;
    bool old = c->read < since; /* its list went with the gang */
    if (old || reader_not_before(w, t, c) == NOBODY) {
        if (!old)
            free_list(w, c);
        c->read_by = (uint16_t)by;
        c->readers = lane;
    } else if (c->read_by == by && c->read == w->time) {
        c->readers |= lane;
    } else {
        if (c->read_by != LISTED) {
            uint32_t lanes = c->readers;
            c->readers = 0;
            add_read(w, c, c->read, c->read_by, lanes);
            c->read_by = LISTED;
        }
        note_listed(w, c, by, lane);
    }
    c->read = w->time;
}

/* ---- accesses ---- */

static bool write_before(const kn_emu_thread *t, const kn_emu_cell *c)
{
    return kn_emu_before(t, c->written, rank_of(c->written_by), number_of(c->written_by),
                         c->written_by & ASYNC ? KN_EMU_DID_COPY : KN_EMU_DID);
}

const char *kn_emu_note_access(kn_emu_worker *w, kn_emu_cell *c, uint32_t since, bool write,
                               bool atomic, unsigned *other)
{
    const kn_emu_thread *t = w->thread;
    if (c->written >= since && !write_before(t, c) &&
        !(atomic && c->written_by & ATOMIC && !(c->written_by & ASYNC))) {
        *other = c->written_by;
        return write ? "write-after-write" : "read-after-write";
    }
    if (!write) {
        note_read(w, t, since, c);
        return NULL;
    }
    bool was_read = c->read >= since;
    if (was_read && (*other = reader_not_before(w, t, c)) != NOBODY)
        return "write-after-read";
    /* A plain write that others do not know of yet stays: their atomic operations race with it, though none
     * with the atomic one that follows it. */
    if (atomic && c->written >= since && c->written >= t->block->barrier_time &&
        !(c->written_by & (ATOMIC | ASYNC)))
        return NULL;
    if (was_read &&
        !atomic) { /* what comes after this write comes after them; of atomic ones both may race */
        free_list(w, c);
        c->read = 0;
    }
    c->written = w->time;
    c->written_by = (uint16_t)(name_of(t) | (atomic ? ATOMIC : 0));
    return NULL;
}

void kn_emu_note_landing(kn_emu_worker *w, kn_emu_cell *c, const kn_emu_thread *by, bool async)
{
    c->written = w->time;
    c->written_by = (uint16_t)(name_of(by) | (async ? ASYNC : 0));
}
