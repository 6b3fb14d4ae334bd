/* Memory that GPUs share: see kn_peer_ops. */
#ifndef KN_RUNTIME_CUDA_MAIL_H
#define KN_RUNTIME_CUDA_MAIL_H

#include "runtime/device/device.h"

extern const kn_peer_ops kn_cuda_peer_ops;

#endif
