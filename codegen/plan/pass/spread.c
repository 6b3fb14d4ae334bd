/* Split reductions: spreads a reduction over the whole machine.
 *
 * Before: a raw phase with few groups and many members. After, for each stage t with reductions:
 *
 *   partial t   split: each range of members makes one partial result a group; stores the elements of stage t
 *   finish t    the same groups, whose members are the ranges: combines the partial results, in order
 *
 * and at the end, if element stores are left, a phase over all axes that reads the results. Each phase computes again
 * the values that it needs.
 *
 * On a GPU a finish is local to the phase that follows: every worker combines the partial results of its own group,
 * which costs some loads through the cache and saves a grid barrier; results that later phases need too are stored.
 * On a CPU, and where only group stores are left, a finish is a phase of its own that stores the result of each
 * reduction.
 *
 * Ranges may also be the indices of outer axes of the members: a partial phase then is not split, but has them as groups.
 *
 * A VAR has three partial results: the sum of squares, the mean (f64) that it is about, and the number of members,
 * which is the same for all groups; finish adds up M2 and n * (mean of the range - mean of the group)**2. */
#include <string.h>

#include "codegen/plan/form/form.h"
#include "codegen/plan/pass/passes.h"

/* Buffers of a reduction's partial results. */
typedef struct parts {
    int result, mean, count; /* mean and count: VAR only */
} parts;

typedef struct spreader {
    kn_planner *p;
    kn_phase from;           /* the phase as it was */
    bool local;              /* finishes are local to a following phase */
    bool by_vectors;         /* threads have several columns each */
    kn_range members;        /* the ranges that members are split into */
    int along;               /* axes whose indices are the ranges: the first ones of members */
    const kn_partials *made; /* partial results of stage 0 that another phase stores; or NULL */
    kn_phase to;             /* the phase being made */
    KN_VEC(kn_phase) phases; /* those that are made */
    int *copy_of;            /* per value of `from`: its copy in `to`; -1: none */
    int *result_value;       /* per reduction: its result as a value of `to`; -1: none */
    int *result_buf;         /* per reduction: the buffer of its final result; -1: none */
    /* per reduction: its export by the local phase before `to`; -1: none */
    int *export_of;
    parts *partial; /* per reduction */
    int *order;     /* all reductions, variances last, so that sums share a combine */
} spreader;

static int push_value(spreader *s, kn_value v) { return kn_nest_add(s->p->arena, &s->to.nest, v); }

kn_access kn_over_groups(const kn_phase *ph, int buf)
{
    kn_access acc = {.buf = buf};
    int64_t step = 1;
    for (int a = ph->nest.ngroup - 1; a >= 0; a--) {
        acc.axes |= 1u << a;
        acc.stride[a] = step;
        step *= ph->nest.axes[a].extent;
    }
    return acc;
}

int64_t kn_count_groups(const kn_phase *ph) { return kn_nest_count(&ph->nest, 0, ph->nest.ngroup); }

/* What varies along this axis, or one behind it, is an element's. What was so stays so where ranges are groups. */
static int element_axis(const spreader *s)
{
    return s->to.nest.ngroup - (s->to.nest.ngroup > s->from.nest.ngroup ? s->along : 0);
}

/* Copies a value whose operands have copies. */
static int copy_one(void *ctx, int i)
{
    spreader *s = ctx;
    kn_value v = s->from.nest.values.data[i];
    kn_access result;
    if (v.kind == KN_V_RESULT) {
        int r = v.index;
        if (s->result_value[r] >= 0)
            return s->result_value[r];
        v.kind = s->export_of[r] >= 0 ? KN_V_LOCAL : KN_V_LOAD;
        if (v.kind == KN_V_LOCAL) {
            v.index = s->export_of[r];
        } else {
            result = kn_over_groups(&s->from, s->result_buf[r]);
            v.access = &result;
        }
    }
    v.stage = 0;
    v.level = kn_has_access(&v) && v.access->axes >> element_axis(s) ? KN_ELEMENT : KN_GROUP;
    for (int k = 0; k < v.nin; k++)
        v.in[k] = s->copy_of[v.in[k]];
    return push_value(s, v);
}

