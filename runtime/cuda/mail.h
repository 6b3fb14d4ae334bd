/* Memory that GPUs share: see kn_mail_ops. */
#ifndef KN_RUNTIME_CUDA_MAIL_H
#define KN_RUNTIME_CUDA_MAIL_H

#include "runtime/device/device.h"

extern const kn_mail_ops kn_cuda_mail;

#endif
