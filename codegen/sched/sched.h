/* Schedules: how a phase is walked by a machine. One file a kind, each answering "can I?" and "how?".
 *
 *     flat   no reductions: the grid strides over all elements
 *     rows   a sub-warp, a warp or a block works on a group, side by side along its members
 *            the blocks of a cluster, where one block cannot keep it or there are few groups (cluster.c)
 *     cols   neighbouring threads work on neighbouring groups, for reductions along a strided axis
 *            so few of them side by side that they stay on chip, where a block or a cluster can keep them
 *            in tiles, where arrays lie one way and others the other (tiles.c)
 *            of several groups abreast, whose short runs lie one behind the other (abreast.c)
 *
 * Of rows and of columns members may be split over all blocks, which keep what they load again behind a grid barrier
 * (resident.c).
 *
 * A normalised phase goes in; walk, tpg and vec come out, and the block size that suits it best. */
#ifndef KN_CODEGEN_SCHED_H
#define KN_CODEGEN_SCHED_H

#include "base/integer.h"
#include "codegen/kir/force.h"
#include "codegen/kir/kir.h"
#include "codegen/kir/target.h"

/* Steps that a thread may take at most with what it keeps in registers: so many loads it has in flight at once; of
 * single registers more. */
enum { KN_KEEP_STEPS = 8, KN_KEEP_SINGLES = 13 };

/* Shared memory that a kernel may use beside what it keeps there: what its warps hand each other (KN_COMBINE_BYTES of rows) and,
 * in clusters, boards and barriers: codegen/sched/cluster.c. */
enum { KN_SCRATCH_BYTES = 8192 };

typedef struct kn_walker {
    const char *name;
    kn_walk walk;
    bool (*can)(const kn_phase *phase);
    /* The block size it wants, a power of two. */
    int (*threads)(const kn_phase *phase, const kn_target *target);
    /* Sets tpg for a block of `threads`. */
    void (*bind)(kn_phase *phase, const kn_target *target, int threads);
} kn_walker;

extern const kn_walker kn_walk_flat, kn_walk_rows, kn_walk_cols;

/* The first schedule that can, by preference; the one that walks so. */
const kn_walker *kn_walker_for(const kn_phase *phase);
const kn_walker *kn_walker_of(kn_walk walk);

/* Can `acc` be walked by vectors of `vec` elements along axis `va`? True also where it need not be. */
bool kn_vector_fits(const kn_phase *phase, const kn_access *acc, const kn_buf *buf, int align,
                    int va, int vec);

/* Sets vec, the elements of the vector axis taken at a time, as extents, strides and alignment allow: those of 16
 * bytes, of 4, or one; every width more would be another kernel.
 * align[buf] is the alignment in bytes of each buffer's first element. Sets access kinds too. */
void kn_schedule_vectors(kn_phase *phase, const int *align, const kn_buf *bufs,
                         const kn_target *target);

/* The same where vectors are known to be whole and aligned. */
void kn_schedule_as(kn_phase *phase, int vec);

/* Access i of a phase (kn_access_at), if it is a load, or what is stored of elements; NULL for what is none. Bytes of the widest
 * of their elements. */
const kn_access *kn_element_access(const kn_phase *phase, int i);
int kn_widest_element(const kn_phase *phase, const kn_buf *bufs);

/* Bytes of an element in the arrays that have one for each of the phase. */
int kn_phase_element_bytes(const kn_phase *phase);

/* The largest block of threads, or parts of warps, that know nothing of each other. */
enum { KN_SMALL_BLOCK = 256 };

/* The largest block that keeps groups in registers by clusters, of which two then fit on a multiprocessor (one alone leaves
 * memory idle while it waits at its barriers), and of elements of 64 bits, for whose arithmetic a thread of the largest
 * block has too few. */
enum { KN_HALF_BLOCK = 512 };

