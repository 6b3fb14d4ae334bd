/* Chooses the form of a phase: as written, with indices that wrap around without
 * a division (form/wrap.c), with variances without cancellation (form/moments.c), or with softmax's
 * maximum and sum in one sweep (form/online.c). */
#include "codegen/plan/form/form.h"
#include "codegen/plan/pass/passes.h"
#include "codegen/sched/sched.h"

void kn_pass_wraps(kn_planner *p)
{
    for (int i = 0; i < p->phases.len; i++)
        if (!p->phases.data[i].nest.extents)
            kn_wrap_indices(p, &p->phases.data[i]);
}

/* In one sweep where nothing keeps groups, or only shared memory and only for this second sweep (measured:
 * docs/lab/one-sweep-variance.md). */
static void use_moments(kn_planner *p, int i)
{
    if (!kn_has_moments(p, &p->phases.data[i]))
        return;
    kn_phase one = kn_phase_copy(p->arena, &p->phases.data[i]);
    kn_use_moments(p, &one, true);
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

/* Is a phase, of which one sweep is left in the online form, predicted to be quicker so? */
static bool is_quicker_online(kn_planner *p, const kn_phase *online, const kn_phase *as_written)
{
    const kn_site at = kn_planner_site(p);
    return !p->problem->invariant && online->nest.nsweeps == 1 &&
           kn_predict_phase_ns(&at, kn_shaped_with_other_vectors(p, kn_preview(p, online))) <
               kn_predict_phase_ns(&at, kn_shaped_with_other_vectors(p, kn_preview(p, as_written)));
}

/* The online form saves a sweep over memory, and saves shared memory if no later sweep reads the group. Where registers
 * keep the group, it saves a combine. A block that is alone on its multiprocessor computes its exponentials while the group
 * arrives; not of 16 bits, whose exponentials behind a known maximum are approximate, and so cheaper (measured:
 * docs/lab/rows-larger-than-a-cluster.md). */
static void use_where_cheaper(kn_planner *p, int i)
{
    if (p->problem->target->sm == 0 || !kn_has_online(&p->phases.data[i]))
        return;
    kn_phase online = kn_phase_copy(p->arena, &p->phases.data[i]);
    kn_use_online(p, &online);
    kn_count_sweeps(p->arena, &online);
    kn_keeping kept = kn_preview_keep(p, i);
    const bool pays = kept.keep == KN_KEEP_NONE ? true
                      : kept.keep == KN_KEEP_REGISTERS
                          ? is_quicker_online(p, &online, &p->phases.data[i])
                          : online.nest.nsweeps == 1 || kept.alone;
    if (pays)
        p->phases.data[i] = online;
}

void kn_pass_online(kn_planner *p)
{
    for (int i = 0; i < p->phases.len; i++)
        use_where_cheaper(p, i);
}
