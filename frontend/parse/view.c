/* Calls that only change how elements are indexed. */
#include <string.h>

#include "frontend/parse/calls.h"

bool kn_call_shape(kn_call_site *c, const kn_object *v, bool hole, kn_dim *shape, int *rank)
{
    kn_parser *p = c->p;
    const kn_object *items = v->kind == KN_OBJECT_TUPLE ? v->items : v;
    *rank = v->kind == KN_OBJECT_TUPLE ? v->nitems : 1;
    if (*rank > KN_MAX_RANK)
        return kn_perror(p, v->pos, KN_SHAPE, "%s: a shape has %d dimensions at most", c->fn->name,
                         KN_MAX_RANK);
    for (int i = 0; i < *rank; i++) {
        int64_t known;
        shape[i] = kn_as_dim(p, &items[i]);
        if (!shape[i])
            return kn_perror(p, items[i].pos, KN_TYPE,
                             "%s: expected a size (an integer, a dimension such as N, products and "
                             "sums of them), found %s",
                             c->fn->name, kn_object_text(p, &items[i]));
        if (!kn_dim_is_const(p->g->syms, shape[i], &known) || known >= 0)
            continue;
        if (!hole || known != -1)
            return kn_perror(p, items[i].pos, KN_SHAPE, "%s: the size %lld is negative",
                             c->fn->name, (long long)known);
        shape[i] = NULL;
    }
    return true;
}

/* A method takes its axes or sizes as arguments or as one tuple: puts the tuple there in any
 * case. */
static void gather(kn_call_site *c)
{
    if (!c->method || c->by_position <= 2)
        return;
    int n = c->by_position - 1;
    kn_object *items = KN_NEW_ARRAY(c->p->arena, kn_object, n);
    for (int i = 0; i < n; i++)
        items[i] = c->args.data[i + 1].value;
    c->args.data[1].value = (kn_object){
        .kind = KN_OBJECT_TUPLE, .pos = items[0].pos, .items = items, .nitems = n, .list = true};
    for (int i = c->by_position; i < c->args.len; i++)
        c->args.data[i - n + 1] = c->args.data[i];
    c->args.len -= n - 1;
    c->by_position = 2;
}

bool kn_call_reshape(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"a", "shape"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_dim shape[KN_MAX_RANK];
    kn_node *x;
    int rank;
    gather(c);
    if (!c->method && c->by_position > 2)
        return kn_perror(c->p, c->pos, KN_SYNTAX, "%s takes the shape as one tuple: %s(x, (a, b))",
                         c->fn->name, c->fn->name);
    bool to_shape = c->fn->kind == KN_CALL_BROADCAST;
    if (!kn_call_bind(c, names, 2, 2, 2, slot) || !kn_as_node(c->p, slot[0], &x) ||
        !kn_call_shape(c, slot[1], !to_shape, shape, &rank))
        return false;
    if (to_shape) {
        kn_node *made = kn_build_broadcast_to(c->p->g, x, shape, rank, c->loc);
        bool done = kn_call_done(c, kn_call_typed(c, made), slot[0]->storage, out);
        out->readonly = true;
        return done;
    }
    return kn_call_done(c, kn_call_typed(c, kn_build_reshape(c->p->g, x, shape, rank, c->loc)),
                        slot[0]->storage, out);
}

bool kn_call_ravel(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"a"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_dim shape[1] = {NULL};
    kn_node *x;
    if (!kn_call_bind(c, names, 1, 1, 1, slot) || !kn_as_node(c->p, slot[0], &x))
        return false;
    shape[0] = kn_node_count(c->p->g, x);
    bool copies = strcmp(c->fn->name, "flatten") == 0;
    kn_node *made = shape[0] ? kn_build_reshape(c->p->g, x, shape, 1, c->loc) : NULL;
    if (!kn_call_done(c, kn_call_typed(c, made), copies ? KN_STORAGE_NEW : slot[0]->storage, out))
        return false;
    out->uncertain = !copies;
    return true;
}

bool kn_call_transpose(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"a", "axes"};
    const kn_object *slot[KN_CALL_SLOTS];
    int axes[KN_MAX_RANK], n = 0;
    kn_node *x;
    gather(c);
    if (!kn_call_bind(c, names, 2, 2, 1, slot) || !kn_as_node(c->p, slot[0], &x))
        return false;
    bool given = slot[1] && slot[1]->kind != KN_OBJECT_NONE;
    if (given && !kn_call_axes(c, slot[1], "axes", true, axes, &n))
        return false;
    return kn_call_done(
        c, kn_call_typed(c, kn_build_transpose(c->p->g, x, given ? axes : NULL, n, c->loc)),
        slot[0]->storage, out);
}

