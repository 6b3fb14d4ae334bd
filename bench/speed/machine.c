#include "bench/speed/speed.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/handles.h"
#include "runtime/context.h"

/* One flush leaves part of what was in the L2 cache there (docs/lab/timing.md). Eight also bring a GPU that was idle up
 * to its speed, and keep it busy until the host has handed over what is timed. As many as in peers.py. */
enum { MAX_REPEATS = 101, FLUSHES = 8 };

static size_t flush_bytes(const machine *m) { return (size_t)(m->gpu ? 256 : 64) << 20; }

/* The unrolled copy, and one in which a block stays for several rounds; whichever is faster is the floor. */
static const char copy_source[] =
    "extern \"C\" __global__ void __launch_bounds__(512) copy_once(const int4 *x, int4 *y, long long n)\n"
    "{\n"
    "    long long i = (long long)blockIdx.x * 2048 + threadIdx.x;\n"
    "    int4 v[4];\n"
    "    for (int k = 0; k < 4; k++) if (i + k * 512 < n) v[k] = x[i + k * 512];\n"
    "    for (int k = 0; k < 4; k++) if (i + k * 512 < n) y[i + k * 512] = v[k];\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(512) copy_loop(const int4 *x, int4 *y, long long n)\n"
    "{\n"
    "    long long step = (long long)gridDim.x * 512;\n"
    "    for (long long i = (long long)blockIdx.x * 512 + threadIdx.x; i < n; i += 2 * step) {\n"
    "        bool two = i + step < n;\n"
    "        int4 a = x[i], b = two ? x[i + step] : a;\n"
    "        y[i] = a;\n"
    "        if (two) y[i + step] = b;\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(512) fill(int4 *y, long long n)\n"
    "{\n"
    "    long long i = (long long)blockIdx.x * 512 + threadIdx.x;\n"
    "    if (i < n) y[i] = make_int4(1, 2, 3, 4);\n"
    "}\n"
    "extern \"C\" __global__ void empty(long long n) {}\n";

static kiln_status open_gpu(machine *m)
{
    kiln_status status = kiln_kernel_create(m->ctx, copy_source, "copy_once", &m->copy[0]);
    if (status == KILN_OK)
        status = kiln_kernel_create(m->ctx, copy_source, "copy_loop", &m->copy[1]);
    if (status == KILN_OK)
        status = kiln_kernel_create(m->ctx, copy_source, "fill", &m->fill);
    if (status == KILN_OK)
        status = kiln_kernel_create(m->ctx, copy_source, "empty", &m->empty);
    return status;
}

kiln_status machine_open(machine *m, const char *device)
{
    *m = (machine){0};
    kiln_config config;
    kiln_config_init(&config);
    config.device = device;
    config.cpu_compile = "wait"; /* what is measured is what is reached */
    kiln_status status = kiln_ctx_create(&config, &m->ctx);
    if (status != KILN_OK)
        return status;
    m->gpu = strncmp(kiln_ctx_device(m->ctx), "cuda", 4) == 0;
    status = m->gpu ? open_gpu(m) : KILN_OK;
    if (status == KILN_OK)
        status = kiln_alloc(m->ctx, flush_bytes(m), &m->flush);
    return status;
}

void machine_close(machine *m)
{
    kiln_free(m->ctx, m->flush);
    for (int i = 0; i < 2; i++)
        kiln_kernel_destroy(m->copy[i]);
    kiln_kernel_destroy(m->fill);
    kiln_kernel_destroy(m->empty);
    kiln_ctx_destroy(m->ctx);
}

const char *machine_arch(const machine *m)
{
    return strcmp(kiln_ctx_device(m->ctx), "cpu") == 0 ? "cpu" : NULL;
}

const kn_target *machine_target(const machine *m)
{
    const kn_device *dev = m->ctx->core->dev;
    return dev->ops->target(dev);
}

static kiln_status launch(machine *m, kiln_kernel *kernel, unsigned blocks, void *const *params,
                          int n)
{
    (void)m;
    kiln_launch shape;
    kiln_launch_init(&shape);
    shape.grid[0] = blocks ? blocks : 1;
    shape.block[0] = 512;
    return kiln_kernel_run(kernel, NULL, &shape, params, n);
}

