/* Batch normalisation with the C builder: fused to one kernel against one kernel an operation.
 *
 *     batchnorm [DEVICE [N C H W]]
 *
 * Checks the result, mean and variance of both programs against plain C in double precision, then
 * prints what each costs. Exit status 1 if anything is off.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kiln.h>

static const float EPS = 1e-5F;

enum { X, GAMMA, BETA, Y, MEAN, VARIANCE, NBUF };

/* One run's arguments: host data here, kiln_args for the device. */
typedef struct data {
    int64_t n, c, h, w;
    int64_t shape[NBUF][4];
    float *host[NBUF];
    kiln_arg args[NBUF];
} data;

static const char *const names[NBUF] = {"x", "gamma", "beta", "y", "m", "v"};

static int64_t count(const data *d, int buf)
{
    return buf == X || buf == Y ? d->n * d->c * d->h * d->w : d->c;
}

/* Prints kiln's message if there is one. */
static int failed(kiln_status status)
{
    if (status != KILN_OK)
        fprintf(stderr, "batchnorm: %s\n", kiln_last_error());
    return status != KILN_OK;
}

static kiln_status build(kiln_ctx *ctx, kiln_graph **graph)
{
    kiln_status status = kiln_graph_create(ctx, graph);
    if (status != KILN_OK)
        return status;
    kiln_graph *g = *graph;
    kiln_graph_name(g, "batchnorm");
    kiln_val x = kiln_input(g, "x", KILN_F32, "N, C, H, W");
    kiln_val gamma = kiln_reshape(g, kiln_input(g, "gamma", KILN_F32, "C"), "C, 1, 1");
    kiln_val beta = kiln_reshape(g, kiln_input(g, "beta", KILN_F32, "C"), "C, 1, 1");
    kiln_val m = kiln_mean(g, x, KILN_AXES(0, 2, 3), KILN_KEEPDIMS);
    kiln_val d = kiln_sub(g, x, m);
    kiln_val v = kiln_mean(g, kiln_mul(g, d, d), KILN_AXES(0, 2, 3), KILN_KEEPDIMS);
    kiln_val scale = kiln_rsqrt(g, kiln_add(g, v, EPS));
    kiln_val y = kiln_add(g, kiln_mul(g, kiln_mul(g, d, scale), gamma), beta);
    kiln_output(g, "y", y);
    kiln_output(g, "m", m);
    kiln_output(g, "v", v);
    return kiln_graph_status(g); /* the first error of all the above */
}

static kiln_status compile(kiln_graph *g, bool fusion, kiln_prog **prog)
{
    kiln_options options;
    kiln_options_init(&options);
    options.fusion = fusion;
    return kiln_compile(g, &options, prog);
}

/* ---- data ------------------------------------------------------------------------------------ */

static float random_unit(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (float)(*state >> 40) * 0x1p-24F;
}

/* Makes the host data, and device memory that holds the inputs. False when out of memory. */
static bool prepare(kiln_ctx *ctx, data *d)
{
    uint64_t state = 1;
    for (int b = 0; b < NBUF; b++) {
        size_t bytes = (size_t)count(d, b) * sizeof(float);
        bool kept_axes = b == MEAN || b == VARIANCE; /* of size 1, but for C */
        const int64_t image[4] = {d->n, d->c, d->h, d->w}, kept[4] = {1, d->c, 1, 1};
        kiln_arg *arg = &d->args[b];
        *arg = (kiln_arg){.name = names[b], .dtype = KILN_F32, .rank = 4, .shape = d->shape[b]};
        memcpy(d->shape[b], kept_axes ? kept : image, sizeof image);
        if (b == GAMMA || b == BETA) {
            arg->rank = 1;
            d->shape[b][0] = d->c;
        }
        d->host[b] = malloc(bytes);
        if (!d->host[b] || failed(kiln_alloc(ctx, bytes, &arg->data)))
            return false;
        if (b > BETA)
            continue;
        for (int64_t i = 0; i < count(d, b); i++)
            d->host[b][i] = 4 * random_unit(&state) - 1;
        if (failed(kiln_upload(ctx, arg->data, d->host[b], bytes)))
            return false;
    }
    return true;
}

static void release(kiln_ctx *ctx, data *d)
{
    for (int b = 0; b < NBUF; b++) {
        kiln_free(ctx, d->args[b].data);
        free(d->host[b]);
    }
}

/* ---- checking -------------------------------------------------------------------------------- */

static double off(double got, double want)
{
    double error = fabs(got - want) / (1 + fabs(want));
    return isnan(error) ? INFINITY : error;
}

/* The largest error of one channel's y, m and v. */
static double channel_error(const data *d, int64_t c)
{
    int64_t image = d->h * d->w, members = d->n * image;
    double sum = 0, squares = 0;
#define FOR_MEMBERS(i)                                                                             \
    for (int64_t n_ = 0; n_ < d->n; n_++)                                                          \
        for (int64_t i = (n_ * d->c + c) * image, end_ = i + image; i < end_; i++)
    FOR_MEMBERS(i) sum += d->host[X][i];
    double m = sum / (double)members;
    FOR_MEMBERS(i) squares += (d->host[X][i] - m) * (d->host[X][i] - m);
    double v = squares / (double)members, scale = d->host[GAMMA][c] / sqrt(v + EPS);
    double worst = fmax(off(d->host[MEAN][c], m), off(d->host[VARIANCE][c], v));
    FOR_MEMBERS(i)
    worst = fmax(worst, off(d->host[Y][i], (d->host[X][i] - m) * scale + d->host[BETA][c]));
#undef FOR_MEMBERS
    return worst;
}

