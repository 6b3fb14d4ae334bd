/* Arrays made of several, or of one several times: each element is read at an index that follows from its own. */
#include "ir/assembly.h"
#include "ir/build_impl.h"

static kn_node *elem(kn_graph *g, kn_op op, kn_node *a, kn_node *b, kn_loc loc)
{
    return kn_build_elem(g, op, (kn_node *[]){a, b}, 2, loc);
}

static kn_node *select(kn_graph *g, kn_node *c, kn_node *a, kn_node *b, kn_loc loc)
{
    return kn_build_elem(g, KN_OP_WHERE, (kn_node *[]){c, a, b}, 3, loc);
}

static kn_node *less(kn_graph *g, kn_node *i, kn_dim n, kn_loc loc)
{
    return elem(g, KN_OP_LT, i, kn_build_extent(g, n, loc), loc);
}

static kn_node *minus(kn_graph *g, kn_node *i, kn_dim n, kn_loc loc)
{
    return elem(g, KN_OP_SUB, i, kn_build_extent(g, n, loc), loc);
}

static kn_node *modulo(kn_graph *g, kn_node *i, kn_dim n, kn_loc loc)
{
    return elem(g, KN_OP_MOD, i, kn_build_extent(g, n, loc), loc);
}

/* False after a failure: sizes may make n, which is `what`, negative. */
static bool not_negative(kn_graph *g, const char *what, kn_dim n)
{
    if (!n || kn_facts_not_negative(&g->facts, g->syms, n))
        return n;
    int64_t known;
    kn_text t = kn_text_new(g->arena);
    kn_dim_print(&t, g->syms, n);
    const char *text = kn_text_str(&t);
    if (kn_dim_is_const(g->syms, n, &known))
        kn_fail(KN_SHAPE, "%s is negative: %s", what, text);
    else
        kn_fail(KN_SHAPE, "%s, %s, can be negative; where it is not, say so before: assert %s >= 0",
                what, text, text);
    return false;
}

/* x with axis `axis` of size n, read at `index` along it. */
static kn_node *along(kn_graph *g, kn_node *x, int axis, kn_node *index, kn_dim n, kn_loc loc)
{
    kn_node *indices[KN_MAX_RANK] = {0};
    kn_dim shape[KN_MAX_RANK];
    if (!x || !index || !n)
        return NULL;
    for (int j = 0; j < x->rank; j++)
        shape[j] = j == axis ? n : x->shape[j];
    indices[axis] = index;
    return kn_build_taken(g, x, indices, shape, false, loc);
}

/* ---- of several ---- */

/* In the type that all of them have together; weak ones are typed. */
static bool common_type(kn_graph *g, kn_node *const *x, int n, kn_node **out, kn_loc loc)
{
    kn_dtype t = KN_NO_DTYPE;
    for (int i = 0; i < n; i++) {
        if (!x[i])
            return false;
        t = t ? kn_promote(t, x[i]->dtype) : x[i]->dtype;
    }
    for (int i = 0; i < n; i++)
        if (!(out[i] = kn_build_cast(g, x[i], t, loc)))
            return false;
    return true;
}

/* The axis of x among `rank`; -1 after a failure. */
static int axis_of(const char *what, int axis, int rank)
{
    int at = axis < 0 ? axis + rank : axis;
    if (at >= 0 && at < rank)
        return at;
    kn_fail(KN_SHAPE, "%s: axis %d is out of bounds for %d dimension%s", what, axis, rank,
            rank == 1 ? "" : "s");
    return -1;
}

/* Axes that are not `axis` are equal. */
static bool same_but(kn_graph *g, const char *what, const kn_node *a, const kn_node *b, int axis,
                     kn_loc loc)
{
    bool fits = a->rank == b->rank;
    for (int j = 0; fits && j < a->rank; j++) {
        if (j == axis || kn_dim_equal(g->syms, a->shape[j], b->shape[j]))
            continue;
        fits = kn_dim_unify(g->syms, a->shape[j], b->shape[j]) == KN_UNIFIED;
        if (fits)
            kn_build_need(g, KN_FACT_EQUAL, a->shape[j], b->shape[j], what, loc);
    }
    if (!fits)
        kn_fail(KN_SHAPE, "%s of %s and %s: %s", what, kn_build_shape_text(g, a->shape, a->rank),
                kn_build_shape_text(g, b->shape, b->rank),
                a->rank != b->rank ? "their numbers of dimensions differ"
                : axis < 0         ? "their shapes differ"
                                   : "they differ in another axis than the one joined along");
    return fits;
}

