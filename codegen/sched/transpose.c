/* Tiles: where one array has its neighbours along one axis and another along another, nobody who walks the phase meets
 * both in order. So a block goes through the phase in tiles of groups x members: straight accesses go by groups, as in
 * all columns; turned ones, which lie along the members, between memory and the tile by members and between the tile
 * and the thread by groups. Each then moves whole lines of memory.
 *
 *   columns      their turned accesses go through tiles: the result of a softmax of an array that lies transposed
 *   rows         without reductions, as are left behind a split one: become columns
 *   elementwise  becomes columns: the members are the axis along which most of what is turned lies, the groups all
 *                the others; split into one tile each
 *
 * It pays where fewer bytes come from the caches: an element by itself costs a sector of 32. What it costs is idle
 * lanes, where the tile is larger than what is there. */
#include <stdlib.h>

#include "codegen/sched/sched.h"

enum {
    SECTOR = 32,            /* bytes that the caches move at least */
    RUN = 128,              /* bytes that a tile has side by side */
    LONG_RUN = 256,         /* without reductions, where there are */
    MANY_TILES = 4,         /* of these for each multiprocessor */
    MOST_BYTES = 40 * 1024, /* of shared memory: a kernel has 48 of its own */
    MOST_VECTOR = 8,        /* every range of members is whole vectors of as many */
    TILES_A_PART = 8,       /* whose groups have something to do before */
};

/* A load or store that goes through a phase's elements. NULL for what is none. */
static kn_access *element_access(const kn_phase *ph, int i)
{
    const kn_store *s = i < ph->nest.values.len ? NULL : kn_store_at(ph, i);
    bool element =
        s ? s->kind == KN_STORE_ELEMENT && !s->once : ph->nest.values.data[i].level == KN_ELEMENT;
    return element ? kn_access_at(ph, i) : NULL;
}

/* Bytes an element of what is turned, seen along axis `across`, and lies along axis `down`. */
static int turned_bytes(const kn_phase *ph, const kn_buf *bufs, int across, int down)
{
    int total = 0;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = element_access(ph, i);
        int bytes = acc ? kn_bytes(bufs[acc->buf].dtype) : 0;
        if (acc && kn_access_transposed(acc, across, down, bytes))
            total += bytes;
    }
    return total;
}

/* ---- phases without reductions as columns ---- */

/* The members become axis `down`; everything before it in the order it has. */
static void as_columns(kn_phase *ph, int down)
{
    for (int a = down; a + 1 < ph->nest.naxes; a++)
        kn_swap_axes(ph, a, a + 1);
    ph->nest.ngroup = ph->nest.naxes - 1;
    ph->nest.groups = 1;
    for (int a = 0; a < ph->nest.naxes; a++) {
        ph->nest.axes[a].member = a == ph->nest.ngroup;
        ph->nest.groups *= a < ph->nest.ngroup ? ph->nest.axes[a].extent : 1;
    }
    ph->nest.members = ph->nest.axes[ph->nest.ngroup].extent;
    for (int i = 0; i < ph->nest.stores.len; i++) {
        kn_store *s = &ph->nest.stores.data[i];
        if (s->kind == KN_STORE_GROUP)
            s->once |= ((1u << ph->nest.ngroup) - 1) & ~s->access.axes;
    }
}

/* The axis along which most of what is turned lies; -1 for none. */
static int turned_axis(const kn_phase *ph, const kn_buf *bufs)
{
    int best = -1, most = 0;
    for (int a = 0; a + 1 < ph->nest.naxes; a++) {
        int bytes = turned_bytes(ph, bufs, ph->nest.naxes - 1, a);
        if (bytes > most) {
            most = bytes;
            best = a;
        }
    }
    return best;
}

/* Makes columns of it, with something turned in them. False if there is nothing to turn. */
static bool make_columns(kn_phase *ph, const int *align, const kn_buf *bufs,
                         const kn_target *target)
{
    if (ph->how.walk != KN_WALK_COLS && ph->nest.reds.len > 0)
        return false;
    if (ph->how.walk == KN_WALK_FLAT) {
        int down = ph->how.split ? -1 : turned_axis(ph, bufs);
        if (down < 0)
            return false;
        as_columns(ph, down);
    }
    if (ph->nest.ngroup == 0 || ph->nest.ngroup == ph->nest.naxes)
        return false;
    if (ph->how.walk != KN_WALK_COLS) {
        ph->how.walk = KN_WALK_COLS;
        ph->how.split = true;
        kn_schedule_vectors(ph, align, bufs, target);
    }
    return turned_bytes(ph, bufs, ph->nest.ngroup - 1, ph->nest.naxes - 1) > 0;
}

/* ---- tiles ---- */

