/* The kernel IR as CUDA C++ source.
 *
 * The text needs no header but the prelude in front of it, is deterministic to the byte for equal
 * structure, and uses the user's names: value v of the IR is called <name>_<number>. Parameters are those of
 * kn_kernel_params(), in its order. */
#ifndef KN_CODEGEN_CUDA_H
#define KN_CODEGEN_CUDA_H

#include "codegen/kir.h"

/* The whole translation unit. */
const char *kn_cuda_source(kn_arena *a, const kn_kernel *k);
/* The kernel function alone, for reading. */
void kn_cuda_kernel(kn_text *t, const kn_kernel *k);

/* Bytes of static shared memory that the reductions of a sweep of rows take while they are combined: those that have no
 * place beside the others come after them. */
enum { KN_COMBINE_BYTES = 3072 };
/* Bytes of static shared memory that a phase of columns takes in a block of so many threads. */
int kn_cuda_static_bytes(const kn_phase *ph, int threads);
/* Bytes of dynamic shared memory in which the blocks of a cluster tell each other what they found in a sweep; 0 without
 * clusters. */
int64_t kn_cuda_boards_bytes(const kn_phase *ph);
/* Do elements use group value i, in the sweep that `need` is of; need NULL: in any? */
bool kn_is_told(const kn_phase *ph, int i, int sweep, const bool *need);
/* By which policy a launch reads the elements that are loaded, or fetched, by policy; 0: its kernel has none of them. */
int64_t kn_cuda_policy(const kn_kernel *k);
/* Does a kernel whose policy is known read all once, and the L2 cache let it pass: what it reads leaves that last, or is so
 * much, and nothing written, that what others left there to be written back does not count? */
bool kn_cuda_streams(const kn_kernel *k);
/* Does the first sweep of phase p walk backwards, from where an earlier phase has read the same array last? */
bool kn_cuda_turns_round(const kn_kernel *k, int p);
/* Bytes of dynamic shared memory through which groups abreast are combined; 0 where there are none. */
int64_t kn_cuda_abreast_bytes(const kn_phase *ph, int threads);

#endif
