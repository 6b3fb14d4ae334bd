/* A phase: a nest, its schedule, and one call's numbers; and what follows from these. codegen/kir/kir.h says what phases
 * there are. */
#ifndef KN_CODEGEN_PHASE_H
#define KN_CODEGEN_PHASE_H

#include "codegen/kir/nest.h"
#include "codegen/kir/schedule.h"

typedef struct kn_selection kn_selection; /* codegen/kir/selection.h */

typedef struct kn_phase {
    kn_nest nest;
    kn_schedule how;
    kn_numbers num; /* (n) */
    /* GPUs, bound: by which instructions; it follows from the rest */
    const kn_selection *selection;
    bool barrier;    /* a grid barrier comes before */
    int round;       /* of kernels that exchange with other ranks: how many exchanges come before */
    bool alone;      /* the only phase of its kernel that is not local */
    bool no_cluster; /* another phase of its kernel has them, or keeps values in shared memory */
    bool universal;  /* relies on no size, stride or alignment */
    /* how the members of a group are combined depends on their number and layout, not on how many groups there are */
    bool invariant;
    bool local; /* worked on by the next phase that is not local */
    /* local: group values that later phases see; with groups, that its host sees */
    KN_VEC(int) exports;
    int first_export; /* local: the number of exports[0] among the exports of the whole plan */
} kn_phase;

/* A deep copy. */
kn_phase kn_phase_copy(kn_arena *a, const kn_phase *p);

/* ---- which threads take what ---- */

/* Does the phase have groups, any number of which must give each the same results? A single group is what it is. */
static inline bool kn_is_invariant(const kn_phase *p) { return p->invariant && p->nest.ngroup > 0; }

/* The groups that a phase is scheduled for: its own, or as many as make a large array of members. */
static inline int64_t kn_scheduled_groups(const kn_phase *p)
{
    enum { LARGE = 1 << 26 };
    int64_t members = p->nest.members > 1 ? p->nest.members : 1;
    return kn_is_invariant(p) ? LARGE / members : p->nest.groups;
}

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

/* by_run: members of a run that vectors have, and those that are left at its edges. */
static inline int64_t kn_phase_whole(const kn_phase *p)
{
    const int64_t run = p->nest.axes[p->nest.naxes - 1].extent, vec = p->how.vec;
    return run < p->how.by_run ? 0 : (run - (p->how.by_run - 1)) / vec * vec;
}
static inline int64_t kn_phase_edges(const kn_phase *p)
{
    return p->nest.axes[p->nest.naxes - 1].extent - kn_phase_whole(p);
}
/* Has each of a group's threads an edge at most, at any length of its only run? */
static inline bool kn_edges_in_one_step(const kn_phase *p)
{
    return p->how.by_run && kn_phase_one_run(p) && p->how.tpg >= p->how.by_run + p->how.vec - 2;
}
/* Mixed: the groups that a block takes are so many apart, or a multiple. By run they all begin alike then, so that each thread
 * has the same members of all of them. */
static inline int kn_group_stride(const kn_phase *p)
{
    return p->how.mixed && p->how.by_run ? p->how.by_run : 1;
}
/* Do sweeps read edges in a loop of their own, each of them again: are there more than a step has threads for? */
static inline bool kn_edges_in_a_loop(const kn_phase *p)
{
    return p->how.by_run && !kn_edges_in_one_step(p);
}
/* Runs of a group, which by_run have so many vectors' members, and so many edges, each. */
static inline int64_t kn_phase_runs(const kn_phase *p)
{
    int64_t runs = 1;
    for (int a = p->nest.ngroup; a < p->nest.naxes - 1; a++)
        runs *= p->nest.axes[a].extent;
    return runs;
}
/* Steps of single threads for so many members: of a vector each, and by_run of an edge. */
int64_t kn_phase_vectors(const kn_phase *p, int64_t members);
/* by_run: the access by vectors, numbered as transfers are, that says where they begin: the first of the narrowest. */
int kn_phase_leader(const kn_phase *p);

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
    return kn_by_block(p) ||
           (p->how.walk == KN_WALK_COLS && (p->how.packed || p->how.interleaved || p->how.tpg > 1));
}
/* COLS: do a thread's vectors run across groups, or packed columns, so that group values have an instance an element? */
static inline bool kn_vector_has_groups(const kn_phase *p)
{
    return p->how.walk == KN_WALK_COLS && p->how.vec > 1;
}
/* COLS, interleaved: how many members lie side by side. Those are whole vectors, so that each lane has the same columns in
 * every step. 0: the lanes have no room for so many. */
