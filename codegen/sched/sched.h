/* Schedules: how a machine walks a phase. One file a kind of walk, each answering "can I?" and "how?":
 *
 *   flat   no reductions: the grid strides over all elements
 *   rows   inner reductions: part of a warp, a warp or a block works on a group, neighbouring threads on neighbouring members;
 *          or a cluster does, if one block cannot keep the group on chip or there are few groups (cluster.c)
 *   cols   outer reductions: neighbouring threads work on neighbouring groups;
 *          in tiles that a block or a cluster keeps on chip,
 *          through tiles in shared memory for arrays that are contiguous along the members (transpose.c),
 *          with several members side by side where columns are narrow (interleaved.c),
 *          or with short runs of several groups packed into rows (packed.c)
 *
 * Members of rows and of columns may be split over all blocks, which keep on chip what they load again after a grid
 * barrier (resident.c). Mixed reductions are in mixed.c, nests side by side in beside.c.
 *
 * Before: a normalised phase. After: its schedule is set; the block size is the walk's preference. */
#ifndef KN_CODEGEN_SCHED_H
#define KN_CODEGEN_SCHED_H

#include "base/integer.h"
#include "codegen/kir/force.h"
#include "codegen/kir/kir.h"
#include "codegen/kir/target.h"
#include "codegen/model/predict.h"

/* Steps, at most, of a thread that keeps values in registers, and so the loads that it has in flight; more where each
 * step takes a single register. */
enum { KN_KEEP_STEPS = 8, KN_KEEP_SINGLES = 13 };

/* Shared memory of a kernel besides what it keeps there: scratch for combines (KN_COMBINE_BYTES of rows) and, in
 * clusters, exchange buffers and mbarriers: codegen/sched/cluster.c. */
enum { KN_SCRATCH_BYTES = 8192, KN_MOST_STATIC_BYTES = 48 * 1024 };

/* What a phase has to leave: that of its own kernel if it is alone, else as much as any other phase may have. */
static inline int kn_scratch_beside(const kn_phase *ph)
{
    return ph->alone ? KN_SCRATCH_BYTES : KN_MOST_STATIC_BYTES;
}

/* Shared memory of a multiprocessor that the hardware takes for each block. */
enum { KN_RESERVED_BYTES = 1024 };

/* What binding needs besides the nests. */
typedef struct kn_site {
    kn_arena *arena;
    const kn_target *target;
    const kn_force *force;
    const kn_buf *bufs;
    int nbufs;
    const int *align; /* per buffer: alignment in bytes of its first element */
    bool clusters;    /* phases may have clusters beside others */
} kn_site;

typedef struct kn_walker {
    const char *name;
    kn_walk walk;
    bool (*can)(const kn_phase *phase);
    /* The block size that it prefers, a power of two. */
    int (*threads)(const kn_phase *phase, const kn_target *target);
    /* Binds it to a block of `threads`: tpg, steps, and what is held and how it comes there. */
    void (*bind)(const kn_site *at, kn_phase *phase, int threads);
} kn_walker;

extern const kn_walker kn_walk_flat, kn_walk_rows, kn_walk_cols;

/* The first walk that can, in order of preference. */
const kn_walker *kn_walker_for(const kn_phase *phase);
/* The walk of this kind. */
const kn_walker *kn_walker_of(kn_walk walk);

/* Can `acc` be accessed by aligned vectors of `vec` elements along axis `va`? True also for accesses that have no use
 * for vectors. */
bool kn_vector_fits(const kn_phase *phase, const kn_access *acc, const kn_buf *buf, int align,
                    int va, int vec);

/* Sets vec, tail and the accesses' kinds. Vectors have 16 bytes, 4 bytes or one element, as extents, strides and
 * alignment allow; every further width would be another kernel. align[buf]: the alignment in bytes of the buffer's
 * first element. */
void kn_schedule_vectors(const kn_site *at, kn_phase *phase);

/* Is the shaped phase of columns one whose loads would have to be assembled of aligned words, to have wider vectors? */
bool kn_may_assemble(const kn_site *at, const kn_phase *phase);

