/* explain as one JSON document. Field names are a promise: scripts and tests read them.
 *
 *   program, device, arch, fusion
 *   launches, temporaries, barriers, bytes   before: one launch an operation; after: as planned
 *   inputs, outputs                          bytes of each, and the bytes that go through memory for it;
 *                                            reads and writes are their ratio
 *   workspace, buffers                       bytes, and the temporaries that lie in it
 *   passes                                   graph passes, then steps of planning: what each left; those
 *                                            that changed nothing only if that is asked for
 *   schedule, kernels                        how each loop nest is walked; the blocks of a launch, as the model estimates
 *                                            their registers
 *   predicted_us, predicted_unfused_us       of all kernels; if each operation were one
 *   predicted                                of each kernel and phase: us in all, what most of it goes to
 *                                            (bound), and the us of each part
 *   merges                                   what became one loop nest, in order: each the two operations by which
 *                                            its sides touch; options.schedule "undo N" undoes the N-th
 *   autotune                                 where the program measures: the candidates for these arguments,
 *                                            the schedule that each forces ("": none), as --schedule reads
 *                                            it, and its us (null: not measured yet); which
 *                                            won, how many the budget left out
 *   constraints, wider, searches, again, refusals, assumed
 *                                            texts
 *   split                                    of a part of a program that was split: how, in words */
#include "codegen/kir/grid.h"
#include "codegen/model/resources.h"
#include "runtime/explain_impl.h"

static void put_string(kn_text *t, const char *before, const char *s)
{
    kn_put(t, before);
    kn_put_json(t, s);
}

static void put_temporaries(kn_text *t, const kn_census *c)
{
    kn_putf(t, "{\"count\": %d, \"bytes\": %lld}", c->temporaries, (long long)c->temporary_bytes);
}

static void put_barriers(kn_text *t, const kn_census *c)
{
    kn_putf(t, "{\"grid\": %d, \"cluster\": %d, \"block\": %d, \"warp\": %d}", c->grid, c->cluster,
            c->block, c->warp);
}

static void put_traffic(kn_text *t, const kn_census *c)
{
    kn_putf(t, "{\"read\": %lld, \"written\": %lld}", (long long)c->bytes_read,
            (long long)c->bytes_written);
}

static void put_both(const subject *s, const char *what, void (*one)(kn_text *, const kn_census *))
{
    kn_putf(s->t, "  \"%s\": {\"before\": ", what);
    one(s->t, &s->plan->before);
    kn_put(s->t, ", \"after\": ");
    one(s->t, &s->plan->after);
    kn_put(s->t, "},\n");
}

/* [one, one, ...], a line each. */
static void put_list(const subject *s, const char *what, int n,
                     void (*one)(const subject *, int index))
{
    kn_putf(s->t, "  \"%s\": [", what);
    for (int i = 0; i < n; i++) {
        kn_put(s->t, i ? ",\n    " : "\n    ");
        one(s, i);
    }
    kn_put(s->t, n ? "\n  ],\n" : "],\n");
}

/* ---- arguments ---- */

/* What goes through memory for an argument: the fields' names, its bytes before and after. */
typedef struct traffic {
    const char *moved, *times;
    int64_t before, after;
} traffic;

static void put_argument(const subject *s, const char *name, const kn_node *n, traffic by)
{
    int64_t shape[KN_MAX_RANK], bytes = 0;
    if (kn_node_sizes(n, s->plan->sizes, shape) == KN_OK)
        bytes = kn_count(shape, n->rank) * kn_bytes(n->dtype);
    put_string(s->t, "{\"name\": ", name);
    kn_putf(s->t,
            ", \"dtype\": \"%s\", \"bytes\": %lld, \"%s\": {\"before\": %lld, \"after\": %lld}",
            kn_dtypes[n->dtype].text, (long long)bytes, by.moved, (long long)by.before,
            (long long)by.after);
    kn_putf(s->t, ", \"%s\": %.4g}", by.times, bytes ? (double)by.after / (double)bytes : 0.0);
}

static void put_input(const subject *s, int i)
{
    const kn_input *in = &s->prog->optimised->inputs.data[i];
    traffic read = {"read", "reads", 0, 0};
    if (!in->by_value) {
        read.before = s->plan->before.input_read[i];
        read.after = s->plan->after.input_read[i];
    }
    put_argument(s, in->name, in->node, read);
}

static void put_output(const subject *s, int o)
{
    const kn_output *out = &s->prog->optimised->outputs.data[o];
    put_argument(s, out->name, out->node,
                 (traffic){"written", "writes", s->plan->before.output_written[o],
                           s->plan->after.output_written[o]});
}

