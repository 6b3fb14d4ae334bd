/* The CUDA device: grid sizes anywhere, the compiler where there is NVRTC, the rest where there
 * is a GPU. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/kir/grid.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/doctor.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/launch.h"

/* ---- grid.h ---- */

static kn_phase phase(kn_walk walk, int64_t groups, int64_t members)
{
    return (kn_phase){.how.walk = walk,
                      .how.tpg = 1,
                      .how.lanes = KN_COLS_LANES,
                      .how.vec = 1,
                      .how.unroll = 1,
                      .nest.groups = groups,
                      .nest.members = members,
                      .num.splits = 1,
                      .num.chunk = members};
}

static void test_grid_phase(void **state)
{
    (void)state;
    kn_phase p = phase(KN_WALK_FLAT, 1, 1000);
    assert_int_equal(kn_grid_phase_blocks(&p, 256), 4);
    p.how.vec = 4;
    assert_int_equal(kn_grid_phase_blocks(&p, 256), 1);
    p.nest.members = 1025;
    assert_int_equal(kn_grid_phase_blocks(&p, 256), 2);
    p.nest.members = 0;
    assert_int_equal(kn_grid_phase_blocks(&p, 256), 0);

    p = phase(KN_WALK_ROWS, 10, 4096);
    p.how.tpg = 256; /* a block a group */
    assert_int_equal(kn_grid_phase_blocks(&p, 256), 10);
    p.how.tpg = 32; /* eight groups a block */
    assert_int_equal(kn_grid_phase_blocks(&p, 256), 2);
    p.how.tpg = 256;
    p.how.split = true;
    p.num.splits = 7;
    assert_int_equal(kn_grid_phase_blocks(&p, 256), 70);
    p.nest.groups = 0;
    assert_int_equal(kn_grid_phase_blocks(&p, 256), 0);

    p = phase(KN_WALK_COLS, 33, 100);
    assert_int_equal(kn_grid_phase_blocks(&p, 256), 2);
    p.num.splits = 5;
    assert_int_equal(kn_grid_phase_blocks(&p, 256), 10);
}

static void test_grid_blocks(void **state)
{
    (void)state;
    kn_phase phases[] = {phase(KN_WALK_FLAT, 1, 1000), phase(KN_WALK_ROWS, 50, 8)};
    phases[1].how.tpg = 256;
    kn_kernel k = {.threads = 256};
    k.phases.data = phases;
    k.phases.len = 2;
    assert_int_equal(kn_grid_blocks(&k, 8, 132), 50); /* the phase with the most work */
    assert_int_equal(kn_grid_blocks(&k, 2, 10), 20);  /* what the machine holds */
    phases[1].how.beside = true;                      /* blocks of their own */
    assert_int_equal(kn_grid_blocks(&k, 8, 132), 54);
    phases[1].how.beside = false;
    phases[0].nest.members = 0;
    phases[1].nest.groups = 0;
    assert_int_equal(kn_grid_blocks(&k, 8, 132), 1);
    /* products beyond 64 bits saturate */
    phases[1].nest.groups = INT64_MAX;
    phases[1].num.splits = 3;
    assert_int_equal(kn_grid_blocks(&k, 8, 132), 8 * 132);
    k.phases.len = 0;
    assert_int_equal(kn_grid_blocks(&k, 8, 132), 1);
}