int kn_members_interleaved(const kn_phase *p);
/* Is an access the same for all lanes of a thread's vectors? Those interleaved have several members. */
static inline bool kn_same_for_lanes(const kn_phase *p, const kn_access *acc)
{
    const int va = kn_phase_vector_axis(p);
    return va < 0 || (acc->kind[va] == KN_STRIDE_ZERO &&
                      (!p->how.interleaved || acc->kind[p->nest.naxes - 1] == KN_STRIDE_ZERO));
}
/* Can columns be interleaved: is each element where that asks for, and do members have no order? */
bool kn_suits_interleaving(const kn_phase *p);
/* COLS: groups that a block takes at a time. */
static inline int kn_cols_width(const kn_phase *p)
{
    return p->how.packed        ? (int)p->num.pack
           : p->how.interleaved ? (int)p->nest.axes[p->nest.ngroup - 1].extent
                                : p->how.lanes * p->how.vec;
}

/* A CPU's thread takes no fewer columns, or all; and parts of split columns are so many members, or a multiple: narrow
 * columns lie side by side in a part as they do in a whole (emit/c/cut.h). Fewer elements are not split: to load and add up
 * those is not worth a second thread (KN_INLINE_WORK), let alone another phase. */
enum { KN_CPU_COLUMNS = 128, KN_CPU_MEMBERS = 64, KN_CPU_SPLIT = 16384 };

/* Member axes that a thread steps along: all, but for the packed one. */
static inline int kn_stepped_axes(const kn_phase *p)
{
    return p->nest.naxes - p->nest.ngroup - p->how.packed;
}

/* Members of a plane: of the last `axes` axes along which a thread steps. */
static inline int64_t kn_plane(const kn_phase *p, int axes)
{
    const int end = p->nest.ngroup + kn_stepped_axes(p);
    int64_t members = 1;
    for (int a = end - axes; a < end; a++)
        members *= p->nest.axes[a].extent;
    return members;
}

/* Members of a group for which its threads have room in one step; and those that they take. */
static inline int kn_threads_step(const kn_phase *p)
{
    int columns = p->how.packed        ? (int)p->nest.axes[p->nest.naxes - 1].extent
                  : p->how.interleaved ? kn_members_interleaved(p)
                                       : 1;
    return p->how.walk == KN_WALK_COLS ? p->how.tpg * columns : p->how.tpg * p->how.vec;
}
static inline int kn_phase_step(const kn_phase *p)
{
    const int all = kn_threads_step(p);
    const int64_t plane = p->how.planes ? kn_plane(p, p->how.planes) : 1;
    return plane > 0 && plane <= all ? (int)(all / plane * plane) : all;
}

/* COLS: steps of a thread in a tile. */
static inline int kn_tile_steps(const kn_phase *p)
{
    return (p->how.tile + p->how.tpg - 1) / p->how.tpg;
}

/* Partial results that each reduction leaves which has some. */
static inline int64_t kn_parts_left(const kn_phase *p)
{
    return p->how.mixed ? p->num.parts : p->num.splits;
}

/* Steps that a thread takes through a block's part of a split group, or of the groups of a mixed phase. */
int64_t kn_steps_of_part(const kn_phase *p, int threads);
/* Is a split group partitioned cyclically, not in contiguous ranges? */
bool kn_is_cyclic(const kn_phase *p);
/* Unaligned rows: the members of a 128-byte cache line, of the widest elements. Members are counted from the
 * beginning of the line in which the group begins, so that threads read and write whole lines. */
