/* kiln and DLPack: tensors of NumPy, PyTorch, JAX, CuPy, TVM, ... as arguments of kiln's programs, and outputs as
 * tensors of theirs. Nothing is copied.
 *
 * The structs are DLPack's, of its ABI 1 (DLManagedTensorVersioned) and before (DLManagedTensor); who looks into them
 * includes dlpack.h, in front of this header or behind it. */
#ifndef KILN_DLPACK_H
#define KILN_DLPACK_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* *arg becomes the tensor as the parameter or output `name` of the program: its memory, its shape and strides in
 * elements (which stay the tensor's: `arg` is good as long as the tensor is neither changed nor deleted), its dtype.
 * Whether it is what the program wants is checked by the run. `name` is kept as it is, by its address.
 *
 * The tensor stays the caller's: its deleter is not called. It may be deleted when the runs that use it are done, on a
 * GPU when their stream has got there.
 *
 * On a context of the CPU ("cpu", "emu", "ref") the tensor is in host memory (kDLCPU, kDLCUDAHost, kDLCUDAManaged); on
 * "cuda:N" in that GPU's (kDLCUDA N), managed or pinned. A number (KILN_SCALAR_IN) is a tensor of rank 0 in host
 * memory.
 *
 * ARGUMENT: another device, a name that the program does not have, a read-only tensor for what a run writes, another
 * major version of DLPack. TYPE: a dtype that kiln does not have, or of several lanes. SHAPE: more than KILN_MAX_RANK
 * axes. */
KILN_API kiln_status kiln_arg_from_dlpack(kiln_prog *prog, const char *name,
                                          const struct DLManagedTensor *tensor, kiln_arg *arg);
KILN_API kiln_status kiln_arg_from_dlpack_versioned(kiln_prog *prog, const char *name,
                                                    const struct DLManagedTensorVersioned *tensor,
                                                    kiln_arg *arg);

/* A new tensor for output `name`, of its dtype and of the shape that it has for these inputs, compact, on the context's
 * device; what is in its memory is not defined before a run has written it, as kiln_arg_from_dlpack() of it says. The
 * tensor is the caller's until it is given away; its deleter releases the memory, in any thread, and may be called
 * after the program and the context were destroyed. Errors as kiln_output_shape()'s and kiln_alloc()'s; *tensor is NULL
 * then. */
KILN_API kiln_status kiln_output_to_dlpack(kiln_prog *prog, const char *name, const kiln_arg *args,
                                           int nargs, struct DLManagedTensor **tensor);
KILN_API kiln_status kiln_output_to_dlpack_versioned(kiln_prog *prog, const char *name,
                                                     const kiln_arg *args, int nargs,
                                                     struct DLManagedTensorVersioned **tensor);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
