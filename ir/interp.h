/* The reference interpreter: runs a graph one operation and one value at a time, through ir/eval.c.
 * It is the definition that every device is compared with.
 *
 * Beside each value it can carry an error bound: by how much a device may differ from it when every
 * operation is as inexact as ops.def allows. An operand's error is carried through an operation by
 * evaluating it at both ends of the operand's interval. An infinite bound means that nothing is known: the
 * operands straddle a jump (x < y with x about equal to y), or a result may or may not overflow. */
#ifndef KN_IR_INTERP_H
#define KN_IR_INTERP_H

#include "ir/graph.h"

/* An array in host memory. Strides in elements. */
typedef struct kn_array {
    kn_dtype dtype;
    int rank;
    int64_t shape[KN_MAX_RANK], stride[KN_MAX_RANK];
    void *data;
} kn_array;

/* Row-major strides of a shape. */
void kn_compact_strides(const int64_t *shape, int rank, int64_t *stride);
/* The number of elements; -1 when it does not fit in 63 bits. */
int64_t kn_count(const int64_t *shape, int rank);

/* The error bounds that are asked for. */
typedef struct kn_bounds {
    double **of; /* per output: receives its bounds, compact row-major */
    bool fast;   /* those of fast_math: ir/fast.h */
} kn_bounds;

/* Runs `g` for the symbol values `sizes`. `in` has one array per graph input (by-value ones rank 0), `out`
 * one per graph output, with the right dtype and shape. bounds: made in `a`; or NULL. SHAPE for a minimum or
 * maximum of nothing. */
kn_status kn_interp(const kn_graph *g, kn_arena *a, const int64_t *sizes, const kn_array *in,
                    kn_array *out, const kn_bounds *bounds);

/* The same of each of g->ranks ranks, one operation after the other on all of them. */
typedef struct kn_interp_call {
    const int64_t *sizes;
    const kn_array *in;
    kn_array *out;
    const kn_bounds *bounds;
} kn_interp_call;
kn_status kn_interp_ranks(const kn_graph *g, kn_arena *a, const kn_interp_call *calls, int ranks);

/* The sizes of a node's shape. SHAPE when one is unknown, negative or the element count overflows. */
kn_status kn_node_sizes(const kn_node *n, const int64_t *sizes, int64_t *shape);

#endif
