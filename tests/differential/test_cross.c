/* Reductions along the rows and along the columns of one array, in one sweep where the planner says so: every device
 * agrees with the reference interpreter, for ranges of rows that do not come out even, rows that do not fill a
 * block's threads, every width of type, arrays that lie oddly, and empty ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/differential/program.h"
#include "tests/effort.h"

#define SINKHORN                                                                                   \
    "def f(k: f32[N, M]):\n"                                                                       \
    "    r = k / sum(k, axis=1)[:, None]\n"                                                        \
    "    return r / sum(r, axis=0)\n"
#define BOTH(T) "def f(x: " T "[N, M]):\n    return sum(x, axis=0), sum(x, axis=1)\n"

/* crossed: are there bands on the emulator where all arrays are compact? */
static const struct {
    const char *text, *sizes;
    bool crossed;
} cases[] = {
    {SINKHORN, "N=64 M=512", true},
    {SINKHORN, "N=61 M=512", true},   /* the last band is short */
    {SINKHORN, "N=300 M=1020", true}, /* threads without members */
    {SINKHORN, "N=67 M=1023", true},  /* no vectors */
    {SINKHORN, "N=40 M=4096", true},  /* half a block a row */
    {SINKHORN, "N=44 M=15000", true}, /* a block a row */
    {SINKHORN, "N=300 M=7", false},   /* too narrow */
    {SINKHORN, "N=1 M=512", false},
    {SINKHORN, "N=2 M=40000", false}, /* too wide */
    {SINKHORN, "N=0 M=512", false},
    {SINKHORN, "N=64 M=0", false},
    {BOTH("f32"), "N=500 M=512", true},
    {BOTH("f64"), "N=601 M=256", true},
    {BOTH("f16"), "N=500 M=1000", true},
    {BOTH("bf16"), "N=500 M=1024", true},
    {BOTH("i32"), "N=499 M=512", true},
    {BOTH("i64"), "N=500 M=260", true},
    {BOTH("u8"), "N=200 M=1024", false}, /* little to read, much to accumulate */
    {BOTH("f32"), "N=64 M=64", false},   /* costs a barrier */
    /* the columns come first, and read what the rows do not; other operations than sums */
    {"def f(x: f32[N, M], u: f32[N], v: f32[M]):\n"
     "    return max(x * u[:, None], axis=0), min(x * v, axis=0), sum(x * v, axis=1)\n",
     "N=500 M=500", true},
    {"def f(x: i32[N, M]):\n    return any(x > 3, axis=1), all(x < 90, axis=0)\n", "N=500 M=512",
     true},
    /* what rows make is an output too, and columns need it for two stages */
    {"def f(x: f32[N, M]):\n"
     "    r = x / max(x, axis=1)[:, None]\n"
     "    m = max(r, axis=0)\n"
     "    return r, m, sum(r - m, axis=0), r / m\n",
     "N=130 M=512", true},
    /* axes that lie in memory the other way round, and more than two of them */
    {"def f(x: f32[M, N]):\n    r = x / sum(x, axis=0)\n    return r / sum(r, axis=1)[:, None]\n",
     "N=512 M=64", false},
    {"def f(x: f32[A, B, C, D]):\n"
     "    r = x / sum(x, axis=(2, 3), keepdims=True)\n"
     "    return r / sum(r, axis=(0, 1))\n",
     "A=8 B=9 C=16 D=32", true},
    {"def f(x: f32[A, B, C, D]):\n"
     "    r = x / sum(x, axis=(1, 3), keepdims=True)\n"
     "    return r / sum(r, axis=(0, 2), keepdims=True)\n",
     "A=8 B=9 C=16 D=32", true},
    /* the columns of one array and the rows of its transpose are the same axis */
    {"def f(x: f32[N, N]):\n    return sum(x, axis=1), sum(x.T, axis=0)\n", "N=512", false},
};
enum { CASES = sizeof cases / sizeof *cases };

static bool has_bands(const program *p, kn_context *ctx)
{
    kn_program *prog;
    kn_plan *plan;
    bool bands = false;
    assert_int_equal(kn_program_create(ctx, p->graph, &option_sets[0], &prog), KN_OK);
    assert_int_equal(program_plan(p, prog, ctx->dev->ops->target(ctx->dev), p->arena, &plan),
                     KN_OK);
    for (int k = 0; k < plan->kernels.len; k++)
        for (int i = 0; i < plan->kernels.data[k]->phases.len; i++)
            bands = bands || plan->kernels.data[k]->phases.data[i].banded;
    kn_program_destroy(prog);
    return bands;
}

/* Every case with compact arrays (sanitized, every third), and each `every`th with others. */
static void check_device(const char *device, int every)
{
    kn_context *ctx;
    tally seen = {0, 0};
    int failed = 0;
    assert_int_equal(kn_context_open(&(kn_context_config){.device = device}, &ctx), KN_OK);
    for (int i = 0; i < CASES; i += EFFORT(1, 3))
        for (uint64_t seed = 0; seed <= (i % every == 0); seed++) {
            kn_arena a;
            kn_arena_init(&a, NULL);
            kn_text why = kn_text_new(&a);
            program *p = program_of_text(&a, cases[i].text, "text", cases[i].sizes, seed);
            if (!p)
                fail_msg("%s%s: %s", cases[i].text, cases[i].sizes, kn_last_error());
            if (!program_check(p, ctx, &option_sets[0], &why, &seen))
                fail_msg("%s with %s, seed %d, on %s: %s", cases[i].text, cases[i].sizes, (int)seed,
                         device, kn_text_str(&why));
            if (seed == 0 && strcmp(device, "emu") == 0 && has_bands(p, ctx) != cases[i].crossed) {
                print_error("%s with %s has %s\n", cases[i].text, cases[i].sizes,
                            cases[i].crossed ? "no bands" : "bands");
                failed++;
            }
            kn_arena_finish(&a);
        }
    kn_context_close(ctx);
    assert_int_equal(failed, 0);
    assert_true(seen.compared > 0 && seen.skipped * 10 < seen.compared);
}

static void test_cpu(void **state)
{
    (void)state;
    check_device("cpu", 1);
}

static void test_emu(void **state)
{
    (void)state;
    check_device("emu", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu), cmocka_unit_test(test_emu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
