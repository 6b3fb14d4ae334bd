/* Kernels as the driver has them: from source to a loaded function once, and one launch a call. Kernels
 * that kiln wrote and kernels that a user wrote are compiled, loaded and submitted by the same code. */
#include <stdio.h>
#include <string.h>

#include "codegen/kir/grid.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/replay.h"
#include "runtime/cuda/signature.h"
#include "runtime/cuda/stream.h"
#include "runtime/device/params.h"

/* How a loaded kernel fits the machine, by the kind of kernel. */
typedef kn_status (*fit_fn)(const kn_cuda *d, kn_code *code);

struct kn_code {
    fit_fn fit;
    kn_cu_module module;
    kn_cu_function function;
    kn_replay replay;  /* of generated kernels */
    int nparams;       /* -1: a raw kernel under a driver that does not tell */
    uint64_t pointers; /* of a raw kernel: parameters that are, a bit each */
    int threads;       /* a block at most; of generated kernels */
    bool cooperative;  /* of generated kernels */
    bool clusters;     /* likewise: their blocks share groups in clusters, of one block or more */
    int max_threads;   /* a block may have, with this kernel's registers */
    int max_dynamic;   /* bytes of dynamic shared memory that a block may have */
    kn_cuda_info info;
    char name[64]; /* in messages; cut if longer */
};

void kn_cuda_code_info(const kn_code *code, kn_cuda_info *info) { *info = code->info; }

/* ---- prepare ---- */

static kn_status check_kernel(const kn_cuda *d, const kn_kernel *k, kn_code *code)
{
    if (!k->source)
        return kn_fail(KN_INTERNAL, "kernel '%s' has no source text", k->name);
    code->threads = k->bound ? k->bound : k->threads;
    code->cooperative = kn_kernel_cooperative(k);
    code->clusters = kn_kernel_in_clusters(k);
    KN_TRY(kn_count_params(k, &code->nparams));
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
    kn_driver_check(d->driver, result, "cuModuleLoadData");
    return kn_fail_prefix(
        KN_DEVICE,
        "the driver (for CUDA %d.%d) does not take code of NVRTC %d.%d; update the "
        "driver, or name an older NVRTC in KILN_NVRTC: ",
        d->driver->version / 1000, d->driver->version % 1000 / 10, d->compiler.major,
        d->compiler.minor);
}

