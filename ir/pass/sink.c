/* Slices and gathers of computed values.
 *
 *     (a * b)[1:]   -->   a[1:] * b[1:]
 *     take(take(a, i), j)   -->   take(a, take(i, j))
 *     where(arange(n) == 3, a, b)[3]   -->   a[3]
 *
 * What an INDEX or a TAKE reads lies in memory. So they sink below cheap elementwise operations, and below views
 * that add axes of size 1, permute or repeat, down to what is in memory anyway: then nothing is written that is read
 * again, and no loop nest waits for another. Values that are used elsewhere too are computed twice.
 *
 * One that would have to stop on the way, at a value of as many axes, does not sink at all: what it stopped at would be
 * a loop nest too, and there may be several. */
#include <string.h>

#include "ir/build_impl.h"
#include "ir/pass/pass.h"
#include "ir/view.h"

/* CHEAP: additions an element that may be recomputed for it. TRIED: operations visited for one mover, those it has to come
 * back from included: without it a shared operand is visited once for each path to it. */
enum { CHEAP = 64, TRIED = 512 };

typedef struct sinking {
    kn_graph *g;
    const kn_node *mover; /* the INDEX or TAKE */
    kn_node *const *in;   /* its operands in g */
    int budget;
    int *left;       /* of TRIED */
    int axes;        /* longer than 1, of what it sinks below: all the way, or not at all */
    bool ends_early; /* it stopped on the way */
} sinking;

static bool is_one(const sinking *s, kn_dim d) { return kn_dim_is_one(s->g->syms, d); }

static int axes_of(const sinking *s, const kn_node *x)
{
    int axes = 0;
    for (int j = 0; j < x->rank; j++)
        axes += !is_one(s, x->shape[j]);
    return axes;
}

/* May it sink below x, which adds so much to what is done again? */
static bool can_pay(sinking *s, const kn_node *x, int cost)
{
    if (--*s->left >= 0 && cost <= s->budget)
        return true;
    s->ends_early |= cost <= CHEAP && axes_of(s, x) >= s->axes;
    return false;
}

/* What x shows, below views that only permute axes, or add and drop those of size 1. */
static const kn_node *below_views(const sinking *s, const kn_node *x)
{
    while (x->op == KN_OP_PERMUTE || (x->op == KN_OP_RESHAPE && !kn_regroups(s->g, x)))
        x = x->in[0];
    return x;
}

/* Is the mover an INDEX that leaves every element of x where it is? */
static bool moves_nothing(const sinking *s, const kn_node *x)
{
    kn_symbols *syms = s->g->syms;
    const kn_node *m = s->mover;
    int last = -1;
    for (int j = 0; m->op == KN_OP_INDEX && j < x->rank; j++) {
        const kn_indexing *index = m->u.index;
        int64_t start;
        if (is_one(s, x->shape[j]))
            continue;
        if (index->axis[j] <= last || index->step[j] != 1 ||
            !kn_dim_is_const(syms, index->start[j], &start) || start != 0 ||
            !kn_dim_equal(syms, m->shape[index->axis[j]], x->shape[j]))
            return false;
        last = index->axis[j];
    }
    return m->op == KN_OP_INDEX;
}

/* The place that the mover, an INDEX, gives of an arange that x shows: its element there. NULL: it reads several. */
static kn_node *counted(const sinking *s, const kn_node *x)
{
    const kn_node *m = s->mover;
    kn_dim place = NULL;
    for (int j = 0; below_views(s, x)->op == KN_OP_IOTA && j < x->rank; j++)
        if (!is_one(s, x->shape[j]))
            place = m->u.index->axis[j] < 0 ? m->u.index->start[j] : NULL;
    return place ? kn_build_cast(s->g, kn_build_extent(s->g, place, m->loc), x->dtype, m->loc)
                 : NULL;
}

