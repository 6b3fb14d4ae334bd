/* What emitted programs run on NVIDIA GPUs by: the driver, a device, its kernels. This text, with what it includes, is
 * kiln_cuda.h: C11 and C++17.
 *
 * Functions return 0, or a negative number: of the driver's results the result with a minus, else one of those below. */
#ifndef KN_RUNTIME_EMIT_GPU_H
#define KN_RUNTIME_EMIT_GPU_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/kir/blocks.h"
#include "runtime/cuda/abi.h"
#include "runtime/cuda/pointer.h"
#include "runtime/cuda/stream.h"
#include "runtime/emit/checks.h"

enum {
    KN_GPU_NO_DRIVER = -1001,
    KN_GPU_OLD_DRIVER = -1002,
    KN_GPU_NO_DEVICE = -1003,
    KN_GPU_NO_CODE = -1004,
    KN_GPU_NO_MEMORY = -1005,
    KN_GPU_NO_FIT = -1006,
    KN_GPU_NO_CLUSTERS = -1007
};

/* Workspaces begin with words in which blocks of a grid count each other; they are 0 before and after each
 * kernel. */
enum { KN_GPU_HEAD = 2048, KN_GPU_SEEN = 64, KN_GPU_MANY = 4096, KN_GPU_STREAMS = 32 };

/* ---- the driver ---- */

static kn_driver kn_gpu_driver; /* written once */
static int kn_gpu_problem;      /* likewise */

static inline void kn_gpu_set(void *entry, void *symbol) { memcpy(entry, &symbol, sizeof symbol); }

static inline void kn_gpu_load_driver(void)
{
    kn_driver *const d = &kn_gpu_driver;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *symbol;
    kn_gpu_problem = lib ? 0 : KN_GPU_NO_DRIVER;
    if (!lib)
        return;
#define NEED(entry, params)                                                                        \
    symbol = dlsym(lib, #entry);                                                                   \
    kn_gpu_problem = symbol ? kn_gpu_problem : KN_GPU_OLD_DRIVER;                                  \
    kn_gpu_set(&d->entry, symbol);
#define MAY(entry, params) kn_gpu_set(&d->entry, dlsym(lib, #entry));
#include "runtime/cuda/driver.def"
#undef NEED
#undef MAY
}

static inline int kn_gpu_find_driver(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, kn_gpu_load_driver);
    return kn_gpu_problem ? kn_gpu_problem : -kn_gpu_driver.cuInit(0);
}

static inline const char *kn_gpu_message(int number)
{
    static const char *const own[] = {
        "there is no CUDA driver: libcuda.so.1 was not found",
        "the CUDA driver is too old: CUDA 11.2 is the least",
        "there is no such GPU",
        "the program was emitted for no architecture that this GPU runs",
        "out of memory",
        "a kernel does not fit on this GPU",
        "clusters need a driver for CUDA 11.8 or newer",
    };
    const char *text = 0;
    if (number <= KN_GPU_NO_DRIVER && number >= KN_GPU_NO_CLUSTERS)
        return own[KN_GPU_NO_DRIVER - number];
    if (number < 0 && kn_gpu_driver.cuGetErrorString &&
        kn_gpu_driver.cuGetErrorString(-number, &text) == KN_CU_SUCCESS && text)
        return text;
    return "no such error";
}

/* ---- a device ---- */

/* A kernel of the program, of one architecture. */
typedef struct kn_gpu_code {
    const void *image, *ptx; /* machine code; and text for newer architectures, or NULL */
    const char *symbol;
    int threads, shared; /* of a launch's blocks */
    int cluster, clusters, cooperative, persistent;
} kn_gpu_code;

typedef struct kn_gpu_loaded {
    int ready; /* atomic */
    kn_cu_module module;
    kn_cu_function function;
    int64_t resident; /* blocks on the machine at a time */
} kn_gpu_loaded;

/* Memory for the runs of one stream. */
typedef struct kn_gpu_memory {
    struct kn_gpu_memory *next;
    unsigned long long stream;
    kn_cu_ptr at;
    int64_t bytes;
} kn_gpu_memory;

