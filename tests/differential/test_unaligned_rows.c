/* Rows that begin and end anywhere within vectors: every residue of length and distance, whole and by clusters. What
 * lies between the rows of an output stays as it was. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/hostile.h"
#include "tests/on_device.h"

static const char *const bodies[] = {
    "    return x / sum(x, axis=1, keepdims=True) * g\n",
    "    m = mean(x, axis=1, keepdims=True)\n"
    "    v = mean((x - m) ** 2, axis=1, keepdims=True)\n"
    "    return (x - m) * rsqrt(v) + g\n",
    "    return exp(x - logsumexp(x, axis=1)[:, None]) - g\n",
};
enum { BODIES = 3, ROWS = 3, BETWEEN = 8 };

typedef struct rows {
    kiln_ctx *ctx;
    kiln_dtype dtype;
    int64_t length, distance, elements;
    void *x, *g, *y;
    double *got;
} rows;

static size_t size_of(const rows *r)
{
    return r->dtype == KILN_F64 ? sizeof(double) : r->dtype == KILN_F32 ? sizeof(float) : 2;
}

/* A bf16 is the upper half of an f32: what is put there loses nothing by it. */
static void put(const rows *r, void *to, int64_t i, double v)
{
    union {
        float f;
        uint32_t bits;
    } u = {.f = (float)v};
    if (r->dtype == KILN_F64)
        ((double *)to)[i] = v;
    else if (r->dtype == KILN_F32)
        ((float *)to)[i] = (float)v;
    else
        ((uint16_t *)to)[i] = (uint16_t)(u.bits >> 16);
}

static double get(const rows *r, const void *from, int64_t i)
{
    if (r->dtype == KILN_BF16) {
        union {
            uint32_t bits;
            float f;
        } u = {(uint32_t)((const uint16_t *)from)[i] << 16};
        return (double)u.f;
    }
    return r->dtype == KILN_F64 ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

static const char *type_of(const rows *r)
{
    return r->dtype == KILN_F64 ? "f64" : r->dtype == KILN_F32 ? "f32" : "bf16";
}

static void fill(rows *r)
{
    size_t bytes = size_of(r) * (size_t)r->elements;
    void *host = malloc(bytes);
    for (int64_t i = 0; i < r->elements; i++)
        put(r, host, i, (double)(i * 37 % 101) / 64 + 0.25);
    good(kiln_alloc(r->ctx, bytes, &r->x));
    good(kiln_upload(r->ctx, r->x, host, bytes));
    good(kiln_alloc(r->ctx, bytes, &r->g));
    good(kiln_upload(r->ctx, r->g, host, bytes));
    for (int64_t i = 0; i < r->elements; i++)
        put(r, host, i, -7);
    good(kiln_alloc(r->ctx, bytes, &r->y));
    good(kiln_upload(r->ctx, r->y, host, bytes));
    free(host);
}

/* All of y's memory after a run, in got[]. */
static void run(rows *r, const char *device, int body, const char *schedule)
{
    char text[512];
    kiln_options options;
    kiln_options_init(&options);
    options.schedule = schedule;
    snprintf(text, sizeof text, "def f(x: %s[N, C], g: %s[C]):\n%s", type_of(r), type_of(r),
             bodies[body]);
    r->ctx = open_device(device);
    fill(r);
    kiln_prog *prog = compile_with(r->ctx, text, &options);
    const int64_t shape[2] = {ROWS, r->length}, strides[2] = {r->distance, 1};
    const kiln_arg args[] = {{"x", r->x, r->dtype, 2, shape, strides},
                             {"g", r->g, r->dtype, 1, &r->length, NULL},
                             {"out0", r->y, r->dtype, 2, shape, strides}};
    good(run_hostile(prog, args, 3));
    good(kiln_sync(r->ctx, NULL));
    void *host = malloc(size_of(r) * (size_t)r->elements);
    good(kiln_download(r->ctx, host, r->y, size_of(r) * (size_t)r->elements));
    for (int64_t i = 0; i < r->elements; i++)
        r->got[i] = get(r, host, i);
    free(host);
    kiln_free(r->ctx, r->x);
    kiln_free(r->ctx, r->g);
    kiln_free(r->ctx, r->y);
    kiln_prog_destroy(prog);
    kiln_ctx_destroy(r->ctx);
}

static int compare(const rows *want, const rows *got, int body, const char *schedule)
{
    double bound = want->dtype == KILN_F64 ? 1e-12 : want->dtype == KILN_F32 ? 2e-5 : 0.02;
    for (int64_t i = 0; i < want->elements; i++) {
        double w = want->got[i], g = got->got[i];
        if (fabs(g - w) <= bound * (fabs(w) + 1))
            continue;
        print_error(
            "program %d, %s, %lld members, %lld apart, schedule %s: element %lld is %g, not %g\n",
            body, type_of(want), (long long)want->length, (long long)want->distance,
            schedule ? schedule : "chosen", (long long)i, g, w);
        return 1;
    }
    return 0;
}

static void check(const char *device)
{
    /* what is chosen for a GPU is a cluster of a single block */
    static const char *const schedules[] = {NULL, "whole", "cluster=3"};
    int failed = 0;
    /* lengths and distances of every residue of 4, three times each */
    for (int64_t i = 0; i < 12; i++) {
        rows want = {.dtype = i > 8        ? KILN_BF16
                              : i % 3 == 2 ? KILN_F64
                                           : KILN_F32,
                     .length = 8193 + i};
        want.distance = want.length + i * 5 % BETWEEN;
        want.elements = ROWS * want.distance;
        rows got = want;
        want.got = malloc(sizeof(double) * (size_t)want.elements);
        got.got = malloc(sizeof(double) * (size_t)want.elements);
        int body = (int)i % BODIES;
        run(&want, "ref", body, NULL);
        for (int s = 0; s < 3; s++) {
            run(&got, device, body, schedules[s]);
            failed += compare(&want, &got, body, schedules[s]);
        }
        free(want.got);
        free(got.got);
    }
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_DEVICE(check, "emu"), ON_DEVICE(check, "cuda")};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
