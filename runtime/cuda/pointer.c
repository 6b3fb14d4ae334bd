#include "runtime/cuda/pointer.h"

static bool reaches(const kn_driver *d, kn_cu_ptr address)
{
    unsigned type = 0;
    kn_cu_ptr mapped = 0;
    int result = d->cuPointerGetAttribute(&type, KN_CU_POINTER_MEMORY_TYPE, address);
    if (result != KN_CU_SUCCESS)
        return result !=
               KN_CU_INVALID_VALUE; /* which is what it says of addresses that are none of CUDA's */
    if (type != KN_CU_MEMORY_HOST)
        return true;
    result = d->cuPointerGetAttribute(&mapped, KN_CU_POINTER_DEVICE_POINTER, address);
    return result == KN_CU_SUCCESS ? mapped == address : result != KN_CU_INVALID_VALUE;
}

bool kn_pointer_reaches(const kn_driver *d, const void *data)
{
    int mode = KN_CU_CAPTURE_RELAXED;
    if (!d->cuPointerGetAttribute)
        return true;
    if (d->cuThreadExchangeStreamCaptureMode)
        d->cuThreadExchangeStreamCaptureMode(&mode);
    bool good = reaches(d, (kn_cu_ptr)(uintptr_t)data);
    if (d->cuThreadExchangeStreamCaptureMode)
        d->cuThreadExchangeStreamCaptureMode(&mode);
    return good;
}
