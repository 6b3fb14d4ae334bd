/* The variance of numbers that are large beside their spread: 1e8 and a noise of a few hundred in f32, whose
 * neighbours are 8 apart. A sum of squares less the square of the sum has no digit left here, and centring by a
 * mean that is rounded to f32 has four too few. Every device, schedule and spelling is held to 1e-5.
 *
 * And of f64 with one member so far from the others that it makes the variance, wherever it is. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device.h"
#include "tests/hostile.h"
#include "tests/random.h"

/* Each is over axis 1 of x[N, C] and gives y[N], or over axis 0 and gives y[C]. */
static const char *const rows[] = {"var(x, axis=1)",
                                   "mean((x - mean(x, axis=1, keepdims=True)) ** 2, axis=1)",
                                   "square(std(x, axis=1))"};
static const char *const columns[] = {"var(x, axis=0)", "mean((x - mean(x, axis=0)) ** 2, axis=0)"};

/* Shapes: several groups a block; a group a block, on chip; a group that is not; few groups, so that a reduction
 * is split. */
static const int64_t shapes[][2] = {{40, 33}, {6, 3000}, {2, 70000}, {1, 200000}};

static float *data;

static void fill(int64_t n)
{
    uint64_t state = 1;
    data = realloc(data, (size_t)n * sizeof *data);
    for (int64_t i = 0; i < n; i++)
        data[i] = 1e8f + 8 * (float)((int)(random_64(&state) >> 33) % 64);
}

/* The variance of n elements, `step` apart. */
static double exact(const float *x, int64_t n, int64_t step)
{
    long double mean = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        mean += x[i * step];
    mean /= n;
    for (int64_t i = 0; i < n; i++)
        squares += ((long double)x[i * step] - mean) * ((long double)x[i * step] - mean);
    return (double)(squares / n);
}

/* The largest relative error of the expression over axis 1 or 0 of data[n, c]. */
static double worst(kiln_ctx *ctx, const char *expression, int axis, const int64_t shape[2],
                    bool fusion, const char *schedule)
{
    kiln_options options;
    kiln_options_init(&options);
    options.fusion = fusion;
    options.schedule = schedule;
    kiln_prog *prog = compile_expression(ctx, expression, &options);
    int64_t groups = shape[1 - axis], members = shape[axis];
    size_t bytes = (size_t)(shape[0] * shape[1]) * sizeof(float);
    void *x, *y;
    float *got = malloc((size_t)groups * sizeof *got);
    double error = 0;
    good(kiln_alloc(ctx, bytes, &x));
    good(kiln_alloc(ctx, (size_t)groups * sizeof(float), &y));
    good(kiln_upload(ctx, x, data, bytes));
    kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL}, {"y", y, KILN_F32, 1, &groups, NULL}};
    good(run_hostile(prog, args, 2));
    good(kiln_sync(ctx, NULL));
    good(kiln_download(ctx, got, y, (size_t)groups * sizeof(float)));
    for (int64_t i = 0; i < groups; i++) {
        double want = exact(data + i * (axis ? shape[1] : 1), members, axis ? 1 : shape[1]);
        error = fmax(error, fabs((double)got[i] - want) / want);
    }
    free(got);
    kiln_free(ctx, x);
    kiln_free(ctx, y);
    kiln_prog_destroy(prog);
    return error;
}

typedef struct way {
    bool fusion;
    const char *schedule;
} way;

/* Checks every spelling over one axis of one shape. Returns how many are not as they should be. */
static int check_axis(kiln_ctx *ctx, const char *device, int s, int axis, way w)
{
    const char *const *expressions = axis ? rows : columns;
    int64_t shape[2] = {shapes[s][!axis], shapes[s][axis]};
    int failed = 0;
    for (int e = 0; e < (axis ? 3 : 2); e++) {
        bool by_hand = strncmp(expressions[e], "mean", 4) == 0;
        if (by_hand && (!w.fusion || strcmp(device, "ref") == 0))
            continue; /* each operation is rounded, the mean too: that is what its text says */
        double error = worst(ctx, expressions[e], axis, shape, w.fusion, w.schedule);
        if (error <= 1e-5)
            continue;
        print_error("%s of [%lld, %lld] on %s, fusion %d, schedule %s: relative error %g\n",
                    expressions[e], (long long)shape[0], (long long)shape[1], device, w.fusion,
                    w.schedule ? w.schedule : "chosen", error);
        failed++;
    }
    return failed;
}

