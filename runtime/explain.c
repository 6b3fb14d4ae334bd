#include "runtime/explain_impl.h"

#include <string.h>

#include "codegen/emit/cuda/cuda.h"
#include "codegen/model/predict.h"
#include "runtime/cuda/nvrtc.h"

/* ---- lists ---- */

static void add(list *l, const char *text)
{
    for (int i = 0; i < l->lines.len; i++)
        if (strcmp(l->lines.data[i], text) == 0)
            return;
    kn_push(l->a, &l->lines, text);
}

/* ---- types: an f64 that the user may not have wanted ---- */

/* Does the program have floats, and none narrower than f64? Then they are wanted. */
static bool is_double(const kn_graph *g)
{
    bool wide = false, narrow = false;
    for (int i = 0; i < g->inputs.len; i++) {
        kn_dtype t = g->inputs.data[i].node->dtype;
        bool is_wide = t == KN_F64 || t == KN_C128;
        wide = wide || is_wide;
        narrow = narrow || (kn_is_inexact(t) && !is_wide);
    }
    return wide && !narrow;
}

list kn_explain_wider(const subject *s)
{
    const kn_graph *g = s->prog->original;
    list l = {.a = s->plan->arena};
    const bool *needed = kn_needed_nodes(g, l.a);
    for (int i = 0; i < g->wider.len && !is_double(g); i++)
        if (needed[g->wider.data[i].node])
            add(&l, g->wider.data[i].text);
    return l;
}

/* ---- constraints: what the kernels rely on, one line each ---- */

static void divisible(list *l, const char *size, int by)
{
    add(l, kn_sprintf(l->a, "%s %% %d == 0", kn_dim_operand_text(l->a, size, false), by));
}

static void phase_constraints(list *l, const kn_kernel *k, const kn_phase *ph)
{
    int va = kn_phase_vector_axis(ph);
    for (int a = 0; a < ph->nest.naxes; a++)
        if (strchr(ph->nest.axes[a].name, '*') && ph->nest.axes[a].extent > 1)
            add(l, kn_sprintf(l->a, "%s is walked as one axis", ph->nest.axes[a].name));
    if (ph->how.unaligned)
        add(l, kn_sprintf(l->a, "rows along %s begin alike in all arrays, within vectors of %d",
                          ph->nest.axes[va].name, ph->how.vec));
    else if (ph->how.vec > 1)
        divisible(l,
                  ph->how.packed
                      ? kn_dim_product_text(l->a, ph->nest.axes[0].name, ph->nest.axes[va].name)
                      : ph->nest.axes[va].name,
                  ph->how.vec);
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_access_at(ph, i);
        const kn_buf *b = acc ? &k->bufs.data[acc->buf] : NULL;
        if (!b || b->kind == KN_BUF_TEMP || va < 0)
            continue;
        int along = acc->transposed ? ph->nest.naxes - 1 : va,
            vec = acc->transposed ? acc->transposed : ph->how.vec;
        if (acc->kind[along] == KN_STRIDE_ONE)
            add(l,
                kn_sprintf(l->a, "%s is contiguous along %s", b->name, ph->nest.axes[along].name));
        if (acc->transposed > 1)
            divisible(l, ph->nest.axes[along].name, vec);
        if (acc->vector || acc->transposed > 1) {
            int bytes = vec * kn_bytes(b->dtype);
            add(l, kn_sprintf(l->a, "%s is %d-byte aligned", b->name, bytes < 16 ? bytes : 16));
        }
    }
}

static bool may_lie_on(const subject *s, int input, int output)
{
    const kn_graph *g = s->prog->optimised;
    const kn_node *x = g->inputs.data[input].node, *y = g->outputs.data[output].node;
    if (g->inputs.data[input].by_value || kn_bytes(x->dtype) != kn_bytes(y->dtype) ||
        x->rank != y->rank)
        return false;
    for (int j = 0; j < x->rank; j++)
        if (!kn_dim_equal(g->syms, x->shape[j], y->shape[j]))
            return false;
    return kn_plan_in_place(s->plan->arena, s->plan, input, output);
}

