/* The context that the device works in: see cuda_device.h. */
#include "runtime/cuda/cuda_device.h"

kn_status kn_cuda_enter(const kn_cuda *d)
{
    return KN_CU(d->driver, cuCtxPushCurrent_v2, d->context);
}

void kn_cuda_leave(const kn_cuda *d)
{
    kn_cu_context popped; /* fails only after the driver has shut down, when it does not matter */
    d->driver->cuCtxPopCurrent_v2(&popped);
}

bool kn_cuda_inside(const kn_cuda *d)
{
    kn_cu_context current = NULL;
    return d->driver->cuCtxGetCurrent(&current) == KN_CU_SUCCESS && current == d->context;
}
