/* A CUDA driver whose GPU is the emulator: libcuda.so.1 for tests of emitted programs. A kernel is known by its symbol; what
 * runs is its source, $KILN_FAKE_SOURCES/SYMBOL.cu, while the image need only be machine code of the architecture that
 * $KILN_FAKE_SM says, or PTX. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/kiln.h"
#include "runtime/cuda/abi.h"

#define NEED(entry, params) int entry params;
#define MAY(entry, params) int entry params;
#include "runtime/cuda/driver.def"
#undef NEED
#undef MAY
/* What tests say and ask. */
void fake_host(const char *low, const char *high);
void fake_capture(int capturing);
void fake_capture_elsewhere(int capturing);
void fake_ids(int has);
void fake_memsets(int work);
int fake_launches(void);
int fake_allocations(void);
int fake_living(void);

enum { UNITS = 4, BLOCKS_A_UNIT = 2, NOT_FOUND = 500, LAUNCH_FAILED = 719, NAME = 128 };

struct CUfunc_st {
    kiln_kernel *kernel;
};

struct CUmod_st {
    struct CUfunc_st function;
};

static kiln_ctx *emulator;
static const char *host_low, *host_high; /* memory that is no device's */
static int is_capturing, captures_elsewhere, has_no_ids, fails_memsets;
static int launches, allocations, living;
static _Thread_local int mode; /* of captures: 0, global, or KN_CU_CAPTURE_RELAXED */
static char text[8192];

void fake_host(const char *low, const char *high)
{
    host_low = low;
    host_high = high;
}
/* The streams of all runs, or another one. */
void fake_capture(int capturing) { is_capturing = capturing; }
void fake_capture_elsewhere(int capturing) { captures_elsewhere = capturing; }
/* Can streams tell their numbers; does cuMemsetD8Async() work? */
void fake_ids(int has) { has_no_ids = !has; }
void fake_memsets(int work) { fails_memsets = !work; }
int fake_launches(void) { return launches; }
int fake_allocations(void) { return allocations; }
int fake_living(void) { return living; }

static int say(int result, const char *what)
{
    snprintf(text, sizeof text, "%s: %s", what, kiln_last_error());
    return result;
}

int cuInit(unsigned flags)
{
    kiln_config config;
    kiln_config_init(&config);
    config.device = "emu";
    if (emulator || flags)
        return KN_CU_SUCCESS;
    return kiln_ctx_create(&config, &emulator) == KILN_OK ? KN_CU_SUCCESS : say(999, "cuInit");
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return KN_CU_SUCCESS;
}

int cuGetErrorName(int result, const char **name)
{
    *name = result ? "FAKE" : "";
    return KN_CU_SUCCESS;
}

int cuGetErrorString(int result, const char **words)
{
    *words = result ? text : "";
    return KN_CU_SUCCESS;
}

/* ---- one device ---- */

int cuDeviceGetCount(int *count)
{
    *count = 1;
    return KN_CU_SUCCESS;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = 7 + ordinal;
    return KN_CU_SUCCESS;
}

int cuDeviceGetName(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "the emulator, %d", device);
    return KN_CU_SUCCESS;
}

static int sm(void)
{
    const char *given = getenv("KILN_FAKE_SM");
    return given ? atoi(given) : 90;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    switch (attribute) {
    case KN_CU_DEV_SM_MAJOR: *value = sm() / 10; break;
    case KN_CU_DEV_SM_MINOR: *value = sm() % 10; break;
    case KN_CU_DEV_MULTIPROCESSORS: *value = UNITS; break;
    case KN_CU_DEV_SHARED_PER_BLOCK_OPTIN: *value = 227 * 1024; break;
    default: *value = 0; break;
    }
    return KN_CU_SUCCESS;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)1 << 30;
    return device ? KN_CU_SUCCESS : KN_CU_INVALID_VALUE;
}

/* ---- its context ---- */

static _Thread_local int current;
static int primary;

int cuDevicePrimaryCtxRetain(kn_cu_context *context, int device)
{
    (void)device;
    *context = (kn_cu_context)&primary;
    return KN_CU_SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    return device ? KN_CU_SUCCESS : KN_CU_INVALID_VALUE;
}

int cuCtxPushCurrent_v2(kn_cu_context context)
{
    (void)context;
    current++;
    return KN_CU_SUCCESS;
}

int cuCtxPopCurrent_v2(kn_cu_context *context)
{
    *context = (kn_cu_context)&primary;
    current--;
    return KN_CU_SUCCESS;
}

int cuCtxGetCurrent(kn_cu_context *context)
{
    *context = current ? (kn_cu_context)&primary : NULL;
    return KN_CU_SUCCESS;
}

int cuCtxSynchronize(void) { return KN_CU_SUCCESS; }

