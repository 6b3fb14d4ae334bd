/* What is before what: whether an access that one thread made is ordered before what another does now.
 *
 * Every worker counts its synchronisations; an access has the count at which it was made. These order within a
 * cluster:
 *
 *     a barrier of the block or the grid         one number each: whatever was done before it
 *     a barrier of the cluster                   one number a thread: what it did before it arrived
 *     __syncwarp                                 one number a warp; a table of lanes once masks are partial
 *     an mbarrier                                clocks: for each thread of the cluster, the count before which
 *                                                what it did is known. A thread has one from its first wait on.
 *     a copy that an mbarrier counts             clocks: the count before which what each thread read is known; what
 *                                                it wrote elsewhere need not have got there before the copy
 *     a fence and an atomic operation            one number a thread; see fence.c
 *
 * Clocks are needed by few kernels and are made when they are. */
#include <stdlib.h>
#include <string.h>

#include "runtime/emu/check/check.h"

/* Threads of a cluster: the entries of a clock, block by block in the order of ranks, for all that they did;
 * behind them as many for what they read, where more of that is known. */
static size_t entries(const kn_emu_worker *w)
{
    return (size_t)w->launch->cluster * w->launch->nthreads;
}

static uint32_t later(uint32_t a, uint32_t b) { return a > b ? a : b; }

uint32_t *kn_emu_new_clock(kn_emu_worker *w)
{
    uint32_t *clock = calloc(2 * entries(w), sizeof *clock);
    if (!clock)
        kn_emu_fail(w, (kn_emu_site){0}, "out of memory for what threads know of each other");
    return clock;
}

static void join(uint32_t *clock, const uint32_t *other, size_t n)
{
    for (size_t i = 0; i < n; i++)
        clock[i] = later(clock[i], other[i]);
}

void kn_emu_join_clock(const kn_emu_worker *w, uint32_t *clock, const uint32_t *other)
{
    join(clock, other, (w->reads_told ? 2 : 1) * entries(w));
}

static bool clock_knows(const uint32_t *clock, uint32_t time, size_t i, size_t n, bool read)
{
    return clock && (time < clock[i] || (read && time < clock[n + i]));
}

bool kn_emu_before(const kn_emu_thread *t, uint32_t time, unsigned rank, unsigned number,
                   kn_emu_deed deed)
{
    const kn_emu_block *b = t->block;
    if (time < t->caught_up || time < b->cluster[rank].threads[number].met[t->cluster_phase & 1])
        return true;
    if (rank != b->rank) {
        if (time < b->cluster->cluster_time)
            return true;
    } else {
        if ((number == t->number && deed != KN_EMU_DID_COPY) || time < b->barrier_time)
            return true;
        if (number / KN_EMU_WARP == t->number / KN_EMU_WARP) {
            const kn_emu_warp_state *s = &b->warps[number / KN_EMU_WARP];
            if (time < s->full || (s->partial && time < s->known[t->lane][number % KN_EMU_WARP]))
                return true;
        }
    }
    if (!b->clocks)
        return false;
    size_t i = (size_t)rank * b->nthreads + number, n = entries(b->worker);
    return clock_knows(t->clock, time, i, n, deed == KN_EMU_DID_READ) ||
           clock_knows(b->clock, time, i, n, deed == KN_EMU_DID_READ);
}

/* Where it is not known whose reads are meant: in a program that orders them, those of one thread at least are
 * before now. */
bool kn_emu_met(const kn_emu_thread *t, uint32_t since, bool other_warps)
{
    const kn_emu_block *b = t->block;
    const kn_emu_warp_state *s = &b->warps[t->number / KN_EMU_WARP];
    if (since < b->barrier_time || since < t->caught_up || since < b->cluster->met_time)
        return true;
    size_t n = entries(b->worker), warp = (size_t)b->rank * b->nthreads + t->number - t->lane;
    for (size_t i = 0; b->clocks && i < n; i++)
        if ((clock_knows(t->clock, since, i, n, true) ||
             clock_knows(b->clock, since, i, n, true)) &&
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

/* What `t` did, and knows to have been done. */
static void tell(kn_emu_worker *w, const kn_emu_thread *t, uint32_t *clock)
{
    const kn_emu_block *b = t->block;
    size_t mine = (size_t)b->rank * b->nthreads;
    for (size_t i = 0; i < entries(w); i++) {
        bool own = i - mine < b->nthreads; /* below `mine` the difference wraps */
        uint32_t known = later(own ? b->barrier_time : b->cluster->cluster_time, t->caught_up);
        known = later(
            known, b->cluster[i / b->nthreads].threads[i % b->nthreads].met[t->cluster_phase & 1]);
        clock[i] = later(clock[i], known);
    }
    if (t->clock)
        join(clock, t->clock, entries(w));
    if (b->clock)
        join(clock, b->clock, entries(w));
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

static void tell_more_reads(const kn_emu_worker *w, const kn_emu_thread *t, uint32_t *clock)
{
    size_t n = entries(w);
    if (w->reads_told && t->clock)
        join(clock + n, t->clock + n, n);
    if (w->reads_told && t->block->clock)
        join(clock + n, t->block->clock + n, n);
}

void kn_emu_publish(kn_emu_worker *w, const kn_emu_thread *t, uint32_t *clock)
{
    tell(w, t, clock);
    tell_more_reads(w, t, clock);
}

void kn_emu_publish_reads(kn_emu_worker *w, const kn_emu_thread *t, uint32_t *clock)
{
    w->reads_told = true;
    tell(w, t, clock + entries(w));
    tell_more_reads(w, t, clock);
}

void kn_emu_learn(kn_emu_worker *w, kn_emu_thread *t, const uint32_t *clock)
{
    if (!t->clock)
        t->clock = kn_emu_new_clock(w);
    t->block->clocks = true;
    kn_emu_join_clock(w, t->clock, clock);
}

/* What a thread of the block knows of the other blocks of the cluster by a fence and an atomic operation. */
static void share_caught_up(kn_emu_block *b)
{
    uint32_t latest = 0;
    for (unsigned i = 0; i < b->nthreads; i++)
        latest = later(latest, b->threads[i].caught_up);
    for (unsigned i = 0; i < b->nthreads && latest; i++)
        b->threads[i].caught_up = latest;
}

/* At a barrier of the block everyone learns what anyone has learnt. */
void kn_emu_share_clocks(kn_emu_worker *w, kn_emu_block *b)
{
    if (w->launch->cluster > 1)
        share_caught_up(b);
    if (!b->clocks)
        return;
    for (unsigned i = 0; i < b->nthreads; i++) {
        const uint32_t *clock = b->threads[i].clock;
        if (!clock)
            continue;
        if (!b->clock)
            b->clock = kn_emu_new_clock(w);
        kn_emu_join_clock(w, b->clock, clock);
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
        kn_emu_join_clock(w, joined, clock);
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