/* Without a barrier there is a block for all the work; with one, the machine holds the grid. */
static void test_grid_all_blocks(void **state)
{
    (void)state;
    kn_phase phases[] = {phase(KN_WALK_FLAT, 1, 1 << 24), phase(KN_WALK_ROWS, 5000, 8)};
    phases[0].how.vec = 4;
    phases[0].how.unroll = 4;
    phases[1].how.tpg = 256;
    kn_kernel k = {.threads = 256};
    k.phases.data = phases;
    k.phases.len = 1;
    assert_int_equal(kn_grid_all_blocks(&k, 8, 132), (1 << 24) / (256 * 4 * 4));
    phases[0].nest.members = 1 << 20; /* four steps a block would leave multiprocessors idle */
    assert_int_equal(kn_grid_all_blocks(&k, 8, 132), 1024);
    phases[0].nest.members = 1 << 21;
    assert_int_equal(kn_grid_all_blocks(&k, 8, 132), 8 * 132);
    k.phases.data = &phases[1];
    assert_int_equal(kn_grid_all_blocks(&k, 8, 132), 5000);
    k.phases.data = phases;
    k.phases.len = 2;
    phases[1].barrier = true;
    assert_int_equal(kn_grid_all_blocks(&k, 2, 132), 2 * 132);
    phases[1].barrier = false;
    phases[0].local =
        true; /* what each block computes once is worth that only if there is something to load */
    assert_int_equal(kn_grid_all_blocks(&k, 2, 132), 5000);
    phases[0].nest.nsweeps = 1;
    assert_int_equal(kn_grid_all_blocks(&k, 2, 132), 2 * 132);
    /* whole clusters; those whose next group is on its way stay */
    phases[1].how.cluster = true;
    phases[1].num.splits = 5;
    k.phases.data = &phases[1];
    k.phases.len = 1;
    assert_int_equal(kn_grid_all_blocks(&k, 2, 132), 5 * 5000);
    phases[0] = phase(KN_WALK_ROWS, 25003, 8); /* beside what has no clusters, but more blocks */
    phases[0].how.tpg = 256;
    k.phases.data = phases;
    k.phases.len = 2;
    phases[1].how.beside = true;
    assert_int_equal(kn_grid_all_blocks(&k, 2, 132), 50005);
    phases[1].how.beside = false;
    k.phases.data = &phases[1];
    k.phases.len = 1;
    phases[1].how.async = phases[1].how.persistent = true;
    assert_int_equal(kn_grid_all_blocks(&k, 2, 132), 2 * 132 / 5 * 5);
}

/* ---- nvrtc.h ---- */

static const char scale_source[] =
    "extern \"C\" __global__ void scale(const float *x, float *y, float a, int n)\n"
    "{\n"
    "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)\n"
    "        y[i] = a * x[i];\n"
    "}\n";

static void need_nvrtc(void)
{
    if (kn_nvrtc_find() == KN_OK)
        return;
    print_message("skipped: %s\n", kn_last_error());
    skip();
}

static void release(kn_binary *cubin)
{
    free(cubin->data);
    free(cubin->symbol);
}

static void test_nvrtc_cubin(void **state)
{
    (void)state;
    need_nvrtc();
    kn_binary cubin;
    assert_int_equal(kn_nvrtc_cubin("scale", scale_source, 80, NULL, &cubin), KN_OK);
    assert_true(cubin.size > 64);
    assert_memory_equal(cubin.data, "\177ELF", 4);
    assert_string_equal(cubin.symbol, "scale");
    release(&cubin);
}

/* Names as C++ has them, instances of templates among them. */
static void test_nvrtc_entries(void **state)
{
    (void)state;
    need_nvrtc();
    static const char source[] = "template <int N, typename T> __global__ void fill(T *y)\n"
                                 "{ y[threadIdx.x] = T(N); }\n"
                                 "namespace inner { __global__ void one(int *y) { *y = 1; } }\n";
    static const char *const entries[][2] = {{"fill<3, float>", "_Z4fillILi3EfEvPT0_"},
                                             {"fill<4,int>", "_Z4fillILi4EiEvPT0_"},
                                             {"inner::one", "_ZN5inner3oneEPi"}};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        kn_binary cubin;
        assert_int_equal(kn_nvrtc_cubin(entries[i][0], source, 80, NULL, &cubin), KN_OK);
        assert_string_equal(cubin.symbol, entries[i][1]);
        release(&cubin);
    }
    kn_binary none = {0};
    assert_int_equal(kn_nvrtc_cubin("fill", source, 80, NULL, &none), KN_COMPILE);
    assert_non_null(strstr(kn_last_error(), "the source has no kernel 'fill':"));
    assert_int_equal(kn_nvrtc_cubin("absent<1>", source, 80, NULL, &none), KN_COMPILE);
    assert_non_null(strstr(kn_last_error(), "the source has no kernel 'absent<1>':"));
    assert_null(none.data);
}

