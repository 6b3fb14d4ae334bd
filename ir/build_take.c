/* Elements at indices that are values, and an array a part of which is assigned to. */
#include <string.h>

#include "ir/assembly.h"
#include "ir/build_impl.h"
#include "ir/view.h"

static kn_node *elem(kn_graph *g, kn_op op, kn_node *a, kn_node *b, kn_loc loc)
{
    return kn_build_elem(g, op, (kn_node *[]){a, b}, 2, loc);
}

static kn_node *select(kn_graph *g, kn_node *c, kn_node *a, kn_node *b, kn_loc loc)
{
    return kn_build_elem(g, KN_OP_WHERE, (kn_node *[]){c, a, b}, 3, loc);
}

static kn_node *extent(kn_graph *g, kn_dim d, kn_loc loc)
{
    kn_node *n = kn_build_extent(g, d, loc);
    return n ? kn_build_cast(g, n, KN_I64, loc) : NULL;
}

kn_node *kn_build_clamp(kn_graph *g, kn_node *i, kn_dim n, kn_loc loc)
{
    kn_node *last = extent(g, kn_dim_sub(g->syms, n, kn_dim_const(g->syms, 1)), loc);
    i = elem(g, KN_OP_MINIMUM, i, last, loc);
    return elem(g, KN_OP_MAXIMUM, i, kn_build_int(g, 0, loc), loc);
}

/* ---- TAKE ---- */

kn_node *kn_build_in_memory(kn_graph *g, kn_node *x, kn_loc loc)
{
    if (x->op == KN_OP_INDEX)
        return x;
    kn_indexing *whole = KN_NEW(g->arena, kn_indexing);
    for (int j = 0; j < x->rank; j++) {
        whole->axis[j] = (int8_t)j;
        whole->step[j] = 1;
        whole->start[j] = kn_dim_const(g->syms, 0);
    }
    kn_node n = {.op = KN_OP_INDEX,
                 .dtype = x->dtype,
                 .rank = x->rank,
                 .shape = x->shape,
                 .nin = 1,
                 .loc = loc};
    n.in[0] = x;
    n.u.index = whole;
    return kn_graph_intern(g, &n);
}

/* A TAKE to be. */
typedef struct taking {
    int axis[KN_MAX_RANK]; /* the result's axis along which each axis of the operand is walked, */
    kn_node *indices[KN_MAX_RANK]; /* where this is NULL; else the indices that are taken */
    kn_dim shape[KN_MAX_RANK];     /* the result's */
    int rank;
    bool checked;
} taking;

static kn_node *take(kn_graph *g, kn_node *x, const taking *t, kn_loc loc)
{
    kn_node n = {.op = KN_OP_TAKE,
                 .dtype = x->dtype,
                 .rank = t->rank,
                 .shape = t->shape,
                 .nin = 1,
                 .loc = loc};
    n.in[0] = kn_build_in_memory(g, x, loc);
    n.u.gather.checked = t->checked;
    for (int j = 0; j < x->rank; j++) {
        bool one = kn_dim_is_one(g->syms, x->shape[j]);
        n.u.gather.axis[j] = (int8_t)(t->indices[j] || one ? -1 : t->axis[j]);
        if (!t->indices[j])
            continue;
        n.u.gather.by[j] = (int8_t)n.nin;
        n.in[n.nin++] = t->indices[j];
    }
    return kn_graph_intern(g, &n);
}

kn_node *kn_build_taken(kn_graph *g, kn_node *x, kn_node *const *indices, const kn_dim *shape,
                        bool checked, kn_loc loc)
{
    taking t = {.rank = x ? x->rank : 0, .checked = checked};
    int count = 0;
    for (int j = 0; j < t.rank; j++) {
        if (!shape[j])
            return NULL;
        t.axis[j] = j;
        t.shape[j] = x->shape[j];
    }
    for (int j = 0; j < t.rank; j++) { /* as many at a time as a node has operands for */
        if (!indices[j])
            continue;
        t.indices[j] = kn_build_cast(g, indices[j], KN_I64, loc);
        t.shape[j] = shape[j];
        if (++count % (KN_MAX_IN - 1) != 0)
            continue;
        x = take(g, x, &t, loc);
        memset(t.indices, 0, sizeof t.indices);
    }
    return x && count % (KN_MAX_IN - 1) ? take(g, x, &t, loc) : x;
}