int kn_copy_value(kn_arena *a, const kn_nest *from, int *copy_of, int value, kn_copy_fn one,
                  void *ctx)
{
    KN_VEC(int) todo = {0};
    kn_push(a, &todo, value);
    while (todo.len) {
        const int last = todo.data[todo.len - 1], before = todo.len;
        const kn_value *v = &from->values.data[last];
        for (int k = 0; k < v->nin && todo.len == before && copy_of[last] < 0; k++)
            if (copy_of[v->in[k]] < 0)
                kn_push(a, &todo, v->in[k]);
        if (todo.len > before)
            continue;
        if (copy_of[last] < 0 && (copy_of[last] = one(ctx, last)) < 0)
            return -1;
        todo.len--;
    }
    return copy_of[value];
}

static int copy_value(spreader *s, int i)
{
    return kn_copy_value(s->p->arena, &s->from.nest, s->copy_of, i, copy_one, s);
}

static void begin(spreader *s)
{
    s->to = (kn_phase){.invariant = s->from.invariant,
                       .nest.name = s->from.nest.name,
                       .nest.naxes = s->from.nest.naxes,
                       .nest.ngroup = s->from.nest.ngroup};
    memcpy(s->to.nest.axes, s->from.nest.axes, sizeof s->to.nest.axes);
    memset(s->copy_of, -1, sizeof(int) * (size_t)s->from.nest.values.len);
    memset(s->result_value, -1, sizeof(int) * (size_t)s->from.nest.reds.len);
}

static void copy_store(spreader *s, const kn_store *old)
{
    kn_store st = *old;
    st.value = copy_value(s, old->value);
    st.stage = s->to.nest.values.data[st.value].stage;
    if (st.kind == KN_STORE_GROUP)
        for (int a = s->from.nest.ngroup; a < s->to.nest.ngroup; a++)
            st.once |= 1u << a;
    kn_push(s->p->arena, &s->to.nest.stores, st);
}

/* `acc`, of an array that has so many groups, for each range. */
static kn_access over_ranges(const spreader *s, kn_access acc, int64_t groups)
{
    int64_t step = groups;
    acc.split_stride = s->along ? 0 : groups;
    for (int a = s->from.nest.ngroup + s->along - 1; a >= s->from.nest.ngroup; a--) {
        acc.axes |= 1u << a;
        acc.stride[a] = step;
        step *= s->from.nest.axes[a].extent;
    }
    return acc;
}

/* Adds a reduction to the partial phase and stores its result; returns the buffer. */
static int store_partial(spreader *s, kn_red red, const char *name)
{
    bool counts = red.part == KN_PART_COUNT; /* all groups have the same number of members */
    int64_t groups = counts ? 1 : kn_count_groups(&s->from);
    int buf = kn_planner_temp(s->p, red.dtype, name, groups * s->members.n);
    kn_push(s->p->arena, &s->to.nest.reds, red);
    kn_store st = {.kind = KN_STORE_PARTIAL, .value = s->to.nest.reds.len - 1, .stage = 1};
    st.access = counts ? (kn_access){.buf = buf} : kn_over_groups(&s->from, buf);
    st.access = over_ranges(s, st.access, groups);
    if (s->along) {
        st.kind = KN_STORE_GROUP;
        st.value = push_value(s, (kn_value){.kind = KN_V_RESULT,
                                            .dtype = red.dtype,
                                            .level = KN_GROUP,
                                            .stage = 1,
                                            .index = st.value});
    }
    st.once = counts ? (1u << s->from.nest.ngroup) - 1 : 0;
    kn_push(s->p->arena, &s->to.nest.stores, st);
    return buf;
}

/* ---- finish ---- */

static int load_along_splits(spreader *s, int buf, kn_access acc, int64_t stride)
{
    int ng = s->from.nest.ngroup;
    acc.axes |= 1u << ng;
    acc.stride[ng] = stride;
    return push_value(s, (kn_value){.kind = KN_V_LOAD,
                                    .dtype = s->p->bufs.data[buf].dtype,
                                    .level = KN_ELEMENT,
                                    .access = &acc});
}

static int load_partial(spreader *s, int buf)
{
    return load_along_splits(s, buf, kn_over_groups(&s->from, buf), kn_count_groups(&s->from));
}

