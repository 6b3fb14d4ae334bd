/* DLPack's structs as its specification lays them out, for what is behind kiln_dlpack.h: ABI version 1 and the struct of
 * before. */
#ifndef KN_FRONTEND_DLPACK_ABI_H
#define KN_FRONTEND_DLPACK_ABI_H

#include <stdint.h>

#include "frontend/kiln.h"

enum { KN_DL_MAJOR = 1, KN_DL_MINOR = 0 };

/* What a tensor's memory is of. */
enum { KN_DL_CPU = 1, KN_DL_CUDA = 2, KN_DL_CUDA_HOST = 3, KN_DL_CUDA_MANAGED = 13 };

/* Kinds of elements. */
enum { KN_DL_INT, KN_DL_UINT, KN_DL_FLOAT, KN_DL_OPAQUE, KN_DL_BFLOAT, KN_DL_COMPLEX, KN_DL_BOOL };

enum { KN_DL_READ_ONLY = 1 }; /* in flags */

typedef struct kn_dl_device {
    int32_t type, id;
} kn_dl_device;

typedef struct kn_dl_type {
    uint8_t kind, bits;
    uint16_t lanes;
} kn_dl_type;

static inline kn_dl_type kn_dl_type_of(kiln_dtype dtype)
{
    uint8_t kind = dtype == KILN_BOOL                        ? KN_DL_BOOL
                   : dtype <= KILN_I64                       ? KN_DL_INT
                   : dtype <= KILN_U64                       ? KN_DL_UINT
                   : dtype == KILN_BF16                      ? KN_DL_BFLOAT
                   : dtype == KILN_C64 || dtype == KILN_C128 ? KN_DL_COMPLEX
                                                             : KN_DL_FLOAT;
    kn_dl_type type = {kind, (uint8_t)(8 * kiln_dtype_size(dtype)), 1};
    return type;
}

typedef struct kn_dl_tensor {
    void *data;
    kn_dl_device device;
    int32_t rank;
    kn_dl_type type;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: compact */
    uint64_t offset;  /* bytes from data to the first element */
} kn_dl_tensor;

struct DLManagedTensor {
    kn_dl_tensor tensor;
    void *manager;
    void (*deleter)(struct DLManagedTensor *self); /* may be NULL */
};

struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct DLManagedTensorVersioned *self); /* may be NULL */
    uint64_t flags;
    kn_dl_tensor tensor;
};

#endif
