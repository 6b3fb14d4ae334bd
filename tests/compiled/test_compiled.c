/* Compiled kernels of the CPU device against its interpreter: the same bits, on random programs and on those of
 * tests/golden/programs, and of what went wrong, here; and against the reference interpreter, within its bounds.
 *
 * KILN_FUZZ: how many programs; KILN_SEED: the first one's seed. KILN_EVERY: at every which of the sizes those of tests/compiled
 * are tried, another first for each. Each kernel takes a run of the host's compiler. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/cpu/cc.h"
#include "tests/device.h"
#include "tests/differential/check.h"

enum { PROGRAMS = EFFORT(10, 3), ELEMENTS = 6000 };

static kn_context *interpreted, *compiled[2]; /* the second one streams whatever it stores */

static kn_context *open_cpu(const char *when, double stream)
{
    kn_context *ctx;
    const kn_context_config config = {.device = "cpu", .cpu_compile = when, .cpu_stream = stream};
    if (kn_context_open(&config, &ctx) != KN_OK)
        fail_msg("%s", kn_last_error());
    return ctx;
}

static int open_both(void **state)
{
    (void)state;
    interpreted = open_cpu("never", 0);
    compiled[0] = open_cpu("wait", 0);
    compiled[1] = open_cpu("wait", 1);
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    kn_context_close(interpreted);
    kn_context_close(compiled[0]);
    kn_context_close(compiled[1]);
    return 0;
}

static void must_be_same(const program *p, const kn_program_options *o, bool streams,
                         const char *what)
{
    static tally seen;
    kn_text why = kn_text_new(p->arena);
    if (program_failure_on_both(p, interpreted, compiled[streams], o, &why, &seen).fault !=
        NO_FAULT)
        fail_msg("%s, KILN_SEED=%llu, fusion %s, schedule %s, interpreted and compiled%s: %s", what,
                 (unsigned long long)p->seed, o->fusion ? "on" : "off",
                 o->schedule ? o->schedule : "chosen", streams ? ", which streams" : "",
                 kn_text_str(&why));
}

static void need_compiler(void)
{
    kn_cc cc;
    kn_cc_init(&cc, NULL, &kn_malloc_allocator);
    kn_status status = kn_cc_find(&cc);
    kn_cc_finish(&cc);
    if (status != KN_OK)
        skip();
}

static void test_random_programs(void **state)
{
    (void)state;
    need_compiler();
    const uint64_t first = setting("KILN_SEED", 1), n = setting("KILN_FUZZ", PROGRAMS);
    for (uint64_t seed = first; seed < first + n; seed++) {
        kn_arena a;
        kn_arena_init(&a, NULL);
        program *p = program_make(&a, seed, ELEMENTS);
        assert_non_null(p);
        must_be_same(p, &option_sets[seed % 3], seed % 2, "random program");
        kn_arena_finish(&a);
    }
}

/* Rows and columns, long and short, of several runs and of one; rows of several blocks of lanes, whose last is no multiple of
 * a vector. D is long where M is not, for arrays of both. */
static void test_golden_programs(void **state)
{
    static const char *const sizes[] = {
        "N=3 C=1061 D=61 H=1 W=2 M=2085", "N=7 C=130 D=130 H=1 W=2 M=67",
        "N=2 C=64 D=64 H=17 W=31 M=300", "N=300 C=32 D=32 H=2 W=2 M=16",
        "N=0 C=32 D=32 H=2 W=3 M=4"};
    glob_t files;
    (void)state;
    need_compiler();
    assert_int_equal(glob("tests/compiled/*.kiln", 0, NULL, &files), 0);
    /* these at every second size, or every n-th; the rest, and sanitized ones, at one */
    const size_t own = files.gl_pathc, every = setting("KILN_EVERY", EFFORT(2, 5));
    assert_int_equal(glob("tests/golden/programs/*.kiln", GLOB_APPEND, NULL, &files), 0);
    for (size_t f = 0; f < files.gl_pathc; f += f < own ? 1 : EFFORT(1, 5)) {
        const size_t step = f < own ? every : 5;
        for (size_t s = f % step; s < sizeof sizes / sizeof *sizes; s += step) {
            kn_arena a;
            if (step == 1 && s > 0 && (s + f) % 2)
                continue;
            kn_arena_init(&a, NULL);
            program *p = program_read(&a, files.gl_pathv[f], sizes[s], f + 1);
            /* else there is no maximum of nothing, or groups do not divide channels */
            for (size_t streams = 0; p && streams < 2; streams++)
                if ((f < own && s == 0) || streams == (s + f / 2) % 2)
                    must_be_same(p, &option_sets[s % 3], streams, files.gl_pathv[f]);
            kn_arena_finish(&a);
        }
    }
    globfree(&files);
}

