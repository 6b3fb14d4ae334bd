/* Variances without cancellation.
 *
 * Before: a raw phase with   s = sum(x)   stage t
 *                            d = x - s / n
 *                            q = sum(d * d)   stage t + 1
 *
 * and nothing else in between: a lowered var, or one written by hand. The mean is rounded, so q is about a slightly
 * wrong point. Where numbers are large relative to their spread, that costs most of the digits. After, one of
 *
 *   one sweep    q is a reduction of stage t, VAR of x: the sum of squared deviations from the group's mean, by Welford's
 *                update and Chan's merge of (n, mean, M2); on GPUs of deviations from the group's first member, on CPUs in
 *                f64. x is read once less; later values move one stage up. For groups that do not stay on chip, or would
 *                stay in shared memory only for this second sweep, and always on CPUs.
 *   corrected    users of q use  maximum(q - r * (r / n), 0)  with  r = sum(d)  of the same sweep: one accumulator more,
 *                no loads more. r is as small as the rounding of the mean, so nothing cancels; the maximum keeps the
 *                result from becoming negative where all numbers are the same. For groups that stay on chip, where a
 *                second sweep costs less than Welford's divisions.
 *
 * Both from Chan, Golub, LeVeque, "Algorithms for computing the sample variance", 1983. */
#include "codegen/plan/form/form.h"

static int64_t members(const kn_phase *ph)
{
    return kn_nest_count(&ph->nest, ph->nest.ngroup, ph->nest.naxes);
}

/* Is value v a division, or a multiplication, that turns a sum over all members into their mean? */
static bool is_by_count(const kn_planner *p, const kn_phase *ph, const kn_value *v)
{
    const kn_value *n = kn_value_at(ph, v->in[1]);
    double count = (double)members(ph);
    if (n->kind == KN_V_CONST && kn_is_float(n->dtype))
        return kn_is_elem(v, KN_OP_DIV)   ? n->value.f == count
               : kn_is_elem(v, KN_OP_MUL) ? n->value.f * count == 1
                                          : false;
    if (kn_is_elem(n, KN_OP_CAST))
        n = kn_value_at(ph, n->in[0]);
    return kn_is_elem(v, KN_OP_DIV) && n->kind == KN_V_EXTENT &&
           p->extents.data[n->index].value == members(ph);
}

/* The SUM reduction of x of which value m is the mean; -1: it is none. */
static int sum_behind_mean(const kn_planner *p, const kn_phase *ph, int m, int x)
{
    const kn_value *v = kn_value_at(ph, m);
    if (v->kind != KN_V_ELEM || v->nin != 2 || kn_value_at(ph, v->in[0])->kind != KN_V_RESULT ||
        !is_by_count(p, ph, v))
        return -1;
    int r = kn_value_at(ph, v->in[0])->index;
    return ph->nest.reds.data[r].op == KN_OP_SUM && ph->nest.reds.data[r].value == x ? r : -1;
}

/* Is reduction q = sum((x - mean(x))**2)? *d is x - mean(x) then. */
static bool is_centred_squares(const kn_planner *p, const kn_phase *ph, const kn_red *q, int *d)
{
    const kn_value *square = kn_value_at(ph, q->value);
    if (q->op != KN_OP_SUM || !kn_is_float(q->dtype) || !kn_is_elem(square, KN_OP_MUL) ||
        square->in[0] != square->in[1])
        return false;
    *d = square->in[0];
    const kn_value *v = kn_value_at(ph, *d);
    return kn_is_elem(v, KN_OP_SUB) && kn_value_at(ph, v->in[0])->level == KN_ELEMENT &&
           sum_behind_mean(p, ph, v->in[1], v->in[0]) >= 0;
}

/* What a correction needs: reduction r, and n as a value before the rewrite. */
typedef struct correction {
    int r, n;
} correction;

/* maximum(q - r * (r / n), 0) for the value q. */
static int corrected(kn_planner *p, kn_phase *ph, int q, const int *to, void *ctx)
{
    const correction *by = ctx;
    kn_dtype t = kn_value_at(ph, q)->dtype;
    kn_value result = *kn_value_at(ph, q);
    result.index = by->r;
    result.name = NULL;
    int r = kn_add_value(p, ph, result), n = to[by->n];
    int zero = kn_add_value(p, ph, kn_number((kn_scalar){.dtype = t}));
    int excess = kn_add_elem(p, ph, KN_OP_MUL, t, r, kn_add_elem(p, ph, KN_OP_DIV, t, r, n));
    return kn_add_elem(p, ph, KN_OP_MAXIMUM, t, kn_add_elem(p, ph, KN_OP_SUB, t, q, excess), zero);
}

/* Corrects reduction q by sum(d). */
static void correct(kn_planner *p, kn_phase *ph, int q, int d)
{
    correction by = {ph->nest.reds.len, kn_value_at(ph, kn_value_at(ph, d)->in[1])->in[1]};
    const kn_red sum = {.op = KN_OP_SUM,
                        .value = d,
                        .dtype = kn_value_at(ph, d)->dtype,
                        .stage = kn_value_at(ph, d)->stage};
    kn_push(p->arena, &ph->nest.reds, sum);
    kn_instead_of_result(p, ph, q, corrected, &by);
}

int kn_count_behind_mean(const kn_planner *p, const kn_phase *ph, int x)
{
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        if (!kn_is_elem(v, KN_OP_DIV) || kn_value_at(ph, v->in[0])->kind != KN_V_RESULT ||
            !is_by_count(p, ph, v))
            continue;
        const kn_red *of = &ph->nest.reds.data[kn_value_at(ph, v->in[0])->index];
        const kn_value *by = kn_value_at(ph, v->in[1]);
        if (of->value == x && (of->op == KN_OP_SUM || of->op == KN_OP_VAR))
            return kn_is_elem(by, KN_OP_CAST) ? by->in[0] : v->in[1];
    }
    return -1;
}

bool kn_has_moments(const kn_planner *p, const kn_phase *ph)
{
    bool has = false;
    for (int r = 0, d; r < ph->nest.reds.len && !has; r++)
        has = is_centred_squares(p, ph, &ph->nest.reds.data[r], &d);
    return has;
}

bool kn_use_moments(kn_planner *p, kn_phase *ph, bool one_sweep)
{
    bool any = false;
    int nreds = ph->nest.reds.len;
    for (int r = 0; r < nreds; r++) {
        int d;
        if (!is_centred_squares(p, ph, &ph->nest.reds.data[r], &d))
            continue;
        any = true;
        if (one_sweep) {
            ph->nest.reds.data[r].op = KN_OP_VAR;
            ph->nest.reds.data[r].value = kn_value_at(ph, d)->in[0];
        } else if (members(ph) > 0) { /* without members the sum is 0, and there is no mean */
            correct(p, ph, r, d);
        }
    }
    if (any && one_sweep)
        kn_restage(ph);
    return any;
}
