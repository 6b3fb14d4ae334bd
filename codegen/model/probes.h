/* What is quick to measure on a GPU that the model has not been fitted to, and what follows from it for the model.
 * Which kernels measure it is runtime/cuda/probes.cuh's. */
#ifndef KN_CODEGEN_PROBES_H
#define KN_CODEGEN_PROBES_H

#include "base/text.h"
#include "codegen/model/machine.h"

/* Times in nanoseconds; rates in bytes or additions a nanosecond. */
typedef struct kn_probes {
    double copy;        /* bytes that a copy reads and writes, where no cache holds them */
    double cached;      /* likewise, where the last-level cache does */
    double block;       /* bytes that a block reads, alone on the GPU */
    double adds;        /* f32 additions of a multiprocessor */
    double adds_f64;    /* f64 additions of a multiprocessor */
    double add;         /* an addition that needs the last one's sum */
    double load;        /* a load from DRAM that needs what the last one loaded */
    double launch;      /* an empty kernel */
    double barrier;     /* of the whole grid; 0: the GPU has none */
    double cache_bytes; /* of the last-level cache */
    double near_bytes;  /* of shared memory and the first cache of a multiprocessor */
} kn_probes;

/* Every coefficient is an H200's, scaled by what the probes found there and here: rates by rates, what threads wait for
 * each other by the time of an addition. What no probe reaches (the gain of reading in reverse, say) stays. */
kn_machine kn_machine_probed(const kn_probes *probes);

/* As text, a line a probe in thousandths: "copy 2810500". */
void kn_probes_put(kn_text *t, const kn_probes *probes);
/* False if it is no such text, or a number that no GPU has. */
bool kn_probes_read(const char *text, kn_probes *probes);

#endif
