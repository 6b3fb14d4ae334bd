#include "runtime/cpu/narrow.h"

#include <string.h>

#include "codegen/emit/c/c.h"

/* The axis of a run, and its groups: all there are, or those at an index of the axes before it. */
static int run_axis(const kn_phase *p) { return p->nest.ngroup - 1; }
static int64_t run_of(const kn_phase *p) { return p->nest.axes[run_axis(p)].extent; }

/* Does element g + n * m from where a run begins belong to its group g and member m, of n groups? Or one element to all? */
static bool is_dense(const kn_phase *p, const kn_access *a)
{
    const int run = run_axis(p), member = p->nest.ngroup;
    if (a->kind[run] == KN_STRIDE_ZERO && a->kind[member] == KN_STRIDE_ZERO)
        return true;
    const bool lanes =
        a->kind[run] == KN_STRIDE_ONE || (a->kind[run] == KN_STRIDE_PARAM && a->stride[run] == 1);
    return lanes && a->kind[member] == KN_STRIDE_PARAM && a->stride[member] == run_of(p);
}

static bool are_dense(const kn_phase_plan *plan, const kn_phase *p)
{
    for (int t = 0; t < plan->nstages; t++)
        for (int i = 0; i < plan->stages[t].accesses.len; i++) {
            const kn_access_ref *ref = &plan->accesses.data[plan->stages[t].accesses.data[i]];
            if (!is_dense(p, kn_access_of(p, ref)))
                return false;
        }
    return true;
}

/* Do members of a run follow each other without gaps? */
static bool is_one_piece(const kn_phase_plan *plan, const kn_phase *p)
{
    if (!kn_c_can_be_narrow(p) || plan->ordered || (p->nest.ngroup > 1 && run_of(p) == 1))
        return false;
    for (int r = 0; r < p->nest.reds.len; r++)
        if (p->nest.reds.data[r].by)
            return false;
    return are_dense(plan, p);
}

int64_t kn_cpu_can_lie_beside(const kn_phase_plan *plan, const kn_phase *p)
{
    if (p->nest.ngroup == 0 || kn_is_invariant(p))
        return 1;
    const int64_t beside = kn_beside(run_of(p));
    return p->nest.members >= 4 * beside && is_one_piece(plan, p) ? beside : 1;
}

/* Is a run of columns one tile? */
static bool is_tile(const kn_job *job)
{
    const kn_c_cut *const cut = &job->cut;
    return job->cols && (cut->run ? cut->run_step : cut->most) >= run_of(job->phase);
}

int64_t kn_cpu_beside(const kn_job *job)
{
    if (!is_tile(job))
        return 1;
    const int64_t beside = kn_cpu_can_lie_beside(job->plan, job->phase);
    return job->cut.parts == 1 || job->cut.part % beside == 0 ? beside : 1;
}

int64_t kn_cpu_wide(const kn_job *job)
{
    const kn_phase *const p = job->phase;
    const kn_c_cut *const cut = &job->cut;
    if (!is_tile(job) || (p->nest.ngroup > 1 && !cut->run) || !is_one_piece(job->plan, p))
        return 1;
    const int64_t most = kn_lesser(KN_WIDE, job->plan->col_lanes) / kn_greater(1, run_of(p));
    int64_t wide = 1;
    while (2 * wide <= most && 8 * wide <= cut->part &&
           (cut->parts == 1 || cut->part % (2 * wide) == 0))
        wide *= 2;
    return wide;
}

void kn_cpu_side_numbers(const kn_phase *p, int64_t beside, int64_t *numbers)
{
    numbers[run_axis(p)] *= beside;
    numbers[p->nest.ngroup] /= beside;
    for (int v = 0; v < p->nest.values.len; v++)
        if (kn_has_access(&p->nest.values.data[v]))
            numbers[kn_c_member_stride(p, false, v)] *= beside;
    for (int s = 0; s < p->nest.stores.len; s++)
        numbers[kn_c_member_stride(p, true, s)] *= beside;
}

void kn_cpu_side_make(kn_cpu_side *s, const kn_job *job, int64_t beside, kn_lane_access *lanes)
{
    s->job = *job;
    s->phase = *job->phase;
    s->job.phase = &s->phase;
    s->job.lanes = lanes;
    s->phase.nest.axes[run_axis(job->phase)].extent *= beside;
    s->phase.nest.axes[job->phase->nest.ngroup].extent /= beside;
    s->phase.nest.groups *= beside;
    s->phase.nest.members /= beside;
    for (int a = 0; a < job->plan->accesses.len; a++) {
        kn_lane_access *l = &lanes[a];
        *l = job->lanes[a];
        l->rank = 1;
        l->extent[0] = run_of(&s->phase);
        l->stride[0] = l->outer[0] ? l->bytes : 0;
        l->outer[0] *= beside;
        l->carry[0] = l->outer[0];
    }
}
