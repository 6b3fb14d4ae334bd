/* The reduction ladder: the sum of an array of ints, written nine times by hand, each time a little
 * better, and once by kiln.
 *
 *     reduction_ladder [DEVICE [COUNT [CHART.svg]]]
 *
 * DEVICE is cuda, cuda:N or emu; without it, or as "auto", a GPU if there is one and else the emulator.
 * COUNT ints are added: 32 Mi on a GPU, 64 Ki on the emulator. The kernels are in ladder.cu, beside this
 * file, and are launched through kiln_kernel_create() and kiln_kernel_run().
 *
 * Every result is checked. The table says for each rung its time, the speed-up over the rung before and
 * over the first, and the rate at which it reads the array. The rungs leave a partial sum a block, which
 * the host adds outside of the measured time; kiln's row is the whole sum. One rung, the unrolled last
 * warp as it was once written, is a race: a GPU may give the right sum all the same, the emulator says
 * what is wrong. With CHART.svg the table is drawn, too.
 *
 * Exit status: 0; 1 if a sum is wrong; 77 if there is neither a GPU nor an emulator.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/reduction_ladder/chart.h"
#include <kiln.h>

extern const char ladder_source[]; /* ladder.cu */

enum { SKIPPED = 77 };
enum { THREADS = 256, FIXED_BLOCKS = 1024 };
#define INSTANCE(name) name "<256>"

typedef struct rung {
    const char *name, *what;
    const char *entry;
    int a_thread; /* elements that a thread loads; 0: as many as a grid of FIXED_BLOCKS leaves it */
    bool tiles;   /* needs the header of cooperative groups */
    bool race;
} rung;

static const rung rungs[] = {
    {"reduce1", "interleaved addressing", "reduce1", 1, false, false},
    {"reduce2", "no divergence", "reduce2", 1, false, false},
    {"reduce3", "sequential addressing", "reduce3", 1, false, false},
    {"reduce4", "first add during load", "reduce4", 2, false, false},
    {"reduce5v", "last warp, volatile", "reduce5_volatile", 2, false, true},
    {"reduce5", "last warp, __syncwarp", "reduce5", 2, false, false},
    {"reduce6", "fully unrolled", INSTANCE("reduce6"), 2, false, false},
    {"reduce7", "many a thread, fixed grid", INSTANCE("reduce7"), 0, false, false},
    {"reduce8", "tile synchronisation", INSTANCE("reduce8"), 0, true, false},
    {"reduce9", "shuffles", INSTANCE("reduce9"), 0, false, false},
};
enum { NRUNGS = sizeof rungs / sizeof *rungs, NROWS = NRUNGS + 1 };

typedef struct ladder {
    kiln_ctx *ctx;
    bool emulated;
    uint32_t count;
    int64_t sum;     /* what every rung must find */
    void *in, *out;  /* on the device */
    int32_t *blocks; /* partial sums, here */
    char *tiles;     /* the source with tiles */
    bar rows[NROWS];
    int nrows;
    char notes[NROWS][512];
} ladder;

static bool failed(kiln_status status)
{
    if (status != KILN_OK)
        fprintf(stderr, "reduction_ladder: %s\n", kiln_last_error());
    return status != KILN_OK;
}

/* ---- data -------------------------------------------------------------------------------------- */

static bool prepare(ladder *l)
{
    static const char define[] = "#define LADDER_TILES 1\n#line 1 \"ladder.cu\"\n";
    size_t bytes = l->count * sizeof(int32_t);
    size_t blocks = (l->count + THREADS - 1) / THREADS * sizeof(int32_t);
    int32_t *host = malloc(bytes);
    l->blocks = malloc(blocks);
    l->tiles = malloc(sizeof define + strlen(ladder_source));
    if (!host || !l->blocks || !l->tiles) {
        fprintf(stderr, "reduction_ladder: out of memory\n");
        free(host);
        return false;
    }
    strcpy(stpcpy(l->tiles, define), ladder_source);
    l->sum = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        host[i] = (int32_t)(i % 7) - 2; /* the sums of any blocks fit an int */
        l->sum += host[i];
    }
    bool ok = !failed(kiln_alloc(l->ctx, bytes, &l->in)) &&
              !failed(kiln_upload(l->ctx, l->in, host, bytes)) &&
              !failed(kiln_alloc(l->ctx, blocks, &l->out));
    free(host);
    return ok;
}

/* ---- time -------------------------------------------------------------------------------------- */

/* Something that is run several times in a row, so that one launch hides behind another. */
typedef struct repeated {
    kiln_status (*once)(void *user);
    void *user;
    int times;
} repeated;

