/* Attributes and indexing. */
#include <string.h>

#include "frontend/parse/parser.h"

/* ---- attributes ---- */

/* What shows the memory of v's array shows what is written to it too. */
static void share_memory(kn_object *out, const kn_object *v)
{
    out->storage = v->storage;
    out->readonly = v->readonly;
    out->uncertain = v->uncertain;
}

static kn_object shape_value(kn_parser *p, const kn_node *x, kn_pos pos)
{
    kn_object *items = KN_NEW_ARRAY(p->arena, kn_object, x->rank);
    for (int i = 0; i < x->rank; i++)
        items[i] = (kn_object){.kind = KN_OBJECT_DIM, .pos = pos, .dim = x->shape[i]};
    return (kn_object){.kind = KN_OBJECT_TUPLE, .pos = pos, .items = items, .nitems = x->rank};
}

/* Of an array; methods are its functions. */
static bool array_attribute(kn_parser *p, const char *name, kn_pos pos, kn_object *v)
{
    kn_node *x = v->node;
    kn_object out = {.pos = v->pos};
    if (strcmp(name, "shape") == 0) {
        out = shape_value(p, x, v->pos);
    } else if (strcmp(name, "ndim") == 0) {
        out = kn_node_value(kn_build_int(p->g, x->rank, kn_loc_of(pos)), v->pos);
    } else if (strcmp(name, "size") == 0) {
        out.kind = KN_OBJECT_DIM;
        out.dim = kn_node_count(p->g, x);
        if (!out.dim)
            return kn_pwrap(p, pos);
    } else if (strcmp(name, "dtype") == 0) {
        out.kind = KN_OBJECT_DTYPE;
        out.dtype = x->dtype;
    } else if (strcmp(name, "T") == 0) {
        out = kn_node_value(kn_build_transpose(p->g, x, NULL, 0, kn_loc_of(pos)), v->pos);
        share_memory(&out, v);
        if (!out.node)
            return kn_pwrap(p, pos);
    } else {
        out = (kn_object){.kind = KN_OBJECT_FUNCTION, .pos = pos, .node = x};
        share_memory(&out, v);
        if (!kn_callee_find(name, &out.fn) || !out.fn.method)
            return kn_attribute_unknown(p, name, pos);
    }
    *v = out;
    return true;
}

bool kn_attribute(kn_parser *p, kn_object *v)
{
    kn_advance(p); /* the dot */
    if (!kn_at(p, KN_TOK_NAME))
        return kn_pexpected(p, "a name after '.'");
    const char *name = kn_tok_text(p, &p->tok);
    kn_pos pos = p->tok.pos;
    kn_advance(p);
    if (v->kind == KN_OBJECT_NUMPY && v->text) { /* np.linalg has one */
        if (strcmp(name, "norm") != 0)
            return kn_perror(p, pos, KN_SYNTAX, "np.linalg has only norm here, not '%s'", name);
        *v = (kn_object){.kind = KN_OBJECT_FUNCTION, .pos = pos};
        return kn_callee_find(name, &v->fn);
    }
    if (v->kind == KN_OBJECT_NUMPY)
        return kn_numpy_value(p, name, pos, v);
    bool part = strcmp(name, "real") == 0 || strcmp(name, "imag") == 0;
    if (part && v->kind == KN_OBJECT_NODE) {
        kn_object of = *v;
        return kn_part_value(p, *name == 'r' ? KN_OP_REAL : KN_OP_IMAG, &of, v) || kn_pwrap(p, pos);
    }
    if (v->kind != KN_OBJECT_NODE || v->node->weak)
        return kn_not_missing(p, name, pos) &&
               kn_perror(p, pos, KN_TYPE, "%s has no attribute '%s'", kn_object_text(p, v), name);
    return array_attribute(p, name, pos, v);
}

/* ---- indexing ---- */

typedef struct subscript {
    bool slice;
    bool has_lo, has_hi, has_step;
    kn_object lo, hi, step; /* an index is lo */
    kn_pos pos;
} subscript;

static bool slice_bound(kn_parser *p, bool *has, kn_object *v)
{
    *has = !kn_at(p, ':') && !kn_at(p, ',') && !kn_at(p, ']');
    return !*has || kn_expr(p, v);
}

static bool parse_subscript(kn_parser *p, subscript *s)
{
    *s = (subscript){.pos = p->tok.pos, .has_lo = !kn_at(p, ':')};
    if (s->has_lo && !kn_expr(p, &s->lo))
        return false;
    s->slice = kn_accept(p, ':');
    if (!s->slice)
        return true;
    if (!slice_bound(p, &s->has_hi, &s->hi))
        return false;
    if (kn_accept(p, ':') && !slice_bound(p, &s->has_step, &s->step))
        return false;
    return true;
}

