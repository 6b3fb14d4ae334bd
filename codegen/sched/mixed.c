/* Mixed reductions: one walk over rows that also reduces the columns, by blocks that take a part of the rows each. Rows for
 * which a block has too few registers are shared by the blocks of a cluster. */
#include "codegen/model/machine.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* ---- clusters ---- */

bool kn_mixed_in_clusters(const kn_phase *ph, const kn_target *target)
{
    return target->cluster > 1 && ph->how.mixed && !ph->how.resident && !ph->universal &&
           ph->nest.nsweeps > 1 && ph->how.walk == KN_WALK_ROWS;
}

static void divide(kn_phase *ph, int64_t blocks)
{
    ph->how.cluster = blocks > 1;
    ph->num.splits = blocks;
    ph->num.chunk = blocks > 1 ? kn_phase_part(ph, blocks) : ph->nest.members;
}

/* Do clusters of so many blocks leave few multiprocessors of a group (GPC) idle, with this many blocks on each? */
static bool fills_groups(const kn_target *target, int64_t blocks, int at_once)
{
    const double most = 0.75, room = kn_machine_of(target)->group_fills * at_once;
    return blocks < 2 || (double)((int64_t)room / blocks * blocks) >= most * room;
}

/* The fewest blocks that do, each of so many threads at most; more than `most`: 0. */
static int64_t blocks_of(const kn_phase *ph, const kn_target *target, int threads, int64_t most)
{
    kn_phase with = *ph;
    for (int64_t blocks = 1; blocks <= most && blocks <= target->cluster; blocks++) {
        divide(&with, blocks);
        if (kn_mixed_lanes(&with) <= threads &&
            fills_groups(target, blocks, kn_mixed_min_blocks(target, threads)))
            return blocks;
    }
    return 0;
}

/* A block takes what it has registers for. Of clusters two blocks share a multiprocessor, so that one works while the
 * other waits, unless that makes large clusters (measured: docs/lab/mixed-rows.md). */
void kn_schedule_mixed_cluster(const kn_site *at, kn_phase *ph)
{
    enum { FEW_BLOCKS = 8 };
    const kn_target *target = at->target;
    if (!kn_mixed_in_clusters(ph, target) || kn_step_words(ph, 0) > KN_MIXED_WORDS ||
        blocks_of(ph, target, target->max_block, 1))
        return;
    int64_t blocks = blocks_of(ph, target, KN_HALF_BLOCK, FEW_BLOCKS);
    blocks = blocks ? blocks : blocks_of(ph, target, target->max_block, target->cluster);
    if (blocks)
        divide(ph, blocks);
}

/* ---- parts ---- */

/* Blocks, or clusters, that run at a time. */
static int64_t parts_at_once(const kn_phase *rows, const kn_target *target)
{
    const int block = kn_walk_rows.threads(rows, target);
    return (int64_t)target->units * kn_mixed_min_blocks(target, block) / rows->num.splits;
}

/* About `want` parts, or one a round; by run as many of each kind of groups. None: 0. */
static kn_range parts_of(const kn_phase *rows, const kn_target *target, int64_t want)
{
    const int64_t side = kn_walk_rows.threads(rows, target) / kn_mixed_lanes(rows),
                  rounds = kn_ceil_div(rows->nest.groups, side), stride = kn_group_stride(rows);
    kn_range parts = {.n = (want < rounds ? want : rounds) / stride * stride};
    if (parts.n > 0)
        parts.length = kn_ceil_div(rounds, parts.n) * side;
    return parts;
}

kn_range kn_all_parts_of_mixed(const kn_phase *rows, const kn_target *target)
{
    return parts_of(rows, target, parts_at_once(rows, target));
}

kn_range kn_schedule_rest(const kn_phase *rows, const kn_phase *columns, const kn_target *target)
{
    int64_t tile = kn_cols_width(columns), tiles = kn_ceil_div(columns->nest.groups, tile);
    int64_t most = columns->nest.members / KN_LEAST_OF_COLUMN;
    int64_t splits = parts_at_once(rows, target) / tiles;
    splits = splits > most ? most : splits;
    return kn_ranges_of(columns->nest.members, splits < 1 ? 1 : splits);
}

/* Without a prefetch a thread waits for its loads of one group before it issues the next. So many bytes in flight keep
 * memory busy. */
enum { BYTES_IN_FLIGHT = 64 };

/* How much slower than at full bandwidth the groups are read, by tpg threads each. */
static double slowness(int tpg, double group_bytes)
{
    double bytes = group_bytes / tpg;
    return bytes < BYTES_IN_FLIGHT ? BYTES_IN_FLIGHT / bytes : 1;
}

/* Rows in registers that are summed before they are stored take `waiting` longer a byte, and their partial results
 * count `twice`; fitted to which sizes gain (measured: docs/lab/double-centring.md). */
static const double waiting = 0.05, twice = 2;

/* Fewer parts leave fewer partial results, more parts fill the machine. All costs are in bytes that could be moved
 * meanwhile. */
kn_mixed_parts kn_schedule_mixed(const kn_phase *rows, const kn_target *target,
                                 const kn_mixed_cost *cost)
{
    kn_mixed_parts best = {.parts = {0}};
    if (cost->saved <= 0)
        return best;
    double group = cost->again / (double)rows->nest.groups;
    int block = kn_walk_rows.threads(rows, target), tpg = kn_mixed_lanes(rows);
    double full = (double)parts_at_once(rows, target), results = cost->results;
    double alone = 2 * cost->saved - kn_barrier_bytes(target) * cost->barriers;
    if (cost->again > 0) {
        /* combining results overlaps with no other traffic; but rows no longer wait for their own sums */
        results *= twice;
        alone += waiting * cost->again;
    }
    double loaded = cost->again > cost->saved ? cost->again : cost->saved;
    bool prefetched = rows->nest.nsweeps > 1 && kn_mixed_prefetches(rows, target);
    double all = cost->saved * (prefetched ? 1 : slowness(tpg, loaded / (double)rows->nest.groups));
    for (int64_t want = (int64_t)full; want > 0; want /= 2) {
        const kn_range parts = parts_of(rows, target, want);
        if (parts.n == 0)
            break;
        double idle = (double)parts.n < full ? full / (double)parts.n : 1;
        double part = kn_resident_part_of_mixed(target, block, group * (double)parts.length);
        double bytes = all * idle + results * (double)parts.n + cost->again * (1 - part);
        if (alone - bytes > best.gain)
            best = (kn_mixed_parts){.parts = parts, .gain = alone - bytes};
    }
    return best;
}
