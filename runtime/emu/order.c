/* What is before what: whether an access that one thread made is ordered before what another does now.
 *
 * Every worker counts its synchronisations; an access has the count at which it was made. Four things order within a
 * cluster:
 *
 *     a barrier of the block or the grid         one number each: whatever was done before it
 *     a barrier of the cluster                   one number a thread: what it did before it arrived
 *     __syncwarp                                 one number a warp; a table of lanes once masks are partial
 *     an mbarrier                                clocks: for each thread of the cluster, the count before which
 *                                                what it did is known. A thread has one from its first wait on.
 *     a fence and an atomic operation            one number a thread; see fence.c
 *
 * Clocks are needed by few kernels and are made when they are. */
#include <stdlib.h>
#include <string.h>

#include "runtime/emu/emu.h"

/* Threads of a cluster: the entries of a clock, block by block in the order of ranks. */
static size_t entries(const kn_emu_worker *w)
{
    return (size_t)w->launch->cluster * w->launch->nthreads;
}

static uint32_t later(uint32_t a, uint32_t b) { return a > b ? a : b; }

uint32_t *kn_emu_new_clock(kn_emu_worker *w)
{
    uint32_t *clock = calloc(entries(w), sizeof *clock);
    if (!clock)
        kn_emu_fail(w, 0, NULL, "out of memory for what threads know of each other");
    return clock;
}

bool kn_emu_before(const kn_emu_thread *t, uint32_t time, unsigned rank, unsigned number,
                   bool async)
{
    const kn_emu_block *b = t->block;
    if (time < t->caught_up || time < b->cluster[rank].threads[number].met[t->cluster_phase & 1])
        return true;
    if (rank != b->rank) {
        if (time < b->cluster->cluster_time)
            return true;
    } else {
        if ((number == t->number && !async) || time < b->barrier_time)
            return true;
        if (number / KN_EMU_WARP == t->number / KN_EMU_WARP) {
            const kn_emu_warp_state *s = &b->warps[number / KN_EMU_WARP];
            if (time < s->full || (s->partial && time < s->known[t->lane][number % KN_EMU_WARP]))
                return true;
        }
    }
    size_t i = (size_t)rank * b->nthreads + number;
    return (t->clock && time < t->clock[i]) || (b->clock && time < b->clock[i]);
}

/* Where it is not known whose accesses are meant: in a program that orders them, those of one thread at least
 * are before now. */
bool kn_emu_met(const kn_emu_thread *t, uint32_t since, bool other_warps)
{
    const kn_emu_block *b = t->block;
    const kn_emu_warp_state *s = &b->warps[t->number / KN_EMU_WARP];
    if (since < b->barrier_time || since < t->caught_up || since < b->cluster->met_time)
        return true;
    size_t n = (size_t)b->worker->launch->cluster * b->nthreads,
           mine = (size_t)b->rank * b->nthreads;
    size_t warp = mine + t->number - t->lane;
    for (size_t i = 0; b->clocks && i < n; i++)
        if (((t->clock && since < t->clock[i]) || (b->clock && since < b->clock[i])) &&
            (i < warp || i >= warp + KN_EMU_WARP))
            return true;
    if (other_warps)
        return false;
    for (unsigned lane = 0; s->partial && lane < KN_EMU_WARP; lane++)
        if (since < s->known[t->lane][lane])
            return true;
    return since < s->full;
}

/* Does the running thread know that this block of its cluster has? */
bool kn_emu_has_started(const kn_emu_worker *w, const kn_emu_block *peer)
{
    const kn_emu_thread *t = w->thread;
    const kn_emu_block *b = t->block;
    if (b->met_cluster || t->caught_up || peer->start < b->cluster->cluster_time)
        return true;
    for (unsigned i = peer->rank * b->nthreads; i < (peer->rank + 1) * b->nthreads; i++)
        if ((t->clock && t->clock[i] > peer->start) || (b->clock && b->clock[i] > peer->start))
            return true;
    return false;
}

