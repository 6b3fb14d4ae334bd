/* A schedule: HOW a loop nest is bound to a machine, as plain data. Five questions, whatever is computed:
 *
 *   map        which threads take which members and groups, how many at a time
 *   hold       what is kept on chip, and for how long
 *   transfer   how it comes there
 *   combine    over which threads and blocks the parts of a reduction are combined, and who finishes it
 *   transpose  how arrays that are contiguous along another axis are read and written */
#ifndef KN_CODEGEN_SCHEDULE_H
#define KN_CODEGEN_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"

typedef enum kn_walk {
    KN_WALK_FLAT, /* no reductions: the grid strides over all elements; every axis is a member axis */
    KN_WALK_ROWS, /* `tpg` neighbouring threads share a group and step through its members */
    KN_WALK_COLS, /* neighbouring threads take neighbouring groups; a block is tpg rows of lanes, which share the members */
} kn_walk;

const char *kn_walk_text(kn_walk walk);

/* COLS: lanes of a block that keeps nothing on chip. */
enum { KN_COLS_LANES = 32 };

/* Where a thread keeps a value for its later sweeps. It reads only what it wrote itself, so keeping needs no barrier. */
typedef enum kn_keep {
    KN_KEEP_NONE,      /* every sweep loads it, or computes it, again */
    KN_KEEP_REGISTERS, /* registers; the number of steps is known */
    KN_KEEP_SHARED,    /* in dynamic shared memory */
    /* loads of split and mixed phases: in dynamic shared memory, persistent across the grid barrier;
     * codegen/sched/resident.c */
    KN_KEEP_RESIDENT,
    /* CPUs: computed values, in the worker's memory; rows of at most KN_FRAME_MEMBERS */
    KN_KEEP_FRAME,
} kn_keep;

/* Members whose values fit in a second-level cache with what they are computed from. */
enum { KN_FRAME_MEMBERS = 65536 };

const char *kn_keep_text(kn_keep keep);

/* A value that is held: LOADs from the first sweep that needs them on, ELEMs from the sweep that computes them on. */
typedef struct kn_hold {
    int value;
    kn_keep where;
    int since; /* ELEM: the sweep that computes it */
    /* the value whose registers or shared memory it uses: itself; of an ELEM also a held load that no later sweep needs,
     * or another held ELEM */
    int room;
    int offset; /* resident LOAD: its byte offset within a step of a thread */
    /* resident LOAD: what is loaded to be held is not loaded again, so its cache lines are evicted first */
    bool once;
} kn_hold;

/* What becomes of the lines of the L2 cache that an access touches. */
typedef enum kn_cache {
    KN_CACHE_USUAL,
    KN_CACHE_POLICY,    /* loads: the launch's eviction policy says it */
    KN_CACHE_STREAMING, /* they are evicted first */
} kn_cache;

/* How a thread's vector comes from memory, or goes there. */
typedef enum kn_vector_form {
    KN_BY_WORD,     /* it is an aligned word of memory */
    KN_BY_ELEMENTS, /* loads whose vectors would not be aligned: one element at a time */
    KN_BY_SHIFT, /* such loads: of the two aligned words around it; as many elements come before it in all vectors */
    KN_BY_SHIFTS, /* the same, any number in each */
} kn_vector_form;

/* How the elements of an access move. It follows from the map and the layout of the array, or is the binder's. */
typedef struct kn_transfer {
    /* by vectors of vec elements along the vector axis, which `form` does not leave to elements; INDEX: counts along it from multiples of vec on */
    bool vector;
    /* of a linear schedule: it walks all axes as one, member i is its element i */
    bool linear;
    kn_vector_form form;
    kn_cache cache;
} kn_transfer;

/* What a loop of a sweep is over; it follows from the rest of the schedule. */
typedef enum kn_over {
    KN_OVER_STEPS, /* the steps of a thread; of columns that are transposed in registers, register tiles of them */
    KN_OVER_TILES, /* tiles in shared memory, and a thread's steps in each */
    KN_OVER_ALL,   /* all `steps`, written out */
} kn_over;

/* Loads of several steps that are done before the first of these steps, into registers. */
typedef enum kn_batch {
    KN_BATCH_NONE,
    KN_BATCH_CYCLIC,     /* the steps as they come */
    KN_BATCH_CONTIGUOUS, /* in a cyclic partition, steps that are neighbours in memory */
} kn_batch;

/* A loop of a sweep over the members: codegen/sched/loops.c. A sweep has one, or, with values that are resident, one
 * over the steps that have theirs on chip and one over the others. */
