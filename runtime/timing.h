/* Device times of cold runs: memory larger than any cache is written before each. */
#ifndef KN_RUNTIME_TIMING_H
#define KN_RUNTIME_TIMING_H

#include "runtime/comm/comm.h"

typedef struct kn_timing {
    kn_device *dev;
    char *flush; /* device memory, of `bytes` */
    size_t bytes;
    kn_comm *comm; /* ranks that begin together; NULL: this one alone */
} kn_timing;

/* `t` needs no kn_timing_close() when this fails. */
kn_status kn_timing_open(kn_timing *t, kn_device *dev);
void kn_timing_close(kn_timing *t);

/* Microseconds from before to after what fn(user) submits to `stream`. Waits for it. */
kn_status kn_timing_run(kn_timing *t, void *stream, kn_status (*fn)(void *user), void *user,
                        double *us);

/* Of n numbers, at least one, which are sorted by it. */
double kn_median(double *x, int n);

#endif
