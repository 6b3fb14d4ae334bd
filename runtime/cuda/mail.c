#include "runtime/cuda/mail.h"

#include <string.h>

#include "runtime/cuda/cuda_device.h"
#include "runtime/device/shared.h"

/* The driver hands whole allocations to other processes, which are of such sizes. */
enum { GRAIN = 2 << 20 };

/* In this process it belongs to all that reach it: the last frees it, in the context that it was made in. */
struct kn_mail_box {
    kn_shared shared; /* first */
    const kn_driver *driver;
    kn_cu_context context;
    int device;
    kn_cu_ptr memory; /* of the GPU; 0: of the host */
    void *host;
    bool opened; /* another process's */
};

/* It keeps the context; NULL: the error is the thread's last. */
static kn_mail_box *new_box(const kn_cuda *d)
{
    kn_mail_box *box = kn_malloc_allocator.alloc(NULL, sizeof *box);
    if (!box) {
        kn_fail(KN_MEMORY, "out of memory: %zu bytes", sizeof *box);
        return NULL;
    }
    *box = (kn_mail_box){.driver = d->driver, .context = d->context, .device = d->device};
    kn_cu_context retained;
    if (KN_CU(d->driver, cuDevicePrimaryCtxRetain, &retained, d->device) == KN_OK) {
        kn_shared_begin(&box->shared);
        return box;
    }
    kn_malloc_allocator.release(NULL, box);
    return NULL;
}

static void release(kn_mail_box *box)
{
    kn_cu_context popped;
    if (!kn_shared_leave(&box->shared))
        return;
    const kn_driver *drv = box->driver;
    if (drv->cuCtxPushCurrent_v2(box->context) == KN_CU_SUCCESS) {
        if (box->opened)
            drv->cuIpcCloseMemHandle(box->memory);
        else if (box->memory)
            drv->cuMemFree_v2(box->memory);
        else if (box->host)
            drv->cuMemFreeHost(box->host);
        drv->cuCtxPopCurrent_v2(&popped);
    }
    drv->cuDevicePrimaryCtxRelease_v2(box->device);
    kn_malloc_allocator.release(NULL, box);
}

static kn_status alloc_on_gpu(const kn_cuda *d, size_t bytes, kn_mail_box *box)
{
    bytes = (bytes + GRAIN - 1) / GRAIN * GRAIN;
    KN_TRY(KN_CU(d->driver, cuMemAlloc_v2, &box->memory, bytes));
    KN_TRY(KN_CU(d->driver, cuMemsetD8Async, box->memory, 0, bytes, NULL));
    return KN_CU(d->driver, cuStreamSynchronize, NULL);
}

static kn_status alloc_on_host(const kn_cuda *d, size_t bytes, kn_mail_box *box, kn_cu_ptr *at)
{
    if (!d->driver->cuMemHostAlloc || !d->driver->cuMemHostGetDevicePointer_v2 ||
        !d->driver->cuMemFreeHost)
        return kn_fail(KN_DEVICE, "the driver maps no host memory");
    KN_TRY(KN_CU(d->driver, cuMemHostAlloc, &box->host, bytes, KN_CU_HOST_MAPPED));
    memset(box->host, 0, bytes);
    return KN_CU(d->driver, cuMemHostGetDevicePointer_v2, at, box->host, 0);
}

static kn_status mail_open(kn_device *dev, size_t bytes, bool on_host, kn_mail *mail)
{
    const kn_cuda *d = kn_cuda_of(dev);
    kn_cu_ptr at = 0;
    kn_mail_box *box = new_box(d);
    if (!box)
        return kn_last_status();
    kn_status status = kn_cuda_enter(d);
    if (status == KN_OK) {
        status = on_host ? alloc_on_host(d, bytes, box, &at) : alloc_on_gpu(d, bytes, box);
        kn_cuda_leave(d);
    }
    if (status != KN_OK) {
        release(box);
        return kn_fail_prefix(status, "mail of %zu bytes: ", bytes);
    }
    *mail = (kn_mail){(void *)(uintptr_t)(on_host ? at : box->memory), box->host, box};
    return KN_OK;
}

