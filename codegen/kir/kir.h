/* The kernel IR: loop nests bound by schedules, phase by phase. The optimiser, the model, `explain`, the CUDA emitter
 * and the CPU device share it.
 *
 *   kernel   phases in order. In front of a phase that reads what an earlier one wrote there is a grid barrier, or the last
 *            block to arrive works on that phase alone, and the others end
 *   phase    a nest (codegen/kir/nest.h), its schedule (codegen/kir/schedule.h), and one call's numbers
 *
 * A split phase divides the members of each group into `splits` parts, which different blocks work on: contiguous
 * ranges of `chunk` members, or, on GPUs where the order does not matter, a cyclic partition: every `splits`-th step
 * of a block. It has one sweep. Its reductions are stored as partial results (KN_STORE_PARTIAL, with the part as an
 * additional leading index), which a later phase combines.
 *
 * A phase of clusters divides the members likewise over the blocks of a thread-block cluster, which combine their
 * results through each other's shared memory. So it may have any number of sweeps.
 *
 * A mixed phase divides its groups instead, into `splits` parts of at most `chunk` groups; a block walks one part,
 * cyclically. Its reductions `across` accumulate over the groups of a part, separately for each member, and are
 * stored as partial results over the members. So one sweep over a matrix sums its rows and its columns. Each thread
 * has all that it loads of a group in registers; what is the same for all groups it loads once a part. A later phase
 * may walk the same parts.
 *
 * A local phase is computed by the threads of its host, the next phase that is not local: by those of each group
 * before the group's first sweep, or, if it has no groups, by every block once before its first group. The host sees
 * the results as values on chip. So partial results need no phase, and no barrier, of their own to be combined.
 *
 * Structure and numbers: fields marked (n), and kn_numbers, are the numbers of one call. Everything else is the
 * kernel's structure, which is what compiled code depends on: calls whose structure prints the same (kn_kernel_print
 * with numbers false) share it. */
#ifndef KN_CODEGEN_KIR_H
#define KN_CODEGEN_KIR_H

#include "codegen/kir/nest.h"
#include "codegen/kir/schedule.h"

typedef struct kn_phase {
    kn_nest nest;
    kn_schedule how;
    kn_numbers num; /* (n) */
    bool barrier;   /* a grid barrier comes before */
    bool alone;     /* the only phase of its kernel that is not local */
    bool universal; /* relies on no size, stride or alignment */
    bool local;     /* worked on by the next phase that is not local */
    KN_VEC(int)
    exports; /* local: group values that later phases see; with groups, that its host sees */
    int first_export; /* local: the number of exports[0] among the exports of the whole plan */
} kn_phase;

/* The axis that vectors run along: the last member axis of FLAT, ROWS and packed COLS, else the last group axis; -1
 * when there is none. */
static inline int kn_phase_vector_axis(const kn_phase *p)
{
    if (p->how.walk == KN_WALK_COLS && !p->how.packed)
        return p->nest.ngroup - 1;
    return p->nest.naxes > p->nest.ngroup ? p->nest.naxes - 1 : -1;
}

/* Has each element of a tail a thread of its own? */
static inline bool kn_has_lanes_for_tail(const kn_phase *p)
{
    return p->how.walk == KN_WALK_FLAT || p->how.tpg >= p->how.vec;
}

/* Is a group one run of elements at a constant stride? */
static inline bool kn_phase_one_run(const kn_phase *p)
{
    return p->nest.naxes - p->nest.ngroup == 1;
}

/* Do async copies bring whole groups, one after the other, to persistent blocks? */
static inline bool kn_copies_groups(const kn_phase *p)
{
    return p->how.async && p->how.walk == KN_WALK_ROWS;
}

/* Do async copies refill shared memory in chunks, each as soon as the block is done with it? */
static inline bool kn_copies_in_chunks(const kn_phase *p)
{
    return kn_copies_groups(p) && !p->how.hoisted;
}

/* Members of a block's part of a group that are kept in shared memory. */
static inline int64_t kn_phase_held(const kn_phase *p)
{
    return p->how.rest_in_registers ? p->num.held : p->num.chunk;
}

/* Stages of the async copies: copies in shared memory of each array that they bring. */
static inline int kn_copy_stages(const kn_phase *p) { return p->how.hoisted ? 2 : 1; }

/* Mbarriers that track async copies: one a stage, or one a chunk. */
enum { KN_MOST_CHUNKS = 16 };
static inline int kn_copy_barriers(const kn_phase *p)
{
    return p->how.by_chunk ? KN_MOST_CHUNKS : kn_copy_stages(p);
}

