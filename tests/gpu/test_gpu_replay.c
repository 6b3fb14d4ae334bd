/* The default stream, where launches that are asked for again and again are graphs of one kernel
 * (runtime/cuda/replay.h): every call's own arrays, numbers and sizes, in order with blocking streams, beside a
 * capture, from several threads at once. Skipped where there is no GPU. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/handles.h"
#include "runtime/cuda/cuda_device.h"
#include "tests/gpu/gpu.h"

enum {
    ROWS = 300,
    COLUMNS = 500,
    SETS = 3,
    THREADS = 4,
    OFTEN = 40, /* more than it takes for a graph */
    LARGE = 1 << 24,
    ROUNDS = 40
};

static const char scale[] = "def scale(x: f32[N, M], k: f32):\n    y = x * k\n    return y\n";
/* blocks that meet: a cooperative launch */
static const char unit[] =
    "def unit(x: f32[N, M], k: f32):\n    y = x * k / max(x)\n    return y\n";

typedef struct arrays {
    float host[ROWS * COLUMNS], got[ROWS * COLUMNS];
    void *x, *y;
} arrays;

static arrays *make(int seed)
{
    arrays *a = calloc(1, sizeof *a);
    assert_non_null(a);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        a->host[i] = (float)((i * 31 + seed * 7) % 1009) + 1;
    good(kiln_alloc(ctx, sizeof a->host, &a->x));
    good(kiln_alloc(ctx, sizeof a->host, &a->y));
    good(kiln_upload(ctx, a->x, a->host, sizeof a->host));
    return a;
}

static void destroy(arrays *a)
{
    kiln_free(ctx, a->x);
    kiln_free(ctx, a->y);
    free(a);
}

static kiln_status run(kiln_prog *p, const arrays *a, int64_t rows, float k)
{
    const int64_t shape[] = {rows, COLUMNS};
    const kiln_arg args[] = {{"x", a->x, KILN_F32, 2, shape, NULL},
                             {"k", &k, KILN_F32, 0, NULL, NULL},
                             {"y", a->y, KILN_F32, 2, shape, NULL}};
    return kiln_run(p, NULL, args, 3);
}

/* Is y the first rows times k, or that over the largest of them? */
static bool is_right(arrays *a, int64_t rows, float k, bool of_largest)
{
    float largest = 1;
    bool right = kiln_download(ctx, a->got, a->y, sizeof a->got) == KILN_OK;
    for (int64_t i = 0; of_largest && i < rows * COLUMNS; i++)
        largest = a->host[i] > largest ? a->host[i] : largest;
    for (int64_t i = 0; right && i < rows * COLUMNS; i++)
        right = a->got[i] == a->host[i] * k / largest;
    return right;
}

static void test_calls_differ(void **state)
{
    (void)state;
    open_gpu();
    static const struct {
        const char *text, *schedule;
    } programs[] = {{scale, NULL}, {unit, NULL}, {unit, "cluster=4"}};
    static const struct {
        int set, times;
        int64_t rows;
        float k;
    } calls[] = {{0, OFTEN, ROWS, 2}, {1, 1, ROWS, 2},     {0, 3, ROWS, 2},     {0, 2, ROWS, 5},
                 {2, OFTEN, 7, 5},    {0, OFTEN, ROWS, 2}, {1, OFTEN, ROWS, 9}, {1, 1, 33, 9}};
    arrays *sets[SETS];
    for (int s = 0; s < SETS; s++)
        sets[s] = make(s);
    for (int p = 0; p < 3; p++) {
        kiln_options how;
        kiln_options_init(&how);
        how.schedule = programs[p].schedule;
        kiln_prog *prog = compile_with(ctx, programs[p].text, &how);
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++)
            for (int i = 0; i < calls[c].times; i++) {
                arrays *a = sets[calls[c].set];
                good(kiln_upload(ctx, a->y, a->host, sizeof a->host));
                good(run(prog, a, calls[c].rows, calls[c].k));
                assert_true(is_right(a, calls[c].rows, calls[c].k, p > 0));
            }
        kiln_prog_destroy(prog);
    }
    for (int s = 0; s < SETS; s++)
        destroy(sets[s]);
    kiln_ctx_destroy(ctx);
}