static bool normal_axis(kn_call_site *c, const kn_object *v, const kn_node *x, int given, int *out)
{
    *out = given < 0 ? given + x->rank : given;
    return (*out >= 0 && *out < x->rank) ||
           kn_perror(c->p, v->pos, KN_SHAPE, "%s: axis %d is out of bounds for an array of rank %d",
                     c->fn->name, given, x->rank);
}

bool kn_call_swapaxes(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"a", "axis1", "axis2"};
    const kn_object *slot[KN_CALL_SLOTS];
    int perm[KN_MAX_RANK], at[2];
    kn_node *x;
    if (!kn_call_bind(c, names, 3, 3, 3, slot) || !kn_as_node(c->p, slot[0], &x))
        return false;
    for (int i = 0; i < 2; i++)
        if (!kn_call_int(c, slot[i + 1], names[i + 1], &at[i]) ||
            !normal_axis(c, slot[i + 1], x, at[i], &at[i]))
            return false;
    for (int i = 0; i < x->rank; i++)
        perm[i] = i == at[0] ? at[1] : i == at[1] ? at[0] : i;
    return kn_call_done(c, kn_build_transpose(c->p->g, x, perm, x->rank, c->loc), slot[0]->storage,
                        out);
}

bool kn_call_expand(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"a", "axis"};
    const kn_object *slot[KN_CALL_SLOTS];
    int axes[KN_MAX_RANK], n;
    kn_node *x;
    if (!kn_call_bind(c, names, 2, 2, 2, slot) || !kn_as_node(c->p, slot[0], &x) ||
        !kn_call_axes(c, slot[1], "axis", true, axes, &n))
        return false;
    return kn_call_done(c, kn_call_typed(c, kn_build_expand_dims(c->p->g, x, axes, n, c->loc)),
                        slot[0]->storage, out);
}

bool kn_call_squeeze(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"a", "axis"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_parser *p = c->p;
    int axes[KN_MAX_RANK], n = -1, rank = 0;
    bool drop[KN_MAX_RANK] = {false};
    kn_dim shape[KN_MAX_RANK], one = kn_dim_const(p->g->syms, 1);
    int64_t size;
    kn_node *x;
    if (!kn_call_bind(c, names, 2, 2, 1, slot) || !kn_as_node(p, slot[0], &x))
        return false;
    if (slot[1] && slot[1]->kind != KN_OBJECT_NONE &&
        !kn_call_axes(c, slot[1], "axis", false, axes, &n))
        return false;
    for (int i = 0; i < n; i++) {
        int axis;
        if (!normal_axis(c, slot[1], x, axes[i], &axis))
            return false;
        bool known = kn_dim_is_const(p->g->syms, x->shape[axis], &size);
        if (known && size != 1)
            return kn_perror(p, slot[1]->pos, KN_SHAPE, "squeeze: axis %d has size %lld, not 1",
                             axes[i], (long long)size);
        if (drop[axis])
            return kn_perror(p, slot[1]->pos, KN_SHAPE, "squeeze: axis %d is given twice", axes[i]);
        if (!known)
            kn_build_need(p->g, KN_FACT_EQUAL, x->shape[axis], one, "squeeze", c->loc);
        drop[axis] = true;
    }
    for (int i = 0; i < x->rank; i++) {
        if (n < 0 && !kn_dim_is_const(p->g->syms, x->shape[i], &size))
            return kn_perror(p, c->pos, KN_SHAPE,
                             "squeeze without axis= needs sizes that are known here; %s is not",
                             kn_object_text(p, slot[0]));
        if (n < 0 ? size != 1 : !drop[i])
            shape[rank++] = x->shape[i];
    }
    return kn_call_done(c, kn_call_typed(c, kn_build_reshape(p->g, x, shape, rank, c->loc)),
                        slot[0]->storage, out);
}

