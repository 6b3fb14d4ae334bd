/* What need not be exact to the last bit: f32 values of which nothing is left but roundings to 16 bits, by themselves, in
 * products and quotients, and, of exponentials, which are positive, in sums. ir/interp_bound.c has what they may be off. */
#include "codegen/emit/cuda/writer.h"

/* Is value i all there is of operands that are rounded to 16 bits, or goes into such a one? */
static bool is_rough_use(const kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    if (kn_is_elem(v, KN_OP_CAST))
        return kn_is_half(v->dtype);
    return (kn_is_elem(v, KN_OP_MUL) || kn_is_elem(v, KN_OP_DIV)) && w->rough[i];
}

static bool is_operand(const kn_value *v, int i)
{
    bool found = false;
    for (int k = 0; k < v->nin; k++)
        found = found || v->in[k] == i;
    return found;
}

/* Is reduction r a sum of which every result in the phase is rough? */
static bool is_rough_sum(const kn_cuda_writer *w, int r)
{
    const kn_red *red = &w->ph->nest.reds.data[r];
    bool rough = red->op == KN_OP_SUM && red->part == KN_PART_RESULT && !red->across;
    for (int s = 0; s < w->ph->nest.stores.len; s++)
        rough = rough && (w->ph->nest.stores.data[s].kind != KN_STORE_PARTIAL ||
                          w->ph->nest.stores.data[s].value != r);
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (kn_value_at(w->ph, i)->kind == KN_V_RESULT && kn_value_at(w->ph, i)->index == r)
            rough = rough && w->rough[i];
    return rough;
}

/* Do reductions, stores and other phases want no more of value i? */
static bool leaves_rough(const kn_cuda_writer *w, int i)
{
    const kn_phase *ph = w->ph;
    bool rough = true;
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (ph->nest.reds.data[r].value == i)
            rough = rough && kn_is_elem(kn_value_at(ph, i), KN_OP_EXP) && is_rough_sum(w, r);
    for (int s = 0; s < ph->nest.stores.len; s++)
        rough = rough && (ph->nest.stores.data[s].kind == KN_STORE_PARTIAL ||
                          ph->nest.stores.data[s].value != i);
    for (int e = 0; e < ph->exports.len; e++)
        rough = rough && ph->exports.data[e] != i;
    return rough;
}

/* From the last value to the first: users come behind their operands. */
void kn_cuda_find_imprecise(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    w->rough = KN_NEW_ARRAY(w->t->arena, bool, ph->nest.values.len + 1);
    for (int i = ph->nest.values.len - 1; i >= 0; i--) {
        bool rough = kn_value_at(ph, i)->dtype == KN_F32 && leaves_rough(w, i);
        for (int u = i + 1; u < ph->nest.values.len && rough; u++)
            rough = !is_operand(kn_value_at(ph, u), i) || is_rough_use(w, u);
        w->rough[i] = rough;
    }
}

/* One that is only rounded keeps the bound of ir/ops.def. */
bool kn_cuda_imprecise_exp(const kn_cuda_writer *w, int i)
{
    bool rough = w->rough[i] && !w->k->fast && kn_is_elem(kn_value_at(w->ph, i), KN_OP_EXP);
    for (int u = i + 1; u < w->ph->nest.values.len && rough; u++)
        rough =
            !is_operand(kn_value_at(w->ph, u), i) || !kn_is_elem(kn_value_at(w->ph, u), KN_OP_CAST);
    return rough;
}
