/* One plan as a C function for the CPU:
 *
 *     static int plan0(sizes, void *const *array, const void *const *scalar, char *memory, int64_t *bytes)
 *
 * array: inputs, then outputs; scalar: per input, where it is a number. With `bytes` it only says how much memory it takes.
 * The memory has copies of inputs that the program updates where that is needed, temporaries, and the scratch of the
 * phases' functions. */
#include <string.h>

#include "codegen/emit/c/cut.h"
#include "codegen/kir/formula.h"
#include "codegen/sched/sched.h"
#include "runtime/cpu/divide.h"
#include "runtime/emit/impl.h"

enum { ALIGN = 64 };

/* "const i64 num[] = {...};" Each number has a formula, or none has. */
static kn_status put_numbers(kn_writer *w, const kn_phase *p)
{
    const int n = kn_c_numbers(p, NULL);
    int64_t *values = KN_NEW_ARRAY(w->e->a, int64_t, n + 1);
    kn_dim *formulas = KN_NEW_ARRAY(w->e->a, kn_dim, n + 1);
    kn_text t = kn_text_new(w->e->a);
    kn_c_numbers(p, values);
    if (p->nest.extents)
        kn_c_formulas(p, formulas);
    for (int i = 0; i < n; i++) {
        if (p->nest.extents && !formulas[i])
            return kn_fail(KN_INTERNAL, "%s: a number of phase %s has no formula", w->e->g->name,
                           p->nest.name);
        kn_putf(&t, "%s%s", i ? ", " : "", kn_emitted_number(w, formulas[i], values[i]));
    }
    kn_putf(w->t, "        const i64 num[] = {%s};\n", n ? kn_text_str(&t) : "0");
    return KN_OK;
}

/* ---- a phase ---- */

static void put_scalars(kn_writer *w)
{
    kn_text scalars = kn_text_new(w->e->a), extents = kn_text_new(w->e->a);
    for (int i = 0; i < w->k->scalars.len; i++)
        kn_putf(&scalars, "%sscalar[%d]", i ? ", " : "", w->k->scalars.data[i].input);
    for (int i = 0; i < w->k->extents.len; i++) {
        const kn_extent_param *x = &w->k->extents.data[i];
        const bool formula = !w->of->pinned;
        kn_putf(&extents, "%s%s", i ? ", " : "",
                kn_emitted_number(w, formula ? x->dim : NULL, x->value));
    }
    kn_putf(w->t, "        const void *const scalars[] = {%s};\n",
            w->k->scalars.len ? kn_text_str(&scalars) : "0");
    kn_putf(w->t, "        const i64 extents[] = {%s};\n",
            w->k->extents.len ? kn_text_str(&extents) : "0");
}

static kn_status put_loops(kn_writer *w, kn_c_mode mode)
{
    const kn_c_text *text = &w->texts[mode];
    kn_text t = kn_text_new(w->e->a);
    for (int i = 0; i < text->functions.len; i++) {
        const kn_c_function *f = &text->functions.data[i];
        const char *name = kn_emitted_loop(w->e, f);
        if (!name)
            return kn_fail(KN_TYPE, "%s: %s of %s to %s cannot be emitted", w->e->g->name,
                           kn_ops[f->op].text, kn_dtypes[f->in[f->nin - 1]].text,
                           kn_dtypes[f->out].text);
        kn_putf(&t, "%s%s", i ? ", " : "", name);
    }
    kn_putf(w->t, "        static const kn_loop loops_%s[] = {%s};\n", kn_c_mode_text(mode),
            text->functions.len ? kn_text_str(&t) : "0");
    return KN_OK;
}

