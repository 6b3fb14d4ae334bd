/* What the files of the CUDA emitter share: a writer, and the pieces of a kernel's text. From the bottom up:
 *
 *   text.c        lines, names, literals, indices
 *   place.c       where the elements of a step are: registers, shared memory, tiles
 *   precision.c   what need not be exact to the last bit
 *   value.c       expressions, what is computed and stored once a group
 *   caches.c      loads and stores as suits the caches
 *   unaligned.c   rows whose vectors are aligned where they are not
 *   broadcast.c   what a group says to its elements, where groups are packed
 *   reducer.c     types and functions of user-defined reductions
 *   combine.c     accumulators and combines
 *   step.c        one step of a sweep: loads, values, accumulations, stores
 *   transpose.c   transposed accesses, through tiles in shared memory or in registers
 *   copies.c      asynchronous copies into shared memory
 *   unrolled.c    steps that are written out
 *   sweep.c       the loops of a phase over its members
 *   group.c       which groups a block works on
 *   mixed.c       the groups of mixed reductions, and deferred combines
 *   packed.c      the walk over packed groups
 *   kernel.c      walks, and the kernel around them */
#ifndef KN_CODEGEN_CUDA_WRITER_H
#define KN_CODEGEN_CUDA_WRITER_H

#include "codegen/kir/kir.h"

/* Quotients by what divides a whole group: by its reciprocal, each of them, or all of a step, tested for whether that is
 * exact; or by division. */
typedef enum kn_cuda_quotients {
    KN_EACH_TESTED,
    KN_TESTED_TOGETHER,
    KN_DIVIDED,
} kn_cuda_quotients;

/* Writing one kernel. */
typedef struct kn_cuda_writer {
    kn_text *t;
    const kn_kernel *k;
    const kn_phase *ph;
    int p; /* phase number */
    int indent;
    int sweep;
    const char *block, *blocks; /* that work on the phase: which this is, and how many */
    bool tiled;                 /* in a tile, where turned accesses find what they want */
    bool near;                  /* in steps whose resident values are in shared memory */
    bool placed; /* in steps that count `place`: which vector of those in shared memory is theirs */
    bool ahead;  /* in squares that have been taken from shared memory */
    bool batched; /* in steps whose loads have all been done in front of the first of them */
    kn_cuda_quotients quotients;
    bool turned_round; /* the phase's first sweep walks backwards */
    bool rereads;      /* the kernel reads elements of some array more than once from memory */
    bool *need;        /* values of the current sweep */
    bool *loaded;      /* kept values that are in their registers */
    bool *declared;    /* values whose registers are declared */
    bool
        in_rest; /* in steps of members that registers keep, where shared memory keeps the others */
    bool *loaded_there; /* `loaded` of those members, and in_rest of the others */
    bool *wide;   /* group values of which a thread has an array: one for each of its vec groups */
    bool *told;   /* of groups abreast: group values that differ from group to group */
    bool in_step; /* what is written is of elements, lane by lane */
    bool *rough;  /* f32 values of which nothing is left but roundings to 16 bits: cuda_rough.c */
} kn_cuda_writer;

/* ---- text.c ---- */

