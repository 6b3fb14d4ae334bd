/* What kiln's kernels take, beside a copy of the same bytes on the same machine in the same run.
 *
 *     speed [--device auto|cpu|cuda[:N]] [--only TEXT] [--repeats N] [--json FILE] [--no-check] [--schedule S]
 *           [--autotune MS]
 *     speed --list      one JSON object with all workloads, and measures nothing; those of a GPU are explained for an
 *                       sm_90, the others for this host
 *
 * For each workload of workloads.def: random inputs; outputs filled with NaN; the result compared with the same
 * program computed in f64 on the host (by the CPU device for a GPU, by the reference interpreter for the CPU); then
 * the median device time of the runs, with the caches flushed before each. `floor` is the time of a copy that moves
 * as many bytes as must move once, which is every input read and every output written. `predicted` is what the model
 * says that it takes (docs/model.md); the JSON has with each workload what `kiln explain --json` says of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/common.h"
#include "bench/speed/speed.h"

enum { MAX_ARRAYS = 12, MAX_TEXT = 2048, CALLS = 200, BATCHES = 15 };

typedef struct options {
    const char *device, *only, *json;
    kiln_options how; /* programs are compiled */
    int repeats;
    bool check, list;
} options;

/* A workload on the measured machine, and what came of it. */
typedef struct job {
    const workload *w;
    kiln_prog *prog;
    array arrays[MAX_ARRAYS];
    kiln_arg args[MAX_ARRAYS];
    int n;
    int64_t bytes; /* that must move once */
    double us, floor_us, predicted_us, host_us, compile_ms, error;
    uint64_t launches;
    char *explained; /* JSON */
} job;

static bool failed(const char *what, kiln_status status)
{
    if (status != KILN_OK)
        fprintf(stderr, "speed: %s: %s\n", what, kiln_last_error());
    return status != KILN_OK;
}

/* ---- a program and its arguments ---- */

static kiln_status compile(kiln_ctx *ctx, const workload *w, const char *dtype,
                           const kiln_options *how, kiln_prog **prog)
{
    char text[MAX_TEXT];
    workload_text(w, dtype, text, sizeof text);
    kiln_graph *g = NULL;
    *prog = NULL;
    kiln_status status = kiln_parse(ctx, text, w->program, &g);
    if (status == KILN_OK)
        status = kiln_compile(g, how, prog);
    kiln_graph_destroy(g);
    return status;
}

static size_t array_bytes(const array *a)
{
    return (size_t)a->count * kiln_dtype_size(a->io.dtype);
}

static void bind(job *j)
{
    for (int i = 0; i < j->n; i++) {
        array *a = &j->arrays[i];
        j->args[i] = (kiln_arg){a->io.name, a->device, a->io.dtype, a->rank, a->shape, a->stride};
    }
}

static bool find_shapes(job *j)
{
    int nin = 0;
    for (int i = 0; i < kiln_prog_io_count(j->prog) && j->n < MAX_ARRAYS; i++) {
        array *a = &j->arrays[j->n];
        if (failed(j->w->program, kiln_prog_io(j->prog, i, &a->io)))
            return false;
        if (a->io.kind == KILN_SCALAR_IN)
            continue;
        if (a->io.kind == KILN_ARRAY_IN) {
            if (!workload_shape(j->w, a)) {
                fprintf(stderr, "speed: %s: no shape for %s\n", j->w->program, a->io.name);
                return false;
            }
            nin = ++j->n;
            continue;
        }
        bind(j);
        if (failed(j->w->program, kiln_output_shape(j->prog, a->io.name, j->args, nin, &a->io.dtype,
                                                    &a->rank, a->shape)))
            return false;
        a->count = 1;
        for (int k = a->rank - 1; k >= 0; k--)
            a->stride[k] = a->count, a->count *= a->shape[k];
        j->n++;
    }
    return true;
}

/* Memory for all arrays: inputs random, outputs every byte 0xff, which is NaN. */
static bool make_data(machine *m, job *j)
{
    for (int i = 0; i < j->n; i++) {
        array *a = &j->arrays[i];
        size_t bytes = array_bytes(a);
        a->host = malloc(bytes);
        if (!a->host || failed(j->w->program, kiln_alloc(m->ctx, bytes, &a->device)))
            return false;
        if (a->io.kind == KILN_ARRAY_OUT)
            memset(a->host, 0xff, bytes);
        else
            random_fill(a, (uint64_t)i + 1);
        if (failed(j->w->program, kiln_upload(m->ctx, a->device, a->host, bytes)))
            return false;
        j->bytes += (int64_t)bytes;
    }
    bind(j);
    return true;
}

