/* Random programs on the CPU device against the reference interpreter, and through the CUDA
 * generator: kernels verified, sources the same twice and, where there is NVRTC, compiled.
 *
 * KILN_FUZZ: how many programs; KILN_SEED: the first one's seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "runtime/cuda/nvrtc.h"
#include "tests/differential/program.h"
#include "tests/effort.h"

enum { PROGRAMS = EFFORT(500, 80), COMPILED = EFFORT(10, 2) };
enum { ELEMENTS = 6000, MANY_ELEMENTS = 100000, MOST_REPORTS = 3 };

static int64_t elements(uint64_t seed) { return seed % 20 == 0 ? MANY_ELEMENTS : ELEMENTS; }

static failure check_cuda(void *user, const program *p, const kn_program_options *o, kn_text *why)
{
    where *w = user;
    return program_failure_cuda(p, w->ctx, o, why, NULL);
}

/* Checks programs first, first + 1, ...; fails at the end, with the first few reports. */
static void check_all(const char *device, check_fn check)
{
    where w = {0};
    int failed = 0;
    uint64_t first = setting("KILN_SEED", 1), n = setting("KILN_FUZZ", PROGRAMS);
    assert_int_equal(kn_context_open(&(kn_context_config){.device = "cpu"}, &w.ctx), KN_OK);
    for (uint64_t seed = first; seed < first + n && failed < MOST_REPORTS; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = program_make(&a, seed, elements(seed));
        if (!p) {
            print_error("KILN_SEED=%llu: the reference interpreter: %s\n", (unsigned long long)seed,
                        kn_last_error());
            failed++;
        }
        for (int i = 0; p && i < OPTION_SETS; i++) {
            kn_text why = kn_text_new(&a);
            if (check(&w, p, &option_sets[i], &why).fault == NO_FAULT)
                continue;
            fprintf(stderr, "%s\n",
                    program_report(p, device, &option_sets[i], kn_text_str(&why), check, &w));
            failed++;
            break;
        }
        kn_arena_finish(&a);
    }
    kn_context_close(w.ctx);
    if (getenv("KILN_FUZZ"))
        print_message("%lld elements compared, %lld without a bound\n", (long long)w.tally.compared,
                      (long long)w.tally.skipped);
    assert_int_equal(failed, 0);
    /* a test that compares nothing finds nothing */
    if (w.tally.compared + w.tally.skipped > 1000000)
        assert_true(w.tally.compared > 2 * w.tally.skipped);
}

static void test_cpu(void **state)
{
    (void)state;
    check_all("cpu", check_there);
}

static void test_cuda_sources(void **state)
{
    (void)state;
    check_all("cuda", check_cuda);
}

static void test_cuda_compiles(void **state)
{
    (void)state;
    if (kn_nvrtc_find() != KN_OK)
        skip();
    kn_context *ctx;
    int compiled = 0, want = setting("KILN_FUZZ", PROGRAMS) < PROGRAMS ? 2 : COMPILED;
    assert_int_equal(kn_context_open(&(kn_context_config){.device = "cpu"}, &ctx), KN_OK);
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
