/* Kernels of the user's own: validation and caching with a device that only takes notes; running where
 * there is a GPU or the emulator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/handles.h"

/* ---- a device that only takes notes ---- */

typedef struct notes {
    kn_device base; /* first */
    int loads, discards, starts;
    char entry[64];
    kn_grid grid;
    int nparams;
    int32_t first; /* value of the first parameter */
    kn_status fail_load, fail_start;
} notes;

struct kn_code {
    int id;
};

static kn_status note_load(kn_device *dev, const char *entry, const char *text, kn_code **code)
{
    notes *n = (notes *)dev;
    assert_non_null(text);
    if (n->fail_load != KN_OK)
        return kn_fail(n->fail_load, "the compiler says no");
    snprintf(n->entry, sizeof n->entry, "%s", entry);
    *code = malloc(sizeof **code);
    (*code)->id = n->loads++;
    return KN_OK;
}

static void note_discard(kn_device *dev, kn_code *code)
{
    ((notes *)dev)->discards++;
    free(code);
}

static kn_status note_start(kn_device *dev, kn_code *code, const kn_grid *grid, void *const *params,
                            int nparams, void *stream)
{
    notes *n = (notes *)dev;
    assert_non_null(code);
    assert_null(stream);
    n->starts++;
    n->grid = *grid;
    n->nparams = nparams;
    if (nparams)
        n->first = *(const int32_t *)params[0];
    return n->fail_start == KN_OK ? KN_OK : kn_fail(n->fail_start, "the device says no");
}

static kn_status note_time(kn_device *dev, void *stream, kn_status (*fn)(void *ctx), void *ctx,
                           double *us)
{
    (void)dev;
    (void)stream;
    KN_TRY(fn(ctx));
    *us = 42;
    return KN_OK;
}

static const kn_device_ops note_ops = {
    .kind = "notes",
    .runs_source = true,
    .discard = note_discard,
    .load = note_load,
    .start = note_start,
    .time = note_time,
};

typedef struct fixture {
    notes dev;
    kn_context core;
    kiln_ctx ctx;
} fixture;

static void open_notes(fixture *f)
{
    *f = (fixture){.dev.base.ops = &note_ops};
    kn_context_init(&f->core, &f->dev.base, &kn_malloc_allocator);
    strcpy(f->core.name, "notes");
    f->ctx = (kiln_ctx){.core = &f->core, .users = 1};
}

static void close_notes(fixture *f)
{
    kn_context_finish(&f->core);
    assert_int_equal(f->dev.loads, f->dev.discards);
}

static bool said(const char *text) { return strstr(kiln_last_error(), text) != NULL; }

/* ---- create ---- */

static void test_create_arguments(void **state)
{
    (void)state;
    fixture f;
    open_notes(&f);
    kiln_kernel *k = (kiln_kernel *)&f;
    assert_int_equal(kiln_kernel_create(&f.ctx, "text", "k", NULL), KILN_ERR_ARGUMENT);
    assert_int_equal(kiln_kernel_create(NULL, "text", "k", &k), KILN_ERR_ARGUMENT);
    assert_null(k);
    assert_true(said("ctx is NULL"));
    assert_int_equal(kiln_kernel_create(&f.ctx, NULL, "k", &k), KILN_ERR_ARGUMENT);
    assert_true(said("source is NULL"));
    assert_int_equal(kiln_kernel_create(&f.ctx, "text", NULL, &k), KILN_ERR_ARGUMENT);
    assert_true(said("entry is NULL"));
    assert_int_equal(kiln_kernel_create(&f.ctx, "text", "", &k), KILN_ERR_ARGUMENT);
    assert_int_equal(kiln_kernel_create(&f.ctx, "text", "a\nb", &k), KILN_ERR_ARGUMENT);
    kiln_kernel_destroy(NULL);
    assert_int_equal(f.dev.loads, 0);
    close_notes(&f);
}