static kiln_status repeat(void *user)
{
    const repeated *r = user;
    kiln_status status = KILN_OK;
    for (int i = 0; i < r->times && status == KILN_OK; i++)
        status = r->once(r->user);
    return status;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Milliseconds of one run, the median of several batches; once(user) has been run before. */
static kiln_status measure(const ladder *l, kiln_status (*once)(void *user), void *user, double *ms)
{
    enum { BATCHES = 7 };
    repeated r = {once, user, l->emulated ? 1 : 20};
    double us[BATCHES];
    int n = l->emulated ? 1 : BATCHES;
    for (int i = 0; i < n; i++) {
        kiln_status status = kiln_time(l->ctx, NULL, repeat, &r, &us[i]);
        if (status != KILN_OK)
            return status;
    }
    qsort(us, (size_t)n, sizeof *us, by_value);
    *ms = us[n / 2] / r.times / 1e3;
    return KILN_OK;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void put_row(ladder *l, const char *name, const char *what, double ms, const char *note)
{
    bar *b = &l->rows[l->nrows++];
    *b = (bar){name, what, ms, note};
    printf("%-9s %-26s ", name, what);
    if (note) {
        printf("%s\n", note);
        return;
    }
    double first = 0, before = ms;
    for (int i = 0; i < l->nrows; i++) {
        if (l->rows[i].ms > 0 && first == 0)
            first = l->rows[i].ms;
        if (l->rows[i].ms > 0 && i < l->nrows - 1)
            before = l->rows[i].ms;
    }
    printf("%10.4f %9.3f %9.3f %9.1f\n", ms, before / ms, first / ms,
           (double)l->count * sizeof(int32_t) / ms / 1e6);
}

typedef struct launching {
    kiln_kernel *kernel;
    kiln_launch launch;
    void *params[3];
} launching;

static kiln_status launch_once(void *user)
{
    launching *w = user;
    return kiln_kernel_run(w->kernel, NULL, &w->launch, w->params, 3);
}

/* Adds what the blocks left. */
static kiln_status total(ladder *l, unsigned blocks, int64_t *sum)
{
    kiln_status status = kiln_download(l->ctx, l->blocks, l->out, blocks * sizeof *l->blocks);
    *sum = 0;
    for (unsigned i = 0; i < blocks && status == KILN_OK; i++)
        *sum += l->blocks[i];
    return status;
}

/* The emulator's word on the rung with the race: its first lines go below the table. */
static bool race_row(ladder *l, const rung *r, kiln_status status)
{
    if (status == KILN_OK) {
        fprintf(stderr, "reduction_ladder: the emulator let %s pass, which is a race\n", r->name);
        return false;
    }
    if (status != KILN_ERR_RUN || !strstr(kiln_last_error(), " race "))
        return !failed(status);
    put_row(l, r->name, r->what, 0, "a race: see below");
    snprintf(l->notes[l->nrows - 1], sizeof *l->notes, "%.*s",
             (int)strcspn(kiln_last_error(), "\n"), kiln_last_error());
    return true;
}

static bool run_kernel(ladder *l, const rung *r, kiln_kernel *kernel)
{
    uint32_t a_thread = r->a_thread ? (uint32_t)r->a_thread : 2;
    uint32_t blocks = (l->count + THREADS * a_thread - 1) / (THREADS * a_thread);
    if (!r->a_thread && blocks > FIXED_BLOCKS)
        blocks = FIXED_BLOCKS;
    launching w = {.kernel = kernel, .params = {&l->in, &l->out, &l->count}};
    kiln_launch_init(&w.launch);
    w.launch.grid[0] = blocks;
    w.launch.block[0] = THREADS;
    w.launch.shared = THREADS * sizeof(int32_t);

    kiln_status status = launch_once(&w);
    if (status == KILN_OK)
        status = kiln_sync(l->ctx, NULL);
    if (r->race && l->emulated)
        return race_row(l, r, status);
    int64_t sum = 0;
    double ms = 0;
    if (failed(status) || failed(total(l, blocks, &sum)))
        return false;
    if (sum != l->sum && r->race) {
        put_row(l, r->name, r->what, 0, "a race: the sum is wrong");
        return true;
    }
    if (sum != l->sum) {
        fprintf(stderr, "reduction_ladder: %s finds %" PRId64 ", not %" PRId64 "\n", r->name, sum,
                l->sum);
        return false;
    }
    if (failed(measure(l, launch_once, &w, &ms)))
        return false;
    put_row(l, r->name, r->what, ms, NULL);
    return true;
}

static int run_rung(ladder *l, const rung *r)
{
    kiln_kernel *kernel;
    kiln_status status =
        kiln_kernel_create(l->ctx, r->tiles ? l->tiles : ladder_source, r->entry, &kernel);
    if (status == KILN_ERR_DEVICE) {
        printf("skipped: %s\n", kiln_last_error());
        return SKIPPED;
    }
    if (status == KILN_ERR_COMPILE && r->tiles && !l->emulated &&
        strstr(kiln_last_error(), "cannot open source file")) {
        put_row(l, r->name, r->what, 0, "needs the CUDA toolkit's headers");
        return 0;
    }
    if (failed(status))
        return 1;
    bool ok = run_kernel(l, r, kernel);
    kiln_kernel_destroy(kernel);
    return ok ? 0 : 1;
}

/* ---- kiln's own -------------------------------------------------------------------------------- */

typedef struct running {
    kiln_prog *prog;
    kiln_arg args[2];
} running;

static kiln_status run_once(void *user)
{
    running *w = user;
    return kiln_run(w->prog, NULL, w->args, 2);
}

static bool run_program(ladder *l, kiln_prog *prog)
{
    int64_t shape = l->count, sum = 0;
    double ms;
    running w = {prog,
                 {{.name = "x", .data = l->in, .dtype = KILN_I32, .rank = 1, .shape = &shape},
                  {.name = "s", .dtype = KILN_I64}}};
    bool ok = !failed(kiln_alloc(l->ctx, sizeof sum, &w.args[1].data)) && !failed(run_once(&w)) &&
              !failed(kiln_sync(l->ctx, NULL)) &&
              !failed(kiln_download(l->ctx, &sum, w.args[1].data, sizeof sum));
    if (ok && sum != l->sum) {
        fprintf(stderr, "reduction_ladder: kiln finds %" PRId64 ", not %" PRId64 "\n", sum, l->sum);
        ok = false;
    }
    ok = ok && !failed(measure(l, run_once, &w, &ms));
    if (ok)
        put_row(l, "kiln", "generated, the whole sum", ms, NULL);
    kiln_free(l->ctx, w.args[1].data);
    return ok;
}

static bool run_kiln(ladder *l)
{
    kiln_graph *g = NULL;
    kiln_prog *prog = NULL;
    if (failed(kiln_graph_create(l->ctx, &g)))
        return false;
    kiln_graph_name(g, "sum");
    kiln_output(g, "s", kiln_sum(g, kiln_input(g, "x", KILN_I32, "N"), KILN_ALL, 0));
    bool ok = !failed(kiln_compile(g, NULL, &prog)) && run_program(l, prog);
    kiln_prog_destroy(prog);
    kiln_graph_destroy(g);
    return ok;
}

/* ---- the program ------------------------------------------------------------------------------- */

static int climb(ladder *l)
{
    if (!prepare(l))
        return 1;
    char title[128];
    snprintf(title, sizeof title, "Sum of %" PRIu32 " ints (%.1f MB) on %s, %d threads a block",
             l->count, l->count * 4e-6, kiln_ctx_device(l->ctx), THREADS);
    printf("%s\n%-36s %10s %9s %9s %9s\n", title, "", "ms", "step", "total", "GB/s");
    for (int i = 0; i < NRUNGS; i++) {
        int status = run_rung(l, &rungs[i]);
        if (status)
            return status;
    }
    return run_kiln(l) ? 0 : 1;
}

static int report(ladder *l, const char *chart)
{
    for (int i = 0; i < l->nrows; i++)
        if (l->notes[i][0])
            printf("%s: %s\n", l->rows[i].name, l->notes[i]);
    if (l->emulated)
        printf(
            "These are the emulator's times, with every check on; they say nothing about a GPU.\n");
    char title[128];
    snprintf(title, sizeof title, "Sum of %" PRIu32 " ints on %s", l->count,
             kiln_ctx_device(l->ctx));
    if (chart && !chart_write(chart, title, l->rows, l->nrows)) {
        fprintf(stderr, "reduction_ladder: %s: %s\n", chart, strerror(errno));
        return 1;
    }
    return 0;
}

/* "auto": a GPU if there is one, else the emulator. */
static kiln_status open_device(const char *name, kiln_ctx **ctx)
{
    kiln_config config;
    kiln_config_init(&config);
    bool any = strcmp(name, "auto") == 0;
    config.device = any ? "cuda" : name;
    kiln_status status = kiln_ctx_create(&config, ctx);
    if (status == KILN_OK || !any)
        return status;
    config.device = "emu";
    return kiln_ctx_create(&config, ctx);
}

int main(int argc, char **argv)
{
    long long count = argc > 2 ? atoll(argv[2]) : 0;
    if (argc > 4 || (argc > 2 && (count < 1 || count > 1LL << 30))) {
        fprintf(stderr, "usage: reduction_ladder [DEVICE [COUNT [CHART.svg]]]\n");
        return 2;
    }
    ladder l = {0};
    kiln_status status = open_device(argc > 1 ? argv[1] : "auto", &l.ctx);
    if (status == KILN_ERR_DEVICE) {
        printf("skipped: %s\n", kiln_last_error());
        return SKIPPED;
    }
    if (failed(status))
        return 1;
    l.emulated = strncmp(kiln_ctx_device(l.ctx), "cuda", 4) != 0;
    l.count = count ? (uint32_t)count : l.emulated ? 1u << 16 : 1u << 25;
    int result = climb(&l);
    if (!result)
        result = report(&l, argc > 3 ? argv[3] : NULL);
    kiln_free(l.ctx, l.in);
    kiln_free(l.ctx, l.out);
    free(l.blocks);
    free(l.tiles);
    kiln_ctx_destroy(l.ctx);
    return result;
}
