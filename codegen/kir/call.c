#include "codegen/kir/call.h"

int64_t kn_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

bool kn_spans_overlap(const kn_span *x, const kn_span *y)
{
    if (!x->low || !y->low || x->low >= y->high || y->low >= x->high)
        return false;
    if (!x->step || !y->step)
        return true;
    /* Modulo the common step, every element of x begins at 0 and every element of y at `shift`. */
    int64_t step = kn_common_divisor(x->step, y->step), shift = (y->low - x->low) % step;
    shift += shift < 0 ? step : 0;
    return shift < x->size || shift + y->size > step;
}
