#include "runtime/cuda/peer.h"

#include <string.h>

#include "runtime/cuda/cuda_device.h"
#include "runtime/device/shared.h"

/* The driver hands whole allocations to other processes, which are of such sizes. */
enum { GRAIN = 2 << 20 };

/* In this process it belongs to all that reach it: the last frees it, in the context that it was made in. */
struct kn_peer_block {
    kn_shared shared; /* first */
    const kn_driver *driver;
    kn_cu_context context;
    int device;
    kn_cu_ptr memory; /* of the GPU; 0: of the host */
    void *host;
    bool opened; /* another process's */
};

/* It keeps the context; NULL: the error is the thread's last. */
static kn_peer_block *new_block(const kn_cuda *d)
{
    kn_peer_block *block = kn_malloc_allocator.alloc(NULL, sizeof *block);
    if (!block) {
        kn_fail(KN_MEMORY, "out of memory: %zu bytes", sizeof *block);
        return NULL;
    }
    *block = (kn_peer_block){.driver = d->driver, .context = d->context, .device = d->device};
    kn_cu_context retained;
    if (KN_CU(d->driver, cuDevicePrimaryCtxRetain, &retained, d->device) == KN_OK) {
        kn_shared_begin(&block->shared);
        return block;
    }
    kn_malloc_allocator.release(NULL, block);
    return NULL;
}

static void release(kn_peer_block *block)
{
    kn_cu_context popped;
    if (!kn_shared_leave(&block->shared))
        return;
    const kn_driver *drv = block->driver;
    if (drv->cuCtxPushCurrent_v2(block->context) == KN_CU_SUCCESS) {
        if (block->opened)
            drv->cuIpcCloseMemHandle(block->memory);
        else if (block->memory)
            drv->cuMemFree_v2(block->memory);
        else if (block->host)
            drv->cuMemFreeHost(block->host);
        drv->cuCtxPopCurrent_v2(&popped);
    }
    drv->cuDevicePrimaryCtxRelease_v2(block->device);
    kn_malloc_allocator.release(NULL, block);
}

static kn_status alloc_on_gpu(const kn_cuda *d, size_t bytes, kn_peer_block *block)
{
    bytes = (bytes + GRAIN - 1) / GRAIN * GRAIN;
    KN_TRY(KN_CU(d->driver, cuMemAlloc_v2, &block->memory, bytes));
    KN_TRY(KN_CU(d->driver, cuMemsetD8Async, block->memory, 0, bytes, NULL));
    return KN_CU(d->driver, cuStreamSynchronize, NULL);
}

static kn_status alloc_on_host(const kn_cuda *d, size_t bytes, kn_peer_block *block, kn_cu_ptr *at)
{
    if (!d->driver->cuMemHostAlloc || !d->driver->cuMemHostGetDevicePointer_v2 ||
        !d->driver->cuMemFreeHost)
        return kn_fail(KN_DEVICE, "the driver maps no host memory");
    KN_TRY(KN_CU(d->driver, cuMemHostAlloc, &block->host, bytes, KN_CU_HOST_MAPPED));
    memset(block->host, 0, bytes);
    return KN_CU(d->driver, cuMemHostGetDevicePointer_v2, at, block->host, 0);
}

static kn_status alloc_memory(kn_device *dev, size_t bytes, bool on_host, kn_peer_memory *memory)
{
    const kn_cuda *d = kn_cuda_of(dev);
    kn_cu_ptr at = 0;
    kn_peer_block *block = new_block(d);
    if (!block)
        return kn_last_status();
    kn_status status = kn_cuda_enter(d);
    if (status == KN_OK) {
        status = on_host ? alloc_on_host(d, bytes, block, &at) : alloc_on_gpu(d, bytes, block);
        kn_cuda_leave(d);
    }
    if (status != KN_OK) {
        release(block);
        return kn_fail_prefix(status, "%zu bytes for all ranks: ", bytes);
    }
    *memory =
        (kn_peer_memory){(void *)(uintptr_t)(on_host ? at : block->memory), block->host, block};
    return KN_OK;
}

