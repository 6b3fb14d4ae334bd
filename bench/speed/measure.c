/* A workload on the device that is measured. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/speed/speed.h"

enum { CALLS = 200, BATCHES = 15, SMALL = 1 << 20 };

bool is_wanted(const asked *o, const machine *m, const workload *w)
{
    char name[MAX_NAME];
    workload_name(w, name, sizeof name);
    return (w->label || w->on_gpu == m->gpu) && (!o->only || strstr(name, o->only));
}

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

/* A drawn workload's call takes long enough for the device to hide the host's time, unless it is small. */
static bool is_host_of_interest(const row *r) { return !r->job.w->label || r->job.bytes < SMALL; }

static kiln_status time_floors(machine *m, const asked *o, row *r)
{
    kiln_status status = machine_copy_time(m, o->repeats, r->job.bytes, &r->floor_us);
    r->bound_us = r->floor_us;
    if (status == KILN_OK && r->job.again)
        status = machine_copy_time(m, o->repeats, r->job.bytes + r->job.again, &r->bound_us);
    return status;
}

bool measure(machine *m, const asked *o, row *r)
{
    char name[MAX_NAME];
    job *j = &r->job;
    workload_name(j->w, name, sizeof name);
    if (failed(name, workload_compile(m->ctx, j->w, j->w->dtype, &o->how, &j->prog)) ||
        !job_shapes(j) || !job_memory(m, j) || !job_data(m, j) ||
        !job_explain(j, machine_arch(m)) || !job_reads_again(j, machine_target(m)))
        return false;
    kiln_prepared info;
    kiln_prepared_init(&info);
    double compiled = compile_ms(m->ctx);
    if (failed(name, kiln_prepare(j->prog, j->args, j->n, &info)))
        return false;
    r->compile_ms = compile_ms(m->ctx) - compiled;
    j->launches = (int)info.launches;
    if (o->check && !is_right(m, j))
        return false;
    return !failed(name, job_run(j)) && !failed(name, kiln_sync(m->ctx, NULL)) &&
           !failed(name, time_floors(m, o, r)) &&
           !failed(name, machine_time(m, o->repeats, job_run, j, &r->us)) &&
           (!is_host_of_interest(r) || !failed(name, time_host(m, r)));
}
