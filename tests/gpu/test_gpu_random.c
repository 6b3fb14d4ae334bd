/* Random programs on a GPU against the reference interpreter. Skipped where there is none.
 *
 * KILN_FUZZ: how many programs; KILN_SEED: the first one's seed; KILN_DEVICE: another device than "cuda". */
#include <stdlib.h>

#include "tests/differential/check.h"

enum { PROGRAMS = 40, ELEMENTS = 20000, MANY_ELEMENTS = 300000, MOST_REPORTS = 5 };

static bool skipped;

static int64_t elements(uint64_t seed) { return seed % 8 == 0 ? MANY_ELEMENTS : ELEMENTS; }

/* Compiling takes the time: the fused program as chosen, and one of the other ways in turn. */
static const kn_program_options *way(uint64_t seed, int i)
{
    return &option_sets[i ? 1 + seed % (OPTION_SETS - 1) : 0];
}

static void test_random(void **state)
{
    (void)state;
    kn_context *ctx;
    tally seen;
    const char *named = getenv("KILN_DEVICE"), *device = named ? named : "cuda";
    const random_programs r = {device, PROGRAMS, MOST_REPORTS, elements, 2, way, check_there};
    if (kn_context_open(&(kn_context_config){.device = device}, &ctx) != KN_OK) {
        print_message("%s\n", kn_last_error());
        skipped = true;
        skip();
    }
    assert_int_equal(check_random_programs(&r, ctx, &seen), 0);
    kn_context_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed ? failed : skipped ? 77 : 0;
}
