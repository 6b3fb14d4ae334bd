/* Where a node's elements are in memory. */
#include <string.h>

#include "codegen/plan/nests/planner.h"

static void index_layout(const kn_problem *pr, const kn_node *n, const kn_layout *from,
                         const int64_t *shape, kn_layout *out)
{
    *out = (kn_layout){.rank = n->rank, .offset = from->offset, .align = from->align};
    memcpy(out->shape, shape, sizeof *shape * (size_t)n->rank);
    for (int j = 0; j < n->in[0]->rank; j++) {
        int64_t start;
        kn_dim_eval(n->u.index->start[j], pr->sizes, &start); /* checked when the call was bound */
        out->offset += start * from->stride[j];
        if (n->u.index->axis[j] >= 0)
            out->stride[n->u.index->axis[j]] += n->u.index->step[j] * from->stride[j];
    }
}

/* The formulas of an INDEX. */
static const kn_strides *index_strides(kn_planner *p, const kn_node *n, const kn_strides *from)
{
    kn_symbols *s = p->problem->graph->syms;
    kn_strides *to = KN_NEW(p->arena, kn_strides);
    to->offset = from->offset;
    for (int i = 0; i < n->rank; i++)
        to->stride[i] = kn_dim_const(s, 0);
    for (int j = 0; j < n->in[0]->rank; j++) {
        kn_dim by = kn_dim_mul(s, n->u.index->start[j], from->stride[j]);
        kn_dim step = kn_dim_mul(s, kn_dim_const(s, n->u.index->step[j]), from->stride[j]);
        kn_dim *along = n->u.index->axis[j] >= 0 ? &to->stride[n->u.index->axis[j]] : NULL;
        if (!by || !step || !(to->offset = kn_dim_add(s, to->offset, by)) ||
            (along && !(*along = kn_dim_add(s, *along, step))))
            kn_give_up(p->arena);
    }
    return to;
}

/* Does axis i of a BROADCAST repeat axis j of its operand? A size that happens to be 1 in this call repeats nothing. */
static bool is_repeated(const kn_planner *p, const kn_node *n, int i, int j)
{
    kn_symbols *s = p->problem->graph->syms;
    return kn_dim_is_one(s, n->in[0]->shape[j]) && !kn_dim_is_one(s, n->shape[i]);
}

/* Locates an array that is not a view. */
static void locate_root(kn_planner *p, const kn_node *n, int *buf, kn_layout *out)
{
    const kn_problem *pr = p->problem;
    int64_t shape[KN_MAX_RANK];
    if (n->op == KN_OP_INPUT) {
        *buf = p->buf_of_input[n->u.input];
        *out = pr->in[n->u.input];
        return;
    }
    kn_node_sizes(n, pr->sizes, shape); /* checked when the call was bound */
    if (n->op == KN_OP_IOTA) {          /* as an array whose elements are their own offsets */
        *buf = KN_BUF_COUNT;
        *out = (kn_layout){.rank = 1, .shape = {shape[0]}, .stride = {1}, .align = 16};
        return;
    }
    *buf = p->buf_of_node[n->id];
    const kn_buf *b = &p->bufs.data[*buf];
    if (b->kind == KN_BUF_OUTPUT) {
        kn_layout_reshape(&pr->out[b->index], shape, n->rank, out);
        return;
    }
    *out = (kn_layout){.rank = n->rank, .align = 16};
    memcpy(out->shape, shape, sizeof *shape * (size_t)n->rank);
    kn_compact_strides(shape, n->rank, out->stride);
    if (n->op == KN_OP_OF_RANK)
        out->offset = n->u.part.rank * kn_count(shape, n->rank);
}

/* Locates view `n` of an array laid out as `from`. */
static bool locate_view(kn_planner *p, const kn_node *n, const kn_layout *from, kn_layout *out)
{
    int64_t shape[KN_MAX_RANK];
    kn_node_sizes(n, p->problem->sizes, shape);
    if (n->op == KN_OP_INDEX) {
        index_layout(p->problem, n, from, shape, out);
        out->formula = from->formula ? index_strides(p, n, from->formula) : NULL;
        return true;
    }
    if (n->op == KN_OP_RESHAPE) {
        const kn_strides *formula = from->formula ? kn_strides_reshape(p, n, from->formula) : NULL;
        if (kn_layout_reshape(from, shape, n->rank, out) && !from->formula == !formula) {
            out->formula = formula;
            return true;
        }
        p->blocked = n;
        return false;
    }
    kn_strides *formula = from->formula ? KN_NEW(p->arena, kn_strides) : NULL;
    if (formula)
        formula->offset = from->formula->offset;
    *out = (kn_layout){.rank = n->rank, .offset = from->offset, .align = from->align};
    for (int i = 0; i < n->rank; i++) {
        int j = n->op == KN_OP_PERMUTE ? n->u.perm[i] : i;
        out->shape[i] = shape[i];
        out->stride[i] = is_repeated(p, n, i, j) ? 0 : from->stride[j];
        if (formula)
            formula->stride[i] = is_repeated(p, n, i, j) ? kn_dim_const(p->problem->graph->syms, 0)
                                                         : from->formula->stride[j];
    }
    out->formula = formula;
    return true;
}

bool kn_locate(kn_planner *p, const kn_node *n, int *buf, kn_layout *out)
{
    KN_VEC(const kn_node *) views = {0}; /* outermost first */
    for (; kn_ops[n->op].cls == KN_VIEW; n = n->in[0])
        kn_push(p->arena, &views, n);
    locate_root(p, n, buf, out);
    if (p->problem->formulas)
        out->formula = kn_strides_compact(p->arena, p->problem->graph->syms, n->shape, n->rank);
    while (views.len > 0) {
        kn_layout from = *out;
        if (!locate_view(p, views.data[--views.len], &from, out))
            return false;
    }
    return true;
}