static bool index_tuple(kn_parser *p, kn_object *v, const subscript *s, int n)
{
    int64_t lo = 0, hi = v->nitems;
    if (n != 1 || s->has_step || (s->has_lo && !kn_as_int(p, &s->lo, &lo)) ||
        (s->has_hi && !kn_as_int(p, &s->hi, &hi)))
        return kn_perror(p, s->pos, KN_TYPE,
                         "a tuple's index must be one integer that is known here");
    lo += lo < 0 ? v->nitems : 0;
    hi += hi < 0 ? v->nitems : 0;
    if (!s->slice) {
        if (lo < 0 || lo >= v->nitems)
            return kn_perror(p, s->pos, KN_SHAPE, "index out of range of a tuple of %d", v->nitems);
        kn_pos start = v->pos;
        *v = v->items[lo];
        v->pos = start;
        v->name = NULL;
        return true;
    }
    lo = lo < 0 ? 0 : lo > v->nitems ? v->nitems : lo;
    hi = hi < lo ? lo : hi > v->nitems ? v->nitems : hi;
    v->items = lo > 0 ? v->items + lo : v->items; /* of () there are none, not even an address */
    v->nitems = (int)(hi - lo);
    v->name = NULL;
    return true;
}

/* A bound or an index: a Python integer made of numbers and sizes, or None. `expected` says what may stand there. */
static bool bound(kn_parser *p, bool given, const kn_object *v, const char *expected, kn_dim *out)
{
    *out = NULL;
    if (!given || v->kind == KN_OBJECT_NONE)
        return true;
    *out = kn_as_dim(p, v);
    return *out ||
           kn_perror(p, v->pos, KN_TYPE, "expected %s, found %s", expected, kn_object_text(p, v));
}

static bool index_item(kn_parser *p, const subscript *s, kn_index_item *item)
{
    static const char in_slice[] = "an integer made of numbers and sizes",
                      alone[] = "an integer or an array of integers";
    int64_t step = 1;
    *item = (kn_index_item){.step = 1};
    if (s->slice) {
        item->kind = KN_INDEX_SLICE;
        if (s->has_step && s->step.kind != KN_OBJECT_NONE && !kn_as_int(p, &s->step, &step))
            return kn_perror(p, s->step.pos, KN_TYPE,
                             "the step of a slice must be an integer that is known here, found %s",
                             kn_object_text(p, &s->step));
        item->step = step;
        return bound(p, s->has_lo, &s->lo, in_slice, &item->lo) &&
               bound(p, s->has_hi, &s->hi, in_slice, &item->hi);
    }
    item->kind = s->lo.kind == KN_OBJECT_NONE       ? KN_INDEX_NEWAXIS
                 : s->lo.kind == KN_OBJECT_ELLIPSIS ? KN_INDEX_ELLIPSIS
                                                    : KN_INDEX_AT;
    return item->kind != KN_INDEX_AT || bound(p, true, &s->lo, alone, &item->lo);
}

/* An integer that is computed, or an argument, alone or an array of them; or a mask. */
static bool is_computed(const subscript *s)
{
    return !s->slice && s->lo.kind == KN_OBJECT_NODE && !s->lo.node->weak &&
           !kn_is_inexact(s->lo.node->dtype);
}

/* The items of an index. One may be an array of indices, which counts as a full slice here. */
typedef struct index_list {
    kn_index_item *item;
    int count;
    int array;           /* which; -1: none */
    const kn_object *by; /* it */
} index_list;

/* The axes of x[...] in front of what the array gives. */
static int axes_before(const kn_node *x, const index_list *at)
{
    int axes = 0, walked = 0;
    for (int i = 0; i < at->count; i++)
        walked += at->item[i].kind == KN_INDEX_AT || at->item[i].kind == KN_INDEX_SLICE;
    for (int i = 0; i < at->array; i++)
        axes += at->item[i].kind == KN_INDEX_ELLIPSIS ? x->rank - walked
                                                      : at->item[i].kind != KN_INDEX_AT;
    return axes;
}

/* Are the numbers and the array in an index not all side by side? Then NumPy puts the array's axes first. */
static bool is_apart(const index_list *at)
{
    int first = at->array, last = at->array;
    for (int i = 0; i < at->count; i++)
        if (at->item[i].kind == KN_INDEX_AT) {
            first = i < first ? i : first;
            last = i > last ? i : last;
        }
    for (int i = first; i <= last; i++)
        if (i != at->array && at->item[i].kind != KN_INDEX_AT)
            return true;
    return false;
}

