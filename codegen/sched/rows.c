/* Rows: inner reductions. How many threads share a group, and where they keep what later sweeps read again:
 *
 *   registers   if a block, or part of a warp, has enough of them for all steps; lanes are chosen so that it has
 *   shared      else, by loads or by async copies of the blocks of a cluster
 *   nothing     else every sweep loads it again */
#include <math.h>
#include <stdlib.h>

#include "codegen/kir/lanes.h"
#include "codegen/model/machine.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Registers that a thread may spend on kept values, half of what it has in the largest block. */
enum { KEEP_REGISTERS = KN_MIXED_WORDS, WARP = 32, FEW_LANES = 4, FEW_ELEMENTS = 2 };

/* Rows of at most SHORT_LANES lanes are short; for up to SHORT_STEPS full steps there is a kernel for each number. */
enum { SHORT_LANES = 8, SHORT_STEPS = 4 };

/* The largest block, per group, for which a thread takes few steps and 16-bit elements count as registers of 32 bits. */
enum { NARROW_BLOCK = 512 };

/* The least threads of a block of a mixed phase: two such blocks have some 64 KB of loads in flight. */
enum { MIXED_BLOCK = 512 };

/* Where as much is written as read, memory is faster the less each thread asks for (measured:
 * docs/lab/bytes-a-block.md). So a thread has at most so many bytes of a row in flight, as long as half of the
 * largest block is enough; and a lane at most so many elements, or bytes where that is more and lanes fill the machine,
 * as long as there are more lanes. Of f64 twice the bytes: of twice the threads, with nearly as many registers each, fewer
 * would fit. The same of random numbers, so that more elements share what a thread computes of a row besides. */
enum { THREAD_BYTES = 64, LANE_ELEMENTS = 16 };

static bool can(const kn_phase *ph)
{
    (void)ph;
    return true;
}

/* Vectors of a group, or of a block's part of one: those of edges, which are held apart, are not among them. */
static int64_t vectors(const kn_phase *ph)
{
    int64_t members = ph->how.split || ph->how.cluster ? ph->num.chunk : kn_phase_counted(ph);
    return kn_ceil_div(members, ph->how.vec);
}

/* Steps that single threads take through them, and through edges. */
static int64_t steps(const kn_phase *ph)
{
    return ph->how.by_run && !ph->how.cluster
               ? kn_phase_vectors(ph, ph->how.split ? ph->num.chunk : ph->nest.members)
               : vectors(ph);
}

/* Are any of these 64 bits wide? Their arithmetic takes twice the registers, too. */
static bool keeps_wide(const kn_phase *ph)
{
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_stays(ph, i) && kn_bytes(ph->nest.values.data[i].dtype) > 4)
            return true;
    return false;
}

/* The most steps, up to a limit, for which there are registers; 0 if not even one fits. Single registers allow a few
 * more (measured: docs/lab/unaligned-rows.md, docs/lab/row-packing.md). */
static int most_steps(const kn_phase *ph, int words, int limit)
{
    int most = 1;
    while (most * 2 <= limit && most * 2 * words <= KEEP_REGISTERS)
        most *= 2;
    if (words == 1 && limit == KN_KEEP_STEPS)
        most = kn_phase_one_run(ph) ? 2 * KN_KEEP_STEPS : KN_KEEP_SINGLES;
    return words <= KEEP_REGISTERS ? most : 0;
}

/* Is it a load that is the same for all groups, of which persistent blocks may keep their part? */
static bool may_hoist(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    return kn_same_for_groups(ph, v) && v->sweeps > 0 &&
           v->access->kind[kn_phase_vector_axis(ph)] != KN_STRIDE_ZERO;
}

/* Lanes for n steps, at most `most` of them each. */
static int64_t lanes_for(int64_t n, int most) { return kn_power_of_two_from(kn_ceil_div(n, most)); }

/* Bytes that memory moves for a step of what is read again: of strided elements whole sectors. */
static int moved_a_step(const kn_phase *ph)
{
    const int64_t sector = 32;
    int64_t bytes = 0;
    for (int i = 0; i < ph->nest.values.len; i++) {
        if (!kn_is_reread(ph, i))
            continue;
        const kn_value *v = kn_value_at(ph, i);
        int64_t stride = llabs(v->access->stride[kn_phase_vector_axis(ph)]);
        int64_t each = (stride > 1 ? stride : 1) * kn_bytes(v->dtype);
        bytes += ph->how.vec * (each < sector ? each : sector);
    }
    return (int)bytes;
}

