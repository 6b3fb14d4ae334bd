/* Computed values that take the place of what they are computed from, in registers and in shared memory, of a block and of
 * the blocks of a cluster: the emulator, which sees who writes and reads what, and the reference agree, however
 * --reuse forces it. tests/golden/kept.py holds what is kept where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/differential/program.h"

/* Normalised after a function that is worth keeping; and two of them, one after the other in one place. */
static const char grown[] = "def f(x: f32[N, C]):\n"
                            "    t = tanh(x)\n"
                            "    d = t - mean(t, axis=1, keepdims=True)\n"
                            "    return d * rsqrt(mean(d * d, axis=1, keepdims=True) + 1)\n";
static const char chain[] = "def f(x: f32[N, C], y: f32[N, C]):\n"
                            "    a = sqrt(x) + y\n"
                            "    b = exp(a / max(a, axis=1, keepdims=True))\n"
                            "    c = log(b / sum(b, axis=1, keepdims=True) + 1)\n"
                            "    return c / max(c, axis=1, keepdims=True)\n";

/* With what only the last sweep loads, so that copies bring what is kept. */
static const char beside[] = "def f(x: f32[N, C], g: f32[C]):\n"
                             "    t = tanh(x)\n"
                             "    d = t - mean(t, axis=1, keepdims=True)\n"
                             "    return d * rsqrt(mean(d * d, axis=1, keepdims=True) + 1) * g\n";

typedef struct kept_case {
    const char *text, *sizes, *schedule;
} kept_case;

static const kept_case cases[] = {
    {grown, "N=2 C=20001", "whole"},      {grown, "N=2 C=40000", "whole"},
    {grown, "N=2 C=40001", "cluster=2"},  {chain, "N=2 C=18002", "whole"},
    {chain, "N=2 C=30001", "cluster=3"},  {grown, "N=13 C=15000", "cluster=2"},
    {chain, "N=3 C=700", "whole"},        {beside, "N=9 C=6000", "cluster=2"},
    {grown, "N=5 C=130000", "cluster=2"}, /* of which blocks keep a part */
};

static const char *source_of(const program *p, kn_context *ctx, kn_program_options options,
                             const char *reuse)
{
    kn_text why = kn_text_new(p->arena);
    sources s = {{0}};
    options.reuse = reuse;
    if (!program_check_cuda(p, ctx, &options, &why, &s))
        fail_msg("%s", kn_text_str(&why));
    return s.text.data[0];
}

static void check(const kept_case *c, kn_context *ctx, const char *reuse)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    kn_text why = kn_text_new(&a);
    tally seen = {0, 0};
    const kn_program_options options = {.fusion = true, .schedule = c->schedule, .reuse = reuse};
    program *p = program_of_text(&a, c->text, "f.kiln", c->sizes, 0);
    if (!p)
        fail_msg("%s: %s", c->sizes, kn_last_error());
    if (strcmp(source_of(p, ctx, options, "keep"), source_of(p, ctx, options, "recompute")) == 0)
        fail_msg("%s, schedule %s: nothing is kept", c->sizes, c->schedule);
    if (!program_check(p, ctx, &options, &why, &seen))
        fail_msg("%s, schedule %s, --reuse %s: %s", c->sizes, c->schedule, reuse ? reuse : "chosen",
                 kn_text_str(&why));
    assert_true(seen.compared > seen.skipped);
    kn_arena_finish(&a);
}

static void test_emu(void **state)
{
    (void)state;
    static const char *const forced[] = {NULL, "keep", "recompute"};
    kn_context *ctx;
    assert_int_equal(kn_context_open(&(kn_context_config){.device = "emu"}, &ctx), KN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i], ctx, forced[i % 3]);
    kn_context_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_emu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
