/* Fibres: stacks that a thread switches between. By Boost.Context's C entry points.
 *
 * A fibre stays on the operating system thread of its pool. Stacks are kept for later; a stack
 * that was left in the middle (a failure) starts again at the top. */
#ifndef KN_BASE_FIBER_H
#define KN_BASE_FIBER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct kn_fiber {
    void *context; /* while it does not run */
    char *low;     /* of its stack */
    size_t bytes;
    struct kn_fiber *next_idle, *next;
} kn_fiber;

typedef struct kn_fibers {
    kn_fiber root;     /* the operating system thread's own stack */
    kn_fiber *current; /* the one that runs */
    kn_fiber *idle, *all;
    int count;
    void (*body)(void *user); /* what a new fibre runs; never returns */
    void *user;
    void *slabs; /* memory of the stacks */
    char *next_stack, *end_of_slab;
} kn_fibers;

void kn_fibers_init(kn_fibers *f, void (*body)(void *user), void *user);
void kn_fibers_finish(kn_fibers *f);
/* Takes an idle fibre, or makes one; NULL when out of memory. */
kn_fiber *kn_fiber_take(kn_fibers *f);
/* Makes the running fibre idle: it must switch away next, and finds itself in body's loop when taken. */
void kn_fiber_retire(kn_fibers *f);
/* Runs `to` from where it left off; returns when something switches back. */
void kn_fiber_switch(kn_fibers *f, kn_fiber *to);
/* From the root: every fibre is idle and at its beginning again. */
void kn_fibers_reset(kn_fibers *f);

#endif
