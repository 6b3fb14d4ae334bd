/* Clusters: the blocks of a cluster share a group that one block cannot keep on chip, or can, but alone on its
 * multiprocessor, which then waits at every barrier of the block.
 *
 * What is chosen is what was faster on an H200; the option forces clusters wherever they are possible.
 *
 *     reread, bytes a group                         clusters of                  else
 *     one array, 401 KB in 32 runs (batchnorm)      8: 67 us, 4: 72, 16: 67      reads twice: 83
 *     the same, 1.6 MB                              16: 74 to 76, 8: 93          reads twice: 95
 *     two arrays, 803 KB  (batchnorm backward)      16: 90, 8: 94                reads twice: 124
 *     rows of 524 KB (layernorm)                    16: 338, 8: 340, 10: 418     reads twice: 403
 *     rows of 201 KB, without vectors (softmax)     4: 1705                      one block: 2161
 *     rows of 131 KB, f32 softmax                   2: 416                       one block, in registers: 440
 *     rows of 201 KB that begin anywhere (softmax)  2: 904, 4: 909, 1: 905       threads load, 2: 1106
 *     rows of 101 KB that begin anywhere, bf16      2: 475, 1: 476, 4: 471       one block, threads load: 489
 *     rows of 1 MB, 256 of them (softmax)           16: 242                      split over the machine: 211
 *
 * So blocks of which four share a multiprocessor are better than two, two better than one; and multiprocessors come in
 * groups of 16 or 18, which sizes other than powers of two leave in part idle. */
#include "codegen/sched/sched.h"

/* Shared memory of a block that is not for kept values, what its warps and its cluster hand each other and what the
 * hardware takes for itself: what it mostly is, with at most so many reductions. */
enum { SCRATCH_BYTES = 3072, MOST_REDUCTIONS = 8 };

/* The members of a block's part are a multiple of this: whole vectors. */
enum { PART_MULTIPLE = 8 };

static bool can(const kn_phase *ph, const kn_target *target)
{
    return target->cluster > 1 && !ph->universal && ph->alone && !ph->banded && !ph->split &&
           !ph->local && ph->walk == KN_WALK_ROWS && ph->reds.len > 0 &&
           ph->reds.len <= MOST_REDUCTIONS && ph->members > 1;
}

/* The fewest blocks that keep a group when `at_once` of them share a multiprocessor; 0: there is nothing to keep. */
static int64_t blocks_for(const kn_phase *ph, int at_once, const kn_target *target)
{
    int scratch = at_once > 1 ? SCRATCH_BYTES : KN_SCRATCH_BYTES;
    int64_t each = kn_rows_reread_bytes(ph) / ph->members;
    if (!each)
        return 0;
    int64_t most = (target->smem_block / at_once - scratch) / each / PART_MULTIPLE * PART_MULTIPLE;
    return kn_power_of_two_from(kn_ceil_div(ph->members + kn_phase_slack(ph), most));
}

/* The same for the most of four, two or one at a time that the largest cluster allows; 0 for none. */
static int64_t blocks_that_keep(const kn_phase *ph, const kn_target *target)
{
    for (int at_once = 4; at_once > 0; at_once /= 2) {
        int64_t blocks = blocks_for(ph, at_once, target);
        if (blocks <= target->cluster)
            return blocks;
    }
    return 0;
}

static void divide(kn_phase *ph, int64_t blocks)
{
    ph->cluster = true;
    ph->splits = blocks;
    ph->chunk = kn_ceil_div(kn_ceil_div(ph->members + kn_phase_slack(ph), blocks), PART_MULTIPLE) *
                PART_MULTIPLE;
}

/* Can bulk copies bring it to a cluster of so many? */
static bool copies(const kn_phase *ph, int64_t blocks, const kn_target *target)
{
    kn_phase divided = *ph;
    divide(&divided, blocks);
    return kn_rows_copies(&divided, target);
}

/* 0 for no cluster. A group that registers do not keep may have a cluster of one block, for the bulk copies; and where it
 * is in several runs, so that one kernel serves it and the larger ones. */
static int64_t choose(const kn_phase *ph, const kn_target *target)
{
    int64_t two = blocks_for(ph, 2, target), four = blocks_for(ph, 4, target);
    bool registers = kn_rows_keep(ph, target) == KN_KEEP_REGISTERS;
    if (!kn_phase_one_run(ph))
        return two == 0 || registers ? 0 : two == 1 ? 1 : blocks_that_keep(ph, target);
    if (two == 1 && !registers)
        return copies(ph, four, target) ? four : 0;
    if (two < 2)
        return 0;
    if (blocks_for(ph, 1, target) < 2)
        return ph->vec > 1 ? two : four;
    return blocks_that_keep(ph, target);
}

void kn_schedule_cluster(kn_phase *ph, const kn_target *target, kn_division force, int want)
{
    if (!can(ph, target) || ph->groups == 0 ||
        (force != KN_DIVIDE_BY_COST && force != KN_DIVIDE_CLUSTER))
        return;
    int64_t blocks = want ? want : choose(ph, target);
    if (force == KN_DIVIDE_CLUSTER && blocks < 2)
        blocks = blocks_that_keep(ph, target);
    if (force == KN_DIVIDE_CLUSTER && blocks < 2)
        blocks = 2;
    if (blocks < 1 || (!want && blocks > target->cluster))
        return;
    divide(ph, blocks);
}
