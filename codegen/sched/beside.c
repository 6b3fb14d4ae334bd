/* Phases side by side: those between two barriers that do not wait for each other. Their work items are assigned to
 * the blocks round-robin, so that a block has as many as any other, whatever the sizes of the arrays are, and small arrays
 * cost their bytes and not a wait for memory each.
 *
 * Before: a bound kernel, with its barriers. After: how.beside is set. */
#include "codegen/sched/sched.h"

/* Do its blocks know each other by other numbers, or is it done by some of them only? */
static bool needs_all_blocks(const kn_kernel *k, int p)
{
    const kn_phase *ph = &k->phases.data[p];
    bool feeds_tiles = p + 1 < k->phases.len && k->phases.data[p + 1].how.last_of_tile;
    return ph->how.cluster || kn_keeps_shared(ph) || ph->how.last_block || ph->how.atomic ||
           feeds_tiles;
}

/* May phase p run beside the one before it? */
static bool may_run_beside(const kn_kernel *k, int p)
{
    int before = p - 1;
    while (before >= 0 && k->phases.data[before].local)
        before--;
    return before >= 0 && !k->phases.data[p].local && !k->phases.data[p].barrier &&
           !needs_all_blocks(k, before) && !needs_all_blocks(k, p);
}

void kn_run_beside(kn_kernel *k)
{
    for (int p = 0; p < k->phases.len; p++)
        k->phases.data[p].how.beside = may_run_beside(k, p);
}

kn_status kn_run_beside_as_given(const kn_kernel *k)
{
    for (int p = 0; p < k->phases.len; p++)
        if (k->phases.data[p].how.beside && !may_run_beside(k, p))
            return kn_fail(KN_ARGUMENT,
                           "schedule, phase %d: phases side by side wait for nobody, and share no "
                           "blocks with others",
                           p);
    return KN_OK;
}
