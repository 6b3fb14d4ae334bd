/* Split reductions: into how many ranges, and whether that pays. */
#include "codegen/model/machine.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

typedef struct splitting {
    int64_t least_rows, least_cols;   /* members that make a range worth a block */
    int rows_per_unit, cols_per_unit; /* ranges a multiprocessor, or CPU thread */
} splitting;

static const splitting gpu_splitting = {4096, KN_LEAST_OF_COLUMN, 4, 2};
static const splitting cpu_splitting = {16384, KN_LEAST_OF_COLUMN, 1, 1};

/* Bytes that the sweeps of a phase move; `once`: as if each array were loaded once. */
static double bytes_moved(const kn_phase *ph, const kn_buf *bufs, bool once)
{
    double bytes = 0, elements = (double)ph->nest.groups * (double)ph->nest.members;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_element_access(ph, i);
        int sweeps = i < ph->nest.values.len && !once ? ph->nest.values.data[i].sweeps : 1;
        if (acc && kn_access_varies(acc, ph->nest.ngroup, ph->nest.naxes))
            bytes += elements * sweeps * kn_bytes(bufs[acc->buf].dtype);
    }
    return bytes;
}

/* Merging moments, or maxima with their sums, takes two sweeps over the partial results, and more work each. */
static bool merges_twice(const kn_phase *ph)
{
    return kn_has_state(ph, KN_STATE_MOMENTS) || kn_has_state(ph, KN_STATE_PEAK);
}

/* Bytes of the partial results of a range of one group that merging reads. */
static double bytes_merged(const kn_phase *ph)
{
    double bytes = 0;
    for (int r = 0; r < ph->nest.reds.len; r++) {
        const kn_red *red = &ph->nest.reds.data[r];
        const int means = red->op == KN_OP_VAR ? 2 * kn_bytes(KN_F64) : 0; /* in both sweeps */
        bytes += kn_bytes(red->dtype) + means;
    }
    return bytes;
}

/* How long blocks of columns take to merge partial results: their threads wait for four steps at a time, and where all blocks
 * do it, since each goes on with what it has on chip, the last cache serves each range for each of them. */
static double merging_columns_ns(const kn_phase *ph, const kn_machine *m, const kn_range *ranges)
{
    enum { AT_ONCE = 4 };
    const int64_t of_lanes = 512 / KN_COLS_LANES,
                  side = ph->how.interleaved ? kn_members_interleaved(ph) : 0,
                  rows = side > of_lanes ? side : of_lanes;
    const double waits = (double)kn_ceil_div(kn_ceil_div(ranges->n, rows), AT_ONCE) *
                         (merges_twice(ph) ? 2 : 1) * m->latency,
                 parts = (double)ranges->n,
                 bytes = bytes_merged(ph) * (double)ph->nest.groups * parts * parts;
    return ranges->resident && bytes > waits * m->cache ? bytes / m->cache : waits;
}

/* Predicted nanoseconds of a phase once it is split, with a barrier for each combine. The split form is not planned
 * for this; it counts as all its bytes, except resident ones, at nearly the memory's rate, and its phases one after
 * the other. Unaligned rows lose their vectors by it, and count as if their elements were wider (measured:
 * docs/lab/unaligned-rows.md). */
static double split_ns(const kn_phase *ph, const kn_buf *bufs, const kn_target *target,
                       const kn_range *ranges)
{
    const double nearly = kn_phase_stores_elements(ph) ? 1.10 : 1.12, least = 6;
    const kn_machine *m = kn_machine_of(target);
    int stages = 0;
    for (int i = 0; i < ph->nest.reds.len; i++)
        stages = ph->nest.reds.data[i].stage >= stages ? ph->nest.reds.data[i].stage + 1 : stages;
    double bytes = bytes_moved(ph, bufs, false);
    if (ranges->resident)
        bytes -=
            kn_resident_part(ph, target, ranges->length) * (bytes - bytes_moved(ph, bufs, true));
    if (ph->how.unaligned && kn_widest_element(ph, bufs) < least)
        bytes *= least / kn_widest_element(ph, bufs);
    double split = m->launch + nearly * bytes / m->memory + stages * m->grid;
    if (ph->how.walk == KN_WALK_COLS)
        split += stages * merging_columns_ns(ph, m, ranges);
    return split + (stages + 1) * (m->latency + m->block);
}

/* What merging takes longer than a sum, for rows: less than another barrier (docs/model.md). */
static double merging_ns(const kn_phase *ph, const kn_target *target)
{
    return ph->how.walk != KN_WALK_COLS && merges_twice(ph) ? kn_machine_of(target)->merge : 0;
}

bool kn_schedule_splits_in_one(const kn_site *at, const kn_phase *one, const kn_phase *ph)
{
    const kn_range resident = kn_resident_ranges(one, at->target, false);
    return resident.n > 1 &&
           split_ns(one, at->bufs, at->target, &resident) + merging_ns(one, at->target) <
               kn_predict_phase_ns(at, ph);
}

/* A group in several runs that is too large for any cluster. Splitting it moves as many bytes as one block that reads
 * it twice, and shares the kernel for few groups. */
static bool nothing_keeps(const kn_phase *ph, const kn_target *target)
{
    return target->cluster > 1 && kn_walker_for(ph)->walk == KN_WALK_ROWS && !ph->how.cluster &&
           ph->alone && kn_reread_bytes(ph) && !kn_phase_one_run(ph) &&
           kn_rows_keep(ph, target) == KN_KEEP_NONE;
}

