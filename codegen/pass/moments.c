/* Variance in one sweep.
 *
 * Before: a raw phase with   s = sum(x)   stage t
 *                            d = x - s / n
 *                            q = sum(d * d)   stage t + 1
 * where everything between is exactly that. After: q is a reduction of stage t of its own, VAR of x: the sum
 * of squared deviations from the group's mean, by Welford's update and Chan's merge of (n, mean, M2) over
 * deviations from the group's first member (Chan, Golub, LeVeque 1983), so nothing cancels. x is read once less;
 * values of later stages move one stage up. Worth it where the group does not stay on chip. */
#include "codegen/plan.h"

static const kn_value *at(const kn_phase *ph, int i) { return &ph->values.data[i]; }

static bool is_elem(const kn_value *v, kn_op op) { return v->kind == KN_V_ELEM && v->op == op; }

/* Is value i the number of members, converted? */
static bool is_count(const kn_planner *p, const kn_phase *ph, int i)
{
    const kn_value *v = at(ph, i);
    if (is_elem(v, KN_OP_CAST))
        v = at(ph, v->in[0]);
    int64_t members = 1;
    for (int a = ph->ngroup; a < ph->naxes; a++)
        members *= ph->axes[a].extent;
    return v->kind == KN_V_EXTENT && p->extents.data[v->index].value == members;
}

/* The SUM reduction of x whose mean is value m, or -1. */
static int sum_behind_mean(const kn_planner *p, const kn_phase *ph, int m, int x)
{
    const kn_value *v = at(ph, m);
    if (!is_elem(v, KN_OP_DIV) || at(ph, v->in[0])->kind != KN_V_RESULT ||
        !is_count(p, ph, v->in[1]))
        return -1;
    int r = at(ph, v->in[0])->index;
    return ph->reds.data[r].op == KN_OP_SUM && ph->reds.data[r].value == x ? r : -1;
}

/* Is reduction q = sum((x - mean(x))**2)? Gives x. */
static bool is_centred_squares(const kn_planner *p, const kn_phase *ph, const kn_red *q, int *x)
{
    const kn_value *square = at(ph, q->value);
    if (q->op != KN_OP_SUM || !kn_is_float(q->dtype) || !is_elem(square, KN_OP_MUL) ||
        square->in[0] != square->in[1])
        return false;
    const kn_value *d = at(ph, square->in[0]);
    if (!is_elem(d, KN_OP_SUB) || at(ph, d->in[0])->level != KN_ELEMENT)
        return false;
    *x = d->in[0];
    return sum_behind_mean(p, ph, d->in[1], *x) >= 0;
}

bool kn_use_moments(kn_planner *p, kn_phase *ph)
{
    bool any = false;
    for (int r = 0; r < ph->reds.len; r++) {
        int x;
        if (!is_centred_squares(p, ph, &ph->reds.data[r], &x))
            continue;
        ph->reds.data[r].op = KN_OP_VAR;
        ph->reds.data[r].value = x;
        any = true;
    }
    if (any)
        kn_restage(ph);
    return any;
}