static void add_fact(list *l, const kn_graph *g, const kn_fact *fact)
{
    kn_text t = kn_text_new(l->a);
    kn_fact_print(&t, g->syms, fact);
    kn_putf(&t, " (%s)", fact->why);
    add(l, kn_text_str(&t));
}

list kn_explain_constraints(const subject *s)
{
    const kn_graph *g = s->prog->optimised;
    list l = {.a = s->plan->arena};
    for (int i = 0; i < g->facts.list.len; i++)
        add_fact(&l, g, &g->facts.list.data[i]);
    for (int i = 0; i < s->plan->kernels.len; i++) {
        const kn_kernel *k = s->plan->kernels.data[i];
        for (int p = 0; p < k->phases.len; p++)
            phase_constraints(&l, k, &k->phases.data[p]);
        add(&l, k->wide ? "indices need 64 bits" : "indices fit in 32 bits");
    }
    if (s->prog->options.fast_math)
        add(&l, "fast_math is on: results may differ as docs/optimizer.md says");
    add(&l, "no output overlaps an input (an overlapping input is copied first)");
    for (int i = 0; i < g->inputs.len; i++)
        for (int o = 0; o < g->outputs.len; o++)
            if (may_lie_on(s, i, o))
                add(&l, kn_sprintf(l.a, "%s may be written over %s without a copy",
                                   g->outputs.data[o].name, g->inputs.data[i].name));
    return l;
}

/* ---- words ---- */

static void put_bytes(kn_text *t, int64_t n)
{
    if (n >= 1000000)
        kn_putf(t, "%.1f MB", (double)n / 1e6);
    else if (n >= 1000)
        kn_putf(t, "%.1f kB", (double)n / 1e3);
    else
        kn_putf(t, "%lld B", (long long)n);
}

static void put_census(kn_text *t, const char *when, const kn_census *c)
{
    kn_putf(t, "  %-7s temporaries %d (", when, c->temporaries);
    put_bytes(t, c->temporary_bytes);
    kn_putf(t, "), barriers: grid %d, cluster %d, block %d, warp %d; reads ", c->grid, c->cluster,
            c->block, c->warp);
    put_bytes(t, c->bytes_read);
    kn_put(t, ", writes ");
    put_bytes(t, c->bytes_written);
    kn_put(t, "\n");
}

/* What each step of planning left; the last one's is `after`. */
static void put_steps(kn_text *t, const kn_plan *plan)
{
    put_census(t, "before", &plan->before);
    const kn_census *last = &plan->before;
    for (int i = 0; i < plan->steps.len - 1; i++) {
        const kn_plan_step *step = &plan->steps.data[i];
        if (kn_census_same(last, &step->after))
            kn_putf(t, "  %-7s changed nothing\n", step->name);
        else
            put_census(t, step->name, &step->after);
        last = &step->after;
    }
    put_census(t, "after", &plan->after);
}

const char *kn_explain_value(const kn_kernel *k, const kn_value *v)
{
    return v->kind == KN_V_LOAD ? k->bufs.data[v->access.buf].name
           : v->name            ? v->name
                                : kn_ops[v->op].text;
}

static void put_time(kn_text *t, const kn_time *time)
{
    kn_putf(t, ", predicted %.1f us (%s)", time->ns / 1e3, kn_time_bound(time));
}