/* What NVRTC leaves out of small texts is there for those that need it. */
static void test_nvrtc_not_minimal(void **state)
{
    (void)state;
    need_nvrtc();
    static const char source[] =
        "extern \"C\" __global__ void look(cudaTextureObject_t t, float *y)\n"
        "{ y[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }\n";
    kn_binary cubin;
    assert_int_equal(kn_nvrtc_cubin("look", source, 80, NULL, &cubin), KN_OK);
    release(&cubin);
}

static void test_nvrtc_ptx(void **state)
{
    (void)state;
    need_nvrtc();
    char *ptx = NULL;
    size_t size = 0;
    assert_int_equal(kn_nvrtc_ptx("scale", scale_source, "sm_80", NULL, &ptx, &size), KN_OK);
    assert_int_equal(strlen(ptx), size);
    assert_non_null(strstr(ptx, ".entry scale("));
    assert_non_null(strstr(ptx, ".target sm_80"));
    free(ptx);
    assert_int_equal(kn_nvrtc_ptx("scale", scale_source, "compute_80", NULL, &ptx, NULL), KN_OK);
    free(ptx);
}

static void test_nvrtc_errors(void **state)
{
    (void)state;
    need_nvrtc();
    kn_binary out = {0};
    assert_int_equal(kn_nvrtc_cubin("broken", "int nonsense(;\n", 80, NULL, &out), KN_COMPILE);
    assert_null(out.data);
    assert_non_null(strstr(kn_last_error(), "kernel 'broken' does not compile for sm_80"));
    assert_non_null(strstr(kn_last_error(), "error"));          /* the log */
    assert_non_null(strstr(kn_last_error(), "int nonsense(;")); /* the source */
    assert_int_equal(kn_nvrtc_cubin("scale", scale_source, 7, NULL, &out), KN_COMPILE);
    assert_non_null(strstr(kn_last_error(), "does not take that architecture"));
}

static void *no_memory(void *user, size_t size)
{
    (void)user;
    (void)size;
    return NULL;
}

static void test_nvrtc_memory(void **state)
{
    (void)state;
    need_nvrtc();
    const kn_allocator none = {.alloc = no_memory};
    kn_binary out = {0};
    assert_int_equal(kn_nvrtc_cubin("scale", scale_source, 80, &none, &out), KN_MEMORY);
    assert_int_equal(kn_nvrtc_cubin("broken", "int nonsense(;\n", 80, &none, &out), KN_COMPILE);
    assert_null(out.data);
}

static void test_nvrtc_identity(void **state)
{
    (void)state;
    need_nvrtc();
    int major, minor;
    kn_nvrtc_version(&major, &minor);
    assert_true(major >= 11);
    assert_true(strlen(kn_nvrtc_path()) > 0);
    assert_true(kn_nvrtc_supports(80));
    const char *build = kn_nvrtc_build();
    assert_memory_equal(build, "NVRTC ", 6);
    assert_non_null(strstr(build, " CL-"));
    assert_ptr_equal(build, kn_nvrtc_build());
}

static void *compile_one(void *result)
{
    kn_binary cubin = {0};
    *(kn_status *)result = kn_nvrtc_cubin("scale", scale_source, 80, NULL, &cubin);
    release(&cubin);
    return NULL;
}

static void test_nvrtc_threads(void **state)
{
    (void)state;
    need_nvrtc();
    enum { N = 3 };
    pthread_t threads[N];
    kn_status results[N];
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_one, &results[i]), 0);
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(results[i], KN_OK);
    }
}

/* ---- the device ---- */

static void test_no_driver(void **state)
{
    (void)state;
    const kn_driver *driver;
    kn_device *dev = NULL;
    if (kn_driver_find(&driver) == KN_OK) {
        print_message("skipped: there is a driver\n");
        skip();
    }
    assert_int_equal(kn_cuda_device.open(&(kn_device_config){0}, &dev), KN_DEVICE);
    assert_null(dev);
    assert_non_null(strstr(kn_last_error(), "no CUDA driver: libcuda.so.1 not found"));
    assert_non_null(strstr(kn_last_error(), "install"));
}

