/* Workers: they run the blocks of a launch, and in a block one thread after another. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/emu/emu.h"

_Thread_local kn_emu_worker *kn_emu_here;

uint64_t kn_emu_random(kn_emu_worker *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

/* ---- the order of things ---- */

static unsigned gcd(unsigned a, unsigned b) { return b ? gcd(b, a % b) : a; }

/* The i-th of n things in the launch's order; `salt` chooses among seeded orders. */
static unsigned in_order(const kn_emu_options *o, unsigned i, unsigned n, uint64_t salt)
{
    if (o->order == KN_EMU_FORWARD || n < 2)
        return i;
    if (o->order == KN_EMU_REVERSED)
        return n - 1 - i;
    uint64_t mixed = (o->seed + salt + 1) * 0x9e3779b97f4a7c15u;
    unsigned step = 1 + (unsigned)(mixed >> 33) % (n - 1);
    while (gcd(step, n) != 1)
        step++;
    return (unsigned)(((uint64_t)i * step + (mixed & 0xffff)) % n);
}

static void push(kn_emu_queue *q, unsigned size, kn_emu_thread *t)
{
    unsigned at = q->first + q->count++;
    q->at[at < size ? at : at - size] = t;
}

static kn_emu_thread *pop(kn_emu_queue *q, unsigned size)
{
    kn_emu_thread *t = q->at[q->first];
    q->first = q->first + 1 < size ? q->first + 1 : 0;
    q->count--;
    return t;
}

static kn_emu_thread *start_next(kn_emu_worker *w, kn_emu_block *b)
{
    unsigned i = b->fresh++;
    w->progress++;
    return &b->threads[in_order(&w->dev->options, i, b->nthreads, b->number)];
}

/* The thread of the running block that goes on now; NULL when none can. */
static kn_emu_thread *take(kn_emu_worker *w)
{
    kn_emu_block *b = w->block;
    for (;;) {
        bool fresh = b->fresh < b->nthreads;
        if (b->ready.count && w->dev->options.order == KN_EMU_SEEDED) {
            unsigned pick = (unsigned)(kn_emu_random(w) % (b->ready.count + fresh));
            if (pick == b->ready.count)
                return start_next(w, b);
            kn_emu_thread **front = &b->ready.at[b->ready.first];
            kn_emu_thread **chosen = &b->ready.at[(b->ready.first + pick) % b->nthreads];
            kn_emu_thread *t = *front;
            *front = *chosen;
            *chosen = t;
        }
        if (b->ready.count)
            return pop(&b->ready, b->nthreads);
        if (fresh)
            return start_next(w, b);
        if (!kn_emu_answer_stragglers(w, b))
            return NULL;
    }
}

void kn_emu_wake(kn_emu_worker *w, kn_emu_thread *t)
{
    (void)w;
    t->state = KN_EMU_READY;
    push(&t->block->ready, t->block->nthreads, t);
}

/* ---- switching ---- */

static void go_to(kn_emu_worker *w, kn_emu_thread *t)
{
    if (!t) {
        w->thread = NULL;
        kn_emu_fiber_switch(&w->fibers, &w->fibers.root);
    } else if (t->state != KN_EMU_NEW) {
        w->thread = t;
        kn_emu_fiber_switch(&w->fibers, t->fiber);
    } else {
        kn_emu_fiber *f = kn_emu_fiber_take(&w->fibers);
        w->handoff = t;
        if (f)
            kn_emu_fiber_switch(&w->fibers, f);
        else if (w->thread)
            kn_emu_fail(w, 0, NULL, "out of memory for the threads' stacks");
        else
            kn_emu_fail_block(w, 0, NULL, "out of memory for the threads' stacks");
    }
}

void kn_emu_pause(kn_emu_worker *w)
{
    kn_emu_thread *t = take(w);
    if (t != w->thread)
        go_to(w, t);
}

void kn_emu_yield(kn_emu_worker *w, int line, void *pc)
{
    kn_emu_thread *t = w->thread;
    t->state = KN_EMU_POLLING;
    t->line = line;
    t->pc = pc;
    push(&w->block->polling, w->block->nthreads, t);
    kn_emu_pause(w);
}