/* How many elements of a turned access go at a time. */
static int turned_vector(const kn_phase *ph, const kn_access *acc, const int *align,
                         const kn_buf *bufs)
{
    int last = ph->nest.naxes - 1, vec = 16 / kn_bytes(bufs[acc->buf].dtype);
    vec = vec > MOST_VECTOR ? MOST_VECTOR : vec;
    bool whole = acc->stride[last] == 1 && ph->nest.axes[last].extent % vec == 0;
    return whole && kn_vector_fits(ph, acc, &bufs[acc->buf], align[acc->buf], last, vec) ? vec : 1;
}

/* Bytes of a turned array that a tile has side by side; of long runs, those of the others too. On an H200 the sum of
 * 8192x8192 floats and as many turned ones takes 191 us by tiles of 64 x 64, 196 of 128 x 32, 208 of 32 x 32. */
static int run_of(const kn_phase *ph, int bytes, const kn_target *target)
{
    int64_t side = LONG_RUN / bytes;
    int64_t tiles = kn_ceil_div(ph->nest.groups, side) * kn_ceil_div(ph->nest.members, side);
    return ph->nest.reds.len == 0 && tiles >= MANY_TILES * target->units ? LONG_RUN : RUN;
}

/* As many of the turned accesses as there is room for, each of at least a sector. */
static void turn(kn_phase *ph, const int *align, const kn_buf *bufs, const kn_target *target)
{
    int least = SECTOR;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = element_access(ph, i);
        int bytes = acc ? kn_bytes(bufs[acc->buf].dtype) : least;
        if (acc && kn_access_transposed(acc, ph->nest.ngroup - 1, ph->nest.naxes - 1, bytes) &&
            bytes < least)
            least = bytes;
    }
    int run = run_of(ph, least, target);
    ph->how.tile = run / least;
    while (run == LONG_RUN && kn_cols_width(ph) * least > run)
        ph->how.lanes /= 2;
    for (int i = 0; i < kn_accesses(ph); i++) {
        kn_access *acc = element_access(ph, i);
        int bytes = acc ? kn_bytes(bufs[acc->buf].dtype) : 0;
        if (!acc || !kn_access_transposed(acc, ph->nest.ngroup - 1, ph->nest.naxes - 1, bytes))
            continue;
        acc->transposed = turned_vector(ph, acc, align, bufs);
        while (kn_tile_bytes(ph) > MOST_BYTES && ph->how.tile > SECTOR / least)
            ph->how.tile /= 2;
        if (kn_tile_bytes(ph) > MOST_BYTES)
            acc->transposed = 0;
    }
    kn_schedule_as(ph, ph->how.vec);
}

/* Parts of whole tiles, of a phase without reductions. One is enough for a block, but for what it does first for each
 * of its groups. */
static void cut(kn_phase *ph, bool local)
{
    ph->num.chunk = ph->how.tile * (local ? TILES_A_PART : 1);
    ph->num.splits = (ph->nest.members + ph->num.chunk - 1) / ph->num.chunk;
}

/* ---- does it pay? ---- */

static int64_t round_up(int64_t n, int64_t to) { return kn_ceil_div(n, to) * to; }

/* Bytes of a group's or an element's access that the caches move, along the axis of vectors. */
static double traffic(const kn_phase *ph, const kn_buf *bufs)
{
    int va = kn_phase_vector_axis(ph);
    double total = 0;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = element_access(ph, i);
        if (!acc)
            continue;
        double bytes = kn_bytes(bufs[acc->buf].dtype), apart = (double)llabs(acc->stride[va]);
        double each = acc->transposed || apart < 1 ? bytes : apart * bytes;
        each = each > SECTOR ? SECTOR : each;
        for (int a = 0; a < ph->nest.naxes; a++)
            each *= acc->stride[a] ? (double)ph->nest.axes[a].extent : 1;
        total += each * (i < ph->nest.values.len ? ph->nest.values.data[i].sweeps : 1);
    }
    if (!ph->how.tile)
        return total;
    double slots = (double)round_up(ph->nest.groups, kn_cols_width(ph)) *
                   (double)round_up(ph->nest.members, ph->how.tile);
    return total * slots / ((double)ph->nest.groups * (double)ph->nest.members);
}

void kn_schedule_transposes(kn_arena *a, kn_phase *ph, const int *align, const kn_buf *bufs,
                            const kn_target *target, kn_division force)
{
    if (target->sm == 0 || ph->universal || ph->local || ph->how.mixed || kn_phase_in_order(ph) ||
        ph->nest.groups == 0 || ph->nest.members == 0 || force == KN_DIVIDE_WHOLE)
        return;
    kn_phase tiled = kn_phase_copy(a, ph);
    if (!make_columns(&tiled, align, bufs, target))
        return;
    turn(&tiled, align, bufs, target);
    if (tiled.nest.reds.len == 0)
        cut(&tiled, ph->how.walk == KN_WALK_ROWS);
    if (force == KN_DIVIDE_TILES || traffic(&tiled, bufs) < traffic(ph, bufs))
        *ph = tiled;
}
