/* kiln bench: the same program fused and as one kernel an operation, measured in one process on the
 * same data. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/chart.h"
#include "cli/commands.h"
#include "cli/halves.h"
#include "cli/json.h"
#include "cli/number.h"
#include "cli/progress.h"
#include "cli/ranks.h"

static void put_json(const char *name, const kiln_measurement *m)
{
    kn_json_string(stdout, name);
    if (!m) {
        printf(":null");
        return;
    }
    printf(":{\"launches\":%" PRIu64 ",\"us\":", m->launches);
    kn_json_number(stdout, m->device_us);
    printf(",\"bytes\":%" PRIu64 ",\"host_us\":", m->bytes);
    kn_json_number(stdout, m->host_us);
    printf(",\"compile_ms\":");
    kn_json_number(stdout, m->compile_ms);
    printf(",\"disk_hits\":%" PRIu64 "}", m->disk_hits);
}

/* What is measured, by its name; NULL: it was not. */
typedef struct row {
    const char *name;
    const kiln_measurement *m;
} row;

/* How the CPU device ran it; NULL on others. */
static const char *way_of(const kn_session *s)
{
    kiln_stats stats;
    kiln_stats_init(&stats);
    if (strcmp(kiln_ctx_device(s->ctx), "cpu") != 0 || kiln_ctx_stats(s->ctx, &stats) != KILN_OK)
        return NULL;
    return stats.compiler_calls + stats.disk_hits ? "compiled" : "interpreted";
}

static void put_rows_json(const kn_session *s, const row *rows, int n)
{
    const kiln_measurement *fused = rows[0].m;
    for (int i = 0; i < n; i++) {
        printf(i ? "," : "{");
        put_json(rows[i].name, rows[i].m);
    }
    printf(",\"copy_gbps\":");
    kn_json_number(stdout, fused->copy_gbps);
    printf(",\"device\":");
    kn_json_string(stdout, kiln_ctx_device(s->ctx));
    if (way_of(s))
        printf(",\"cpu\":\"%s\"", way_of(s));
    if (s->comm) {
        printf(",\"ranks\":%d,\"path\":", kiln_comm_count(s->comm));
        kn_json_string(stdout, kiln_comm_path(s->comm));
    }
    printf(",\"program\":");
    kn_json_string(stdout, kiln_prog_name(s->prog));
    printf("}\n");
}

static void put_row(const char *name, const kiln_measurement *m, double copy_gbps)
{
    double gbps = m->device_us > 0 ? (double)m->bytes / m->device_us / 1e3 : 0;
    kn_cli_print(stdout, "%-8s %9" PRIu64 " %11.2f %9.2f %10.2f %9.1f", name, m->launches,
                 m->device_us, m->host_us, (double)m->bytes / 1e6, gbps);
    if (copy_gbps > 0)
        kn_cli_print(stdout, " %7.0f%%", 100 * gbps / copy_gbps);
    else
        printf(" %8s", "-");
    kn_cli_print(stdout, " %11.1f%s\n", m->compile_ms,
                 m->disk_hits ? "  when it was compiled; now from the disk cache" : "");
}

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

static void put_rows(const kn_session *s, const row *rows, int n)
{
    const kiln_measurement *fused = rows[0].m;
    kn_cli_print(stdout, "%s on %s", kiln_prog_name(s->prog), kiln_ctx_device(s->ctx));
    if (way_of(s))
        printf(", %s", way_of(s));
    if (s->comm)
        printf(", the slowest of %d, by path %s", kiln_comm_count(s->comm),
               kiln_comm_path(s->comm));
    kn_cli_print(stdout, "; a large copy moves %.1f GB/s\n", fused->copy_gbps);
    printf("%-8s %9s %11s %9s %10s %9s %8s %11s\n", "", "launches", "device us", "host us",
           "MB moved", "GB/s", "of copy", "compile ms");
    for (int i = 0; i < n; i++)
        if (rows[i].m)
            put_row(rows[i].name, rows[i].m, fused->copy_gbps);
        else
            printf("%s: out of memory\n", rows[i].name);
}

static void put_speed_up(const kiln_measurement *fused, const kiln_measurement *unfused)
{
    kn_cli_print(stdout, "%-8s %8.1fx %10.2fx %8.2fx %9.2fx\n", "speed-up",
                 ratio((double)unfused->launches, (double)fused->launches),
                 ratio(unfused->device_us, fused->device_us),
                 ratio(unfused->host_us, fused->host_us),
                 ratio((double)unfused->bytes, (double)fused->bytes));
}