/* Where there is no handle for other processes, it is left 0, and they say so. */
static kn_status mail_address(kn_device *dev, const kn_mail *mail, kn_mail_address *address)
{
    const kn_cuda *d = kn_cuda_of(dev);
    if (!d->driver->cuDeviceGetUuid)
        return kn_fail(KN_DEVICE, "the driver does not tell which GPU is which");
    KN_TRY(KN_CU(d->driver, cuDeviceGetUuid, address->device, d->device));
    address->number = mail->box->shared.number;
    if (!d->driver->cuIpcGetMemHandle || !mail->box->memory)
        return KN_OK;
    KN_TRY(kn_cuda_enter(d));
    kn_cu_ipc_handle handle;
    if (d->driver->cuIpcGetMemHandle(&handle, mail->box->memory) == KN_CU_SUCCESS)
        memcpy(address->handle, &handle, sizeof handle);
    kn_cuda_leave(d);
    return KN_OK;
}

static kn_status reach_here(const kn_cuda *d, kn_mail_box *box)
{
    const kn_driver *drv = d->driver;
    int can = 0;
    if (!drv->cuDeviceCanAccessPeer || !drv->cuCtxEnablePeerAccess ||
        drv->cuDeviceCanAccessPeer(&can, d->device, box->device) != KN_CU_SUCCESS || !can)
        return kn_fail(KN_DEVICE, "GPU %d cannot use the memory of device %d", d->ordinal,
                       box->device);
    int result = drv->cuCtxEnablePeerAccess(box->context, 0);
    if (result == KN_CU_PEER_ACCESS_ALREADY_ENABLED || result == KN_CU_SUCCESS)
        return KN_OK;
    kn_driver_check(drv, result, "cuCtxEnablePeerAccess");
    return kn_fail_prefix(KN_DEVICE, "the memory of device %d: ", box->device);
}

static kn_status reach_other_process(const kn_cuda *d, const kn_mail_address *address,
                                     kn_mail_box *box)
{
    static const char none[sizeof address->handle];
    kn_cu_ipc_handle handle;
    if (memcmp(none, address->handle, sizeof none) == 0 || !d->driver->cuIpcOpenMemHandle_v2 ||
        !d->driver->cuIpcCloseMemHandle)
        return kn_fail(KN_DEVICE, "the driver shares no memory with other processes");
    memcpy(&handle, address->handle, sizeof handle);
    if (KN_CU(d->driver, cuIpcOpenMemHandle_v2, &box->memory, handle, KN_CU_IPC_PEER_ACCESS) !=
        KN_OK)
        return kn_fail_prefix(KN_DEVICE, "the memory of another process: ");
    box->opened = true;
    return KN_OK;
}

static kn_status mail_reach(kn_device *dev, const kn_mail_address *address, bool here,
                            kn_mail *mail)
{
    const kn_cuda *d = kn_cuda_of(dev);
    kn_mail_box *box = here ? (kn_mail_box *)(void *)kn_shared_find(address->number) : new_box(d);
    if (!box)
        return here ? kn_fail(KN_RUN, "its communicator is closed") : kn_last_status();
    kn_status status = kn_cuda_enter(d);
    if (status == KN_OK) {
        status = here ? reach_here(d, box) : reach_other_process(d, address, box);
        kn_cuda_leave(d);
    }
    if (status != KN_OK)
        release(box);
    else
        *mail = (kn_mail){(void *)(uintptr_t)box->memory, NULL, box};
    return status;
}

static void mail_close(kn_device *dev, kn_mail *mail)
{
    (void)dev;
    if (mail->box)
        release(mail->box);
    *mail = (kn_mail){0};
}

const kn_mail_ops kn_cuda_mail = {mail_open, mail_address, mail_reach, mail_close};