/* Sets by_run with vectors of `vec` elements, the first of a run aligned to `aligned` ones, if most of what the rows read and all
 * that they store along runs begins each run alike. */
bool kn_schedule_by_run(const kn_site *at, kn_phase *phase, int vec, int aligned);

/* *by_run: a copy of the shaped phase whose vectors go by run, if that is possible and predicted to be quicker. Else false. */
bool kn_schedule_runs(const kn_site *at, const kn_phase *phase, kn_phase *by_run);

/* *narrower: a copy of the shaped phase by narrower vectors, if its lanes share those more evenly and it is predicted to
 * be quicker so. Else false. */
bool kn_schedule_narrower(const kn_site *at, const kn_phase *ph, kn_phase *narrower);

/* Lets the vectors of a shaped mixed phase go by run, if that is possible and predicted to be quicker. What it has of parts later
 * depends on it, so that it is compared as if it had all. */
void kn_schedule_mixed_runs(const kn_site *at, kn_phase *phase);

/* kn_schedule_vectors() with a vector width that is known to fit; `a` gets the transfers. */
void kn_schedule_as(kn_arena *a, kn_phase *phase, int vec);

/* How many groups of a scatter sum a block has. */
void kn_schedule_scatter_sum(const kn_site *at, kn_phase *phase);

/* Access i of a phase (kn_access_at) if it is a load or a store of elements, else NULL. */
const kn_access *kn_element_access(const kn_phase *phase, int i);
/* The bytes of the widest element that vectors walk; of what is broadcast along other axes, and so is small or cached,
 * half of them: two accesses make such a vector. */
int kn_widest_element(const kn_phase *phase, const kn_buf *bufs);

/* Bytes an element of all arrays that have an element for each of the phase's. */
int kn_phase_element_bytes(const kn_phase *phase);

/* The largest block whose threads, or parts of warps, work independently. */
enum { KN_SMALL_BLOCK = 256 };

/* The largest block of clusters that keep groups in registers, so that two share a multiprocessor: one alone would
 * leave memory idle at its barriers. Also the largest for 64-bit elements, for whose arithmetic a thread of a larger
 * block has too few registers. */
enum { KN_HALF_BLOCK = 512 };

/* Does it compute, on a GPU, functions of f64, or maxima with their sums of exponentials in f64? Each takes some 20
 * registers more, and the compiler overlaps several, so blocks have at most KN_HALF_BLOCK threads, except in mixed
 * phases (measured: docs/lab/f64-registers.md). */
bool kn_has_wide_functions(const kn_phase *phase, const kn_target *target);

/* The least threads, each with so many elements, that make a block move enough bytes to pay for its start, at most
 * KN_SMALL_BLOCK. */
int kn_schedule_small_block(const kn_phase *phase, const kn_target *target, double elements);

/* `n` ranges of `length` each, the last perhaps shorter. */
typedef struct kn_range {
    int64_t n, length;
    bool resident; /* each for a persistent block that keeps on chip what it loads */
    /* axes of the region, as kn_axis.of: each index along them is a range, and a group of the split phase; 0: ranges are parts of
     * the members as they follow each other */
    uint32_t axes;
} kn_range;

/* The ranges to split members into so that the machine is full; one range: leave it whole. */
kn_range kn_schedule_splits(const kn_site *at, const kn_phase *phase);
/* Ranges for which rows go by tiles, where these are clearly quicker than `ranges`; else those. codegen/sched/split_tiles.c */
kn_range kn_schedule_split_tiles(const kn_site *at, const kn_phase *phase, const kn_range *ranges);

/* The fewest members of a column that make a range worth a block. */
enum { KN_LEAST_OF_COLUMN = 64 };

/* About `want` ranges of n members, of whole vectors. */
kn_range kn_ranges_of(int64_t n, int64_t want);
/* The phase split into these, as far as its prediction goes: it shares what `phase` points to. block.c */
kn_phase kn_with_ranges(const kn_phase *phase, const kn_range *ranges);

/* resident.c: ranges for blocks that keep on chip what a phase loads again: one block of rows a multiprocessor, two of
 * columns. A single range: not possible, or, unless forced, too few blocks would have work. */
