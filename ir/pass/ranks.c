/* Arrays that are divided over ranks: f32[shard(N), C].
 *
 * A program says what is computed of whole arrays; each rank has a part of those of an axis shard(N), a range of it. So
 * an operation that keeps elements where they are is done by each rank for its part. A reduction over such an axis is
 * one of the part, after which ranks exchange their results, and every rank combines them in rank order, by operations
 * of single elements: so what is not divided is equal to the bit on all of them.
 *
 *     sum(x)    p = sum(x's part);  of_rank(p, 0) + of_rank(p, 1) + ...
 *     mean(x)   the sum, divided by the number of all elements
 *     var(x)    by each rank's sum and variance, and its number of elements: the ranks' squares about their own means,
 *               and those of these about the mean of all
 *     arange    along such an axis: begins where the part does
 *     sizes     are numbers of all elements
 *
 * What would need elements of other ranks (a slice, a gather, a reshape across parts) is refused. */
#include "ir/build.h"
#include "ir/pass/pass.h"

static bool is_divided(kn_graph *g, const kn_node *n, int axis)
{
    return kn_dim_has_part(g->syms, n->shape[axis]);
}

static int divided_axis(kn_graph *g, const kn_node *n)
{
    for (int j = 0; j < n->rank; j++)
        if (is_divided(g, n, j))
            return j;
    return -1;
}

/* ---- what has a meaning ---- */

/* The error is at n, for the sake of an axis of x. */
static bool refuse_for(kn_graph *g, const kn_node *n, const kn_node *x, int axis, const char *what)
{
    kn_text size = kn_text_new(g->arena);
    kn_dim_print(&size, g->syms, x->shape[axis]);
    kn_node_fail(KN_SHAPE, n, "%s axis %d, which has %s elements on each rank", what, axis,
                 kn_text_str(&size));
    return false;
}

static bool refuse(kn_graph *g, const kn_node *n, int axis, const char *what)
{
    return refuse_for(g, n, n, axis, what);
}

static bool check_shape(kn_graph *g, const kn_node *n)
{
    int first = divided_axis(g, n);
    for (int j = first; j >= 0 && j < n->rank; j++) {
        if (is_divided(g, n, j) && !kn_dim_is_divided(g->syms, n->shape[j]))
            return refuse(g, n, j, "ranks have no ranges of");
        if (j > first && is_divided(g, n, j))
            return refuse(g, n, j, "another axis is divided over ranks beside");
    }
    return true;
}

/* Are a rank's elements a range of the new axis, too? Not if others come between. */
static bool check_reshape(kn_graph *g, const kn_node *n)
{
    const kn_node *x = n->in[0];
    int from = divided_axis(g, x), to = divided_axis(g, n);
    kn_dim before = kn_dim_const(g->syms, 1), behind = before;
    for (int j = 0; j < from; j++)
        before = kn_dim_mul(g->syms, before, x->shape[j]);
    for (int j = 0; j < to; j++)
        behind = kn_dim_mul(g->syms, behind, n->shape[j]);
    if (from < 0 && to < 0)
        return true;
    return (from >= 0 && to >= 0 && before && behind && kn_dim_equal(g->syms, before, behind)) ||
           (from >= 0 ? refuse_for(g, n, x, from, "a reshape would mix ranks' elements of")
                      : refuse(g, n, to, "a reshape would divide over ranks"));
}

static bool needs_others(const kn_node *n, int axis)
{
    kn_node_fail(
        KN_SHAPE, n,
        "elements of other ranks would be needed along axis %d, which is divided over ranks", axis);
    return false;
}

static bool check_index(kn_graph *g, const kn_node *n)
{
    const kn_node *x = n->in[0];
    int j = divided_axis(g, x), to = j < 0 ? -1 : n->u.index->axis[j], uses = 0;
    for (int i = 0; to >= 0 && i < x->rank; i++)
        uses += n->u.index->axis[i] == to;
    if (j < 0 || (uses == 1 && n->u.index->step[j] == 1 &&
                  kn_dim_equal(g->syms, n->u.index->start[j], kn_dim_const(g->syms, 0)) &&
                  kn_dim_equal(g->syms, n->shape[to], x->shape[j])))
        return true;
    return needs_others(n, j);
}

static bool check_take(kn_graph *g, const kn_node *n)
{
    int j = divided_axis(g, n->in[0]);
    if (j < 0 || (!n->u.gather.by[j] && n->u.gather.axis[j] >= 0))
        return true;
    return needs_others(n, j);
}

