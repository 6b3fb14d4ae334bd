/* Reductions of the user's own: a combine, built as an expression over CARRIED values, becomes a kn_reducer. */
#include <string.h>

#include "ir/build_impl.h"
#include "ir/eval.h"

kn_node *kn_build_carried(kn_graph *g, kn_dtype dtype, kn_loc loc)
{
    if (!kn_dtype_valid((int)dtype)) {
        kn_fail(KN_TYPE, "a reduction carries no unknown dtype, %d", (int)dtype);
        return NULL;
    }
    if (kn_is_half(dtype)) {
        kn_fail(KN_TYPE, "a reduction carries no %s: carry f32, which its values are cast to",
                kn_dtypes[dtype].text);
        return NULL;
    }
    kn_node n = {.op = KN_OP_CARRIED, .dtype = dtype, .loc = loc};
    n.u.input = g->carried++;
    return kn_graph_intern(g, &n);
}

/* ---- from an expression to steps ---- */

enum { NONE = -1 };

/* What is known of a node of the expression. */
typedef struct known {
    bool needed, constant;
    int value; /* its number in the combine, NONE before it has one */
    kn_scalar number;
} known;

typedef struct flattening {
    kn_graph *g;
    kn_reducer *to;
    known *of; /* per node */
    KN_VEC(kn_combine_step) steps;
} flattening;

static int add_step(flattening *f, kn_combine_step s)
{
    kn_push(f->g->arena, &f->steps, s);
    return 2 * f->to->count + f->steps.len - 1;
}

static int value_of(flattening *f, const kn_node *n)
{
    known *k = &f->of[n->id];
    if (k->value == NONE)
        k->value = add_step(
            f, (kn_combine_step){.op = KN_OP_CONST, .dtype = n->dtype, .value = k->number});
    return k->value;
}

static kn_status flatten_node(flattening *f, const kn_node *n)
{
    known *k = &f->of[n->id];
    kn_combine_step s = {.op = n->op, .dtype = n->dtype, .nin = n->nin};
    kn_scalar in[3];
    if (n->op == KN_OP_CARRIED)
        return k->value != NONE
                   ? KN_OK
                   : kn_fail(KN_ARGUMENT, "a combine uses a carried value that is none of its own");
    if (kn_is_half(n->dtype))
        return kn_fail(KN_TYPE, "a combine computes with no %s", kn_dtypes[n->dtype].text);
    k->constant = true;
    if (n->op == KN_OP_CONST) {
        k->number = n->u.value;
        return KN_OK;
    }
    if (kn_ops[n->op].cls != KN_ELEM)
        return kn_fail(KN_ARGUMENT,
                       "a combine is made of carried values, numbers and elementwise operations; "
                       "this one uses %s",
                       kn_node_title(n));
    for (int i = 0; i < n->nin; i++) {
        const known *x = &f->of[n->in[i]->id];
        k->constant = k->constant && x->constant;
        in[i] = x->number;
    }
    if (k->constant) {
        k->number = kn_eval(n->op, n->dtype, in);
        return KN_OK;
    }
    for (int i = 0; i < n->nin; i++)
        s.in[i] = value_of(f, n->in[i]);
    k->value = add_step(f, s);
    return f->steps.len <= KN_MAX_COMBINE
               ? KN_OK
               : kn_fail(KN_ARGUMENT, "a combine has at most %d operations", KN_MAX_COMBINE);
}

/* The nodes that `from` is made of, operands first. */
static kn_status flatten(flattening *f, kn_node *const *from, int n)
{
    int last = 0;
    for (int c = 0; c < n; c++) {
        f->of[from[c]->id].needed = true;
        last = from[c]->id > last ? from[c]->id : last;
    }
    for (int i = last; i >= 0; i--)
        for (int k = 0; f->of[i].needed && k < f->g->nodes.data[i]->nin; k++)
            f->of[f->g->nodes.data[i]->in[k]->id].needed = true;
    for (int i = 0; i <= last; i++)
        if (f->of[i].needed)
            KN_TRY(flatten_node(f, f->g->nodes.data[i]));
    return KN_OK;
}

