/* Random programs on a GPU against the reference interpreter. Skipped where there is none.
 *
 * KILN_FUZZ: how many programs; KILN_SEED: the first one's seed; KILN_DEVICE: another device than "cuda". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/differential/program.h"

enum { PROGRAMS = 40, ELEMENTS = 20000, MANY_ELEMENTS = 300000, MOST_REPORTS = 5 };

static bool skipped;

static void test_random(void **state)
{
    (void)state;
    where w = {0};
    int failed = 0;
    const char *device = getenv("KILN_DEVICE");
    uint64_t first = setting("KILN_SEED", 1), n = setting("KILN_FUZZ", PROGRAMS);
    if (kn_context_open(&(kn_context_config){.device = device ? device : "cuda"}, &w.ctx) !=
        KN_OK) {
        print_message("%s\n", kn_last_error());
        skipped = true;
        skip();
    }
    for (uint64_t seed = first; seed < first + n && failed < MOST_REPORTS; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = program_make(&a, seed, seed % 8 == 0 ? MANY_ELEMENTS : ELEMENTS);
        assert_non_null(p);
        /* compiling takes the time: the fused program as chosen, and one of the other ways in turn */
        for (int i = 0; i < 2; i++) {
            const kn_program_options *o = &option_sets[i ? 1 + seed % (OPTION_SETS - 1) : 0];
            kn_text why = kn_text_new(&a);
            if (check_there(&w, p, o, &why).fault == NO_FAULT)
                continue;
            fprintf(
                stderr, "%s\n",
                program_report(p, device ? device : "cuda", o, kn_text_str(&why), check_there, &w));
            failed++;
            break;
        }
        kn_arena_finish(&a);
    }
    kn_context_close(w.ctx);
    print_message("%lld elements compared, %lld without a bound\n", (long long)w.tally.compared,
                  (long long)w.tally.skipped);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed ? failed : skipped ? 77 : 0;
}
