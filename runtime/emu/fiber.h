/* Fibres: stacks that a worker switches between. By Boost.Context's C entry points.
 *
 * A fibre stays on the operating system thread of its pool. Stacks are kept for the next launch; a stack
 * that was left in the middle (a failed check) starts again at the top. */
#ifndef KN_RUNTIME_EMU_FIBER_H
#define KN_RUNTIME_EMU_FIBER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct kn_emu_fiber {
    void *context; /* while it does not run */
    char *low;     /* of its stack */
    size_t bytes;
    void *thread; /* whose work is on it */
    struct kn_emu_fiber *next_idle, *next;
} kn_emu_fiber;

typedef struct kn_emu_fibers {
    kn_emu_fiber root;     /* the operating system thread's own stack */
    kn_emu_fiber *current; /* the one that runs */
    kn_emu_fiber *idle, *all;
    int count;
    void (*body)(void *user); /* what a new fibre runs; never returns */
    void *user;
    void *slabs; /* memory of the stacks */
    char *next_stack, *end_of_slab;
} kn_emu_fibers;

void kn_emu_fibers_init(kn_emu_fibers *f, void (*body)(void *user), void *user);
void kn_emu_fibers_finish(kn_emu_fibers *f);
/* Takes an idle fibre, or makes one; NULL when out of memory. */
kn_emu_fiber *kn_emu_fiber_take(kn_emu_fibers *f);
/* Makes the running fibre idle: it must switch away next, and finds itself in body's loop when taken. */
void kn_emu_fiber_retire(kn_emu_fibers *f);
/* Runs `to` from where it left off; returns when something switches back. */
void kn_emu_fiber_switch(kn_emu_fibers *f, kn_emu_fiber *to);
/* From the root: every fibre is idle and at its beginning again. */
void kn_emu_fibers_reset(kn_emu_fibers *f);

#endif
