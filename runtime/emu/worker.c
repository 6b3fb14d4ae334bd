/* Workers: they run the blocks of a launch, and in a block one thread after another. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
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
    kn_format(fault.text, sizeof fault.text, fmt, ap);
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
    kn_format(fault.text, sizeof fault.text, fmt, ap);
    va_end(ap);
    record(w, &fault);
}

/* ---- blocks ---- */

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

static void run_gang(kn_emu_worker *w, unsigned gang)
{
    /* A volatile read may be one of a loop that waits, or of a line of code that reads on: how often nothing
     * else may happen before it is a deadlock. */
    enum { PATIENCE = 1 << 14 };
    unsigned idle = 0;
    const kn_emu_launch *l = w->launch;
    kn_emu_gang_start(w, gang);
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
    if (!kn_emu_gang_make(w))
        kn_emu_fail_block(w, 0, NULL, "out of memory for %u blocks of %u threads", l->gang,
                          l->nthreads);
    while (!w->failed && !atomic_load(&l->failed)) {
        unsigned i = atomic_fetch_add(&l->next, 1);
        if (i >= l->ngangs)
            break;
        run_gang(w, in_order(&w->dev->options, i, l->ngangs, 0));
        kn_emu_gang_clean(w);
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
    free(w->reads);
    free(w);
}
