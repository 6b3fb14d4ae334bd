/* Host time of kiln_run() on a GPU, after kiln_prepare(), beside a bare cuLaunchKernelEx() of the very same kernel: the
 * same function, grid, attributes and parameter values, noted by a driver table that looks over kiln's shoulder.
 *
 *     launch     a table; needs a GPU
 *
 * Calls are made a batch at a time into an idle stream; a batch is short enough for the driver's queue to take it, so
 * that the host never waits for the device. They take turns, and each one's best batch counts:
 *
 *     bare            cuLaunchKernelEx() in another stream than the default one
 *     kiln_run        in that stream
 *     kiln's own      what that takes more
 *     default stream  kiln_run() there, by a graph of the kernel (runtime/cuda/replay.h)
 *     new arguments   the same, with arguments that the call before did not have
 *     no context      as `default stream`, by a thread that has not made the GPU's context current, as one that
 *                     uses the CUDA runtime has */
#include <string.h>

#include "bench/cases.h"
#include "bench/common.h"
#include "frontend/handles.h"
#include "runtime/cuda/cuda_device.h"

enum { BATCH = 200, ROUNDS = 41 };

static void *const another = (void *)(uintptr_t)KN_CU_STREAM_PER_THREAD;

/* ---- what kiln launched last ---- */

static struct {
    kn_driver driver; /* the real one */
    kn_cu_function function;
    kn_cu_launch launch;
    kn_cu_launch_attribute attributes[4];
    kn_packed_params params;
    int launches;
} seen;

static void note(kn_cu_function function, void **params)
{
    seen.function = function;
    memcpy(&seen.params, params, sizeof seen.params); /* `pointers` comes first in it */
    for (int i = 0; i < KN_MAX_PARAMS; i++)
        seen.params.pointers[i] = &seen.params.cells[i];
    seen.launches++;
}

static void note_shape(const unsigned grid[3], const unsigned block[3], unsigned shared,
                       kn_cu_stream stream, bool cooperative)
{
    memset(seen.attributes, 0, sizeof seen.attributes);
    seen.attributes[0].id = KN_CU_LAUNCH_COOPERATIVE;
    seen.attributes[0].value.cooperative = 1;
    seen.launch = (kn_cu_launch){.grid = {grid[0], grid[1], grid[2]},
                                 .block = {block[0], block[1], block[2]},
                                 .shared = shared,
                                 .stream = stream,
                                 .attributes = seen.attributes,
                                 .nattributes = cooperative};
}

