/* Calls whose results read elements at other places: joined, padded, repeated, taken by index. */
#include <string.h>

#include "frontend/parse/calls.h"

/* The axis of argument `v`: `otherwise` where it was not given, NULL where it is None. */
static bool axis_of(kn_call_site *c, const kn_object *v, int otherwise, int *axis, const int **out)
{
    *axis = otherwise;
    *out = v && v->kind == KN_OBJECT_NONE ? NULL : axis;
    return !v || v->kind == KN_OBJECT_NONE || kn_call_int(c, v, "axis", axis);
}

/* concatenate and stack. */
bool kn_call_join(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"arrays", "axis", "dtype"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_parser *p = c->p;
    kn_node *x[KN_MAX_TUPLE];
    kn_dtype dtype = KN_NO_DTYPE;
    bool stacks = strcmp(c->fn->name, "stack") == 0;
    const int *along;
    int axis;
    if (!kn_call_bind(c, names, 3, 2, 1, slot) || !axis_of(c, slot[1], 0, &axis, &along) ||
        (slot[2] && slot[2]->kind != KN_OBJECT_NONE && !kn_as_dtype(p, slot[2], &dtype)))
        return false;
    if (slot[0]->kind != KN_OBJECT_TUPLE)
        return kn_perror(p, slot[0]->pos, KN_TYPE, "%s: expected a tuple of arrays, found %s",
                         c->fn->name, kn_object_text(p, slot[0]));
    int n = slot[0]->nitems;
    for (int i = 0; i < n; i++) {
        if (!kn_as_node(p, &slot[0]->items[i], &x[i]))
            return false;
        if (!along && !(x[i] = kn_build_reshape(p->g, x[i], (kn_dim[]){NULL}, 1, c->loc)))
            return kn_pwrap(p, slot[0]->items[i].pos);
    }
    if (stacks && !along)
        return kn_perror(p, slot[1]->pos, KN_TYPE, "stack: axis must be an integer");
    kn_node *made = stacks ? kn_build_stack(p->g, x, n, axis, c->loc)
                           : kn_build_concatenate(p->g, x, n, axis, c->loc);
    return kn_call_done(c, made && dtype ? kn_build_cast(p->g, made, dtype, c->loc) : made,
                        KN_STORAGE_NEW, out);
}

static bool size_of(kn_call_site *c, const kn_object *v, const char *what, kn_dim *out)
{
    *out = kn_as_dim(c->p, v);
    return *out || kn_perror(c->p, v->pos, KN_TYPE,
                             "%s: %s must be an integer made of numbers and sizes, found %s",
                             c->fn->name, what, kn_object_text(c->p, v));
}

static bool is_nested(const kn_object *v)
{
    return v->kind == KN_OBJECT_TUPLE && v->nitems && v->items[0].kind == KN_OBJECT_TUPLE;
}

/* The parts of v, where it says something of the front and the back of each axis of an array: v, (v,), (front, back),
 * ((front, back),), or one of these for each axis. `what` they are. */
static bool pairs_of(kn_call_site *c, const kn_object *v, const char *what, int rank,
                     const kn_object **front, const kn_object **back)
{
    bool nested = is_nested(v);
    if (nested && v->nitems != 1 && v->nitems != rank)
        return kn_perror(c->p, v->pos, KN_SHAPE, "pad: %d pairs of %s for %d axes", v->nitems, what,
                         rank);
    for (int j = 0; j < rank; j++) {
        const kn_object *w = nested ? &v->items[v->nitems == 1 ? 0 : j] : v;
        bool pair = w->kind == KN_OBJECT_TUPLE;
        if (pair && w->nitems != 1 && w->nitems != 2)
            return kn_perror(c->p, w->pos, KN_SHAPE, "pad: %s are (before, after)", what);
        front[j] = pair ? &w->items[0] : w;
        back[j] = pair ? &w->items[w->nitems - 1] : w;
    }
    return true;
}

static bool constant_of(kn_call_site *c, const kn_object *v, kn_node **out)
{
    return kn_as_node(c->p, v, out) &&
           ((*out)->rank == 0 || kn_perror(c->p, v->pos, KN_TYPE,
                                           "pad: each of constant_values must be one number, "
                                           "found %s",
                                           kn_object_text(c->p, v)));
}

