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
#include "codegen/plan/form/form.h"

static bool is_zero(const kn_value *v)
{
    return v->kind == KN_V_CONST && kn_is_float(v->dtype) && v->value.f == 0;
}

/* Is value i  m - m == 0, that is, "m is finite"? */
static bool is_finite_of(const kn_phase *ph, int i, int m)
{
    const kn_value *v = kn_value_at(ph, i);
    if (!kn_is_elem(v, KN_OP_EQ) || !is_zero(kn_value_at(ph, v->in[1])))
        return false;
    const kn_value *d = kn_value_at(ph, v->in[0]);
    return kn_is_elem(d, KN_OP_SUB) && d->in[0] == m && d->in[1] == m;
}

/* The maximum that is subtracted under the exponential. */
typedef struct subtracted_max {
    int red;    /* its reduction; -1: none */
    int m;      /* the value that is its result */
    int finite; /* the value that is "m is finite"; -1: m is always subtracted */
} subtracted_max;

static subtracted_max find_subtracted_max(const kn_phase *ph, const kn_red *sum)
{
    const subtracted_max none = {-1, -1, -1};
    const kn_value *e = kn_value_at(ph, sum->value);
    if (sum->op != KN_OP_SUM || !kn_is_elem(e, KN_OP_EXP) || e->level != KN_ELEMENT ||
        !kn_is_elem(kn_value_at(ph, e->in[0]), KN_OP_SUB))
        return none;
    const kn_value *d = kn_value_at(ph, e->in[0]), *by = kn_value_at(ph, d->in[1]);
    subtracted_max of = {-1, d->in[1], -1};
    if (kn_is_elem(by, KN_OP_WHERE) && is_zero(kn_value_at(ph, by->in[2])) &&
        is_finite_of(ph, by->in[0], by->in[1])) {
        of.m = by->in[1];
        of.finite = by->in[0];
    }
    const kn_value *m = kn_value_at(ph, of.m);
    if (m->kind != KN_V_RESULT || ph->nest.reds.data[m->index].op != KN_OP_MAX ||
        ph->nest.reds.data[m->index].part != KN_PART_RESULT ||
        ph->nest.reds.data[m->index].value != d->in[0])
        return none;
    of.red = m->index;
    return of;
}

/* where(finite, s, exp(m)) */
static int unless_infinite(kn_planner *p, kn_phase *ph, int s, const int *to, void *ctx)
{
    const subtracted_max *of = ctx;
    kn_dtype t = kn_value_at(ph, s)->dtype;
    int e = kn_add_elem(p, ph, KN_OP_EXP, t, to[of->m], -1);
    return kn_add_value(p, ph, kn_elem(KN_OP_WHERE, t, to[of->finite], s, e));
}

bool kn_use_online(kn_planner *p, kn_phase *ph)
{
    bool any = false;
    for (int r = 0; r < ph->nest.reds.len; r++) {
        subtracted_max of = find_subtracted_max(ph, &ph->nest.reds.data[r]);
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
