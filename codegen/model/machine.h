/* What a kind of machine takes its time for: the coefficients of the model in predict.h, in one place. Times in
 * nanoseconds, rates in bytes or additions a nanosecond. docs/model.md says where each comes from
 * (tests/docs/machine.py holds that it has the same numbers). */
#ifndef KN_CODEGEN_MACHINE_H
#define KN_CODEGEN_MACHINE_H

#include "codegen/kir/target.h"

typedef struct kn_machine {
    double launch;               /* before a launch does anything */
    double memory, cache;        /* rates of the whole memory, and of the last cache */
    double stream;               /* memory's where kn_streams_through() */
    double cache_bytes;          /* that the last cache holds of what streams through it */
    double near_bytes;           /* that the cache beside a unit holds, with shared memory */
    double unit;                 /* rate that one unit reaches */
    double latency;              /* from a load to its value, the memory being busy */
    double adds;                 /* rate of additions of f32 in a unit */
    double wide;                 /* times that a function of f64 takes of one of f32 */
    double warp, block, cluster; /* until what a sweep found is known at that level */
    double peer;                 /* more for each block of a cluster */
    double start, cluster_start; /* of a unit, for each block, and for each of a cluster */
    double grid, last;           /* of a grid barrier; until the last block knows that it is */
    double sector;               /* bytes that memory moves at least */
    double between;     /* that it could move from a piece of a line of columns to the next */
    double threads;     /* in a unit, below which its additions are not all that it could do */
    double group;       /* units of a group, on average */
    double group_fills; /* of them, those that clusters of more than two blocks fill */
    double stragglers;  /* times longer, for whom the other blocks of a cluster wait */
    double in_step;     /* turns until blocks that wait for nobody are no longer in step */
} kn_machine;

/* Of the kind that the target is: a GPU, or a host. */
const kn_machine *kn_machine_of(const kn_target *target);

#endif
