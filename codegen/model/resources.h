/* What a bound phase takes of a block and of a multiprocessor: shared memory by purpose, registers, and how many blocks
 * then fit. The one answer for the schedule that asks whether something fits, the model that predicts, and the emitter
 * that lays it out. */
#ifndef KN_CODEGEN_RESOURCES_H
#define KN_CODEGEN_RESOURCES_H

#include "codegen/kir/kir.h"
#include "codegen/kir/target.h"

/* ---- what is held ---- */

/* Registers that a thread may spend on kept values: three quarters of those that it has in the largest block. */
enum { KN_KEPT_WORDS = 48 };
/* Registers of 32 bits that n elements of so many bytes take. */
int kn_words(int n, int bytes);
/* Those of a thread's elements of one value: of one step, and of all steps. */
int kn_vector_words(const kn_phase *p, int value);
int kn_kept_words(const kn_phase *p, int value);
/* by_run: those of the edge of each load. */
int kn_edge_words(const kn_phase *p);
/* Those of all values that have registers of their own, with edges. */
int kn_held_words(const kn_phase *p);
/* Would value i stay with a thread that keeps what it can of each step: a load that is read again, in resident mixed
 * phases any load? */
bool kn_stays(const kn_phase *p, int value);
/* Registers that a step then takes, of elements that count as `least` bytes or more, and of accumulators across groups. */
int kn_step_words(const kn_phase *p, int least);
/* Registers of a step's accumulators across groups. */
int kn_across_words(const kn_phase *p);
/* ROWS whose `steps` are written out: of how many of them the loads that nothing holds come first, where a step has so many
 * bytes and words of these. */
int kn_all_steps_at_once(const kn_phase *p, int bytes, int words);
/* Bytes of shared memory that the loads take that a block keeps of a group, in all stages. */
int64_t kn_phase_kept_bytes(const kn_phase *p);

/* ---- tiles of transposed accesses: static shared memory ---- */

/* Elements from one member of a tile in shared memory to the next; of rows from one group to the next. Padding, of 4 bytes
 * or of a vector of rows, puts neighbouring ones into different banks. */
int kn_tile_pitch(const kn_phase *p, int bytes);
/* Bytes of shared memory of one tile, of elements of so many bytes, in a block of so many threads. */
int kn_tile_bytes_of(const kn_phase *p, int bytes, int threads);
/* Bytes of all tiles of a phase. */
int kn_tile_bytes(const kn_phase *p, int threads);
/* The most static shared memory of tiles, of the 48 KB that a kernel has. */
enum { KN_MOST_TILE_BYTES = 40 * 1024 };
/* Bytes of larger tiles of rows, which are in dynamic shared memory, in kernels of one phase. */
int kn_dynamic_tile_bytes(const kn_phase *p, int threads);
/* ROWS: members of its group that a thread loads for a tile at a time, of so many bytes each. */
int kn_tile_batch(const kn_phase *p, int bytes);
/* Are there registers for the direct loads of all steps of a tile, so that they are in flight with the transposed ones?
 * With reductions registers have other uses too. */
bool kn_loads_whole_tile(const kn_phase *p);

/* ---- accumulators ---- */

/* Has reduction r an accumulator of its own? Parts are their owner's. */
bool kn_red_owns(const kn_phase *ph, int r);
/* Has it one that accumulates in this sweep? */
bool kn_red_accumulates(const kn_phase *ph, int r, int sweep);
/* Bytes of the struct that a user-defined reduction carries. */
int kn_reducer_bytes(const kn_reducer *by);

/* ---- between the warps of a block: static shared memory ---- */

/* Bytes in which the warps of a block exchange their results of a sweep. Reductions that have no room beside the others
 * are combined after them. */
enum { KN_COMBINE_BYTES = 3072 };

/* Bytes of the results of all warps of a block of reduction r. */
int kn_warps_bytes(const kn_phase *ph, int r);

/* Reductions [first, end) of a phase, whose warps' results are in shared memory at a time. */
typedef struct kn_combine_batch {
    int first, end, bytes;
} kn_combine_batch;

/* Those from `first` on for which there is room, at least one; all of a sweep, whatever they take. */
kn_combine_batch kn_combine_batch_from(const kn_phase *ph, int sweep, int first);
kn_combine_batch kn_combine_whole_sweep(const kn_phase *ph, int sweep);
/* The reduction of the batch behind r that is combined together with it, half a warp each; -1: none. */
int kn_combine_partner(const kn_phase *ph, int sweep, const kn_combine_batch *batch, int r);
/* COLS: the end of those from r on whose columns a block of so many threads combines together, behind the same barriers:
 * what a sweep accumulates of one operation and type, as far as scratch has room. r + 1 where it does not accumulate r. */