/* COLS: consecutive members that a thread takes at a time, to transpose them in registers; 1 where nothing is
 * transposed so. Ranges of members are multiples of it. */
int kn_transpose_side(const kn_phase *p);

/* Steps of a thread in a tile. */
static inline int kn_tile_steps(const kn_phase *p)
{
    return (p->how.tile + p->how.tpg - 1) / p->how.tpg;
}

/* COLS: groups that a block takes at a time. */
static inline int kn_cols_width(const kn_phase *p)
{
    return p->how.packed ? (int)p->num.pack : p->how.lanes * p->how.vec;
}

/* Member axes that a thread steps along: all, but for the packed one. */
static inline int kn_stepped_axes(const kn_phase *p)
{
    return p->nest.naxes - p->nest.ngroup - p->how.packed;
}

/* Members of a group that its threads take in one step. */
static inline int kn_phase_step(const kn_phase *p)
{
    int columns = p->how.packed ? (int)p->nest.axes[p->nest.naxes - 1].extent : 1;
    return p->how.walk == KN_WALK_COLS ? p->how.tpg * columns : p->how.tpg * p->how.vec;
}

/* Unaligned rows: the members of a 128-byte cache line, of the widest elements. Members are counted from the
 * beginning of the line in which the group begins, so that threads read and write whole lines. */
static inline int kn_phase_line(const kn_phase *p) { return 8 * p->how.vec; }

/* Members counted in front of a group, at most. */
static inline int kn_phase_slack(const kn_phase *p)
{
    return p->how.unaligned ? kn_phase_line(p) - 1 : 0;
}

/* What members are shared by in clusters: vectors, or cache lines. And a block's part, of so many blocks */
static inline int kn_phase_multiple(const kn_phase *p)
{
    return p->how.unaligned ? kn_phase_line(p) : 8;
}
int64_t kn_phase_part(const kn_phase *p, int64_t blocks);

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

/* Eviction policies of the L2 cache for what a kernel reads, as createpolicy encodes them: normal, evict first, evict
 * last. */
#define KN_POLICY_NONE INT64_C(0x10f0000000000000)
#define KN_POLICY_FIRST INT64_C(0x12f0000000000000)
#define KN_POLICY_LAST INT64_C(0x14f0000000000000)

typedef struct kn_kernel {
    kn_arena *arena;
    const char *name; /* a C identifier, unique within the program */
    int threads;      /* CUDA: block size; (n) where bound is not 0 */
    /* CUDA: if not 0, the code serves blocks of every power of two of threads from 64 up to this; if 0, of `threads`
     * only */
    int bound;
    int min_blocks; /* CUDA: the minimum of blocks a multiprocessor (launch bounds); 0: none */
    int64_t shared; /* (n) CUDA: bytes of dynamic shared memory a block */
    /* (n) CUDA: steps of a thread whose resident values have room in shared memory */
    int64_t resident_steps;
    bool wide;     /* indices need 64 bits */
    bool disjoint; /* no output overlaps an input */
    bool fast;     /* fast_math: functions may be the hardware's approximations */
    /* (n) CUDA: the eviction policy of loads; 0: they have none. codegen/model/caches.c */
    int64_t policy;
    KN_VEC(kn_buf) bufs;
    KN_VEC(kn_scalar_param) scalars;
    KN_VEC(kn_extent_param) extents;
    KN_VEC(kn_phase) phases;
    const char *source; /* CUDA: generated text, set when the device wants it */
    const char *key;    /* the canonical text of structure, target and options */
} kn_kernel;

/* The first of the local phases whose host is phase p; p if there are none. */
int kn_first_local(const kn_kernel *k, int p);
/* What a KN_V_LOCAL value of phase p stands for: the value, and the local phase that computes it. NULL: there is none
 * before p. */
const kn_value *kn_local_export(const kn_kernel *k, int p, int index, int *phase);
/* Do phases after the host of local phase p see its exports? Each block then computes it before the host begins. */
bool kn_is_shared_local(const kn_kernel *k, int p);

/* A copy whose values, reductions and stores are its own. */
kn_phase kn_phase_copy(kn_arena *a, const kn_phase *p);

static inline const kn_value *kn_value_at(const kn_phase *p, int i)
{
    return &p->nest.values.data[i];
}

