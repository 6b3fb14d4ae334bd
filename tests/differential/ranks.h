/* Programs of arrays that are divided over ranks, which are threads: each rank's results against the reference
 * interpreter's of the whole arrays. */
#ifndef KN_TESTS_DIFFERENTIAL_RANKS_H
#define KN_TESTS_DIFFERENTIAL_RANKS_H

#include "tests/differential/program.h"

enum { MOST_RANKS = 5 };

/* Of a program with whole arrays: sizes has N and, the same, shard(N). */
typedef struct ranked {
    const program *p;
    int ranks;
    const char *path; /* of the communicator; NULL: the best */
    kn_context *ctx[MOST_RANKS];
    const kn_program_options *options;
    int64_t part[MAX_SYMBOLS][MOST_RANKS]; /* of symbols that are parts: each rank's */
} ranked;

/* Parts at random, of which one in five is empty. */
void ranked_divide(ranked *r, rng *from);
/* Runs each rank twice and compares; what is not divided must be equal to the bit on all. */
bool ranked_check(const ranked *r, kn_text *why, tally *seen);

#endif
