#include "runtime/cuda/measure.h"

#include "kernels_cache/disk.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/stream.h"

extern const char kn_cuda_probes[];

/* Raised when probes measure something else: what was kept before is never asked for again. */
#define GENERATION "1"

enum { BLOCK = 1024, VECTOR = 16, REPEATS = 7 };
enum { COPIED = 128 << 20, READ = 8 << 20, ROUNDS = 16 }; /* bytes, of each array; times */
enum { ADDITIONS = 2048, LOADS = 1024, BARRIERS = 64 };

/* Of a measurement: a stream that waits for no other, two events, and two arrays of COPIED bytes: probes read the
 * first, which is all zeros, and write to the second. */
typedef struct session {
    const kn_cuda *dev;
    const kn_driver *driver;
    kn_cu_module module;
    kn_cu_stream stream;
    kn_cu_event between[2];
    kn_cu_ptr memory;
} session;

typedef struct launch {
    const char *kernel;
    unsigned blocks, threads;
    bool cooperative;
    void **params;
} launch;

static kn_status start(const session *s, kn_cu_function f, const launch *l)
{
    return l->cooperative ? KN_CU(s->driver, cuLaunchCooperativeKernel, f, l->blocks, 1, 1,
                                  l->threads, 1, 1, 0, s->stream, l->params)
                          : KN_CU(s->driver, cuLaunchKernel, f, l->blocks, 1, 1, l->threads, 1, 1,
                                  0, s->stream, l->params, NULL);
}

/* The least time of several launches, the first of which warms up. Before each all memory is set to zeros, the
 * first array first: that leaves nothing of it in a cache, and the host is done with its calls before the device is. */
static kn_status time_launches(const session *s, const launch *l, double *ns)
{
    const kn_driver *drv = s->driver;
    kn_cu_function f;
    KN_TRY(KN_CU(drv, cuModuleGetFunction, &f, s->module, l->kernel));
    for (int i = 0; i <= REPEATS; i++) {
        float ms;
        KN_TRY(KN_CU(drv, cuMemsetD8Async, s->memory, 0, 2 * (size_t)COPIED, s->stream));
        KN_TRY(KN_CU(drv, cuEventRecord, s->between[0], s->stream));
        KN_TRY(start(s, f, l));
        KN_TRY(KN_CU(drv, cuEventRecord, s->between[1], s->stream));
        KN_TRY(KN_CU(drv, cuEventSynchronize, s->between[1]));
        KN_TRY(KN_CU(drv, cuEventElapsedTime, &ms, s->between[0], s->between[1]));
        if (i == 1 || (i > 1 && (double)ms * 1e6 < *ns))
            *ns = (double)ms * 1e6;
    }
    return *ns > 0 ? KN_OK : kn_fail(KN_RUN, "%s took no time", l->kernel);
}

/* ---- probes ---- */

/* Arithmetic comes first: by then the clock is what it is under load. */
static kn_status probe_units(const session *s, kn_probes *p)
{
    const unsigned units = (unsigned)s->dev->target.units;
    kn_cu_ptr out = s->memory + COPIED;
    int n = ADDITIONS;
    float x = 1;
    double wide = 1, ns = 0;
    void *params[] = {&out, &x, &n}, *wides[] = {&out, &wide, &n};
    KN_TRY(time_launches(s, &(launch){"kn_probe_adds", units, BLOCK, false, params}, &ns));
    p->adds = 8.0 * n * BLOCK / ns;
    KN_TRY(time_launches(s, &(launch){"kn_probe_adds_f64", units, BLOCK, false, wides}, &ns));
    p->adds_f64 = 8.0 * n * BLOCK / ns;
    n *= 8;
    KN_TRY(time_launches(s, &(launch){"kn_probe_add", 1, 1, false, params}, &ns));
    p->add = ns / n;
    return KN_OK;
}

static kn_status probe_memory(const session *s, kn_probes *p)
{
    const unsigned units = (unsigned)s->dev->target.units;
    kn_cu_ptr from = s->memory, to = s->memory + COPIED;
    unsigned n = COPIED / VECTOR, mask = COPIED / sizeof(unsigned) - 1;
    int rounds = 1, loads = LOADS;
    double ns = 0;
    void *copied[] = {&to, &from, &n, &rounds}, *read[] = {&to, &from, &n};
    void *followed[] = {&to, &from, &mask, &loads};
    KN_TRY(time_launches(s, &(launch){"kn_probe_copy", 8 * units, BLOCK / 4, false, copied}, &ns));
    p->copy = 2.0 * COPIED / ns;
    n = (unsigned)(p->cache_bytes / 8) / VECTOR;
    rounds = ROUNDS;
    KN_TRY(time_launches(s, &(launch){"kn_probe_copy", 8 * units, BLOCK / 4, false, copied}, &ns));
    p->cached = 2.0 * rounds * n * VECTOR / ns;
    n = READ / VECTOR;
    KN_TRY(time_launches(s, &(launch){"kn_probe_block", 1, BLOCK, false, read}, &ns));
    p->block = READ / ns;
    KN_TRY(time_launches(s, &(launch){"kn_probe_loads", 1, 1, false, followed}, &ns));
    p->load = ns / loads;
    return KN_OK;
}

static kn_status probe_launches(const session *s, kn_probes *p)
{
    const unsigned units = (unsigned)s->dev->target.units;
    kn_cu_ptr arrived = s->memory + COPIED;
    int n = BARRIERS;
    double ns = 0;
    void *params[] = {&arrived, &n};
    KN_TRY(time_launches(s, &(launch){"kn_probe_launch", 1, 32, false, NULL}, &p->launch));
    if (!s->dev->target.cooperative)
        return KN_OK;
    KN_TRY(time_launches(s, &(launch){"kn_probe_barriers", units, BLOCK / 4, true, params}, &ns));
    p->barrier = ns / n;
    return KN_OK;
}

