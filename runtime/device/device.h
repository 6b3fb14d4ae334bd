/* A device: where memory lives and kernels run. A const table of functions per kind.
 *
 *     kind    code it runs                        memory
 *     cuda    cubin, through NVRTC and the driver  device memory
 *     emu     the CUDA source, on the host         host memory
 *     cpu     the kernel IR itself, or C from it   host memory
 *     ref     (the graph; see runtime/program.c)       host memory
 *
 * `prepare` turns a kernel (IR and, for CUDA, its source text) into code once; `launch` runs that code
 * for one call. Both are safe to call from several threads. `launch` does not compile, and on a GPU neither
 * waits nor allocates, but for the driver's graph of a launch that is asked for again and again; the host devices are
 * done on return. */
#ifndef KN_RUNTIME_DEVICE_DEVICE_H
#define KN_RUNTIME_DEVICE_DEVICE_H

#include "base/arena.h"
#include "base/status.h"
#include "codegen/kir/call.h"
#include "codegen/kir/kir.h"
#include "codegen/kir/target.h"
#include "kernels_cache/disk.h"
#include "runtime/device/params.h"

typedef struct kn_device kn_device;
typedef struct kn_code kn_code; /* a compiled kernel; each device has its own */

typedef struct kn_device_config {
    int ordinal;          /* which GPU */
    int threads;          /* CPU and emulator: 0 for one a core */
    const char *emulator; /* options of the emulator, or NULL: see kiln_config */
    const char *compile;  /* CPU: when kernels are compiled, or NULL: see kiln_config */
    double stream;        /* CPU: see kn_cpu_machine; 0: KN_STREAM_BYTES */
    kn_disk *disk;        /* compiled kernels of other processes; outlives the device; NULL: none */
    kn_allocator from;
} kn_device_config;

/* The shape of a launch. */
typedef struct kn_grid {
    unsigned grid[3], block[3],
        cluster[3]; /* cluster all 0 or 1: what the kernel's own attribute says */
    size_t shared;  /* bytes of dynamic shared memory */
    bool cooperative;
} kn_grid;

/* What launches of a kernel have in common: see launch.h. */
typedef struct kn_launch {
    const kn_kernel *kernel; /* structure and numbers */
    kn_code *code;
    kn_grid grid;      /* devices that run source */
    kn_params params;  /* the same */
    const void *bound; /* what bind() worked out of the kernel's numbers */
} kn_launch;

/* What a device knows of a parameter of a user's own kernel. */
typedef struct kn_code_param {
    const char *name;
    size_t bytes, element; /* of its value; of what it points to, or 0 */
    kn_dtype dtype; /* of its value, or of what it points to; KN_NO_DTYPE: another or unknown */
    bool pointer, value; /* which of the two it is, if that is known */
} kn_code_param;

/* Memory that kernels of several ranks' devices use, as mailboxes are, see codegen/emit/cuda/prelude/ranks.cuh. */
typedef struct kn_peer_block kn_peer_block; /* each device has its own */
typedef struct kn_peer_memory {
    void *at;   /* for this device's kernels */
    void *host; /* for the host; NULL: it has no address there */
    kn_peer_block *block;
} kn_peer_memory;

/* Where it is, for other ranks. */
typedef struct kn_peer_handle {
    char device[16]; /* the same for ranks that share one */
    char ipc[64];    /* for other processes */
    uint64_t number; /* for this one: runtime/device/shared.h */
} kn_peer_handle;

typedef struct kn_peer_ops {
    /* New memory, all 0, of the device or of the host. It lasts until all have closed it that reach it in this process. */
    kn_status (*alloc)(kn_device *dev, size_t bytes, bool on_host, kn_peer_memory *memory);
    /* DEVICE, saying why: other processes cannot reach it. */
    kn_status (*get_handle)(kn_device *dev, const kn_peer_memory *memory, kn_peer_handle *handle);
    /* That of another rank; here: of this process. DEVICE, saying why: this device's kernels cannot use it. RUN: it is closed. */
    kn_status (*open_handle)(kn_device *dev, const kn_peer_handle *handle, bool here,
                             kn_peer_memory *memory);
    void (*close)(kn_device *dev, kn_peer_memory *memory);
} kn_peer_ops;