static void put_buffer(const subject *s, int i)
{
    const kn_buf *b = &s->plan->temporaries.data[i];
    put_string(s->t, "{\"name\": ", b->name);
    kn_putf(s->t, ", \"dtype\": \"%s\", \"bytes\": %lld, \"offset\": %lld}",
            kn_dtypes[b->dtype].text, (long long)b->bytes, (long long)b->offset);
}

/* ---- passes ---- */

static void put_step(const subject *s, int i)
{
    const kn_explained_step *step = &s->steps.data[i];
    put_string(s->t, "{\"name\": ", step->name);
    put_string(s->t, ", \"what\": ", step->what);
    if (step->before)
        kn_putf(s->t, ", \"nodes\": {\"before\": %d, \"after\": %d}", step->before, step->after);
    kn_put(s->t, ",\n     \"temporaries\": ");
    put_temporaries(s->t, &step->left);
    kn_put(s->t, ", \"barriers\": ");
    put_barriers(s->t, &step->left);
    kn_put(s->t, ", \"bytes\": ");
    put_traffic(s->t, &step->left);
    kn_put(s->t, "}");
}

/* ---- schedules ---- */

static void put_axes(const subject *s, const kn_phase *ph)
{
    for (int a = 0; a < ph->nest.naxes; a++) {
        put_string(s->t, a ? ", {\"name\": " : "{\"name\": ", ph->nest.axes[a].name);
        kn_putf(s->t, ", \"of\": \"%s\", \"size\": %lld}",
                a < ph->nest.ngroup ? "groups" : "members", (long long)ph->nest.axes[a].extent);
    }
}

/* What a kept value is called: its array in the source, the user's name or its operation. */
static const char *value_name(const kn_kernel *k, const kn_value *v)
{
    return v->kind == KN_V_LOAD ? k->bufs.data[v->access->buf].name
           : v->name            ? v->name
                                : kn_ops[v->op].text;
}

static void put_kept(const subject *s, const kn_kernel *k, const kn_phase *ph)
{
    bool any = false;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        const kn_keep kept = kn_kept(ph, i);
        if (!kept)
            continue;
        put_string(s->t, any ? ", {\"name\": " : "{\"name\": ", value_name(k, v));
        kn_putf(s->t, ", \"in\": \"%s\"%s}",
                kept == KN_KEEP_REGISTERS ? "registers"
                : kept == KN_KEEP_FRAME   ? "cache"
                                          : "shared",
                ph->how.rest_in_registers ? ", \"rest\": \"registers\"" : "");
        any = true;
    }
}

static void put_transposed(const subject *s, const kn_kernel *k, const kn_phase *ph)
{
    for (int i = 0; i < ph->how.transposes.len; i++) {
        const kn_access *acc = kn_transposed_access(ph, &ph->how.transposes.data[i]);
        put_string(s->t, i ? ", " : "", k->bufs.data[acc->buf].name);
    }
}

