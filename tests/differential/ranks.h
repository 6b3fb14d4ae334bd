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
    const char *schedule_of_last; /* the last rank's, where it is to plan otherwise; or NULL */
    kn_text *explained;           /* gets rank 0's plan in words; or NULL */
    int64_t part[MAX_SYMBOLS][MOST_RANKS]; /* of symbols that are parts: each rank's */
} ranked;

/* Programs by hand. */
typedef struct ranked_program {
    const char *what, *text, *sizes;
} ranked_program;
enum { RANKED_PROGRAMS = 15 };
extern const ranked_program ranked_programs[RANKED_PROGRAMS];
/* Where: a context a rank. */
typedef struct ranked_place {
    kn_context *const *ctx;
    int ranks;
    const char *path, *schedule_of_last;
} ranked_place;
/* One of them, with parts and data of a seed: what ranked_check() says, and that explain has the exchanges. */
bool ranked_program_check(kn_arena *a, const ranked_program *s, const ranked_place *at,
                          uint64_t seed, kn_text *why, tally *seen);

/* A random program in which an array or more is divided, with whole arrays; NULL where none that this seed gives has a
 * meaning for several ranks. */
program *ranked_random(kn_arena *a, uint64_t seed);
/* Parts at random, of which one in five is empty. */
void ranked_divide(ranked *r, rng *from);
/* Runs each rank twice and compares; what is not divided must be equal to the bit on all. */
bool ranked_check(const ranked *r, kn_text *why, tally *seen);

#endif
