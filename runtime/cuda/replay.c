#include "runtime/cuda/replay.h"

#include <string.h>

#include "runtime/cuda/stream.h"

/* Making a graph and giving up another takes as long as some seven launches by it spare (docs/lab/host-time.md). */
enum { OFTEN = 16 };

static bool has_graphs(const kn_driver *d)
{
    return d->cuGraphCreate && d->cuGraphAddKernelNode_v2 && d->cuGraphKernelNodeSetAttribute &&
           d->cuGraphInstantiateWithFlags && d->cuGraphLaunch && d->cuGraphExecDestroy &&
           d->cuGraphDestroy && d->cuThreadExchangeStreamCaptureMode;
}

void kn_replay_open(kn_replay *r, const kn_driver *d, const kn_allocator *from, int nparams,
                    bool in_clusters)
{
    size_t n = (size_t)nparams + 1, bytes = n * (2 * sizeof *r->made.cells + sizeof *r->params);
    *r = (kn_replay){.nparams = nparams, .in_clusters = in_clusters};
    r->made.cells = has_graphs(d) ? from->alloc(from->user, bytes) : NULL;
    if (!r->made.cells)
        return;
    memset(r->made.cells, 0, bytes);
    r->last.cells = r->made.cells + n;
    r->params = (void **)(r->last.cells + n);
    for (int i = 0; i < nparams; i++)
        r->params[i] = &r->last.cells[i];
}

static void drop(kn_replay *r, const kn_driver *d)
{
    if (r->exec)
        d->cuGraphExecDestroy(r->exec); /* launches on their way end as they would */
    r->exec = NULL;
}

void kn_replay_close(kn_replay *r, const kn_driver *d, const kn_allocator *from)
{
    drop(r, d);
    from->release(from->user, r->made.cells);
    *r = (kn_replay){0};
}

static bool is_same(const kn_replay *r, const kn_replay_call *call, const kn_grid *g,
                    const kn_param_cell *cells)
{
    const kn_grid *own = &call->grid;
    return memcmp(call->cells, cells, sizeof *cells * (size_t)r->nparams) == 0 &&
           memcmp(own->grid, g->grid, sizeof g->grid) == 0 &&
           memcmp(own->block, g->block, sizeof g->block) == 0 &&
           memcmp(own->cluster, g->cluster, sizeof g->cluster) == 0 && own->shared == g->shared;
}

static void remember(const kn_replay *r, kn_replay_call *call, const kn_grid *g,
                     const kn_param_cell *cells)
{
    call->grid = *g;
    memcpy(call->cells, cells, sizeof *cells * (size_t)r->nparams);
}

/* The last call, as a graph. */
static bool add_node(const kn_replay *r, const kn_driver *d, kn_cu_graph graph,
                     kn_cu_function function)
{
    const kn_grid *g = &r->last.grid;
    const kn_cu_kernel_node kernel = {
        .function = function,
        .grid = {g->grid[0], g->grid[1], g->grid[2]},
        .block = {g->block[0], g->block[1], g->block[2]},
        .shared = (unsigned)g->shared,
        .params = r->params,
    };
    const kn_cu_attribute_value together = {.cooperative = 1},
                                cluster = {.cluster = {g->cluster[0], 1, 1}};
    kn_cu_graph_node node;
    return d->cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel) == KN_CU_SUCCESS &&
           (!g->cooperative || d->cuGraphKernelNodeSetAttribute(node, KN_CU_LAUNCH_COOPERATIVE,
                                                                &together) == KN_CU_SUCCESS) &&
           (!r->in_clusters || d->cuGraphKernelNodeSetAttribute(node, KN_CU_LAUNCH_CLUSTER,
                                                                &cluster) == KN_CU_SUCCESS);
}

static void make(kn_replay *r, const kn_driver *d, kn_cu_function function)
{
    kn_cu_graph graph;
    int mode = kn_uncaptured(d);
    drop(r, d);
    r->again = 0;
    if (d->cuGraphCreate(&graph, 0) == KN_CU_SUCCESS) {
        if (!add_node(r, d, graph, function) ||
            d->cuGraphInstantiateWithFlags(&r->exec, graph, 0) != KN_CU_SUCCESS)
            r->exec = NULL;
        d->cuGraphDestroy(graph);
        remember(r, &r->made, &r->last.grid, r->last.cells);
    }
    kn_uncaptured_end(d, mode);
}

/* Is there a graph of this call, now? */
static bool has_call(kn_replay *r, const kn_driver *d, kn_cu_function function, const kn_grid *g,
                     const kn_param_cell *cells)
{
    if (r->exec && is_same(r, &r->made, g, cells))
        return true;
    if (!is_same(r, &r->last, g, cells)) {
        remember(r, &r->last, g, cells);
        r->again = 0;
        return false;
    }
    if (++r->again < OFTEN)
        return false;
    make(r, d, function);
    return r->exec != NULL;
}

bool kn_replay_submit(kn_replay *r, const kn_driver *d, kn_cu_function function, const kn_grid *g,
                      const kn_param_cell *cells)
{
    if (!r->params || __atomic_exchange_n(&r->busy, 1, __ATOMIC_ACQUIRE))
        return false;
    bool submitted =
        has_call(r, d, function, g, cells) && d->cuGraphLaunch(r->exec, NULL) == KN_CU_SUCCESS;
    __atomic_store_n(&r->busy, 0, __ATOMIC_RELEASE);
    return submitted;
}