/* One line, indented; a line that opens a block; the brace that closes it. */
void kn_cuda_line(kn_cuda_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kn_cuda_open(kn_cuda_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kn_cuda_close(kn_cuda_writer *w);
/* A statement; where `condition` is not "", with it in front. */
void kn_cuda_guarded(kn_cuda_writer *w, const char *condition, const char *statement);
/* A piece of text in the arena. */
const char *kn_cuda_printed(kn_cuda_writer *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* n times the threads of a block. */
const char *kn_cuda_block_times(kn_cuda_writer *w, int n);
const char *kn_cuda_type(kn_dtype t);
/* The C name of value i of the phase. */
const char *kn_cuda_value(kn_cuda_writer *w, int i);
/* The same where it is used, inside the loop over l if there is one. */
const char *kn_cuda_operand(kn_cuda_writer *w, int i);
/* In columns a thread has vec neighbouring groups. */
bool kn_cuda_wide(const kn_phase *ph);
/* Finds wide values, on entering a phase. */
void kn_cuda_find_wide(kn_cuda_writer *w);
/* Opens and closes the loop over a thread's groups, where it has several. */
void kn_cuda_open_groups(kn_cuda_writer *w);
void kn_cuda_close_groups(kn_cuda_writer *w);
/* Declares `name` with `value` to start from: one, const if `constant`, or if `wide` an array with one for each of a
 * thread's groups. */
void kn_cuda_declare(kn_cuda_writer *w, bool constant, const char *type, const char *name,
                     bool wide, const char *value);
const char *kn_cuda_literal(kn_cuda_writer *w, kn_scalar v);
const char *kn_cuda_offset(kn_cuda_writer *w, const kn_access *acc, char kind, int i,
                           const char *lane);
void kn_cuda_decompose(kn_cuda_writer *w, int from, int to, const char *linear);
const char *kn_cuda_extents(kn_cuda_writer *w, int from, int to);
/* An elementwise operation that gives type t, of operands of type `operand` whose text is in[]. */
const char *kn_cuda_operation(kn_cuda_writer *w, kn_op op, kn_dtype t, kn_dtype operand,
                              const char *const *in, int nin);
const char *kn_cuda_expression(kn_cuda_writer *w, int i);
/* Is element value i a quotient by what divides its whole group, to the last bit? */
bool kn_cuda_divides_exactly(const kn_cuda_writer *w, int i);
/* const T name = expr; */
void kn_cuda_define(kn_cuda_writer *w, int i, const char *expr);
void kn_cuda_define_load(kn_cuda_writer *w, int i, const char *lane);
const char *kn_cuda_once(kn_cuda_writer *w, const kn_store *s, const char *also);
void kn_cuda_group_values(kn_cuda_writer *w, int stage);
void kn_cuda_group_stores(kn_cuda_writer *w, int stage, const char *leader);

/* ---- precision.c: see there ---- */

/* Finds rough values, on entering a phase. */
void kn_cuda_find_imprecise(kn_cuda_writer *w);
/* Is value i an exponential by the hardware's approximation? */
bool kn_cuda_imprecise_exp(const kn_cuda_writer *w, int i);

/* ---- combine.c: reduction r of the phase ---- */

/* Declares acc<r>; adds a step's elements to it: in the loop over l, with what is common to all of them before and
 * after it. */
void kn_cuda_accumulator(kn_cuda_writer *w, int r);
void kn_cuda_before_lanes(kn_cuda_writer *w, int r);
void kn_cuda_accumulate(kn_cuda_writer *w, int r);
void kn_cuda_after_lanes(kn_cuda_writer *w, int r);
/* After a sweep: makes each of its accumulators one for all workers of a group and declares r<r>. */
void kn_cuda_combine(kn_cuda_writer *w, int sweep);
/* Where kn_cuda_combine() only has each warp leave what it found, behind that of `late` groups before: takes what there is,
 * behind a barrier, as new accumulators. */
void kn_cuda_take_deferred(kn_cuda_writer *w);
void kn_cuda_declare_results(kn_cuda_writer *w, int sweep);
/* Where dynamic shared memory is free: behind the boards on which the blocks of a cluster write what they found. */
const char *kn_cuda_behind_exchange(kn_cuda_writer *w);
/* In front of the loop over the groups of a cluster: the mbarriers of its boards, and that of its fetches. */
void kn_cuda_begin_exchange(kn_cuda_writer *w);
/* All reductions across groups: the accumulators of a band; at its end, for one step, what the threads of the
 * block combine, and the stores. */
void kn_cuda_across_accumulators(kn_cuda_writer *w);
void kn_cuda_combine_across(kn_cuda_writer *w);
void kn_cuda_store_across(kn_cuda_writer *w);

/* ---- reducer.c: a REDUCE_BY whose first reduction is r ---- */

/* What its type and its struct of functions are called. */
const char *kn_cuda_reducer_name(kn_cuda_writer *w, int r);
/* In front of a kernel: those of all its phases. */
void kn_cuda_reducer_types(kn_cuda_writer *w);
/* The identities, or the operands of a step, as its type. */
const char *kn_cuda_reducer_identity(kn_cuda_writer *w, int r);
const char *kn_cuda_reducer_element(kn_cuda_writer *w, int r);

/* How a sweep steps through the members: `first`, first + step, ... below `end`. */
typedef struct kn_cuda_stride {
    const char *first, *end, *step;
} kn_cuda_stride;

/* ---- packed.c: see there ---- */

void kn_cuda_packed(kn_cuda_writer *w);

/* In front of a sweep: what its elements need of their groups. */
void kn_cuda_broadcast(kn_cuda_writer *w, int sweep);
/* "v3_of1[l]": what a lane is told. */
const char *kn_cuda_broadcast_value(kn_cuda_writer *w, int i);

/* ---- copies.c: see there ---- */

/* In front of the loop over groups: this cluster's time to begin. */
void kn_cuda_skew_launch(kn_cuda_writer *w);
/* In front of that loop: the first group is asked for. Around the loop of the last sweep over a group, that it goes through
 * [from, to) at a time. */
void kn_cuda_copy_first(kn_cuda_writer *w);
void kn_cuda_open_chunks(kn_cuda_writer *w, const char *first);
void kn_cuda_close_chunks(kn_cuda_writer *w);
/* In front of the first sweep. */
void kn_cuda_await_copies(kn_cuda_writer *w);
/* The parameter that says how many members of its part a block keeps; where what is fetched ends. */
const char *kn_cuda_held(kn_cuda_writer *w);
const char *kn_cuda_copied_end(const kn_phase *ph);
/* Where they are taken as they come: the loop over pieces [from, to) of the first sweep. */
void kn_cuda_open_arrivals(kn_cuda_writer *w, const char *first);
void kn_cuda_close_arrivals(kn_cuda_writer *w);
/* Behind the last sweep over a group that had one of two places: the one after the next takes it. */
void kn_cuda_copy_next(kn_cuda_writer *w);
/* Columns: a thread asks for its own elements; in the last sweep, when it has taken a square, for those of the next tile
 * that go there. */
void kn_cuda_copy_own(kn_cuda_writer *w, const kn_cuda_stride *by);
void kn_cuda_prefetch_tile(kn_cuda_writer *w);

/* ---- mixed.c: see there ---- */

/* Behind the sweep over a group: that, and the stores, when it is time for it; each warp for other groups. */
void kn_cuda_deferred_groups(kn_cuda_writer *w);
/* Around what a block does with the groups from `first` on: the loops over its bands and over their groups. */
void kn_cuda_open_mixed(kn_cuda_writer *w);
void kn_cuda_close_mixed(kn_cuda_writer *w);

/* ---- transpose.c: see there ---- */

/* Does this sweep have turned accesses? */
bool kn_cuda_uses_tiles(kn_cuda_writer *w);
void kn_cuda_declare_tiles(kn_cuda_writer *w);
/* Around a sweep's loop over [from, to): one tile of the members from `begin` to `limit`; and in front of that loop, its
 * turned loads. */
void kn_cuda_open_tile(kn_cuda_writer *w, const char *limit);
void kn_cuda_load_tile(kn_cuda_writer *w);
void kn_cuda_close_tile(kn_cuda_writer *w);
/* The place of this step's kept vector of columns. */
const char *kn_cuda_kept_of_column(kn_cuda_writer *w);
/* In front of that loop: takes what this sweep has in shared memory of a square to registers, <value>_square[r]. The compiler
 * would not look for it beyond the first member whose results go there. */
void kn_cuda_take_transposed(kn_cuda_writer *w);
/* The loop over the members i of a square from `at` on; does this sweep store squares? Then what it stores of them, in
 * front of that loop and behind it. */
void kn_cuda_open_members(kn_cuda_writer *w, int at_once);
bool kn_cuda_stores_transposed(const kn_cuda_writer *w);
void kn_cuda_declare_transposed(kn_cuda_writer *w);
void kn_cuda_write_transposed(kn_cuda_writer *w);
/* This step's element, or that of lane `lane`, of a turned access in its tile. */
const char *kn_cuda_in_tile(kn_cuda_writer *w, const kn_access *acc, char kind, int i,
                            const char *lane);

/* ---- caches.c ---- */

/* What the kernel's arrays have of the caches, on entering it. */
void kn_cuda_find_traffic(kn_cuda_writer *w);
/* "kn_load<4>(address)", of n elements of value v, and the function of the prelude that stores elements to a buffer, as suits
 * the caches. */
const char *kn_cuda_loaded(kn_cuda_writer *w, const kn_value *v, int n,
                           const char *kn_cuda_address);
const char *kn_cuda_store_function(const kn_cuda_writer *w, int buf);

/* ---- place.c: where the elements of a step are ---- */

/* The type of a thread's vector of value i. The address of load i's elements of this step, of lane `lane` if that is not NULL. */
const char *kn_cuda_vector_type(kn_cuda_writer *w, int i);
const char *kn_cuda_address(kn_cuda_writer *w, int i, const char *lane);
/* The load in whose place a kept value is. */
int kn_cuda_place_of(const kn_cuda_writer *w, int i);
/* Is this step's part of value i kept in shared memory? Is store i, of elements, this sweep's? */
bool kn_cuda_in_shared(const kn_cuda_writer *w, int i);
bool kn_cuda_stores_now(const kn_cuda_writer *w, int i);
/* What the tile of value ('v') or store ('o') i is called. */
const char *kn_cuda_tile(kn_cuda_writer *w, char kind, int i);
/* Is lane l of this step of unaligned rows a member? */
const char *kn_cuda_lane_is_member(kn_cuda_writer *w);

/* ---- step.c ---- */

/* Can the loads of value i's elements be done for several steps, in front of the first of them? */
bool kn_cuda_batches(const kn_cuda_writer *w, int i);
/* Are this sweep's elements of value i in registers of their own for each step? Is it to put them there? */
bool kn_cuda_in_registers(const kn_cuda_writer *w, int i);
bool kn_cuda_keeps_now(const kn_cuda_writer *w, int i);
/* Does this sweep read value i, an element's, from memory? */
bool kn_cuda_loads(const kn_cuda_writer *w, int i);
/* Does a step of this sweep read or write memory, at what the axes say? */
bool kn_cuda_steps_in_memory(const kn_cuda_writer *w);
/* The members of a group, `members` of them, that are this block's of a cluster. */
void kn_cuda_part_of_cluster(kn_cuda_writer *w, const char *members);
/* In ragged phases, of a group: how far its beginning is within a vector, its range, and where in that the vectors are
 * that are the group's as a whole; at which of them a thread starts: at `first`, but for who has the group's beginning.
 * The loop of a thread over the other vectors, in front of its body. Of a sweep: the function of a step, and the steps
 * of the other vectors. */
void kn_cuda_unaligned_range(kn_cuda_writer *w);
void kn_cuda_unaligned_share(kn_cuda_writer *w, const char *first);
void kn_cuda_unaligned_edges(kn_cuda_writer *w);
void kn_cuda_unaligned_steps(kn_cuda_writer *w);
/* The element along the members at which this step of a ragged group begins: below 0 in front of it. */
void kn_cuda_unaligned_place(kn_cuda_writer *w);
/* This step's elements of a value that are a thread's, as a vector. */
const char *kn_cuda_vector(kn_cuda_writer *w, int i);
/* Where this step's elements of a value that is kept in shared memory are. */
const char *kn_cuda_shared_place(kn_cuda_writer *w, int i);
/* This step's elements of load i, of a vector that the group has only a part of. */
const char *kn_cuda_edge(kn_cuda_writer *w, int i);
/* What the registers of value i are called, a vector a step. */
const char *kn_cuda_registers(kn_cuda_writer *w, int i);
/* A step's loads into registers; in bands, from there to where later phases find them. */
void kn_cuda_kept_loads(kn_cuda_writer *w);
void kn_cuda_leave_resident(kn_cuda_writer *w);
void kn_cuda_declare_shared(kn_cuda_writer *w);
void kn_cuda_step(kn_cuda_writer *w);

/* ---- group.c ---- */

/* The groups that a block works on at a time, ROWS. */
const char *kn_cuda_groups_at_once(kn_cuda_writer *w);
/* Which of those from `first` on a thread works on, and which of its ranges. Every thread takes part in every combine,
 * live or not. */
void kn_cuda_group(kn_cuda_writer *w);

/* ---- unrolled.c ---- */

/* The steps of a thread that are written out: how many, the place of each, and where there may be none, when there is. */
typedef struct kn_cuda_unrolled {
    int steps;
    const char *place, *guard;
} kn_cuda_unrolled;

/* All steps of a group. */
kn_cuda_unrolled kn_cuda_all_steps(kn_cuda_writer *w, const kn_cuda_stride *by);
/* They, unrolled: all that they do, kn_cuda_step(), or what only goes between registers and memory. */
void kn_cuda_write_unrolled(kn_cuda_writer *w, const kn_cuda_unrolled *u,
                            void (*what)(kn_cuda_writer *));
/* The loads into registers that are needed now, of all steps at once; and then what the steps do. */
void kn_cuda_load_steps(kn_cuda_writer *w, const kn_cuda_unrolled *u);
void kn_cuda_write_steps(kn_cuda_writer *w, const kn_cuda_unrolled *u);
/* The same for all steps of a group. What is kept of loads is on its way before the first sweep waits for any of it,
 * whichever sweep needs it. */
void kn_cuda_load_all_steps(kn_cuda_writer *w, const kn_cuda_stride *by);
void kn_cuda_write_all_steps(kn_cuda_writer *w, const kn_cuda_stride *by);
/* What a sweep keeps in shared memory is there for the others. */
void kn_cuda_find_in_shared(kn_cuda_writer *w);
/* The registers of value i, of so many steps, unless they are there. */
void kn_cuda_declare_kept(kn_cuda_writer *w, int i, int steps);
/* Into registers, what all groups share; by: a thread's steps of any of them. */
void kn_cuda_load_hoisted(kn_cuda_writer *w, const kn_cuda_stride *by);

/* ---- sweep.c ---- */

/* Where member i is along each axis. */
void kn_cuda_write_axes(kn_cuda_writer *w);

/* The last stage at which a group has something to store. */
int kn_cuda_last_stage(const kn_phase *ph);
/* In front of the loop over groups: a thread's registers for what shared memory has no room for, with the first group's. */
void kn_cuda_take_rest(kn_cuda_writer *w);
/* All sweeps of the phase over a group, with its values and stores before, between and behind them; `leader` is true of
 * the worker that stores a group's results. */
void kn_cuda_sweeps(kn_cuda_writer *w, const kn_cuda_stride *by, const char *leader);

#endif
