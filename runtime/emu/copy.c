/* Asynchronous copies into shared memory. A copy is done when its thread waits for it, as late as it may be:
 * whoever reads earlier, or never waits, sees that nothing was written. */
#include <stdlib.h>
#include <string.h>

#include "runtime/emu/emu.h"

void kn_emu_call_copy_async(void *to, const void *from, unsigned bytes, unsigned zeros, int line,
                            void *pc)
{
    kn_emu_worker *w = kn_emu_here;
    kn_emu_thread *t = w->thread;
    if (zeros > bytes)
        kn_emu_fail(w, line, pc, "a copy of %u bytes, %u of them zeros", bytes, zeros);
    kn_emu_copy *c = malloc(sizeof *c);
    if (!c)
        kn_emu_fail(w, line, pc, "out of memory for an asynchronous copy");
    *c = (kn_emu_copy){.to = to,
                       .from = from,
                       .bytes = bytes,
                       .zeros = zeros,
                       .group = t->copy_groups,
                       .line = line,
                       .pc = pc};
    *t->last_copy = c;
    t->last_copy = &c->next;
}

void kn_emu_call_copy_commit(void) { kn_emu_here->thread->copy_groups++; }

static void perform(kn_emu_worker *w, const kn_emu_copy *c)
{
    unsigned taken = c->bytes - c->zeros;
    if (w->launch->checked) {
        if (taken)
            kn_emu_check(w, c->from, taken, KN_EMU_READ, false, c->line, c->pc);
        if (c->bytes)
            kn_emu_check(w, c->to, c->bytes, KN_EMU_WRITE, false, c->line, c->pc);
    }
    memcpy(c->to, c->from, taken);
    memset(c->to + taken, 0, c->zeros);
    w->progress++;
}

void kn_emu_call_copy_wait(unsigned newest, int line, void *pc)
{
    kn_emu_worker *w = kn_emu_here;
    kn_emu_thread *t = w->thread;
    (void)line, (void)pc;
    while (t->copies && t->copies->group + newest < t->copy_groups) {
        kn_emu_copy *c = t->copies;
        perform(w, c);
        t->copies = c->next;
        if (!t->copies)
            t->last_copy = &t->copies;
        free(c);
    }
}
