/* NumPy's basic indexing, and the views and masks that are made of it. */
#include <string.h>

#include "ir/build_impl.h"

kn_node *kn_build_iota(kn_graph *g, kn_dim n, kn_loc loc)
{
    if (!n)
        return NULL;
    kn_node node = {.op = KN_OP_IOTA, .dtype = KN_I64, .rank = 1, .shape = &n, .loc = loc};
    return kn_graph_intern(g, &node);
}

static kn_node *intern_index(kn_graph *g, kn_node *x, const kn_indexing *index, const kn_dim *shape,
                             int rank, kn_loc loc)
{
    for (int j = 0; j < x->rank; j++)
        if (!index->start[j])
            return NULL;
    for (int i = 0; i < rank; i++)
        if (!shape[i])
            return NULL;
    kn_indexing *kept = KN_NEW(g->arena, kn_indexing);
    *kept = *index;
    kn_node n = {
        .op = KN_OP_INDEX, .dtype = x->dtype, .rank = rank, .shape = shape, .nin = 1, .loc = loc};
    n.in[0] = x;
    n.u.index = kept;
    return kn_graph_intern(g, &n);
}

/* ---- slices ---- */

/* Do sizes only make it smaller, as in -M and 1 - M? */
static bool only_subtracts(kn_symbols *s, kn_dim bound)
{
    return kn_dim_not_negative(s, kn_dim_sub(s, kn_dim_const(s, INT32_MAX), bound));
}

/* A bound counted from the front; NumPy counts a negative one from the end. Of one that is negative for some sizes only,
 * that is size * 1 more, or size * 0. A difference of sizes such as N - M counts from the front in any case, which keeps
 * the shapes that follow from it simple. */
static kn_dim from_front(kn_graph *g, kn_dim bound, kn_dim size)
{
    kn_symbols *s = g->syms;
    if (!bound || kn_facts_not_negative(&g->facts, s, bound) || !only_subtracts(s, bound))
        return bound;
    kn_dim zero = kn_dim_const(s, 0), one = kn_dim_const(s, 1), below = kn_dim_sub(s, zero, bound);
    kn_dim is_below = kn_facts_not_negative(&g->facts, s, kn_dim_sub(s, below, one))
                          ? one
                          : kn_dim_min(s, kn_dim_max(s, below, zero), one);
    return kn_dim_add(s, kn_dim_mul(s, size, is_below), bound);
}

/* The number of elements that slice `at` takes of an axis, and where the first is. Bounds are clamped to the axis; a
 * stop before the start gives 0 elements. */
static kn_dim slice_axis(kn_graph *g, const kn_index_item *at, kn_dim size, kn_dim *start)
{
    kn_symbols *s = g->syms;
    kn_dim zero = kn_dim_const(s, 0), one = kn_dim_const(s, 1), by, length;
    kn_dim lo = from_front(g, at->lo, size), hi = from_front(g, at->hi, size);
    if (at->step > 0) {
        lo = lo ? kn_dim_max(s, lo, zero) : zero;
        hi = hi ? kn_dim_min(s, hi, size) : size;
        length = kn_dim_sub(s, hi, lo);
        by = kn_dim_const(s, at->step);
    } else {
        kn_dim last = kn_dim_sub(s, size, one), before = kn_dim_const(s, -1);
        lo = lo ? kn_dim_min(s, lo, last) : last;
        hi = hi ? kn_dim_max(s, hi, before) : before;
        length = kn_dim_sub(s, lo, hi);
        by = kn_dim_const(s, -at->step);
    }
    *start = lo;
    length = kn_dim_add(s, length, kn_dim_sub(s, by, one));
    return kn_dim_max(s, kn_dim_floordiv(s, length, by), zero);
}

/* Does slice `at` with `length` elements take the whole axis in order? If the axis has one element, any slice of one
 * does. */
static bool takes_all(kn_symbols *s, const kn_index_item *at, kn_dim size, kn_dim length)
{
    return (at->step == 1 && !at->lo && !at->hi) ||
           (kn_dim_is_one(s, size) && length && kn_dim_is_one(s, length));
}

/* How many axes of the operand the items use, those of "..." aside; false after a failure. */
static bool count_items(kn_graph *g, const kn_node *x, const kn_index_item *items, int n, int *used)
{
    int dots = 0, made = 0;
    *used = 0;
    for (int i = 0; i < n; i++) {
        dots += items[i].kind == KN_INDEX_ELLIPSIS;
        made += items[i].kind == KN_INDEX_NEWAXIS || items[i].kind == KN_INDEX_SLICE;
        *used += items[i].kind == KN_INDEX_AT || items[i].kind == KN_INDEX_SLICE;
        if (items[i].kind == KN_INDEX_SLICE && items[i].step == 0)
            return kn_fail(KN_SHAPE, "index: the step of a slice cannot be 0"), false;
    }
    if (dots > 1)
        return kn_fail(KN_SHAPE, "index: only one '...'"), false;
    if (*used > x->rank)
        return kn_fail(KN_SHAPE, "too many indices: %s has %d dimension%s, %d are indexed",
                       kn_build_shape_text(g, x->shape, x->rank), x->rank, x->rank == 1 ? "" : "s",
                       *used),
               false;
    if (made + x->rank - *used > KN_MAX_RANK)
        return kn_fail(KN_SHAPE, "index: the result has more than %d axes", KN_MAX_RANK), false;
    return true;
}

