/* The scalar evaluator: the meaning of every elementwise operation, one value at a time.
 *
 * Operations of f32, f16 and bf16 are computed in double and rounded once, so a result is the correctly rounded one
 * (but for rare double rounding); f64 operations are the C library's, and complex ones too, of which c64's are c128's
 * rounded. Integers wrap. The constant folder and the reference interpreter share it. */
#ifndef KN_IR_EVAL_H
#define KN_IR_EVAL_H

#include "ir/op.h"

/* Operands are of the node's compute type (for where: bool, t, t). The result is of type `dtype`. */
kn_scalar kn_eval(kn_op op, kn_dtype dtype, const kn_scalar *in);
kn_scalar kn_eval_cast(kn_scalar v, kn_dtype to);

/* The identity of a reduction's combine operation: 0, 1, +inf or the largest integer, ... */
kn_scalar kn_identity(kn_op reduce, kn_dtype dtype);

#endif
