/* What the cache of kernels must know of NVRTC without opening it, which takes longer than loading a kernel; its build
 * can only be found out by compiling something. So these facts are cached on disk, and hold as long as the library's
 * file has not changed and is found by the same search. */
#ifndef KN_RUNTIME_CUDA_IDENTITY_H
#define KN_RUNTIME_CUDA_IDENTITY_H

#include "base/text.h"
#include "kernels_cache/disk.h"
#include "runtime/cuda/nvrtc.h"

typedef struct kn_nvrtc_facts {
    char path[4096];
    char file[128]; /* of the file: device, inode, size, time of change */
    char build[64]; /* see kn_nvrtc_build(); "" where there is no cache to name it in */
    int major, minor;
    int narchs, archs[KN_NVRTC_ARCHS]; /* none: it cannot tell */
} kn_nvrtc_facts;

/* disk: NULL for none; NVRTC is opened then. DEVICE when there is no NVRTC. */
kn_status kn_nvrtc_learn(kn_disk *disk, kn_nvrtc_facts *facts);
bool kn_nvrtc_facts_support(const kn_nvrtc_facts *facts, int sm);
/* Whether the NVRTC that has been opened is the one that the facts are of. */
bool kn_nvrtc_facts_hold(const kn_nvrtc_facts *facts);

#endif