kn_node *kn_build_index(kn_graph *g, kn_node *x, const kn_index_item *items, int n, kn_loc loc)
{
    kn_symbols *s = g->syms;
    kn_indexing index = {0};
    kn_dim shape[KN_MAX_RANK];
    int used, axis = 0, rank = 0;
    bool moves = false; /* else it is a reshape */
    static const kn_index_item whole = {.kind = KN_INDEX_SLICE, .step = 1};
    if (!x || !count_items(g, x, items, n, &used))
        return NULL;
    for (int i = 0; i <= n; i++) {
        const kn_index_item *at = i < n ? &items[i] : &whole;
        int takes = at->kind == KN_INDEX_NEWAXIS    ? 0
                    : i == n                        ? x->rank - axis
                    : at->kind == KN_INDEX_ELLIPSIS ? x->rank - used
                                                    : 1;
        if (at->kind == KN_INDEX_NEWAXIS)
            shape[rank++] = kn_dim_const(s, 1);
        if (at->kind == KN_INDEX_ELLIPSIS)
            at = &whole;
        for (; takes > 0; takes--, axis++) {
            int64_t size, place;
            if (at->kind == KN_INDEX_AT) {
                index.axis[axis] = -1;
                index.start[axis] = from_front(g, at->lo, x->shape[axis]);
                bool known = kn_dim_is_const(s, x->shape[axis], &size) && index.start[axis] &&
                             kn_dim_is_const(s, index.start[axis], &place);
                moves = moves || !known || size != 1; /* the only element is what squeeze() gives */
                if (known && (place < 0 || place >= size)) {
                    kn_fail(KN_SHAPE, "index %lld is out of bounds for axis %d with size %lld",
                            (long long)(place < 0 ? place - size : place), axis, (long long)size);
                    return NULL;
                }
                continue;
            }
            index.axis[axis] = (int8_t)rank;
            index.step[axis] = at->step;
            shape[rank] = slice_axis(g, at, x->shape[axis], &index.start[axis]);
            moves = moves || !takes_all(s, at, x->shape[axis], shape[rank]);
            rank++;
        }
    }
    if (!moves)
        return kn_build_reshape_to(g, x, shape, rank, loc);
    return intern_index(g, x, &index, shape, rank, loc);
}

kn_node *kn_build_flip(kn_graph *g, kn_node *x, const int *axes, int naxes, kn_loc loc)
{
    kn_index_item items[KN_MAX_RANK];
    uint32_t mask;
    if (!x || !kn_build_axes(g, "flip", x, axes, naxes, &mask))
        return NULL;
    for (int i = 0; i < x->rank; i++)
        items[i] = (kn_index_item){.kind = KN_INDEX_SLICE, .step = mask >> i & 1 ? -1 : 1};
    return kn_build_index(g, x, items, x->rank, loc);
}

kn_node *kn_build_diagonal(kn_graph *g, kn_node *x, int64_t offset, int axis1, int axis2,
                           kn_loc loc)
{
    kn_symbols *s = g->syms;
    uint32_t mask;
    if (!x || !kn_build_axes(g, "diagonal", x, (int[]){axis1, axis2}, 2, &mask))
        return NULL;
    int row = axis1 < 0 ? axis1 + x->rank : axis1, col = axis2 < 0 ? axis2 + x->rank : axis2;
    kn_dim zero = kn_dim_const(s, 0), shape[KN_MAX_RANK];
    kn_indexing index = {0};
    int rank = 0;
    for (int j = 0; j < x->rank; j++) {
        index.start[j] = zero;
        index.step[j] = 1;
        index.axis[j] = (int8_t)(mask >> j & 1 ? x->rank - 2 : rank);
        if (!(mask >> j & 1))
            shape[rank++] = x->shape[j];
    }
    index.start[row] = kn_dim_const(s, offset < 0 ? -offset : 0);
    index.start[col] = kn_dim_const(s, offset > 0 ? offset : 0);
    kn_dim rows = kn_dim_sub(s, x->shape[row], index.start[row]);
    kn_dim cols = kn_dim_sub(s, x->shape[col], index.start[col]);
    shape[rank++] = kn_dim_max(s, kn_dim_min(s, rows, cols), zero);
    return intern_index(g, x, &index, shape, rank, loc);
}

/* ---- counts ---- */