static bool widths_of(kn_call_site *c, const kn_object *v, int rank, kn_padding *before,
                      kn_padding *after)
{
    const kn_object *front[KN_MAX_RANK], *back[KN_MAX_RANK];
    if (!pairs_of(c, v, "widths", rank, front, back))
        return false;
    for (int j = 0; j < rank; j++)
        if (!size_of(c, front[j], "a width", &before->width[j]) ||
            !size_of(c, back[j], "a width", &after->width[j]))
            return false;
    return true;
}

/* An array as the tuple that NumPy's tolist() gives, where its sizes are known and as few as constants may be: of its
 * elements, or of its rows. Anything else stays what it is. */
static kn_object elements_of(kn_call_site *c, const kn_object *v)
{
    int64_t n;
    if (v->kind != KN_OBJECT_NODE || v->node->rank < 1 || v->node->rank > 2 ||
        !kn_dim_is_const(c->p->g->syms, v->node->shape[0], &n) || n < 1 || n > KN_MAX_RANK)
        return *v;
    kn_object *items = KN_NEW_ARRAY(c->p->arena, kn_object, (int)n);
    for (int i = 0; i < n; i++) {
        const kn_index_item at = {.kind = KN_INDEX_AT, .lo = kn_dim_const(c->p->g->syms, i)};
        const kn_object row =
            kn_node_value(kn_build_index(c->p->g, v->node, &at, 1, c->loc), v->pos);
        if (!row.node)
            return *v;
        items[i] = elements_of(c, &row);
    }
    return (kn_object){.kind = KN_OBJECT_TUPLE, .pos = v->pos, .items = items, .nitems = (int)n};
}

/* constant_values around an array of type t. NumPy casts one value or one pair as an array, but makes Python numbers of
 * a pair for each of several axes, which have to fit. */
static bool constants_of(kn_call_site *c, const kn_object *v, kn_dtype t, int rank,
                         kn_padding *before, kn_padding *after)
{
    const kn_object *front[KN_MAX_RANK], *back[KN_MAX_RANK];
    const kn_object listed = elements_of(c, v);
    bool python = is_nested(&listed) && listed.nitems > 1;
    if (!pairs_of(c, &listed, "constant_values", rank, front, back))
        return false;
    for (int i = 0; i < 2 * rank; i++) {
        const kn_object *from = i % 2 ? back[i / 2] : front[i / 2];
        kn_node **to = i % 2 ? &after->value[i / 2] : &before->value[i / 2];
        if (!constant_of(c, from, to))
            return false;
        if (python && !kn_build_need_number(c->p->g, "pad", *to, t, c->loc))
            return kn_pwrap(c->p, from->pos);
    }
    return true;
}

bool kn_call_pad(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"array", "pad_width", "mode", "constant_values"};
    static const char *const modes[] = {"constant", "edge", "wrap", "reflect", "symmetric"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_parser *p = c->p;
    kn_padding before, after;
    kn_node *x, *zero = kn_build_int(p->g, 0, c->loc);
    int mode = KN_PAD_CONSTANT;
    if (!kn_call_bind(c, names, 4, 3, 2, slot) || !kn_as_node(p, slot[0], &x) ||
        !widths_of(c, slot[1], x->rank, &before, &after))
        return false;
    for (int j = 0; j < x->rank; j++)
        before.value[j] = after.value[j] = zero;
    if (slot[3] && !constants_of(c, slot[3], x->dtype, x->rank, &before, &after))
        return false;
    if (slot[2]) {
        for (mode = 0; mode <= KN_PAD_SYMMETRIC; mode++)
            if (slot[2]->kind == KN_OBJECT_STRING && strcmp(slot[2]->text, modes[mode]) == 0)
                break;
        if (mode > KN_PAD_SYMMETRIC)
            return kn_perror(p, slot[2]->pos, KN_TYPE,
                             "pad: mode is 'constant', 'edge', 'wrap', 'reflect' or 'symmetric'");
    }
    if (slot[3] && mode != KN_PAD_CONSTANT)
        return kn_perror(p, slot[3]->pos, KN_TYPE, "pad: constant_values are of mode='constant'");
    return kn_call_done(
        c, kn_build_pad(p->g, kn_call_typed(c, x), &before, &after, (kn_pad_mode)mode, c->loc),
        KN_STORAGE_NEW, out);
}

