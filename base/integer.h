/* Arithmetic of whole numbers, none of them negative. */
#ifndef KN_BASE_INTEGER_H
#define KN_BASE_INTEGER_H

#include <stdint.h>

/* a / b, rounded up; b is above 0. */
static inline int64_t kn_ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* The smallest multiple of `to`, which is above 0, from n on. */
static inline int64_t kn_round_up(int64_t n, int64_t to) { return kn_ceil_div(n, to) * to; }

/* a * b, or INT64_MAX if it is more. */
static inline int64_t kn_capped_product(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* The smallest power of two from n on. */
static inline int64_t kn_power_of_two_from(int64_t n)
{
    int64_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

#endif