typedef struct kn_device_ops {
    const char *kind;
    bool runs_source; /* prepare() needs kernel->source */
    kn_status (*open)(const kn_device_config *config, kn_device **dev);
    void (*close)(kn_device *dev);
    /* The machine as the scheduler sees it. */
    const kn_target *(*target)(const kn_device *dev);

    kn_status (*alloc)(kn_device *dev, size_t bytes, void **ptr);
    void (*release)(kn_device *dev, void *ptr);
    /* What is in one stream runs in order. NULL: the device is done when a call returns. */
    uint64_t (*stream_id)(kn_device *dev, void *stream);
    kn_status (*upload)(kn_device *dev, void *to, const void *host, size_t bytes);
    kn_status (*download)(kn_device *dev, void *host, const void *from, size_t bytes);
    /* Device to device, on the stream. */
    kn_status (*copy)(kn_device *dev, void *to, const void *from, size_t bytes, void *stream);
    kn_status (*zero)(kn_device *dev, void *to, size_t bytes, void *stream);
    kn_status (*sync)(kn_device *dev, void *stream);

    /* The code outlives the kernel: prepare() keeps nothing of it, and launches are of kernels with the same
     * structure. */
    kn_status (*prepare)(kn_device *dev, const kn_kernel *kernel, kn_code **code);
    void (*discard)(kn_device *dev, kn_code *code);
    /* The shape of launches of `kernel`; NULL on devices that run no source. */
    void (*grid)(const kn_device *dev, const kn_code *code, const kn_kernel *kernel, kn_grid *grid);
    /* Works out of a kernel's numbers what all its launches have in common, in arena `a`; NULL: nothing. */
    kn_status (*bind)(kn_device *dev, kn_arena *a, kn_launch *launch);
    kn_status (*launch)(kn_device *dev, const kn_launch *launch, const kn_call *call, void *stream);

    /* Raw kernels: `text` is CUDA source with a kernel `entry` (a __global__ function, extern "C" or not,
     * or an instance of a template such as "reduce<256, float>"). NULL on devices that run no source. */
    kn_status (*load)(kn_device *dev, const char *entry, const char *text, kn_code **code);
    /* params[i] points to the i-th argument's value, as for the driver. The caller has checked what does
     * not depend on the kernel: extents are from 1 up to CUDA's limits, clusters divide the grid. */
    kn_status (*start)(kn_device *dev, kn_code *code, const kn_grid *grid, void *const *params,
                       int nparams, void *stream);
    /* The number of the kernel's parameters, -1 if that is unknown; *param is what is known of the i-th, if there is one. */
    int (*describe)(kn_device *dev, kn_code *code, int i, kn_code_param *param);

    /* Runs fn(ctx), which submits to `stream`, and gives the device time from before it to after it. */
    kn_status (*time)(kn_device *dev, void *stream, kn_status (*fn)(void *ctx), void *ctx,
                      double *us);
    /* The host's clock, in nanoseconds, for how long something may take. NULL: kn_clock_ns(). */
    uint64_t (*now)(kn_device *dev);
    /* Is the stream being captured, so that nothing may wait or be allocated? NULL: never. */
    bool (*captures)(kn_device *dev, void *stream);
    /* Can kernels use the memory at this address? True where that is not known; also while a stream is captured. NULL:
     * any. */
    bool (*reaches)(kn_device *dev, const void *data);
    /* Adds, in lines, what its times depend on: which machine this is, and which compiler. NULL: its times do not say
     * which of two plans is quicker. */
    kn_status (*identify)(kn_device *dev, kn_text *t);
    /* NULL: its kernels cannot exchange with those of other devices. */
    const kn_peer_ops *peer;
} kn_device_ops;

struct kn_device {
    const kn_device_ops *ops;
    kn_disk *disk;
    /* counters; updated with atomic adds */
    uint64_t launches;
    uint64_t compiles, compile_ns;
    uint64_t disk_hits, saved_ns; /* kernels found on disk; what compiling those had taken */
    uint64_t compiler_calls;      /* runs of the host's compiler */
};

extern const kn_device_ops kn_cpu_device;
/* Adds a line on the CPU device: threads, vectors, where its functions of floats come from. */
void kn_cpu_doctor(kn_text *t);
extern const kn_device_ops kn_cuda_device;
extern const kn_device_ops kn_emu_device;
/* Adds a line on the emulator: the C++ compiler that it uses, or how to come by one. */
void kn_emu_doctor(kn_text *t);

#endif
