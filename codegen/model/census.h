/* Counting temporaries, barriers and bytes: what explain, the benchmarks and the tests call the program's cost. */
#ifndef KN_CODEGEN_CENSUS_H
#define KN_CODEGEN_CENSUS_H

#include "codegen/kir/kir.h"

typedef struct kn_census {
    int launches;
    int temporaries;
    int64_t temporary_bytes;
    int grid, cluster, block,
        warp; /* barriers by level; from one launch to the next is a grid barrier */
    int64_t bytes_read, bytes_written; /* global memory, each sweep's loads and stores once */
    int64_t *input_read;               /* of these, per graph input */
    int64_t *output_written;           /* and per graph output */
} kn_census;

/* One launch an operation of `g`: every result that is no output is a temporary, and each operand is read
 * once. A copy that only gives a value another shape on its way out is no operation: the value is written there.
 * This is what a plan with fusion off runs where no reduction is split. */
kn_census kn_census_of_graph(kn_arena *a, const kn_graph *g, const int64_t *sizes);

/* Kernels as they are. `bufs`, with all temporaries, need not be the kernels' own. */
kn_census kn_census_of_kernels(kn_arena *a, const kn_graph *g, kn_kernel *const *kernels, int n,
                               const kn_buf *bufs, int nbufs);

/* Phases that no schedule has bound to a machine yet. The combine of a sweep has no level: it counts as one of
 * the whole grid, which it may have to be. */
kn_census kn_census_of_phases(kn_arena *a, const kn_graph *g, const kn_phase *phases, int n,
                              const kn_buf *bufs, int nbufs);

/* Are the counts equal? */
bool kn_census_same(const kn_census *x, const kn_census *y);

#endif