static void test_cache(void **state)
{
    (void)state;
    fixture f;
    open_notes(&f);
    kiln_kernel *k[4] = {NULL};
    assert_int_equal(kiln_kernel_create(&f.ctx, "text", "one", &k[0]), KILN_OK);
    assert_string_equal(f.dev.entry, "one");
    assert_int_equal(kiln_kernel_create(&f.ctx, "text", "one", &k[1]), KILN_OK);
    assert_int_equal(f.dev.loads, 1);
    assert_int_equal(f.core.kernels.hits, 1);
    assert_int_equal(kiln_kernel_create(&f.ctx, "text", "two", &k[2]), KILN_OK);
    assert_int_equal(kiln_kernel_create(&f.ctx, "text ", "one", &k[3]), KILN_OK);
    assert_int_equal(f.dev.loads, 3);
    for (int i = 0; i < 4; i++)
        kiln_kernel_destroy(k[i]);
    assert_int_equal(f.dev.discards, 0); /* the code is the context's */
    assert_int_equal(kiln_kernel_create(&f.ctx, "text", "one", &k[0]), KILN_OK);
    assert_int_equal(f.dev.loads, 3);
    kiln_kernel_destroy(k[0]);

    /* what did not compile is not kept */
    f.dev.fail_load = KN_COMPILE;
    assert_int_equal(kiln_kernel_create(&f.ctx, "text", "three", &k[0]), KILN_ERR_COMPILE);
    assert_null(k[0]);
    f.dev.fail_load = KN_OK;
    assert_int_equal(kiln_kernel_create(&f.ctx, "text", "three", &k[0]), KILN_OK);
    kiln_kernel_destroy(k[0]);
    close_notes(&f);
}

static void test_devices_without_source(void **state)
{
    (void)state;
    static const char *const names[] = {"cpu", "ref"};
    for (int i = 0; i < 2; i++) {
        kiln_config config;
        kiln_config_init(&config);
        config.device = names[i];
        kiln_ctx *ctx = NULL;
        kiln_kernel *k = NULL;
        assert_int_equal(kiln_ctx_create(&config, &ctx), KILN_OK);
        assert_int_equal(kiln_kernel_create(ctx, "text", "k", &k), KILN_ERR_DEVICE);
        assert_true(said(names[i]) && said("\"cuda\" and \"emu\" do"));
        kiln_ctx_destroy(ctx);
    }
}

/* ---- run ---- */

