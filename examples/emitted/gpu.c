/* Batch normalisation by an emitted program on a GPU, in an application that works with the CUDA runtime: what it computes
 * there is held to what it computes on the CPU, and timed. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "batchnorm.h"

enum { RUNS = 200 };

static double now_ms(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void need(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void need_cuda(cudaError_t result)
{
    need(result == cudaSuccess, cudaGetErrorString(result));
}

/* Both memories of an array. */
typedef struct both {
    float *host, *device;
    size_t bytes;
} both;

static both numbers(int64_t n)
{
    static uint32_t state = 1;
    both b = {malloc((size_t)n * sizeof(float)), NULL, (size_t)n * sizeof(float)};
    need(b.host != NULL, "out of memory");
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        b.host[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
    need_cuda(cudaMalloc((void **)&b.device, b.bytes));
    need_cuda(cudaMemcpy(b.device, b.host, b.bytes, cudaMemcpyHostToDevice));
    return b;
}

/* The largest difference of what the GPU and the CPU computed. */
static double difference(const both *b)
{
    float *from = malloc(b->bytes);
    double most = 0;
    need(from != NULL, "out of memory");
    need_cuda(cudaMemcpy(from, b->device, b->bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < b->bytes / sizeof(float); i++) {
        const double off = fabs((double)from[i] - b->host[i]);
        most = off > most || off != off ? off : most;
    }
    free(from);
    return most;
}

static double microseconds(batchnorm_ctx *ctx, cudaStream_t stream, const int64_t *s, const both *a)
{
    cudaEvent_t from, to;
    float ms;
    need_cuda(cudaEventCreate(&from));
    need_cuda(cudaEventCreate(&to));
    need_cuda(cudaEventRecord(from, stream));
    for (int i = 0; i < RUNS; i++)
        batchnorm_run(ctx, stream, a[0].device, s[0], s[1], s[2], s[3], a[1].device, a[2].device,
                      1e-5f, a[3].device, a[4].device, a[5].device, NULL);
    need_cuda(cudaEventRecord(to, stream));
    need_cuda(cudaEventSynchronize(to));
    need_cuda(cudaEventElapsedTime(&ms, from, to));
    cudaEventDestroy(from);
    cudaEventDestroy(to);
    return (double)ms * 1e3 / RUNS;
}

static int try_sizes(batchnorm_ctx *ctx, cudaStream_t stream, const int64_t *s)
{
    const int64_t n = s[0] * s[1] * s[2] * s[3], c = s[1];
    const both a[] = {numbers(n), numbers(c), numbers(c), numbers(n), numbers(c), numbers(c)};
    const double start = now_ms();
    int status = batchnorm_run(ctx, stream, a[0].device, s[0], s[1], s[2], s[3], a[1].device,
                               a[2].device, 1e-5f, a[3].device, a[4].device, a[5].device, NULL);
    const double took = now_ms() - start;
    need(status == 0, batchnorm_message(status));
    need_cuda(cudaStreamSynchronize(stream));
    status = batchnorm_run(NULL, NULL, a[0].host, s[0], s[1], s[2], s[3], a[1].host, a[2].host,
                           1e-5f, a[3].host, a[4].host, a[5].host, NULL);
    need(status == 0, batchnorm_message(status));
    double off = 0;
    for (int i = 3; i < 6; i++)
        off = fmax(off, difference(&a[i]));
    printf("(%d, %d, %d, %d): first call %.2f ms, then %.1f us a run; within %.1g of the CPU\n",
           (int)s[0], (int)s[1], (int)s[2], (int)s[3], took, microseconds(ctx, stream, s, a), off);
    for (int i = 0; i < 6; i++) {
        free(a[i].host);
        cudaFree(a[i].device);
    }
    return off < 1e-4;
}

int main(void)
{
    static const int64_t shapes[][4] = {
        {32, 256, 56, 56}, {32, 256, 56, 56}, {1, 3, 7, 5}, {8, 64, 56, 56}};
    batchnorm_ctx *ctx;
    cudaStream_t stream;
    float on_host[6] = {0};
    int good = 1;
    const int status = batchnorm_create(&ctx, "cuda");
    need(status == 0, batchnorm_message(status));
    need_cuda(cudaStreamCreate(&stream));
    for (int i = 0; i < 4; i++)
        good &= try_sizes(ctx, stream, shapes[i]);
    float *h = on_host;
    const int refused =
        batchnorm_run(ctx, stream, h, 1, 1, 1, 1, h + 1, h + 2, 1e-5f, h + 3, h + 4, h + 5, NULL);
    printf("host memory: %s\n", batchnorm_message(refused));
    cudaStreamDestroy(stream);
    batchnorm_destroy(ctx);
    return good && refused ? 0 : 1;
}
