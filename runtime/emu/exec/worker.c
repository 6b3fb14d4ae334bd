/* Workers: they run the blocks of a launch, and in a block one thread after another (sched.c). */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/exec.h"

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
        kn_emu_thread *t = w->handoff ? w->handoff : kn_emu_take(w);
        w->handoff = NULL;
        if (t && t->state == KN_EMU_NEW) {
            run_thread(w, t);
        } else {
            kn_fiber_retire(&w->fibers);
            kn_emu_go_to(w, t);
        }
    }
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
    kn_emu_wake_polling(w, b);
    do {
        kn_emu_thread *t;
        while (!w->failed && (t = kn_emu_take(w)) != NULL)
            kn_emu_go_to(w, t);
    } while (!w->failed && kn_emu_answer_stragglers(w, b));
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
            kn_emu_block *b = &w->gang[kn_emu_in_order(&w->dev->options, i, l->gang, gang)];
            if (!b->live)
                continue;
            run_block(w, b);
            if (w->failed)
                return;
            left += b->live != 0;
        }
        if (!left)
            return;
        if (w->awaits_mailbox) /* which another thread's launch sends */
            sched_yield();
        w->awaits_mailbox = false;
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
        kn_emu_fail_block(w, (kn_emu_site){0}, "out of memory for %u blocks of %u threads", l->gang,
                          l->nthreads);
    while (!w->failed && !atomic_load(&l->failed)) {
        unsigned i = atomic_fetch_add(&l->next, 1);
        if (i >= l->ngangs)
            break;
        run_gang(w, kn_emu_in_order(&w->dev->options, i, l->ngangs, 0));
        kn_emu_gang_clean(w);
    }
    if (w->failed) {
        w->handoff = NULL;
        kn_fibers_reset(&w->fibers);
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
        kn_fibers_init(&w->fibers, fiber_body, w);
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
    kn_fibers_finish(&w->fibers);
    free(w->memory);
    free(w->cells);
    free(w->reads);
    free(w);
}