static void put_time(const subject *s, const kn_time *time)
{
    kn_putf(s->t, "\"predicted\": {\"us\": %.3f, \"bound\": \"%s\"", time->ns / 1e3,
            kn_time_bound(time));
    const struct {
        const char *name;
        double ns;
    } parts[] = {{"launch", time->launch},     {"memory", time->memory},
                 {"cache", time->cache},       {"transfer", time->transfer},
                 {"instructions", time->work}, {"starts", time->starts},
                 {"waits", time->waits},       {"combines", time->combines},
                 {"in_step", time->in_step},   {"barriers", time->barriers}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        kn_putf(s->t, ", \"%s\": %.3f", parts[i].name, parts[i].ns / 1e3);
    kn_put(s->t, "}");
}

static void put_phase(const subject *s, const kn_kernel *k, const kn_phase *ph, const kn_time *time)
{
    put_string(s->t, "{\"name\": ", ph->nest.name);
    kn_putf(
        s->t,
        ", \"local\": %s, \"grid_barrier\": %s, \"last_block\": %s, \"walk\": \"%s\", \"sweeps\": %d",
        ph->local ? "true" : "false", ph->barrier ? "true" : "false",
        ph->how.last_block ? "true" : "false", kn_walk_text(ph->how.walk), ph->nest.nsweeps);
    kn_putf(
        s->t,
        ", \"threads_a_group\": %d, \"vector\": %d, \"steps\": %d, \"splits\": %lld, \"mixed\": %s",
        ph->how.tpg, ph->how.vec, ph->how.steps, (long long)kn_parts_left(ph),
        ph->how.mixed ? "true" : "false");
    kn_put(s->t, ",\n        ");
    put_time(s, time);
    kn_put(s->t, ",\n        \"axes\": [");
    put_axes(s, ph);
    kn_put(s->t, "], \"kept\": [");
    put_kept(s, k, ph);
    kn_putf(s->t, "], \"tile\": %d, \"transposed\": [", ph->how.tile);
    put_transposed(s, k, ph);
    kn_put(s->t, "]}");
}

static void put_kernel(const subject *s, int i)
{
    const kn_kernel *k = s->plan->kernels.data[i];
    kn_time *times = KN_NEW_ARRAY(s->t->arena, kn_time, k->phases.len + 1);
    kn_time all = kn_predict_kernel(k, &s->target, times);
    put_string(s->t, "{\"name\": ", k->name);
    const int fit = (int)kn_blocks_a_unit(k, &s->target);
    kn_putf(s->t,
            ", \"blocks\": %u, \"threads\": %d, \"cooperative\": %s, \"shared\": %lld,\n     ",
            kn_grid_all_blocks(k, fit, s->target.units), k->threads,
            kn_kernel_cooperative(k) ? "true" : "false", (long long)k->shared);
    put_time(s, &all);
    kn_put(s->t, ",\n     \"phases\": [");
    for (int p = 0; p < k->phases.len; p++) {
        kn_put(s->t, p ? ",\n       " : "\n       ");
        put_phase(s, k, &k->phases.data[p], &times[p]);
    }
    kn_put(s->t, "\n     ]}");
}

/* ---- texts ---- */

static void put_refusal(const subject *s, int i)
{
    const kn_refusal *r = &s->refusals.data[i];
    put_string(s->t, "{\"what\": ", r->what);
    put_string(s->t, ", \"why\": ", r->why);
    put_string(s->t, ", \"need\": ", r->need);
    kn_put(s->t, "}");
}

static void put_texts(kn_text *t, const char *what, list l)
{
    kn_putf(t, "  \"%s\": [", what);
    for (int i = 0; i < l.lines.len; i++)
        put_string(t, i ? ",\n    " : "\n    ", l.lines.data[i]);
    kn_put(t, l.lines.len ? "\n  ],\n" : "],\n");
}

void kn_explain_json(const subject *s)
{
    kn_text *t = s->t;
    const kn_plan *plan = s->plan;
    put_string(t, "{\n  \"program\": ", s->prog->optimised->name);
    put_string(t, ",\n  \"device\": ", s->target.kind);
    if (s->target.sm)
        kn_putf(t, ",\n  \"arch\": \"sm_%d\"", s->target.sm);
    kn_putf(t, ",\n  \"fusion\": %s,\n  \"launches\": %d,\n",
            s->prog->options.fusion ? "true" : "false", plan->after.launches);
    put_both(s, "temporaries", put_temporaries);
    put_both(s, "barriers", put_barriers);
    put_both(s, "bytes", put_traffic);
    put_list(s, "inputs", s->prog->optimised->inputs.len, put_input);
    put_list(s, "outputs", s->prog->optimised->outputs.len, put_output);
    kn_putf(t, "  \"workspace\": %lld,\n", (long long)plan->workspace);
    put_list(s, "buffers", plan->temporaries.len, put_buffer);
    put_list(s, "passes", s->steps.len, put_step);
    kn_putf(t, "  \"schedule\": \"%s\",\n", plan->schedule);
    kn_putf(t, "  \"predicted_us\": %.3f,\n  \"predicted_unfused_us\": %.3f,\n", plan->ns / 1e3,
            s->unfused->ns / 1e3);
    put_list(s, "kernels", plan->kernels.len, put_kernel);
    put_texts(t, "merges", kn_explain_merges(s));
    kn_explain_tuning_json(s);
    list relied = kn_explain_facts(s), more = kn_explain_needs(s);
    for (int i = 0; i < more.lines.len; i++)
        kn_push(relied.a, &relied.lines, more.lines.data[i]);
    put_texts(t, "constraints", relied);
    put_texts(t, "wider", kn_explain_wider(s));
    put_texts(t, "searches", kn_explain_searches(s));
    put_texts(t, "again", kn_explain_again(s));
    put_list(s, "refusals", s->refusals.len, put_refusal);
    put_string(t, "  \"assumed\": ", s->assumed);
    if (s->prog->original->split)
        put_string(t, ",\n  \"split\": ", s->prog->original->split);
    kn_put(t, "\n}\n");
}
