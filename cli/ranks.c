#include "cli/ranks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "cli/text.h"

/* ---- collective steps, a thread a rank ---- */

static void *join(void *user)
{
    kn_rank *r = user;
    kiln_comm_config c;
    kiln_comm_config_init(&c);
    c.rank = r->number;
    c.team = r->team;
    r->status = kn_lib_error(&r->e, kiln_comm_create(r->session.ctx, &c, &r->session.comm));
    return NULL;
}

static void *measure(void *user)
{
    kn_rank *r = user;
    const kn_session *s = &r->session;
    kiln_measurement_init(&r->fused_time);
    kiln_measurement_init(&r->unfused_time);
    r->status = kn_lib_error(&r->e, kiln_measure(s->prog, s->args, s->nargs, &r->fused_time));
    if (!r->status)
        r->status =
            kn_lib_error(&r->e, kiln_measure(r->unfused, s->args, s->nargs, &r->unfused_time));
    return NULL;
}

static int on_threads(kn_rank *ranks, int n, void *(*step)(void *rank), kn_err *e)
{
    pthread_t threads[KN_MOST_RANKS];
    int started = 0, status = KN_EXIT_OK;
    while (started < n && pthread_create(&threads[started], NULL, step, &ranks[started]) == 0)
        started++;
    for (int r = 0; r < started; r++)
        pthread_join(threads[r], NULL);
    if (started < n)
        return kn_run_error(e, "the system has no thread for rank %d", started);
    for (int r = 0; r < n && !status; r++)
        if ((status = ranks[r].status) != KN_EXIT_OK)
            *e = ranks[r].e;
    return status;
}

/* ---- steps of each rank alone ---- */

/* A rank has a GPU of its own. */
static int open_rank(kn_rank *r, const kn_args *args, int number, kn_err *e)
{
    char device[32];
    *r = (kn_rank){.args = *args, .number = number};
    r->args.seed += (uint64_t)number;
    r->args.values = calloc((size_t)args->nvalues + 1, sizeof *r->args.values);
    if (!r->args.values) {
        r->args.nvalues = 0;
        return kn_run_error(e, "out of memory");
    }
    memcpy(r->args.values, args->values, (size_t)args->nvalues * sizeof *r->args.values);
    snprintf(device, sizeof device, "cuda:%d", number);
    if (args->device && strcmp(args->device, "cuda") == 0)
        r->args.device = NULL;
    return kn_session_open(&r->session, &r->args, device, e);
}

static int load_rank(kn_rank *r, const kn_args *plain, kn_err *e)
{
    kn_session *s = &r->session;
    int status = kn_session_parse_file(s, &r->args, e);
    if (!status)
        status = kn_session_bind(s, &r->args, false, e);
    if (!status)
        status = kn_session_upload(s, e);
    return status ? status : kn_session_compile(s, plain, false, &r->unfused, e);
}

int kn_ranks_measure(kn_rank *ranks, const kn_args *args, const kn_rank **slowest, kn_err *e)
{
    const int n = args->ranks;
    kn_args plain = *args;
    kiln_team *team;
    int status = kn_lib_error(e, kiln_team_create(n, &team));
    if (status)
        return status;
    if (args->schedule && strchr(args->schedule, ':'))
        plain.schedule = NULL; /* the text of schedules is of the fused kernels */
    for (int r = 0; r < n && !status; r++) {
        status = open_rank(&ranks[r], args, r, e);
        ranks[r].team = team;
    }
    if (!status)
        status = on_threads(ranks, n, join, e);
    for (int r = 0; r < n && !status; r++)
        status = load_rank(&ranks[r], &plain, e);
    kn_progress("measuring it, fused and unfused");
    if (!status)
        status = on_threads(ranks, n, measure, e);
    kn_progress(NULL);
    kiln_team_destroy(team);
    *slowest = ranks;
    for (int r = 0; r < n && !status; r++)
        if (ranks[r].fused_time.device_us > (*slowest)->fused_time.device_us)
            *slowest = &ranks[r];
    return status;
}

void kn_ranks_finish(kn_rank *ranks, int n)
{
    for (int r = 0; r < n; r++) {
        kiln_prog_destroy(ranks[r].unfused);
        kn_session_finish(&ranks[r].session);
        free(ranks[r].args.values); /* texts are the command line's, arrays the device's */
    }
}