static int note_launch(kn_cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared, kn_cu_stream stream,
                       void **params, void **extra)
{
    note_shape((unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, stream, false);
    note(f, params);
    return seen.driver.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

static int note_cooperative(kn_cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, kn_cu_stream stream,
                            void **params)
{
    note_shape((unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, stream, true);
    note(f, params);
    return seen.driver.cuLaunchCooperativeKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params);
}

static int note_launch_ex(const kn_cu_launch *launch, kn_cu_function f, void **params, void **extra)
{
    seen.launch = *launch;
    memcpy(seen.attributes, launch->attributes, sizeof *launch->attributes * launch->nattributes);
    seen.launch.attributes = seen.attributes;
    note(f, params);
    return seen.driver.cuLaunchKernelEx(launch, f, params, extra);
}

/* ---- one case ---- */

typedef struct bench {
    kiln_ctx *ctx;
    kn_cuda *gpu;
    kiln_prog *prog;
    kiln_arg args[MOST_ARGS];
    int nargs;
} bench;

static void set_up(bench *b, int which)
{
    kiln_graph *g;
    check(kiln_parse(b->ctx, cases[which].text, NULL, &g));
    check(kiln_compile(g, NULL, &b->prog));
    kiln_graph_destroy(g);
    b->nargs = cases[which].nargs;
    for (int i = 0; i < b->nargs; i++) {
        b->args[i] = cases[which].args[i];
        size_t n = 4;
        for (int a = 0; a < b->args[i].rank; a++)
            n *= (size_t)b->args[i].shape[a];
        check(kiln_alloc(b->ctx, n, &b->args[i].data));
    }
    check(kiln_prepare(b->prog, b->args, b->nargs, NULL));
}

static void tear_down(bench *b)
{
    kiln_prog_destroy(b->prog);
    for (int i = 0; i < b->nargs; i++)
        kiln_free(b->ctx, b->args[i].data);
}

/* Runs once through a table that notes what is launched. */
static void look(bench *b)
{
    const kn_driver *driver = b->gpu->driver;
    static kn_driver noting;
    noting = seen.driver = *driver;
    noting.cuLaunchKernel = note_launch;
    noting.cuLaunchCooperativeKernel = note_cooperative;
    noting.cuLaunchKernelEx = note_launch_ex;
    seen.launches = 0;
    b->gpu->driver = &noting;
    check(kiln_run(b->prog, another, b->args, b->nargs));
    b->gpu->driver = driver;
    check(kiln_sync(b->ctx, another));
    if (seen.launches != 1) {
        fprintf(stderr, "launch: a run makes %d launches\n", seen.launches);
        exit(3);
    }
}

static double bare(const bench *b)
{
    uint64_t start = kn_clock_ns();
    for (int i = 0; i < BATCH; i++)
        check((kiln_status)kn_driver_check(
            b->gpu->driver,
            b->gpu->driver->cuLaunchKernelEx(&seen.launch, seen.function, seen.params.pointers,
                                             NULL),
            "cuLaunchKernelEx"));
    double ns = (double)(kn_clock_ns() - start) / BATCH;
    check(kiln_sync(b->ctx, another));
    return ns;
}

/* kiln_run() in turns with these arguments and with others. */
static double by_kiln(const bench *b, void *stream, const kiln_arg *others)
{
    uint64_t start = kn_clock_ns();
    for (int i = 0; i < BATCH; i++)
        check(kiln_run(b->prog, stream, i % 2 ? others : b->args, b->nargs));
    double ns = (double)(kn_clock_ns() - start) / BATCH;
    check(kiln_sync(b->ctx, stream));
    return ns;
}

static void measure(const bench *b, const bench *other, const char *name)
{
    enum { BARE, ANOTHER, DEFAULT, NEW, NO_CONTEXT, WAYS };
    double best[WAYS];
    for (int round = 0; round < ROUNDS; round++)
        for (int way = 0; way < WAYS; way++) {
            if (way != NO_CONTEXT)
                check((kiln_status)kn_cuda_enter(b->gpu));
            double ns = way == BARE ? bare(b)
                                    : by_kiln(b, way == ANOTHER ? another : NULL,
                                              way == NEW ? other->args : b->args);
            if (way != NO_CONTEXT)
                kn_cuda_leave(b->gpu);
            best[way] = round && best[way] < ns ? best[way] : ns;
        }
    printf("  %-10s %6.0f %9.0f %11.0f %15.0f %14.0f %11.0f\n", name, best[BARE], best[ANOTHER],
           best[ANOTHER] - best[BARE], best[DEFAULT], best[NEW], best[NO_CONTEXT]);
}

int main(void)
{
    bench b = {0};
    kiln_config config;
    kiln_config_init(&config);
    config.device = "cuda";
    if (kiln_ctx_create(&config, &b.ctx) != KILN_OK) {
        printf("launch: not measured: %s\n", kiln_last_error());
        return 0;
    }
    b.gpu = kn_cuda_of(b.ctx->core->dev);
    if (!b.gpu->driver->cuLaunchKernelEx) {
        puts("launch: not measured: the driver has no cuLaunchKernelEx()");
        return 0;
    }
    puts("launch: host time of one call, in ns\n"
         "               bare  kiln_run  kiln's own  default stream  new arguments  no context");
    for (int i = 0; i < CASES; i++) {
        bench other = b;
        set_up(&b, i);
        set_up(&other, i);
        look(&b);
        measure(&b, &other, cases[i].name);
        tear_down(&b);
        tear_down(&other);
    }
    kiln_ctx_destroy(b.ctx);
    return 0;
}
