/* The machine that a schedule is chosen for, as numbers, so that planning needs no device. */
#ifndef KN_CODEGEN_TARGET_H
#define KN_CODEGEN_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

typedef struct kn_target {
    const char *kind;     /* "cuda" or "cpu" */
    int sm;               /* CUDA: 90 for sm_90; 0 on the CPU */
    int units;            /* multiprocessors (SMs); of a CPU, threads */
    int max_block;        /* threads a block */
    int max_threads_unit; /* resident threads a multiprocessor */
    int smem_block;       /* bytes of shared memory a block may have */
    bool cooperative;     /* grid barriers are possible */
    int cluster;          /* the largest cluster, in blocks; 0: no clusters */
    /* What things take there, which is its owner's; NULL: what they take on the kind of machine that the model knows
     * best (codegen/model/machine.h). */
    const struct kn_machine *machine;
} kn_target;

/* The largest cluster on this architecture: 8 blocks, or 16 on data-centre chips (CUDA C++ Programming Guide, "Thread
 * Block Clusters"). */
int kn_target_most_cluster(int sm);

/* The largest cluster on any architecture. */
enum { KN_MOST_CLUSTER = 16 };

/* A GPU by its architecture ("sm_90"), to plan without a device. False if unknown. */
bool kn_target_of_arch(const char *arch, kn_target *target);

/* Writes the known architectures: "sm_70, sm_75, ...". */
void kn_target_put_archs(kn_text *t);

#endif
