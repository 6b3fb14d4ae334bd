/* The number of blocks of a launch, from what a kernel has to do and what the machine holds. The library and emitted
 * programs share this text, which is C11 and C++17; what it goes by is in codegen/kir/grid.h. */
#ifndef KN_CODEGEN_BLOCKS_H
#define KN_CODEGEN_BLOCKS_H

#include "codegen/kir/integers.h"

typedef struct kn_grid_wants {
    __INT64_TYPE__ work;  /* items, each for one block, at least 1 */
    __INT64_TYPE__ share; /* the same if each block takes all the steps that a thread unrolls */
    int cluster;          /* blocks of a cluster, or 1 */
    int persistent;
} kn_grid_wants;

/* Of persistent blocks: `resident` are on the machine at a time. Whole clusters, and at least one. */
static inline __INT64_TYPE__ kn_blocks_persistent(const kn_grid_wants *b, __INT64_TYPE__ resident)
{
    return kn_lesser(kn_ceiling(b->work, b->cluster), kn_greater(resident / b->cluster, 1)) *
           b->cluster;
}

/* Persistent, or a block for each work item. Elementwise blocks take all the steps that a thread unrolls, unless that
 * would leave multiprocessors idle. */
static inline __INT64_TYPE__ kn_blocks_all(const kn_grid_wants *b, __INT64_TYPE__ resident)
{
    const __INT64_TYPE__ most = 2147483647 / b->cluster * b->cluster;
    const __INT64_TYPE__ least = kn_blocks_persistent(b, resident);
    if (b->persistent || b->work <= least)
        return least;
    return b->share < least ? least
                            : kn_lesser(kn_ceiling(b->share, b->cluster) * b->cluster, most);
}

#endif