/* With the context current. On failure the caller unloads code->module if it is set. */
static kn_status load_function(const kn_cuda *d, const kn_binary *cubin, kn_code *code)
{
    const kn_driver *drv = d->driver;
    kn_cuda_info *info = &code->info;
    KN_TRY(load_module(d, cubin->data, code));
    KN_TRY(KN_CU(drv, cuModuleGetFunction, &code->function, code->module, cubin->symbol));
    /* Drivers load a function when it is first needed; a load waits for the device and breaks a
     * stream capture, so it is done here and not in the first launch. */
    if (drv->cuFuncLoad)
        KN_TRY(KN_CU(drv, cuFuncLoad, code->function));
    const struct {
        int *value, attribute;
    } wanted[] = {
        {&info->registers, KN_CU_FUNC_REGISTERS},
        {&info->local_bytes, KN_CU_FUNC_LOCAL_BYTES},
        {&info->shared_bytes, KN_CU_FUNC_SHARED_BYTES},
        {&code->max_threads, KN_CU_FUNC_MAX_THREADS_PER_BLOCK},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        KN_TRY(
            KN_CU(drv, cuFuncGetAttribute, wanted[i].value, wanted[i].attribute, code->function));
    info->binary_bytes = cubin->size;
    return KN_OK;
}

/* Lets launches use all the shared memory that a block can have, and clusters larger than the portable size. */
static kn_status allow_most(const kn_cuda *d, kn_code *code)
{
    code->max_dynamic = d->target.smem_block - code->info.shared_bytes;
    if (code->max_dynamic > 0)
        KN_TRY(KN_CU(d->driver, cuFuncSetAttribute, code->function, KN_CU_FUNC_MAX_DYNAMIC_SHARED,
                     code->max_dynamic));
    if (d->target.cluster > 0)
        KN_TRY(KN_CU(d->driver, cuFuncSetAttribute, code->function,
                     KN_CU_FUNC_NON_PORTABLE_CLUSTERS, 1));
    return KN_OK;
}

/* How a generated kernel fits on a multiprocessor: its launches fill the machine. */
static kn_status fit_generated(const kn_cuda *d, kn_code *code)
{
    const kn_cuda_info *info = &code->info;
    KN_TRY(KN_CU(d->driver, cuOccupancyMaxActiveBlocksPerMultiprocessor,
                 &code->info.blocks_per_unit, code->function, code->threads, 0));
    if (info->blocks_per_unit < 1)
        return kn_fail(
            KN_COMPILE,
            "a block of %d threads does not fit on a multiprocessor: it may have %d at most, "
            "with %d registers a thread and %d bytes of shared memory",
            code->threads, code->max_threads, info->registers, info->shared_bytes);
    KN_TRY(allow_most(d, code));
    kn_replay_open(&code->replay, d->driver, &d->from, code->nparams, code->clusters);
    return KN_OK;
}

/* A raw kernel's parameters are counted, so that a launch with others is found out. */
static kn_status fit_raw(const kn_cuda *d, kn_code *code)
{
    const kn_driver *drv = d->driver;
    KN_TRY(allow_most(d, code));
    code->nparams = -1;
    if (drv->cuFuncGetParamInfo) {
        size_t offset, size;
        do
            code->nparams++;
        while (drv->cuFuncGetParamInfo(code->function, (size_t)code->nparams, &offset, &size) ==
               KN_CU_SUCCESS);
    }
    return KN_OK;
}

/* ---- the compiler ---- */

static kn_status describe(kn_device *dev, const char *text, kn_text *key)
{
    (void)text;
    const kn_cuda *d = kn_cuda_of(dev);
    kn_putf(key, "compiler %s\noptions %s\narchitecture sm_%d\n", d->compiler.build,
            kn_nvrtc_options, d->target.sm);
    return KN_OK;
}

static kn_status compile(kn_device *dev, const char *entry, const char *text,
                         const kn_allocator *from, kn_binary *binary)
{
    const kn_cuda *d = kn_cuda_of(dev);
    KN_TRY(kn_nvrtc_cubin(entry, text, d->target.sm, from, binary));
    binary->private = !kn_nvrtc_facts_hold(&d->compiler);
    return KN_OK;
}

static kn_status load(kn_device *dev, const kn_binary *binary, kn_code *code)
{
    const kn_cuda *d = kn_cuda_of(dev);
    KN_TRY(kn_cuda_enter(d));
    kn_status status = load_function(d, binary, code);
    if (status == KN_OK)
        status = code->fit(d, code);
    if (status != KN_OK) {
        kn_fail_prefix(status, "kernel '%s': ", code->name);
        if (code->module)
            d->driver->cuModuleUnload(code->module);
        code->module = NULL;
    }
    kn_cuda_leave(d);
    return status;
}

static const kn_compiler compiler = {describe, compile, load, NULL};

static kn_status new_code(kn_cuda *d, const char *name, fit_fn fit, kn_code **code)
{
    *code = d->from.alloc(d->from.user, sizeof **code);
    if (!*code)
        return kn_fail(KN_MEMORY, "out of memory: %zu bytes", sizeof **code);
    memset(*code, 0, sizeof **code);
    (*code)->fit = fit;
    snprintf((*code)->name, sizeof(*code)->name, "%s", name);
    return KN_OK;
}

/* Compiles `entry` of `text` into a new code, for which `kernel` is NULL if a user wrote it. */
static kn_status make_code(kn_cuda *d, const kn_kernel *kernel, const char *entry, const char *text,
                           kn_code **code)
{
    kn_code *c;
    KN_TRY(new_code(d, entry, kernel ? fit_generated : fit_raw, &c));
    if (!kernel)
        c->pointers = kn_signature_pointers(text, entry);
    kn_status status = kernel ? check_kernel(d, kernel, c) : KN_OK;
    if (status == KN_OK)
        status = kn_binary_load(&d->base, &compiler, &d->from, entry, text, c);
    if (status == KN_OK)
        *code = c;
    else
        d->from.release(d->from.user, c);
    return status;
}

kn_status kn_cuda_prepare(kn_device *dev, const kn_kernel *kernel, kn_code **code)
{
    return make_code(kn_cuda_of(dev), kernel, kernel->name, kernel->source, code);
}

kn_status kn_cuda_load(kn_device *dev, const char *entry, const char *text, kn_code **code)
{
    return make_code(kn_cuda_of(dev), NULL, entry, text, code);
}

/* Work of the kernel may still be on its way. Where it cannot be waited for, the module stays. */
static bool is_done(const kn_cuda *d)
{
    const kn_driver *drv = d->driver;
    if (!drv->cuCtxSynchronize)
        return true;
    int mode = kn_uncaptured(drv);
    bool done = drv->cuCtxSynchronize() == KN_CU_SUCCESS;
    kn_uncaptured_end(drv, mode);
    return done;
}

void kn_cuda_discard(kn_device *dev, kn_code *code)
{
    kn_cuda *d = kn_cuda_of(dev);
    if (!code)
        return;
    bool inside = kn_cuda_enter(d) == KN_OK;
    kn_replay_close(&code->replay, d->driver, &d->from);
    if (inside) {
        if (is_done(d))
            d->driver->cuModuleUnload(code->module);
        kn_cuda_leave(d);
    }
    d->from.release(d->from.user, code);
}

/* ---- launch ---- */

/* The driver's description of a launch of clusters; the attributes are the caller's memory. */
static kn_cu_launch launch_of(const kn_grid *g, void *stream, kn_cu_launch_attribute *attributes)
{
    attributes[0] = (kn_cu_launch_attribute){
        .id = KN_CU_LAUNCH_CLUSTER, .value.cluster = {g->cluster[0], g->cluster[1], g->cluster[2]}};
    attributes[1] =
        (kn_cu_launch_attribute){.id = KN_CU_LAUNCH_COOPERATIVE, .value.cooperative = 1};
    return (kn_cu_launch){
        .grid = {g->grid[0], g->grid[1], g->grid[2]},
        .block = {g->block[0], g->block[1], g->block[2]},
        .shared = (unsigned)g->shared,
        .stream = stream,
        .attributes = attributes,
        .nattributes = g->cooperative ? 2 : 1,
    };
}

/* A launch with attributes, for clusters: newer than the other two calls. Without it st.async is an illegal
 * instruction, also to the block's own shared memory. */
static kn_status submit_clusters(const kn_cuda *d, const kn_code *code, const kn_grid *g,
                                 void *stream, void **params)
{
    const kn_driver *drv = d->driver;
    kn_cu_launch_attribute attributes[2];
    if (!drv->cuLaunchKernelEx || d->target.sm < 90)
        return kn_fail(KN_DEVICE,
                       "clusters need a GPU of sm_90 or newer and a driver for CUDA 11.8 or newer; "
                       "GPU %d is sm_%d, its driver is for CUDA %d.%d",
                       d->ordinal, d->target.sm, drv->version / 1000, drv->version % 1000 / 10);
    const kn_cu_launch launch = launch_of(g, stream, attributes);
    return KN_CU(drv, cuLaunchKernelEx, &launch, code->function, params, NULL);
}

static kn_status submit_alone(const kn_cuda *d, const kn_code *code, const kn_grid *g, void *stream,
                              void **params)
{
    const kn_driver *drv = d->driver;
    const unsigned *n = g->grid, *b = g->block, shared = (unsigned)g->shared;
    if (code->clusters || g->cluster[0] > 1 || g->cluster[1] > 1 || g->cluster[2] > 1)
        return submit_clusters(d, code, g, stream, params);
    if (g->cooperative)
        return KN_CU(drv, cuLaunchCooperativeKernel, code->function, n[0], n[1], n[2], b[0], b[1],
                     b[2], shared, stream, params);
    return KN_CU(drv, cuLaunchKernel, code->function, n[0], n[1], n[2], b[0], b[1], b[2], shared,
                 stream, params, NULL);
}

/* packed: the parameters of a generated kernel; NULL: of a user's own. */
static kn_status submit(kn_cuda *d, kn_code *code, const kn_grid *g, void *stream, void **params,
                        const kn_packed_params *packed)
{
    const unsigned *n = g->grid, *b = g->block;
    kn_status status = KN_OK;
    bool inside = kn_cuda_inside(d);
    if (!inside)
        KN_TRY(kn_cuda_enter(d));
    if (stream || !packed ||
        !kn_replay_submit(&code->replay, d->driver, code->function, g, packed->cells))
        status = submit_alone(d, code, g, stream, params);
    if (status == KN_OK)
        __atomic_fetch_add(&d->base.launches, 1, __ATOMIC_RELAXED);
    if (!inside)
        kn_cuda_leave(d);
    return status == KN_OK
               ? KN_OK
               : kn_fail_prefix(status, "kernel '%s', grid %ux%ux%u, block %ux%ux%u: ", code->name,
                                n[0], n[1], n[2], b[0], b[1], b[2]);
}

/* Smaller blocks than the largest that the code serves may fit in greater number, those with dynamic shared memory in
 * smaller. */
static int blocks_per_unit(const kn_cuda *d, const kn_code *code, const kn_kernel *k)
{
    int blocks;
    if ((k->threads == code->threads && !k->shared) || kn_cuda_enter(d) != KN_OK)
        return code->info.blocks_per_unit;
    if (d->driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, code->function, k->threads,
                                                               (size_t)k->shared) != KN_CU_SUCCESS)
        blocks = code->info.blocks_per_unit;
    kn_cuda_leave(d);
    return blocks;
}

