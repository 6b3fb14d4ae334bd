/* DLPack's exchange of tensors without Python: the table of functions that a type of tensors (PyTorch's) has as
 * __dlpack_c_exchange_api__, a capsule of this name. As DLPack's specification of version 1.3 lays it out. */
#ifndef KN_PYTHON_EXCHANGE_H
#define KN_PYTHON_EXCHANGE_H

#include "frontend/dlpack_abi.h"

#define KN_EXCHANGE_ATTRIBUTE "__dlpack_c_exchange_api__"
#define KN_EXCHANGE_CAPSULE "dlpack_exchange_api"

typedef struct kn_exchange {
    uint32_t major, minor;
    struct kn_exchange *older; /* of another version, or NULL */
    /* A new tensor as the prototype is, which has no data. */
    int (*make)(kn_dl_tensor *prototype, struct DLManagedTensorVersioned **out, void *user,
                void (*fail)(void *user, const char *kind, const char *message));
    int (*from_object)(void *object, struct DLManagedTensorVersioned **out);
    /* Takes the tensor over. */
    int (*to_object)(struct DLManagedTensorVersioned *tensor, void **object);
    /* What the object has, for as long as it does not change; may be NULL. */
    int (*look)(void *object, kn_dl_tensor *out);
    int (*stream)(int32_t device_type, int32_t device, void **out);
} kn_exchange;

#endif