/* time: NULL where it is not asked for. */
static void put_phase(kn_text *t, const kn_kernel *k, int p, const kn_time *time)
{
    const kn_phase *ph = &k->phases.data[p];
    kn_putf(t, "    %sphase %d%s: %s", ph->local ? "local " : "", p,
            ph->barrier            ? " (after a grid barrier)"
            : ph->how.last_of_tile ? " (by the last block of each tile)"
            : ph->how.last_block   ? " (by the last block)"
                                   : "",
            kn_walk_text(ph->how.walk));
    for (int a = 0; a < ph->nest.naxes; a++) {
        const char *extent = kn_sprintf(t->arena, "%lld", (long long)ph->nest.axes[a].extent);
        kn_put(t, a == ph->nest.ngroup ? "; members " : a ? " x " : "; groups ");
        kn_put(t, ph->nest.axes[a].name);
        if (strcmp(ph->nest.axes[a].name, extent) != 0) /* the size may be a number in the text */
            kn_putf(t, " = %s", extent);
    }
    kn_putf(t, "; %d sweep%s", ph->nest.nsweeps, ph->nest.nsweeps == 1 ? "" : "s");
    if (ph->how.walk == KN_WALK_ROWS)
        kn_putf(t, ", %d thread%s a %s", ph->how.tpg, ph->how.tpg == 1 ? "" : "s",
                ph->how.cluster ? "block" : "group");
    if (ph->how.cluster)
        kn_putf(t, ", clusters of %lld blocks", (long long)ph->num.splits);
    if (ph->how.async)
        kn_put(t, ph->how.walk == KN_WALK_ROWS ? ", bulk copies" : ", own copies");
    if (ph->how.packed)
        kn_putf(t, ", %d groups abreast, %d x %d threads", kn_cols_width(ph), ph->how.lanes,
                ph->how.tpg);
    else if (ph->how.walk == KN_WALK_COLS)
        kn_putf(t, ", %d groups x %d threads", kn_cols_width(ph), ph->how.tpg);
    if (kn_tile_bytes(ph))
        kn_putf(t, ", tiles of %d members", ph->how.tile);
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_access_at(ph, i);
        if (acc && acc->transposed)
            kn_putf(t, ", %s turned", k->bufs.data[acc->buf].name);
    }
    if (ph->how.vec > 1)
        kn_putf(t, ", vectors of %d%s", ph->how.vec,
                ph->how.unaligned ? " within ragged rows" : "");
    if (ph->how.steps && !ph->how.rest_in_registers)
        kn_putf(t, ", %d step%s a thread", ph->how.steps, ph->how.steps == 1 ? "" : "s");
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        if (!v->kept)
            continue;
        double found = kn_part_on_chip(k, ph, v);
        kn_put(t, ",");
        if (found > 0 && found < 1)
            kn_putf(t, " %.0f %% of", 100 * found);
        kn_putf(t, " %s %s in %s%s", kn_explain_value(k, v), found > 0 ? "found" : "kept",
                kn_keep_text(v->kept), ph->how.rest_in_registers ? " and registers" : "");
    }
    if (ph->how.split || ph->how.mixed)
        kn_putf(t, ", %s split in %lld", ph->how.split ? "members" : "groups",
                (long long)ph->num.splits);
    if (ph->how.split && kn_sums_atomically(ph))
        kn_put(t, ", added up in words");
    if (time && !ph->local)
        put_time(t, time);
    kn_put(t, "\n");
}

/* A graph pass: its name, and what it changed if the operations were run one by one. */
static void put_pass(const subject *s, int i)
{
    const kn_pass_record *r = &s->prog->passes[i];
    const kn_graph *from = i ? r[-1].graph : s->prog->original;
    kn_census was = kn_census_of_graph(s->plan->arena, from, s->plan->sizes);
    kn_census is = kn_census_of_graph(s->plan->arena, r->graph, s->plan->sizes);
    kn_putf(s->t, "  %-10s %3d -> %3d nodes   %s\n", r->pass->name, r->before, r->after,
            r->pass->what);
    if (was.temporaries == is.temporaries && was.temporary_bytes == is.temporary_bytes &&
        was.grid == is.grid)
        return;
    kn_putf(s->t, "  %-10s temporaries %d (", "", was.temporaries);
    put_bytes(s->t, was.temporary_bytes);
    kn_putf(s->t, ") -> %d (", is.temporaries);
    put_bytes(s->t, is.temporary_bytes);
    kn_putf(s->t, "), grid barriers %d -> %d\n", was.grid, is.grid);
}

