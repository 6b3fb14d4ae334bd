/* Calls that make random numbers. */
#include <string.h>

#include "frontend/parse/calls.h"

/* The seed, the offset and the shape that slots have. */
static bool random_of(kn_call_site *c, const kn_object *const *slot, kn_dim *shape, kn_random *r)
{
    *r = (kn_random){.shape = shape};
    return kn_as_node(c->p, slot[0], &r->seed) && kn_as_node(c->p, slot[1], &r->offset) &&
           kn_call_shape(c, slot[2], false, shape, &r->rank);
}

bool kn_call_random(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"seed", "offset", "shape", "dtype"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_dim shape[KN_MAX_RANK];
    kn_dtype t = KN_F32;
    kn_random r;
    kn_node *made;
    bool bits = strcmp(c->fn->name, "random_bits") == 0;
    int n = bits ? 3 : 4;
    if (!kn_call_bind(c, names, n, n, 3, slot) || !random_of(c, slot, shape, &r) ||
        (!bits && slot[3] && !kn_as_dtype(c->p, slot[3], &t)))
        return false;
    made = bits                                 ? kn_build_random_bits(c->p->g, &r, c->loc)
           : strcmp(c->fn->name, "normal") == 0 ? kn_build_normal(c->p->g, &r, t, c->loc)
                                                : kn_build_uniform(c->p->g, &r, t, c->loc);
    return kn_call_done(c, made, KN_STORAGE_NEW, out);
}

bool kn_call_bernoulli(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"p", "seed", "offset", "shape"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_dim shape[KN_MAX_RANK];
    kn_random r;
    kn_node *p;
    if (!kn_call_bind(c, names, 4, 4, 4, slot) || !kn_as_node(c->p, slot[0], &p) ||
        !random_of(c, slot + 1, shape, &r))
        return false;
    return kn_call_done(c, kn_build_bernoulli(c->p->g, p, &r, c->loc), KN_STORAGE_NEW, out);
}

bool kn_call_dropout(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"x", "p", "seed", "offset"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_node *in[4];
    if (!kn_call_bind(c, names, 4, 4, 4, slot))
        return false;
    for (int i = 0; i < 4; i++)
        if (!kn_as_node(c->p, slot[i], &in[i]))
            return false;
    kn_node *x = kn_call_typed(c, in[0]);
    return kn_call_done(c, kn_build_dropout(c->p->g, x, in[1], in[2], in[3], c->loc),
                        KN_STORAGE_NEW, out);
}