/* Are there, on a GPU, functions of f64, or maxima with their sums? Each takes some 20 registers beside what a thread has, and
 * the compiler computes several at a time: blocks of at most KN_HALF_BLOCK threads, but for bands. On an H200 softmax of 8 rows of
 * 4 Mi f64, of which each block keeps a part, takes 495 us by blocks of 1024 threads (524 bytes spilled), by 512 265; 32 rows
 * of 512 Ki 238 and 137; log_softmax of 128 of 256 Ki, by clusters, 261 and 248. */
bool kn_has_wide_functions(const kn_phase *phase, const kn_target *target);

/* How many of them, each with so many elements, make a block that moves as few bytes as pay for starting it. */
int kn_schedule_small_block(const kn_phase *phase, const kn_target *target, double elements);

/* `n` ranges of `length` each, the last perhaps shorter. */
typedef struct kn_range {
    int64_t n, length;
    bool resident; /* each for a block that keeps on chip what it loads of it */
} kn_range;

/* The ranges to split the members into so that the machine is full; one: leave it whole. */
kn_range kn_schedule_splits(kn_arena *a, const kn_phase *phase, const kn_buf *bufs, int nbufs,
                            const kn_target *target, kn_division force);

/* The fewest members of a column that make a range worth a block. */
enum { KN_LEAST_OF_COLUMN = 64 };

/* About `want` ranges of n members, of whole vectors. */
kn_range kn_ranges_of(int64_t n, int64_t want);

/* Ranges for blocks that keep on chip what a phase loads again, alone on its multiprocessor, or of columns two there; one:
 * that cannot be, or too few could work and it is not forced. The part of a range of this length for which there is room.
 * codegen/sched/resident.c */
kn_range kn_resident_ranges(const kn_phase *phase, const kn_target *target, bool forced);
double kn_resident_part(const kn_phase *phase, const kn_target *target, int64_t length);
/* Blocks of so many threads that share a multiprocessor and its shared memory, each with bands. */
int kn_mixed_min_blocks(const kn_target *target, int threads);
/* The same of blocks that turn squares of columns in registers: the compiler, which knows nothing of what they keep in
 * shared memory, would make room for four, and spill for sm_100. 0: as it comes, as for 16 bits, since the transposed
 * softmax of bf16 took 106.4 us so on an H200, and 110.8 with three. */
int kn_transposing_min_blocks(const kn_phase *phase, int threads);
/* The part of a band of so many bytes for which there is room. */
double kn_resident_part_of_mixed(const kn_target *target, int threads, double bytes);
/* Of the phases of a kernel that are to: vectors of one width for all, when they have theirs; then, when they are bound,
 * what is resident, held and shared. */
void kn_resident_align(kn_kernel *kernel);
void kn_resident_keep(kn_kernel *kernel, const kn_target *target);

/* Is `one`, the same phase as `phase` with as few sweeps as can be, quicker split and resident than `phase` whole? */
bool kn_schedule_splits_in_one(kn_arena *a, const kn_phase *one, const kn_phase *phase,
                               const kn_buf *bufs, int nbufs, const kn_target *target);

/* Bytes that the machine could move in the time of a grid barrier. */
double kn_schedule_barrier_bytes(const kn_target *target);
/* What a temporary more counts as, beside what it moves: little, but more than a small array. */
double kn_schedule_temporary_bytes(const kn_target *target);

/* Divides the groups of a phase of rows over the blocks of clusters, where that is right or forced: sets cluster,
 * splits and chunk. `want`: how many blocks, 0: chosen. `max_threads` of a block, 0: no matter. codegen/sched/cluster.c */
void kn_schedule_cluster(kn_arena *a, kn_phase *phase, const kn_buf *bufs, int nbufs,
                         const kn_target *target, kn_division force, int want, int max_threads);

/* Has the threads of a block that go through groups in several short runs, which vectors do not fit, go along several groups
 * at a time, where they lie so and there is room for what is kept: sets walk, vec, lanes, beside and tpg. `max_threads` of
 * a block, 0: no matter. codegen/sched/packed.c */