static kn_status put_folds(kn_writer *w, const kn_phase *p)
{
    kn_text t = kn_text_new(w->e->a);
    for (int r = 0; r < p->nest.reds.len; r++) {
        const kn_red *red = &p->nest.reds.data[r];
        const kn_dtype type = p->nest.values.data[red->value].dtype;
        const char *name = kn_emitted_fold(w->e, red->op, type);
        if (!name)
            return kn_fail(KN_TYPE, "%s: %s of %s cannot be emitted", w->e->g->name,
                           kn_ops[red->op].text, kn_dtypes[type].text);
        kn_putf(&t, "%s&%s", r ? ", " : "", name);
    }
    kn_putf(w->t, "        static const kn_fold *const folds[] = {%s};\n",
            p->nest.reds.len ? kn_text_str(&t) : "0");
    return KN_OK;
}

static const char *product(kn_writer *w, int from, int to)
{
    kn_text t = kn_text_new(w->e->a);
    for (int i = from; i < to; i++)
        kn_putf(&t, "%snum[%d]", i > from ? " * " : "", i);
    return from < to ? kn_text_str(&t) : "1";
}

/* The modes that a phase is walked by: rows or columns as its numbers are, or what suited the example. */
typedef struct ways {
    kn_c_mode first, other; /* the same if there is one */
} ways;

static ways ways_of(const kn_phase_plan *plan, const kn_phase *p)
{
    if (p->how.walk != KN_WALK_FLAT && p->nest.ngroup > 0)
        return (ways){KN_C_ROWS, KN_C_COLS};
    const kn_c_mode mode = kn_cpu_mode(plan, p) == KN_C_TILES ? KN_C_TILES : KN_C_ROWS;
    return (ways){mode, mode};
}

static const char *run_text(kn_writer *w, const kn_phase *p, bool cols)
{
    const int axis = kn_cpu_run_axis(p, cols);
    return axis < 0 ? "0" : kn_sprintf(w->e->a, "num[%d]", axis);
}

static void note_scratch(kn_writer *w, const kn_phase_plan *plan, const kn_c_phase *code)
{
    const int64_t bytes = code->slots * (int64_t)kn_cpu_slot_bytes(plan) +
                          code->rows * (int64_t)kn_cpu_row_bytes(plan);
    w->scratch = bytes > w->scratch ? bytes : w->scratch;
}

static void put_cut(kn_writer *w, const kn_phase_plan *plan, const kn_phase *p, ways by)
{
    kn_c_shape s = kn_cpu_shape(plan, p, true);
    s.walks_cols = s.walks_cols && kn_walker_for(p)->walk == KN_WALK_COLS; /* here are no tiles */
    const int down = p->nest.naxes - 2;
    kn_putf(
        w->t,
        "        static const kn_c_shape shape = {%d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d};\n",
        s.walks_cols, s.divisible, s.row_lanes, s.col_lanes, s.kept, s.work, s.group_work,
        s.run_rows, s.run_whole, s.run_cols, s.moved);
    kn_putf(w->t, "        kn_c_extents e;\n        e.groups = %s;\n        e.members = %s;\n",
            product(w, 0, p->nest.ngroup), product(w, p->nest.ngroup, p->nest.naxes));
    if (by.first != by.other)
        kn_putf(w->t, "        const int cols = kn_by_cols(%d, %s, e.members);\n", s.walks_cols,
                kn_is_invariant(p) ? "67108864 / kn_greater(e.members, 1)" : "e.groups");
    else
        kn_put(w->t, "        const int cols = 0;\n");
    if (by.first != by.other)
        kn_putf(w->t, "        e.run = cols ? %s : %s;\n", run_text(w, p, true),
                run_text(w, p, false));
    else
        kn_putf(w->t, "        e.run = %s;\n", run_text(w, p, false));
    kn_put(w->t, "        e.splits = e.chunk = 0;\n        e.threads = 1;\n"
                 "        e.stream = KN_STREAM_BYTES;\n");
    if (by.first == KN_C_TILES)
        kn_putf(
            w->t,
            "        e.tiles = %s * kn_ceiling(num[%d], KN_TILE_SIDE) * kn_ceiling(num[%d], KN_TILE_SIDE);\n",
            product(w, 0, down), down, down + 1);
    else
        kn_put(w->t, "        e.tiles = -1;\n");
    kn_put(w->t, "        const kn_c_cut cut = kn_cut(&shape, cols, &e);\n");
}

