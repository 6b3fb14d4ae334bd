/* Reductions of whole arrays on CPUs, of which some lie transposed: what is split are the members as their outer axes have them.
 * Each index is a group then, and rows go by tiles, which read what lies transposed a line at a time, not once for each element. */
#include "codegen/sched/bind.h"
#include "codegen/sched/sched.h"

/* The phase split so, as far as its prediction goes. */
static double parts_ns(const kn_site *at, const kn_phase *ph, const kn_range *ranges)
{
    kn_phase parts = kn_phase_copy(at->arena, ph);
    parts.how.split = ranges->n > 1;
    parts.num.splits = ranges->n;
    parts.num.chunk = ranges->length;
    return kn_predict_phase_ns(at, &parts);
}

/* The phase whose first n axes of members are groups. */
static kn_phase by_axes(const kn_site *at, const kn_phase *ph, int n)
{
    kn_phase rows = kn_phase_copy(at->arena, ph);
    rows.how = (kn_schedule){0};
    for (int a = ph->nest.ngroup; a < ph->nest.ngroup + n; a++) {
        rows.nest.axes[a].member = false;
        rows.nest.groups *= rows.nest.axes[a].extent;
        rows.nest.members /= rows.nest.axes[a].extent;
    }
    rows.nest.ngroup += n;
    kn_shape_phase(at, &rows);
    return rows;
}

static bool may_have_axes(const kn_site *at, const kn_phase *ph)
{
    return at->target->sm == 0 && at->force->division == KN_DIVIDE_BY_COST && !ph->universal &&
           !ph->nest.extents && !ph->local && !ph->how.split && !ph->how.mixed &&
           !ph->how.scatter_sum && ph->how.walk == KN_WALK_ROWS && ph->nest.reds.len > 0 &&
           ph->nest.ngroup == 0 && ph->nest.members > 0;
}

kn_range kn_schedule_split_axes(const kn_site *at, const kn_phase *ph, const kn_range *ranges)
{
    const double clearly = 0.9;
    kn_range best = *ranges;
    double least = -1;
    uint32_t axes = 0;
    for (int a = 0; a + 1 < ph->nest.naxes && may_have_axes(at, ph); a++) {
        const kn_arena_mark here = kn_arena_here(at->arena);
        const kn_phase rows = by_axes(at, ph, a + 1);
        axes |= ph->nest.axes[a].of;
        if (rows.how.transposes.len && rows.nest.members >= KN_LEAST_OF_COLUMN) {
            const double ns = kn_predict_phase_ns(at, &rows);
            least = least < 0 ? clearly * parts_ns(at, ph, ranges) : least;
            if (ns < least) {
                least = ns;
                best = (kn_range){rows.nest.groups, rows.nest.members, false, axes};
            }
        }
        kn_arena_back(at->arena, here);
    }
    return best;
}