static int elem(spreader *s, kn_op op, kn_dtype t, int a, int b)
{
    return push_value(s, kn_elem(op, t, a, b, -1));
}

/* The result of a new reduction of `value`, which has dtype t. */
static int reduced(spreader *s, kn_op op, kn_dtype t, int value)
{
    int stage = s->to.nest.values.data[value].stage;
    kn_push(s->p->arena, &s->to.nest.reds,
            ((kn_red){.op = op, .value = value, .dtype = t, .stage = stage}));
    return push_value(s, (kn_value){.kind = KN_V_RESULT,
                                    .dtype = t,
                                    .level = KN_GROUP,
                                    .stage = stage + 1,
                                    .index = s->to.nest.reds.len - 1});
}

/* The number of members of all ranges, in f64: what a mean of the same values is divided by, or a sum. */
static int members_of_all(spreader *s, const kn_red *var, int n)
{
    const int count = kn_count_behind_mean(s->p, &s->from, var->value);
    return count < 0 ? reduced(s, KN_OP_SUM, KN_F64, n)
                     : elem(s, KN_OP_CAST, KN_F64, copy_value(s, count), -1);
}

/* Chan's merge of all ranges at once, in f64. */
static int merged_moments(spreader *s, const kn_red *var, const parts *part)
{
    int m2 = elem(s, KN_OP_CAST, KN_F64, load_partial(s, part->result), -1);
    int mean = load_partial(s, part->mean);
    int n = load_along_splits(s, part->count, (kn_access){.buf = part->count}, 1);
    int sum = reduced(s, KN_OP_SUM, KN_F64, elem(s, KN_OP_MUL, KN_F64, mean, n));
    int whole = elem(s, KN_OP_DIV, KN_F64, sum, members_of_all(s, var, n));
    int d = elem(s, KN_OP_SUB, KN_F64, mean, whole);
    int between = elem(s, KN_OP_MUL, KN_F64, elem(s, KN_OP_MUL, KN_F64, d, d), n);
    int total = reduced(s, KN_OP_SUM, KN_F64, elem(s, KN_OP_ADD, KN_F64, m2, between));
    return elem(s, KN_OP_CAST, var->dtype, total, -1);
}

/* The same in one sweep: the means are taken about that of the first range. It is one of them, so the variance is at least the
 * square of its distance from the mean over the number of ranges, and cancels no more digits than that number has. */
static int merged_moments_at_once(spreader *s, const kn_red *var, const parts *part)
{
    kn_access first = kn_over_groups(&s->from, part->mean);
    int m2 = elem(s, KN_OP_CAST, KN_F64, load_partial(s, part->result), -1);
    int mean = load_partial(s, part->mean);
    int n = load_along_splits(s, part->count, (kn_access){.buf = part->count}, 1);
    int about = push_value(
        s, (kn_value){.kind = KN_V_LOAD, .dtype = KN_F64, .level = KN_GROUP, .access = &first});
    int d = elem(s, KN_OP_SUB, KN_F64, mean, about);
    int weighted = elem(s, KN_OP_MUL, KN_F64, d, n);
    int between = elem(s, KN_OP_MUL, KN_F64, weighted, d);
    int squares = reduced(s, KN_OP_SUM, KN_F64, elem(s, KN_OP_ADD, KN_F64, m2, between));
    int sum = reduced(s, KN_OP_SUM, KN_F64, weighted);
    int mean_of_all = elem(s, KN_OP_DIV, KN_F64, sum, members_of_all(s, var, n));
    int excess = elem(s, KN_OP_MUL, KN_F64, sum, mean_of_all);
    int total = elem(s, KN_OP_SUB, KN_F64, squares, excess);
    int zero = push_value(s, kn_number((kn_scalar){.dtype = KN_F64}));
    return elem(s, KN_OP_CAST, var->dtype, elem(s, KN_OP_MAXIMUM, KN_F64, total, zero), -1);
}

/* Merges the sums of exp(x - max), each relative to the maximum of its own range. */
static int merged_sums(spreader *s, int r)
{
    int of = kn_red_owner(&s->from, r);
    kn_dtype t = s->from.nest.reds.data[r].dtype;
    int max = load_partial(s, s->partial[of].result), sum = load_partial(s, s->partial[r].result);
    int down = elem(s, KN_OP_EXP, t, elem(s, KN_OP_SUB, t, max, s->result_value[of]), -1);
    return reduced(s, KN_OP_SUM, t, elem(s, KN_OP_MUL, t, sum, down));
}