kn_range kn_resident_ranges(const kn_phase *phase, const kn_target *target, bool forced);
/* The fraction of a range of this length that fits on chip. */
double kn_resident_part(const kn_phase *phase, const kn_target *target, int64_t length);
/* The minimum of blocks a multiprocessor, which share its shared memory: of mixed phases, by the size of the block. */
int kn_mixed_min_blocks(const kn_target *target, int threads);
/* The same of columns that are transposed in registers. Without it the compiler, which does not know what they keep
 * in shared memory, would allow for four and spill for sm_100. 0: no minimum, as for 16 bits (measured:
 * docs/lab/columns-on-chip.md). */
int kn_transposing_min_blocks(const kn_phase *phase, int threads);
/* Shared memory of a mixed phase's block besides its static memory. */
int64_t kn_mixed_room(const kn_target *target, int threads);
/* The fraction that fits there of a part of so many bytes. */
double kn_resident_part_of_mixed(const kn_target *target, int threads, double bytes);
/* Gives all phases of a kernel that are resident the same vector width, once theirs are known. */
void kn_resident_align(const kn_site *at, kn_kernel *kernel);
/* Sets which loads are resident, resident_steps and shared, once these phases are bound. */
void kn_resident_keep(kn_kernel *kernel, const kn_target *target);

/* parts.c: may split phase p have fewer parts than it was planned with, as where local phases merge them? */
bool kn_may_have_fewer_parts(kn_kernel *k, int p);
/* Gives it so many. */
void kn_have_parts(kn_kernel *k, int p, int64_t parts);
/* Gives it no more than the kernel has blocks. */
void kn_fit_parts(const kn_site *at, kn_kernel *k, int p);
/* `one` is the same phase as `phase` with as few sweeps as possible. Is `one`, split and resident, predicted to be
 * faster than `phase` whole? */
bool kn_schedule_splits_in_one(const kn_site *at, const kn_phase *one, const kn_phase *phase);

/* Divides the groups of rows over the blocks of clusters, if predicted to pay, or forced: sets cluster, splits and
 * chunk. codegen/sched/cluster.c */
void kn_schedule_cluster(const kn_site *at, kn_phase *phase);
/* Undoes it: block.c. */
void kn_leave_cluster(kn_phase *phase);

/* Packs groups in several short runs, which vectors do not fit, into rows, if they are contiguous in memory and there
 * is room for what is kept: sets walk, vec, lanes, pack and tpg. codegen/sched/packed.c */
void kn_schedule_packed(const kn_site *at, kn_phase *phase);

/* rows.c: bytes that a tile of rows may have: of a phase that is alone, half of a multiprocessor's shared memory. */
int64_t kn_rows_tile_room(const kn_phase *phase, const kn_target *target);
/* The threads of a group of such rows, at most a warp: as many as leave room for the tile in the largest block that there may
 * be; 0: none do. */
int kn_rows_tile_lanes(const kn_phase *phase, const kn_target *target);

/* Threads of a block of packed rows. */
int kn_packed_threads(const kn_phase *phase);

/* Keeps columns on chip, by tiles narrow enough to fit, if possible: sets lanes, vec and tile, and cluster, splits
 * and chunk. After kn_schedule_transposes(). codegen/sched/columns.c */
void kn_schedule_columns(const kn_site *at, kn_phase *phase);
enum {
    KN_LINE_BYTES = 128, /* contiguous bytes of a tile */
    KN_FULL_COLUMNS =
        64 * 1024, /* bytes kept by a block of which KN_MIN_COLUMN_BLOCKS share a multiprocessor */
    KN_MIN_COLUMN_BLOCKS = 3,
};
/* cols.c: may a block, or a cluster, keep a phase of columns on chip? */
bool kn_cols_may_keep(const kn_phase *phase, const kn_target *target);
/* Bytes that a block then keeps. */
int64_t kn_cols_kept_bytes(const kn_phase *phase);
/* Do `at_once` such blocks fit on a multiprocessor? */
bool kn_cols_fit(const kn_phase *phase, const kn_target *target, int at_once);

/* Sends accesses that are transposed relative to the walk of a scheduled phase through tiles in shared memory, where
 * that saves traffic, or is forced: sets tile and transposes. A phase without reductions may become columns for it.
 * codegen/sched/transpose.c */
