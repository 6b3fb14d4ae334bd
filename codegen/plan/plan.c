#include "codegen/plan/planner.h"

#include <string.h>

#include "codegen/model/predict.h"
#include "codegen/sched/sched.h"
#include "ir/view.h"

/* Puts a copy under one regrouping reshape, so that it reads compact memory. */
static kn_node *copy_under(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    kn_node *x = old == ctx ? kn_copy_of(g, in[0]) : NULL;
    return kn_node_copy(g, old, x ? &x : in);
}

/* Of the refined graph and these regions of it. */
static kn_status lower_all(kn_arena *a, kn_problem *pr, kn_regions *regions, kn_planner *p)
{
    while (pr->graph) {
        *p = (kn_planner){.arena = a, .problem = pr, .regions = regions};
        if (!p->regions)
            return KN_INTERNAL;
        KN_TRY(kn_lower(p));
        if (!p->blocked)
            return KN_OK;
        pr->graph = kn_graph_rewrite(a, pr->graph, copy_under, (void *)(uintptr_t)p->blocked);
        regions = pr->graph ? kn_regions_form(a, pr->graph, pr->sizes, pr->fusion) : NULL;
    }
    return KN_INTERNAL;
}

kn_phase kn_preview(kn_planner *p, const kn_phase *phase)
{
    kn_phase ph = kn_phase_copy(p->arena, phase);
    while (p->align.len < p->bufs.len)
        kn_push(p->arena, &p->align, 16);
    const int *align = p->align.data;
    kn_normalise(p->arena, &ph, 1, p->problem->target->sm != 0);
    ph.alone = p->phases.len == 1 || !p->problem->fusion;
    if (!ph.banded) {
        ph.splits = 1;
        ph.chunk = ph.members;
    }
    kn_count_sweeps(p->arena, &ph);
    ph.walk = kn_schedule_choose(&ph)->walk;
    kn_schedule_vectors(&ph, align, p->bufs.data, p->problem->target);
    if (ph.reds.len)
        kn_schedule_tiles(p->arena, &ph, align, p->bufs.data, p->problem->target,
                          p->problem->force.division);
    kn_schedule_cluster(p->arena, &ph, p->bufs.data, p->bufs.len, p->problem->target,
                        p->problem->force.division, p->problem->force.cluster,
                        p->problem->force.max_threads);
    kn_schedule_columns(&ph, p->problem->target, p->problem->force.division,
                        p->problem->force.cluster);
    return ph;
}

kn_range kn_preview_splits(const kn_planner *p, const kn_phase *ph)
{
    return kn_schedule_splits(p->arena, ph, p->bufs.data, p->bufs.len, p->problem->target,
                              p->problem->force.division);
}

/* Is a phase that has a cluster quicker split over the whole machine, and resident, with as few sweeps, and barriers then, as
 * can be? Asked where its blocks have a multiprocessor each, so that clusters take turns: below it gains little, and would
 * be one kernel more for small groups. */
static bool splits_in_one(kn_planner *p, int i, const kn_phase *ph)
{
    if (ph->chunk * kn_reread_each(ph) * 2 <= p->problem->target->smem_block ||
        p->problem->force.division != KN_DIVIDE_BY_COST)
        return false;
    kn_phase one = kn_phase_copy(p->arena, &p->phases.data[i]);
    kn_use_moments(p, &one, true);
    kn_use_online(p, &one);
    one = kn_preview(p, &one);
    return kn_schedule_splits_in_one(p->arena, &one, ph, p->bufs.data, p->bufs.len,
                                     p->problem->target);
}

bool kn_preview_alone(kn_planner *p, int i)
{
    kn_phase ph = kn_preview(p, &p->phases.data[i]);
    return ph.partly && kn_reread_element(&ph) >= kn_bytes(KN_F32);
}

kn_keep kn_preview_keep(kn_planner *p, int i)
{
    kn_phase ph = kn_preview(p, &p->phases.data[i]);
    if (kn_preview_splits(p, &ph).n > 1 || (ph.cluster && splits_in_one(p, i, &ph)))
        return KN_KEEP_NONE;
    kn_keep keep = kn_schedule_keep(&ph, p->problem->target);
    return keep && ph.cluster ? KN_KEEP_SHARED : keep;
}

kn_status kn_plan_with(kn_arena *a, const kn_problem *problem, kn_regions *regions,
                       const kn_plan *base, kn_plan **out)
{
    kn_plan *plan = *out = KN_NEW(a, kn_plan);
    *plan = *base;
    memset(&plan->steps, 0, sizeof plan->steps);
    for (int i = 0; i < base->steps.len; i++)
        kn_push(a, &plan->steps, base->steps.data[i]);
    kn_problem *pr = KN_NEW(a, kn_problem);
    *pr = *problem;
    kn_planner p;
    KN_TRY(lower_all(a, pr, regions, &p));
    KN_TRY(kn_run_passes(&p, plan));
    KN_TRY(kn_assemble(&p, plan));
    plan->after = kn_census_of_kernels(a, pr->graph, plan->kernels.data, plan->kernels.len,
                                       p.bufs.data, p.bufs.len);
    kn_push(a, &plan->steps,
            ((kn_plan_step){"schedule", "groups to threads, values kept on chip", plan->after}));
    plan->regions = p.regions;
    plan->again = p.again;
    plan->ns = kn_predict_ns(plan->kernels.data, plan->kernels.len, pr->target);
    plan->schedule = p.phases.len > 1 ? "split" : "whole";
    for (int i = 0; i < plan->kernels.len; i++) {
        const kn_kernel *k = plan->kernels.data[i];
        if (kn_kernel_cluster(k) > 1)
            plan->schedule = "cluster";
        else if (kn_kernel_resident(k))
            plan->schedule = "resident";
        else if (k->phases.len == 1 && k->phases.data[0].tile)
            plan->schedule = "tiles";
    }
    return KN_OK;
}

kn_status kn_plan_make(kn_arena *a, const kn_problem *problem, kn_plan **out)
{
    /* Planning makes dimensions. They live with the plan: others plan the same graph at the same time. */
    kn_graph *g = KN_NEW(a, kn_graph);
    *g = *problem->graph;
    g->arena = a;
    g->syms = kn_symbols_within(a, problem->graph->syms);
    kn_problem pr = *problem;
    pr.graph = g;
    if (pr.universal && pr.force.reuse == KN_REUSE_BY_COST)
        pr.force.reuse = KN_REUSE_RECOMPUTE; /* the cost follows from the sizes */
    kn_plan base = {.arena = a};
    int symbols = kn_symbols_count(pr.graph->syms);
    int64_t *sizes = KN_NEW_ARRAY(a, int64_t, symbols + 1);
    memcpy(sizes, pr.sizes, sizeof *sizes * (size_t)symbols);
    base.sizes = sizes;
    base.before = kn_census_of_graph(a, pr.graph, pr.sizes);
    pr.graph = kn_refine(a, pr.graph, pr.fusion, &pr.sizes);
    if (!pr.graph)
        return KN_INTERNAL;
    kn_push(a, &base.steps,
            ((kn_plan_step){"refine", "reshapes that split or merge axes as views",
                            kn_census_of_graph(a, pr.graph, pr.sizes)}));
    const kn_choices *c = pr.choices;
    if (pr.fusion && !pr.universal && !c)
        return kn_partition(a, &pr, &base, out);
    return kn_plan_with(a, &pr,
                        c ? kn_regions_form_by(a, pr.graph, pr.sizes, c->merges, c->nmerges)
                          : kn_regions_form(a, pr.graph, pr.sizes, pr.fusion),
                        &base, out);
}
