/* What is added by index: as the reference has it, with indices that are there often, count from the end or are out of
 * bounds; and in the order of the indices, so that sums are the same to the bit in every schedule. `test_at_add cuda`
 * holds a GPU to the same. */
#include <stdlib.h>
#include <string.h>

#include "tests/device.h"
#include "tests/differential/check.h"

/* Places of i, whose elements are 0 to 9: one of V, of its end, or none. */
#define PLACES "    p = (i * 7 + arange(N)) % (2 * V + 3) - V - 1\n"

static const char *const programs[] = {
    "def f(x: f32[V, C], i: i32[N], v: f32[N, C]):\n" PLACES "    return at_add(x, p, v) * 2",
    "def f(x: f64[V, C], i: i64[N], v: f64[N, C]):\n" PLACES
    "    return at_add(x, p, v), at_add(x, p, v * v)",
    "def f(x: i32[C, V], i: i32[N], v: i32[C, N]):\n" PLACES "    return at_add(x, p, v, axis=1)",
    "def f(x: bf16[V, C], i: i32[N], v: bf16[N, C]):\n" PLACES "    return at_add(x, p, v)",
    "def f(x: f32[V], i: i64[N], v: f32[N]):\n" PLACES
    "    return at_add(x, p, v), at_add(x, p, 1)",
    "def f(x: f32[C, V, 3], i: i32[N], v: f32[C, N, 3]):\n" PLACES
    "    return at_add(x, p, v, axis=1).T",
    "def f(x: f32[V, C], i: i32[N, 2], v: f32[N, 2, C]):\n"
    "    return at_add(x, i % V, v), vjp(x[i % V], v, x) - x",
    "def f(x: c64[V, C], i: i32[N], v: c64[N, C]):\n" PLACES "    return at_add(x, p, v)",
    "def f(x: f32[V, C], i: i32[N], v: f32[N, C]):\n" PLACES
    "    y = x - vjp(sin(x)[p % V], v, x)\n    y[0] += v[0]\n    return y",
    "def f(x: f32[C, V], i: i32[C, N], v: f32[C, N]):\n"
    "    return vjp(take_along_axis(x, i % V, axis=1), v, x)",
};

static void hold(const char *device, int rounds)
{
    static const char *const schedules[] = {NULL, "whole", "split", "tiles", "cluster"};
    kn_context *ctx = open_context(device);
    tally seen = {0};
    rng r = {7};
    for (int i = 0; i < rounds; i++) {
        kn_arena a;
        const char *text = programs[i % (int)(sizeof programs / sizeof *programs)];
        const int v = 1 + below(&r, chance(&r, 30) ? 300 : 9), c = 1 + below(&r, 40),
                  n = 1 + below(&r, chance(&r, 30) ? 700 : 20);
        const kn_program_options o = {.fusion = chance(&r, 90),
                                      .schedule = schedules[below(&r, 5)]};
        kn_arena_init(&a, &kn_malloc_allocator);
        program *p = program_of_text(&a, text, "at_add", kn_sprintf(&a, "V=%d C=%d N=%d", v, c, n),
                                     (uint64_t)i + 1);
        if (!p)
            fail_msg("%s", kn_last_error());
        must_agree(p, ctx, &o, text, &seen);
        kn_arena_finish(&a);
    }
    must_have_compared(&seen);
    kn_context_close(ctx);
}

static void test_cpu(void **state)
{
    (void)state;
    hold("cpu", EFFORT(60, 20));
}

static void test_emu(void **state)
{
    (void)state;
    hold("emu", EFFORT(12, 10));
}

/* ---- order ---- */

enum { V = 37, C = 24, N = 4500 };

typedef struct added {
    float x[V * C], v[N * C];
    int32_t i[N];
} added;

/* Of sizes from 2^-10 to 2^10, so that the order of a sum shows. */
static void fill(added *d)
{
    rng r = {11};
    for (int i = 0; i < V * C; i++)
        d->x[i] = 0;
    for (int i = 0; i < N * C; i++)
        d->v[i] = (float)(below(&r, 2001) - 1000) * (float)(1 << below(&r, 20)) / 1024;
    for (int i = 0; i < N; i++)
        d->i[i] = below(&r, 2 * V) - V;
}

/* In single precision, one after the other. */
static void add_in_order(const added *d, float *y)
{
    memset(y, 0, sizeof d->x);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < C; c++)
            y[(d->i[i] < 0 ? d->i[i] + V : d->i[i]) * C + c] += d->v[i * C + c];
}

static void run(kiln_ctx *ctx, const char *schedule, const added *d, float *y)
{
    kiln_options o;
    kiln_options_init(&o);
    o.schedule = schedule;
    kiln_prog *prog = compile_with(ctx,
                                   "def f(i: i32[N], v: f32[N, C], x: f32[V, C]):\n"
                                   "    y = at_add(x, i, v)\n"
                                   "    return y\n",
                                   &o);
    void *at[4];
    const size_t bytes[] = {sizeof d->i, sizeof d->v, sizeof d->x, sizeof d->x};
    const void *from[] = {d->i, d->v, d->x};
    for (int k = 0; k < 4; k++)
        good(kiln_alloc(ctx, bytes[k], &at[k]));
    for (int k = 0; k < 3; k++)
        good(kiln_upload(ctx, at[k], from[k], bytes[k]));
    const kiln_arg args[] = {{"i", at[0], KILN_I32, 1, (int64_t[]){N}, NULL},
                             {"v", at[1], KILN_F32, 2, (int64_t[]){N, C}, NULL},
                             {"x", at[2], KILN_F32, 2, (int64_t[]){V, C}, NULL},
                             {"y", at[3], KILN_F32, 2, (int64_t[]){V, C}, NULL}};
    good(kiln_run(prog, NULL, args, 4));
    good(kiln_download(ctx, y, at[3], sizeof d->x));
    for (int k = 0; k < 4; k++)
        kiln_free(ctx, at[k]);
    kiln_prog_destroy(prog);
}

static void hold_order(const char *device)
{
    static const char *const schedules[] = {NULL, "whole", "split", "resident", "cluster", "tiles"};
    static added d;
    static float want[V * C], got[V * C];
    kiln_ctx *ctx = open_device(device);
    fill(&d);
    add_in_order(&d, want);
    for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++) {
        run(ctx, schedules[s], &d, got);
        if (strcmp(device, "cpu") == 0 && s == 0)
            memcpy(want, got, sizeof want); /* it adds in f64 */
        assert_memory_equal(got, want, sizeof want);
    }
    kiln_ctx_destroy(ctx);
}

static void test_order(void **state)
{
    (void)state;
    hold_order("emu");
    hold_order("cpu");
}

static const char *asked;

static void test_asked(void **state)
{
    (void)state;
    hold(asked, 200);
    hold_order(asked);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest one[] = {cmocka_unit_test(test_asked)};
    asked = argv[1];
    if (argc > 1)
        return cmocka_run_group_tests(one, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_emu),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