static void run_thread(kn_emu_worker *w, kn_emu_thread *t)
{
    t->state = KN_EMU_READY;
    t->fiber = w->fibers.current;
    w->thread = t;
    w->launch->code->entry(w->launch->params);
    w->progress++;
    kn_emu_copies_left(w, t);
    if (t->block->live == 1)
        kn_emu_mbarriers_left(w, t->block);
    t->state = KN_EMU_DONE;
    t->block->live--;
    kn_emu_warp_left(w, t);
    kn_emu_barrier_left(w, t);
    w->thread = NULL;
}

/* What a fibre does: runs threads, until it gives way to a thread that has a fibre of its own. */
static void fiber_body(void *user)
{
    kn_emu_worker *w = user;
    for (;;) {
        kn_emu_thread *t = w->handoff ? w->handoff : take(w);
        w->handoff = NULL;
        if (t && t->state == KN_EMU_NEW) {
            run_thread(w, t);
        } else {
            kn_emu_fiber_retire(&w->fibers);
            go_to(w, t);
        }
    }
}

/* ---- failures ---- */

static void record(kn_emu_worker *w, kn_emu_fault *fault)
{
    kn_emu_launch *l = w->launch;
    pthread_mutex_lock(&l->lock);
    if (!atomic_load(&l->failed)) {
        l->fault = *fault;
        atomic_store(&l->failed, true);
    }
    pthread_mutex_unlock(&l->lock);
    w->failed = true;
}

void kn_emu_fail(kn_emu_worker *w, int line, void *pc, const char *fmt, ...)
{
    const kn_emu_thread *t = w->thread;
    kn_emu_fault fault = {.pc = pc,
                          .line = line,
                          .has_thread = true,
                          .block = {t->block->idx.x, t->block->idx.y, t->block->idx.z},
                          .thread = {t->idx.x, t->idx.y, t->idx.z}};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(fault.text, sizeof fault.text, fmt, ap);
    va_end(ap);
    record(w, &fault);
    w->thread = NULL;
    kn_emu_fiber_switch(&w->fibers, &w->fibers.root);
    __builtin_unreachable(); /* a failed worker's fibres are never resumed */
}

void kn_emu_fail_block(kn_emu_worker *w, int line, void *pc, const char *fmt, ...)
{
    kn_emu_fault fault = {.line = line, .pc = pc};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(fault.text, sizeof fault.text, fmt, ap);
    va_end(ap);
    record(w, &fault);
}

/* ---- blocks ---- */

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

/* The gang's memory: blocks, threads, warps, queues, images. */
static bool make_gang(kn_emu_worker *w)
{
    const kn_emu_launch *l = w->launch;
    size_t n = l->gang, threads = l->nthreads;
    size_t warps = (threads + KN_EMU_WARP - 1) / KN_EMU_WARP;
    size_t image = n > 1 ? (w->shared_bytes + 15) / 16 * 16 : 0;
    size_t need = n * (sizeof(kn_emu_block) + threads * sizeof(kn_emu_thread) +
                       warps * sizeof(kn_emu_warp_state) + 2 * threads * sizeof(void *) + image) +
                  64;
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
        for (unsigned j = 0; j < b->nthreads; j++) {
            kn_emu_thread *t = &b->threads[j];
            *t = (kn_emu_thread){
                .block = b, .number = j, .lane = j % KN_EMU_WARP, .idx = place(j, l->grid.block)};
            for (int kind = 0; kind < KN_EMU_COPY_KINDS; kind++)
                t->copies[kind].last = &t->copies[kind].first;
        }
    }
    return true;
}

/* Its shared memory comes into the module's image. */
static void activate(kn_emu_worker *w, kn_emu_block *b)
{
    if (w->block == b)
        return;
    if (w->block && w->block->image)
        memcpy(w->block->image, w->image, w->shared_bytes);
    w->block = b;
    if (b->image)
        memcpy(w->image, b->image, w->shared_bytes);
}

