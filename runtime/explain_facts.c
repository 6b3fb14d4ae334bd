/* What holds of a program's types and sizes, and what its kernels rely on. */
#include <string.h>

#include "runtime/explain_impl.h"

static void add(list *l, const char *text)
{
    for (int i = 0; i < l->lines.len; i++)
        if (strcmp(l->lines.data[i], text) == 0)
            return;
    kn_push(l->a, &l->lines, text);
}

/* "x, y and z" */
static const char *joined(const list *l, const char *last)
{
    kn_text t = kn_text_new(l->a);
    for (int i = 0; i < l->lines.len; i++)
        kn_putf(&t, "%s%s", i == 0 ? "" : i + 1 < l->lines.len ? ", " : last, l->lines.data[i]);
    return kn_text_str(&t);
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

list kn_explain_searches(const subject *s)
{
    const kn_graph *g = s->prog->original;
    list l = {.a = s->plan->arena};
    const bool *needed = kn_needed_nodes(g, l.a);
    for (int i = 0; i < g->searches.len; i++)
        if (needed[g->searches.data[i].node])
            add(&l, g->searches.data[i].text);
    return l;
}

/* ---- facts ---- */

static const char *relation(const subject *s, const kn_fact *fact)
{
    kn_text t = kn_text_new(s->plan->arena);
    kn_fact_print(&t, s->prog->optimised->syms, fact);
    return kn_text_str(&t);
}

static const char *reduced(const subject *s, kn_dim d)
{
    kn_text t = kn_text_new(s->plan->arena);
    kn_dim_print(&t, s->prog->optimised->syms, d);
    return kn_dim_product_text(t.arena, kn_text_str(&t), "");
}

/* Are both sides the same once quotients are multiplied out, as those of N == 4*(N/4)? What is cut may be anything. */
static bool is_plain(const subject *s, const kn_fact *fact)
{
    const char *left = reduced(s, fact->a);
    return fact->kind == KN_FACT_EQUAL && strcmp(left, reduced(s, fact->b)) == 0 &&
           !strstr(left, KN_DIM_CUT);
}

/* Each with all that needs it. */
list kn_explain_facts(const subject *s)
{
    const kn_facts *facts = &s->prog->optimised->facts;
    list relations = {.a = s->plan->arena}, l = {.a = s->plan->arena};
    for (int i = 0; i < facts->list.len; i++)
        if (!is_plain(s, &facts->list.data[i]))
            add(&relations, relation(s, &facts->list.data[i]));
    for (int r = 0; r < relations.lines.len; r++) {
        list whys = {.a = l.a};
        for (int i = 0; i < facts->list.len; i++)
            if (strcmp(relation(s, &facts->list.data[i]), relations.lines.data[r]) == 0)
                add(&whys, facts->list.data[i].why);
        add(&l, kn_sprintf(l.a, "%s (%s)", relations.lines.data[r], joined(&whys, ", ")));
    }
    return l;
}

/* ---- what the kernels rely on ---- */

typedef struct array_need {
    const char *name;
    int aligned; /* bytes; 0: as it comes */
    list along;  /* axes along which it is contiguous */
} array_need;

typedef struct size_need {
    const char *size;
    int by; /* which divides it */
} size_need;

/* Of all kernels together. */
typedef struct needs {
    const subject *s;
    kn_arena *a;
    list walked; /* how some axes are */
    KN_VEC(size_need) sizes;
    KN_VEC(array_need) arrays;
} needs;

static array_need *array_of(needs *all, const char *name)
{
    for (int i = 0; i < all->arrays.len; i++)
        if (strcmp(all->arrays.data[i].name, name) == 0)
            return &all->arrays.data[i];
    kn_push(all->a, &all->arrays, ((array_need){.name = name, .along = {.a = all->a}}));
    return &all->arrays.data[all->arrays.len - 1];
}

/* The most that divides it says the rest, for they are powers of two. */
static void divisible(needs *all, const char *size, int by)
{
    if (kn_dim_text_divides(size, by))
        return;
    for (int i = 0; i < all->sizes.len; i++) {
        size_need *known = &all->sizes.data[i];
        if (strcmp(known->size, size) == 0) {
            known->by = by > known->by ? by : known->by;
            return;
        }
    }
    kn_push(all->a, &all->sizes, ((size_need){size, by}));
}

static bool begins_anywhere(const kn_phase *ph) { return ph->how.unaligned || ph->how.by_run; }

/* How vectors lie; `va` is the axis that they go along. */
static void add_vectors(needs *all, const kn_phase *ph, int va)
{
    if (begins_anywhere(ph))
        add(&all->walked,
            kn_sprintf(all->a, "rows along %s begin alike in all arrays, within vectors of %d",
                       kn_explain_axis(all->s, ph, va), ph->how.vec));
    else if (ph->how.vec > 1 && !ph->how.tail)
        divisible(all,
                  ph->how.packed
                      ? kn_dim_product_text(all->a, ph->nest.axes[0].name, ph->nest.axes[va].name)
                      : ph->nest.axes[va].name,
                  ph->how.vec);
}

/* An axis that has no name but its size: "axis 2 (4)". */
static const char *axis_title(const needs *all, const kn_phase *ph, int axis)
{
    const kn_axis *is = &ph->nest.axes[axis];
    bool named = is->name[strspn(is->name, "0123456789")] != '\0';
    return named ? kn_explain_axis(all->s, ph, axis)
                 : kn_sprintf(all->a, "axis %d (%s)", is->at, is->name);
}

static void add_access(needs *all, const kn_kernel *k, const kn_phase *ph, int i)
{
    const kn_access *acc = kn_access_at(ph, i);
    const kn_transpose *transpose = kn_transpose_of(ph, i);
    int along = transpose ? ph->nest.naxes - 1 : kn_phase_vector_axis(ph);
    int vec = transpose ? transpose->vec : ph->how.vec;
    const kn_buf *b = &k->bufs.data[acc->buf];
    if (b->kind == KN_BUF_TEMP)
        return;
    array_need *array = array_of(all, kn_explain_array(all->s, b));
    const char *axis = axis_title(all, ph, along);
    if (acc->kind[along] == KN_STRIDE_ONE)
        add(&array->along, axis);
    if (!kn_explains_gpu(all->s) || !(kn_transfer_of(ph, i)->vector || (transpose && vec > 1)))
        return;
    if (transpose && vec > 1)
        divisible(all, ph->nest.axes[along].name, vec);
    if (!transpose && (begins_anywhere(ph) || (i < ph->nest.values.len && kn_is_shifted(ph, i))))
        return; /* its edges go element by element, or its vectors are assembled */
    int bytes = vec * kn_bytes(b->dtype);
    bytes = bytes < 16 ? bytes : 16;
    array->aligned = bytes > array->aligned ? bytes : array->aligned;
}

static void add_phase(needs *all, const kn_kernel *k, const kn_phase *ph)
{
    int va = kn_phase_vector_axis(ph);
    for (int a = 0; a < ph->nest.naxes; a++)
        if (strchr(ph->nest.axes[a].name, '*') && ph->nest.axes[a].extent > 1)
            add(&all->walked,
                kn_sprintf(all->a, "%s is walked as one axis", ph->nest.axes[a].name));
    if (kn_explains_gpu(all->s))
        add_vectors(all, ph, va);
    for (int i = 0; i < kn_accesses(ph); i++)
        if (kn_access_at(ph, i) && va >= 0)
            add_access(all, k, ph, i);
}

/* "contiguous along C, 16-byte aligned"; "" for nothing. */
static const char *of_array(const needs *all, const array_need *array)
{
    const char *along = array->along.lines.len ? kn_sprintf(all->a, "contiguous along %s",
                                                            joined(&array->along, " and "))
                                               : "";
    return array->aligned ? kn_sprintf(all->a, "%s%s%d-byte aligned", along, *along ? ", " : "",
                                       array->aligned)
                          : along;
}

/* Arrays with the same needs share a line. */
static void list_arrays(const needs *all, list *l)
{
    for (int i = 0; i < all->arrays.len; i++) {
        const char *what = of_array(all, &all->arrays.data[i]);
        list names = {.a = all->a};
        for (int j = 0; j < all->arrays.len; j++)
            if (strcmp(of_array(all, &all->arrays.data[j]), what) == 0)
                add(&names, all->arrays.data[j].name);
        if (*what)
            add(l, kn_sprintf(all->a, "%s: %s", joined(&names, ", "), what));
    }
}

/* What the program itself needs is not said again. */
static void list_sizes(const needs *all, list *l)
{
    const kn_facts *facts = &all->s->prog->optimised->facts;
    for (int i = 0; i < all->sizes.len; i++) {
        const size_need *size = &all->sizes.data[i];
        const char *text = kn_sprintf(all->a, "%s %% %d == 0",
                                      kn_dim_operand_text(all->a, size->size, false), size->by);
        bool known = false;
        for (int f = 0; f < facts->list.len && !known; f++)
            known = strcmp(relation(all->s, &facts->list.data[f]), text) == 0;
        if (!known)
            add(l, text);
    }
}

/* ---- what may lie where ---- */

static bool is_updated(const kn_graph *g, int input)
{
    for (int o = 0; o < g->outputs.len; o++)
        if (g->outputs.data[o].updates == input)
            return true;
    return false;
}

/* An output that updates an input is there, and nowhere else, in any case. */
static bool may_lie_on(const subject *s, int input, int output)
{
    const kn_graph *g = s->prog->optimised;
    const kn_node *x = g->inputs.data[input].node, *y = g->outputs.data[output].node;
    if (g->inputs.data[input].by_value || g->outputs.data[output].updates >= 0 ||
        is_updated(g, input) || kn_bytes(x->dtype) != kn_bytes(y->dtype) || x->rank != y->rank)
        return false;
    for (int j = 0; j < x->rank; j++)
        if (!kn_dim_equal(g->syms, x->shape[j], y->shape[j]))
            return false;
    return kn_plan_in_place(s->plan->arena, s->plan, input, output);
}

/* "x or w": over which an output may be written; "" for none. */
static const char *places_of(const subject *s, int output)
{
    const kn_graph *g = s->prog->optimised;
    list names = {.a = s->plan->arena};
    for (int i = 0; i < g->inputs.len; i++)
        if (may_lie_on(s, i, output))
            add(&names, g->inputs.data[i].name);
    return joined(&names, " or ");
}

static void list_places(const subject *s, list *l)
{
    const kn_graph *g = s->prog->optimised;
    list all = {.a = s->plan->arena};
    for (int o = 0; o < g->outputs.len; o++)
        kn_push(all.a, &all.lines, places_of(s, o));
    for (int o = 0; o < g->outputs.len; o++) {
        list names = {.a = all.a};
        for (int p = 0; p < g->outputs.len; p++)
            if (strcmp(all.lines.data[o], all.lines.data[p]) == 0)
                add(&names, g->outputs.data[p].name);
        if (*all.lines.data[o])
            add(l, kn_sprintf(all.a, "%s may be written over %s without a copy",
                              joined(&names, " and "), all.lines.data[o]));
    }
}

list kn_explain_needs(const subject *s)
{
    kn_arena *a = s->plan->arena;
    needs all = {.s = s, .a = a, .walked = {.a = a}};
    bool narrow = false, wide = false;
    for (int i = 0; i < s->plan->kernels.len; i++) {
        const kn_kernel *k = s->plan->kernels.data[i];
        for (int p = 0; p < k->phases.len; p++)
            add_phase(&all, k, &k->phases.data[p]);
        narrow = narrow || !k->wide;
        wide = wide || k->wide;
    }
    list l = all.walked;
    list_sizes(&all, &l);
    list_arrays(&all, &l);
    if (narrow && kn_explains_gpu(s))
        add(&l, "indices fit in 32 bits");
    if (wide && kn_explains_gpu(s))
        add(&l, "indices need 64 bits");
    if (s->prog->options.fast_math)
        add(&l, "fast_math is on: results may differ as docs/optimizer.md says");
    if (s->prog->options.batch_invariant)
        add(&l,
            "batch_invariant is on: how many groups there are does not change a group's results");
    add(&l, "no output overlaps an input (an overlapping input is copied first)");
    list_places(s, &l);
    return l;
}