static kn_node *axes_first(kn_graph *g, kn_node *x, int axis, int n, kn_loc loc)
{
    int perm[KN_MAX_RANK];
    for (int i = 0; i < x->rank; i++)
        perm[i] = i < n ? axis + i : i < axis + n ? i - n : i;
    return kn_build_transpose(g, x, perm, x->rank, loc);
}

/* Is v an array of rank 0? Others of that rank are numbers. */
static bool is_array(const kn_parser *p, const kn_object *v)
{
    return v->node->rank ||
           (v->storage > 0 && !v->scalar && p->storages.data[v->storage - 1].param);
}

/* By an array of indices: a copy. A number that is computed gives a view in NumPy, which here nobody can write through. */
static bool index_by(kn_parser *p, kn_pos bracket, kn_object *v, const index_list *at)
{
    kn_loc loc = kn_loc_of(bracket);
    kn_node *x = kn_build_index(p->g, v->node, at->item, at->count, loc), *indices = at->by->node;
    int axis = axes_before(v->node, at);
    kn_node *made = kn_build_take(p->g, x, indices, &axis, KN_TAKE_RAISE, loc);
    if (made && is_apart(at))
        made = axes_first(p->g, made, axis, indices->rank, loc);
    kn_object out = kn_node_value(made, v->pos);
    out.scalar = made && made->rank == 0;
    out.storage = is_array(p, at->by) ? KN_STORAGE_NEW : kn_view_storage(p, v->storage);
    out.readonly = out.uncertain = out.storage != KN_STORAGE_NEW;
    *v = out;
    return made || kn_pwrap(p, bracket);
}

static bool index_array(kn_parser *p, kn_pos bracket, kn_object *v, const subscript *s, int n)
{
    kn_index_item *items = KN_NEW_ARRAY(p->arena, kn_index_item, n);
    index_list at = {.item = items, .count = n, .array = -1};
    for (int i = 0; i < n; i++) {
        if (is_computed(&s[i]) && at.array >= 0)
            return kn_perror(p, s[i].pos, KN_TYPE, "an index has one array of indices at most");
        if (is_computed(&s[i]) && s[i].lo.node->dtype == KN_BOOL)
            return kn_perror(
                p, s[i].pos, KN_TYPE,
                "how many elements a mask selects is not known here; write where(c, x, y)");
        if (is_computed(&s[i])) {
            items[i] = (kn_index_item){.kind = KN_INDEX_SLICE, .step = 1};
            at.array = i;
            at.by = &s[i].lo;
        } else if (!index_item(p, &s[i], &items[i])) {
            return false;
        }
    }
    if (at.array >= 0)
        return index_by(p, bracket, v, &at);
    kn_object out =
        kn_node_value(kn_build_index(p->g, v->node, items, n, kn_loc_of(bracket)), v->pos);
    out.storage = kn_view_storage(p, v->storage);
    out.readonly = v->readonly;
    out.uncertain = v->uncertain;
    out.scalar = out.node && out.node->rank == 0;
    for (int i = 0; i < n; i++)
        out.scalar = out.scalar && items[i].kind != KN_INDEX_ELLIPSIS;
    *v = out;
    return v->node || kn_pwrap(p, bracket);
}

struct kn_subscripts {
    kn_pos bracket;
    KN_VEC(subscript) list;
};

const kn_subscripts *kn_subscripts_of(kn_parser *p)
{
    kn_subscripts *s = KN_NEW(p->arena, kn_subscripts);
    s->bracket = p->tok.pos;
    kn_advance(p);
    do {
        if (s->list.len && kn_at(p, ']'))
            break;
        subscript *one = KN_NEW(p->arena, subscript);
        if (!parse_subscript(p, one))
            return NULL;
        kn_push(p->arena, &s->list, *one);
    } while (kn_accept(p, ','));
    return kn_expect(p, ']', "',' or ']' in an index") ? s : NULL;
}

bool kn_index(kn_parser *p, kn_object *v, const kn_subscripts *s)
{
    if (v->kind == KN_OBJECT_TUPLE)
        return index_tuple(p, v, s->list.data, s->list.len);
    if (v->kind != KN_OBJECT_NODE || v->node->weak)
        return kn_perror(p, s->bracket, KN_TYPE, "%s cannot be indexed", kn_object_text(p, v));
    return index_array(p, s->bracket, v, s->list.data, s->list.len);
}