/* Ranges that fill the machine, for blocks that keep nothing. `blocks`: of all groups before the split. */
static kn_range ranges_to_fill(const kn_phase *ph, const kn_target *target, int64_t blocks,
                               bool forced)
{
    enum { STEPS_INTERLEAVED = 2 };
    bool cols = ph->how.walk == KN_WALK_COLS;
    const splitting *how = target->sm ? &gpu_splitting : &cpu_splitting;
    int64_t least = forced ? 1 : cols ? how->least_cols : how->least_rows;
    if (ph->how.interleaved && !forced && least < STEPS_INTERLEAVED * kn_members_interleaved(ph))
        least = STEPS_INTERLEAVED * kn_members_interleaved(ph);
    int64_t all = (cols ? how->cols_per_unit : how->rows_per_unit) * target->units;
    int64_t want = all / blocks; /* one wave */
    int64_t most = kn_ceil_div(ph->nest.members, least);
    if (!target->sm && !forced && ph->nest.groups * ph->nest.members < KN_CPU_SPLIT)
        most = 1;
    if (want < 2)
        want = blocks < all || forced ? 2 : 1;
    if (want > most)
        want = most;
    if (want < 2)
        return (kn_range){.n = 1, .length = ph->nest.members};
    kn_range ranges = kn_ranges_of(ph->nest.members, want);
    const int whole = cols && !target->sm ? KN_CPU_MEMBERS : ph->how.tile;
    if (whole) {
        ranges.length = kn_round_up(ranges.length, whole);
        ranges.n = kn_ceil_div(ph->nest.members, ranges.length);
    }
    return ranges;
}

/* However many groups there are: ranges of so many members, of columns, and of long rows that stay nowhere. */
static kn_range invariant_ranges(const kn_phase *ph, const kn_target *target)
{
    enum { OF_COLUMNS = 1024, OF_ROWS = 65536 };
    const int64_t most = ph->how.walk == KN_WALK_COLS ? OF_COLUMNS : OF_ROWS,
                  n = kn_ceil_div(ph->nest.members, most);
    const bool stays = ph->how.cluster || kn_schedule_keep(ph, target) != KN_KEEP_NONE;
    return n < 2 || stays ? (kn_range){.n = 1, .length = ph->nest.members}
                          : kn_ranges_of(ph->nest.members, n);
}

/* Ranges of a shaped phase that fill the machine, on chip where several sweeps read them. */
static kn_range ranges_of(const kn_site *at, const kn_phase *ph, bool forced)
{
    const kn_target *target = at->target;
    const kn_division force = at->force->division;
    const kn_range whole = {.n = 1, .length = ph->nest.members};
    int64_t tile = ph->how.walk != KN_WALK_COLS ? 1
                   : target->sm                 ? kn_cols_width(ph)
                                                : KN_CPU_COLUMNS;
    const int64_t blocks = kn_ceil_div(ph->nest.groups, tile);
    kn_range ranges = force == KN_DIVIDE_SPLIT || ph->invariant
                          ? whole
                          : kn_resident_ranges(ph, target, force == KN_DIVIDE_RESIDENT);
    return ranges.n < 2 ? ranges_to_fill(ph, target, blocks, forced) : ranges;
}

/* Predicted nanoseconds of what has the ranges, with all of its sweeps, and of merging its partial results. */
static double ranges_ns(const kn_site *at, const kn_phase *ph, const kn_range *ranges)
{
    const kn_phase split = kn_with_ranges(ph, ranges);
    return kn_predict_phase_ns(at, &split) +
           merging_columns_ns(ph, kn_machine_of(at->target), ranges);
}

/* Interleaves the phase and sets its ranges, if it will be interleaved with them, and quicker so than with those that it has. */
static void ranges_interleaved(const kn_site *at, kn_phase *ph, bool forced, kn_range *ranges)
{
    kn_phase with = *ph;
    if (ph->how.tile || !kn_interleave(at, &with))
        return;
    const kn_range wide = ranges_of(at, &with, forced);
    kn_phase split = kn_with_ranges(ph, &wide);
    if (wide.n < 2 || !kn_interleave_if_quicker(at, &split) ||
        (ranges->n > 1 && ranges_ns(at, &with, &wide) >= ranges_ns(at, ph, ranges)))
        return;
    *ph = with;
    *ranges = wide;
}

kn_range kn_schedule_splits(const kn_site *at, const kn_phase *ph)
{
    const kn_target *target = at->target;
    const kn_division force = at->force->division;
    bool forced = force == KN_DIVIDE_SPLIT || force == KN_DIVIDE_RESIDENT, gpu = target->sm != 0;
    const kn_range whole = {.n = 1, .length = ph->nest.members};
    if (ph->universal || ph->nest.extents || ph->how.scatter_sum || ph->how.split || ph->local ||
        ph->how.mixed || ph->nest.reds.len == 0 || ph->nest.members < 2 || ph->nest.groups == 0 ||
        (force != KN_DIVIDE_BY_COST && !forced) || (gpu && !target->cooperative))
        return whole;
    if (kn_is_invariant(ph) && !forced)
        return invariant_ranges(ph, target);
    kn_phase split = *ph;
    if (split.how.interleaved) { /* parts may have too few members for that */
        split = kn_phase_copy(at->arena, ph);
        kn_undo_interleaving(at, &split);
    }
    kn_range ranges = ranges_of(at, &split, forced);
    ranges_interleaved(at, &split, forced, &ranges);
    return forced || nothing_keeps(ph, target) ||
                   split_ns(&split, at->bufs, target, &ranges) < kn_predict_phase_ns(at, ph)
               ? ranges
               : whole;
}
