/* With batch_invariant a group has the same results, to the bit, in batches of any size: rows, and columns, of one large
 * array beside those of its first few. */
#include <string.h>

#include "tests/device.h"
#include "tests/effort.h"

static const int64_t batches[] = {1, 2, 7, 40};
enum {
    BATCHES = sizeof batches / sizeof *batches,
    MOST = 133,
    LONG = 20000,
    MOST_LONG = 9,
    SUMS = 5
};

typedef struct program {
    const char *text;
    kiln_dtype dtype;
    bool columns; /* the batch is of columns: x is members x batch */
    int step;     /* from one element of a row to the next */
} program;

static const program programs[] = {
    {"def f(x: f32[N, C]):\n"
     "    return softmax(x, axis=1)\n",
     KILN_F32, false, 1},
    {"def f(x: f32[N, C]):\n"
     "    d = x - mean(x, axis=1, keepdims=True)\n"
     "    return d * rsqrt(mean(d * d, axis=1, keepdims=True) + 1e-5)\n",
     KILN_F32, false, 1},
    {"def f(x: f32[N, C]):\n"
     "    y = x * rsqrt(mean(x * x, axis=1, keepdims=True) + 1)\n"
     "    m = sum(y, axis=0)\n" /* of all groups: in the same program, not compared */
     "    return y + 0 * max(m)\n",
     KILN_F32, false, 1},
    {"def f(x: bf16[N, C]):\n"
     "    h = cast(x, f32)\n"
     "    e = exp(h - max(h, axis=1, keepdims=True))\n"
     "    return cast(e / sum(e, axis=1, keepdims=True), bf16)\n",
     KILN_BF16, false, 1},
    {"def f(x: f32[N, C]):\n"
     "    return logsumexp(x, axis=1)\n",
     KILN_F32, false, 1},
    {"def f(x: f32[N, C]):\n"
     "    return var(x, axis=1)\n",
     KILN_F32, false, 1},
    {"def f(x: f64[N, C]):\n"
     "    return sum(sin(x), axis=1)\n",
     KILN_F64, false, 1},
    {"def f(x: f32[C, N]):\n" /* every second element */
     "    return sum(x, axis=0)\n",
     KILN_F32, true, 2},
    {"def f(x: f32[C, N]):\n"
     "    return sum(x, axis=0)\n",
     KILN_F32, true, 1},
    {"def f(x: f32[C, N]):\n"
     "    d = x - mean(x, axis=0)\n"
     "    return sum(d * d, axis=0)\n",
     KILN_F32, true, 1},
};

static size_t size_of(kiln_dtype t) { return t == KILN_F64 ? 8 : t == KILN_F32 ? 4 : 2; }

/* Element i of group g. Bits of a bf16 are the upper half of those of an f32. */
static void put(kiln_dtype t, void *to, int64_t g, int64_t i)
{
    const double v = (double)((g * 7919 + i * 104729) % 20011) / 5000 - 1.5;
    const float f = (float)v;
    if (t == KILN_F64)
        memcpy(to, &v, sizeof v);
    else if (t == KILN_F32)
        memcpy(to, &f, sizeof f);
    else
        memcpy(to, (const char *)&f + 2, 2);
}

/* The results of the first n groups of `members` elements each, `each` of a group; the caller frees them. */
static char *results(kiln_ctx *ctx, kiln_prog *prog, const program *p, int64_t n, int64_t members,
                     int64_t *each)
{
    const size_t size = size_of(p->dtype), all = size * (size_t)(n * members * p->step);
    const int64_t shape[] = {p->columns ? members : n, p->columns ? n : members};
    char *host = malloc(all);
    for (int64_t g = 0; g < n; g++)
        for (int64_t i = 0; i < members; i++)
            put(p->dtype,
                host + size * (size_t)(p->step * (p->columns ? i * n + g : g * members + i)), g, i);
    kiln_io io;
    good(kiln_prog_io(prog, 1, &io));
    *each = io.rank == 2 ? members : 1;
    const int64_t out_shape[] = {n, members}, strides[] = {shape[1] * p->step, p->step};
    const size_t bytes = size * (size_t)(n * *each);
    void *x, *y;
    good(kiln_alloc(ctx, all, &x));
    good(kiln_alloc(ctx, bytes, &y));
    good(kiln_upload(ctx, x, host, all));
    const kiln_arg args[] = {{"x", x, p->dtype, 2, shape, strides},
                             {io.name, y, p->dtype, io.rank, out_shape, NULL}};
    good(kiln_run(prog, NULL, args, 2));
    good(kiln_sync(ctx, NULL));
    host = realloc(host, bytes);
    good(kiln_download(ctx, host, y, bytes));
    kiln_free(ctx, x);
    kiln_free(ctx, y);
    return host;
}

static int differing(kiln_ctx *ctx, const program *p, int64_t members)
{
    kiln_options options;
    kiln_options_init(&options);
    options.batch_invariant = true;
    kiln_prog *prog = compile_with(ctx, p->text, &options);
    int64_t each;
    int failed = 0;
    const int64_t most = members < LONG ? MOST : MOST_LONG;
    char *want = results(ctx, prog, p, most, members, &each);
    for (int b = 0; b < BATCHES && batches[b] < most; b++) {
        char *got = results(ctx, prog, p, batches[b], members, &each);
        for (int64_t g = 0; g < batches[b]; g++) {
            const size_t bytes = (size_t)each * size_of(p->dtype);
            if (memcmp(got + (size_t)g * bytes, want + (size_t)g * bytes, bytes) == 0 || failed++)
                continue;
            print_error("%s%lld members: group %lld of %lld is not as of %lld\n", p->text,
                        (long long)members, (long long)g, (long long)batches[b], (long long)most);
        }
        free(got);
    }
    free(want);
    kiln_prog_destroy(prog);
    return failed;
}

static void compare_on(const char *device, int lengths)
{
    static const int64_t members[] = {5, 1000, 40000, 4099, 96, 9216};
    kiln_ctx *ctx = open_device(device);
    int failed = 0;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        for (int k = 0; k < lengths; k++)
            failed += differing(ctx, &programs[i], members[k]);
    /* split: the sums of rows, which nothing keeps */
    failed += differing(ctx, &programs[SUMS], 70000);
    kiln_ctx_destroy(ctx);
    assert_int_equal(failed, 0);
}

static void test_on_the_cpu(void **state)
{
    (void)state;
    compare_on("cpu", EFFORT(6, 3));
}

static void test_on_the_emulator(void **state)
{
    (void)state;
    compare_on("emu", EFFORT(2, 1));
}

static void test_measuring_is_refused(void **state)
{
    (void)state;
    kiln_ctx *ctx = open_device("cpu");
    kiln_graph *graph;
    kiln_prog *prog;
    kiln_options options;
    kiln_options_init(&options);
    options.batch_invariant = true;
    options.autotune = 100;
    good(kiln_parse(ctx, programs[0].text, NULL, &graph));
    assert_int_equal(kiln_compile(graph, &options, &prog), KILN_ERR_ARGUMENT);
    kiln_graph_destroy(graph);
    kiln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_on_the_cpu),
                                       cmocka_unit_test(test_on_the_emulator),
                                       cmocka_unit_test(test_measuring_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
