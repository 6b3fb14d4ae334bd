/* Measured schedules: what wins is what the script of the device says, is remembered, and costs no more than it may. */
#include "tests/effort.h"
#include "tests/random.h"
#include "tests/rations.h"
#include "tests/scripted.h"

static double hardly(uint64_t kernel, bool favourite)
{
    (void)kernel;
    return favourite ? 99 : 100;
}

static double ten_ms(uint64_t kernel, bool favourite)
{
    (void)kernel, (void)favourite;
    return 1e4;
}

static double anyhow(uint64_t kernel, bool favourite)
{
    (void)favourite;
    return (double)(50 + kernel % 50);
}

static void test_off(void **state)
{
    (void)state;
    machine m;
    open_machine(&m, NULL);
    kiln_prog *p = tuned(&m, 0);
    good(run(p, ROWS, COLUMNS));
    check_counts(&m, 0, 0);
    assert_int_equal(m.n.dev.base.compiles, 1);
    assert_int_equal(m.timed, 0);
    assert_true(planned(&m, p, ROWS, COLUMNS));
    kiln_prog_destroy(p);
    close_machine(&m);
}

/* What is quickest is taken, for the arguments of its class and no others. */
static void test_winner(void **state)
{
    (void)state;
    machine m;
    open_machine(&m, NULL);
    kiln_prog *p = tuned(&m, PATIENCE);
    good(run(p, ROWS, COLUMNS));
    assert_true(favoured(&m, p, ROWS, COLUMNS));
    check_counts(&m, 1, 0);
    assert_in_range(m.n.dev.base.compiles, 1, KN_MOST_TRIALS);
    assert_true(stats_of(&m.n.ctx).tuning_ms > 0);
    int timed = m.timed;
    uint64_t compiles = m.n.dev.base.compiles;
    good(run(p, ROWS, COLUMNS));
    good(run(p, ROWS + 1, COLUMNS - 4));
    assert_true(favoured(&m, p, ROWS + 1, COLUMNS - 4));
    assert_int_equal(m.timed, timed);
    assert_int_equal(m.n.dev.base.compiles, compiles);
    check_counts(&m, 1, 0);
    good(run(p, 5 * ROWS, COLUMNS));
    check_counts(&m, 2, 0);
    assert_true(m.timed > timed);
    kiln_prog_destroy(p);

    p = tuned(&m, PATIENCE); /* another program learns for itself, where there is no disk cache */
    m.us = hardly;
    good(run(p, ROWS, COLUMNS));
    assert_true(planned(&m, p, ROWS, COLUMNS));
    check_counts(&m, 3, 0);
    kiln_prog_destroy(p);
    close_machine(&m);
}

