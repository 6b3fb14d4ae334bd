/* A phase bound to a call (kn_job), and a worker's memory for it (kn_frame). */
#ifndef KN_RUNTIME_CPU_FRAME_H
#define KN_RUNTIME_CPU_FRAME_H

#include "codegen/emit/c/cut.h"
#include "codegen/kir/call.h"
#include "runtime/cpu/lanes.h"
#include "runtime/cpu/move.h"
#include "runtime/cpu/plan.h"
#include "runtime/cpu/scatter_sum.h"

typedef struct kn_job {
    const kn_phase_plan *plan;
    const kn_kernel *kernel;
    const kn_phase *phase;
    const kn_call *call;
    const kn_lane_access *lanes; /* per access */
    bool cols;                   /* lanes are groups, else members */
    /* Lanes are tiles of the last two axes, of at most so many rows and columns; 0: they are not. */
    int64_t tile_rows, tile_columns;
    int64_t tile_groups; /* tiled rows: groups of a tile; else 0 */
    int outer_axis, outers;
    kn_c_cut cut;
    const kn_cpu_scatter_sum *scatter_sum; /* NULL: each group takes all members */
    kn_bad_index *bad;
    /* narrow columns (runtime/cpu/narrow.h): the job of members side by side, so many; NULL: none are */
    const struct kn_job *side;
    int64_t beside;
} kn_job;

typedef struct kn_accumulator {
    char *acc, *total; /* total: of finished blocks, for folds that are blocked */
    char *result;
} kn_accumulator;

typedef struct kn_frame {
    const kn_job *job;
    kn_operand *value;   /* per value */
    kn_cursor *cursor;   /* per access */
    kn_accumulator *red; /* per reduction */
    char *slots, *group_buffers, *kept;
    char *user_scratch; /* of user-defined reductions */
    size_t user_lanes;  /* lanes that it has room for */
    size_t slot_bytes, group_bytes;
    int64_t done;               /* lanes of the row, or tile, that this sweep has finished */
    int64_t outer[KN_MAX_RANK]; /* index along the outer axes */
    int64_t part;
    int64_t rows, columns; /* of the tile; 0 where lanes are no tile */
} kn_frame;

/* Sets the sizes of a phase's blocks, and of the memory that a worker needs. */
void kn_cpu_frame_size(kn_phase_plan *plan);

/* Bytes of an array for a block's lanes, and of one for a row. */
size_t kn_cpu_slot_bytes(const kn_phase_plan *plan);
size_t kn_cpu_row_bytes(const kn_phase_plan *plan);

/* Lays out `scratch`, of the plan's frame_bytes, and sets the values that do not change. */
void kn_frame_init(kn_frame *f, const kn_job *job, void *scratch);

/* Starts the user-defined reduction whose first value is r, over n groups; and writes the results of r alone. */
void kn_frame_start_user_fold(kn_frame *f, int r, int64_t n);
void kn_frame_finish_user_fold(kn_frame *f, int r, int64_t n);

/* Repeats what group values have, and results that the steps take, for groups side by side. */
void kn_frame_spread(kn_frame *f, const kn_steps *steps, int64_t groups, int64_t times);

/* Runs steps over so many lanes, over a lane a row those that are by_row; `stores`: including stores of group values. */
void kn_frame_steps(kn_frame *f, const kn_steps *steps, int64_t lanes, bool stores);

/* Moves the accesses in `which` (NULL: all) to outer index `index`; or to the next. */
void kn_frame_seek(kn_frame *f, const kn_ints *which, int64_t index);
void kn_frame_next(kn_frame *f, const kn_ints *which);

#endif
