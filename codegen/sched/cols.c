/* Columns: neighbouring threads take neighbouring groups, `lanes` of them in a row, and the rows of a block share the
 * members.
 *
 * If columns are so short that a thread has registers for a whole one, it keeps it; then no thread waits for another
 * (measured: docs/lab/short-columns.md).
 *
 * If later sweeps read again what earlier ones read, a block keeps its groups in shared memory with all their
 * members, each thread its own, so that only combines need barriers. Columns too tall for a block are shared by the
 * blocks of a cluster, a range of members each; of those that are stored transposed and still too tall, tiles are
 * half a cache line wide. Tiles are wider than a line where members are few, or few blocks share them. Three blocks
 * share a multiprocessor where there are clusters. Transposed stores write whole lines in any case, so that half a
 * line a tile is better than more than 8 blocks that wait for each other; others are split instead. The sizes below,
 * and async copies, are measured: docs/lab/columns-on-chip.md. */
#include <stdlib.h>

#include "codegen/model/predict.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Threads of blocks of tiles without reductions, which only synchronise: several small blocks keep memory busy. Twice
 * as many where a thread would have more than TILE_ELEMENTS (measured: docs/lab/transposed-tiles.md). */
enum { BLOCK_OF_TILES = 256, TILE_ELEMENTS = 32 };

enum {
    WHOLE_BLOCK = 512,
    LINE = 128,         /* contiguous bytes of a tile */
    THREAD_BYTES = 256, /* kept by a thread */
    LEAST_BLOCK = 128,
    FULL_BLOCK = 64 * 1024, /* bytes kept by a block of which MIN_BLOCKS share a multiprocessor */
    MIN_BLOCKS = 3,
    TWO_LINE_BLOCKS = 4,     /* most blocks of a cluster whose tiles are two lines wide */
    FEW_BLOCKS = 8,          /* of a cluster: at every combine each waits for the last */
    COPIES = 4,              /* steps whose async copies a thread starts at a time */
    MOST_STATIC = 40 * 1024, /* static shared memory: a kernel has 48 KB of it */
    MANY_STRIDED = 1 << 17,  /* elements */
};

/* Is the primary access contiguous along the groups, or are neighbouring groups nearer in memory than members, as of every
 * second element of a row, or of reversed rows? Small strided arrays are in a cache anyhow. A single group of columns, whose
 * members are neighbours then, is rows; where the walk must not depend on how many groups there are, it is columns, too. */
static bool can(const kn_phase *ph)
{
    const kn_access *a = kn_phase_primary(ph);
    if (!a || ph->nest.ngroup == 0)
        return false;
    const bool members = ph->nest.naxes > ph->nest.ngroup, invariant = kn_is_invariant(ph);
    const int64_t group = llabs(a->stride[ph->nest.ngroup - 1]),
                  member = members ? llabs(a->stride[ph->nest.naxes - 1]) : 0;
    if (member == 1 && !invariant)
        return false;
    const bool nearer =
        invariant ? group <= member
                  : group < member && kn_scheduled_groups(ph) * ph->nest.members >= MANY_STRIDED;
    return a->stride[ph->nest.ngroup - 1] == 1 || (group > 0 && nearer && !ph->universal);
}

/* Bytes that a block keeps. */
static int64_t kept_bytes(const kn_phase *ph)
{
    return (ph->how.cluster ? ph->num.chunk : ph->nest.members) * kn_cols_width(ph) *
           kn_reread_element(ph);
}

/* Threads of a block that keeps so much; where each has a multiprocessor, as many as have few steps. */
static int block_that_keeps(const kn_phase *ph, const kn_target *target)
{
    enum { FEW_STEPS = 8 };
    const int64_t blocks =
        kn_ceil_div(ph->nest.groups, kn_cols_width(ph)) * (ph->how.cluster ? ph->num.splits : 1);
    int64_t threads = kn_power_of_two_from(kn_ceil_div(kept_bytes(ph), THREAD_BYTES));
    threads = threads < LEAST_BLOCK ? LEAST_BLOCK : threads;
    if (blocks <= target->units && threads < WHOLE_BLOCK) {
        threads = kn_power_of_two_from(kept_bytes(ph) /
                                       (FEW_STEPS * ph->how.vec * kn_reread_element(ph)));
        threads = threads < LEAST_BLOCK   ? LEAST_BLOCK
                  : threads < WHOLE_BLOCK ? threads
                                          : WHOLE_BLOCK;
    }
    return threads < target->max_block ? (int)threads : target->max_block;
}

int kn_transposing_min_blocks(const kn_phase *ph, int threads)
{
    bool transposed = false;
    for (int i = 0; i < ph->how.transposes.len; i++) {
        const kn_transpose *t = &ph->how.transposes.data[i];
        if (t->in_registers && kn_bytes(kn_transposed_type(ph, t)) < 4)
            return 0;
        transposed = transposed || t->in_registers;
    }
    int at_once = MIN_BLOCKS * (FULL_BLOCK / THREAD_BYTES) / threads;
    return !transposed ? 0 : at_once < 1 ? 1 : at_once < MIN_BLOCKS ? at_once : MIN_BLOCKS;
}

