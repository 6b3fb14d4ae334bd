/* Runs of every length around a few vectors, which begin anywhere within one, and one result written over its operand:
 * elementwise, and with what a reduction over the run gives. What lies in front of a run and behind it stays as it was. */
#include <math.h>
#include <string.h>

#include "tests/hostile.h"
#include "tests/on_device.h"

enum { FRONT = 16, BEHIND = 16 };

typedef struct run {
    kiln_dtype dtype;
    int64_t length, begin; /* in the memory that it lies in, in elements */
    double *values;        /* of all of that memory: x, over which y is written, and z */
} run;

static size_t size_of(kiln_dtype t)
{
    return t == KILN_F64 ? sizeof(double) : t == KILN_F32 ? sizeof(float) : sizeof(int8_t);
}

static const char *name_of(kiln_dtype t)
{
    return t == KILN_F64 ? "f64" : t == KILN_F32 ? "f32" : "i8";
}

static void put(kiln_dtype t, void *to, int64_t i, double v)
{
    if (t == KILN_F64)
        ((double *)to)[i] = v;
    else if (t == KILN_F32)
        ((float *)to)[i] = (float)v;
    else
        ((int8_t *)to)[i] = (int8_t)v;
}

static double get(kiln_dtype t, const void *from, int64_t i)
{
    return t == KILN_F64   ? ((const double *)from)[i]
           : t == KILN_F32 ? (double)((const float *)from)[i]
                           : (double)((const int8_t *)from)[i];
}

/* Of each of the two; z begins within a vector as x does. */
static int64_t room_of(int64_t length) { return (FRONT + length + BEHIND + 15) / 16 * 16; }

static int64_t elements_of(const run *r) { return 2 * room_of(r->length); }

static void update(kiln_ctx *ctx, kiln_prog *prog, run *r)
{
    const size_t size = size_of(r->dtype), bytes = size * (size_t)elements_of(r);
    void *host = malloc(bytes), *at;
    for (int64_t i = 0; i < elements_of(r); i++)
        put(r->dtype, host, i, (double)(i * 37 % 101) / 4 + 1);
    good(kiln_alloc(ctx, bytes, &at));
    good(kiln_upload(ctx, at, host, bytes));
    char *x = (char *)at + (size_t)r->begin * size, *z = x + (size_t)room_of(r->length) * size;
    const kiln_arg args[] = {{"x", x, r->dtype, 1, &r->length, NULL},
                             {"y", x, r->dtype, 1, &r->length, NULL},
                             {"z", z, r->dtype, 1, &r->length, NULL}};
    good(run_hostile(prog, args, 3));
    good(kiln_sync(ctx, NULL));
    good(kiln_download(ctx, host, at, bytes));
    for (int64_t i = 0; i < elements_of(r); i++)
        r->values[i] = get(r->dtype, host, i);
    kiln_free(ctx, at);
    free(host);
}

/* Elements that differ between the device and the reference by more than what sums differ in other orders. */
static int differing(const run *want, const run *got)
{
    int failed = 0;
    for (int64_t i = 0; i < elements_of(want); i++) {
        const double w = want->values[i], g = got->values[i];
        if (fabs(g - w) <= (want->dtype == KILN_F64 ? 1e-13 : 1e-5) * fabs(w))
            continue;
        if (!failed++)
            print_error("%s, %lld elements from %lld on: element %lld is %g, not %g\n",
                        name_of(want->dtype), (long long)want->length, (long long)want->begin,
                        (long long)(i - want->begin), g, w);
    }
    return failed;
}

typedef struct program {
    const char *y, *z, *schedule;
    int64_t shortest, longest;
    int begins; /* at so many places within a vector */
} program;

static void check(const char *device, const program *p, kiln_dtype dtype)
{
    kiln_ctx *ctx[] = {open_device("ref"), open_device(device)};
    kiln_prog *prog[2];
    kiln_options options;
    char text[256];
    int failed = 0;
    snprintf(text, sizeof text, "def f(x: %s[N]):\n    y = %s\n    z = %s\n    return y, z\n",
             name_of(dtype), p->y, p->z);
    kiln_options_init(&options);
    for (int d = 0; d < 2; d++) {
        options.schedule = d ? p->schedule : NULL;
        prog[d] = compile_with(ctx[d], text, &options);
    }
    for (int64_t n = p->shortest; n <= p->longest; n++)
        for (int begin = FRONT; begin < FRONT + p->begins; begin++) {
            run r[2];
            for (int d = 0; d < 2; d++) {
                r[d] = (run){dtype, n, begin, malloc(sizeof(double) * 2 * (size_t)room_of(n))};
                update(ctx[d], prog[d], &r[d]);
            }
            failed += differing(&r[0], &r[1]);
            free(r[0].values);
            free(r[1].values);
        }
    for (int d = 0; d < 2; d++) {
        kiln_prog_destroy(prog[d]);
        kiln_ctx_destroy(ctx[d]);
    }
    assert_int_equal(failed, 0);
}

static void check_all(const char *device)
{
    static const kiln_dtype dtypes[] = {KILN_F32, KILN_F64, KILN_I8};
    static const program flat[] = {{"x + 3", "x - 1", NULL, 0, 19, 9},
                                   {"x + 3", "x - 1", NULL, 1021, 1033, 2}};
    /* what is stored before a sum is known, and behind it, by sweeps that keep x and by some that do not */
    static const program summed[] = {
        {"x + 3", "x / sum(x)", "whole", 8197, 8201, 2},
        {"x / sum(x)", "x + 3", "whole", 20001, 20004, 2},
        {"x / sum(x)", "x + 3", "split", 9001, 9004, 2},
        {"x + 3", "x / sum(x)", "resident", 20001, 20004, 2},
        {"x + 3", "exp(x / 99) / sum(exp(x / 99))", "cluster=2", 20001, 20004, 2},
        {"x / sum(x)", "x + 3", "cluster=2", 20001, 20004, 2}};
    enum { SUMMED = sizeof summed / sizeof *summed };
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < 2; i++)
            check(device, &flat[i], dtypes[t]);
    for (int i = 0; i < SUMMED; i++)
        for (int t = 0; t < 2; t++)
            check(device, &summed[i], dtypes[t]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_DEVICE(check_all, "cpu"), ON_DEVICE(check_all, "emu"),
                                       ON_DEVICE(check_all, "cuda")};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
