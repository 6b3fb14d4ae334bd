/* A program with data of its own that calls kiln in its inner loop: heat spreading on a plate.
 *
 *     embed [DEVICE [HEIGHT WIDTH [STEPS]]]
 *
 * The plate is a grid with a fixed rim, in two buffers that take turns. kiln knows nothing of the
 * rim: the application passes five views of one buffer (the inside, and the inside shifted by one
 * to each side) and one view of the other, all with the grid's own row stride. Each step is one
 * call, which also gives the largest change of the step, so the loop could stop when nothing moves.
 *
 *     +-----------------+    u points to the upper left corner
 *     | . n n n n n n . |    centre = u + WIDTH + 1
 *     | w c c c c c c e |    north = centre - WIDTH, south = centre + WIDTH
 *     | w c c c c c c e |    west = centre - 1, east = centre + 1
 *     | . s s s s s s . |    each of shape (HEIGHT - 2, WIDTH - 2), strides (WIDTH, 1)
 *     +-----------------+
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kiln.h>

static const double CONDUCT = 0.2; /* of the difference to the neighbours, a step */

/* Prints kiln's message if there is one. */
static int failed(kiln_status status)
{
    if (status != KILN_OK)
        fprintf(stderr, "embed: %s\n", kiln_last_error());
    return status != KILN_OK;
}

static kiln_status build(kiln_ctx *ctx, kiln_prog **prog)
{
    kiln_graph *g;
    kiln_status status = kiln_graph_create(ctx, &g);
    if (status != KILN_OK)
        return status;
    kiln_graph_name(g, "heat");
    kiln_val c = kiln_input(g, "centre", KILN_F64, "H, W");
    kiln_val n = kiln_input(g, "north", KILN_F64, "H, W");
    kiln_val s = kiln_input(g, "south", KILN_F64, "H, W");
    kiln_val w = kiln_input(g, "west", KILN_F64, "H, W");
    kiln_val e = kiln_input(g, "east", KILN_F64, "H, W");
    kiln_val k = kiln_scalar(g, "k", KILN_F64);
    kiln_val around = kiln_add(g, kiln_add(g, n, s), kiln_add(g, w, e));
    kiln_val change = kiln_mul(g, k, kiln_sub(g, around, kiln_mul(g, c, 4)));
    kiln_output(g, "next", kiln_add(g, c, change));
    kiln_output(g, "largest", kiln_max(g, kiln_abs(g, change), KILN_ALL, 0));
    status = kiln_compile(g, NULL, prog); /* reports whatever went wrong above, too */
    kiln_graph_destroy(g);
    return status;
}

/* A warm left rim and a hot spot. */
static void start(double *u, int64_t h, int64_t w)
{
    memset(u, 0, (size_t)(h * w) * sizeof *u);
    for (int64_t i = 0; i < h; i++)
        u[i * w] = 1;
    u[h / 2 * w + w / 2] = 100;
}

/* The same in plain C. u and v both hold the start; returns where the result is. */
static double *plain(double *u, double *v, int64_t h, int64_t w, int steps, double *largest)
{
    for (int step = 0; step < steps; step++) {
        *largest = 0;
        for (int64_t i = 1; i < h - 1; i++)
            for (int64_t j = 1; j < w - 1; j++) {
                const double *p = u + i * w + j;
                double around = (p[-w] + p[w]) + (p[-1] + p[1]);
                double change = CONDUCT * (around - 4 * p[0]);
                v[i * w + j] = p[0] + change;
                *largest = fmax(*largest, fabs(change));
            }
        double *swap = u;
        u = v;
        v = swap;
    }
    return u;
}

/* The application's state on the device. */
typedef struct plate {
    kiln_ctx *ctx;
    kiln_prog *step;
    int64_t h, w;
    int64_t shape[2], strides[2]; /* of the inside */
    void *now, *next;             /* h * w doubles each */
    void *largest;                /* one double */
} plate;

/* A part of a plate of the size of its inside. */
static kiln_arg view(const plate *p, const char *name, double *corner)
{
    return (kiln_arg){name, corner, KILN_F64, 2, p->shape, p->strides};
}

