/* Clusters: the blocks of a cluster share a group that one block cannot keep on chip, or can, but alone on its
 * multiprocessor, which then waits at every barrier of the block. How many blocks, and whether any, is what is predicted to be
 * quickest (codegen/model/predict.h); the option forces clusters wherever they are possible.
 *
 * Measured on an H200, us:
 *
 *     reread, bytes a group                         one block  clusters of 2    4    8   16
 *     one array, 100 KB in 32 runs (batchnorm)             38             34                  (one block keeps it in registers)
 *     the same, 401 KB                                     82             74   69   64   63
 *     the same, 1.6 MB                                    122             91   98   88   76
 *     two arrays, 803 KB (batchnorm backward)             124            122  109   92   90
 *     4096 rows of 131 KB, f32 softmax                    267            319  298  304  375
 *     the same, layernorm                                 318            326  309  326  376
 *     1024 rows of 524 KB, layernorm                      398            395  407  327  343
 *     256 rows of 1 MB, softmax                           224            202  219  220  173
 *     8192 rows of 201 KB that begin anywhere, softmax    905            904  909            (threads load, 2: 1106)
 *     the same in bf16                                    476            475  471            (one block, threads load: 489)
 *
 * Since then clusters begin one after the other (codegen/emit/cuda/copies.c), which takes 3 to 15 of it: 401 KB by 8 60, 1.6 MB
 * by 16 63, rows of 1 MB by 16 162. The first row is with that. Rows that begin anywhere take 864 by 2 (bf16 463), 1 MB by 16
 * 155, since threads go by cache lines, the next row comes in pieces, and sweeps and quotients take fewer instructions.
 *
 * Blocks of which four share a multiprocessor are better than two, two better than one; each costs half a microsecond
 * of its multiprocessor; and multiprocessors come in groups of 16 or 18, which sizes other than powers of two leave in part
 * idle. */
#include <math.h>

#include "codegen/model/predict.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Shared memory of a block that is not for kept values, what its warps and its cluster hand each other and what the
 * hardware takes for itself: what it mostly is, with at most so many reductions. */
enum { MOSTLY_BESIDE = 3072, MOST_REDUCTIONS = 8 };

/* Two boards with a place of 16 bytes for each reduction of each block, and four barriers. Moments, which take 32, are only
 * found of groups that nothing keeps. */
_Static_assert(2 * 16 * 16 * MOST_REDUCTIONS + 4 * 8 + KN_COMBINE_BYTES <= KN_SCRATCH_BYTES,
               "the largest clusters have room for their boards");

/* Bytes of a group in registers of which two blocks, with what else they need, still share a multiprocessor. */
enum { HALF_OF_REGISTERS = 64 * 1024 };

/* The members of a block's part are a multiple of this: whole vectors, or lines. */
static int part_multiple(const kn_phase *ph) { return ph->how.unaligned ? kn_phase_line(ph) : 8; }

static bool can(const kn_phase *ph, const kn_target *target)
{
    return target->cluster > 1 && !ph->universal && ph->alone && !ph->how.mixed && !ph->how.split &&
           !ph->local && ph->how.walk == KN_WALK_ROWS && ph->nest.reds.len > 0 &&
           ph->nest.reds.len <= MOST_REDUCTIONS && ph->nest.members > 1;
}

