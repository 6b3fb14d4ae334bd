/* What the first result of a process costs: batchnorm, with no kernel kept on disk, with all of them kept,
 * and with the disk cache off. Each run is a process of its own.
 *
 *   startup [DEVICE [N C H W]]      DEVICE: cuda if there is a GPU, else emu */
#include <string.h>
#include <unistd.h>

#include "bench/cases.h"
#include "bench/common.h"

enum { ARRAYS = 6, RUNS = 9 };

/* Milliseconds, and kernels. */
typedef struct timing {
    double process; /* from before the process began to its first result */
    double context; /* kiln_ctx_create() */
    /* From then to the first result on the host: text, compile or load, run, copy back. */
    double first;
    double compile; /* of that, in the compiler */
    unsigned compiles, disk_hits, calls;
} timing;

/* ---- a process ---- */

typedef struct job {
    const char *device, *dir; /* dir "": no disk cache */
    int64_t shape[4];
    double start; /* when it was begun */
} job;

static void fill_args(kiln_ctx *ctx, const job *j, float *host, kiln_arg args[ARRAYS])
{
    static int64_t channels[1], moments[4] = {1, 1, 1, 1};
    channels[0] = moments[1] = j->shape[1];
    const kiln_arg made[ARRAYS] = {
        {"x", NULL, KILN_F32, 4, j->shape, NULL},    {"gamma", NULL, KILN_F32, 1, channels, NULL},
        {"beta", NULL, KILN_F32, 1, channels, NULL}, {"y", NULL, KILN_F32, 4, j->shape, NULL},
        {"m", NULL, KILN_F32, 4, moments, NULL},     {"v", NULL, KILN_F32, 4, moments, NULL}};
    memcpy(args, made, sizeof made);
    for (int i = 0; i < ARRAYS; i++) {
        size_t n = sizeof(float);
        for (int k = 0; k < args[i].rank; k++)
            n *= (size_t)args[i].shape[k];
        check(kiln_alloc(ctx, n, &args[i].data));
        if (i < 3)
            check(kiln_upload(ctx, args[i].data, host, n));
    }
}

static timing live(const job *j)
{
    size_t n = (size_t)(j->shape[0] * j->shape[1] * j->shape[2] * j->shape[3]);
    float *host = malloc(n * sizeof *host);
    kiln_config config;
    kiln_ctx *ctx;
    kiln_graph *graph;
    kiln_prog *prog;
    kiln_arg args[ARRAYS];
    timing t = {0};
    if (!host)
        exit(3);
    for (size_t i = 0; i < n; i++)
        host[i] = (float)(i % 97) * 0.125f;
    kiln_config_init(&config);
    config.device = j->device;
    config.cache_dir = j->dir;
    double before = now_ms();
    check(kiln_ctx_create(&config, &ctx));
    t.context = now_ms() - before;
    fill_args(ctx, j, host, args); /* the caller's own business */
    before = now_ms();
    check(kiln_parse(ctx, cases[BATCHNORM].text, "batchnorm.kiln", &graph));
    check(kiln_compile(graph, NULL, &prog));
    check(kiln_run(prog, NULL, args, ARRAYS));
    check(kiln_download(ctx, host, args[4].data, sizeof *host));
    t.first = now_ms() - before;
    t.process = now_ms() - j->start;
    kiln_stats s;
    kiln_stats_init(&s);
    check(kiln_ctx_stats(ctx, &s));
    t.compile = s.compile_ms;
    t.compiles = (unsigned)s.compiles;
    t.disk_hits = (unsigned)s.disk_hits;
    t.calls = (unsigned)s.compiler_calls;
    for (int i = 0; i < ARRAYS; i++)
        kiln_free(ctx, args[i].data);
    kiln_prog_destroy(prog);
    kiln_graph_destroy(graph);
    kiln_ctx_destroy(ctx);
    free(host);
    return t;
}

