/* What fast_math may make of an operation: how far a device's result may be from the reference interpreter's, which
 * computes the operations as they were written. In units of the last place of the result, or of what is named:
 *
 *     add, subtract             1 of the largest operand: terms may have been added in another order
 *     multiply                  2
 *     divide                    8
 *     power                     16
 *     sqrt, rsqrt               4
 *     exp, exp2                 4 + 2 * abs(x): __expf, and sums of exponents
 *     log, log2, log10, tanh    8 of the larger of the result and 1: __logf near 1, tanh near 0
 *     others                    as in ops.def
 *
 * 16-bit floats: that of f32, and half a unit of their own. Nothing is promised where an operand or the result of one
 * of these is not finite, or is, in magnitude, outside 2**-40 to 2**40 (f64: 2**-300 to 2**300) and not 0: products in
 * another order may leave the type's range, and numbers below the smallest normal one may become 0. */
#ifndef KN_IR_FAST_H
#define KN_IR_FAST_H

#include "ir/graph.h"

/* The operation's own part of the bound, in units in the last place of *of, of its type; INFINITY where nothing is
 * promised. in: the operands of elementwise node n, r: its result. */
double kn_fast_ulp(const kn_node *n, const kn_scalar *in, kn_scalar r, kn_scalar *of);

#endif
