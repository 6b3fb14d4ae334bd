/* Kernels of your own: CUDA C++ source that you wrote, compiled, cached and launched like the kernels that kiln writes: by
 * NVRTC on "cuda", by the host's C++ compiler on "emu", which checks every access and every barrier. The other devices
 * run no source: KILN_ERR_DEVICE. kiln.h includes this header. */
#ifndef KILN_KERNEL_H
#define KILN_KERNEL_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_kernel kiln_kernel;

/* Compiles `source` unless the context has done so before. entry: the name of a __global__ function, or an instance of
 * a template: "reduce<256, float>". On "cuda" the source may include the CUDA toolkit's headers where the toolkit is
 * installed. Several threads may run one kernel. A graph that captured a launch must not be launched after the kernel
 * was destroyed. */
KILN_API kiln_status kiln_kernel_create(kiln_ctx *ctx, const char *source, const char *entry,
                                        kiln_kernel **kernel);
KILN_API void kiln_kernel_destroy(kiln_kernel *kernel);

/* What the device knows of a parameter: "emu" everything, "cuda" how many bytes its value has, and that it is a pointer
 * where the kernel's text declares it by a '*'. */
typedef struct kiln_param {
    const char *name; /* NULL: unknown */
    /* Of its value, or of what it points to; KILN_NO_DTYPE: another, or unknown. */
    kiln_dtype dtype;
    size_t bytes, element_bytes; /* of its value; of what it points to; 0: unknown */
    bool is_pointer, is_value;   /* neither: unknown */
} kiln_param;

/* How many parameters it has; -1 if the device cannot tell. */
KILN_API int kiln_kernel_params(const kiln_kernel *kernel);
/* The i-th; its texts live as long as the kernel. */
KILN_API kiln_status kiln_kernel_param(const kiln_kernel *kernel, int i, kiln_param *param);

typedef struct kiln_launch {
    size_t struct_size;
    unsigned grid[3], block[3]; /* default 1 */
    unsigned cluster[3]; /* blocks of a cluster, which divide the grid; 0: as the kernel's own
                            __cluster_dims__ say, or none */
    size_t shared;       /* bytes of dynamic shared memory */
    bool cooperative;    /* the grid can synchronise */
} kiln_launch;

KILN_INIT(kiln_launch)
/* Launches on `stream` and returns as kiln_run() does. params[i] points to the value of the i-th parameter,
 * of exactly the parameter's type; pointers among the values are to device memory. On "cuda" those that are known to be
 * pointers are looked at as the arguments of kiln_run() are. */
KILN_API kiln_status kiln_kernel_run(kiln_kernel *kernel, void *stream, const kiln_launch *launch,
                                     void *const *params, int nparams);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
