/* The gradients of views: each element gets what the elements that show it got. */
#include "ir/grad_impl.h"

kn_node *kn_grad_reshape(const kn_grad_site *s, int k)
{
    const kn_node *x = s->y->in[k];
    return kn_build_reshape_to(s->g, s->dy, x->shape, x->rank, s->loc);
}

kn_node *kn_grad_permute(const kn_grad_site *s, int k)
{
    (void)k;
    int inverse[KN_MAX_RANK];
    for (int i = 0; i < s->y->rank; i++)
        inverse[s->y->u.perm[i]] = i;
    return kn_build_transpose(s->g, s->dy, inverse, s->y->rank, s->loc);
}

/* The sum over what was repeated follows for every operation. */
kn_node *kn_grad_broadcast(const kn_grad_site *s, int k)
{
    (void)k;
    return s->dy;
}

kn_node *kn_grad_index(const kn_grad_site *s, int k)
{
    kn_node *none = kn_grad_zeros(s, s->y->in[k]);
    return kn_build_put_index(s->g, none, s->y, s->dy, s->loc);
}
