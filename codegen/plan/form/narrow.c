/* The index of an extreme in 32 bits.
 *
 * Before: a raw phase, not split, with  r = min(where(c, index, 2^63 - 1)) of 64-bit integers
 * After: the same of 32-bit integers, if every index fits; users of r see its result widened, or 2^63 - 1 if c never
 * held.
 *
 * That halves the instructions or the bytes a member, and the shuffles of each combine. */
#include "codegen/plan/form/form.h"

static bool is_number(const kn_value *v, int64_t number)
{
    return v->kind == KN_V_CONST && v->dtype == KN_I64 && v->value.i == number;
}

/* Are all its offsets below 2^31 - 1, which stands for "none"? */
static bool is_small(const kn_phase *ph, const kn_access *acc)
{
    int64_t least = acc->offset, most = acc->offset;
    for (int a = 0; a < ph->nest.naxes; a++) {
        int64_t last = ph->nest.axes[a].extent > 0 ? ph->nest.axes[a].extent - 1 : 0, by;
        if (__builtin_mul_overflow(acc->stride[a], last, &by) ||
            __builtin_add_overflow(by < 0 ? least : most, by, by < 0 ? &least : &most))
            return false;
    }
    return least >= 0 && most < INT32_MAX;
}

static bool finds_index(const kn_phase *ph, const kn_red *red)
{
    const kn_value *v = kn_value_at(ph, red->value);
    if (red->op != KN_OP_MIN || red->dtype != KN_I64 || red->across || ph->how.split || ph->local ||
        !kn_is_elem(v, KN_OP_WHERE))
        return false;
    const kn_value *index = kn_value_at(ph, v->in[1]);
    return index->kind == KN_V_INDEX && index->level == KN_ELEMENT &&
           is_number(kn_value_at(ph, v->in[2]), INT64_MAX) && is_small(ph, index->access);
}

static int number(kn_planner *p, kn_phase *ph, kn_dtype t, int64_t i)
{
    return kn_add_value(p, ph, kn_number((kn_scalar){.dtype = t, .i = i}));
}

static int widen_result(kn_planner *p, kn_phase *ph, int r, const int *to, void *ctx)
{
    (void)to;
    (void)ctx;
    int none = kn_add_elem(p, ph, KN_OP_EQ, KN_BOOL, r, number(p, ph, KN_I32, INT32_MAX));
    int wide = kn_add_elem(p, ph, KN_OP_CAST, KN_I64, r, -1);
    int most = number(p, ph, KN_I64, INT64_MAX);
    return kn_add_value(p, ph, kn_elem(KN_OP_WHERE, KN_I64, none, most, wide));
}

void kn_narrow_indices(kn_planner *p, kn_phase *ph)
{
    for (int r = 0; r < ph->nest.reds.len; r++) {
        kn_red *red = &ph->nest.reds.data[r];
        if (!finds_index(ph, red))
            continue;
        kn_value v = *kn_value_at(ph, red->value), index = *kn_value_at(ph, v.in[1]);
        index.dtype = KN_I32;
        int at = kn_add_value(p, ph, index), none = number(p, ph, KN_I32, INT32_MAX);
        red->value = kn_add_value(p, ph, kn_elem(KN_OP_WHERE, KN_I32, v.in[0], at, none));
        red->dtype = KN_I32;
        for (int i = 0; i < ph->nest.values.len; i++)
            if (ph->nest.values.data[i].kind == KN_V_RESULT && ph->nest.values.data[i].index == r)
                ph->nest.values.data[i].dtype = KN_I32;
        kn_instead_of_result(p, ph, r, widen_result, NULL);
    }
}
