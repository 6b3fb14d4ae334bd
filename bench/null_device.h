/* A device that takes kernels as a GPU does and runs none of them: what is left of a call is kiln's own. */
#ifndef KN_BENCH_NULL_DEVICE_H
#define KN_BENCH_NULL_DEVICE_H

#include <stdlib.h>
#include <string.h>

#include "codegen/kir/grid.h"
#include "frontend/handles.h"

typedef struct null_device {
    kn_device base;
    kn_target target;
    kn_status (*compile)(struct null_device *dev, const kn_kernel *kernel); /* or NULL */
    void *user;
    int allocations; /* of device memory, so far */
} null_device;

struct kn_code {
    int nparams;
};

static inline const kn_target *null_target(const kn_device *dev)
{
    return &((const null_device *)dev)->target;
}

static inline kn_status null_alloc(kn_device *dev, size_t bytes, void **ptr)
{
    __atomic_fetch_add(&((null_device *)dev)->allocations, 1, __ATOMIC_RELAXED);
    *ptr = aligned_alloc(256, (bytes + 256) / 256 * 256);
    return *ptr ? KN_OK : kn_fail(KN_MEMORY, "out of memory");
}

static inline void null_release(kn_device *dev, void *ptr)
{
    (void)dev;
    free(ptr);
}

static inline kn_status null_copy(kn_device *dev, void *to, const void *from, size_t bytes,
                                  void *stream)
{
    (void)dev, (void)to, (void)from, (void)bytes, (void)stream;
    return KN_OK;
}

static inline kn_status null_zero(kn_device *dev, void *to, size_t bytes, void *stream)
{
    (void)dev, (void)to, (void)bytes, (void)stream;
    return KN_OK;
}

static inline kn_status null_sync(kn_device *dev, void *stream)
{
    (void)dev, (void)stream;
    return KN_OK;
}

static inline uint64_t null_stream_id(kn_device *dev, void *stream)
{
    (void)dev;
    return (uintptr_t)stream;
}

static inline bool null_reaches(kn_device *dev, const void *data)
{
    (void)dev, (void)data;
    return true;
}

static inline kn_status null_prepare(kn_device *dev, const kn_kernel *kernel, kn_code **code)
{
    null_device *d = (null_device *)dev;
    if (d->compile)
        KN_TRY(d->compile(d, kernel));
    *code = malloc(sizeof **code);
    __atomic_fetch_add(&dev->compiles, 1, __ATOMIC_RELAXED);
    return *code ? kn_count_params(kernel, &(*code)->nparams) : kn_fail(KN_MEMORY, "out of memory");
}

static inline void null_discard(kn_device *dev, kn_code *code)
{
    (void)dev;
    free(code);
}

static inline void null_grid(const kn_device *dev, const kn_code *code, const kn_kernel *kernel,
                             kn_grid *grid)
{
    (void)dev, (void)code;
    *grid = (kn_grid){.grid = {kn_grid_blocks(kernel, 2, 132), 1, 1},
                      .block = {(unsigned)kernel->threads, 1, 1}};
}

static inline kn_status null_launch(kn_device *dev, const kn_launch *launch, const kn_call *call,
                                    void *stream)
{
    (void)stream;
    kn_packed_params params;
    if (launch->params.n != launch->code->nparams)
        return kn_fail(KN_INTERNAL, "a launch with the parameters of another kernel");
    KN_TRY(kn_params_pack(&launch->params, call, &params));
    __asm__ volatile("" ::"r"(params.pointers) : "memory"); /* the driver would read them */
    __atomic_fetch_add(&dev->launches, 1, __ATOMIC_RELAXED);
    return KN_OK;
}

static const kn_device_ops null_ops = {
    .kind = "null",
    .runs_source = true,
    .target = null_target,
    .alloc = null_alloc,
    .release = null_release,
    .stream_id = null_stream_id,
    .copy = null_copy,
    .zero = null_zero,
    .sync = null_sync,
    .prepare = null_prepare,
    .discard = null_discard,
    .grid = null_grid,
    .launch = null_launch,
    .reaches = null_reaches,
};

/* A public context on such a device; all memory is the caller's. */
typedef struct null_context {
    null_device dev;
    kn_context core;
    kiln_ctx ctx;
} null_context;

static inline void null_open(null_context *n, const kn_allocator *from)
{
    *n = (null_context){.dev = {.base.ops = &null_ops}};
    kn_target_of_arch("sm_90", &n->dev.target);
    kn_context_init(&n->core, &n->dev.base, from);
    strcpy(n->core.name, "null");
    n->ctx = (kiln_ctx){.core = &n->core, .users = 1};
}

static inline void null_close(null_context *n) { kn_context_finish(&n->core); }

#endif
