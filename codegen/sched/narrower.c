/* Narrower vectors of rows that registers hold: where lanes do not share the widest ones of a group evenly, as 32 lanes
 * 24 vectors of 8, and take time to compute, those of half as many elements may leave fewer of them idle. */
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Of those that are predicted to be nearly as quick the widest are taken. */
static const double nearly_same = 0.95;

enum { WARP = 32 };

static bool may_narrow(const kn_site *at, const kn_phase *ph)
{
    const kn_schedule *how = &ph->how;
    const bool plain = !how->unaligned && !how->by_run && !how->linear && !how->tail &&
                       !how->mixed && !how->packed && !how->resident && !how->cluster &&
                       !how->split;
    return at->target->sm && how->walk == KN_WALK_ROWS && plain && how->transposes.len == 0 &&
           how->vec > 2 && !ph->local && !ph->universal && !ph->nest.extents &&
           !kn_is_invariant(ph) && ph->nest.members / how->vec % WARP != 0 &&
           kn_rows_keep(ph, at->target) == KN_KEEP_REGISTERS;
}

bool kn_schedule_narrower(const kn_site *at, const kn_phase *ph, kn_phase *narrower)
{
    if (!may_narrow(at, ph))
        return false;
    const kn_time widest = kn_predict_phase(at, ph);
    double quickest = widest.ns;
    bool any = false;
    for (int vec = ph->how.vec / 2; vec > 1 && widest.work > widest.memory; vec /= 2) {
        kn_phase with = kn_phase_copy(at->arena, ph);
        kn_schedule_as(at->arena, &with, vec);
        const double ns = kn_predict_phase_ns(at, &with);
        if (ns >= nearly_same * quickest)
            continue;
        quickest = ns;
        *narrower = with;
        any = true;
    }
    return any;
}
