#include <stdlib.h>

#include "codegen/model/machine.h"
#include "codegen/sched/sched.h"

/* Data registers a thread may spend on values kept from one sweep to the next, half of what each has in the largest
 * block, and the most steps they are spread over: eight 16-byte loads in flight a thread. */
enum { KEEP_REGISTERS = 32, WARP = 32 };

/* Threads a group at most for which a thread takes few steps, and narrow elements are kept as if they had 32 bits. */
enum { NARROW_BLOCK = 512 };

/* Threads of a block of bands at least: two such blocks have some 64 KB of loads on their way. */
enum { BAND_BLOCK = 512 };

/* Where as much is written, memory is the quicker the less each thread asks for. So a thread has so many bytes of a run on
 * their way while a block of half the threads that there may be is enough (layernorm of rows of 16 KB on an H200: 136.5 us
 * by eight vectors a thread, 134.4 by four), and a lane so many elements while there are more lanes (rmsnorm of rows of
 * 256 bytes in bf16: 136 us by four vectors, 129.5 by one). Of f64 twice the bytes: by twice the threads, with nearly as
 * many registers each, fewer would be on their way (layernorm of rows of 32 KB: 139 us, not 131). */
enum { THREAD_BYTES = 64, LANE_ELEMENTS = 16 };

static bool can(const kn_phase *ph)
{
    (void)ph;
    return true;
}

static int64_t steps(const kn_phase *ph)
{
    int64_t members =
        ph->how.split || ph->how.cluster ? ph->num.chunk : ph->nest.members + kn_phase_slack(ph);
    return (members + ph->how.vec - 1) / ph->how.vec;
}

/* What a thread keeps of each step of a group: what is read again; of what is resident all that is loaded with it, so that
 * it is on its way before the first element is waited for. */
static bool stays(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    return ph->how.mixed && ph->how.resident
               ? v->kind == KN_V_LOAD && v->level == KN_ELEMENT &&
                     v->access.kind[kn_phase_vector_axis(ph)] != KN_STRIDE_ZERO
               : kn_is_reread(ph, i);
}

/* Is there anything of 64 bits among it? Its arithmetic takes twice the registers, too. */
static bool keeps_wide(const kn_phase *ph)
{
    for (int i = 0; i < ph->nest.values.len; i++)
        if (stays(ph, i) && kn_bytes(ph->nest.values.data[i].dtype) > 4)
            return true;
    return false;
}

/* Registers that a step's elements of what stays take, each element `least` bytes or more, and accumulators across
 * groups. */
static int words_a_step(const kn_phase *ph, int least)
{
    int words = 0;
    for (int i = 0; i < ph->nest.values.len; i++) {
        int bytes = kn_bytes(ph->nest.values.data[i].dtype);
        if (stays(ph, i))
            words += (ph->how.vec * (bytes > least ? bytes : least) + 3) / 4;
    }
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (ph->nest.reds.data[r].across)
            words += (ph->how.vec * kn_bytes(ph->nest.reds.data[r].dtype) + 3) / 4;
    return words;
}

/* The most steps, up to a limit, for which there are registers; 0 when not even one fits. Of one register each a few more:
 * rows of 1023 floats by 64 threads instead of 128 take 143 us on an H200, not 151, and groups of 32 x 7 x 7, in several
 * runs, by 128 threads instead of 256 13.9, not 15.0. */
static int most_steps(const kn_phase *ph, int words, int limit)
{
    int most = 1;
    while (most * 2 <= limit && most * 2 * words <= KEEP_REGISTERS)
        most *= 2;
    if (words == 1 && limit == KN_KEEP_STEPS)
        most = kn_phase_one_run(ph) ? 2 * KN_KEEP_STEPS : KN_KEEP_SINGLES;
    return words <= KEEP_REGISTERS ? most : 0;
}

/* Is this a load of which a block may keep its part for all groups? */
static bool may_last(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    return kn_same_for_groups(ph, v) && v->sweeps > 0 &&
           v->access.kind[kn_phase_vector_axis(ph)] != KN_STRIDE_ZERO;
}

/* Lanes that cover n steps when each takes at most `most` of them. */
static int64_t lanes_for(int64_t n, int most)
{
    return kn_power_of_two_from((n + most - 1) / most);
}