/* Merges a value that a user-defined reduction carries. The first one adds its consecutive reductions, the others
 * refer to them. */
static int merged_reduce_by(spreader *s, int r)
{
    const kn_red *of = &s->from.nest.reds.data[r];
    int first = s->to.nest.reds.len;
    if (of->carried > 0)
        first = s->to.nest.values.data[s->result_value[r - of->carried]].index;
    for (int c = 0; of->carried == 0 && c < of->by->count; c++) {
        kn_red red = of[c];
        red.value = load_partial(s, s->partial[r + c].result);
        red.stage = 0;
        kn_push(s->p->arena, &s->to.nest.reds, red);
    }
    return push_value(s, (kn_value){.kind = KN_V_RESULT,
                                    .dtype = of->dtype,
                                    .level = KN_GROUP,
                                    .stage = 1,
                                    .index = first + of->carried});
}

/* Reduction r from its partial results; the reductions that it is a part of come before. */
static int merged(spreader *s, int r)
{
    const kn_red *red = &s->from.nest.reds.data[r];
    if (red->op == KN_OP_VAR)
        return s->to.local && s->by_vectors ? merged_moments(s, red, &s->partial[r])
                                            : merged_moments_at_once(s, red, &s->partial[r]);
    if (red->part == KN_PART_EXPSUM)
        return merged_sums(s, r);
    if (red->by)
        return merged_reduce_by(s, r);
    return reduced(s, red->op, red->dtype, load_partial(s, s->partial[r].result));
}

/* Begins a phase that combines the partial results of a stage. */
static void combine_parts(spreader *s, int stage, bool local)
{
    int ng = s->from.nest.ngroup;
    begin(s);
    s->to.local = local;
    memset(s->export_of, -1, sizeof(int) * (size_t)s->from.nest.reds.len);
    s->to.nest.naxes = ng + 1;
    bool made = stage == 0 && s->made;
    s->to.nest.axes[ng] = (kn_axis){.name = made ? "parts" : "splits",
                                    .member = true,
                                    .extent = made ? s->made->n : s->members.n};
    for (int i = 0, r; i < s->from.nest.reds.len; i++)
        if (s->from.nest.reds.data[r = s->order[i]].stage == stage)
            s->result_value[r] = merged(s, r);
}

static void finish_locally(spreader *s, int stage)
{
    combine_parts(s, stage, true);
    s->to.first_export = s->p->exports;
    for (int r = 0; r < s->from.nest.reds.len; r++) {
        if (s->from.nest.reds.data[r].stage != stage)
            continue;
        s->export_of[r] = s->p->exports++;
        kn_push(s->p->arena, &s->to.exports, s->result_value[r]);
    }
    kn_push(s->p->arena, &s->phases, s->to);
}

/* Stores `value` of `to` as the result of reduction r. */
static void store_result(spreader *s, int r, int value)
{
    s->result_buf[r] =
        kn_planner_temp(s->p, s->from.nest.reds.data[r].dtype, "result", kn_count_groups(&s->from));
    kn_store st = {.kind = KN_STORE_GROUP,
                   .value = value,
                   .stage = s->to.nest.values.data[value].stage,
                   .access = kn_over_groups(&s->from, s->result_buf[r])};
    kn_push(s->p->arena, &s->to.nest.stores, st);
}

static void copy_stores(spreader *s, kn_store_kind kind, int stage)
{
    for (int i = 0; i < s->from.nest.stores.len; i++) {
        const kn_store *st = &s->from.nest.stores.data[i];
        if (st->kind == kind && st->stage == stage)
            copy_store(s, st);
    }
}

static void finish_as_phase(spreader *s, int stage, bool last)
{
    combine_parts(s, stage, false);
    for (int r = 0; r < s->from.nest.reds.len; r++)
        if (s->from.nest.reds.data[r].stage == stage && !last)
            store_result(s, r, s->result_value[r]);
    copy_stores(s, KN_STORE_GROUP, stage + 1);
    kn_push(s->p->arena, &s->phases, s->to);
}

