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

/* `kernel` has the structure that the code was made of, and this call's numbers. */
kn_status kn_cpu_run(const kn_cpu_machine *machine, const kn_cpu_code *code,
                     const kn_kernel *kernel, const kn_call *call);

#endif