int cuThreadExchangeStreamCaptureMode(int *other)
{
    const int before = mode;
    mode = *other;
    *other = before;
    return KN_CU_SUCCESS;
}

/* ---- memory ---- */

/* In a capture, or beside one whose mode is not relaxed. */
static bool is_forbidden(void)
{
    return is_capturing || (captures_elsewhere && mode != KN_CU_CAPTURE_RELAXED);
}

int cuMemAlloc_v2(kn_cu_ptr *ptr, size_t bytes)
{
    void *made;
    allocations++;
    if (is_forbidden())
        return say(900, "an allocation while a stream is captured");
    if (kiln_alloc(emulator, bytes, &made) != KILN_OK)
        return say(KN_CU_OUT_OF_MEMORY, "cuMemAlloc");
    memset(made, 0x5a, bytes);
    *ptr = (kn_cu_ptr)(uintptr_t)made;
    __atomic_fetch_add(&living, 1, __ATOMIC_RELAXED);
    return KN_CU_SUCCESS;
}

int cuMemFree_v2(kn_cu_ptr ptr)
{
    if (ptr && captures_elsewhere && mode != KN_CU_CAPTURE_RELAXED)
        return say(900, "memory is freed while a stream is captured");
    __atomic_fetch_sub(&living, ptr != 0, __ATOMIC_RELAXED);
    kiln_free(emulator, (void *)(uintptr_t)ptr);
    return KN_CU_SUCCESS;
}

int cuMemAllocAsync(kn_cu_ptr *ptr, size_t bytes, kn_cu_stream stream)
{
    const int captures = is_capturing;
    (void)stream;
    is_capturing = 0;
    const int result = cuMemAlloc_v2(ptr, bytes);
    is_capturing = captures;
    return result;
}

int cuMemFreeAsync(kn_cu_ptr ptr, kn_cu_stream stream)
{
    (void)stream;
    return cuMemFree_v2(ptr);
}

static int move(kn_cu_ptr to, const void *from, size_t bytes)
{
    if (!current)
        return say(201, "no context is current");
    memcpy((void *)(uintptr_t)to, from, bytes);
    return KN_CU_SUCCESS;
}

int cuMemcpyHtoD_v2(kn_cu_ptr to, const void *from, size_t bytes) { return move(to, from, bytes); }