/* Where there is no handle for other processes, it is left 0, and they say so. */
static kn_status get_handle(kn_device *dev, const kn_peer_memory *memory, kn_peer_handle *handle)
{
    const kn_cuda *d = kn_cuda_of(dev);
    if (!d->driver->cuDeviceGetUuid)
        return kn_fail(KN_DEVICE, "the driver does not tell which GPU is which");
    KN_TRY(KN_CU(d->driver, cuDeviceGetUuid, handle->device, d->device));
    handle->number = memory->block->shared.number;
    if (!d->driver->cuIpcGetMemHandle || !memory->block->memory)
        return KN_OK;
    KN_TRY(kn_cuda_enter(d));
    kn_cu_ipc_handle ipc;
    if (d->driver->cuIpcGetMemHandle(&ipc, memory->block->memory) == KN_CU_SUCCESS)
        memcpy(handle->ipc, &ipc, sizeof ipc);
    kn_cuda_leave(d);
    return KN_OK;
}

static kn_status reach_here(const kn_cuda *d, kn_peer_block *block)
{
    const kn_driver *drv = d->driver;
    int can = 0;
    if (!drv->cuDeviceCanAccessPeer || !drv->cuCtxEnablePeerAccess ||
        drv->cuDeviceCanAccessPeer(&can, d->device, block->device) != KN_CU_SUCCESS || !can)
        return kn_fail(KN_DEVICE, "GPU %d cannot use the memory of device %d", d->ordinal,
                       block->device);
    int result = drv->cuCtxEnablePeerAccess(block->context, 0);
    if (result == KN_CU_PEER_ACCESS_ALREADY_ENABLED || result == KN_CU_SUCCESS)
        return KN_OK;
    kn_driver_check(drv, result, "cuCtxEnablePeerAccess");
    return kn_fail_prefix(KN_DEVICE, "the memory of device %d: ", block->device);
}

static kn_status reach_other_process(const kn_cuda *d, const kn_peer_handle *handle,
                                     kn_peer_block *block)
{
    static const char none[sizeof handle->ipc];
    kn_cu_ipc_handle ipc;
    if (memcmp(none, handle->ipc, sizeof none) == 0 || !d->driver->cuIpcOpenMemHandle_v2 ||
        !d->driver->cuIpcCloseMemHandle)
        return kn_fail(KN_DEVICE, "the driver shares no memory with other processes");
    memcpy(&ipc, handle->ipc, sizeof ipc);
    if (KN_CU(d->driver, cuIpcOpenMemHandle_v2, &block->memory, ipc, KN_CU_IPC_PEER_ACCESS) !=
        KN_OK)
        return kn_fail_prefix(KN_DEVICE, "the memory of another process: ");
    block->opened = true;
    return KN_OK;
}

static kn_status open_handle(kn_device *dev, const kn_peer_handle *handle, bool here,
                             kn_peer_memory *memory)
{
    const kn_cuda *d = kn_cuda_of(dev);
    kn_peer_block *block =
        here ? (kn_peer_block *)(void *)kn_shared_find(handle->number) : new_block(d);
    if (!block)
        return here ? kn_fail(KN_RUN, "its communicator is closed") : kn_last_status();
    kn_status status = kn_cuda_enter(d);
    if (status == KN_OK) {
        status = here ? reach_here(d, block) : reach_other_process(d, handle, block);
        kn_cuda_leave(d);
    }
    if (status != KN_OK)
        release(block);
    else
        *memory = (kn_peer_memory){(void *)(uintptr_t)block->memory, NULL, block};
    return status;
}

static void close_memory(kn_device *dev, kn_peer_memory *memory)
{
    (void)dev;
    if (memory->block)
        release(memory->block);
    *memory = (kn_peer_memory){0};
}

const kn_peer_ops kn_cuda_peer_ops = {alloc_memory, get_handle, open_handle, close_memory};