/* Integers, and in bounds where that can be known. */
static bool check_indices(kn_graph *g, const char *what, const kn_node *i, const kn_node *x,
                          int axis, kn_take_mode mode)
{
    kn_dim n = x->shape[axis];
    bool known = i->op == KN_OP_CONST; /* and there is something to take */
    if (kn_is_inexact(i->dtype) || i->dtype == KN_BOOL) {
        kn_fail(KN_TYPE, "%s: indices must be integers, not %s", what, kn_dtypes[i->dtype].text);
        return false;
    }
    int64_t size;
    for (int j = x->rank - 1; j >= 0; j--)
        known = known && kn_dim_is_const(g->syms, x->shape[j], &size) && size > 0;
    known = known && kn_dim_is_const(g->syms, n, &size);
    if (mode == KN_TAKE_RAISE && known && (i->u.value.i < -size || i->u.value.i >= size)) {
        kn_fail(KN_SHAPE, "%s: index %lld is out of bounds for an axis with size %lld", what,
                (long long)i->u.value.i, (long long)size);
        return false;
    }
    return true;
}

/* Indices into an axis of size n as a TAKE has them. */
static kn_node *from_front(kn_graph *g, kn_node *i, kn_dim n, kn_take_mode mode, kn_loc loc)
{
    i = kn_build_cast(g, i, KN_I64, loc);
    if (mode == KN_TAKE_CLIP)
        return kn_build_clamp(g, i, n, loc);
    if (mode == KN_TAKE_WRAP)
        return elem(g, KN_OP_MOD, i, extent(g, n, loc), loc);
    kn_node *negative = elem(g, KN_OP_LT, i, kn_build_int(g, 0, loc), loc);
    return select(g, negative, elem(g, KN_OP_ADD, i, extent(g, n, loc), loc), i, loc);
}

/* x as one axis, where no axis is given; *axis is the one to use. */
static kn_node *one_axis(kn_graph *g, const char *what, kn_node *x, const int *given, int *axis,
                         kn_loc loc)
{
    uint32_t mask;
    *axis = 0;
    if (!given) {
        kn_dim count = kn_node_count(g, x);
        return count ? kn_build_reshape(g, x, &count, 1, loc) : NULL;
    }
    if (!kn_build_axes(g, what, x, given, 1, &mask))
        return NULL;
    *axis = *given < 0 ? *given + x->rank : *given;
    return x;
}

kn_node *kn_build_take(kn_graph *g, kn_node *x, kn_node *indices, const int *given,
                       kn_take_mode mode, kn_loc loc)
{
    int axis;
    if (!x || !indices || !(x = one_axis(g, "take", x, given, &axis, loc)))
        return NULL;
    int rank = x->rank - 1 + indices->rank;
    if (rank > KN_MAX_RANK) {
        kn_fail(KN_SHAPE, "take: the result has more than %d axes", KN_MAX_RANK);
        return NULL;
    }
    if (!check_indices(g, "take", indices, x, axis, mode))
        return NULL;
    kn_node *at = from_front(g, indices, x->shape[axis], mode, loc);
    if (!at)
        return NULL;
    taking t = {.rank = rank, .checked = true};
    kn_dim along[KN_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        bool own = i >= axis && i < axis + indices->rank;
        t.shape[i] = own        ? indices->shape[i - axis]
                     : i < axis ? x->shape[i]
                                : x->shape[i - indices->rank + 1];
        along[i] = own ? t.shape[i] : kn_dim_const(g->syms, 1);
    }
    for (int j = 0; j < x->rank; j++)
        t.axis[j] = j < axis ? j : j + indices->rank - 1;
    t.indices[axis] = kn_build_reshape_to(g, at, along, rank, loc);
    return take(g, x, &t, loc);
}

kn_node *kn_build_take_along(kn_graph *g, kn_node *x, kn_node *indices, const int *given,
                             kn_loc loc)
{
    int axis;
    if (!x || !indices || !(x = one_axis(g, "take_along_axis", x, given, &axis, loc)))
        return NULL;
    if (indices->rank != x->rank) {
        kn_fail(KN_SHAPE, "take_along_axis: indices of %s for %s; they have as many axes",
                kn_build_shape_text(g, indices->shape, indices->rank),
                kn_build_shape_text(g, x->shape, x->rank));
        return NULL;
    }
    kn_dim shape[KN_MAX_RANK];
    kn_node *taken[KN_MAX_RANK] = {0};
    for (int j = 0; j < x->rank; j++) {
        kn_dim a = x->shape[j], b = indices->shape[j];
        bool one = kn_dim_is_one(g->syms, a), other = kn_dim_is_one(g->syms, b);
        shape[j] = j == axis || one ? b : a;
        if (j == axis || one || other || kn_dim_equal(g->syms, a, b))
            continue;
        if (kn_dim_unify(g->syms, a, b) != KN_UNIFIED) {
            kn_fail(KN_SHAPE, "take_along_axis: indices of %s do not broadcast with %s",
                    kn_build_shape_text(g, indices->shape, indices->rank),
                    kn_build_shape_text(g, x->shape, x->rank));
            return NULL;
        }
        kn_build_need(g, KN_FACT_EQUAL, a, b, "take_along_axis", loc);
    }
    if (!check_indices(g, "take_along_axis", indices, x, axis, KN_TAKE_RAISE))
        return NULL;
    taken[axis] = from_front(g, indices, x->shape[axis], KN_TAKE_RAISE, loc);
    return taken[axis] ? kn_build_taken(g, x, taken, shape, true, loc) : NULL;
}

