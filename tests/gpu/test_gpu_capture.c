/* A run in a stream capture: after a prepare it makes no call that a capture forbids, and the graph, launched with
 * other numbers in the same arrays, computes what a run computes. Skipped where there is no GPU. */
#include <stdlib.h>
#include <string.h>

#include "frontend/handles.h"
#include "runtime/cuda/cuda_device.h"
#include "tests/gpu/gpu.h"
#include "tests/random.h"

enum { ROWS = 700, COLUMNS = 900, ELEMENTS = ROWS * COLUMNS, BYTES = 4 * ELEMENTS };

static void open_graphs(void)
{
    open_gpu_streams();
    if (!kn_cuda_of(ctx->core->dev)->driver->cuGraphLaunch)
        skip_gpu("the driver has no graphs");
}

static void fill(float *x, uint32_t seed)
{
    for (int i = 0; i < ELEMENTS; i++)
        x[i] = (float)(random_32(&seed) >> 8) / (1 << 24) - 0.5F;
}

/* One run of `text` as a graph; own: in the caller's workspace; autotune: the option. */
static void capture(const char *text, bool own, int autotune)
{
    static float x[ELEMENTS], got[ELEMENTS], want[ELEMENTS];
    static const int64_t shape[] = {ROWS, COLUMNS};
    const kn_cuda *gpu = kn_cuda_of(ctx->core->dev);
    kiln_options options;
    kiln_options_init(&options);
    options.autotune = autotune;
    kiln_prog *p = compile_with(ctx, text, &options);
    void *in, *out, *workspace = NULL;
    kn_cu_stream stream;
    kn_cu_graph graph = NULL;
    kn_cu_graph_exec exec = NULL;
    good(kiln_alloc(ctx, BYTES, &in));
    good(kiln_alloc(ctx, BYTES, &out));
    kiln_arg args[] = {{"x", in, KILN_F32, 2, shape, NULL}, {"y", out, KILN_F32, 2, shape, NULL}};
    kiln_prepared info;
    kiln_prepared_init(&info);
    info.own_workspace = own;
    good(kiln_prepare(p, args, 2, &info));
    if (own && info.workspace)
        good(kiln_alloc(ctx, info.workspace, &workspace));

    assert_int_equal(kn_cuda_enter(gpu), KN_OK);
    assert_int_equal(streams.cuStreamCreate(&stream, NON_BLOCKING), 0);
    assert_int_equal(streams.cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL), 0);
    kiln_status status = workspace ? kiln_run_in(p, stream, args, 2, workspace, info.workspace)
                                   : kiln_run(p, stream, args, 2);
    good(status);
    assert_int_equal(streams.cuStreamEndCapture(stream, &graph), 0);
    assert_non_null(graph);
    assert_int_equal(gpu->driver->cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
    for (unsigned round = 1; round <= 3; round++) {
        fill(x, round);
        good(kiln_upload(ctx, in, x, BYTES));
        assert_int_equal(gpu->driver->cuGraphLaunch(exec, stream), 0);
        good(kiln_sync(ctx, stream));
        good(kiln_download(ctx, got, out, BYTES));
        good(kiln_run(p, NULL, args, 2));
        good(kiln_sync(ctx, NULL));
        good(kiln_download(ctx, want, out, BYTES));
        assert_memory_equal(got, want, BYTES);
    }
    gpu->driver->cuGraphExecDestroy(exec);
    gpu->driver->cuGraphDestroy(graph);
    streams.cuStreamDestroy_v2(stream);
    kn_cuda_leave(gpu);
    kiln_free(ctx, workspace);
    kiln_free(ctx, in);
    kiln_free(ctx, out);
    kiln_prog_destroy(p);
}

/* Measuring would break a capture: what was not prepared runs as planned, and is measured the next time. */
static void test_unprepared(void **state)
{
    (void)state;
    open_graphs();
    static const char text[] = "def f(x: f32[N, C]):\n"
                               "    y = x - sum(x, axis=1, keepdims=True)\n"
                               "    return y\n";
    const kn_cuda *gpu = kn_cuda_of(ctx->core->dev);
    const int64_t shape[] = {ROWS, COLUMNS}, other[] = {ROWS - 1, COLUMNS};
    kiln_options options;
    kiln_stats stats;
    kiln_options_init(&options);
    kiln_stats_init(&stats);
    options.autotune = 10000;
    kiln_prog *p = compile_with(ctx, text, &options), *plain = compile(ctx, text);
    void *in, *out;
    kn_cu_stream stream;
    kn_cu_graph graph = NULL;
    good(kiln_alloc(ctx, BYTES, &in));
    good(kiln_alloc(ctx, BYTES, &out));
    kiln_arg args[] = {{"x", in, KILN_F32, 2, shape, NULL}, {"y", out, KILN_F32, 2, shape, NULL}};
    good(kiln_prepare(plain, args, 2, NULL)); /* the kernel is there: compiling is another matter */
    assert_int_equal(kn_cuda_enter(gpu), KN_OK);
    assert_int_equal(streams.cuStreamCreate(&stream, NON_BLOCKING), 0);
    assert_int_equal(streams.cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL), 0);
    good(kiln_run(p, stream, args, 2));
    assert_int_equal(streams.cuStreamEndCapture(stream, &graph), 0);
    good(kiln_ctx_stats(ctx, &stats));
    assert_int_equal(stats.tunings, 0);
    args[0].shape = args[1].shape = other;
    good(kiln_run(p, stream, args, 2));
    good(kiln_ctx_stats(ctx, &stats));
    assert_int_equal(stats.tunings + stats.tuning_hits, 1);
    good(kiln_sync(ctx, stream));
    gpu->driver->cuGraphDestroy(graph);
    streams.cuStreamDestroy_v2(stream);
    kn_cuda_leave(gpu);
    kiln_free(ctx, in);
    kiln_free(ctx, out);
    kiln_prog_destroy(p);
    kiln_prog_destroy(plain);
    kiln_ctx_destroy(ctx);
}

static void test_capture(void **state)
{
    (void)state;
    open_graphs();
    static const char softmax[] = "def softmax(x: f32[N, C]):\n"
                                  "    e = exp(x - max(x, axis=1, keepdims=True))\n"
                                  "    y = e / sum(e, axis=1, keepdims=True)\n"
                                  "    return y\n";
    /* blocks that meet, and temporaries */
    static const char centred[] = "def centred(x: f32[N, M]):\n"
                                  "    y = x - mean(x, axis=0) - mean(x, axis=1, keepdims=True)\n"
                                  "    return y\n";
    capture(softmax, false, 0);
    capture(centred, true, 0);
    capture(centred, false, 0);
    capture(softmax, false, 10000);
    capture(centred, true, 10000);
    kiln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_capture),
                                       cmocka_unit_test(test_unprepared)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed ? failed : skipped ? 77 : 0;
}
