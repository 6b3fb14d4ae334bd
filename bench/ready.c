/* What a new program costs on the CPU device: until its first result, which is interpreted; until its compiled kernels have
 * taken over; and the same with those of an earlier context on disk, which compiles nothing.
 *
 *   ready */
#include <unistd.h>

#include "bench/common.h"

enum { ROWS = 256, COLUMNS = 768, LONGEST_MS = 20000 };

typedef struct workload {
    const char *name, *text;
} workload;

static const workload workloads[] = {
    {"softmax", "def f(x: f32[N, C]):\n    e = exp(x - max(x, axis=-1, keepdims=True))\n"
                "    y = e / sum(e, axis=-1, keepdims=True)\n    return y\n"},
    {"layernorm", "def f(x: f32[N, C]):\n    d = x - mean(x, axis=-1, keepdims=True)\n"
                  "    y = d * rsqrt(mean(d * d, axis=-1, keepdims=True) + 1e-5)\n    return y\n"},
    {"column sums",
     "def f(x: f32[N, C]):\n    y = sum(x * x, axis=0, keepdims=True) + x\n    return y\n"},
    {"gelu", "def f(x: f32[N, C]):\n    y = gelu_tanh(x)\n    return y\n"},
};

static kiln_stats stats_of(kiln_ctx *ctx)
{
    kiln_stats s = {.struct_size = sizeof s};
    check(kiln_ctx_stats(ctx, &s));
    return s;
}

static void measure(const workload *w, const char *folder)
{
    static float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    static const int64_t shape[] = {ROWS, COLUMNS};
    const kiln_arg args[] = {{"x", x, KILN_F32, 2, shape, NULL},
                             {"y", y, KILN_F32, 2, shape, NULL}};
    kiln_config config;
    kiln_ctx *ctx;
    kiln_graph *graph;
    kiln_prog *prog;
    kiln_config_init(&config);
    config.device = "cpu";
    config.cache_dir = folder;
    check(kiln_ctx_create(&config, &ctx));
    const double start = now_ms();
    check(kiln_parse(ctx, w->text, NULL, &graph));
    check(kiln_compile(graph, NULL, &prog));
    check(kiln_run(prog, NULL, args, 2));
    const double first = now_ms() - start;
    kiln_stats s = stats_of(ctx);
    while (s.compiler_calls + s.disk_hits == 0 && now_ms() - start < LONGEST_MS) {
        check(kiln_run(prog, NULL, args, 2));
        s = stats_of(ctx);
    }
    printf("| %s | %.2f | %.0f | %llu | %llu |\n", w->name, first, now_ms() - start,
           (unsigned long long)s.compiler_calls, (unsigned long long)s.disk_hits);
    kiln_graph_destroy(graph);
    kiln_prog_destroy(prog);
    kiln_ctx_destroy(ctx);
}

int main(void)
{
    char folder[] = "/tmp/kiln-ready-XXXXXX", command[64];
    if (!mkdtemp(folder))
        return 1;
    puts(
        "| program | first result ms | compiled after ms | compiled | from disk |\n|---|---|---|---|---|");
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
            measure(&workloads[i], folder);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0;
}
