/* Replaces the result of a reduction, for all its users, by something computed from it. */
#include <string.h>

#include "codegen/plan/form/form.h"

int kn_add_value(kn_planner *p, kn_phase *ph, kn_value v)
{
    return kn_nest_add(p->arena, &ph->nest, v);
}

int kn_add_elem(kn_planner *p, kn_phase *ph, kn_op op, kn_dtype t, int a, int b)
{
    return kn_add_value(p, ph, kn_elem(op, t, a, b, -1));
}

void kn_instead_of_result(kn_planner *p, kn_phase *ph, int red, kn_instead_fn make, void *ctx)
{
    int old = ph->nest.values.len, *to = KN_NEW_ARRAY(p->arena, int, old + 1);
    kn_phase from = *ph;
    memset(&ph->nest.values, 0, sizeof ph->nest.values);
    for (int i = 0; i < old; i++) {
        kn_value v = from.nest.values.data[i];
        for (int k = 0; k < v.nin; k++)
            v.in[k] = to[v.in[k]];
        to[i] = kn_add_value(p, ph, v);
        if (v.kind == KN_V_RESULT && v.index == red)
            to[i] = make(p, ph, to[i], to, ctx);
    }
    kn_renumber_values(&ph->nest, to);
}