void kn_schedule_packed(kn_arena *a, kn_phase *phase, const int *align, const kn_buf *bufs,
                        const kn_target *target, int max_threads);

/* Of a block that takes them. */
int kn_packed_threads(const kn_phase *phase);

/* The same for columns, which become so narrow that what they keep fits, where it can: sets lanes, vec and tile too.
 * codegen/sched/cols.c. Behind kn_schedule_transposes(). */
void kn_schedule_columns(kn_phase *phase, const kn_target *target, kn_division force, int want);

/* Has the arrays that lie turned to the walk of a scheduled phase go through tiles in shared memory, where that is
 * quicker or forced: sets tile and what is turned. A phase without reductions may be walked otherwise for it.
 * codegen/sched/transpose.c */
void kn_schedule_transposes(kn_arena *a, kn_phase *phase, const int *align, const kn_buf *bufs,
                            const kn_target *target, kn_division force);

/* Where a scheduled phase that is not split will keep them: given its vectors and sweeps, and its cluster. */
kn_keep kn_schedule_keep(const kn_phase *phase, const kn_target *target);
kn_keep kn_rows_keep(const kn_phase *phase, const kn_target *target);
kn_keep kn_cols_keep(const kn_phase *phase, const kn_target *target);
/* From one cluster's first loads to the next's. */
int64_t kn_launch_skew(const kn_phase *phase, const kn_target *target);

/* Can the bulk engine bring what the blocks of a cluster keep? */
bool kn_rows_copies(const kn_phase *phase, const kn_target *target);

/* And is there something that all groups share, registers for a block's part of it, and room for two blocks with two groups
 * each? */
bool kn_rows_may_hoist(const kn_phase *phase, const kn_target *target);
/* The most steps of a thread of a block of any size for which it has registers beside what is kept in shared memory. */
int kn_rows_rest_steps(const kn_phase *phase);

/* Can rows be walked in bands, given vectors and sweeps: does a block hold what that takes, a group's elements and what is
 * summed across groups? The threads of a group then. */
bool kn_rows_can_mix(const kn_phase *phase, const kn_target *target);
int kn_mixed_lanes(const kn_phase *phase);

/* What it means to do reductions across the groups of another phase: bytes that are not read again, bytes of results
 * that a band leaves, bytes that what is left of that phase reads again but for those that stay on chip, grid barriers
 * more than without. */
typedef struct kn_crossing_cost {
    double saved, partial, again;
    int barriers;
} kn_crossing_cost;

/* Reductions of `columns` done across the groups of `rows`, both normalised: the bands that the groups are divided
 * into, none where it does not pay, and the ranges of the members of `columns` for what is left to do there. */
typedef struct kn_mixed_parts {
    kn_range bands, left;
} kn_mixed_parts;
kn_mixed_parts kn_schedule_mixed(const kn_phase *rows, const kn_phase *columns,
                                 const kn_target *target, const kn_crossing_cost *cost);

/* Columns that nothing is kept of and that would leave half of the machine idle, as those of partial results: so narrow that
 * a line is side by side. Sets lanes. */
void kn_schedule_few_columns(kn_phase *phase, const kn_target *target);

/* keep.c: which values that a scheduled phase computes are kept for its later sweeps. */
void kn_keep_computed(kn_arena *a, kn_phase *phase, const kn_target *target, kn_reuse reuse);

/* trial.c: a phase by itself, as its walk would bind it: the whole kernel, of the block size that suits it, in nanoseconds. For
 * comparing what could be done with it. */
double kn_predict_phase_ns(kn_arena *a, const kn_phase *phase, const kn_buf *bufs, int nbufs,
                           const kn_target *target);

/* sums.c: of a kernel whose last phase is the last block's. */
void kn_sum_by_atomics(kn_kernel *k);

#endif
