#include "ir/build.h"
#include "ir/pass/pass.h"
#include "ir/view.h"

static kn_node *rewrite(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    (void)ctx;
    kn_node *x = in[0];
    switch (old->op) {
    case KN_OP_RESHAPE:
        while (x->op == KN_OP_RESHAPE)
            x = x->in[0];
        return kn_build_reshape(g, x, old->shape, old->rank, old->loc);
    case KN_OP_PERMUTE: {
        int perm[KN_MAX_RANK];
        for (int i = 0; i < old->rank; i++)
            perm[i] = x->op == KN_OP_PERMUTE ? x->u.perm[old->u.perm[i]] : old->u.perm[i];
        return kn_build_transpose(g, x->op == KN_OP_PERMUTE ? x->in[0] : x, perm, old->rank,
                                  old->loc);
    }
    default: return kn_node_copy(g, old, in);
    }
}

kn_graph *kn_pass_views(kn_arena *a, kn_graph *g)
{
    g = kn_graph_rewrite(a, g, rewrite, NULL);
    for (int i = 0; g && i < g->outputs.len; i++)
        if (!kn_is_value(g->outputs.data[i].node))
            g->outputs.data[i].node = kn_copy_of(g, g->outputs.data[i].node);
    return g;
}