/* by: which of two modes at run time */
static const char *either(kn_writer *w, ways by, const char *first, const char *other)
{
    return by.first == by.other ? first : kn_sprintf(w->e->a, "cols ? %s : %s", other, first);
}

static void put_call(kn_writer *w, int index, ways by)
{
    const kn_phase_plan *plan = &w->cpu->phases[index];
    const kn_c_phase *a = &w->texts[by.first].phases[index], *b = &w->texts[by.other].phases[index];
    note_scratch(w, plan, a);
    note_scratch(w, plan, b);
    kn_put(w->t, "        kn_bad_index bad = {0, 0, 0, 0};\n        kn_c_call c;\n"
                 "        c.buf = buf;\n        c.scalar = scalars;\n        c.extent = extents;\n"
                 "        c.num = num;\n        c.fold = folds;\n        c.bad = &bad;\n");
    kn_putf(w->t, "        c.loop = %s;\n",
            either(w, by, kn_sprintf(w->e->a, "loops_%s", kn_c_mode_text(by.first)),
                   kn_sprintf(w->e->a, "loops_%s", kn_c_mode_text(by.other))));
    kn_put(
        w->t,
        "        c.groups = e.groups;\n        c.members = e.members;\n"
        "        c.parts = cut.parts;\n        c.part = cut.part;\n        c.most = cut.most;\n"
        "        c.run = cut.run;\n        c.run_step = cut.run_step;\n"
        "        c.stream = cut.stream;\n        c.beside = 1;\n        c.side = c.wide = 0;\n        c.tile_groups = 0;\n");
    kn_putf(w->t, "        c.slot = %zu;\n        c.row = %zu;\n", kn_cpu_slot_bytes(plan),
            kn_cpu_row_bytes(plan));
    kn_put(w->t, "        if (e.groups > 0)\n");
    if (by.first == by.other)
        kn_putf(w->t, "            %s(&c, 0, cut.units, memory);\n", a->function);
    else
        kn_putf(w->t, "            (cols ? %s : %s)(&c, 0, cut.units, memory);\n", b->function,
                a->function);
    kn_put(w->t, "        if (bad.found)\n");
    kn_putf(w->t, "            return %d;\n",
            kn_message(w->e, "an index is out of bounds of the array that it indexes"));
}

static kn_status put_phase(kn_writer *w, int index)
{
    const kn_phase *p = &w->k->phases.data[index];
    const char *refusal = kn_c_refusal(p);
    if (refusal)
        return kn_fail(KN_TYPE, "%s cannot be emitted for the CPU: %s", w->e->g->name, refusal);
    const ways by = ways_of(&w->cpu->phases[index], p);
    kn_text *const out = w->t;
    kn_text body = kn_text_new(w->e->a), *const numbers = &body;
    w->t = numbers;
    w->scope.t = out; /* derived sizes are defined in front of the block */
    KN_TRY(put_numbers(w, p));
    kn_putf(w->t, "        void *const buf[] = {%s};\n", kn_buffer_list(w));
    put_scalars(w);
    KN_TRY(put_loops(w, by.first));
    if (by.other != by.first)
        KN_TRY(put_loops(w, by.other));
    KN_TRY(put_folds(w, p));
    put_cut(w, &w->cpu->phases[index], p, by);
    put_call(w, index, by);
    w->t = out;
    kn_putf(out, "    { /* %s */\n%s    }\n", p->nest.name, kn_text_str(&body));
    return KN_OK;
}

/* ---- the function ---- */