/* Bytes that memory moves for a step of what is read again: where elements lie apart, of what is between them too. */
static int moved_a_step(const kn_phase *ph)
{
    const int64_t sector = 32;
    int64_t bytes = 0;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        int64_t apart =
            v->kind == KN_V_LOAD ? llabs(v->access.stride[kn_phase_vector_axis(ph)]) : 1;
        int64_t each = (apart > 1 ? apart : 1) * kn_bytes(v->dtype);
        if (kn_is_reread(ph, i))
            bytes += ph->how.vec * (each < sector ? each : sector);
    }
    return (int)bytes;
}

/* The most steps a thread can take with everything that is read again kept in registers; 0 when there is nothing to
 * keep or the machine has no registers to speak of. What is computed from narrow elements takes a register for each:
 * there is room for that too while it costs no more than some lanes. */
static int keepable_steps(const kn_phase *ph, const kn_target *target)
{
    int words = words_a_step(ph, 0);
    if (target->sm == 0 || ph->universal || ph->how.split || ph->how.unaligned ||
        ph->nest.nsweeps < 2 || !words)
        return 0;
    int quick =
        kn_phase_stores_elements(ph) && kn_phase_one_run(ph) && !ph->how.cluster
            ? kn_steps_for(moved_a_step(ph), keeps_wide(ph) ? 2 * THREAD_BYTES : THREAD_BYTES)
            : KN_KEEP_STEPS;
    int most = most_steps(ph, words, KN_KEEP_STEPS),
        wide = most_steps(ph, words_a_step(ph, 4), quick);
    return wide && lanes_for(steps(ph), wide) <= NARROW_BLOCK ? wide : most;
}

/* Groups enough to give each only a part of a block. */
static bool crowded(const kn_phase *ph, const kn_target *target)
{
    return !ph->universal && ph->nest.groups * ph->num.splits >= target->units * 8;
}

/* Are groups so few, and so short, that each may have a lane of a warp for every step? Then all loads are on their way at
 * once, and nobody waits at a barrier: a layernorm of 64 rows of 64 takes 4.2 us on an H200, by a block of 128 threads a row
 * and eight steps 5.0; an empty kernel takes 3. */
static bool has_one_step(const kn_phase *ph, const kn_target *target)
{
    return keepable_steps(ph, target) && !ph->how.cluster && !ph->how.mixed &&
           !crowded(ph, target) && kn_phase_one_run(ph) && steps(ph) <= WARP;
}

static bool registers_keep(const kn_phase *ph, const kn_target *target)
{
    int most = keepable_steps(ph, target);
    int threads = target->max_block;
    if ((ph->how.cluster || keeps_wide(ph)) && threads > KN_HALF_BLOCK)
        threads = KN_HALF_BLOCK;
    if (ph->how.cluster && !kn_phase_one_run(ph))
        return false; /* in shared memory, like what is larger: that is one kernel less */
    return most && lanes_for(steps(ph), most) <= threads;
}

/* Bytes of what is read again of a block's part of a group, of what is kept of it. */
static int64_t part_bytes(const kn_phase *ph)
{
    return kn_reread_element(ph) *
           (ph->how.rest_in_registers ? ph->num.held : steps(ph) * ph->how.vec);
}

/* Does a block's part of the group fit in its shared memory, and is that a place for it? Only in a kernel of one phase:
 * others launch as many blocks as fit at a time, which shared memory would cut down. Groups in several runs have
 * clusters for that, of one block if need be (cluster.c), where there are clusters. */
static bool shared_keeps(const kn_phase *ph, const kn_target *target)
{
    int64_t bytes = kn_reread_bytes(ph);
    bool place = ph->how.cluster || kn_phase_one_run(ph) || target->cluster == 0;
    if (target->sm == 0 || ph->universal || !ph->alone || ph->how.split || !bytes || !place)
        return false;
    return part_bytes(ph) <= target->smem_block - KN_SCRATCH_BYTES;
}

/* Not less than other phases need that go through the same bands. */
int kn_mixed_lanes(const kn_phase *ph)
{
    int64_t lanes = lanes_for(steps(ph), most_steps(ph, words_a_step(ph, 0), 2 * KN_KEEP_STEPS));
    return lanes < ph->how.lanes ? ph->how.lanes : (int)lanes;
}

