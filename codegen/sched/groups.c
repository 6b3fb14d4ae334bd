/* Batches of groups: how many groups' loads a thread of rows has in flight at a time.
 *
 * Blocks that stay take one group after the other. One that registers hold is loaded, waited for, combined and stored before the
 * next is loaded, so that a thread has no more in flight than it takes of one group, often a vector. Blocks that come and go
 * have others beside them that load meanwhile; those that stay have half of a multiprocessor's threads, for their registers. */
#include "codegen/kir/grid.h"
#include "codegen/model/resources.h"
#include "codegen/sched/sched.h"

enum {
    BYTES = 64, /* of loads that a thread has in flight */
    /* Of all groups of a batch, in additions: beyond that a thread computes long enough for others to load. */
    MOST_ADDITIONS = 512,
};

static bool is_of_group(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    return v->kind == KN_V_LOAD && kn_kept(ph, i) == KN_KEEP_REGISTERS &&
           (ph->how.by_run || !kn_same_for_groups(ph, v));
}

/* Registers, and bytes, that a thread loads of a group. */
static int loaded_words(const kn_phase *ph)
{
    int words = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        words += is_of_group(ph, i) ? kn_kept_words(ph, i) : 0;
    return words;
}

static int loaded_bytes(const kn_phase *ph)
{
    int bytes = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        bytes += is_of_group(ph, i)
                     ? kn_bytes(kn_value_at(ph, i)->dtype) * ph->how.vec * ph->how.steps
                     : 0;
    return bytes;
}

/* What it computes of one, in additions. */
static int additions(const kn_phase *ph)
{
    int sum = 0;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        const int times = v->level == KN_ELEMENT ? ph->how.vec * ph->how.steps : 1;
        sum += v->kind == KN_V_ELEM ? kn_ops[v->op].cost * times : 0;
    }
    return sum;
}

/* Groups that a thread takes one behind the other. */
static double groups_of_thread(const kn_kernel *k, const kn_phase *ph, const kn_target *target)
{
    const double at_once = kn_blocks_a_unit(k, target) * target->units;
    return (double)kn_grid_phase_blocks(ph, k->threads) / at_once;
}

/* Registers that are left beside those that are held of one group and what all code takes, in as many blocks as the kernel counts
 * on. */
static int free_words(const kn_kernel *k, const kn_phase *ph, const kn_target *target)
{
    enum { CODE = 32 };
    const double blocks = k->min_blocks ? k->min_blocks : kn_blocks_a_unit(k, target);
    return (int)(KN_UNIT_REGISTERS / (k->threads * blocks)) - CODE - kn_held_words(ph);
}

/* Holds what is the same for all groups and is read in each, as far as registers go: behind a store it would be waited for. */
static void hoist(kn_kernel *k, kn_phase *ph, int words)
{
    const int va = kn_phase_vector_axis(ph), most = KN_KEPT_WORDS - kn_held_words(ph);
    words = words < most ? words : most;
    if (ph->how.by_run)
        return;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        const bool may = kn_same_for_groups(ph, v) && v->sweeps > 0 && !kn_kept(ph, i) && va >= 0 &&
                         v->access->kind[va] != KN_STRIDE_ZERO;
        if (may && kn_kept_words(ph, i) <= words) {
            words -= kn_kept_words(ph, i);
            kn_hold_value(k->arena, ph, i, KN_KEEP_REGISTERS);
            ph->how.groups = ph->how.groups ? ph->how.groups : 1;
        }
    }
}

void kn_batch_groups(kn_kernel *k, kn_phase *ph, const kn_target *target)
{
    const int words = loaded_words(ph), bytes = loaded_bytes(ph), computed = additions(ph);
    int groups = 1;
    if (ph->local || !words || !kn_may_batch_groups(ph))
        return;
    const double several = groups_of_thread(k, ph, target);
    const int left = free_words(k, ph, target);
    while (2 * groups <= KN_MOST_GROUPS && 2 * groups <= several &&
           (2 * groups - 1) * words <= left && 2 * groups * bytes <= BYTES &&
           2 * groups * computed <= MOST_ADDITIONS)
        groups *= 2;
    ph->how.groups = groups > 1 ? groups : 0;
    if (several > 1)
        hoist(k, ph, left - (groups - 1) * words);
}