/* Are there so many groups that each gets only a part of a block? */
static bool crowded(const kn_phase *ph, const kn_target *target)
{
    return !ph->universal && kn_scheduled_groups(ph) * ph->num.splits >= target->units * 8;
}

/* Are its groups reduced again by what the first reduction gives? */
static bool reduces_twice(const kn_phase *ph)
{
    int sweeps = 0;
    for (int t = 0; t < ph->nest.nsweeps; t++)
        sweeps += kn_sweep_reduces(ph, t);
    return sweeps > 1;
}

/* Is a block of lanes with so many steps each a waste: are more than a quarter of its steps unused, because lanes are a
 * power of two, or would one warp do with `most` steps? */
static bool wastes_steps(int64_t n, int steps, int most)
{
    const int64_t lanes = lanes_for(n, steps);
    return lanes > WARP && (lanes_for(n, most) <= WARP || 4 * n <= 3 * steps * lanes);
}

/* Bytes of an element that a step reads of its group, to be read again, and stores. */
static int bytes_of_element(const kn_phase *ph)
{
    int bytes = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_is_reread(ph, i) &&
            ph->nest.values.data[i].access->axes & ((1u << ph->nest.ngroup) - 1))
            bytes += kn_bytes(ph->nest.values.data[i].dtype);
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (ph->nest.stores.data[i].kind == KN_STORE_ELEMENT)
            bytes += kn_bytes(ph->nest.values.data[ph->nest.stores.data[i].value].dtype);
    return bytes;
}

/* Are these so few that time goes to what every step takes? */
static bool is_light(const kn_phase *ph)
{
    enum { HEAVY = 8 };
    return kn_shares_blocks(ph) || bytes_of_element(ph) < HEAVY;
}

/* Is so much computed for each of them that time goes to it? */
static bool computes_much(const kn_phase *ph)
{
    enum { ADDITIONS_A_BYTE = 4 };
    int additions = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_value_at(ph, i)->kind == KN_V_ELEM && kn_value_at(ph, i)->level == KN_ELEMENT)
            additions += kn_ops[kn_value_at(ph, i)->op].cost;
    return additions >= ADDITIONS_A_BYTE * bytes_of_element(ph);
}

/* Does a thread take as many steps as its group has for it, and not a power of two of them, so that the last alone is
 * checked? That is a kernel for each number of steps. */
static bool takes_exact_steps(const kn_phase *ph)
{
    return !ph->how.cluster && ph->how.vec <= FEW_ELEMENTS && (is_light(ph) || computes_much(ph));
}

/* most_steps(); where there are groups for all threads, all that registers allow of exact steps, whatever they have in flight,
 * for instructions are what takes time there; and more of steps of two registers with a single element each, of few bytes. */
static int kept_steps(const kn_phase *ph, const kn_target *target, int words, int limit)
{
    enum { MOST = 2 * KN_KEEP_STEPS, BYTES = THREAD_BYTES / MOST };
    const bool pairs =
        words == 2 && ph->how.vec == 1 && crowded(ph, target) && moved_a_step(ph) <= BYTES;
    if (pairs && limit == KN_KEEP_STEPS)
        return MOST;
    if (words > 2 && words <= KEEP_REGISTERS && takes_exact_steps(ph) && crowded(ph, target))
        return KEEP_REGISTERS / words;
    return most_steps(ph, words, limit);
}

/* The most steps of a thread that keeps in registers all that is read again; 0 if there is nothing, or no register,
 * to keep it in. Values computed from 16-bit elements take a register each, so these count as 32 bits as long as that
 * costs only lanes; not where many groups are reduced twice, and what each thread does for that once a group would be shared
 * by few elements (measured: docs/lab/rows-of-16-bits.md). */
