/* Races on global memory, of threads of a block or a cluster and of blocks that have nothing to do with each
 * other. What orders the first is in order.c, what orders the others in fence.c.
 *
 * A cell for 4 bytes has the last write and the last read, each
 *
 *     | generation of the launch (8) | epoch (8) | block, or MANY (15) | STRONG | thread (10) | time (22) |
 *
 * so that cells need no clearing between launches. A read that nothing orders before the next one leaves a mark
 * that there were several, of one warp or of many (LANES, WARPS: the upper bits of `time`, which counts the
 * worker's synchronisations since the cluster started). Accesses of less than 4 bytes are not compared.
 * Workers update cells without locks: at worst a race goes unseen. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/emu/check/check.h"

enum { MANY = 0x7fff, GRANULE = 4, TIME_BITS = 20 };
enum { MAX_KEPT = 256 << 20 }; /* bytes of cells kept for later launches */

static const uint64_t STRONG = 1ull << 32, LANES = 1ull << 20, WARPS = 1ull << 21;
static const unsigned LATEST = (1u << TIME_BITS) - 1; /* from then on time stands still */

static unsigned generation_of(uint64_t made) { return (unsigned)(made >> 56); }
static unsigned epoch_of(uint64_t made) { return (unsigned)(made >> 48) & 0xff; }
static unsigned block_of(uint64_t made) { return (unsigned)(made >> 33) & MANY; }
static unsigned thread_of(uint64_t made)
{
    return (unsigned)(made >> 22) & (KN_EMU_MAX_THREADS - 1);
}
static unsigned time_of(uint64_t made) { return (unsigned)made & LATEST; }

/* An access by the running thread. */
static uint64_t make(const kn_emu_worker *w, bool write, bool strong)
{
    const kn_emu_block *b = w->block;
    uint32_t time = w->time - b->cluster->start;
    return (uint64_t)w->launch->generation << 56 |
           (uint64_t)kn_emu_epoch(w, write && strong) << 48 | (uint64_t)b->number << 33 |
           (strong ? STRONG : 0) | (uint64_t)w->thread->number << 22 |
           (time < LATEST ? time : LATEST);
}

/* The block of the running one's cluster that made it; NULL: another. */
static const kn_emu_block *peer_of(const kn_emu_worker *w, uint64_t made)
{
    const kn_emu_block *head = w->block->cluster;
    unsigned number = block_of(made);
    for (unsigned i = 0; i < w->launch->cluster; i++)
        if (head[i].number == number)
            return &head[i];
    return NULL;
}

/* Is it before what the running thread does? Of MANY blocks, those that it names the latest epoch of: in a
 * program that orders them, some are. */
static bool is_before(const kn_emu_worker *w, uint64_t made, kn_emu_deed deed)
{
    const kn_emu_block *head = w->block->cluster, *peer = peer_of(w, made);
    unsigned epoch = epoch_of(made), block = block_of(made);
    if (epoch < head->floor || epoch == KN_EMU_LAST_EPOCH)
        return true;
    if (peer)
        return time_of(made) == LATEST || kn_emu_before(w->thread, head->start + time_of(made),
                                                        peer->rank, thread_of(made), deed);
    return block == MANY ? epoch < head->known_most : head->known && epoch < head->known[block];
}

static bool was_read_unordered(const kn_emu_worker *w, uint64_t read)
{
    if (!is_before(w, read, KN_EMU_DID_READ))
        return true;
    return read & (LANES | WARPS) && block_of(read) == w->block->number &&
           time_of(read) != LATEST &&
           !kn_emu_met(w->thread, w->block->cluster->start + time_of(read), read & WARPS);
}

_Noreturn static void race(kn_emu_worker *w, const char *kind, uint64_t made, const char *p,
                           kn_emu_site site)
{
    char where[200], who[96] = "several blocks";
    const unsigned *g = w->launch->grid.grid;
    unsigned b = block_of(made);
    kn_emu_describe(w, p, where, sizeof where);
    if (b == w->block->number && made & (LANES | WARPS))
        snprintf(who, sizeof who, "several threads of the block");
    else if (b == w->block->number)
        snprintf(who, sizeof who, "thread %u of the block", thread_of(made));
    else if (b != MANY)
        snprintf(who, sizeof who, "block (%u,%u,%u), thread %u", b % g[0], b / g[0] % g[1],
                 b / g[0] / g[1], thread_of(made));
    kn_emu_fail(w, site, "%s race on %s: with %s, and nothing orders the two", kind, where, who);
}

/* What stays of an access and one that it is not ordered with. */
static uint64_t joined(uint64_t made, uint64_t older)
{
    if (block_of(made) != block_of(older)) {
        uint64_t later = epoch_of(made) > epoch_of(older) ? made : older;
        return later | (uint64_t)MANY << 33;
    }
    bool one_warp = thread_of(made) / KN_EMU_WARP == thread_of(older) / KN_EMU_WARP;
    return made | (one_warp ? LANES | (older & WARPS) : WARPS);
}

/* A plain write of the block's that others do not know of stays when an atomic operation follows: theirs race
 * with it. */