/* Blocks of such clusters that fit on the machine at a time: a cluster stays within a group of multiprocessors (GPC),
 * and groups differ in size. If the driver cannot say, the blocks that fit without clusters. */
static int64_t resident_in_clusters(const kn_cuda *d, const kn_code *code, const kn_grid *g)
{
    const kn_driver *drv = d->driver;
    kn_cu_launch_attribute attributes[2];
    const kn_cu_launch launch = launch_of(g, NULL, attributes);
    int clusters = 0;
    if (drv->cuOccupancyMaxActiveClusters && kn_cuda_enter(d) == KN_OK) {
        if (drv->cuOccupancyMaxActiveClusters(&clusters, code->function, &launch) != KN_CU_SUCCESS)
            clusters = 0;
        kn_cuda_leave(d);
    }
    return clusters > 0 ? (int64_t)clusters * g->cluster[0]
                        : (int64_t)code->info.blocks_per_unit * d->target.units / g->cluster[0] *
                              g->cluster[0];
}

void kn_cuda_grid(const kn_device *dev, const kn_code *code, const kn_kernel *k, kn_grid *grid)
{
    const kn_cuda *d = (const kn_cuda *)dev;
    *grid = (kn_grid){
        .grid = {kn_grid_all_blocks(k, blocks_per_unit(d, code, k), d->target.units), 1, 1},
        .block = {(unsigned)k->threads, 1, 1},
        .cluster = {(unsigned)kn_kernel_cluster(k), 1, 1},
        .shared = (size_t)k->shared,
        .cooperative = code->cooperative,
    };
    if (code->clusters && kn_grid_persistent(k)) {
        const kn_grid_wants by = kn_grid_goes_by(k);
        grid->grid[0] = (unsigned)kn_blocks_persistent(&by, resident_in_clusters(d, code, grid));
    }
}

