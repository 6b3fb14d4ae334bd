/* What the driver knows of an address. */
#ifndef KN_RUNTIME_CUDA_POINTER_H
#define KN_RUNTIME_CUDA_POINTER_H

#include <stdbool.h>

#include "runtime/cuda/driver.h"

/* Can kernels in the current context use the memory at `data`, by this address? Device memory, managed memory, and host
 * memory that was allocated by or registered with CUDA and is mapped to its own address. True where the driver does not
 * say. Legal while a stream is captured. For GPUs that use all of the host's memory this is not to be asked. */
bool kn_pointer_reaches(const kn_driver *d, const void *data);

#endif
