/* How long a plan takes on a machine, by a model: codegen/model/machine.h has its coefficients, docs/model.md its
 * formula and how accurate it is. A pure function of plan and target. */
#ifndef KN_CODEGEN_PREDICT_H
#define KN_CODEGEN_PREDICT_H

#include "codegen/kir/kir.h"
#include "codegen/kir/target.h"

/* Nanoseconds. A wave is as many blocks as the machine holds at a time; a unit is a multiprocessor, or a thread of a
 * CPU. In a phase memory and units each take as long as the longest of their parts, and overlap except as far as they
 * wait for each other:
 *
 *   memory side  the longer of memory and cache
 *   units' side  the longest of transfer, work, starts of clusters, and waits + combines
 *   phase        max(cube root of the sum of both sides' cubes, starts) + in_step + barriers
 *
 * A kernel is its launch and its phases, one after the other. The parts of a kernel are the sums of its phases'. */
typedef struct kn_time {
    double ns;       /* total */
    double launch;   /* before the first instruction */
    double memory;   /* bytes that DRAM moves, at its bandwidth */
    double cache;    /* these and what the last-level cache serves, at the cache's bandwidth */
    double transfer; /* the same bytes, at the bandwidth of the units that have a block */
    double work;     /* instructions, at the rate of these units */
    double starts;   /* of blocks; of clusters they count on the units' side */
    double waits;    /* waves that wait for their loads, and a block's own instructions */
    double combines; /* waves that wait for combines */
    double in_step;  /* waits and combines of blocks that started together, and so wait together */
    double barriers; /* grid barriers */
    /* of ns, what the whole machine is busy with: phases side by side take that one after the other */
    double machine;
} kn_time;

/* What limits it: "memory", "cache", "transfer", "instructions", "starts", "latency" (waits, combines), "barriers" or
 * "launch". */
const char *kn_time_bound(const kn_time *time);

/* One kernel of a plan. phases: room for one time a phase, or NULL. */
kn_time kn_predict_kernel(const kn_kernel *kernel, const kn_target *target, kn_time *phases);

/* What the local phases in front of phase `host` take; these, and it, are bound. */
double kn_predict_locals_ns(const kn_kernel *kernel, const kn_target *target, int host);

/* All kernels of a plan, from the first launch to the end of the last. */
double kn_predict_ns(kn_kernel *const *kernels, int n, const kn_target *target);

#endif
