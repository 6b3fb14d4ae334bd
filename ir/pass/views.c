#include "ir/build.h"
#include "ir/pass/pass.h"
#include "ir/view.h"

static kn_node *copy_of(kn_graph *g, kn_node *x)
{
    kn_node n = {.op = KN_OP_COPY,
                 .dtype = x->dtype,
                 .rank = x->rank,
                 .shape = x->shape,
                 .nin = 1,
                 .loc = x->loc,
                 .name = x->name};
    n.in[0] = x;
    return kn_graph_intern(g, &n);
}

/* An input under views: the runtime knows its strides and applies the views to them. */
static bool is_viewed_input(const kn_node *n)
{
    n = kn_view_root(n);
    return n->op == KN_OP_INPUT;
}

static kn_node *rewrite(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    (void)ctx;
    kn_node *x = in[0];
    switch (old->op) {
    case KN_OP_RESHAPE:
        while (x->op == KN_OP_RESHAPE)
            x = x->in[0];
        x = kn_build_reshape(g, x, old->shape, old->rank, old->loc);
        if (x && kn_regroups(g, x) && !kn_is_value(x->in[0]) && !is_viewed_input(x->in[0]))
            x = kn_build_reshape(g, copy_of(g, x->in[0]), old->shape, old->rank, old->loc);
        return x;
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
            g->outputs.data[i].node = copy_of(g, g->outputs.data[i].node);
    return g;
}
