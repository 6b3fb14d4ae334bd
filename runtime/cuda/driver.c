#include "runtime/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/process.h"

#define GET_A_DRIVER                                                                               \
    "install the NVIDIA driver (on Debian: nvidia-driver, or libcuda1 for the library alone; in "  \
    "a "                                                                                           \
    "container, start it with the GPU passed through), or use the device \"cpu\""

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Written by load() under `once`, constant afterwards. */
static kn_driver table;
static char path[4096];
static char problem[512]; /* why there is no driver; "" when there is one */
static unsigned
    started; /* atomic: 1 + the process that first initialised the driver; 0: none has */

/* POSIX lets an object pointer from dlsym() hold a function; ISO C wants the detour. */
static void set_entry(void *entry, void *symbol) { memcpy(entry, &symbol, sizeof symbol); }

static void load(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        /* Absence has better words than dlerror()'s; another reason is worth repeating. */
        const char *why = dlerror();
        bool absent = !why || strncmp(why, "libcuda.so.1: cannot open", 25) == 0;
        snprintf(problem, sizeof problem, "no CUDA driver: libcuda.so.1 %s%.200s; " GET_A_DRIVER,
                 absent ? "not found" : "could not be loaded: ", absent ? "" : why);
        return;
    }
    const char *missing = NULL;
    void *symbol;
#define NEED(entry, params)                                                                        \
    if (!(symbol = dlsym(lib, #entry)) && !missing)                                                \
        missing = #entry;                                                                          \
    set_entry(&table.entry, symbol);
#define MAY(entry, params) set_entry(&table.entry, dlsym(lib, #entry));
#include "runtime/cuda/driver.def"
#undef NEED
#undef MAY
    Dl_info where;
    symbol = dlsym(lib, "cuInit");
    snprintf(path, sizeof path, "%s",
             symbol && dladdr(symbol, &where) && where.dli_fname ? where.dli_fname
                                                                 : "libcuda.so.1");
    table.path = path;
    if (missing) {
        snprintf(
            problem, sizeof problem,
            "no usable CUDA driver: %.200s has no %s; kiln needs a driver for CUDA 11.2 or newer",
            path, missing);
        return;
    }
    if (table.cuDriverGetVersion(&table.version) != KN_CU_SUCCESS)
        table.version = 0;
}

kn_status kn_driver_find(const kn_driver **driver)
{
    pthread_once(&once, load);
    if (problem[0])
        return kn_fail(KN_DEVICE, "%s", problem);
    *driver = &table;
    return KN_OK;
}

/* A driver that was initialised before a fork() does not work in the child, where it says so in no words or hangs. */
static kn_status check_process(void)
{
    unsigned here = kn_process() + 1, first = 0;
    if (__atomic_compare_exchange_n(&started, &first, here, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED) ||
        first == here)
        return KN_OK;
    return kn_fail(
        KN_DEVICE,
        "CUDA cannot be used in this process, which fork() made when its parent had used CUDA; fork before "
        "that, or start a process with exec()");
}

kn_status kn_driver_init(const kn_driver **driver, int *count)
{
    const kn_driver *d;
    KN_TRY(kn_driver_find(&d));
    KN_TRY(check_process());
    int result = d->cuInit(0);
    if (result == KN_CU_STUB_LIBRARY)
        return kn_fail(
            KN_DEVICE,
            "no CUDA driver: %s is the stub that programs are linked with, not a driver; "
            "take its folder out of LD_LIBRARY_PATH",
            d->path);
    *count = 0;
    if (result == KN_CU_SUCCESS)
        result = d->cuDeviceGetCount(count);
    if (result == KN_CU_NO_DEVICE || (result == KN_CU_SUCCESS && *count == 0))
        return kn_fail(KN_DEVICE,
                       "no GPU: the CUDA driver (%s) finds none, or CUDA_VISIBLE_DEVICES "
                       "hides it; the device \"cpu\" works without one",
                       d->path);
    if (result != KN_CU_SUCCESS) {
        kn_driver_check(d, result, "cuInit");
        return kn_fail_prefix(KN_DEVICE, "the CUDA driver (%s) does not start%s: ", d->path,
                              result == KN_CU_SYSTEM_DRIVER_MISMATCH
                                  ? " (its library and kernel module differ in version: reboot)"
                                  : "");
    }
    *driver = d;
    return KN_OK;
}

kn_status kn_driver_check(const kn_driver *d, int result, const char *call)
{
    if (result == KN_CU_SUCCESS)
        return KN_OK;
    const char *name = NULL, *text = NULL;
    if (d->cuGetErrorName(result, &name) != KN_CU_SUCCESS || !name)
        name = "unknown result";
    if (d->cuGetErrorString(result, &text) != KN_CU_SUCCESS || !text)
        text = "the driver has no words for it";
    return kn_fail(result == KN_CU_OUT_OF_MEMORY ? KN_MEMORY : KN_RUN, "%s: %s (%d): %s", call,
                   name, result, text);
}