bool kn_call_take(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"a", "indices", "axis", "mode"};
    static const char *const modes[] = {"raise", "wrap", "clip"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_parser *p = c->p;
    kn_node *x, *indices;
    const int *along;
    int axis, mode = KN_TAKE_RAISE;
    if (!kn_call_bind(c, names, 4, 3, 2, slot) || !kn_as_node(p, slot[0], &x) ||
        !kn_as_node(p, slot[1], &indices) || !axis_of(c, slot[2], 0, &axis, &along))
        return false;
    if (slot[3]) {
        for (mode = 0; mode <= KN_TAKE_CLIP; mode++)
            if (slot[3]->kind == KN_OBJECT_STRING && strcmp(slot[3]->text, modes[mode]) == 0)
                break;
        if (mode > KN_TAKE_CLIP)
            return kn_perror(p, slot[3]->pos, KN_TYPE, "take: mode is 'raise', 'wrap' or 'clip'");
    }
    return kn_call_done(c,
                        kn_build_take(p->g, kn_call_typed(c, x), indices, slot[2] ? along : NULL,
                                      (kn_take_mode)mode, c->loc),
                        KN_STORAGE_NEW, out);
}

bool kn_call_take_along(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"arr", "indices", "axis"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_node *x, *indices;
    const int *along;
    int axis;
    if (!kn_call_bind(c, names, 3, 3, 2, slot) || !kn_as_node(c->p, slot[0], &x) ||
        !kn_as_node(c->p, slot[1], &indices) || !axis_of(c, slot[2], -1, &axis, &along))
        return false;
    return kn_call_done(c,
                        kn_build_take_along(c->p->g, kn_call_typed(c, x), indices, along, c->loc),
                        KN_STORAGE_NEW, out);
}

bool kn_call_at_add(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"x", "i", "v", "axis"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_node *x, *indices, *v;
    const int *along;
    int axis;
    if (!kn_call_bind(c, names, 4, 3, 3, slot) || !kn_as_node(c->p, slot[0], &x) ||
        !kn_as_node(c->p, slot[1], &indices) || !kn_as_node(c->p, slot[2], &v) ||
        !axis_of(c, slot[3], 0, &axis, &along))
        return false;
    return kn_call_done(
        c, kn_build_at_add(c->p->g, kn_call_typed(c, x), indices, v, along ? axis : 0, c->loc),
        KN_STORAGE_NEW, out);
}

bool kn_call_repeat(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"a", "repeats", "axis"};
    const kn_object *slot[KN_CALL_SLOTS];
    const int *along;
    kn_node *x;
    kn_dim n;
    int axis;
    if (!kn_call_bind(c, names, 3, 3, 2, slot) || !kn_as_node(c->p, slot[0], &x) ||
        !size_of(c, slot[1], "repeats", &n) || !axis_of(c, slot[2], 0, &axis, &along))
        return false;
    return kn_call_done(
        c, kn_build_repeat(c->p->g, kn_call_typed(c, x), n, slot[2] ? along : NULL, c->loc),
        KN_STORAGE_NEW, out);
}

bool kn_call_tile(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"A", "reps"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_dim reps[KN_MAX_RANK];
    kn_node *x;
    int rank;
    if (!kn_call_bind(c, names, 2, 2, 2, slot) || !kn_as_node(c->p, slot[0], &x) ||
        !kn_call_shape(c, slot[1], false, reps, &rank))
        return false;
    return kn_call_done(c, kn_build_tile(c->p->g, kn_call_typed(c, x), reps, rank, c->loc),
                        KN_STORAGE_NEW, out);
}

bool kn_call_roll(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"a", "shift", "axis"};
    const kn_object *slot[KN_CALL_SLOTS];
    int axes[KN_MAX_RANK], by[KN_MAX_RANK], naxes = -1, n;
    int64_t shift[KN_MAX_RANK];
    kn_node *x;
    if (!kn_call_bind(c, names, 3, 3, 2, slot) || !kn_as_node(c->p, slot[0], &x) ||
        !kn_call_axes(c, slot[1], "shift", true, by, &n) ||
        (slot[2] && slot[2]->kind != KN_OBJECT_NONE &&
         !kn_call_axes(c, slot[2], "axis", true, axes, &naxes)))
        return false;
    for (int i = 0; i < n; i++)
        shift[i] = by[i];
    return kn_call_done(c,
                        kn_build_roll(c->p->g, kn_call_typed(c, x), shift, n, axes, naxes, c->loc),
                        KN_STORAGE_NEW, out);
}
