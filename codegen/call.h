/* What one launch adds to a kernel's structure and numbers: addresses and by-value arguments. */
#ifndef KN_CODEGEN_CALL_H
#define KN_CODEGEN_CALL_H

#include "ir/dtype.h"

/* The memory that a buffer may touch: [low, high). */
typedef struct kn_span {
    const char *low, *high;
} kn_span;

/* Empty spans (low NULL) overlap nothing. */
static inline bool kn_spans_overlap(const kn_span *x, const kn_span *y)
{
    return x->low && y->low && x->low < y->high && y->low < x->high;
}

typedef struct kn_call {
    void *const *bufs;        /* per kernel->bufs: address of element (0, 0, ...) */
    const kn_span *spans;     /* per kernel->bufs */
    const kn_scalar *scalars; /* per kernel->scalars, in the parameter's dtype */
    void *barrier; /* cooperative kernels: a word of device memory, 0 or as such a launch left it */
} kn_call;

#endif
