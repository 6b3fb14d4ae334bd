#include "ir/build_impl.h"
#include "ir/eval.h"
#include "ir/pass/pass.h"

/* The constant under views that only repeat it, or NULL. */
static const kn_node *constant_under(const kn_node *n)
{
    n = kn_view_root(n);
    return n->op == KN_OP_CONST ? n : NULL;
}

static bool compares(kn_op op)
{
    return op == KN_OP_EQ || op == KN_OP_NE || op == KN_OP_LT || op == KN_OP_LE || op == KN_OP_GT ||
           op == KN_OP_GE;
}

/* The values of a node's operands; false if they are not known. Of two sizes that a constant lies between, as N - 1 and
 * N, a comparison takes that and 0. */
static bool known_operands(kn_graph *g, const kn_node *n, kn_node *const *in, kn_scalar *values)
{
    bool known = true, sizes = compares(n->op);
    for (int k = 0; k < n->nin; k++) {
        const kn_node *c = constant_under(in[k]);
        known = known && c;
        sizes = sizes && in[k]->dtype == KN_I64;
        if (c)
            values[k] = c->u.value;
    }
    kn_dim a = known || !sizes ? NULL : kn_build_size(g, kn_view_root(in[0]));
    kn_dim b = a ? kn_build_size(g, kn_view_root(in[1])) : NULL;
    if (known || !b)
        return known;
    values[0] = values[1] = (kn_scalar){.dtype = KN_I64};
    return kn_dim_is_const(g->syms, kn_dim_sub(g->syms, a, b), &values[0].i);
}

kn_node *kn_fold_elem(kn_graph *g, const kn_node *n, kn_node *const *in)
{
    kn_scalar values[KN_MAX_IN];
    if (!known_operands(g, n, in, values))
        return NULL;
    kn_node *c = kn_build_const(g, kn_eval(n->op, n->dtype, values), n->loc);
    return kn_build_broadcast_to(g, c, n->shape, n->rank, n->loc);
}

bool kn_fold_condition(const kn_node *n, bool *holds)
{
    const kn_node *c = constant_under(n);
    if (c)
        *holds = c->u.value.i != 0;
    return c;
}

static kn_node *rewrite(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    (void)ctx;
    if (kn_ops[old->op].cls != KN_ELEM)
        return kn_node_copy(g, old, in);
    if (old->op == KN_OP_CAST && in[0]->dtype == old->dtype && !in[0]->weak)
        return in[0];
    if (old->op == KN_OP_COPY)
        return in[0];
    kn_node *c = kn_fold_elem(g, old, in);
    return c ? c : kn_node_copy(g, old, in);
}

kn_graph *kn_pass_fold(kn_arena *a, kn_graph *g) { return kn_graph_rewrite(a, g, rewrite, NULL); }
