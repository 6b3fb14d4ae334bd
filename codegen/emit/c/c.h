/* The kernel IR as C11, for the CPU device.
 *
 * A phase becomes a function for each way of walking it:
 *
 *   rows    lanes are the members of a group, or all members of a phase without groups
 *   short   the same where a block has room for all members of a group, which are KN_FOLD_LANES at least: groups follow
 *           each other at little cost
 *   cols    lanes are neighbouring groups, and members come one after the other
 *   tiles   lanes are a row of a tile of the last two axes; phases without groups and reductions
 *   tiled_rows, tiled_short
 *           rows, and short ones, by tiles of whole groups: what the schedule transposes is copied first, or behind, so
 *           that rows of it are contiguous
 *   tiled_cols
 *           columns by tiles: the same of what is contiguous along the members
 *
 * A block of lanes is worked on by a few loops, each over all of its lanes, which the compiler vectorises; between them
 * functions that are no arithmetic, and reductions, are called by pointers, so that results are those of the CPU
 * device's interpreter to the bit. Sizes, strides and offsets are numbers of the call: kernels of one structure have
 * one text. It begins with prelude.h, functions.h, helpers.h and conversions.h and needs no
 * header. */
#ifndef KN_CODEGEN_C_H
#define KN_CODEGEN_C_H

#include "codegen/emit/c/prelude.h"
#include "codegen/kir/kir.h"

/* A function that the text calls: kn_c_call.loop, in this order. */
typedef struct kn_c_function {
    kn_op op;
    kn_dtype in[KN_MAX_IN], out;
    int nin;
} kn_c_function;

typedef enum kn_c_mode {
    KN_C_ROWS,
    KN_C_SHORT,
    KN_C_COLS,
    KN_C_TILES,
    KN_C_TILED_ROWS,
    KN_C_TILED_SHORT,
    KN_C_TILED_COLS,
    KN_C_MODES
} kn_c_mode;

/* Are lanes groups? */
static inline bool kn_c_by_cols(kn_c_mode mode)
{
    return mode == KN_C_COLS || mode == KN_C_TILED_COLS;
}
/* Is what accesses that are transposed read and store copied, a tile of rows or columns at a time? */
static inline bool kn_c_by_tiles(kn_c_mode mode)
{
    return mode == KN_C_TILED_ROWS || mode == KN_C_TILED_SHORT || mode == KN_C_TILED_COLS;
}

/* A mode, and what else of a call's numbers its text relies on. One for all of them takes up to four times as long to compile. */
typedef struct kn_c_case {
    kn_c_mode mode;
    bool streams; /* kn_c_call.stream */
    bool runs;    /* kn_c_call.run is not 0 */
    bool whole;   /* all blocks, and runs of lanes, are whole vectors of KN_FOLD_LANES */
} kn_c_case;

/* How many there are, and which of them it is. */
enum { KN_C_CASES = 8 * KN_C_MODES };
static inline int kn_c_case_index(kn_c_case of)
{
    return 8 * (int)of.mode + 4 * of.streams + 2 * of.runs + of.whole;
}
static inline kn_c_case kn_c_case_at(int index)
{
    return (kn_c_case){(kn_c_mode)(index / 8), index / 4 % 2, index / 2 % 2, index % 2};
}

typedef struct kn_c_phase {
    const char *function; /* its name; NULL: there is none */
    int slots, rows;      /* arrays of a block, and of a row, that a worker needs */
} kn_c_phase;

typedef struct kn_c_text {
    const char *text; /* NULL: no phase has a function */
    KN_VEC(kn_c_function) functions;
    kn_c_phase *phases; /* per phase of the kernel */
} kn_c_text;

/* Can members lie side by side in a block of columns, if those are narrow: is all that sweeps read and write found by one
 * group and one member? */
bool kn_c_can_be_narrow(const kn_phase *p);
/* Can groups of a phase be short rows, if they are few members? Else it has none, or members along several axes. */
bool kn_c_can_be_short(const kn_phase *p);
/* Do loops over lanes leave value v to a function; and any, which blocks of few lanes would call for each? */
bool kn_c_is_called(const kn_phase *p, int v);
bool kn_c_calls(const kn_phase *p);
/* Can its groups be walked by tiles, unless outputs may lie over inputs? */
bool kn_c_can_tile_rows(const kn_phase *p);
bool kn_c_can_tile_cols(const kn_phase *p);
/* The reduction whose accumulator has the result of reduction r: itself, or one that it is a part of. A sum of f32 is found
 * beside the variance of the same value, from one addition for a block and not for each member. */
int kn_c_owner(const kn_phase *p, int r);
/* Does a sweep accumulate variances of f64 (kn_members_end())? */
bool kn_c_has_f64_variance(const kn_phase *p, int stage);
/* Why no C is written for a phase; NULL: it is. */
const char *kn_c_refusal(const kn_phase *p);
/* A phase of a kernel for calls of one case, if it can be walked so, as one translation unit; in arena `a`. */
kn_c_text kn_c_source(kn_arena *a, const kn_kernel *k, int phase, kn_c_case of);
const char *kn_c_mode_text(kn_c_mode mode);
/* All phases that can be walked so, for all calls, without what all texts begin with, to `t`. */
kn_c_text kn_c_walks(kn_text *t, const kn_kernel *k, kn_c_mode mode);

/* ---- kn_c_call.num ----
 *
 *   extents of the axes
 *   for each access, values' then stores': its offset, split stride, and stride along each axis
 *   for each GATHER and each of its operands: the stride and extent of the axis that it indexes */

/* Writes them to `out` unless it is NULL; returns how many there are. */
int kn_c_numbers(const kn_phase *p, int64_t *out);
/* Which of them is the stride along the last axis of value or store `i`. */
int kn_c_member_stride(const kn_phase *p, bool store, int i);
/* Their formulas, of a phase that has them; NULL for what has none. */
void kn_c_formulas(const kn_phase *p, kn_dim *out);

#endif
