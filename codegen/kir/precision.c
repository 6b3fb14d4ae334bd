#include "codegen/kir/precision.h"

#include "codegen/kir/below_max.h"

/* What is known of the values while they are judged. */
typedef struct precision {
    const kn_phase *ph;
    bool *positive;  /* never negative: a sum of them is relatively no further off than they are */
    bool *imprecise; /* so far, by the values that have been judged */
} precision;

static bool is_positive(const precision *p, int i)
{
    const kn_value *v = kn_value_at(p->ph, i);
    if (v->kind == KN_V_CONST)
        return kn_is_float(v->dtype) && v->value.f > 0;
    if (v->kind != KN_V_ELEM)
        return false;
    switch (v->op) {
    case KN_OP_EXP:
    case KN_OP_ABS: return kn_is_float(v->dtype);
    case KN_OP_MUL: return (p->positive[v->in[0]] && p->positive[v->in[1]]) || v->in[0] == v->in[1];
    case KN_OP_ADD:
    case KN_OP_DIV: return p->positive[v->in[0]] && p->positive[v->in[1]];
    case KN_OP_WHERE: return p->positive[v->in[1]] && p->positive[v->in[2]];
    default: return false;
    }
}

/* Is value u a rounding to 16 bits, or an imprecise value that is off by no more than the sum of its operands' relative
 * errors, besides its own? */
static bool is_imprecise_use(const precision *p, int u)
{
    const kn_value *v = kn_value_at(p->ph, u);
    if (v->kind != KN_V_ELEM)
        return false;
    switch (v->op) {
    case KN_OP_CAST: return kn_is_half(v->dtype);
    case KN_OP_MUL:
    case KN_OP_DIV:
    case KN_OP_NEG:
    case KN_OP_ABS:
    case KN_OP_WHERE: return p->imprecise[u];
    case KN_OP_ADD: return p->imprecise[u] && p->positive[v->in[0]] && p->positive[v->in[1]];
    default: return false;
    }
}

static bool is_operand(const kn_value *v, int i)
{
    bool found = false;
    for (int k = 0; k < v->nin; k++)
        found = found || v->in[k] == i;
    return found;
}

/* Is reduction r a sum whose results in the phase are all imprecise? */
static bool is_imprecise_sum(const precision *p, int r)
{
    const kn_red *red = &p->ph->nest.reds.data[r];
    bool imprecise = red->op == KN_OP_SUM && red->part == KN_PART_RESULT && !red->across;
    for (int s = 0; s < p->ph->nest.stores.len; s++)
        imprecise = imprecise && (p->ph->nest.stores.data[s].kind != KN_STORE_PARTIAL ||
                                  p->ph->nest.stores.data[s].value != r);
    for (int i = 0; i < p->ph->nest.values.len; i++)
        if (kn_value_at(p->ph, i)->kind == KN_V_RESULT && kn_value_at(p->ph, i)->index == r)
            imprecise = imprecise && p->imprecise[i];
    return imprecise;
}

/* Do reductions, stores and other phases need no more of value i than its roundings? */
static bool is_only_rounded(const precision *p, int i)
{
    const kn_phase *ph = p->ph;
    bool imprecise = true;
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (ph->nest.reds.data[r].value == i)
            imprecise =
                imprecise && kn_is_elem(kn_value_at(ph, i), KN_OP_EXP) && is_imprecise_sum(p, r);
    for (int s = 0; s < ph->nest.stores.len; s++)
        imprecise = imprecise && (ph->nest.stores.data[s].kind == KN_STORE_PARTIAL ||
                                  ph->nest.stores.data[s].value != i);
    for (int e = 0; e < ph->exports.len; e++)
        imprecise = imprecise && ph->exports.data[e] != i;
    return imprecise;
}

const bool *kn_find_imprecise(kn_arena *a, const kn_phase *ph)
{
    const int n = ph->nest.values.len;
    precision p = {ph, KN_NEW_ARRAY(a, bool, n + 1), KN_NEW_ARRAY(a, bool, n + 1)};
    for (int i = 0; i < n; i++) {
        p.positive[i] = is_positive(&p, i);
        p.imprecise[i] = kn_value_at(ph, i)->dtype == KN_F32;
    }
    for (int i = n - 1; i >= 0; i--) { /* users come after their operands */
        const kn_value *v = kn_value_at(ph, i);
        p.imprecise[i] = p.imprecise[i] && is_only_rounded(&p, i);
        const bool use = is_imprecise_use(&p, i);
        for (int k = 0; k < v->nin; k++)
            p.imprecise[v->in[k]] = p.imprecise[v->in[k]] && use;
    }
    return p.imprecise;
}

bool kn_is_approximated(const kn_phase *ph, const bool *imprecise, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    if (kn_is_elem(v, KN_OP_DIV))
        return imprecise[i] && v->level == KN_ELEMENT;
    if (!kn_is_elem(v, KN_OP_EXP) || v->dtype != KN_F32)
        return false;
    if (kn_is_summed_below_max(ph, i))
        return true;
    bool approximated = imprecise[i];
    for (int u = i + 1; u < ph->nest.values.len && approximated; u++)
        approximated = approximated && (!is_operand(kn_value_at(ph, u), i) ||
                                        !kn_is_elem(kn_value_at(ph, u), KN_OP_CAST));
    return approximated;
}
