/* Between the files of the C emitter, from the bottom up:
 *
 *   numbers.c   which number of a call is where
 *   op.c        one operation as a C expression
 *   text.c      lines, names, literals
 *   reduce.c    the accumulators of loops
 *   access.c    where accesses begin, and which values differ from lane to lane
 *   kept.c      where values are that later sweeps read again
 *   roll.c      gathers of two contiguous runs, as of roll(), copied
 *   pack.c      blocks of several runs of lanes, copied side by side
 *   lanes.c     what a block of lanes computes, divided into loops (kn_c_lanes)
 *   uses.c      which values, reductions and stores one of those loops has
 *   convert.c   what loops convert before and behind them
 *   stream.c    stores that go past the caches
 *   operand.c   values as expressions of the loop
 *   lane.c      what it does for a lane, or a vector of them
 *   columns.c   the loop as text: of columns,
 *   sweep.c     of rows
 *   loops.c     the function of a block: what its loops use, the loops, and what is between them
 *   transpose.c tiles of what is contiguous down a tile, copied so that its rows are
 *   totals.c    accumulators between the loops of a walk
 *   blocks.c    indices of blocks, and calls of their functions
 *   rows.c      the walks: of rows, long and short,
 *   walk.c      of columns and of tiles, and what walks keep
 *   tiled.c     rows and columns by tiles, whose transposed arrays are copied
 *   c.c         the translation unit */
#ifndef KN_CODEGEN_C_WRITER_H
#define KN_CODEGEN_C_WRITER_H

#include "codegen/emit/c/c.h"
#include "ir/eval.h"

typedef struct kn_c_writer {
    kn_arena *a;
    kn_text *t;
    const kn_kernel *k;
    const kn_phase *ph;
    int p;
    kn_c_mode mode;
    int indent;
    kn_c_text *out;
    /* ---- of a phase ---- */
    bool *needed; /* per value: a store or reduction needs it */
    bool ordered; /* outputs may lie over inputs: a lane reads before it writes, and writes last */
    /* ---- of a walk ---- */
    int axis;         /* that lanes are along; -1: there is one lane */
    bool narrow;      /* cols: members may lie side by side */
    bool one_run;     /* lanes are along no other axis: a block is one run of them */
    bool *lane;       /* per value: it may differ from lane to lane */
    int *group_array; /* per value, cols: the array of a group value; -1 */
    int *kept;        /* per value: the row that keeps it; -1 */
    int *over;        /* per value: the store whose memory keeps it, unless that is streamed; -1 */
    int *copy;        /* per value: the array of a block that its lanes are copied to first; -1 */
    uint32_t *fetched, *fetched_to; /* per value, per store: sweeps that fetch it ahead, as bits */
    bool fetches_near;              /* other sweeps also fetch what they come to soon */
    bool *rolled;     /* per value: a gather of two runs, as of roll(): they are copied */
    int *store_copy;  /* per store: the array that they are copied from in the end; -1 */
    int group_arrays; /* arrays of group values, results, accumulators, tiles and copies of lanes; blocks' arrays come behind */
    int slots;        /* the most arrays so far */
    int rows;
    int *result, *acc; /* per reduction, cols: its arrays */
    bool *folds;       /* per stage: blocks of several runs are reduced by a function */
    bool *several;     /* per stage, cols: the function of a sweep takes several members, */
    bool members;      /* and this one does */
    /* cols: a loop takes so few lanes at a time that there is a vector of accumulators for them */
    bool vectors;
    bool masked; /* a loop takes inactive lanes, of which `in` is false */
    bool
        by_runs; /* the text is of calls whose blocks are one run each, or part of one: nothing is packed */
    bool whole;  /* rows of several runs: the function's blocks are one run each, */
    bool packed; /* or several, packed side by side */
    bool *packs; /* per stage: so are blocks of several runs, */
    /* per stage: unless those have whole vectors and this is set; then a function goes from run to run, and this one does */
    bool *strings;
    bool strung;
    /* per stage that packs: the arrays of what it reads and of what it stores, as bits, from the first of them on */
    uint64_t *packed_in, *packed_out;
    int first_packed; /* the first of those arrays */
    int rows_at_once; /* short rows under way at once: one for each sweep, or one */
    /* short rows: of the first sweep, which leaves their lanes of some rows to be added up together; 0: it does not */
    int *sums, nsums;
    /* rows: runs of lanes are all that there is, and little work: their function is inline where they are whole, and where not */
    bool plain_runs;
} kn_c_writer;

