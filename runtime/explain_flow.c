/* What a plan does, row by row, and which arrays are in memory meanwhile. */
#include <string.h>

#include "runtime/explain_page.h"

/* ---- what a row computes ---- */

/* The row of a phase in which a value is computed: an element's sweep; what a group has follows from the sweep
 * before. */
static int row_of(const kn_phase *ph, kn_level level, int stage)
{
    int last = ph->nest.nsweeps > 0 ? ph->nest.nsweeps - 1 : 0;
    int row = level == KN_GROUP && stage > 0 ? stage - 1 : stage;
    return row < last ? row : last;
}

/* What the user would call it: a reduction by its operation; NULL for what is no computation of his. */
static const char *title_of(const kn_phase *ph, const kn_value *v)
{
    if (v->kind == KN_V_RESULT)
        return v->name ? v->name : kn_ops[ph->nest.reds.data[v->index].op].text;
    if (v->kind == KN_V_GATHER)
        return v->name ? v->name : "take";
    if (v->kind != KN_V_ELEM || v->op == KN_OP_COPY)
        return NULL;
    return v->name ? v->name : kn_ops[v->op].text;
}

static bool is_listed(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ','))
            return true;
    return false;
}

/* The names of a line's values, or its operations where none has one. */
static void add_label(const subject *s, kn_flow_row *row, const kn_phase *ph, int t, int line,
                      const kn_text_lines *lines)
{
    kn_text text = kn_text_new(s->t->arena);
    for (int named = 1; named >= 0 && !text.len; named--)
        for (int i = 0; i < ph->nest.values.len; i++) {
            const kn_value *v = &ph->nest.values.data[i];
            const char *title = title_of(ph, v);
            if (!title || row_of(ph, v->level, v->stage) != t || (named && !v->name) ||
                kn_explain_line(s, lines, v->loc) != line || is_listed(kn_text_str(&text), title))
                continue;
            kn_putf(&text, "%s%s", text.len ? ", " : "", title);
        }
    if (text.len)
        kn_push(s->t->arena, &row->labels,
                ((kn_flow_label){.line = line, .text = kn_text_str(&text)}));
}

static void add_labels(const subject *s, kn_flow_row *row, const kn_phase *ph, int t,
                       const kn_text_lines *lines)
{
    bool *has = KN_NEW_ARRAY(s->t->arena, bool, lines->n + 1);
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        if (title_of(ph, v) && row_of(ph, v->level, v->stage) == t)
            has[kn_explain_line(s, lines, v->loc)] = true;
    }
    for (int line = 1; line <= lines->n; line++)
        if (has[line])
            add_label(s, row, ph, t, line, lines);
    if (row->labels.len == 0)
        add_label(s, row, ph, t, 0, lines);
    if (row->labels.len == 0) /* it only moves */
        kn_push(s->t->arena, &row->labels, ((kn_flow_label){.text = "copy"}));
}

/* ---- what a row is over, and waits for ---- */

static void put_axes(const subject *s, kn_text *t, const kn_phase *ph, int from, int to)
{
    for (int a = from; a < to; a++)
        kn_putf(t, "%s%s", a > from ? " × " : "", kn_explain_axis(s, ph, a));
}

/* "C: over N × H*W" of a reduction, "N × C" of others. */
static const char *axes_of(const subject *s, const kn_phase *ph)
{
    kn_text t = kn_text_new(s->t->arena);
    const kn_nest *n = &ph->nest;
    put_axes(s, &t, ph, 0, n->ngroup);
    if (n->ngroup < n->naxes) {
        kn_put(&t, n->ngroup == 0 ? "" : n->reds.len ? ": over " : " × ");
        put_axes(s, &t, ph, n->ngroup, n->naxes);
    }
    return t.len ? kn_text_str(&t) : "one element";
}

/* What a phase that is not its kernel's first waits for. */
static const char *before_phase(const subject *s, const kn_phase *ph)
{
    if (ph->barrier || ph->how.last_block || ph->how.last_of_tile)
        return !kn_explains_gpu(s)    ? "all threads wait"
               : ph->barrier          ? "grid barrier"
               : ph->how.last_of_tile ? "the last block of each tile goes on"
                                      : "the last block goes on";
    return ph->how.beside ? "side by side" : "";
}

/* As kn_census counts it. */
static const char *behind_sweep(const subject *s, const kn_phase *ph, int t)
{
    if (!kn_explains_gpu(s) || t >= ph->nest.nsweeps || !kn_sweep_reduces(ph, t))
        return NULL;
    return ph->how.cluster         ? "cluster barrier"
           : kn_meets_in_block(ph) ? "block barrier"
           : ph->how.tpg > 1       ? "warp shuffle"
                                   : NULL;
}

/* ---- arrays ---- */

static int64_t bytes_of(const kn_plan *plan, const kn_node *n)
{
    int64_t shape[KN_MAX_RANK];
    return kn_node_sizes(n, plan->sizes, shape) == KN_OK
               ? kn_count(shape, n->rank) * kn_bytes(n->dtype)
               : 0;
}