/* The mover of x, whose axes are those of what it moved, or 1. */
static kn_node *move_index(const sinking *s, kn_node *x)
{
    kn_graph *g = s->g;
    const kn_node *m = s->mover;
    kn_dim shape[KN_MAX_RANK];
    kn_indexing *index = KN_NEW(g->arena, kn_indexing);
    kn_node *number = counted(s, x);
    bool any = x->rank == 0;
    *index = *m->u.index;
    for (int i = 0; i < m->rank; i++)
        shape[i] = kn_dim_const(g->syms, 1);
    for (int j = 0; j < x->rank; j++) {
        if (is_one(s, x->shape[j])) {
            index->axis[j] = -1;
            index->start[j] = kn_dim_const(g->syms, 0);
        } else if (index->axis[j] >= 0) {
            shape[index->axis[j]] = m->shape[index->axis[j]];
        }
        any = any || !is_one(s, x->shape[j]);
    }
    if (!any || number || moves_nothing(s, x))
        return kn_build_reshape_to(g, number ? number : x, shape, m->rank, m->loc);
    kn_node n = *m;
    n.dtype = x->dtype;
    n.shape = shape;
    n.in[0] = x;
    n.u.index = index;
    return kn_graph_intern(g, &n);
}

static kn_node *move_take(const sinking *s, kn_node *x)
{
    kn_graph *g = s->g;
    const kn_gathering *how = &s->mover->u.gather;
    kn_dim shape[KN_MAX_RANK];
    kn_node n = *s->mover;
    n.dtype = x->dtype;
    n.shape = shape;
    n.nin = 1;
    for (int i = 0; i < n.rank; i++)
        shape[i] = kn_dim_const(g->syms, 1);
    for (int j = 0; j < x->rank; j++) {
        bool one = is_one(s, x->shape[j]);
        if (how->checked && how->by[j] && is_one(s, s->mover->in[0]->shape[j]))
            one = false; /* the index can be wrong */
        n.u.gather.by[j] = 0;
        n.u.gather.axis[j] = one ? (int8_t)-1 : how->axis[j];
        if (one)
            continue;
        if (!how->by[j]) {
            shape[how->axis[j]] = x->shape[j];
            continue;
        }
        kn_node *place = s->in[how->by[j]];
        for (int i = 0; i < n.rank; i++)
            if (!is_one(s, place->shape[i]))
                shape[i] = s->mover->shape[i];
        n.u.gather.by[j] = (int8_t)n.nin;
        n.in[n.nin++] = place;
    }
    for (int k = n.nin; k < KN_MAX_IN; k++)
        n.in[k] = NULL;
    if (n.nin == 1) /* axes keep their order */
        return kn_build_reshape_to(g, x, shape, n.rank, n.loc);
    n.in[0] = kn_build_in_memory(g, x, n.loc);
    return kn_graph_intern(g, &n);
}

static kn_node *move(const sinking *s, kn_node *x)
{
    return s->mover->op == KN_OP_INDEX ? move_index(s, x) : move_take(s, x);
}

/* `view`, which permutes or adds axes of size 1, of x, whose axes are those of what it shows, or 1. */
static kn_node *view_of(const sinking *s, const kn_node *view, kn_node *x)
{
    kn_graph *g = s->g;
    int8_t axes[KN_MAX_RANK];
    kn_dim shape[KN_MAX_RANK];
    for (int i = 0; i < view->rank; i++)
        shape[i] = view->op == KN_OP_PERMUTE ? x->shape[view->u.perm[i]] : kn_dim_const(g->syms, 1);
    if (view->op == KN_OP_PERMUTE) {
        kn_node n = *view;
        n.dtype = x->dtype;
        n.shape = shape;
        n.in[0] = x;
        return kn_graph_intern(g, &n);
    }
    kn_reshape_axes(g, view, axes);
    for (int j = 0; j < x->rank; j++)
        if (axes[j] >= 0)
            shape[axes[j]] = x->shape[j];
    return kn_build_reshape_to(g, x, shape, view->rank, view->loc);
}

/* Would the check of an index be lost if x were not repeated? */
static bool loses_check(const sinking *s, const kn_node *repeated)
{
    const kn_node *x = repeated->in[0];
    for (int j = 0; j < x->rank; j++) {
        if (!is_one(s, x->shape[j]) || is_one(s, repeated->shape[j]))
            continue;
        if (s->mover->op == KN_OP_INDEX ? s->mover->u.index->axis[j] < 0
                                        : s->mover->u.gather.by[j] && s->mover->u.gather.checked)
            return true;
    }
    return false;
}

static kn_node *sink_operand(sinking *s, kn_node *x);

