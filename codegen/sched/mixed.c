/* Mixed reductions: one walk over the rows that reduces the columns too, by blocks that each take a part of the rows. */
#include "codegen/sched/sched.h"

static kn_range columns_left(const kn_phase *columns, int64_t blocks)
{
    int64_t tile = kn_cols_width(columns), tiles = (columns->nest.groups + tile - 1) / tile;
    int64_t most = columns->nest.members / KN_LEAST_OF_COLUMN, splits = blocks / tiles;
    splits = splits > most ? most : splits;
    return kn_ranges_of(columns->nest.members, splits < 1 ? 1 : splits);
}

/* A thread of a band waits for its loads of one group before it asks for the next. So many bytes of them keep
 * memory busy. */
enum { BYTES_ON_THEIR_WAY = 64 };

/* How much longer than at full speed it takes to go through the groups in bands, by so many threads each. */
static double slowness(int tpg, double group_bytes)
{
    double bytes = group_bytes / tpg;
    return bytes < BYTES_ON_THEIR_WAY ? BYTES_ON_THEIR_WAY / bytes : 1;
}

/* Rows in registers that are summed before they are stored take so much longer. By both on an H200 double centring of
 * 8192x8192, 4096x4096 and 65536x1024 floats is in bands, and of 2048x8192, which took 65.5 us then, not 62, is not. */
static const double waiting = 0.05, twice = 2;

/* Fewer bands leave fewer partial results, more of them fill the machine. Everything in bytes that could be moved
 * meanwhile. */
kn_mixed_parts kn_schedule_mixed(const kn_phase *rows, const kn_phase *columns,
                                 const kn_target *target, const kn_crossing_cost *cost)
{
    if (cost->saved <= 0)
        return (kn_mixed_parts){.bands = {0}};
    double group = cost->again / (double)rows->nest.groups;
    int block = kn_walk_rows.threads(rows, target), tpg = kn_mixed_lanes(rows);
    int64_t side = block / tpg, rounds = kn_ceil_div(rows->nest.groups, side);
    double full = target->units * kn_mixed_min_blocks(target, block);
    double barrier = kn_schedule_barrier_bytes(target);
    kn_mixed_parts best = {.left = columns_left(columns, (int64_t)full)};
    double results = cost->partial * (double)(1 + (columns->nest.nsweeps > 1 ? best.left.n : 1));
    double least = 2 * cost->saved - barrier * cost->barriers;
    if (cost->again > 0) {
        /* nobody moves anything else while they are combined; but rows wait no more for their own sums */
        results *= twice;
        least += waiting * cost->again;
    }
    double loaded = cost->again > cost->saved ? cost->again : cost->saved;
    double all = cost->saved * slowness(tpg, loaded / (double)rows->nest.groups);
    for (int64_t want = (int64_t)full; want > 0; want /= 2) {
        kn_range bands = {.n = want < rounds ? want : rounds};
        bands.length = kn_ceil_div(rounds, bands.n) * side;
        double idle = (double)bands.n < full ? full / (double)bands.n : 1;
        double part = kn_resident_part_of_mixed(target, block, group * (double)bands.length);
        double bytes = all * idle + results * (double)bands.n + cost->again * (1 - part);
        if (bytes >= least)
            continue;
        least = bytes;
        best.bands = bands;
    }
    return best;
}
