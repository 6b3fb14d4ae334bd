/* What is to be planned for arguments of a program, and the plan of that. */
#include "runtime/program.h"

kn_problem kn_program_problem(kn_program *p, const kn_binding *b, const kn_target *target)
{
    return (kn_problem){.graph = p->optimised,
                        .sizes = b->sizes,
                        .in = b->in,
                        .out = b->out,
                        .over = b->over,
                        .target = target,
                        .fusion = p->options.fusion,
                        .force = p->force,
                        .fast = p->options.fast_math,
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
