/* Runs a planned kernel: for each phase, groups (or tiles of groups) and ranges of members are
 * shared among the pool's threads, and each is worked on in blocks of lanes (lanes.h). Phases end
 * before the next begins.
 *
 * Which index the lanes are, and where blocks begin within a group, depends on the call's numbers
 * only, so that a result is the same for every number of threads. */
#ifndef KN_RUNTIME_CPU_EXEC_H
#define KN_RUNTIME_CPU_EXEC_H

#include "codegen/kir/call.h"
#include "runtime/cpu/plan.h"
#include "runtime/cpu/pool.h"

/* `kernel` has the structure of the one that the plan was made of, and the numbers of this call. */
kn_status kn_cpu_run(const kn_cpu_plan *plan, const kn_kernel *kernel, const kn_call *call,
                     kn_pool *pool);

/* Sets the block sizes of a phase and the memory that a worker needs. */
void kn_cpu_frame_size(kn_phase_plan *plan);

#endif