kn_node *kn_build_index_along(kn_graph *g, const kn_dim *shape, int rank, int axis, kn_loc loc)
{
    kn_dim along[KN_MAX_RANK];
    kn_node *i = kn_build_iota(g, shape[axis], loc);
    for (int j = 0; j < rank; j++)
        along[j] = j == axis ? shape[j] : kn_dim_const(g->syms, 1);
    return i ? kn_build_reshape_to(g, i, along, rank, loc) : NULL;
}

static kn_node *elem(kn_graph *g, kn_op op, kn_node *a, kn_node *b, kn_loc loc)
{
    return kn_build_elem(g, op, (kn_node *[]){a, b}, 2, loc);
}

kn_node *kn_build_triangle(kn_graph *g, kn_node *x, int64_t k, bool upper, kn_loc loc)
{
    if (!x)
        return NULL;
    if (x->rank < 2) {
        kn_fail(KN_SHAPE, "%s of %s: at least two axes", upper ? "triu" : "tril",
                kn_build_shape_text(g, x->shape, x->rank));
        return NULL;
    }
    kn_node *row = kn_build_index_along(g, x->shape, x->rank, x->rank - 2, loc);
    kn_node *col = kn_build_index_along(g, x->shape, x->rank, x->rank - 1, loc);
    kn_node *edge = elem(g, KN_OP_ADD, row, kn_build_int(g, k, loc), loc);
    kn_node *kept = elem(g, upper ? KN_OP_GE : KN_OP_LE, col, edge, loc);
    kn_node *zero = kn_build_const(g, (kn_scalar){.dtype = x->dtype}, loc);
    return kn_build_elem(g, KN_OP_WHERE, (kn_node *[]){kept, x, zero}, 3, loc);
}

/* The first index at which x is its extreme, or NaN: the smallest of the indices where it is. */
kn_node *kn_build_arg(kn_graph *g, kn_op op, kn_node *x, const int *axis, bool keepdims, kn_loc loc)
{
    uint32_t mask;
    if (!x ||
        !kn_build_axes(g, op == KN_OP_MIN ? "argmin" : "argmax", x, axis, axis ? 1 : -1, &mask))
        return NULL;
    kn_reduction all = {.axes = axis, .naxes = axis ? 1 : -1, .keepdims = true}, r = all;
    r.keepdims = keepdims;
    kn_dim count = kn_dim_const(g->syms, 1), shape[KN_MAX_RANK];
    for (int j = 0; j < x->rank; j++) {
        shape[j] = mask >> j & 1 ? x->shape[j] : kn_dim_const(g->syms, 1);
        count = kn_dim_mul(g->syms, count, shape[j]);
    }
    kn_node *i = kn_build_iota(g, count, loc);
    if (!i)
        return NULL;
    i = kn_build_reshape_to(g, i, shape, x->rank, loc);
    kn_node *extreme = kn_build_reduction(g, op, x, &all, loc);
    kn_node *here = elem(g, KN_OP_EQ, x, extreme, loc);
    if (kn_is_inexact(x->dtype))
        here = elem(g, KN_OP_OR, here, elem(g, KN_OP_NE, x, x, loc), loc);
    kn_node *none = kn_build_const(g, (kn_scalar){.dtype = KN_I64, .i = INT64_MAX}, loc);
    kn_node *at = kn_build_elem(g, KN_OP_WHERE, (kn_node *[]){here, i, none}, 3, loc);
    return at ? kn_build_reduction(g, KN_OP_MIN, at, &r, loc) : NULL;
}

kn_node *kn_build_arange(kn_graph *g, kn_dim start, kn_dim stop, int64_t step, kn_dtype dtype,
                         kn_loc loc)
{
    kn_symbols *s = g->syms;
    if (step == 0) {
        kn_fail(KN_SHAPE, "arange: the step cannot be 0");
        return NULL;
    }
    kn_dim zero = kn_dim_const(s, 0), by = kn_dim_const(s, step < 0 ? -step : step);
    kn_dim length = step > 0 ? kn_dim_sub(s, stop, start) : kn_dim_sub(s, start, stop);
    length = kn_dim_add(s, length, kn_dim_sub(s, by, kn_dim_const(s, 1)));
    kn_node *i = kn_build_iota(g, kn_dim_max(s, kn_dim_floordiv(s, length, by), zero), loc);
    if (step != 1)
        i = elem(g, KN_OP_MUL, i, kn_build_int(g, step, loc), loc);
    if (!kn_dim_equal(s, start, zero))
        i = elem(g, KN_OP_ADD, i, kn_build_extent(g, start, loc), loc);
    return i ? kn_build_cast(g, i, dtype ? dtype : KN_I64, loc) : NULL;
}

kn_node *kn_build_full(kn_graph *g, const kn_dim *shape, int rank, kn_node *value, kn_dtype dtype,
                       kn_loc loc)
{
    if (!value || (dtype && !kn_build_need_fit(g, "full", value, dtype, loc)))
        return NULL;
    return kn_build_broadcast_to(g, kn_build_cast(g, value, dtype ? dtype : value->dtype, loc),
                                 shape, rank, loc);
}
