/* Which walk a phase has, and where that keeps loads. */
#include "codegen/sched/sched.h"

static const kn_walker *const kinds[] = {&kn_walk_flat, &kn_walk_cols, &kn_walk_rows};

const kn_walker *kn_walker_of(kn_walk walk)
{
    size_t i = 0;
    while (kinds[i]->walk != walk)
        i++;
    return kinds[i];
}

kn_keep kn_schedule_keep(const kn_phase *ph, const kn_target *target)
{
    return ph->how.walk == KN_WALK_ROWS   ? kn_rows_keep(ph, target)
           : ph->how.walk == KN_WALK_COLS ? kn_cols_keep(ph, target)
                                          : KN_KEEP_NONE;
}

const kn_walker *kn_walker_for(const kn_phase *ph)
{
    if (ph->how.scatter_sum)
        return &kn_walk_cols;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !ph->how.mixed; i++)
        if (kinds[i]->can(ph) && !(ph->universal && kinds[i]->walk == KN_WALK_COLS))
            return kinds[i];
    return &kn_walk_rows;
}
