/* Softmax's maximum and sum in one sweep.
 *
 * Before: a raw phase with   m = max(x)             stage t
 *                            s = sum(exp(x - m))    stage t + 1
 * or logsumexp's             s = sum(exp(x - where(m is finite, m, 0)))
 *
 * After: s is a part of m's accumulator, which has the largest value so far and the sum relative to it, rescaled
 * whenever the largest value grows. x is read once less; later values move one stage up. It pays where the group does
 * not stay on chip.
 *
 * An m that is not finite makes the first form of s NaN, in the accumulator too. The second form then uses exp(m)
 * instead: members that are all -inf add up to 0, one that is inf to inf. */
#include "codegen/kir/below_max.h"
#include "codegen/plan/form/form.h"

/* where(finite, s, exp(m)) */
static int unless_infinite(kn_planner *p, kn_phase *ph, int s, const int *to, void *ctx)
{
    const kn_subtracted_max *of = ctx;
    kn_dtype t = kn_value_at(ph, s)->dtype;
    int e = kn_add_elem(p, ph, KN_OP_EXP, t, to[of->m], -1);
    return kn_add_value(p, ph, kn_elem(KN_OP_WHERE, t, to[of->finite], s, e));
}

bool kn_has_online(const kn_phase *ph)
{
    bool has = false;
    for (int r = 0; r < ph->nest.reds.len && !has; r++)
        has = kn_find_subtracted_max(ph, r).red >= 0;
    return has;
}

bool kn_use_online(kn_planner *p, kn_phase *ph)
{
    bool any = false;
    for (int r = 0; r < ph->nest.reds.len; r++) {
        kn_subtracted_max of = kn_find_subtracted_max(ph, r);
        if (of.red < 0)
            continue;
        if (of.finite >= 0)
            kn_instead_of_result(p, ph, r, unless_infinite, &of);
        ph->nest.reds.data[r] = ph->nest.reds.data[of.red];
        ph->nest.reds.data[r].part = KN_PART_EXPSUM;
        any = true;
    }
    if (any)
        kn_restage(ph);
    return any;
}