int kn_combined_columns_end(const kn_phase *ph, int sweep, int r, int threads);
/* Bytes of all that a sweep accumulates, of one group. */
int kn_sweep_bytes(const kn_phase *ph, int sweep);
/* Mixed: what the threads of a block store of a step of reduction r across groups, which rows of them share; of how many steps at
 * a time. */
int kn_across_bytes(const kn_phase *ph, int r, int threads);
int kn_across_steps_at_once(const kn_phase *ph, int r, int threads);

/* How many groups' combines may be deferred: as many as scratch has room for; 0: the results are needed at once. */
int kn_deferrable_groups(const kn_phase *ph);
/* Mixed phases, of whose groups a block has many: combines use one half of their scratch and then the other, of so many
 * bytes each. 0: all use the same. */
int kn_turn_bytes(const kn_phase *ph);
/* Bytes of scratch for combines, in a block of so many threads; and with the tiles of transposed accesses, which use
 * the same memory. */
int kn_scratch_bytes(const kn_phase *ph, int threads);
int kn_static_bytes(const kn_phase *ph, int threads);
/* The most of a kernel's phases, which use the same memory. */
int kn_kernel_static_bytes(const kn_kernel *k);
/* Bytes in which the local phases of phase p that a warp each does leave their exports, KN_EXPORT_BYTES each. */
enum { KN_EXPORT_BYTES = 16 };
int kn_warp_local_bytes(const kn_kernel *k, int p);
/* Of a kernel's static bytes, at the end, what blocks need whose groups exchange with other ranks': a kn_peers, then KN_SHOWN_BYTES
 * for each value that one warp computes of what it has received, for its block. */
enum { KN_SHOWN_BYTES = 16 };
int kn_ranks_bytes(const kn_kernel *k);
int kn_peers_bytes(const kn_kernel *k);
/* Where they begin. */
int kn_peers_at(const kn_kernel *k);
/* Does one warp do so, for a group that the whole block has? */
bool kn_receives_by_a_warp(const kn_kernel *k, const kn_phase *ph);

/* ---- between the blocks of a cluster: the exchange buffer, in dynamic shared memory ----
 *
 * Each block has a part for every block of the cluster, twice, in turns. */

/* Bytes of a message about reduction r, of all groups that a block has at a time, in whole words. */
int kn_exchange_message(const kn_phase *ph, int r);
/* Bytes of its slot in the buffer. */
int kn_exchange_slot(const kn_phase *ph, int r);
/* Bytes that one block's slots take, of the sweep that has most. */
int kn_exchange_stride(const kn_phase *ph);
/* Bytes of the whole buffer; 0 without clusters. */
int64_t kn_exchange_bytes(const kn_phase *ph);

/* ---- row packing: dynamic shared memory ---- */

/* Bytes of a slot for a value that a group broadcasts to its elements. */
enum { KN_PACKED_SLOT = 16 };

/* Is group value i used by elements, in the sweep that `need` is of; need NULL: in any? */
bool kn_is_broadcast(const kn_phase *ph, int i, int sweep, const bool *need);
/* Bytes of the widest sum. */
int kn_packed_sum_bytes(const kn_phase *ph);
/* The most sums of one sweep. */
int kn_packed_sums(const kn_phase *ph);
/* Bytes of these and of what is broadcast; 0 where nothing is packed. */
int64_t kn_packed_bytes(const kn_phase *ph, int threads);
/* Registers a lane in a sweep besides those of kept values: accumulators, and group values that elements use. `need`:
 * room for an entry a value. */
int kn_packed_lane_words(const kn_phase *ph, int sweep, bool *need);

/* ---- the next group's elements, prefetched by each thread of a mixed phase: dynamic shared memory, first ---- */

/* Bytes of a block's. */
int kn_prefetch_bytes(const kn_phase *ph, int threads);
/* Bytes of those of the phases before phase p, and of all. */
int kn_prefetch_offset(const kn_kernel *k, int p);
int kn_kernel_prefetch_bytes(const kn_kernel *k);

/* ---- of a multiprocessor ---- */

enum { KN_UNIT_REGISTERS = 64 * 1024 };

/* Blocks of a bound kernel that fit on one at a time; 1 on a CPU. */
double kn_blocks_a_unit(const kn_kernel *k, const kn_target *target);

#endif
