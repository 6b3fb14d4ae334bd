/* Pseudo-random numbers that are the same everywhere: linear congruential generators (Knuth's, and that of Numerical
 * Recipes). The upper bits are the better ones. */
#ifndef KN_TESTS_RANDOM_H
#define KN_TESTS_RANDOM_H

#include <stdint.h>

static inline uint64_t random_64(uint64_t *state)
{
    return *state = *state * 6364136223846793005u + 1442695040888963407u;
}

static inline uint32_t random_32(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}

#endif
