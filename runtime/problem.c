/* What is to be planned for arguments of a program, and the plan of that. */
#include <string.h>

#include "runtime/comm/comm.h"
#include "runtime/program.h"

kn_status kn_target_asked(const kn_context *ctx, const char *arch, kn_arena *a, kn_target *target,
                          bool *is_own)
{
    const kn_target *own = ctx->dev->ops->target(ctx->dev);
    bool on_cpu = strcmp(own->kind, "cpu") == 0;
    *is_own = arch ? on_cpu && strcmp(arch, "cpu") == 0
                   : (on_cpu && !ctx->reference) || strcmp(own->kind, "cuda") == 0;
    if (*is_own) {
        *target = *own;
        return KN_OK;
    }
    if (kn_target_of_arch(arch ? arch : "sm_90", target))
        return KN_OK;
    kn_text known = kn_text_new(a);
    kn_target_put_archs(&known);
    return kn_fail(KN_ARGUMENT,
                   "unknown architecture '%s'; there are %s, and cpu on the CPU device", arch,
                   kn_text_str(&known));
}

kn_problem kn_program_problem(kn_program *p, const kn_binding *b, const kn_target *target)
{
    return (kn_problem){.graph = p->optimised,
                        .sizes = b->sizes,
                        .in = b->in,
                        .out = b->out,
                        .over = b->over,
                        .rank = p->comm ? kn_comm_rank(p->comm) : 0,
                        .inside = p->divided && target->sm && p->options.fusion &&
                                  kn_comm_path_of(p->comm) == KN_PATH_KERNEL,
                        .nested = true,
                        .target = target,
                        .fusion = p->options.fusion,
                        .force = p->force,
                        .fast = p->options.fast_math,
                        .invariant = p->options.batch_invariant,
                        .universal = p->options.max_kinds < 0,
                        .known = &p->known};
}

kn_status kn_program_plan(kn_program *p, kn_arena *a, const kn_binding *b, const kn_target *target,
                          kn_plan **plan)
{
    const kn_problem problem = kn_program_problem(p, b, target);
    return kn_plan_make(a, &problem, plan);
}

kn_status kn_program_plan_by(const kn_problem *problem, const kn_force *learnt, kn_arena *a,
                             kn_plan **plan)
{
    kn_problem by = *problem;
    by.force = *learnt;
    kn_status status = kn_plan_make(a, &by, plan);
    if (status != KN_ARGUMENT || learnt->text == problem->force.text)
        return status;
    kn_clear_error();
    return kn_plan_make(a, problem, plan);
}
