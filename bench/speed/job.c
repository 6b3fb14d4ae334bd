#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/speed/speed.h"

enum { INTERPRETED = 1 << 20 };

bool failed(const char *what, kiln_status status)
{
    if (status != KILN_OK)
        fprintf(stderr, "speed: %s: %s\n", what, kiln_last_error());
    return status != KILN_OK;
}

kiln_status workload_compile(kiln_ctx *ctx, const workload *w, const char *dtype,
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

/* Bytes that are touched: gaps between elements count, whose sectors are read with them, gaps between rows do not. */
static int64_t moved_bytes(const array *a)
{
    int64_t elements = 1, step = a->count;
    for (int i = 0; i < a->rank; i++) {
        elements *= a->shape[i];
        if (a->shape[i] > 1 && a->stride[i] < step)
            step = a->stride[i];
    }
    elements *= step;
    return (elements < a->count ? elements : a->count) * (int64_t)kiln_dtype_size(a->io.dtype);
}

static void bind(job *j)
{
    for (int i = 0; i < j->n; i++) {
        array *a = &j->arrays[i];
        /* without memory it is an address that is aligned alike */
        uintptr_t data = (uintptr_t)a->device + (uintptr_t)a->offset * kiln_dtype_size(a->io.dtype);
        j->args[i] =
            (kiln_arg){a->io.name, (void *)data, a->io.dtype, a->rank, a->shape, a->stride};
    }
}

bool job_shapes(job *j)
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
    bind(j);
    for (int i = 0; i < j->n; i++)
        j->bytes += moved_bytes(&j->arrays[i]);
    return true;
}

/* Every byte of the outputs becomes 0xff, which is NaN. */
static bool clear_outputs(machine *m, job *j)
{
    for (int i = 0; i < j->n; i++) {
        const array *a = &j->arrays[i];
        if (a->io.kind != KILN_ARRAY_OUT)
            continue;
        memset(a->host, 0xff, array_bytes(a));
        if (failed(j->w->program, kiln_upload(m->ctx, a->device, a->host, array_bytes(a))))
            return false;
    }
    return true;
}

bool job_memory(machine *m, job *j)
{
    for (int i = 0; i < j->n; i++)
        if (failed(j->w->program,
                   kiln_alloc(m->ctx, array_bytes(&j->arrays[i]), &j->arrays[i].device)))
            return false;
    bind(j);
    return true;
}

bool job_data(machine *m, job *j)
{
    for (int i = 0; i < j->n; i++) {
        array *a = &j->arrays[i];
        a->host = malloc(array_bytes(a));
        if (!a->host)
            return false;
        if (a->io.kind == KILN_ARRAY_OUT)
            continue;
        random_fill(a, (uint64_t)i + 1);
        if (failed(j->w->program, kiln_upload(m->ctx, a->device, a->host, array_bytes(a))))
            return false;
    }
    return clear_outputs(m, j);
}

/* The first number of that name. */
static double explained_number(const job *j, const char *name)
{
    const char *at = strstr(j->explained, name);
    return at ? strtod(at + strlen(name), NULL) : 0;
}

bool job_explain(job *j, const char *arch)
{
    kiln_explain_options what;
    kiln_explain_options_init(&what);
    what.stage = "json";
    what.arch = arch;
    bind(j);
    if (failed(j->w->program, kiln_explain(j->prog, j->args, j->n, &what, &j->explained)))
        return false;
    j->predicted_us = explained_number(j, "\"predicted_us\": ");
    j->launches = (int)explained_number(j, "\"launches\": ");
    return true;
}

kiln_status job_run(void *user)
{
    job *j = user;
    return kiln_run(j->prog, NULL, j->args, j->n);
}

/* ---- is it right? ---- */

/* Runs the workload in f64 (integers in their own type) on `device` of the host; results are in out[], malloc'd. */
static bool run_reference(const job *j, kiln_ctx *ctx, bool fused, array *ref)
{
    kiln_prog *prog = NULL;
    kiln_options how;
    kiln_options_init(&how);
    how.fusion = fused;
    bool whole = j->w->dtype[0] != 'f' && j->w->dtype[0] != 'b';
    bool ok =
        !failed("reference", workload_compile(ctx, j->w, whole ? j->w->dtype : "f64", &how, &prog));
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
        char *data = a->host ? a->host : j->arrays[k].host;
        ok = data != NULL;
        if (ok)
            data += a->offset * (int64_t)kiln_dtype_size(io.dtype);
        args[k] = (kiln_arg){j->arrays[k].io.name, data, io.dtype, a->rank, a->shape, a->stride};
        k++;
    }
    ok = ok && !failed("reference", kiln_run(prog, NULL, args, j->n));
    for (int k = 0; k < j->n; k++) /* names belong to the program */
        ref[k].io.name = NULL;
    kiln_prog_destroy(prog);
    return ok;
}

/* The interpreter takes some 100 ns for a value; the host's device, unfused where it is the one that is checked, is the
 * reference where that would be minutes. */
bool job_reference(machine *m, const job *j, array *ref)
{
    kiln_ctx *ctx = NULL;
    kiln_config config;
    kiln_config_init(&config);
    config.device = m->gpu || (j->w->label && j->bytes > INTERPRETED) ? "cpu" : "ref";
    bool ok =
        !failed("reference", kiln_ctx_create(&config, &ctx)) && run_reference(j, ctx, m->gpu, ref);
    kiln_ctx_destroy(ctx);
    return ok;
}

void job_reference_free(const job *j, array *ref)
{
    for (int i = 0; i < j->n; i++)
        free(ref[i].host);
}

bool job_agrees(machine *m, job *j, const array *ref)
{
    bool ok = clear_outputs(m, j) && !failed(j->w->program, job_run(j));
    j->error = 0;
    for (int i = 0; i < j->n && ok; i++) {
        array *a = &j->arrays[i];
        if (a->io.kind != KILN_ARRAY_OUT)
            continue;
        ok = !failed(j->w->program, kiln_download(m->ctx, a->host, a->device, array_bytes(a)));
        double off =
            ok ? deviation(a->io.dtype, a->host, ref[i].io.dtype, ref[i].host, a->count) : INFINITY;
        j->error = fmax(j->error, off);
        double allowed = j->w->label ? drawn_tolerance(a->io.dtype) : tolerance(a->io.dtype);
        if (ok && !(off <= allowed)) {
            fprintf(stderr, "speed: %s%s: %s is off by %g, %g is allowed\n",
                    j->w->label ? j->w->label : "", j->w->program, a->io.name, off, allowed);
            ok = false;
        }
    }
    return ok;
}

void job_release(machine *m, job *j)
{
    for (int i = 0; i < j->n; i++) {
        kiln_free(m->ctx, j->arrays[i].device);
        free(j->arrays[i].host);
    }
    kiln_text_free(m->ctx, j->explained);
}
