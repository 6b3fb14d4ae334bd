/* Casts of floats to integers of 8 or 16 bits whose operand is known to be small, as what quantisation clips: they need no
 * test of the range, and the rounding in front of them is the cast's own. */
#ifndef KN_CODEGEN_WHOLE_H
#define KN_CODEGEN_WHOLE_H

#include "codegen/kir/phase.h"

typedef enum kn_whole {
    KN_WHOLE_NONE,
    KN_WHOLE_SMALL, /* a cast: its operand is NaN or small */
    KN_WHOLE_NEAREST, /* the same, which rounds to the nearest integer instead of what is KN_WHOLE_LATER */
    KN_WHOLE_LATER, /* a rounding that all casts behind it do themselves */
} kn_whole;

/* One for each value, in `a`; NULL: there are no such casts. */
const kn_whole *kn_find_whole(kn_arena *a, const kn_phase *ph);

#endif