/* Does anything of a later stage use the result of reduction r? */
static bool used_after(const spreader *s, int r, int stage)
{
    const kn_phase *from = &s->from;
    bool *need = KN_NEW_ARRAY(s->p->arena, bool, from->nest.values.len + 1);
    for (int i = 0; i < from->nest.reds.len + from->nest.stores.len; i++) {
        bool red = i < from->nest.reds.len;
        const kn_store *st = red ? NULL : &from->nest.stores.data[i - from->nest.reds.len];
        if ((red ? from->nest.reds.data[i].stage : st->stage) <= stage)
            continue;
        kn_value_needs(from, red ? from->nest.reds.data[i].value : st->value, need);
        for (int v = 0; v < from->nest.values.len; v++)
            if (need[v] && from->nest.values.data[v].kind == KN_V_RESULT &&
                from->nest.values.data[v].index == r)
                return true;
    }
    return false;
}

/* Stores what the local finish before this phase found and later phases need. */
static void store_local_results(spreader *s, int stage)
{
    for (int r = 0; r < s->from.nest.reds.len; r++) {
        if (s->export_of[r] < 0 || !used_after(s, r, stage))
            continue;
        kn_value v = {.kind = KN_V_LOCAL,
                      .dtype = s->from.nest.reds.data[r].dtype,
                      .level = KN_GROUP,
                      .index = s->export_of[r]};
        store_result(s, r, push_value(s, v));
    }
}

static void split(spreader *s)
{
    s->to.nest.ngroup += s->along;
    for (int a = s->from.nest.ngroup; a < s->to.nest.ngroup; a++)
        s->to.nest.axes[a].member = false;
    if (s->along)
        return;
    s->to.how.split = true;
    s->to.num.splits = s->members.n;
    s->to.num.chunk = s->members.length;
    s->to.how.resident = s->members.resident;
}

static void partial_phase(spreader *s, int stage)
{
    begin(s);
    split(s);
    store_local_results(s, stage);
    for (int i = 0; i < s->from.nest.reds.len; i++) {
        const int r = s->order[i];
        kn_red red = s->from.nest.reds.data[r];
        parts *partial = &s->partial[r];
        if (red.stage != stage)
            continue;
        red.value = copy_value(s, red.value);
        red.stage = 0;
        partial->result = store_partial(s, red, "partial");
        if (red.op != KN_OP_VAR)
            continue;
        red.dtype = KN_F64;
        red.part = KN_PART_MEAN;
        partial->mean = store_partial(s, red, "mean");
        red.part = KN_PART_COUNT;
        partial->count = store_partial(s, red, "count");
    }
    copy_stores(s, KN_STORE_ELEMENT, stage);
    if (stage == 0 || s->local)
        copy_stores(s, KN_STORE_GROUP, stage);
    kn_push(s->p->arena, &s->phases, s->to);
}

/* The stores after the last combine. Without groups the grid strides over all axes, unless blocks return to what they
 * keep on chip. */
static void final_phase(spreader *s, int stage)
{
    begin(s);
    if (!s->local || (s->to.nest.ngroup == 0 && !s->members.resident)) {
        s->to.nest.ngroup = 0;
        for (int a = 0; a < s->to.nest.naxes; a++)
            s->to.nest.axes[a].member = true;
    } else {
        split(s);
    }
    copy_stores(s, KN_STORE_ELEMENT, stage);
    if (s->local)
        copy_stores(s, KN_STORE_GROUP, stage);
    kn_push(s->p->arena, &s->phases, s->to);
}

static void spread_phase(spreader *s, int stages)
{
    bool elements = false; /* are there element stores after the last combine? */
    for (int i = 0; i < s->from.nest.stores.len; i++)
        elements = elements || (s->from.nest.stores.data[i].kind == KN_STORE_ELEMENT &&
                                s->from.nest.stores.data[i].stage == stages);
    for (int r = 0; s->made && r < s->from.nest.reds.len; r++)
        s->partial[r].result = s->made->buf[r];
    for (int t = 0; t < stages; t++) {
        if (t > 0 || !s->made)
            partial_phase(s, t);
        if (s->local && (t + 1 < stages || elements))
            finish_locally(s, t);
        else
            finish_as_phase(s, t, t + 1 == stages && !elements);
    }
    if (elements)
        final_phase(s, stages);
}

