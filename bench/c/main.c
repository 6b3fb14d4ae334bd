/* Kernels of the CPU device compiled by the host's compiler, beside the same interpreted and beside plain C (peers.c):
 * runs take turns, so that a busy machine disturbs all alike; what is reported are the medians, the medians of the ratios
 * of neighbouring turns, and the ratio of the quickest turns, which others disturb least. Results are compared first.
 * One thread's turns are in cycles of its own, where the system counts them: they do not run on while others have its core.
 *
 * usage: c [--random SEED [--count N]] [THREADS] [TURNS] [PART OF A NAME] */
#include <linux/perf_event.h>
#include <math.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/c/workloads.h"
#include "bench/common.h"

enum {
    MOST_TURNS = 1000,
    AT_ONCE = 4,    /* runs of a turn, back to back; the first does not count */
    LEAST_TURNS = 5 /* also of a workload that takes longer than MOST_MS */
};
#define WARM_MS 0.3    /* of a turn's first runs, in which sleeping threads wake */
#define MOST_MS 3000.0 /* after which a workload gets no more than LEAST_TURNS */

typedef enum how { INTERPRETED, COMPILED, PLAIN, HOWS } how;

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

/* Their extents go into `sizes`, which the arguments point to. */
static int make_args(const workload *w, kiln_arg *args, int64_t *sizes)
{
    const uint64_t rows = (uint64_t)extent_of(w, 'V');
    int n = 0;
    for (; n < MOST_ARGS && w->f->args[n].name; n++) {
        const argument *a = &w->f->args[n];
        args[n] = (kiln_arg){.name = a->name, .dtype = a->dtype, .shape = sizes};
        for (; a->letters[args[n].rank]; args[n].rank++)
            *sizes++ = extent_of(w, a->letters[args[n].rank]);
        const int64_t count = count_of(&args[n]);
        args[n].data = malloc(8 * (size_t)count);
        if (!args[n].data) {
            fprintf(stderr, "out of memory: %s\n", w->name);
            exit(3);
        }
        for (int64_t i = 0; i < count; i++)
            if (a->dtype == KILN_I32)
                ((int32_t *)args[n].data)[i] = (int32_t)((uint64_t)i * 2654435761u % rows);
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
    workload w;
    kiln_prog *prog[PLAIN];
    kiln_arg args[MOST_ARGS];
    void *data[MOST_ARGS];
    int64_t sizes[MOST_ARGS * MOST_RANK];
    int nargs;
} job;

static void run(const job *j, how by)
{
    if (by == PLAIN)
        j->w.f->plain(j->data, j->sizes);
    else
        check(kiln_run(j->prog[by], NULL, j->args, j->nargs));
}

static void start(job *j, const workload *w, kiln_ctx *const *ctx)
{
    *j = (job){.w = *w};
    j->nargs = make_args(&j->w, j->args, j->sizes);
    for (int i = 0; i < j->nargs; i++)
        j->data[i] = j->args[i].data;
    for (how by = 0; by < PLAIN; by++)
        j->prog[by] = compile(ctx[by], w->f->text);
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

/* Do compiled and plain C agree? Sums of a million f32 one after the other are off by about that. */
static void compare(const job *j)
{
    for (int i = j->w.f->inputs; i < j->nargs; i++) {
        const kiln_arg *a = &j->args[i];
        const int64_t n = count_of(a);
        double *want = malloc(sizeof *want * (size_t)n);
        run(j, COMPILED);
        for (int64_t k = 0; k < n; k++)
            want[k] = element(a, k);
        run(j, PLAIN);
        for (int64_t k = 0; k < n; k++)
            if (!(fabs(element(a, k) - want[k]) <= 1e-3 * fabs(want[k]) + 1e-3)) {
                fprintf(stderr, "%s: element %lld of %s is %g, in plain C %g\n", j->w.name,
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

/* The quickest of a few runs. Threads that waited for more work by spinning, ours or OpenMP's, sleep before, and are woken by
 * runs that do not count: a parallel region waits for its threads to come, a loop of ours goes on without them. */
static double turn(const job *j, how by, int threads)
{
    const struct timespec pause = {
        .tv_nsec = 20000000}; /* OpenMP spins for up to 14 ms where a pause is 140 cycles */
    double best = 0;
    nanosleep(&pause, NULL);
    for (const double begin = now_ms(); now_ms() - begin < WARM_MS;)
        run(j, by);
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
    const double begin = now_ms();
    int n = 0;
    for (; n < turns && (n < LEAST_TURNS || now_ms() - begin < MOST_MS); n++) {
        for (int k = 0; k < HOWS; k++) {
            const how by = (how)((n + k) % HOWS);
            ms[by][n] = turn(j, by, threads);
        }
        over[INTERPRETED][n] = ms[INTERPRETED][n] / ms[COMPILED][n];
        over[PLAIN][n] = ms[PLAIN][n] / ms[COMPILED][n];
    }
    double middle[HOWS];
    for (int k = 0; k < HOWS; k++)
        middle[k] = 1000 * median(ms[k], n);
    const double plain = median(over[PLAIN], n), quickest = ms[PLAIN][0] / ms[COMPILED][0];
    printf("| %s | %.0f | %.0f | %.0f | %.2f | %.2f | %.2f |\n", j->w.name, middle[INTERPRETED],
           middle[COMPILED], middle[PLAIN], median(over[INTERPRETED], n), plain, quickest);
    fflush(stdout);
    logs[0] += log(plain);
    logs[1] += log(quickest);
}

static int usage(void)
{
    fprintf(stderr, "usage: c [--random SEED [--count N]] [THREADS] [TURNS] [PART OF A NAME]\n");
    return 2;
}

int main(int argc, char **argv)
{
    const char *seed = NULL;
    int count = 40;
    for (; argc > 2 && strncmp(argv[1], "--", 2) == 0; argc -= 2, argv += 2) {
        if (strcmp(argv[1], "--random") == 0)
            seed = argv[2];
        else if (strcmp(argv[1], "--count") == 0)
            count = atoi(argv[2]);
        else
            return usage();
    }
    if (argc > 4 || (argc > 1 && argv[1][0] == '-'))
        return usage();
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
    workload w;
    for (int i = 0; seed ? i < count : listed_workload(&w, i); i++) {
        job j;
        if (seed)
            drawn_workload(&w, strtoull(seed, NULL, 10), i);
        if (argc > 3 && !strstr(w.name, argv[3]))
            continue;
        start(&j, &w, ctx);
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