void kn_schedule_transposes(const kn_site *at, kn_phase *phase);
/* *rows: a copy of the phase, whose vectors are scheduled, as rows whose transposed loads go through tiles of whole groups. False
 * where there are none, or shared memory has no room for them. */
bool kn_schedule_tile_of_rows(const kn_site *at, const kn_phase *phase, kn_phase *rows);
/* tile_of_rows.c: the same of a CPU's, whose transposed accesses go through tiles in its cache. */
bool kn_schedule_cpu_tile_of_rows(const kn_site *at, const kn_phase *phase, kn_phase *rows);
/* Could access i of rows go through one? */
bool kn_suits_cpu_tile(const kn_site *at, const kn_phase *phase, int i);
/* A CPU's rows as columns, which may pay where they have few members: what is contiguous along those goes through tiles. */
bool kn_schedule_cpu_columns(const kn_site *at, const kn_phase *phase, kn_phase *cols);
/* An access to elements, every one of which is accessed; else NULL. */
const kn_access *kn_whole_access(const kn_phase *phase, int i);
/* Is an access of elements contiguous along `down`, and apart along `across`? However near its elements are there: of tiles of
 * whole groups all that lies between them is read, too. */
bool kn_lies_along(const kn_access *acc, int down, int across);
bool kn_any_lies_along(const kn_phase *phase, int down, int across);
/* How the groups of a bound phase's tiles are located. codegen/sched/cols.c */
void kn_bind_tile(kn_phase *phase);
/* A tile of so many members, or the least that has all of them. */
int kn_tile_that_fits(const kn_phase *ph, int tile);
/* The rule that the transposes of a scheduled phase break, which are given; NULL: none. `shaped`: what the planner has. */
const char *kn_broken_transpose(const kn_site *at, const kn_phase *phase, const kn_schedule *shaped,
                                int threads);

/* Where a scheduled phase that is not split keeps loads for later sweeps, given its vectors, sweeps and cluster. */
kn_keep kn_schedule_keep(const kn_phase *phase, const kn_target *target);
kn_keep kn_rows_keep(const kn_phase *phase, const kn_target *target);
kn_keep kn_cols_keep(const kn_phase *phase, const kn_target *target);
/* skew.c: nanoseconds from one cluster's first loads to the next's. */
int64_t kn_launch_skew(const kn_phase *phase, const kn_target *target);

/* Lets the blocks of a bound kernel begin one after the other where that is known to help: sets skewed and skew. And the
 * nanoseconds from the first of them to the last. codegen/sched/skew.c */
void kn_skew_blocks(kn_kernel *k, const kn_target *target);
int64_t kn_block_skew(kn_kernel *k, const kn_target *target);

/* Can async bulk copies bring what the blocks of a cluster keep? */
bool kn_rows_copies(const kn_phase *phase, const kn_target *target);
/* Members of a chunk of these copies, which refill it while the block stores the others. */
int64_t kn_rows_chunk(const kn_phase *phase, int threads);

/* Can they, with loads that are the same for all groups hoisted: are there any, registers for a block's part of them, and
 * shared memory for two blocks with two stages each? */
bool kn_rows_may_hoist(const kn_phase *phase, const kn_target *target);
/* Could registers keep what async copies of a cluster would bring, where no block has another group to bring meanwhile? */
bool kn_rows_may_load_parts(const kn_phase *phase, const kn_target *target);
/* The most steps of a thread, in a block of any size, for which it has registers besides what shared memory keeps. */
int kn_rows_rest_steps(const kn_phase *phase);

/* Registers of a thread for what it has of a mixed phase's step: half of those in the largest block. */
enum { KN_MIXED_WORDS = 32 };

/* Can rows be a mixed reduction, given vectors and sweeps: do a block's registers hold a group's elements and the
 * accumulators across groups? */
