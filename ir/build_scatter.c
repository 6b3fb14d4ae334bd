/* Sums by index: each element of the result is the sum of the values whose index is its own. A kernel goes over those
 * alone, in their order (codegen/kir/scatter_sum.h). */
#include "ir/build_impl.h"

static kn_node *elem(kn_graph *g, kn_op op, kn_node *a, kn_node *b, kn_loc loc)
{
    return kn_build_elem(g, op, (kn_node *[]){a, b}, 2, loc);
}

/* The axes of what is compared: the result's in front, those that are summed behind. */
typedef struct space {
    int rank, nsummed;
    kn_dim shape[KN_MAX_RANK];
    int from[KN_MAX_RANK]; /* the axis of v; -1: 1 there */
} space;

static bool make_space(kn_graph *g, const kn_scatter *t, const kn_node *v, space *to)
{
    uint32_t walked = 0;
    *to = (space){.rank = t->rank};
    for (int j = 0; j < t->rank; j++) {
        to->shape[j] = t->shape[j];
        to->from[j] = t->indices[j] ? -1 : t->axis[j];
        walked |= to->from[j] >= 0 ? 1u << to->from[j] : 0;
    }
    for (int i = 0; i < v->rank; i++) {
        if (walked >> i & 1 || kn_dim_is_one(g->syms, v->shape[i]))
            continue;
        if (to->rank == KN_MAX_RANK) {
            kn_fail(KN_SHAPE, "elements added by index: more than %d axes", KN_MAX_RANK);
            return false;
        }
        to->shape[to->rank] = v->shape[i];
        to->from[to->rank++] = i;
        to->nsummed++;
    }
    return true;
}

/* x, with the axes of v or 1 there, in the space. */
static kn_node *in_space(kn_graph *g, const space *to, kn_node *x, kn_loc loc)
{
    kn_dim shape[KN_MAX_RANK];
    int perm[KN_MAX_RANK], n = 0;
    uint32_t used = 0;
    for (int j = 0; j < to->rank; j++) {
        int axis = to->from[j];
        shape[j] = axis < 0 ? kn_dim_const(g->syms, 1) : x->shape[axis];
        if (axis < 0)
            continue;
        perm[n++] = axis;
        used |= 1u << axis;
    }
    for (int i = 0; i < x->rank; i++)
        if (!(used >> i & 1))
            perm[n++] = i;
    x = kn_build_transpose(g, x, perm, n, loc);
    return x ? kn_build_reshape_to(g, x, shape, to->rank, loc) : NULL;
}

static const char *product(kn_graph *g, const kn_dim *dims, int n)
{
    kn_dim all = kn_dim_const(g->syms, 1);
    kn_text t = kn_text_new(g->arena);
    for (int i = 0; i < n && all; i++)
        all = kn_dim_mul(g->syms, all, dims[i]);
    if (all)
        kn_dim_print(&t, g->syms, all);
    return all ? kn_text_str(&t) : "many";
}

/* Says what is compared with what. */
static void note(kn_graph *g, const kn_scatter *t, const space *to, const kn_node *made)
{
    kn_dim compared[KN_MAX_RANK];
    int n = 0;
    for (int j = 0; j < t->rank; j++)
        if (t->indices[j])
            compared[n++] = t->shape[j];
    if (!n || !to->nsummed)
        return;
    const char *text =
        kn_sprintf(g->arena, "%s: %s indices, for each of %s", t->what,
                   product(g, to->shape + t->rank, to->nsummed), product(g, compared, n));
    kn_push(g->arena, &g->searches, ((kn_remark){made->id, text}));
}

kn_node *kn_build_scatter(kn_graph *g, const kn_scatter *t, kn_node *v, kn_loc loc)
{
    space to;
    kn_node *here = NULL, *zero = kn_build_const(g, (kn_scalar){.dtype = v->dtype}, loc);
    int summed[KN_MAX_RANK];
    if (!make_space(g, t, v, &to))
        return NULL;
    for (int j = 0; j < t->rank; j++) {
        if (!t->indices[j])
            continue;
        kn_node *i = kn_build_index_along(g, to.shape, to.rank, j, loc);
        kn_node *is = elem(g, KN_OP_EQ, in_space(g, &to, t->indices[j], loc), i, loc);
        here = here ? elem(g, KN_OP_AND, here, is, loc) : is;
    }
    v = in_space(g, &to, v, loc);
    if (here)
        v = kn_build_elem(g, KN_OP_WHERE, (kn_node *[]){here, v, zero}, 3, loc);
    for (int i = 0; i < to.nsummed; i++)
        summed[i] = t->rank + i;
    const kn_reduction r = {.axes = summed, .naxes = to.nsummed, .dtype = zero->dtype};
    if (v && to.nsummed)
        v = kn_build_reduction(g, KN_OP_SUM, v, &r, loc);
    if (!v || !(v = kn_build_broadcast_to(g, v, t->shape, t->rank, loc)))
        return NULL;
    note(g, t, &to, v);
    return v;
}

kn_scatter kn_scatter_of(const kn_node *take, const char *what)
{
    const kn_node *x = take->in[0];
    kn_scatter t = {.what = what, .rank = x->rank};
    for (int j = 0; j < x->rank; j++) {
        int by = take->u.gather.by[j];
        t.shape[j] = x->shape[j];
        t.axis[j] = take->u.gather.axis[j];
        t.indices[j] = by ? take->in[by] : NULL;
    }
    return t;
}

kn_node *kn_build_at_add(kn_graph *g, kn_node *x, kn_node *indices, kn_node *v, int axis,
                         kn_loc loc)
{
    kn_node *taken = kn_build_take(g, x, indices, &axis, KN_TAKE_RAISE, loc);
    if (!taken || !v)
        return NULL;
    v = kn_build_cast(g, v, x->dtype, loc);
    if (!(v = kn_build_broadcast_to(g, v, taken->shape, taken->rank, loc))) {
        kn_fail_prefix(KN_SHAPE, "at_add: ");
        return NULL;
    }
    const kn_scatter t =
        kn_scatter_of(taken, kn_sprintf(g->arena, "at_add%s", kn_loc_place(loc).text));
    return elem(g, KN_OP_ADD, x, kn_build_scatter(g, &t, v, loc), loc);
}