/* `made` is of n arrays, one behind the other: x[i] is at start[i] along the axis. */
static void note_joined(kn_graph *g, const kn_node *made, kn_node *const *x, int n, int axis,
                        const kn_dim *start)
{
    kn_piece *pieces = KN_NEW_ARRAY(g->arena, kn_piece, n);
    for (int i = 0; i < n; i++) {
        pieces[i].node = x[i] ? x[i]->id : -1;
        for (int j = 0; made && x[i] && j < made->rank; j++) {
            pieces[i].at.start[j] = j == axis ? start[i] : kn_dim_const(g->syms, 0);
            pieces[i].at.size[j] = j == axis ? x[i]->shape[j] : made->shape[j];
            pieces[i].at.step[j] = 1;
        }
    }
    kn_note_assembly(g, made, pieces, n, NULL);
}

kn_node *kn_build_concatenate(kn_graph *g, kn_node *const *given, int n, int axis, kn_loc loc)
{
    kn_node **x = KN_NEW_ARRAY(g->arena, kn_node *, n + 1);
    kn_dim *start = KN_NEW_ARRAY(g->arena, kn_dim, n + 1), shape[KN_MAX_RANK];
    if (n == 0) {
        kn_fail(KN_SHAPE, "concatenate: at least one array is needed");
        return NULL;
    }
    if (!common_type(g, given, n, x, loc))
        return NULL;
    if (x[0]->rank == 0) {
        kn_fail(KN_SHAPE, "concatenate: a 0-d array has no axis to join along");
        return NULL;
    }
    if ((axis = axis_of("concatenate", axis, x[0]->rank)) < 0)
        return NULL;
    start[0] = kn_dim_const(g->syms, 0);
    for (int i = 0; i < n; i++) {
        if (!same_but(g, "concatenate", x[0], x[i], axis, loc))
            return NULL;
        start[i + 1] = kn_dim_add(g->syms, start[i], x[i]->shape[axis]);
        if (!start[i + 1])
            return NULL;
    }
    for (int j = 0; j < x[0]->rank; j++)
        shape[j] = j == axis ? start[n] : x[0]->shape[j];
    kn_node *at = kn_build_index_along(g, shape, x[0]->rank, axis, loc), *made = NULL;
    for (int i = n - 1; i >= 0; i--) {
        kn_dim size = x[i]->shape[axis];
        kn_node *index = kn_build_clamp(g, minus(g, at, start[i], loc), size, loc);
        kn_node *part = along(g, x[i], axis, index, start[n], loc);
        made = i == n - 1 ? part : select(g, less(g, at, start[i + 1], loc), part, made, loc);
    }
    note_joined(g, made, x, n, axis, start);
    return made;
}

kn_node *kn_build_stack(kn_graph *g, kn_node *const *given, int n, int axis, kn_loc loc)
{
    kn_node **x = KN_NEW_ARRAY(g->arena, kn_node *, n + 1), *made = NULL;
    kn_dim *start = KN_NEW_ARRAY(g->arena, kn_dim, n + 1), shape[KN_MAX_RANK];
    if (n == 0) {
        kn_fail(KN_SHAPE, "stack: at least one array is needed");
        return NULL;
    }
    if (!common_type(g, given, n, x, loc))
        return NULL;
    int rank = x[0]->rank + 1;
    if (rank > KN_MAX_RANK) {
        kn_fail(KN_SHAPE, "stack: the result has more than %d axes", KN_MAX_RANK);
        return NULL;
    }
    if ((axis = axis_of("stack", axis, rank)) < 0)
        return NULL;
    for (int i = 0; i < rank; i++)
        shape[i] = i == axis ? kn_dim_const(g->syms, n) : x[0]->shape[i - (i > axis)];
    kn_node *at = kn_build_index_along(g, shape, rank, axis, loc);
    for (int i = n - 1; i >= 0; i--) {
        if (!same_but(g, "stack", x[0], x[i], -1, loc))
            return NULL;
        kn_node *part = kn_build_expand_dims(g, x[i], &axis, 1, loc);
        start[i] = kn_dim_const(g->syms, i);
        x[i] = part;
        kn_node *before = elem(g, KN_OP_LT, at, kn_build_int(g, i + 1, loc), loc);
        made = i == n - 1 ? part : select(g, before, part, made, loc);
    }
    made = kn_build_broadcast_to(g, made, shape, rank, loc);
    note_joined(g, made, x, n, axis, start);
    return made;
}

