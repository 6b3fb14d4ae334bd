/* What the files of runtime/comm/ share. */
#ifndef KN_RUNTIME_COMM_IMPL_H
#define KN_RUNTIME_COMM_IMPL_H

#include <pthread.h>

#include "runtime/comm/comm.h"

typedef struct kn_mailbox {
    struct kn_mailbox *older;
    size_t words;
    void *ranks; /* what kernels take, in memory of the device; behind it a byte a rank */
    size_t ranks_bytes;
    kn_peer_memory mailboxes[]; /* by rank */
} kn_mailbox;

/* How a rank fared. */
typedef struct kn_report {
    int status;
    char why[252];
} kn_report;

struct kn_comm {
    int users; /* atomic */
    kn_comm_config config;
    /* a report, or less, of each rank: made when it is opened, so that no rank lacks memory where the others wait for it */
    kn_report *reports;
    kn_comm_path path;
    char (*processes)[16]; /* by rank: the same for ranks of one process */
    kn_peer_memory
        timed_out; /* KN_PATH_KERNEL: a kernel's word to the host, 1 + the rank that did not come */
    kn_mailbox *mailboxes; /* atomic: the newest, which is the largest, first */
    pthread_mutex_t loading;
    kn_code *gather;      /* the kernel, once it is loaded */
    pthread_mutex_t lock; /* of what follows */
    kn_status failed;     /* for good */
    char why[256];
};

static inline kn_mailbox *kn_newest_mailbox(kn_comm *c)
{
    return __atomic_load_n(&c->mailboxes, __ATOMIC_ACQUIRE);
}

/* A mailbox for `words` words a rank and launch, which becomes the newest. Collective. mailbox.c */
kn_status kn_mailbox_make(kn_comm *c, size_t words);
void kn_mailboxes_close(kn_comm *c);

#endif
