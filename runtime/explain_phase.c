/* How each loop nest is walked. */
#include <string.h>

#include "codegen/emit/c/c.h"
#include "codegen/model/resources.h"
#include "runtime/explain_impl.h"

/* ---- names ---- */

const char *kn_explain_array(const subject *s, const kn_buf *b)
{
    const kn_graph *g = s->prog->optimised;
    return b->kind == KN_BUF_INPUT    ? g->inputs.data[b->index].name
           : b->kind == KN_BUF_OUTPUT ? g->outputs.data[b->index].name
                                      : b->name;
}

const char *kn_explain_axis(const subject *s, const kn_phase *ph, int axis)
{
    const kn_axis *is = &ph->nest.axes[axis];
    for (int a = 0; a < ph->nest.naxes; a++)
        if (a != axis && strcmp(ph->nest.axes[a].name, is->name) == 0)
            return kn_sprintf(s->t->arena, "%s (axis %d)", is->name,
                              ph->nest.axes[a].at == is->at ? axis : is->at);
    return is->name;
}

static const char *value_name(const subject *s, const kn_kernel *k, const kn_value *v)
{
    return v->kind == KN_V_LOAD ? kn_explain_array(s, &k->bufs.data[v->access->buf])
           : v->name            ? v->name
                                : kn_ops[v->op].text;
}

/* ---- lists ---- */

/* Adds ", x" to a list of what `head` says, which begins with it. False where x is there. */
static void put_in_list(list *l, kn_text *t, const char *head, const char *x)
{
    for (int i = 0; i < l->lines.len; i++)
        if (strcmp(l->lines.data[i], x) == 0)
            return;
    kn_putf(t, "%s%s", l->lines.len ? ", " : head, x);
    kn_push(l->a, &l->lines, x);
}

/* "reads x, gamma; writes y" */
static void put_arrays(const subject *s, const kn_kernel *k, const kn_phase *ph)
{
    kn_text *t = s->t;
    list read = {.a = t->arena}, written = {.a = t->arena};
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        if (!kn_is_read(v))
            continue;
        const char *name = kn_explain_array(s, &k->bufs.data[v->access->buf]);
        bool taken = v->kind == KN_V_GATHER;
        put_in_list(&read, t, "      reads ",
                    taken ? kn_sprintf(t->arena, "%s (gathered)", name) : name);
    }
    for (int i = 0; i < ph->nest.stores.len; i++) {
        const kn_store *st = &ph->nest.stores.data[i];
        const char *name = kn_explain_array(s, &k->bufs.data[st->access.buf]);
        if (!st->sends)
            put_in_list(&written, t, read.lines.len ? "; writes " : "      writes ",
                        kn_sprintf(t->arena, "%s%s", name, st->part ? st->part : ""));
    }
    kn_put(t, read.lines.len || written.lines.len ? "\n" : "");
}

static const char *where_kept(const subject *s, const kn_kernel *k, const kn_phase *ph, int value)
{
    double found = kn_part_on_chip(k, ph, value);
    const char *part =
        found > 0 && found < 1 ? kn_sprintf(s->t->arena, " (%.0f %%)", 100 * found) : "";
    return kn_sprintf(s->t->arena, "%s in %s%s%s", found > 0 ? "found" : "kept",
                      kn_keep_text(kn_kept(ph, value)),
                      ph->how.rest_in_registers ? " and registers" : "", part);
}

/* "x, e kept in registers; t found in shared memory" */
static void put_kept(const subject *s, kn_text *t, const kn_kernel *k, const kn_phase *ph)
{
    list shown = {.a = t->arena};
    for (int i = 0; i < ph->nest.values.len; i++) {
        const char *where = kn_kept(ph, i) ? where_kept(s, k, ph, i) : NULL;
        bool said = !where;
        for (int p = 0; p < shown.lines.len && !said; p++)
            said = strcmp(shown.lines.data[p], where) == 0;
        if (said)
            continue;
        kn_push(shown.a, &shown.lines, where);
        list names = {.a = t->arena};
        for (int j = i; j < ph->nest.values.len; j++)
            if (kn_kept(ph, j) && strcmp(where_kept(s, k, ph, j), where) == 0)
                put_in_list(&names, t, "; ", value_name(s, k, &ph->nest.values.data[j]));
        kn_putf(t, " %s", where);
    }
}

