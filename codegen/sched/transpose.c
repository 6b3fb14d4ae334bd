/* Tiles: where one array is contiguous along one axis and another along another, no walk meets both in order. So a
 * block goes through the phase in tiles of groups x members. Straight accesses are contiguous along the groups, as in
 * all columns. Transposed ones are contiguous along the members: between memory and the tile threads are neighbours
 * along the members, between the tile and registers along the groups. Each then moves whole lines of memory.
 *
 *   columns      their transposed accesses go through tiles: the result of a softmax that is stored transposed
 *   rows         if no reductions are left, as behind a split one: become columns; else their transposed loads go through a
 *                tile of whole groups, where shared memory has room for those that a block takes at a time
 *   elementwise  becomes columns: the members are the axis along which most of the transposed arrays are contiguous, the
 *                groups all others; divided into one tile each; of the CPU, only its last two axes may change places
 *
 * It pays where the caches move fewer bytes: a single element costs a sector of 32. It costs idle lanes, where the
 * tile is larger than the array, and a barrier. */
#include <stdlib.h>

#include "codegen/kir/formula.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

enum {
    SECTOR = 32,      /* the least bytes that the caches move */
    RUN = 128,        /* contiguous bytes of a transposed array in a tile */
    LONG_RUN = 256,   /* the same of what is read once, if that still makes MANY_TILES */
    MANY_TILES = 4,   /* tiles a multiprocessor */
    MOST_VECTOR = 8,  /* elements; every range of members is a multiple of it */
    MOST_DENSE = 128, /* members of a dense tile: others are too large to hide each other's loads */
    LEAST_WORDS = 8,  /* the least, of 4 bytes and more: fewer are read as quickly one by one */
    DENSE_BYTES =
        24 * 1024, /* of all tiles, where some are dense: several blocks share a multiprocessor */
    LEAST_DENSE_BYTES = 64, /* contiguous bytes of a straight access in such a tile */
    MOST_BLOCKS = 8,        /* of a multiprocessor at a time */
};

const kn_access *kn_whole_access(const kn_phase *ph, int i)
{
    const kn_store *s = i < ph->nest.values.len ? NULL : kn_store_at(ph, i);
    bool element =
        s ? s->kind == KN_STORE_ELEMENT && !s->once : ph->nest.values.data[i].level == KN_ELEMENT;
    return element ? kn_access_at(ph, i) : NULL;
}

/* Does it have all elements along `down` side by side, and then those of the next along `across`? */
static bool is_dense_along(const kn_phase *ph, const kn_access *acc, int across, int down)
{
    const int64_t extent = ph->nest.axes[down].extent;
    return !ph->nest.extents && extent > 1 && extent <= MOST_DENSE && acc->stride[down] == 1 &&
           acc->stride[across] == extent;
}

/* Bytes an element of the accesses that are transposed: contiguous along `down`, and walked along `across`. */
static int transposed_bytes(const kn_phase *ph, const kn_buf *bufs, int across, int down)
{
    int total = 0;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_whole_access(ph, i);
        int bytes = acc ? kn_bytes(bufs[acc->buf].dtype) : 0;
        if (acc && (kn_access_transposed(acc, across, down, bytes) ||
                    is_dense_along(ph, acc, across, down)))
            total += bytes;
    }
    return total;
}

/* ---- tiles of the CPU ---- */

/* What is contiguous along the last axis moves by vectors, and what is transposed is copied to an array of the tile before
 * or from one behind. So the last axis is the one along which the most is contiguous; a stencil reads its array once for
 * each of its points. */
static void turn_axes(const kn_site *at, kn_phase *ph)
{
    const int last = ph->nest.naxes - 1;
    if (!kn_may_go_by_tiles(ph) || ph->universal)
        return;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (ph->nest.values.data[i].kind == KN_V_GATHER)
            return;
    for (int s = 0; s < ph->nest.stores.len; s++)
        if (ph->nest.stores.data[s].once)
            return;
    if (transposed_bytes(ph, at->bufs, last, last - 1) <=
        transposed_bytes(ph, at->bufs, last - 1, last))
        return;
    kn_swap_axes(ph, last - 1, last);
    kn_schedule_as(at->arena, ph, ph->how.vec);
}

