/* Communicators: ranks, a context each, that run the same programs on parts of the same arrays.
 *
 *     open.c      how ranks find each other
 *     comm.c      what they give each other, and must agree on
 *     team.c      ranks that are threads of a process
 *     mailbox.c   memory by which running kernels exchange partial results
 *     exchange.c  what they exchange of their devices' memory
 *
 * What ranks exchange goes one of three ways, the same for all of them: between running kernels, by NCCL, or through
 * the host. Calls marked "collective" are made by all ranks in the same order; each waits for all. */
#ifndef KN_RUNTIME_COMM_COMM_H
#define KN_RUNTIME_COMM_COMM_H

#include "runtime/comm/team.h"
#include "runtime/device/device.h"

enum { KN_MAX_RANKS = 1024 };

typedef enum kn_comm_path { KN_PATH_KERNEL, KN_PATH_NCCL, KN_PATH_HOST } kn_comm_path;

/* The application's kiln_all_gather_fn: enumerations without negative values are unsigned. */
typedef unsigned (*kn_all_gather_fn)(void *user, const void *mine, void *all, size_t bytes);

typedef struct kn_comm_config {
    kn_device *dev;
    const kn_allocator *from;
    int rank, count;
    /* how they find each other: one of these */
    kn_team *team;
    kn_all_gather_fn all_gather;
    void *user;
    void *nccl; /* an ncclComm_t; it may also be there besides */
    int deadline_ms;
    const char *path; /* NULL: chosen; "kernel", "nccl", "host" */
} kn_comm_config;

typedef struct kn_comm kn_comm;

/* Collective. The device outlives it. */
kn_status kn_comm_open(const kn_comm_config *config, kn_comm **comm);
void kn_comm_keep(kn_comm *comm);
void kn_comm_drop(kn_comm *comm); /* NULL: none */

int kn_comm_rank(const kn_comm *comm);
int kn_comm_count(const kn_comm *comm);
kn_comm_path kn_comm_path_of(const kn_comm *comm);
const char *kn_comm_path_name(kn_comm_path path);

/* RUN, for good, once a rank did not come to a collective call or to a kernel. */
kn_status kn_comm_check(kn_comm *comm);
/* Host memory: all[r * bytes] on is what rank r gave. Collective. */
kn_status kn_comm_gather(kn_comm *comm, const void *mine, void *all, size_t bytes);
/* Whether all could do their part. If not, those that could fail with the message of the first that could not. Collective. */
kn_status kn_comm_all_well(kn_comm *comm, kn_status mine);
/* Is the number the same on all ranks? */
kn_status kn_comm_same(kn_comm *comm, uint64_t mine, bool *same);
/* The same, and that all have the same `lines`: ARGUMENT with the first line that is not. Collective. */
kn_status kn_comm_agree(kn_comm *comm, kn_status mine, const char *lines);

/* What kernels that exchange up to `words` words of 32 bits a rank and launch take as their kn_ranks: it lasts as long as the
 * communicator. Of KN_PATH_KERNEL. Collective. */
kn_status kn_comm_mailbox(kn_comm *comm, size_t words, void **ranks);
/* Makes ready what kn_comm_exchange() needs, for this rank alone; otherwise the first does. */
kn_status kn_comm_load(kn_comm *comm);
/* Memory of the device, count * bytes of it `all`, in which `mine` may have its place: as kn_comm_gather(), in order with
 * what is on the stream. Collective. */
kn_status kn_comm_exchange(kn_comm *comm, const void *mine, void *all, size_t bytes, void *stream);
/* What is submitted to the stream after it begins on all devices at one moment, as near as they can. Collective. */
kn_status kn_comm_barrier(kn_comm *comm, void *stream);

#endif
