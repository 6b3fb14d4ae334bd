#include "codegen/sched/sched.h"

static bool can(const kn_phase *ph)
{
    (void)ph;
    return true;
}

static int64_t steps(const kn_phase *ph)
{
    int64_t members = ph->split ? ph->chunk : ph->members;
    return (members + ph->vec - 1) / ph->vec;
}

/* A block a group from some hundred steps on; below, several groups share a block. */
static int threads(const kn_phase *ph, const kn_target *target)
{
    int64_t n = steps(ph);
    int want = n <= 1024 ? 128 : n <= 8192 ? 256 : 1024;
    return want < target->max_block ? want : target->max_block;
}

static void bind(kn_phase *ph, const kn_target *target, int block)
{
    int64_t n = steps(ph), work = ph->groups * ph->splits;
    ph->tpg = block;
    if (n > 512 || (n > 128 && work < target->units * 8))
        return;
    ph->tpg = 1; /* at least two steps a lane, at most a warp */
    while (ph->tpg < 32 && ph->tpg * 2 < n)
        ph->tpg *= 2;
}

const kn_schedule kn_sched_rows = {"rows", KN_WALK_ROWS, can, threads, bind};
