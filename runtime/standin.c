#include "runtime/standin.h"

#include <string.h>

#include "runtime/promise.h"

enum { ALIGN = KN_WORKSPACE_ALIGN };

static bool meets(const kn_standin *s, const kn_span *span)
{
    return span->low && span->low < s->high && s->low < span->high;
}

/* Takes the span into the stand-in. Does that make it larger? */
static bool take(kn_standin *s, const char *low, const char *high)
{
    bool larger = low < s->low || high > s->high;
    s->low = low < s->low ? low : s->low;
    s->high = high > s->high ? high : s->high;
    return larger;
}

/* The outputs, with every input that shares memory with one; inputs that are only promised. */
static void list_ranges(kn_standins *s, const kn_graph *g)
{
    const kn_binding *b = s->binding;
    for (int o = 0; o < g->outputs.len; o++)
        if (b->out_span[o].low)
            s->list[s->n++] = (kn_standin){.low = b->out_span[o].low, .high = b->out_span[o].high};
    for (int i = 0; i < g->inputs.len; i++)
        if (kn_is_promised(b->in_span[i].low))
            s->list[s->n++] = (kn_standin){.low = b->in_span[i].low, .high = b->in_span[i].high};
    for (bool grown = true; grown;) {
        grown = false;
        for (int k = 0; k < s->n; k++)
            for (int i = 0; i < g->inputs.len; i++)
                if (meets(&s->list[k], &b->in_span[i]))
                    grown = take(&s->list[k], b->in_span[i].low, b->in_span[i].high) || grown;
        for (int k = 0; k < s->n; k++)
            for (int j = s->n - 1; j > k; j--) {
                const kn_span other = {s->list[j].low, s->list[j].high, 0, 0};
                if (!meets(&s->list[k], &other))
                    continue;
                take(&s->list[k], other.low, other.high);
                s->list[j] = s->list[--s->n];
                grown = true;
            }
    }
}

/* Where the byte at `from` is; `from` itself if nothing stands for it. */
static char *moved(const kn_standins *s, const char *from)
{
    for (int k = 0; k < s->n; k++)
        if (from >= s->list[k].low && from < s->list[k].high)
            return s->list[k].at + (from - s->list[k].low);
    return (char *)(uintptr_t)from;
}

static void move_args(kn_standins *s, const kn_arg *args, const kn_graph *g)
{
    for (int k = 0; k < s->nargs; k++) {
        s->args[k] = args[k];
        int i = kn_graph_find_input(g, args[k].name), o = kn_graph_find_output(g, args[k].name);
        const kn_span *span = i >= 0 ? &s->binding->in_span[i] : &s->binding->out_span[o];
        if (span->low) /* the address of element (0, 0, ...) may be anywhere in the span */
            s->args[k].data = moved(s, args[k].data);
    }
}

kn_status kn_standins_make(kn_standins *s, kn_arena *a, kn_device *dev, const kn_binding *b,
                           const kn_arg *args, int nargs)
{
    const kn_graph *g = b->graph;
    *s = (kn_standins){.dev = dev, .binding = b, .nargs = nargs};
    s->list = KN_NEW_ARRAY(a, kn_standin, g->outputs.len + g->inputs.len + 1);
    s->args = KN_NEW_ARRAY(a, kn_arg, nargs + 1);
    list_ranges(s, g);
    for (int k = 0; k < s->n; k++) {
        kn_standin *in = &s->list[k];
        void *block;
        KN_TRY(dev->ops->alloc(dev, (size_t)(in->high - in->low) + ALIGN, &block));
        in->block = block;
        in->at = in->block + (uintptr_t)in->low % ALIGN;
    }
    move_args(s, args, g);
    return KN_OK;
}

void kn_standins_finish(kn_standins *s)
{
    for (int k = 0; k < s->n; k++)
        if (s->list[k].block)
            s->dev->ops->release(s->dev, s->list[k].block);
}

kn_status kn_standins_fill(const kn_standins *s, void *stream)
{
    const kn_binding *b = s->binding;
    for (int i = 0; i < b->graph->inputs.len; i++) {
        const kn_span *span = &b->in_span[i];
        char *to = span->low ? moved(s, span->low) : NULL;
        size_t bytes = (size_t)(span->high - span->low);
        if (to && kn_is_promised(span->low))
            KN_TRY(s->dev->ops->zero(s->dev, to, bytes, stream));
        else if (to && to != span->low)
            KN_TRY(s->dev->ops->copy(s->dev, to, span->low, bytes, stream));
    }
    return KN_OK;
}
