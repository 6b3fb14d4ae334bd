/* The binder: the one place where nests become bound phases. The planner's previews, the comparisons of schedules with each
 * other and the kernels that run are all bound here, so what was predicted is what is run.
 *
 *   shape   per phase: the walk, its vectors, and what its members or groups are divided over
 *   bind    per kernel: the block, what each thread takes and keeps, shared memory, who finishes */
#ifndef KN_CODEGEN_BIND_H
#define KN_CODEGEN_BIND_H

#include "codegen/kir/schedule_text.h"
#include "codegen/sched/sched.h"

/* What binding goes by, beside the nests. */
typedef struct kn_site {
    kn_arena *arena;
    const kn_target *target;
    const kn_force *force;
    const kn_buf *bufs;
    int nbufs;
    const int *align; /* per buffer: bytes by which its first element is aligned */
} kn_site;

/* Shapes a normalised phase; one that is local has only its numbers set, and follows its host when that is bound. */
void kn_shape_phase(const kn_site *at, kn_phase *phase);

/* Binds the phases of a kernel, which are shaped. at->bufs are the kernel's. */
void kn_bind_kernel(const kn_site *at, kn_kernel *kernel);

/* The same by a schedule that is given. ARGUMENT, with the rule that it breaks, when it is not legal for these phases. */
kn_status kn_bind_as(const kn_site *at, kn_kernel *kernel, const kn_kernel_schedule *schedule);

/* ---- between bind.c and apply.c ---- */

/* The largest block that there may be. What follows from the schedules of a kernel's phases. */
int kn_block_limit(const kn_site *at, const kn_kernel *kernel);
void kn_bind_rest(const kn_site *at, kn_kernel *kernel);

#endif