static kiln_status measure(kn_session *s, kiln_prog *prog, const char *what, kiln_measurement *m)
{
    kn_progress(what);
    kiln_measurement_init(m);
    return kiln_measure(prog, s->args, s->nargs, m);
}

/* Writes what was measured; `unfused` is NULL where memory has no room for what it keeps between kernels. */
static int put_result(const kn_session *s, const kn_args *args, const kiln_measurement *fused,
                      const kiln_measurement *unfused, kn_err *e)
{
    const kn_chart chart = {kiln_prog_name(s->prog), kiln_ctx_device(s->ctx), unfused, fused};
    const row rows[] = {{"fused", fused}, {"unfused", unfused}};
    (args->json ? put_rows_json : put_rows)(s, rows, 2);
    if (unfused && !args->json)
        put_speed_up(fused, unfused);
    if (args->svg && !unfused)
        return kn_run_error(e, "no chart: unfused it is out of memory");
    return args->svg ? kn_chart_write(args->svg, &chart, e) : KN_EXIT_OK;
}

/* Forward and backward beside the whole, which is what both take if nothing comes in between. */
static int bench_halves(kn_session *s, const kn_args *args, kn_err *e)
{
    static const char *const what[] = {"measuring the forward", "measuring the backward"};
    kiln_measurement whole, half[2];
    const row rows[] = {{"whole", &whole}, {"forward", &half[0]}, {"backward", &half[1]}};
    kn_halves h;
    int status = kn_halves_make(&h, s, args, NULL, e);
    if (!status)
        status = kn_halves_bind(&h, s, true, e);
    if (!status)
        status = kn_lib_error(e, measure(s, s->prog, "measuring the whole", &whole));
    for (int i = 0; i < 2 && !status; i++) {
        kn_session part = {.args = h.args[i], .nargs = h.nargs[i]};
        status = kn_lib_error(e, measure(&part, h.prog[i], what[i], &half[i]));
    }
    kn_progress(NULL);
    if (!status)
        (args->json ? put_rows_json : put_rows)(s, rows, 3);
    kn_halves_finish(&h, s);
    return status;
}

static int bench_whole(kn_session *s, const kn_args *args, kn_err *e)
{
    kiln_prog *unfused_prog = NULL;
    kiln_measurement fused, unfused;
    kn_args plain = *args;
    bool fits = true;
    if (args->schedule && strchr(args->schedule, ':'))
        plain.schedule = NULL; /* the text of schedules is of the fused kernels */
    int status = kn_session_compile(s, &plain, false, &unfused_prog, e);
    if (!status)
        status = kn_lib_error(e, measure(s, s->prog, "measuring it fused", &fused));
    if (!status) {
        kiln_status done = measure(s, unfused_prog, "measuring it unfused", &unfused);
        fits = done != KILN_ERR_MEMORY;
        status = fits ? kn_lib_error(e, done) : KN_EXIT_OK;
    }
    kn_progress(NULL);
    if (!status)
        status = put_result(s, args, &fused, fits ? &unfused : NULL, e);
    kiln_prog_destroy(unfused_prog);
    return status;
}

static int bench_ranks(const kn_args *args, kn_err *e)
{
    const kn_rank *slowest;
    kn_rank *ranks = calloc((size_t)args->ranks, sizeof *ranks);
    if (!ranks)
        return kn_run_error(e, "out of memory");
    int status = kn_ranks_measure(ranks, args, &slowest, e);
    if (!status)
        status =
            put_result(&slowest->session, args, &slowest->fused_time, &slowest->unfused_time, e);
    kn_ranks_finish(ranks, args->ranks);
    free(ranks);
    return status;
}

int kn_cmd_bench(const kn_args *args, kn_err *e)
{
    kn_session s;
    if (args->svg && args->split)
        return kn_usage_error(e, "--svg draws fused beside unfused; --split measures neither");
    if (args->ranks && args->split)
        return kn_usage_error(e, "--split measures on one device, --ranks on several");
    setenv("CUDA_CACHE_DISABLE", "1", 0);  /* compiling, not finding it in NVRTC's own cache */
    setenv("KILN_CPU_COMPILE", "wait", 0); /* what is measured is what is reached */
    if (args->ranks)
        return bench_ranks(args, e);
    int status = kn_session_load(&s, args, "auto", false, e);
    if (!status)
        status = kn_session_upload(&s, e);
    if (!status)
        status = (args->split ? bench_halves : bench_whole)(&s, args, e);
    kn_session_finish(&s);
    return status;
}
