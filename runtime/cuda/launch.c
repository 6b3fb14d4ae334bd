/* Kernels as the driver has them: from source to a loaded function once, and one launch a call. */
#include <string.h>
#include <time.h>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/grid.h"
#include "runtime/cuda/nvrtc.h"

/* A launch keeps its parameters on the stack. */
enum { MAX_PARAMS = 1024 };

struct kn_code {
    kn_cu_module module;
    kn_cu_function function;
    int nparams;
    int threads;
    bool cooperative;
    kn_cuda_info info;
};

void kn_cuda_code_info(const kn_code *code, kn_cuda_info *info) { *info = code->info; }

/* ---- prepare ---- */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static kn_status check_kernel(const kn_cuda *d, const kn_kernel *k, kn_code *code)
{
    if (!k->source)
        return kn_fail(KN_INTERNAL, "kernel '%s' has no source text", k->name);
    code->threads = k->threads;
    code->cooperative = kn_kernel_cooperative(k);
    code->nparams = kn_kernel_params(k, NULL, NULL, 0);
    if (code->nparams > MAX_PARAMS)
        return kn_fail(KN_COMPILE, "kernel '%s' has %d parameters, more than the %d of one launch",
                       k->name, code->nparams, MAX_PARAMS);
    if (code->threads < 1 || code->threads > d->target.max_block)
        return kn_fail(KN_COMPILE, "kernel '%s' wants %d threads a block; GPU %d has at most %d",
                       k->name, code->threads, d->ordinal, d->target.max_block);
    if (code->cooperative && !d->target.cooperative)
        return kn_fail(KN_DEVICE,
                       "kernel '%s' has a grid barrier, for which GPU %d has no cooperative "
                       "launches",
                       k->name, d->ordinal);
    return KN_OK;
}

/* A binary that the driver refuses is nearly always one of a compiler newer than the driver. */
static kn_status load_module(const kn_cuda *d, const char *binary, kn_code *code)
{
    int result = d->driver->cuModuleLoadData(&code->module, binary);
    if (result != KN_CU_INVALID_IMAGE && result != KN_CU_NO_BINARY_FOR_GPU &&
        result != KN_CU_UNSUPPORTED_PTX_VERSION)
        return kn_driver_check(d->driver, result, "cuModuleLoadData");
    int major, minor;
    kn_nvrtc_version(&major, &minor);
    kn_driver_check(d->driver, result, "cuModuleLoadData");
    return kn_fail_prefix(
        KN_DEVICE,
        "the driver (for CUDA %d.%d) does not take code of NVRTC %d.%d; update the "
        "driver, or name an older NVRTC in KILN_NVRTC: ",
        d->driver->version / 1000, d->driver->version % 1000 / 10, major, minor);
}

