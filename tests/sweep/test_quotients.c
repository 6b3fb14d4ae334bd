/* Quotients that are one for a group, which clusters compute in their own way: those of division, to the bit.
 *
 * usage: test_quotients [DEVICE ...] */
#include <math.h>
#include <string.h>

#include "tests/effort.h"
#include "tests/hostile.h"
#include "tests/sweep/devices.h"
#include "tests/sweep/sweep.h"

enum { VALUES = 1000000, EMULATED = EFFORT(2000, 300), COLUMNS = 2 };

/* 1 * (a / b): the sum is of the group's elements, so what it is multiplied by is computed for the group. */
static const char text[] =
    "def f(x: f32[N, C], a: f32[N], b: f32[N]):\n    return sum(x, axis=1) * (a / b)\n";

/* Numbers where division could go wrong and random ones; every other one a small one by a count, of which many have
 * quotients below the normal numbers, and in the middle of two of them. */
static void fill(int64_t n, float *a, float *b)
{
    values_fill(KN_F32, 0, n, a);
    values_fill(KN_F32, 1, n, b);
    for (int64_t i = 0; i < n; i += 2) {
        uint32_t bits;
        memcpy(&bits, &a[i], sizeof bits);
        bits &= 0x81ffffff;
        memcpy(&a[i], &bits, sizeof bits);
        b[i] = (float)(i / 2 % 100);
    }
}

static bool same(float x, float y)
{
    return (isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof x) == 0;
}

static void compare(device *d, int64_t n, const float *a, const float *b, const float *got)
{
    for (int64_t i = 0; i < n; i++) {
        float exact = a[i] / b[i];
        compared++;
        if (!same(got[i], exact) && d->failed++ < 3)
            print_message("%s: %a / %a is %a, not %a\n", d->name, (double)a[i], (double)b[i],
                          (double)got[i], (double)exact);
    }
}

static void run(device *d, int64_t n, const float *a, const float *b)
{
    const int64_t rows[] = {n, COLUMNS}, shape[] = {n};
    kiln_arg args[] = {{"x", NULL, KILN_F32, 2, rows, NULL},
                       {"a", NULL, KILN_F32, 1, shape, NULL},
                       {"b", NULL, KILN_F32, 1, shape, NULL},
                       {"out0", NULL, KILN_F32, 1, shape, NULL}};
    size_t bytes = (size_t)n * sizeof(float);
    float *x = test_malloc(COLUMNS * bytes), *got = test_malloc(bytes);
    for (int64_t i = 0; i < COLUMNS * n; i++)
        x[i] = (float)(i % COLUMNS);
    const float *from[] = {x, a, b};
    for (int k = 0; k < 4; k++)
        good(kiln_alloc(d->ctx, k == 0 ? COLUMNS * bytes : bytes, &args[k].data));
    for (int k = 0; k < 3; k++)
        good(kiln_upload(d->ctx, args[k].data, from[k], k == 0 ? COLUMNS * bytes : bytes));
    kiln_options options;
    kiln_options_init(&options);
    options.schedule = "cluster=2";
    kiln_prog *prog = compile_with(d->ctx, text, &options);
    good(run_hostile(prog, args, 4));
    good(kiln_download(d->ctx, got, args[3].data, bytes));
    compare(d, n, a, b, got);
    kiln_prog_destroy(prog);
    for (int k = 0; k < 4; k++)
        kiln_free(d->ctx, args[k].data);
    test_free(x);
    test_free(got);
}

static void test_quotients(void **state)
{
    (void)state;
    float *a = test_malloc((size_t)values * sizeof *a),
          *b = test_malloc((size_t)values * sizeof *b);
    fill(values, a, b);
    for (int d = 0; d < ndevices; d++)
        run(&devices[d],
            strcmp(devices[d].name, "emu") == 0 && values > EMULATED ? EMULATED : values, a, b);
    test_free(a);
    test_free(b);
    expect_no_failure();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_quotients)};
    if (!open_devices(argc, argv, VALUES))
        return 77;
    return close_devices(cmocka_run_group_tests(tests, NULL, NULL));
}