static kn_device *need_gpu(void)
{
    kn_device *dev = NULL;
    if (kn_cuda_device.open(&(kn_device_config){0}, &dev) == KN_OK)
        return dev;
    print_message("skipped: %s\n", kn_last_error());
    skip();
    return NULL;
}

static void test_ordinal(void **state)
{
    (void)state;
    kn_device *dev = need_gpu(), *other = NULL;
    assert_int_equal(kn_cuda_device.open(&(kn_device_config){.ordinal = 999}, &other), KN_DEVICE);
    assert_non_null(strstr(kn_last_error(), "no GPU 999: there "));
    assert_int_equal(kn_cuda_device.open(&(kn_device_config){.ordinal = -1}, &other), KN_DEVICE);
    dev->ops->close(dev);
}

static void test_target(void **state)
{
    (void)state;
    kn_device *dev = need_gpu();
    const kn_target *t = dev->ops->target(dev);
    assert_string_equal(t->kind, "cuda");
    assert_true(t->sm >= 50 && t->units > 0 && t->max_block >= 1024);
    assert_true(t->max_threads_unit >= t->max_block && t->smem_block >= 48 * 1024);
    dev->ops->close(dev);
}

static void test_memory(void **state)
{
    (void)state;
    kn_device *dev = need_gpu();
    const kn_device_ops *ops = dev->ops;
    int32_t in[256], out[256];
    for (int i = 0; i < 256; i++)
        in[i] = i * i + 1;
    void *a, *b, *empty;
    assert_int_equal(ops->alloc(dev, sizeof in, &a), KN_OK);
    assert_int_equal(ops->alloc(dev, sizeof in, &b), KN_OK);
    assert_int_equal(ops->alloc(dev, 0, &empty), KN_OK);
    assert_non_null(empty);
    assert_int_equal(ops->upload(dev, a, in, sizeof in), KN_OK);
    assert_int_equal(ops->copy(dev, b, a, sizeof in, NULL), KN_OK);
    assert_int_equal(ops->zero(dev, b, 16, NULL), KN_OK);
    assert_int_equal(ops->sync(dev, NULL), KN_OK);
    assert_int_equal(ops->download(dev, out, b, sizeof out), KN_OK);
    memset(in, 0, 16);
    assert_memory_equal(in, out, sizeof in);
    assert_int_equal(ops->upload(dev, empty, NULL, 0), KN_OK);
    assert_int_equal(ops->copy(dev, empty, empty, 0, NULL), KN_OK);
    ops->release(dev, b);
    assert_true(ops->stream_id(dev, NULL) == ops->stream_id(dev, NULL));
    ops->release(dev, a);
    ops->release(dev, empty);
    ops->release(dev, NULL);
    void *huge = NULL;
    assert_int_equal(ops->alloc(dev, (size_t)1 << 50, &huge), KN_MEMORY);
    assert_null(huge);
    ops->close(dev);
}

typedef struct scaling {
    kn_device *dev;
    kn_launch launch;
    kn_call call;
} scaling;

static kn_status run_scaling(void *ctx)
{
    const scaling *s = ctx;
    return s->dev->ops->launch(s->dev, &s->launch, &s->call, NULL);
}