/* Do `at_once` such blocks fit on a multiprocessor? */
static bool fits(const kn_phase *ph, const kn_target *target, int at_once)
{
    kn_phase bound = *ph;
    int threads = block_that_keeps(ph, target);
    bound.how.tpg = threads / ph->how.lanes;
    int scratch = kn_static_bytes(&bound, threads);
    return scratch <= MOST_STATIC &&
           kept_bytes(ph) + kn_exchange_bytes(ph) + scratch + KN_RESERVED_BYTES <=
               (target->smem_block + KN_RESERVED_BYTES) / at_once;
}

static bool may_keep(const kn_phase *ph, const kn_target *target)
{
    return target->sm != 0 && ph->how.walk == KN_WALK_COLS && ph->alone && !ph->universal &&
           !kn_is_invariant(ph) && !ph->how.split && !ph->local && ph->nest.groups > 0 &&
           ph->nest.members > 1 && ph->nest.nsweeps > 1;
}

static bool has_something_to_keep(const kn_phase *ph, const kn_target *target)
{
    return may_keep(ph, target) && kn_reread_element(ph) > 0;
}

/* Do registers keep whole columns? */
static bool has_whole_columns(const kn_phase *ph) { return ph->how.steps && !ph->how.packed; }

kn_keep kn_cols_keep(const kn_phase *ph, const kn_target *target)
{
    if (has_whole_columns(ph))
        return KN_KEEP_REGISTERS;
    return has_something_to_keep(ph, target) && fits(ph, target, 1) ? KN_KEEP_SHARED : KN_KEEP_NONE;
}

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
    while (line > LINE &&
           (ph->how.tile || kept_bytes(&with) > FULL_BLOCK ||
            kn_ceil_div(ph->nest.groups, kn_cols_width(&with)) < 3 * target->units)) {
        line /= 2;
        with = *ph;
        narrow(&with, line);
    }
    narrow(ph, line > LINE ? line : LINE);
}

/* Transposes in registers, if all transposed accesses are stores and by vectors. */
static void transpose_in_registers(kn_phase *ph, bool wanted)
{
    for (int i = 0; i < ph->how.transposes.len; i++)
        wanted = wanted && ph->how.transposes.data[i].store && ph->how.transposes.data[i].vec > 1;
    for (int i = 0; i < ph->how.transposes.len; i++)
        ph->how.transposes.data[i].in_registers = wanted;
}

/* Do clusters of two-line tiles run in several waves? In one wave fewer blocks with one-line tiles are faster
 * (measured: docs/lab/columns-on-chip.md). */
static bool runs_in_waves(const kn_phase *ph, const kn_target *target)
{
    kn_phase with = *ph;
    narrow(&with, 2 * LINE);
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
        if (!fits(&shared, target, at_once))
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
        const double ns = fits(&more, target, 1) ? kn_predict_phase_ns(at, &more) : least;
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
    if (whole_groups && may_keep(ph, target) && keep_whole(ph, target))
        return;
    if (!has_something_to_keep(ph, target) || force == KN_DIVIDE_SPLIT ||
        force == KN_DIVIDE_RESIDENT)
        return;
    transpose_in_registers(ph, true);
    kn_phase whole = *ph;
    narrow_alone(&whole, target);
    bool chosen = clusters && force == KN_DIVIDE_BY_COST, fit = fits(&whole, target, 1);
    bool alone = !forced && fit && (!chosen || kept_bytes(&whole) <= FULL_BLOCK);
    int64_t least = want ? want : 2, most = want ? want : target->cluster;
    int64_t few = want || !ph->how.tile || most < FEW_BLOCKS ? most : FEW_BLOCKS;
    int at_once = forced ? 1 : MIN_BLOCKS;
    bool longer = !ph->how.tile && kn_reread_line(ph) > LINE && (want || runs_in_waves(ph, target));
    int64_t fewer = most < TWO_LINE_BLOCKS ? most : TWO_LINE_BLOCKS;
    if (!alone && (forced || chosen) &&
        ((longer && in_clusters(ph, target, 2 * LINE, least, fewer, MIN_BLOCKS)) ||
         in_clusters(ph, target, LINE, least, few, at_once) ||
         ((forced || ph->how.tile) && in_clusters(ph, target, LINE / 2, least, most, at_once)))) {
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

/* Each block tests all destinations: as few blocks as fill the machine, of a row of threads each if they can. */
void kn_schedule_scatter_sum(const kn_site *at, kn_phase *ph)
{
    enum { BLOCKS_A_UNIT = 2 };
    while (at->target->sm && ph->how.lanes < WHOLE_BLOCK &&
           ph->nest.groups / (2 * kn_cols_width(ph)) >= (int64_t)BLOCKS_A_UNIT * at->target->units)
        ph->how.lanes *= 2;
    while (at->target->sm && ph->how.lanes > 1 &&
           ph->nest.groups / kn_cols_width(ph) < at->target->units)
        ph->how.lanes /= 2;
}

void kn_schedule_few_columns(kn_phase *ph, const kn_target *target)
{
    int bytes = 0;
    if (target->sm == 0 || ph->how.scatter_sum || ph->how.walk != KN_WALK_COLS || ph->universal ||
        ph->how.split || ph->how.cluster || ph->how.packed || ph->how.tile ||
        ph->nest.reds.len == 0 ||
        kn_ceil_div(ph->nest.groups, kn_cols_width(ph)) * 2 > target->units)
        return;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_is_read(kn_value_at(ph, i)) && kn_value_at(ph, i)->level == KN_ELEMENT)
            bytes = kn_bytes(kn_value_at(ph, i)->dtype);
    while (kn_cols_width(ph) * bytes > LINE)
        ph->how.lanes /= 2;
}

/* Can async copies of 4, 8 or 16 bytes a thread bring every kept load, as it is in memory? */
static bool copies(const kn_phase *ph, const kn_target *target)
{
    bool can_copy = target->sm >= 80;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        if (kn_is_reread(ph, i))
            can_copy = can_copy && !kn_transpose_of(ph, i) &&
                       kn_bytes(v->dtype) * ph->how.vec >= 4 &&
                       (ph->how.vec == 1 || kn_transfer_of(ph, i)->vector);
    }
    return can_copy;
}

