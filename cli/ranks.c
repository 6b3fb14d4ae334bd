#include "cli/ranks.h"

#include <dlfcn.h>
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
    c.path = r->args.path;
    c.rank = r->number;
    c.team = r->nccl ? NULL : r->team;
    c.nccl = r->nccl;
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

static int open_rank(kn_rank *r, const kn_args *args, const char *device, int number, kn_err *e)
{
    *r = (kn_rank){.args = *args, .number = number};
    r->args.seed += (uint64_t)number;
    r->args.values = calloc((size_t)args->nvalues + 1, sizeof *r->args.values);
    if (!r->args.values) {
        r->args.nvalues = 0;
        return kn_run_error(e, "out of memory");
    }
    memcpy(r->args.values, args->values, (size_t)args->nvalues * sizeof *r->args.values);
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

/* A function of NCCL's by its name. */
static void find(void *lib, const char *name, void *function)
{
    void *symbol = lib ? dlsym(lib, name) : NULL;
    memcpy(function, &symbol, sizeof symbol);
}

/* --path nccl: an ncclComm_t a rank, which lasts as long as the process. */
static int open_nccl(kn_rank *ranks, int n, kn_err *e)
{
    int (*init)(void **comms, int count, const int *devices), gpus[KN_MOST_RANKS];
    void *comms[KN_MOST_RANKS];
    find(dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL), "ncclCommInitAll", &init);
    for (int r = 0; r < n; r++)
        gpus[r] = r;
    if (!init)
        return kn_run_error(e, "libnccl.so.2 is not found");
    if (init(comms, n, gpus) != 0)
        return kn_run_error(e, "NCCL makes no communicator of %d GPUs", n);
    for (int r = 0; r < n; r++)
        ranks[r].nccl = comms[r];
    return KN_EXIT_OK;
}

int kn_ranks_open(kn_rank *ranks, const kn_args *args, const char *device, kn_err *e)
{
    const int n = args->ranks;
    kiln_team *team;
    int status = kn_lib_error(e, kiln_team_create(n, &team));
    for (int r = 0; r < n && !status; r++) {
        char gpu[32];
        snprintf(gpu, sizeof gpu, "cuda:%d", r); /* a rank has a GPU of its own */
        status = open_rank(&ranks[r], args, device ? device : gpu, r, e);
        ranks[r].team = team;
    }
    if (!status && args->path && strcmp(args->path, "nccl") == 0)
        status = open_nccl(ranks, n, e);
    return status ? status : on_threads(ranks, n, join, e);
}

int kn_ranks_measure(kn_rank *ranks, const kn_args *args, const kn_rank **slowest, kn_err *e)
{
    const int n = args->ranks;
    kn_args plain = *args;
    int status = kn_ranks_open(ranks, args, NULL, e);
    if (args->schedule && strchr(args->schedule, ':'))
        plain.schedule = NULL; /* the text of schedules is of the fused kernels */
    for (int r = 0; r < n && !status; r++)
        status = load_rank(&ranks[r], &plain, e);
    kn_progress("measuring it, fused and unfused");
    if (!status)
        status = on_threads(ranks, n, measure, e);
    kn_progress(NULL);
    *slowest = ranks;
    for (int r = 0; r < n && !status; r++)
        if (ranks[r].fused_time.device_us > (*slowest)->fused_time.device_us)
            *slowest = &ranks[r];
    return status;
}

void kn_ranks_finish(kn_rank *ranks, int n)
{
    kiln_team_destroy(ranks[0].team);
    for (int r = 0; r < n; r++) {
        kiln_prog_destroy(ranks[r].unfused);
        kn_session_finish(&ranks[r].session);
        free(ranks[r].args.values); /* texts are the command line's, arrays the device's */
    }
}