bool kn_rows_can_mix(const kn_phase *phase, const kn_target *target);
/* The threads a group then. */
int kn_mixed_lanes(const kn_phase *phase);
/* Can its threads prefetch all that they hold of the next group? */
bool kn_mixed_prefetches(const kn_phase *phase, const kn_target *target);
/* mixed.c: may the blocks of a cluster share its groups, a range of the members each? */
bool kn_mixed_in_clusters(const kn_phase *phase, const kn_target *target);
/* Divides them over as many as have registers for their accumulators across the groups: sets cluster, splits and chunk. */
void kn_schedule_mixed_cluster(const kn_site *at, kn_phase *phase);

/* What doing the reductions of other phases, `columns`, across the groups of one changes: bytes that are not read twice
 * any more; bytes that each part adds, its partial results written and read; bytes that the rest of that phase reads
 * again, unless they stay on chip; grid barriers saved. */
typedef struct kn_mixed_cost {
    double saved, results, again;
    int barriers;
} kn_mixed_cost;

/* The parts of the groups of `rows`, which is normalised, and what they gain in bytes: 0 if it does not pay. */
typedef struct kn_mixed_parts {
    kn_range parts;
    double gain;
} kn_mixed_parts;
/* As many parts as run at a time, if there are groups for them; none: it cannot have parts. */
kn_range kn_all_parts_of_mixed(const kn_phase *rows, const kn_target *target);
kn_mixed_parts kn_schedule_mixed(const kn_phase *rows, const kn_target *target,
                                 const kn_mixed_cost *cost);
/* The ranges of the members of `columns` for the rest of that phase; both are normalised. */
kn_range kn_schedule_rest(const kn_phase *rows, const kn_phase *columns, const kn_target *target);

/* interleaved.c: interleaves the columns of a shaped phase, where that can be and may gain something; else false. And undoes
 * it. */
bool kn_interleave(const kn_site *at, kn_phase *phase);
void kn_undo_interleaving(const kn_site *at, kn_phase *phase);
/* interleave.c: the same if that is predicted to be quicker; of two that take as long the one with wider vectors, which has
 * fewer instructions. */
bool kn_interleave_if_quicker(const kn_site *at, kn_phase *phase);
/* The lanes that a block of so many threads has for it. */
void kn_bind_interleaved(const kn_site *at, kn_phase *phase, int block);
/* Can the local phases of groups of phase p lie as it does? */
bool kn_locals_suit_interleaving(const kn_site *at, const kn_kernel *k, int p);

/* groups.c: of bound rows in a kernel whose blocks stay: has several groups' loads in flight at a time, where there are registers for
 * them. */
void kn_batch_groups(kn_kernel *kernel, kn_phase *phase, const kn_target *target);

/* planes.c: of how many axes a bound phase's steps have whole planes; 0: they would leave too many threads without any. */
int kn_axes_of_planes(const kn_phase *phase);

/* Narrows columns of which nothing is kept and that would leave half of the machine idle, such as those of partial
 * results, to a cache line. Sets lanes. */
void kn_schedule_few_columns(kn_phase *phase, const kn_target *target);

/* keep.c: chooses the computed values that a scheduled phase keeps for later sweeps. */
void kn_keep_computed(const kn_site *at, kn_phase *phase, bool fast);
/* Does each computed value that is kept begin in the first sweep that needs it, and overwrite nothing that is still
 * needed? For schedules that are given. */
bool kn_computed_have_room(kn_arena *a, const kn_phase *phase);
/* Is all held that several sweeps load? For schedules that are given, which hold in shared memory. */
bool kn_shared_holds_all(kn_arena *a, const kn_phase *phase);

/* trial.c: the time predicted for a kernel of this phase alone, as its walk would bind it at the block size that it prefers;
 * its nanoseconds, to compare alternatives. */
kn_time kn_predict_phase(const kn_site *at, const kn_phase *phase);
double kn_predict_phase_ns(const kn_site *at, const kn_phase *phase);

/* beside.c: runs the phases of a bound kernel that do not wait for each other side by side. A schedule that is given
 * says itself which do: KN_ARGUMENT if they cannot. */
void kn_run_beside(kn_kernel *k);
kn_status kn_run_beside_as_given(const kn_kernel *k);

/* atomics.c: makes whole sums of integers packed atomics, in kernels whose last phase is the last block's. */
void kn_sum_by_atomics(kn_kernel *k);

#endif
