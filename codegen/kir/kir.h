/* The kernel IR: loop nests bound by schedules, phase by phase, in terms that the optimiser, the model, `explain`, the CUDA
 * emitter and the CPU device share.
 *
 *   kernel   phases in order; a grid barrier in front of a phase that reads what an earlier one wrote, or the
 *            block that is the last to come there does the phase alone, and nobody waits
 *   phase    a nest (codegen/kir/nest.h), its schedule (codegen/kir/schedule.h), and one call's numbers
 *
 * A split phase (`splits` > 1) divides the members of each group into `splits` parts, each worked on by itself: contiguous
 * ranges of `chunk` members, or, on GPUs by rows and where the order does not matter, a cyclic partition: every `splits`-th
 * step of a block. Then the phase has one sweep, and its reductions are stored as partial results, which a later
 * phase combines. In such a phase a store of kind KN_STORE_PARTIAL has the part as an additional leading index.
 *
 * A phase of clusters divides them likewise over the blocks of a thread-block cluster, but its blocks work side by
 * side and combine what they found through each other's shared memory: it has as many sweeps as it needs.
 *
 * A mixed phase divides its groups instead, into `splits` parts of `chunk` groups at most, each walked by one block: of
 * what a block takes at a time every `splits`-th. Reductions `across` accumulate over the groups of a part, for each member
 * by itself: they are stored as partial results over the members, with the part as an additional leading index. So one sweep
 * over an array sums its rows and its columns. A later phase may go through the same parts: of each group a thread then has
 * all that it loads in registers, and what all groups share once a part.
 *
 * A local phase is worked on by the workers of the next phase that is not local, its host: each for its own
 * group before the host's first sweep, or, without groups, each block once before its first group. What it
 * finds reaches the host as values, on chip: so partial results are combined without a barrier of their own.
 *
 * Structure and numbers: fields marked (n), and kn_numbers, are the numbers of one call. Everything else is the kernel's
 * structure, which is what a compiled kernel depends on: two calls whose structure prints the same
 * (kn_kernel_print with numbers false) share the compiled code. */
#ifndef KN_CODEGEN_KIR_H
#define KN_CODEGEN_KIR_H

#include "codegen/kir/nest.h"
#include "codegen/kir/schedule.h"

typedef struct kn_phase {
    kn_nest nest;
    kn_schedule how;
    kn_numbers num;      /* (n) */
    bool barrier;        /* a grid barrier comes before */
    bool alone;          /* the only phase of its kernel that is not local */
    bool universal;      /* relies on no size, stride or alignment */
    bool local;          /* part of the next phase that is not */
    KN_VEC(int) exports; /* local: group values that the host sees */
} kn_phase;

/* The axis that vectors run along: the last member axis for FLAT and ROWS and of groups abreast, else the last group axis
 * for COLS; -1 when there is none. */
int kn_phase_vector_axis(const kn_phase *p);

/* True where the members of a group are one run of neighbours, or evenly apart. */
static inline bool kn_phase_one_run(const kn_phase *p)
{
    return p->nest.naxes - p->nest.ngroup == 1;
}

/* Is what blocks keep fetched for group after group, by blocks that stay? */
static inline bool kn_copies_groups(const kn_phase *p)
{
    return p->how.async && p->how.walk == KN_WALK_ROWS;
}

/* In pieces, whose places it then has the group's next in, before the others'? */
static inline bool kn_copies_in_chunks(const kn_phase *p)
{
    return kn_copies_groups(p) && !p->how.hoisted;
}

/* Members of a block's part of a group that it has in shared memory, of those that it has any there. */
static inline int64_t kn_phase_held(const kn_phase *p)
{
    return p->how.rest_in_registers ? p->num.held : p->num.chunk;
}

/* The places in shared memory that a block has for each array that is fetched. */
static inline int kn_copy_stages(const kn_phase *p) { return p->how.hoisted ? 2 : 1; }

/* Does a block that is alone on its multiprocessor take each piece of a group as it comes? */
bool kn_waits_by_chunk(const kn_phase *p);

/* The mbarriers that count what comes: of each place, or of each piece, of which there are at most so many. */
enum { KN_MOST_CHUNKS = 16 };
static inline int kn_copy_barriers(const kn_phase *p)
{
    return kn_waits_by_chunk(p) ? KN_MOST_CHUNKS : kn_copy_stages(p);
}

/* Do clusters stay, and begin one after the other? Those that keep rows in registers or have copies bring what they keep
 * do, but for columns of which squares of 16-bit elements are stored, by what was faster: sched/cols.c. */
bool kn_starts_skewed(const kn_phase *p);
/* COLS, where squares are stored: do clusters ask for the next tile while they store one? */
bool kn_prefetches_tile(const kn_phase *p);

