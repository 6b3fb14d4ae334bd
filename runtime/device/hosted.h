/* What devices have in common whose memory is the host's, and whose work is done when the call returns: streams mean nothing
 * there, and there is nothing to wait for. Functions of a kn_device_ops. */
#ifndef KN_RUNTIME_DEVICE_HOSTED_H
#define KN_RUNTIME_DEVICE_HOSTED_H

#include "runtime/device/device.h"

kn_status kn_hosted_move(kn_device *dev, void *to, const void *from, size_t bytes);
kn_status kn_hosted_copy(kn_device *dev, void *to, const void *from, size_t bytes, void *stream);
kn_status kn_hosted_zero(kn_device *dev, void *to, size_t bytes, void *stream);
kn_status kn_hosted_sync(kn_device *dev, void *stream);
/* The time that fn() takes. */
kn_status kn_hosted_time(kn_device *dev, void *stream, kn_status (*fn)(void *ctx), void *ctx,
                         double *us);

#endif