/* Says with how many runs of the compiler y = x + 1 was run so often. */
static uint64_t compiles_of(const char *when, int runs, const char *folder, uint64_t *kept)
{
    kiln_config config;
    kiln_ctx *ctx;
    enum { N = 1000 };
    void *x, *y;
    kiln_config_init(&config);
    config.device = "cpu";
    config.cpu_compile = when;
    config.cache_dir = folder;
    good(kiln_ctx_create(&config, &ctx));
    kiln_prog *prog = compile(ctx, "def f(x: f32[N]):\n    y = x + 1\n    return y\n");
    good(make_vectors(ctx, N, &x, &y));
    for (int i = 0; i < runs; i++)
        good(run_vector(prog, NULL, x, y, N));
    /* the background may take its time */
    const struct timespec a_moment = {.tv_nsec = 10000000};
    for (int i = 0; i < 3000 && !when && runs > 1; i++) {
        const kiln_stats now = stats_of(ctx);
        if (now.compiler_calls + now.disk_hits > 0)
            break;
        nanosleep(&a_moment, NULL);
    }
    for (int i = 0; i < runs; i++)
        good(run_vector(prog, NULL, x, y, N));
    const kiln_stats s = stats_of(ctx);
    *kept = s.disk_hits;
    kiln_free(ctx, x);
    kiln_free(ctx, y);
    kiln_prog_destroy(prog);
    kiln_ctx_destroy(ctx);
    return s.compiler_calls;
}

/* Nothing by default for what runs once, nor with `never`; once with `wait`; and then it is in the disk cache. */
static void test_when(void **state)
{
    char folder[] = "/tmp/kiln-compiled-XXXXXX", command[64];
    uint64_t kept;
    (void)state;
    need_compiler();
    assert_non_null(mkdtemp(folder));
    unsetenv("KILN_CPU_COMPILE");
    assert_int_equal(compiles_of("never", 3, folder, &kept), 0);
    assert_true(compiles_of("wait", 1, folder, &kept) > 0);
    assert_int_equal(kept, 0);
    assert_int_equal(compiles_of("only", 1, folder, &kept), 0);
    assert_int_equal(kept, 1);
    assert_int_equal(compiles_of(NULL, 3, folder, &kept), 0);
    assert_int_equal(kept, 1);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

/* Without a compiler everything runs, but for those who want nothing interpreted. */
static void test_no_compiler(void **state)
{
    uint64_t kept;
    (void)state;
    setenv("KILN_CC", "/nowhere/cc", 1);
    assert_int_equal(compiles_of("wait", 2, "", &kept), 0);
    kn_context *ctx = open_cpu("only", 0);
    kn_arena a;
    kn_text why;
    tally seen = {0};
    kn_arena_init(&a, NULL);
    why = kn_text_new(&a);
    program *p = program_make(&a, 1, ELEMENTS);
    assert_false(program_check(p, ctx, &option_sets[0], &why, &seen));
    assert_non_null(strstr(kn_text_str(&why), "KILN_CC"));
    kn_arena_finish(&a);
    kn_context_close(ctx);
    unsetenv("KILN_CC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_programs, open_both, close_both),
        cmocka_unit_test_setup_teardown(test_golden_programs, open_both, close_both),
        cmocka_unit_test(test_when),
        cmocka_unit_test(test_no_compiler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