bool kn_call_moveaxis(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"a", "source", "destination"};
    const kn_object *slot[KN_CALL_SLOTS];
    int from[KN_MAX_RANK], to[KN_MAX_RANK], nfrom, nto, perm[KN_MAX_RANK], next = 0;
    bool moved[KN_MAX_RANK] = {false};
    kn_node *x;
    if (!kn_call_bind(c, names, 3, 3, 3, slot) || !kn_as_node(c->p, slot[0], &x) ||
        !kn_call_axes(c, slot[1], "source", true, from, &nfrom) ||
        !kn_call_axes(c, slot[2], "destination", true, to, &nto))
        return false;
    if (nfrom != nto)
        return kn_perror(c->p, slot[2]->pos, KN_SHAPE, "moveaxis: %d axes are moved to %d places",
                         nfrom, nto);
    for (int i = 0; i < x->rank; i++)
        perm[i] = -1;
    for (int i = 0; i < nfrom; i++) {
        if (!normal_axis(c, slot[1], x, from[i], &from[i]) ||
            !normal_axis(c, slot[2], x, to[i], &to[i]))
            return false;
        if (moved[from[i]] || perm[to[i]] >= 0)
            return kn_perror(c->p, slot[1]->pos, KN_SHAPE, "moveaxis: an axis is given twice");
        moved[from[i]] = true;
        perm[to[i]] = from[i];
    }
    for (int i = 0; i < x->rank; i++) {
        if (perm[i] >= 0)
            continue;
        while (moved[next])
            next++;
        perm[i] = next++;
    }
    return kn_call_done(c, kn_build_transpose(c->p->g, x, perm, x->rank, c->loc), slot[0]->storage,
                        out);
}

bool kn_call_flip(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"m", "axis"};
    const kn_object *slot[KN_CALL_SLOTS];
    int axes[KN_MAX_RANK] = {0}, n = -1;
    bool all = strcmp(c->fn->name, "flip") == 0, columns = strcmp(c->fn->name, "fliplr") == 0;
    kn_node *x;
    if (!kn_call_bind(c, names, all ? 2 : 1, all ? 2 : 1, 1, slot) ||
        !kn_as_node(c->p, slot[0], &x))
        return false;
    if (!all) {
        axes[0] = columns;
        n = 1;
    } else if (slot[1] && slot[1]->kind != KN_OBJECT_NONE &&
               !kn_call_axes(c, slot[1], "axis", false, axes, &n)) {
        return false;
    }
    return kn_call_done(c, kn_build_flip(c->p->g, x, axes, n, c->loc), slot[0]->storage, out);
}

/* diagonal, and trace, which is its sum. */
bool kn_call_diagonal(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"a", "offset", "axis1", "axis2", "dtype"};
    const kn_object *slot[KN_CALL_SLOTS];
    int offset = 0, axis1 = 0, axis2 = 1, last = -1;
    bool sums = c->fn->op == KN_OP_SUM;
    kn_dtype dtype = KN_NO_DTYPE;
    kn_node *x;
    if (!kn_call_bind(c, names, sums ? 5 : 4, 4, 1, slot) || !kn_as_node(c->p, slot[0], &x) ||
        (slot[1] && !kn_call_int(c, slot[1], "offset", &offset)) ||
        (slot[2] && !kn_call_int(c, slot[2], "axis1", &axis1)) ||
        (slot[3] && !kn_call_int(c, slot[3], "axis2", &axis2)) ||
        (sums && slot[4] && !kn_as_dtype(c->p, slot[4], &dtype)))
        return false;
    kn_node *made = kn_build_diagonal(c->p->g, x, offset, axis1, axis2, c->loc);
    if (!sums) {
        bool done = kn_call_done(c, made, slot[0]->storage, out);
        out->readonly = true;
        return done;
    }
    const kn_reduction over = {.axes = &last, .naxes = 1, .dtype = dtype};
    made = kn_build_reduction(c->p->g, KN_OP_SUM, made, &over, c->loc);
    return kn_call_done(c, made, KN_STORAGE_NEW, out);
}

bool kn_call_triangle(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"m", "k"};
    const kn_object *slot[KN_CALL_SLOTS];
    int k = 0;
    kn_node *x;
    if (!kn_call_bind(c, names, 2, 2, 1, slot) || !kn_as_node(c->p, slot[0], &x) ||
        (slot[1] && !kn_call_int(c, slot[1], "k", &k)))
        return false;
    return kn_call_done(c,
                        kn_build_triangle(c->p->g, x, k, strcmp(c->fn->name, "triu") == 0, c->loc),
                        KN_STORAGE_NEW, out);
}
