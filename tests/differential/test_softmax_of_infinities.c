/* Softmax and its kin over members that are infinite or not numbers. However a device walks the members, with the
 * maximum found first or while it sums, it gives what the definitions give member by member in f64. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/hostile.h"
#include "tests/on_device.h"

/* Over axis 1 of x[N, C], to y[N]: logsumexp, and the sum of softmax's exponentials. */
static const char *const expressions[] = {"logsumexp(x, axis=1)",
                                          "sum(exp(x - max(x, axis=1, keepdims=True)), axis=1)"};

enum { GROUPS = 6 };

/* A value of every kind, in group g at member i of n. */
static float member(int g, int64_t i, int64_t n)
{
    float x = (float)(i * 7 % 31) / 8 - 2;
    switch (g) {
    case 0: return -INFINITY;
    case 1: return i == n / 2 ? INFINITY : x;
    case 2: return i == n - 1 ? NAN : x;
    case 3: return i % 3 ? x : -INFINITY;
    case 4: return i == 0 ? INFINITY : -INFINITY;
    default: return x + 3e5f;
    }
}

static double definition(int e, const float *x, int64_t n)
{
    double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        max = isnan(x[i]) || isnan(max) ? NAN : fmax(max, (double)x[i]);
    double by = e == 0 && !isfinite(max) ? 0 : max;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)x[i] - by);
    return e == 0 ? log(sum) + by : sum;
}

static bool agree(double got, double want)
{
    if (isnan(want) || isinf(want))
        return isnan(want) ? isnan(got) : got == want;
    return fabs(got - want) <= 2e-5 * fabs(want);
}

static int check(kiln_ctx *ctx, const char *device, int e, const char *schedule, int64_t n)
{
    const int64_t shape[2] = {GROUPS, n}, groups = GROUPS;
    size_t bytes = sizeof(float) * (size_t)(GROUPS * n);
    float *data = malloc(bytes), got[GROUPS];
    void *x, *y;
    int failed = 0;
    kiln_options options;
    kiln_options_init(&options);
    options.schedule = schedule;
    kiln_prog *prog = compile_expression(ctx, expressions[e], &options);
    for (int g = 0; g < GROUPS; g++)
        for (int64_t i = 0; i < n; i++)
            data[g * n + i] = member(g, i, n);
    good(kiln_alloc(ctx, bytes, &x));
    good(kiln_alloc(ctx, sizeof got, &y));
    good(kiln_upload(ctx, x, data, bytes));
    kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL}, {"y", y, KILN_F32, 1, &groups, NULL}};
    good(run_hostile(prog, args, 2));
    good(kiln_sync(ctx, NULL));
    good(kiln_download(ctx, got, y, sizeof got));
    for (int g = 0; g < GROUPS; g++) {
        double want = definition(e, data + g * n, n);
        if (agree((double)got[g], want))
            continue;
        print_error("%s of %lld members of kind %d on %s, schedule %s: %g, not %g\n",
                    expressions[e], (long long)n, g, device, schedule ? schedule : "chosen",
                    (double)got[g], want);
        failed++;
    }
    free(data);
    kiln_free(ctx, x);
    kiln_free(ctx, y);
    kiln_prog_destroy(prog);
    return failed;
}

/* Lengths: groups in registers, in shared memory, and too long for either. */
static void check_device(const char *device)
{
    static const int64_t lengths[] = {1, 100, 50257, 70000};
    static const char *const schedules[] = {NULL, "whole", "split"};
    int failed = 0;
    kiln_ctx *ctx = open_device(device);
    for (int l = 0; l < 4; l++)
        for (int s = 0; s < 3; s++)
            for (int e = 0; e < 2; e++)
                failed += check(ctx, device, e, schedules[s], lengths[l]);
    kiln_ctx_destroy(ctx);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DEVICE(check_device, "ref"),
        ON_DEVICE(check_device, "cpu"),
        ON_DEVICE(check_device, "emu"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
