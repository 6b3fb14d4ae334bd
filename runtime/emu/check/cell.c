/* What a byte of shared memory remembers: its last write, and the reads since that the next must come after.
 *
 * The lanes of one warp that read it at one time are in the cell itself. Where there are others too, all are in a list
 * of warps in the worker's memory, each lane at its last read; no list outlives the gang. The warp that read last is
 * the first, for what reads next is most often another lane of it. */
#include <stdlib.h>

#include "runtime/emu/check/check.h"

/* written_by   | async | atomic | rank in cluster (4) | thread (10) |     or KN_EMU_IN_FLIGHT
 * read_by      | 0 ... | rank (4) | warp (5) |                            or LISTED */
enum { THREAD_BITS = 10, ATOMIC = 1 << 14, ASYNC = 1 << 15, WARP_BITS = 5 };
enum { LISTED = 0xffff, NOBODY = 0xffff };
_Static_assert(KN_EMU_MAX_THREADS <= 1 << THREAD_BITS, "a thread's number fits");
_Static_assert(KN_EMU_MAX_CLUSTER << THREAD_BITS <= ATOMIC, "and its block's rank");

struct kn_emu_reads {
    uint32_t next;    /* another warp's; 0: none */
    uint32_t earlier; /* this warp's; 0: none */
    uint32_t time, lanes;
    uint32_t
        warps; /* of the first in a list: a bit for each that is in it, clusters' ranks aside */
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
    for (uint32_t warp = c->readers, next; warp; warp = next) {
        next = w->reads[warp].next;
        for (uint32_t i = warp, earlier; i; i = earlier) {
            earlier = w->reads[i].earlier;
            free_place(w, i);
        }
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
    for (uint32_t warp = c->readers; warp && who == NOBODY; warp = w->reads[warp].next)
        for (uint32_t i = warp; i && who == NOBODY; i = w->reads[i].earlier)
            who = lane_not_before(t, w->reads[i].time, w->reads[i].by, w->reads[i].lanes);
    return who;
}

static uint32_t warp_bit(unsigned by) { return 1U << (by & ((1 << WARP_BITS) - 1)); }

/* Puts a warp that is not in the list before the others. */
static void add_warp(kn_emu_worker *w, kn_emu_cell *c, uint32_t time, unsigned by, uint32_t lanes)
{
    uint32_t i = new_place(w), warps = c->readers ? w->reads[c->readers].warps : 0;
    w->reads[i] = (kn_emu_reads){.next = c->readers,
                                 .time = time,
                                 .lanes = lanes,
                                 .warps = warps | warp_bit(by),
                                 .by = (uint16_t)by};
    c->readers = i;
}

/* Moves the warp, if it is in the list, before the others. Most lists are of warps that read once, each looked for in
 * vain: the bits spare the walk. */
static bool find_warp(kn_emu_worker *w, kn_emu_cell *c, unsigned by)
{
    uint32_t *at = &c->readers;
    const uint32_t warps = w->reads[*at].warps;
    if (!(warps & warp_bit(by)))
        return false;
    while (*at && w->reads[*at].by != by)
        at = &w->reads[*at].next;
    uint32_t i = *at;
    if (i && i != c->readers) {
        *at = w->reads[i].next;
        w->reads[i].next = c->readers;
        w->reads[i].warps = warps;
        c->readers = i;
    }
    return i;
}

/* A lane reads again: its read before the warp's last one says nothing more. */
static void drop_earlier(kn_emu_worker *w, uint32_t last, uint32_t lane)
{
    for (uint32_t *at = &w->reads[last].earlier; *at; at = &w->reads[*at].earlier) {
        uint32_t i = *at;
        if (!(w->reads[i].lanes & lane))
            continue;
        w->reads[i].lanes &= ~lane;
        if (!w->reads[i].lanes) {
            *at = w->reads[i].earlier;
            free_place(w, i);
        }
        return;
    }
}

static void note_listed(kn_emu_worker *w, kn_emu_cell *c, unsigned by, uint32_t lane)
{
    if (!find_warp(w, c, by)) {
        add_warp(w, c, w->time, by, lane);
        return;
    }
    kn_emu_reads *last = &w->reads[c->readers];
    if (last->lanes & lane)
        last->lanes &= ~lane;
    else
        drop_earlier(w, c->readers, lane);
    if (last->time != w->time && last->lanes) {
        uint32_t i = new_place(w); /* may move them all */
        last = &w->reads[c->readers];
        w->reads[i] = *last;
        last->earlier = i;
        last->lanes = 0;
    }
    last->time = w->time;
    last->lanes |= lane;
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
            add_warp(w, c, c->read, c->read_by, lanes);
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