void kn_emu_publish(kn_emu_worker *w, const kn_emu_thread *t, uint32_t *clock)
{
    const kn_emu_block *b = t->block;
    size_t mine = (size_t)b->rank * b->nthreads;
    for (size_t i = 0; i < entries(w); i++) {
        bool own = i - mine < b->nthreads; /* below `mine` the difference wraps */
        clock[i] = later(clock[i], own ? b->barrier_time : b->cluster->cluster_time);
        clock[i] =
            later(clock[i],
                  b->cluster[i / b->nthreads].threads[i % b->nthreads].met[t->cluster_phase & 1]);
        if (t->clock)
            clock[i] = later(clock[i], t->clock[i]);
        if (b->clock)
            clock[i] = later(clock[i], b->clock[i]);
    }
    unsigned first = t->number - t->lane;
    const kn_emu_warp_state *s = &b->warps[t->number / KN_EMU_WARP];
    for (unsigned lane = 0; lane < KN_EMU_WARP && first + lane < b->nthreads; lane++) {
        uint32_t *known = &clock[mine + first + lane];
        *known = later(*known, s->full);
        if (s->partial)
            *known = later(*known, s->known[t->lane][lane]);
    }
    clock[mine + t->number] = ++w->time;
}

void kn_emu_learn(kn_emu_worker *w, kn_emu_thread *t, const uint32_t *clock)
{
    if (!t->clock)
        t->clock = kn_emu_new_clock(w);
    t->block->clocks = true;
    for (size_t i = 0; i < entries(w); i++)
        t->clock[i] = later(t->clock[i], clock[i]);
}

/* At a barrier of the block everyone learns what anyone has learnt. */
void kn_emu_share_clocks(kn_emu_worker *w, kn_emu_block *b)
{
    if (!b->clocks)
        return;
    for (unsigned i = 0; i < b->nthreads; i++) {
        const uint32_t *clock = b->threads[i].clock;
        if (!clock)
            continue;
        if (!b->clock)
            b->clock = kn_emu_new_clock(w);
        for (size_t j = 0; j < entries(w); j++)
            b->clock[j] = later(b->clock[j], clock[j]);
    }
}

/* The same for some lanes of a warp. */
static void share_lanes(kn_emu_worker *w, kn_emu_thread *warp, unsigned lanes)
{
    uint32_t *joined = NULL;
    for (unsigned left = lanes; left; left &= left - 1) {
        const uint32_t *clock = warp[__builtin_ctz(left)].clock;
        if (!clock)
            continue;
        if (!joined)
            joined = kn_emu_new_clock(w);
        for (size_t j = 0; j < entries(w); j++)
            joined[j] = later(joined[j], clock[j]);
    }
    if (!joined)
        return;
    for (unsigned left = lanes; left; left &= left - 1)
        kn_emu_learn(w, &warp[__builtin_ctz(left)], joined);
    free(joined);
}

/* __syncwarp: what any of `lanes` did, or knows to have been done before, is before what each does next. */
void kn_emu_order_lanes(kn_emu_worker *w, kn_emu_thread *warp, unsigned lanes)
{
    kn_emu_warp_state *s = &warp->block->warps[warp->number / KN_EMU_WARP];
    if (warp->block->clocks)
        share_lanes(w, warp, lanes);
    uint32_t now = ++w->time;
    if (lanes == s->alive) {
        s->full = now;
        return;
    }
    if (!s->partial) {
        s->partial = true;
        memset(s->known, 0, sizeof s->known);
    }
    uint32_t joined[KN_EMU_WARP] = {0};
    for (unsigned left = lanes; left; left &= left - 1)
        for (int b = 0; b < KN_EMU_WARP; b++)
            joined[b] = later(joined[b], s->known[__builtin_ctz(left)][b]);
    for (unsigned left = lanes; left; left &= left - 1)
        joined[__builtin_ctz(left)] = now;
    for (unsigned left = lanes; left; left &= left - 1)
        memcpy(s->known[__builtin_ctz(left)], joined, sizeof joined);
}

void kn_emu_free_clocks(kn_emu_block *b)
{
    if (!b->clocks)
        return;
    for (unsigned i = 0; i < b->nthreads; i++) {
        free(b->threads[i].clock);
        b->threads[i].clock = NULL;
    }
    free(b->clock);
    b->clock = NULL;
    b->clocks = false;
}

