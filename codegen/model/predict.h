/* How long a plan takes on a machine, by a model: codegen/model/machine.h has its coefficients, docs/model.md its formula
 * and how far off it is. A pure function of plan and target. */
#ifndef KN_CODEGEN_PREDICT_H
#define KN_CODEGEN_PREDICT_H

#include "codegen/kir/kir.h"
#include "codegen/kir/target.h"

/* Nanoseconds. The machine works on as many blocks at a time as fit on it: a turn. What memory does in a phase, and what
 * its units do, each take as long as the longest of theirs, and go on at the same time as long as neither has to wait
 * for the other:
 *
 *     memory side  the longer of memory and cache
 *     units' side  the longest of transfer, work, starts, and waits with combines
 *     phase        the cube root of the sum of both's cubes, but at least what blocks take to start beside it, and in_step,
 *                  and barriers
 *
 * A kernel is its launch and its phases one after the other, so that its parts are the sums of theirs. */
typedef struct kn_time {
    double ns;       /* in all */
    double launch;   /* before anything is done */
    double memory;   /* bytes that memory moves, at its rate */
    double cache;    /* these and what the last cache still has, at its rate */
    double transfer; /* the same, at the rate of the units that have something to do */
    double work;     /* instructions, at the rate of these units */
    double starts;   /* of blocks: of clusters on the units' side, of others beside both */
    double waits;    /* turns for their loads, and what a block does meanwhile */
    double combines; /* and for what warps and blocks tell each other */
    double in_step;  /* of both, what blocks wait all at the same time */
    double barriers; /* of the grid */
} kn_time;

/* What most of it goes to: "memory", "cache", "transfer", "instructions", "starts", "latency" (waits, combines),
 * "barriers" or "launch". */
const char *kn_time_bound(const kn_time *time);

/* One kernel of those that a plan launches one after the other; phases: room for one time a phase, or NULL. */
kn_time kn_predict_kernel(const kn_kernel *kernel, const kn_target *target, kn_time *phases);

/* Kernels one after the other, from the beginning of the first launch to the end of the last. */
double kn_predict_ns(kn_kernel *const *kernels, int n, const kn_target *target);

#endif