kn_status kn_cuda_launch(kn_device *dev, const kn_launch *launch, const kn_call *call, void *stream)
{
    kn_code *code = launch->code;
    kn_packed_params params;
    if (launch->params.n != code->nparams)
        return kn_fail(KN_INTERNAL, "kernel '%s' has %d parameters, its code was made for %d",
                       code->name, launch->params.n, code->nparams);
    KN_TRY(kn_params_pack(&launch->params, call, &params));
    return submit(kn_cuda_of(dev), code, &launch->grid, stream, params.pointers, &params);
}

/* What the driver would refuse with fewer words. */
static kn_status check_start(const kn_cuda *d, const kn_code *code, const kn_grid *g, int nparams)
{
    const unsigned *b = g->block;
    uint64_t threads = (uint64_t)b[0] * b[1] * b[2];
    if (code->nparams >= 0 && nparams != code->nparams)
        return kn_fail(KN_ARGUMENT, "kernel '%s' has %d parameter%s, not %d", code->name,
                       code->nparams, code->nparams == 1 ? "" : "s", nparams);
    if (threads > (uint64_t)code->max_threads)
        return kn_fail(KN_ARGUMENT,
                       "kernel '%s': a block may have %d threads, with the kernel's %d registers "
                       "a thread, not %llu",
                       code->name, code->max_threads, code->info.registers,
                       (unsigned long long)threads);
    if (g->shared > (size_t)(code->max_dynamic > 0 ? code->max_dynamic : 0))
        return kn_fail(KN_ARGUMENT,
                       "kernel '%s': a block may have %d bytes of dynamic shared memory beside the "
                       "kernel's %d of static, not %zu",
                       code->name, code->max_dynamic, code->info.shared_bytes, g->shared);
    if (g->cooperative && !d->target.cooperative)
        return kn_fail(KN_DEVICE, "kernel '%s': GPU %d has no cooperative launches", code->name,
                       d->ordinal);
    return KN_OK;
}

kn_status kn_cuda_start(kn_device *dev, kn_code *code, const kn_grid *grid, void *const *params,
                        int nparams, void *stream)
{
    kn_cuda *d = kn_cuda_of(dev);
    KN_TRY(check_start(d, code, grid, nparams));
    return submit(d, code, grid, stream, (void **)params, NULL);
}

/* The driver knows sizes only, and a kernel's text which pointers it shows. */
int kn_cuda_describe(kn_device *dev, kn_code *code, int i, kn_code_param *param)
{
    const kn_cuda *d = kn_cuda_of(dev);
    size_t offset;
    *param = (kn_code_param){.pointer = i >= 0 && i < 64 && code->pointers >> i & 1};
    if (i < 0 || i >= code->nparams)
        return code->nparams;
    if (d->driver->cuFuncGetParamInfo(code->function, (size_t)i, &offset, &param->bytes) !=
        KN_CU_SUCCESS)
        param->bytes = 0;
    return code->nparams;
}