/* ---- cells ---- */

/* written_by   | async | atomic | rank in cluster (4) | thread (10) |     or KN_EMU_IN_FLIGHT
 * read_by      | 0 ... | rank (4) | warp (5) |                            or KN_EMU_MANY: of several warps */
enum { THREAD_BITS = 10, ATOMIC = 1 << 14, ASYNC = 1 << 15, WARP_BITS = 5 };
_Static_assert(KN_EMU_MAX_THREADS <= 1 << THREAD_BITS, "a thread's number fits");
_Static_assert(KN_EMU_MAX_CLUSTER << THREAD_BITS <= ATOMIC, "and its block's rank");

static unsigned rank_of(unsigned who) { return who >> THREAD_BITS & (KN_EMU_MAX_CLUSTER - 1); }
static unsigned number_of(unsigned who) { return who & ((1 << THREAD_BITS) - 1); }

static unsigned name_of(const kn_emu_thread *t)
{
    return t->block->rank << THREAD_BITS | t->number;
}

static bool write_before(const kn_emu_thread *t, const kn_emu_cell *c)
{
    return kn_emu_before(t, c->written, rank_of(c->written_by), number_of(c->written_by),
                         c->written_by & ASYNC);
}

static bool reads_before(const kn_emu_thread *t, const kn_emu_cell *c)
{
    unsigned rank = c->read_by >> WARP_BITS, warp = c->read_by & ((1 << WARP_BITS) - 1);
    if (c->read_by == KN_EMU_MANY || rank == t->block->rank)
        if (c->read < t->block->barrier_time)
            return true;
    if (c->read_by == KN_EMU_MANY)
        return kn_emu_met(t, c->read, true);
    for (unsigned lanes = c->readers; lanes; lanes &= lanes - 1)
        if (!kn_emu_before(t, c->read, rank, warp * KN_EMU_WARP + (unsigned)__builtin_ctz(lanes),
                           false))
            return false;
    return true;
}

static unsigned a_reader(const kn_emu_cell *c)
{
    if (c->read_by == KN_EMU_MANY)
        return KN_EMU_MANY;
    unsigned rank = c->read_by >> WARP_BITS, warp = c->read_by & ((1 << WARP_BITS) - 1);
    return rank << THREAD_BITS |
           (warp * KN_EMU_WARP + (c->readers ? (unsigned)__builtin_ctz(c->readers) : 0));
}

static void note_read(kn_emu_worker *w, const kn_emu_thread *t, uint32_t since, kn_emu_cell *c)
{
    unsigned by = t->block->rank << WARP_BITS | t->number / KN_EMU_WARP;
    if (c->read < since || reads_before(t, c)) {
        c->read = w->time;
        c->read_by = (uint16_t)by;
        c->readers = 1u << t->lane;
    } else if (c->read_by == by) {
        c->readers |=
            1u << t->lane; /* at the earlier time: that may miss a race, and invents none */
    } else {
        c->read_by = KN_EMU_MANY;
    }
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
    if (c->read >= since && !reads_before(t, c)) {
        *other = a_reader(c);
        return "write-after-read";
    }
    /* A plain write that others do not know of yet stays: their atomic operations race with it, though none
     * with the atomic one that follows it. */
    if (atomic && c->written >= since && c->written >= t->block->barrier_time &&
        !(c->written_by & (ATOMIC | ASYNC)))
        return NULL;
    c->written = w->time;
    c->written_by = (uint16_t)(name_of(t) | (atomic ? ATOMIC : 0));
    return NULL;
}

void kn_emu_note_landing(kn_emu_worker *w, kn_emu_cell *c, const kn_emu_thread *by, bool async)
{
    c->written = w->time;
    c->written_by = (uint16_t)(name_of(by) | (async ? ASYNC : 0));
}

bool kn_emu_is_copy(unsigned who) { return who != KN_EMU_MANY && who & ASYNC; }

kn_emu_thread *kn_emu_who(const kn_emu_worker *w, unsigned who)
{
    return who == KN_EMU_MANY ? NULL : &w->block->cluster[rank_of(who)].threads[number_of(who)];
}
