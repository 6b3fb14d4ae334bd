/* Runs a planned kernel, one phase after the other. In each, groups (or tiles of groups) and ranges of members are
 * shared among the pool's threads, which work on them in blocks of lanes (lanes.h).
 *
 * Which index the lanes are, and where blocks begin within a group, depends only on the call's numbers, so that
 * results are the same for any number of threads. */
#ifndef KN_RUNTIME_CPU_EXEC_H
#define KN_RUNTIME_CPU_EXEC_H

#include "codegen/emit/c/cut.h"
#include "codegen/kir/call.h"
#include "runtime/cpu/native.h"
#include "runtime/cpu/plan.h"
#include "runtime/cpu/pool.h"

/* What a device has of a kernel: the interpreter's plan, and its machine code as far as there is some. */
typedef struct kn_cpu_code {
    kn_cpu_plan *plan;
    kn_native_kernel *native; /* NULL: only the plan */
} kn_cpu_code;

/* What runs kernels. */
typedef struct kn_cpu_machine {
    kn_pool *pool;
    kn_native *native;
    double stream; /* bytes a phase moves, from which on compiled code stores past the caches */
} kn_cpu_machine;

/* `kernel` has the structure that the code was made of, and this call's numbers. */
kn_status kn_cpu_run(const kn_cpu_machine *machine, const kn_cpu_code *code,
                     const kn_kernel *kernel, const kn_call *call);

/* How a phase of these numbers is walked. */
kn_c_mode kn_cpu_mode(const kn_phase_plan *plan, const kn_phase *p);
/* The case of the text that computes it. */
kn_c_case kn_cpu_case(const kn_cpu_machine *machine, const kn_phase_plan *plan, const kn_phase *p);

/* How its work is divided, and the axis whose runs blocks respect; -1: lanes are along one axis at most. Compiled code takes
 * short rows that a gather finds one by one within a block, and narrower tiles of columns: no result depends on where a
 * block or a tile ends. */
kn_c_shape kn_cpu_shape(const kn_phase_plan *plan, const kn_phase *p, bool compiled);
int kn_cpu_run_axis(const kn_phase *p, bool cols);

/* Sets the sizes of a phase's blocks, and of the memory that a worker needs. */
void kn_cpu_frame_size(kn_phase_plan *plan);

/* Bytes of an array for a block's lanes, and of one for a row. */
size_t kn_cpu_slot_bytes(const kn_phase_plan *plan);
size_t kn_cpu_row_bytes(const kn_phase_plan *plan);

#endif