/* COLS: members side by side that a thread takes at a time, and that it turns in registers; 1 where there is nothing to
 * turn. Ranges of members are a multiple of it. */
int kn_transpose_side(const kn_phase *p);

/* COLS: the groups that a block takes at a time. */
static inline int kn_cols_width(const kn_phase *p)
{
    return p->how.packed ? (int)p->num.pack : p->how.lanes * p->how.vec;
}

/* Member axes that the steps of a thread go along: the first of them. */
static inline int kn_stepped_axes(const kn_phase *p)
{
    return p->nest.naxes - p->nest.ngroup - p->how.packed;
}

/* Members that those who work on a group take in a step. */
static inline int kn_phase_step(const kn_phase *p)
{
    int columns = p->how.packed ? (int)p->nest.axes[p->nest.naxes - 1].extent : 1;
    return p->how.walk == KN_WALK_COLS ? p->how.tpg * columns : p->how.tpg * p->how.vec;
}

/* Ragged: the members of 128 bytes, a cache line, of the widest elements. The members of a group are counted from the
 * beginning of the line in which it begins, so that whoever goes through it reads and writes whole lines. */
static inline int kn_phase_line(const kn_phase *p) { return 8 * p->how.vec; }

/* Members more than a group has that are counted. */
static inline int kn_phase_slack(const kn_phase *p)
{
    return p->how.unaligned ? kn_phase_line(p) - 1 : 0;
}

typedef struct kn_scalar_param {
    int input; /* graph input */
    kn_dtype dtype;
    const char *name;
} kn_scalar_param;

typedef struct kn_extent_param {
    kn_dim dim;
    const char *name;
    int64_t value; /* (n) */
} kn_extent_param;

/* What an L2 cache does with what a kernel reads, as createpolicy encodes it: nothing special; lets go of it before
 * anything else, after everything else. */
#define KN_POLICY_NONE INT64_C(0x10f0000000000000)
#define KN_POLICY_FIRST INT64_C(0x12f0000000000000)
#define KN_POLICY_LAST INT64_C(0x14f0000000000000)

typedef struct kn_kernel {
    kn_arena *arena;
    const char *name; /* a C identifier, unique within the program */
    int threads;      /* CUDA: block size; (n) where bound is not 0 */
    int bound; /* CUDA: not 0: the code serves blocks of every size from 64 threads, a power of two, up to
                         this; 0: of `threads` only */
    int together;   /* CUDA: blocks that a multiprocessor must hold at a time; 0: as it comes */
    int64_t shared; /* (n) CUDA: bytes of dynamic shared memory a block */
    int64_t held;   /* (n) CUDA: steps of a thread of which resident values are there */
    bool wide;      /* indices need 64 bits */
    bool disjoint;  /* no output lies on an input */
    bool fast;      /* functions by the hardware's approximations: fast_math */
    int64_t policy; /* (n) CUDA: of what is read by policy, see cuda_caches.c; 0: nothing is */
    KN_VEC(kn_buf) bufs;
    KN_VEC(kn_scalar_param) scalars;
    KN_VEC(kn_extent_param) extents;
    KN_VEC(kn_phase) phases;
    const char *source; /* CUDA: generated text, set when the device wants it */
    const char *key;    /* the canonical text of structure, target and options */
} kn_kernel;

/* The first local phase of phase p, or p itself if it has none. */
int kn_first_local(const kn_kernel *k, int p);
/* The phase and its value behind a KN_V_LOCAL value of phase p. */
const kn_value *kn_local_export(const kn_kernel *k, int p, int index, int *phase);

/* A copy whose values, reductions and stores are its own. */
kn_phase kn_phase_copy(kn_arena *a, const kn_phase *p);

static inline const kn_value *kn_value_at(const kn_phase *p, int i)
{
    return &p->nest.values.data[i];
}

/* Loads and stores of a phase by number: its values', then its stores'. kn_access_at: NULL for values that are no loads. */
static inline int kn_accesses(const kn_phase *p) { return p->nest.values.len + p->nest.stores.len; }
static inline kn_store *kn_store_at(const kn_phase *p, int i)
{
    return &p->nest.stores.data[i - p->nest.values.len];
}
static inline kn_access *kn_access_at(const kn_phase *p, int i)
{
    if (i >= p->nest.values.len)
        return &kn_store_at(p, i)->access;
    return p->nest.values.data[i].kind == KN_V_LOAD ? &p->nest.values.data[i].access : NULL;
}

/* The most steps of so many bytes, up to eight, that are no more than wanted; a power of two. */
int kn_steps_for(int bytes, int wanted);
/* Steps of a loop to unroll so that a thread has about 64 bytes of loads on their way; `bytes`: of one step. */
int kn_steps_at_once(int bytes);

