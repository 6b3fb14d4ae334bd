/* Programs with autotune, whichever candidate wins: they and the reference interpreter agree, on the CPU device and on
 * the emulator, which sees every access, also those of the runs that are only timed. */
#include <stdio.h>

#include "tests/dice.h"
#include "tests/differential/check.h"

enum { PROGRAMS = EFFORT(75, 15), EMULATED = EFFORT(2, 1), ELEMENTS = 6000, PATIENCE = 1000000 };

static const kn_program_options tuned[] = {
    {.fusion = true, .autotune = PATIENCE},
    {.fusion = false, .autotune = PATIENCE},
    {.fusion = true, .autotune = PATIENCE, .schedule = "split"},
};

static void check_tuned(kn_context *ctx, program *p, const kn_program_options *o, tally *seen)
{
    throw_dice(ctx, p->seed);
    must_agree(p, ctx, o, "with autotune", seen);
}

static void test_random(void **state)
{
    (void)state;
    kn_context *ctx;
    tally seen = {0, 0};
    uint64_t first = setting("KILN_SEED", 1), n = setting("KILN_FUZZ", PROGRAMS);
    ctx = open_context("cpu");
    for (uint64_t seed = first; seed < first + n; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = program_make(&a, seed, ELEMENTS);
        if (!p)
            fail_msg("KILN_SEED=%llu: %s", (unsigned long long)seed, kn_last_error());
        check_tuned(ctx, p, &tuned[seed % 3], &seen);
        kn_arena_finish(&a);
    }
    if (n >= PROGRAMS)
        assert_true(ctx->tunings > n / 4); /* most had a choice */
    assert_true(seen.compared > 0);
    kn_context_close(ctx);
}

static void test_emulator(void **state)
{
    (void)state;
    kn_context *ctx;
    tally seen = {0, 0};
    if (kn_context_open(&(kn_context_config){.device = "emu"}, &ctx) != KN_OK)
        skip();
    for (uint64_t seed = 1; seed <= EMULATED; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = program_of_text(&a,
                                     "def softmax(x: f32[N, C]):\n"
                                     "    e = exp(x - max(x, axis=1, keepdims=True))\n"
                                     "    return e / sum(e, axis=1, keepdims=True)\n",
                                     "softmax.kiln", "N=3 C=9001", seed);
        assert_non_null(p);
        check_tuned(ctx, p, &tuned[0], &seen);
        kn_arena_finish(&a);
    }
    assert_int_equal(ctx->tunings, EMULATED);
    kn_context_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_emulator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
