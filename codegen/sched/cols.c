#include "codegen/sched/sched.h"

/* The primary access is contiguous along the groups and not along the members. */
static bool can(const kn_phase *ph)
{
    const kn_access *a = kn_phase_primary(ph);
    if (!a || ph->ngroup == 0)
        return false;
    bool rows = ph->naxes > ph->ngroup && a->stride[ph->naxes - 1] == 1;
    return a->stride[ph->ngroup - 1] == 1 && !rows;
}

enum { BLOCK_OF_TILES = 256 };

static int threads(const kn_phase *ph, const kn_target *target)
{
    if (ph->tile && ph->reds.len == 0)
        return BLOCK_OF_TILES; /* which only meet: several of them keep memory busy */
    return target->max_block < 512 ? target->max_block : 512;
}

static void bind(kn_phase *ph, const kn_target *target, int block)
{
    (void)target;
    ph->tpg = block / 32;
}

const kn_schedule kn_sched_cols = {"cols", KN_WALK_COLS, can, threads, bind};
