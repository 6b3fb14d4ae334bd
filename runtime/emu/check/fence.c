/* What blocks know of each other: fences and the accesses that carry knowledge.
 *
 *     one block      writes data     fence     atomic operation or volatile write of W
 *     another        atomic operation or volatile read of W     fence     reads data
 *
 * A block's accesses belong to epochs, which its fences end. What is released at W is, for every block, the
 * epochs that were over at its fence, and all that it knew of others; who looks at W and then fences knows the
 * same from then on. (It is not asked whether it saw what was written there: that may miss a race, and invents
 * none.) "The last block to come finishes the work" has only the fence before its atomic operation: that one
 * orders both ways. A block's barrier makes one thread's fence every thread's, as it does on GPUs. The blocks of
 * a cluster are one here: their epochs and what they know is kept with the first.
 *
 * Within a cluster it is simpler: who looked and fenced knows of all that was done before. */
#include <stdlib.h>

#include "runtime/emu/check/check.h"

/* What was released at a word of memory. */
struct kn_emu_release {
    kn_emu_release *next;
    uintptr_t word;  /* OTHERS: at any that there was no room for */
    uint8_t known[]; /* for each block, the first epoch that is not */
};
enum { MOST_WORDS = 512, OTHERS = 0 };

static kn_emu_release *find(kn_emu_launch *l, uintptr_t word, unsigned *count)
{
    kn_emu_release *r = l->releases;
    for (*count = 0; r && r->word != word; r = r->next)
        ++*count;
    return r;
}

/* With the launch's lock held. `make`: there shall be one; NULL then means that memory ran out. */
static kn_emu_release *release_at(kn_emu_launch *l, const void *p, bool make)
{
    uintptr_t word = (uintptr_t)p / 4;
    unsigned count;
    kn_emu_release *r = find(l, word, &count);
    if (!r && count >= MOST_WORDS)
        r = find(l, word = OTHERS, &count);
    if (r || !make)
        return r;
    r = calloc(1, sizeof *r + l->nblocks);
    if (r) {
        r->word = word;
        r->next = l->releases;
        l->releases = r;
    }
    return r;
}

void kn_emu_forget_releases(kn_emu_launch *l)
{
    while (l->releases) {
        kn_emu_release *r = l->releases;
        l->releases = r->next;
        free(r);
    }
}

static void raise(uint8_t *to, const uint8_t *from, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        to[i] = to[i] > from[i] ? to[i] : from[i];
}

/* ---- releasing ---- */

static unsigned fence_of(const kn_emu_thread *t)
{
    unsigned shared = t->block->cluster->shared_fence;
    return t->fence_epoch > shared ? t->fence_epoch : shared;
}

void kn_emu_before_strong_write(kn_emu_worker *w, const void *p)
{
    kn_emu_launch *l = w->launch;
    const kn_emu_block *head = w->block->cluster;
    unsigned fence = fence_of(w->thread);
    if (!fence || !l->generation || l->nblocks == 1)
        return;
    pthread_mutex_lock(&l->releasing);
    kn_emu_release *r = release_at(l, p, true);
    if (r && head->known)
        raise(r->known, head->known, l->nblocks);
    for (unsigned i = 0; r && i < l->cluster; i++)
        if (r->known[head[i].number] < fence)
            r->known[head[i].number] = (uint8_t)fence;
    pthread_mutex_unlock(&l->releasing);
    if (!r)
        kn_emu_fail(w, (kn_emu_site){0}, "out of memory for what blocks know of each other");
}

/* The write that releases is itself known to who learns of it. */
unsigned kn_emu_epoch(const kn_emu_worker *w, bool strong_write)
{
    unsigned fence = strong_write ? fence_of(w->thread) : 0;
    return fence ? fence - 1 : w->block->cluster->epoch;
}

/* ---- acquiring ---- */

/* What was released where the thread looked, from its next fence on. */
static void look(kn_emu_worker *w)
{
    kn_emu_launch *l = w->launch;
    kn_emu_thread *t = w->thread;
    if (l->generation && l->nblocks > 1) {
        pthread_mutex_lock(&l->releasing);
        const kn_emu_release *r = release_at(l, t->polled, false);
        if (r && !t->seen)
            t->seen = calloc(1, l->nblocks);
        if (r && t->seen)
            raise(t->seen, r->known, l->nblocks);
        pthread_mutex_unlock(&l->releasing);
    }
    t->polled = NULL;
}

static void learn(kn_emu_worker *w)
{
    const kn_emu_launch *l = w->launch;
    kn_emu_thread *t = w->thread;
    kn_emu_block *head = w->block->cluster;
    if (t->polled)
        look(w);
    if (!t->seen)
        return;
    for (unsigned i = 0; i < l->cluster; i++) /* that is for order.c to say */
        t->seen[head[i].number] = 0;
    if (!head->known) {
        head->known = t->seen;
    } else {
        raise(head->known, t->seen, l->nblocks);
        free(t->seen);
    }
    t->seen = NULL;
    for (unsigned i = 0; i < l->nblocks; i++)
        if (head->known[i] > head->known_most)
            head->known_most = head->known[i];
}

/* Called before the read is made: so what was released there is looked up later. */
void kn_emu_polls(kn_emu_worker *w, const void *p)
{
    kn_emu_thread *t = w->thread;
    if (t->polled && t->polled != p)
        look(w);
    t->polled = p;
}

void kn_emu_after_atomic(kn_emu_worker *w, const void *p)
{
    kn_emu_thread *t = w->thread;
    kn_emu_polls(w, p);
    if (t->fenced)
        t->caught_up = ++w->time;
    if (t->fence_epoch)
        learn(w);
}

void kn_emu_fence(kn_emu_worker *w, bool for_blocks)
{
    kn_emu_thread *t = w->thread;
    kn_emu_block *head = w->block->cluster;
    t->fenced = true;
    if (t->polled)
        t->caught_up = ++w->time;
    if (!for_blocks)
        return;
    if (head->dirty && head->epoch < KN_EMU_LAST_EPOCH)
        head->epoch++;
    head->dirty = false;
    head->fence_epoch = t->fence_epoch = head->epoch;
    learn(w);
}

void kn_emu_grid_epoch(kn_emu_worker *w)
{
    uint8_t epoch = 0;
    for (unsigned i = 0; i < w->gang_size; i++)
        if (w->gang[i].epoch > epoch)
            epoch = w->gang[i].epoch;
    if (epoch < KN_EMU_LAST_EPOCH)
        epoch++;
    for (unsigned i = 0; i < w->gang_size; i++) {
        kn_emu_block *b = &w->gang[i];
        b->epoch = b->floor = epoch;
        b->shared_fence = b->fence_epoch;
        b->dirty = false;
    }
}

void kn_emu_forget_seen(kn_emu_worker *w, kn_emu_block *b)
{
    free(b->known);
    b->known = NULL;
    for (unsigned i = 0; w->launch->releases && i < b->nthreads; i++) {
        free(b->threads[i].seen);
        b->threads[i].seen = NULL;
    }
}