/* ---- phases without reductions as columns ---- */

/* Axis `down` becomes the only member axis, behind the others in their order. */
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

/* The axis along which the most transposed bytes are contiguous; -1 for none. */
static int transposed_axis(const kn_phase *ph, const kn_buf *bufs)
{
    int best = -1, most = 0;
    for (int a = 0; a + 1 < ph->nest.naxes; a++) {
        int bytes = transposed_bytes(ph, bufs, ph->nest.naxes - 1, a);
        if (bytes > most) {
            most = bytes;
            best = a;
        }
    }
    return best;
}

/* Could the last axis stay the members, so that what is contiguous along it has dense tiles, and what is along the
 * one before is walked in order? */
static bool suits_dense_rows(const kn_phase *ph)
{
    const int last = ph->nest.naxes - 1;
    bool straight = false, dense = false;
    for (int i = 0; i < kn_accesses(ph) && last > 0 && ph->how.walk == KN_WALK_FLAT; i++) {
        const kn_access *acc = kn_whole_access(ph, i);
        straight = straight || (acc && acc->stride[last - 1] == 1 && acc->stride[last] > 1);
        dense = dense || (acc && is_dense_along(ph, acc, last - 1, last));
    }
    return straight && dense;
}

/* Makes the phase columns with a transposed access, of elementwise ones with axis `down` as members. False if there is none. */
static bool make_columns(const kn_site *at, kn_phase *ph, int down)
{
    const kn_buf *bufs = at->bufs;
    if (ph->how.walk != KN_WALK_COLS && ph->nest.reds.len > 0)
        return false;
    if (ph->how.walk == KN_WALK_FLAT) {
        if (ph->how.split || down < 0)
            return false;
        as_columns(ph, down);
    }
    if (ph->nest.ngroup == 0 || ph->nest.ngroup == ph->nest.naxes)
        return false;
    if (ph->how.walk != KN_WALK_COLS) {
        ph->how.walk = KN_WALK_COLS;
        ph->how.split = true;
        kn_schedule_vectors(at, ph);
    }
    return transposed_bytes(ph, bufs, ph->nest.ngroup - 1, ph->nest.naxes - 1) > 0;
}

/* ---- tiles ---- */

/* Elements of a transposed access that move at a time between memory and the tile. */
static int transposed_vector(const kn_site *at, const kn_phase *ph, const kn_access *acc)
{
    const kn_buf *buf = &at->bufs[acc->buf];
    int last = ph->nest.naxes - 1, vec = 16 / kn_bytes(buf->dtype);
    vec = vec > MOST_VECTOR ? MOST_VECTOR : vec;
    bool whole = acc->stride[last] == 1 && ph->nest.axes[last].extent % vec == 0;
    return whole && kn_vector_fits(ph, acc, buf, at->align[acc->buf], last, vec) ? vec : 1;
}

/* Contiguous bytes of a transposed array in a tile; of long runs, of the straight ones too (measured:
 * docs/lab/transposed-tiles.md). */
static int run_of(const kn_phase *ph, int bytes, const kn_target *target)
{
    int64_t side = LONG_RUN / bytes;
    int64_t tiles = kn_ceil_div(ph->nest.groups, side) * kn_ceil_div(ph->nest.members, side);
    return ph->nest.nsweeps <= 1 && tiles >= MANY_TILES * target->units ? LONG_RUN : RUN;
}

/* Is an access of columns transposed? */
static bool is_transposed(const kn_phase *ph, const kn_buf *bufs, const kn_access *acc)
{
    return kn_access_transposed(acc, ph->nest.ngroup - 1, ph->nest.naxes - 1,
                                kn_bytes(bufs[acc->buf].dtype));
}

