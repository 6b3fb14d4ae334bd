/* Arithmetic of 16-bit floats. A GPU has instructions for two at once. Their results are those of f32 rounded to 16 bits,
 * as docs/language.md wants them: f32 has more than twice the digits and two (Figueroa, When is Double Rounding Innocuous?,
 * 1995). */
#ifndef KN_CODEGEN_HALVES_H
#define KN_CODEGEN_HALVES_H

#include "codegen/kir/kir.h"

static inline bool kn_is_half_arithmetic(kn_op op, kn_dtype t)
{
    return kn_is_half(t) &&
           (op == KN_OP_ADD || op == KN_OP_SUB || op == KN_OP_MUL || op == KN_OP_NEG ||
            op == KN_OP_ABS || op == KN_OP_MAXIMUM || op == KN_OP_MINIMUM);
}

#endif