bool kn_rows_can_mix(const kn_phase *ph, const kn_target *target)
{
    int words = words_a_step(ph, 0);
    return target->sm && !ph->universal && words && words <= KEEP_REGISTERS &&
           steps(ph) >= WARP / 2 && kn_mixed_lanes(ph) <= target->max_block;
}

kn_keep kn_rows_keep(const kn_phase *ph, const kn_target *target)
{
    return registers_keep(ph, target) ? KN_KEEP_REGISTERS
           : shared_keeps(ph, target) ? KN_KEEP_SHARED
                                      : KN_KEEP_NONE;
}

/* It moves runs of whole 16 bytes, and short ones no faster than threads. What comes next takes the places that all
 * threads have gone through side by side, so not where each has a range of neighbours. */
bool kn_rows_copies(const kn_phase *ph, const kn_target *target)
{
    enum { LEAST_RUN = 512 };
    int va = kn_phase_vector_axis(ph);
    if (!ph->how.cluster || !shared_keeps(ph, target) || kn_phase_in_order(ph))
        return false;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        int bytes = kn_bytes(v->dtype);
        if (kn_is_reread(ph, i) && (!v->access.vector || ph->how.vec * bytes % 16 != 0 ||
                                    ph->nest.axes[va].extent * bytes < LEAST_RUN))
            return false;
    }
    return true;
}

/* Do the blocks of a cluster load their parts into registers, instead of by copies into shared memory? Where no sweep loads
 * anything besides: what a thread keeps leaves it few registers for other loads to be on their way, and it waits for them
 * step by step. On an H200 softmax of f32 rows of 1 MB takes 149 us so, not 157, of 512 KB 147 and 150, of 131 KB 143 and
 * 146; layernorm of rows of 512 KB, which loads gamma and beta, 351, not 323. Of 32 bits: what is computed from 16 takes
 * registers besides (softmax of bf16 rows of 256 KB 169 us, not 153). */
static bool loads_parts(const kn_phase *ph, const kn_target *target)
{
    bool alone = ph->how.cluster && registers_keep(ph, target);
    for (int i = 0; i < ph->nest.values.len && alone; i++)
        if (kn_is_read(&ph->nest.values.data[i]) && ph->nest.values.data[i].level == KN_ELEMENT)
            alone = kn_is_reread(ph, i) && kn_bytes(ph->nest.values.data[i].dtype) == 4;
    return alone;
}

/* The most steps of a thread for which it has registers for what all groups share, as many for each element of 16 bits as of
 * 32, and some for what is made of it; 0: there is nothing of the kind, or no registers for one. Always as many, whatever
 * the size of groups: that is one kernel. */
static int lasting_steps(const kn_phase *ph)
{
    int words = 0;
    bool narrow = true;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        words += may_last(ph, i) ? ph->how.vec : 0;
        narrow = narrow && (v->level == KN_GROUP || kn_bytes(v->dtype) <= 4);
    }
    return words && narrow ? most_steps(ph, words, KN_KEEP_STEPS / 2) : 0;
}

/* Two blocks have two groups each then, and less on its way than more of them with one each unless that takes half of the
 * shared memory. sm_120, whose multiprocessors have fewer threads, has less of that, and its code spills. */
bool kn_rows_may_hoist(const kn_phase *ph, const kn_target *target)
{
    bool fetched = false;
    for (int i = 0; i < ph->nest.values.len; i++)
        fetched = fetched || (kn_is_reread(ph, i) && !may_last(ph, i));
    int64_t room = (target->smem_block - KN_SCRATCH_BYTES) / 2, twice = 2 * part_bytes(ph);
    return fetched && !ph->how.unaligned && !ph->how.rest_in_registers &&
           target->max_threads_unit >= 4 * KN_HALF_BLOCK && twice <= room && twice * 2 >= room &&
           steps(ph) <= (int64_t)lasting_steps(ph) * KN_HALF_BLOCK && kn_rows_copies(ph, target) &&
           !loads_parts(ph, target);
}

int kn_rows_rest_steps(const kn_phase *ph)
{
    enum { REST_WORDS = 16 };
    int words = words_a_step(ph, 0);
    return words ? REST_WORDS / words : 0;
}

/* Threads of blocks that share a multiprocessor's memory: a thousand for all of them, twice as many where each takes
 * one element at a time. */