static int keepable_steps(const kn_phase *ph, const kn_target *target)
{
    int words = kn_step_words(ph, 0);
    if (target->sm == 0 || ph->universal || ph->how.split || ph->how.unaligned ||
        ph->nest.nsweeps < 2 || !words)
        return 0;
    int bytes = keeps_wide(ph) || kn_shares_blocks(ph) ? 2 * THREAD_BYTES : THREAD_BYTES;
    int quick = kn_phase_stores_elements(ph) && kn_phase_one_run(ph) && !ph->how.cluster
                    ? kn_steps_for(moved_a_step(ph), bytes)
                    : KN_KEEP_STEPS;
    int most = kept_steps(ph, target, words, KN_KEEP_STEPS),
        wide = kept_steps(ph, target, kn_step_words(ph, 4), quick);
    if (!wide || (kn_step_words(ph, 4) > words && crowded(ph, target) && reduces_twice(ph) &&
                  wastes_steps(vectors(ph), wide, most)))
        return most;
    return lanes_for(vectors(ph), wide) <= NARROW_BLOCK ? wide : most;
}

/* Are groups so few and so short that each may have a lane of a warp for every step? Then all loads are in flight at
 * once, and nobody waits at a barrier (measured: docs/lab/small-rows.md). */
static bool has_one_step(const kn_phase *ph, const kn_target *target)
{
    return keepable_steps(ph, target) && !ph->how.cluster && !ph->how.mixed &&
           !crowded(ph, target) && kn_phase_one_run(ph) && vectors(ph) <= WARP;
}

/* Bytes of a block's part of a group in shared memory, of what is read again. */
static int64_t part_bytes(const kn_phase *ph)
{
    return kn_reread_element(ph) *
           (ph->how.rest_in_registers ? ph->num.in_shared : vectors(ph) * ph->how.vec);
}

/* Async bulk copies need contiguous runs of a multiple of 16 bytes, and of short runs they are no faster than loads. */
static bool may_copy(const kn_phase *ph)
{
    enum { LEAST_RUN = 512 };
    int va = kn_phase_vector_axis(ph);
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        int bytes = kn_bytes(v->dtype);
        if (kn_is_reread(ph, i) &&
            (!kn_transfer_of(ph, i)->vector || ph->how.vec * bytes % 16 != 0 ||
             ph->nest.axes[va].extent * bytes < LEAST_RUN))
            return false;
    }
    return true;
}

/* Does shared memory hold a block's part of the group, and should it? Only in a kernel of one phase, or in clusters: other kernels of
 * several phases launch as many blocks as fit at a time, which shared memory would reduce. Groups in several runs leave it to clusters, even
 * of one block (cluster.c), if there are any; those in one run of several widths are quicker read again than by threads
 * brought there (docs/lab/combining-columns.md). */
static bool shared_keeps(const kn_phase *ph, const kn_target *target)
{
    int64_t bytes = kn_reread_bytes(ph);
    const bool one_run = kn_phase_one_run(ph);
    bool fitting = ph->how.cluster || one_run || target->cluster == 0;
    if (target->sm == 0 || ph->universal || ph->how.split || !bytes || !fitting ||
        (!ph->alone && (!ph->how.cluster || ph->how.mixed)) ||
        (one_run && !kn_reread_alike(ph) && !may_copy(ph)))
        return false;
    return part_bytes(ph) <= target->smem_block - kn_scratch_beside(ph);
}

/* Blocks that keep their part of a group in shared memory and share a multiprocessor. */
static int64_t sharing_blocks(const kn_phase *ph, const kn_target *target)
{
    return shared_keeps(ph, target) ? target->smem_block / (part_bytes(ph) + KN_SCRATCH_BYTES / 2)
                                    : 0;
}

/* Where registers would allow one large block a multiprocessor only, memory is idle at its barriers. So shared memory keeps
 * the groups where it has room for two blocks and there are groups for them. By run, too, a group that would take a block of
 * more than 512 threads is not kept in registers (docs/lab/runs-that-begin-anywhere.md). */
static bool registers_keep(const kn_phase *ph, const kn_target *target)
{
    int most = keepable_steps(ph, target);
    int threads = target->max_block;
    bool share = kn_scheduled_groups(ph) > target->units && sharing_blocks(ph, target) > 1;
    if ((ph->how.cluster || ph->how.by_run || keeps_wide(ph) || share) && threads > KN_HALF_BLOCK)
        threads = KN_HALF_BLOCK;
    if (ph->how.cluster && !kn_phase_one_run(ph))
        return false; /* in shared memory, as larger ones: one kernel less */
    return most && lanes_for(vectors(ph), most) <= threads;
}

/* The fewest lanes: those of a single run by run have an edge each, at most. */
static int64_t lanes_of_edges(const kn_phase *ph)
{
    return ph->how.by_run && kn_phase_one_run(ph)
               ? kn_power_of_two_from(ph->how.by_run + ph->how.vec - 2)
               : 1;
}

