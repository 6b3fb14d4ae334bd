/* Kernels of the CPU device compiled by the host's compiler, beside the same interpreted and beside plain C (peers.c):
 * runs take turns, so that a busy machine disturbs all alike; what is reported are the medians, the medians of the ratios
 * of neighbouring turns, and the ratio of the quickest turns, which others disturb least. Results are compared first.
 * One thread's turns are in cycles of its own, where the system counts them: they do not run on while others have its core.
 *
 * usage: c [THREADS] [TURNS] [PART OF A NAME] */
#include <linux/perf_event.h>
#include <math.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/c/peers.h"
#include "bench/common.h"

enum {
    MOST_ARGS = 8,
    MOST_RANK = 4,
    MOST_TURNS = 1000,
    AT_ONCE = 4, /* runs of a turn, back to back; the first does not count */
};

typedef enum how { INTERPRETED, COMPILED, PLAIN, HOWS } how;

typedef struct array {
    const char *name;
    kiln_dtype dtype;
    int64_t shape[MOST_RANK]; /* up to a 0 */
} array;

typedef struct workload {
    const char *name, *text;
    peer_function *plain;
    array args[MOST_ARGS];
    int inputs;
} workload;

#define F32 KILN_F32
#define SOFTMAX(AXIS)                                                                              \
    "    e = exp(x - max(x, axis=" AXIS ", keepdims=True))\n"                                      \
    "    y = e / sum(e, axis=" AXIS ", keepdims=True)\n    return y\n"
#define BATCHNORM(AXES, ALL)                                                                       \
    "    d = x - mean(x, axis=" AXES ", keepdims=True)\n"                                          \
    "    v = mean(d * d, axis=" AXES ", keepdims=True)\n"                                          \
    "    y = d * rsqrt(v + 1e-5) * g" ALL " + b" ALL "\n    return y\n"
