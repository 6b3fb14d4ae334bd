/* How long a plan takes on a machine, by a model: codegen/machine.h has its coefficients, docs/optimizer.md its formula
 * and how far off it is. A pure function of plan and target. */
#ifndef KN_CODEGEN_PREDICT_H
#define KN_CODEGEN_PREDICT_H

#include "codegen/plan.h"

/* Nanoseconds. Three things go on at the same time in a phase: all its bytes (memory and cache), its blocks one after
 * the other (waits and combines), all its instructions. It takes as long as the longest of them, and the grid barrier in
 * front of it. A kernel is its launch and its phases one after the other, so that its parts are the sums of theirs. */
typedef struct kn_time {
    double ns;       /* in all */
    double launch;   /* a launch that does nothing */
    double memory;   /* bytes that memory moves, at its rate */
    double cache;    /* bytes that the last cache still has, at its rate */
    double waits;    /* of one block after the other for its loads */
    double combines; /* and for what its warps, or the blocks of its cluster, find */
    double work;     /* instructions, at the rate of all units */
    double barriers; /* of the grid */
} kn_time;

/* What most of it goes to: "memory" (the cache's too), "latency" (waits and combines), "instructions", "barriers" or
 * "launch". */
const char *kn_time_bound(const kn_time *time);

/* One kernel of those that a plan launches one after the other; phases: room for one time a phase, or NULL. */
kn_time kn_predict_kernel(const kn_kernel *kernel, const kn_target *target, kn_time *phases);

/* The whole plan, from the begin of its first launch to the end of its last. */
double kn_predict_ns(const kn_plan *plan, const kn_target *target);

#endif
