/* What came of workloads, as rows of a table and as JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/speed/speed.h"

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
    char name[MAX_NAME], text[MAX_TEXT];
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
        fprintf(f, ", \"offset\": %lld}", (long long)a->offset);
    }
    fprintf(
        f,
        "],\n   \"shapes\": \"%s\", \"bytes\": %lld, \"again\": %lld, \"us\": %.3f, \"floor_us\": %.3f, "
        "\"bound_us\": %.3f, \"host_us\": %.3f, ",
        j->w->shapes, (long long)j->bytes, (long long)j->again, r->us, r->floor_us, r->bound_us,
        r->host_us);
    fprintf(f,
            "\"compile_ms\": %.1f, \"launches\": %d, \"error\": %.3g, \"predicted_us\": %.3f,\n   "
            "\"explained\": %s}",
            r->compile_ms, j->launches, isfinite(j->error) ? j->error : -1, j->predicted_us,
            j->explained ? j->explained : "null");
}

void put_head(const asked *o, const char *device, double empty_us, FILE *json)
{
    if (!o->list)
        printf("%-56s %8s %10s %10s %8s %9s %9s %9s %9s\n", device, "launches", "us", "floor us",
               "of floor", "predicted", "host us", "compile", "error");
    if (!json)
        return;
    fprintf(
        json,
        "{\"device\": \"%s\", \"repeats\": %d, \"checked\": %s, \"schedule\": \"%s\", \"autotune\": %d, ",
        device, o->repeats, o->check ? "true" : "false", o->how.schedule ? o->how.schedule : "",
        o->how.autotune);
    if (o->random.count)
        fprintf(json, "\"seed\": %llu, \"empty_us\": %.3f, \"predicted\": %s, ",
                (unsigned long long)o->random.seed, empty_us, o->predict ? "true" : "false");
    fprintf(json, "\"workloads\": [");
}

void put_foot(FILE *json)
{
    if (json)
        fprintf(json, "]}\n");
}

void put_row(const asked *o, const row *r, bool ok, bool first, FILE *json)
{
    const job *j = &r->job;
    char name[MAX_NAME];
    workload_name(j->w, name, sizeof name);
    if (ok && !o->list)
        printf("%-56s %8d %10.1f %10.1f %8.2f %9.1f %9.2f %9.0f %9.1e\n", name, j->launches, r->us,
               r->floor_us, r->floor_us / r->us, j->predicted_us, r->host_us, r->compile_ms,
               j->error);
    else if (!o->list)
        printf("%-56s FAILED\n", name);
    fflush(stdout);
    if (!json)
        return;
    fprintf(json, "%s\n  ", first ? "" : ",");
    put_job(json, r, ok);
    fflush(json);
}