static kiln_status step(plate *p)
{
    double *now = p->now, *next = p->next; /* addresses only: they may be device memory */
    double *centre = now + p->w + 1;
    double k = CONDUCT;
    const kiln_arg args[] = {
        view(p, "centre", centre),        view(p, "north", centre - p->w),
        view(p, "south", centre + p->w),  view(p, "west", centre - 1),
        view(p, "east", centre + 1),      {"k", &k, KILN_F64, 0, NULL, NULL},
        view(p, "next", next + p->w + 1), {"largest", p->largest, KILN_F64, 0, NULL, NULL},
    };
    kiln_status status = kiln_run(p->step, NULL, args, sizeof args / sizeof *args);
    p->now = next;
    p->next = now;
    return status;
}

/* Runs the steps and brings the plate back into u. */
static kiln_status simulate(plate *p, double *u, int steps, double *largest)
{
    size_t bytes = (size_t)(p->h * p->w) * sizeof *u;
    kiln_status status = kiln_alloc(p->ctx, bytes, &p->now);
    if (status == KILN_OK)
        status = kiln_alloc(p->ctx, bytes, &p->next);
    if (status == KILN_OK)
        status = kiln_alloc(p->ctx, sizeof *largest, &p->largest);
    if (status == KILN_OK)
        status = kiln_upload(p->ctx, p->now, u, bytes);
    if (status == KILN_OK)
        status = kiln_upload(p->ctx, p->next, u, bytes); /* for its rim */
    for (int i = 0; i < steps && status == KILN_OK; i++)
        status = step(p);
    if (status == KILN_OK)
        status = kiln_sync(p->ctx, NULL);
    if (status == KILN_OK)
        status = kiln_download(p->ctx, u, p->now, bytes);
    if (status == KILN_OK)
        status = kiln_download(p->ctx, largest, p->largest, sizeof *largest);
    return status;
}

static int check(const double *u, const double *want, int64_t n, double largest,
                 double want_largest)
{
    double worst = fabs(largest - want_largest);
    for (int64_t i = 0; i < n; i++)
        worst = fmax(worst, isnan(u[i]) ? INFINITY : fabs(u[i] - want[i]));
    printf("largest difference from plain C: %.3g\n", worst);
    return worst < 1e-10 ? 0 : 1; /* values are up to 100; the two may contract differently */
}

int main(int argc, char **argv)
{
    int64_t h = argc > 3 ? atoll(argv[2]) : 200, w = argc > 3 ? atoll(argv[3]) : 300;
    int steps = argc > 4 ? atoi(argv[4]) : 100;
    if (h < 3 || w < 3 || h > 1 << 15 || w > 1 << 15 || steps < 1) {
        fprintf(stderr, "usage: embed [DEVICE [HEIGHT WIDTH [STEPS]]]\n");
        return 2;
    }
    size_t n = (size_t)(h * w);
    double *u = malloc(n * sizeof *u), *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    kiln_config config;
    kiln_config_init(&config);
    config.device = argc > 1 ? argv[1] : "auto";
    plate p = {.h = h, .w = w, .shape = {h - 2, w - 2}, .strides = {w, 1}};
    int result = 1;
    double largest = 0, want_largest = 0;
    kiln_stats stats = {.struct_size = sizeof stats};
    if (u && a && b && !failed(kiln_ctx_create(&config, &p.ctx)) &&
        !failed(build(p.ctx, &p.step))) {
        start(u, h, w);
        start(a, h, w);
        start(b, h, w);
        if (!failed(simulate(&p, u, steps, &largest)) && !failed(kiln_ctx_stats(p.ctx, &stats))) {
            printf(
                "%d steps on %s of a plate of %lld x %lld: %llu launches, %llu kernels compiled\n",
                steps, kiln_ctx_device(p.ctx), (long long)h, (long long)w,
                (unsigned long long)stats.launches, (unsigned long long)stats.compiles);
            double *want = plain(a, b, h, w, steps, &want_largest);
            result = check(u, want, h * w, largest, want_largest);
        }
        kiln_free(p.ctx, p.now);
        kiln_free(p.ctx, p.next);
        kiln_free(p.ctx, p.largest);
    }
    kiln_prog_destroy(p.step);
    kiln_ctx_destroy(p.ctx);
    free(u);
    free(a);
    free(b);
    return result;
}
