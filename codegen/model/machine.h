/* What things take on a kind of machine: the coefficients of the model in predict.h, in one place. Times in
 * nanoseconds, rates in bytes or additions a nanosecond. docs/model.md says where each comes from
 * (tests/docs/machine.py holds that it has the same numbers). */
#ifndef KN_CODEGEN_MACHINE_H
#define KN_CODEGEN_MACHINE_H

#include "codegen/kir/target.h"

typedef struct kn_machine {
    double launch;        /* from a launch to its first instruction */
    double memory, cache; /* bandwidth of DRAM, and of the last-level cache */
    double stream;        /* of DRAM where kn_streams_through() */
    double cache_bytes;   /* of a stream that the last-level cache holds */
    /* fraction of it that has the end of a stream which is read in reverse, as far as sweeps are in step */
    double end_cached;
    double near_bytes;           /* of a multiprocessor's cache and shared memory together */
    double unit;                 /* bandwidth of one multiprocessor */
    double latency;              /* from a load to its value, while memory is busy */
    double adds;                 /* rate of f32 additions of a multiprocessor */
    double wide;                 /* time of a function of f64 relative to f32 */
    double warp, block, cluster; /* to combine what a sweep found at that level */
    double peer;                 /* further, for each block of a cluster */
    double start, cluster_start; /* to start a block, or one of a cluster, on a multiprocessor */
    double grid, last; /* a grid barrier; until the last block knows that it is the last */
    /* until a block knows whether it has work items of a phase that runs beside others */
    double part;
    /* what merging moments, or maxima with their sums, takes longer than sums behind a barrier */
    double merge;
    double ranks;  /* an exchange with other GPUs */
    double rank;   /* what is lost besides, for each block of a cluster and wave */
    double sector; /* the least bytes that DRAM moves */
    /* bytes that DRAM could move in the time lost between the pieces of lines of a tile of columns */
    double between;
    double threads;     /* of a multiprocessor: fewer cannot keep its arithmetic busy */
    double group;       /* multiprocessors of a group (GPC), on average */
    double group_fills; /* of these, those that clusters of more than two blocks can fill */
    double stragglers;  /* slowdown of memory where blocks of a cluster wait for the last one */
    double in_step;     /* waves until blocks that do not wait for each other have drifted apart */
    /* bytes moved that take as long as an addition, to compute a value again or not */
    double addition;
    /* MiB that a kernel reads: below the first it evicts them first, if it only reads; from the second on last, if it also
     * writes: kn_cache_policy() */
    double evict_first, evict_last;
} kn_machine;

/* The target's own coefficients; where it has none, those of an H200, or of a host. */
const kn_machine *kn_machine_of(const kn_target *target);
/* Those that were fitted to a GPU, by the driver's name of it. False: there are none; probes.h has some for any GPU. */
bool kn_machine_named(const char *name, kn_machine *m);

/* Bytes that the machine could move in the time of a grid barrier. */
double kn_barrier_bytes(const kn_target *target);
/* What each further temporary counts as, besides the bytes that it moves: little, but more than a small array. */
double kn_temporary_bytes(const kn_target *target);

#endif
