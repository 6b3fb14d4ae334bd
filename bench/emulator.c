/* What the emulator costs, with every check on: compiling a kernel, and summing 1 Mi floats in blocks of 256
 * threads by shuffles, once with a block for every 256 elements and once with a grid-stride loop. */
#include "bench/common.h"

static const char source[] =
    "__device__ float warp_sum(float v)\n"
    "{\n"
    "    for (int step = 16; step > 0; step /= 2)\n"
    "        v += __shfl_down_sync(0xffffffffu, v, step);\n"
    "    return v;\n"
    "}\n"
    "extern \"C\" __global__ void sum(const float *in, float *out, int n)\n"
    "{\n"
    "    __shared__ float warps[32];\n"
    "    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
    "    float v = 0;\n"
    "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)\n"
    "        v += in[i];\n"
    "    v = warp_sum(v);\n"
    "    if (lane == 0)\n"
    "        warps[warp] = v;\n"
    "    __syncthreads();\n"
    "    if (warp == 0) {\n"
    "        v = warp_sum(lane < blockDim.x / 32 ? warps[lane] : 0);\n"
    "        if (lane == 0)\n"
    "            out[blockIdx.x] = v;\n"
    "    }\n"
    "}\n";

enum { N = 1 << 20, THREADS = 256, RUNS = 7 };

static void measure(kiln_ctx *ctx, kiln_kernel *kernel, void *in, void *out, unsigned blocks)
{
    int n = N;
    void *params[] = {&in, &out, &n};
    kiln_launch launch;
    kiln_launch_init(&launch);
    launch.grid[0] = blocks;
    launch.block[0] = THREADS;
    double best = 1e30;
    for (int i = 0; i < RUNS; i++) {
        double start = now_ms();
        check(kiln_kernel_run(kernel, NULL, &launch, params, 3));
        double took = now_ms() - start;
        best = took < best ? took : best;
    }
    float *sums = malloc(blocks * sizeof *sums);
    double sum = 0;
    if (!sums)
        exit(3);
    check(kiln_download(ctx, sums, out, blocks * sizeof *sums));
    for (unsigned i = 0; i < blocks; i++)
        sum += (double)sums[i];
    free(sums);
    printf("sum of %d floats, %4u blocks of %d threads  %7.2f ms  (%.1f)\n", N, blocks, THREADS,
           best, sum);
}

int main(int argc, char **argv)
{
    kiln_config config;
    kiln_config_init(&config);
    config.device = "emu";
    config.cache_dir = ""; /* compiling is measured */
    config.emulator = argc > 1 ? argv[1] : NULL;
    kiln_ctx *ctx;
    check(kiln_ctx_create(&config, &ctx));
    kiln_kernel *kernel;
    double start = now_ms();
    check(kiln_kernel_create(ctx, source, "sum", &kernel));
    double first = now_ms() - start;
    kiln_kernel_destroy(kernel);
    static char again[sizeof source + 2];
    snprintf(again, sizeof again, "%s\n", source); /* another text, so that it is compiled */
    start = now_ms();
    check(kiln_kernel_create(ctx, again, "sum", &kernel));
    printf("compiling: the first kernel of a context %.0f ms, another %.0f ms\n", first,
           now_ms() - start);
    void *in, *out;
    check(kiln_alloc(ctx, N * sizeof(float), &in));
    check(kiln_alloc(ctx, N / THREADS * sizeof(float), &out));
    float *host = malloc(N * sizeof *host);
    if (!host)
        return 3;
    for (int i = 0; i < N; i++)
        host[i] = (float)(i % 7) * 0.25f;
    check(kiln_upload(ctx, in, host, N * sizeof *host));
    free(host);
    measure(ctx, kernel, in, out, 64);
    measure(ctx, kernel, in, out, N / THREADS);
    kiln_free(ctx, in);
    kiln_free(ctx, out);
    kiln_kernel_destroy(kernel);
    kiln_ctx_destroy(ctx);
    return 0;
}