static bool explain(job *j, const char *arch)
{
    static const char field[] = "\"predicted_us\": ";
    kiln_explain_options what;
    kiln_explain_options_init(&what);
    what.stage = "json";
    what.arch = arch;
    bind(j);
    if (failed(j->w->program, kiln_explain(j->prog, j->args, j->n, &what, &j->explained)))
        return false;
    const char *at = strstr(j->explained, field);
    j->predicted_us = at ? strtod(at + strlen(field), NULL) : 0;
    return true;
}

static kiln_status run_once(void *user)
{
    job *j = user;
    return kiln_run(j->prog, NULL, j->args, j->n);
}

/* ---- is it right? ---- */

/* Runs the workload in f64 (integers in their own type) on `device` of the host; results are in out[], malloc'd. */
static bool run_reference(const job *j, kiln_ctx *ctx, array *ref)
{
    kiln_prog *prog = NULL;
    bool whole = j->w->dtype[0] != 'f' && j->w->dtype[0] != 'b';
    bool ok = !failed("reference", compile(ctx, j->w, whole ? j->w->dtype : "f64", NULL, &prog));
    kiln_arg args[MAX_ARRAYS];
    for (int i = 0, k = 0; ok && i < kiln_prog_io_count(prog); i++) {
        kiln_io io;
        kiln_prog_io(prog, i, &io);
        if (io.kind == KILN_SCALAR_IN)
            continue;
        array *a = &ref[k];
        *a = j->arrays[k];
        a->io = io;
        a->host = NULL;
        if (io.kind == KILN_ARRAY_OUT)
            a->host = malloc(array_bytes(a));
        else if (io.dtype != j->arrays[k].io.dtype)
            a->host = widened(&j->arrays[k]);
        void *data = a->host ? a->host : j->arrays[k].host;
        ok = data != NULL;
        args[k] = (kiln_arg){j->arrays[k].io.name, data, io.dtype, a->rank, a->shape, a->stride};
        k++;
    }
    ok = ok && !failed("reference", kiln_run(prog, NULL, args, j->n));
    for (int k = 0; k < j->n; k++) /* names belong to the program */
        ref[k].io.name = NULL;
    kiln_prog_destroy(prog);
    return ok;
}

static bool is_right(machine *m, job *j)
{
    array ref[MAX_ARRAYS] = {0};
    kiln_ctx *ctx = NULL;
    kiln_config config;
    kiln_config_init(&config);
    config.device = m->gpu ? "cpu" : "ref";
    bool ok = !failed(j->w->program, run_once(j)) &&
              !failed("reference", kiln_ctx_create(&config, &ctx)) && run_reference(j, ctx, ref);
    for (int i = 0; i < j->n && ok; i++) {
        array *a = &j->arrays[i];
        if (a->io.kind != KILN_ARRAY_OUT)
            continue;
        ok = !failed(j->w->program, kiln_download(m->ctx, a->host, a->device, array_bytes(a)));
        double off =
            ok ? deviation(a->io.dtype, a->host, ref[i].io.dtype, ref[i].host, a->count) : INFINITY;
        j->error = fmax(j->error, off);
        if (ok && !(off <= tolerance(a->io.dtype))) {
            fprintf(stderr, "speed: %s: %s is off by %g, %g is allowed\n", j->w->program,
                    a->io.name, off, tolerance(a->io.dtype));
            ok = false;
        }
    }
    for (int i = 0; i < j->n; i++)
        free(ref[i].host);
    kiln_ctx_destroy(ctx);
    return ok;
}

/* ---- how fast is it? ---- */

/* Median host time of a call, the device keeping up. */
static kiln_status time_host(machine *m, job *j)
{
    double us[BATCHES];
    int calls = j->us * CALLS < 2e4 ? CALLS : 3;
    for (int b = 0; b < BATCHES; b++) {
        uint64_t start = kn_clock_ns();
        for (int i = 0; i < calls; i++) {
            kiln_status status = run_once(j);
            if (status != KILN_OK)
                return status;
        }
        us[b] = (double)(kn_clock_ns() - start) / 1e3 / calls;
        kiln_status status = kiln_sync(m->ctx, NULL);
        if (status != KILN_OK)
            return status;
    }
    j->host_us = median(us, BATCHES);
    return KILN_OK;
}

