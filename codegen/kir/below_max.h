/* Sums of exp(x - m) where m is the maximum of the same x, as softmax and logsumexp have them. */
#ifndef KN_CODEGEN_BELOW_MAX_H
#define KN_CODEGEN_BELOW_MAX_H

#include "codegen/kir/phase.h"

/* The maximum that is subtracted under the exponential of reduction r, or where(m is finite, m, 0). */
typedef struct kn_subtracted_max {
    int red;    /* its reduction; -1: r is no such sum */
    int m;      /* the value that is its result */
    int finite; /* the value that is "m is finite"; -1: m is always subtracted */
} kn_subtracted_max;

kn_subtracted_max kn_find_subtracted_max(const kn_phase *ph, int red);

/* Is `value` an exponential that is used in such sums alone? Each may be off by more the smaller it is, for small ones
 * add little: a sum of n is off by 4 + 3/4 log(n) units of the last place more at most (ir/interp_reduce.c). */
bool kn_is_summed_below_max(const kn_phase *ph, int value);

#endif
