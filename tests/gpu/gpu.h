/* For tests of what only a GPU does: its context, or the test is skipped. */
#ifndef KN_TESTS_GPU_GPU_H
#define KN_TESTS_GPU_GPU_H

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/cuda/driver.h"
#include "tests/device.h"

static bool skipped;
static kiln_ctx *ctx;

static inline void skip_gpu(const char *why)
{
    print_message("%s\n", why);
    skipped = true;
    skip();
}

static inline void open_gpu(void)
{
    kiln_config c;
    kiln_config_init(&c);
    c.device = "cuda";
    if (kiln_ctx_create(&c, &ctx) != KILN_OK)
        skip_gpu(kiln_last_error());
}

/* What applications do with streams and kiln never does; CUDA driver API, "Stream Management". */
static struct {
    int (*cuStreamCreate)(kn_cu_stream *stream, unsigned flags);
    int (*cuStreamDestroy_v2)(kn_cu_stream stream);
    int (*cuStreamBeginCapture_v2)(kn_cu_stream stream, int mode);
    int (*cuStreamEndCapture)(kn_cu_stream stream, kn_cu_graph *graph);
} streams;

enum { BLOCKING = 0, NON_BLOCKING = 1 };
enum { CAPTURE_GLOBAL = 0 }; /* the strictest: forbids allocations of every thread */

/* open_gpu() and `streams`. */
static inline void open_gpu_streams(void)
{
    open_gpu();
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *symbol;
#define FIND(entry)                                                                                \
    assert_non_null(symbol = dlsym(lib, #entry));                                                  \
    memcpy(&streams.entry, &symbol, sizeof symbol);
    FIND(cuStreamCreate)
    FIND(cuStreamDestroy_v2)
    FIND(cuStreamBeginCapture_v2)
    FIND(cuStreamEndCapture)
#undef FIND
}

#endif