static inline int kn_phase_line(const kn_phase *p) { return 8 * p->how.vec; }

/* Members counted in front of a group, at most. */
static inline int kn_phase_slack(const kn_phase *p)
{
    return p->how.unaligned ? kn_phase_line(p) - 1 : 0;
}

/* Members of a group as its threads count them: by run those of its vectors; of unaligned rows also those in front. */
static inline int64_t kn_phase_counted(const kn_phase *p)
{
    return p->how.by_run ? kn_phase_runs(p) * kn_phase_whole(p)
                         : p->nest.members + kn_phase_slack(p);
}

/* Parts of a cluster's blocks are multiples of so many members: a vector's, or a cache line's. */
static inline int kn_phase_multiple(const kn_phase *p)
{
    return p->how.unaligned ? kn_phase_line(p) : p->how.by_run > 8 ? p->how.by_run : 8;
}
/* Members of a part, of so many blocks. */
int64_t kn_phase_part(const kn_phase *p, int64_t blocks);

/* ---- values and how they are held ---- */

static inline const kn_value *kn_value_at(const kn_phase *p, int i)
{
    return &p->nest.values.data[i];
}

/* "v3_x": its name in generated text and in schedules. */
const char *kn_value_name(kn_arena *a, const kn_phase *p, int value);

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
/* Holds a value there, in memory of its own; the returned hold is valid until the next call. kn_release_value() undoes it. */
kn_hold *kn_hold_value(kn_arena *a, kn_phase *p, int value, kn_keep where);
void kn_release_value(kn_phase *p, int value);
/* Does the phase hold any value there? */
bool kn_holds(const kn_phase *p, kn_keep where);
/* Any that is persistent across the grid barrier? */
static inline bool kn_phase_resident(const kn_phase *p) { return kn_holds(p, KN_KEEP_RESIDENT); }
/* Has it values in shared memory from one grid barrier to the next, where clusters have theirs, or will it once it is bound? */
static inline bool kn_keeps_shared(const kn_phase *p)
{
    return p->how.mixed || p->how.resident || kn_phase_resident(p);
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
    return p->how.rest_in_registers ? p->num.in_shared : p->num.chunk;
}

/* Stages of the async copies: copies in shared memory of each array that they bring. */
static inline int kn_copy_stages(const kn_phase *p) { return p->how.hoisted ? 2 : 1; }

/* Mbarriers that track async copies: one a stage, or one a chunk. */
enum { KN_MOST_CHUNKS = 16 };
static inline int kn_copy_barriers(const kn_phase *p)
{
    return p->how.by_chunk ? KN_MOST_CHUNKS : kn_copy_stages(p);
}

/* ---- accesses and how they are transposed ---- */

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

/* How the elements of access i, or of a store, move; of a phase that is not shaped yet: one by one. */
static inline const kn_transfer *kn_transfer_of(const kn_phase *p, int i)
{
    static const kn_transfer none;
    return i < p->how.transfers.len ? &p->how.transfers.data[i] : &none;
}
static inline const kn_transfer *kn_transfer_of_store(const kn_phase *p, int store)
{
    return kn_transfer_of(p, p->nest.values.len + store);
}

/* The same with those of gathers and indices. */
static inline kn_access *kn_any_access(const kn_phase *p, int i)
{
    if (i >= p->nest.values.len)
        return &kn_store_at(p, i)->access;
    return kn_has_access(&p->nest.values.data[i]) ? p->nest.values.data[i].access : NULL;
}
/* Does the phase read a buffer, or store to it? */
bool kn_reads_from(const kn_phase *p, int buf);
bool kn_stores_to(const kn_phase *p, int buf);
/* Marks group values that depend, within their stage, on a RANK value. Where a whole block has a group, its first warp
 * computes these. */
void kn_find_remote(const kn_phase *p, bool *remote);
/* Does that warp pass a marked value on through shared memory: is it read by a value that is not marked or is of a later stage,
 * by a reduction or by a store? */
bool kn_is_passed_on(const kn_phase *p, const bool *remote, int value);
/* Does it send what the buffer is for, group by group? */
bool kn_sends(const kn_phase *p, int buf);

