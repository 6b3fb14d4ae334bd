/* One partition's plan: its loop nests lowered, the passes over them, kernels. */
#include <string.h>

#include "codegen/model/predict.h"
#include "codegen/plan/build.h"
#include "codegen/plan/exchanges.h"
#include "codegen/plan/pass/passes.h"
#include "ir/view.h"

/* Puts a copy under one regrouping reshape, so that it reads compact memory. */
static kn_node *copy_under(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    kn_node *x = old == ctx ? kn_copy_of(g, in[0]) : NULL;
    return kn_node_copy(g, old, x ? &x : in);
}

/* Again with a copy in front of each reshape that strides do not allow. */
kn_status kn_plan_lower(kn_arena *a, const kn_problem *problem, kn_regions *regions, kn_raws *raws,
                        kn_planner *p)
{
    kn_problem *pr = kn_alloc_copy(a, problem, sizeof *problem);
    while (pr->graph) {
        *p = (kn_planner){.arena = a, .problem = pr, .regions = regions, .raws = raws};
        p->force = kn_force_of_phases(a, pr);
        p->shapes = KN_NEW(a, kn_shapes);
        p->shapes->arena = a;
        if (!p->regions)
            return KN_INTERNAL;
        KN_TRY(kn_lower(p));
        if (!p->blocked)
            return KN_OK;
        pr->graph = kn_graph_rewrite(a, pr->graph, copy_under, (void *)(uintptr_t)p->blocked);
        pr->choices = NULL; /* of nodes that have other numbers now */
        regions = pr->graph ? kn_regions_form(a, pr->graph, pr->sizes, pr->fusion) : NULL;
    }
    return KN_INTERNAL;
}

static kn_status bind(kn_draft *d)
{
    kn_plan *plan = d->plan;
    memset(&plan->kernels, 0, sizeof plan->kernels);
    KN_TRY(kn_bind_phases(&d->p, &plan->kernels));
    plan->ns = kn_predict_ns(plan->kernels.data, plan->kernels.len, d->p.problem->target);
    return KN_OK;
}

kn_status kn_plan_draft(kn_arena *a, const kn_problem *problem, kn_regions *regions,
                        const kn_plan *base, kn_draft *d)
{
    kn_plan *plan = d->plan = KN_NEW(a, kn_plan);
    *plan = *base;
    memset(&plan->steps, 0, sizeof plan->steps);
    for (int i = 0; i < base->steps.len; i++)
        kn_push(a, &plan->steps, base->steps.data[i]);
    KN_TRY(kn_plan_lower(a, problem, regions, NULL, &d->p));
    kn_planner_take_phases(&d->p);
    KN_TRY(kn_run_passes(&d->p, plan));
    plan->regions = d->p.regions;
    plan->again = d->p.again;
    kn_problem *pr = kn_alloc_copy(a, d->p.problem, sizeof *pr);
    pr->choices = NULL; /* the caller's, which the draft outlives; it is lowered by now */
    d->p.problem = pr;
    return bind(d);
}

kn_status kn_draft_bind_as(kn_draft *d, const char *schedules)
{
    kn_problem *pr = kn_alloc_copy(d->p.arena, d->p.problem, sizeof *pr);
    pr->force.text = schedules;
    d->p.problem = pr;
    return bind(d);
}

/* The word of kn_plan.schedule: of the last kernel that is cluster, resident or tiles, else split or whole. */
static const char *schedule_of(const kn_planner *p, const kn_plan *plan)
{
    const char *schedule = p->phases.len > 1 ? "split" : "whole";
    for (int i = 0; i < plan->kernels.len; i++) {
        const kn_kernel *k = plan->kernels.data[i];
        if (kn_kernel_cluster(k) > 1)
            schedule = "cluster";
        else if (kn_kernel_resident(k))
            schedule = "resident";
        else if (k->phases.len == 1 && k->phases.data[0].how.tile)
            schedule = "tiles";
    }
    return schedule;
}

kn_status kn_draft_finish(kn_draft *d)
{
    kn_plan *plan = d->plan;
    const kn_problem *pr = d->p.problem;
    KN_TRY(kn_complete_kernels(&d->p, plan));
    plan->after = kn_census_of_kernels(d->p.arena, pr->graph, plan->kernels.data, plan->kernels.len,
                                       d->p.bufs.data, d->p.bufs.len);
    if (pr->explained)
        kn_push(d->p.arena, &plan->steps,
                ((kn_plan_step){"schedule", "groups to threads, values kept for later sweeps",
                                plan->after}));
    plan->schedule = schedule_of(&d->p, plan);
    return KN_OK;
}

kn_status kn_problem_refine(kn_arena *a, kn_problem *pr)
{
    /* Planning makes dimensions. They live with the plan: others plan the same graph at the same time. */
    kn_graph *g = KN_NEW(a, kn_graph);
    *g = *pr->graph;
    g->arena = a;
    g->syms = kn_symbols_within(a, pr->graph->syms);
    pr->graph = pr->as_written ? g : kn_refine(a, g, pr->fusion, &pr->sizes);
    if (!pr->graph)
        return KN_INTERNAL;
    pr->graph->exchanges_in_nests = pr->inside && pr->nested && pr->target->cooperative &&
                                    kn_fits_mailboxes(pr->graph, pr->sizes);
    return KN_OK;
}
