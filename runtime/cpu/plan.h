/* What the CPU device makes of a kernel's structure, once: for each phase and stage, the steps that
 * a block of lanes goes through, and the block buffer of each element value.
 *
 *     stage t    group steps    loads, operations and stores of group values
 *                sweep steps    loads, operations, folds and stores, for each block of members
 *     last       group steps, and stores of partial results
 *
 * Holds no number of a call. */
#ifndef KN_RUNTIME_CPU_PLAN_H
#define KN_RUNTIME_CPU_PLAN_H

#include "codegen/kir/kir.h"
#include "runtime/cpu/loops.h"
#include "runtime/cpu/own.h"

typedef enum kn_step_kind {
    KN_STEP_LOAD,   /* value from access */
    KN_STEP_GATHER, /* value from access, at the places that in[] give */
    KN_STEP_INDEX,  /* value: the offsets of access */
    KN_STEP_OP,     /* value by loop over in[] */
    KN_STEP_KEPT,   /* value that an earlier sweep has kept */
    KN_STEP_RESULT, /* value from red */
    KN_STEP_FOLD,   /* value into red */
    KN_STEP_STORE,  /* value to access, or red's result (value -1) */
} kn_step_kind;

typedef struct kn_step {
    kn_step_kind kind;
    int value;
    int slot; /* LOAD, GATHER, INDEX, OP in a sweep: the block buffer; -1: the group value's own memory */
    int access;
    int red;
    int kept;  /* OP: the row buffer that keeps the value, or -1; KEPT: that buffer */
    int bytes; /* of an element */
    kn_loop loop;
    int in[KN_MAX_IN], nin;
    unsigned all; /* a bit an operand */
    int direct;   /* OP: the access of a store that the result may be written through, or -1 */
} kn_step;

typedef KN_VEC(kn_step) kn_steps;
typedef KN_VEC(int) kn_ints;

typedef struct kn_stage {
    kn_steps group, sweep;
    kn_ints accesses; /* of the sweep's steps */
    kn_ints reds;     /* that the sweep accumulates */
    kn_ints results;  /* and the reductions that it has the results of: parts of others too */
} kn_stage;

/* An access of the phase: a load's, or a store's. */
typedef struct kn_access_ref {
    int value, store; /* one is -1 */
    int buf, bytes;
} kn_access_ref;

typedef struct kn_phase_plan {
    int nvalues;
    KN_VEC(kn_access_ref) accesses;
    const kn_fold **folds;    /* per reduction: its owner's; NULL for those of the user's own */
    const kn_own **own_folds; /* per reduction: of the user's own that begin here; else NULL */
    int *owner;               /* per reduction: the one that accumulates for it */
    int nreds;
    kn_stage *stages;
    int nstages;   /* nsweeps + 1 */
    kn_ints fixed; /* values that are one number for the whole launch */
    bool by_rows;  /* some gather takes neighbours along the last axis, from where one index says */
    bool ordered;  /* outputs may lie on inputs: read a block's inputs before writing its outputs */
    int slots;     /* block buffers of element values */
    int kept;      /* row buffers, of KN_FRAME_MEMBERS elements of all lanes */
    int *own;      /* per value: which group buffer, or -1 */
    int owns;
    int work;                 /* steps of all sweeps: the cost of a member */
    int row_lanes, col_lanes; /* most lanes of a block */
    size_t widest;            /* bytes of a lane in any buffer */
    size_t frame_bytes;       /* scratch of a worker, for either */
} kn_phase_plan;

typedef struct kn_cpu_plan {
    kn_arena arena;
    kn_phase_plan *phases;
    int nphases;
    size_t frame_bytes;
    int accesses; /* most of a phase */
} kn_cpu_plan;

/* INTERNAL when the kernel has an operation or a type that the loops do not have. */
kn_status kn_cpu_plan_make(const kn_kernel *kernel, const kn_loops *loops, const kn_allocator *from,
                           kn_cpu_plan **plan);
void kn_cpu_plan_free(kn_cpu_plan *plan);

#endif
