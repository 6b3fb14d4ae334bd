/* What the files of the CUDA emitter share: a writer, and what each file writes of a kernel. A file calls only those
 * above it:
 *
 *   text.c        lines, names, literals, indices
 *   elements.c    where a step's elements are: in memory, registers, shared memory, a tile
 *   value.c       expressions; what is computed and stored once a group
 *   caches.c      cache policies of loads and stores; the aligned words around vectors
 *   unaligned.c   unaligned rows: their range, and the vectors peeled off at both ends
 *   interleaved.c members side by side: a lane's columns, its whole vectors, and the last one
 *   planes.c      steps of whole planes: a thread's indices in a plane, the planes of its steps
 *   broadcast.c   row packing: values of a group, broadcast to the threads that have its elements
 *   reducer.c     types and functions of user-defined reductions
 *   combine.c     accumulators, and combines over lanes, warps, rows of threads, and the blocks of a cluster
 *   pairs.c       what both lanes of a pair have at once: arithmetic of 16-bit floats
 *   lanes.c       the lanes of a step: elements, accumulations, stores
 *   step.c        one step of a sweep: loads into vectors, lanes, stores of vectors
 *   transpose.c   transposed accesses, through tiles in shared memory or by in-register transposes
 *   dense.c       tiles that are one piece of memory
 *   copies.c      asynchronous copies into shared memory
 *   unrolled.c    steps that are unrolled because each has registers of its own
 *   runs.c        vectors by run, and the edges of runs
 *   tail.c        what whole vectors leave of a single run
 *   scatter_sum.c members that a block compacts by their destinations
 *   sweep.c       the sweeps of a phase over the members of a group
 *   group.c       which groups a block of rows works on
 *   mixed.c       mixed reductions, and deferred combines
 *   packed.c      the walk over groups packed into rows
 *   kernel.c      the other walks, local phases, and the kernel around them */
#ifndef KN_CODEGEN_CUDA_WRITER_H
#define KN_CODEGEN_CUDA_WRITER_H

#include "codegen/kir/kir.h"
#include "codegen/kir/selection.h"

/* Writing one kernel. The arrays have an entry for each value of the phase. */
typedef struct kn_cuda_writer {
    kn_text *t;
    const kn_kernel *k;
    const kn_phase *ph; /* the phase being written, its number, and its sweep */
    int p;
    int sweep;
    int indent;
    /* the expressions for a block's index among those that work on the phase, and for their count */
    const char *block, *blocks;
    /* ---- the sweep ---- */
    bool *need;     /* the sweep computes it or reads it */
    bool *loaded;   /* kept, and already in its registers or its shared memory */
    bool *declared; /* its registers are declared */
    bool *wide; /* COLS: a group value that is an array, an element for each of a thread's groups */
    bool *broadcast; /* packed: a group value that differs from group to group */
    bool *paired;    /* a value of both lanes of a pair; NULL where lanes go one by one */
    /* ---- the steps being written ---- */
    const kn_sweep_loop *loop;
    bool tiled; /* they are of a tile, where transposed accesses find their elements */
    const char *
        store_guard; /* the condition of their stores to memory, which go on beyond an edge; NULL: none */
    bool resident;     /* their resident values are in shared memory */
    bool counts_slots; /* their loop counts `slot`, the index of a step's vector in shared memory */
    bool in_register_tile; /* they find kept values in a register tile */
    /* loads that come before the first step of a batch; NULL: there is no batch */
    const bool *batched;
    bool *around; /* loads whose vectors the step assembles of the words around them; NULL: none */
    bool in_step; /* inside a step: operands are of one element */
    bool in_rest; /* rest_in_registers: they are those whose values registers keep */
    const kn_phase *rest; /* the phase as it is for these */
    bool *loaded_rest;    /* `loaded` of those steps, and while in_rest of the others */
    const kn_phase *tail; /* the phase as it is for a tail */
    bool in_tail;         /* they are the tail's */
    bool *loaded_tail;    /* `loaded` of these */
    bool on_edges;        /* by_run: they are the edges' */
    bool in_first_member; /* interleaved: they are of each column's first member */
    bool in_last_vector;  /* interleaved: they are of the vector in which the last member ends */
    /* the member axes whose indices were found last, of what: axis a is divided by for the quotient q<a> */
    int quotients_from, quotients_to;
    const char *quotients_of;
    const char *plane; /* steps of whole planes: in which this one begins */
} kn_cuda_writer;

