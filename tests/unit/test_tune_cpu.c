/* Measuring leaves nothing behind: outputs are written by the run itself and by nothing before it, whatever they lie
 * on. On the CPU device, with any candidate winning. */
#include "frontend/handles.h"
#include "tests/dice.h"
#include "tests/unit/api.h"

enum { SEEDS = 5, ROWS = 3, COLUMNS = 1600, ALL = ROWS * COLUMNS, PATIENCE = 1000000 };

static kiln_prog *tuned(const char *text, uint64_t seed)
{
    kiln_options o;
    kiln_options_init(&o);
    o.autotune = PATIENCE;
    throw_dice(ctx->core, seed);
    return compile_with(ctx, text, &o);
}

/* Small whole numbers, whose sums and products are exact. */
static void fill(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = (float)(i * 7 % 11 - 5);
}

static float row_sum(const float *x)
{
    float sum = 0;
    for (int j = 0; j < COLUMNS; j++)
        sum += x[j];
    return sum;
}

static const char minus_sum[] = "def f(x: f32[N, C]):\n"
                                "    y = x * 2 - sum(x, axis=1, keepdims=True)\n"
                                "    return y\n";
static const char update[] = "def f(x: f32[N, C]):\n"
                             "    x[...] = x * 2 - sum(x, axis=1, keepdims=True)\n";

static void check_rows(const float *got, const float *x, uint64_t seed)
{
    for (int i = 0; i < ROWS; i++) {
        float sum = row_sum(x + i * COLUMNS);
        for (int j = 0; j < COLUMNS; j++)
            if (got[i * COLUMNS + j] != x[i * COLUMNS + j] * 2 - sum)
                fail_msg("seed %d, row %d, column %d: %g", (int)seed, i, j,
                         (double)got[i * COLUMNS + j]);
    }
}

/* A prepare writes nothing, a run everything once. */
static void separate(void **state)
{
    (void)state;
    static float x[ALL], before[ALL], y[ALL];
    const int64_t shape[] = {ROWS, COLUMNS};
    const kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL},
                             {"y", y, KILN_F32, 2, shape, NULL}};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        kiln_prog *p = tuned(minus_sum, seed);
        fill(x, ALL);
        fill(before, ALL);
        for (int i = 0; i < ALL; i++)
            y[i] = 12345;
        good(kiln_prepare(p, args, 2, NULL));
        assert_int_equal(stats_of(ctx).tunings, seed);
        for (int i = 0; i < ALL; i++)
            assert_true(y[i] == 12345);
        good(kiln_run(p, NULL, args, 2));
        assert_int_equal(stats_of(ctx).tunings, seed);
        assert_memory_equal(x, before, sizeof x);
        check_rows(y, x, seed);
        kiln_prog_destroy(p);
    }
}

/* Prepared before there is memory: measured on zeros, and not again. */
static void promised(void **state)
{
    (void)state;
    static float x[ALL], y[ALL];
    const int64_t shape[] = {ROWS, COLUMNS};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        _Alignas(16) static float at_x[ALL], at_y[ALL];
        kiln_arg args[] = {{"x", NULL, KILN_F32, 2, shape, NULL},
                           {"y", NULL, KILN_F32, 2, shape, NULL}};
        kiln_prog *p = tuned(minus_sum, seed);
        good(kiln_prepare(p, args, 2, NULL));
        assert_int_equal(stats_of(ctx).tunings, seed);
        fill(x, ALL);
        args[0].data = memcpy(at_x, x, sizeof x);
        args[1].data = at_y;
        good(kiln_run(p, NULL, args, 2));
        assert_int_equal(stats_of(ctx).tunings, seed);
        memcpy(y, at_y, sizeof y);
        check_rows(y, x, seed);
        kiln_prog_destroy(p);
    }
}

/* The output is the input, the same array or an argument that is updated. */
static void in_place(void **state)
{
    (void)state;
    static float x[ALL], before[ALL];
    const int64_t shape[] = {ROWS, COLUMNS};
    const kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL},
                             {"y", x, KILN_F32, 2, shape, NULL}};
    fill(before, ALL);
    for (uint64_t seed = 1; seed <= 2 * SEEDS; seed++) {
        bool one = seed % 2;
        kiln_prog *p = tuned(one ? update : minus_sum, seed);
        fill(x, ALL);
        good(kiln_prepare(p, args, one ? 1 : 2, NULL));
        assert_int_equal(stats_of(ctx).tunings, seed);
        assert_memory_equal(x, before, sizeof x);
        good(kiln_run(p, NULL, args, one ? 1 : 2));
        check_rows(x, before, seed);
        kiln_prog_destroy(p);
    }
}