/* Where the slice that the mover is begins on axis a. One without elements may begin beyond the axis, as x[2:] of two; what
 * takes from it then takes nothing that anybody uses, but it reads, and must read what is there. */
static kn_dim safe_start(const sinking *s, int a)
{
    kn_symbols *syms = s->g->syms;
    kn_dim start = s->mover->u.index->start[a], zero = kn_dim_const(syms, 0);
    kn_dim last = kn_dim_sub(syms, s->mover->in[0]->shape[a], kn_dim_const(syms, 1));
    if (kn_dim_equal(syms, start, zero) || s->mover->u.index->axis[a] < 0)
        return start;
    kn_dim within = last ? kn_dim_min(syms, start, last) : NULL;
    within = within ? kn_dim_max(syms, within, zero) : NULL;
    return within ? within : start;
}

/* Where the mover reads axis a of what it moves: along the result's axis *axis, or at the place it gives. */
static kn_node *place_on(const sinking *s, int a, int *axis)
{
    const kn_node *m = s->mover;
    kn_graph *g = s->g;
    *axis = -1;
    if (m->op == KN_OP_TAKE) {
        *axis = m->u.gather.axis[a];
        return m->u.gather.by[a] ? s->in[m->u.gather.by[a]] : NULL;
    }
    kn_dim start = safe_start(s, a), shape[KN_MAX_RANK];
    kn_node *first = kn_build_cast(g, kn_build_extent(g, start, m->loc), KN_I64, m->loc);
    int along = m->u.index->axis[a];
    for (int i = 0; i < m->rank; i++)
        shape[i] = i == along ? m->shape[i] : kn_dim_const(g->syms, 1);
    if (along < 0)
        return first ? kn_build_reshape_to(g, first, shape, m->rank, m->loc) : NULL;
    if (m->u.index->step[a] == 1 && kn_dim_equal(g->syms, start, kn_dim_const(g->syms, 0)) &&
        kn_dim_equal(g->syms, m->shape[along], m->in[0]->shape[a])) {
        *axis = along;
        return NULL;
    }
    kn_node *i = kn_build_index_along(g, shape, m->rank, along, m->loc);
    kn_node *by = kn_build_int(g, m->u.index->step[a], m->loc);
    i = kn_build_elem(g, KN_OP_MUL, (kn_node *[]){i, by}, 2, m->loc);
    return kn_build_elem(g, KN_OP_ADD, (kn_node *[]){i, first}, 2, m->loc);
}

/* Can the mover of a TAKE be one TAKE? Each place that is checked must stay a place of an axis of its size. */
static bool can_compose(const sinking *s, const kn_node *take)
{
    bool checked = s->mover->op == KN_OP_TAKE && s->mover->u.gather.checked;
    int places = 0;
    for (int j = 0; j < take->in[0]->rank; j++) {
        int a = take->u.gather.axis[j], axis;
        if (take->u.gather.by[j])
            places++;
        else if (a >= 0 && !is_one(s, take->in[0]->shape[j]))
            places += place_on(s, a, &axis) != NULL;
    }
    return !checked && places <= KN_MAX_IN - 1;
}

static kn_node *compose(sinking *s, const kn_node *take)
{
    kn_graph *g = s->g;
    kn_dim shape[KN_MAX_RANK];
    kn_node n = *take;
    s->budget -= kn_ops[KN_OP_TAKE].cost;
    n.nin = 1;
    n.rank = s->mover->rank;
    n.shape = shape;
    for (int i = 0; i < n.rank; i++)
        shape[i] = kn_dim_const(g->syms, 1);
    for (int j = 0; j < take->in[0]->rank; j++) {
        int a = take->u.gather.axis[j], by = take->u.gather.by[j], axis = -1;
        bool walked = !by && a >= 0 && !is_one(s, take->in[0]->shape[j]);
        kn_node *place = by ? sink_operand(s, take->in[by]) : walked ? place_on(s, a, &axis) : NULL;
        if (by && !place)
            return NULL;
        n.u.gather.by[j] = 0;
        n.u.gather.axis[j] = (int8_t)(place ? -1 : axis);
        if (place) {
            n.u.gather.by[j] = (int8_t)n.nin;
            n.in[n.nin++] = place;
        }
        for (int i = 0; i < n.rank; i++)
            if (i == axis || (place && !is_one(s, place->shape[i])))
                shape[i] = s->mover->shape[i];
    }
    for (int k = n.nin; k < KN_MAX_IN; k++)
        n.in[k] = NULL;
    if (n.nin == 1)
        return kn_build_reshape_to(g, take->in[0], shape, n.rank, n.loc);
    return kn_graph_intern(g, &n);
}

