/* The machine that a schedule is chosen for: numbers only, so that choosing needs no device. */
#ifndef KN_CODEGEN_TARGET_H
#define KN_CODEGEN_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

typedef struct kn_target {
    const char *kind;     /* "cuda" or "cpu" */
    int sm;               /* CUDA: 90 for sm_90; 0 on the CPU */
    int units;            /* multiprocessors, or CPU threads */
    int max_block;        /* threads a block */
    int max_threads_unit; /* resident threads a multiprocessor */
    int smem_block;       /* bytes of shared memory a block may have */
    bool cooperative;     /* grid barriers are possible */
    int cluster;          /* blocks that a cluster may have; 0: the machine has no clusters */
} kn_target;

/* Blocks that a cluster may have on GPUs of this architecture: 8 everywhere, 16 where the data centre's chips are (CUDA
 * C++ Programming Guide, "Thread Block Clusters"). */
int kn_target_most_cluster(int sm);

/* And the most of all. */
enum { KN_MOST_CLUSTER = 16 };

/* A known GPU by its architecture ("sm_90"), for explaining without one. False when not known. */
bool kn_target_of_arch(const char *arch, kn_target *target);

/* The names of those that are known: "sm_70, sm_75, ...". */
void kn_target_put_archs(kn_text *t);

#endif
