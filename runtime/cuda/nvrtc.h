/* NVRTC, CUDA's compiler as a library, opened at run time. It needs no GPU and no driver.
 *
 * Looked for as libnvrtc.so.13, .12, .11.2 and libnvrtc.so, each where the dynamic linker looks, then in
 * $CUDA_HOME/lib64, $CUDA_PATH/lib64 and /usr/local/cuda/lib64; KILN_NVRTC, a file or a folder, replaces the search.
 * Headers that a source includes (those of kiln's own kernels include none) are looked for in the CUDA toolkit: beside
 * NVRTC, then in $CUDA_HOME/include, $CUDA_PATH/include and /usr/local/cuda/include. The library is loaded by the first
 * call of any function here and stays; all of them are safe to call from several threads. */
#ifndef KN_RUNTIME_CUDA_NVRTC_H
#define KN_RUNTIME_CUDA_NVRTC_H

#include "runtime/device/binary.h"

/* DEVICE, saying where was looked and what to install, when there is no NVRTC. */
kn_status kn_nvrtc_find(void);

/* The four below are for after kn_nvrtc_find() has returned OK. */
void kn_nvrtc_version(int *major, int *minor);
const char *kn_nvrtc_path(void);
/* Whether it compiles for that architecture (90 for sm_90); true when it cannot tell (before
 * 11.2). */
bool kn_nvrtc_supports(int sm);
enum { KN_NVRTC_ARCHS = 64 };
/* The architectures that it compiles for; how many. 0: it cannot tell. */
int kn_nvrtc_archs(int archs[KN_NVRTC_ARCHS]);

/* Times that this process has opened NVRTC (once, at most) or compiled something with it. */
uint64_t kn_nvrtc_calls(void);
/* The options of kn_nvrtc_cubin() that are always the same, with blanks between. */
extern const char kn_nvrtc_options[];

/* Identifies this build of the compiler, for cache keys: "NVRTC 13.0 CL-36424714". Compiles an
 * empty kernel the first time. "" when there is no NVRTC. */
const char *kn_nvrtc_build(void);

/* Compiles `source` and finds the kernel `entry` in it: a __global__ function, extern "C" or not, or
 * an instance of a template such as "reduce<256, float>"; What is returned
 * comes from `from` (NULL: malloc). COMPILE when the source does not compile, with
 * NVRTC's log and the source's first lines, or when it has no such kernel. */
kn_status kn_nvrtc_cubin(const char *entry, const char *source, int sm, const kn_allocator *from,
                         kn_binary *cubin);
/* `name` is what messages call the kernel; the text, of `size` bytes (may be NULL) and a NUL, is the
 * caller's to release. `arch` is "sm_90" or "compute_90". */
kn_status kn_nvrtc_ptx(const char *name, const char *source, const char *arch,
                       const kn_allocator *from, char **ptx, size_t *size);

/* What one thread (shared memory: one block) of the only kernel in `source` takes. */
typedef struct kn_nvrtc_use {
    int registers;
    int stack;   /* bytes of local memory for arrays and what does not fit in registers */
    int spilled; /* bytes that are stored there for want of registers */
    int shared;  /* bytes that the source declares */
} kn_nvrtc_use;
/* As the compiler reports it, for sm_90 and its like. */
kn_status kn_nvrtc_resources(const char *name, const char *source, int sm, kn_nvrtc_use *use);

#endif
