#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/measure.h"
#include "runtime/cuda/peer.h"
#include "runtime/cuda/pointer.h"

/* The driver rounds every allocation up at least this far; an empty array still gets an address. */
enum { LEAST_BYTES = 256 };

/* The driver's addresses are numbers; device.h's are pointers that the host never follows. */
static kn_cu_ptr address(const void *ptr) { return (kn_cu_ptr)(uintptr_t)ptr; }

/* ---- open and close ---- */

static kn_status read_target(kn_cuda *d)
{
    const kn_driver *drv = d->driver;
    int major, minor, optin, shared, cooperative;
    kn_target *t = &d->target;
    t->kind = "cuda";
    const struct {
        int *value, attribute;
    } wanted[] = {
        {&major, KN_CU_DEV_SM_MAJOR},
        {&minor, KN_CU_DEV_SM_MINOR},
        {&t->units, KN_CU_DEV_MULTIPROCESSORS},
        {&t->max_block, KN_CU_DEV_MAX_THREADS_PER_BLOCK},
        {&t->max_threads_unit, KN_CU_DEV_MAX_THREADS_PER_MULTIPROCESSOR},
        {&shared, KN_CU_DEV_SHARED_PER_BLOCK},
        {&optin, KN_CU_DEV_SHARED_PER_BLOCK_OPTIN},
        {&cooperative, KN_CU_DEV_COOPERATIVE_LAUNCH},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        KN_TRY(KN_CU(drv, cuDeviceGetAttribute, wanted[i].value, wanted[i].attribute, d->device));
    t->sm = major * 10 + minor;
    t->smem_block = optin > shared ? optin : shared;
    int pageable = 0;
    d->uses_host_memory = drv->cuDeviceGetAttribute(&pageable, KN_CU_DEV_PAGEABLE_MEMORY,
                                                    d->device) == KN_CU_SUCCESS &&
                          pageable != 0;
    t->cooperative = cooperative != 0;
    t->cluster = drv->cuLaunchKernelEx ? kn_target_most_cluster(t->sm) : 0;
    return KN_OK;
}

static kn_status check_compiler(kn_cuda *d)
{
    const kn_nvrtc_facts *f = &d->compiler;
    KN_TRY(kn_nvrtc_learn(d->base.disk, &d->compiler));
    if (kn_nvrtc_facts_support(f, d->target.sm))
        return KN_OK;
    return kn_fail(
        KN_DEVICE,
        "GPU %d is sm_%d, which NVRTC %d.%d (%s) cannot compile for; install a version that "
        "can and set KILN_NVRTC to its path, or use the device \"cpu\"",
        d->ordinal, d->target.sm, f->major, f->minor, f->path);
}

static kn_status open_on(kn_cuda *d)
{
    int count;
    KN_TRY(kn_driver_init(&d->driver, &count));
    if (d->ordinal < 0 || d->ordinal >= count)
        return kn_fail(KN_DEVICE, "no GPU %d: there %s %d, numbered from 0", d->ordinal,
                       count == 1 ? "is" : "are", count);
    KN_TRY(KN_CU(d->driver, cuDeviceGet, &d->device, d->ordinal));
    KN_TRY(read_target(d));
    KN_TRY(check_compiler(d));
    KN_TRY(KN_CU(d->driver, cuDevicePrimaryCtxRetain, &d->context, d->device));
    kn_cuda_learn(d);
    return KN_OK;
}

static kn_status cuda_open(const kn_device_config *config, kn_device **dev)
{
    kn_allocator from = config->from.alloc ? config->from : kn_malloc_allocator;
    kn_cuda *d = from.alloc(from.user, sizeof *d);
    if (!d)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes", sizeof *d);
    *d = (kn_cuda){.base = {.ops = &kn_cuda_device, .disk = config->disk},
                   .from = from,
                   .ordinal = config->ordinal};
    kn_status status = open_on(d);
    if (status != KN_OK) {
        from.release(from.user, d);
        /* What says DEVICE is complete; a failed driver call lacks what it was for. */
        return status == KN_DEVICE ? status
                                   : kn_fail_prefix(status, "opening GPU %d: ", config->ordinal);
    }
    *dev = &d->base;
    return KN_OK;
}

static void cuda_close(kn_device *dev)
{
    if (!dev)
        return;
    kn_cuda *d = kn_cuda_of(dev);
    d->driver->cuDevicePrimaryCtxRelease_v2(d->device);
    d->from.release(d->from.user, d);
}

static const kn_target *cuda_target(const kn_device *dev)
{
    return &((const kn_cuda *)dev)->target;
}

/* ---- memory ---- */

static kn_status cuda_alloc(kn_device *dev, size_t bytes, void **ptr)
{
    kn_cuda *d = kn_cuda_of(dev);
    kn_cu_ptr p = 0;
    KN_TRY(kn_cuda_enter(d));
    kn_status status =
        KN_CU(d->driver, cuMemAlloc_v2, &p, bytes < LEAST_BYTES ? LEAST_BYTES : bytes);
    kn_cuda_leave(d);
    if (status != KN_OK)
        return kn_fail_prefix(status, "device memory, %zu bytes: ", bytes);
    *ptr = (void *)(uintptr_t)p;
    return KN_OK;
}

static void cuda_release(kn_device *dev, void *ptr)
{
    kn_cuda *d = kn_cuda_of(dev);
    if (!ptr || kn_cuda_enter(d) != KN_OK)
        return;
    d->driver->cuMemFree_v2(address(ptr));
    kn_cuda_leave(d);
}

static bool cuda_captures(kn_device *dev, void *stream)
{
    kn_cuda *d = kn_cuda_of(dev);
    if (kn_cuda_enter(d) != KN_OK)
        return true;
    bool captured = kn_stream_captures(d->driver, stream);
    kn_cuda_leave(d);
    return captured;
}

static uint64_t cuda_stream_id(kn_device *dev, void *stream)
{
    kn_cuda *d = kn_cuda_of(dev);
    bool left = stream && !kn_cuda_inside(d) && kn_cuda_enter(d) == KN_OK;
    uint64_t id = kn_stream_id(d->driver, stream);
    if (left)
        kn_cuda_leave(d);
    return id;
}

static bool cuda_reaches(kn_device *dev, const void *data)
{
    const kn_cuda *d = kn_cuda_of(dev);
    if (d->uses_host_memory || kn_cuda_enter(d) != KN_OK)
        return true;
    bool good = kn_pointer_reaches(d->driver, data);
    kn_cuda_leave(d);
    return good;
}

static kn_status cuda_upload(kn_device *dev, void *to, const void *host, size_t bytes)
{
    kn_cuda *d = kn_cuda_of(dev);
    if (!bytes)
        return KN_OK;
    KN_TRY(kn_cuda_enter(d));
    kn_status status = KN_CU(d->driver, cuMemcpyHtoD_v2, address(to), host, bytes);
    /* The call returns once `host` may be reused; streams that do not wait for the default
     * stream may only see the bytes once they have arrived. */
    if (status == KN_OK)
        status = KN_CU(d->driver, cuStreamSynchronize, NULL);
    kn_cuda_leave(d);
    return status;
}

static kn_status cuda_download(kn_device *dev, void *host, const void *from, size_t bytes)
{
    kn_cuda *d = kn_cuda_of(dev);
    if (!bytes)
        return KN_OK;
    KN_TRY(kn_cuda_enter(d));
    kn_status status = KN_CU(d->driver, cuMemcpyDtoH_v2, host, address(from), bytes);
    kn_cuda_leave(d);
    return status;
}

static kn_status cuda_copy(kn_device *dev, void *to, const void *from, size_t bytes, void *stream)
{
    kn_cuda *d = kn_cuda_of(dev);
    if (!bytes)
        return KN_OK;
    KN_TRY(kn_cuda_enter(d));
    kn_status status =
        KN_CU(d->driver, cuMemcpyDtoDAsync_v2, address(to), address(from), bytes, stream);
    kn_cuda_leave(d);
    return status;
}

static kn_status cuda_zero(kn_device *dev, void *to, size_t bytes, void *stream)
{
    kn_cuda *d = kn_cuda_of(dev);
    if (!bytes)
        return KN_OK;
    KN_TRY(kn_cuda_enter(d));
    kn_status status = KN_CU(d->driver, cuMemsetD8Async, address(to), 0, bytes, stream);
    kn_cuda_leave(d);
    return status;
}

static kn_status cuda_sync(kn_device *dev, void *stream)
{
    kn_cuda *d = kn_cuda_of(dev);
    KN_TRY(kn_cuda_enter(d));
    kn_status status = KN_CU(d->driver, cuStreamSynchronize, stream);
    kn_cuda_leave(d);
    return status;
}

/* ---- time ---- */

/* between: the events to record before and after it. */
static kn_status time_between(const kn_driver *drv, const kn_cu_event *between, void *stream,
                              kn_status (*fn)(void *ctx), void *ctx, double *us)
{
    float ms;
    KN_TRY(KN_CU(drv, cuEventRecord, between[0], stream));
    KN_TRY(fn(ctx));
    KN_TRY(KN_CU(drv, cuEventRecord, between[1], stream));
    KN_TRY(KN_CU(drv, cuEventSynchronize, between[1]));
    KN_TRY(KN_CU(drv, cuEventElapsedTime, &ms, between[0], between[1]));
    *us = (double)ms * 1e3;
    return KN_OK;
}

static kn_status cuda_time(kn_device *dev, void *stream, kn_status (*fn)(void *ctx), void *ctx,
                           double *us)
{
    kn_cuda *d = kn_cuda_of(dev);
    const kn_driver *drv = d->driver;
    kn_cu_event between[2] = {0};
    KN_TRY(kn_cuda_enter(d));
    kn_status status = KN_CU(drv, cuEventCreate, &between[0], 0);
    if (status == KN_OK)
        status = KN_CU(drv, cuEventCreate, &between[1], 0);
    if (status == KN_OK)
        status = time_between(drv, between, stream, fn, ctx, us);
    for (int i = 1; i >= 0; i--)
        if (between[i])
            drv->cuEventDestroy_v2(between[i]);
    kn_cuda_leave(d);
    return status;
}

static kn_status cuda_identify(kn_device *dev, kn_text *t)
{
    kn_cuda *d = kn_cuda_of(dev);
    char name[128] = "";
    KN_TRY(KN_CU(d->driver, cuDeviceGetName, name, sizeof name, d->device));
    kn_putf(t, "%s, sm_%d, %d multiprocessors, %d bytes of shared memory\n", name, d->target.sm,
            d->target.units, d->target.smem_block);
    kn_putf(t, "driver %d, %s\n", d->driver->version, d->compiler.build);
    return KN_OK;
}

const kn_device_ops kn_cuda_device = {
    .kind = "cuda",
    .runs_source = true,
    .open = cuda_open,
    .close = cuda_close,
    .target = cuda_target,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .stream_id = cuda_stream_id,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .zero = cuda_zero,
    .sync = cuda_sync,
    .prepare = kn_cuda_prepare,
    .discard = kn_cuda_discard,
    .grid = kn_cuda_grid,
    .launch = kn_cuda_launch,
    .load = kn_cuda_load,
    .start = kn_cuda_start,
    .describe = kn_cuda_describe,
    .time = cuda_time,
    .captures = cuda_captures,
    .reaches = cuda_reaches,
    .identify = cuda_identify,
    .peer = &kn_cuda_peer_ops,
};
