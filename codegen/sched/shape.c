/* The shape of a phase: see bind.h. */
#include "codegen/sched/bind.h"

void kn_shape_phase(const kn_site *at, kn_phase *ph)
{
    const kn_force *force = at->force;
    if (!ph->how.split && !ph->how.mixed) {
        ph->num.splits = 1;
        ph->num.chunk = ph->nest.members;
    }
    kn_count_sweeps(at->arena, ph);
    if (ph->local)
        return;
    ph->how.walk = kn_walker_for(ph)->walk;
    kn_schedule_vectors(ph, at->align, at->bufs, at->target);
    if (force->division == KN_DIVIDE_BY_COST)
        kn_schedule_packed(at->arena, ph, at->align, at->bufs, at->target, force->max_threads);
    if (ph->how.packed)
        return;
    kn_schedule_transposes(at->arena, ph, at->align, at->bufs, at->target, force->division);
    kn_schedule_cluster(at->arena, ph, at->bufs, at->nbufs, at->target, force->division,
                        force->cluster, force->max_threads);
    kn_schedule_columns(ph, at->target, force->division, force->cluster);
}