static int sharing_threads(const kn_phase *ph, const kn_target *target)
{
    int64_t at_once = target->smem_block / (part_bytes(ph) + KN_SCRATCH_BYTES / 2);
    return at_once >= 4 && ph->how.vec > 1 ? 256 : at_once >= 2 ? 512 : 1024;
}

/* At least so many lanes for n steps, of the few widths that a part of a warp may have: each is another kernel. Four
 * where there are four steps, so that vectors side by side are 64 bytes of memory side by side: a lane for a row of
 * 128 bytes took 3.4 times as long on an H200. */
static int part_of_warp(int64_t n, int64_t lanes)
{
    return n < 4 && lanes <= 1 ? 1 : lanes <= 4 ? 4 : lanes <= 16 ? 16 : WARP;
}

/* Lanes of a group that is kept in registers by a warp or a part of one; 0: it takes more. */
static int lanes_to_keep(const kn_phase *ph, const kn_target *target)
{
    int64_t n = steps(ph);
    int most = keepable_steps(ph, target);
    if (!most || lanes_for(n, most) > WARP)
        return 0;
    int few = kn_steps_for(ph->how.vec, LANE_ELEMENTS);
    int64_t lanes = lanes_for(n, few < most ? few : most);
    return part_of_warp(n, lanes < WARP ? lanes : WARP);
}

/* Where a group's values fit in registers, as many threads as that takes; else a block a group from some
 * hundred steps on, and several groups a block below. Small blocks where there are enough of them: while some meet the
 * others load (logsumexp of 8192 rows of 50257 floats on an H200: 398 us, by blocks of 1024 threads 437). */
static int threads(const kn_phase *ph, const kn_target *target)
{
    int64_t n = steps(ph);
    int want = n <= 1024                  ? 128
               : ph->how.hoisted          ? KN_HALF_BLOCK
               : shared_keeps(ph, target) ? sharing_threads(ph, target)
               : n <= 8192                ? 256
               : ph->how.split            ? 512
               : crowded(ph, target)      ? 256
                                          : 1024;
    if (ph->how.mixed) {
        want = kn_mixed_lanes(ph) > BAND_BLOCK ? kn_mixed_lanes(ph) : BAND_BLOCK;
    } else if (ph->how.resident) {
        want = n < 128 ? 128 : n < 1024 ? (int)kn_power_of_two_from(n) : 1024;
    } else if (registers_keep(ph, target) &&
               (loads_parts(ph, target) || !kn_rows_copies(ph, target))) {
        want = (int)lanes_for(n, keepable_steps(ph, target));
        int lanes = ph->alone && crowded(ph, target) ? lanes_to_keep(ph, target) : 0;
        want = lanes         ? kn_schedule_small_block(ph, target, (double)ph->nest.members / lanes)
               : want > WARP ? want
                             : 128;
    }
    return want < target->max_block ? want : target->max_block;
}

static int needed_steps(const kn_phase *ph)
{
    return (int)kn_power_of_two_from((steps(ph) + ph->how.tpg - 1) / ph->how.tpg);
}

/* Are there so few bytes of an element to move that instructions are what its time goes to? */
static bool is_light(const kn_phase *ph)
{
    enum { HEAVY = 8 };
    int bytes = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_is_reread(ph, i) &&
            ph->nest.values.data[i].access.axes & ((1u << ph->nest.ngroup) - 1))
            bytes += kn_bytes(ph->nest.values.data[i].dtype);
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (ph->nest.stores.data[i].kind == KN_STORE_ELEMENT)
            bytes += kn_bytes(ph->nest.values.data[ph->nest.stores.data[i].value].dtype);
    return bytes < HEAVY;
}

/* A single step, and in it what only one sweep loads too. */
static void keep_one_step(kn_phase *ph)
{
    int words = 0;
    ph->how.steps = 1;
    for (int i = 0; i < ph->nest.values.len; i++) {
        kn_value *v = &ph->nest.values.data[i];
        bool load = v->kind == KN_V_LOAD && v->level == KN_ELEMENT;
        words += load ? kn_kept_words(ph, i) : 0;
        if (load && words <= KN_KEPT_WORDS &&
            v->access.kind[kn_phase_vector_axis(ph)] != KN_STRIDE_ZERO)
            v->kept = KN_KEEP_REGISTERS;
    }
}

