/* Between the files of the reference interpreter:
 *
 *     interp.c         nodes in order, elementwise operations, views, elements at computed indices
 *     interp_bound.c   how far a device's result may be from the reference
 *     interp_jump.c    where that is not known
 *     interp_reduce.c  reductions */
#ifndef KN_IR_INTERP_IMPL_H
#define KN_IR_INTERP_IMPL_H

#include "ir/interp.h"

/* One element: its value and how far a device's may be from it, of a complex number in the plane. `rough` is of an f32,
 * and relative: how much farther it may be where nothing is left of it but its rounding to 16 bits. */
typedef struct kn_cell {
    union {
        int64_t i;
        double f;
    };
    double im;
    double err, rough;
} kn_cell;

typedef struct kn_tensor {
    int64_t shape[KN_MAX_RANK], stride[KN_MAX_RANK];
    int64_t count;
    kn_cell *cells; /* compact */
} kn_tensor;

static inline kn_scalar kn_cell_value(kn_dtype t, const kn_cell *c)
{
    return (kn_scalar){.dtype = t, .i = c->i, .im = c->im};
}

/* The next index in row-major order; offset follows with the given strides. */
static inline void kn_interp_step(int64_t *index, const int64_t *shape, int rank,
                                  const int64_t *stride, int64_t *offset)
{
    for (int i = rank - 1; i >= 0; i--) {
        *offset += stride[i];
        if (++index[i] < shape[i])
            return;
        *offset -= stride[i] * shape[i];
        index[i] = 0;
    }
}

/* How far the result of an elementwise node's operation, *r of operands `in`, may be from a device's, whose operands are
 * off by the errors in `c`; with `fast`, under fast_math. */
double kn_interp_bound(const kn_node *n, const kn_scalar *r, const kn_scalar *in,
                       const kn_cell *const *c, bool fast);
/* What `rough` is of that result. */
double kn_interp_rough(const kn_node *n, const kn_scalar *r, const kn_scalar *in,
                       const kn_cell *const *c);
/* `err` plus a rounding of that many ULP; infinite where the result may overflow. */
double kn_interp_rounding(double err, double ulp, const kn_scalar *r);

/* May the result jump or be infinite somewhere inside an operand's interval, so that its ends say nothing? */
bool kn_interp_may_jump(const kn_node *n, const kn_scalar *in, const kn_cell *const *c);
/* Does the interval around operand k hold 0? */
bool kn_interp_may_be_zero(const kn_scalar *in, const kn_cell *const *c, int k);

/* A reduction; x[k] is operand k. */
kn_status kn_interp_reduce(const kn_node *n, const kn_tensor *const *x, bool bounds, bool fast,
                           kn_tensor *out);

#endif