/* What the default stream does waits for blocking streams, and they for it. */
static void test_order(void **state)
{
    (void)state;
    open_gpu_streams();
    const kn_cuda *gpu = kn_cuda_of(ctx->core->dev);
    const int64_t shape[] = {LARGE};
    static float got[LARGE];
    kn_cu_stream stream;
    void *x;
    kiln_prog *p = compile(ctx, "def next(x: f32[N]):\n    x[:] = x + 1\n    return x\n");
    assert_int_equal(kn_cuda_enter(gpu), KN_OK);
    assert_int_equal(streams.cuStreamCreate(&stream, BLOCKING), 0);
    good(kiln_alloc(ctx, sizeof got, &x));
    good(kiln_upload(ctx, x, got, sizeof got));
    const kiln_arg args[] = {{"x", x, KILN_F32, 1, shape, NULL}};
    for (int i = 0; i < ROUNDS; i++)
        good(kiln_run(p, i % 2 ? stream : NULL, args, 1));
    good(kiln_download(ctx, got, x, sizeof got));
    for (int i = 0; i < LARGE; i++)
        assert_true(got[i] == ROUNDS);
    streams.cuStreamDestroy_v2(stream);
    kn_cuda_leave(gpu);
    kiln_free(ctx, x);
    kiln_prog_destroy(p);
    kiln_ctx_destroy(ctx);
}

/* While another stream is captured, a graph is given up and another made. */
static void test_beside_a_capture(void **state)
{
    (void)state;
    open_gpu_streams();
    const kn_cuda *gpu = kn_cuda_of(ctx->core->dev);
    kn_cu_stream stream;
    kn_cu_graph graph = NULL;
    kiln_prog *p = compile(ctx, scale);
    arrays *a = make(0);
    for (int i = 0; i < OFTEN; i++)
        good(run(p, a, ROWS, 3));
    assert_int_equal(kn_cuda_enter(gpu), KN_OK);
    assert_int_equal(streams.cuStreamCreate(&stream, NON_BLOCKING), 0);
    assert_int_equal(streams.cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL), 0);
    for (int i = 0; i < OFTEN; i++)
        good(run(p, a, ROWS, 2));
    assert_int_equal(streams.cuStreamEndCapture(stream, &graph), 0);
    gpu->driver->cuGraphDestroy(graph);
    streams.cuStreamDestroy_v2(stream);
    kn_cuda_leave(gpu);
    assert_true(is_right(a, ROWS, 2, false));
    destroy(a);
    kiln_prog_destroy(p);
    kiln_ctx_destroy(ctx);
}

static kiln_prog *shared;
static arrays *common;

/* In turns what all threads do, and what only this one does. */
static void *call_often(void *user)
{
    arrays *a = user;
    bool right = true;
    for (int round = 0; round < 8 && right; round++) {
        for (int i = 0; i < OFTEN && right; i++)
            right =
                run(shared, round % 2 ? a : common, ROWS, round % 2 ? (float)round : 3) == KILN_OK;
        right = right && (round % 2 == 0 || is_right(a, ROWS, (float)round, true));
    }
    return right ? user : NULL;
}

static void test_threads(void **state)
{
    (void)state;
    open_gpu();
    arrays *sets[THREADS];
    pthread_t threads[THREADS];
    void *right[THREADS];
    shared = compile(ctx, unit);
    common = make(THREADS);
    for (int i = 0; i < THREADS; i++) {
        sets[i] = make(i);
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, sets[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], &right[i]);
    assert_true(is_right(common, ROWS, 3, true));
    for (int i = 0; i < THREADS; i++) {
        assert_ptr_equal(right[i], sets[i]);
        destroy(sets[i]);
    }
    destroy(common);
    kiln_prog_destroy(shared);
    kiln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_differ), cmocka_unit_test(test_order),
        cmocka_unit_test(test_beside_a_capture), cmocka_unit_test(test_threads)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed ? failed : skipped ? 77 : 0;
}
