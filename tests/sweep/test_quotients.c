/* Quotients by what a group has: of group values, which clusters compute in their own way, those of division to the bit; of
 * elements, by the reciprocal, as codegen/emit/cuda/prelude/divisors.cuh promises.
 *
 * usage: test_quotients [DEVICE ...] */
#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/effort.h"
#include "tests/hostile.h"
#include "tests/sweep/devices.h"
#include "tests/sweep/sweep.h"

enum { VALUES = 1000000, EMULATED = EFFORT(2000, 300), COLUMNS = 2 };

/* 1 * (a / b): the sum is of the group's elements, so what it is multiplied by is computed for the group. */
static const char of_groups[] =
    "def f(x: f32[N, C], a: f32[N], b: f32[N]):\n    return sum(x, axis=1) * (a / b)\n";
/* x / b, where the sum of b and 0 is of the group; by its root, whose size is known; and by a constant. */
#define OF_ELEMENTS(by)                                                                             \
    "def f(x: f32[N, C], w: f32[N, C]):\n    b = sum(w, axis=1, keepdims=True)\n    return x / " by \
    "\n"
static float itself(float b) { return b + 0.0f; }
static float its_root(float b) { return sqrtf(b) + 1e-6f; }
static float constant(float b)
{
    (void)b;
    return 30;
}
static const struct {
    const char *text;
    float (*divisor)(float b);
} of_elements[] = {{OF_ELEMENTS("b"), itself},
                   {OF_ELEMENTS("(sqrt(b) + 1e-6)"), its_root},
                   {OF_ELEMENTS("30"), constant}};

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
    a[n / 4] =
        0x1.8fe488p+127f; /* by which the product with the reciprocal is infinite, the quotient is not */
    b[n / 4] = 0x1.8fe48ap-1f;
}

static bool same(float x, float y)
{
    return (isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof x) == 0;
}

/* Is `got` x / by as division by a reciprocal has it: rounded, but where the remainder may underflow within 2 units of the last
 * place, and below the normal numbers within 1; the largest number or infinite? */
static bool is_quotient(float x, float by, float got)
{
    const float exact = x / by;
    if (same(got, exact) || (fabsf(exact) == FLT_MAX && same(got, copysignf(INFINITY, exact))))
        return true;
    const bool small = fabsf(x) < 0x1p-102f;
    if (isnan(got) || !isfinite(exact) || (!small && fabsf(exact) >= FLT_MIN))
        return false;
    const float unit = nextafterf(fabsf(exact), INFINITY) - fabsf(exact);
    return fabsf(got - exact) <= (fabsf(exact) < FLT_MIN ? 1 : 2) * unit;
}

static void failed(device *d, float x, float by, float got)
{
    if (d->failed++ < 3)
        print_message("%s: %a / %a is %a, not %a\n", d->name, (double)x, (double)by, (double)got,
                      (double)(x / by));
}

/* Runs `text` of inputs that are `from`; the last argument is the output, which comes back in got[]. */
static void run(device *d, const char *text, const char *schedule, kiln_arg *args, int nargs,
                const float *const *from, float *got)
{
    size_t bytes = 0;
    for (int k = 0; k < nargs; k++) {
        bytes = sizeof(float) * (size_t)args[k].shape[0] * (args[k].rank > 1 ? COLUMNS : 1);
        good(kiln_alloc(d->ctx, bytes, &args[k].data));
        if (k < nargs - 1)
            good(kiln_upload(d->ctx, args[k].data, from[k], bytes));
    }
    kiln_options options;
    kiln_options_init(&options);
    options.schedule = schedule;
    kiln_prog *prog = compile_with(d->ctx, text, &options);
    good(run_hostile(prog, args, nargs));
    good(kiln_download(d->ctx, got, args[nargs - 1].data, bytes));
    kiln_prog_destroy(prog);
    for (int k = 0; k < nargs; k++)
        kiln_free(d->ctx, args[k].data);
}

static int64_t count_of(const device *d)
{
    return strcmp(d->name, "emu") == 0 && values > EMULATED ? EMULATED : values;
}

static void test_quotients_of_groups(void **state)
{
    (void)state;
    float *a = test_malloc((size_t)values * sizeof *a),
          *b = test_malloc((size_t)values * sizeof *b),
          *x = test_malloc((size_t)values * COLUMNS * sizeof *x),
          *got = test_malloc((size_t)values * sizeof *got);
    fill(values, a, b);
    for (int64_t i = 0; i < COLUMNS * values; i++)
        x[i] = (float)(i % COLUMNS);
    for (device *d = devices; d < devices + ndevices; d++) {
        const int64_t n = count_of(d), rows[] = {n, COLUMNS};
        kiln_arg args[] = {{"x", NULL, KILN_F32, 2, rows, NULL},
                           {"a", NULL, KILN_F32, 1, rows, NULL},
                           {"b", NULL, KILN_F32, 1, rows, NULL},
                           {"out0", NULL, KILN_F32, 1, rows, NULL}};
        run(d, of_groups, "cluster=2", args, 4, (const float *[]){x, a, b}, got);
        compared += n;
        for (int64_t i = 0; i < n; i++)
            if (!same(got[i], a[i] / b[i]))
                failed(d, a[i], b[i], got[i]);
    }
    test_free(a);
    test_free(b);
    test_free(x);
    test_free(got);
    expect_no_failure();
}

static void compare_elements(device *d, int64_t n, const float *x, const float *by,
                             const float *got)
{
    compared += n * COLUMNS;
    for (int64_t i = 0; i < n * COLUMNS; i++)
        if (!is_quotient(x[i], by[i / COLUMNS], got[i]))
            failed(d, x[i], by[i / COLUMNS], got[i]);
}

/* Every dividend, by each of two divisors. */
static void test_quotients_of_elements(void **state)
{
    (void)state;
    const size_t bytes = (size_t)values * COLUMNS * sizeof(float);
    float *a = test_malloc(bytes / COLUMNS), *b = test_malloc(bytes / COLUMNS),
          *by = test_malloc(bytes / COLUMNS), *x = test_malloc(bytes), *w = test_malloc(bytes),
          *got = test_malloc(bytes);
    fill(values, a, b);
    for (int64_t i = 0; i < values; i++) {
        x[COLUMNS * i] = a[i];
        x[COLUMNS * i + 1] = a[(i + 1) % values];
        w[COLUMNS * i] = b[i];
        w[COLUMNS * i + 1] = 0;
    }
    for (size_t t = 0; t < sizeof of_elements / sizeof *of_elements; t++) {
        for (int64_t i = 0; i < values; i++)
            by[i] = of_elements[t].divisor(b[i]);
        for (device *d = devices; d < devices + ndevices; d++) {
            const int64_t n = count_of(d), rows[] = {n, COLUMNS};
            kiln_arg args[] = {{"x", NULL, KILN_F32, 2, rows, NULL},
                               {"w", NULL, KILN_F32, 2, rows, NULL},
                               {"out0", NULL, KILN_F32, 2, rows, NULL}};
            run(d, of_elements[t].text, NULL, args, 3, (const float *[]){x, w}, got);
            compare_elements(d, n, x, by, got);
        }
    }
    test_free(a);
    test_free(b);
    test_free(by);
    test_free(x);
    test_free(w);
    test_free(got);
    expect_no_failure();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotients_of_groups),
        cmocka_unit_test(test_quotients_of_elements),
    };
    if (!open_devices(argc, argv, VALUES))
        return 77;
    return close_devices(cmocka_run_group_tests(tests, NULL, NULL));
}
