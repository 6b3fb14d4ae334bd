/* What kiln's kernels take, beside a copy of the same bytes on the same machine in the same run.
 *
 *     speed [--device auto|cpu|cuda[:N]] [--only TEXT] [--repeats N] [--json FILE] [--no-check] [--schedule S]
 *           [--autotune MS]
 *     speed --merges [--device ...] [--only ...] [--repeats N] [--json FILE] [--no-check]
 *                       each workload fused, unfused and with each merge undone, in turns: merges.c
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

enum { CALLS = 200, BATCHES = 15 };

/* A workload, and what came of it. */
typedef struct row {
    job job;
    double us, floor_us, host_us, compile_ms;
    uint64_t launches;
} row;

/* ---- how fast is it? ---- */

/* Median host time of a call, the device keeping up. */
static kiln_status time_host(machine *m, row *r)
{
    double us[BATCHES];
    int calls = r->us * CALLS < 2e4 ? CALLS : 3;
    for (int b = 0; b < BATCHES; b++) {
        uint64_t start = kn_clock_ns();
        for (int i = 0; i < calls; i++) {
            kiln_status status = job_run(&r->job);
            if (status != KILN_OK)
                return status;
        }
        us[b] = (double)(kn_clock_ns() - start) / 1e3 / calls;
        kiln_status status = kiln_sync(m->ctx, NULL);
        if (status != KILN_OK)
            return status;
    }
    r->host_us = median(us, BATCHES);
    return KILN_OK;
}

static double compile_ms(kiln_ctx *ctx)
{
    kiln_stats stats;
    kiln_stats_init(&stats);
    return kiln_ctx_stats(ctx, &stats) == KILN_OK ? stats.compile_ms + stats.saved_ms : 0;
}

static bool is_right(machine *m, job *j)
{
    array ref[MAX_ARRAYS] = {0};
    bool ok = job_reference(m, j, ref) && job_agrees(m, j, ref);
    job_reference_free(j, ref);
    return ok;
}

static bool measure(machine *m, const asked *o, row *r)
{
    char name[128];
    job *j = &r->job;
    workload_name(j->w, name, sizeof name);
    if (failed(name, workload_compile(m->ctx, j->w, j->w->dtype, &o->how, &j->prog)) ||
        !job_shapes(j) || !job_data(m, j) || !job_explain(j, m->gpu ? NULL : "cpu"))
        return false;
    kiln_prepared info;
    kiln_prepared_init(&info);
    double compiled = compile_ms(m->ctx);
    if (failed(name, kiln_prepare(j->prog, j->args, j->n, &info)))
        return false;
    r->compile_ms = compile_ms(m->ctx) - compiled;
    r->launches = info.launches;
    if (o->check && !is_right(m, j))
        return false;
    return !failed(name, job_run(j)) && !failed(name, kiln_sync(m->ctx, NULL)) &&
           !failed(name, machine_copy_time(m, o->repeats, j->bytes, &r->floor_us)) &&
           !failed(name, machine_time(m, o->repeats, job_run, j, &r->us)) &&
           !failed(name, time_host(m, r));
}

/* ---- reporting ---- */

void put_text(FILE *f, const char *text)
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

static void put_job(FILE *f, const row *r, bool ok)
{
    const job *j = &r->job;
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
        (long long)j->bytes, r->us, r->floor_us, r->host_us, r->compile_ms,
        (unsigned long long)r->launches, isfinite(j->error) ? j->error : -1, j->predicted_us,
        j->explained ? j->explained : "null");
}

static void put_row(const row *r, bool ok)
{
    const job *j = &r->job;
    char name[128];
    workload_name(j->w, name, sizeof name);
    if (ok)
        printf("%-40s %8llu %10.1f %10.1f %8.2f %9.1f %9.2f %9.0f %9.1e\n", name,
               (unsigned long long)r->launches, r->us, r->floor_us, r->floor_us / r->us,
               j->predicted_us, r->host_us, r->compile_ms, j->error);
    else
        printf("%-40s FAILED\n", name);
    fflush(stdout);
}

bool is_wanted(const asked *o, const machine *m, const workload *w)
{
    char name[128];
    workload_name(w, name, sizeof name);
    return w->on_gpu == m->gpu && (!o->only || strstr(name, o->only));
}

static int measure_all(machine *m, const asked *o, FILE *json)
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
        if (!is_wanted(o, m, &workloads[i]))
            continue;
        row r = {.job.w = &workloads[i]};
        bool ok = measure(m, o, &r);
        failures += !ok;
        put_row(&r, ok);
        if (json) {
            fprintf(json, "%s\n  ", rows++ ? "," : "");
            put_job(json, &r, ok);
            fflush(json);
        }
        job_release(m, &r.job);
        kiln_prog_destroy(r.job.prog);
    }
    if (json)
        fprintf(json, "]}\n");
    return failures;
}

static int list_all(const asked *o)
{
    kiln_ctx *ctx = NULL;
    kiln_config config;
    kiln_config_init(&config);
    config.device = "cpu";
    bool ok = !failed("list", kiln_ctx_create(&config, &ctx));
    printf("{\"workloads\": [");
    for (int i = 0; i < workload_count && ok; i++) {
        row r = {.job.w = &workloads[i]};
        job *j = &r.job;
        ok = !failed("list", workload_compile(ctx, j->w, j->w->dtype, &o->how, &j->prog)) &&
             job_shapes(j) && job_explain(j, j->w->on_gpu ? "sm_90" : "cpu");
        printf("%s\n  ", i ? "," : "");
        put_job(stdout, &r, ok);
        kiln_text_free(ctx, j->explained);
        kiln_prog_destroy(j->prog);
    }
    printf("]}\n");
    kiln_ctx_destroy(ctx);
    return ok ? 0 : 1;
}

static bool read_options(int argc, char **argv, asked *o)
{
    *o = (asked){.device = "auto", .repeats = 21, .check = true};
    kiln_options_init(&o->how);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--no-check") == 0) {
            o->check = false;
            continue;
        }
        if (strcmp(argv[i], "--list") == 0 || strcmp(argv[i], "--merges") == 0) {
            *(argv[i][2] == 'l' ? &o->list : &o->merges) = true;
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
    return !o->merges || (!o->how.schedule && !o->how.autotune); /* whose merges are undone */
}

int main(int argc, char **argv)
{
    asked o;
    machine m;
    without_compilers_cache();
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr,
                "usage: speed [--device D] [--only TEXT] [--repeats N] [--json FILE] [--no-check] "
                "[--merges | --schedule S | --autotune MS] | --list\n");
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
        failures = o.merges ? measure_merges(&m, &o, json) : measure_all(&m, &o, json);
    machine_close(&m);
    if (json && fclose(json) != 0) {
        perror(o.json);
        return 3;
    }
    return failures ? 1 : 0;
}
