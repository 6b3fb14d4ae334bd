/* Runs a planned kernel, one phase after the other, each divided among the pool's threads (divide.h): by machine code where
 * there is some (native.h), else interpreted (interpret.h). */
#ifndef KN_RUNTIME_CPU_EXEC_H
#define KN_RUNTIME_CPU_EXEC_H

#include "codegen/kir/call.h"
#include "runtime/cpu/divide.h"

/* What a device has of a kernel: the interpreter's plan, and its machine code as far as there is some. */
typedef struct kn_cpu_code {
    kn_cpu_plan *plan;
    kn_native_kernel *native; /* NULL: only the plan */
} kn_cpu_code;

/* What a phase's numbers make of it where it is compiled, the same in all calls. */
typedef struct kn_cpu_bound {
    kn_c_case of;
    kn_c_cut cut;
    int64_t tile_groups, beside, wide; /* as in kn_c_call; wide: of call.wide */
    size_t slot, row, tile; /* bytes: of an array of a block, of a row, of a tile's arrays */
    const int64_t *extents, *numbers;   /* as in kn_c_call, */
    const int64_t *side, *wide_numbers; /* and those of call.side and call.wide */
} kn_cpu_bound;

/* Of each phase of a kernel that has the structure that the code was made of; in arena `a`. */
kn_status kn_cpu_bind(kn_arena *a, const kn_cpu_machine *machine, const kn_cpu_code *code,
                      const kn_kernel *kernel, const kn_cpu_bound **bound);

/* A call of a kernel that is bound. */
kn_status kn_cpu_run(const kn_cpu_machine *machine, const kn_cpu_code *code,
                     const kn_kernel *kernel, const kn_cpu_bound *bound, const kn_call *call);

#endif