static void check_device(const char *device, int nshapes)
{
    static const way ways[] = {{true, NULL}, {true, "whole"}, {true, "split"}, {false, NULL}};
    int failed = 0;
    kiln_ctx *ctx = open_device(device);
    for (int s = 0; s < nshapes; s++) {
        fill(shapes[s][0] * shapes[s][1]);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
            for (int axis = 0; axis < 2; axis++)
                failed += check_axis(ctx, device, s, axis, ways[w]);
    }
    kiln_ctx_destroy(ctx);
    assert_int_equal(failed, 0);
}

/* The largest relative error of var() over an axis of x[n, c], in f64. */
static double worst_of_f64(kiln_prog *prog, const double *x, int axis, const int64_t shape[2])
{
    const int64_t groups = shape[1 - axis], members = shape[axis], step = axis ? 1 : shape[1];
    double *got = malloc((size_t)groups * sizeof *got), error = 0;
    kiln_arg args[] = {{"x", (void *)(uintptr_t)x, KILN_F64, 2, shape, NULL},
                       {"y", got, KILN_F64, 1, &groups, NULL}};
    good(run_hostile(prog, args, 2));
    for (int64_t g = 0; g < groups; g++) {
        const double *from = x + g * (axis ? shape[1] : 1);
        long double mean = 0, squares = 0;
        for (int64_t i = 0; i < members; i++)
            mean += from[i * step];
        mean /= members;
        for (int64_t i = 0; i < members; i++)
            squares += (from[i * step] - mean) * (from[i * step] - mean);
        const double want = (double)(squares / members);
        error = fmax(error, fabs(got[g] - want) / want);
    }
    free(got);
    return error;
}

/* Outliers at the place `at` of each group; the others have values of about 1. */
static double *with_outliers(const int64_t shape[2], int axis, int64_t at)
{
    const int64_t n = shape[0] * shape[1];
    double *x = malloc((size_t)n * sizeof *x);
    uint64_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        random_64(&state);
        x[i] = (axis ? i % shape[1] : i / shape[1]) == at ? 3e6 + 1.0 / 3
                                                          : (double)(state >> 11) * 0x1p-53;
    }
    return x;
}

static void test_outliers(void **state)
{
    static const int64_t sizes[][2] = {{3, 40}, {40, 300}, {300, 41}, {4, 3000}, {3000, 3}};
    static const char *const texts[] = {
        "def f(x: f64[N, C]):\n    y = var(x, axis=0)\n    return y\n",
        "def f(x: f64[N, C]):\n    y = var(x, axis=1)\n    return y\n"};
    kiln_ctx *ctx = open_device("cpu");
    double most = 0;
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int axis = 0; axis < 2; axis++) {
            const int64_t places[] = {0, 1, sizes[s][axis] / 2, sizes[s][axis] - 1};
            kiln_prog *prog = compile_with(ctx, texts[axis], NULL);
            for (int k = 0; k < 4; k++) {
                double *x = with_outliers(sizes[s], axis, places[k]);
                most = fmax(most, worst_of_f64(prog, x, axis, sizes[s]));
                free(x);
            }
            kiln_prog_destroy(prog);
        }
    kiln_ctx_destroy(ctx);
    if (most > 16 * DBL_EPSILON)
        fail_msg("relative error %g", most);
    assert_true(most <= 16 * DBL_EPSILON);
}

static void test_reference(void **state)
{
    (void)state;
    check_device("ref", 2);
}

static void test_cpu(void **state)
{
    (void)state;
    check_device("cpu", 4);
}

static void test_emu(void **state)
{
    (void)state;
    check_device("emu", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_emu),
        cmocka_unit_test(test_outliers),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(data);
    return failed;
}