/* How a value is held; NULL: it is not. */
static inline const kn_hold *kn_hold_of(const kn_phase *p, int value)
{
    for (int i = 0; i < p->how.holds.len; i++)
        if (p->how.holds.data[i].value == value)
            return &p->how.holds.data[i];
    return NULL;
}
static inline kn_keep kn_kept(const kn_phase *p, int value)
{
    const kn_hold *h = kn_hold_of(p, value);
    return h ? h->where : KN_KEEP_NONE;
}
/* Do async copies bring it, where there are any? */
static inline bool kn_is_copied(const kn_phase *p, int value)
{
    return kn_kept(p, value) == KN_KEEP_SHARED && kn_value_at(p, value)->kind == KN_V_LOAD;
}
/* Does sweep t find the value where it is held? */
static inline bool kn_is_found(const kn_phase *p, int value, int t)
{
    const kn_hold *h = kn_hold_of(p, value);
    return h && (kn_value_at(p, value)->kind == KN_V_LOAD || t > h->since);
}
/* Holds a value there, in a place of its own; the returned hold is valid until the next call. Or holds it no more. */
kn_hold *kn_hold_value(kn_arena *a, kn_phase *p, int value, kn_keep where);
void kn_release_value(kn_phase *p, int value);

/* Accesses of a phase by number: its values', then its stores'. kn_access_at: NULL for values that are no loads. */
static inline int kn_accesses(const kn_phase *p) { return p->nest.values.len + p->nest.stores.len; }
static inline kn_store *kn_store_at(const kn_phase *p, int i)
{
    return &p->nest.stores.data[i - p->nest.values.len];
}
static inline kn_access *kn_access_at(const kn_phase *p, int i)
{
    if (i >= p->nest.values.len)
        return &kn_store_at(p, i)->access;
    return p->nest.values.data[i].kind == KN_V_LOAD ? p->nest.values.data[i].access : NULL;
}

/* How access i, or a store, is transposed; NULL: it is not. */
const kn_transpose *kn_transpose_of(const kn_phase *p, int i);
static inline const kn_transpose *kn_transpose_of_store(const kn_phase *p, int store)
{
    return kn_transpose_of(p, p->nest.values.len + store);
}
static inline bool kn_in_registers(const kn_transpose *t) { return t && t->in_registers; }
static inline bool kn_in_tile(const kn_transpose *t) { return t && !t->in_registers; }
/* The access that is transposed, and the type of its elements. */
static inline const kn_access *kn_transposed_access(const kn_phase *p, const kn_transpose *t)
{
    return kn_access_at(p, t->store ? p->nest.values.len + t->of : t->of);
}
static inline kn_dtype kn_transposed_type(const kn_phase *p, const kn_transpose *t)
{
    return kn_value_at(p, t->store ? p->nest.stores.data[t->of].value : t->of)->dtype;
}

/* The most steps, a power of two up to eight, that together take no more than `wanted` bytes. */
int kn_steps_for(int bytes, int wanted);
/* Steps to unroll so that a thread has some 64 bytes of loads in flight; `bytes`: of one step. */
int kn_steps_at_once(int bytes);

/* Can the loads of value i's elements for several steps be done before the first of these steps? */
bool kn_may_batch(const kn_phase *p, int value);

/* Is this group value an integer that is known before the first sweep, such as the count of members? */
bool kn_is_known_integer(const kn_phase *p, int value);

/* Phases side by side: their pieces of work are dealt to the blocks in turn, each phase going on where the one before
 * it ended. `first`: the pieces in front of phase p; `blocks`: how many blocks have a piece of it, if the grid has as
 * many. False: it has the grid to itself. */
typedef struct kn_part_of_grid {
    int64_t first, blocks;
} kn_part_of_grid;
bool kn_runs_beside(const kn_kernel *k, int p, kn_part_of_grid *part);

/* Is the phase's only reduction a whole sum by packed atomics? codegen/sched/atomics.c */
bool kn_sums_atomically(const kn_phase *p);

/* When a block begins this phase, have all blocks finished the phases before? Not where each tile has its own last
 * block, nor where blocks only leave sums behind, by atomics. */
bool kn_begins_after_all(const kn_phase *p);

/* Does the phase have values that are persistent across the grid barrier? */
bool kn_phase_resident(const kn_phase *p);
/* The fraction of a value that phase p finds on chip, where an earlier phase left it. */
double kn_part_on_chip(const kn_kernel *k, const kn_phase *p, int value);

/* Marks in need[], one per value, what sweep t computes, loads, or takes from where it is kept, and the group values
 * that these use. */