static const workload workloads[] = {
    {"layernorm 256x768",
     "def f(x: f32[N, C], g: f32[C], b: f32[C]):\n    d = x - mean(x, axis=-1, keepdims=True)\n"
     "    y = d * rsqrt(mean(d * d, axis=-1, keepdims=True) + 1e-5) * g + b\n    return y\n",
     c_layernorm,
     {{"x", F32, {256, 768}}, {"g", F32, {768}}, {"b", F32, {768}}, {"y", F32, {256, 768}}},
     3},
    {"gelu 786432",
     "def f(x: f32[N]):\n    y = gelu_tanh(x)\n    return y\n",
     c_gelu,
     {{"x", F32, {786432}}, {"y", F32, {786432}}},
     1},
    {"softmax 64x50257",
     "def f(x: f32[N, C]):\n" SOFTMAX("-1"),
     c_softmax,
     {{"x", F32, {64, 50257}}, {"y", F32, {64, 50257}}},
     1},
    {"softmax 1024x512",
     "def f(x: f32[N, C]):\n" SOFTMAX("-1"),
     c_softmax,
     {{"x", F32, {1024, 512}}, {"y", F32, {1024, 512}}},
     1},
    {"cross-entropy backward 64x50257",
     "def f(p: f32[N, V], t: i32[N], l: f32[N]):\n"
     "    y = (p - cast(arange(V) == t[:, None], f32)) * l[:, None]\n    return y\n",
     c_loss_backward,
     {{"p", F32, {64, 50257}}, {"t", KILN_I32, {64}}, {"l", F32, {64}}, {"y", F32, {64, 50257}}},
     3},
    {"adam 4194304",
     "def f(p: f32[N], g: f32[N], m: f32[N], v: f32[N], lr: f32 = 1e-3):\n    m2 = m * 0.9 + g * 0.1\n"
     "    v2 = v * 0.999 + g * g * 0.001\n    p2 = p - lr * m2 / (sqrt(v2) + 1e-8)\n    return p2, m2, v2\n",
     c_adam,
     {{"p", F32, {4194304}},
      {"g", F32, {4194304}},
      {"m", F32, {4194304}},
      {"v", F32, {4194304}},
      {"p2", F32, {4194304}},
      {"m2", F32, {4194304}},
      {"v2", F32, {4194304}}},
     4},
    {"residual 196608",
     "def f(x: f32[N], r: f32[N]):\n    y = x + r\n    return y\n",
     c_residual,
     {{"x", F32, {196608}}, {"r", F32, {196608}}, {"y", F32, {196608}}},
     2},
    {"embedding 1024 rows of 768",
     "def f(w: f32[V, C], i: i32[N]):\n    y = w[i]\n    return y\n",
     c_embedding,
     {{"w", F32, {4096, 768}}, {"i", KILN_I32, {1024}}, {"y", F32, {1024, 768}}},
     2},
    {"embedding 65536 rows of 32",
     "def f(w: f32[V, C], i: i32[N]):\n    y = w[i]\n    return y\n",
     c_embedding,
     {{"w", F32, {4096, 32}}, {"i", KILN_I32, {65536}}, {"y", F32, {65536, 32}}},
     2},
    {"batchnorm 8x64x56x56",
     "def f(x: f32[N, C, H, W], g: f32[C], b: f32[C]):\n" BATCHNORM("(0, 2, 3)", "[:, None, None]"),
     c_batchnorm,
     {{"x", F32, {8, 64, 56, 56}}, {"g", F32, {64}}, {"b", F32, {64}}, {"y", F32, {8, 64, 56, 56}}},
     3},
    {"batchnorm 8x56x56x64, channels last",
     "def f(x: f32[N, H, W, C], g: f32[C], b: f32[C]):\n" BATCHNORM("(0, 1, 2)", ""),
     c_batchnorm_last,
     {{"x", F32, {8, 56, 56, 64}}, {"g", F32, {64}}, {"b", F32, {64}}, {"y", F32, {8, 56, 56, 64}}},
     3},
    {"x / sum(x) of rows, 16384x64",
     "def f(x: f32[N, C]):\n    y = x / sum(x, axis=-1, keepdims=True)\n    return y\n",
     c_row_shares,
     {{"x", F32, {16384, 64}}, {"y", F32, {16384, 64}}},
     1},
    {"column sums 4096x512",
     "def f(x: f32[N, C]):\n    y = sum(x, axis=0)\n    return y\n",
     c_column_sums,
     {{"x", F32, {4096, 512}}, {"y", F32, {512}}},
     1},
    {"argmax 64x50257",
     "def f(x: f32[N, C]):\n    y = argmax(x, axis=-1)\n    return y\n",
     c_argmax,
     {{"x", F32, {64, 50257}}, {"y", KILN_I64, {64}}},
     1},
    {"min and max of columns 1048576x4",
     "def f(x: f32[N, C]):\n    y = min(x, axis=0)\n    z = max(x, axis=0)\n    return y, z\n",
     c_min_max,
     {{"x", F32, {1048576, 4}}, {"y", F32, {4}}, {"z", F32, {4}}},
     1},
    {"softmax over the middle 32x128x256",
     "def f(x: f32[A, B, C]):\n" SOFTMAX("1"),
     c_softmax_middle,
     {{"x", F32, {32, 128, 256}}, {"y", F32, {32, 128, 256}}},
     1},
    {"cosines of rows 16384x256",
     "def f(a: f32[N, C], b: f32[N, C]):\n"
     "    y = sum(a * b, axis=1) / (sqrt(sum(a * a, axis=1)) * sqrt(sum(b * b, axis=1)))\n    return y\n",
     c_cosines,
     {{"a", F32, {16384, 256}}, {"b", F32, {16384, 256}}, {"y", F32, {16384}}},
     2},
    {"transpose 1024x1024",
     "def f(x: f32[N, C]):\n    y = x.T * 2\n    return y\n",
     c_transpose,
     {{"x", F32, {1024, 1024}}, {"y", F32, {1024, 1024}}},
     1},
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

static int64_t count_of(const kiln_arg *a)
{
    int64_t count = 1;
    for (int i = 0; i < a->rank; i++)
        count *= a->shape[i];
    return count;
}

static int make_args(const workload *w, kiln_arg *args)
{
    int n = 0;
    for (; n < MOST_ARGS && w->args[n].name; n++) {
        const array *a = &w->args[n];
        args[n] = (kiln_arg){.name = a->name, .dtype = a->dtype, .shape = a->shape};
        while (args[n].rank < MOST_RANK && a->shape[args[n].rank])
            args[n].rank++;
        const int64_t count = count_of(&args[n]);
        args[n].data = malloc(8 * (size_t)count);
        for (int64_t i = 0; i < count; i++)
            if (a->dtype == KILN_I32)
                ((int32_t *)args[n].data)[i] = (int32_t)((uint64_t)i * 2654435761u % 4096);
            else
                ((float *)args[n].data)[i] = (float)((uint64_t)i * 2654435761u % 1000 + 1) / 500;
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

/* ---- one workload ---- */

typedef struct job {
    const workload *w;
    kiln_prog *prog[PLAIN];
    kiln_arg args[MOST_ARGS];
    void *data[MOST_ARGS];
    int64_t sizes[MOST_ARGS * MOST_RANK];
    int nargs;
} job;

static void run(const job *j, how by)
{
    if (by == PLAIN)
        j->w->plain(j->data, j->sizes);
    else
        check(kiln_run(j->prog[by], NULL, j->args, j->nargs));
}

static void start(job *j, const workload *w, kiln_ctx *const *ctx)
{
    *j = (job){.w = w};
    j->nargs = make_args(w, j->args);
    for (int i = 0, k = 0; i < j->nargs; i++) {
        j->data[i] = j->args[i].data;
        for (int d = 0; d < j->args[i].rank; d++)
            j->sizes[k++] = j->args[i].shape[d];
    }
    for (how by = 0; by < PLAIN; by++)
        j->prog[by] = compile(ctx[by], w->text);
}

static void end(job *j)
{
    for (how by = 0; by < PLAIN; by++)
        kiln_prog_destroy(j->prog[by]);
    for (int i = 0; i < j->nargs; i++)
        free(j->data[i]);
}

static double element(const kiln_arg *a, int64_t i)
{
    return a->dtype == KILN_I64 ? (double)((int64_t *)a->data)[i] : (double)((float *)a->data)[i];
}

/* Do compiled and plain C agree? Sums of f32 of a row's 50257 members differ by about that. */
static void compare(const job *j)
{
    for (int i = j->w->inputs; i < j->nargs; i++) {
        const kiln_arg *a = &j->args[i];
        const int64_t n = count_of(a);
        double *want = malloc(sizeof *want * (size_t)n);
        run(j, COMPILED);
        for (int64_t k = 0; k < n; k++)
            want[k] = element(a, k);
        run(j, PLAIN);
        for (int64_t k = 0; k < n; k++)
            if (!(fabs(element(a, k) - want[k]) <= 1e-3 * fabs(want[k]) + 1e-4)) {
                fprintf(stderr, "%s: element %lld of %s is %g, in plain C %g\n", j->w->name,
                        (long long)k, a->name, want[k], element(a, k));
                exit(1);
            }
        free(want);
    }
}

/* A counter of this thread's cycles; -1: there is none. */
static int open_cycles(void)
{
    struct perf_event_attr a = {.type = PERF_TYPE_HARDWARE,
                                .size = sizeof a,
                                .config = PERF_COUNT_HW_CPU_CYCLES,
                                .exclude_kernel = 1,
                                .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0UL);
}

static int cycles; /* counter, if one thread is measured */

/* In millions of cycles, or milliseconds. */
static double clock_now(int threads)
{
    struct timespec t;
    uint64_t count;
    if (threads != 1)
        return now_ms();
    if (cycles >= 0 && read(cycles, &count, sizeof count) == sizeof count)
        return (double)count * 1e-6;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The quickest of a few runs. Threads that waited for more work by spinning, ours or OpenMP's, sleep before. */
static double turn(const job *j, how by, int threads)
{
    const struct timespec pause = {
        .tv_nsec = 20000000}; /* OpenMP spins for up to 14 ms where a pause is 140 cycles */
    double best = 0;
    nanosleep(&pause, NULL);
    for (int i = 0; i < AT_ONCE; i++) {
        const double begin = clock_now(threads);
        run(j, by);
        const double ms = clock_now(threads) - begin;
        best = i == 1 || ms < best ? ms : best;
    }
    return best;
}

/* Adds to `logs` those of C / compiled, by medians and by the quickest. */
static void measure(const job *j, int turns, int threads, double logs[2])
{
    static double ms[HOWS][MOST_TURNS], over[HOWS][MOST_TURNS];
    for (int i = 0; i < turns; i++) {
        for (int k = 0; k < HOWS; k++) {
            const how by = (how)((i + k) % HOWS);
            ms[by][i] = turn(j, by, threads);
        }
        over[INTERPRETED][i] = ms[INTERPRETED][i] / ms[COMPILED][i];
        over[PLAIN][i] = ms[PLAIN][i] / ms[COMPILED][i];
    }
    double middle[HOWS];
    for (int k = 0; k < HOWS; k++)
        middle[k] = 1000 * median(ms[k], turns);
    const double plain = median(over[PLAIN], turns), quickest = ms[PLAIN][0] / ms[COMPILED][0];
    printf("| %s | %.0f | %.0f | %.0f | %.2f | %.2f | %.2f |\n", j->w->name, middle[INTERPRETED],
           middle[COMPILED], middle[PLAIN], median(over[INTERPRETED], turns), plain, quickest);
    fflush(stdout);
    logs[0] += log(plain);
    logs[1] += log(quickest);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 0, turns = argc > 2 ? atoi(argv[2]) : 21, n = 0;
    kiln_ctx *ctx[] = {open_context("never", threads), open_context("only", threads)};
    double logs[2] = {0};
    c_threads(threads);
    turns = turns < 1 ? 1 : turns > MOST_TURNS ? MOST_TURNS : turns;
    cycles = threads == 1 ? open_cycles() : -1;
    const char *unit = cycles >= 0 ? "kilocycles" : "us";
    printf(
        "| program | interpreted %s | compiled %s | C %s | interpreted / compiled | C / compiled | of the "
        "quickest |\n|---|---|---|---|---|---|---|\n",
        unit, unit, unit);
    for (int i = 0; i < WORKLOADS; i++) {
        job j;
        if (argc > 3 && !strstr(workloads[i].name, argv[3]))
            continue;
        start(&j, &workloads[i], ctx);
        compare(&j);
        measure(&j, turns, threads, logs);
        n++;
        end(&j);
    }
    printf("\nC / compiled, geometric mean of %d: %.2f, of the quickest %.2f\n", n,
           exp(logs[0] / n), exp(logs[1] / n));
    kiln_ctx_destroy(ctx[0]);
    kiln_ctx_destroy(ctx[1]);
    return 0;
}
