/* What kiln's kernels take, beside a copy of the same bytes on the same machine in the same run.
 *
 *     speed [--device auto|cpu|cuda[:N]] [--only TEXT] [--repeats N] [--json FILE] [--no-check] [--schedule S]
 *           [--autotune MS]
 *     speed --random SEED [--count N] [--bytes FROM:TO] [--ahead THREADS] [...]
 *                       instead of those of workloads.def, N that are drawn: draw.c. --only '7.31 ' is the 31st of seed
 *                       7. They are compiled beforehand, in so many threads (0: when they are measured): ahead.c
 *     speed --predict ARCH [--random ...] [--only TEXT] [--json FILE]
 *                       what the model says of them, and of a copy: needs no GPU
 *     speed --merges [--device ...] [--only ...] [--repeats N] [--json FILE] [--no-check]
 *                       each workload fused, unfused and with each merge undone, in turns: merges.c
 *     speed --ready [--random ...] [--only TEXT]
 *                       when each has its first result on the CPU device, and when it is compiled: ready.c
 *     speed --list [--random ...]
 *                       one JSON object with all workloads, and measures nothing; those of a GPU are explained for an
 *                       sm_90, the others for this host
 *
 * For each workload of workloads.def: random inputs; outputs filled with NaN; the result compared with the same
 * program computed in f64 on the host (by the CPU device for a GPU, by the reference interpreter for the CPU); then
 * the median device time of the runs, with the caches flushed before each. `floor` is the time of a copy that moves
 * as many bytes as must move once, which is every input read and every output written. `predicted` is what the model
 * says that it takes (docs/model.md); the JSON has with each workload what `kiln explain --json` says of it.
 * bench/drawn.py has the summary of those that are drawn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common.h"
#include "bench/progress.h"
#include "bench/speed/speed.h"

void say_which(const asked *o, int i)
{
    char name[128];
    workload_name(&o->all[i], name, sizeof name);
    progress("%d of %d: %s", i + 1, o->count, name);
}

static int measure_all(machine *m, const asked *o, FILE *json)
{
    int failures = 0, rows = 0;
    double empty = 0;
    if (o->random.count && failed("empty", machine_empty_time(m, o->repeats, &empty)))
        return 1;
    put_head(o, kiln_ctx_device(m->ctx), empty, json);
    for (int i = 0; i < o->count; i++) {
        if (!is_wanted(o, m, &o->all[i]))
            continue;
        row r = {.job.w = &o->all[i]};
        say_which(o, i);
        bool ok = measure(m, o, &r);
        progress(NULL);
        failures += !ok;
        put_row(o, &r, ok, rows++ == 0, json);
        job_release(m, &r.job);
        kiln_prog_destroy(r.job.prog);
    }
    put_foot(json);
    return failures;
}

/* ---- what is asked for ---- */

/* "64K", "1G" */
static int64_t read_bytes(const char *text, char **end)
{
    static const char units[] = "KMG";
    int64_t bytes = strtoll(text, end, 10);
    const char *unit = **end ? strchr(units, **end) : NULL;
    if (!unit)
        return bytes;
    ++*end;
    return bytes << (10 * (unit - units + 1));
}

/* "64K:1M" */
static bool read_range(const char *text, draws *to)
{
    char *end;
    to->least = read_bytes(text, &end);
    if (*end != ':')
        return false;
    to->most = read_bytes(end + 1, &end);
    return *end == '\0' && to->least > 0 && to->most >= to->least && to->most <= INT64_C(1) << 36;
}

static bool read_flag(const char *option, asked *o)
{
    if (strcmp(option, "--no-check") == 0)
        o->check = false;
    else if (strcmp(option, "--list") == 0)
        o->list = true;
    else if (strcmp(option, "--merges") == 0)
        o->merges = true;
    else if (strcmp(option, "--ready") == 0)
        o->ready = true;
    else
        return false;
    return true;
}