static void test_run_arguments(void **state)
{
    (void)state;
    fixture f;
    open_notes(&f);
    kiln_kernel *k;
    assert_int_equal(kiln_kernel_create(&f.ctx, "text", "k", &k), KILN_OK);
    kiln_launch l;
    kiln_launch_init(NULL);
    kiln_launch_init(&l);
    int32_t value = 7;
    void *params[] = {&value, NULL};
    assert_int_equal(kiln_kernel_run(NULL, NULL, &l, NULL, 0), KILN_ERR_ARGUMENT);
    assert_int_equal(kiln_kernel_run(k, NULL, NULL, NULL, 0), KILN_ERR_ARGUMENT);
    assert_int_equal(kiln_kernel_run(k, NULL, &l, NULL, 1), KILN_ERR_ARGUMENT);
    assert_int_equal(kiln_kernel_run(k, NULL, &l, NULL, -1), KILN_ERR_ARGUMENT);
    assert_int_equal(kiln_kernel_run(k, NULL, &l, params, 2), KILN_ERR_ARGUMENT);
    assert_true(said("kernel 'k': params[1] is NULL"));
    l.struct_size = 0;
    assert_int_equal(kiln_kernel_run(k, NULL, &l, NULL, 0), KILN_ERR_ARGUMENT);
    assert_true(said("kiln_launch_init"));

    const struct {
        unsigned grid[3], block[3], cluster[3];
        size_t shared;
        const char *message;
    } bad[] = {
        {{0, 1, 1}, {1, 1, 1}, {0}, 0, "launch.grid.x is 0; it can be 1 to 2147483647"},
        {{1, 65536, 1}, {1, 1, 1}, {0}, 0, "launch.grid.y is 65536"},
        {{1, 1, 1}, {1, 0, 1}, {0}, 0, "launch.block.y is 0; it can be 1 to 1024"},
        {{1, 1, 1}, {1025, 1, 1}, {0}, 0, "launch.block.x is 1025"},
        {{1, 1, 1}, {1, 1, 65}, {0}, 0, "launch.block.z is 65; it can be 1 to 64"},
        {{1, 1, 1}, {512, 2, 2}, {0}, 0, "launch.block is 512x2x2: 2048 threads, more than 1024"},
        {{6, 1, 1}, {1, 1, 1}, {4, 0, 0}, 0, "launch.cluster.x is 4, which does not divide"},
        {{32, 1, 1}, {1, 1, 1}, {32, 0, 0}, 0, "launch.cluster.x is 32; it can be 1 to 16"},
        {{8, 8, 1}, {1, 1, 1}, {8, 4, 0}, 0, "launch.cluster has 32 blocks, more than 16"},
        {{1, 1, 1}, {1, 1, 1}, {0}, (size_t)1 << 40, "launch.shared is 1099511627776 bytes"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kiln_launch_init(&l);
        memcpy(l.grid, bad[i].grid, sizeof l.grid);
        memcpy(l.block, bad[i].block, sizeof l.block);
        memcpy(l.cluster, bad[i].cluster, sizeof l.cluster);
        l.shared = bad[i].shared;
        assert_int_equal(kiln_kernel_run(k, NULL, &l, NULL, 0), KILN_ERR_ARGUMENT);
        assert_true(said("kernel 'k': "));
        assert_true(said(bad[i].message));
    }
    assert_int_equal(f.dev.starts, 0);
    kiln_kernel_destroy(k);
    close_notes(&f);
}

static void assert_grid(const kn_grid *g, const kn_grid *want)
{
    assert_memory_equal(g->grid, want->grid, sizeof g->grid);
    assert_memory_equal(g->block, want->block, sizeof g->block);
    assert_memory_equal(g->cluster, want->cluster, sizeof g->cluster);
    assert_int_equal(g->shared, want->shared);
    assert_int_equal(g->cooperative, want->cooperative);
}

static void test_run(void **state)
{
    (void)state;
    fixture f;
    open_notes(&f);
    kiln_kernel *k;
    assert_int_equal(kiln_kernel_create(&f.ctx, "text", "k", &k), KILN_OK);
    kiln_launch l;
    kiln_launch_init(&l);
    assert_int_equal(kiln_kernel_run(k, NULL, &l, NULL, 0), KILN_OK);
    assert_grid(&f.dev.grid, &(kn_grid){{1, 1, 1}, {1, 1, 1}, {0, 0, 0}, 0, false});

    l = (kiln_launch){sizeof l, {8, 65535, 3}, {16, 8, 8}, {4, 0, 1}, 70000, true};
    int32_t value = 7;
    void *params[] = {&value};
    assert_int_equal(kiln_kernel_run(k, NULL, &l, params, 1), KILN_OK);
    assert_grid(&f.dev.grid, &(kn_grid){{8, 65535, 3}, {16, 8, 8}, {4, 1, 1}, 70000, true});
    assert_int_equal(f.dev.nparams, 1);
    assert_int_equal(f.dev.first, 7);

    /* an application built with an older header has a shorter struct */
    l.struct_size = offsetof(kiln_launch, shared);
    assert_int_equal(kiln_kernel_run(k, NULL, &l, params, 1), KILN_OK);
    assert_int_equal(f.dev.grid.shared, 0);
    assert_int_equal(f.dev.grid.grid[0], 8);

    f.dev.fail_start = KN_RUN;
    assert_int_equal(kiln_kernel_run(k, NULL, &l, params, 1), KILN_ERR_RUN);
    assert_string_equal(kiln_last_error(), "the device says no");
    kiln_kernel_destroy(k);
    close_notes(&f);
}

static kiln_status count_call(void *user)
{
    ++*(int *)user;
    return KILN_OK;
}

static kiln_status refuse(void *user)
{
    (void)user;
    return KILN_ERR_IO;
}

static void test_time(void **state)
{
    (void)state;
    fixture f;
    open_notes(&f);
    int calls = 0;
    double us = 0;
    assert_int_equal(kiln_time(NULL, NULL, count_call, &calls, &us), KILN_ERR_ARGUMENT);
    assert_int_equal(kiln_time(&f.ctx, NULL, NULL, &calls, &us), KILN_ERR_ARGUMENT);
    assert_int_equal(kiln_time(&f.ctx, NULL, count_call, &calls, NULL), KILN_ERR_ARGUMENT);
    assert_int_equal(calls, 0);
    assert_int_equal(kiln_time(&f.ctx, NULL, count_call, &calls, &us), KILN_OK);
    assert_int_equal(calls, 1);
    assert_true(us == 42);
    assert_int_equal(kiln_time(&f.ctx, NULL, refuse, NULL, &us), KILN_ERR_IO);
    close_notes(&f);
}

/* ---- on the devices that run source ---- */

static const char source[] =
    "extern __shared__ int line[];\n"
    "template <int STEP> __global__ void reverse(const int *x, int *y, int add)\n"
    "{\n"
    "    unsigned t = threadIdx.x, n = blockDim.x, at = blockIdx.x * n + t;\n"
    "    line[t] = x[at];\n"
    "    __syncthreads();\n"
    "    y[at] = line[n - 1 - t] * STEP + add;\n"
    "}\n"
    "extern \"C\" __global__ void last(int *y) \n"
    "{\n"
    "    if (blockIdx.x == 0 && threadIdx.y == 0)\n"
    "        y[0] = int(gridDim.x * 100 + blockDim.y);\n"
    "}\n";

/* Skips the test where there is no such device. */
static kiln_ctx *need_device(const char *name)
{
    kiln_config config;
    kiln_config_init(&config);
    config.device = name;
    kiln_ctx *ctx = NULL;
    kiln_kernel *k = NULL;
    if (kiln_ctx_create(&config, &ctx) == KILN_OK) {
        kiln_status status = kiln_kernel_create(ctx, source, "last", &k);
        kiln_kernel_destroy(k);
        if (status != KILN_ERR_DEVICE)
            return ctx;
    }
    print_message("skipped: %s\n", kiln_last_error());
    kiln_ctx_destroy(ctx);
    skip();
    return NULL;
}

/* Of (const int *in, int *out, int add): the emulator knows all, a driver sizes or nothing. */
static void check_params(const kiln_kernel *k, bool all)
{
    static const size_t bytes[] = {sizeof(void *), sizeof(void *), sizeof(int32_t)};
    int n = kiln_kernel_params(k);
    kiln_param p;
    if (!all && n < 0)
        return;
    assert_int_equal(n, 3);
    assert_int_equal(kiln_kernel_param(k, 3, &p), KILN_ERR_ARGUMENT);
    for (int i = 0; i < n; i++) {
        assert_int_equal(kiln_kernel_param(k, i, &p), KILN_OK);
        assert_int_equal(p.bytes, bytes[i]);
        assert_true(!(p.is_pointer && p.is_value));
        if (!all)
            continue;
        assert_int_equal(p.is_pointer, i < 2);
        assert_int_equal(p.is_value, i == 2);
        assert_int_equal(p.dtype, KILN_I32);
        assert_int_equal(p.element_bytes, i < 2 ? sizeof(int32_t) : 0);
        assert_non_null(p.name);
    }
}

static void run_on(const char *name)
{
    enum { N = 256 };
    kiln_ctx *ctx = need_device(name);
    int32_t in[N], out[N];
    void *x, *y;
    for (int i = 0; i < N; i++)
        in[i] = i;
    assert_int_equal(kiln_alloc(ctx, sizeof in, &x), KILN_OK);
    assert_int_equal(kiln_alloc(ctx, sizeof out, &y), KILN_OK);
    assert_int_equal(kiln_upload(ctx, x, in, sizeof in), KILN_OK);
    assert_int_equal(kiln_upload(ctx, y, in, sizeof in), KILN_OK);

    kiln_kernel *k;
    assert_int_equal(kiln_kernel_create(ctx, source, "reverse<3>", &k), KILN_OK);
    kiln_launch l;
    kiln_launch_init(&l);
    l.grid[0] = 4;
    l.block[0] = N / 4;
    l.shared = N; /* N/4 ints */
    int32_t add = 5;
    void *params[] = {&x, &y, &add};
    check_params(k, strcmp(name, "emu") == 0);
    assert_int_equal(kiln_kernel_run(k, NULL, &l, params, 3), KILN_OK);
    assert_int_equal(kiln_sync(ctx, NULL), KILN_OK);
    assert_int_equal(kiln_download(ctx, out, y, sizeof out), KILN_OK);
    for (int i = 0; i < N; i++)
        assert_int_equal(out[i], (i / 64 * 64 + 63 - i % 64) * 3 + 5);
    kiln_kernel_destroy(k);

    kiln_stats before = {.struct_size = sizeof before}, after = before;
    assert_int_equal(kiln_ctx_stats(ctx, &before), KILN_OK);
    assert_int_equal(kiln_kernel_create(ctx, source, "last", &k), KILN_OK);
    kiln_launch_init(&l);
    l.grid[0] = 3;
    l.block[1] = 2;
    assert_int_equal(kiln_kernel_run(k, NULL, &l, &params[1], 1), KILN_OK);
    assert_int_equal(kiln_ctx_stats(ctx, &after), KILN_OK);
    assert_int_equal(after.compiles, before.compiles); /* need_device() has compiled it */
    assert_int_equal(after.launches, before.launches + 1);
    assert_int_equal(kiln_download(ctx, out, y, sizeof *out), KILN_OK);
    assert_int_equal(out[0], 302);
    kiln_kernel_destroy(k);

    assert_int_equal(kiln_kernel_create(ctx, source, "absent", &k), KILN_ERR_COMPILE);
    assert_int_equal(kiln_kernel_create(ctx, "int nonsense(;", "k", &k), KILN_ERR_COMPILE);
    kiln_free(ctx, x);
    kiln_free(ctx, y);
    kiln_ctx_destroy(ctx);
}

static void test_cuda(void **state)
{
    (void)state;
    run_on("cuda");
}

static void test_emu(void **state)
{
    (void)state;
    run_on("emu");
}

/* What only a GPU does: much shared memory, clusters, cooperative launches, limits of a kernel. */
static void test_gpu_launches(void **state)
{
    (void)state;
    static const char text[] =
        "extern __shared__ int line[];\n"
        "extern \"C\" __global__ void far(int *y, int at)\n"
        "{ if (threadIdx.x == 0) line[at] = 6; __syncthreads(); y[0] = line[at] + 1; }\n"
        "extern \"C\" __global__ void cluster(int *y)\n"
        "{ unsigned n; asm volatile(\"mov.u32 %0, %%cluster_nctaid.x;\" : \"=r\"(n)); y[0] = n; }\n"
        "extern \"C\" __global__ void __launch_bounds__(64) small(int *y) { y[0] = 9; }\n";
    kiln_ctx *ctx = need_device("cuda");
    kiln_kernel *far, *cluster, *small;
    kiln_launch l;
    int32_t out = 0, at = 150 * 1024 / 4 - 1;
    void *y, *params[] = {&y, &at};
    assert_int_equal(kiln_alloc(ctx, sizeof out, &y), KILN_OK);
    assert_int_equal(kiln_kernel_create(ctx, text, "far", &far), KILN_OK);
    kiln_launch_init(&l);
    l.shared = 150 * 1024;
    kiln_status status = kiln_kernel_run(far, NULL, &l, params, 2);
    if (status != KILN_ERR_ARGUMENT) { /* which a small GPU gives */
        assert_int_equal(status, KILN_OK);
        assert_int_equal(kiln_download(ctx, &out, y, sizeof out), KILN_OK);
        assert_int_equal(out, 7);
    }
    l.shared = 512 * 1024;
    assert_int_equal(kiln_kernel_run(far, NULL, &l, params, 2), KILN_ERR_ARGUMENT);
    assert_true(said("bytes of dynamic shared memory"));
    l.shared = 64;
    at = 0;
    l.cooperative = true;
    assert_int_equal(kiln_kernel_run(far, NULL, &l, params, 2), KILN_OK);
    l.cooperative = false;
    if (kiln_kernel_run(far, NULL, &l, params, 1) != KILN_OK) /* older drivers do not count */
        assert_true(said("kernel 'far' has 2 parameters, not 1"));

    assert_int_equal(kiln_kernel_create(ctx, text, "small", &small), KILN_OK);
    kiln_launch_init(&l);
    l.block[0] = 65;
    assert_int_equal(kiln_kernel_run(small, NULL, &l, params, 1), KILN_ERR_ARGUMENT);
    assert_true(said("kernel 'small': a block may have 64 threads"));

    if (ctx->core->dev->ops->target(ctx->core->dev)->sm >= 90) {
        assert_int_equal(kiln_kernel_create(ctx, text, "cluster", &cluster), KILN_OK);
        for (unsigned n = 4; n <= 16;
             n *= 4) { /* 16 is more than every GPU of this kind promises */
            kiln_launch_init(&l);
            l.grid[0] = 32;
            l.cluster[0] = n;
            assert_int_equal(kiln_kernel_run(cluster, NULL, &l, params, 1), KILN_OK);
            assert_int_equal(kiln_download(ctx, &out, y, sizeof out), KILN_OK);
            assert_int_equal(out, n);
        }
        kiln_kernel_destroy(cluster);
    }
    kiln_kernel_destroy(far);
    kiln_kernel_destroy(small);
    kiln_free(ctx, y);
    kiln_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create_arguments),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_devices_without_source),
        cmocka_unit_test(test_run_arguments),
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_emu),
        cmocka_unit_test(test_cuda),
        cmocka_unit_test(test_gpu_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