/* A warp, or all that short rows have steps for, at least; not fewer than other phases need that walk the same parts. */
int kn_mixed_lanes(const kn_phase *ph)
{
    int64_t lanes = lanes_for(vectors(ph), most_steps(ph, kn_step_words(ph, 0), 2 * KN_KEEP_STEPS));
    int64_t least = lanes_for(vectors(ph), 1);
    least = least < WARP ? least : WARP;
    least = least < lanes_of_edges(ph) ? lanes_of_edges(ph) : least;
    lanes = lanes < least ? least : lanes;
    return lanes < ph->how.lanes ? ph->how.lanes : (int)lanes;
}

bool kn_rows_can_mix(const kn_phase *ph, const kn_target *target)
{
    int words = kn_step_words(ph, 0);
    return target->sm && !ph->universal && words && words <= KN_MIXED_WORDS &&
           steps(ph) >= FEW_LANES && kn_mixed_lanes(ph) <= target->max_block;
}

/* Bytes that a thread prefetches; 0: nothing, or not all that it holds. */
static int64_t prefetched_bytes(const kn_phase *ph)
{
    int64_t bytes = 0, each = kn_power_of_two_from(kn_ceil_div(vectors(ph), kn_mixed_lanes(ph)));
    for (int i = 0; i < ph->nest.values.len; i++) {
        if (!kn_stays(ph, i) || kn_same_for_groups(ph, kn_value_at(ph, i)))
            continue;
        if (!kn_may_prefetch(ph, i))
            return 0;
        bytes += each * ph->how.vec * kn_bytes(kn_value_at(ph, i)->dtype);
    }
    return bytes;
}

bool kn_mixed_prefetches(const kn_phase *ph, const kn_target *target)
{
    if (target->sm < 80 || !ph->how.mixed || ph->how.resident)
        return false;
    const int block = kn_walk_rows.threads(ph, target);
    const int64_t bytes = prefetched_bytes(ph);
    return bytes > 0 && bytes * block <= kn_mixed_room(target, block);
}

kn_keep kn_rows_keep(const kn_phase *ph, const kn_target *target)
{
    return registers_keep(ph, target) ? KN_KEEP_REGISTERS
           : shared_keeps(ph, target) ? KN_KEEP_SHARED
                                      : KN_KEEP_NONE;
}

/* Copies refill what all threads have finished, so threads may not have a range each. */
bool kn_rows_copies(const kn_phase *ph, const kn_target *target)
{
    return ph->how.cluster && shared_keeps(ph, target) && !kn_phase_in_order(ph) && may_copy(ph);
}

/* Do the blocks of a cluster load their parts into registers, instead of by async copies into shared memory? Where it was
 * tried and is predicted to be quicker, or no sweep loads anything else: kept values leave a thread few registers for other
 * loads in flight. And then of 32-bit elements only: what is computed from 16 bits takes further registers (measured:
 * docs/lab/registers-or-shared.md). */
static bool loads_parts(const kn_phase *ph, const kn_target *target)
{
    bool alone = ph->how.cluster && registers_keep(ph, target);
    if (alone && ph->how.loads_parts)
        return true;
    for (int i = 0; i < ph->nest.values.len && alone; i++)
        if (kn_is_read(&ph->nest.values.data[i]) && ph->nest.values.data[i].level == KN_ELEMENT)
            alone = kn_is_reread(ph, i) && kn_bytes(ph->nest.values.data[i].dtype) == 4;
    return alone;
}

/* The most steps for which a thread has registers to hoist loads that are the same for all groups: a register an
 * element, of 16 bits too, and some for what is computed from it. 0: there are none, or no registers. It does not
 * depend on the size of groups, so that one kernel serves all. */
static int hoisted_steps(const kn_phase *ph)
{
    int words = 0;
    bool narrow = true;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        words += may_hoist(ph, i) ? ph->how.vec : 0;
        narrow = narrow && (v->level == KN_GROUP || kn_bytes(v->dtype) <= 4);
    }
    return words && narrow ? most_steps(ph, words, KN_KEEP_STEPS / 2) : 0;
}

/* Two blocks a multiprocessor have two stages each then. That is less in flight than more blocks with one stage,
 * unless it takes at least half of the shared memory. sm_120, with fewer threads a multiprocessor, has less shared
 * memory too, and its code spills. */
