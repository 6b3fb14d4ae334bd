/* kiln_measure(): what a program costs on this machine, each number beside the machine's own. */
#include <string.h>

#include "base/clock.h"
#include "frontend/handles.h"
#include "frontend/structs.h"
#include "runtime/timing.h"

enum { REPEATS = 21, MAX_REPEATS = 10001 };

typedef struct measuring {
    kiln_measurement *m;
    kiln_prog *prog;
    const kn_arg *args;
    int nargs;
    kn_timing timing;
} measuring;

void kiln_measurement_init_size(kiln_measurement *s, size_t size)
{
    const kiln_measurement defaults = {0};
    kn_struct_init(s, size, &defaults, sizeof defaults);
}

static kn_status run_once(void *user)
{
    measuring *ms = user;
    return kn_program_run(ms->prog->core, NULL, ms->args, ms->nargs, NULL, 0);
}

/* As much memory as is written to flush the caches, half of it read. */
static kn_status copy_once(void *user)
{
    measuring *ms = user;
    kn_device *dev = ms->prog->ctx->core->dev;
    size_t half = ms->timing.bytes / 2;
    return dev->ops->copy(dev, ms->timing.flush + half, ms->timing.flush, half, NULL);
}

static kn_status time_runs(measuring *ms, double *device, double *host, int n)
{
    kn_device *dev = ms->prog->ctx->core->dev;
    for (int i = 0; i < n; i++)
        KN_TRY(kn_timing_run(&ms->timing, NULL, run_once, ms, &device[i]));
    for (int i = 0; i < n; i++) { /* the call alone; the device is idle when it starts */
        KN_TRY(dev->ops->sync(dev, NULL));
        uint64_t start = kn_clock_ns();
        KN_TRY(run_once(ms));
        host[i] = (double)(kn_clock_ns() - start) / 1e3;
    }
    return dev->ops->sync(dev, NULL);
}

static kn_status copy_rate(measuring *ms)
{
    kn_device *dev = ms->prog->ctx->core->dev;
    double us[REPEATS];
    for (int i = 0; i < REPEATS; i++)
        KN_TRY(dev->ops->time(dev, NULL, copy_once, ms, &us[i]));
    ms->m->copy_gbps = (double)ms->timing.bytes / kn_median(us, REPEATS) / 1e3;
    return KN_OK;
}

static uint64_t compile_ns(const kn_device *dev)
{
    return __atomic_load_n(&dev->compile_ns, __ATOMIC_RELAXED) +
           __atomic_load_n(&dev->saved_ns, __ATOMIC_RELAXED);
}

static kn_status measure_with(measuring *ms)
{
    kn_context *ctx = ms->prog->ctx->core;
    kn_device *dev = ctx->dev;
    kiln_measurement *m = ms->m;
    uint64_t compiled = compile_ns(dev), kept = __atomic_load_n(&dev->disk_hits, __ATOMIC_RELAXED);
    kn_prepared info;
    const kn_preparing how = {.reserve = true};
    KN_TRY(kn_program_prepare(ms->prog->core, ms->args, ms->nargs, &how, &info));
    m->compile_ms = (double)(compile_ns(dev) - compiled) / 1e6;
    m->disk_hits = __atomic_load_n(&dev->disk_hits, __ATOMIC_RELAXED) - kept;
    m->bytes = info.bytes;

    uint64_t launches = __atomic_load_n(&dev->launches, __ATOMIC_RELAXED);
    KN_TRY(run_once(ms)); /* also the warm-up */
    m->launches = __atomic_load_n(&dev->launches, __ATOMIC_RELAXED) - launches;
    KN_TRY(copy_rate(ms));

    int n = m->repeats > 0 ? m->repeats : REPEATS;
    double *times = ctx->from.alloc(ctx->from.user, sizeof *times * 2 * (size_t)n);
    if (!times)
        return kn_fail(KN_MEMORY, "out of memory");
    kn_status status = time_runs(ms, times, times + n, n);
    if (status == KN_OK) {
        m->device_us = kn_median(times, n);
        m->host_us = kn_median(times + n, n);
    }
    ctx->from.release(ctx->from.user, times);
    return status;
}

static kn_status measure(kiln_prog *p, const kn_arg *args, int nargs, void *user)
{
    measuring ms = {.m = user, .prog = p, .args = args, .nargs = nargs};
    kn_device *dev = p->ctx->core->dev;
    KN_TRY(kn_timing_open(&ms.timing, dev));
    ms.timing.comm = p->core->divided ? p->core->comm : NULL;
    kn_status status = dev->ops->zero(dev, ms.timing.flush, ms.timing.bytes, NULL);
    if (status == KN_OK)
        status = measure_with(&ms);
    kn_timing_close(&ms.timing);
    return status;
}

kiln_status kiln_measure(kiln_prog *prog, const kiln_arg *args, int nargs, kiln_measurement *m)
{
    if (!m)
        return (kiln_status)kn_fail(KN_ARGUMENT, "measurement is NULL");
    kiln_measurement own;
    kiln_measurement_init(&own);
    kn_status status = kn_struct_read(&kn_struct_measurement, m, &own);
    if (status == KN_OK && (own.repeats < 0 || own.repeats > MAX_REPEATS))
        status = kn_fail(KN_ARGUMENT, "measurement.repeats is %d; it can be 0 to %d", own.repeats,
                         MAX_REPEATS);
    if (status == KN_OK)
        status = (kn_status)kn_handle_with_args(prog, args, nargs, measure, &own);
    if (status == KN_OK)
        status = kn_struct_write(&kn_struct_measurement, m, &own);
    return (kiln_status)status;
}
