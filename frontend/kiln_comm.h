/* Several devices. A communicator joins ranks, which have a context each, on devices of their own: threads of a process,
 * processes, hosts. Arrays whose dimension is divided over them are parts of one array. docs/many-gpus.md says more.
 *
 * Collective calls are made by all ranks of a communicator, in the same order, and each waits for all. kiln starts no
 * processes and opens no connections: what ranks must know of each other goes through the application's all-gather.
 * kiln.h includes this header. */
#ifndef KILN_COMM_H
#define KILN_COMM_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Ranks that are threads of this process. Each communicator takes a team of its own, of which each thread is one rank. */
typedef struct kiln_team kiln_team;
KILN_API kiln_status kiln_team_create(int count, kiln_team **team);
/* At any time: communicators keep what they need of it. */
KILN_API void kiln_team_destroy(kiln_team *team);

/* Gives `bytes` bytes and gets those of all ranks, one after another in their order: MPI_Allgather() and its like. What is
 * not KILN_OK is returned by the call that needed it, and ends the communicator. */
typedef kiln_status (*kiln_all_gather_fn)(void *user, const void *mine, void *all, size_t bytes);

typedef struct kiln_comm_config {
    size_t struct_size;
    int rank,
        count; /* this rank, from 0 on, and how many there are; count 0: the team's, or the ncclComm_t's */
    /* How they find each other, one of three: threads of this process; a function of the application's, which is called
     * within collective calls by the thread that makes them; an ncclComm_t, for GPUs. */
    kiln_team *team;
    kiln_all_gather_fn all_gather;
    void *user;
    void *nccl; /* may also be given besides; it outlives the communicator */
    /* How long to wait for a rank: default 30,000. After it collective calls fail on all ranks, kernels
     * stop waiting, and kiln_comm_check() says which rank timed out. */
    int deadline_ms;
    /* "kernel": kernels exchange partial results while they run, which takes GPUs that reach each other's memory, or "emu"
     * and a team. "nccl": by NCCL, between kernels; "host": by the host. NULL: the first that all ranks can. */
    const char *path;
} kiln_comm_config;
KILN_INIT(kiln_comm_config)
/* Collective. A subgroup is another communicator, which its ranks make by means of theirs. */
KILN_API kiln_status kiln_comm_create(kiln_ctx *ctx, const kiln_comm_config *config,
                                      kiln_comm **comm);
/* Programs keep what they need of it. On GPUs of several processes: when what all ranks have submitted is done. */
KILN_API void kiln_comm_destroy(kiln_comm *comm);
KILN_API int kiln_comm_rank(const kiln_comm *comm);
KILN_API int kiln_comm_count(const kiln_comm *comm);
KILN_API const char *kiln_comm_path(const kiln_comm *comm); /* "kernel", "nccl" or "host" */
/* KILN_ERR_RUN, for good, once a rank timed out: the message says which. The context and its other communicators are as
 * good as before. Does not wait. */
KILN_API kiln_status kiln_comm_check(kiln_comm *comm);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