void kn_phase_needs(const kn_phase *p, int sweep, bool *need);
/* Marks what one value is computed from. */
void kn_value_needs(const kn_phase *p, int value, bool *need);

/* What a read touches: an element for each step along the axes that it varies along. Indices of a GATHER vary too, and
 * may repeat: `most` elements, all that they can index. */
typedef struct kn_touched {
    uint32_t axes;
    int64_t steps, most;
} kn_touched;
kn_touched kn_read_touches(kn_arena *a, const kn_phase *p, int value);

/* What an accumulator holds: one value; mean and sum of squared deviations (Welford); a maximum with the sum of exp(x
 * - max); the values of a user-defined reduction. */
typedef enum kn_state { KN_STATE_PLAIN, KN_STATE_MOMENTS, KN_STATE_PEAK, KN_STATE_USER } kn_state;
kn_state kn_red_state(const kn_phase *p, int red);
/* The reduction whose accumulator has this one's result: itself, the VAR or MAX that it is a part of, or the first of
 * a user-defined reduction. */
int kn_red_owner(const kn_phase *p, int red);
/* The stage that follows from a reduction's operands. */
int kn_red_stage(const kn_phase *p, int red);
/* Must members be combined in order? Then each worker has a contiguous range, and results are combined in the order
 * of workers. */
bool kn_phase_in_order(const kn_phase *p);
/* Steps that a thread takes through a block's part of a split group, or of the groups of a mixed phase. */
int64_t kn_steps_of_part(const kn_phase *p, int threads);
/* Is this a load whose elements are the same for all groups (broadcast)? */
bool kn_same_for_groups(const kn_phase *p, const kn_value *v);
/* Is this such a load, which persistent blocks keep in registers for all their groups? */
bool kn_is_hoisted(const kn_phase *p, int value);
/* Is a split group partitioned cyclically, not in contiguous ranges? */
bool kn_is_cyclic(const kn_phase *p);
/* Computes all stages anew from the reductions as they are now. */
void kn_restage(kn_phase *p);
/* Does it store element values? */
bool kn_phase_stores_elements(const kn_phase *p);
/* Does this store the result of a reduction across the groups? */
bool kn_stores_across(const kn_phase *p, const kn_store *s);
/* Does sweep t store element values? */
bool kn_sweep_stores_elements(const kn_phase *p, int sweep);
/* Does sweep t reduce over the members? Then a combine follows it. */
bool kn_sweep_reduces(const kn_phase *p, int sweep);

/* ---- axes ---- */

/* The access that stands for the phase's data: the one that varies along the most axes, of the stores if there are no
 * reductions, else of the loads. NULL if there is none. */
const kn_access *kn_phase_primary(const kn_phase *phase);
/* Swaps two axes, or drops one, in every access. Not for phases with local ones. */
void kn_swap_axes(kn_phase *phase, int a, int b);
void kn_drop_axis(kn_phase *phase, int a);

/* ---- barriers ---- */

/* Buffers written since the last barrier: those b for which at[b] == since. */
typedef struct kn_written {
    int since, *at;
} kn_written;
kn_written kn_nothing_written(kn_arena *a, int nbufs);
/* Must a barrier come before phase i, because it, or a local phase of its, reads what was written since the last one?
 * Updates `written` for the barrier and for what the phase writes. */
bool kn_phase_waits(const kn_phase *phases, int i, kn_written *written);
/* Sets nsweeps, and how many sweeps need each value. */
void kn_count_sweeps(kn_arena *arena, kn_phase *phase);
/* Removes values and reductions that no store and no export needs. */
void kn_drop_dead(kn_arena *arena, kn_phase *phase);

/* ---- loads that several sweeps read, which a schedule may keep on chip ---- */

/* Is this value a load that several sweeps need and that varies along the vector axis? */
bool kn_is_reread(const kn_phase *phase, int value);
/* Bytes an element of all such loads; the same, and bytes a group, if all have the same width, so that shared memory
 * keeps them aligned, else 0. */
int kn_reread_each(const kn_phase *phase);
int kn_reread_element(const kn_phase *phase);
int64_t kn_reread_bytes(const kn_phase *phase);
/* Marks them as kept. */
void kn_keep_reread(kn_arena *a, kn_phase *phase, kn_keep where);

/* prefix + name, as a C identifier. */
const char *kn_identifier(kn_arena *a, const char *prefix, const char *name);

