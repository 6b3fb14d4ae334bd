/* NCCL, of which an application has an ncclComm_t: its library is opened at run time, the one that the application uses if it
 * has been loaded as libnccl.so.2. DEVICE, saying why, where there is none or the device is no GPU. */
#ifndef KN_RUNTIME_CUDA_NCCL_H
#define KN_RUNTIME_CUDA_NCCL_H

#include "runtime/device/device.h"

kn_status kn_nccl_place(kn_device *dev, void *comm, int *rank, int *count);
/* On the stream: `bytes` of each rank's memory, those of all after one another in `all`. */
kn_status kn_nccl_gather(kn_device *dev, void *comm, const void *mine, void *all, size_t bytes,
                         void *stream);
/* The same of the host's memory; returns when it is done. */
kn_status kn_nccl_gather_host(kn_device *dev, void *comm, int count, const void *mine, void *all,
                              size_t bytes);

#endif
