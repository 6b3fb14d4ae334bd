/* --ranks N: a program on N devices, of one process. */
#ifndef KN_CLI_RANKS_H
#define KN_CLI_RANKS_H

#include "cli/session.h"

typedef struct kn_rank {
    kn_session session;
    kn_args args; /* its own data */
    kiln_prog *unfused;
    /* what its thread does */
    kiln_team *team;
    void *nccl; /* its ncclComm_t; NULL: the team */
    int number, status;
    kiln_measurement fused_time, unfused_time;
    kn_err e;
} kn_rank;

/* Ranks with a communicator, on `device` each, or a GPU each where it is NULL and none is asked for. On failure too, they
 * are to be finished. */
int kn_ranks_open(kn_rank *ranks, const kn_args *args, const char *device, kn_err *e);
/* Opens, loads and measures all ranks, of which *slowest is the one whose fused program took longest. On failure too, they
 * are to be finished. */
int kn_ranks_measure(kn_rank *ranks, const kn_args *args, const kn_rank **slowest, kn_err *e);
void kn_ranks_finish(kn_rank *ranks, int n);

#endif
