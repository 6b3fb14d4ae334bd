/* The graph's invariants, checked after every pass. A failure here is a bug of kiln's. */
#include "ir/graph.h"

static kn_status broken(const kn_node *n, const char *what)
{
    return kn_fail(KN_INTERNAL, "graph verifier: %%%d = %s: %s", n->id, kn_ops[n->op].text, what);
}

static kn_status verify_elem(const kn_graph *g, const kn_node *n)
{
    kn_dtype t = n->nin ? n->in[n->op == KN_OP_WHERE]->dtype : KN_NO_DTYPE;
    for (int i = 0; i < n->nin; i++) {
        const kn_node *x = n->in[i];
        if (x->rank != n->rank)
            return broken(n, "operand of another rank");
        for (int j = 0; j < n->rank; j++)
            if (!kn_dim_equal(g->syms, x->shape[j], n->shape[j]) &&
                !kn_dim_is_one(g->syms, x->shape[j]))
                return broken(n, "operand dimension is neither the result's nor 1");
        if (n->op == KN_OP_WHERE && i == 0 ? x->dtype != KN_BOOL : x->dtype != t)
            return broken(n, "operand of another type");
    }
    switch (kn_ops[n->op].rule) {
    case KN_RULE_LOGIC:
        return n->dtype == KN_BOOL && t == KN_BOOL ? KN_OK : broken(n, "not on bool");
    case KN_RULE_FIXED:
        return n->op == KN_OP_CAST || n->dtype == t ? KN_OK : broken(n, "copy changes the type");
    default:
        if (!kn_op_exists(n->op, t))
            return broken(n, "operands of a type that it does not have");
        return n->dtype == kn_op_result(n->op, t) ? KN_OK : broken(n, "wrong result type");
    }
}

static kn_status verify_reduce(const kn_graph *g, const kn_node *n)
{
    bool own = n->op == KN_OP_REDUCE_BY;
    if (n->in[0]->rank != n->rank || n->u.reduce.axes >> n->rank)
        return broken(n, "axes out of range");
    if (n->in[own ? n->u.reduce.carried : 0]->dtype != n->dtype)
        return broken(n, "result type differs from the operand's");
    for (int j = 0; j < n->rank; j++)
        if (n->u.reduce.axes >> j & 1 ? !kn_dim_is_one(g->syms, n->shape[j])
                                      : !kn_dim_equal(g->syms, n->shape[j], n->in[0]->shape[j]))
            return broken(n, "wrong shape");
    for (int k = 0; k < n->nin; k++) {
        const kn_node *x = n->in[k];
        if (x->rank != n->rank || (own && x->dtype != n->by->dtype[k]))
            return broken(n, "operand of another rank or type than what is carried");
        for (int j = 0; j < n->rank; j++)
            if (!kn_dim_equal(g->syms, x->shape[j], n->in[0]->shape[j]))
                return broken(n, "operands of several shapes");
    }
    return KN_OK;
}

static kn_status verify_view(const kn_graph *g, const kn_node *n)
{
    const kn_node *x = n->in[0];
    if (x->dtype != n->dtype)
        return broken(n, "a view changes the type");
    if (n->op == KN_OP_RESHAPE)
        return KN_OK;
    if (n->op == KN_OP_INDEX) {
        for (int j = 0; j < x->rank; j++)
            if (!n->u.index->start[j] || n->u.index->axis[j] >= n->rank)
                return broken(n, "no start, or an axis out of range");
        return KN_OK;
    }
    if (x->rank != n->rank)
        return broken(n, "operand of another rank");
    uint32_t seen = 0;
    for (int j = 0; j < n->rank; j++) {
        int from = n->op == KN_OP_PERMUTE ? n->u.perm[j] : j;
        if (from < 0 || from >= n->rank || seen >> from & 1)
            return broken(n, "not a permutation");
        seen |= 1u << from;
        if (!kn_dim_equal(g->syms, n->shape[j], x->shape[from]) &&
            !(n->op == KN_OP_BROADCAST && kn_dim_is_one(g->syms, x->shape[from])))
            return broken(n, "wrong shape");
    }
    return KN_OK;
}