/* Until nothing in it can run. */
static void run_block(kn_emu_worker *w, kn_emu_block *b)
{
    activate(w, b);
    while (b->polling.count)
        kn_emu_wake(w, pop(&b->polling, b->nthreads));
    kn_emu_thread *t;
    while (!w->failed && (t = take(w)) != NULL)
        go_to(w, t);
}

/* Whether a thread reads memory that it takes to change. */
static bool anyone_polls(const kn_emu_worker *w)
{
    for (unsigned i = 0; i < w->launch->gang; i++)
        if (w->gang[i].polling.count)
            return true;
    return false;
}

/* What its threads left behind: little, unless a check failed. */
static void clean_up(kn_emu_worker *w)
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

static void run_gang(kn_emu_worker *w, unsigned gang)
{
    /* A volatile read may be one of a loop that waits, or of a line of code that reads on: how often nothing
     * else may happen before it is a deadlock. */
    enum { PATIENCE = 1 << 14 };
    unsigned idle = 0;
    const kn_emu_launch *l = w->launch;
    w->block = NULL;
    for (unsigned i = 0; i < l->gang; i++)
        start_block(w, &w->gang[i], gang * l->gang + i);
    for (;;) {
        uint64_t before = w->progress;
        unsigned left = 0;
        for (unsigned i = 0; i < l->gang; i++) {
            kn_emu_block *b = &w->gang[in_order(&w->dev->options, i, l->gang, gang)];
            if (!b->live)
                continue;
            run_block(w, b);
            if (w->failed)
                return;
            left += b->live != 0;
        }
        if (!left)
            return;
        idle = w->progress == before ? idle + 1 : 0;
        if (idle > (anyone_polls(w) ? PATIENCE : 0)) {
            kn_emu_deadlock(w);
            return;
        }
    }
}

void kn_emu_worker_run(kn_emu_worker *w, kn_emu_launch *l)
{
    const kn_code *code = l->code;
    kn_emu_worker *outer = kn_emu_here;
    kn_emu_here = w;
    w->launch = l;
    w->failed = false;
    w->last_span = 0;
    w->quiet_bytes = 0;
    w->image = (char *)code->anchor() - code->anchor_offset;
    w->shared_bytes = code->has_dynamic ? code->dynamic + l->grid.shared : code->fixed;
    if (w->time > 0x80000000u) { /* long before it wraps, while nothing is compared to it */
        w->time = 0;
        memset(w->cells, 0, w->ncells * sizeof *w->cells);
    }
    w->random = (w->dev->options.seed + 1) * 0x9e3779b97f4a7c15u | 1;
    if (!make_gang(w))
        kn_emu_fail_block(w, 0, NULL, "out of memory for %u blocks of %u threads", l->gang,
                          l->nthreads);
    while (!w->failed && !atomic_load(&l->failed)) {
        unsigned i = atomic_fetch_add(&l->next, 1);
        if (i >= l->ngangs)
            break;
        run_gang(w, in_order(&w->dev->options, i, l->ngangs, 0));
        clean_up(w);
    }
    if (w->failed) {
        w->handoff = NULL;
        kn_emu_fibers_reset(&w->fibers);
    }
    w->thread = NULL;
    w->block = NULL;
    kn_emu_here = outer;
}

/* ---- the device's workers ---- */

kn_emu_worker *kn_emu_worker_borrow(kn_emu *dev)
{
    pthread_mutex_lock(&dev->lock);
    kn_emu_worker *w = dev->idle;
    if (w)
        dev->idle = w->next;
    pthread_mutex_unlock(&dev->lock);
    if (w)
        return w;
    w = calloc(1, sizeof *w);
    if (w) {
        w->dev = dev;
        kn_emu_fibers_init(&w->fibers, fiber_body, w);
    }
    return w;
}

void kn_emu_worker_return(kn_emu_worker *w)
{
    pthread_mutex_lock(&w->dev->lock);
    w->next = w->dev->idle;
    w->dev->idle = w;
    pthread_mutex_unlock(&w->dev->lock);
}

void kn_emu_worker_free(kn_emu_worker *w)
{
    kn_emu_fibers_finish(&w->fibers);
    free(w->memory);
    free(w->cells);
    free(w);
}
