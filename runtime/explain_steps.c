/* What the optimiser did, step by step. */
#include <string.h>

#include "runtime/explain_impl.h"

static const char *text_of(const subject *s, const kn_graph *g)
{
    kn_text t = kn_text_new(s->plan->arena);
    kn_graph_print(&t, g, true);
    return kn_text_str(&t);
}

static void add(const subject *s, kn_explained_steps *steps, kn_explained_step step)
{
    if (step.changed || s->verbose)
        kn_push(s->plan->arena, steps, step);
}

kn_explained_steps kn_explain_steps(const subject *s)
{
    kn_explained_steps steps = {0};
    const char *last = text_of(s, s->prog->original);
    for (const kn_pass_record *r = s->prog->passes; r->pass; r++) {
        const char *text = text_of(s, r->graph);
        add(s, &steps,
            (kn_explained_step){r->pass->name, r->pass->what, r->before, r->after,
                                kn_census_of_graph(s->plan->arena, r->graph, s->plan->sizes),
                                strcmp(last, text) != 0});
        last = text;
    }
    const kn_census *left = &s->plan->before;
    for (int i = 0; i < s->plan->steps.len; i++) {
        const kn_plan_step *step = &s->plan->steps.data[i];
        add(s, &steps,
            (kn_explained_step){step->name, step->what, 0, 0, step->after,
                                !kn_census_same(left, &step->after)});
        left = &step->after;
    }
    return steps;
}

/* ---- as a table ---- */

void kn_explain_put_bytes(kn_text *t, int64_t n)
{
    if (n >= 1000000000)
        kn_putf(t, "%.2f GB", (double)n / 1e9);
    else if (n >= 1000000)
        kn_putf(t, "%.1f MB", (double)n / 1e6);
    else if (n >= 1000)
        kn_putf(t, "%.1f kB", (double)n / 1e3);
    else
        kn_putf(t, "%lld B", (long long)n);
}

static const char *bytes(const subject *s, int64_t n)
{
    kn_text t = kn_text_new(s->t->arena);
    kn_explain_put_bytes(&t, n);
    return kn_text_str(&t);
}

/* "grid 1, block 3"; of a CPU, where threads wait for each other between phases only: "1". */
static const char *barriers(const subject *s, const kn_census *c)
{
    const struct {
        const char *level;
        int n;
    } all[] = {{"grid", c->grid}, {"cluster", c->cluster}, {"block", c->block}, {"warp", c->warp}};
    kn_text t = kn_text_new(s->t->arena);
    if (!kn_explains_gpu(s))
        return kn_sprintf(s->t->arena, "%d", c->grid);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].n)
            kn_putf(&t, "%s%s %d", t.len ? ", " : "", all[i].level, all[i].n);
    return t.len ? kn_text_str(&t) : "0";
}

static void put_left(const subject *s, const char *name, const kn_census *c)
{
    kn_arena *a = s->t->arena;
    const char *temporaries =
        c->temporaries ? kn_sprintf(a, "%d: %s", c->temporaries, bytes(s, c->temporary_bytes))
                       : "0";
    kn_putf(s->t, "  %-11s %-14s %-23s %9s %10s", name, temporaries, barriers(s, c),
            bytes(s, c->bytes_read), bytes(s, c->bytes_written));
}

/* A row has numbers where they are others than the row's above. */
void kn_explain_put_steps(const subject *s)
{
    kn_text *t = s->t;
    kn_census last = kn_census_of_graph(s->plan->arena, s->prog->original, s->plan->sizes);
    kn_putf(t, "\n%-13s %-14s %-23s %9s %10s\n", "steps", "temporaries",
            kn_explains_gpu(s) ? "barriers" : "barriers of threads", "reads", "writes");
    put_left(s, "as written", &last);
    kn_putf(t, "   %d nodes\n", s->prog->original->nodes.len);
    for (int i = 0; i < s->steps.len; i++) {
        const kn_explained_step *step = &s->steps.data[i];
        if (kn_census_same(&last, &step->left))
            kn_putf(t, "  %-71s", step->name);
        else
            put_left(s, step->name, &step->left);
        last = step->left;
        kn_putf(t, "   %s", step->what);
        if (!step->changed)
            kn_put(t, "; nothing changed");
        else if (step->before)
            kn_putf(t, "; %d nodes", step->after);
        kn_put(t, "\n");
    }
}