static kn_status verify_gather(const kn_graph *g, const kn_node *n)
{
    const kn_node *x = n->in[0];
    if (x->dtype != n->dtype)
        return broken(n, "result type differs from the operand's");
    if (kn_ops[x->op].cls != KN_VIEW)
        return broken(n, "what it reads is no view");
    for (int k = 1; k < n->nin; k++) {
        if (n->in[k]->dtype != KN_I64 || n->in[k]->rank != n->rank)
            return broken(n, "a place is no i64 of the result's rank");
        for (int j = 0; j < n->rank; j++)
            if (!kn_dim_equal(g->syms, n->in[k]->shape[j], n->shape[j]) &&
                !kn_dim_is_one(g->syms, n->in[k]->shape[j]))
                return broken(n, "a place's dimension is neither the result's nor 1");
    }
    for (int j = 0; j < x->rank; j++) {
        int axis = n->u.gather.axis[j], by = n->u.gather.by[j];
        if (by < 0 || by >= n->nin || axis >= n->rank)
            return broken(n, "places or axes out of range");
        if (!by && axis >= 0 && !kn_dim_equal(g->syms, x->shape[j], n->shape[axis]))
            return broken(n, "wrong shape");
    }
    return KN_OK;
}

static kn_status verify_exchange(const kn_graph *g, const kn_node *n)
{
    const kn_node *x = n->in[0];
    if (x->dtype != n->dtype || x->rank != n->rank)
        return broken(n, "type or rank differ from the operand's");
    for (int j = 0; j < n->rank; j++)
        if (!kn_dim_equal(g->syms, n->shape[j], x->shape[j]))
            return broken(n, "shape differs from the operand's");
    return n->u.part.rank < g->ranks ? KN_OK : broken(n, "of a rank that there is not");
}

kn_status kn_graph_verify(const kn_graph *g)
{
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        if (n->id != i)
            return broken(n, "wrong number");
        if (!kn_dtype_valid((int)n->dtype) || n->rank < 0 || n->rank > KN_MAX_RANK)
            return broken(n, "no type or rank");
        if (kn_ops[n->op].cls == KN_GATHER ? n->nin < 2
            : n->op == KN_OP_REDUCE_BY     ? n->nin != n->by->count || n->u.reduce.carried >= n->nin
                                           : n->nin != kn_ops[n->op].arity)
            return broken(n, "wrong number of operands");
        for (int j = 0; j < n->nin; j++)
            if (!n->in[j] || n->in[j]->id >= i || g->nodes.data[n->in[j]->id] != n->in[j])
                return broken(n, "operand is not an earlier node of this graph");
        switch (kn_ops[n->op].cls) {
        case KN_ELEM: KN_TRY(verify_elem(g, n)); break;
        case KN_FORMULA: return broken(n, "a formula, which is no operation of a graph");
        case KN_REDUCE: KN_TRY(verify_reduce(g, n)); break;
        case KN_VIEW: KN_TRY(verify_view(g, n)); break;
        case KN_GATHER: KN_TRY(verify_gather(g, n)); break;
        case KN_EXCHANGE: KN_TRY(verify_exchange(g, n)); break;
        case KN_LEAF:
            if (n->op != KN_OP_INPUT && n->op != KN_OP_IOTA && n->rank != 0)
                return broken(n, "leaf is not 0-d");
            break;
        }
    }
    for (int i = 0; i < g->outputs.len; i++)
        if (g->nodes.data[g->outputs.data[i].node->id] != g->outputs.data[i].node)
            return kn_fail(KN_INTERNAL, "graph verifier: output %s is of another graph",
                           g->outputs.data[i].name);
    return KN_OK;
}
