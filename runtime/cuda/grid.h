/* How many blocks a launch takes: as many as the machine can hold at a time, and no more than
 * there is work for. Kernels walk their spaces in grid-sized steps, so every count from 1 up is
 * correct; a cooperative launch in addition demands that all blocks are resident together, which
 * this gives. */
#ifndef KN_RUNTIME_CUDA_GRID_H
#define KN_RUNTIME_CUDA_GRID_H

#include "codegen/kir.h"

static inline int64_t kn_grid_times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static inline int64_t kn_grid_ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* Blocks that a phase has work for; 0 when it is empty. */
static inline int64_t kn_grid_phase_blocks(const kn_phase *p, int threads)
{
    if (p->local)
        return 0;
    switch (p->walk) {
    case KN_WALK_FLAT:
        return kn_grid_ceil_div(kn_grid_times(p->groups, p->members), (int64_t)threads * p->vec);
    case KN_WALK_ROWS: {
        int at_once = threads / p->tpg;
        return kn_grid_ceil_div(kn_grid_times(p->groups, p->splits), at_once > 1 ? at_once : 1);
    }
    case KN_WALK_COLS:
        return kn_grid_times(kn_grid_ceil_div(p->groups, KN_COLS_LANES * p->vec), p->splits);
    }
    return 0;
}

/* The grid of one launch: `per_unit` blocks fit on each of `units` multiprocessors. At least 1,
 * so that a kernel without work is still a valid launch. */
static inline unsigned kn_grid_blocks(const kn_kernel *k, int per_unit, int units)
{
    int64_t work = 1;
    for (int32_t i = 0; i < k->phases.len; i++) {
        int64_t blocks = kn_grid_phase_blocks(&k->phases.data[i], k->threads);
        if (blocks > work)
            work = blocks;
    }
    int64_t resident = (int64_t)per_unit * units;
    if (resident < 1)
        resident = 1;
    return (unsigned)(work < resident ? work : resident);
}

#endif