/* Every step that a thread may take is written out. In a kernel of its own a phase may take as many as there is
 * room for, whatever the size of its groups, and one kernel serves all; phases side by side share registers, and
 * take no more than they need. Light or short groups of exactly so many members, powers of two, have a kernel without
 * tests. */
static void keep_in_registers(kn_phase *ph, const kn_target *target)
{
    enum { FEW_LANES = 4 };
    kn_keep_reread(ph, KN_KEEP_REGISTERS);
    if (has_one_step(ph, target)) {
        keep_one_step(ph);
        return;
    }
    ph->how.steps = needed_steps(ph);
    ph->how.full = !ph->how.cluster && (is_light(ph) || ph->how.tpg <= FEW_LANES) &&
                   ph->how.vec > 1 &&
                   ph->nest.members == (int64_t)ph->how.tpg * ph->how.vec * ph->how.steps;
    if (ph->alone && !ph->how.full)
        ph->how.steps = keepable_steps(ph, target);
}

/* What comes next fills the place of each array in pieces of some 25 KB, while the block stores the others. On an H200 1024
 * rows of 512 KB, layernorm, took 333 us in one piece, 308 in two, 312 in three; channels of 1.6 MB 63.2 us in one piece,
 * 62.6 in two, 62.0 in four; two arrays of 25 KB in each block 86 in one piece, 89 in two. */
static int64_t piece_of(const kn_phase *ph, int block)
{
    enum { PIECE = 25 * 1024 };
    int64_t stride = (int64_t)block * ph->how.vec, arrays = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        arrays += kn_is_reread(ph, i);
    int64_t pieces = kn_ceil_div(part_bytes(ph), arrays * PIECE);
    return kn_ceil_div(kn_ceil_div(kn_phase_held(ph), pieces), stride) * stride;
}

/* What all groups share, where the block has the threads for it. */
static void keep_lasting(kn_phase *ph, int block)
{
    ph->how.hoisted = ph->how.hoisted && block >= KN_HALF_BLOCK;
    if (!ph->how.hoisted)
        return;
    ph->how.steps = lasting_steps(ph);
    for (int i = 0; i < ph->nest.values.len; i++)
        if (may_last(ph, i))
            ph->nest.values.data[i].kept = KN_KEEP_REGISTERS;
}

static void bind(kn_phase *ph, const kn_target *target, int block)
{
    int64_t n = steps(ph);
    int most = keepable_steps(ph, target);
    bool one = has_one_step(ph, target);
    bool several =
        !ph->how.cluster && !ph->how.resident && (crowded(ph, target) || block <= WARP || one);
    ph->how.steps = 0;
    ph->how.tpg = block;
    if (ph->how.mixed) {
        ph->how.tpg = kn_mixed_lanes(ph) < block ? kn_mixed_lanes(ph) : block;
        for (int i = 0; i < ph->nest.values.len; i++)
            if (stays(ph, i))
                ph->nest.values.data[i].kept = KN_KEEP_REGISTERS;
        ph->how.steps = needed_steps(ph);
    } else if (several && lanes_to_keep(ph, target)) {
        ph->how.tpg = one ? WARP : lanes_to_keep(ph, target);
        keep_in_registers(ph, target);
    } else if (kn_rows_copies(ph, target) && !loads_parts(ph, target)) {
        kn_keep_reread(ph, KN_KEEP_SHARED);
        keep_lasting(ph, block);
        ph->how.steps = ph->how.rest_in_registers ? kn_rows_rest_steps(ph) : ph->how.steps;
        ph->how.async = true;
        ph->num.skew = kn_launch_skew(ph, target);
        ph->num.copy_chunk = piece_of(ph, block);
    } else if (registers_keep(ph, target) && n <= (int64_t)most * block) {
        keep_in_registers(ph, target);
        ph->num.skew = ph->how.cluster ? kn_launch_skew(ph, target) : 0;
    } else if ((n > 512 || ph->how.cluster) && shared_keeps(ph, target)) {
        kn_keep_reread(ph, KN_KEEP_SHARED);
    } else if (several && n <= 512) {
        ph->how.tpg =
            part_of_warp(n, kn_power_of_two_from((n + 1) / 2)); /* two steps a lane, or more */
    }
}

const kn_walker kn_walk_rows = {"rows", KN_WALK_ROWS, can, threads, bind};