/* Elements of a dense tile that move at a time; 0: the access has no such tile. */
static int dense_vector(const kn_site *at, const kn_phase *ph, const kn_access *acc)
{
    const kn_buf *buf = &at->bufs[acc->buf];
    const int last = ph->nest.naxes - 1, bytes = kn_bytes(buf->dtype);
    int vec = 16 / bytes > MOST_VECTOR ? MOST_VECTOR : 16 / bytes;
    if (bytes >= 4 && ph->nest.axes[last].extent < LEAST_WORDS)
        return 0;
    if (ph->nest.ngroup != last || at->force->division == KN_DIVIDE_CLUSTER ||
        !is_dense_along(ph, acc, last - 1, last) || !kn_walks_all_as_one(&ph->nest, acc) ||
        (ph->how.split && ph->nest.reds.len > 0))
        return 0;
    while (vec > 1 && (at->align[acc->buf] % (vec * bytes) != 0 || acc->offset % vec != 0))
        vec /= 2;
    return vec > 1 ? vec : 0;
}

int kn_tile_that_fits(const kn_phase *ph, int tile)
{
    while (tile > MOST_VECTOR * 2 && tile / 2 >= ph->nest.members)
        tile /= 2;
    return tile;
}

static void add_transpose(const kn_site *at, kn_phase *ph, int i, int vec, bool dense)
{
    const bool store = i >= ph->nest.values.len;
    kn_push(at->arena, &ph->how.transposes,
            ((kn_transpose){.store = store,
                            .of = store ? i - ph->nest.values.len : i,
                            .vec = vec,
                            .dense = dense}));
}

/* Are all tiles possible, with a block's shared memory? */
static bool are_possible(const kn_phase *ph)
{
    bool fit = kn_tile_bytes(ph, 0) <= KN_MOST_TILE_BYTES;
    for (int i = 0; i < ph->how.transposes.len; i++)
        fit = fit && (!ph->how.transposes.data[i].dense ||
                      kn_may_be_dense(ph, &ph->how.transposes.data[i]));
    return fit;
}

/* Tiles of all members, if any of them is dense. As wide as there is room for, and so wide that a thread has several elements.
 * False: none is, or members are too few for that, or too many for LEAST_DENSE_BYTES of groups. */
static bool transpose_densely(const kn_site *at, kn_phase *ph)
{
    enum { PART = 16, SMALL_PART = 4, THREADS = 256, STEPS = 8 };
    const int most = at->force->max_threads;
    bool any = false;
    int least = SECTOR;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_whole_access(ph, i);
        const int dense = acc ? dense_vector(at, ph, acc) : 0,
                  vec = dense ? transposed_vector(at, ph, acc) : 1;
        if (!acc)
            continue;
        any = any || (dense && vec == 1);
        if (dense && vec == 1)
            add_transpose(at, ph, i, dense, true);
        else if (is_transposed(ph, at->bufs, acc))
            add_transpose(at, ph, i, transposed_vector(at, ph, acc), false);
        else if (acc->stride[ph->nest.ngroup - 1] && kn_bytes(at->bufs[acc->buf].dtype) < least)
            least = kn_bytes(at->bufs[acc->buf].dtype);
    }
    ph->how.tile = (int)kn_round_up(ph->nest.members, ph->nest.members < PART ? SMALL_PART : PART);
    while (any && ph->how.lanes < THREADS && (!most || 2 * ph->how.lanes <= most) &&
           ph->how.tile * ph->how.lanes < STEPS * THREADS)
        ph->how.lanes *= 2;
    any = any && ph->how.tile * kn_cols_width(ph) >= STEPS * THREADS;
    while (any && kn_tile_bytes(ph, 0) > DENSE_BYTES && ph->how.lanes > 1)
        ph->how.lanes /= 2;
    if (THREADS / ph->how.lanes > PART) /* as many members as all threads have in whole steps */
        ph->how.tile = (int)kn_round_up(ph->how.tile, THREADS / ph->how.lanes);
    if (any && kn_cols_width(ph) * least >= LEAST_DENSE_BYTES && are_possible(ph))
        return true;
    ph->how.transposes.len = 0;
    ph->how.lanes = KN_COLS_LANES;
    return false;
}

