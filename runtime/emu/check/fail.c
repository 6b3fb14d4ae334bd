/* How a failed check ends a launch: what it says is kept, and the thread is left for good. */
#include <stdarg.h>

#include "base/number.h"
#include "runtime/emu/check/check.h"

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

void kn_emu_fail(kn_emu_worker *w, kn_emu_site site, const char *fmt, ...)
{
    const kn_emu_thread *t = w->thread;
    kn_emu_fault fault = {.site = site,
                          .has_thread = true,
                          .block = {t->block->idx.x, t->block->idx.y, t->block->idx.z},
                          .thread = {t->idx.x, t->idx.y, t->idx.z}};
    va_list ap;
    va_start(ap, fmt);
    kn_format(fault.text, sizeof fault.text, fmt, ap);
    va_end(ap);
    record(w, &fault);
    w->thread = NULL;
    kn_fiber_switch(&w->fibers, &w->fibers.root);
    __builtin_unreachable(); /* a failed worker's fibres are never resumed */
}

void kn_emu_fail_block(kn_emu_worker *w, kn_emu_site site, const char *fmt, ...)
{
    kn_emu_fault fault = {.site = site};
    va_list ap;
    va_start(ap, fmt);
    kn_format(fault.text, sizeof fault.text, fmt, ap);
    va_end(ap);
    record(w, &fault);
}
