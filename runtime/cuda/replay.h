/* Launches by a graph of one kernel: less than half of the host's time of cuLaunchKernel(), least with the parameters of the
 * launch before, and the device begins 3 us sooner where it was idle (docs/performance.md).
 *
 * A graph that is launched again waits for its last launch, in whichever stream that was, and takes neither priority nor
 * attributes from the stream. So there is one for each kernel, and only the default stream (NULL) launches it: that is one
 * stream, without priority, which is never captured. Not for kernels in clusters, whose size a graph cannot be told anew. */
#ifndef KN_RUNTIME_CUDA_REPLAY_H
#define KN_RUNTIME_CUDA_REPLAY_H

#include "runtime/cuda/driver.h"
#include "runtime/device.h"
#include "runtime/params.h"

typedef struct kn_replay {
    kn_cu_graph graph;
    kn_cu_graph_node node;
    kn_cu_graph_exec exec; /* NULL: there is none */
    int busy;              /* atomic: a thread is submitting; others launch without it */
    int nparams;
    kn_grid grid;         /* what it launches */
    kn_param_cell *cells; /* likewise, nparams of them, and */
    void **params;        /* where each is */
} kn_replay;

/* For launches of `function`, which has nparams parameters; all 0 where the driver cannot. With the context current. */
void kn_replay_make(kn_replay *r, const kn_driver *d, const kn_allocator *from,
                    kn_cu_function function, int nparams, bool cooperative);
void kn_replay_finish(kn_replay *r, const kn_driver *d, const kn_allocator *from);

/* Submits to the default stream, in order with what else is there. False: nothing was submitted, and the caller launches by
 * itself. Any thread, with the context current. */
bool kn_replay_submit(kn_replay *r, const kn_driver *d, kn_cu_function function, const kn_grid *g,
                      const kn_param_cell *cells);

#endif
