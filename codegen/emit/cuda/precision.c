/* Which f32 values need not be exact to the last bit: those that are only used rounded to 16 bits, by themselves, in
 * products and quotients, or, of exponentials, which are positive, in sums. And exponentials of x - max(x) that are only
 * summed. ir/interp_bound.c and ir/interp_reduce.c have their error bounds. */
#include "codegen/emit/cuda/writer.h"
#include "codegen/kir/below_max.h"

/* Is value i a rounding to 16 bits, or an imprecise product or quotient? */
static bool is_imprecise_use(const kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    if (kn_is_elem(v, KN_OP_CAST))
        return kn_is_half(v->dtype);
    return (kn_is_elem(v, KN_OP_MUL) || kn_is_elem(v, KN_OP_DIV)) && w->imprecise[i];
}

static bool is_operand(const kn_value *v, int i)
{
    bool found = false;
    for (int k = 0; k < v->nin; k++)
        found = found || v->in[k] == i;
    return found;
}

/* Is reduction r a sum whose results in the phase are all imprecise? */
static bool is_imprecise_sum(const kn_cuda_writer *w, int r)
{
    const kn_red *red = &w->ph->nest.reds.data[r];
    bool imprecise = red->op == KN_OP_SUM && red->part == KN_PART_RESULT && !red->across;
    for (int s = 0; s < w->ph->nest.stores.len; s++)
        imprecise = imprecise && (w->ph->nest.stores.data[s].kind != KN_STORE_PARTIAL ||
                                  w->ph->nest.stores.data[s].value != r);
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (kn_value_at(w->ph, i)->kind == KN_V_RESULT && kn_value_at(w->ph, i)->index == r)
            imprecise = imprecise && w->imprecise[i];
    return imprecise;
}

/* Do reductions, stores and other phases need no more of value i than its roundings? */
static bool is_only_rounded(const kn_cuda_writer *w, int i)
{
    const kn_phase *ph = w->ph;
    bool imprecise = true;
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (ph->nest.reds.data[r].value == i)
            imprecise =
                imprecise && kn_is_elem(kn_value_at(ph, i), KN_OP_EXP) && is_imprecise_sum(w, r);
    for (int s = 0; s < ph->nest.stores.len; s++)
        imprecise = imprecise && (ph->nest.stores.data[s].kind == KN_STORE_PARTIAL ||
                                  ph->nest.stores.data[s].value != i);
    for (int e = 0; e < ph->exports.len; e++)
        imprecise = imprecise && ph->exports.data[e] != i;
    return imprecise;
}

/* From the last value to the first, for users come after their operands. */
void kn_cuda_find_imprecise(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    w->imprecise = KN_NEW_ARRAY(w->t->arena, bool, ph->nest.values.len + 1);
    for (int i = ph->nest.values.len - 1; i >= 0; i--) {
        bool imprecise = kn_value_at(ph, i)->dtype == KN_F32 && is_only_rounded(w, i);
        for (int u = i + 1; u < ph->nest.values.len && imprecise; u++)
            imprecise = !is_operand(kn_value_at(ph, u), i) || is_imprecise_use(w, u);
        w->imprecise[i] = imprecise;
    }
}

/* An exponential that is only rounded, in no product, quotient or sum, keeps the bound of ir/ops.def. */
bool kn_cuda_imprecise_exp(const kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    if (w->k->fast || !kn_is_elem(v, KN_OP_EXP) || v->dtype != KN_F32)
        return false;
    if (kn_is_summed_below_max(w->ph, i))
        return true;
    bool imprecise = w->imprecise[i];
    for (int u = i + 1; u < w->ph->nest.values.len && imprecise; u++)
        imprecise =
            !is_operand(kn_value_at(w->ph, u), i) || !kn_is_elem(kn_value_at(w->ph, u), KN_OP_CAST);
    return imprecise;
}