bool kn_rows_may_hoist(const kn_phase *ph, const kn_target *target)
{
    bool copied = false;
    for (int i = 0; i < ph->nest.values.len; i++)
        copied = copied || (kn_is_reread(ph, i) && !may_hoist(ph, i));
    int64_t room = (target->smem_block - kn_scratch_beside(ph)) / 2, twice = 2 * part_bytes(ph);
    return copied && !ph->how.unaligned && !ph->how.by_run && !ph->how.rest_in_registers &&
           target->max_threads_unit >= 4 * KN_HALF_BLOCK && twice <= room && twice * 2 >= room &&
           steps(ph) <= (int64_t)hoisted_steps(ph) * KN_HALF_BLOCK && kn_rows_copies(ph, target) &&
           !loads_parts(ph, target);
}

bool kn_rows_may_load_parts(const kn_phase *ph, const kn_target *target)
{
    return kn_scheduled_groups(ph) * ph->num.splits <= target->units &&
           registers_keep(ph, target) && kn_rows_copies(ph, target) && !loads_parts(ph, target);
}

int kn_rows_rest_steps(const kn_phase *ph)
{
    enum { REST_WORDS = 16 };
    int words = kn_step_words(ph, 0);
    return words ? REST_WORDS / words : 0;
}

/* Threads of blocks that share a multiprocessor: a thousand for all of them, twice as many where each takes one
 * element at a time. */
static int sharing_threads(const kn_phase *ph, const kn_target *target)
{
    int64_t at_once = sharing_blocks(ph, target);
    return at_once >= 4 && ph->how.vec > 1 ? 256 : at_once >= 2 ? 512 : 1024;
}

/* At least `lanes` lanes for n steps, of the few widths that a part of a warp may have, each of which is another
 * kernel; `eight`: 8 is one. Four where there are four steps, so that neighbouring vectors are 64 contiguous bytes
 * (measured: docs/lab/small-rows.md). */
static int part_of_warp(int64_t n, int64_t lanes, bool eight)
{
    return n < 4 && lanes <= 1   ? 1
           : lanes <= 4          ? 4
           : lanes <= 8 && eight ? 8
           : lanes <= 16         ? 16
                                 : WARP;
}

/* The steps of a lane, at most, as long as there are more lanes; `busy`: as there are groups for all threads. */
static int steps_of_lane(const kn_phase *ph, const kn_target *target, bool busy)
{
    int few = kn_steps_for(ph->how.vec, LANE_ELEMENTS), most = keepable_steps(ph, target);
    if (busy && ph->how.vec > 1 && few < kn_steps_for(moved_a_step(ph), THREAD_BYTES))
        few = kn_steps_for(moved_a_step(ph), THREAD_BYTES);
    return few < most ? few : most;
}

/* Lanes of a warp, at most all, that keep a group in registers; 0: it takes more. Where all groups have lanes enough to keep
 * the machine busy, as few as there may be, for each computes what it needs of the group besides (measured:
 * docs/lab/small-rows.md). */
static int lanes_to_keep(const kn_phase *ph, const kn_target *target)
{
    enum { BUSY = 1024 };
    const int64_t n = vectors(ph), groups = kn_scheduled_groups(ph);
    const int most = keepable_steps(ph, target);
    if (!most || lanes_for(n, most) > WARP)
        return 0;
    const int64_t fewest = lanes_for(n, steps_of_lane(ph, target, true));
    const bool busy = ph->how.vec > 1 && fewest * groups >= (int64_t)target->units * BUSY;
    int64_t lanes = busy ? fewest : lanes_for(n, steps_of_lane(ph, target, false));
    if (lanes < lanes_of_edges(ph))
        lanes = lanes_of_edges(ph);
    return part_of_warp(n, lanes < WARP ? lanes : WARP, busy || takes_exact_steps(ph));
}

int64_t kn_rows_tile_room(const kn_phase *ph, const kn_target *target)
{
    const int64_t half = target->smem_block / 2 - KN_SCRATCH_BYTES;
    return ph->alone && half > KN_MOST_TILE_BYTES ? half : KN_MOST_TILE_BYTES;
}