typedef struct kn_gpu {
    int device, units, most_shared, uses_host_memory;
    int set; /* the architecture whose kernels run, by its place in the program's list */
    int ptx; /* they are compiled by the driver */
    kn_cu_context context; /* the primary one */
    const kn_gpu_code *codes;
    int ncodes;
    kn_gpu_loaded *loaded;
    kn_gpu_memory *kept;         /* of KN_GPU_STREAMS streams at most, the last used first */
    uintptr_t seen[KN_GPU_SEEN]; /* atomic: addresses that were asked about */
    pthread_mutex_t loading, lending;
} kn_gpu;

static inline int kn_gpu_attribute(const kn_gpu *g, int attribute)
{
    int value = 0;
    kn_gpu_driver.cuDeviceGetAttribute(&value, attribute, g->device);
    return value;
}

/* The newest of the architectures, in rising order, whose machine code the device runs; else the text of the first. */
static inline int kn_gpu_choose(kn_gpu *g, const int *archs, int n)
{
    const int major = kn_gpu_attribute(g, KN_CU_DEV_SM_MAJOR);
    const int sm = major * 10 + kn_gpu_attribute(g, KN_CU_DEV_SM_MINOR);
    g->set = -1;
    for (int i = 0; i < n; i++)
        if (archs[i] / 10 == major && archs[i] <= sm)
            g->set = i;
    g->ptx = g->set < 0;
    if (g->ptx && sm < archs[0])
        return KN_GPU_NO_CODE;
    g->set = g->ptx ? 0 : g->set;
    return 0;
}

/* "cuda" is "cuda:0". -1: it is no such name. */
static inline int kn_gpu_ordinal(const char *name)
{
    if (strncmp(name, "cuda", 4) != 0 || (name[4] && name[4] != ':'))
        return -1;
    char *end = 0;
    const long n = name[4] ? strtol(name + 5, &end, 10) : 0;
    return name[4] && (end == name + 5 || *end || n < 0 || n > 1000) ? -1 : (int)n;
}

static inline int kn_gpu_open(kn_gpu *g, const char *name, const int *archs, int narchs,
                              const kn_gpu_code *codes, int ncodes)
{
    kn_driver *const d = &kn_gpu_driver;
    int count = 0, status = kn_gpu_find_driver();
    const int ordinal = kn_gpu_ordinal(name);
    memset(g, 0, sizeof *g);
    if (status)
        return status;
    if (d->cuDeviceGetCount(&count) != KN_CU_SUCCESS || ordinal < 0 || ordinal >= count ||
        d->cuDeviceGet(&g->device, ordinal) != KN_CU_SUCCESS)
        return KN_GPU_NO_DEVICE;
    status = kn_gpu_choose(g, archs, narchs);
    if (status)
        return status;
    g->units = kn_gpu_attribute(g, KN_CU_DEV_MULTIPROCESSORS);
    g->most_shared = kn_gpu_attribute(g, KN_CU_DEV_SHARED_PER_BLOCK_OPTIN);
    g->uses_host_memory = kn_gpu_attribute(g, KN_CU_DEV_PAGEABLE_MEMORY);
    g->codes = codes;
    g->ncodes = ncodes;
    g->loaded = (kn_gpu_loaded *)calloc((size_t)ncodes, sizeof *g->loaded);
    if (!g->loaded)
        return KN_GPU_NO_MEMORY;
    status = -d->cuDevicePrimaryCtxRetain(&g->context, g->device);
    if (status) {
        free(g->loaded);
        return status;
    }
    pthread_mutex_init(&g->loading, 0);
    pthread_mutex_init(&g->lending, 0);
    return 0;
}

/* Around calls of the driver; 1: the context was current already. */
static inline int kn_gpu_enter(const kn_gpu *g)
{
    kn_cu_context current = 0;
    if (kn_gpu_driver.cuCtxGetCurrent(&current) == KN_CU_SUCCESS && current == g->context)
        return 1;
    kn_gpu_driver.cuCtxPushCurrent_v2(g->context);
    return 0;
}

static inline void kn_gpu_leave(int inside)
{
    kn_cu_context popped;
    if (!inside)
        kn_gpu_driver.cuCtxPopCurrent_v2(&popped);
}

