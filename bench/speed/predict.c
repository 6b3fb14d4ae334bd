/* What the model says of workloads, for a machine that need not be there. Their floor is what it says of a copy. */
#include <stdio.h>
#include <string.h>

#include "bench/speed/speed.h"
#include "runtime/device/device.h"

/* The model's time of a program that reads half of the bytes and writes as many. */
static bool predict_copy(kiln_ctx *ctx, const char *arch, int64_t bytes, double *us)
{
    char shapes[32];
    snprintf(shapes, sizeof shapes, "x=%lld", (long long)(bytes / 8 + 1));
    const workload w = {.program = "copied",
                        .dtype = "f32",
                        .shapes = shapes,
                        .text = "(x: f32[N]):\n    y = x + 1\n    return y\n"};
    job j = {.w = &w};
    bool ok = !failed("copy", workload_compile(ctx, &w, "f32", NULL, &j.prog)) && job_shapes(&j) &&
              job_explain(&j, arch);
    *us = j.predicted_us;
    kiln_text_free(ctx, j.explained);
    kiln_prog_destroy(j.prog);
    return ok;
}

static bool predict(kiln_ctx *ctx, const asked *o, const kn_target *target, row *r)
{
    job *j = &r->job;
    const char *arch = o->predict ? o->predict : j->w->on_gpu ? "sm_90" : "cpu";
    if (failed(j->w->program, workload_compile(ctx, j->w, j->w->dtype, &o->how, &j->prog)) ||
        !job_shapes(j) || !job_explain(j, arch))
        return false;
    if (o->list)
        return true;
    r->us = j->predicted_us;
    return job_reads_again(j, target) && predict_copy(ctx, arch, j->bytes, &r->floor_us) &&
           predict_copy(ctx, arch, j->bytes + j->again, &r->bound_us);
}

int predict_all(const asked *o, FILE *json)
{
    kiln_ctx *ctx = NULL;
    kn_target target = {0};
    kiln_config config;
    kiln_config_init(&config);
    config.device = "cpu";
    if (o->predict && !kn_target_of_arch(o->predict, &target)) {
        fprintf(stderr, "speed: no architecture %s is known\n", o->predict);
        return 1;
    }
    int failures = failed("predict", kiln_ctx_create(&config, &ctx)), rows = 0;
    double empty = 0;
    if (!failures && !o->list && !predict_copy(ctx, o->predict, 0, &empty))
        failures++;
    put_head(o, o->predict ? o->predict : "", empty, json);
    for (int i = 0; i < o->count && ctx; i++) {
        row r = {.job.w = &o->all[i]};
        char name[MAX_NAME];
        workload_name(r.job.w, name, sizeof name);
        if (o->only && !strstr(name, o->only))
            continue;
        bool ok = predict(ctx, o, &target, &r);
        failures += !ok;
        put_row(o, &r, ok, rows++ == 0, json);
        kiln_text_free(ctx, r.job.explained);
        kiln_prog_destroy(r.job.prog);
    }
    put_foot(json);
    kiln_ctx_destroy(ctx);
    return failures;
}
