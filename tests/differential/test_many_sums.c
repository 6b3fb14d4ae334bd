/* Rows that fill a block's shared memory, beside more sums than there is room to combine at a time. */
#include "tests/differential/check.h"

static void test_many_sums(void **state)
{
    enum { SUMS = 40 };
    (void)state;
    kn_arena a;
    tally seen = {0, 0};
    kn_context *ctx = open_context("emu");
    kn_arena_init(&a, NULL);
    kn_text text = kn_text_new(&a), all = kn_text_new(&a);
    kn_put(&text, "def f(x: f64[N, C]):\n");
    for (int i = 1; i <= SUMS; i++) {
        kn_putf(&text, "    s%d = sum(x * (x + %d), axis=1, keepdims=True)\n", i, i);
        kn_putf(&all, " - s%d", i);
    }
    kn_putf(&text, "    return x%s\n", kn_text_str(&all));
    program *p = program_of_text(&a, kn_text_str(&text), "f.kiln", "N=1 C=28000", 0);
    assert_non_null(p);
    must_agree(p, ctx, &(kn_program_options){.fusion = true, .schedule = "whole"}, "many sums",
               &seen);
    must_have_compared(&seen);
    kn_context_close(ctx);
    kn_arena_finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