/* With the context current. On failure the caller unloads code->module if it is set. */
static kn_status load_code(const kn_cuda *d, const kn_kernel *k, const char *binary, kn_code *code)
{
    const kn_driver *drv = d->driver;
    kn_cuda_info *info = &code->info;
    KN_TRY(load_module(d, binary, code));
    KN_TRY(KN_CU(drv, cuModuleGetFunction, &code->function, code->module, k->name));
    /* Drivers load a function when it is first needed; a load waits for the device and breaks a
     * stream capture, so it is done here and not in the first launch. */
    if (drv->cuFuncLoad)
        KN_TRY(KN_CU(drv, cuFuncLoad, code->function));
    int max_threads;
    const struct {
        int *value, attribute;
    } wanted[] = {
        {&info->registers, KN_CU_FUNC_REGISTERS},
        {&info->local_bytes, KN_CU_FUNC_LOCAL_BYTES},
        {&info->shared_bytes, KN_CU_FUNC_SHARED_BYTES},
        {&max_threads, KN_CU_FUNC_MAX_THREADS_PER_BLOCK},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        KN_TRY(
            KN_CU(drv, cuFuncGetAttribute, wanted[i].value, wanted[i].attribute, code->function));
    KN_TRY(KN_CU(drv, cuOccupancyMaxActiveBlocksPerMultiprocessor, &info->blocks_per_unit,
                 code->function, code->threads, 0));
    if (info->blocks_per_unit < 1)
        return kn_fail(
            KN_COMPILE,
            "a block of %d threads does not fit on a multiprocessor: it may have %d at most, "
            "with %d registers a thread and %d bytes of shared memory",
            code->threads, max_threads, info->registers, info->shared_bytes);
    return KN_OK;
}

static kn_status build_code(kn_cuda *d, const kn_kernel *k, kn_code *code)
{
    KN_TRY(check_kernel(d, k, code));
    char *binary;
    uint64_t start = now_ns();
    KN_TRY(kn_nvrtc_cubin(k->name, k->source, d->target.sm, &d->from, &binary,
                          &code->info.binary_bytes));
    __atomic_fetch_add(&d->base.compile_ns, now_ns() - start, __ATOMIC_RELAXED);
    __atomic_fetch_add(&d->base.compiles, 1, __ATOMIC_RELAXED);
    kn_status status = kn_cuda_enter(d);
    if (status == KN_OK) {
        status = load_code(d, k, binary, code);
        if (status != KN_OK) {
            kn_fail_prefix(status, "kernel '%s': ", k->name);
            if (code->module)
                d->driver->cuModuleUnload(code->module);
        }
        kn_cuda_leave(d);
    }
    d->from.release(d->from.user, binary);
    return status;
}

kn_status kn_cuda_prepare(kn_device *dev, const kn_kernel *kernel, kn_code **code)
{
    kn_cuda *d = kn_cuda_of(dev);
    kn_code *c = d->from.alloc(d->from.user, sizeof *c);
    if (!c)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes", sizeof *c);
    memset(c, 0, sizeof *c);
    kn_status status = build_code(d, kernel, c);
    if (status != KN_OK) {
        d->from.release(d->from.user, c);
        return status;
    }
    *code = c;
    return KN_OK;
}

void kn_cuda_discard(kn_device *dev, kn_code *code)
{
    kn_cuda *d = kn_cuda_of(dev);
    if (!code)
        return;
    if (kn_cuda_enter(d) == KN_OK) {
        d->driver->cuModuleUnload(code->module);
        kn_cuda_leave(d);
    }
    d->from.release(d->from.user, code);
}

/* ---- launch ---- */

/* One parameter's bytes, at offset 0. */
typedef union cell {
    void *ptr;
    int32_t i32;
    int64_t i64;
    double f64;
} cell;

/* Writes the parameters in the order of the generated function's parameter list. */
static kn_status pack(const kn_kernel *k, const kn_call *call, const kn_param *params, int n,
                      cell *cells, void **pointers)
{
    for (int i = 0; i < n; i++) {
        const kn_param *p = &params[i];
        cell *c = &cells[i];
        pointers[i] = c;
        switch (p->kind) {
        case KN_PARAM_BUF: c->ptr = call->bufs[p->index]; break;
        case KN_PARAM_SCALAR:
            if (call->scalars[p->index].dtype != p->dtype)
                return kn_fail(KN_INTERNAL, "kernel '%s': scalar %d has another type than declared",
                               k->name, p->index);
            kn_scalar_store(call->scalars[p->index], c);
            break;
        case KN_PARAM_EXTENT: c->i64 = p->value; break;
        case KN_PARAM_INDEX:
            if (k->wide)
                c->i64 = p->value;
            else
                c->i32 = (int32_t)p->value;
            break;
        case KN_PARAM_BARRIER: c->ptr = call->barrier; break;
        }
    }
    return KN_OK;
}

kn_status kn_cuda_launch(kn_device *dev, kn_code *code, const kn_launch *launch)
{
    kn_cuda *d = kn_cuda_of(dev);
    const kn_driver *drv = d->driver;
    const kn_kernel *k = launch->kernel;
    kn_param params[MAX_PARAMS];
    cell cells[MAX_PARAMS];
    void *pointers[MAX_PARAMS];
    /* The kernel prepared and the kernel launched may be two, of the same structure. */
    int n = kn_kernel_params(k, NULL, params, MAX_PARAMS);
    if (n != code->nparams)
        return kn_fail(KN_INTERNAL, "kernel '%s' has %d parameters, its code was made for %d",
                       k->name, n, code->nparams);
    KN_TRY(pack(k, launch->call, params, n, cells, pointers));
    unsigned blocks = kn_grid_blocks(k, code->info.blocks_per_unit, d->target.units);
    unsigned threads = (unsigned)code->threads;

    KN_TRY(kn_cuda_enter(d));
    kn_status status = code->cooperative
                           ? KN_CU(drv, cuLaunchCooperativeKernel, code->function, blocks, 1, 1,
                                   threads, 1, 1, 0, launch->stream, pointers)
                           : KN_CU(drv, cuLaunchKernel, code->function, blocks, 1, 1, threads, 1, 1,
                                   0, launch->stream, pointers, NULL);
    if (status == KN_OK)
        __atomic_fetch_add(&d->base.launches, 1, __ATOMIC_RELAXED);
    kn_cuda_leave(d);
    return status == KN_OK
               ? KN_OK
               : kn_fail_prefix(status, "kernel '%s', %u blocks of %u threads: ", k->name, blocks,
                                threads);
}
