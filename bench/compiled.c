/* Kernels of the CPU device compiled by the host's compiler, beside the same interpreted: runs take turns, so that a
 * busy machine disturbs both alike; what is reported is the median of the ratios of neighbouring runs.
 *
 * usage: compiled [THREADS] [RUNS] */
#include <string.h>

#include "bench/common.h"

enum { MOST_ARGS = 8, MOST_RANK = 4, MOST_RUNS = 1000, INTERPRETED = 0, COMPILED = 1 };

typedef struct array {
    const char *name;
    kiln_dtype dtype;
    int64_t shape[MOST_RANK]; /* up to a 0 */
} array;

typedef struct workload {
    const char *name, *text;
    array args[MOST_ARGS];
} workload;

#define F32 KILN_F32
static const workload workloads[] = {
    {"layernorm",
     "def f(x: f32[N, C], g: f32[C], b: f32[C]):\n    d = x - mean(x, axis=-1, keepdims=True)\n"
     "    y = d * rsqrt(mean(d * d, axis=-1, keepdims=True) + 1e-5) * g + b\n    return y\n",
     {{"x", F32, {256, 768}}, {"g", F32, {768}}, {"b", F32, {768}}, {"y", F32, {256, 768}}}},
    {"gelu",
     "def f(x: f32[N]):\n    y = gelu_tanh(x)\n    return y\n",
     {{"x", F32, {786432}}, {"y", F32, {786432}}}},
    {"softmax 50257",
     "def f(x: f32[N, C]):\n    e = exp(x - max(x, axis=-1, keepdims=True))\n"
     "    y = e / sum(e, axis=-1, keepdims=True)\n    return y\n",
     {{"x", F32, {64, 50257}}, {"y", F32, {64, 50257}}}},
    {"softmax 512",
     "def f(x: f32[N, C]):\n    e = exp(x - max(x, axis=-1, keepdims=True))\n"
     "    y = e / sum(e, axis=-1, keepdims=True)\n    return y\n",
     {{"x", F32, {1024, 512}}, {"y", F32, {1024, 512}}}},
    {"residual add",
     "def f(x: f32[N], r: f32[N]):\n    y = x + r\n    return y\n",
     {{"x", F32, {196608}}, {"r", F32, {196608}}, {"y", F32, {196608}}}},
    {"adam",
     "def f(p: f32[N], g: f32[N], m: f32[N], v: f32[N], lr: f32 = 1e-3):\n    m2 = m * 0.9 + g * 0.1\n"
     "    v2 = v * 0.999 + g * g * 0.001\n    p2 = p - lr * m2 / (sqrt(v2) + 1e-8)\n    return p2, m2, v2\n",
     {{"p", F32, {4194304}},
      {"g", F32, {4194304}},
      {"m", F32, {4194304}},
      {"v", F32, {4194304}},
      {"p2", F32, {4194304}},
      {"m2", F32, {4194304}},
      {"v2", F32, {4194304}}}},
    {"embedding",
     "def f(w: f32[V, C], i: i32[N]):\n    y = w[i]\n    return y\n",
     {{"w", F32, {4096, 768}}, {"i", KILN_I32, {1024}}, {"y", F32, {1024, 768}}}},
    {"batchnorm",
     "def f(x: f32[N, C, H, W], g: f32[C], b: f32[C]):\n"
     "    d = x - mean(x, axis=(0, 2, 3), keepdims=True)\n"
     "    v = mean(d * d, axis=(0, 2, 3), keepdims=True)\n"
     "    y = d * rsqrt(v + 1e-5) * g[:, None, None] + b[:, None, None]\n    return y\n",
     {{"x", F32, {8, 64, 56, 56}},
      {"g", F32, {64}},
      {"b", F32, {64}},
      {"y", F32, {8, 64, 56, 56}}}},
    {"rows of 64",
     "def f(x: f32[N, C]):\n    y = x / sum(x, axis=-1, keepdims=True)\n    return y\n",
     {{"x", F32, {16384, 64}}, {"y", F32, {16384, 64}}}},
    {"column sums",
     "def f(x: f32[N, C]):\n    y = sum(x, axis=0)\n    return y\n",
     {{"x", F32, {4096, 512}}, {"y", F32, {512}}}},
    {"transpose",
     "def f(x: f32[N, C]):\n    y = x.T * 2\n    return y\n",
     {{"x", F32, {1024, 1024}}, {"y", F32, {1024, 1024}}}},
};
enum { WORKLOADS = sizeof workloads / sizeof *workloads };

