/* What this machine has for the CUDA device, in words. */
#ifndef KN_RUNTIME_CUDA_DOCTOR_H
#define KN_RUNTIME_CUDA_DOCTOR_H

#include "base/text.h"

/* A line for the driver, one for NVRTC and one a GPU; what is missing comes with what to do
 * about it. Under kn_protect(). Never fails for want of a driver, a GPU or a compiler. */
void kn_cuda_doctor(kn_text *t);

#endif
