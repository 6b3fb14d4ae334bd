/* Steps of whole planes. Members of several axes, of which a thread takes every 512th, have indices that it divides for in each
 * step. A plane is what the last of these axes have; where a step takes whole planes, a thread stays at its place in
 * them, and goes on by so many planes:
 *
 *     members N x H x W, H x W = 25      512 threads take 20 planes, 500 members; 12 have none
 *
 * The indices along H and W are then found once a group, and what belongs to them is the same in all steps; along N they
 * advance by the same number, and offsets by the same multiple of it. That saves 10 to 40 % of a loop's instructions, so a few
 * threads may have no members (counted: docs/lab/indices-of-several-axes.md). */
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Planes are for loops that keep nothing on chip and load directly, without copies or tiles. */
static bool may_have_planes(const kn_phase *ph)
{
    const kn_schedule *how = &ph->how;
    return !ph->universal && !ph->nest.extents && !ph->local && how->walk != KN_WALK_FLAT &&
           kn_stepped_axes(ph) > 1 && !how->steps && !how->linear && !how->unaligned &&
           !how->by_run && !how->tail && !how->packed && !how->interleaved && !how->tile &&
           !how->scatter_sum && !how->cluster && !how->mixed && !how->async &&
           how->holds.len == 0 && how->transposes.len == 0 && !kn_phase_in_order(ph) &&
           (!how->split || kn_is_cyclic(ph));
}

int kn_axes_of_planes(const kn_phase *ph)
{
    /* Steps of a thread, at least; and of so many, one more at most. */
    enum { STEPS = 4, ONE_MORE = 12 };
    if (!may_have_planes(ph))
        return 0;
    const int64_t all = kn_threads_step(ph),
                  members = ph->how.split ? ph->num.chunk : ph->nest.members,
                  steps = kn_ceil_div(members, all);
    for (int axes = kn_stepped_axes(ph) - 1; axes > 0 && steps >= STEPS; axes--) {
        const int64_t plane = kn_plane(ph, axes), whole = plane > 0 ? all / plane * plane : 0;
        if (plane > 1 && whole > 0 && (ph->how.walk == KN_WALK_COLS || plane % ph->how.vec == 0) &&
            kn_ceil_div(members, whole) * ONE_MORE <= steps * (ONE_MORE + 1))
            return axes;
    }
    return 0;
}