/* ---- of one ---- */

/* Where element i of the padded axis is in the axis of size n, i counted from its first element. */
static kn_node *reflected(kn_graph *g, kn_node *i, kn_dim n, kn_pad_mode mode, kn_loc loc)
{
    kn_symbols *s = g->syms;
    if (mode == KN_PAD_WRAP)
        return modulo(g, i, n, loc);
    if (mode != KN_PAD_REFLECT && mode != KN_PAD_SYMMETRIC)
        return i;
    kn_dim one = kn_dim_const(s, 1), last = mode == KN_PAD_REFLECT ? kn_dim_sub(s, n, one) : n;
    kn_dim period = kn_dim_mul(s, kn_dim_const(s, 2), last);
    kn_node *t = modulo(g, i, period, loc), *end = kn_build_extent(g, period, loc);
    if (mode == KN_PAD_SYMMETRIC)
        end = elem(g, KN_OP_SUB, end, kn_build_int(g, 1, loc), loc);
    return elem(g, KN_OP_MINIMUM, t, elem(g, KN_OP_SUB, end, t, loc), loc);
}

/* Elements outside of an array, as far as all of them have one value. */
typedef struct outside {
    kn_node *inside; /* a mask of all others; NULL: there is no value yet */
    kn_node *value;
    bool several; /* values, of which this is the last */
} outside;

/* `made`, and the value outside. */
static kn_node *put_outside(kn_graph *g, kn_node *made, const outside *o, kn_loc loc)
{
    if (!o->inside)
        return made;
    return select(g, o->inside, made, kn_build_cast(g, o->value, made->dtype, loc), loc);
}

/* Where not `inside`, the result is `value`, whatever it was there: sides that follow each other with one value are one
 * selection. */
static kn_node *surround(kn_graph *g, kn_node *made, outside *o, kn_node *inside, kn_node *value,
                         kn_loc loc)
{
    if (o->inside && o->value == value) {
        o->inside = elem(g, KN_OP_AND, o->inside, inside, loc);
        return made;
    }
    made = put_outside(g, made, o, loc);
    *o = (outside){inside, value, o->inside != NULL};
    return made;
}

/* `made` is x with `before` in front, and one value around it. */
static void note_padded(kn_graph *g, const kn_node *made, const kn_node *x,
                        const kn_padding *before, const kn_node *value)
{
    kn_piece piece = {.node = x->id};
    for (int j = 0; j < x->rank; j++) {
        piece.at.start[j] = before->width[j];
        piece.at.size[j] = x->shape[j];
        piece.at.step[j] = 1;
    }
    kn_note_assembly(g, made, &piece, 1, value);
}

kn_node *kn_build_pad(kn_graph *g, kn_node *x, const kn_padding *before, const kn_padding *after,
                      kn_pad_mode mode, kn_loc loc)
{
    kn_symbols *s = g->syms;
    kn_dim shape[KN_MAX_RANK];
    kn_node *at[KN_MAX_RANK], *indices[KN_MAX_RANK] = {0};
    outside o = {0};
    if (!x)
        return NULL;
    for (int j = 0; j < x->rank; j++) {
        kn_dim front = before->width[j], behind = after->width[j];
        if (!not_negative(g, "pad: a width", front) || !not_negative(g, "pad: a width", behind))
            return NULL;
        shape[j] = kn_dim_add(s, kn_dim_add(s, front, x->shape[j]), behind);
        if (!shape[j])
            return NULL;
    }
    for (int j = 0; j < x->rank; j++) {
        if (kn_dim_equal(s, shape[j], x->shape[j]))
            continue;
        at[j] = minus(g, kn_build_index_along(g, shape, x->rank, j, loc), before->width[j], loc);
        indices[j] =
            kn_build_clamp(g, reflected(g, at[j], x->shape[j], mode, loc), x->shape[j], loc);
    }
    kn_node *made = kn_build_taken(g, x, indices, shape, mode != KN_PAD_CONSTANT, loc);
    for (int j = 0; j < x->rank && mode == KN_PAD_CONSTANT; j++) {
        if (!indices[j])
            continue;
        kn_node *from = elem(g, KN_OP_GE, at[j], kn_build_int(g, 0, loc), loc);
        made = surround(g, made, &o, from, before->value[j], loc);
        made = surround(g, made, &o, less(g, at[j], x->shape[j], loc), after->value[j], loc);
    }
    made = put_outside(g, made, &o, loc);
    if (made && o.inside && !o.several)
        note_padded(g, made, x, before, kn_build_cast(g, o.value, made->dtype, loc));
    return made;
}