/* The fewest blocks that keep a group when `at_once` of them share a multiprocessor; 0: there is nothing to keep. */
static int64_t blocks_for(const kn_phase *ph, int at_once, const kn_target *target)
{
    int scratch = at_once > 1 ? MOSTLY_BESIDE : KN_SCRATCH_BYTES;
    int64_t each = kn_reread_element(ph);
    if (!each)
        return 0;
    int multiple = part_multiple(ph);
    int64_t most = (target->smem_block / at_once - scratch) / each / multiple * multiple;
    return kn_power_of_two_from(kn_ceil_div(ph->nest.members + kn_phase_slack(ph), most));
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

/* The phase with its groups over so many blocks. */
static kn_phase with_blocks(const kn_phase *ph, int64_t blocks)
{
    kn_phase with = *ph;
    with.how.cluster = true;
    with.num.splits = blocks;
    int multiple = part_multiple(ph);
    int64_t part = kn_ceil_div(ph->nest.members + kn_phase_slack(ph), blocks);
    with.num.chunk = kn_ceil_div(part, multiple) * multiple;
    return with;
}

/* The same, and what it is predicted to take, ns: with what all groups share kept too, where that is quicker. */
static kn_phase best_with_blocks(kn_arena *a, const kn_phase *ph, int64_t blocks,
                                 const kn_buf *bufs, int nbufs, const kn_target *target, double *ns)
{
    kn_phase with = with_blocks(ph, blocks), lasting = with;
    *ns = kn_predict_phase_ns(a, &with, bufs, nbufs, target);
    lasting.how.hoisted = kn_rows_may_hoist(&with, target);
    if (!lasting.how.hoisted)
        return with;
    double other = kn_predict_phase_ns(a, &lasting, bufs, nbufs, target);
    bool better = other < *ns;
    *ns = better ? other : *ns;
    return better ? lasting : with;
}

/* Can bulk copies bring it to a cluster of so many? */
static bool copies(const kn_phase *ph, int64_t blocks, const kn_target *target)
{
    kn_phase with = with_blocks(ph, blocks);
    return kn_rows_copies(&with, target);
}

/* Has it been given the form of groups that nothing keeps, moments from one sweep? */
static bool merges_moments(const kn_phase *ph)
{
    bool merges = false;
    for (int i = 0; i < ph->nest.reds.len; i++)
        merges = merges || kn_red_state(ph, i) == KN_STATE_MOMENTS;
    return merges;
}

/* Threads of the largest block that there will be: halved until it has no more than it may. */
static int most_threads(const kn_phase *ph, const kn_target *target, int max_threads)
{
    int most = kn_has_wide_functions(ph, target) ? KN_HALF_BLOCK : target->max_block;
    while (max_threads && most > 32 && most > max_threads)
        most /= 2;
    return most;
}

/* The same with blocks whose shared memory has no room for all of their part, and whose threads keep the rest in registers;
 * false if that is too much, or copies do not bring it. */
static bool with_a_part(const kn_phase *ph, int64_t blocks, const kn_target *target,
                        int max_threads, kn_phase *with)
{
    int64_t each = kn_reread_element(ph), multiple = part_multiple(ph);
    *with = with_blocks(ph, blocks);
    if (!each || ph->how.unaligned || !kn_phase_one_run(ph) || merges_moments(ph))
        return false;
    with->how.rest_in_registers = true;
    with->num.held = (target->smem_block - KN_SCRATCH_BYTES) / each / multiple * multiple;
    int64_t rest = with->num.chunk - with->num.held;
    return rest > 0 &&
           rest <= kn_rows_rest_steps(ph) * most_threads(ph, target, max_threads) * ph->how.vec &&
           kn_rows_copies(with, target);
}

/* Where no cluster keeps all of a group: does the largest one with a part in registers pay? */
static bool a_part_pays(kn_arena *a, const kn_phase *ph, const kn_buf *bufs, int nbufs,
                        const kn_target *target, int max_threads)
{
    kn_phase with;
    return blocks_for(ph, 1, target) > target->cluster &&
           with_a_part(ph, target->cluster, target, max_threads, &with) &&
           kn_predict_phase_ns(a, &with, bufs, nbufs, target) <
               kn_predict_phase_ns(a, ph, bufs, nbufs, target);
}

/* 0 for no cluster. with: the phase with these blocks, if it has been made; else it stays as it is. Rules stand in front of predicted times, so that few kernels serve all sizes. What registers keep
 * where two blocks share a multiprocessor has no cluster; those were within 3 % of it either way, but for a group in several
 * runs that takes more than half of the registers. What they do not keep has one for the bulk copies, also of one block;
 * and where a group is in several runs in any case, as larger ones have. */
static int64_t choose(kn_arena *a, const kn_phase *ph, const kn_buf *bufs, int nbufs,
                      const kn_target *target, kn_phase *with)
{
    int64_t best = 0, least = blocks_for(ph, 1, target);
    int64_t two = blocks_for(ph, 2, target), four = blocks_for(ph, 4, target);
    bool one_run = kn_phase_one_run(ph);
    bool registers = kn_rows_keep(ph, target) == KN_KEEP_REGISTERS;
    bool crowded = !one_run && kn_reread_bytes(ph) > HALF_OF_REGISTERS;
    if (registers && crowded)
        registers = !copies(ph, four, target);
    if (two == 0 || least > target->cluster || (registers && (two == 1 || !one_run)))
        return 0;
    if (two == 1)
        return copies(ph, four, target) ? four : one_run ? 0 : 1;
    double ns = one_run ? kn_predict_phase_ns(a, ph, bufs, nbufs, target) : INFINITY;
    for (int64_t blocks = least < 2 ? 2 : least; blocks <= target->cluster; blocks *= 2) {
        double other;
        kn_phase tried = best_with_blocks(a, ph, blocks, bufs, nbufs, target, &other);
        if (other < ns) {
            best = blocks;
            ns = other;
            *with = tried;
        }
    }
    return best;
}

void kn_schedule_cluster(kn_arena *a, kn_phase *ph, const kn_buf *bufs, int nbufs,
                         const kn_target *target, kn_division force, int want, int max_threads)
{
    if (!can(ph, target) || ph->nest.groups == 0 ||
        (force != KN_DIVIDE_BY_COST && force != KN_DIVIDE_CLUSTER))
        return;
    kn_phase with = *ph, part;
    int64_t blocks = want ? want : choose(a, ph, bufs, nbufs, target, &with);
    if (force == KN_DIVIDE_CLUSTER && blocks < 2)
        blocks = blocks_that_keep(ph, target);
    if (force == KN_DIVIDE_CLUSTER && blocks < 2)
        blocks = 2;
    if (!want && a_part_pays(a, ph, bufs, nbufs, target, max_threads))
        blocks = target->cluster;
    double ns;
    if (blocks > 0 && (want || blocks <= target->cluster))
        *ph = with_a_part(ph, blocks, target, max_threads, &part) ? part
              : with.how.cluster && with.num.splits == blocks
                  ? with
                  : best_with_blocks(a, ph, blocks, bufs, nbufs, target, &ns);
}
