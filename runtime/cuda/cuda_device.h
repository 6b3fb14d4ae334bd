/* What the files of the CUDA device share.
 *
 * The device works in the GPU's primary context, the one that the CUDA runtime API uses, so an
 * application's allocations and streams are valid here. Operations push that context and pop it again
 * (a launch only where it is not current): which context is current in the calling thread never changes. */
#ifndef KN_RUNTIME_CUDA_CUDA_DEVICE_H
#define KN_RUNTIME_CUDA_CUDA_DEVICE_H

#include "codegen/model/machine.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/identity.h"
#include "runtime/device/device.h"

typedef struct kn_cuda {
    kn_device base; /* first: a kn_device * of this kind points to it */
    const kn_driver *driver;
    kn_allocator from;
    kn_target target;
    kn_machine machine; /* target.machine, if that is set */
    int ordinal;
    int device; /* the driver's handle */
    bool uses_host_memory;
    kn_cu_context context;
    kn_nvrtc_facts compiler;
} kn_cuda;

static inline kn_cuda *kn_cuda_of(kn_device *dev) { return (kn_cuda *)dev; }

/* context.c: around driver calls; nests. kn_cuda_leave() only after kn_cuda_enter() returned OK. */
kn_status kn_cuda_enter(const kn_cuda *d);
void kn_cuda_leave(const kn_cuda *d);
/* True when the context is the thread's current one already, which is cheaper to ask than to make so. */
bool kn_cuda_inside(const kn_cuda *d);

/* launch.c: these entries of kn_cuda_device. */
kn_status kn_cuda_prepare(kn_device *dev, const kn_kernel *kernel, kn_code **code);
void kn_cuda_discard(kn_device *dev, kn_code *code);
void kn_cuda_grid(const kn_device *dev, const kn_code *code, const kn_kernel *k, kn_grid *grid);
kn_status kn_cuda_launch(kn_device *dev, const kn_launch *launch, const kn_call *call,
                         void *stream);
kn_status kn_cuda_load(kn_device *dev, const char *entry, const char *text, kn_code **code);
kn_status kn_cuda_start(kn_device *dev, kn_code *code, const kn_grid *grid, void *const *params,
                        int nparams, void *stream);

int kn_cuda_describe(kn_device *dev, kn_code *code, int i, kn_code_param *param);

/* What the compiler and the driver said of a prepared kernel. */
typedef struct kn_cuda_info {
    int registers;       /* a thread */
    int local_bytes;     /* a thread: spilled registers and arrays */
    int shared_bytes;    /* a block */
    int blocks_per_unit; /* resident on a multiprocessor at a time; 0 for raw kernels */
    size_t binary_bytes;
} kn_cuda_info;

void kn_cuda_code_info(const kn_code *code, kn_cuda_info *info);

#endif
