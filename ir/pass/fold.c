#include "ir/build.h"
#include "ir/eval.h"
#include "ir/pass/pass.h"

/* The constant under views that only repeat it, or NULL. */
static const kn_node *constant_under(const kn_node *n)
{
    n = kn_view_root(n);
    return n->op == KN_OP_CONST ? n : NULL;
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
    kn_scalar values[KN_MAX_IN];
    for (int k = 0; k < old->nin; k++) {
        const kn_node *c = constant_under(in[k]);
        if (!c)
            return kn_node_copy(g, old, in);
        values[k] = c->u.value;
    }
    kn_node *c = kn_build_const(g, kn_eval(old->op, old->dtype, values), old->loc);
    return kn_build_broadcast_to(g, c, old->shape, old->rank, old->loc);
}

kn_graph *kn_pass_fold(kn_arena *a, kn_graph *g) { return kn_graph_rewrite(a, g, rewrite, NULL); }
