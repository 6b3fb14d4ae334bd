/* Variances that do not cancel.
 *
 * Before: a raw phase with   s = sum(x)   stage t
 *                            d = x - s / n
 *                            q = sum(d * d)   stage t + 1
 * where everything between is exactly that: a lowered var, or one written by hand. The mean is rounded, so q is about
 * a point beside it, which of numbers that are large beside their spread costs most of the digits. After, either
 *
 *   one sweep    q is a reduction of stage t of its own, VAR of x: the sum of squared deviations from the group's
 *                mean, by Welford's update and Chan's merge of (n, mean, M2), on GPUs over deviations from the group's
 *                first member and on CPUs in f64. x is read once less; values of later stages move one stage up. For
 *                groups that do not stay on chip, and on CPUs always.
 *   corrected    what uses q uses  maximum(q - r * (r / n), 0)  with  r = sum(d)  of the same sweep: one accumulator
 *                more, no reading more. r is as small as the rounding of the mean, so nothing cancels; what is left
 *                of it must not make the sum negative where all numbers are the same. For groups that stay on chip,
 *                where a second sweep costs less than Welford's divisions.
 *
 * Both from Chan, Golub, LeVeque, "Algorithms for computing the sample variance", 1983. */
#include <string.h>

#include "codegen/plan.h"

static const kn_value *at(const kn_phase *ph, int i) { return &ph->values.data[i]; }

static bool is_elem(const kn_value *v, kn_op op) { return v->kind == KN_V_ELEM && v->op == op; }

static int64_t members(const kn_phase *ph)
{
    int64_t n = 1;
    for (int a = ph->ngroup; a < ph->naxes; a++)
        n *= ph->axes[a].extent;
    return n;
}

/* Is value i the number of members, converted? */
static bool is_count(const kn_planner *p, const kn_phase *ph, int i)
{
    const kn_value *v = at(ph, i);
    if (is_elem(v, KN_OP_CAST))
        v = at(ph, v->in[0]);
    return v->kind == KN_V_EXTENT && p->extents.data[v->index].value == members(ph);
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

/* Is reduction q = sum((x - mean(x))**2)? Gives x - mean(x). */
static bool is_centred_squares(const kn_planner *p, const kn_phase *ph, const kn_red *q, int *d)
{
    const kn_value *square = at(ph, q->value);
    if (q->op != KN_OP_SUM || !kn_is_float(q->dtype) || !is_elem(square, KN_OP_MUL) ||
        square->in[0] != square->in[1])
        return false;
    *d = square->in[0];
    const kn_value *v = at(ph, *d);
    return is_elem(v, KN_OP_SUB) && at(ph, v->in[0])->level == KN_ELEMENT &&
           sum_behind_mean(p, ph, v->in[1], v->in[0]) >= 0;
}

static int push(kn_planner *p, kn_phase *ph, kn_value v)
{
    for (int k = 0; k < v.nin; k++)
        v.stage = at(ph, v.in[k])->stage > v.stage ? at(ph, v.in[k])->stage : v.stage;
    kn_push(p->arena, &ph->values, v);
    return ph->values.len - 1;
}

static int elem(kn_planner *p, kn_phase *ph, kn_op op, kn_dtype t, int a, int b)
{
    return push(p, ph, (kn_value){.kind = KN_V_ELEM, .op = op, .dtype = t, .in = {a, b}, .nin = 2});
}

/* maximum(q - r * (r / n), 0) of values q, r and n. */
static int corrected(kn_planner *p, kn_phase *ph, int q, int r, int n)
{
    kn_dtype t = at(ph, q)->dtype;
    int zero =
        push(p, ph, (kn_value){.kind = KN_V_CONST, .dtype = t, .value = {.dtype = t, .f = 0}});
    int beside = elem(p, ph, KN_OP_MUL, t, r, elem(p, ph, KN_OP_DIV, t, r, n));
    return elem(p, ph, KN_OP_MAXIMUM, t, elem(p, ph, KN_OP_SUB, t, q, beside), zero);
}

/* Corrects reduction q: behind the value that is its result comes what everybody else uses instead. */
static void correct(kn_planner *p, kn_phase *ph, int q, int d)
{
    int n = at(ph, at(ph, d)->in[1])->in[1], old = ph->values.len;
    int *to = KN_NEW_ARRAY(p->arena, int, old + 1);
    const kn_red sum = {KN_OP_SUM, KN_PART_RESULT, d, at(ph, d)->dtype, at(ph, d)->stage};
    kn_push(p->arena, &ph->reds, sum);
    kn_phase from = *ph;
    memset(&ph->values, 0, sizeof ph->values);
    for (int i = 0; i < old; i++) {
        kn_value v = from.values.data[i];
        for (int k = 0; k < v.nin; k++)
            v.in[k] = to[v.in[k]];
        to[i] = push(p, ph, v);
        if (v.kind != KN_V_RESULT || v.index != q)
            continue;
        v.index = ph->reds.len - 1;
        v.name = NULL;
        to[i] = corrected(p, ph, to[i], push(p, ph, v), to[n]);
    }
    for (int i = 0; i < ph->reds.len; i++)
        ph->reds.data[i].value = to[ph->reds.data[i].value];
    for (int i = 0; i < ph->stores.len; i++)
        ph->stores.data[i].value = to[ph->stores.data[i].value];
}

void kn_use_moments(kn_planner *p, kn_phase *ph, bool one_sweep)
{
    int nreds = ph->reds.len;
    for (int r = 0; r < nreds; r++) {
        int d;
        if (!is_centred_squares(p, ph, &ph->reds.data[r], &d))
            continue;
        if (one_sweep) {
            ph->reds.data[r].op = KN_OP_VAR;
            ph->reds.data[r].value = at(ph, d)->in[0];
        } else if (members(ph) > 0) { /* of nothing the sum is 0, and has no mean */
            correct(p, ph, r, d);
        }
    }
    if (one_sweep)
        kn_restage(ph);
}