static double compile_ms(kiln_ctx *ctx)
{
    kiln_stats stats;
    kiln_stats_init(&stats);
    return kiln_ctx_stats(ctx, &stats) == KILN_OK ? stats.compile_ms + stats.saved_ms : 0;
}

static bool measure(machine *m, const options *o, job *j)
{
    char name[128];
    workload_name(j->w, name, sizeof name);
    if (failed(name, compile(m->ctx, j->w, j->w->dtype, &o->how, &j->prog)) || !find_shapes(j) ||
        !make_data(m, j) || !explain(j, m->gpu ? NULL : "cpu"))
        return false;
    kiln_prepared info;
    kiln_prepared_init(&info);
    double compiled = compile_ms(m->ctx);
    if (failed(name, kiln_prepare(j->prog, j->args, j->n, &info)))
        return false;
    j->compile_ms = compile_ms(m->ctx) - compiled;
    j->launches = info.launches;
    if (o->check && !is_right(m, j))
        return false;
    return !failed(name, run_once(j)) && !failed(name, kiln_sync(m->ctx, NULL)) &&
           !failed(name, machine_copy_time(m, o->repeats, j->bytes, &j->floor_us)) &&
           !failed(name, machine_time(m, o->repeats, run_once, j, &j->us)) &&
           !failed(name, time_host(m, j));
}

static void release(machine *m, job *j)
{
    for (int i = 0; i < j->n; i++) {
        kiln_free(m->ctx, j->arrays[i].device);
        free(j->arrays[i].host);
    }
    kiln_text_free(m->ctx, j->explained);
}

/* ---- reporting ---- */

static void put_text(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text; text++)
        if (*text == '\n')
            fputs("\\n", f);
        else
            fputc(*text, f);
    fputc('"', f);
}

static void put_numbers(FILE *f, const char *name, const int64_t *x, int n)
{
    fprintf(f, ", \"%s\": [", name);
    for (int i = 0; i < n; i++)
        fprintf(f, "%s%lld", i ? ", " : "", (long long)x[i]);
    fputc(']', f);
}

static void put_job(FILE *f, const job *j, bool ok)
{
    char name[128], text[MAX_TEXT];
    workload_name(j->w, name, sizeof name);
    workload_text(j->w, j->w->dtype, text, sizeof text);
    fprintf(f, "{\"gpu\": %s, ", j->w->on_gpu ? "true" : "false");
    fprintf(f, "\"name\": \"%s\", \"program\": \"%s\", \"dtype\": \"%s\", \"ok\": %s, \"text\": ",
            name, j->w->program, j->w->dtype, ok ? "true" : "false");
    put_text(f, text);
    fprintf(f, ",\n   \"inputs\": [");
    for (int i = 0; i < j->n && j->arrays[i].io.kind == KILN_ARRAY_IN; i++) {
        const array *a = &j->arrays[i];
        fprintf(f, "%s{\"name\": \"%s\", \"dtype\": \"%s\", \"dims\": \"%s\", \"nonnegative\": %s",
                i ? ", " : "", a->io.name, kiln_dtype_text(a->io.dtype), a->io.dims,
                a->nonnegative ? "true" : "false");
        put_numbers(f, "shape", a->shape, a->rank);
        put_numbers(f, "strides", a->stride, a->rank);
        fputc('}', f);
    }
    fprintf(
        f,
        "],\n   \"bytes\": %lld, \"us\": %.3f, \"floor_us\": %.3f, \"host_us\": %.3f, "
        "\"compile_ms\": %.1f, \"launches\": %llu, \"error\": %.3g, \"predicted_us\": %.3f,\n   \"explained\": %s}",
        (long long)j->bytes, j->us, j->floor_us, j->host_us, j->compile_ms,
        (unsigned long long)j->launches, isfinite(j->error) ? j->error : -1, j->predicted_us,
        j->explained ? j->explained : "null");
}

static void put_row(const job *j, bool ok)
{
    char name[128];
    workload_name(j->w, name, sizeof name);
    if (ok)
        printf("%-40s %8llu %10.1f %10.1f %8.2f %9.1f %9.2f %9.0f %9.1e\n", name,
               (unsigned long long)j->launches, j->us, j->floor_us, j->floor_us / j->us,
               j->predicted_us, j->host_us, j->compile_ms, j->error);
    else
        printf("%-40s FAILED\n", name);
    fflush(stdout);
}

