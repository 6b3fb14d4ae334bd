/* Every elementwise operation at every type, over values where functions go wrong and many random ones, against
 * an exact result: integers of 128 bits, and the C library's functions of long double, which has at least 11
 * bits more than f64 (on x86-64; where it has not, the sweep of f64 is left out).
 *
 *     values.c      operands
 *     exact.c       what operations give
 *     test_sweep.c  what devices give, within the bounds of ops.def */
#ifndef KN_TESTS_SWEEP_H
#define KN_TESTS_SWEEP_H

#include "ir/op.h"

__extension__ typedef __int128 wide;

/* The value of an element: f of floats, i of the rest. */
typedef struct number {
    bool whole;
    wide i;
    long double f;
} number;

number number_load(kn_dtype t, const void *element);
/* As a cast from `from` to `to`, which rounds and wraps. */
number number_cast(number v, kn_dtype from, kn_dtype to);
/* x rounded to a float type. */
long double number_round(kn_dtype t, long double x);
/* The distance of two numbers of type t about x. */
long double number_ulp(kn_dtype t, long double x);

/* Elements of operand k of type t into `out`, of `n`: pairs of special values first, then all pairs of 8-bit
 * types, all values of 16-bit floats, and random ones. */
void values_fill(kn_dtype t, int k, int64_t n, void *out);

/* The type that the operands of `op` are converted to, all of them of type t; KN_NO_DTYPE: there is none. The second
 * one of ldexp is a whole number. */
kn_dtype exact_operand(kn_op op, kn_dtype t);
/* The operation on operands of that type (where: x[0] is a bool): floats to more than f64's digits, integers before
 * they wrap. */
number exact_result(kn_op op, kn_dtype t, const number *x);
/* What an ULP of the bound is one of, for operands of type t. */
long double exact_magnitude(kn_op op, kn_dtype t, const number *x, number result);

#endif
