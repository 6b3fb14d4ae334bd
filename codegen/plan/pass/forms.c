/* Which form a phase takes: as it is written, with variances that do not cancel (form/moments.c), or with softmax's maximum and
 * sum in one sweep (form/online.c). */
#include "codegen/plan/nests/planner.h"

/* Nor is shared memory worth a second sweep if that is the last: the variance of 4096 columns of 4096 takes 28 us on an H200 by
 * one, 36 by clusters that keep them; of 64 rows of 4 MB 86 and 111. */
static void use_moments(kn_planner *p, int i)
{
    kn_phase one = kn_phase_copy(p->arena, &p->phases.data[i]);
    if (!kn_use_moments(p, &one, true))
        return;
    kn_count_sweeps(p->arena, &one);
    kn_keep keep = kn_preview_keep(p, i).keep;
    if (keep == KN_KEEP_NONE || (keep == KN_KEEP_SHARED && one.nest.nsweeps == 1))
        p->phases.data[i] = one;
    else
        kn_use_moments(p, &p->phases.data[i], false);
}

void kn_pass_moments(kn_planner *p)
{
    for (int i = 0; i < p->phases.len; i++)
        use_moments(p, i);
}

/* The online form saves a sweep over memory. It also saves shared memory if it leaves nothing to sweep again. And a block that
 * is alone on its multiprocessor has its exponentials to compute while the group comes; but not of 16 bits, whose exponentials
 * after a maximum are rough, and so cheaper: 64 rows of 4 MB of bf16 take 187 us on an H200, and would take 202. */
static void use_where_cheaper(kn_planner *p, int i)
{
    if (p->problem->target->sm == 0)
        return;
    kn_phase online = kn_phase_copy(p->arena, &p->phases.data[i]);
    if (!kn_use_online(p, &online))
        return;
    kn_count_sweeps(p->arena, &online);
    kn_keeping kept = kn_preview_keep(p, i);
    if (kept.keep == KN_KEEP_NONE ||
        (kept.keep != KN_KEEP_REGISTERS && (online.nest.nsweeps == 1 || kept.alone)))
        p->phases.data[i] = online;
}

void kn_pass_online(kn_planner *p)
{
    for (int i = 0; i < p->phases.len; i++)
        use_where_cheaper(p, i);
}