/* As many of the transposed accesses as there is room for, by tiles of at least a sector each. */
static void transpose_accesses(const kn_site *at, kn_phase *ph)
{
    const kn_buf *bufs = at->bufs;
    int least = SECTOR;
    if (transpose_densely(at, ph)) {
        kn_schedule_as(at->arena, ph, ph->how.vec);
        return;
    }
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_whole_access(ph, i);
        int bytes = acc ? kn_bytes(bufs[acc->buf].dtype) : least;
        if (acc && bytes < least && is_transposed(ph, bufs, acc))
            least = bytes;
    }
    int run = run_of(ph, least, at->target);
    ph->how.tile = kn_tile_that_fits(ph, run / least);
    while (run == LONG_RUN && kn_cols_width(ph) * least > run)
        ph->how.lanes /= 2;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_whole_access(ph, i);
        if (!acc || !is_transposed(ph, bufs, acc))
            continue;
        add_transpose(at, ph, i, transposed_vector(at, ph, acc), false);
        while (kn_tile_bytes(ph, 0) > KN_MOST_TILE_BYTES && ph->how.tile > SECTOR / least)
            ph->how.tile /= 2;
        if (kn_tile_bytes(ph, 0) > KN_MOST_TILE_BYTES)
            ph->how.transposes.len--;
    }
    kn_schedule_as(at->arena, ph, ph->how.vec);
}

/* As many tiles as before, as even as possible: 128 members would leave the last of two tiles 47 of 175. Extents are rounded up,
 * so that sizes share kernels, and aligned tiles have whole bursts of memory. */
static int even_tile(const kn_phase *ph)
{
    enum { LEAST = 64, PART = 16, ALIGNED_PART = 32 };
    const int64_t n = kn_ceil_div(ph->nest.members, ph->how.tile);
    int part = PART;
    for (int i = 0; i < ph->how.transposes.len; i++)
        part = ph->how.transposes.data[i].vec > 1 ? ALIGNED_PART : part;
    const int64_t even = kn_round_up(kn_ceil_div(ph->nest.members, n), part);
    return ph->how.tile >= LEAST && even < ph->how.tile ? (int)even : ph->how.tile;
}

/* Divides members into whole tiles, without reductions: one a part, or as many as leave each block one part where local phases
 * come first, which blocks compute again for each. */
static void divide_into_tiles(kn_phase *ph, bool local, const kn_target *target)
{
    ph->how.tile = even_tile(ph);
    const int64_t tiles = kn_ceil_div(ph->nest.groups, kn_cols_width(ph)) *
                          kn_ceil_div(ph->nest.members, ph->how.tile);
    const int64_t a_part = local ? kn_ceil_div(tiles, MOST_BLOCKS * (int64_t)target->units) : 1;
    ph->num.chunk = ph->how.tile * a_part;
    ph->num.splits = kn_ceil_div(ph->nest.members, ph->num.chunk);
}

/* ---- tiles of rows ---- */

bool kn_lies_along(const kn_access *acc, int down, int across)
{
    return acc && llabs(acc->stride[down]) == 1 && llabs(acc->stride[across]) > 1;
}

/* Is load i of rows one that a tile could bring: contiguous along the groups? */
static bool suits_tile_of_rows(const kn_phase *ph, int i)
{
    return i < ph->nest.values.len &&
           kn_lies_along(kn_whole_access(ph, i), ph->nest.ngroup - 1, ph->nest.naxes - 1);
}

static bool any_suits_tile_of_rows(const kn_phase *ph)
{
    bool any = false;
    for (int i = 0; i < ph->nest.values.len; i++)
        any = any || suits_tile_of_rows(ph, i);
    return any;
}

bool kn_any_lies_along(const kn_phase *ph, int down, int across)
{
    bool any = false;
    for (int i = 0; i < kn_accesses(ph); i++)
        any = any || kn_lies_along(kn_whole_access(ph, i), down, across);
    return any;
}

/* Is there also an access that rows suit? */
static bool any_suits_rows(const kn_phase *ph)
{
    return kn_any_lies_along(ph, ph->nest.naxes - 1, ph->nest.ngroup - 1);
}

/* Members of a tile of rows: few different numbers, so that sizes share kernels. */
static int64_t members_of_tile(int64_t members)
{
    enum { PARTS = 8 }; /* of each power of two */
    int64_t part = MOST_VECTOR;
    while (part * 2 * PARTS < members)
        part *= 2;
    return kn_round_up(members, part);
}

