/* What the functions of plans have in common: numbers, and the memory that a plan takes. */
#include <string.h>

#include "runtime/emit/impl.h"

kn_writer kn_writer_new(kn_emitter *e, kn_text *t, const kn_emitted_plan *of)
{
    kn_plan *plan = of->plan;
    kn_writer w = {.e = e, .t = t, .of = of, .plan = plan};
    int temps = 0;
    /* All phases have the symbols of the plan's refined graph. */
    w.scope = kn_scope_new(e, t, plan->regions->graph->syms);
    w.staged = KN_NEW_ARRAY(e->a, bool, e->g->inputs.len + 1);
    for (int k = 0; k < plan->kernels.len; k++)
        for (int j = 0; j < plan->kernels.data[k]->bufs.len; j++) {
            const kn_buf *b = &plan->kernels.data[k]->bufs.data[j];
            temps = b->kind == KN_BUF_TEMP && b->index >= temps ? b->index + 1 : temps;
        }
    w.placed = KN_NEW_ARRAY(e->a, bool, temps + 1);
    return w;
}

const char *kn_emitted_number(kn_writer *w, kn_dim formula, int64_t value)
{
    return formula ? kn_put_dim(&w->scope, formula) : kn_sprintf(w->e->a, "%lld", (long long)value);
}

static void put_bytes(kn_writer *w, const char *what, const char *bytes)
{
    kn_putf(w->t, "    const int64_t %s = kn_take(&top, %s);\n", what, bytes);
}

void kn_put_staging(kn_writer *w)
{
    const kn_graph *g = w->e->g;
    for (int o = 0; o < g->outputs.len; o++) {
        const int i = g->outputs.data[o].updates;
        if (i < 0 || kn_plan_in_place(w->e->a, w->plan, i, o))
            continue;
        const kn_node *n = g->inputs.data[i].node;
        w->staged[i] = true;
        kn_putf(w->t, "    const int64_t bytes%d = %s;\n", i, kn_put_bytes(&w->scope, n));
        put_bytes(w, kn_sprintf(w->e->a, "copy%d", i), kn_sprintf(w->e->a, "bytes%d", i));
    }
}

kn_status kn_put_temporaries(kn_writer *w)
{
    const kn_plan *plan = w->plan;
    for (int k = 0; k < plan->kernels.len; k++)
        for (int j = 0; j < plan->kernels.data[k]->bufs.len; j++) {
            const kn_buf *b = &plan->kernels.data[k]->bufs.data[j];
            if (b->kind != KN_BUF_TEMP || w->placed[b->index])
                continue;
            w->placed[b->index] = true;
            const bool formula = !w->of->pinned;
            if (formula && !b->elements)
                return kn_fail(KN_INTERNAL, "%s: the size of %s has no formula", w->e->g->name,
                               b->name);
            put_bytes(w, kn_sprintf(w->e->a, "temp%d", b->index),
                      formula ? kn_sprintf(w->e->a, "%d * (%s)", kn_bytes(b->dtype),
                                           kn_put_dim(&w->scope, b->elements))
                              : kn_sprintf(w->e->a, "%lld", (long long)b->bytes));
        }
    return KN_OK;
}

/* "array[0], memory + temp1": of the kernel's parameters */
const char *kn_buffer_list(kn_writer *w)
{
    kn_text t = kn_text_new(w->e->a);
    for (int j = 0; j < w->k->bufs.len; j++) {
        const kn_buf *b = &w->k->bufs.data[j];
        kn_put(&t, j ? ", " : "");
        if (b->kind == KN_BUF_TEMP)
            kn_putf(&t, "memory + temp%d", b->index);
        else if (b->kind == KN_BUF_INPUT && w->staged[b->index])
            kn_putf(&t, "memory + copy%d", b->index);
        else
            kn_putf(&t, "array[%d]",
                    b->index + (b->kind == KN_BUF_OUTPUT ? w->e->g->inputs.len : 0));
    }
    return w->k->bufs.len ? kn_text_str(&t) : "0";
}
