/* A phase bound to a call (kn_job), and a worker's memory while it works on it (kn_frame). */
#ifndef KN_RUNTIME_CPU_FRAME_H
#define KN_RUNTIME_CPU_FRAME_H

#include "runtime/cpu/exec.h"
#include "runtime/cpu/lanes.h"
#include "runtime/cpu/move.h"

/* The first checked index that was found out of bounds. */
typedef struct kn_bad_index {
    int found; /* atomic */
    const kn_value *value;
    int64_t index, size;
} kn_bad_index;

typedef struct kn_job {
    const kn_phase_plan *plan;
    const kn_kernel *kernel;
    const kn_phase *phase;
    const kn_call *call;
    const kn_lanes *lanes; /* per access */
    bool cols;             /* lanes are groups; else members */
    /* Lanes are tiles of the last two axes, of so many rows and columns; 0: they are not. */
    int64_t tile;
    int outer_axis, outers;
    int64_t most;          /* lanes of a block at most */
    int64_t run, run_step; /* blocks end where a run of lanes does, and every run_step lanes of it;
                              run 0: every `most` lanes */
    int64_t parts, part;   /* ranges that the members are cut into, and the length of each */
    int64_t units, per_task;
    kn_bad_index *bad;
} kn_job;

typedef struct kn_operand {
    const void *data;
    bool same; /* one element for all lanes */
} kn_operand;

typedef struct kn_accumulator {
    char *acc, *total; /* total: of finished blocks, for folds that want them */
    char *result;
} kn_accumulator;

typedef struct kn_frame {
    const kn_job *job;
    kn_operand *value;   /* per value */
    kn_cursor *cursor;   /* per access */
    kn_accumulator *red; /* per reduction */
    char *slots, *owns, *kept;
    char *own;        /* scratch of reductions of the user's own */
    size_t own_lanes; /* what it has room for */
    size_t slot_bytes, own_bytes;
    int64_t done;               /* elements of the row, or tile, that this sweep has been through */
    int64_t outer[KN_MAX_RANK]; /* index along the outer axes */
    int64_t part;
} kn_frame;

/* Lays out `scratch`, which has the plan's frame_bytes, and sets the values that are fixed. */
void kn_frame_init(kn_frame *f, const kn_job *job, void *scratch);

/* A reduction of the user's own that begins at r, over n groups: from nothing; and the results of r alone. */
void kn_frame_start_own(kn_frame *f, int r, int64_t n);
void kn_frame_finish_own(kn_frame *f, int r, int64_t n);

/* Runs steps over n lanes; stores of group values only if `stores`. */
void kn_frame_steps(kn_frame *f, const kn_steps *steps, int64_t n, bool stores);

/* Moves the outer index of the accesses in `which` (NULL: all) to `index`; or on by one. */
void kn_frame_seek(kn_frame *f, const kn_ints *which, int64_t index);
void kn_frame_next(kn_frame *f, const kn_ints *which);

#endif
