/* Interleaved columns: codegen/sched/interleaved.c says what they are. */
#include "codegen/kir/phase.h"

/* Does each member begin where the one before it ends, or is it one element, of all columns? */
static bool is_interleaved(const kn_phase *ph, const kn_access *acc, bool counts)
{
    const int column = ph->nest.ngroup - 1, member = ph->nest.naxes - 1;
    const int64_t step = acc->stride[column];
    return step == 0 ||
           (acc->stride[member] == step * ph->nest.axes[column].extent && (counts || step == 1));
}

static bool value_suits(const kn_phase *ph, const kn_value *v)
{
    if (v->kind == KN_V_GATHER || v->kind == KN_V_RANK)
        return false;
    return v->level == KN_GROUP || !kn_has_access(v) ||
           is_interleaved(ph, v->access, v->kind == KN_V_INDEX);
}

static bool store_suits(const kn_phase *ph, const kn_store *s)
{
    if (s->kind != KN_STORE_ELEMENT)
        return !s->sends && !kn_stores_across(ph, s);
    return !s->once && is_interleaved(ph, &s->access, false);
}

bool kn_suits_interleaving(const kn_phase *ph)
{
    bool suits = ph->nest.ngroup > 0 && kn_phase_one_run(ph) && !kn_phase_in_order(ph) &&
                 (ph->nest.reds.len > 0 || ph->how.split);
    for (int i = 0; suits && i < ph->nest.values.len; i++)
        suits = value_suits(ph, kn_value_at(ph, i));
    for (int i = 0; suits && i < ph->nest.stores.len; i++)
        suits = store_suits(ph, &ph->nest.stores.data[i]);
    return suits;
}
