/* How a phase would be scheduled: for passes that decide by it. */
#include "codegen/plan/form/form.h"

kn_shaped *kn_preview(kn_planner *p, const kn_phase *phase)
{
    return kn_shape(p, phase, 1,
                    p->phases.len == 1 || !p->problem->fusion || p->problem->invariant);
}

kn_range kn_preview_splits(kn_planner *p, kn_shaped *preview)
{
    const kn_site at = kn_planner_site(p);
    if (!preview->divided) {
        const kn_range ranges = kn_schedule_splits(&at, preview->phases);
        preview->ranges = kn_schedule_split_tiles(&at, preview->phases, &ranges);
    }
    preview->divided = true;
    return preview->ranges;
}

/* Is a phase that has a cluster quicker split over the whole machine, and resident, with as few sweeps, and barriers
 * then, as can be? Asked where its blocks have a multiprocessor each, so that clusters take turns: below it gains
 * little, and would be one kernel more for small groups. */
static bool splits_in_one(kn_planner *p, int i, const kn_phase *ph)
{
    if (kn_is_invariant(ph) ||
        ph->num.chunk * kn_reread_each(ph) * 2 <= p->problem->target->smem_block ||
        p->force->division != KN_DIVIDE_BY_COST)
        return false;
    kn_phase one = kn_phase_copy(p->arena, &p->phases.data[i]);
    kn_use_moments(p, &one, true);
    kn_use_online(p, &one);
    const kn_phase *split = kn_preview(p, &one)->phases;
    const kn_site at = kn_planner_site(p);
    return kn_schedule_splits_in_one(&at, split, ph);
}

kn_keeping kn_preview_keep(kn_planner *p, int i)
{
    kn_shaped *preview = kn_preview(p, &p->phases.data[i]);
    const kn_phase *ph = preview->phases;
    kn_keeping kept = {.alone =
                           ph->how.rest_in_registers && kn_reread_element(ph) >= kn_bytes(KN_F32)};
    if (kn_preview_splits(p, preview).n > 1 || (ph->how.cluster && splits_in_one(p, i, ph)))
        return kept;
    kept.keep = kn_schedule_keep(ph, p->problem->target);
    if (kept.keep && ph->how.cluster)
        kept.keep = KN_KEEP_SHARED;
    return kept;
}
