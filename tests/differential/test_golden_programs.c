/* The programs of tests/golden/programs, which the optimiser has aims for: CPU device, emulator and reference
 * interpreter agree, in every layout, fused and unfused, with reductions split and not. */
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "tests/differential/check.h"

/* Sizes for every program: each takes those of its own symbols. */
static const char *const sizes[] = {
    "N=1 C=1 H=1 W=1 M=1 G=1", "N=5 C=6 H=3 W=7 M=4",  "N=7 C=130 H=1 W=2 M=67",
    "N=3 C=64 H=8 W=8 M=96",   "N=0 C=32 H=2 W=3 M=4", "N=4 C=0 H=2 W=3 M=0 G=1",
};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* One row of many members, and many rows of few: on the CPU only, where it takes no time. */
static const char *const long_sizes[] = {"N=2 C=20000 H=2 W=1 M=3000", "N=300 C=32 H=2 W=2 M=16"};

static tally seen;

/* Under n sets of options; the reference results are of all. */
static void check_file(kn_context *ctx, const char *path, const char *size, uint64_t seed,
                       const kn_program_options *o, int n)
{
    kn_arena a;
    kn_arena_init(&a, NULL);
    program *p = program_read(&a, path, size, seed);
    if (!p) { /* 32 groups must divide the channels; there is no maximum of nothing */
        const char *message = kn_last_error();
        if (!strstr(message, "not a whole number") && !strstr(message, "nothing to reduce"))
            fail_msg("%s: %s", path, message);
    }
    for (int i = 0; p && i < n; i++)
        must_agree(p, ctx, &o[i], kn_sprintf(&a, "%s with %s", path, size), &seen);
    kn_arena_finish(&a);
}

/* Every program with each of `n` sizes: under one of the fused option sets, or under all (sanitized, some of them),
 * another choice for each. */
static void check_all(const char *device, const char *const *which, int n, bool all)
{
    const size_t every = EFFORT(1, 4);
    kn_context *ctx;
    glob_t files;
    ctx = open_context(device);
    assert_int_equal(glob("tests/golden/programs/*.kiln", 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 16);
    seen = (tally){0, 0};
    for (size_t f = 0; f < files.gl_pathc; f++)
        for (int s = 0; s < n; s++) {
            kn_program_options chosen[OPTION_SETS];
            int count = 0;
            for (size_t i = all ? (f + (size_t)s) % every : (size_t)s % 3; i < OPTION_SETS;
                 i += all ? every : OPTION_SETS)
                chosen[count++] = option_sets[i];
            check_file(ctx, files.gl_pathv[f], which[s], f + 1, chosen, count);
        }
    globfree(&files);
    kn_context_close(ctx);
    must_have_compared(&seen);
}

static void test_cpu(void **state)
{
    (void)state;
    check_all("cpu", sizes, SIZES, true);
    check_all("cpu", long_sizes, 2, true);
}

static void test_emu(void **state)
{
    (void)state;
    check_all("emu", sizes, SIZES, false);
}

/* Every program with one of the sizes, groups divided over clusters of 2 to 8 blocks in turn. */
static void test_clusters(void **state)
{
    (void)state;
    kn_context *ctx;
    glob_t files;
    ctx = open_context("emu");
    assert_int_equal(glob("tests/golden/programs/*.kiln", 0, NULL, &files), 0);
    seen = (tally){0, 0};
    for (size_t f = 0; f < files.gl_pathc; f++) {
        char schedule[] = "cluster=0";
        schedule[sizeof schedule - 2] = (char)('2' + f % 7);
        check_file(ctx, files.gl_pathv[f], sizes[1 + f % 3], f + 1,
                   &(kn_program_options){.fusion = true, .schedule = schedule}, 1);
    }
    globfree(&files);
    kn_context_close(ctx);
    must_have_compared(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu), cmocka_unit_test(test_emu),
                                       cmocka_unit_test(test_clusters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