/* No run is under way in any thread; work on the device may be. */
static inline void kn_gpu_close(kn_gpu *g)
{
    kn_driver *const d = &kn_gpu_driver;
    const int inside = kn_gpu_enter(g), mode = kn_uncaptured(d);
    if (d->cuCtxSynchronize)
        d->cuCtxSynchronize();
    for (int i = 0; i < g->ncodes; i++)
        if (g->loaded[i].module)
            d->cuModuleUnload(g->loaded[i].module);
    for (kn_gpu_memory *m = g->kept, *next; m; m = next) {
        next = m->next;
        d->cuMemFree_v2(m->at);
        free(m);
    }
    kn_uncaptured_end(d, mode);
    kn_gpu_leave(inside);
    d->cuDevicePrimaryCtxRelease_v2(g->device);
    pthread_mutex_destroy(&g->loading);
    pthread_mutex_destroy(&g->lending);
    free(g->loaded);
}

/* Does the array, of so many elements, lie in memory of the host, where kernels must not look? An address is asked about
 * when it is first seen. */
static inline int kn_gpu_foreign(kn_gpu *g, const void *data, int64_t elements)
{
    const uintptr_t at = (uintptr_t)data;
    uintptr_t *const seen = &g->seen[(at >> 8 ^ at >> 14 ^ at >> 21) % KN_GPU_SEEN];
    if (elements == 0 || g->uses_host_memory || __atomic_load_n(seen, __ATOMIC_RELAXED) == at + 1)
        return 0;
    const int inside = kn_gpu_enter(g), reaches = kn_pointer_reaches(&kn_gpu_driver, data);
    kn_gpu_leave(inside);
    if (reaches)
        __atomic_store_n(seen, at + 1, __ATOMIC_RELAXED);
    return !reaches;
}

/* ---- kernels ---- */

static inline void kn_gpu_describe(const kn_gpu_code *c, kn_cu_launch *launch,
                                   kn_cu_launch_attribute *attributes, unsigned blocks,
                                   kn_cu_stream stream)
{
    memset(launch, 0, sizeof *launch);
    memset(attributes, 0, 2 * sizeof *attributes);
    attributes[0].id = KN_CU_LAUNCH_CLUSTER;
    attributes[0].value.cluster[0] = (unsigned)c->cluster;
    attributes[0].value.cluster[1] = attributes[0].value.cluster[2] = 1;
    attributes[1].id = KN_CU_LAUNCH_COOPERATIVE;
    attributes[1].value.cooperative = 1;
    launch->grid[0] = blocks;
    launch->block[0] = (unsigned)c->threads;
    launch->grid[1] = launch->grid[2] = launch->block[1] = launch->block[2] = 1;
    launch->shared = (unsigned)c->shared;
    launch->stream = stream;
    launch->attributes = attributes;
    launch->nattributes = c->cooperative ? 2 : 1;
}

/* How it fits on the machine. Clusters need groups of multiprocessors, not all of which are as large. */
static inline int kn_gpu_fit(const kn_gpu *g, const kn_gpu_code *c, kn_gpu_loaded *l)
{
    kn_driver *const d = &kn_gpu_driver;
    int own = 0, blocks = 0, clusters = 0, status;
    kn_cu_launch launch;
    kn_cu_launch_attribute attributes[2];
    status = -d->cuFuncGetAttribute(&own, KN_CU_FUNC_SHARED_BYTES, l->function);
    if (!status && g->most_shared > own)
        status = -d->cuFuncSetAttribute(l->function, KN_CU_FUNC_MAX_DYNAMIC_SHARED,
                                        g->most_shared - own);
    if (!status && c->cluster > 8)
        status = -d->cuFuncSetAttribute(l->function, KN_CU_FUNC_NON_PORTABLE_CLUSTERS, 1);
    if (!status)
        status = -d->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, l->function, c->threads,
                                                                 (size_t)c->shared);
    if (status || blocks < 1)
        return status ? status : KN_GPU_NO_FIT;
    l->resident = (int64_t)blocks * g->units;
    if (c->clusters && !d->cuLaunchKernelEx)
        return KN_GPU_NO_CLUSTERS;
    kn_gpu_describe(c, &launch, attributes, (unsigned)c->cluster * KN_GPU_MANY, 0);
    if (c->clusters && c->persistent && d->cuOccupancyMaxActiveClusters &&
        d->cuOccupancyMaxActiveClusters(&clusters, l->function, &launch) == KN_CU_SUCCESS &&
        clusters > 0)
        l->resident = (int64_t)clusters * c->cluster;
    return 0;
}