int kn_rows_tile_lanes(const kn_phase *ph, const kn_target *target)
{
    const int64_t n = steps(ph), room = kn_rows_tile_room(ph, target);
    const int block = ph->alone ? KN_HALF_BLOCK : target->max_block;
    kn_phase with = *ph;
    if (has_one_step(ph, target))
        with.how.tpg = WARP;
    else if (lanes_to_keep(ph, target))
        with.how.tpg = lanes_to_keep(ph, target);
    else
        with.how.tpg = part_of_warp(n, kn_power_of_two_from((n + 1) / 2), false);
    /* where groups are few, more lanes make more blocks */
    while (with.how.tpg < WARP && (kn_tile_bytes(&with, block) > room ||
                                   ph->nest.groups * with.how.tpg < (int64_t)target->units * block))
        with.how.tpg = with.how.tpg < FEW_LANES ? FEW_LANES : 2 * with.how.tpg;
    return kn_tile_bytes(&with, block) <= room ? with.how.tpg : 0;
}

/* Of a block whose groups' tile has runs of RUN bytes of the narrowest elements. */
static int threads_of_tile(const kn_phase *ph, const kn_target *target)
{
    enum { RUN = 128, FEWEST = 128 };
    int least = RUN;
    for (int i = 0; i < ph->how.transposes.len; i++) {
        const int bytes = kn_bytes(kn_transposed_type(ph, &ph->how.transposes.data[i]));
        least = bytes < least ? bytes : least;
    }
    const int want = kn_rows_tile_lanes(ph, target) * RUN / least;
    return want < FEWEST ? FEWEST : want < KN_HALF_BLOCK ? want : KN_HALF_BLOCK;
}

/* Threads of blocks that take a group each and read it once: all that a block may have, unless the last wave of such
 * blocks would have few (measured: docs/lab/rows-of-16-bits.md). */
static int threads_of_whole_waves(const kn_phase *ph, const kn_target *target)
{
    enum { FEWEST = 256 };
    int threads = target->max_block;
    bool once = ph->nest.nsweeps == 1 && ph->alone && !ph->universal;
    for (; once && threads > FEWEST; threads /= 2) {
        const int at_once = target->units * (target->max_threads_unit / threads);
        const double waves = (double)kn_scheduled_groups(ph) / at_once;
        if (waves <= 1 || ceil(waves) <= 1.1 * waves)
            break;
    }
    return threads;
}

/* Of blocks that take up to a thousand steps of a group: few, for while some blocks wait, others load (measured:
 * docs/lab/softmax-50257.md). Where all clusters run at a time there are few others: then as many as fill a multiprocessor
 * that has its part of the blocks, with two steps each. */
static int threads_of_few_steps(const kn_phase *ph, const kn_target *target, int64_t n)
{
    enum { FEWEST = 128, FULL = 1024 };
    const int64_t each = kn_ceil_div(kn_scheduled_groups(ph) * ph->num.splits, target->units);
    int threads = FEWEST;
    while (ph->how.cluster && 2 * threads * each <= FULL && 4 * threads <= kn_power_of_two_from(n))
        threads *= 2;
    return threads;
}

/* If registers hold a group, as many threads as that takes; else a block a group from about a hundred steps on, and
 * several groups a block below. */
static int threads(const kn_phase *ph, const kn_target *target)
{
    int64_t n = steps(ph);
    int want = n <= 1024                  ? threads_of_few_steps(ph, target, n)
               : ph->how.hoisted          ? KN_HALF_BLOCK
               : shared_keeps(ph, target) ? sharing_threads(ph, target)
               : n <= 8192                ? 256
               : ph->how.split            ? 512
               : crowded(ph, target)      ? 256
                                          : threads_of_whole_waves(ph, target);
    if (ph->how.tile) {
        want = threads_of_tile(ph, target);
    } else if (ph->how.mixed) {
        want = kn_mixed_lanes(ph);
        want = want > MIXED_BLOCK || ph->how.cluster ? want : MIXED_BLOCK;
    } else if (ph->how.resident) {
        want = n < 128 ? 128 : n < 1024 ? (int)kn_power_of_two_from(n) : 1024;
    } else if (registers_keep(ph, target) &&
               (loads_parts(ph, target) || !kn_rows_copies(ph, target))) {
        want = (int)lanes_for(vectors(ph), keepable_steps(ph, target));
        int lanes = ph->alone && crowded(ph, target) ? lanes_to_keep(ph, target) : 0;
        want = lanes         ? kn_schedule_small_block(ph, target, (double)ph->nest.members / lanes)
               : want > WARP ? want
                             : 128;
    }
    return want < target->max_block ? want : target->max_block;
}

