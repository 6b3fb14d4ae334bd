/* Are the arguments' addresses memory that the device's kernels can use? A GPU's kernel that is given ordinary host
 * memory faults, and no kernel runs in the process's CUDA context ever after; so the driver is asked about each address
 * when it is first seen. Addresses that were good are kept by the context: runs with those ask nothing. */
#ifndef KN_RUNTIME_POINTERS_H
#define KN_RUNTIME_POINTERS_H

#include "runtime/variant.h"

/* ARGUMENT with the name of the first argument that is not; `promises`: of an array that is promised nothing is asked. Any
 * thread. */
kn_status kn_check_pointers(kn_program *p, const kn_inputs *in, bool promises);
/* The same of a workspace. */
kn_status kn_check_workspace(kn_program *p, const void *workspace);
/* The same of the i-th parameter of a user's kernel, which is a pointer: NULL and an array's end are good too. */
kn_status kn_check_parameter(kn_context *ctx, int i, const void *data);

#endif
