/* Random programs on every device that there is: the reference interpreter, the CPU device interpreted and compiled, which are
 * the same to the bit, the emulator, and a GPU. Each program goes one of the ways of planning it, in turn, on all of them.
 *
 * KILN_FUZZ: how many programs; KILN_SEED: the first one's seed. */
#include <stdio.h>
#include <string.h>

#include "bench/progress.h"
#include "tests/differential/check.h"

enum { PROGRAMS = EFFORT(6, 2), ELEMENTS = 3000, MANY_ELEMENTS = 30000, MOST_REPORTS = 20 };

/* A row of what is compared. */
typedef struct device {
    const char *what;        /* in counts */
    const char *name;        /* by which contexts and the command know it */
    const char *cpu_compile; /* of kn_context_config */
    kn_context *
        interpreted; /* to whose results they are the same; NULL: within the bounds of the reference's */
    where at;
    int64_t programs;
} device;

enum { DEVICES = 4 };

static failure check(void *user, const program *p, const kn_program_options *o, kn_text *why)
{
    device *d = user;
    return d->interpreted
               ? program_failure_on_both(p, d->interpreted, d->at.ctx, o, why, &d->at.tally)
               : check_there(&d->at, p, o, why);
}

/* Opens it; false where it does not run a program of a line, as for lack of a compiler. */
static bool open_as(device *d, const char *cpu_compile)
{
    const kn_context_config config = {.device = d->name, .cpu_compile = cpu_compile};
    kn_arena a;
    d->at = (where){0};
    if (kn_context_open(&config, &d->at.ctx) != KN_OK) {
        print_message("%s is left out: %s\n", d->what, kn_last_error());
        return false;
    }
    kn_arena_init(&a, NULL);
    kn_text why = kn_text_new(&a);
    program *p = program_of_text(&a, "def f(x: f32[N]):\n    return x + 1\n", "text", "N=5", 0);
    assert_non_null(p);
    const bool runs = check_there(&d->at, p, &option_sets[0], &why).fault == NO_FAULT;
    if (!runs)
        print_message("%s is left out: %s\n", d->what, kn_text_str(&why));
    kn_arena_finish(&a);
    d->at.tally = (tally){0};
    return runs;
}

static void close_device(device *d)
{
    if (d->at.ctx)
        kn_context_close(d->at.ctx);
    d->at.ctx = NULL;
}

/* What cannot be compiled is interpreted, but there must be a compiler. */
static void open_device_of(device *d)
{
    const bool waits = strcmp(d->cpu_compile, "wait") == 0;
    bool runs = open_as(d, waits ? "only" : d->cpu_compile);
    if (runs && waits) {
        close_device(d);
        runs = open_as(d, d->cpu_compile);
    }
    if (!runs)
        close_device(d);
}

/* Failures, each with a report. */
static int check_seed(device *devices, uint64_t seed)
{
    kn_arena a;
    int failed = 0;
    kn_arena_init(&a, NULL);
    const program *p = program_make(&a, seed, seed % 20 ? ELEMENTS : MANY_ELEMENTS);
    const kn_program_options *o = &option_sets[seed % OPTION_SETS];
    if (!p)
        fail_msg("KILN_SEED=%llu: the reference interpreter: %s", (unsigned long long)seed,
                 kn_last_error());
    for (device *d = devices; d < devices + DEVICES; d++) {
        kn_text why = kn_text_new(&a);
        if (!d->at.ctx)
            continue;
        d->programs++;
        if (check(d, p, o, &why).fault == NO_FAULT)
            continue;
        progress(NULL);
        /* before it is made smaller, which takes long where each step is compiled */
        fprintf(stderr, "KILN_SEED=%llu, %s: %s\n%s\n", (unsigned long long)seed, d->what,
                kn_text_str(&why), program_text(p));
        fprintf(stderr, "%s\n", program_report(p, d->name, o, kn_text_str(&why), check, d));
        failed++;
    }
    kn_arena_finish(&a);
    return failed;
}

static void test_random_programs(void **state)
{
    device devices[DEVICES] = {{.what = "interpreted", .name = "cpu", .cpu_compile = "never"},
                               {.what = "compiled", .name = "cpu", .cpu_compile = "wait"},
                               {.what = "emulator", .name = "emu", .cpu_compile = "never"},
                               {.what = "GPU", .name = "cuda", .cpu_compile = "never"}};
    const uint64_t first = setting("KILN_SEED", 1), n = setting("KILN_FUZZ", PROGRAMS);
    int failed = 0;
    (void)state;
    for (int d = 0; d < DEVICES; d++)
        open_device_of(&devices[d]);
    devices[1].interpreted = devices[0].at.ctx;
    for (uint64_t seed = first; seed < first + n && failed < MOST_REPORTS; seed++) {
        progress("%llu of %llu programs", (unsigned long long)(seed - first),
                 (unsigned long long)n);
        failed += check_seed(devices, seed);
    }
    progress(NULL);
    for (int d = 0; d < DEVICES; d++) {
        printf("%s: %lld programs, %lld elements compared, %lld without a bound\n", devices[d].what,
               (long long)devices[d].programs, (long long)devices[d].at.tally.compared,
               (long long)devices[d].at.tally.skipped);
        close_device(&devices[d]);
    }
    assert_true(devices[0].at.tally.compared > 0);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