static void add_array(const subject *s, kn_flow *f, const kn_buf *b)
{
    const kn_graph *g = s->prog->optimised;
    int rows = f->rows.len;
    for (int i = 0; i < f->arrays.len; i++)
        if (f->arrays.data[i].kind == b->kind && f->arrays.data[i].index == b->index)
            return;
    const kn_node *n = b->kind == KN_BUF_INPUT    ? g->inputs.data[b->index].node
                       : b->kind == KN_BUF_OUTPUT ? g->outputs.data[b->index].node
                                                  : NULL;
    kn_flow_array array = {.kind = b->kind,
                           .index = b->index,
                           .name = kn_explain_array(s, b),
                           .dtype = b->dtype,
                           .bytes = n ? bytes_of(f->plan, n) : b->bytes,
                           .first = b->kind == KN_BUF_INPUT ? -1 : rows,
                           .last = b->kind == KN_BUF_OUTPUT ? rows : -1,
                           .touched = KN_NEW_ARRAY(s->t->arena, char, rows + 1)};
    kn_push(s->t->arena, &f->arrays, array);
}

static void touch(kn_flow *f, const kn_buf *b, int row, int how)
{
    for (int i = 0; i < f->arrays.len; i++) {
        kn_flow_array *a = &f->arrays.data[i];
        if (a->kind != b->kind || a->index != b->index)
            continue;
        a->touched[row] = (char)(a->touched[row] | how);
        a->first = row < a->first ? row : a->first;
        a->last = row > a->last ? row : a->last;
    }
}

/* What a phase, whose first row this is, reads and writes. As kn_census counts it: group values and kept ones are
 * read once, others by each sweep that needs them. */
static void touch_arrays(const subject *s, kn_flow *f, const kn_kernel *k, const kn_phase *ph,
                         int row)
{
    const kn_buf *bufs = k->bufs.data;
    bool *need = KN_NEW_ARRAY(s->t->arena, bool, ph->nest.values.len + 1);
    bool *done = KN_NEW_ARRAY(s->t->arena, bool, ph->nest.values.len + 1);
    for (int t = 0; t == 0 || t < ph->nest.nsweeps; t++) {
        kn_phase_needs(ph, t, need);
        for (int i = 0; i < ph->nest.values.len; i++) {
            const kn_value *v = &ph->nest.values.data[i];
            bool group = v->level == KN_GROUP;
            if (!kn_is_read(v) || done[i] || kn_part_on_chip(k, ph, i) >= 1 ||
                !(group ? row_of(ph, KN_GROUP, v->stage) == t : need[i]))
                continue;
            done[i] = group || kn_kept(ph, i);
            touch(f, &bufs[v->access->buf], row + t, KN_FLOW_READS);
        }
    }
    for (int i = 0; i < ph->nest.stores.len; i++) {
        const kn_store *st = &ph->nest.stores.data[i];
        kn_level level = st->kind == KN_STORE_ELEMENT ? KN_ELEMENT : KN_GROUP;
        touch(f, &bufs[st->access.buf], row + row_of(ph, level, st->stage), KN_FLOW_WRITES);
    }
}

/* Each array gets the first lane that is free when it begins. */
static void assign_lanes(kn_arena *a, kn_flow *f)
{
    int *until = KN_NEW_ARRAY(a, int, f->arrays.len + 1);
    for (int row = -1; row <= f->rows.len; row++)
        for (int i = 0; i < f->arrays.len; i++) {
            kn_flow_array *array = &f->arrays.data[i];
            if (array->first != row)
                continue;
            int lane = 0;
            while (lane < f->lanes && until[lane] >= row)
                lane++;
            array->lane = lane;
            until[lane] = array->last;
            f->lanes = lane < f->lanes ? f->lanes : lane + 1;
        }
}

/* ---- rows ---- */

static void add_rows(const subject *s, kn_flow *f, int kernel, const kn_text_lines *lines)
{
    const kn_kernel *k = f->plan->kernels.data[kernel];
    for (int p = 0; p < k->phases.len; p++) {
        const kn_phase *ph = &k->phases.data[p];
        for (int t = 0; t == 0 || t < ph->nest.nsweeps; t++) {
            kn_flow_row row = {.kernel = kernel, .phase = p, .ended = behind_sweep(s, ph, t)};
            if (t == 0)
                row.axes = axes_of(s, ph);
            if (t == 0 && p > 0)
                row.began = before_phase(s, ph);
            add_labels(s, &row, ph, t, lines);
            kn_push(s->t->arena, &f->rows, row);
        }
    }
}

kn_flow *kn_flow_of(const subject *s, const kn_plan *plan)
{
    kn_flow *f = KN_NEW(s->t->arena, kn_flow);
    const kn_text_lines lines = kn_explain_lines(s);
    f->plan = plan;
    for (int i = 0; i < plan->kernels.len; i++)
        add_rows(s, f, i, &lines);
    for (int i = 0, row = 0; i < plan->kernels.len; i++) {
        const kn_kernel *k = plan->kernels.data[i];
        for (int j = 0; j < k->bufs.len; j++)
            add_array(s, f, &k->bufs.data[j]);
        for (int p = 0; p < k->phases.len; p++) {
            const kn_phase *ph = &k->phases.data[p];
            touch_arrays(s, f, k, ph, row);
            row += ph->nest.nsweeps > 0 ? ph->nest.nsweeps : 1;
        }
    }
    assign_lanes(s->t->arena, f);
    return f;
}
