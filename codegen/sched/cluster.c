/* Clusters: the blocks of a thread-block cluster share a group that one block cannot keep on chip, or could, but
 * alone on its multiprocessor, which would idle at each of the block's barriers. Whether, and by how many blocks, is
 * predicted (codegen/model/predict.h); no rule fits all sizes (measured: docs/lab/cluster-size.md). The option forces
 * clusters wherever they are possible.
 *
 * Four blocks that share a multiprocessor are better than two, and two better than one. Each costs time to start.
 * Multiprocessors come in groups of 16 or 18, which clusters fill only in part. */
#include <math.h>

#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

/* Shared memory of a block for combines, exchange buffers and the hardware: what it mostly is, with at most so many
 * reductions. */
enum { MOSTLY_BESIDE = 3072, MOST_REDUCTIONS = 8 };

/* Two exchange buffers, with a slot of 16 bytes for each reduction of each block, and four mbarriers. Moments, of 32
 * bytes, occur only where nothing is kept. */
_Static_assert(2 * 16 * 16 * MOST_REDUCTIONS + 4 * 8 + KN_COMBINE_BYTES <= KN_SCRATCH_BYTES,
               "the largest clusters have room for their exchange buffers");

/* Bytes of a group in registers with which two blocks still share a multiprocessor. */
enum { HALF_OF_REGISTERS = 64 * 1024 };

static bool can(const kn_site *at, const kn_phase *ph)
{
    return at->target->cluster > 1 && !ph->universal && (ph->alone || at->clusters) &&
           !ph->no_cluster && !ph->how.mixed && !ph->how.split && !ph->local &&
           ph->how.walk == KN_WALK_ROWS && !ph->how.tile && ph->nest.reds.len > 0 &&
           ph->nest.reds.len <= MOST_REDUCTIONS && ph->nest.members > 1;
}

/* The fewest blocks that keep a group on chip if `at_once` of them share a multiprocessor; 0: there is nothing to
 * keep. */
static int64_t blocks_for(const kn_phase *ph, int at_once, const kn_target *target)
{
    int scratch = at_once > 1 ? MOSTLY_BESIDE : kn_scratch_beside(ph);
    int64_t each = kn_reread_element(ph);
    if (!each)
        return 0;
    int multiple = kn_phase_multiple(ph);
    int64_t most = (target->smem_block / at_once - scratch) / each / multiple * multiple;
    return kn_power_of_two_from(kn_ceil_div(kn_phase_counted(ph), most));
}

/* The same for the largest `at_once` of four, two and one that the largest cluster allows; 0 for none. */
static int64_t blocks_that_keep(const kn_phase *ph, const kn_target *target)
{
    for (int at_once = 4; at_once > 0; at_once /= 2) {
        int64_t blocks = blocks_for(ph, at_once, target);
        if (blocks <= target->cluster)
            return blocks;
    }
    return 0;
}

/* The phase with its groups divided over so many blocks. */
static kn_phase with_blocks(const kn_phase *ph, int64_t blocks)
{
    kn_phase with = *ph;
    with.how.cluster = true;
    with.num.splits = blocks;
    with.num.chunk = kn_phase_part(ph, blocks);
    return with;
}

/* Of two that are predicted to be as quick as that the first is taken, by few blocks or hoisted: sizes then share
 * kernels, and the model is no better than that. */
static const double alike = 0.99;

/* The same, with broadcast loads hoisted, or its parts in registers where copies would have no next group to bring, if that
 * is predicted to be faster; *ns: what it is predicted to take. */
static kn_phase best_with_blocks(const kn_site *at, const kn_phase *ph, int64_t blocks, double *ns)
{
    kn_phase best = with_blocks(ph, blocks), hoisted = best, loaded = best;
    hoisted.how.hoisted = kn_rows_may_hoist(&best, at->target);
    loaded.how.loads_parts = kn_rows_may_load_parts(&best, at->target);
    *ns = kn_predict_phase_ns(at, &best);
    if (kn_is_invariant(ph))
        return hoisted;
    const double other = hoisted.how.hoisted ? kn_predict_phase_ns(at, &hoisted) : INFINITY;
    if (other * alike < *ns) {
        *ns = other;
        best = hoisted;
    }
    const double parts = loaded.how.loads_parts ? kn_predict_phase_ns(at, &loaded) : INFINITY;
    if (parts < *ns) {
        *ns = parts;
        best = loaded;
    }
    return best;
}