static void in_words(const subject *s)
{
    kn_text *t = s->t;
    const kn_program *p = s->prog;
    kn_putf(t, "%s for %s", p->optimised->name, s->target.kind);
    if (s->target.sm)
        kn_putf(t, " sm_%d", s->target.sm);
    kn_putf(t, ", fusion %s%s\n", p->options.fusion ? "on" : "off",
            p->options.fast_math ? ", fast math" : "");
    if (*s->assumed)
        kn_putf(t, "assumed sizes: %s\n", s->assumed);
    list wider = kn_explain_wider(s);
    if (wider.lines.len)
        kn_put(t, "\nwider than their operands, as in NumPy (cast the operands to stay narrow)\n");
    for (int i = 0; i < wider.lines.len; i++)
        kn_putf(t, "  %s\n", wider.lines.data[i]);
    kn_put(t, "\npasses\n");
    for (int i = 0; p->passes[i].pass; i++)
        put_pass(s, i);
    kn_putf(t, "\nfusion: %d loop nest%s\n", s->plan->regions->list.len,
            s->plan->regions->list.len == 1 ? "" : "s");
    for (int i = 0; i < s->plan->regions->list.len; i++) {
        const kn_region *r = s->plan->regions->list.data[i];
        kn_putf(t, "  %d:", i);
        for (int j = 0; j < r->nodes.len; j++)
            kn_putf(t, "%s %s", j ? "," : "", kn_node_title(r->nodes.data[j]));
        kn_put(t, "\n");
    }
    for (int i = 0; i < s->refusals.len; i++) {
        const kn_refusal *r = &s->refusals.data[i];
        kn_putf(t, "  not merged: %s: %s (it would need: %s)\n", r->what, r->why, r->need);
    }
    kn_put(t, "\nbefore and after\n");
    put_steps(t, s->plan);
    kn_putf(t, "\nschedule %s: %d launch%s, workspace ", s->plan->schedule, s->plan->kernels.len,
            s->plan->kernels.len == 1 ? "" : "es");
    put_bytes(t, s->plan->workspace);
    kn_putf(t, ", predicted %.1f us", s->plan->ns / 1e3);
    if (s->prog->options.fusion)
        kn_putf(t, "; one kernel an operation %.1f us", s->unfused / 1e3);
    if (s->plan->tried > 1)
        kn_putf(t, "; the least of %d partitions", s->plan->tried);
    kn_put(t, "\n");
    for (int i = 0; i < s->plan->kernels.len; i++) {
        const kn_kernel *k = s->plan->kernels.data[i];
        kn_time *times = KN_NEW_ARRAY(t->arena, kn_time, k->phases.len + 1);
        kn_time all = kn_predict_kernel(k, &s->target, times);
        kn_putf(t, "  %s, %d threads a block%s", k->name, k->threads,
                kn_kernel_cooperative(k) ? ", cooperative launch" : "");
        put_time(t, &all);
        kn_put(t, "\n");
        for (int ph = 0; ph < k->phases.len; ph++)
            put_phase(t, k, ph, &times[ph]);
    }
    kn_explain_tuning(s);
    list l = kn_explain_constraints(s);
    kn_put(t, "\nthe kernels rely on\n");
    for (int i = 0; i < l.lines.len; i++)
        kn_putf(t, "  %s\n", l.lines.data[i]);
}

/* ---- stages ---- */

typedef struct copying {
    kn_text *t;
    const char *text;
} copying;

static kn_status put_text(void *user)
{
    copying *c = user;
    kn_put(c->t, c->text);
    return KN_OK;
}