static bool check(kn_graph *g, const kn_node *n)
{
    return (n->op != KN_OP_INDEX || check_index(g, n)) &&
           (n->op != KN_OP_TAKE || check_take(g, n)) && check_shape(g, n) &&
           (n->op != KN_OP_RESHAPE || check_reshape(g, n));
}

/* ---- exchanges ---- */

/* What rank r has of x, on all ranks. */
static kn_node *of_rank(kn_graph *g, kn_node *x, int r)
{
    if (!x)
        return NULL;
    kn_node n = {.op = KN_OP_OF_RANK,
                 .dtype = x->dtype,
                 .rank = x->rank,
                 .shape = x->shape,
                 .nin = 1,
                 .loc = x->loc};
    n.in[0] = x;
    n.u.part.exchange = x->id;
    n.u.part.rank = r;
    return kn_graph_intern(g, &n);
}

static kn_node *elem(kn_graph *g, kn_op op, kn_node *a, kn_node *b, kn_loc loc)
{
    return kn_build_elem(g, op, (kn_node *[]){a, b}, 2, loc);
}

/* `n` reduces x over this rank's part. */
static kn_node *of_part(kn_graph *g, const kn_node *n, kn_op op, kn_node *x)
{
    kn_node part = *n;
    part.op = op;
    part.dtype = x->dtype;
    part.in[0] = x;
    part.name = NULL;
    part.u.reduce.ddof = 0;
    part.u.reduce.nonempty = 0; /* another rank may have members */
    return kn_graph_intern(g, &part);
}

static kn_node *over_ranks(kn_graph *g, const kn_node *n, kn_op op, kn_node *x)
{
    kn_node *part = of_part(g, n, op, x), *made = of_rank(g, part, 0);
    for (int r = 1; r < g->ranks; r++)
        made = elem(g, kn_ops[op].combine, made, of_rank(g, part, r), n->loc);
    return made;
}

/* The number of elements that `old`, on old's shapes, reduces: of all ranks; of one. */
static kn_dim members_of(kn_graph *g, const kn_node *old)
{
    kn_dim count = kn_dim_const(g->syms, 1);
    for (int j = 0; j < old->rank; j++)
        if (old->u.reduce.axes >> j & 1)
            count = kn_dim_mul(g->syms, count, old->in[0]->shape[j]);
    return count;
}

static kn_node *number(kn_graph *g, kn_dim d, kn_dtype t, kn_loc loc)
{
    return kn_build_cast(g, kn_build_extent(g, d, loc), t, loc);
}

static kn_node *mean(kn_graph *g, const kn_node *n, kn_node *x)
{
    kn_node *count = number(g, kn_dim_whole(g->syms, members_of(g, n)), x->dtype, n->loc);
    return elem(g, KN_OP_DIV, over_ranks(g, n, KN_OP_SUM, x), count, n->loc);
}

/* The squares about the mean of all, of the members of rank r, by its sum and variance; 0 where it has none. Its mean is
 * the sum times a number that all groups share, so that no group divides once for each rank. */
static kn_node *squares(kn_graph *g, const kn_node *n, kn_node *const *part, kn_node *mean, int r)
{
    kn_dim count = kn_dim_at_rank(g->syms, members_of(g, n), r);
    kn_dtype t = mean->dtype;
    kn_node *has = number(g, count, t, n->loc);
    kn_node *zero = kn_build_cast(g, kn_build_float(g, 0, n->loc), t, n->loc);
    kn_node *one = kn_build_cast(g, kn_build_float(g, 1, n->loc), t, n->loc);
    kn_node *each = elem(g, KN_OP_DIV, one, has, n->loc);
    kn_node *d = elem(g, KN_OP_MUL, of_rank(g, part[0], r), each, n->loc);
    d = elem(g, KN_OP_SUB, d, mean, n->loc);
    kn_node *both = of_rank(g, part[1], r);
    both = elem(g, KN_OP_ADD, both, elem(g, KN_OP_MUL, d, d, n->loc), n->loc);
    kn_node *any = elem(g, KN_OP_GT, has, zero, n->loc);
    kn_node *of = elem(g, KN_OP_MUL, has, both, n->loc);
    return kn_build_elem(g, KN_OP_WHERE, (kn_node *[]){any, of, zero}, 3, n->loc);
}