/* Has a thread the registers for a register tile, so that its shared memory is free for the next one's copies? Those of
 * 16-bit elements are larger (measured: docs/lab/columns-on-chip.md). */
static bool prefetches(const kn_phase *ph)
{
    enum { LARGEST_SIDE = 4 };
    int side = kn_transpose_side(ph);
    return ph->how.cluster && ph->how.async && side > 1 && side <= LARGEST_SIDE;
}

static int block_of_tiles(const kn_phase *ph)
{
    bool large = kn_cols_width(ph) * ph->how.tile > BLOCK_OF_TILES * TILE_ELEMENTS;
    return large ? 2 * BLOCK_OF_TILES : BLOCK_OF_TILES;
}

/* Rows of threads of a block. Where columns are short, so that each row would have few members and mostly wait to
 * combine them, fewer rows with more lanes, as long as blocks still fill the machine. Blocks that other phases choose
 * have no rows without members, as partial results of few parts would leave them. */
static int rows_of(const kn_phase *ph, const kn_target *target, int block)
{
    const int few = ph->alone ? 32 : 1, blocks_a_unit = ph->alone ? 8 : 1;
    int rows = block / ph->how.lanes;
    if (has_whole_columns(ph))
        return 1;
    if (target->sm == 0 || ph->universal || kn_is_invariant(ph) || ph->how.scatter_sum ||
        ph->how.split || ph->how.cluster || ph->how.tile || ph->how.packed ||
        ph->nest.reds.len == 0 || kn_cols_keep(ph, target))
        return rows;
    while (rows > 1 && ph->nest.members < (int64_t)rows * few &&
           ph->nest.groups / ((int64_t)block / rows * 2 * ph->how.vec) >=
               blocks_a_unit * target->units)
        rows /= 2;
    return rows;
}

static int threads(const kn_phase *ph, const kn_target *target)
{
    int most = ph->how.packed                           ? kn_packed_threads(ph)
               : ph->how.tile && ph->nest.reds.len == 0 ? block_of_tiles(ph)
               : kn_cols_keep(ph, target)               ? block_that_keeps(ph, target)
                                                        : WHOLE_BLOCK;
    if (ph->alone && rows_of(ph, target, WHOLE_BLOCK) < WHOLE_BLOCK / ph->how.lanes)
        most = kn_schedule_small_block(ph, target, (double)ph->nest.members * ph->how.vec);
    return most < target->max_block ? most : target->max_block;
}

static void bind(const kn_site *at, kn_phase *ph, int block)
{
    const kn_target *target = at->target;
    ph->how.tpg = rows_of(ph, target, block);
    if (ph->how.tpg < block / ph->how.lanes)
        ph->how.lanes = block / ph->how.tpg;
    if (ph->how.steps)
        kn_keep_reread(at->arena, ph, KN_KEEP_REGISTERS);
    else if (kn_cols_keep(ph, target)) {
        kn_keep_reread(at->arena, ph, KN_KEEP_SHARED);
        ph->how.async = copies(ph, target);
        ph->how.copies = ph->how.async && kn_transpose_side(ph) == 1 ? COPIES : 0;
        ph->how.prefetch = prefetches(ph);
        ph->how.persistent =
            ph->how.cluster && ph->how.async && (ph->how.prefetch || !ph->how.tile);
        ph->num.skew = kn_launch_skew(ph, target);
    }
}

const kn_walker kn_walk_cols = {"cols", KN_WALK_COLS, can, threads, bind};
