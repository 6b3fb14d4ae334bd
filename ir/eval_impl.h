/* Between the files of the scalar evaluator. */
#ifndef KN_IR_EVAL_IMPL_H
#define KN_IR_EVAL_IMPL_H

#include "ir/eval.h"

/* Of complex operands; y is of no meaning to an operation of one. */
kn_scalar kn_eval_complex(kn_op op, kn_dtype t, kn_scalar x, kn_scalar y);

#endif