/* ---- assignment ---- */

kn_node *kn_build_same_view(kn_graph *g, const kn_node *view, const kn_node *from, kn_node *to)
{
    KN_VEC(const kn_node *) views = {0}; /* outermost first */
    for (; view != from; view = view->in[0]) {
        if (kn_ops[view->op].cls != KN_VIEW)
            return NULL;
        kn_push(g->arena, &views, view);
    }
    while (views.len > 0)
        to = kn_node_copy(g, views.data[--views.len], &to);
    return to;
}

/* Is axis j of an INDEX all of the operand's, in its order? */
static bool is_whole(kn_graph *g, const kn_node *index, int j)
{
    const kn_indexing *at = index->u.index;
    return at->axis[j] >= 0 && at->step[j] == 1 &&
           kn_dim_equal(g->syms, at->start[j], kn_dim_const(g->syms, 0)) &&
           kn_dim_equal(g->syms, index->shape[at->axis[j]], index->in[0]->shape[j]);
}

static kn_node *both(kn_graph *g, kn_node *a, kn_node *b, kn_loc loc)
{
    return !a ? b : !b ? a : elem(g, KN_OP_AND, a, b, loc);
}

/* A mask of the indices along axis j of the operand that an INDEX shows, and where in the INDEX each of them is. */
static void shown_part(kn_graph *g, const kn_node *index, int j, kn_loc loc, kn_node **mask,
                       kn_node **within)
{
    const kn_indexing *at = index->u.index;
    const kn_node *x = index->in[0];
    int64_t step = at->step[j];
    kn_node *i = kn_build_index_along(g, x->shape, x->rank, j, loc);
    kn_node *start = extent(g, at->start[j], loc), *zero = kn_build_int(g, 0, loc);
    *within = NULL;
    if (at->axis[j] < 0) { /* nothing reads it, so this is where its bounds are checked */
        if (!kn_dim_not_negative(g->syms, at->start[j]))
            kn_build_need(g, KN_FACT_AT_MOST, kn_dim_const(g->syms, 0), at->start[j], "assignment",
                          loc);
        kn_build_need(g, KN_FACT_LESS, at->start[j], x->shape[j], "assignment", loc);
        *mask = elem(g, KN_OP_EQ, i, start, loc);
        return;
    }
    kn_node *by = kn_build_int(g, step < 0 ? -step : step, loc);
    kn_node *d = elem(g, KN_OP_SUB, step < 0 ? start : i, step < 0 ? i : start, loc), *q = d;
    kn_dim n = index->shape[at->axis[j]];
    *mask = elem(g, KN_OP_GE, d, zero, loc);
    if (step != 1 && step != -1) {
        q = elem(g, KN_OP_FLOORDIV, d, by, loc);
        kn_node *rest = elem(g, KN_OP_SUB, d, elem(g, KN_OP_MUL, q, by, loc), loc);
        *mask = both(g, *mask, elem(g, KN_OP_EQ, rest, zero, loc), loc);
    }
    *mask = both(g, *mask, elem(g, KN_OP_LT, q, extent(g, n, loc), loc), loc);
    *within = kn_build_clamp(g, q, n, loc);
}

/* Do two axes of the operand follow one of the result's? */
static bool repeats_axis(const kn_node *index)
{
    uint32_t seen = 0;
    for (int j = 0; j < index->in[0]->rank; j++) {
        int axis = index->u.index->axis[j];
        if (axis >= 0 && seen >> axis & 1)
            return true;
        seen |= axis >= 0 ? 1u << axis : 0;
    }
    return false;
}

/* The operand's axis that each axis of an INDEX follows, the first if there are several; -1 where there is none. */
static void followed_axes(const kn_node *index, int *first)
{
    for (int i = 0; i < index->rank; i++)
        first[i] = -1;
    for (int j = index->in[0]->rank - 1; j >= 0; j--)
        if (index->u.index->axis[j] >= 0)
            first[index->u.index->axis[j]] = j;
}

