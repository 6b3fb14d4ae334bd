/* What one launch adds to a kernel's structure and numbers: addresses and by-value arguments. */
#ifndef KN_CODEGEN_CALL_H
#define KN_CODEGEN_CALL_H

#include "base/arena.h"
#include "ir/dtype.h"

/* The memory that a buffer may touch: [low, high), in elements of `size` bytes at multiples of `step` bytes from
 * low; step 0: not known. */
typedef struct kn_span {
    const char *low, *high;
    int64_t step, size;
} kn_span;

/* Do the elements of both share bytes? Empty spans (low NULL) overlap nothing. Arrays that lie between each other's
 * elements, such as every other column and the columns between them, do not overlap. */
bool kn_spans_overlap(const kn_span *x, const kn_span *y);

/* An output shares bytes with argument `x`: an input, or, behind all inputs, output x - inputs, which is before it. False: no
 * more of them. */
typedef bool (*kn_overlap_fn)(void *ctx, int x, int output);
/* Calls fn for every output and each argument that it shares bytes with; false when one said so. Memory in `a`. overlap.c */
bool kn_overlaps(kn_arena *a, const kn_span *in, int nin, const kn_span *out, int nout,
                 kn_overlap_fn fn, void *ctx);

/* The largest number that divides both; 0 divides nothing, and is divided by all. */
int64_t kn_common_divisor(int64_t a, int64_t b);

typedef struct kn_call {
    void *const *bufs;        /* per kernel->bufs: address of element (0, 0, ...) */
    const kn_span *spans;     /* per kernel->bufs */
    const kn_scalar *scalars; /* per kernel->scalars, in the parameter's dtype */
    void *
        barrier; /* kernels whose blocks meet: a word of device memory, 0 or as such a launch left it */
} kn_call;

#endif
