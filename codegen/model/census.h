/* Counts of temporaries, barriers and bytes: a program's cost for `explain`, the benchmarks and the tests. */
#ifndef KN_CODEGEN_CENSUS_H
#define KN_CODEGEN_CENSUS_H

#include "codegen/kir/kir.h"

typedef struct kn_census {
    int launches;
    int temporaries;
    int64_t temporary_bytes;
    /* barriers by level; the boundary of two launches counts as a grid barrier */
    int grid, cluster, block, warp;
    /* global memory: what each sweep loads, and what it stores, once */
    int64_t bytes_read, bytes_written;
    int64_t *input_read;     /* of bytes_read, per graph input */
    int64_t *output_written; /* of bytes_written, per graph output */
} kn_census;

/* Counts one launch for each operation of `g`: each result that is no output is a temporary, and each operand is read
 * once. A copy that only reshapes a value on its way to an output is no operation. A plan without fusion runs that,
 * if no reduction is split. */
kn_census kn_census_of_graph(kn_arena *a, const kn_graph *g, const int64_t *sizes);

/* Counts what kernels do. `bufs`, with all temporaries, need not be the kernels' own. */
kn_census kn_census_of_kernels(kn_arena *a, const kn_graph *g, kn_kernel *const *kernels, int n,
                               const kn_buf *bufs, int nbufs);

/* Counts what phases do that are not scheduled yet. A combine counts as a grid barrier, which it may turn out to
 * need. */
kn_census kn_census_of_phases(kn_arena *a, const kn_graph *g, const kn_phase *phases, int n,
                              const kn_buf *bufs, int nbufs);

/* Are all counts equal? */
bool kn_census_same(const kn_census *x, const kn_census *y);

#endif