/* Operand k of `below`, which x shows, as x shows it. */
static kn_node *operand(const sinking *s, const kn_node *x, const kn_node *below, int k)
{
    const kn_node *views[KN_MAX_RANK];
    int depth = 0;
    kn_node *operand = below->in[k];
    for (const kn_node *v = x; v != below && depth < KN_MAX_RANK; v = v->in[0])
        views[depth++] = v;
    while (depth > 0)
        operand = view_of(s, views[--depth], operand);
    return operand;
}

/* Below an operation, which x shows. Of a WHERE that chooses by places, as what was assigned to x[3] does, one operand
 * is left where the mover knows its place. */
static kn_node *sink_elem(sinking *s, const kn_node *x, const kn_node *below)
{
    kn_graph *g = s->g;
    const int before = s->budget;
    bool holds;
    kn_node n = *below;
    kn_dim shape[KN_MAX_RANK];
    s->budget -= kn_ops[below->op].cost + 1;
    for (int k = 0; k < below->nin; k++) {
        n.in[k] = sink_operand(s, operand(s, x, below, k));
        if (!n.in[k])
            return NULL;
        if (k == 0 && below->op == KN_OP_WHERE && kn_fold_condition(n.in[0], &holds)) {
            s->budget = before - 1;
            return sink_operand(s, operand(s, x, below, holds ? 1 : 2));
        }
    }
    n.rank = s->mover->rank;
    n.shape = shape;
    for (int i = 0; i < n.rank; i++) { /* axes that only other operands have are 1 here */
        shape[i] = kn_dim_const(g->syms, 1);
        for (int k = 0; k < n.nin; k++)
            if (!is_one(s, n.in[k]->shape[i]))
                shape[i] = n.in[k]->shape[i];
    }
    kn_node *number = kn_fold_elem(g, &n, n.in);
    return number ? number : kn_graph_intern(g, &n);
}

static kn_node *sink(sinking *s, kn_node *x)
{
    kn_graph *g = s->g;
    if (x->op == KN_OP_TAKE && can_compose(s, x) && can_pay(s, x, kn_ops[KN_OP_TAKE].cost))
        return compose(s, x);
    const kn_node *below = below_views(s, x);
    bool repeats = below == x && x->op == KN_OP_BROADCAST && !loses_check(s, x);
    if (repeats) {
        kn_node *moved = sink_operand(s, x->in[0]);
        return moved ? kn_build_broadcast_to(g, moved, s->mover->shape, s->mover->rank, x->loc)
                     : NULL;
    }
    const kn_op_info *op = &kn_ops[below->op];
    if (op->cls == KN_ELEM && !moves_nothing(s, x) && can_pay(s, x, op->cost))
        return sink_elem(s, x, below);
    return move(s, x);
}

/* Below x all the way, or not at all. */
static kn_node *sink_all(sinking *s, kn_node *x)
{
    sinking all = *s;
    all.axes = axes_of(s, x);
    all.ends_early = false;
    kn_node *moved = sink(&all, x);
    if (all.ends_early)
        return move(s, x);
    s->budget = all.budget;
    return moved;
}

static kn_node *sink_operand(sinking *s, kn_node *x)
{
    return axes_of(s, x) < s->axes ? sink_all(s, x) : sink(s, x);
}

static kn_node *rewrite(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    (void)ctx;
    if (old->op != KN_OP_INDEX && old->op != KN_OP_TAKE)
        return kn_node_copy(g, old, in);
    int left = TRIED;
    sinking s = {.g = g, .mover = old, .in = in, .budget = CHEAP, .left = &left};
    kn_node *moved = sink_all(&s, in[0]);
    return moved ? kn_build_broadcast_to(g, moved, old->shape, old->rank, old->loc) : NULL;
}

kn_graph *kn_pass_sink(kn_arena *a, kn_graph *g) { return kn_graph_rewrite(a, g, rewrite, NULL); }