static bool stays(const kn_emu_worker *w, uint64_t written)
{
    const kn_emu_block *b = w->block, *head = b->cluster;
    return !(written & STRONG) && block_of(written) == b->number &&
           (head->start + time_of(written) >= b->barrier_time ||
            (w->launch->nblocks > 1 && epoch_of(written) == head->epoch));
}

void kn_emu_check_global(kn_emu_worker *w, const kn_emu_span *span, const char *p, size_t bytes,
                         int how, kn_emu_site site)
{
    const kn_emu_shadow *s = span->shadow;
    bool write = how & KN_EMU_WRITE, strong = how & (KN_EMU_ATOMIC | KN_EMU_VOLATILE);
    if (strong && !write)
        return;
    size_t first = ((size_t)(p - s->low) + GRANULE - 1) / GRANULE;
    size_t end = (size_t)(p + bytes - s->low) / GRANULE;
    unsigned generation = w->launch->generation;
    uint64_t mine = make(w, write, strong);
    w->block->cluster->dirty |= !(write && strong);
    for (size_t i = first; i < end; i++) {
        kn_emu_trace *cell = &s->cells[i];
        uint64_t written = atomic_load_explicit(&cell->written, memory_order_relaxed);
        uint64_t read = atomic_load_explicit(&cell->read, memory_order_relaxed);
        bool wrote = generation_of(written) == generation && written != mine;
        bool was_read = generation_of(read) == generation && read != mine;
        bool both_strong = strong && written & STRONG;
        bool after = wrote && !is_before(w, written, KN_EMU_DID);
        if (after && !both_strong)
            race(w, write ? "write-after-write" : "read-after-write", written, s->low + i * GRANULE,
                 site);
        if (write && was_read && was_read_unordered(w, read))
            race(w, "write-after-read", read, s->low + i * GRANULE, site);
        if (write && !(strong && wrote && stays(w, written)))
            atomic_store_explicit(&cell->written, after ? joined(mine, written) : mine,
                                  memory_order_relaxed);
        if (!write && read != mine)
            atomic_store_explicit(
                &cell->read,
                was_read && !is_before(w, read, KN_EMU_DID_READ) ? joined(mine, read) : mine,
                memory_order_relaxed);
    }
}

/* ---- cells ---- */

static kn_emu_shadow *new_shadow(kn_emu *dev, const char *low, const char *high)
{
    kn_emu_shadow *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->low = low;
    s->high = high;
    s->cells = calloc((size_t)(high - low) / GRANULE + 1, sizeof *s->cells);
    if (!s->cells) {
        free(s);
        return NULL;
    }
    s->next = dev->shadows;
    dev->shadows = s;
    return s;
}

/* Frees cells of memory that this launch does not touch, when there are many. */
static void trim(kn_emu *dev)
{
    size_t bytes = 0;
    for (kn_emu_shadow **at = &dev->shadows; *at;) {
        kn_emu_shadow *s = *at;
        size_t size = (size_t)(s->high - s->low) / GRANULE * sizeof *s->cells;
        if (!s->used && bytes + size > MAX_KEPT) {
            *at = s->next;
            free(s->cells);
            free(s);
        } else {
            bytes += size;
            at = &s->next;
        }
    }
}

void kn_emu_shadow_free(kn_emu *dev)
{
    while (dev->shadows) {
        kn_emu_shadow *s = dev->shadows;
        dev->shadows = s->next;
        free(s->cells);
        free(s);
    }
}

/* Spans that share memory share cells: the range grows over whatever overlaps it. */
static void widen(const kn_emu_launch *l, const char **low, const char **high)
{
    for (int i = 0; i < l->nspans; i++) {
        const kn_emu_span *s = &l->spans[i];
        if (s->low >= *high || s->high <= *low || (s->low >= *low && s->high <= *high))
            continue;
        *low = s->low < *low ? s->low : *low;
        *high = s->high > *high ? s->high : *high;
        i = -1;
    }
}

kn_status kn_emu_shadow_prepare(kn_emu_launch *l)
{
    kn_emu *dev = l->dev;
    if (l->nblocks >= MANY)
        return KN_OK;
    if (++dev->generation >
        0xff) { /* cells of the launch before last with this number would count */
        kn_emu_shadow_free(dev);
        dev->generation = 1;
    }
    l->generation = dev->generation;
    for (kn_emu_shadow *s = dev->shadows; s; s = s->next)
        s->used = false;
    for (int i = 0; i < l->nspans; i++) {
        kn_emu_span *span = &l->spans[i];
        if (span->constant || span->unwatched || span->low == span->high)
            continue;
        const char *low = span->low, *high = span->high;
        widen(l, &low, &high);
        low -= (uintptr_t)low % GRANULE;
        high += (GRANULE - (uintptr_t)high % GRANULE) % GRANULE;
        kn_emu_shadow *s = dev->shadows;
        while (s && (s->low > low || s->high < high))
            s = s->next;
        if (!s)
            s = new_shadow(dev, low, high);
        if (!s)
            return kn_fail(KN_MEMORY, "out of memory: to watch %zu bytes of '%s'",
                           (size_t)(high - low), span->name);
        s->used = true;
        span->shadow = s;
    }
    trim(dev);
    return KN_OK;
}
