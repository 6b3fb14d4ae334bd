#include "ir/view.h"

bool kn_reshape_axes(const kn_graph *g, const kn_node *n, int8_t *to_out)
{
    const kn_node *x = n->in[0];
    int i = 0, j = 0;
    for (;;) {
        while (j < x->rank && kn_dim_is_one(g->syms, x->shape[j]))
            to_out[j++] = -1;
        while (i < n->rank && kn_dim_is_one(g->syms, n->shape[i]))
            i++;
        if (j == x->rank || i == n->rank)
            return j == x->rank && i == n->rank;
        if (!kn_dim_equal(g->syms, x->shape[j], n->shape[i]))
            return false;
        to_out[j++] = (int8_t)i++;
    }
}

bool kn_regroups(const kn_graph *g, const kn_node *n)
{
    int8_t map[KN_MAX_RANK];
    return n->op == KN_OP_RESHAPE && !kn_reshape_axes(g, n, map);
}

bool kn_moves(const kn_graph *g, const kn_node *n)
{
    return n->op == KN_OP_INDEX || kn_regroups(g, n);
}

bool kn_is_uniform_leaf(const kn_node *n)
{
    return kn_ops[n->op].cls == KN_LEAF && n->op != KN_OP_INPUT && n->op != KN_OP_IOTA;
}

static kn_use find_use(const kn_graph *g, const kn_node *user, int k)
{
    kn_use use = {.base = user->in[k]};
    if (user->op == KN_OP_TAKE && k == 0) { /* what is read stands for memory */
        for (int j = 0; j < use.base->rank; j++)
            use.axis[j] = user->u.gather.by[j] || kn_dim_is_one(g->syms, use.base->shape[j])
                              ? -1
                              : user->u.gather.axis[j];
        return use;
    }
    for (int j = 0; j < use.base->rank; j++) /* operands and users have the same rank */
        use.axis[j] = kn_dim_is_one(g->syms, use.base->shape[j]) ? -1 : (int8_t)j;

    while (kn_ops[use.base->op].cls == KN_VIEW && use.base->op != KN_OP_INDEX) {
        const kn_node *v = use.base, *x = v->in[0];
        int8_t map[KN_MAX_RANK], next[KN_MAX_RANK];
        if (v->op == KN_OP_RESHAPE) {
            if (!kn_reshape_axes(g, v, map))
                break;
        } else {
            for (int i = 0; i < v->rank; i++)
                map[v->op == KN_OP_PERMUTE ? v->u.perm[i] : i] = (int8_t)i;
        }
        for (int j = 0; j < x->rank; j++)
            next[j] = kn_dim_is_one(g->syms, x->shape[j]) || map[j] < 0 ? -1 : use.axis[map[j]];
        for (int j = 0; j < x->rank; j++)
            use.axis[j] = next[j];
        use.base = x;
    }
    return use;
}

kn_use kn_use_of(const kn_graph *g, const kn_node *user, int k)
{
    bool found = user->id < g->used && g->nodes.data[user->id] == user;
    return found ? g->uses[user->id * KN_MAX_IN + k] : find_use(g, user, k);
}

void kn_find_uses(kn_graph *g)
{
    kn_use *uses = KN_NEW_ARRAY(g->arena, kn_use, g->nodes.len * KN_MAX_IN + 1);
    for (int i = 0; i < g->nodes.len; i++)
        for (int k = 0; k < g->nodes.data[i]->nin; k++)
            uses[i * KN_MAX_IN + k] = find_use(g, g->nodes.data[i], k);
    g->uses = uses;
    g->used = g->nodes.len;
}

static kn_node *copy_of(kn_graph *g, kn_node *x, bool own_nest)
{
    kn_node n = {.op = KN_OP_COPY,
                 .dtype = x->dtype,
                 .rank = x->rank,
                 .shape = x->shape,
                 .nin = 1,
                 .u.own_nest = own_nest,
                 .loc = x->loc,
                 .name = x->name};
    n.in[0] = x;
    return kn_graph_intern(g, &n);
}

kn_node *kn_copy_of(kn_graph *g, kn_node *x) { return copy_of(g, x, false); }

kn_node *kn_compact_copy_of(kn_graph *g, kn_node *x) { return copy_of(g, x, true); }
