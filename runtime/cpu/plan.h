/* What the CPU device makes of a kernel's structure, once: for each phase and stage, the steps that a block of lanes
 * runs, and the block buffer of each element value. Contains no number of a call.
 *
 *     stage t    group steps    loads, operations and stores of group values
 *                sweep steps    loads, operations, folds and stores, for each block of members
 *     last       group steps, and stores of partial results */
#ifndef KN_RUNTIME_CPU_PLAN_H
#define KN_RUNTIME_CPU_PLAN_H

#include "codegen/kir/kir.h"
#include "runtime/cpu/loops.h"
#include "runtime/cpu/user_fold.h"

typedef enum kn_step_kind {
    KN_STEP_LOAD,   /* value from access */
    KN_STEP_GATHER, /* value from access, at the indices that in[] give */
    KN_STEP_INDEX,  /* value: the offsets of access */
    KN_STEP_OP,     /* value by loop over in[] */
    KN_STEP_KEPT,   /* value kept by an earlier sweep */
    KN_STEP_RESULT, /* value from red */
    KN_STEP_FOLD,   /* value into red */
    KN_STEP_STORE,  /* value to access, or red's result (value -1) */
} kn_step_kind;

typedef struct kn_step {
    kn_step_kind kind;
    int value;
    /* LOAD, GATHER, INDEX, OP in a sweep: the block buffer; -1: a group value's own memory */
    int slot;
    int access;
    int red;
    int kept;  /* OP: the row buffer that keeps the value, or -1; KEPT: that buffer */
    int bytes; /* of an element */
    kn_loop loop;
    int in[KN_MAX_IN], nin;
    unsigned all; /* the bits of all operands */
    int direct; /* OP, GATHER: the access of a store that the result may be written through, or -1 */
    bool by_row; /* in tiles: one lane a row, of a value that only says where rows are gathered */
} kn_step;

typedef KN_VEC(kn_step) kn_steps;
typedef KN_VEC(int) kn_ints;

typedef struct kn_stage {
    kn_steps group, sweep;
    kn_ints accesses;   /* of the sweep's steps */
    kn_ints reds;       /* accumulated by the sweep */
    bool f64_variances; /* some of them are */
    kn_ints results;    /* reductions whose results the sweep completes, parts included */
} kn_stage;

/* An access of a load or a store of the phase. */
typedef struct kn_access_ref {
    int value, store; /* one is -1 */
    int buf, bytes;
} kn_access_ref;

static inline const kn_access *kn_access_of(const kn_phase *p, const kn_access_ref *ref)
{
    return ref->store >= 0 ? &p->nest.stores.data[ref->store].access
                           : p->nest.values.data[ref->value].access;
}

typedef struct kn_phase_plan {
    int nvalues;
    KN_VEC(kn_access_ref) accesses;
    /* per reduction: its owner's; NULL for user-defined ones */
    const kn_fold **folds;
    /* per reduction: the user-defined reduction whose first value it is, else NULL */
    const kn_user_fold **user_folds;
    int *owner; /* per reduction: the one whose accumulator has its result */
    int nreds;
    kn_stage *stages;
    int nstages;   /* nsweeps + 1 */
    kn_ints fixed; /* values that are the same for the whole launch */
    bool by_rows;  /* a gather reads contiguous runs along the last axis, each found by one index */
    const bool *by_row; /* per value: see kn_step */
    bool all_rows;      /* and each gather's places are by_row, or of the group */
    /* outputs may overlap inputs: a block reads its inputs before it writes its outputs */
    bool ordered;
    int slots;         /* block buffers of element values */
    int kept;          /* row buffers, of KN_FRAME_MEMBERS elements of all lanes */
    int *group_buffer; /* per value: the group buffer, or -1 */
    int group_buffers;
    int work;  /* steps of all sweeps, the cost of a member */
    int moved; /* bytes of a member, of each array that has one for all groups and members */
    int row_lanes, col_lanes; /* the most lanes of a block */
    size_t widest;            /* bytes of a lane in the widest buffer */
    size_t frame_bytes;       /* a worker's memory, for rows or columns */
} kn_phase_plan;

typedef struct kn_cpu_plan {
    kn_arena arena;
    kn_phase_plan *phases;
    int nphases;
    size_t frame_bytes;
    int accesses; /* the most of any phase */
} kn_cpu_plan;

/* KN_INTERNAL if the kernel has an operation or a type that the loops lack. */
kn_status kn_cpu_plan_make(const kn_kernel *kernel, const kn_loops *loops, const kn_allocator *from,
                           kn_cpu_plan **plan);
void kn_cpu_plan_free(kn_cpu_plan *plan);

#endif
