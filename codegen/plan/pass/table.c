/* The table of passes over raw phases, in order. */
#include "codegen/plan/pass/passes.h"

static bool always(const kn_problem *pr)
{
    (void)pr;
    return true;
}

static bool knows_sizes(const kn_problem *pr) { return !pr->universal; }

static bool may_cross(const kn_problem *pr)
{
    return pr->target->sm && pr->target->cooperative && pr->fusion && !pr->invariant &&
           (pr->force.division == KN_DIVIDE_BY_COST || pr->force.division == KN_DIVIDE_CLUSTERS);
}

static bool may_be_local(const kn_problem *pr)
{
    return pr->target->sm && pr->target->cooperative && pr->fusion && !pr->universal &&
           !pr->invariant;
}

static const struct {
    const char *name, *what;
    bool (*runs)(const kn_problem *problem);
    void (*run)(kn_planner *p);
} passes[] = {
    {"wraps", "indices that wrap around without a division", knows_sizes, kn_pass_wraps},
    {"moments", "mean and centred squares without cancellation, in one sweep", always,
     kn_pass_moments},
    {"online", "maximum and sum of exponentials in one sweep", always, kn_pass_online},
    {"cross", "rows and columns of an array in one sweep", may_cross, kn_pass_cross},
    {"spread", "reductions of few groups over the whole machine", always, kn_pass_spread},
    {"local", "small reductions by each block for itself", may_be_local, kn_pass_local},
};

static void record(kn_plan *plan, const kn_planner *p, const char *name, const char *what)
{
    if (!plan || !p->problem->explained)
        return;
    kn_plan_step step = {name, what,
                         kn_census_of_phases(p->arena, p->problem->graph, p->phases.data,
                                             p->phases.len, p->bufs.data, p->bufs.len)};
    kn_push(p->arena, &plan->steps, step);
}

kn_status kn_run_passes(kn_planner *p, kn_plan *plan)
{
    record(plan, p, "merge", "operations that share an iteration space in one loop nest");
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        if (!passes[i].runs(p->problem))
            continue;
        passes[i].run(p);
        for (int j = 0; j < p->phases.len && plan; j++)
            KN_TRY(kn_phase_verify(&p->phases.data[j], passes[i].name, j, p->bufs.len));
        record(plan, p, passes[i].name, passes[i].what);
    }
    return KN_OK;
}
