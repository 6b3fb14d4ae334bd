/* Random programs on the CPU device against the reference interpreter, in every way of planning them; and through the CUDA
 * generator, as they are planned and in some other ways, in turn: kernels verified, sources the same twice and, where there
 * is NVRTC, compiled.
 *
 * KILN_FUZZ: how many programs; KILN_SEED: the first one's seed. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/cuda/nvrtc.h"
#include "tests/differential/check.h"

enum { PROGRAMS = EFFORT(500, 80), COMPILED = EFFORT(10, 2) };
enum { ELEMENTS = 6000, MANY_ELEMENTS = 100000, MOST_REPORTS = 3 };
enum {
    OTHER_WAYS = 4
}; /* of planning a program, beside the usual one: those that follow the ones before, all in turn */

static int64_t elements(uint64_t seed) { return seed % 20 == 0 ? MANY_ELEMENTS : ELEMENTS; }

static failure check_cuda(void *user, const program *p, const kn_program_options *o, kn_text *why)
{
    where *w = user;
    return program_failure_cuda(p, w->ctx, o, why, NULL);
}

static const kn_program_options *every_way(uint64_t seed, int i)
{
    (void)seed;
    return &option_sets[i];
}

static const kn_program_options *some_ways(uint64_t seed, int i)
{
    return &option_sets[i ? 1 + (seed * OTHER_WAYS + (uint64_t)i - 1) % (OPTION_SETS - 1) : 0];
}

static void check_all(const random_programs *r)
{
    tally seen;
    kn_context *ctx = open_context("cpu");
    assert_int_equal(check_random_programs(r, ctx, &seen), 0);
    kn_context_close(ctx);
    /* a test that compares nothing finds nothing */
    if (seen.compared + seen.skipped > 1000000)
        assert_true(seen.compared > 2 * seen.skipped);
}

static void test_cpu(void **state)
{
    (void)state;
    check_all(&(random_programs){.device = "cpu",
                                 .programs = PROGRAMS,
                                 .most_reports = MOST_REPORTS,
                                 .elements = elements,
                                 .ways = OPTION_SETS,
                                 .way = every_way,
                                 .check = check_there});
}

static void test_cuda_sources(void **state)
{
    (void)state;
    check_all(&(random_programs){.device = "cuda",
                                 .programs = PROGRAMS,
                                 .most_reports = MOST_REPORTS,
                                 .elements = elements,
                                 .ways = 1 + OTHER_WAYS,
                                 .way = some_ways,
                                 .check = check_cuda});
}

static void test_cuda_compiles(void **state)
{
    (void)state;
    if (kn_nvrtc_find() != KN_OK)
        skip();
    kn_context *ctx;
    int compiled = 0, want = setting("KILN_FUZZ", PROGRAMS) < PROGRAMS ? 2 : COMPILED;
    ctx = open_context("cpu");
    for (uint64_t seed = setting("KILN_SEED", 1); compiled < want; seed++) {
        kn_arena a;
        kn_text why;
        sources s = {{0}};
        kn_arena_init(&a, NULL);
        why = kn_text_new(&a);
        program *p = program_make(&a, seed, elements(seed));
        assert_non_null(p);
        if (!program_check_cuda(p, ctx, &option_sets[seed % 3], &why, &s))
            fail_msg("seed %llu: %s", (unsigned long long)seed, kn_text_str(&why));
        for (int k = 0; k < s.text.len && k < 2 && compiled < want; k++, compiled++) {
            char *ptx = NULL;
            if (kn_nvrtc_ptx("random", s.text.data[k], "compute_90", NULL, &ptx, NULL) != KN_OK)
                fail_msg("seed %llu: %s", (unsigned long long)seed, kn_last_error());
            free(ptx);
        }
        kn_arena_finish(&a);
    }
    kn_context_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_cuda_sources),
        cmocka_unit_test(test_cuda_compiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