/* Are lanes the members of one group? */
static inline bool kn_c_by_rows(const kn_c_writer *w)
{
    return w->mode == KN_C_ROWS || w->mode == KN_C_SHORT;
}

/* ---- numbers.c ---- */

/* The access of a value, or of a store. */
const kn_access *kn_c_access(const kn_phase *p, int value);
const kn_access *kn_c_store_access(const kn_phase *p, int store);
/* Where the numbers of an access begin: of value or store `i`; and those of operand `k` of a GATHER. */
int kn_c_number_of(const kn_phase *p, bool store, int i);
int kn_c_number_of_gathered(const kn_phase *p, int value, int k);

/* Do the lanes of value v, which is read, lie side by side? */
static inline bool kn_c_is_adjacent(const kn_c_writer *w, int v)
{
    return w->copy[v] >= 0 || kn_c_access(w->ph, v)->kind[w->axis] == KN_STRIDE_ONE;
}

/* Is it the same in the whole nest: a scalar, a constant or a size? */
static inline bool kn_c_is_fixed(const kn_value *v)
{
    return v->kind == KN_V_SCALAR || v->kind == KN_V_CONST || v->kind == KN_V_EXTENT;
}
/* Is it computed once a group, before a sweep? */
static inline bool kn_c_is_group(const kn_value *v)
{
    return !kn_c_is_fixed(v) && (v->level == KN_GROUP || v->kind == KN_V_RESULT);
}

/* ---- op.c ---- */

/* op over operands that are C expressions without side effects, of type `type` (of WHERE, its last two); NULL if a
 * function computes it. */
const char *kn_c_op(kn_arena *a, kn_op op, kn_dtype type, kn_dtype to, const char *const *in);
/* What is known of a float, unless it is NaN: it has no sign; it is not above 0. */
typedef enum kn_c_sign { KN_C_ANY, KN_C_UNSIGNED, KN_C_BELOW, KN_C_SIGNS } kn_c_sign;
/* What does op for less, of an operand of which so much is known; else NULL. */
const char *kn_c_op_of(kn_arena *a, kn_op op, kn_dtype type, kn_c_sign sign, const char *in);
/* The maximum or minimum of x and a constant, to the bit; NULL: it is not as simple as that. */
const char *kn_c_limit(kn_arena *a, kn_op op, const char *x, kn_scalar c, const char *literal);
/* x / c of f32 by a product, to the bit; NULL: c is none of those. */
const char *kn_c_quotient(kn_arena *a, const char *x, double c);
/* Is there an expression? */
bool kn_c_is_inline(kn_op op, kn_dtype type, kn_dtype to);
/* Is it one of functions.h? Is value v computed by one? */
bool kn_c_is_function(kn_op op, kn_dtype type);
bool kn_c_takes_function(const kn_phase *p, int v);
/* Does a phase ask for vectors of 64 bytes? */
bool kn_c_is_wide(const kn_phase *p);
/* The type that accumulates a reduction that lanes add up by themselves; KN_NO_DTYPE: a fold does it. */
kn_dtype kn_c_accumulator(const kn_phase *p, const kn_red *red);
/* Do loops over lanes add it up? */
bool kn_c_is_added(const kn_c_writer *w, const kn_red *red);
/* A pointer to the accumulators of reduction r. */
const char *kn_c_acc(kn_c_writer *w, int r);

