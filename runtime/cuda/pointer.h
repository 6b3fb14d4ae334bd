/* What the driver knows of an address. Emitted programs share this text, which is C11 and C++17. */
#ifndef KN_RUNTIME_CUDA_POINTER_H
#define KN_RUNTIME_CUDA_POINTER_H

#include "runtime/cuda/stream.h"

static inline bool kn_address_reaches(const kn_driver *d, kn_cu_ptr address)
{
    unsigned type = 0;
    kn_cu_ptr mapped = 0;
    int result = d->cuPointerGetAttribute(&type, KN_CU_POINTER_MEMORY_TYPE, address);
    if (result != KN_CU_SUCCESS)
        return result !=
               KN_CU_INVALID_VALUE; /* the driver's answer for addresses that are not CUDA's */
    if (type != KN_CU_MEMORY_HOST)
        return true;
    result = d->cuPointerGetAttribute(&mapped, KN_CU_POINTER_DEVICE_POINTER, address);
    return result == KN_CU_SUCCESS ? mapped == address : result != KN_CU_INVALID_VALUE;
}

/* Can kernels in the current context use the memory at `data`, by this address? Device memory, managed memory, and host
 * memory that was allocated by or registered with CUDA and is mapped to its own address. True where the driver does not
 * say. Legal while a stream is captured. For GPUs that use all of the host's memory this is not to be asked. */
static inline bool kn_pointer_reaches(const kn_driver *d, const void *data)
{
    if (!d->cuPointerGetAttribute)
        return true;
    const int mode = kn_uncaptured(d);
    const bool good = kn_address_reaches(d, (kn_cu_ptr)(uintptr_t)data);
    kn_uncaptured_end(d, mode);
    return good;
}

#endif
