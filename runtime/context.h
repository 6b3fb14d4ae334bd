/* A context: one device, the kernels compiled for it, memory that its runs borrow, and counters. */
#ifndef KN_RUNTIME_CONTEXT_H
#define KN_RUNTIME_CONTEXT_H

#include "runtime/kernels.h"
#include "runtime/workspace.h"

enum { KN_POINTER_BITS = 8 }; /* addresses that are remembered: 2 to the power of it */

typedef struct kn_context {
    kn_allocator from;
    kn_disk *disk;    /* its own; NULL where the device is the caller's */
    kn_device *dev;   /* memory and kernels; on "ref" the CPU device, for its memory */
    unsigned process; /* that it belongs to: kn_process() */
    bool reference;   /* programs run in the reference interpreter */
    char name[32];    /* "cuda:0" */
    bool has_gpu;     /* its memory is a GPU's ... */
    int ordinal;      /* ... this one's */
    bool asks;        /* the device about arguments' addresses: pointers.h */
    void *pointers[1 << KN_POINTER_BITS]; /* atomic, each for itself: those that were good */
    kn_kernels kernels;
    kn_workspaces workspaces;
    uint64_t copies;      /* atomic, as what follows */
    uint64_t tunings;     /* classes of arguments that were measured */
    uint64_t tuning_ns;   /* what that took */
    uint64_t tuning_hits; /* classes that were in the disk cache */
} kn_context;

typedef struct kn_context_config {
    const char *device;   /* "auto", "cpu", "cuda", "cuda:N", "emu", "ref"; NULL is "auto" */
    int threads;          /* see kn_device_config */
    const char *emulator; /* options or NULL */
    const char *cpu_compile;
    double cpu_stream; /* see kn_device_config */
    const char *cache_dir;
    uint64_t cache_bytes;     /* as in kiln_config */
    bool trust_pointers;      /* as there */
    const kn_allocator *from; /* NULL: malloc */
} kn_context_config;

kn_status kn_context_open(const kn_context_config *config, kn_context **ctx);
void kn_context_close(kn_context *ctx);

/* A context around a device of the caller's, in memory of the caller's. */
void kn_context_init(kn_context *ctx, kn_device *dev, const kn_allocator *from);
void kn_context_finish(kn_context *ctx);

/* Whether this process may use it: in the child of a fork() its threads are gone, its locks may be held for good, and a
 * GPU's driver does not know the child. DEVICE if not; it must be left alone then, to its memory. */
kn_status kn_context_check(const kn_context *ctx);
bool kn_context_is_here(const kn_context *ctx);

/* The code of `kernel`, for which the caller has a use until kn_kernels_release(). With a device that runs source, the
 * source is generated here, in the kernel's arena, only when it must be compiled. */
kn_status kn_context_code(kn_context *ctx, kn_kernel *kernel, kn_compiled **out);
/* The same for the user's kernel `entry` of the CUDA source `text`. DEVICE where the device runs no source. */
kn_status kn_context_load(kn_context *ctx, const char *entry, const char *text, kn_compiled **out);

#endif