/* Registers that a thread has for what it keeps: three quarters of those in the largest block. */
enum { KN_KEPT_WORDS = 48 };
/* Registers that a thread's elements of one value take, of one step and of all. */
int kn_vector_words(const kn_phase *p, int value);
int kn_kept_words(const kn_phase *p, int value);

/* Bytes of shared memory that a block's part of a group takes, of loads kept there. */
int64_t kn_phase_kept_bytes(const kn_phase *p);

/* Is the phase's only reduction a whole sum by words? codegen/sched/sums.c */
bool kn_sums_atomically(const kn_phase *p);

/* Are all blocks done with what comes before the phase when one begins it? Not where each tile has its own last, nor where
 * the last knows of the others only what they added. */
bool kn_begins_after_all(const kn_phase *p);

/* Has the phase values that stay on chip from one phase to another? */
bool kn_phase_resident(const kn_phase *p);
/* The part of a value that phase p finds on chip, where an earlier phase left it: from 0 to 1. */
double kn_part_on_chip(const kn_kernel *k, const kn_phase *p, const kn_value *v);

/* Elements from one member of a tile to the next, of elements of so many bytes: 4 bytes of padding put neighbours along
 * the members into different banks of shared memory. */
int kn_tile_pitch(const kn_phase *p, int bytes);
/* Bytes of shared memory that such a tile takes, and all tiles of a phase. */
int kn_tile_bytes_of(const kn_phase *p, int bytes);
int kn_tile_bytes(const kn_phase *p);

/* Marks in need[] (one per value) what sweep t computes or takes from where it is kept: its element values, and with
 * them the group values they use. */
void kn_phase_needs(const kn_phase *p, int sweep, bool *need);
/* The same for one value. */
void kn_value_needs(const kn_phase *p, int value, bool *need);
/* What a read goes through: one element of memory for each step along the axes that it differs along, and of a GATHER, whose
 * indices differ too and may meet again, at most all of those that they can be of. */
typedef struct kn_touched {
    uint32_t axes;
    int64_t steps, most;
} kn_touched;
kn_touched kn_read_touches(kn_arena *a, const kn_phase *p, int value);
/* What the accumulator of a reduction holds. */
typedef enum kn_state { KN_STATE_PLAIN, KN_STATE_MOMENTS, KN_STATE_PEAK, KN_STATE_OWN } kn_state;
kn_state kn_red_state(const kn_phase *p, int red);
/* The reduction that accumulates for this one: itself, the VAR or MAX that it is a part of, or the first of what is
 * carried. */
int kn_red_owner(const kn_phase *p, int red);
/* The stage that follows from its operands. */
int kn_red_stage(const kn_phase *p, int red);
/* Must its members be combined in their order? Then every worker has a range of neighbours, and results are combined in
 * the order of workers. */
bool kn_phase_in_order(const kn_phase *p);
/* Steps that a thread takes through its part of a split group, or through a band, of blocks of so many threads. */
int64_t kn_steps_of_part(const kn_phase *p, int threads);
/* Is this a load of elements that are the same for all groups? */
bool kn_same_for_groups(const kn_phase *p, const kn_value *v);
/* And do blocks that stay keep it for all of theirs? */
bool kn_is_hoisted(const kn_phase *p, const kn_value *v);
/* Do the workers of a split group take turns, instead of a range each? */
bool kn_is_cyclic(const kn_phase *p);
/* Stages of everything, from the reductions as they are now. */
void kn_restage(kn_phase *p);
/* Does it store anything for every member? */
bool kn_phase_stores_elements(const kn_phase *p);
/* Does this store the result of a reduction across the groups? */
bool kn_stores_across(const kn_phase *p, const kn_store *s);
/* Does sweep t store anything for every member? */
bool kn_sweep_stores_elements(const kn_phase *p, int sweep);
/* True when sweep t has a reduction over the members, so that a combine follows it. */
bool kn_sweep_reduces(const kn_phase *p, int sweep);

/* ---- axes ---- */

/* The access that stands for the phase's data, the one that varies along the most axes: among the stores of a
 * phase without reductions, else among the loads. NULL if there is none. */
const kn_access *kn_phase_primary(const kn_phase *phase);
/* Of a phase that has no local ones. */
void kn_swap_axes(kn_phase *phase, int a, int b);
void kn_drop_axis(kn_phase *phase, int a);

/* ---- what waits for what ---- */

/* What was written since the last barrier: buffers b whose at[b] is `since`. */
typedef struct kn_written {
    int since, *at;
} kn_written;
kn_written kn_nothing_written(kn_arena *a, int nbufs);
/* Is there a barrier in front of phase i, since it, or a local phase of it, reads what was written since the last one? Then
 * nothing is any more; what it writes is. */
