/* Contexts, element types, memory, and kernels of one's own. */
#include <string.h>

#include "docs/calls/calls.h"

/* A context is a device, what was compiled for it, and its memory. Every failure says why, in the thread that it
 * happened in. */
void contexts(kiln_ctx *ctx)
{
    kiln_config config;
    kiln_ctx *none, *reference;
    kiln_stats stats;
    (void)ctx;
    kiln_config_init(&config);
    config.device = "gpu";
    kiln_status status = kiln_ctx_create(&config, &none);
    printf("%s: %s\n", kiln_status_text(status), kiln_last_error());

    config.device = "ref";
    check(kiln_ctx_create(&config, &reference));
    kiln_stats_init(&stats);
    check(kiln_ctx_stats(reference, &stats));
    printf("a context of %s, %llu launches\n", kiln_ctx_device(reference),
           (unsigned long long)stats.launches);
    kiln_ctx_destroy(reference);
    printf("version %c\n", kiln_version()[0]);
}

/* Element types have texts and sizes, and their elements are read and written as C's own numbers. */
void elements(kiln_ctx *ctx)
{
    unsigned char element[16];
    double re, im;
    (void)ctx;
    kiln_dtype half = kiln_dtype_find("float16");
    printf("%s has %zu bytes\n", kiln_dtype_text(half), kiln_dtype_size(half));
    kiln_store_float(half, element, 1.0 / 3);
    printf("a third as f16: %.7f\n", kiln_load_float(half, element));
    kiln_store_int(KILN_U8, element, 300);
    printf("300 as u8: %lld\n", (long long)kiln_load_int(KILN_U8, element));
    kiln_store_complex(KILN_C64, element, 1, -2);
    kiln_load_complex(KILN_C64, element, &re, &im);
    printf("as c64: %g%+gi\n", re, im);
}

/* Memory of the device, for programs that have none of their own. On a GPU runs return before they are done. */
void memory(kiln_ctx *ctx)
{
    const float host[] = {1, 2, 3};
    float back[3];
    void *device;
    check(kiln_alloc(ctx, sizeof host, &device));
    check(kiln_upload(ctx, device, host, sizeof host));
    check(kiln_sync(ctx, NULL));
    check(kiln_download(ctx, back, device, sizeof back));
    printf("%g %g %g\n", back[0], back[1], back[2]);
    kiln_free(ctx, device);
}

static void *count_and_allocate(void *user, size_t size)
{
    ++*(int *)user;
    return malloc(size);
}

static void release(void *user, void *ptr)
{
    (void)user;
    free(ptr);
}

/* Host memory can be the application's. */
void own_memory(kiln_ctx *ctx)
{
    kiln_config config;
    int calls = 0;
    (void)ctx;
    kiln_config_init(&config);
    config.device = "cpu";
    config.alloc = count_and_allocate;
    config.release = release;
    config.user = &calls;
    check(kiln_ctx_create(&config, &ctx));
    kiln_ctx_destroy(ctx);
    printf("%s\n", calls > 0 ? "it was asked for" : "it was not asked for");
}

static const char source[] = "extern \"C\" __global__ void twice(const float *x, float *y, int n)\n"
                             "{\n"
                             "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "    if (i < n)\n"
                             "        y[i] = 2 * x[i];\n"
                             "}\n";

/* CUDA C++ of one's own is compiled, cached and launched as kiln's kernels are: on "cuda", or here on "emu", which
 * compiles it by the host's C++ compiler and checks every access. */
void own_kernel(kiln_ctx *ctx)
{
    kiln_config config;
    kiln_kernel *kernel;
    kiln_launch launch;
    kiln_param param;
    const float x[] = {1, 2, 3};
    float y[3];
    void *in, *out;
    int n = 3;
    kiln_config_init(&config);
    config.device = "emu";
    check(kiln_ctx_create(&config, &ctx));
    if (kiln_kernel_create(ctx, source, "twice", &kernel) != KILN_OK) {
        printf("%s\n", kiln_last_error()); /* there is no compiler */
        kiln_ctx_destroy(ctx);
        return;
    }
    for (int i = 0; i < kiln_kernel_params(kernel); i++) {
        check(kiln_kernel_param(kernel, i, &param));
        printf("%s is %s %s\n", param.name, param.is_pointer ? "an array of" : "one",
               kiln_dtype_text(param.dtype));
    }
    check(kiln_alloc(ctx, sizeof x, &in));
    check(kiln_alloc(ctx, sizeof y, &out));
    check(kiln_upload(ctx, in, x, sizeof x));
    kiln_launch_init(&launch);
    launch.block[0] = 32;
    check(kiln_kernel_run(kernel, NULL, &launch, (void *const[]){&in, &out, &n}, 3));
    check(kiln_download(ctx, y, out, sizeof y));
    printf("%g %g %g\n", y[0], y[1], y[2]);
    kiln_free(ctx, in);
    kiln_free(ctx, out);
    kiln_kernel_destroy(kernel);
    kiln_ctx_destroy(ctx);
}