/* Makes rows of the phase whose transposed loads, of which there are some, go through tiles. False if no block has room. */
static bool make_tile_of_rows(const kn_site *at, kn_phase *ph)
{
    if (ph->how.walk == KN_WALK_COLS) {
        ph->how.walk = KN_WALK_ROWS;
        kn_schedule_vectors(at, ph);
    }
    if (ph->how.unaligned || ph->how.linear || ph->how.tail)
        return false;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (suits_tile_of_rows(ph, i))
            kn_push(at->arena, &ph->how.transposes, ((kn_transpose){.of = i, .vec = 1}));
    ph->how.tile = (int)members_of_tile(ph->nest.members);
    if (!kn_rows_tile_lanes(ph, at->target))
        return false;
    kn_schedule_as(at->arena, ph, ph->how.vec);
    return true;
}

static bool may_have_tile_of_rows(const kn_site *at, const kn_phase *ph)
{
    const kn_division force = at->force->division;
    return at->target->sm && !ph->universal && !ph->local && !ph->how.mixed && !ph->how.split &&
           !ph->how.resident && !kn_phase_in_order(ph) && !kn_is_invariant(ph) &&
           ph->how.walk != KN_WALK_FLAT && ph->nest.reds.len > 0 && ph->nest.ngroup > 0 &&
           ph->nest.ngroup < ph->nest.naxes && ph->nest.groups > 0 && ph->nest.members > 1 &&
           ph->nest.members <= KN_MOST_TILE_BYTES &&
           (force == KN_DIVIDE_BY_COST || force == KN_DIVIDE_TILES);
}

bool kn_schedule_tile_of_rows(const kn_site *at, const kn_phase *ph, kn_phase *rows)
{
    if (!may_have_tile_of_rows(at, ph) || !any_suits_tile_of_rows(ph) ||
        (ph->how.walk == KN_WALK_COLS && !any_suits_rows(ph)))
        return false;
    *rows = kn_phase_copy(at->arena, ph);
    return make_tile_of_rows(at, rows);
}

/* ---- what is given ---- */

/* The widest vector by which this access could be transposed; 0: it could not. */
static int widest_transpose(const kn_site *at, const kn_phase *ph, const kn_transpose *t)
{
    const int n = t->store ? ph->nest.stores.len : ph->nest.values.len;
    const int i = t->store ? ph->nest.values.len + t->of : t->of;
    if (at->target->sm == 0)
        return t->of < n && ph->how.walk != KN_WALK_FLAT && kn_suits_cpu_tile(at, ph, i);
    const kn_access *acc = ph->how.tile && t->of < n ? kn_whole_access(ph, i) : NULL;
    if (acc && ph->how.walk == KN_WALK_ROWS)
        return suits_tile_of_rows(ph, i);
    if (t->dense)
        return acc ? dense_vector(at, ph, acc) : 0;
    return acc && is_transposed(ph, at->bufs, acc) ? transposed_vector(at, ph, acc) : 0;
}

const char *kn_broken_transpose(const kn_site *at, const kn_phase *ph, const kn_schedule *shaped,
                                int threads)
{
    const bool on_chip = shaped->transposes.len && shaped->transposes.data[0].in_registers;
    for (int i = 0; i < ph->how.transposes.len; i++) {
        const kn_transpose *t = &ph->how.transposes.data[i], *before = i ? t - 1 : NULL;
        if (before && (t->store == before->store ? t->of <= before->of : before->store))
            return "transposes are of loads, in the order of their values, then of stores";
        const int widest = widest_transpose(at, ph, t);
        if (widest == 0 || t->vec < 1 || widest % t->vec != 0)
            return "what is transposed in tiles is contiguous along their members, by vectors no "
                   "wider than its strides allow";
        if (t->dense && !kn_may_be_dense(ph, t))
            return "a dense tile has all members of its groups, and begins where a vector does";
        if (t->in_registers && (!on_chip || !t->store || t->vec == 1))
            return "registers transpose stores by vectors, of columns that the planner has on chip";
        if (before && t->in_registers != before->in_registers)
            return "registers transpose all accesses or none";
    }
    if (at->target->sm == 0)
        return ph->how.transposes.len && kn_groups_of_tile(ph) == 0
                   ? "the cache has no room for a tile of groups, or there are too few"
                   : NULL;
    const int64_t room =
        ph->how.walk == KN_WALK_ROWS ? kn_rows_tile_room(ph, at->target) : KN_MOST_TILE_BYTES;
    return kn_tile_bytes(ph, threads) > room ? "a block has no shared memory for such tiles" : NULL;
}

