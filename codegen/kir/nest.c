#include "codegen/kir/nest.h"

/* Gives a copied value an access of its own. */
static void copy_access(kn_arena *a, kn_value *v)
{
    if (!kn_has_access(v))
        return;
    kn_access *acc = KN_NEW(a, kn_access);
    *acc = *v->access;
    if (acc->place)
        acc->place = kn_alloc_copy(a, acc->place, sizeof *acc->place * (size_t)v->nin);
    v->access = acc;
}

int kn_nest_add(kn_arena *a, kn_nest *nest, kn_value v)
{
    copy_access(a, &v);
    for (int k = 0; k < v.nin; k++) {
        const kn_value *x = &nest->values.data[v.in[k]];
        v.stage = x->stage > v.stage ? x->stage : v.stage;
        v.level = x->level > v.level ? x->level : v.level;
    }
    kn_push(a, &nest->values, v);
    return nest->values.len - 1;
}

kn_nest kn_nest_copy(kn_arena *a, const kn_nest *nest)
{
    kn_nest copy = *nest;
    kn_copy_vec(a, &copy.values, &nest->values);
    for (int i = 0; i < copy.values.len; i++)
        copy_access(a, &copy.values.data[i]);
    kn_copy_vec(a, &copy.reds, &nest->reds);
    kn_copy_vec(a, &copy.stores, &nest->stores);
    return copy;
}