static flattening begin(kn_graph *g, kn_reducer *to)
{
    flattening f = {.g = g, .to = to, .of = KN_NEW_ARRAY(g->arena, known, g->nodes.len + 1)};
    for (int i = 0; i < g->nodes.len; i++)
        f.of[i].value = NONE;
    return f;
}

static kn_status name_operands(flattening *f, kn_node *const *operands, int first)
{
    for (int c = 0; c < f->to->count; c++) {
        const kn_node *x = operands[c];
        if (x->op != KN_OP_CARRIED || f->of[x->id].value != NONE)
            return kn_fail(KN_ARGUMENT, x->op == KN_OP_CARRIED
                                            ? "a carried value is given twice"
                                            : "left and right must be carried values");
        if (x->dtype != f->to->dtype[c])
            return kn_fail(KN_TYPE, "left is %s and right %s: they must be of one type",
                           kn_dtypes[f->to->dtype[c]].text, kn_dtypes[x->dtype].text);
        f->of[x->id].value = first + c;
    }
    return KN_OK;
}

/* v in type t, which has to hold a Python integer. */
static kn_node *typed(kn_graph *g, kn_node *v, kn_dtype t, const char *what)
{
    if (v->rank > 0) {
        kn_fail(KN_SHAPE, "%s of a reduction must be 0-d", what);
        return NULL;
    }
    return kn_build_need_fit(g, what, v, t, v->loc) ? kn_build_cast_to(g, v, t) : NULL;
}

static kn_status find_identity(kn_graph *g, const kn_combining *by, kn_reducer *r)
{
    kn_node *number[KN_MAX_CARRIED];
    for (int c = 0; c < r->count; c++)
        if (!(number[c] = typed(g, by->identity[c], r->dtype[c], "identity")))
            return kn_last_status();
    flattening f = begin(g, r);
    KN_TRY(flatten(&f, number, r->count));
    for (int c = 0; c < r->count; c++) {
        if (!f.of[number[c]->id].constant)
            return kn_fail(KN_ARGUMENT, "an identity must be a number");
        r->identity[c] = f.of[number[c]->id].number;
    }
    return KN_OK;
}

static kn_status make_reducer(kn_graph *g, const kn_combining *by, kn_reducer *r)
{
    kn_node *combined[KN_MAX_CARRIED];
    r->count = by->count;
    r->commutes = by->commutes;
    r->rule = by->rule;
    for (int c = 0; c < by->count; c++) {
        r->dtype[c] = by->left[c]->dtype;
        if (!(combined[c] = typed(g, by->combined[c], r->dtype[c], "combined")))
            return kn_last_status();
    }
    KN_TRY(find_identity(g, by, r));
    flattening f = begin(g, r);
    KN_TRY(name_operands(&f, by->left, 0));
    KN_TRY(name_operands(&f, by->right, r->count));
    KN_TRY(flatten(&f, combined, r->count));
    for (int c = 0; c < r->count; c++)
        r->result[c] = value_of(&f, combined[c]);
    r->nsteps = f.steps.len;
    r->steps = f.steps.data;
    kn_reducer_describe(g->arena, r);
    return KN_OK;
}

/* ---- applying it ---- */

bool kn_build_combine(kn_graph *g, const kn_reducer *r, kn_node *const *a, kn_node *const *b,
                      kn_node **out, kn_loc loc)
{
    kn_node **value = KN_NEW_ARRAY(g->arena, kn_node *, 2 * r->count + r->nsteps);
    memcpy(value, a, sizeof *a * (size_t)r->count);
    memcpy(value + r->count, b, sizeof *b * (size_t)r->count);
    for (int i = 0; i < r->nsteps; i++) {
        const kn_combine_step *s = &r->steps[i];
        kn_node *in[3] = {0}, **to = &value[2 * r->count + i];
        for (int k = 0; k < s->nin; k++)
            in[k] = value[s->in[k]];
        *to = s->op == KN_OP_CONST  ? kn_build_const(g, s->value, loc)
              : s->op == KN_OP_CAST ? kn_build_cast(g, in[0], s->dtype, loc)
                                    : kn_build_elem(g, s->op, in, s->nin, loc);
        if (!*to)
            return false;
    }
    for (int c = 0; c < r->count; c++)
        out[c] = value[r->result[c]];
    return true;
}