/* ---- does it pay? ---- */

/* Bytes that the caches move for all accesses to elements, with sectors of which only some bytes are used and idle
 * parts of tiles. */
static double traffic(const kn_phase *ph, const kn_buf *bufs)
{
    int va = kn_phase_vector_axis(ph);
    double total = 0;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_whole_access(ph, i);
        if (!acc)
            continue;
        double bytes = kn_bytes(bufs[acc->buf].dtype), stride = (double)llabs(acc->stride[va]);
        double each = kn_transpose_of(ph, i) || stride < 1 ? bytes : stride * bytes;
        each = each > SECTOR ? SECTOR : each;
        for (int a = 0; a < ph->nest.naxes; a++)
            each *= acc->stride[a] ? (double)ph->nest.axes[a].extent : 1;
        total += each * (i < ph->nest.values.len ? ph->nest.values.data[i].sweeps : 1);
    }
    if (!ph->how.tile)
        return total;
    double slots = (double)kn_round_up(ph->nest.groups, kn_cols_width(ph)) *
                   (double)kn_round_up(ph->nest.members, ph->how.tile);
    return total * slots / ((double)ph->nest.groups * (double)ph->nest.members);
}

/* Of elementwise phases, whose schedule this completes, by predicted time too: small arrays wait less without tiles.
 * Dense tiles have to be clearly quicker, for what neighbours have of a sector the caches have as well (measured:
 * docs/lab/transposed-tiles.md#tiles-that-are-one-piece-of-memory). */
static bool pays(const kn_site *at, const kn_phase *tiled, const kn_phase *ph)
{
    const double clearly = 0.9;
    return traffic(tiled, at->bufs) < traffic(ph, at->bufs) &&
           (ph->how.walk != KN_WALK_FLAT ||
            kn_predict_phase_ns(at, tiled) <
                (kn_has_dense_tile(tiled) ? clearly : 1) * kn_predict_phase_ns(at, ph));
}

/* A copy of the phase by tiles, of an elementwise one with axis `down` as members. False: nothing is transposed. */
static bool by_tiles(const kn_site *at, const kn_phase *ph, int down, kn_phase *tiled)
{
    *tiled = kn_phase_copy(at->arena, ph);
    if (!make_columns(at, tiled, down))
        return false;
    transpose_accesses(at, tiled);
    if (tiled->nest.reds.len == 0)
        divide_into_tiles(tiled, ph->how.walk != KN_WALK_FLAT, at->target);
    return true;
}

void kn_schedule_transposes(const kn_site *at, kn_phase *ph)
{
    const kn_target *target = at->target;
    const kn_division force = at->force->division;
    if (target->sm == 0 && !kn_phase_in_order(ph) && !ph->local)
        turn_axes(at, ph);
    if (target->sm == 0 || ph->universal || ph->local || ph->how.mixed || kn_phase_in_order(ph) ||
        ph->nest.groups == 0 || ph->nest.members == 0 || force == KN_DIVIDE_WHOLE ||
        kn_is_invariant(ph))
        return;
    const kn_arena_mark here = kn_arena_here(at->arena);
    const int last = ph->nest.naxes - 1;
    kn_phase tiled, dense;
    bool found = by_tiles(at, ph, transposed_axis(ph, at->bufs), &tiled);
    if (suits_dense_rows(ph) && by_tiles(at, ph, last, &dense) && kn_has_dense_tile(&dense) &&
        (!found || kn_predict_phase_ns(at, &dense) < kn_predict_phase_ns(at, &tiled))) {
        tiled = dense;
        found = true;
    }
    if (found && (force == KN_DIVIDE_TILES || pays(at, &tiled, ph)))
        *ph = tiled;
    else
        kn_arena_back(at->arena, here);
}
