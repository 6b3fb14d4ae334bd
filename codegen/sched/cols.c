/* Columns: neighbouring threads take neighbouring groups, `lanes` of them side by side in a row, and the rows of a block
 * share their groups' members.
 *
 * Where later sweeps read again what earlier ones did, a block takes only as many groups as are a line of memory side by
 * side, with all their members, and keeps them in shared memory: each thread its own, so that only combines need
 * barriers. Columns that are too tall for a block are shared by the blocks of a cluster, a range of members each; of
 * still taller ones half a line is kept. What is chosen is what was faster on an H200, of 256 MB, a copy of which takes
 * 136 us:
 *
 *     members       a block, a line   clusters, a line                       half a line   in 4-byte copies   reads twice
 *     512           152                                                                    157
 *     1024          161               2: 166                                 182           179
 *     2048                            4: 172, 8: 186, 2 (128 KB each): 196   193
 *     4096                            8: 177, 16: 196                        194           191
 *     8192 softmax                    16: 193, 8 (128 KB each): 232          201           210                > 300
 *     16384                           16: does not fit                       211                              > 206
 *
 * So three blocks share a multiprocessor where there are clusters; and 64 KB are for 256 threads: 128 or 512 took 10 %
 * longer. Copies that take no registers have all of a tile on its way at once: through registers 1024 members took 227. */
#include "codegen/cuda.h"
#include "codegen/sched/sched.h"

enum {
    BLOCK_OF_TILES = 256, /* threads, which only meet: several blocks keep memory busy */
    LINE = 128,           /* bytes side by side */
    THREAD_BYTES = 256,   /* that a thread keeps */
    LEAST_BLOCK = 128,
    MOST_ALONE = 128 * 1024, /* bytes kept by a block that has no other beside it */
    MOST_STATIC = 40 * 1024, /* shared memory beside what is kept: a kernel has 48 KB of it */
    OWN = 1024,              /* what the hardware takes of it for a block */
    PART_MULTIPLE = 8,
};

/* The primary access is contiguous along the groups and not along the members. */
static bool can(const kn_phase *ph)
{
    const kn_access *a = kn_phase_primary(ph);
    if (!a || ph->ngroup == 0)
        return false;
    bool rows = ph->naxes > ph->ngroup && a->stride[ph->naxes - 1] == 1;
    return a->stride[ph->ngroup - 1] == 1 && !rows;
}

/* Bytes that a block keeps. */
static int64_t kept_bytes(const kn_phase *ph)
{
    return (ph->cluster ? ph->chunk : ph->members) * kn_cols_width(ph) * kn_reread_element(ph);
}

/* Threads of a block that keeps so much. */
static int block_that_keeps(const kn_phase *ph, const kn_target *target)
{
    int64_t threads = kn_power_of_two_from(kn_ceil_div(kept_bytes(ph), THREAD_BYTES));
    threads = threads < LEAST_BLOCK ? LEAST_BLOCK : threads;
    return threads < target->max_block ? (int)threads : target->max_block;
}

/* Is there room for it where `at_once` blocks share a multiprocessor? */
static bool fits(const kn_phase *ph, const kn_target *target, int at_once)
{
    kn_phase bound = *ph;
    int threads = block_that_keeps(ph, target);
    bound.tpg = threads / ph->lanes;
    int beside = kn_cuda_static_bytes(&bound, threads);
    return beside <= MOST_STATIC &&
           kept_bytes(ph) + beside + OWN <= (target->smem_block + OWN) / at_once;
}

static bool has_something_to_keep(const kn_phase *ph, const kn_target *target)
{
    return target->sm != 0 && ph->walk == KN_WALK_COLS && ph->alone && !ph->universal &&
           !ph->split && !ph->local && ph->groups > 0 && ph->members > 1 &&
           kn_reread_element(ph) > 0;
}

kn_keep kn_cols_keep(const kn_phase *ph, const kn_target *target)
{
    return has_something_to_keep(ph, target) && fits(ph, target, 1) ? KN_KEEP_SHARED : KN_KEEP_NONE;
}

/* So narrow that what is kept is a line side by side; a tile has as many elements as before. */
static void narrow(kn_phase *ph, int line)
{
    int width = kn_cols_width(ph), element = 0;
    for (int i = 0; i < ph->values.len; i++)
        if (kn_is_reread(ph, i))
            element = kn_bytes(ph->values.data[i].dtype);
    while (kn_cols_width(ph) * element > line && ph->lanes > 1)
        ph->lanes /= 2;
    ph->tile *= width / kn_cols_width(ph);
}

