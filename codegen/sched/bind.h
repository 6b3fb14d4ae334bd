/* The binder: the one place where nests become bound phases. The planner's previews, the comparisons of schedules and
 * the kernels that run are all bound here, so what was predicted is what runs.
 *
 *   shape   per phase: the walk, its vectors, and what its members or groups are divided over
 *   bind    per kernel: the block, what each thread takes and keeps, shared memory
 *   loops   per kernel, once it is known who finishes it: how each sweep takes its steps */
#ifndef KN_CODEGEN_BIND_H
#define KN_CODEGEN_BIND_H

#include "codegen/kir/schedule_text.h"
#include "codegen/sched/sched.h"

/* Shapes a normalised phase. Of a local phase it sets only numbers; the rest follows from its host when that is
 * bound. */
void kn_shape_phase(const kn_site *at, kn_phase *phase);

/* Binds the shaped phases of a kernel. at->bufs are the kernel's. */
void kn_bind_kernel(const kn_site *at, kn_kernel *kernel);

/* The same by a given schedule. KN_ARGUMENT, with the rule that it breaks, if it is not legal for these phases. */
kn_status kn_bind_as(const kn_site *at, kn_kernel *kernel, const kn_kernel_schedule *schedule);

/* Binds the loops of a GPU's bound kernel, once it is known who finishes it (codegen/sched/loops.c). `given`: the
 * loops that its phases have are given, as kn_bind_as() has left them; what they leave out is chosen. */
kn_status kn_bind_loops(const kn_target *target, kn_kernel *kernel, bool given);

/* Binds the arithmetic of a GPU's bound kernel (codegen/sched/arithmetic.c). `given`:
 * `inline_quotients` are those that kn_bind_as() has left. */
void kn_bind_arithmetic(kn_kernel *kernel, bool given);

/* Binds the caches of a GPU's bound kernel (codegen/sched/traffic.c). */
void kn_bind_caches(kn_kernel *kernel);

/* ---- between bind.c, apply.c and loops.c ---- */

kn_status kn_illegal(int phase, const char *rule);

/* The largest block that is allowed; and what follows from the schedules of a kernel's phases; `given`: these are, as in
 * kn_bind_loops(). */
int kn_block_limit(const kn_site *at, const kn_kernel *kernel);
void kn_bind_rest(const kn_site *at, kn_kernel *kernel, bool given);

#endif
