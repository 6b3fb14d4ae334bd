/* Finds out which parameters of a user's kernel are pointers. The driver knows only their sizes, so the source is
 * read, without a preprocessor. */
#ifndef KN_RUNTIME_CUDA_SIGNATURE_H
#define KN_RUNTIME_CUDA_SIGNATURE_H

#include <stdint.h>

/* Bit i: every __global__ function of the name of `entry` (which may be an instance, "ns::reduce<256, float>") declares
 * its i-th parameter by a '*' or as an array. A type's own name, a macro or a reference to a template's parameter may
 * hide a pointer; what is no pointer is never said to be one. */
uint64_t kn_signature_pointers(const char *source, const char *entry);

#endif
