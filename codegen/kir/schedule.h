/* A schedule: HOW a loop nest is bound to a machine, as plain data. Five questions, whatever is computed:
 *
 *   map        which threads take which members and groups, how many at a time
 *   hold       what is kept on chip, and for how long
 *   transfer   how it comes there
 *   combine    how far the parts of a reduction are apart, and who finishes it
 *   transpose  how arrays that lie the other way round are read and written
 *
 * What is held, and transposed, of one value or store is said there: kn_value.kept, kn_access.transposed. */
#ifndef KN_CODEGEN_SCHEDULE_H
#define KN_CODEGEN_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum kn_walk {
    KN_WALK_FLAT, /* no reductions: elements spread over the whole grid; every axis is a member axis */
    KN_WALK_ROWS, /* `tpg` threads share a group and step through its members side by side */
    KN_WALK_COLS, /* neighbouring threads take neighbouring groups; the rows of a block share a group */
} kn_walk;

const char *kn_walk_text(kn_walk walk);

/* COLS: threads side by side along the groups, where nothing is kept. */
enum { KN_COLS_LANES = 32 };

typedef struct kn_schedule {
    /* ---- map ---- */
    kn_walk walk;
    int tpg; /* ROWS: threads a group, a power of two; block size or at most a warp, but where the reductions are mixed also
              * a part of the block. COLS: rows of threads, of which each has its members */
    int lanes; /* COLS: threads side by side along the groups, each with vec of them; tpg x lanes are a block. Mixed: threads
                * a group at least */
    int vec; /* elements (COLS: groups, at most 4) a thread takes at a time along the vector axis: 1, 2, 4 or 8 */
    bool
        unaligned; /* ROWS of one run: groups begin and end within vectors, which are aligned in memory; all arrays that are
                     * walked by vectors begin alike. Members are counted from before the group: kn_phase_line() */
    int steps; /* ROWS, COLS: every thread takes at most so many steps, unrolled (values may be kept); 0: a loop */
    bool full;  /* ROWS: all threads take all of their steps */
    int unroll; /* FLAT: steps whose loads a thread has in flight at a time; 0: of a local phase */
    bool split; /* the members of a group are divided over the machine; results are partial */
    bool
        mixed; /* the groups are, for reductions along both; results along the groups are partial */
    bool cluster; /* a group is shared by the blocks of a cluster, a range of members each */
    bool
        packed; /* COLS: groups are packed into rows, along the last member axis; combines are over those of a group too.
                   * codegen/sched/packed.c */
    /* ---- hold ---- */
    bool
        resident; /* split, mixed: what it and its like load is persistent across the grid barrier, where it fits */
    bool
        hoisted; /* async ROWS: what is the same for all groups stays in registers from a block's first group to its last;
                    * copies have two stages, of a group and of its next */
    bool
        rest_in_registers; /* async ROWS: shared memory has room for the first num.held members of a block's part; threads
                             * have the others in registers, each in at most `steps` steps */
    /* ---- transfer ---- */
    bool
        async; /* asynchronous copies bring what is kept in shared memory: codegen/emit/cuda/copies.c */
    /* ---- combine ---- */
    bool
        last_block; /* the last block to come here works on the phase, alone; only the last phase */
    bool last_of_tile; /* last_block, COLS: on each tile the last of those that have split it */
    /* ---- transpose ---- */
    int tile; /* COLS: members of a tile, through which transposed accesses go; 0: none. codegen/emit/cuda/transpose.c */
} kn_schedule;

/* The numbers of one call that a schedule goes by: sizes that share them or not share a compiled kernel. */
typedef struct kn_numbers {
    int64_t splits,
        chunk; /* split, cluster: parts of the members, and the members of one, a multiple of vec; mixed: parts of
                            * the groups, and at most so many groups; else 1 and all members */
    int64_t pack; /* packed: groups in a tile */
    int64_t held; /* rest_in_registers: members of a block's part in shared memory */
    int64_t
        copy_chunk; /* async ROWS: members whose place a block has filled again while it works on others */
    int64_t
        skew; /* launch skew: nanoseconds from the first copies of one cluster to those of the next */
} kn_numbers;

#endif
