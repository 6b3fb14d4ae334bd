/* Softmax's maximum and sum in one sweep.
 *
 * Before: a raw phase with   m = max(x)             stage t
 *                            s = sum(exp(x - m))    stage t + 1
 * After: s is a part of m's accumulator, which keeps the largest value so far and the sum relative to it, scaled
 * down whenever the largest value grows. x is read once less; values of later stages move one stage up. Worth
 * it where the group does not stay on chip. */
#include "codegen/plan.h"

/* The MAX reduction that is subtracted from its own operand under the exponential; -1 for none. */
static int max_behind(const kn_phase *ph, const kn_red *sum)
{
    const kn_value *values = ph->values.data, *e = &values[sum->value];
    if (sum->op != KN_OP_SUM || e->kind != KN_V_ELEM || e->op != KN_OP_EXP ||
        e->level != KN_ELEMENT)
        return -1;
    const kn_value *d = &values[e->in[0]];
    if (d->kind != KN_V_ELEM || d->op != KN_OP_SUB || values[d->in[1]].kind != KN_V_RESULT)
        return -1;
    int r = values[d->in[1]].index;
    return ph->reds.data[r].op == KN_OP_MAX && ph->reds.data[r].value == d->in[0] ? r : -1;
}

bool kn_use_online(kn_phase *ph)
{
    bool any = false;
    for (int r = 0; r < ph->reds.len; r++) {
        int of = max_behind(ph, &ph->reds.data[r]);
        if (of < 0)
            continue;
        ph->reds.data[r] = ph->reds.data[of];
        ph->reds.data[r].part = KN_PART_EXPSUM;
        any = true;
    }
    if (any)
        kn_restage(ph);
    return any;
}
