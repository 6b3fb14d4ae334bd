/* Which memory a run takes, of a driver that is there: host memory is refused and hurts nothing, what CUDA knows is
 * taken, and asking is legal while a stream is captured. And CUDA is refused in a child by fork(). Skipped where there
 * is no GPU. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frontend/handles.h"
#include "runtime/cuda/cuda_device.h"
#include "tests/gpu/gpu.h"

enum { N = 5000, BYTES = 4 * N };

static const char text[] = "def f(x: f32[N]):\n    y = x * 2\n    return y\n";

/* What applications take memory by; CUDA driver API, "Memory Management". */
static struct {
    int (*cuMemAllocManaged)(kn_cu_ptr *ptr, size_t bytes, unsigned flags);
    int (*cuMemHostAlloc)(void **ptr, size_t bytes, unsigned flags);
    int (*cuMemFreeHost)(void *ptr);
    int (*cuMemHostRegister_v2)(void *ptr, size_t bytes, unsigned flags);
    int (*cuMemHostUnregister)(void *ptr);
} memory;

enum { ATTACH_GLOBAL = 1, DEVICE_MAP = 2 };

static const kn_cuda *gpu(void) { return kn_cuda_of(ctx->core->dev); }

static void open_memory(void)
{
    open_gpu_streams();
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *symbol;
#define FIND(entry)                                                                                \
    assert_non_null(symbol = dlsym(lib, #entry));                                                  \
    memcpy(&memory.entry, &symbol, sizeof symbol);
    FIND(cuMemAllocManaged)
    FIND(cuMemHostAlloc)
    FIND(cuMemFreeHost)
    FIND(cuMemHostRegister_v2)
    FIND(cuMemHostUnregister)
#undef FIND
}

static kiln_status prepare(kiln_prog *p, void *x, void *y)
{
    static const int64_t n = N;
    const kiln_arg args[] = {{"x", x, KILN_F32, 1, &n, NULL}, {"y", y, KILN_F32, 1, &n, NULL}};
    return kiln_prepare(p, args, 2, NULL);
}

/* Device memory of ones. */
static void *ones(void)
{
    static float host[N];
    void *device;
    for (int i = 0; i < N; i++)
        host[i] = 1;
    good(kiln_alloc(ctx, BYTES, &device));
    good(kiln_upload(ctx, device, host, BYTES));
    return device;
}

static void works(kiln_prog *p, void *x, void *y)
{
    static float got[N];
    good(run_vector(p, NULL, x, y, N));
    good(kiln_sync(ctx, NULL));
    good(kiln_download(ctx, got, y, BYTES));
    for (int i = 0; i < N; i++)
        assert_float_equal(got[i], 2, 0);
}

static void refused(kiln_status status, const char *who)
{
    assert_int_equal(status, KILN_ERR_ARGUMENT);
    assert_non_null(strstr(kiln_last_error(), who));
    assert_non_null(strstr(kiln_last_error(), "kiln_upload()"));
}

static void test_host_memory(void **state)
{
    (void)state;
    open_memory();
    kiln_prog *p = compile(ctx, text);
    static float in_the_image[N];
    float on_stack = 0, *host[] = {malloc(BYTES), in_the_image, &on_stack};
    void *x = ones(), *y = ones();
    for (int i = 0; i < 3 && !gpu()->uses_host_memory; i++) {
        refused(prepare(p, host[i], y), "input x");
        refused(prepare(p, x, host[i]), "output y");
        refused(run_vector(p, NULL, host[i], y, N), "input x");
        works(p, x, y); /* the context is as it was */
        refused(run_vector(p, NULL, x, host[i], N), "output y");
        works(p, x, y);
    }
    free(host[0]);
    kiln_free(ctx, x);
    kiln_free(ctx, y);
    kiln_prog_destroy(p);
    kiln_ctx_destroy(ctx);
}

/* The same of a kernel of the user's own, whose parameters the driver knows by their sizes only. */
static void test_own_kernel(void **state)
{
    (void)state;
    open_memory();
    static const char source[] =
        "extern \"C\" __global__ void twice(const float *x, float *y, "
        "const float *end, long long n)\n"
        "{ if (x + threadIdx.x < end && n) y[threadIdx.x] = 2 * x[threadIdx.x]; }\n";
    kiln_kernel *k;
    kiln_launch l;
    float *host = malloc(BYTES), *x = ones(), *y = ones(), *end = x + N, got;
    int64_t number = (int64_t)(uintptr_t)host; /* no pointer, whatever it is */
    void *params[] = {&x, &y, &end, &number}, *bad[] = {&host, &y, &end, &number};
    good(kiln_kernel_create(ctx, source, "twice", &k));
    kiln_launch_init(&l);
    l.block[0] = 32;
    if (!gpu()->uses_host_memory)
        refused(kiln_kernel_run(k, NULL, &l, bad, 4), "parameter 0");
    good(kiln_kernel_run(k, NULL, &l, params, 4));
    good(kiln_sync(ctx, NULL));
    good(kiln_download(ctx, &got, y, sizeof got));
    assert_float_equal(got, 2, 0);
    kiln_kernel_destroy(k);
    kiln_free(ctx, x);
    kiln_free(ctx, y);
    free(host);
    kiln_ctx_destroy(ctx);
}

/* In managed memory, allocated host memory, registered host memory. */
static void test_known_memory(void **state)
{
    (void)state;
    open_memory();
    kiln_prog *p = compile(ctx, text);
    void *y = ones(), *pinned;
    kn_cu_ptr managed;
    float *page = aligned_alloc(4096, 8 * 4096);
    assert_int_equal(kn_cuda_enter(gpu()), KN_OK);
    assert_int_equal(memory.cuMemAllocManaged(&managed, BYTES, ATTACH_GLOBAL), 0);
    assert_int_equal(memory.cuMemHostAlloc(&pinned, BYTES, DEVICE_MAP), 0);
    int registered = memory.cuMemHostRegister_v2(page, 8 * 4096, DEVICE_MAP);
    kn_cuda_leave(gpu());
    float *all[] = {(float *)(uintptr_t)managed, pinned, page};
    for (int k = 0; k < (registered == 0 ? 3 : 2); k++) {
        for (int i = 0; i < N; i++)
            all[k][i] = 1;
        good(prepare(p, all[k], y));
        works(p, all[k], y);
        good(run_vector(p, NULL, y, all[k], N)); /* as an output */
        good(kiln_sync(ctx, NULL));
        assert_float_equal(all[k][N - 1], 4, 0);
    }
    assert_int_equal(kn_cuda_enter(gpu()), KN_OK);
    if (registered == 0)
        memory.cuMemHostUnregister(page);
    memory.cuMemFreeHost(pinned);
    gpu()->driver->cuMemFree_v2(managed);
    kn_cuda_leave(gpu());
    free(page);
    kiln_free(ctx, y);
    kiln_prog_destroy(p);
    kiln_ctx_destroy(ctx);
}

/* Addresses that are seen for the first time in a capture. */
static void test_capture(void **state)
{
    (void)state;
    open_memory();
    if (!gpu()->driver->cuGraphLaunch)
        skip_gpu("the driver has no graphs");
    kiln_prog *p = compile(ctx, text);
    float host[4] = {0}, got[N];
    void *x = ones(), *y = ones(), *other_x = ones(), *other_y = ones();
    kn_cu_stream stream;
    kn_cu_graph graph = NULL;
    kn_cu_graph_exec exec = NULL;
    good(prepare(p, x, y));
    assert_int_equal(kn_cuda_enter(gpu()), KN_OK);
    assert_int_equal(streams.cuStreamCreate(&stream, NON_BLOCKING), 0);
    assert_int_equal(streams.cuStreamBeginCapture_v2(stream, CAPTURE_GLOBAL), 0);
    if (!gpu()->uses_host_memory)
        refused(run_vector(p, stream, host, other_y, N), "input x"); /* nor does that break it */
    good(run_vector(p, stream, other_x, other_y, N));
    assert_int_equal(streams.cuStreamEndCapture(stream, &graph), 0);
    assert_non_null(graph);
    assert_int_equal(gpu()->driver->cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
    assert_int_equal(gpu()->driver->cuGraphLaunch(exec, stream), 0);
    good(kiln_sync(ctx, stream));
    good(kiln_download(ctx, got, other_y, BYTES));
    for (int i = 0; i < N; i++)
        assert_float_equal(got[i], 2, 0);
    gpu()->driver->cuGraphExecDestroy(exec);
    gpu()->driver->cuGraphDestroy(graph);
    streams.cuStreamDestroy_v2(stream);
    kn_cuda_leave(gpu());
    kiln_free(ctx, x);
    kiln_free(ctx, y);
    kiln_free(ctx, other_x);
    kiln_free(ctx, other_y);
    kiln_prog_destroy(p);
    kiln_ctx_destroy(ctx);
}

static void test_fork(void **state)
{
    (void)state;
    enum { SECONDS = 60 };
    open_memory();
    kiln_prog *p = compile(ctx, text);
    void *x = ones(), *y = ones();
    works(p, x, y);
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        kiln_config config;
        kiln_ctx *own;
        alarm(SECONDS);
        kiln_config_init(&config);
        config.device = "cuda";
        bool refuses = run_vector(p, NULL, x, y, N) == KILN_ERR_DEVICE &&
                       strstr(kiln_last_error(), "fork()") &&
                       kiln_ctx_create(&config, &own) == KILN_ERR_DEVICE &&
                       strstr(kiln_last_error(), "fork()");
        kiln_free(ctx, x);
        kiln_prog_destroy(p);
        kiln_ctx_destroy(ctx);
        config.device = "cpu";
        _exit(refuses && kiln_ctx_create(&config, &own) == KILN_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    works(p, x, y);
    kiln_free(ctx, x);
    kiln_free(ctx, y);
    kiln_prog_destroy(p);
    kiln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_memory), cmocka_unit_test(test_known_memory),
        cmocka_unit_test(test_own_kernel),  cmocka_unit_test(test_capture),
        cmocka_unit_test(test_fork),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed ? failed : skipped ? 77 : 0;
}
