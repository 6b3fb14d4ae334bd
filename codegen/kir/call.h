/* What one launch adds to a kernel's structure and numbers: addresses and by-value arguments. */
#ifndef KN_CODEGEN_CALL_H
#define KN_CODEGEN_CALL_H

#include "base/arena.h"
#include "ir/dtype.h"

/* The memory that a buffer may touch: [low, high). Its elements have `size` bytes and begin at multiples of `step`
 * bytes from low; step 0: unknown. */
typedef struct kn_span {
    const char *low, *high;
    int64_t step, size;
} kn_span;

/* Do elements of both share bytes? Empty spans (low NULL) overlap nothing. Interleaved arrays, such as the even and
 * the odd columns of a matrix, do not overlap. */
bool kn_spans_overlap(const kn_span *x, const kn_span *y);

/* Reports that an output shares bytes with argument `x`: an input if x < the number of inputs, else an earlier
 * output, number x - inputs. Returns false to stop the search. */
typedef bool (*kn_overlap_fn)(void *ctx, int x, int output);
/* Calls fn for each output and each argument with which it shares bytes; false when fn stopped the search. Allocates
 * in `a`. overlap.c */
bool kn_overlaps(kn_arena *a, const kn_span *in, int nin, const kn_span *out, int nout,
                 kn_overlap_fn fn, void *ctx);

/* The greatest common divisor; of 0 and n it is n. */
int64_t kn_common_divisor(int64_t a, int64_t b);

typedef struct kn_call {
    void *const *bufs;        /* per kernel->bufs: address of element (0, 0, ...) */
    const kn_span *spans;     /* per kernel->bufs */
    const kn_scalar *scalars; /* per kernel->scalars, in the parameter's dtype */
    /* kernels whose blocks synchronise: device memory that is 0, or as the last such launch left it */
    void *barrier;
    /* kernels that exchange with other ranks: their kn_ranks, in device memory */
    void *ranks;
} kn_call;

#endif
