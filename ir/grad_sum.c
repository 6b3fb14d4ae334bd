/* Sums of gradients. */
#include "ir/grad_impl.h"

kn_node *kn_grad_zeros(const kn_grad_site *s, const kn_node *x)
{
    kn_node *zero = kn_build_const(s->g, (kn_scalar){.dtype = x->dtype}, s->loc);
    return kn_build_broadcast_to(s->g, zero, x->shape, x->rank, s->loc);
}

bool kn_grad_is_zero(const kn_node *x)
{
    x = kn_view_root(x);
    return x->op == KN_OP_CONST && x->u.value.f == 0 && x->u.value.im == 0;
}

kn_node *kn_grad_add(const kn_grad_site *s, kn_node *a, kn_node *b)
{
    return a ? kn_grad_op2(s, KN_OP_ADD, a, b) : b;
}

kn_node *kn_grad_sum_to(const kn_grad_site *s, kn_node *x, const kn_dim *shape)
{
    int axes[KN_MAX_RANK], n = 0;
    for (int j = 0; j < x->rank; j++)
        if (kn_dim_is_one(s->g->syms, shape[j]) && !kn_dim_is_one(s->g->syms, x->shape[j]))
            axes[n++] = j;
    const kn_reduction r = {.axes = axes, .naxes = n, .keepdims = true};
    return n ? kn_build_reduction(s->g, KN_OP_SUM, x, &r, s->loc) : x;
}