/* ---- text.c ---- */

/* One line, indented; a line that opens a block; an opening brace, with a comment unless that is ""; a closing brace. */
void kn_cuda_line(kn_cuda_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kn_cuda_open(kn_cuda_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kn_cuda_block(kn_cuda_writer *w, const char *comment);
void kn_cuda_close(kn_cuda_writer *w);
/* Closes by a brace with what comes behind it: "};". */
void kn_cuda_close_as(kn_cuda_writer *w, const char *brace);
/* A statement, under `condition` unless that is "". */
void kn_cuda_guarded(kn_cuda_writer *w, const char *condition, const char *statement);
/* Opens a loop of n steps over `i`, or of every so many-th, all of them written out; or does one statement in it. */
void kn_cuda_open_each(kn_cuda_writer *w, const char *i, int n);
void kn_cuda_open_each_of(kn_cuda_writer *w, const char *i, int n, int by);
void kn_cuda_each(kn_cuda_writer *w, const char *i, int n, const char *statement);
/* A piece of text in the arena. */
const char *kn_cuda_printed(kn_cuda_writer *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* n times the threads of a block. */
const char *kn_cuda_block_times(kn_cuda_writer *w, int n);
const char *kn_cuda_type(kn_dtype t);
/* The C name of value i of the phase. */
const char *kn_cuda_value(kn_cuda_writer *w, int i);
/* Value i as an operand: of group l where a thread has several, and what was broadcast inside a step of packed rows. */
const char *kn_cuda_operand(kn_cuda_writer *w, int i);
/* The same of lane `lane`, if it is not of a pair. */
const char *kn_cuda_operand_of_lane(kn_cuda_writer *w, int i, const char *lane);
/* "v3_broadcast1[l]": value i as this sweep's steps have it in lane l after its broadcast. */
const char *kn_cuda_broadcast_value(kn_cuda_writer *w, int i, const char *lane);
/* Finds wide and broadcast values, on entering a phase. */
void kn_cuda_find_wide(kn_cuda_writer *w);
/* Opens and closes the loop over a thread's groups, where it has several. */
void kn_cuda_open_groups(kn_cuda_writer *w);
void kn_cuda_close_groups(kn_cuda_writer *w);
/* Declares `name` and initialises it with `value`; `wide`: an array with an element for each of a thread's groups. */
void kn_cuda_declare(kn_cuda_writer *w, bool constant, const char *type, const char *name,
                     bool wide, const char *value);
const char *kn_cuda_literal(kn_cuda_writer *w, kn_scalar v);
/* The offset of an element of access i of `kind` ('v' for values, 'o' for stores), in lane `lane` along the vector axis
 * unless that is NULL. */
const char *kn_cuda_offset(kn_cuda_writer *w, const kn_access *acc, char kind, int i,
                           const char *lane);
/* Declares the indices along the axes [from, to) of the linear index `linear`. */
void kn_cuda_decompose(kn_cuda_writer *w, int from, int to, const char *linear);
/* The product of the extents of the axes [from, to). */
const char *kn_cuda_extents(kn_cuda_writer *w, int from, int to);

/* ---- elements.c: where a step's elements are ---- */

/* Is value i loaded before the first step of the batch that is being written? */
bool kn_cuda_is_batched(const kn_cuda_writer *w, int i);
/* Has value i registers of its own for each step of this sweep? Does this sweep load or compute them? */
bool kn_cuda_in_registers(const kn_cuda_writer *w, int i);
bool kn_cuda_keeps_now(const kn_cuda_writer *w, int i);
/* The address of load i's elements of this step; of lane `lane` unless that is NULL. */
const char *kn_cuda_address(kn_cuda_writer *w, int i, const char *lane);
/* Is store i, of elements, this sweep's? */
bool kn_cuda_stores_now(const kn_cuda_writer *w, int i);
/* Declares where its elements go, which is found whether `store_guard` holds or not. */
const char *kn_cuda_guarded_address(kn_cuda_writer *w, int i, const char *offset);
/* Declares the indices of member i along the member axes, if a step needs them. Of linear vectors each lane has its
 * own. */
void kn_cuda_write_axes(kn_cuda_writer *w);
void kn_cuda_write_axes_of_lane(kn_cuda_writer *w);
/* The type of a thread's vector of value i. */
const char *kn_cuda_vector_type(kn_cuda_writer *w, int i);
/* Is this step's part of value i kept in shared memory? Its vector there. */
bool kn_cuda_in_shared(const kn_cuda_writer *w, int i);
/* The value whose registers or shared memory a held value uses: its own, or of a computed value the one it replaces. */
int kn_cuda_holder(const kn_cuda_writer *w, int i);
const char *kn_cuda_shared_vector(kn_cuda_writer *w, int i);
/* Where a thread's copies bring this step's vector of value i, of its next group. */
const char *kn_cuda_prefetched_vector(kn_cuda_writer *w, int i);
/* Declares the arrays of kept values in shared memory. */
void kn_cuda_declare_shared(kn_cuda_writer *w);
/* The array of value i's registers, a vector a step. This step's vector, in that array or in a variable. */
const char *kn_cuda_registers(kn_cuda_writer *w, int i);
const char *kn_cuda_vector(kn_cuda_writer *w, int i);
/* The tile of a transposed access, and this step's element in it, of lane `lane` unless that is NULL. */
const char *kn_cuda_tile(kn_cuda_writer *w, const kn_transpose *t);
const char *kn_cuda_in_tile(kn_cuda_writer *w, const kn_transpose *t, const char *lane);
/* The tile in which this step finds load i; NULL: it is in none. */
const kn_transpose *kn_cuda_tile_of(const kn_cuda_writer *w, int i);
/* Are a step's elements of load i a vector there? */
bool kn_cuda_is_tile_vector(const kn_cuda_writer *w, int i);
/* The parameter that says how many members of its part a block keeps in shared memory; where those that copies bring
 * end. */
const char *kn_cuda_held(kn_cuda_writer *w);
const char *kn_cuda_copied_end(const kn_phase *ph);
/* Where a thread's whole vectors end. */
const char *kn_cuda_vectors_end(const kn_phase *ph);

/* ---- value.c ---- */

/* An elementwise operation that gives type t, of operands of type `operand` whose text is in[]. */
const char *kn_cuda_operation(kn_cuda_writer *w, kn_op op, kn_dtype t, kn_dtype operand,
                              const char *const *in, int nin);
/* What value i, which is computed, is. */
const char *kn_cuda_expression(kn_cuda_writer *w, int i);
/* const T name = expr; for value i, and the same of what it loads. */
void kn_cuda_define(kn_cuda_writer *w, int i, const char *expr);
void kn_cuda_define_load(kn_cuda_writer *w, int i, const char *lane);
/* The condition under which store s happens: `also`, and index 0 along the axes of its `once`. */
const char *kn_cuda_once(kn_cuda_writer *w, const kn_store *s, const char *also);
/* Defines a group value; as what is given. */
void kn_cuda_group_value(kn_cuda_writer *w, int i);
void kn_cuda_group_value_is(kn_cuda_writer *w, int i, const char *value);
/* The group stores of one stage. */
void kn_cuda_group_stores(kn_cuda_writer *w, int stage, const char *leader);

/* ---- caches.c ---- */

/* "kn_load<4>(address)": n elements of value i. The function that stores the vectors of a store. */
const char *kn_cuda_loaded(kn_cuda_writer *w, int i, int n, const char *address);
/* "kn_load_around<4, false>(array, ...)": the aligned words in which a step's vector of value i lies, which is assembled of them. */
const char *kn_cuda_around(kn_cuda_writer *w, int i);
const char *kn_cuda_assembled(kn_cuda_writer *w, int i, const char *around);
const char *kn_cuda_store_function(const kn_cuda_writer *w, int store);

/* ---- unaligned.c ---- */

/* The range of this block among the blocks of a cluster, of `members` members. */
void kn_cuda_cluster_range(kn_cuda_writer *w, const char *members);
/* Of an unaligned group: its misalignment, its range, and the range of its whole vectors. */
void kn_cuda_unaligned_range(kn_cuda_writer *w);
/* At which whole vector a thread starts: at `first`, unless that is peeled off; whether it has the peeled vectors. */
void kn_cuda_unaligned_share(kn_cuda_writer *w, const char *first);
/* Opens a thread's loop over the peeled vectors. */
void kn_cuda_unaligned_edges(kn_cuda_writer *w);
/* The index along the vector axis at which this step begins: below 0 for a vector that begins before the group. */
void kn_cuda_unaligned_index(kn_cuda_writer *w);
/* Is lane l of this step a member? Load i's elements of a peeled vector. */
const char *kn_cuda_lane_is_member(kn_cuda_writer *w);
const char *kn_cuda_edge(kn_cuda_writer *w, int i);

/* Is this step's vector one of which some lanes may be no members? */
bool kn_cuda_may_be_partial(const kn_cuda_writer *w);

/* ---- broadcast.c ---- */

/* Before a sweep: broadcasts the group values that its elements use. */
void kn_cuda_broadcast(kn_cuda_writer *w, int sweep);

/* ---- reducer.c: a REDUCE_BY whose first reduction is r ---- */

/* The names of its type and of the functor that combines two of them. */
const char *kn_cuda_reducer_name(kn_cuda_writer *w, int r);
const char *kn_cuda_reducer_combine(kn_cuda_writer *w, int r);
/* In front of a kernel: the types and functors of all its phases. */
void kn_cuda_reducer_types(kn_cuda_writer *w);
/* Its identities, and a step's operands, as a value of its type. */
const char *kn_cuda_reducer_identity(kn_cuda_writer *w, int r);
const char *kn_cuda_reducer_element(kn_cuda_writer *w, int r);

/* ---- combine.c: reduction r of the phase ---- */

/* Declares acc<r>. Adds a step's elements to it: inside the loop over lanes, and what all lanes share before and
 * after. */
void kn_cuda_accumulator(kn_cuda_writer *w, int r);
/* Is the value's first member in each group, by which moments shift, loaded with what is prefetched? Then it is there by a name
 * of its own. */
bool kn_cuda_first_prefetched(kn_cuda_writer *w, int value);
const char *kn_cuda_first_of_group(kn_cuda_writer *w, int value);
void kn_cuda_before_lanes(kn_cuda_writer *w, int r);
void kn_cuda_accumulate(kn_cuda_writer *w, int r);
void kn_cuda_after_lanes(kn_cuda_writer *w, int r);
/* Before and after so many unrolled steps: the same of what these share. */
void kn_cuda_before_steps(kn_cuda_writer *w, int steps);
void kn_cuda_after_steps(kn_cuda_writer *w);
/* Before the loop over the groups of a cluster: the mbarriers of the exchange buffer, and those of copies. */
void kn_cuda_begin_exchange(kn_cuda_writer *w);
/* After a sweep: combines its accumulators over the workers of a group and declares their results, r<r>. */
void kn_cuda_combine(kn_cuda_writer *w, int sweep);
void kn_cuda_declare_results(kn_cuda_writer *w, int sweep);
/* Where kn_cuda_combine() has only stored what each warp has of a group: combines group `deferred` of those, after a
 * barrier. */
void kn_cuda_combine_deferred(kn_cuda_writer *w);

/* ---- exchange.c: group values, and with other ranks ---- */

/* In front of phase p, what the grid has for other ranks. */
void kn_cuda_exchange_all(kn_cuda_writer *w, int p);
/* Before the loop over groups of a phase whose groups exchange. */
void kn_cuda_begin_peers(kn_cuda_writer *w);
/* The expression of a RANK value, which waits for it. */
const char *kn_cuda_received(kn_cuda_writer *w, int i);
/* The group values of one stage: those of stage 0 come before the sweeps, the others after a combine. `leader` is true of the
 * thread that stores and sends a group's results. */
void kn_cuda_group_values(kn_cuda_writer *w, int stage, const char *leader);

/* ---- pairs.c ---- */

/* Do both lanes of a pair have value i, which is computed, at once? What it is then, and the type of values of pairs. */
bool kn_cuda_is_of_pair(const kn_cuda_writer *w, int i);
const char *kn_cuda_pair_expression(kn_cuda_writer *w, int i);
const char *kn_cuda_pair_type(kn_cuda_writer *w, int i);

/* ---- lanes.c ---- */

/* Have lanes different elements of an access? */
bool kn_cuda_varies_by_lane(kn_cuda_writer *w, const kn_access *acc);
/* Do a store's elements go to a vector first: one that is stored whole, or a register tile's? */
bool kn_cuda_stores_vector(const kn_cuda_writer *w, int i);
bool kn_cuda_stores_in_registers(const kn_cuda_writer *w, int i);
/* The elements of a step, and what becomes of them. */
void kn_cuda_lanes(kn_cuda_writer *w);

/* ---- step.c ---- */

/* A step's loads into registers that are kept; these registers to resident shared memory. */
void kn_cuda_kept_loads(kn_cuda_writer *w);
void kn_cuda_store_resident(kn_cuda_writer *w);
/* All of a step. */
void kn_cuda_step(kn_cuda_writer *w);
/* Assembles this step's vectors of what is in around[]. */
void kn_cuda_assemble_step(kn_cuda_writer *w);
/* Unaligned rows: a step as a function, and its calls for the peeled vectors. */
void kn_cuda_unaligned_steps(kn_cuda_writer *w);

/* ---- transpose.c ---- */

/* Transposed accesses go through tiles in shared memory, and the sweeps that have some are loops over tiles. */
void kn_cuda_declare_tiles(kn_cuda_writer *w);
/* Where a thread's groups are in them, once the groups are located. */
void kn_cuda_locate_groups(kn_cuda_writer *w);
/* A sweep's loop over tiles [from, to) of the members up to `limit`; the tile's loads, before its steps. Is there a branch in
 * them? */
void kn_cuda_open_tile(kn_cuda_writer *w, const char *limit);
bool kn_cuda_load_tile(kn_cuda_writer *w);
/* ROWS: loads the tiles of the groups that the block takes at a time. */
void kn_cuda_load_tile_of_rows(kn_cuda_writer *w);
void kn_cuda_close_tile(kn_cuda_writer *w);
/* The array of a transposed access. */
const kn_buf *kn_cuda_array_of(const kn_cuda_writer *w, const kn_transpose *t);

/* ---- dense.c ---- */

/* What a tile's loads and stores are of a dense one; the loads are in a function that is told whether it is whole. */
void kn_cuda_load_dense(kn_cuda_writer *w, const kn_transpose *t);
void kn_cuda_store_dense(kn_cuda_writer *w, const kn_transpose *t);

/* ---- transpose.c, in registers ---- */

/* The loop over the members of a register tile, so many at a time. */
void kn_cuda_open_register_tile(kn_cuda_writer *w, int at_once);
/* Loads what the sweep keeps in shared memory of a register tile to registers, all of it: the compiler would not move
 * these loads above the first store to the same memory. */
void kn_cuda_load_register_tiles(kn_cuda_writer *w);
/* Declares the register tiles that this sweep stores; stores them, after the loop over their members. */
void kn_cuda_declare_register_tiles(kn_cuda_writer *w);
void kn_cuda_store_register_tiles(kn_cuda_writer *w);

/* ---- the sweeps' strides ---- */

/* How a sweep steps through the members: `first`, first + step, ... below `end`. */
typedef struct kn_cuda_stride {
    const char *first, *end, *step;
} kn_cuda_stride;

/* ---- copies.c ---- */

/* Before the loop over groups: delays the start of a persistent cluster, or of blocks that are all on the machine at a time,
 * by its launch skew. */
void kn_cuda_skew(kn_cuda_writer *w);
/* Before that loop: starts the copies of the first group, or of the first two. */
void kn_cuda_copy_first(kn_cuda_writer *w);
/* Before the first sweep over a group: waits for its copies. */
void kn_cuda_await_copies(kn_cuda_writer *w);
/* The last sweep's loop over chunks [from, to), each of which the next group's copies overwrite. */
void kn_cuda_open_chunks(kn_cuda_writer *w, const char *first);
void kn_cuda_close_chunks(kn_cuda_writer *w);
/* The first sweep's loop over chunks [from, to), where a block waits for each. */
void kn_cuda_open_arrivals(kn_cuda_writer *w, const char *first);
void kn_cuda_close_arrivals(kn_cuda_writer *w);
/* With two stages, after the last sweep over a group: starts the copies of the group after the next. */
void kn_cuda_copy_next(kn_cuda_writer *w);
/* Columns: each thread copies its own elements; in the last sweep, once a register tile is loaded, those that the next
 * tile of columns has instead. */
void kn_cuda_copy_columns(kn_cuda_writer *w, const kn_cuda_stride *by);
void kn_cuda_prefetch_tile(kn_cuda_writer *w);

/* ---- planes.c ---- */

/* Declares where in a plane `thread`, the first member of a thread in the first step, is. Declares `in_step`: does it have any? */
void kn_cuda_declare_plane(kn_cuda_writer *w, const char *thread);
/* The plane in which member `member` is. Declares the indices along the other axes of this step. */
const char *kn_cuda_plane_of(kn_cuda_writer *w, const char *member);
void kn_cuda_write_axes_of_plane(kn_cuda_writer *w);
/* `live` and in_step, where steps have whole planes. */
const char *kn_cuda_live_in_step(kn_cuda_writer *w, const char *live);

/* ---- unrolled.c ---- */

/* The unrolled steps of a thread: how many, from which on, where each begins, and the condition under which it exists, NULL
 * if all do. */
typedef struct kn_cuda_unrolled {
    int steps;
    const char *from; /* NULL: 0 */
    const char *index, *guard;
    const char *plane; /* steps of whole planes: in which each begins */
} kn_cuda_unrolled;

/* All steps of a group; if these are full, guarded by a branch all the same or not. */
kn_cuda_unrolled kn_cuda_all_steps(kn_cuda_writer *w, const kn_cuda_stride *by, bool guarded);
/* Does `what` for each: kn_cuda_step(), or moves between registers and memory. */
void kn_cuda_write_unrolled(kn_cuda_writer *w, const kn_cuda_unrolled *u,
                            void (*what)(kn_cuda_writer *));
/* The loads into registers that this sweep does, for all steps; these, and then the steps. */
void kn_cuda_load_steps(kn_cuda_writer *w, const kn_cuda_unrolled *u);
void kn_cuda_write_steps(kn_cuda_writer *w, const kn_cuda_unrolled *u);
/* The same for all steps of a group. The loads of every kept value are in flight before the first sweep waits for any,
 * whichever sweep needs them. */
void kn_cuda_load_all_steps(kn_cuda_writer *w, const kn_cuda_stride *by);
void kn_cuda_write_all_steps(kn_cuda_writer *w, const kn_cuda_stride *by);
/* Notes that later sweeps find in shared memory what this one keeps there. */
void kn_cuda_mark_in_shared(kn_cuda_writer *w);
/* Declares the registers of value i for so many steps, unless it has been done. */
void kn_cuda_declare_kept(kn_cuda_writer *w, int i, int steps);
/* Does the first sweep compute values for later ones without loads, such as random numbers? Computes these before the
 * loads of prefetched elements. */
bool kn_cuda_computes_ahead(const kn_cuda_writer *w);
void kn_cuda_compute_ahead(kn_cuda_writer *w, const kn_cuda_stride *by);
/* Before the loop over groups: loads what is the same for all of them into registers. */
void kn_cuda_load_hoisted(kn_cuda_writer *w, const kn_cuda_stride *by);

/* ---- runs.c ---- */

/* The groups and members of a phase whose vectors go by run, and its edges; in a group, a thread's share of the edges. */
void kn_cuda_run_shape(kn_cuda_writer *w);
void kn_cuda_run_range(kn_cuda_writer *w, const char *live);
/* Mixed: what the runs of all groups of a part have in common, whose first group is `part_first`. */
void kn_cuda_run_of_part(kn_cuda_writer *w);
/* Declares the indices of vector, or edge, i. */
void kn_cuda_write_axes_of_run(kn_cuda_writer *w);

/* ---- tail.c ---- */

/* Declares where the tail of the members up to `end` begins, and where it ends for this worker: nowhere unless `mine`,
 * if that is not "". */
void kn_cuda_tail_range(kn_cuda_writer *w, const char *end, const char *mine);
/* Before the sweeps: loads what rows keep of it. Behind the loop of a sweep: its step. */
void kn_cuda_begin_tail(kn_cuda_writer *w);
void kn_cuda_write_tail(kn_cuda_writer *w);
/* Does `what` for its step. */
typedef void kn_cuda_pass(kn_cuda_writer *w, const kn_cuda_unrolled *all);
void kn_cuda_of_tail(kn_cuda_writer *w, kn_cuda_pass *what);
/* Mixed, before the groups of a part: its accumulators across groups, and loads of what they have in common; where groups
 * are prefetched, the loads of those of index `first`. */
void kn_cuda_begin_tail_of_part(kn_cuda_writer *w);
void kn_cuda_prefetch_tail(kn_cuda_writer *w);

/* ---- scatter_sum.c ---- */

/* A sweep over the members whose destinations may be among the block's groups. */
void kn_cuda_write_scatter_sum(kn_cuda_writer *w);

/* ---- interleaved.c ---- */

/* Before the loop over tiles: the columns of a lane. In it: a thread's whole vectors of the members [begin, end). */
void kn_cuda_interleaved_columns(kn_cuda_writer *w);
kn_cuda_stride kn_cuda_interleaved_share(kn_cuda_writer *w);
/* Behind a sweep's loop: the step of the last vector. */
void kn_cuda_last_vector(kn_cuda_writer *w, const kn_cuda_stride *by);

/* ---- sweep.c ---- */

/* The last stage at which a group has something to store. */
int kn_cuda_last_stage(const kn_phase *ph);
/* rest_in_registers, before the loop over groups: the registers for what shared memory has no room for, and their loads
 * for the first group. */
void kn_cuda_load_rest(kn_cuda_writer *w);
/* All sweeps of the phase over a group, with the group's values and stores before, between and after them. `leader` is
 * true of the thread that stores a group's results. */
void kn_cuda_sweeps(kn_cuda_writer *w, const kn_cuda_stride *by, const char *leader);

/* ---- group.c ---- */

/* ROWS: how many groups a block works on at a time. */
const char *kn_cuda_groups_at_once(kn_cuda_writer *w);
/* Declares which of the groups from `first` on is a thread's, and which part of a split group. A thread without a group
 * gets one that is not its own, for every thread takes part in every combine. */
void kn_cuda_write_group(kn_cuda_writer *w);

/* The loop over the groups that the block takes at a time: of those from `first` on, or of a batch. */
void kn_cuda_open_groups_of_block(kn_cuda_writer *w);
/* Registers for the loads of a batch of groups; the loop over its groups, in which these are found by their usual names. */
void kn_cuda_declare_batch_of_groups(kn_cuda_writer *w);
void kn_cuda_open_batch_of_groups(kn_cuda_writer *w);
/* A group's loads; what it has loaded for all of its members. */
void kn_cuda_load_group(kn_cuda_writer *w, const kn_cuda_stride *by);
void kn_cuda_take_group(kn_cuda_writer *w);

/* ---- mixed.c ---- */

/* The loops over the parts of a block and over the groups of each part. */
void kn_cuda_open_mixed(kn_cuda_writer *w);
void kn_cuda_close_mixed(kn_cuda_writer *w);
/* Accumulators across groups, for the groups of a part. */
void kn_cuda_across_accumulators(kn_cuda_writer *w);
/* Once a group's elements are in registers: starts a thread's copies of the next one's. */
void kn_cuda_prefetch_next(kn_cuda_writer *w);
/* After the sweep over a group: when enough groups are deferred, combines and stores them, each by one warp. */
void kn_cuda_deferred_groups(kn_cuda_writer *w);

/* ---- packed.c ---- */

void kn_cuda_packed(kn_cuda_writer *w);

#endif