static bool read_option(const char *option, const char *value, asked *o)
{
    char *end = NULL;
    if (strcmp(option, "--device") == 0)
        o->device = value;
    else if (strcmp(option, "--only") == 0)
        o->only = value;
    else if (strcmp(option, "--json") == 0)
        o->json = value;
    else if (strcmp(option, "--schedule") == 0)
        o->how.schedule = value;
    else if (strcmp(option, "--predict") == 0)
        o->predict = value;
    else if (strcmp(option, "--bytes") == 0)
        return read_range(value, &o->random);
    else if (strcmp(option, "--random") == 0) {
        o->random.seed = strtoull(value, &end, 10);
        o->random.count = o->random.count ? o->random.count : 200;
        return end != value && *end == '\0';
    } else if (strcmp(option, "--count") == 0)
        return (o->random.count = atoi(value)) > 0;
    else if (strcmp(option, "--ahead") == 0) {
        o->ahead = (int)strtol(value, &end, 10);
        return end != value && *end == '\0' && o->ahead >= 0;
    } else if (strcmp(option, "--autotune") == 0)
        return (o->how.autotune = atoi(value)) > 0;
    else if (strcmp(option, "--repeats") == 0)
        return (o->repeats = atoi(value)) > 0;
    else
        return false;
    return true;
}

static bool read_options(int argc, char **argv, asked *o)
{
    *o = (asked){
        .device = "auto", .repeats = 21, .check = true, .all = workloads, .count = workload_count};
    kiln_options_init(&o->how);
    for (int i = 1; i < argc; i++) {
        if (read_flag(argv[i], o))
            continue;
        if (i + 1 == argc || !read_option(argv[i], argv[i + 1], o))
            return false;
        i++;
    }
    return !o->merges || (!o->how.schedule && !o->how.autotune); /* whose merges are undone */
}

/* ---- workloads that are drawn ---- */

/* Memory of the caller's, which lives as long as o->all does. */
static bool draw_all(asked *o, bool on_gpu, drawn **memory)
{
    draws *from = &o->random;
    drawn *d = malloc(sizeof *d * (size_t)from->count);
    workload *all = malloc(sizeof *all * (size_t)from->count);
    for (int i = 0; i < from->count && d && all; i++) {
        draw_workload(&d[i], from, i);
        d[i].w.on_gpu = on_gpu;
        all[i] = d[i].w;
    }
    *memory = d;
    o->all = all;
    o->count = from->count;
    return d && all;
}

static int run(asked *o, FILE *json)
{
    machine m;
    drawn *memory = NULL;
    bool on_device = !o->list && !o->predict && !o->ready, opened = false;
    int failures = 0;
    if (on_device)
        opened = !failed(o->device, machine_open(&m, o->device));
    bool gpu =
        on_device ? opened && m.gpu : !o->ready && (o->predict || strcmp(o->device, "cpu") != 0);
    if (!o->random.most) /* as much as such a machine is asked for */
        o->random.least = 64 << 10, o->random.most = gpu ? 1 << 30 : 256 << 20;
    if ((on_device && !opened) || (o->random.count && !draw_all(o, gpu, &memory)))
        failures = 1;
    else if (o->ready)
        failures = measure_ready(o);
    else if (!on_device)
        failures = predict_all(o, json);
    else {
        if (o->random.count && !machine_arch(&m) && !o->how.autotune)
            compile_ahead(o, &m);
        failures = o->merges ? measure_merges(&m, o, json) : measure_all(&m, o, json);
    }
    if (on_device)
        machine_close(&m);
    if (o->all != workloads)
        free((void *)(uintptr_t)o->all);
    free(memory);
    return failures;
}

int main(int argc, char **argv)
{
    asked o;
    without_compilers_cache();
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr,
                "usage: speed [--device D] [--only TEXT] [--repeats N] [--json FILE] [--no-check] "
                "[--random SEED [--count N] [--bytes FROM:TO] [--ahead THREADS]] "
                "[--merges | --ready | --schedule S | --autotune MS | --predict ARCH | --list]\n");
        return 2;
    }
    FILE *json = o.list ? stdout : o.json ? fopen(o.json, "w") : NULL;
    if (o.json && !json) {
        perror(o.json);
        return 3;
    }
    int failures = run(&o, json);
    if (o.json && !o.list && fclose(json) != 0) {
        perror(o.json);
        return 3;
    }
    return failures ? 1 : 0;
}
