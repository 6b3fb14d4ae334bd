/* How many blocks a launch has. Kernels step through their work by the size of the grid, so any number of blocks is
 * correct. A grid with barriers has as many as the machine holds at a time. Others have a block for each work
 * item, not persistent ones (measured: docs/lab/bytes-a-block.md). */
#ifndef KN_CODEGEN_GRID_H
#define KN_CODEGEN_GRID_H

#include "base/integer.h"
#include "codegen/kir/blocks.h"
#include "codegen/kir/kir.h"

/* Has it something to store besides elements? */
static inline bool kn_grid_stores_once(const kn_phase *p)
{
    for (int i = 0; i < p->nest.stores.len; i++)
        if (p->nest.stores.data[i].kind == KN_STORE_GROUP)
            return true;
    return false;
}

/* Blocks that a phase has work for; 0 when it is empty. */
static inline int64_t kn_grid_phase_blocks(const kn_phase *p, int threads)
{
    if (p->local)
        return 0;
    switch (p->how.walk) {
    case KN_WALK_FLAT: {
        int64_t blocks = kn_ceil_div(kn_capped_product(p->nest.groups, p->nest.members),
                                     (int64_t)threads * p->how.vec);
        return blocks ? blocks : kn_grid_stores_once(p);
    }
    case KN_WALK_ROWS: {
        int at_once = threads / p->how.tpg;
        if (p->how.mixed)
            return kn_capped_product(p->num.parts, p->num.splits);
        return kn_ceil_div(kn_capped_product(p->nest.groups, p->num.splits),
                           at_once > 1 ? at_once : 1);
    }
    case KN_WALK_COLS:
        return kn_capped_product(kn_ceil_div(p->nest.groups, kn_cols_width(p)), p->num.splits);
    }
    return 0;
}

/* The blocks that a phase is given if each takes all the steps that a thread unrolls. */
static inline int64_t kn_grid_phase_share(const kn_phase *p, int threads)
{
    int64_t blocks = kn_grid_phase_blocks(p, threads);
    return p->how.walk == KN_WALK_FLAT ? kn_ceil_div(blocks, p->how.unroll) : blocks;
}

/* The most that is done between two barriers. Phases side by side have blocks of their own. */
static inline int64_t kn_grid_most(const kn_kernel *k, int64_t (*of)(const kn_phase *, int))
{
    int64_t most = 1, now = 0;
    for (int32_t i = 0; i < k->phases.len; i++) {
        const kn_phase *p = &k->phases.data[i];
        if (p->local)
            continue;
        int64_t blocks = of(p, k->threads);
        if (!p->how.beside)
            now = 0;
        if (__builtin_add_overflow(now, blocks, &now))
            now = INT64_MAX;
        most = now > most ? now : most;
    }
    return most;
}

static inline int64_t kn_grid_work(const kn_kernel *k)
{
    return kn_grid_most(k, kn_grid_phase_blocks);
}

/* Must blocks be persistent? So if they synchronise, if each does something once before its first group, if it
 * prefetches its next group, or if a group is divided among the blocks that the machine holds. */
static inline bool kn_grid_persistent(const kn_kernel *k)
{
    for (int32_t i = 0; i < k->phases.len; i++) {
        const kn_phase *p = &k->phases.data[i];
        if ((p->local && p->nest.ngroup == 0 && p->nest.nsweeps) || p->how.persistent ||
            (p->how.walk == KN_WALK_ROWS && kn_is_cyclic(p)))
            return true;
    }
    return kn_kernel_cooperative(k);
}

/* Do all phases run side by side, or is there only one? */
static inline bool kn_grid_at_once(const kn_kernel *k)
{
    bool first = true, at_once = true;
    for (int32_t i = 0; i < k->phases.len; i++) {
        const kn_phase *p = &k->phases.data[i];
        at_once = at_once && (p->local || p->how.beside || first);
        first = first && p->local;
    }
    return at_once;
}

/* What the number of a launch's blocks goes by. */
static inline kn_grid_wants kn_grid_goes_by(const kn_kernel *k)
{
    const int64_t work = kn_grid_work(k);
    const bool persistent = kn_grid_persistent(k), by_share = !persistent && kn_grid_at_once(k);
    return (kn_grid_wants){.work = work,
                           .share = by_share ? kn_grid_most(k, kn_grid_phase_share) : work,
                           .cluster = kn_kernel_cluster(k),
                           .persistent = persistent};
}

/* `per_unit` blocks fit on each of `units` multiprocessors: the grid of persistent blocks, and that of a launch. */
static inline unsigned kn_grid_blocks(const kn_kernel *k, int per_unit, int units)
{
    const kn_grid_wants by = {.work = kn_grid_work(k), .cluster = kn_kernel_cluster(k)};
    return (unsigned)kn_blocks_persistent(&by, (int64_t)per_unit * units);
}

static inline unsigned kn_grid_all_blocks(const kn_kernel *k, int per_unit, int units)
{
    const kn_grid_wants by = kn_grid_goes_by(k);
    return (unsigned)kn_blocks_all(&by, (int64_t)per_unit * units);
}

#endif