typedef struct kn_sweep_loop {
    int sweep;
    bool on_chip; /* over the steps whose values are resident */
    kn_over over;
    int unroll; /* steps at a time; in a register tile, members at a time; FLAT: mostly all that the grid leaves a thread */
    kn_batch batch;
    int loads; /* OVER_TILES: vectors of each transposed load that are in flight at a time; 0: there is none */
    bool backwards;
    /* a count of steps runs down: loads are issued together, without branches between steps */
    bool counted;
    bool guarded; /* OVER_ALL, full: each step has a branch all the same */
    int unguarded; /* batches: so many first steps, which each has for all threads, without a bounds check */
    bool whole; /* batches that are whole have a form of their own, without bounds checks */
} kn_sweep_loop;

/* A transposed access: contiguous along the members, where neighbouring threads take neighbouring groups. It goes through
 * a tile in shared memory, or, of a store, the threads that have its elements transpose them in registers. */
typedef struct kn_transpose {
    bool store;
    int of;  /* the number of the store, or of the value that is loaded */
    int vec; /* elements that move at a time along the last axis */
    bool in_registers;
    /* COLS: a tile has all members of its groups, and these are in memory one group behind the other. So the tile has them in that
     * order, too, and vectors move without regard to where a group begins */
    bool dense;
} kn_transpose;

typedef struct kn_schedule {
    /* ---- map ---- */
    kn_walk walk;
    /* ROWS: threads a group, a power of two: the whole block, at most a warp, or in mixed phases any part of the
     * block. COLS: rows of threads, which share the members */
    int tpg;
    /* COLS: threads along the groups, each with vec of them; tpg x lanes are a block. Mixed: the least tpg */
    int lanes;
    /* elements that a thread takes at a time along the vector axis: 1, 2, 4 or 8; of COLS, where they are groups, at
     * most 4 */
    int vec;
    /* COLS: loads whose vectors are not aligned in memory are assembled of aligned words: KN_BY_SHIFT */
    bool assembled;
    /* unaligned ROWS of one run: vectors are aligned in memory, so a group's first and last vector may belong to it
     * only in part. All arrays that vectors walk have the same misalignment. Members are counted from the line in which
     * the group begins: kn_phase_line() */
    bool unaligned;
    /* FLAT, and ROWS without groups: vectors run over all members as one, across the ends of rows. Accesses that do not
     * walk all axes as one are by elements, whose indices each lane finds for itself */
    bool linear;
    /* FLAT, ROWS of a single run: it is no multiple of vec, and the elements behind the last whole vector, its tail, are
     * taken one by one. It follows from vec and the extent */
    bool tail;
    /* ROWS: the vectors of each run begin at its first element whose address is a multiple of so many elements (a vector's, or a
     * cache line's); 0: they do not go by run. Each run of a group has as many, wherever it begins. Its other elements, the
     * edges at both ends, are taken one by one: kn_phase_whole(). All arrays that vectors walk have the same misalignment.
     * Vectors are held; edges of a single run are in registers, those of several each sweep loads again */
    int by_run;
    /* ROWS, COLS: the most steps of a thread, unrolled, so that registers can keep values; 0: a loop */
    int steps;
    int full; /* ROWS: so many first steps all threads take, without a bounds check */
    /* ROWS whose loads registers hold: a batch of so many groups that a thread takes one behind the other has all of its loads
     * before the first of them is worked on, and what is the same for all groups stays in registers; 0: each group is loaded by
     * itself */
    int groups;
    /* FLAT: steps that the grid leaves to a thread, mostly, and what a loop takes at a time that says nothing else; 0: a
     * local phase. Other walks: 0, for their loops have an unroll of their own */
    int unroll;
    KN_VEC(kn_sweep_loop) loops; /* GPUs: of all sweeps, in their order */
    bool reversed; /* the groups that a block takes one after the other come in reverse */
    /* split reduction: members are divided over the grid; results are partial */
    bool split;
    /* mixed reduction, along members and across groups: groups are divided over the grid; results across groups are
     * partial */
    bool mixed;
    /* the blocks of a cluster share a group, a range of members each */
    bool cluster;
    /* COLS: members are interleaved: each step takes the elements of several neighbouring members, which are contiguous, as one
     * row that is as wide as the lanes. A lane has the same columns in every step, of which each group has several; combines
     * add those up: codegen/sched/interleaved.c */
    bool interleaved;
    /* ROWS, COLS: a step takes whole planes of the last axes along which threads step, so many of them, so that a thread has the
     * same indices along these in all steps: codegen/sched/planes.c. Threads beyond the last whole plane have none. 0: steps
     * take as many members as there are threads */
    int planes;
    /* COLS: row packing along the last member axis; combines also add up the columns of each group:
     * codegen/sched/packed.c */
    bool packed;
    /* COLS: a scatter sum (codegen/kir/scatter_sum.h): a block compacts the members to those of its groups; one row
     * of threads then adds those that are found */
    bool scatter_sum;
    /* runs side by side with the phase before, which it does not wait for: its work items go to the blocks after
     * those that have the last of that one */
    bool beside;
    /* ---- hold ---- */
    KN_VEC(kn_hold) holds; /* in the order of their values */
    /* split, mixed: loads that several phases share are persistent across the grid barrier, as far as there is room */
    bool resident;
    /* async ROWS: loads that are the same for all groups stay in registers, for all groups of a persistent block;
     * async copies have two stages, the group's and its successor's */
    bool hoisted;
    /* ROWS by clusters: the binder is to keep a block's part in registers where async copies could bring it */
    bool loads_parts;
    /* async ROWS: shared memory keeps the first num.in_shared members of a block's part, threads keep the rest in
     * registers, in at most `steps` steps each */
    bool rest_in_registers;
    /* ---- transfer ---- */
    KN_VEC(kn_transfer) transfers; /* of the phase's accesses by number, shaped: kn_transfer_of() */
    /* async copies bring what is kept in shared memory: codegen/emit/cuda/copies.c */
    bool async;
    /* rest_in_registers: a block, which is alone on its multiprocessor, takes each chunk of the copies as it arrives */
    bool by_chunk;
    /* clusters: persistent, and they begin one after the other (launch skew) */
    bool persistent;
    /* blocks, which are all on the machine at a time, begin one after the other */
    bool skewed;
    /* async COLS: steps whose copies a thread starts at a time; 0: register tiles, which are copied whole */
    int copies;
    /* async COLS, transposed in registers: a cluster prefetches its next tile while it stores one. Mixed: each thread has
     * async copies of its elements of the next group on their way, into shared memory, while it works on one */
    bool prefetch;
    /* ---- combine ---- */
    /* quotients of f32 that a group has, but those by a count's reciprocal, are computed without division's subroutine for extreme operands:
     * codegen/emit/cuda/prelude/quotients.cuh */
    bool inline_quotients;
    /* mixed: how many groups' combines are deferred and done together, where only group stores need the results; 0: each
     * group is combined at once */
    int deferred;
    /* the last block to arrive works on the phase, alone; others go on to the next grid barrier */
    bool last_block;
    bool last_of_tile; /* last_block, COLS: for each tile, the last of the blocks that split it */
    /* COLS, split tiles without reductions: the blocks of a grid with barriers, which stay, fetch their work items one by one */
    bool fetch;
    bool atomic; /* its only reduction is a whole sum by packed atomics: codegen/sched/atomics.c */
    /* ---- transpose ---- */
    /* members of a tile, through which transposed accesses go; 0: none. Of CPUs' rows a tile has kn_groups_of_tile() groups */
    int tile;
    /* tile, groups of several axes: each thread divides for its own groups; the offsets of others come by __shfl_sync. It
     * follows from the axes and the lanes */
    bool locates_by_shuffles;
    KN_VEC(kn_transpose) transposes; /* loads in the order of their values, then stores */
} kn_schedule;