/* Can async copies serve a cluster of so many blocks? */
static bool copies(const kn_phase *ph, int64_t blocks, const kn_target *target)
{
    kn_phase with = with_blocks(ph, blocks);
    return kn_rows_copies(&with, target);
}

/* The threads of the largest block that there will be: halved until it is allowed. */
static int most_threads(const kn_site *at, const kn_phase *ph)
{
    int most = kn_has_wide_functions(ph, at->target) ? KN_HALF_BLOCK : at->target->max_block;
    int max_threads = at->force->max_threads;
    while (max_threads && most > 32 && most > max_threads)
        most /= 2;
    return most;
}

/* The same, with blocks whose shared memory holds only some of their part, while registers hold the rest; false if
 * that is too much for them, or async copies cannot serve it. */
static bool with_a_part(const kn_site *at, const kn_phase *ph, int64_t blocks, kn_phase *with)
{
    const kn_target *target = at->target;
    int64_t each = kn_reread_element(ph), multiple = kn_phase_multiple(ph);
    *with = with_blocks(ph, blocks);
    if (!each || ph->how.unaligned || ph->how.by_run || !kn_phase_one_run(ph) ||
        kn_has_state(ph, KN_STATE_MOMENTS))
        return false;
    with->how.rest_in_registers = true;
    with->num.in_shared = (target->smem_block - kn_scratch_beside(ph)) / each / multiple * multiple;
    int64_t rest = with->num.chunk - with->num.in_shared;
    return rest > 0 && rest <= kn_rows_rest_steps(ph) * most_threads(at, ph) * ph->how.vec &&
           kn_rows_copies(with, target);
}

/* Where no cluster's shared memory keeps all of a group: does it pay that registers of the largest one keep the rest? */
static bool a_part_pays(const kn_site *at, const kn_phase *ph)
{
    const kn_target *target = at->target;
    kn_phase with;
    return blocks_for(ph, 1, target) > target->cluster &&
           with_a_part(at, ph, target->cluster, &with) &&
           (kn_is_invariant(ph) || kn_predict_phase_ns(at, &with) < kn_predict_phase_ns(at, ph));
}

/* How many blocks; 0: no cluster. `with`: set to the phase with these blocks, if that was predicted. Rules come before
 * predicted times, so that few kernels serve all sizes. A group that registers keep, with two blocks a multiprocessor,
 * would gain little (measured: docs/lab/cluster-size.md), unless it is in several runs and takes more than half of the
 * registers. What registers do not keep gets a cluster, even of one block, for async copies, and always if it is in
 * several runs. */
static int64_t choose(const kn_site *at, const kn_phase *ph, kn_phase *with)
{
    const kn_target *target = at->target;
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
    if (kn_is_invariant(ph))
        return two <= target->cluster ? two : least;
    double ns = one_run ? kn_predict_phase_ns(at, ph) : INFINITY;
    for (int64_t blocks = least < 2 ? 2 : least; blocks <= target->cluster; blocks *= 2) {
        double other;
        kn_phase tried = best_with_blocks(at, ph, blocks, &other);
        if (other < ns * alike) {
            best = blocks;
            ns = other;
            *with = tried;
        }
    }
    return best;
}

void kn_schedule_cluster(const kn_site *at, kn_phase *ph)
{
    const kn_target *target = at->target;
    const kn_division force = at->force->division;
    const int want = at->force->cluster;
    if (!can(at, ph) || ph->nest.groups == 0 ||
        (force != KN_DIVIDE_BY_COST && force != KN_DIVIDE_CLUSTER))
        return;
    kn_phase with = *ph, part;
    int64_t blocks = want ? want : choose(at, ph, &with);
    if (force == KN_DIVIDE_CLUSTER && blocks < 2)
        blocks = blocks_that_keep(ph, target);
    if (force == KN_DIVIDE_CLUSTER && blocks < 2)
        blocks = 2;
    if (!want && a_part_pays(at, ph))
        blocks = target->cluster;
    double ns;
    if (blocks > 0 && (want || blocks <= target->cluster))
        *ph = with_a_part(at, ph, blocks, &part) ? part
              : with.how.cluster && with.num.splits == blocks
                  ? with
                  : best_with_blocks(at, ph, blocks, &ns);
}