static void test_launch(void **state)
{
    (void)state;
    enum { N = 1000 };
    kn_device *dev = need_gpu();
    const kn_device_ops *ops = dev->ops;

    kn_phase p = phase(KN_WALK_FLAT, 1, N);
    p.nest.naxes = 1;
    p.nest.axes[0] = (kn_axis){.name = "N", .member = true, .extent = N};
    kn_buf bufs[] = {{.kind = KN_BUF_INPUT, .dtype = KN_F32, .name = "x"},
                     {.kind = KN_BUF_OUTPUT, .dtype = KN_F32, .name = "y"}};
    kn_scalar_param a = {.dtype = KN_F32, .name = "a"};
    kn_kernel k = {.name = "scale", .threads = 128, .source = scale_source};
    k.bufs.data = bufs;
    k.bufs.len = 2;
    k.scalars.data = &a;
    k.scalars.len = 1;
    k.phases.data = &p;
    k.phases.len = 1;

    float host[N], got[N];
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    void *data[2];
    assert_int_equal(ops->alloc(dev, sizeof host, &data[0]), KN_OK);
    assert_int_equal(ops->alloc(dev, sizeof host, &data[1]), KN_OK);
    assert_int_equal(ops->upload(dev, data[0], host, sizeof host), KN_OK);

    kn_code *code = NULL;
    assert_int_equal(ops->prepare(dev, &k, &code), KN_OK);
    assert_int_equal(dev->compiles, 1);
    assert_true(dev->compile_ns > 0);
    kn_cuda_info info;
    kn_cuda_code_info(code, &info);
    assert_true(info.registers > 0 && info.blocks_per_unit > 0 && info.binary_bytes > 0);
    assert_int_equal(info.local_bytes, 0);

    const kn_scalar half = {.dtype = KN_F32, .f = 0.5};
    scaling s = {.dev = dev, .call = {.bufs = data, .scalars = &half}};
    kn_arena arena;
    kn_arena_init(&arena, NULL);
    assert_int_equal(kn_launch_make(&arena, dev, &k, code, &s.launch), KN_OK);
    double us = 0;
    assert_int_equal(ops->time(dev, NULL, run_scaling, &s, &us), KN_OK);
    assert_true(us > 0);
    assert_int_equal(dev->launches, 1);
    assert_int_equal(ops->download(dev, got, data[1], sizeof got), KN_OK);
    for (int i = 0; i < N; i++)
        assert_float_equal(got[i], host[i] * 0.5f, 0);

    kn_arena_finish(&arena);
    ops->discard(dev, code);
    ops->discard(dev, NULL);
    ops->release(dev, data[0]);
    ops->release(dev, data[1]);
    ops->close(dev);
}

static void test_prepare_errors(void **state)
{
    (void)state;
    kn_device *dev = need_gpu();
    kn_code *code = NULL;
    kn_kernel k = {.name = "absent", .threads = 128, .source = scale_source};
    assert_int_equal(dev->ops->prepare(dev, &k, &code), KN_COMPILE);
    assert_non_null(strstr(kn_last_error(), "the source has no kernel 'absent'"));
    k.threads = 4096;
    assert_int_equal(dev->ops->prepare(dev, &k, &code), KN_COMPILE);
    assert_null(code);
    dev->ops->close(dev);
}

static kn_status call_doctor(void *text)
{
    kn_cuda_doctor(text);
    return KN_OK;
}

static void test_doctor(void **state)
{
    (void)state;
    kn_arena arena;
    kn_arena_init(&arena, NULL);
    kn_text text = kn_text_new(&arena);
    assert_int_equal(kn_protect(&arena, call_doctor, &text), KN_OK);
    assert_non_null(strstr(kn_text_str(&text), "driver    "));
    assert_non_null(strstr(kn_text_str(&text), "\nNVRTC     "));
    assert_non_null(strstr(kn_text_str(&text), "\nGPU "));
    kn_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid_phase),      cmocka_unit_test(test_grid_blocks),
        cmocka_unit_test(test_grid_all_blocks), cmocka_unit_test(test_nvrtc_cubin),
        cmocka_unit_test(test_nvrtc_ptx),       cmocka_unit_test(test_nvrtc_not_minimal),
        cmocka_unit_test(test_nvrtc_entries),   cmocka_unit_test(test_nvrtc_errors),
        cmocka_unit_test(test_nvrtc_memory),    cmocka_unit_test(test_nvrtc_identity),
        cmocka_unit_test(test_nvrtc_threads),   cmocka_unit_test(test_no_driver),
        cmocka_unit_test(test_ordinal),         cmocka_unit_test(test_target),
        cmocka_unit_test(test_memory),          cmocka_unit_test(test_launch),
        cmocka_unit_test(test_prepare_errors),  cmocka_unit_test(test_doctor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