/* Operands in their types, all of one shape, elements that do not count replaced by the identity. */
static bool prepare(kn_graph *g, const kn_reducer *r, kn_node **x, kn_node *where, kn_loc loc)
{
    kn_dim shape[KN_MAX_RANK];
    int rank = kn_build_common_shape(g, KN_OP_REDUCE_BY, x, r->count, shape, loc);
    if (rank < 0)
        return false;
    if (where && where->dtype != KN_BOOL) {
        kn_fail(KN_TYPE, "reduce_by: where must be bool, not %s", kn_dtypes[where->dtype].text);
        return false;
    }
    if (where && !(where = kn_build_broadcast_to(g, where, shape, rank, loc)))
        return kn_fail_prefix(KN_SHAPE, "reduce_by, where: "), false;
    for (int c = 0; c < r->count; c++) {
        x[c] = kn_build_cast_to(g, x[c], r->dtype[c]);
        if (where)
            x[c] = kn_build_elem(g, KN_OP_WHERE,
                                 (kn_node *[]){where, x[c], kn_build_const(g, r->identity[c], loc)},
                                 3, loc);
        x[c] = x[c] ? kn_build_broadcast_to(g, x[c], shape, rank, loc) : NULL;
        if (!x[c])
            return false;
    }
    return true;
}

static void reduce_axes(kn_graph *g, const kn_reducer *r, kn_node **x, uint32_t axes, kn_loc loc)
{
    kn_dim shape[KN_MAX_RANK];
    kn_node n = {.op = KN_OP_REDUCE_BY, .rank = x[0]->rank, .shape = shape, .by = r, .loc = loc};
    for (int i = 0; i < n.rank; i++)
        shape[i] = axes >> i & 1 ? kn_dim_const(g->syms, 1) : x[0]->shape[i];
    n.nin = r->count;
    memcpy(n.in, x, sizeof *x * (size_t)r->count);
    for (int c = 0; c < r->count; c++) {
        n.u.reduce.axes = axes;
        n.u.reduce.carried = c;
        n.dtype = r->dtype[c];
        x[c] = kn_graph_intern(g, &n);
    }
}

kn_status kn_build_reduce_by(kn_graph *g, const kn_combining *by, kn_node *const *x,
                             const kn_reduction *how, kn_node **out, kn_loc loc)
{
    bool starts = how->initial[0] != NULL;
    kn_reducer *r = KN_NEW(g->arena, kn_reducer);
    kn_node *v[KN_MAX_CARRIED], *start[KN_MAX_CARRIED];
    kn_dim left[KN_MAX_RANK];
    uint32_t axes;
    int rank = 0;
    KN_TRY(make_reducer(g, by, r));
    memcpy(v, x, sizeof *x * (size_t)r->count);
    for (int c = 0; starts && c < r->count; c++)
        if (!(start[c] = typed(g, how->initial[c], r->dtype[c], "initial")))
            return kn_last_status();
    if (!prepare(g, r, v, how->where, loc) ||
        !kn_build_axes(g, "reduce_by", v[0], how->axes, how->naxes, &axes))
        return kn_last_status();
    for (int i = 0; i < v[0]->rank; i++)
        if (how->keepdims || !(axes >> i & 1))
            left[rank++] = axes >> i & 1 ? kn_dim_const(g->syms, 1) : v[0]->shape[i];
    if (r->commutes)
        reduce_axes(g, r, v, axes, loc);
    for (int i = v[0]->rank - 1; i >= 0 && !r->commutes; i--) /* row by row is in order */
        if (axes >> i & 1)
            reduce_axes(g, r, v, 1u << i, loc);
    if (starts && !kn_build_combine(g, r, start, v, v, loc))
        return kn_last_status();
    for (int c = 0; c < r->count; c++)
        out[c] = kn_build_reshape_to(g, v[c], left, rank, loc);
    return KN_OK;
}
