/* One device function with barriers, run on the host and on the device.
 *
 *     host_device
 *
 * block_sum.cu, beside this file, adds 128 ones with the 64 threads of a block. The same text goes to the
 * emulator, which runs its threads on the host, and to a GPU if there is one: no host version is written,
 * and nothing in the function is there for the host. Both must say 1.280e+02.
 *
 * Exit status: 0; 1 if a result is another or a run fails; 77 if there is neither an emulator nor a GPU.
 */
#include <stdio.h>
#include <string.h>

#include <kiln.h>

extern const char block_sum_source[]; /* block_sum.cu */

enum { SKIPPED = 77, THREADS = 64, COUNT = 2 * THREADS };

static kiln_status run(kiln_ctx *ctx, float *result)
{
    float ones[COUNT];
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    void *in = NULL, *out = NULL, *params[] = {&in, &out};
    kiln_kernel *kernel = NULL;
    kiln_launch launch;
    kiln_launch_init(&launch);
    launch.block[0] = THREADS;
    launch.shared = THREADS * sizeof(float);

    kiln_status status = kiln_kernel_create(ctx, block_sum_source, "sum", &kernel);
    if (status == KILN_OK)
        status = kiln_alloc(ctx, sizeof ones, &in);
    if (status == KILN_OK)
        status = kiln_alloc(ctx, sizeof *result, &out);
    if (status == KILN_OK)
        status = kiln_upload(ctx, in, ones, sizeof ones);
    if (status == KILN_OK)
        status = kiln_kernel_run(kernel, NULL, &launch, params, 2);
    if (status == KILN_OK)
        status = kiln_sync(ctx, NULL);
    if (status == KILN_OK)
        status = kiln_download(ctx, result, out, sizeof *result);
    kiln_free(ctx, in);
    kiln_free(ctx, out);
    kiln_kernel_destroy(kernel);
    return status;
}

/* 0, 1 or SKIPPED. */
static int show(const char *device, const char *where)
{
    kiln_config config;
    kiln_config_init(&config);
    config.device = device;
    kiln_ctx *ctx = NULL;
    float result = 0;
    kiln_status status = kiln_ctx_create(&config, &ctx);
    if (status == KILN_OK)
        status = run(ctx, &result);
    kiln_ctx_destroy(ctx);
    if (status == KILN_ERR_DEVICE) {
        printf("not %s: %s\n", where, kiln_last_error());
        return SKIPPED;
    }
    if (status != KILN_OK) {
        fprintf(stderr, "host_device: %s: %s\n", device, kiln_last_error());
        return 1;
    }
    printf("result = %.3e (%s)\n", (double)result, where);
    return result == COUNT ? 0 : 1;
}

int main(void)
{
    int host = show("emu", "on the host");
    int device = show("cuda", "on the device");
    if (host == SKIPPED && device == SKIPPED)
        return SKIPPED;
    return host == 1 || device == 1;
}