/* How access i, or a store, is transposed; NULL: it is not. */
const kn_transpose *kn_transpose_of(const kn_phase *p, int i);
static inline const kn_transpose *kn_transpose_of_store(const kn_phase *p, int store)
{
    return kn_transpose_of(p, p->nest.values.len + store);
}
static inline bool kn_in_registers(const kn_transpose *t) { return t && t->in_registers; }
static inline bool kn_in_tile(const kn_transpose *t) { return t && !t->in_registers; }
bool kn_has_dense_tile(const kn_phase *p);
/* Can tiles of the phase be dense as t says: of whole groups, each tile beginning where a vector does? */
bool kn_may_be_dense(const kn_phase *p, const kn_transpose *t);
/* The access that is transposed, and the type of its elements. */
static inline const kn_access *kn_transposed_access(const kn_phase *p, const kn_transpose *t)
{
    return kn_access_at(p, t->store ? p->nest.values.len + t->of : t->of);
}
static inline kn_dtype kn_transposed_type(const kn_phase *p, const kn_transpose *t)
{
    return kn_value_at(p, t->store ? p->nest.stores.data[t->of].value : t->of)->dtype;
}

/* ROWS: does value i come through a tile, of the groups that a block takes at a time with all of their members? Every sweep
 * finds it there. */
static inline bool kn_in_tile_of_rows(const kn_phase *p, int value)
{
    return p->how.walk == KN_WALK_ROWS && kn_transpose_of(p, value);
}

/* CPUs, with transposes; ROWS: how many whole groups are a tile, or so many groups' members of a part if they are split, whose
 * transposed accesses go through the worker's memory: a line of the narrowest elements, fewer where the second-level cache has
 * no room for that; KN_LEAST_ROWS at least if any is contiguous along the groups. COLS: a power of two from 32 to 1,024, as have
 * 24 KiB; 32 may have 192 KiB. 0: there is no room, or there are too few groups. */
enum { KN_LEAST_ROWS = 8 }; /* that registers transpose at a time */
int kn_groups_of_tile(const kn_phase *p);

/* CPUs: does a phase without reductions go by tiles of its last two axes, if it is not in rows that it gathers and an access is
 * transposed? What lies along the last axis but one is copied by whole lines then (codegen/emit/c/transpose.c). */
bool kn_may_go_by_tiles(const kn_phase *p);

/* COLS: consecutive members that a thread takes at a time, to transpose them in registers; 1 where nothing is
 * transposed in registers. Ranges of members are multiples of it. */
int kn_transpose_side(const kn_phase *p);

/* ---- loads in flight ---- */

/* The most steps, a power of two up to eight, that together take no more than `wanted` bytes. */
int kn_steps_for(int bytes, int wanted);
/* Steps to unroll so that a thread has some 64 bytes of loads in flight; `bytes`: of one step. */
int kn_steps_at_once(int bytes);
/* The same for a sweep of this phase. A thread that combines columns of few members, as of partial results, has nothing
 * to do before all of them are there: up to twice as much. */
int kn_sweep_steps_at_once(const kn_phase *p, int bytes);

/* Is this a load whose elements are the same for all groups (broadcast)? */
bool kn_same_for_groups(const kn_phase *p, const kn_value *v);
/* Is this such a load, which persistent blocks keep in registers for all their groups? */
bool kn_is_hoisted(const kn_phase *p, int value);
/* Mixed: can a thread's own async copies bring the elements of this load, of the next group, while it works on one?
 * Do they? */
bool kn_may_prefetch(const kn_phase *p, int value);
bool kn_is_prefetched(const kn_phase *p, int value);
/* Is it a load of a group's own that is loaded as early, into a register; of batches of groups, with their elements? */
bool kn_is_prefetched_of_group(const kn_phase *p, int value);
/* Can all loads of several groups come before the first of these is worked on: are they in registers, and no more to a group
 * than its steps? */