/* The most steps of a group that a part of a warp walks in a loop. More where these are of few bytes and groups, read once,
 * are enough for all warps: what each thread computes once a group is shared by more elements
 * (docs/lab/rows-of-16-bits.md). */
static int most_steps_of_warp(const kn_phase *ph, const kn_target *target)
{
    enum { MOST = 512, VECTOR = 16 };
    int bytes = 1;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        if (v->kind == KN_V_LOAD && v->level == KN_ELEMENT && bytes < kn_bytes(v->dtype))
            bytes = kn_bytes(v->dtype);
    }
    bytes *= ph->how.vec;
    const bool many =
        target->sm && !ph->universal && ph->nest.nsweeps == 1 && ph->alone &&
        kn_scheduled_groups(ph) * WARP >= (int64_t)target->units * target->max_threads_unit;
    return many && bytes < VECTOR ? MOST * VECTOR / bytes : MOST;
}

static int needed_steps(const kn_phase *ph)
{
    return (int)kn_power_of_two_from(kn_ceil_div(vectors(ph), ph->how.tpg));
}

/* First steps that have members for all threads. */
static int full_steps(const kn_phase *ph)
{
    return (int)(kn_phase_counted(ph) / kn_phase_step(ph));
}

/* Takes a single step, and has in flight also what only one sweep loads. */
static void keep_one_step(kn_arena *a, kn_phase *ph)
{
    int words = 0;
    ph->how.steps = 1;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        bool load = v->kind == KN_V_LOAD && v->level == KN_ELEMENT && !kn_in_tile_of_rows(ph, i);
        words += load ? kn_kept_words(ph, i) : 0;
        if (load && words <= KN_KEPT_WORDS &&
            v->access->kind[kn_phase_vector_axis(ph)] != KN_STRIDE_ZERO)
            kn_hold_value(a, ph, i, KN_KEEP_REGISTERS);
    }
}

/* Has in flight with what is read again also what only a later sweep loads of each group, as far as registers go: that sweep
 * begins when a block has combined what the first ones found, and would wait for memory once more. */
static void load_ahead(const kn_site *at, kn_phase *ph)
{
    bool *first = KN_NEW_ARRAY(at->arena, bool, ph->nest.values.len + 1);
    kn_phase_needs(ph, 0, first);
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        if (v->kind == KN_V_LOAD && v->level == KN_ELEMENT && v->sweeps == 1 && !first[i] &&
            !kn_same_for_groups(ph, v) && !kn_in_tile_of_rows(ph, i) &&
            kn_held_words(ph) + kn_kept_words(ph, i) <= KEEP_REGISTERS)
            kn_hold_value(at->arena, ph, i, KN_KEEP_REGISTERS);
    }
}

/* Every step that a thread may take is unrolled. In a kernel of its own a phase may take as many as there are
 * registers for, whatever the size of its groups, so that one kernel serves all; those of fewer lanes than a warp has
 * take few. Phases that share a kernel share registers, and take no more than they need. Light or short groups have a
 * kernel without bounds checks where all lanes take all steps, and these are at most SHORT_STEPS or a power of two. Where light
 * ones have few elements a step, checks are much of what it computes, so that there is one for each number of steps, of which
 * the last alone is checked; of more elements the compiler would interleave what there are no registers for. */
static void keep_in_registers(const kn_site *at, kn_phase *ph)
{
    const kn_target *target = at->target;
    kn_keep_reread(at->arena, ph, KN_KEEP_REGISTERS);
    if (has_one_step(ph, target)) {
        keep_one_step(at->arena, ph);
        return;
    }
    const bool few = !ph->how.cluster && (ph->how.tpg <= SHORT_LANES || is_light(ph));
    const int taken = (int)kn_ceil_div(vectors(ph), ph->how.tpg), full = full_steps(ph);
    if (takes_exact_steps(ph) || (few && ph->how.vec > 1 && full == taken &&
                                  (full <= SHORT_STEPS || full == needed_steps(ph)))) {
        ph->how.steps = taken ? taken : 1;
        ph->how.full = full;
    } else {
        ph->how.steps = needed_steps(ph);
        if (ph->alone && !ph->how.by_run)
            ph->how.steps =
                ph->how.tpg < WARP ? steps_of_lane(ph, target, true) : keepable_steps(ph, target);
    }
    load_ahead(at, ph);
}