/* The output lies some elements behind the input: that is copied first, in the timed runs too. */
static void overlapping(void **state)
{
    (void)state;
    enum { APART = 8 };
    static float x[ALL + APART], before[ALL + APART];
    const int64_t shape[] = {ROWS, COLUMNS};
    const kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL},
                             {"y", x + APART, KILN_F32, 2, shape, NULL}};
    fill(before, ALL + APART);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        kiln_prog *p = tuned(minus_sum, seed);
        fill(x, ALL + APART);
        good(kiln_prepare(p, args, 2, NULL));
        assert_memory_equal(x, before, sizeof x);
        uint64_t copies = stats_of(ctx).copies;
        assert_true(copies > (seed - 1) * 2);
        good(kiln_run(p, NULL, args, 2));
        assert_int_equal(stats_of(ctx).copies, copies + 1);
        check_rows(x + APART, before, seed);
        kiln_prog_destroy(p);
    }
}

/* Two outputs in turns, one backwards, over one input that has both. */
static void in_turns(void **state)
{
    (void)state;
    static float x[2 * ALL], before[2 * ALL];
    const int64_t whole[] = {ROWS, 2 * COLUMNS}, half[] = {ROWS, COLUMNS};
    const int64_t there[] = {2 * COLUMNS, 2}, back[] = {2 * COLUMNS, -2};
    const kiln_arg args[] = {{"x", x, KILN_F32, 2, whole, NULL},
                             {"a", x, KILN_F32, 2, half, there},
                             {"b", x + 2 * COLUMNS - 1, KILN_F32, 2, half, back}};
    fill(before, 2 * ALL);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        kiln_prog *p = tuned("def f(x: f32[N, 2 * C]):\n"
                             "    s = sum(x, axis=1, keepdims=True)\n"
                             "    a = x[:, ::2] + s\n"
                             "    b = x[:, 1::2] - s\n"
                             "    return a, b\n",
                             seed);
        fill(x, 2 * ALL);
        good(kiln_prepare(p, args, 3, NULL));
        assert_memory_equal(x, before, sizeof x);
        good(kiln_run(p, NULL, args, 3));
        for (int i = 0; i < ROWS; i++) {
            const float *row = before + 2 * COLUMNS * i, *got = x + 2 * COLUMNS * i;
            float sum = row_sum(row) + row_sum(row + COLUMNS);
            for (int j = 0; j < COLUMNS; j++) {
                assert_true(got[2 * j] == row[2 * j] + sum);
                assert_true(got[2 * (COLUMNS - 1 - j) + 1] == row[2 * j + 1] - sum);
            }
        }
        kiln_prog_destroy(p);
    }
}

/* An error of the run is the run's, also where measuring met it first. */
static void fails_once(void **state)
{
    (void)state;
    static float x[ALL], y[ALL];
    static int64_t at[COLUMNS];
    const int64_t shape[] = {ROWS, COLUMNS};
    const kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL},
                             {"i", at, KILN_I64, 1, &shape[1], NULL},
                             {"y", y, KILN_F32, 2, shape, NULL}};
    kiln_prog *p = tuned("def f(x: f32[N, C], i: i64[C]):\n"
                         "    y = take(x, i, axis=1) - sum(x, axis=1, keepdims=True)\n"
                         "    return y\n",
                         1);
    at[7] = COLUMNS;
    good(kiln_prepare(p, args, 3, NULL));
    expect(kiln_run(p, NULL, args, 3), KILN_ERR_RUN, "out of bounds");
    assert_int_equal(stats_of(ctx).tunings, 0);
    at[7] = 0;
    good(kiln_run(p, NULL, args, 3));
    kiln_prog_destroy(p);
}

static void explained(void **state)
{
    (void)state;
    static float x[ALL], y[ALL];
    const int64_t shape[] = {ROWS, COLUMNS};
    const kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL},
                             {"y", y, KILN_F32, 2, shape, NULL}};
    kiln_prog *p = tuned(minus_sum, 1), *plain = compile(ctx, minus_sum);
    kiln_explain_options o;
    kiln_explain_options_init(&o);
    o.arch = "cpu";
    char *text;
    good(kiln_explain(plain, args, 2, &o, &text));
    assert_null(strstr(text, "autotune"));
    kiln_text_free(ctx, text);
    good(kiln_explain(p, args, 2, &o, &text));
    assert_non_null(strstr(text, "autotune: not measured yet"));
    assert_non_null(strstr(text, "\n  as planned\n"));
    kiln_text_free(ctx, text);
    good(kiln_run(p, NULL, args, 2));
    good(kiln_explain(p, args, 2, &o, &text));
    assert_non_null(strstr(text, "autotune: measured"));
    assert_non_null(strstr(text, " us taken  "));
    assert_non_null(strstr(text, ": rows tpg "));
    kiln_text_free(ctx, text);
    o.arch = "sm_80"; /* is not this device */
    good(kiln_explain(p, args, 2, &o, &text));
    assert_non_null(strstr(text, "autotune: measures on a device, cuda or cpu"));
    kiln_text_free(ctx, text);
    kiln_prog_destroy(plain);
    kiln_prog_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(separate),    test(promised), test(in_place),
                                       test(overlapping), test(in_turns), test(fails_once),
                                       test(explained)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
