/* Runs a planned kernel, one phase after the other. In each, groups (or tiles of groups) and ranges of members are
 * shared among the pool's threads, which work on them in blocks of lanes (lanes.h).
 *
 * Which index the lanes are, and where blocks begin within a group, depends only on the call's numbers, so that
 * results are the same for any number of threads. */
#ifndef KN_RUNTIME_CPU_EXEC_H
#define KN_RUNTIME_CPU_EXEC_H

#include "codegen/kir/call.h"
#include "runtime/cpu/plan.h"
#include "runtime/cpu/pool.h"

/* `kernel` has the structure that the plan was made of, and this call's numbers. */
kn_status kn_cpu_run(const kn_cpu_plan *plan, const kn_kernel *kernel, const kn_call *call,
                     kn_pool *pool);

/* Sets the sizes of a phase's blocks, and of the memory that a worker needs. */
void kn_cpu_frame_size(kn_phase_plan *plan);

#endif