/* ---- phases ---- */

static void put_time(const subject *s, const kn_time *time)
{
    const char *bound = kn_time_bound(time);
    bool call = !kn_explains_gpu(s) && strcmp(bound, "launch") == 0;
    kn_putf(s->t, "; predicted %.1f us (%s)", time->ns / 1e3, call ? "call" : bound);
}

static void put_axes(const subject *s, const kn_phase *ph)
{
    kn_text *t = s->t;
    for (int a = 0; a < ph->nest.naxes; a++) {
        const char *extent = kn_sprintf(t->arena, "%lld", (long long)ph->nest.axes[a].extent);
        kn_put(t, a == ph->nest.ngroup ? "; members " : a ? " x " : "; groups ");
        kn_put(t, kn_explain_axis(s, ph, a));
        if (strcmp(ph->nest.axes[a].name, extent) != 0) /* the size may be a number in the text */
            kn_putf(t, " = %s", extent);
    }
    kn_putf(t, "; %d sweep%s", ph->nest.nsweeps, ph->nest.nsweeps == 1 ? "" : "s");
}

/* Who works on a group of a GPU's phase. */
static void put_threads(kn_text *t, const kn_phase *ph)
{
    if (ph->how.walk == KN_WALK_ROWS)
        kn_putf(t, "; %d thread%s a %s", ph->how.tpg, ph->how.tpg == 1 ? "" : "s",
                ph->how.cluster ? "block" : "group");
    if (ph->how.cluster)
        kn_putf(t, ", clusters of %lld blocks", (long long)ph->num.splits);
    if (ph->how.packed)
        kn_putf(t, "; %d groups packed, %d x %d threads", kn_cols_width(ph), ph->how.lanes,
                ph->how.tpg);
    else if (ph->how.interleaved)
        kn_putf(t, "; %d groups, %d interleaved members", kn_cols_width(ph),
                kn_members_interleaved(ph));
    else if (ph->how.walk == KN_WALK_COLS)
        kn_putf(t, "; %d groups x %d threads%s", kn_cols_width(ph), ph->how.tpg,
                ph->how.scatter_sum ? ", which compact their members by destination" : "");
    if (ph->how.planes)
        kn_putf(t, "; %d members a step, whole planes", kn_phase_step(ph));
    if (ph->how.async)
        kn_put(t, ph->how.walk == KN_WALK_ROWS ? "; bulk copies" : "; own copies");
}

/* The vectors, steps and tiles of a thread. */
static void put_steps(kn_text *t, const kn_kernel *k, const kn_phase *ph)
{
    if (ph->how.vec > 1)
        kn_putf(t, "; vectors of %d%s", ph->how.vec,
                ph->how.unaligned   ? " of unaligned rows"
                : ph->how.by_run    ? " by run, and edges"
                : ph->how.tail      ? " and a tail"
                : ph->how.assembled ? ", some of two aligned words"
                                    : "");
    if (ph->how.steps && !ph->how.rest_in_registers)
        kn_putf(t, "; %d step%s a thread", ph->how.steps, ph->how.steps == 1 ? "" : "s");
    if (kn_tile_bytes(ph, k->threads))
        kn_putf(t, "; tiles of %d members", ph->how.tile);
}

static void put_transposed(const subject *s, kn_text *t, const kn_kernel *k, const kn_phase *ph)
{
    list transposed = {.a = t->arena};
    if (!kn_explains_gpu(s) && ph->how.transposes.len)
        kn_putf(t, "; tiles of %d groups", kn_groups_of_tile(ph));
    for (int i = 0; i < ph->how.transposes.len; i++) {
        const kn_access *acc = kn_transposed_access(ph, &ph->how.transposes.data[i]);
        put_in_list(&transposed, t, "; ", kn_explain_array(s, &k->bufs.data[acc->buf]));
    }
    kn_put(t, transposed.lines.len ? " transposed" : "");
}