/* ---- reduce.c ---- */

/* The local accumulators of reduction r: declares them, gives them `value`, and adds them to the state's. */
void kn_c_declare_acc(kn_c_writer *w, int r);
void kn_c_put_into_acc(kn_c_writer *w, int r, const char *value);
void kn_c_join_acc(kn_c_writer *w, int r);
/* Is it an extreme of f32, which is kept as the ends of a range of bits? */
bool kn_c_is_range(const kn_c_writer *w, int r);
/* Bytes of those of a lane. */
int kn_c_acc_bytes(const kn_c_writer *w, int r);
/* Columns: names for the state's. */
void kn_c_point_at_acc(kn_c_writer *w, int r);

/* ---- text.c ---- */

void kn_c_line(kn_c_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kn_c_open(kn_c_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kn_c_block(kn_c_writer *w); /* opens one by a brace of its own line */
void kn_c_close(kn_c_writer *w);
/* Closes by a brace with what comes behind it: "} while (...);". */
void kn_c_close_as(kn_c_writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *kn_c_printed(kn_c_writer *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* As in the text form, but for what is a keyword somewhere. */
static inline const char *kn_c_type(kn_dtype t) { return t == KN_BOOL ? "b8" : kn_dtypes[t].text; }
/* That of a value that an expression gives. */
static inline const char *kn_c_local(kn_dtype t) { return t == KN_BOOL ? "truth" : kn_c_type(t); }
/* "v3_d" */
const char *kn_c_value(kn_c_writer *w, int value);
const char *kn_c_literal(kn_c_writer *w, kn_scalar v);
/* The state's name: "kiln_softmax_0_rows". */
const char *kn_c_state(kn_c_writer *w);

/* ---- access.c ---- */

/* " + num[3] + s->i[0] * num[5] + s->i[1]": where an access begins. */
const char *kn_c_origin(kn_c_writer *w, const kn_access *acc, int at, bool partial);
/* Does it differ from member to member? */
bool kn_c_varies_by_member(const kn_c_writer *w, const kn_access *acc);
/* "l * step6": lane `l` of an access; of member m from the first, where there are several. */
const char *kn_c_subscript(kn_c_writer *w, const kn_access *acc, int at, const char *l);
/* Axes [first, end) at a linear index. */
void kn_c_put_seek(kn_c_writer *w, int first, int end, const char *linear);
/* Sets w->lane: which values may differ from lane to lane. */
void kn_c_find_lanes(kn_c_writer *w);

/* ---- kept.c ---- */

/* Sets w->kept, w->over and w->rows of a walk. */
void kn_c_place_kept(kn_c_writer *w);
/* Where value v is kept: "(f32 *)(s->rows + 2 * c->row) + s->row"; of what is kept over a store that may stream, a choice by
 * KN_STREAMS(). */
const char *kn_c_kept_row(kn_c_writer *w, int v);

/* ---- transpose.c ---- */

/* The unsigned type whose vectors turn elements of so many bytes; NULL: none does. */
const char *kn_c_transposed_by(int bytes);

/* ---- lanes.c ---- */

/* How a value comes about in a block. */
typedef enum kn_c_way {
    KN_C_ELSEWHERE, /* it does not, or an earlier block of statements has made it */
    KN_C_SAME,      /* one for all lanes */
    KN_C_READ,      /* in each loop that uses it, from memory */
    KN_C_INLINE,    /* in the loop number `loop` */
    KN_C_CALLED,    /* by a function or a loop of its own, behind loop number `loop` */
} kn_c_way;

typedef struct kn_c_lanes {
    bool group; /* group values and stores, else a sweep's */
    int stage;
    kn_c_way *way;   /* per value */
    int *loop;       /* per value */
    bool *array;     /* per value: its lanes are in an array too */
    bool *copied;    /* per value: read, and copied for a fold where a block has several runs */
    int *slot;       /* per value: which; -1: in the row that keeps it, or where it is stored */
    int *through;    /* per value: the store that it is written by, instead of an array; -1 */
    int *store_loop; /* per store: the loop that writes it; -1: none here */
    bool several;    /* it is one loop, which can take several members at once */
    int loops;
} kn_c_lanes;

/* Divides the work of stage `stage` into loops, and gives arrays to what loops leave to others. */
void kn_c_divide(kn_c_writer *w, bool group, int stage, kn_c_lanes *lanes);
/* Is it written by some only: where an index is 0, or of the first part? */
static inline bool kn_c_is_guarded(const kn_store *s)
{
    return s->once || s->kind == KN_STORE_GROUP;
}
/* Is value v reduced, by a fold, in this sweep? */
bool kn_c_is_folded(const kn_c_writer *w, const kn_c_lanes *l, int v);
/* The stage whose statements make a group value. */
int kn_c_group_stage(const kn_value *v);
/* Is it kept by an earlier sweep than t? */
static inline bool kn_c_is_kept(const kn_c_writer *w, int v, int t)
{
    return w->kept[v] >= 0 && kn_is_found(w->ph, v, t);
}

/* ---- loops.c ---- */

/* The function of a block's lanes, as it is written. */
typedef struct kn_c_writing {
    kn_c_writer *w;
    kn_c_lanes l;
    bool *known;  /* per value: declared at the top */
    bool *hidden; /* per value: a constant that is a limit, as a variable of the function */
    bool *loaded; /* per value: read in this loop already */
    bool by_j;    /* lane `l` is from + j */
    bool dry;     /* values are computed without being written anywhere */
    bool quick;   /* quotients of f64 are products, and `odd` tells whether they are right */
    bool widened; /* bytes that the loop reads were made integers of 4 before, 16-bit floats f32 */
    bool seconds; /* elements of 4 bytes that are apart are so by two */
    bool streams; /* vectors are stored past the caches, behind the loop over their lanes */
} kn_c_writing;

static inline const kn_value *kn_c_value_at(const kn_c_writing *g, int v)
{
    return &g->w->ph->nest.values.data[v];
}
static inline const kn_store *kn_c_store_at(const kn_c_writing *g, int s)
{
    return &g->w->ph->nest.stores.data[s];
}

/* The function that works on lanes [done, done + n) of a block, and reduces them where they are all of it; and the one
 * that reduces a block of several runs, if there is one. Sets w->folds and w->several of a sweep. */
void kn_c_put_lanes(kn_c_writer *w, bool group, int stage);

/* kept.c: does the loop store where a value is kept that it reads? Lanes that it did twice would read results. */
bool kn_c_stores_over_kept(const kn_c_writing *g, int loop);

/* ---- uses.c ---- */

/* Does loop `loop` use value v, which is read? Does it write by store s? */
bool kn_c_reads(const kn_c_writing *g, int v, int loop);
static inline bool kn_c_stores_in(const kn_c_writing *g, int s, int loop)
{
    return g->l.store_loop[s] == loop && !kn_c_is_guarded(kn_c_store_at(g, s));
}
/* Does it do nothing; copy value v, made elsewhere, to an array? */
bool kn_c_is_empty(const kn_c_writing *g, int loop);
/* Has it so many operations that writing it twice costs more to compile than its remainder takes? */
bool kn_c_is_long(const kn_c_writing *g, int loop);
bool kn_c_copies(const kn_c_writing *g, int v, int loop);
/* Does it accumulate reduction r; any; r as a variance, of deviations? */
bool kn_c_adds_here(const kn_c_writing *g, int r, int loop);
bool kn_c_adds(const kn_c_writing *g, int loop);
bool kn_c_shifts(const kn_c_writing *g, int r, int loop);
/* Where store s writes, of lane `l`. */
const char *kn_c_store_subscript(kn_c_writing *g, int s, const char *l);

/* ---- fetch.c ---- */

/* Sets w->fetched, w->fetched_to and w->fetches_near. */
void kn_c_find_shares(kn_c_writer *w);
/* Where the shares of a sweep begin, at the top of its function; and what an iteration over rows' lanes fetches. */
void kn_c_put_shares(kn_c_writing *g);
void kn_c_put_fetches(kn_c_writing *g, int loop);
/* The same where nothing is reduced: of lanes in runs that lie apart, of which processors see each too late. */
void kn_c_put_fetches_of_runs(kn_c_writing *g, int loop);

/* ---- stream.c ---- */

/* Can what store s writes go past the caches? Can any? */
bool kn_c_can_stream(const kn_c_writer *w, int s);
bool kn_c_streams_any(const kn_c_writer *w);
/* Between these, which write both branches of a condition up to the second one's beginning, loop `loop` stores by vectors past the
 * caches, of so many lanes at least. False: it cannot. */
bool kn_c_begin_streams(kn_c_writing *g, int loop, const char *lanes);
void kn_c_end_streams(kn_c_writing *g);
/* Does it store s so meanwhile; and the first one that it does, or -1? */
bool kn_c_streams(const kn_c_writing *g, int s, int loop);
int kn_c_first_streamed(const kn_c_writing *g, int loop);
/* Which lines of memory a row of n lanes stores whole, by vectors of `count`. */
void kn_c_put_lines(kn_c_writing *g, int loop, const char *count);
/* Room for a vector of `count` lanes, and what stores it from lane `from` on. */
void kn_c_put_streamed_room(kn_c_writing *g, int loop, const char *count);
void kn_c_put_streamed(kn_c_writing *g, int loop);
/* The same of a piece of `count` lanes, in any number. */
void kn_c_put_streamed_piece(kn_c_writing *g, int loop, const char *count);

/* ---- operand.c ---- */

/* Is the array of value v in the row that keeps it? */
bool kn_c_in_row(const kn_c_writing *g, int v);
/* "p3[l]": what value v is read from. */
const char *kn_c_element(kn_c_writing *g, int v);
/* "[l]": a lane of its array. */
const char *kn_c_at_lane(const kn_c_writing *g, int v);
/* The value in loop `loop`, where `l` is the lane; and what it is computed by. */
const char *kn_c_operand(kn_c_writing *g, int v, int loop);
const char *kn_c_expression(kn_c_writing *g, int v, int loop);
/* Is v a quotient of f32, or f64, by one number for all lanes? That is "by7", from the top on. */
bool kn_c_divides(const kn_c_writing *g, int v, kn_dtype type);
/* Does v compare the index along the lanes with one number for all of them? Then that is a lane, "place7" from the top on, and
 * the comparison is one of i32, for indices are i64, of which a vector has half as many. Which operand is the index, or -1. */
int kn_c_compared_lane(const kn_c_writing *g, int v);
/* Has the loop quotients of f64 that can be products, and be done again if they are wrong? */
bool kn_c_can_be_quick(const kn_c_writing *g, int loop);

/* ---- lane.c ---- */

/* Can value v be read by a masked load, for inactive lanes? */
bool kn_c_can_guard(const kn_c_writing *g, int v);
/* What is done for lane `l`; and the value of reduction r there, ahead of that. */
void kn_c_put_lane(kn_c_writing *g, int loop);
const char *kn_c_put_ahead(kn_c_writing *g, int r, int loop);
/* What store s of the loop writes of a lane. */
const char *kn_c_stored(kn_c_writing *g, int s, int loop);
/* What the accumulators of a loop begin with, and what becomes of them. */
void kn_c_put_accs(kn_c_writing *g, int loop);
void kn_c_join_accs(kn_c_writing *g, int loop);
/* `count` lanes from `from` on, lane j of which adds to accumulator j. */
void kn_c_put_lanes_from(kn_c_writing *g, int loop, const char *count);
/* The same, a vector or two: what is converted by vectors of its own is so before and behind. */
void kn_c_put_vector_of(kn_c_writing *g, int loop, const char *count);
/* So many lanes at a time, all n, of which there are as many at least, with what is converted by vectors of its own or without.
 * The last ones may be some that were taken before: it does the same to them. So may the second ones of what is streamed, which
 * are aligned. */
void kn_c_put_overlapping(kn_c_writing *g, int loop, const char *lanes, bool converts);
/* Does reduction r of the loop take its terms from memory, behind it? */
bool kn_c_sums_terms(const kn_c_writing *g, int r, int loop);

/* ---- sweep.c ---- */

void kn_c_put_loop(kn_c_writing *g, int loop);
/* Is all that a sweep does one loop by vectors? */
bool kn_c_is_of_vectors(kn_c_writing *g);

/* ---- columns.c ---- */

void kn_c_put_loop_of_columns(kn_c_writing *g, int loop);
/* Can vectors begin at lanes that were taken before? Stores of bytes are no vectors of so few. */
bool kn_c_can_overlap(kn_c_writing *g, int loop);

/* ---- convert.c ---- */

/* Is v of bytes, which are widened before; and the type that they get? */
bool kn_c_widens_bytes(const kn_c_writing *g, int v);
const char *kn_c_wide_type(const kn_c_writing *g, int v);
/* Are the lanes of value v, which is read, apart by a stride of the call? */
bool kn_c_is_apart(const kn_c_writing *g, int v);
/* Is value v of lanes that are apart by two, which are put side by side before? The condition on which all such values of a loop
 * are; NULL: there are none. */
bool kn_c_collects(const kn_c_writing *g, int v);
const char *kn_c_if_seconds(kn_c_writing *g, int loop);
/* Is value v, which the loop reads, made an f32 before? */
bool kn_c_widens_halves(const kn_c_writing *g, int v);
/* Does the loop store elements of a byte, and not by what is converted behind it? */
bool kn_c_stores_bytes(kn_c_writing *g, int loop);
/* Does store s write what is converted behind the loop; and the store that does so to value v, or -1? */
bool kn_c_narrows(const kn_c_writing *g, int s, int loop);
int kn_c_narrowed_by(const kn_c_writing *g, int v, int loop);
/* Before the loop, of what lies at "p3" from lane `first` on, or at all (NULL); and behind it, to "q0". */
void kn_c_put_widened(kn_c_writing *g, int loop, const char *what, const char *first);
void kn_c_put_narrowed(kn_c_writing *g, int loop, const char *to, const char *first);
/* Are the f32 of which reduction r, a variance, adds up deviations read from memory as f64 behind the loop, a vector at a time?
 * Reads them as "summed2". */
bool kn_c_widens_terms(const kn_c_writing *g, int r);
void kn_c_put_terms(kn_c_writing *g, int r);
/* Bytes of the narrowest elements that the loop converts, or 4. */
int kn_c_narrowest(kn_c_writing *g, int loop);
/* Columns, of which a loop accumulates so many bytes a lane: is it better by vectors of f32? One over all lanes takes as many
 * as the narrowest elements fill a register with, which is good unless their accumulators fill more than half of AVX2's
 * 16 registers of 32 bytes; and compilers convert f16 by some twenty integer operations. */
bool kn_c_gains_by_vectors(kn_c_writing *g, int loop, int accumulated);

/* ---- transpose.c ---- */

/* Is v read from what is contiguous down a tile, not along its rows? */
bool kn_c_is_transposed(const kn_c_writer *w, int v);
/* Is what store s writes contiguous down a tile? */
bool kn_c_is_stored_transposed(const kn_c_writer *w, int s);
/* Does a stage read or store any of these; and store any? */
bool kn_c_transposes(const kn_c_writer *w, int stage);
bool kn_c_turns_back(const kn_c_writer *w, int stage);
/* The function that copies the tiles of such values, those that a stage reads; and the one that copies what it stores. */
void kn_c_put_transpose(kn_c_writer *w, int stage);

/* ---- roll.c ---- */

/* Is v read by a gather at two runs of indices? */
bool kn_c_is_rolled(const kn_c_writer *w, int v);
/* Copies the lanes of v. */
void kn_c_put_rolled(kn_c_writer *w, int v);

/* ---- pack.c ---- */

/* Can what the lanes of a sweep read and write be packed? */
bool kn_c_can_pack(kn_c_writer *w, int stage);
/* Between these, a sweep is written for packed blocks. */
void kn_c_begin_packed(kn_c_writer *w, int stage);
void kn_c_end_packed(kn_c_writer *w);
/* Where lanes are that have an array for them when packed; `dense`: where they are if they need none, "" if that is not
 * asked. */
const char *kn_c_packed(kn_c_writer *w, const char *type, int array, const char *dense);
/* At the beginning of a vector of a sweep that can go from run to run: to the next one, if that is where it begins; and what
 * that takes, at the top. */
bool kn_c_can_string(kn_c_writing *g);
bool kn_c_strings(const kn_c_writing *g);
void kn_c_put_next_run(kn_c_writing *g);
void kn_c_put_strides_of_runs(kn_c_writing *g);
/* made of runs.h by the build */
extern const char kn_c_runs[];

/* The functions that copy runs; while packed. */
void kn_c_put_packing(kn_c_writer *w, int stage);
/* Lanes i to stop of a sweep. */
void kn_c_put_packed_block(kn_c_writer *w, int stage);

/* ---- totals.c ---- */

/* Has it totals, that blocks of members are added to? */
bool kn_c_has_total(const kn_red *red);
/* A stage's: begins those of n groups; columns: adds those of members [i, stop), of members up to `end`, to totals, of so many
 * lanes; makes those of n groups of what members side by side have accumulated; and the results of n groups. */
void kn_c_put_starts(kn_c_writer *w, int stage, const char *n);
void kn_c_put_merges(kn_c_writer *w, int stage, const char *lanes, const char *end);
void kn_c_put_halves(kn_c_writer *w, int stage);
void kn_c_put_finish(kn_c_writer *w, int stage, const char *n);

/* ---- blocks.c ---- */

/* To the next index of axes [first, end). */
void kn_c_put_next(kn_c_writer *w, int first, int end);
/* The function that calls another one for the lanes of a block, run by run, from the index where the last block ended: the only
 * one, by its name, where whole runs have a loop of their own, in which pointers step from one to the next. */
void kn_c_put_runs(kn_c_writer *w, int first, int end);
/* Lanes [start, start + n) by the function `what` of a stage, of a call. */
void kn_c_put_block(kn_c_writer *w, const char *call, const char *what, int stage,
                    const char *start, const char *n);
/* Which members the part of a unit has, "from" and "to"; and what a group computes before a stage. */
void kn_c_put_part(kn_c_writer *w);
void kn_c_put_group_stage(kn_c_writer *w, int stage);

/* ---- rows.c ---- */

/* Sets w->rows_at_once, w->sums and w->plain_runs, of values that have their places. */
void kn_c_choose_rows(kn_c_writer *w);
void kn_c_put_rows(kn_c_writer *w);
void kn_c_put_short_rows(kn_c_writer *w);

/* ---- walk.c ---- */

/* Prepares and writes the walk w->mode of a phase. */
void kn_c_put_walk(kn_c_writer *w);
/* Columns: where the groups of unit `unit` begin, "start", and how many they are, "n"; of a call. */
void kn_c_put_columns_of_unit(kn_c_writer *w, const char *call);

/* ---- tiled.c ---- */

/* made of copy.h by the build */
extern const char kn_c_copy[];

/* The walk of a phase by tiles of rows or columns, and that of those that it calls. */
void kn_c_put_tiled(kn_c_writer *w);

#endif
