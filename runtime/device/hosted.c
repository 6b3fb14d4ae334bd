#include "runtime/device/hosted.h"

#include <string.h>

#include "base/clock.h"

kn_status kn_hosted_move(kn_device *dev, void *to, const void *from, size_t bytes)
{
    (void)dev;
    if (bytes)
        memmove(to, from, bytes);
    return KN_OK;
}

kn_status kn_hosted_copy(kn_device *dev, void *to, const void *from, size_t bytes, void *stream)
{
    (void)stream;
    return kn_hosted_move(dev, to, from, bytes);
}

kn_status kn_hosted_zero(kn_device *dev, void *to, size_t bytes, void *stream)
{
    (void)dev, (void)stream;
    if (bytes)
        memset(to, 0, bytes);
    return KN_OK;
}

kn_status kn_hosted_sync(kn_device *dev, void *stream)
{
    (void)dev, (void)stream;
    return KN_OK;
}

kn_status kn_hosted_time(kn_device *dev, void *stream, kn_status (*fn)(void *ctx), void *ctx,
                         double *us)
{
    (void)dev, (void)stream;
    const uint64_t start = kn_clock_ns();
    const kn_status status = fn(ctx);
    *us = (double)(kn_clock_ns() - start) / 1000.0;
    return status;
}