static kiln_ctx *open_context(const char *when, int threads)
{
    kiln_config config;
    kiln_ctx *ctx;
    kiln_config_init(&config);
    config.device = "cpu";
    config.threads = threads;
    config.cpu_compile = when;
    check(kiln_ctx_create(&config, &ctx));
    return ctx;
}

static kiln_prog *compile(kiln_ctx *ctx, const char *text)
{
    kiln_graph *graph;
    kiln_prog *prog;
    check(kiln_parse(ctx, text, NULL, &graph));
    check(kiln_compile(graph, NULL, &prog));
    kiln_graph_destroy(graph);
    return prog;
}

static int make_args(const workload *w, kiln_arg *args)
{
    int n = 0;
    for (; n < MOST_ARGS && w->args[n].name; n++) {
        const array *a = &w->args[n];
        int rank = 0;
        size_t count = 1;
        for (; rank < MOST_RANK && a->shape[rank]; rank++)
            count *= (size_t)a->shape[rank];
        void *data = malloc(4 * count);
        for (size_t i = 0; i < count; i++)
            if (a->dtype == KILN_I32)
                ((int32_t *)data)[i] = (int32_t)(i * 2654435761u % 4096);
            else
                ((float *)data)[i] = (float)(i * 2654435761u % 1000 + 1) / 500;
        args[n] = (kiln_arg){a->name, data, a->dtype, rank, a->shape, NULL};
    }
    return n;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, ascending);
    return v[n / 2];
}

static void measure(const workload *w, kiln_ctx *const *ctx, int runs)
{
    static double ms[2][MOST_RUNS], ratio[MOST_RUNS];
    kiln_arg args[MOST_ARGS];
    kiln_prog *prog[2];
    int n = make_args(w, args);
    for (int k = 0; k < 2; k++) {
        prog[k] = compile(ctx[k], w->text);
        check(kiln_run(prog[k], NULL, args, n));
    }
    for (int i = 0; i < runs; i++) {
        for (int j = 0; j < 2; j++) {
            int k = (i + j) % 2;
            double start = now_ms();
            check(kiln_run(prog[k], NULL, args, n));
            ms[k][i] = now_ms() - start;
        }
        ratio[i] = ms[INTERPRETED][i] / ms[COMPILED][i];
    }
    double ratios = median(ratio, runs);
    printf("%-14s %11.1f %11.1f %8.2f\n", w->name, 1000 * median(ms[INTERPRETED], runs),
           1000 * median(ms[COMPILED], runs), ratios);
    for (int k = 0; k < 2; k++)
        kiln_prog_destroy(prog[k]);
    for (int i = 0; i < n; i++)
        free(args[i].data);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 0, runs = argc > 2 ? atoi(argv[2]) : 51;
    kiln_ctx *ctx[] = {open_context("never", threads), open_context("only", threads)};
    runs = runs < 1 ? 1 : runs > MOST_RUNS ? MOST_RUNS : runs;
    printf("%-14s %11s %11s %8s\n", "", "interpreted", "compiled us", "ratio");
    for (int i = 0; i < WORKLOADS; i++)
        measure(&workloads[i], ctx, runs);
    kiln_ctx_destroy(ctx[0]);
    kiln_ctx_destroy(ctx[1]);
    return 0;
}
