#include "runtime/cuda/nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "runtime/cuda/cuda_device.h"

typedef struct nccl {
#define NEED(entry, params) int(*entry) params;
#include "runtime/cuda/nccl.def"
#undef NEED
    const char *(*ncclGetErrorString)(int result);
} nccl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Written by load() under `once`, constant afterwards. */
static nccl table;
static char problem[256];

static void set_entry(void *entry, void *symbol) { memcpy(entry, &symbol, sizeof symbol); }

static void load(void)
{
    void *lib = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL), *symbol;
    if (!lib) {
        snprintf(problem, sizeof problem, "no NCCL: %.200s", dlerror());
        return;
    }
#define NEED(entry, params)                                                                        \
    if (!(symbol = dlsym(lib, #entry)))                                                            \
        snprintf(problem, sizeof problem, "no usable NCCL: libnccl.so.2 has no " #entry);          \
    set_entry(&table.entry, symbol);
#include "runtime/cuda/nccl.def"
#undef NEED
    set_entry(&table.ncclGetErrorString, dlsym(lib, "ncclGetErrorString"));
}

static kn_status find(const kn_device *dev, const nccl **n)
{
    if (dev->ops != &kn_cuda_device)
        return kn_fail(KN_DEVICE, "an ncclComm_t is for GPUs; this context is on \"%s\"",
                       dev->ops->kind);
    pthread_once(&once, load);
    if (problem[0])
        return kn_fail(KN_DEVICE, "%s", problem);
    *n = &table;
    return KN_OK;
}

static kn_status check(const nccl *n, int result, const char *call)
{
    if (result == 0)
        return KN_OK;
    return kn_fail(KN_RUN, "%s: %s (%d)", call,
                   n->ncclGetErrorString ? n->ncclGetErrorString(result) : "failed", result);
}

kn_status kn_nccl_place(kn_device *dev, void *comm, int *rank, int *count)
{
    const nccl *n;
    KN_TRY(find(dev, &n));
    KN_TRY(check(n, n->ncclCommUserRank(comm, rank), "ncclCommUserRank"));
    return check(n, n->ncclCommCount(comm, count), "ncclCommCount");
}

kn_status kn_nccl_gather(kn_device *dev, void *comm, const void *mine, void *all, size_t bytes,
                         void *stream)
{
    enum { NCCL_INT8 = 0 };
    const nccl *n;
    KN_TRY(find(dev, &n));
    KN_TRY(kn_cuda_enter(kn_cuda_of(dev)));
    kn_status status =
        check(n, n->ncclAllGather(mine, all, bytes, NCCL_INT8, comm, stream), "ncclAllGather");
    kn_cuda_leave(kn_cuda_of(dev));
    return status;
}

kn_status kn_nccl_gather_host(kn_device *dev, void *comm, int count, const void *mine, void *all,
                              size_t bytes)
{
    const kn_device_ops *ops = dev->ops;
    void *device;
    KN_TRY(ops->alloc(dev, bytes * ((size_t)count + 1), &device));
    char *gathered = (char *)device + bytes;
    kn_status status = ops->upload(dev, device, mine, bytes);
    if (status == KN_OK)
        status = kn_nccl_gather(dev, comm, device, gathered, bytes, NULL);
    if (status == KN_OK)
        status = ops->sync(dev, NULL);
    if (status == KN_OK)
        status = ops->download(dev, all, gathered, bytes * (size_t)count);
    ops->release(dev, device);
    return status;
}
