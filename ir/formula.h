/* What formulas and their derivatives share. Graphs are hash-consed: what a derivative makes again is the forward's. */
#ifndef KN_IR_FORMULA_H
#define KN_IR_FORMULA_H

#include "ir/maker.h"

/* e = base ** -abs(x) and d = 1 + e: the logistic function is e / d below 0 and 1 / d elsewhere. Nothing overflows. e is
 * written as base ** where(signbit(x), x, -x), whose derivatives at 0 are those of base ** -x. The pass `algebra` makes it an
 * abs. */
typedef struct kn_logistic {
    kn_node *below, *e, *d; /* `below` has bool: the sign of x */
} kn_logistic;
kn_logistic kn_build_logistic(const maker *m, kn_op exp, kn_node *x);

/* x - y, and 0 for equal infinities. */
kn_node *kn_build_apart(const maker *m, kn_node *x, kn_node *y);
/* erfc(-x / sqrt(2)): twice the cumulative distribution function of the normal distribution. */
kn_node *kn_build_twice_cdf(const maker *m, kn_node *x);
/* tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)) */
kn_node *kn_build_gelu_tanh(const maker *m, kn_node *x);

#define KN_GELU_CUBE 0.044715

#endif
