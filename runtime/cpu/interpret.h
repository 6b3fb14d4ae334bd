/* Runs a phase without machine code: the steps of its plan (plan.h), each over a block of lanes (lanes.h). */
#ifndef KN_RUNTIME_CPU_INTERPRET_H
#define KN_RUNTIME_CPU_INTERPRET_H

#include "runtime/cpu/divide.h"

/* KN_MEMORY, or what the pool returns. */
kn_status kn_cpu_interpret(const kn_cpu_plan *plan, kn_job *job, const kn_cpu_machine *machine);

#endif