static inline int kn_gpu_load_now(const kn_gpu *g, const kn_gpu_code *c, kn_gpu_loaded *l)
{
    kn_driver *const d = &kn_gpu_driver;
    int status = -d->cuModuleLoadData(&l->module, g->ptx ? c->ptx : c->image);
    if (!status)
        status = -d->cuModuleGetFunction(&l->function, l->module, c->symbol);
    if (!status && d->cuFuncLoad) /* else the first launch would load it, and wait */
        status = -d->cuFuncLoad(l->function);
    return status ? status : kn_gpu_fit(g, c, l);
}

/* Loads the kernel when it is first needed. */
static inline int kn_gpu_load(kn_gpu *g, int kernel)
{
    kn_driver *const d = &kn_gpu_driver;
    kn_gpu_loaded *const l = &g->loaded[kernel];
    int status = 0;
    if (__atomic_load_n(&l->ready, __ATOMIC_ACQUIRE))
        return 0;
    pthread_mutex_lock(&g->loading);
    if (!l->ready) {
        const int mode = kn_uncaptured(d);
        status = kn_gpu_load_now(g, &g->codes[kernel], l);
        kn_uncaptured_end(d, mode);
        if (status && l->module)
            d->cuModuleUnload(l->module);
        if (status)
            memset(l, 0, sizeof *l);
        else
            __atomic_store_n(&l->ready, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&g->loading);
    return status;
}

/* ---- a run ---- */

/* What a plan is called with: first to ask, then to run. */
typedef struct kn_gpu_run {
    kn_gpu *gpu;
    kn_cu_stream stream;
    int asks;      /* it only sets what is next */
    int64_t bytes; /* of memory that it takes; 0: none */
    int meets;     /* blocks count each other in the memory's head */
    char *memory;  /* on the device */
    int inside;    /* the context was current */
    int lent;      /* the memory is the context's, or, in a capture, the graph's */
} kn_gpu_run;

enum { KN_GPU_GIVEN, KN_GPU_KEPT, KN_GPU_OF_GRAPH };

static inline void kn_gpu_ask(kn_gpu_run *run, kn_gpu *gpu, void *stream)
{
    memset(run, 0, sizeof *run);
    run->gpu = gpu;
    run->stream = (kn_cu_stream)stream;
    run->asks = 1;
}

/* The stream's memory, out of the list. Where there are too many already it is that of the stream which has not run for
 * longest; NULL: out of memory. */
static inline kn_gpu_memory *kn_gpu_take(kn_gpu *g, unsigned long long stream)
{
    kn_gpu_memory **at = &g->kept, *m;
    for (int n = 1; *at && (*at)->stream != stream; n++) {
        if (!(*at)->next && n >= KN_GPU_STREAMS)
            break;
        at = &(*at)->next;
    }
    m = *at;
    if (m)
        *at = m->next;
    else
        m = (kn_gpu_memory *)calloc(1, sizeof *m);
    return m;
}

/* Makes it of these bytes. cuMemFree() waits for work that uses the memory. */
static inline int kn_gpu_resize(kn_gpu_memory *m, int64_t bytes, kn_cu_stream stream)
{
    kn_driver *const d = &kn_gpu_driver;
    const int mode = kn_uncaptured(d);
    if (m->at)
        d->cuMemFree_v2(m->at);
    m->at = 0;
    m->bytes = 0;
    int status = -d->cuMemAlloc_v2(&m->at, (size_t)bytes);
    if (!status)
        status = -d->cuMemsetD8Async(m->at, 0, KN_GPU_HEAD, stream);
    kn_uncaptured_end(d, mode);
    m->bytes = status ? 0 : bytes;
    return status;
}

/* Memory of the stream's own, kept for its next run. */
static inline int kn_gpu_lend(kn_gpu_run *run)
{
    const unsigned long long id = kn_stream_id(&kn_gpu_driver, run->stream);
    kn_gpu_memory *const m = kn_gpu_take(run->gpu, id);
    int status = 0;
    if (!m)
        return KN_GPU_NO_MEMORY;
    if (m->stream != id || m->bytes < run->bytes)
        status = kn_gpu_resize(m, run->bytes, run->stream);
    m->stream = id;
    m->next = run->gpu->kept;
    run->gpu->kept = m;
    run->memory = (char *)(uintptr_t)m->at;
    return status;
}

/* A graph's own memory: it may run beside its stream. */
static inline int kn_gpu_allocate(kn_gpu_run *run)
{
    kn_cu_ptr at = 0;
    if (!kn_gpu_driver.cuMemAllocAsync || !kn_gpu_driver.cuMemFreeAsync)
        return KN_GPU_NO_MEMORY;
    const int status = -kn_gpu_driver.cuMemAllocAsync(&at, (size_t)run->bytes, run->stream);
    run->memory = (char *)(uintptr_t)at;
    return status;
}

/* Memory where the caller gives none. kn_gpu_return() if it returns 0. */
static inline int kn_gpu_borrow(kn_gpu_run *run)
{
    int status;
    if (kn_stream_captures(&kn_gpu_driver, run->stream)) {
        run->lent = KN_GPU_OF_GRAPH;
        return kn_gpu_allocate(run);
    }
    run->lent = KN_GPU_KEPT;
    pthread_mutex_lock(&run->gpu->lending);
    status = kn_gpu_lend(run);
    if (status)
        pthread_mutex_unlock(&run->gpu->lending);
    return status;
}

static inline void kn_gpu_return(kn_gpu_run *run)
{
    if (run->lent == KN_GPU_KEPT)
        pthread_mutex_unlock(&run->gpu->lending);
    if (run->lent == KN_GPU_OF_GRAPH)
        kn_gpu_driver.cuMemFreeAsync((kn_cu_ptr)(uintptr_t)run->memory, run->stream);
}

/* After a plan has said what it takes: the context is entered, and there is memory. kn_gpu_end() if it returns 0. */
static inline int kn_gpu_begin(kn_gpu_run *run, void *workspace)
{
    int status = 0;
    run->asks = 0;
    run->inside = kn_gpu_enter(run->gpu);
    run->memory = (char *)workspace;
    run->lent = KN_GPU_GIVEN;
    if (run->bytes && !workspace)
        status = kn_gpu_borrow(run);
    if (!status && run->bytes && run->meets && run->lent != KN_GPU_KEPT) {
        status = -kn_gpu_driver.cuMemsetD8Async((kn_cu_ptr)(uintptr_t)run->memory, 0, KN_GPU_HEAD,
                                                run->stream);
        if (status)
            kn_gpu_return(run);
    }
    if (status)
        kn_gpu_leave(run->inside);
    return status;
}

static inline void kn_gpu_end(kn_gpu_run *run)
{
    kn_gpu_return(run);
    kn_gpu_leave(run->inside);
}

static inline int kn_gpu_copy(const kn_gpu_run *run, void *to, const void *from, int64_t bytes)
{
    return bytes ? -kn_gpu_driver.cuMemcpyDtoDAsync_v2((kn_cu_ptr)(uintptr_t)to,
                                                       (kn_cu_ptr)(uintptr_t)from, (size_t)bytes,
                                                       run->stream)
                 : 0;
}

/* work, share: as in kn_grid_wants */
static inline int kn_gpu_launch(const kn_gpu_run *run, int kernel, int64_t work, int64_t share,
                                void **params)
{
    kn_driver *const d = &kn_gpu_driver;
    const kn_gpu_code *const c = &run->gpu->codes[kernel];
    const kn_gpu_loaded *const l = &run->gpu->loaded[kernel];
    const int status = kn_gpu_load(run->gpu, kernel);
    if (status)
        return status;
    const kn_grid_wants by = {work, share, c->cluster, c->persistent};
    const unsigned blocks = (unsigned)kn_blocks_all(&by, l->resident);
    const unsigned threads = (unsigned)c->threads, shared = (unsigned)c->shared;
    kn_cu_launch launch;
    kn_cu_launch_attribute attributes[2];
    if (c->clusters) {
        kn_gpu_describe(c, &launch, attributes, blocks, run->stream);
        return -d->cuLaunchKernelEx(&launch, l->function, params, 0);
    }
    if (c->cooperative)
        return -d->cuLaunchCooperativeKernel(l->function, blocks, 1, 1, threads, 1, 1, shared,
                                             run->stream, params);
    return -d->cuLaunchKernel(l->function, blocks, 1, 1, threads, 1, 1, shared, run->stream, params,
                              0);
}

#endif
