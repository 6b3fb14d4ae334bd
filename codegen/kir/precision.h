/* Which f32 values need not be exact to the last bit: those of which nothing is left but roundings to 16 bits, behind
 * operations that keep relative errors small, and exponentials of x - max(x) that are only summed. GPUs approximate them:
 * ir/interp_bound.c and ir/interp_reduce.c have their error bounds. */
#ifndef KN_CODEGEN_PRECISION_H
#define KN_CODEGEN_PRECISION_H

#include "codegen/kir/kir.h"

/* What values take, in additions: operations have theirs in ir/ops.def. */
enum {
    KN_LOAD_COST = 2,
    KN_FUNCTION_COST = 4, /* costlier operations are functions */
    KN_APPROXIMATED = 2,  /* an approximated function takes one in so many of its additions */
};

/* One for each value, in `a`. */
const bool *kn_find_imprecise(kn_arena *a, const kn_phase *ph);

/* Is value i an exponential, or the quotient of an element, that is approximated? An exponential that is only rounded,
 * behind no other operation, keeps the bound of ir/ops.def. */
bool kn_is_approximated(const kn_phase *ph, const bool *imprecise, int i);

/* Is it a function of floats, which fast_math approximates? */
static inline bool kn_is_function(const kn_value *v)
{
    return v->kind == KN_V_ELEM && kn_ops[v->op].cost > KN_FUNCTION_COST && kn_is_float(v->dtype);
}

#endif