/* Does a whole block, of more than a warp, work on each group of rows? */
static inline bool kn_by_block(const kn_phase *p)
{
    return p->how.walk == KN_WALK_ROWS && p->how.tpg > 32;
}
/* Is it a local phase that one warp of each block does, while others do those next to it? */
static inline bool kn_by_a_warp(const kn_phase *p)
{
    return p->local && p->nest.ngroup == 0 && p->how.walk == KN_WALK_ROWS && p->how.tpg <= 32;
}
/* Does a combine need a barrier among the warps of a block? */
static inline bool kn_meets_in_block(const kn_phase *p)
{
    return kn_by_block(p) || (p->how.walk == KN_WALK_COLS && (p->how.packed || p->how.tpg > 1));
}
/* Do several groups of rows share a block? In mixed phases also groups with more than a warp each. */
static inline bool kn_shares_block(const kn_kernel *k, const kn_phase *p)
{
    return p->how.walk == KN_WALK_ROWS && (k->bound ? !kn_by_block(p) : k->threads > p->how.tpg);
}

/* Blocks of a cluster; 1: launched without clusters. */
int kn_kernel_cluster(const kn_kernel *k);
/* Is it launched as clusters, be it of one block? */
bool kn_kernel_in_clusters(const kn_kernel *k);
/* Is there a grid barrier, so that the launch must be cooperative? */
bool kn_kernel_cooperative(const kn_kernel *k);
/* Are values persistent across a grid barrier? */
bool kn_kernel_resident(const kn_kernel *k);
/* Do blocks synchronise, or find out which is the last? Then the kernel has a barrier parameter. */
bool kn_kernel_meets(const kn_kernel *k);
/* Writes a loop's words, as schedules have them. */
void kn_loop_put(kn_text *t, const kn_schedule *how, const kn_sweep_loop *loop);
/* Has the loop anything to say? A loop over all steps is what it is, unless these are full. */
static inline bool kn_loop_says(const kn_schedule *how, const kn_sweep_loop *loop)
{
    return loop->over != KN_OVER_ALL || how->full;
}
/* Prints the IR. Without numbers it is the canonical text of the structure, by which compiled code is found. */
void kn_kernel_print(kn_text *t, const kn_kernel *k, bool numbers);
kn_status kn_kernel_verify(const kn_kernel *k);
/* Verifies one phase that is not scheduled yet; `where`: after which pass. */
kn_status kn_phase_verify(const kn_phase *phase, const char *where, int number, int nbufs);

/* Are two raw phases the same, as planning has them before they are shaped? Equal hashes for those that are. */
bool kn_phase_same(const kn_phase *x, const kn_phase *y);
uint64_t kn_phase_hash(const kn_phase *phase);

/* ---- the parameters of the generated function, in order ----
 *
 *   pointers of bufs; scalars; extents (long long)
 *   for each phase
 *     extents of its axes; with 32-bit indices also multiplier and shift to divide by each that is not the first of its kind
 *     for each access, values then stores: its offset if shifted; strides that are KN_STRIDE_PARAM; strides of the axes that
 *     a GATHER indexes and, if it is checked, their extents; the split stride
 *     split or mixed: splits, and of contiguous ranges chunk; packed: pack and lanes; cluster: chunk
 *     skew, copy_chunk and held, where it has them
 *   the number of steps with room for resident values; the eviction policy; the barrier words (unsigned *) */
typedef enum kn_param_kind {
    KN_PARAM_BUF,     /* void * */
    KN_PARAM_SCALAR,  /* its dtype */
    KN_PARAM_EXTENT,  /* long long */
    KN_PARAM_INDEX,   /* int, or long long when wide */
    KN_PARAM_POLICY,  /* unsigned long long */
    KN_PARAM_BARRIER, /* unsigned *: see kn_call */
} kn_param_kind;

/* Words in which blocks count arrivals; 0 between launches, but for the top bit of the first, which the grid barrier
 * flips. The second counts for the last block; of tiles each has a word, from the second on; packed atomics of
 * integer sums use the third to the eighth. */
enum { KN_BARRIER_WORDS = 512 };

typedef struct kn_param {
    kn_param_kind kind;
    int index;        /* BUF, SCALAR, EXTENT */
    kn_dtype dtype;   /* SCALAR */
    int64_t value;    /* (n) EXTENT, INDEX, POLICY */
    const char *name; /* C identifier in the source */
} kn_param;

/* Writes up to `cap` parameters to `out` and returns how many there are; call with cap 0 to count. Names are made in
 * `a` unless it is NULL. */
int kn_kernel_params(const kn_kernel *k, kn_arena *a, kn_param *out, int cap);

#endif