static void put_beginning(kn_writer *w)
{
    kn_emitter *e = w->e;
    const char *sizes = kn_size_list(e, true);
    kn_putf(w->t,
            "static int %s(%s%svoid *const *array, const void *const *scalar, char *memory,\n"
            "                 int64_t *bytes)\n{\n",
            w->of->name, e->sizes.len ? sizes : "", e->sizes.len ? ", " : "");
    kn_put(w->t, "    int64_t top = SCRATCH;\n    (void)array, (void)scalar, (void)memory");
    for (int i = 0; i < e->sizes.len; i++)
        kn_putf(w->t, ", (void)%s", e->size[e->sizes.data[i]]);
    kn_put(w->t, ";\n");
}

/* Rows that keep values have room for so many members. */
static void put_conditions(kn_writer *w)
{
    for (int k = 0; k < w->plan->kernels.len && !w->of->pinned; k++)
        for (int i = 0; i < w->plan->kernels.data[k]->phases.len; i++) {
            const kn_phase *p = &w->plan->kernels.data[k]->phases.data[i];
            kn_text t = kn_text_new(w->e->a);
            for (int x = p->nest.ngroup; x < p->nest.naxes; x++)
                kn_putf(&t, "%s(%s)", t.len ? " * " : "",
                        kn_put_dim(&w->scope, kn_extent_formula(&p->nest, x)));
            if (p->how.holds.len && t.len)
                kn_put_condition(&w->scope,
                                 kn_sprintf(w->e->a, "%s > %d", kn_text_str(&t), KN_FRAME_MEMBERS));
        }
}

static void put_walks(kn_writer *w, kn_text *t)
{
    for (int m = 0; m < KN_C_MODES; m++) {
        bool used = false;
        for (int i = 0; i < w->k->phases.len; i++) {
            const ways by = ways_of(&w->cpu->phases[i], &w->k->phases.data[i]);
            used = used || by.first == (kn_c_mode)m || by.other == (kn_c_mode)m;
        }
        if (used)
            w->texts[m] = kn_c_walks(t, w->k, (kn_c_mode)m);
    }
}

static kn_status put_kernel(kn_writer *w, kn_kernel *k, kn_text *walks)
{
    w->k = k;
    k->name = kn_sprintf(w->e->a, "%s_%s", w->of->name, k->name);
    KN_TRY(kn_cpu_plan_make(k, &kn_loops_baseline, &w->e->a->from, &w->cpu));
    put_walks(w, walks);
    kn_status status = KN_OK;
    for (int i = 0; i < k->phases.len && status == KN_OK; i++)
        status = put_phase(w, i);
    kn_cpu_plan_free(w->cpu);
    return status;
}

kn_status kn_put_cpu_plan(kn_emitter *e, kn_text *t, const kn_emitted_plan *of)
{
    kn_text walks = kn_text_new(e->a), top = kn_text_new(e->a), phases = kn_text_new(e->a);
    kn_writer w = kn_writer_new(e, &top, of);
    put_beginning(&w);
    kn_put_staging(&w);
    KN_TRY(kn_put_temporaries(&w));
    put_conditions(&w);
    kn_put(&top, "    if (bytes) {\n        *bytes = top;\n        return 0;\n    }\n");
    for (int i = 0; i < e->g->inputs.len; i++)
        if (w.staged[i])
            kn_putf(&top, "    memcpy(memory + copy%d, array[%d], (size_t)bytes%d);\n", i, i, i);
    w.t = &phases;
    for (int i = 0; i < w.plan->kernels.len; i++)
        KN_TRY(put_kernel(&w, w.plan->kernels.data[i], &walks));
    kn_putf(t, "%s", kn_text_str(&walks));
    kn_putf(t, "enum { SCRATCH_%s = %lld };\n\n", of->name,
            (long long)(w.scratch + ALIGN - 1) / ALIGN * ALIGN);
    const char *text = kn_text_str(&top), *at = strstr(text, "SCRATCH");
    kn_putn(t, text, (size_t)(at - text));
    kn_putf(t, "SCRATCH_%s%s%s    return 0;\n}\n\n", of->name, at + strlen("SCRATCH"),
            kn_text_str(&phases));
    return KN_OK;
}