/* v, of the shape of an INDEX, with the operand's axes in their order: 1 where no axis of v follows one. */
static kn_node *with_axes_of_operand(kn_graph *g, const kn_node *index, const int *first,
                                     kn_node *v, kn_loc loc)
{
    const kn_node *x = index->in[0];
    kn_dim shape[KN_MAX_RANK];
    int perm[KN_MAX_RANK], n = 0;
    for (int j = 0; j < x->rank; j++) {
        int axis = index->u.index->axis[j];
        bool own = axis >= 0 && first[axis] == j;
        shape[j] = own ? v->shape[axis] : kn_dim_const(g->syms, 1);
        if (own)
            perm[n++] = axis;
    }
    for (int i = 0; i < index->rank; i++)
        if (first[i] < 0) /* a new axis of size 1 */
            perm[n++] = i;
    v = kn_build_transpose(g, v, perm, n, loc);
    return v ? kn_build_reshape_to(g, v, shape, x->rank, loc) : NULL;
}

/* v, with the axes of an INDEX's operand, where the INDEX shows that. */
static kn_piece piece_of(kn_graph *g, const kn_node *index, const kn_node *v)
{
    kn_piece piece = {.node = v->id};
    for (int j = 0; j < v->rank; j++) {
        const int axis = index->u.index->axis[j];
        piece.at.start[j] = index->u.index->start[j];
        piece.at.size[j] = axis < 0 ? kn_dim_const(g->syms, 1) : index->shape[axis];
        piece.at.step[j] = axis < 0 ? 1 : index->u.index->step[j];
    }
    return piece;
}

kn_node *kn_build_put_index(kn_graph *g, kn_node *x, const kn_node *index, kn_node *v, kn_loc loc)
{
    const kn_indexing *at = index->u.index;
    kn_node *indices[KN_MAX_RANK] = {0}, *within[KN_MAX_RANK] = {0}, *mask = NULL;
    kn_dim shape[KN_MAX_RANK];
    int first[KN_MAX_RANK];
    bool any = false, repeats = repeats_axis(index);
    followed_axes(index, first);
    if (!(v = with_axes_of_operand(g, index, first, v, loc)))
        return NULL;
    const kn_piece piece = piece_of(g, index, v);
    for (int j = 0; j < x->rank; j++) {
        kn_node *here;
        shape[j] = v->shape[j];
        if (!repeats && is_whole(g, index, j))
            continue;
        shown_part(g, index, j, loc, &here, &within[j]);
        mask = both(g, mask, here, loc);
        if (within[j] && first[at->axis[j]] != j) /* where it is as far as the axis before it */
            mask =
                both(g, mask, elem(g, KN_OP_EQ, within[j], within[first[at->axis[j]]], loc), loc);
        if (!within[j] || kn_dim_is_one(g->syms, v->shape[j]))
            continue;
        indices[j] = within[j];
        shape[j] = x->shape[j];
        any = true;
    }
    if (any)
        v = kn_build_taken(g, v, indices, shape, false, loc);
    if (!mask)
        return kn_build_broadcast_to(g, v, x->shape, x->rank, loc);
    kn_node *made = select(g, mask, v, x, loc);
    if (!repeats)
        kn_note_assembly(g, made, &piece, 1, x);
    return made;
}

/* What `x` holds once the elements that `view`, of it, shows are those of `v`. */
static kn_node *put_below(kn_graph *g, const kn_node *view, kn_node *v, kn_loc loc)
{
    int8_t axes[KN_MAX_RANK];
    int inverse[KN_MAX_RANK];
    kn_node *x = view->in[0];
    switch (view->op) {
    case KN_OP_INDEX:
        if (repeats_axis(view)) {
            kn_fail(KN_SHAPE, "what diagonal gives is read-only");
            return NULL;
        }
        return kn_build_put_index(g, x, view, v, loc);
    case KN_OP_PERMUTE:
        for (int i = 0; i < view->rank; i++)
            inverse[view->u.perm[i]] = i;
        return kn_build_transpose(g, v, inverse, view->rank, loc);
    case KN_OP_RESHAPE:
        if (!kn_reshape_axes(g, view, axes)) {
            kn_fail(KN_SHAPE, "whether reshape gives a view of the same memory depends on strides; "
                              "assign to the array itself");
            return NULL;
        }
        v = kn_build_broadcast_to(g, v, view->shape, view->rank, loc);
        return v ? kn_build_reshape_to(g, v, x->shape, x->rank, loc) : NULL;
    default: kn_fail(KN_SHAPE, "a view made by broadcast_to is read-only"); return NULL;
    }
}

kn_node *kn_build_put(kn_graph *g, kn_node *base, const kn_node *view, kn_node *v, kn_loc loc)
{
    if (!base || !v)
        return NULL;
    v = kn_build_pad_rank(g, v, view->rank, loc);
    while (v && view != base) {
        v = put_below(g, view, v, loc);
        view = view->in[0];
        v = v ? kn_build_pad_rank(g, v, view->rank, loc) : NULL;
    }
    return v ? kn_build_broadcast_to(g, v, base->shape, base->rank, loc) : NULL;
}