int cuMemcpyDtoH_v2(void *to, kn_cu_ptr from, size_t bytes)
{
    return move((kn_cu_ptr)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
}

int cuMemcpyDtoDAsync_v2(kn_cu_ptr to, kn_cu_ptr from, size_t bytes, kn_cu_stream stream)
{
    (void)stream;
    return move(to, (const void *)(uintptr_t)from, bytes);
}

int cuMemsetD8Async(kn_cu_ptr to, unsigned char value, size_t n, kn_cu_stream stream)
{
    (void)stream;
    if (fails_memsets)
        return say(999, "cuMemsetD8Async");
    memset((void *)(uintptr_t)to, value, n);
    return current ? KN_CU_SUCCESS : say(201, "no context is current");
}

int cuPointerGetAttribute(void *value, int attribute, kn_cu_ptr ptr)
{
    const char *at = (const char *)(uintptr_t)ptr;
    if (at >= host_low && at < host_high)
        return KN_CU_INVALID_VALUE;
    if (attribute == KN_CU_POINTER_MEMORY_TYPE)
        *(unsigned *)value = KN_CU_MEMORY_HOST + 1;
    return KN_CU_SUCCESS;
}

int cuStreamSynchronize(kn_cu_stream stream)
{
    (void)stream;
    return KN_CU_SUCCESS;
}

int cuStreamGetId(kn_cu_stream stream, unsigned long long *id)
{
    *id = 100 + (uintptr_t)stream;
    return is_capturing ? 900 : has_no_ids ? 801 : KN_CU_SUCCESS;
}

int cuStreamIsCapturing(kn_cu_stream stream, int *status)
{
    (void)stream;
    *status = is_capturing;
    return KN_CU_SUCCESS;
}

/* ---- kernels ---- */

/* Machine code says its architecture in the second byte of an ELF header's flags. */
static int is_for(const unsigned char *image)
{
    const int major = sm() / 10;
    if (memcmp(image, "\177ELF", 4) != 0)
        return memcmp(image, "//\n// Generated by NVIDIA NVVM", 30) == 0;
    const unsigned flags = (unsigned)image[48] | (unsigned)image[49] << 8;
    const int in_low = (int)(flags & 0xff), in_high = (int)(flags >> 8 & 0xff);
    return in_low / 10 == major || in_high / 10 == major;
}

int cuModuleLoadData(kn_cu_module *module, const void *image)
{
    if (captures_elsewhere && mode != KN_CU_CAPTURE_RELAXED)
        return say(900, "code is loaded while a stream is captured");
    if (!is_for(image))
        return say(KN_CU_NO_BINARY_FOR_GPU, "machine code for another architecture");
    *module = calloc(1, sizeof **module);
    return *module ? KN_CU_SUCCESS : KN_CU_OUT_OF_MEMORY;
}

int cuModuleUnload(kn_cu_module module)
{
    kiln_kernel_destroy(module->function.kernel);
    free(module);
    return KN_CU_SUCCESS;
}

int cuModuleGetFunction(kn_cu_function *function, kn_cu_module module, const char *name)
{
    char path[4096], *source;
    const char *folder = getenv("KILN_FAKE_SOURCES");
    snprintf(path, sizeof path, "%s/%s.cu", folder ? folder : ".", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        return say(NOT_FOUND, path);
    source = calloc(1, 1 << 20);
    const size_t bytes = source ? fread(source, 1, (1 << 20) - 1, f) : 0;
    fclose(f);
    const int result =
        bytes && kiln_kernel_create(emulator, source, name, &module->function.kernel) == KILN_OK
            ? KN_CU_SUCCESS
            : say(NOT_FOUND, path);
    free(source);
    *function = &module->function;
    return result;
}

int cuFuncGetAttribute(int *value, int attribute, kn_cu_function function)
{
    (void)attribute, (void)function;
    *value = 0;
    return KN_CU_SUCCESS;
}

int cuFuncSetAttribute(kn_cu_function function, int attribute, int value)
{
    (void)attribute, (void)value;
    return function ? KN_CU_SUCCESS : KN_CU_INVALID_VALUE;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, kn_cu_function function, int threads,
                                                size_t shared)
{
    (void)function, (void)shared;
    *blocks = BLOCKS_A_UNIT;
    return threads > 0 && threads <= 1024 ? KN_CU_SUCCESS : KN_CU_INVALID_VALUE;
}

static int launch(kn_cu_function function, const kiln_launch *l, void **params)
{
    const int n = kiln_kernel_params(function->kernel);
    launches++;
    return kiln_kernel_run(function->kernel, NULL, l, params, n) == KILN_OK
               ? KN_CU_SUCCESS
               : say(LAUNCH_FAILED, "launch");
}

int cuLaunchKernel(kn_cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                   unsigned by, unsigned bz, unsigned shared, kn_cu_stream stream, void **params,
                   void **extra)
{
    kiln_launch l;
    kiln_launch_init(&l);
    (void)stream;
    l.grid[0] = gx, l.grid[1] = gy, l.grid[2] = gz;
    l.block[0] = bx, l.block[1] = by, l.block[2] = bz;
    l.shared = shared;
    return extra ? KN_CU_INVALID_VALUE : launch(function, &l, params);
}

int cuLaunchCooperativeKernel(kn_cu_function function, unsigned gx, unsigned gy, unsigned gz,
                              unsigned bx, unsigned by, unsigned bz, unsigned shared,
                              kn_cu_stream stream, void **params)
{
    kiln_launch l;
    kiln_launch_init(&l);
    (void)stream;
    l.grid[0] = gx, l.grid[1] = gy, l.grid[2] = gz;
    l.block[0] = bx, l.block[1] = by, l.block[2] = bz;
    l.shared = shared;
    l.cooperative = true;
    return gx <= UNITS * BLOCKS_A_UNIT ? launch(function, &l, params)
                                       : say(720, "a cooperative grid that is too large");
}

int cuLaunchKernelEx(const kn_cu_launch *is, kn_cu_function function, void **params, void **extra)
{
    kiln_launch l;
    kiln_launch_init(&l);
    memcpy(l.grid, is->grid, sizeof l.grid);
    memcpy(l.block, is->block, sizeof l.block);
    l.shared = is->shared;
    for (unsigned i = 0; i < is->nattributes; i++)
        if (is->attributes[i].id == KN_CU_LAUNCH_CLUSTER)
            memcpy(l.cluster, is->attributes[i].value.cluster, sizeof l.cluster);
        else
            l.cooperative = is->attributes[i].value.cooperative != 0;
    return extra ? KN_CU_INVALID_VALUE : launch(function, &l, params);
}

/* ---- what must be there ---- */

int cuEventCreate(kn_cu_event *event, unsigned flags) { return event && !flags ? 0 : 1; }
int cuEventDestroy_v2(kn_cu_event event) { return event ? 0 : 1; }
int cuEventRecord(kn_cu_event event, kn_cu_stream stream) { return event && stream ? 0 : 1; }
int cuEventSynchronize(kn_cu_event event) { return event ? 0 : 1; }
int cuEventElapsedTime(float *ms, kn_cu_event from, kn_cu_event to)
{
    return ms && from && to ? 0 : 1;
}