static int measure_all(machine *m, const options *o, FILE *json)
{
    int failures = 0, rows = 0;
    printf("%-40s %8s %10s %10s %8s %9s %9s %9s %9s\n", kiln_ctx_device(m->ctx), "launches", "us",
           "floor us", "of floor", "predicted", "host us", "compile", "error");
    if (json)
        fprintf(
            json,
            "{\"device\": \"%s\", \"repeats\": %d, \"checked\": %s, \"schedule\": \"%s\", \"autotune\": %d, \"workloads\": [",
            kiln_ctx_device(m->ctx), o->repeats, o->check ? "true" : "false",
            o->how.schedule ? o->how.schedule : "", o->how.autotune);
    for (int i = 0; i < workload_count; i++) {
        char name[128];
        workload_name(&workloads[i], name, sizeof name);
        if (workloads[i].on_gpu != m->gpu || (o->only && !strstr(name, o->only)))
            continue;
        job *j = calloc(1, sizeof *j);
        if (!j)
            return 1;
        j->w = &workloads[i];
        bool ok = measure(m, o, j);
        failures += !ok;
        put_row(j, ok);
        if (json) {
            fprintf(json, "%s\n  ", rows++ ? "," : "");
            put_job(json, j, ok);
            fflush(json);
        }
        release(m, j);
        kiln_prog_destroy(j->prog);
        free(j);
    }
    if (json)
        fprintf(json, "]}\n");
    return failures;
}

static int list_all(const options *o)
{
    kiln_ctx *ctx = NULL;
    kiln_config config;
    kiln_config_init(&config);
    config.device = "cpu";
    bool ok = !failed("list", kiln_ctx_create(&config, &ctx));
    printf("{\"workloads\": [");
    for (int i = 0; i < workload_count && ok; i++) {
        job *j = calloc(1, sizeof *j);
        if (!j)
            return 1;
        j->w = &workloads[i];
        ok = !failed("list", compile(ctx, j->w, j->w->dtype, &o->how, &j->prog)) &&
             find_shapes(j) && explain(j, j->w->on_gpu ? "sm_90" : "cpu");
        printf("%s\n  ", i ? "," : "");
        put_job(stdout, j, ok);
        kiln_text_free(ctx, j->explained);
        kiln_prog_destroy(j->prog);
        free(j);
    }
    printf("]}\n");
    kiln_ctx_destroy(ctx);
    return ok ? 0 : 1;
}

static bool read_options(int argc, char **argv, options *o)
{
    *o = (options){.device = "auto", .repeats = 21, .check = true};
    kiln_options_init(&o->how);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--no-check") == 0) {
            o->check = false;
            continue;
        }
        if (strcmp(argv[i], "--list") == 0) {
            o->list = true;
            continue;
        }
        if (!value)
            return false;
        if (strcmp(argv[i], "--device") == 0)
            o->device = value;
        else if (strcmp(argv[i], "--only") == 0)
            o->only = value;
        else if (strcmp(argv[i], "--json") == 0)
            o->json = value;
        else if (strcmp(argv[i], "--schedule") == 0)
            o->how.schedule = value;
        else if (strcmp(argv[i], "--autotune") == 0 && atoi(value) > 0)
            o->how.autotune = atoi(value);
        else if (strcmp(argv[i], "--repeats") == 0 && atoi(value) > 0)
            o->repeats = atoi(value);
        else
            return false;
        i++;
    }
    return true;
}

int main(int argc, char **argv)
{
    options o;
    machine m;
    without_compilers_cache();
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr,
                "usage: speed [--device D] [--only TEXT] [--repeats N] [--json FILE] [--no-check] "
                "[--schedule S] [--autotune MS] | --list\n");
        return 2;
    }
    if (o.list)
        return list_all(&o);
    FILE *json = o.json ? fopen(o.json, "w") : NULL;
    if (o.json && !json) {
        perror(o.json);
        return 3;
    }
    int failures = 1;
    if (!failed(o.device, machine_open(&m, o.device)))
        failures = measure_all(&m, &o, json);
    machine_close(&m);
    if (json && fclose(json) != 0) {
        perror(o.json);
        return 3;
    }
    return failures ? 1 : 0;
}
