/* Races between blocks on global memory.
 *
 * Blocks run in any order, unless one makes its writes known (a fence, then an atomic operation or a volatile
 * write) and another learns of them (a volatile read or an atomic operation, then a fence), or the whole
 * grid meets at a barrier. Every block has a level: learning raises it above the level of whoever made
 * something known before. An access of another block is before mine only if its level was lower; so two
 * accesses at the wrong levels are ordered by nothing. (The other way round some races are missed: it is
 * not asked which variable carried the knowledge.)
 *
 * A cell for 4 bytes has the last write and the last reads, each
 *
 *     | generation of the launch (8) | level (8) | atomic (1) | block, or MANY (15) |
 *
 * so that cells need no clearing between launches. Accesses of less than 4 bytes are not compared. Workers
 * update cells without locks: at worst a race goes unseen. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/emu/emu.h"

enum { MANY = 0x7fff, ATOMIC = 0x8000, LEVELS = 0xff, GRANULE = 4 };
enum { MAX_KEPT = 256 << 20 }; /* bytes of cells kept for later launches */

static unsigned block_of(uint32_t half) { return half & MANY; }
static unsigned level_of(uint32_t half) { return half >> 16 & 0xff; }

_Noreturn static void race(kn_emu_worker *w, const char *kind, uint32_t half, const char *p,
                           int line, void *pc)
{
    char where[200], who[64] = "several blocks";
    const unsigned *g = w->launch->grid.grid;
    unsigned b = block_of(half);
    kn_emu_describe(w, p, where, sizeof where);
    if (b != MANY)
        snprintf(who, sizeof who, "block (%u,%u,%u)", b % g[0], b / g[0] % g[1], b / g[0] / g[1]);
    kn_emu_fail(w, line, pc, "%s race on %s: with %s, and nothing orders the two", kind, where,
                who);
}

void kn_emu_check_blocks(kn_emu_worker *w, const kn_emu_span *span, const char *p, size_t bytes,
                         bool write, bool atomic, int line, void *pc)
{
    const kn_emu_launch *l = w->launch;
    const kn_emu_block *b = w->block;
    const kn_emu_shadow *s = span->shadow;
    if (b->level >= LEVELS || (atomic && !write))
        return;
    size_t first = ((size_t)(p - s->low) + GRANULE - 1) / GRANULE;
    size_t end = (size_t)(p + bytes - s->low) / GRANULE;
    uint32_t generation = l->generation;
    uint32_t mine = generation << 24 | b->level << 16 | b->number;
    for (size_t i = first; i < end; i++) {
        uint64_t cell = atomic_load_explicit(&s->cells[i], memory_order_relaxed);
        uint32_t written = (uint32_t)cell, read = (uint32_t)(cell >> 32);
        bool wrote = written >> 24 == generation && block_of(written) != b->number;
        bool was_read = read >> 24 == generation && block_of(read) != b->number;
        if (wrote && level_of(written) >= b->level && !(atomic && written & ATOMIC))
            race(w, write ? "write-after-write" : "read-after-write", written, s->low + i * GRANULE,
                 line, pc);
        if (!write) {
            if (was_read && level_of(read) >= b->level)
                read = (read & ~(uint32_t)MANY) | MANY;
            else
                read = mine;
        } else {
            if (was_read && level_of(read) >= b->level)
                race(w, "write-after-read", read, s->low + i * GRANULE, line, pc);
            bool many = atomic && wrote && level_of(written) >= b->level;
            written = many ? (written | MANY) : mine | (atomic ? ATOMIC : 0);
        }
        uint64_t now = (uint64_t)read << 32 | written;
        if (now != cell)
            atomic_store_explicit(&s->cells[i], now, memory_order_relaxed);
    }
}

/* ---- levels ---- */

/* released: 1 + the highest level that anything was made known at; 0 for nothing. */
static void release(kn_emu_launch *l, const kn_emu_block *b)
{
    unsigned now = b->level + 1, was = atomic_load(&l->released);
    while (was < now && !atomic_compare_exchange_weak(&l->released, &was, now)) {
    }
    atomic_fetch_add(&l->releases, 1);
}

static void acquire(kn_emu_launch *l, kn_emu_block *b)
{
    unsigned known = atomic_load(&l->released);
    if (known > b->level)
        b->level = known;
}

void kn_emu_before_atomic(kn_emu_worker *w)
{
    if (w->thread->fenced)
        release(w->launch, w->block);
}

/* "The last block to come finishes the work" has its fence before the operation only: it orders both ways. */
void kn_emu_after_atomic(kn_emu_worker *w)
{
    w->thread->polled = true;
    if (w->thread->fenced)
        acquire(w->launch, w->block);
}

void kn_emu_call_fence(int scope, void *pc)
{
    kn_emu_worker *w = kn_emu_here;
    kn_emu_thread *t = w->thread;
    if (!scope)
        return;
    t->fenced = true;
    if (!t->polled)
        return;
    t->polled = false;
    acquire(w->launch, w->block);
    /* The other blocks learn of the same before this one goes on and makes more known: else they would
     * seem to know that too, and fewer races would show. */
    unsigned releases = atomic_load(&w->launch->releases);
    if (w->gang_size > 1 && releases != t->releases) {
        t->releases = releases;
        w->progress++;
        kn_emu_yield(w, 0, pc);
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
    if (l->nblocks < 2 || l->nblocks >= MANY)
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
