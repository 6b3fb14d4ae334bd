#include "codegen/sched/sched.h"

static const kn_schedule *const kinds[] = {&kn_sched_flat, &kn_sched_cols, &kn_sched_rows};

const kn_schedule *kn_schedule_of(kn_walk walk)
{
    size_t i = 0;
    while (kinds[i]->walk != walk)
        i++;
    return kinds[i];
}

kn_keep kn_schedule_keep(const kn_phase *ph, const kn_target *target)
{
    return ph->walk == KN_WALK_ROWS   ? kn_rows_keep(ph, target)
           : ph->walk == KN_WALK_COLS ? kn_cols_keep(ph, target)
                                      : KN_KEEP_NONE;
}

const kn_schedule *kn_schedule_choose(const kn_phase *ph)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !ph->banded; i++)
        if (kinds[i]->can(ph) && !(ph->universal && kinds[i]->walk == KN_WALK_COLS))
            return kinds[i];
    return &kn_sched_rows;
}
