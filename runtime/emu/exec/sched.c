/* Which thread of a block runs next, and the switch to it. */
#include "runtime/emu/check/check.h"
#include "runtime/emu/exec/exec.h"

_Thread_local kn_emu_worker *kn_emu_here;

static uint64_t random_number(kn_emu_worker *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

/* ---- the order of things ---- */

static unsigned gcd(unsigned a, unsigned b) { return b ? gcd(b, a % b) : a; }

unsigned kn_emu_in_order(const kn_emu_options *o, unsigned i, unsigned n, uint64_t salt)
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
    return &b->threads[kn_emu_in_order(&w->dev->options, i, b->nthreads, b->number)];
}

kn_emu_thread *kn_emu_take(kn_emu_worker *w)
{
    kn_emu_block *b = w->block;
    bool fresh = b->fresh < b->nthreads;
    if (b->ready.count && w->dev->options.order == KN_EMU_SEEDED) {
        unsigned pick = (unsigned)(random_number(w) % (b->ready.count + fresh));
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
    return fresh ? start_next(w, b) : NULL;
}

void kn_emu_wake(kn_emu_worker *w, kn_emu_thread *t)
{
    (void)w;
    t->state = KN_EMU_READY;
    push(&t->block->ready, t->block->nthreads, t);
}

/* ---- switching ---- */

void kn_emu_go_to(kn_emu_worker *w, kn_emu_thread *t)
{
    if (!t) {
        w->thread = NULL;
        kn_fiber_switch(&w->fibers, &w->fibers.root);
    } else if (t->state != KN_EMU_NEW) {
        w->thread = t;
        kn_fiber_switch(&w->fibers, t->fiber);
    } else {
        kn_fiber *f = kn_fiber_take(&w->fibers);
        w->handoff = t;
        if (f)
            kn_fiber_switch(&w->fibers, f);
        else if (w->thread)
            kn_emu_fail(w, (kn_emu_site){0}, "out of memory for the threads' stacks");
        else
            kn_emu_fail_block(w, (kn_emu_site){0}, "out of memory for the threads' stacks");
    }
}

void kn_emu_pause(kn_emu_worker *w)
{
    kn_emu_thread *t = kn_emu_take(w);
    if (t != w->thread)
        kn_emu_go_to(w, t);
}

void kn_emu_yield(kn_emu_worker *w, kn_emu_site site)
{
    kn_emu_thread *t = w->thread;
    t->state = KN_EMU_POLLING;
    t->site = site;
    push(&w->block->polling, w->block->nthreads, t);
    kn_emu_pause(w);
}

void kn_emu_wake_polling(kn_emu_worker *w, kn_emu_block *b)
{
    while (b->polling.count)
        kn_emu_wake(w, pop(&b->polling, b->nthreads));
}