kiln_status machine_flush(machine *m)
{
    if (!m->gpu) {
        memset(m->flush, 1, flush_bytes(m));
        return KILN_OK;
    }
    long long n = (long long)(flush_bytes(m) / 16);
    kiln_status status = KILN_OK;
    for (int i = 0; i < FLUSHES && status == KILN_OK; i++)
        status = launch(m, m->fill, (unsigned)(n / 512), (void *[]){&m->flush, &n}, 2);
    return status;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return x[n / 2];
}

kiln_status machine_time_once(machine *m, kiln_status (*fn)(void *user), void *user, double *us)
{
    kiln_status status = machine_flush(m);
    return status == KILN_OK ? kiln_time(m->ctx, NULL, fn, user, us) : status;
}

kiln_status machine_time(machine *m, int repeats, kiln_status (*fn)(void *user), void *user,
                         double *us)
{
    double times[MAX_REPEATS];
    int n = repeats < MAX_REPEATS ? repeats : MAX_REPEATS;
    for (int i = 0; i < n; i++) {
        kiln_status status = machine_time_once(m, fn, user, &times[i]);
        if (status != KILN_OK)
            return status;
    }
    *us = median(times, n);
    return KILN_OK;
}

/* ---- the floor ---- */

static kiln_status launch_empty(void *user)
{
    machine *m = user;
    long long n = 0;
    return launch(m, m->empty, 1, (void *[]){&n}, 1);
}

/* One number is added to another. */
static kiln_status time_one_number(machine *m, int repeats, double *us)
{
    job j = {.w = &(workload){.program = "one",
                              .dtype = "f32",
                              .shapes = "x=1",
                              .text = "(x: f32[N]):\n    y = x + 1\n    return y\n"}};
    kiln_status status = workload_compile(m->ctx, j.w, "f32", NULL, &j.prog);
    if (status == KILN_OK)
        status = job_shapes(&j) && job_memory(m, &j) && job_data(m, &j)
                     ? machine_time(m, repeats, job_run, &j, us)
                     : KILN_ERR_RUN;
    job_release(m, &j);
    kiln_prog_destroy(j.prog);
    return status;
}

kiln_status machine_empty_time(machine *m, int repeats, double *us)
{
    return m->gpu ? machine_time(m, repeats, launch_empty, m, us) : time_one_number(m, repeats, us);
}

typedef struct copying {
    machine *m;
    int kind;
    char *from, *to;
    int64_t bytes; /* of one side */
} copying;

static void copy_part(void *user, int64_t first, int64_t last)
{
    const copying *c = user;
    memcpy(c->to + first, c->from + first, (size_t)(last - first));
}

static kiln_status copy_once(void *user)
{
    copying *c = user;
    if (!c->m->gpu) {
        in_parts(c->bytes, copy_part, c);
        return KILN_OK;
    }
    long long n = c->bytes / 16;
    unsigned blocks = c->kind ? 132 * 8 : (unsigned)((n + 2047) / 2048);
    return launch(c->m, c->m->copy[c->kind], blocks, (void *[]){&c->from, &c->to, &n}, 3);
}

kiln_status machine_copy_time(machine *m, int repeats, int64_t bytes, double *us)
{
    copying c = {.m = m, .bytes = (bytes / 2 + 15) / 16 * 16};
    void *from = NULL, *to = NULL;
    kiln_status status = kiln_alloc(m->ctx, (size_t)c.bytes, &from);
    if (status == KILN_OK)
        status = kiln_alloc(m->ctx, (size_t)c.bytes, &to);
    c.from = from;
    c.to = to;
    if (status == KILN_OK && !m->gpu)
        memset(from, 1, (size_t)c.bytes), memset(to, 1, (size_t)c.bytes);
    for (c.kind = 0; c.kind < (m->gpu ? 2 : 1) && status == KILN_OK; c.kind++) {
        double time;
        status = machine_time(m, repeats, copy_once, &c, &time);
        if (status == KILN_OK && (c.kind == 0 || time < *us))
            *us = time;
    }
    kiln_free(m->ctx, from);
    kiln_free(m->ctx, to);
    return status;
}
