/* Where an address is, in words, for messages. */
#include <stdio.h>

#include "runtime/emu/check/check.h"

/* So far past a buffer's end an address still belongs to it. */
enum { NEARBY = 1 << 20, SHARED_NEARBY = 1 << 16 };

static uintptr_t distance(const char *a, const char *b)
{
    return (uintptr_t)a > (uintptr_t)b ? (uintptr_t)a - (uintptr_t)b : (uintptr_t)b - (uintptr_t)a;
}

/* The span that an address is in, or else nearest to, within reach; *away is how far. */
static const kn_emu_span *nearest(const kn_emu_launch *l, const char *p, uintptr_t *away)
{
    const kn_emu_span *best = NULL;
    *away = NEARBY;
    for (int i = 0; i < l->nspans; i++) {
        const kn_emu_span *s = &l->spans[i];
        /* at its end it is already past it */
        uintptr_t by = p < s->low     ? distance(p, s->low)
                       : p >= s->high ? distance(p, s->high) + 1
                                      : 0;
        if (by < *away) {
            *away = by;
            best = s;
        }
    }
    return best;
}

static void describe_shared(const kn_emu_worker *w, size_t offset, char *text, size_t size)
{
    const kn_code *code = w->launch->code;
    if (code->has_dynamic && offset >= code->dynamic) {
        snprintf(text, size, "dynamic shared memory+%zu (of %zu bytes)", offset - code->dynamic,
                 w->launch->grid.shared);
        return;
    }
    for (int i = 0; i < code->nshared; i++) {
        const kn_emu_shared *s = &code->shared[i];
        if (offset >= s->offset && offset < s->offset + s->bytes) {
            snprintf(text, size, "shared %s+%zu (of %zu bytes)", s->name, offset - s->offset,
                     s->bytes);
            return;
        }
    }
    snprintf(text, size, "shared memory+%zu (past its %zu bytes)", offset, w->shared_bytes);
}

void kn_emu_describe(const kn_emu_worker *w, const char *p, char *text, size_t size)
{
    const kn_emu_block *peer = kn_emu_peer(w, p);
    if (peer) {
        describe_shared(w, (size_t)(p - peer->image), text, size);
        return;
    }
    uintptr_t offset = (uintptr_t)p - (uintptr_t)w->image, away;
    const kn_emu_span *s = nearest(w->launch, p, &away);
    uintptr_t reach = w->shared_bytes + (away < SHARED_NEARBY ? away : SHARED_NEARBY);
    if (w->shared_bytes && offset < reach)
        describe_shared(w, offset, text, size);
    else if (s)
        snprintf(text, size, "%s%c%zu (of %zu bytes)", s->name, p < s->low ? '-' : '+',
                 (size_t)distance(p, s->low), (size_t)(s->high - s->low));
    else
        snprintf(text, size, "%p, which is no memory of this launch", (const void *)p);
}
