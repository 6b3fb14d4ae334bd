/* How a phase is walked on the CPU, and its groups (or tiles of groups) and ranges of members divided into units and tasks.
 *
 * Which index the lanes are, and where blocks begin within a group, depends only on the call's numbers, so that
 * results are the same for any number of threads. */
#ifndef KN_RUNTIME_CPU_DIVIDE_H
#define KN_RUNTIME_CPU_DIVIDE_H

#include "codegen/emit/c/cut.h"
#include "runtime/cpu/frame.h"
#include "runtime/cpu/native.h"
#include "runtime/cpu/pool.h"

/* What runs kernels. */
typedef struct kn_cpu_machine {
    kn_pool *pool;
    kn_native *native;
    double stream; /* bytes a phase moves, from which on compiled code stores past the caches */
} kn_cpu_machine;

/* How a phase of these numbers is walked. */
kn_c_mode kn_cpu_mode(const kn_phase_plan *plan, const kn_phase *p);
/* The case of the text that computes it. */
kn_c_case kn_cpu_case(const kn_cpu_machine *machine, const kn_phase_plan *plan, const kn_phase *p);

/* How its work is divided, and the axis whose runs blocks respect; -1: lanes are along one axis at most. Compiled code takes
 * short rows that a gather finds one by one within a block, and narrower tiles of columns: no result depends on where a
 * block or a tile ends. */
kn_c_shape kn_cpu_shape(const kn_phase_plan *plan, const kn_phase *p, bool compiled);
int kn_cpu_run_axis(const kn_phase *p, bool cols);

/* Groups of a tile: of rows, so that there are tiles for all threads; of columns, as many as kn_groups_of_tile() says. */
int64_t kn_cpu_groups_of_tile(const kn_phase *p, int threads);

/* The interpreter's rows of which each is found by an index are tiles, for many rows of which indices are computed at a
 * time. Compiled code computes them row by row, at less cost from a few columns on. */
void kn_cpu_gather_by_tiles(kn_job *job);

/* Tiles of a job whose lanes are tiles of the last two axes, along each of them. */
int64_t kn_cpu_tiles_down(const kn_job *job);
int64_t kn_cpu_tiles_across(const kn_job *job);

/* Sets the job's cut, for the threads of a machine. */
void kn_cpu_divide(kn_job *job, const kn_cpu_machine *machine, bool compiled);

/* Runs the tasks of a divided job, on the pool's threads if it is worth several; `scratch`: the caller's memory, as kn_pool_run
 * has it. */
kn_status kn_cpu_share(const kn_job *job, kn_pool *pool, size_t bytes, void *scratch,
                       kn_task_fn work, void *ctx);

#endif