/* ---- a session ---- */

static kn_status read_sizes(const session *s, kn_probes *p)
{
    int cache, shared;
    KN_TRY(KN_CU(s->driver, cuDeviceGetAttribute, &cache, KN_CU_DEV_L2_BYTES, s->dev->device));
    KN_TRY(KN_CU(s->driver, cuDeviceGetAttribute, &shared, KN_CU_DEV_SHARED_PER_MULTIPROCESSOR,
                 s->dev->device));
    if (cache <= 0 || shared <= 0)
        return kn_fail(KN_DEVICE, "GPU %d does not say how large its caches are", s->dev->ordinal);
    p->cache_bytes = cache < COPIED ? cache : COPIED;
    p->near_bytes = shared;
    return KN_OK;
}

static kn_status open_session(session *s)
{
    const kn_driver *drv = s->driver;
    kn_binary cubin = {0};
    KN_TRY(kn_nvrtc_cubin("kn_probe_launch", kn_cuda_probes, s->dev->target.sm, &s->dev->from,
                          &cubin));
    kn_status status = KN_CU(drv, cuModuleLoadData, &s->module, cubin.data);
    kn_binary_finish(&cubin, &s->dev->from);
    KN_TRY(status);
    KN_TRY(KN_CU(drv, cuStreamCreate, &s->stream, KN_CU_STREAM_NON_BLOCKING));
    KN_TRY(KN_CU(drv, cuEventCreate, &s->between[0], 0));
    KN_TRY(KN_CU(drv, cuEventCreate, &s->between[1], 0));
    return KN_CU(drv, cuMemAlloc_v2, &s->memory, 2 * (size_t)COPIED);
}

static void close_session(session *s)
{
    const kn_driver *drv = s->driver;
    if (s->memory)
        drv->cuMemFree_v2(s->memory);
    for (int i = 0; i < 2; i++)
        if (s->between[i])
            drv->cuEventDestroy_v2(s->between[i]);
    if (s->stream)
        drv->cuStreamDestroy_v2(s->stream);
    if (s->module)
        drv->cuModuleUnload(s->module);
}

static kn_status probe_all(session *s, kn_probes *p)
{
    *p = (kn_probes){0};
    KN_TRY(read_sizes(s, p));
    KN_TRY(open_session(s));
    KN_TRY(probe_units(s, p));
    KN_TRY(probe_memory(s, p));
    return probe_launches(s, p);
}

kn_status kn_cuda_probe(const kn_cuda *d, kn_probes *p)
{
    session s = {.dev = d, .driver = d->driver};
    if (!s.driver->cuStreamCreate || !s.driver->cuStreamDestroy_v2)
        return kn_fail(KN_DEVICE, "the driver has no streams");
    KN_TRY(kn_nvrtc_find());
    KN_TRY(kn_cuda_enter(d));
    const int mode = kn_uncaptured(s.driver);
    kn_status status = probe_all(&s, p);
    close_session(&s);
    kn_uncaptured_end(s.driver, mode);
    kn_cuda_leave(d);
    return status;
}

/* ---- what is kept ---- */

typedef struct learning {
    const kn_cuda *d;
    const char *name;
    kn_probes *probes;
    kn_arena arena;
} learning;

static bool recall(learning *l, kn_bytes_view key)
{
    kn_disk *disk = l->d->base.disk;
    kn_disk_value value;
    if (!kn_disk_find(disk, key, &value))
        return false;
    const bool good = kn_probes_read(value.bytes.data, l->probes);
    kn_disk_release(disk, &value);
    if (!good)
        kn_disk_reject(disk, key);
    return good;
}

static kn_status recall_or_probe(void *user)
{
    learning *l = user;
    const kn_target *t = &l->d->target;
    kn_text key = kn_text_new(&l->arena), value = kn_text_new(&l->arena);
    kn_putf(&key, "measurements of %s\nsm_%d, %d multiprocessors\ngeneration " GENERATION "\n",
            l->name, t->sm, t->units);
    const kn_bytes_view k = {kn_text_str(&key), key.len};
    if (recall(l, k))
        return KN_OK;
    KN_TRY(kn_cuda_probe(l->d, l->probes));
    kn_probes_put(&value, l->probes);
    if (!kn_probes_read(kn_text_str(&value), l->probes)) /* rounded, as later processes find them */
        return kn_fail(KN_RUN, "measurements of %s make no sense", l->name);
    kn_disk_store(l->d->base.disk, k, (kn_bytes_view){kn_text_str(&value), value.len}, 0);
    return KN_OK;
}

kn_status kn_cuda_probe_once(const kn_cuda *d, const char *name, kn_probes *probes)
{
    char problem[256] = "there is none";
    if (d->base.disk)
        kn_disk_problem(d->base.disk, problem, sizeof problem);
    if (problem[0])
        return kn_fail(KN_DEVICE, "no disk cache to keep measurements in: %s", problem);
    learning l = {.d = d, .name = name, .probes = probes};
    kn_arena_init(&l.arena, NULL);
    kn_status status = kn_protect(&l.arena, recall_or_probe, &l);
    kn_arena_finish(&l.arena);
    return status;
}

void kn_cuda_learn(kn_cuda *d)
{
    char name[128] = "";
    kn_probes probes;
    if (d->driver->cuDeviceGetName(name, sizeof name, d->device) != KN_CU_SUCCESS)
        return;
    if (!kn_machine_named(name, &d->machine)) {
        if (kn_cuda_probe_once(d, name, &probes) != KN_OK) {
            kn_clear_error();
            return;
        }
        d->machine = kn_machine_probed(&probes);
    }
    d->target.machine = &d->machine;
}
