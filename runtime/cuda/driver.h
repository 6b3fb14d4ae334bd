/* The CUDA driver, opened at run time: libcuda.so.1 belongs to the GPU's driver package, and
 * programs that use kiln must start on machines without it. */
#ifndef KN_RUNTIME_CUDA_DRIVER_H
#define KN_RUNTIME_CUDA_DRIVER_H

#include "base/status.h"
#include "runtime/cuda/abi.h"

/* The loaded driver: one table for the process, loaded by the first call and never changed after
 * it. DEVICE, saying what to do, when there is no usable driver. Does not call cuInit. Any
 * thread. */
kn_status kn_driver_find(const kn_driver **driver);
/* kn_driver_find() and cuInit; *count GPUs, at least one when it returns OK. */
kn_status kn_driver_init(const kn_driver **driver, int *count);

/* KN_OK for success; else RUN (MEMORY when the device has none left) with a message that names
 * `call` and the driver's own words for `result`. */
kn_status kn_driver_check(const kn_driver *d, int result, const char *call);
/* Calls an entry and checks it: KN_TRY(KN_CU(d, cuEventRecord, event, stream)); */
#define KN_CU(d, entry, ...) kn_driver_check((d), (d)->entry(__VA_ARGS__), #entry)

#endif
