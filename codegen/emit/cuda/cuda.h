/* The kernel IR as CUDA C++ source.
 *
 * The text needs no header but the prelude in front of it, is deterministic to the byte for equal
 * structure, and uses the user's names: value v of the IR is called <name>_<number>. Parameters are those of
 * kn_kernel_params(), in its order. */
#ifndef KN_CODEGEN_CUDA_H
#define KN_CODEGEN_CUDA_H

#include "codegen/kir/kir.h"

/* The whole translation unit. */
const char *kn_cuda_source(kn_arena *a, const kn_kernel *k);
/* The kernel function alone, for reading. */
void kn_cuda_kernel(kn_text *t, const kn_kernel *k);

#endif