static kn_status put_ptx(const subject *s, kn_kernel *k)
{
    char *ptx;
    const char *arch = kn_sprintf(s->plan->arena, "compute_%d", s->target.sm);
    KN_TRY(kn_nvrtc_find());
    KN_TRY(kn_nvrtc_ptx(k->name, kn_cuda_source(k->arena, k), arch, NULL, &ptx, NULL));
    copying c = {s->t, ptx};
    kn_status status = kn_protect(s->t->arena, put_text, &c); /* ptx is not the arena's */
    kn_malloc_allocator.release(NULL, ptx);
    return status;
}

static kn_status put_resources(const subject *s, kn_kernel *k)
{
    kn_nvrtc_use use;
    KN_TRY(kn_nvrtc_find());
    KN_TRY(kn_nvrtc_resources(k->name, kn_cuda_source(k->arena, k), s->target.sm, &use));
    kn_putf(s->t, "%s: %d threads, %d registers, %d B local, %d B spilled, %lld B shared\n",
            k->name, k->threads, use.registers, use.stack, use.spilled,
            (long long)k->shared + use.shared);
    return KN_OK;
}

static kn_status put_stage(const subject *s, const char *stage)
{
    bool cuda = strcmp(stage, "cuda") == 0, ptx = strcmp(stage, "ptx") == 0;
    bool resources = strcmp(stage, "resources") == 0;
    bool ir = strcmp(stage, "ir") == 0, schedule = strcmp(stage, "schedule") == 0;
    if (strcmp(stage, "graph") == 0) {
        kn_graph_print(s->t, s->prog->optimised, false);
        return KN_OK;
    }
    if (strcmp(stage, "dot") == 0) {
        kn_graph_dot(s->t, s->prog->optimised);
        return KN_OK;
    }
    if (!cuda && !ptx && !ir && !schedule && !resources)
        return kn_fail(KN_ARGUMENT,
                       "unknown stage '%s'; there are graph, ir, schedule, cuda, ptx, resources, "
                       "dot and json",
                       stage);
    for (int i = 0; i < s->plan->kernels.len; i++) {
        kn_kernel *k = s->plan->kernels.data[i];
        if (cuda && i == 0)
            kn_put(s->t, kn_cuda_source(k->arena, k));
        else if (cuda)
            kn_cuda_kernel(s->t, k);
        else if (ptx)
            KN_TRY(put_ptx(s, k));
        else if (resources)
            KN_TRY(put_resources(s, k));
        else if (ir)
            kn_kernel_print(s->t, k, true);
        else
            for (int p = 0; p < k->phases.len; p++)
                put_phase(s->t, k, p, NULL);
    }
    return KN_OK;
}

kn_status kn_explain(kn_program *prog, const kn_arg *args, int nargs, const char *stage,
                     const char *arch, kn_text *t)
{
    subject s = {.prog = prog, .t = t};
    const kn_target *own = prog->ctx->dev->ops->target(prog->ctx->dev);
    bool on_cpu = strcmp(own->kind, "cpu") == 0 && !prog->ctx->reference;
    bool is_own = arch ? strcmp(arch, "cpu") == 0 && strcmp(own->kind, "cpu") == 0
                       : on_cpu || strcmp(own->kind, "cuda") == 0;
    if (is_own)
        s.target = *own;
    else if (!kn_target_of_arch(arch ? arch : "sm_90", &s.target)) {
        kn_text known = kn_text_new(t->arena);
        kn_target_put_archs(&known);
        return kn_fail(KN_ARGUMENT,
                       "unknown architecture '%s'; there are %s, and cpu on the CPU device", arch,
                       kn_text_str(&known));
    }
    kn_text notes = kn_text_new(t->arena);
    KN_TRY(kn_explain_plan(&s, args, nargs, is_own, &notes));
    s.assumed = kn_text_str(&notes);
    s.refusals = kn_regions_refusals(s.plan->regions);
    if (!stage) {
        in_words(&s);
        return KN_OK;
    }
    if (strcmp(stage, "json") == 0) {
        kn_explain_json(&s);
        return KN_OK;
    }
    return put_stage(&s, stage);
}
