#include "runtime/cuda/replay.h"

#include <string.h>

static bool has_graphs(const kn_driver *d)
{
    return d->cuGraphCreate && d->cuGraphAddKernelNode_v2 && d->cuGraphKernelNodeSetAttribute &&
           d->cuGraphInstantiateWithFlags && d->cuGraphExecKernelNodeSetParams_v2 &&
           d->cuGraphLaunch && d->cuGraphExecDestroy && d->cuGraphDestroy;
}

static kn_cu_kernel_node node_of(kn_cu_function function, const kn_grid *g, void **params)
{
    return (kn_cu_kernel_node){
        .function = function,
        .grid = {g->grid[0], g->grid[1], g->grid[2]},
        .block = {g->block[0], g->block[1], g->block[2]},
        .shared = (unsigned)g->shared,
        .params = params,
    };
}

static bool instantiate(kn_replay *r, const kn_driver *d, const kn_cu_kernel_node *node,
                        bool cooperative)
{
    const kn_cu_attribute_value together = {.cooperative = 1};
    if (d->cuGraphCreate(&r->graph, 0) != KN_CU_SUCCESS)
        r->graph = NULL;
    bool ready =
        r->graph &&
        d->cuGraphAddKernelNode_v2(&r->node, r->graph, NULL, 0, node) == KN_CU_SUCCESS &&
        (!cooperative || d->cuGraphKernelNodeSetAttribute(r->node, KN_CU_LAUNCH_COOPERATIVE,
                                                          &together) == KN_CU_SUCCESS) &&
        d->cuGraphInstantiateWithFlags(&r->exec, r->graph, 0) == KN_CU_SUCCESS;
    if (!ready)
        r->exec = NULL;
    return ready;
}

/* Its first launch is none that is ever asked for. */
void kn_replay_make(kn_replay *r, const kn_driver *d, const kn_allocator *from,
                    kn_cu_function function, int nparams, bool cooperative)
{
    const kn_grid least = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    size_t n = (size_t)nparams + 1, bytes = n * (sizeof *r->cells + sizeof *r->params);
    *r = (kn_replay){.nparams = nparams};
    r->cells = has_graphs(d) ? from->alloc(from->user, bytes) : NULL;
    if (!r->cells)
        return;
    memset(r->cells, 0, bytes);
    r->params = (void **)(r->cells + n);
    for (int i = 0; i < nparams; i++)
        r->params[i] = &r->cells[i];
    const kn_cu_kernel_node node = node_of(function, &least, r->params);
    if (!instantiate(r, d, &node, cooperative))
        kn_replay_finish(r, d, from);
}

void kn_replay_finish(kn_replay *r, const kn_driver *d, const kn_allocator *from)
{
    if (r->exec)
        d->cuGraphExecDestroy(r->exec); /* launches on their way end as they would */
    if (r->graph)
        d->cuGraphDestroy(r->graph);
    from->release(from->user, r->cells);
    *r = (kn_replay){0};
}

static bool same_grid(const kn_grid *a, const kn_grid *b)
{
    return memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
           memcmp(a->block, b->block, sizeof a->block) == 0 && a->shared == b->shared;
}

/* Makes it launch this. */
static bool set(kn_replay *r, const kn_driver *d, kn_cu_function function, const kn_grid *g,
                const kn_param_cell *cells)
{
    size_t bytes = sizeof *r->cells * (size_t)r->nparams;
    if (same_grid(&r->grid, g) && memcmp(r->cells, cells, bytes) == 0)
        return true;
    const kn_cu_kernel_node node = node_of(function, g, r->params);
    memcpy(r->cells, cells, bytes);
    bool done = d->cuGraphExecKernelNodeSetParams_v2(r->exec, r->node, &node) == KN_CU_SUCCESS;
    r->grid = done ? *g : (kn_grid){0};
    return done;
}

bool kn_replay_submit(kn_replay *r, const kn_driver *d, kn_cu_function function, const kn_grid *g,
                      const kn_param_cell *cells)
{
    if (!r->exec || !d->cuGraphLaunch || __atomic_exchange_n(&r->busy, 1, __ATOMIC_ACQUIRE))
        return false;
    bool submitted =
        set(r, d, function, g, cells) && d->cuGraphLaunch(r->exec, NULL) == KN_CU_SUCCESS;
    __atomic_store_n(&r->busy, 0, __ATOMIC_RELEASE);
    return submitted;
}