static kn_node *variance(kn_graph *g, const kn_node *n, kn_node *x)
{
    kn_node *part[2];
    part[0] = of_part(g, n, KN_OP_SUM, x);
    part[1] = of_part(g, n, KN_OP_VAR, x);
    kn_node *about = mean(g, n, x), *sum = NULL;
    for (int r = 0; about && r < g->ranks; r++) {
        kn_node *of = squares(g, n, part, about, r);
        sum = sum ? elem(g, KN_OP_ADD, sum, of, n->loc) : of;
    }
    kn_node *count = number(g, kn_dim_whole(g->syms, members_of(g, n)), KN_I64, n->loc);
    if (n->u.reduce.ddof) {
        count = elem(g, KN_OP_SUB, count, kn_build_int(g, n->u.reduce.ddof, n->loc), n->loc);
        count = elem(g, KN_OP_MAXIMUM, count, kn_build_int(g, 0, n->loc), n->loc);
    }
    return elem(g, KN_OP_DIV, sum, kn_build_cast(g, count, x->dtype, n->loc), n->loc);
}

/* One of the values carried of a user's own reduction. */
static kn_node *own(kn_graph *g, const kn_node *n, kn_node *const *in)
{
    const kn_reducer *by = n->by;
    kn_node *parts[KN_MAX_CARRIED], *made[KN_MAX_CARRIED], *next[KN_MAX_CARRIED];
    for (int c = 0; c < by->count; c++) {
        kn_node part = *n;
        part.u.reduce.carried = c;
        part.dtype = by->dtype[c];
        part.name = NULL;
        for (int k = 0; k < by->count; k++)
            part.in[k] = in[k];
        parts[c] = kn_graph_intern(g, &part);
        if (!(made[c] = of_rank(g, parts[c], 0)))
            return NULL;
    }
    for (int r = 1; r < g->ranks; r++) {
        for (int c = 0; c < by->count; c++)
            next[c] = of_rank(g, parts[c], r);
        if (!kn_build_combine(g, by, made, next, made, n->loc))
            return NULL;
    }
    return made[n->u.reduce.carried];
}

/* 16-bit floats are summed in f32, and rounded once. */
static kn_node *reduction(kn_graph *g, const kn_node *n, kn_node *const *in)
{
    kn_node *x = in[0], *made;
    if (n->op == KN_OP_REDUCE_BY)
        return own(g, n, in);
    if (kn_needs_members(n))
        kn_build_need(g, KN_FACT_DIFFERS, kn_dim_whole(g->syms, members_of(g, n)),
                      kn_dim_const(g->syms, 0), kn_ops[n->op].text, n->loc);
    x = kn_build_cast(g, x, kn_compute_dtype(x->dtype), n->loc);
    made = n->op == KN_OP_MEAN  ? mean(g, n, x)
           : n->op == KN_OP_VAR ? variance(g, n, x)
                                : over_ranks(g, n, n->op, x);
    return made ? kn_build_cast(g, made, n->dtype, n->loc) : NULL;
}

static kn_node *rewrite(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    (void)ctx;
    if (!check(g, old))
        return NULL;
    if (old->op == KN_OP_EXTENT && kn_dim_has_part(g->syms, old->u.dim)) {
        kn_node whole = *old;
        whole.u.dim = kn_dim_whole(g->syms, old->u.dim);
        return whole.u.dim ? kn_node_copy(g, &whole, in) : NULL;
    }
    if (g->ranks < 2)
        return kn_node_copy(g, old, in);
    int axis = old->nin ? divided_axis(g, old->in[0]) : -1;
    if (kn_ops[old->op].cls == KN_REDUCE && axis >= 0 && old->u.reduce.axes >> axis & 1)
        return reduction(g, old, in);
    kn_node *made = kn_node_copy(g, old, in);
    if (old->op != KN_OP_IOTA || divided_axis(g, old) < 0)
        return made;
    return elem(g, KN_OP_ADD, made,
                number(g, kn_dim_start(g->syms, old->shape[0]), KN_I64, old->loc), old->loc);
}

kn_graph *kn_pass_ranks(kn_arena *a, kn_graph *g)
{
    bool divides = false;
    for (int s = 0; s < kn_symbols_count(g->syms); s++)
        divides = divides || kn_symbol_whole(g->syms, s) >= 0;
    return divides ? kn_graph_rewrite(a, g, rewrite, NULL) : g;
}
