#include "codegen/kir/below_max.h"

static bool is_zero(const kn_value *v)
{
    return v->kind == KN_V_CONST && kn_is_float(v->dtype) && v->value.f == 0;
}

/* Is value i  m - m == 0, that is, "m is finite"? */
static bool is_finite_of(const kn_phase *ph, int i, int m)
{
    const kn_value *v = kn_value_at(ph, i);
    if (!kn_is_elem(v, KN_OP_EQ) || !is_zero(kn_value_at(ph, v->in[1])))
        return false;
    const kn_value *d = kn_value_at(ph, v->in[0]);
    return kn_is_elem(d, KN_OP_SUB) && d->in[0] == m && d->in[1] == m;
}

kn_subtracted_max kn_find_subtracted_max(const kn_phase *ph, int red)
{
    const kn_subtracted_max none = {-1, -1, -1};
    const kn_red *sum = &ph->nest.reds.data[red];
    const kn_value *e = kn_value_at(ph, sum->value);
    if (sum->op != KN_OP_SUM || sum->across || !kn_is_elem(e, KN_OP_EXP) ||
        e->level != KN_ELEMENT || !kn_is_elem(kn_value_at(ph, e->in[0]), KN_OP_SUB))
        return none;
    const kn_value *d = kn_value_at(ph, e->in[0]), *by = kn_value_at(ph, d->in[1]);
    kn_subtracted_max of = {-1, d->in[1], -1};
    if (kn_is_elem(by, KN_OP_WHERE) && is_zero(kn_value_at(ph, by->in[2])) &&
        is_finite_of(ph, by->in[0], by->in[1])) {
        of.m = by->in[1];
        of.finite = by->in[0];
    }
    const kn_value *m = kn_value_at(ph, of.m);
    if (m->kind != KN_V_RESULT || ph->nest.reds.data[m->index].op != KN_OP_MAX ||
        ph->nest.reds.data[m->index].part != KN_PART_RESULT ||
        ph->nest.reds.data[m->index].value != d->in[0])
        return none;
    of.red = m->index;
    return of;
}

bool kn_is_summed_below_max(const kn_phase *ph, int value)
{
    bool summed = false;
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (ph->nest.reds.data[r].value == value) {
            if (kn_find_subtracted_max(ph, r).red < 0)
                return false;
            summed = true;
        }
    for (int i = value + 1; i < ph->nest.values.len && summed; i++)
        for (int k = 0; k < kn_value_at(ph, i)->nin; k++)
            summed = summed && kn_value_at(ph, i)->in[k] != value;
    for (int s = 0; s < ph->nest.stores.len; s++)
        summed = summed && (ph->nest.stores.data[s].kind == KN_STORE_PARTIAL ||
                            ph->nest.stores.data[s].value != value);
    return summed;
}