/* About CHUNK_BYTES of each array (measured: docs/lab/async-copy-chunks.md). */
int64_t kn_rows_chunk(const kn_phase *ph, int block)
{
    enum { CHUNK_BYTES = 25 * 1024 };
    int64_t stride = (int64_t)block * ph->how.vec, arrays = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        arrays += kn_is_reread(ph, i);
    int64_t chunks = kn_ceil_div(part_bytes(ph), arrays * CHUNK_BYTES);
    return kn_ceil_div(kn_ceil_div(kn_phase_held(ph), chunks), stride) * stride;
}

/* Hoists loads that are the same for all groups, if the block has the threads for it. */
static void keep_hoisted(kn_arena *a, kn_phase *ph, int block)
{
    ph->how.hoisted = ph->how.hoisted && block >= KN_HALF_BLOCK;
    if (!ph->how.hoisted)
        return;
    ph->how.steps = hoisted_steps(ph);
    for (int i = 0; i < ph->nest.values.len; i++)
        if (may_hoist(ph, i))
            kn_hold_value(a, ph, i, KN_KEEP_REGISTERS);
}

static void bind(const kn_site *at, kn_phase *ph, int block)
{
    const kn_target *target = at->target;
    int64_t n = steps(ph);
    int most = keepable_steps(ph, target);
    bool one = has_one_step(ph, target);
    bool several =
        !ph->how.cluster && !ph->how.resident && (crowded(ph, target) || block <= WARP || one);
    ph->how.steps = 0;
    ph->how.tpg = block;
    if (ph->how.tile) {
        const int lanes = kn_rows_tile_lanes(ph, target);
        ph->how.tpg = lanes < block ? lanes : block;
        if (one || lanes_to_keep(ph, target))
            keep_in_registers(at, ph);
    } else if (ph->how.mixed) {
        if (!ph->how.cluster && kn_mixed_lanes(ph) < block)
            ph->how.tpg = kn_mixed_lanes(ph);
        for (int i = 0; i < ph->nest.values.len; i++)
            if (kn_stays(ph, i))
                kn_hold_value(at->arena, ph, i, KN_KEEP_REGISTERS);
        ph->how.steps = needed_steps(ph);
        ph->how.deferred = kn_deferrable_groups(ph);
        /* without a barrier between its sweeps a block has its next loads on their way soon enough */
        ph->how.prefetch = ph->nest.nsweeps > 1 && kn_mixed_prefetches(ph, target);
    } else if (several && lanes_to_keep(ph, target)) {
        ph->how.tpg = one ? WARP : lanes_to_keep(ph, target);
        keep_in_registers(at, ph);
    } else if (kn_rows_copies(ph, target) && !loads_parts(ph, target)) {
        kn_keep_reread(at->arena, ph, KN_KEEP_SHARED);
        keep_hoisted(at->arena, ph, block);
        ph->how.steps = ph->how.rest_in_registers ? kn_rows_rest_steps(ph) : ph->how.steps;
        ph->how.async = ph->how.persistent = true;
        /* Chunks as they arrive hide the exponentials of the first sweep; a sweep that only adds up gains nothing
         * (measured: docs/lab/rows-larger-than-a-cluster.md). */
        ph->how.by_chunk = ph->how.rest_in_registers && kn_has_state(ph, KN_STATE_PEAK);
        ph->num.skew = kn_launch_skew(ph, target);
        ph->num.copy_chunk = kn_rows_chunk(ph, block);
    } else if (registers_keep(ph, target) && vectors(ph) <= (int64_t)most * block) {
        keep_in_registers(at, ph);
        ph->how.persistent = ph->how.cluster;
        ph->num.skew = ph->how.cluster ? kn_launch_skew(ph, target) : 0;
    } else if ((n > 512 || ph->how.cluster) && shared_keeps(ph, target)) {
        kn_keep_reread(at->arena, ph, KN_KEEP_SHARED);
        ph->how.persistent = ph->how.cluster;
        ph->num.skew = ph->how.cluster ? kn_launch_skew(ph, target) : 0;
    } else if (several && n <= most_steps_of_warp(ph, target)) {
        ph->how.tpg = part_of_warp(n, kn_power_of_two_from((n + 1) / 2),
                                   false); /* two steps a lane, or more */
    }
}

const kn_walker kn_walk_rows = {"rows", KN_WALK_ROWS, can, threads, bind};