/* Runs this program again, so that nothing is inherited, and reads what it says. */
static timing run_process(const job *j)
{
    char command[900];
    timing t = {0};
    snprintf(command, sizeof command, "/proc/%d/exe --child '%s' '%s' %lld %lld %lld %lld %.6f",
             (int)getpid(), j->device, j->dir, (long long)j->shape[0], (long long)j->shape[1],
             (long long)j->shape[2], (long long)j->shape[3], now_ms());
    FILE *out = popen(command, "r");
    if (!out || fscanf(out, "%lf %lf %lf %lf %u %u %u", &t.process, &t.context, &t.first,
                       &t.compile, &t.compiles, &t.disk_hits, &t.calls) != 7)
        exit(3);
    pclose(out);
    return t;
}

/* ---- the table ---- */

static int by_first(const void *a, const void *b)
{
    double x = ((const timing *)a)->first, y = ((const timing *)b)->first;
    return (x > y) - (x < y);
}

static void put(const char *name, const timing *t)
{
    printf("%-28s %10.2f %10.2f %12.2f %12.2f %9u %9u %9u\n", name, t->process, t->context,
           t->first, t->compile, t->compiles, t->disk_hits, t->calls);
}

static void remove_dir(const char *dir)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command) != 0)
        fprintf(stderr, "startup: '%s' stays\n", dir);
}

/* The best and the median of some processes, each with what is in the directory, or with an empty one. */
static void measure(const char *what, const job *j, bool empty)
{
    char name[64];
    timing runs[RUNS];
    for (int i = 0; i < RUNS; i++) {
        if (empty)
            remove_dir(j->dir);
        runs[i] = run_process(j);
    }
    qsort(runs, RUNS, sizeof *runs, by_first);
    snprintf(name, sizeof name, "%s, best of %d", what, RUNS);
    put(name, &runs[0]);
    snprintf(name, sizeof name, "%s, median", what);
    put(name, &runs[RUNS / 2]);
}

static void compare(job *j)
{
    char dir[] = "/tmp/kiln-startup-XXXXXX";
    if (!mkdtemp(dir))
        exit(3);
    printf("batchnorm of (%lld, %lld, %lld, %lld) on %s; milliseconds to the first result\n",
           (long long)j->shape[0], (long long)j->shape[1], (long long)j->shape[2],
           (long long)j->shape[3], j->device);
    printf("%-28s %10s %10s %12s %12s %9s %9s %9s\n", "", "process", "context", "first result",
           "in compiler", "compiled", "from disk", "compiler");
    j->dir = dir;
    measure("nothing kept", j, true);
    measure("kept on disk", j, false);
    j->dir = "";
    measure("no disk cache", j, false);
    remove_dir(dir);
}

static const char *find_device(void)
{
    kiln_config config;
    kiln_ctx *ctx = NULL;
    kiln_config_init(&config);
    config.device = "cuda";
    config.cache_dir = "";
    kiln_status status = kiln_ctx_create(&config, &ctx);
    kiln_ctx_destroy(ctx);
    return status == KILN_OK ? "cuda" : "emu";
}

int main(int argc, char **argv)
{
    without_compilers_cache();
    job j = {.shape = {8, 64, 28, 28}};
    bool child = argc == 9 && strcmp(argv[1], "--child") == 0;
    int first = child ? 2 : 1;
    if (argc > first)
        j.device = argv[first];
    char **sizes = child ? argv + 4 : argv + 2;
    if (child || argc == 6)
        for (int i = 0; i < 4; i++)
            j.shape[i] = atoll(sizes[i]);
    if (child) {
        j.dir = argv[3];
        j.start = atof(argv[8]);
        timing t = live(&j);
        printf("%f %f %f %f %u %u %u\n", t.process, t.context, t.first, t.compile, t.compiles,
               t.disk_hits, t.calls);
        return 0;
    }
    if (!j.device)
        j.device = find_device();
    if (strcmp(j.device, "emu") == 0 && argc < 6)
        j = (job){.device = "emu", .shape = {2, 4, 7, 7}}; /* what is timed here is the start */
    compare(&j);
    return 0;
}
