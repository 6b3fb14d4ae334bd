/* Ranges of members, on CPUs, for which rows go by tiles, where some arrays lie transposed: tiles read those a line at a time, not once
 * for each element. Of whole arrays the ranges are the indices of outer axes, which are groups then; rows that are too long for a tile
 * are split into parts that are not. */
#include "codegen/model/machine.h"
#include "codegen/sched/bind.h"
#include "codegen/sched/sched.h"

/* Does any array lie along the last axis, and any along another? */
static bool any_is_transposed(const kn_phase *ph)
{
    const int last = ph->nest.naxes - 1;
    for (int a = 0; a < last; a++)
        if (kn_any_lies_along(ph, a, last) && kn_any_lies_along(ph, last, a))
            return true;
    return false;
}

static bool may_have_tiles(const kn_site *at, const kn_phase *ph)
{
    return at->target->sm == 0 && at->force->division == KN_DIVIDE_BY_COST && !ph->universal &&
           !ph->nest.extents && !ph->local && !ph->how.split && !ph->how.mixed &&
           !ph->how.scatter_sum && !ph->how.transposes.len && ph->how.walk != KN_WALK_FLAT &&
           ph->nest.reds.len > 0 && ph->nest.groups > 0 && ph->nest.members > 0 &&
           any_is_transposed(ph);
}

/* The best so far, and what compares with it. */
typedef struct search {
    const kn_site *at;
    const kn_phase *ph;
    kn_range best;
    double least; /* ns; negative: not known yet */
} search;

/* `rows` is the phase as `ranges` make it. What its sweeps read again comes from memory: they are phases of their own. */
static void consider(search *s, const kn_phase *rows, const kn_range *ranges)
{
    const double clearly = 0.9;
    if (!rows->how.transposes.len)
        return;
    const kn_time time = kn_predict_phase(s->at, rows);
    const double ns = time.ns + (rows->nest.nsweeps - 1) * time.memory;
    if (s->least < 0) {
        const kn_phase split = kn_with_ranges(s->ph, &s->best);
        s->least = clearly * kn_predict_phase_ns(s->at, &split);
    }
    if (ns >= s->least)
        return;
    s->least = ns;
    s->best = *ranges;
}

/* The phase whose first n axes are groups. */
static kn_phase by_axes(const kn_site *at, const kn_phase *ph, int n)
{
    kn_phase rows = kn_phase_copy(at->arena, ph);
    rows.how = (kn_schedule){0};
    for (int a = 0; a < n; a++) {
        rows.nest.axes[a].member = false;
        rows.nest.groups *= rows.nest.axes[a].extent;
        rows.nest.members /= rows.nest.axes[a].extent;
    }
    rows.nest.ngroup = n;
    kn_shape_phase(at, &rows);
    return rows;
}

static void consider_axes(search *s)
{
    uint32_t axes = 0;
    for (int a = 0; a + 1 < s->ph->nest.naxes; a++) {
        const kn_arena_mark here = kn_arena_here(s->at->arena);
        const kn_phase rows = by_axes(s->at, s->ph, a + 1);
        axes |= s->ph->nest.axes[a].of;
        if (rows.nest.members >= KN_LEAST_OF_COLUMN)
            consider(s, &rows, &(kn_range){rows.nest.groups, rows.nest.members, false, axes});
        kn_arena_back(s->at->arena, here);
    }
}

static void consider_parts(search *s)
{
    enum { LONGEST = 8192, SHORTEST = 1024 }; /* of a part: blocks of rows have fewer lanes */
    for (int64_t length = LONGEST; length >= SHORTEST; length /= 2) {
        if (length >= s->ph->nest.members)
            continue;
        const kn_arena_mark here = kn_arena_here(s->at->arena);
        const kn_range ranges = {.n = kn_ceil_div(s->ph->nest.members, length), .length = length};
        kn_phase rows = kn_phase_copy(s->at->arena, s->ph);
        rows.how = (kn_schedule){.split = true};
        rows.num.splits = ranges.n;
        rows.num.chunk = length;
        kn_shape_phase(s->at, &rows);
        consider(s, &rows, &ranges);
        kn_arena_back(s->at->arena, here);
    }
}

kn_range kn_schedule_split_tiles(const kn_site *at, const kn_phase *ph, const kn_range *ranges)
{
    search s = {.at = at, .ph = ph, .best = *ranges, .least = -1};
    if (may_have_tiles(at, ph) && ph->nest.ngroup == 0)
        consider_axes(&s);
    else if (may_have_tiles(at, ph) && ph->nest.naxes == ph->nest.ngroup + 1)
        consider_parts(&s);
    return s.best;
}