static void put_schedule(const subject *s, const kn_kernel *k, const kn_phase *ph)
{
    kn_text t = kn_text_new(s->t->arena);
    if (kn_explains_gpu(s)) {
        put_threads(&t, ph);
        put_steps(&t, k, ph);
    }
    put_transposed(s, &t, k, ph);
    put_kept(s, &t, k, ph);
    if (ph->how.split || ph->how.mixed)
        kn_putf(&t, "; %s split in %lld", ph->how.split ? "members" : "groups",
                (long long)kn_parts_left(ph));
    if (ph->how.split && ph->how.atomic)
        kn_put(&t, ", summed by atomics");
    if (t.len)
        kn_putf(s->t, "      %s\n", kn_text_str(&t) + strlen("; "));
}

/* "    ranks exchange t0_sum, 40 B of each" */
static void put_exchange(const subject *s, const kn_buf *b, const char *how)
{
    kn_putf(s->t, "%sranks exchange %s, ", how, b->name);
    kn_explain_put_bytes(s->t, b->part);
    kn_put(s->t, " of each\n");
}

void kn_explain_phase(const subject *s, const kn_kernel *k, int p, const kn_time *time)
{
    for (int i = 0; i < k->bufs.len; i++)
        if (kn_is_exchanged_before(k, p, i))
            put_exchange(s, &k->bufs.data[i], "    ");
    const kn_phase *ph = &k->phases.data[p];
    const char *when = ph->barrier            ? " (after a grid barrier)"
                       : ph->how.last_of_tile ? " (by the last block of each tile)"
                       : ph->how.last_block   ? " (by the last block)"
                                              : "";
    if (*when && !kn_explains_gpu(s))
        when = " (after all threads)";
    kn_assignment assigned = kn_assign_work(k);
    if (!ph->local)
        kn_assign_phase(&assigned, p);
    if (!ph->local && kn_runs_beside(k, p))
        when = kn_sprintf(s->t->arena, "%s (side by side: %lld work item%s)", when,
                          (long long)assigned.blocks, assigned.blocks == 1 ? "" : "s");
    kn_putf(s->t, "    %sphase %d%s: %s", ph->local ? "local " : "", p, when,
            kn_walk_text(ph->how.walk));
    put_axes(s, ph);
    if (time && !ph->local)
        put_time(s, time);
    kn_put(s->t, "\n");
    put_schedule(s, k, ph);
    if (!kn_explains_gpu(s) && kn_c_refusal(ph))
        kn_putf(s->t, "      interpreted: %s\n", kn_c_refusal(ph));
    for (int i = 0; i < k->bufs.len; i++)
        if (kn_sends(ph, i))
            put_exchange(s, &k->bufs.data[i], "      group by group ");
    put_arrays(s, k, ph);
}

void kn_explain_kernels(const subject *s)
{
    kn_text *t = s->t;
    kn_putf(t, "\nschedule %s, workspace ", s->plan->schedule);
    kn_explain_put_bytes(t, s->plan->workspace);
    if (s->plan->tried > 1)
        kn_putf(t, ", the least predicted time of %d plans", s->plan->tried);
    kn_put(t, "\n");
    for (int i = 0; i < s->plan->kernels.len; i++) {
        const kn_kernel *k = s->plan->kernels.data[i];
        kn_time *times = KN_NEW_ARRAY(t->arena, kn_time, k->phases.len + 1);
        kn_time all = kn_predict_kernel(k, &s->target, times);
        kn_putf(t, "  %s", k->name);
        if (kn_explains_gpu(s))
            kn_putf(t, ": %d threads a block%s", k->threads,
                    kn_kernel_cooperative(k) ? ", cooperative launch" : "");
        put_time(s, &all);
        kn_put(t, "\n");
        for (int p = 0; p < k->phases.len; p++)
            kn_explain_phase(s, k, p, &times[p]);
        for (int b = 0; b < k->bufs.len && !k->ranks; b++)
            if (kn_is_exchanged(&k->bufs.data[b]) && kn_kernel_stores_to(k, b))
                put_exchange(s, &k->bufs.data[b], "    ");
    }
}
