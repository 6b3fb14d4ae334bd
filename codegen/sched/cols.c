/* Columns: neighbouring threads take neighbouring groups, `lanes` of them in a row, and the rows of a block share the
 * members.
 *
 * If columns are so short that a thread has registers for a whole one, it keeps it; then no thread waits for another
 * (measured: docs/lab/short-columns.md).
 *
 * If later sweeps read again what earlier ones read, a block keeps its groups in shared memory with all their
 * members, each thread its own, so that only combines need barriers. How wide its tile is then, and whether the blocks
 * of a cluster share the members, a range each, columns.c decides; here is what fits, and how it is bound. The sizes
 * below, and async copies, are measured: docs/lab/columns-on-chip.md. */
#include <stdlib.h>

#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Threads of blocks of tiles without reductions, which only synchronise: several small blocks keep memory busy. Twice
 * as many where a thread would have more than TILE_ELEMENTS (measured: docs/lab/transposed-tiles.md). */
enum { BLOCK_OF_TILES = 256, TILE_ELEMENTS = 32 };

enum {
    WHOLE_BLOCK = 512,
    THREAD_BYTES = 256, /* kept by a thread */
    LEAST_BLOCK = 128,
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

int64_t kn_cols_kept_bytes(const kn_phase *ph)
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
    int64_t threads = kn_power_of_two_from(kn_ceil_div(kn_cols_kept_bytes(ph), THREAD_BYTES));
    threads = threads < LEAST_BLOCK ? LEAST_BLOCK : threads;
    if (blocks <= target->units && threads < WHOLE_BLOCK) {
        threads = kn_power_of_two_from(kn_cols_kept_bytes(ph) /
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
    int at_once = KN_MIN_COLUMN_BLOCKS * (KN_FULL_COLUMNS / THREAD_BYTES) / threads;
    return !transposed                      ? 0
           : at_once < 1                    ? 1
           : at_once < KN_MIN_COLUMN_BLOCKS ? at_once
                                            : KN_MIN_COLUMN_BLOCKS;
}

bool kn_cols_fit(const kn_phase *ph, const kn_target *target, int at_once)
{
    kn_phase bound = *ph;
    int threads = block_that_keeps(ph, target);
    bound.how.tpg = threads / ph->how.lanes;
    int scratch = kn_static_bytes(&bound, threads);
    return scratch <= MOST_STATIC &&
           kn_cols_kept_bytes(ph) + kn_exchange_bytes(ph) + scratch + KN_RESERVED_BYTES <=
               (target->smem_block + KN_RESERVED_BYTES) / at_once;
}

bool kn_cols_may_keep(const kn_phase *ph, const kn_target *target)
{
    return target->sm != 0 && ph->how.walk == KN_WALK_COLS && !ph->how.interleaved && ph->alone &&
           !ph->universal && !kn_is_invariant(ph) && !ph->how.split && !ph->local &&
           ph->nest.groups > 0 && ph->nest.members > 1 && ph->nest.nsweeps > 1;
}

/* Do registers keep whole columns? */
static bool has_whole_columns(const kn_phase *ph) { return ph->how.steps && !ph->how.packed; }

kn_keep kn_cols_keep(const kn_phase *ph, const kn_target *target)
{
    if (has_whole_columns(ph))
        return KN_KEEP_REGISTERS;
    return kn_cols_may_keep(ph, target) && kn_reread_element(ph) > 0 && kn_cols_fit(ph, target, 1)
               ? KN_KEEP_SHARED
               : KN_KEEP_NONE;
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
        ph->how.split || ph->how.cluster || ph->how.packed || ph->how.tile || ph->how.interleaved ||
        ph->nest.reds.len == 0 || ph->nest.members <= WHOLE_BLOCK / ph->how.lanes ||
        kn_ceil_div(ph->nest.groups, kn_cols_width(ph)) * 2 > target->units)
        return;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_is_read(kn_value_at(ph, i)) && kn_value_at(ph, i)->level == KN_ELEMENT)
            bytes = kn_bytes(kn_value_at(ph, i)->dtype);
    while (kn_cols_width(ph) * bytes > KN_LINE_BYTES)
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
                       (ph->how.vec == 1 || kn_transfer_of(ph, i)->vector) && !kn_is_shifted(ph, i);
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
 * combine them, fewer rows with more lanes, as long as blocks still fill the machine; of blocks that other phases choose, where
 * each row would have four at most (measured: docs/lab/combining-columns.md). */
static int rows_of(const kn_phase *ph, const kn_target *target, int block)
{
    const int few = ph->alone ? 32 : 4, blocks_a_unit = ph->alone ? 8 : 1;
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
               : ph->how.interleaved                    ? ph->how.lanes
               : ph->how.tile && ph->nest.reds.len == 0 ? block_of_tiles(ph)
               : kn_cols_keep(ph, target)               ? block_that_keeps(ph, target)
                                                        : WHOLE_BLOCK;
    if (ph->alone && !ph->how.interleaved &&
        rows_of(ph, target, WHOLE_BLOCK) < WHOLE_BLOCK / ph->how.lanes)
        most = kn_schedule_small_block(ph, target, (double)ph->nest.members * ph->how.vec);
    return most < target->max_block ? most : target->max_block;
}

/* A warp has all of a tile's groups. */
void kn_bind_tile(kn_phase *ph)
{
    ph->how.locates_by_shuffles = ph->how.walk == KN_WALK_COLS && ph->how.tile &&
                                  ph->nest.ngroup > 1 && ph->how.lanes <= KN_COLS_LANES;
}

static void bind(const kn_site *at, kn_phase *ph, int block)
{
    const kn_target *target = at->target;
    if (ph->how.interleaved) {
        kn_bind_interleaved(at, ph, block);
        return;
    }
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