/* No candidate is begun after the time has passed; compiling takes of it too. */
static void test_budget(void **state)
{
    (void)state;
    enum { RUNS = 6 }; /* of a candidate */
    static const struct {
        int ms, run_ms, compile_ms, candidates;
    } cases[] = {{1, 10, 0, 1}, {59, 10, 0, 1}, {61, 10, 0, 2}, {130, 10, 0, 3}, {99, 0, 100, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        machine m;
        open_machine(&m, NULL);
        m.compile_ns = (uint64_t)cases[i].compile_ms * 1000000;
        m.us = cases[i].run_ms ? ten_ms : anyhow;
        kiln_prog *p = tuned(&m, cases[i].ms);
        good(run(p, ROWS, COLUMNS));
        assert_int_equal(m.timed, cases[i].candidates * RUNS);
        check_counts(&m, 1, 0);
        kiln_prog_destroy(p);
        close_machine(&m);
    }
}

/* Candidates that cannot be had are left out, and nobody hears of it. */
static void test_refused(void **state)
{
    (void)state;
    machine m;
    open_machine(&m, NULL);
    m.refuses = true;
    kiln_prog *p = tuned(&m, PATIENCE);
    kn_clear_error();
    good(run(p, ROWS, COLUMNS));
    assert_string_equal(kiln_last_error(), "");
    assert_true(planned(&m, p, ROWS, COLUMNS));
    check_counts(&m, 1, 0);
    kiln_prog_destroy(p);
    close_machine(&m);
}

static void test_no_memory(void **state)
{
    (void)state;
    machine m;
    open_machine(&m, NULL);
    m.no_memory = true;
    kiln_prog *p = tuned(&m, PATIENCE);
    kn_clear_error();
    good(run(p, ROWS, COLUMNS));
    assert_string_equal(kiln_last_error(), "");
    assert_true(planned(&m, p, ROWS, COLUMNS));
    check_counts(&m, 0, 0);
    m.favourite = candidate(&m, p, FAVOURITE, ROWS + 1, COLUMNS);
    m.no_memory = false; /* the class is not given up */
    good(run(p, ROWS + 1, COLUMNS));
    assert_true(favoured(&m, p, ROWS + 1, COLUMNS));
    check_counts(&m, 1, 0);
    kiln_prog_destroy(p);
    close_machine(&m);
}

/* ---- host memory ---- */

static kiln_status live(rations *r, uint64_t *tunings)
{
    machine m;
    kiln_graph *g = NULL;
    kiln_prog *p = NULL;
    const kn_allocator from = {ration, unration, r};
    kiln_options o;
    kiln_options_init(&o);
    o.autotune = PATIENCE;
    open_machine(&m, &from);
    kiln_status status = kiln_parse(&m.n.ctx, softmax, NULL, &g);
    if (status == KILN_OK)
        status = kiln_compile(g, &o, &p);
    kiln_graph_destroy(g);
    if (status == KILN_OK)
        status = run(p, ROWS, COLUMNS);
    *tunings = m.n.core.tunings;
    kiln_prog_destroy(p);
    close_machine(&m);
    return status;
}

/* Host memory that ends anywhere: nothing leaks, and only what is not measuring can fail. */
static void test_rations(void **state)
{
    (void)state;
    rations r = {.denied = true};
    uint64_t tunings = 0;
    for (long n = 0; r.denied && n < 100000; n += EFFORT(3, 61)) {
        r = (rations){.left = n};
        kiln_status status = live(&r, &tunings);
        assert_int_equal(r.live, 0);
        if (status != KILN_OK && status != KILN_ERR_MEMORY)
            fail_msg("after %ld allocations: %s", n, kiln_last_error());
        assert_true(status == KILN_OK || r.denied);
    }
    assert_false(r.denied);
    assert_int_equal(tunings, 1);
}

static void test_capture(void **state)
{
    (void)state;
    machine m;
    open_machine(&m, NULL);
    kiln_prog *p = tuned(&m, PATIENCE);
    m.captured = true;
    good(run(p, ROWS, COLUMNS));
    check_counts(&m, 0, 0);
    assert_int_equal(m.timed + m.n.dev.allocations, 0);
    m.captured = false;
    m.favourite = candidate(&m, p, FAVOURITE, ROWS + 1, COLUMNS);
    good(run(p, ROWS + 1, COLUMNS));
    check_counts(&m, 1, 0);
    m.captured = true; /* what is known is used */
    good(run(p, ROWS + 2, COLUMNS));
    assert_true(favoured(&m, p, ROWS + 2, COLUMNS));
    kiln_prog_destroy(p);
    close_machine(&m);
}

/* What an option forces stays; with nothing left to choose nothing is measured. */
static void test_forced(void **state)
{
    (void)state;
    machine m;
    open_machine(&m, NULL);
    kiln_options o;
    kiln_options_init(&o);
    o.autotune = PATIENCE;
    o.max_kinds = -1; /* universal kernels */
    kiln_prog *p = compile_with(&m.n.ctx, softmax, &o);
    good(run(p, ROWS, COLUMNS));
    kiln_prog_destroy(p);
    o.max_kinds = 0;
    o.schedule = "threads 512: rows tpg 512 vec 4, cluster 2, async, hold v0_x shared";
    p = compile_with(&m.n.ctx, softmax, &o);
    good(run(p, ROWS, COLUMNS));
    check_counts(&m, 0, 0);
    assert_int_equal(m.timed, 0);
    kiln_prog_destroy(p);
    o.schedule = "cluster=4";
    o.reuse = "keep";
    p = compile_with(&m.n.ctx, softmax, &o);
    good(run(p, ROWS, COLUMNS));
    check_counts(&m, 1, 0);
    assert_true(m.timed > 0);
    kiln_prog_destroy(p);
    close_machine(&m);
}

/* Shapes at random: classes and kernels stay few. */
static void test_bounds(void **state)
{
    (void)state;
    machine m;
    open_machine(&m, NULL);
    kiln_prog *p = tuned(&m, PATIENCE);
    m.us = anyhow;
    uint64_t random = 1;
    for (int i = 0; i < 500; i++) {
        random_64(&random);
        good(run(p, 1 + (int64_t)(random >> 33) % 16384, 1 + (int64_t)(random >> 45) % 16384));
    }
    kiln_stats s = stats_of(&m.n.ctx);
    print_message("500 shapes: %llu classes, %llu kernels\n", (unsigned long long)s.tunings,
                  (unsigned long long)s.compiles);
    assert_in_range(s.tunings, 2, KN_MAX_KINDS);
    assert_true(s.compiles <= s.tunings * KN_MOST_TRIALS + KN_MAX_KINDS);
    kiln_prog_destroy(p);
    close_machine(&m);
}

/* ---- threads ---- */

enum { THREADS = 8, SHAPES = 24 };

/* Shapes of several classes, by every thread in the same order. */
static void *run_shapes(void *prog)
{
    kiln_status status = KILN_OK;
    for (int i = 0; i < SHAPES && status == KILN_OK; i++)
        status = run(prog, ROWS + i * 100, COLUMNS);
    return (void *)(uintptr_t)status;
}

/* Each class is learnt once, whoever meets it first. */
static void test_once(void **state)
{
    (void)state;
    machine m;
    pthread_t threads[THREADS];
    open_machine(&m, NULL);
    kiln_prog *p = tuned(&m, PATIENCE);
    assert_int_equal((uintptr_t)run_shapes(p), KILN_OK);
    kiln_prog_destroy(p);
    uint64_t classes = stats_of(&m.n.ctx).tunings;
    assert_in_range(classes, 2, SHAPES - 1);
    p = tuned(&m, PATIENCE);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_shapes, p), 0);
    for (int i = 0; i < THREADS; i++) {
        void *status;
        pthread_join(threads[i], &status);
        assert_int_equal((uintptr_t)status, KILN_OK);
    }
    check_counts(&m, 2 * classes, 0);
    good(run(p, ROWS, COLUMNS));
    assert_true(favoured(&m, p, ROWS, COLUMNS));
    kiln_prog_destroy(p);
    close_machine(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off),       cmocka_unit_test(test_winner),
        cmocka_unit_test(test_budget),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_rations),
        cmocka_unit_test(test_capture),   cmocka_unit_test(test_forced),
        cmocka_unit_test(test_bounds),    cmocka_unit_test(test_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
