/* Random programs under fast_math against the reference interpreter, which computes them as they were written: within
 * the bounds of ir/fast.h on the CPU device and the emulator; and the sources, which differ from those without it,
 * compile.
 *
 * KILN_FUZZ: how many; KILN_SEED: the first one's seed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/nvrtc.h"
#include "tests/differential/check.h"

enum { PROGRAMS = EFFORT(300, 40), EMULATED = EFFORT(6, 2), COMPILED = EFFORT(4, 1) };
enum { ELEMENTS = 6000, FEW_ELEMENTS = 2000 };

static const kn_program_options fast_sets[] = {
    {.fusion = true, .fast_math = true},
    {.fusion = true, .fast_math = true, .schedule = "whole", .reuse = "keep"},
    {.fusion = true, .fast_math = true, .schedule = "split"},
    {.fusion = false, .fast_math = true},
};

/* A minimised program has bounds of its own. */
static failure check(void *user, const program *p, const kn_program_options *o, kn_text *why)
{
    program fast = *p;
    fast.fast = true;
    if (!program_results(&fast))
        return (failure){IN_REFERENCE, kn_last_status()};
    return check_there(user, &fast, o, why);
}

static int64_t elements(uint64_t seed) { return (void)seed, ELEMENTS; }
static int64_t few_elements(uint64_t seed) { return (void)seed, FEW_ELEMENTS; }

static const kn_program_options *way(uint64_t seed, int i)
{
    return &fast_sets[(seed + (uint64_t)i) % 4];
}

static void check_on(random_programs r)
{
    tally seen;
    kn_context *ctx = open_context(r.device);
    r.most_reports = 1;
    r.way = way;
    r.check = check;
    assert_int_equal(check_random_programs(&r, ctx, &seen), 0);
    kn_context_close(ctx);
    if (seen.compared + seen.skipped > 100000)
        assert_true(seen.compared > seen.skipped);
}

static void test_cpu(void **state)
{
    (void)state;
    check_on((random_programs){"cpu", PROGRAMS, .elements = elements, .ways = 4});
}

static void test_emu(void **state)
{
    (void)state;
    check_on((random_programs){"emu", EMULATED, .elements = few_elements, .ways = 1});
}

/* ---- sources ---- */

static const char *source_of(const program *p, kn_context *ctx, bool fast)
{
    kn_text why = kn_text_new(p->arena);
    sources s = {{0}};
    const kn_program_options o = {.fusion = true, .fast_math = fast};
    if (!program_check_cuda(p, ctx, &o, &why, &s))
        fail_msg("%s", kn_text_str(&why));
    assert_int_equal(s.text.len, 1);
    return s.text.data[0];
}

/* The kernel itself, behind the prelude. */
static const char *kernel_in(const char *source) { return strstr(source, "// ---- the kernel"); }

static void test_sources(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sizes, *fast; /* what the fast kernel has in it; NULL: the same kernel */
    } cases[] = {
        {"def f(x: f32[N, C]):\n    return x / sqrt(sum(x * x, axis=1, keepdims=True) + 1)\n",
         "N=8 C=64", "kn_rsqrt("},
        {"def f(x: f32[N], y: f32[N]):\n    return exp(x) / exp(y)\n", "N=64", "kn_exp("},
        {"def f(x: f32[N], y: f32[N]):\n    return (x - 1) / y\n", "N=64", "kn_fast_divide("},
        {"def f(x: f32[N], y: f32[N]):\n    return x + y\n", "N=64", NULL},
        {"def f(x: i32[N], y: i32[N]):\n    return x // y\n", "N=64", NULL},
        {"def f(x: f16[N], y: f16[N]):\n    return x / y + tanh(x)\n", "N=64", "kn_fast_divide("},
        {"def f(x: f64[N], y: f64[N]):\n    return exp(x) + y / x\n", "N=64", NULL},
    };
    kn_context *ctx;
    ctx = open_context("cpu");
    bool compiler = kn_nvrtc_find() == KN_OK;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        const program *p = program_of_text(&a, cases[i].text, "f.kiln", cases[i].sizes, 0);
        assert_non_null(p);
        const char *plain = source_of(p, ctx, false), *fast = source_of(p, ctx, true);
        assert_null(strstr(plain, "kn_fast"));
        assert_non_null(strstr(fast, "#define kn_exp kn_fast_exp"));
        if (cases[i].fast)
            assert_non_null(strstr(kernel_in(fast), cases[i].fast));
        else
            assert_string_equal(kernel_in(fast), kernel_in(plain));
        char *ptx = NULL;
        if (compiler && i < COMPILED &&
            kn_nvrtc_ptx("fast", fast, "compute_90", NULL, &ptx, NULL) != KN_OK)
            fail_msg("%s", kn_last_error());
        free(ptx);
        kn_arena_finish(&a);
    }
    kn_context_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_emu),
        cmocka_unit_test(test_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