/* A deep copy. */
kn_schedule kn_schedule_copy(kn_arena *a, const kn_schedule *how);
/* Has the loop a text? One over all steps has no choice, unless these are full or in batches. */
static inline bool kn_loop_says(const kn_schedule *how, const kn_sweep_loop *loop)
{
    return loop->over != KN_OVER_ALL || how->full || loop->batch;
}
/* Writes a loop's words. */
void kn_loop_put(kn_text *t, const kn_schedule *how, const kn_sweep_loop *loop);

/* The numbers of one call that a schedule needs. Calls that differ only in these share a compiled kernel. */
typedef struct kn_numbers {
    int64_t splits;    /* split, cluster: parts of the members; else 1 */
    int64_t chunk;     /* split, cluster: members of a part, a multiple of vec; else all members */
    int64_t parts;     /* mixed: parts of the groups */
    int64_t rounds;    /* mixed: groups of a part, at most */
    int64_t pack;      /* packed: groups of a tile */
    int64_t in_shared; /* rest_in_registers: members of a block's part that are in shared memory */
    /* async ROWS: members of a chunk; copies refill it while the block works on the others */
    int64_t copy_chunk;
    /* launch skew: nanoseconds from the first copies of one cluster to those of the next; skewed: from the first
     * block's loads to the last's */
    int64_t skew;
} kn_numbers;

#endif
