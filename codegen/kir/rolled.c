#include "codegen/kir/rolled.h"

enum { DEEP = 4 }; /* how many operations deep is looked */

static const kn_value *value_at(const kn_phase *p, int v) { return &p->nest.values.data[v]; }

/* Is it the same number for all lanes, made of sizes and of constants so small that sums of them are exact? */
static bool is_number(const kn_phase *p, int i, int deep)
{
    const kn_value *v = value_at(p, i);
    const int64_t large = INT64_C(1) << 40;
    if (v->dtype != KN_I64 || deep > DEEP)
        return false;
    if (v->kind == KN_V_CONST)
        return v->value.i > -large && v->value.i < large;
    if (v->kind != KN_V_ELEM)
        return v->kind == KN_V_EXTENT;
    if (v->op != KN_OP_COPY && v->op != KN_OP_CAST && v->op != KN_OP_ADD && v->op != KN_OP_SUB &&
        v->op != KN_OP_NEG)
        return false;
    for (int k = 0; k < v->nin; k++)
        if (!is_number(p, v->in[k], deep + 1))
            return false;
    return true;
}

/* Does it grow by one from lane to lane? */
static bool is_own(const kn_phase *p, int axis, int i, int deep)
{
    const kn_value *v = value_at(p, i);
    if (v->dtype != KN_I64 || v->level == KN_GROUP || deep > DEEP)
        return false;
    if (v->kind == KN_V_INDEX)
        return v->access->kind[axis] == KN_STRIDE_ONE;
    if (v->kind != KN_V_ELEM || (v->op != KN_OP_ADD && v->op != KN_OP_SUB))
        return false;
    const bool first = is_own(p, axis, v->in[0], deep + 1) && is_number(p, v->in[1], deep + 1);
    return first || (v->op == KN_OP_ADD && is_number(p, v->in[0], deep + 1) &&
                     is_own(p, axis, v->in[1], deep + 1));
}

static bool find_pieces(const kn_phase *p, int axis, const kn_value *gather, kn_rolled *out)
{
    const kn_value *v = value_at(p, gather->in[0]);
    if (v->kind != KN_V_ELEM || v->op != KN_OP_WHERE || v->level == KN_GROUP)
        return false;
    const kn_value *is = value_at(p, v->in[0]);
    const bool below = is->kind == KN_V_ELEM && (is->op == KN_OP_LT || is->op == KN_OP_LE);
    const bool above = is->kind == KN_V_ELEM && (is->op == KN_OP_GE || is->op == KN_OP_GT);
    if (!below && !above)
        return false;
    *out = (kn_rolled){.own = is->in[0],
                       .limit = is->in[1],
                       .first = v->in[below ? 1 : 2],
                       .other = v->in[below ? 2 : 1],
                       .past = is->op == KN_OP_LE || is->op == KN_OP_GT};
    return is_own(p, axis, out->own, 0) && is_number(p, out->limit, 0) &&
           is_own(p, axis, out->first, 0) && is_own(p, axis, out->other, 0);
}

bool kn_is_rolled(const kn_phase *p, int axis, int i, kn_rolled *out)
{
    const kn_value *v = value_at(p, i);
    return axis >= 0 && v->kind == KN_V_GATHER && v->level != KN_GROUP && v->nin == 1 &&
           !v->access->checked && v->access->kind[axis] == KN_STRIDE_ZERO &&
           find_pieces(p, axis, v, out);
}

void kn_drop_rolled_indices(kn_arena *a, const kn_phase *p, int axis, int sweep, bool *need)
{
    const int n = p->nest.values.len;
    bool *spared,
        *taken; /* by such gathers and what is dropped; by others, stores and reductions */
    kn_rolled of;
    int last = n - 1;
    while (last >= 0 && !(need[last] && kn_is_rolled(p, axis, last, &of)))
        last--;
    if (last < 0)
        return;
    spared = KN_NEW_ARRAY(a, bool, n + 1);
    taken = KN_NEW_ARRAY(a, bool, n + 1);
    kn_phase_takes(p, sweep, taken);
    for (int i = n - 1; i >= 0; i--) {
        const kn_value *v = value_at(p, i);
        if (!need[i])
            continue;
        const bool drops = spared[i] && !taken[i];
        bool *by = drops || kn_is_rolled(p, axis, i, &of) ? spared : taken;
        need[i] = !drops;
        for (int k = 0; k < v->nin; k++)
            by[v->in[k]] = true;
    }
}
