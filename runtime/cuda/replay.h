/* Launches by a graph of one kernel, which takes less of the host's time than cuLaunchKernel() and starts an idle device
 * sooner (docs/lab/host-time.md).
 *
 * On the device a graph takes no longer than a launch as long as it keeps the parameters that it was made with; changed
 * ones it reads from memory. So a kernel has one graph, of the launch that was asked for so often in a row that making
 * it pays. All others are launches.
 *
 * A graph that is launched again waits for its last launch, in whichever stream that was, and takes neither priority
 * nor attributes from the stream. So only the default stream (NULL) launches it: that is one stream, without priority,
 * which is never captured. */
#ifndef KN_RUNTIME_CUDA_REPLAY_H
#define KN_RUNTIME_CUDA_REPLAY_H

#include "runtime/cuda/driver.h"
#include "runtime/device/device.h"
#include "runtime/device/params.h"

/* A launch: its grid and nparams parameters. */
typedef struct kn_replay_call {
    kn_grid grid;
    kn_param_cell *cells;
} kn_replay_call;

typedef struct kn_replay {
    kn_cu_graph_exec exec;     /* NULL: there is none yet */
    kn_replay_call made, last; /* what it launches; what was asked for last */
    int again;                 /* times in a row that it was */
    int busy;                  /* atomic: a thread is here; others launch without it */
    int nparams;
    bool in_clusters;
    void **params; /* where those of `last` are; NULL: there will be no graph */
} kn_replay;

/* For launches of a kernel that has nparams parameters. */
void kn_replay_open(kn_replay *r, const kn_driver *d, const kn_allocator *from, int nparams,
                    bool in_clusters);
void kn_replay_close(kn_replay *r, const kn_driver *d, const kn_allocator *from);

/* Submits to the default stream, in order with what else is there. False: nothing was submitted, and the caller
 * launches by itself. Any thread, with the context current. */
bool kn_replay_submit(kn_replay *r, const kn_driver *d, kn_cu_function function, const kn_grid *g,
                      const kn_param_cell *cells);

#endif
