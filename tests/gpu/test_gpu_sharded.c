/* Programs of arrays that are divided over the GPUs there are, against the reference interpreter's results for whole arrays:
 * exchanged while kernels run, and through the host. Skipped where there are no two GPUs that reach each other. */
#include <stdio.h>
#include <string.h>

#include "runtime/cuda/driver.h"
#include "tests/differential/check.h"
#include "tests/differential/ranks.h"

enum { SKIPPED = 77 };

static kn_context *contexts[MOST_RANKS];
static int ranks;

static void check_all(const char *path)
{
    tally seen = {0};
    const ranked_place at = {contexts, ranks, path, NULL};
    for (int i = 0; i < RANKED_PROGRAMS; i++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            kn_arena a;
            kn_arena_init(&a, NULL);
            kn_text why = kn_text_new(&a);
            if (!ranked_program_check(&a, &ranked_programs[i], &at, seed, &why, &seen))
                fail_msg("%s, seed %d: %s", ranked_programs[i].what, (int)seed, kn_text_str(&why));
            kn_arena_finish(&a);
        }
    must_have_compared(&seen);
}

static void test_kernel(void **state)
{
    (void)state;
    check_all("kernel");
}

static void test_host(void **state)
{
    (void)state;
    check_all("host");
}

/* KILN_FUZZ of them from KILN_SEED on. */
static void test_random(void **state)
{
    (void)state;
    const uint64_t first = setting("KILN_SEED", 1), n = setting("KILN_FUZZ", 20);
    const kn_program_options options = {.fusion = true};
    tally seen = {0};
    for (uint64_t seed = first; seed < first + n; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        rng r = {seed};
        kn_text why = kn_text_new(&a);
        ranked of = {.p = ranked_random(&a, seed), .ranks = ranks, .options = &options};
        memcpy(of.ctx, contexts, sizeof of.ctx);
        if (of.p)
            ranked_divide(&of, &r);
        if (of.p && !ranked_check(&of, &why, &seen))
            fail_msg("KILN_SEED=%d KILN_FUZZ=1: %s\n%s", (int)seed, kn_text_str(&why),
                     of.p->graph->source);
        kn_arena_finish(&a);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_random),
    };
    int gpus = 0;
    const kn_driver *d;
    if (kn_driver_init(&d, &gpus) != KN_OK || gpus < 2) {
        printf("skipped: there are no two GPUs\n");
        return SKIPPED;
    }
    ranks = gpus < MOST_RANKS ? gpus : MOST_RANKS;
    for (int r = 0; r < ranks; r++) {
        char device[24];
        snprintf(device, sizeof device, "cuda:%d", r);
        contexts[r] = open_context(device);
    }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int r = 0; r < ranks; r++)
        kn_context_close(contexts[r]);
    return failed;
}