/* Runs the program once and compares. */
static bool agrees(kiln_ctx *ctx, kiln_prog *prog, data *d, const char *what)
{
    if (failed(kiln_run(prog, NULL, d->args, NBUF)) || failed(kiln_sync(ctx, NULL)))
        return false;
    for (int b = Y; b < NBUF; b++) {
        size_t bytes = (size_t)count(d, b) * sizeof(float);
        memset(d->host[b], 0, bytes);
        if (failed(kiln_download(ctx, d->host[b], d->args[b].data, bytes)))
            return false;
    }
    double worst = 0;
    for (int64_t c = 0; c < d->c; c++)
        worst = fmax(worst, channel_error(d, c));
    if (worst <= 1e-5)
        return true;
    fprintf(stderr, "batchnorm: %s is off by %g\n", what, worst);
    return false;
}

/* ---- cost ------------------------------------------------------------------------------------ */

/* The number at a path of keys in explain's JSON, such as "barriers", "after", "grid": each key is
 * looked for behind the one before it. -1 if there is none. */
static long json_number(const char *json, const char *const path[3])
{
    char key[32];
    for (int i = 0; i < 3 && json; i++) {
        snprintf(key, sizeof key, "\"%s\":", path[i]);
        json = strstr(json, key);
        json = json ? json + strlen(key) : NULL;
    }
    return json ? strtol(json, NULL, 10) : -1;
}

static bool report(kiln_ctx *ctx, kiln_prog *prog, data *d, const char *what, double *us)
{
    kiln_explain_options options;
    kiln_explain_options_init(&options);
    options.stage = "json";
    char *json = NULL;
    kiln_measurement m;
    kiln_measurement_init(&m);
    if (failed(kiln_explain(prog, d->args, NBUF, &options, &json)))
        return false;
    long temporaries = json_number(json, (const char *const[]){"temporaries", "after", "count"});
    /* where the whole machine waits: within a kernel, or from one to the next */
    long barriers = json_number(json, (const char *const[]){"barriers", "after", "grid"});
    kiln_text_free(ctx, json);
    if (failed(kiln_measure(prog, d->args, NBUF, &m)))
        return false;
    *us = m.device_us;
    printf("%-8s %8llu %12ld %9ld %9.2f %11.1f %9.2f\n", what, (unsigned long long)m.launches,
           temporaries, barriers, (double)m.bytes / 1e6, m.device_us, m.host_us);
    return true;
}

static int run(kiln_ctx *ctx, data *d)
{
    kiln_graph *g = NULL;
    kiln_prog *fused = NULL, *unfused = NULL;
    double fused_us = 0, unfused_us = 0;
    bool ok = !failed(build(ctx, &g)) && !failed(compile(g, true, &fused)) &&
              !failed(compile(g, false, &unfused)) && prepare(ctx, d) &&
              agrees(ctx, unfused, d, "unfused") && agrees(ctx, fused, d, "fused");
    if (ok) {
        printf("batchnorm of (%lld, %lld, %lld, %lld) on %s\n", (long long)d->n, (long long)d->c,
               (long long)d->h, (long long)d->w, kiln_ctx_device(ctx));
        printf("%-8s %8s %12s %9s %9s %11s %9s\n", "", "kernels", "temporaries", "barriers",
               "MB moved", "device us", "host us");
        ok = report(ctx, unfused, d, "unfused", &unfused_us) &&
             report(ctx, fused, d, "fused", &fused_us);
    }
    if (ok)
        printf("all three outputs agree with plain C; fused is %.2f times as fast\n",
               unfused_us / fused_us);
    release(ctx, d);
    kiln_prog_destroy(fused);
    kiln_prog_destroy(unfused);
    kiln_graph_destroy(g);
    return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    data d = {.n = 8, .c = 64, .h = 56, .w = 56};
    kiln_config config;
    kiln_config_init(&config);
    config.cpu_compile = "wait"; /* what is timed is compiled */
    if (argc > 1)
        config.device = argv[1];
    int64_t *const sizes[] = {&d.n, &d.c, &d.h, &d.w};
    for (int i = 0; i < 4 && argc == 6; i++)
        *sizes[i] = atoll(argv[2 + i]);
    bool bad = argc != 1 && argc != 2 && argc != 6;
    for (int i = 0; i < 4; i++)
        bad |= *sizes[i] < 1 || *sizes[i] > 1 << 14;
    if (bad || count(&d, X) > INT64_C(1) << 31) {
        fprintf(stderr, "usage: batchnorm [DEVICE [N C H W]]\n");
        return 2;
    }
    kiln_ctx *ctx = NULL;
    int result = failed(kiln_ctx_create(&config, &ctx)) ? 1 : run(ctx, &d);
    kiln_ctx_destroy(ctx);
    return result;
}