/* A load whose place no other store has: of as wide elements, kept; -1 for none. */
static int room_for(const kn_phase *ph, int store)
{
    int bytes = kn_bytes(ph->values.data[ph->stores.data[store].value].dtype);
    for (int i = 0; i < ph->values.len; i++) {
        bool free = kn_is_reread(ph, i) && kn_bytes(ph->values.data[i].dtype) == bytes;
        for (int s = 0; s < ph->stores.len && free; s++)
            free = !ph->stores.data[s].kept || ph->stores.data[s].room != i;
        if (free)
            return i;
    }
    return -1;
}

/* What is stored last, and turned, goes to memory from the places of what is kept; or from tiles again. */
static void keep_stores(kn_phase *ph, bool keep)
{
    for (int s = 0; s < ph->stores.len; s++) {
        kn_store *st = &ph->stores.data[s];
        int room = keep && st->access.turned && st->stage + 1 == ph->nsweeps ? room_for(ph, s) : -1;
        st->room = room < 0 ? 0 : room;
        st->kept = room >= 0;
    }
}

/* Ranges of the members for the blocks of a cluster. */
static void share(kn_phase *ph, int64_t blocks)
{
    ph->cluster = true;
    ph->splits = blocks;
    ph->chunk = kn_ceil_div(kn_ceil_div(ph->members, blocks), PART_MULTIPLE) * PART_MULTIPLE;
}

/* Can columns of such lines be shared by the blocks of a cluster, `least` or twice, four times ... as many? */
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

void kn_schedule_columns(kn_phase *ph, const kn_target *target, kn_division force, int want)
{
    bool clusters = target->cluster > 1, forced = clusters && force == KN_DIVIDE_CLUSTER;
    if (!has_something_to_keep(ph, target) || force == KN_DIVIDE_SPLIT ||
        force == KN_DIVIDE_RESIDENT)
        return;
    keep_stores(ph, true);
    kn_phase whole = *ph;
    narrow(&whole, LINE);
    bool chosen = clusters && force == KN_DIVIDE_BY_COST, fit = fits(&whole, target, 1);
    bool alone =
        !forced && fit && (!chosen || kept_bytes(&whole) <= MOST_ALONE / (ph->tile ? 2 : 1));
    int64_t least = want ? want : 2, most = want ? want : target->cluster;
    int at_once = forced ? 1 : 3;
    if (!alone && (forced || chosen) &&
        (in_clusters(ph, target, LINE, least, most, at_once) ||
         in_clusters(ph, target, LINE / 2, least, most, at_once)))
        return;
    if (!forced && fit)
        *ph = whole;
    else
        keep_stores(ph, false);
}

/* Can every load that is kept go to its place as it lies in memory, in a copy of 4, 8 or 16 bytes a thread? */
static bool copies(const kn_phase *ph, const kn_target *target)
{
    bool can_copy = target->sm >= 80;
    for (int i = 0; i < ph->values.len; i++) {
        const kn_value *v = &ph->values.data[i];
        if (kn_is_reread(ph, i))
            can_copy = can_copy && !v->access.turned && kn_bytes(v->dtype) * ph->vec >= 4 &&
                       (ph->vec == 1 || v->access.vector);
    }
    return can_copy;
}

static int threads(const kn_phase *ph, const kn_target *target)
{
    int most = ph->abreast                     ? kn_abreast_threads(ph)
               : ph->tile && ph->reds.len == 0 ? BLOCK_OF_TILES
               : kn_cols_keep(ph, target)      ? block_that_keeps(ph, target)
                                               : 512;
    return most < target->max_block ? most : target->max_block;
}

static void bind(kn_phase *ph, const kn_target *target, int block)
{
    ph->tpg = block / ph->lanes;
    if (ph->abreast)
        kn_keep_reread(ph, KN_KEEP_REGISTERS);
    else if (kn_cols_keep(ph, target)) {
        kn_keep_reread(ph, KN_KEEP_SHARED);
        ph->fetched = copies(ph, target);
    }
}

const kn_schedule kn_sched_cols = {"cols", KN_WALK_COLS, can, threads, bind};
