/* A kernel as machine code: its phases as C (codegen/emit/c), compiled by the host's compiler.
 *
 * Code is wanted by case (codegen/emit/c/c.h), for what a call's numbers make of a phase. Where it is not there, the
 * interpreter computes the same to the bit. So by default nobody waits: a kernel that runs for the second time is
 * compiled by a thread in the background. */
#ifndef KN_RUNTIME_CPU_NATIVE_H
#define KN_RUNTIME_CPU_NATIVE_H

#include "codegen/emit/c/c.h"
#include "runtime/cpu/loops.h"
#include "runtime/device/device.h"

typedef enum kn_native_when {
    KN_NATIVE_BACKGROUND, /* for kernels that run again */
    KN_NATIVE_WAIT,       /* before the first run; what cannot be compiled is interpreted */
    KN_NATIVE_NEVER,
    KN_NATIVE_ONLY, /* as WAIT; what cannot be compiled is an error */
} kn_native_when;

/* "background" (NULL too), "wait", "never", "only". */
kn_status kn_native_read(const char *text, kn_native_when *when);

/* What a device has of it. */
typedef struct kn_native kn_native;
/* What a kernel has of it. */
typedef struct kn_native_kernel kn_native_kernel;

/* A phase in one case. */
typedef struct kn_native_phase {
    kn_c_work *work;      /* NULL: interpreted */
    const kn_loop *loops; /* that it calls */
    int slots, rows;      /* as in kn_c_phase */
} kn_native_phase;

/* owner: whose disk cache and counters it uses; outlives it. */
kn_status kn_native_open(kn_device *owner, kn_native_when when, const kn_loops *loops,
                         const kn_allocator *from, kn_native **native);
void kn_native_close(kn_native *n);

/* For a kernel whose phases are to run in these cases. */
kn_status kn_native_prepare(kn_native *n, const kn_kernel *k, const kn_c_case *cases,
                            kn_native_kernel **out);
void kn_native_discard(kn_native *n, kn_native_kernel *kernel);
/* For a launch of phase `phase` in such a case: its code, whose `work` is NULL where there is none (yet). */
kn_status kn_native_get(kn_native *n, kn_native_kernel *kernel, const kn_kernel *k, int phase,
                        kn_c_case of, kn_native_phase *code);

#endif
