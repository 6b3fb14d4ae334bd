/* How a bound kernel divides by what its groups have, and by which instructions it computes the rest. */
#include "codegen/kir/selection.h"
#include "codegen/sched/bind.h"

/* Is this group value a quotient of f32? */
static bool divides(const kn_value *v)
{
    return v->level == KN_GROUP && v->dtype == KN_F32 && kn_is_elem(v, KN_OP_DIV);
}

/* Of clusters, where a block divides for few groups (docs/lab/division.md); fast math has a division of its own. */
static bool wants_inline_quotients(const kn_kernel *k, const kn_phase *ph)
{
    bool any = false;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        any = any || (divides(v) && !kn_divides_by_count(ph, i));
    }
    return any && ph->how.cluster && !k->fast;
}

void kn_bind_arithmetic(kn_kernel *k, bool given)
{
    for (int p = 0; p < k->phases.len; p++) {
        kn_phase *ph = &k->phases.data[p];
        if (!given || ph->local)
            ph->how.inline_quotients = wants_inline_quotients(k, ph);
        ph->selection = kn_select_phase(k->arena, ph, k->fast);
    }
}