/* The axes whose indices are ranges follow the groups, in their order; returns how many there are. */
static int move_axes(kn_phase *ph, uint32_t axes)
{
    int n = 0;
    for (int a = ph->nest.ngroup; a < ph->nest.naxes; a++) {
        if (!(ph->nest.axes[a].of & axes))
            continue;
        for (int b = a; b > ph->nest.ngroup + n; b--)
            kn_swap_axes(ph, b - 1, b);
        n++;
    }
    return n;
}

/* All reductions, the variances last. */
static int *order_of(kn_arena *a, const kn_phase *ph)
{
    int *order = KN_NEW_ARRAY(a, int, ph->nest.reds.len + 1), n = 0;
    for (int last = 0; last < 2; last++)
        for (int r = 0; r < ph->nest.reds.len; r++)
            if ((ph->nest.reds.data[r].op == KN_OP_VAR) == last)
                order[n++] = r;
    return order;
}

/* Has a thread several columns, side by side, or might it, as members that lie so may be interleaved? Then it has no registers to
 * merge moments in one sweep (measured: docs/lab/one-sweep-variance.md). */
static bool has_vectors_of_columns(kn_planner *p, const kn_phase *ph)
{
    const kn_phase *preview = kn_preview(p, ph)->phases;
    return preview->how.walk == KN_WALK_COLS &&
           (preview->how.vec > 1 || kn_suits_interleaving(preview));
}

void kn_spread(kn_planner *p, int index, kn_range members, const kn_partials *made)
{
    spreader s = {.p = p,
                  .from = p->phases.data[index],
                  .local = p->problem->target->sm != 0,
                  .by_vectors =
                      p->problem->target->sm && has_vectors_of_columns(p, &p->phases.data[index]),
                  .members = members,
                  .made = made};
    int stages = 0, nreds = s.from.nest.reds.len;
    if (members.axes)
        s.from = kn_phase_copy(p->arena, &s.from);
    s.along = move_axes(&s.from, members.axes);
    s.copy_of = KN_NEW_ARRAY(p->arena, int, s.from.nest.values.len + 1);
    s.result_value = KN_NEW_ARRAY(p->arena, int, nreds + 1);
    s.result_buf = KN_NEW_ARRAY(p->arena, int, nreds + 1);
    s.export_of = KN_NEW_ARRAY(p->arena, int, nreds + 1);
    s.partial = KN_NEW_ARRAY(p->arena, parts, nreds + 1);
    s.order = order_of(p->arena, &s.from);
    memset(s.result_buf, -1, sizeof(int) * (size_t)nreds);
    memset(s.export_of, -1, sizeof(int) * (size_t)nreds);
    for (int r = 0; r < nreds; r++)
        if (s.from.nest.reds.data[r].stage >= stages)
            stages = s.from.nest.reds.data[r].stage + 1;
    spread_phase(&s, stages);
    const int region = p->region_of.data[index];
    kn_drop_phase(p, index);
    for (int i = 0; i < s.phases.len; i++)
        kn_insert_phase(p, index + i, s.phases.data[i], region);
}

/* Does it combine partial results? */
static bool finishes(const kn_planner *p, const kn_phase *ph)
{
    for (int i = 0; i < p->phases.len; i++)
        for (int j = 0; j < p->phases.data[i].nest.stores.len; j++) {
            const kn_store *st = &p->phases.data[i].nest.stores.data[j];
            if (st->kind == KN_STORE_PARTIAL && kn_reads_from(ph, st->access.buf))
                return true;
        }
    return false;
}

/* Splits phases that would leave most of the machine idle. */
void kn_pass_spread(kn_planner *p)
{
    for (int i = 0; i < p->phases.len; i++) {
        kn_range members = kn_preview_splits(p, kn_preview(p, &p->phases.data[i]));
        if (members.n < 2 || finishes(p, &p->phases.data[i]) ||
            kn_exchanges_groups(&p->phases.data[i].nest)) /* elements behind the last combine */
            continue;
        int before = p->phases.len;
        kn_spread(p, i, members, NULL);
        i += p->phases.len - before;
    }
}