bool kn_phase_waits(const kn_phase *phases, int i, kn_written *written);
/* Sets nsweeps, and how many sweeps need each value. */
void kn_count_sweeps(kn_arena *arena, kn_phase *phase);
/* Without the values and reductions of a phase that no store and no export needs. */
void kn_drop_dead(kn_arena *arena, kn_phase *phase);

/* ---- loads that later sweeps read again, which a schedule may keep on chip ---- */

/* Is this value a load that several sweeps need and that differs from one neighbour to the next? */
bool kn_is_reread(const kn_phase *phase, int value);
/* Bytes an element of all of them; the same, and of a group, where they can be kept in shared memory side by side, else
 * 0. */
int kn_reread_each(const kn_phase *phase);
int kn_reread_element(const kn_phase *phase);
int64_t kn_reread_bytes(const kn_phase *phase);
/* Has them kept. */
void kn_keep_reread(kn_phase *phase, kn_keep where);

/* prefix + name as a C identifier. */
const char *kn_identifier(kn_arena *a, const char *prefix, const char *name);

/* True for a phase of which a whole block, of more than a warp, works on each group. */
static inline bool kn_by_block(const kn_phase *p)
{
    return p->how.walk == KN_WALK_ROWS && p->how.tpg > 32;
}
/* Do the warps of a block meet to combine what they found of a group? */
static inline bool kn_meets_in_block(const kn_phase *p)
{
    return kn_by_block(p) || (p->how.walk == KN_WALK_COLS && (p->how.packed || p->how.tpg > 1));
}
/* Do several groups of rows share a block? In bands also those that have more than a warp each. */
static inline bool kn_shares_block(const kn_kernel *k, const kn_phase *p)
{
    return p->how.walk == KN_WALK_ROWS && (k->bound ? !kn_by_block(p) : k->threads > p->how.tpg);
}

/* The blocks of a cluster that its launches need; 1: none. */
int kn_kernel_cluster(const kn_kernel *k);
/* Do its blocks share groups in clusters, also of one block? */
bool kn_kernel_in_clusters(const kn_kernel *k);
/* True when a phase other than the first starts with a grid barrier: a cooperative launch. */
bool kn_kernel_cooperative(const kn_kernel *k);
/* True when elements stay on chip from one phase to another. */
bool kn_kernel_resident(const kn_kernel *k);
/* True when blocks wait for each other, or find out which is the last: the kernel has a barrier word. */
bool kn_kernel_meets(const kn_kernel *k);
/* Prints the IR. Without numbers it is the canonical text of the structure. */
void kn_kernel_print(kn_text *t, const kn_kernel *k, bool numbers);
kn_status kn_kernel_verify(const kn_kernel *k);
/* The same of one phase that no schedule has bound yet, after step `where`. */
kn_status kn_phase_verify(const kn_phase *phase, const char *where, int number, int nbufs);

/* ---- the parameter list of the generated function, in order ----
 * pointers of bufs; scalars; extents (long long); then for each phase its axes' extents, unless wide with what
 * divides by those that are not the first of their kind, the offsets (if shifted) and
 * the strides of its accesses (values, then stores) that are KN_STRIDE_PARAM, those of the axes that a GATHER reads by
 * index and, if it is checked, their extents, split strides, and for split and banded phases splits and, but for split
 * rows, chunk, for those of clusters chunk and, if they have them, apart, piece and held; last, for kernels with resident
 * values held, for those that read elements the caches' policy, and for those whose blocks meet the words that they count
 * in (unsigned *). */
typedef enum kn_param_kind {
    KN_PARAM_BUF,     /* void * */
    KN_PARAM_SCALAR,  /* its dtype */
    KN_PARAM_EXTENT,  /* long long */
    KN_PARAM_INDEX,   /* int, or long long when wide */
    KN_PARAM_POLICY,  /* unsigned long long */
    KN_PARAM_BARRIER, /* unsigned *: see kn_call */
} kn_param_kind;

/* Words that blocks count each other in, 0 between launches but for the top bit of the first, which is the grid barrier's.
 * The second is a last block's; those of tiles take one each, from there on; whole sums of integers
 * have the third to the eighth. */
enum { KN_BARRIER_WORDS = 512 };

typedef struct kn_param {
    kn_param_kind kind;
    int index;        /* BUF, SCALAR, EXTENT */
    kn_dtype dtype;   /* SCALAR */
    int64_t value;    /* (n) EXTENT, INDEX, POLICY */
    const char *name; /* C identifier in the source */
} kn_param;

/* Fills `out` (room for `cap`) and returns the number of parameters; call with cap 0 to count. Names are
 * made in `a` only when it is not NULL. */
int kn_kernel_params(const kn_kernel *k, kn_arena *a, kn_param *out, int cap);

#endif
