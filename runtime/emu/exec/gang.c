/* The blocks that a worker runs at a time: one, or those that may wait for each other. */
#include <stdlib.h>

#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/exec.h"

static kn_emu_dim place(unsigned number, const unsigned size[3])
{
    return (kn_emu_dim){number % size[0], number / size[0] % size[1], number / size[0] / size[1]};
}

/* Block `ordinal` in the order of clusters, and in a cluster of ranks. */
static void place_block(const kn_emu_launch *l, kn_emu_block *b, unsigned ordinal)
{
    const kn_grid *g = &l->grid;
    unsigned clusters[3];
    for (int i = 0; i < 3; i++)
        clusters[i] = g->grid[i] / g->cluster[i];
    kn_emu_dim c = place(ordinal / l->cluster, clusters);
    kn_emu_dim r = place(ordinal % l->cluster, g->cluster);
    b->rank = ordinal % l->cluster;
    b->idx = (kn_emu_dim){c.x * g->cluster[0] + r.x, c.y * g->cluster[1] + r.y,
                          c.z * g->cluster[2] + r.z};
    b->number = (b->idx.z * g->grid[1] + b->idx.y) * g->grid[0] + b->idx.x;
}

static void start_block(kn_emu_worker *w, kn_emu_block *b, unsigned ordinal)
{
    const kn_emu_launch *l = w->launch;
    place_block(l, b, ordinal);
    b->live = b->nthreads;
    b->fresh = b->waiting = b->at_grid = 0;
    b->ready.first = b->ready.count = b->polling.first = b->polling.count = 0;
    b->epoch = 1;
    b->dirty = b->met_cluster = false;
    b->fence_epoch = b->shared_fence = b->floor = b->known_most = 0;
    b->cluster = b - b->rank;
    b->cluster_arrived = b->cluster_phase = 0;
    b->cluster_live = l->cluster * l->nthreads;
    b->start = b->barrier_time = b->cluster_time = b->met_time = ++w->time;
    for (unsigned i = 0; i < b->nthreads; i++) {
        kn_emu_thread *t = &b->threads[i];
        t->state = KN_EMU_NEW;
        t->fenced = t->cluster_arrived = false;
        t->fence_epoch = 0;
        t->polled = NULL;
        t->caught_up = 0;
        t->cluster_phase = t->met[0] = t->met[1] = 0;
        t->proxy_fence = 0;
    }
    for (unsigned i = 0; i * KN_EMU_WARP < b->nthreads; i++) {
        kn_emu_warp_state *s = &b->warps[i];
        unsigned lanes = b->nthreads - i * KN_EMU_WARP;
        s->alive = lanes >= KN_EMU_WARP ? ~0u : (1u << lanes) - 1;
        s->nmeetings = 0;
        s->full = b->start;
        s->partial = false;
    }
    kn_emu_shared_reset(w, b);
}

void kn_emu_gang_start(kn_emu_worker *w, unsigned gang)
{
    w->block = NULL;
    kn_emu_forget_reads(w);
    w->reads_told = false;
    for (unsigned i = 0; i < w->gang_size; i++)
        start_block(w, &w->gang[i], gang * w->gang_size + i);
}

static void make_threads(kn_emu_block *b, const unsigned extents[3])
{
    for (unsigned i = 0; i < b->nthreads; i++) {
        kn_emu_thread *t = &b->threads[i];
        *t = (kn_emu_thread){
            .block = b, .number = i, .lane = i % KN_EMU_WARP, .idx = place(i, extents)};
        for (int kind = 0; kind < KN_EMU_COPY_KINDS; kind++)
            t->copies[kind].last = &t->copies[kind].first;
    }
}

/* Of a block's shared memory, as of the variable that all blocks in turn have theirs in (compile.c). */
enum { SHARED_ALIGNMENT = 128 };

/* The gang's memory: blocks, threads, warps, queues, images. */
bool kn_emu_gang_make(kn_emu_worker *w)
{
    const kn_emu_launch *l = w->launch;
    size_t n = l->gang, threads = l->nthreads;
    size_t warps = (threads + KN_EMU_WARP - 1) / KN_EMU_WARP;
    size_t image =
        n > 1 ? (w->shared_bytes + SHARED_ALIGNMENT - 1) / SHARED_ALIGNMENT * SHARED_ALIGNMENT : 0;
    size_t need = n * (sizeof(kn_emu_block) + threads * sizeof(kn_emu_thread) +
                       warps * sizeof(kn_emu_warp_state) + 2 * threads * sizeof(void *) + image) +
                  SHARED_ALIGNMENT;
    w->gang = NULL; /* the last launch's: it lies in memory that goes now, or is laid out anew */
    w->gang_size = 0;
    if (need > w->memory_bytes) {
        free(w->memory);
        w->memory = calloc(1, need);
        w->memory_bytes = w->memory ? need : 0;
    }
    size_t ncells = l->checked ? n * w->shared_bytes : 0;
    if (ncells > w->ncells) {
        free(w->cells);
        w->cells = calloc(ncells, sizeof *w->cells);
        w->ncells = w->cells ? ncells : 0;
    }
    if (need > w->memory_bytes || ncells > w->ncells)
        return false;
    /* the strictest alignment first */
    char *at = w->memory;
    w->gang = (void *)at;
    at += n * sizeof(kn_emu_block);
    kn_emu_thread *ts = (void *)at;
    at += n * threads * sizeof *ts;
    void **queues = (void *)at;
    at += 2 * n * threads * sizeof *queues;
    kn_emu_warp_state *ws = (void *)at;
    at += n * warps * sizeof *ws;
    at += -(uintptr_t)at % SHARED_ALIGNMENT;
    w->gang_size = l->gang;
    for (size_t i = 0; i < n; i++) {
        kn_emu_block *b = &w->gang[i];
        *b = (kn_emu_block){.worker = w, .nthreads = l->nthreads};
        b->threads = ts + i * threads;
        b->warps = ws + i * warps;
        b->ready.at = (kn_emu_thread **)(queues + 2 * i * threads);
        b->polling.at = b->ready.at + threads;
        b->image = image ? at + i * image : NULL;
        b->cells = ncells ? w->cells + i * w->shared_bytes : NULL;
        make_threads(b, l->grid.block);
    }
    return true;
}

/* What its threads left behind: little, unless a check failed. */
void kn_emu_gang_clean(kn_emu_worker *w)
{
    for (unsigned i = 0; i < w->gang_size; i++) {
        kn_emu_block *b = &w->gang[i];
        kn_emu_mbarriers_free(b);
        kn_emu_free_clocks(b);
        kn_emu_forget_seen(w, b);
        for (unsigned j = 0; w->failed && j < b->nthreads; j++) {
            kn_emu_thread *t = &b->threads[j];
            for (int kind = 0; kind < KN_EMU_COPY_KINDS; kind++)
                kn_emu_copies_free(&t->copies[kind]);
            free(t->unplaced);
            t->unplaced = NULL;
        }
    }
}
