/* A launch of one kernel, as far as it can be worked out before a call: made once a variant. */
#ifndef KN_RUNTIME_LAUNCH_H
#define KN_RUNTIME_LAUNCH_H

#include "runtime/device/device.h"

/* `code` is what the device prepared of a kernel with the structure of `kernel`; memory in `a`. */
kn_status kn_launch_make(kn_arena *a, kn_device *dev, const kn_kernel *kernel, kn_code *code,
                         kn_launch *out);

#endif
