/* Columns that are read again: how wide a block's tile is, and whether the blocks of a cluster share its members, and how
 * many. Rules, measured (docs/lab/columns-on-chip.md), choose where the machine is full; where it is not, what is
 * predicted to be quickest.
 *
 * Columns too tall for a block are shared by the blocks of a cluster; of those that are stored transposed and still too
 * tall, tiles are half a cache line wide. Tiles are wider than a line where members are few, or few blocks share them.
 * Three blocks share a multiprocessor where there are clusters. Transposed stores write whole lines in any case, so that
 * half a line a tile is better than more than 8 blocks that wait for each other; others are split instead. */
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

enum {
    TWO_LINE_BLOCKS = 4, /* most blocks of a cluster whose tiles are two lines wide */
    FEW_BLOCKS = 8,      /* of a cluster: at every combine each waits for the last */
};

/* Narrows tiles until at most `line` bytes of what is kept are contiguous; they keep their size by more members, if there
 * are so many. */
static void narrow(kn_phase *ph, int line)
{
    int width = kn_cols_width(ph);
    while (kn_reread_line(ph) > line && ph->how.lanes > 1)
        ph->how.lanes /= 2;
    ph->how.tile = kn_tile_that_fits(ph, ph->how.tile * width / kn_cols_width(ph));
}

/* For one block a tile. Few members leave room for wider ones, which memory likes better, unless something is
 * transposed. */
static void narrow_alone(kn_phase *ph, const kn_target *target)
{
    int line = kn_reread_line(ph);
    kn_phase with = *ph;
    while (line > KN_LINE_BYTES &&
           (ph->how.tile || kn_cols_kept_bytes(&with) > KN_FULL_COLUMNS ||
            kn_ceil_div(ph->nest.groups, kn_cols_width(&with)) < 3 * target->units)) {
        line /= 2;
        with = *ph;
        narrow(&with, line);
    }
    narrow(ph, line > KN_LINE_BYTES ? line : KN_LINE_BYTES);
}

/* Transposes in registers, if all transposed accesses are stores and by vectors. */
static void transpose_in_registers(kn_phase *ph, bool wanted)
{
    for (int i = 0; i < ph->how.transposes.len; i++)
        wanted = wanted && ph->how.transposes.data[i].store && ph->how.transposes.data[i].vec > 1 &&
                 !ph->how.transposes.data[i].dense;
    for (int i = 0; i < ph->how.transposes.len; i++)
        ph->how.transposes.data[i].in_registers = wanted;
}

/* Do clusters of two-line tiles run in several waves? In one wave fewer blocks with one-line tiles are faster
 * (measured: docs/lab/columns-on-chip.md). */
static bool runs_in_waves(const kn_phase *ph, const kn_target *target)
{
    kn_phase with = *ph;
    narrow(&with, 2 * KN_LINE_BYTES);
    return kn_ceil_div(ph->nest.groups, kn_cols_width(&with)) * TWO_LINE_BLOCKS > 3 * target->units;
}

/* Divides the members into ranges for the blocks of a cluster. */
static void share(kn_phase *ph, int64_t blocks)
{
    ph->how.cluster = true;
    ph->num.splits = blocks;
    ph->num.chunk = kn_phase_part(ph, blocks);
}

/* Can clusters keep columns in tiles whose lines are so long, of `least` blocks or twice, four times ... as many? */
static bool in_clusters(kn_phase *ph, const kn_target *target, int line, int64_t least,
                        int64_t most, int at_once)
{
    for (int64_t blocks = least; blocks <= most; blocks *= 2) {
        kn_phase shared = *ph;
        narrow(&shared, line);
        share(&shared, blocks);
        if (!kn_cols_fit(&shared, target, at_once))
            continue;
        *ph = shared;
        return true;
    }
    return false;
}

/* Where each block has a multiprocessor, and others have none: as many more blocks a tile as are predicted to be quickest. */
static void share_more(const kn_site *at, kn_phase *ph)
{
    const kn_target *target = at->target;
    const int64_t tiles = kn_ceil_div(ph->nest.groups, kn_cols_width(ph));
    double least = kn_predict_phase_ns(at, ph);
    kn_phase best = *ph;
    for (int64_t blocks = 2 * ph->num.splits;
         blocks <= target->cluster && tiles * blocks <= target->units; blocks *= 2) {
        kn_phase more = *ph;
        share(&more, blocks);
        const double ns = kn_cols_fit(&more, target, 1) ? kn_predict_phase_ns(at, &more) : least;
        if (ns < least) {
            least = ns;
            best = more;
        }
    }
    *ph = best;
}

/* If columns are so short that a thread has registers for all members of a vector of them, and threads still fill the
 * machine, then no thread waits for another. */
static bool keep_whole(kn_phase *ph, const kn_target *target)
{
    enum { WORDS = 32, STEPS = 16, THREADS_A_UNIT = 128 };
    int64_t steps = kn_power_of_two_from(ph->nest.members);
    int words = kn_step_words(ph, 0);
    if (ph->how.tile || words == 0 || steps > STEPS || steps > WORDS / words ||
        ph->nest.groups / ph->how.vec < (int64_t)THREADS_A_UNIT * target->units)
        return false;
    ph->how.steps = (int)steps;
    return true;
}

void kn_schedule_columns(const kn_site *at, kn_phase *ph)
{
    const kn_target *target = at->target;
    const kn_division force = at->force->division;
    const int want = at->force->cluster;
    bool clusters = target->cluster > 1, forced = clusters && force == KN_DIVIDE_CLUSTER;
    bool whole_groups = force == KN_DIVIDE_BY_COST || force == KN_DIVIDE_WHOLE;
    if (whole_groups && kn_cols_may_keep(ph, target) && keep_whole(ph, target))
        return;
    if (!kn_cols_may_keep(ph, target) || !kn_reread_element(ph) || force == KN_DIVIDE_SPLIT ||
        force == KN_DIVIDE_RESIDENT)
        return;
    transpose_in_registers(ph, true);
    kn_phase whole = *ph;
    narrow_alone(&whole, target);
    /* a range of members is not dense */
    bool chosen = clusters && force == KN_DIVIDE_BY_COST && !kn_has_dense_tile(ph),
         fit = kn_cols_fit(&whole, target, 1);
    bool alone = !forced && fit && (!chosen || kn_cols_kept_bytes(&whole) <= KN_FULL_COLUMNS);
    int64_t least = want ? want : 2, most = want ? want : target->cluster;
    int64_t few = want || !ph->how.tile || most < FEW_BLOCKS ? most : FEW_BLOCKS;
    int at_once = forced ? 1 : KN_MIN_COLUMN_BLOCKS;
    bool longer =
        !ph->how.tile && kn_reread_line(ph) > KN_LINE_BYTES && (want || runs_in_waves(ph, target));
    int64_t fewer = most < TWO_LINE_BLOCKS ? most : TWO_LINE_BLOCKS;
    if (!alone && (forced || chosen) &&
        ((longer &&
          in_clusters(ph, target, 2 * KN_LINE_BYTES, least, fewer, KN_MIN_COLUMN_BLOCKS)) ||
         in_clusters(ph, target, KN_LINE_BYTES, least, few, at_once) ||
         ((forced || ph->how.tile) &&
          in_clusters(ph, target, KN_LINE_BYTES / 2, least, most, at_once)))) {
        if (chosen)
            share_more(at, ph);
        return;
    }
    if (!forced && fit)
        *ph = whole;
    else
        transpose_in_registers(ph, false);
    if (chosen && fit)
        share_more(at, ph);
}
