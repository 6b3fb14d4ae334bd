/* Replaces values of a phase, for all their users, by something computed from them. */
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

void kn_remake_values(kn_planner *p, kn_phase *ph, kn_remake_fn rewrite, void *ctx)
{
    int old = ph->nest.values.len, *to = KN_NEW_ARRAY(p->arena, int, old + 1);
    kn_phase from = *ph;
    memset(&ph->nest.values, 0, sizeof ph->nest.values);
    for (int i = 0; i < old; i++) {
        kn_value v = from.nest.values.data[i];
        for (int k = 0; k < v.nin; k++)
            v.in[k] = to[v.in[k]];
        to[i] = rewrite(p, ph, kn_add_value(p, ph, v), to, ctx);
    }
    kn_renumber_values(&ph->nest, to);
}

/* What becomes of the result of one reduction. */
typedef struct instead {
    int red;
    kn_remake_fn make;
    void *ctx;
} instead;

static int result_instead(kn_planner *p, kn_phase *ph, int value, const int *to, void *ctx)
{
    const instead *of = ctx;
    const kn_value *v = kn_value_at(ph, value);
    bool is = v->kind == KN_V_RESULT && v->index == of->red;
    return is ? of->make(p, ph, value, to, of->ctx) : value;
}

void kn_instead_of_result(kn_planner *p, kn_phase *ph, int red, kn_remake_fn make, void *ctx)
{
    instead of = {red, make, ctx};
    kn_remake_values(p, ph, result_instead, &of);
}
