/* Random data that is the same on every machine: element i is a function of (key, i) alone, made
 * with integer operations and with +, -, *, / and sqrt on doubles, which IEEE 754 defines to the
 * last bit. No libm function is used. (It must be compiled without contraction to fused
 * multiply-adds, which is what -std=c11 means.) */
#ifndef KN_CLI_RANDOM_H
#define KN_CLI_RANDOM_H

#include "cli/array.h"

typedef enum kn_dist_kind {
    KN_DIST_NORMAL,  /* mean 0, variance 1 */
    KN_DIST_UNIFORM, /* lo <= v < hi, before rounding to the element type */
    KN_DIST_ONES,
    KN_DIST_ZEROS,
    KN_DIST_RANDINT, /* ilo <= v < ihi */
    KN_DIST_COIN     /* 0 or 1 */
} kn_dist_kind;

typedef struct kn_dist {
    kn_dist_kind kind;
    double lo, hi;
    int64_t ilo, ihi;
} kn_dist;

/* The key of the input `name` under `seed`. */
uint64_t kn_random_key(uint64_t seed, const char *name);
/* Fills a->data. */
void kn_random_fill(const kn_dist *dist, uint64_t key, kn_cli_array *a);

#endif
