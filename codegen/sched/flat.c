#include "codegen/sched/sched.h"

static bool can(const kn_phase *ph) { return ph->reds.len == 0 && ph->ngroup == 0 && !ph->split; }

static int threads(const kn_phase *ph, const kn_target *target)
{
    (void)ph;
    (void)target;
    return 256;
}

static void bind(kn_phase *ph, const kn_target *target, int block)
{
    (void)target;
    (void)block;
    ph->tpg = 1;
}

const kn_schedule kn_sched_flat = {"flat", KN_WALK_FLAT, can, threads, bind};