enum { KN_MOST_GROUPS = 8 };
bool kn_may_batch_groups(const kn_phase *p);
/* Can the loads of value i's elements for several steps be done before the first of these steps? */
bool kn_may_batch(const kn_phase *p, int value);

/* Are a thread's vectors of load `value` assembled of two aligned words? */
bool kn_is_shifted(const kn_phase *p, int value);
/* The bytes that are in a thread's registers for a vector of it while it waits. */
int kn_bytes_in_flight(const kn_phase *p, int value);
/* Does the phase assemble any? */
bool kn_is_assembled(const kn_phase *p);

/* Is this group value an integer that is known before the first sweep, such as the count of members? */
bool kn_is_known_integer(const kn_phase *p, int value);

/* When a block begins this phase, have all blocks finished the phases before? Not where each tile has its own last
 * block, nor where blocks only leave sums behind, by atomics. */
bool kn_begins_after_all(const kn_phase *p);

/* ---- what depends on what ---- */

/* Marks in taken[], one per value, what the reductions and the stores of sweep t take. */
void kn_phase_takes(const kn_phase *p, int sweep, bool *taken);
/* Marks in need[], one per value, what sweep t computes, loads, or takes from where it is kept, and the group values
 * that these use. */
void kn_phase_needs(const kn_phase *p, int sweep, bool *need);
/* Marks what one value is computed from. */
void kn_value_needs(const kn_phase *p, int value, bool *need);

/* Gives what a group takes by an index, and the index, the stage of its first use, instead of the first that it could
 * have: defer.c. */
void kn_defer_gathers(kn_arena *arena, kn_phase *phase);
/* Sets nsweeps, and how many sweeps need each value. */
void kn_count_sweeps(kn_arena *arena, kn_phase *phase);
/* Removes values and reductions that no store and no export needs. */
void kn_drop_dead(kn_arena *arena, kn_phase *phase);

/* What a read touches: an element for each step along the axes that it varies along. Indices of a GATHER vary too, and
 * may repeat: `most` elements, all that they can index. */
typedef struct kn_touched {
    uint32_t axes;
    int64_t steps, most;
} kn_touched;
kn_touched kn_read_touches(kn_arena *a, const kn_phase *p, int value);

/* ---- reductions and sweeps ---- */

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
/* Has a reduction this state? */
bool kn_has_state(const kn_phase *p, kn_state state);
/* Computes all stages anew from the reductions as they are now. */
void kn_restage(kn_phase *p);
/* Does it store element values? */
bool kn_phase_stores_elements(const kn_phase *p);
/* Does this store the result of a reduction across the groups? */
bool kn_stores_across(const kn_phase *p, const kn_store *s);
/* Does sweep t store element values? */
bool kn_sweep_stores_elements(const kn_phase *p, int sweep);
/* Are the results of sweep t only stored? Then the threads that store them are the only ones to need them. */
bool kn_are_only_stored(const kn_phase *p, int sweep);
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
/* ---- loads that several sweeps read, which a schedule may keep on chip ---- */

/* Is this value a load that several sweeps need and that varies along the vector axis? */
bool kn_is_reread(const kn_phase *phase, int value);
/* Bytes an element of all such loads; the same, and bytes a group, or 0 where the phase itself has one sweep. */
int kn_reread_each(const kn_phase *phase);
int kn_reread_element(const kn_phase *phase);
int64_t kn_reread_bytes(const kn_phase *phase);
/* Have all of them elements of one width? */
bool kn_reread_alike(const kn_phase *phase);
/* COLS: contiguous bytes that a block takes of the one with the narrowest elements. */
int kn_reread_line(const kn_phase *phase);
/* Marks them as kept. */
void kn_keep_reread(kn_arena *a, kn_phase *phase, kn_keep where);

/* Are two raw phases the same, as planning has them before they are shaped? Equal hashes for those that are. */
bool kn_phase_same(const kn_phase *x, const kn_phase *y);
uint64_t kn_phase_hash(const kn_phase *phase);

/* Verifies one phase that is not scheduled yet; `where`: after which pass. */
kn_status kn_phase_verify(const kn_phase *phase, const char *where, int number, int nbufs);

#endif