/* x as one axis, where no axis is given. */
static kn_node *flat(kn_graph *g, kn_node *x, kn_loc loc)
{
    kn_dim count = kn_node_count(g, x);
    return count ? kn_build_reshape(g, x, &count, 1, loc) : NULL;
}

kn_node *kn_build_repeat(kn_graph *g, kn_node *x, kn_dim n, const int *given, kn_loc loc)
{
    if (!x || !n || (!given && !(x = flat(g, x, loc))))
        return NULL;
    int axis = given ? axis_of("repeat", *given, x->rank) : 0;
    if (axis < 0)
        return NULL;
    if (!not_negative(g, "repeat: the number of repetitions", n))
        return NULL;
    kn_dim shape[KN_MAX_RANK];
    for (int j = 0; j < x->rank; j++)
        shape[j] = j == axis ? kn_dim_mul(g->syms, x->shape[j], n) : x->shape[j];
    if (!shape[axis])
        return NULL;
    kn_node *i = kn_build_index_along(g, shape, x->rank, axis, loc);
    i = elem(g, KN_OP_FLOORDIV, i, kn_build_cast(g, kn_build_extent(g, n, loc), KN_I64, loc), loc);
    return along(g, x, axis, i, shape[axis], loc);
}

kn_node *kn_build_tile(kn_graph *g, kn_node *x, const kn_dim *n, int rank, kn_loc loc)
{
    kn_node *indices[KN_MAX_RANK] = {0};
    kn_dim shape[KN_MAX_RANK];
    if (!x)
        return NULL;
    int all = rank > x->rank ? rank : x->rank;
    x = kn_build_pad_rank(g, x, all, loc);
    for (int j = 0; j < all; j++) {
        kn_dim times = j < all - rank ? kn_dim_const(g->syms, 1) : n[j - (all - rank)];
        if (!not_negative(g, "tile: the number of repetitions", times))
            return NULL;
        shape[j] = kn_dim_mul(g->syms, x->shape[j], times);
        if (!shape[j])
            return NULL;
        if (!kn_dim_equal(g->syms, shape[j], x->shape[j]))
            indices[j] = modulo(g, kn_build_index_along(g, shape, all, j, loc), x->shape[j], loc);
    }
    return kn_build_taken(g, x, indices, shape, false, loc);
}

static kn_node *rolled(kn_graph *g, kn_node *x, int axis, int64_t shift, kn_loc loc)
{
    kn_node *i = kn_build_index_along(g, x->shape, x->rank, axis, loc);
    kn_node *by = kn_build_const(g, (kn_scalar){.dtype = KN_I64, .i = shift}, loc);
    return along(g, x, axis, modulo(g, elem(g, KN_OP_SUB, i, by, loc), x->shape[axis], loc),
                 x->shape[axis], loc);
}

kn_node *kn_build_roll(kn_graph *g, kn_node *x, const int64_t *shift, int nshift, const int *axes,
                       int naxes, kn_loc loc)
{
    if (!x)
        return NULL;
    if (naxes < 0) { /* of all elements in their order */
        int64_t sum = 0;
        kn_node *made = flat(g, x, loc);
        for (int i = 0; i < nshift; i++)
            sum += shift[i];
        made = made ? rolled(g, made, 0, sum, loc) : NULL;
        return made ? kn_build_reshape_to(g, made, x->shape, x->rank, loc) : NULL;
    }
    if (nshift != naxes && nshift != 1 && naxes != 1) {
        kn_fail(KN_SHAPE, "roll: %d shifts for %d axes", nshift, naxes);
        return NULL;
    }
    for (int i = 0; x && i < (nshift > naxes ? nshift : naxes); i++) {
        int axis = axis_of("roll", axes[naxes == 1 ? 0 : i], x->rank);
        x = axis < 0 ? NULL : rolled(g, x, axis, shift[nshift == 1 ? 0 : i], loc);
    }
    return x;
}
