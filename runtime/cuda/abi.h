/* Our own declarations of the CUDA driver's stable ABI, so that building needs no CUDA header. Emitted programs share this
 * text, which is C11 and C++17. */
#ifndef KN_RUNTIME_CUDA_ABI_H
#define KN_RUNTIME_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned long long kn_cu_ptr; /* a device address */
typedef struct CUctx_st *kn_cu_context;
typedef struct CUmod_st *kn_cu_module;
typedef struct CUfunc_st *kn_cu_function;
typedef struct CUstream_st *kn_cu_stream; /* NULL: the legacy default stream */
typedef struct CUevent_st *kn_cu_event;
typedef struct CUgraph_st *kn_cu_graph;
typedef struct CUgraphNode_st *kn_cu_graph_node;
typedef struct CUgraphExec_st *kn_cu_graph_exec;

typedef struct kn_cu_ipc_handle {
    char bytes[64];
} kn_cu_ipc_handle;

/* Results that are treated one by one. */
enum {
    KN_CU_SUCCESS = 0,
    KN_CU_INVALID_VALUE = 1,
    KN_CU_OUT_OF_MEMORY = 2,
    KN_CU_STUB_LIBRARY = 34,
    KN_CU_NO_DEVICE = 100,
    KN_CU_INVALID_IMAGE = 200,
    KN_CU_NO_BINARY_FOR_GPU = 209,
    KN_CU_UNSUPPORTED_PTX_VERSION = 222,
    KN_CU_PEER_ACCESS_ALREADY_ENABLED = 704,
    KN_CU_SYSTEM_DRIVER_MISMATCH = 803,
};

enum { /* cuDeviceGetAttribute */
       KN_CU_DEV_MAX_THREADS_PER_BLOCK = 1,
       KN_CU_DEV_SHARED_PER_BLOCK = 8,
       KN_CU_DEV_MULTIPROCESSORS = 16,
       KN_CU_DEV_L2_BYTES = 38,
       KN_CU_DEV_MAX_THREADS_PER_MULTIPROCESSOR = 39,
       KN_CU_DEV_SM_MAJOR = 75,
       KN_CU_DEV_SM_MINOR = 76,
       KN_CU_DEV_SHARED_PER_MULTIPROCESSOR = 81,
       KN_CU_DEV_PAGEABLE_MEMORY = 88, /* it uses all of the host's memory */
       KN_CU_DEV_COOPERATIVE_LAUNCH = 95,
       KN_CU_DEV_SHARED_PER_BLOCK_OPTIN = 97,
};

enum { /* cuFuncGetAttribute */
       KN_CU_FUNC_MAX_THREADS_PER_BLOCK = 0,
       KN_CU_FUNC_SHARED_BYTES = 1,
       KN_CU_FUNC_LOCAL_BYTES = 3,
       KN_CU_FUNC_REGISTERS = 4,
       KN_CU_FUNC_MAX_DYNAMIC_SHARED = 8,     /* may be set */
       KN_CU_FUNC_NON_PORTABLE_CLUSTERS = 14, /* may be set: of more than 8 blocks */
};

enum { /* cuPointerGetAttribute */
       KN_CU_POINTER_MEMORY_TYPE = 2,
       KN_CU_POINTER_DEVICE_POINTER = 3,
};
enum { KN_CU_MEMORY_HOST = 1 };

enum {
    KN_CU_HOST_MAPPED = 1 | 2
}; /* cuMemHostAlloc: for all contexts, at an address of the GPU's */
enum { KN_CU_IPC_PEER_ACCESS = 1 }; /* cuIpcOpenMemHandle: the other GPU's memory is written, too */
enum { KN_CU_CAPTURE_RELAXED = 2 }; /* calls that a capture would forbid are the caller's affair */
/* cuStreamCreate: it does not wait for the default stream. */
enum { KN_CU_STREAM_NON_BLOCKING = 1 };
enum { KN_CU_STREAM_PER_THREAD = 2 }; /* a handle: the calling thread's default stream */

enum { /* kn_cu_launch_attribute */
       KN_CU_LAUNCH_COOPERATIVE = 2,
       KN_CU_LAUNCH_CLUSTER = 4,
};

typedef union kn_cu_attribute_value {
    char space[64];
    int cooperative;
    unsigned cluster[3];
} kn_cu_attribute_value;

typedef struct kn_cu_launch_attribute {
    int id;
    char unused[4];
    kn_cu_attribute_value value;
} kn_cu_launch_attribute;

typedef struct kn_cu_launch {
    unsigned grid[3], block[3], shared;
    kn_cu_stream stream;
    kn_cu_launch_attribute *attributes;
    unsigned nattributes;
} kn_cu_launch;

typedef struct kn_cu_kernel_node { /* CUDA_KERNEL_NODE_PARAMS_v2 */
    kn_cu_function function;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
    void *kernel;          /* NULL: `function` */
    kn_cu_context context; /* NULL: the current one */
} kn_cu_kernel_node;

/* Its entries; the table of a loaded driver is kn_driver. */
#define NEED(entry, params) int(*entry) params;
#define MAY(entry, params) int(*entry) params;
typedef struct kn_driver {
#include "runtime/cuda/driver.def"
    const char *path; /* the file that was loaded */
    int version;      /* 12040 for CUDA 12.4: the newest that this driver runs */
} kn_driver;
#undef NEED
#undef MAY

#endif
