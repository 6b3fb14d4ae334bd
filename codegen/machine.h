/* What a kind of machine takes its time for: the coefficients of the model in predict.h, in one place. Times in
 * nanoseconds, rates in bytes or additions a nanosecond. docs/optimizer.md says where each comes from. */
#ifndef KN_CODEGEN_MACHINE_H
#define KN_CODEGEN_MACHINE_H

#include "codegen/target.h"

typedef struct kn_machine {
    double launch;                     /* a launch that does nothing */
    double memory;                     /* rate of the whole memory */
    double cache;                      /* rate at which the last cache gives what it holds */
    double cache_bytes;                /* that it holds of what streams through it */
    double unit;                       /* rate that one unit reaches */
    double latency;                    /* from a load to its value, the memory being busy */
    double adds;                       /* additions of f32 that a unit does, by rate */
    double wide;                       /* additions that one of f64 is */
    double warp, block, cluster, grid; /* until what a sweep found is known at that level */
    int sector;                        /* bytes that memory moves at least */
} kn_machine;

const kn_machine *kn_machine_of(const kn_target *target);

#endif
