#include "codegen/plan.h"

#include <string.h>

#include "codegen/sched/sched.h"
#include "ir/build.h"

/* Puts a copy under one regrouping reshape, so that it reads compact memory. */
static kn_node *copy_under(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    if (old != ctx)
        return kn_node_copy(g, old, in);
    kn_node n = {.op = KN_OP_COPY,
                 .dtype = old->dtype,
                 .rank = in[0]->rank,
                 .shape = in[0]->shape,
                 .nin = 1,
                 .loc = old->loc};
    n.in[0] = in[0];
    kn_node *copy = kn_graph_intern(g, &n);
    return kn_node_copy(g, old, &copy);
}

static kn_status lower_all(kn_arena *a, kn_problem *pr, kn_planner *p)
{
    for (;;) {
        *p = (kn_planner){.arena = a, .problem = pr};
        p->regions = kn_regions_form(a, pr->graph, pr->fusion);
        if (!p->regions)
            return KN_INTERNAL;
        KN_TRY(kn_lower(p));
        if (!p->blocked)
            return KN_OK;
        pr->graph = kn_graph_rewrite(a, pr->graph, copy_under, (void *)(uintptr_t)p->blocked);
    }
}

/* Splits the reductions that would leave most of the machine idle. */
static bool spread_all(kn_planner *p)
{
    bool any = false;
    for (int i = 0; i < p->phases.len; i++) {
        kn_phase shape = p->phases.data[i]; /* a copy to look at */
        kn_value *values = KN_NEW_ARRAY(p->arena, kn_value, shape.values.len + 1);
        kn_store *stores = KN_NEW_ARRAY(p->arena, kn_store, shape.stores.len + 1);
        if (shape.values.len)
            memcpy(values, shape.values.data, sizeof *values * (size_t)shape.values.len);
        if (shape.stores.len)
            memcpy(stores, shape.stores.data, sizeof *stores * (size_t)shape.stores.len);
        shape.values.data = values;
        shape.stores.data = stores;
        kn_normalise(p->arena, &shape);
        int64_t chunk,
            splits = kn_schedule_splits(&shape, kn_schedule_choose(&shape), p->problem->target,
                                        p->problem->schedule, &chunk);
        if (splits < 2)
            continue;
        int before = p->phases.len;
        kn_spread(p, i, splits, chunk);
        i += p->phases.len - before;
        any = true;
    }
    return any;
}

kn_status kn_plan_make(kn_arena *a, const kn_problem *problem, kn_plan **out)
{
    kn_problem *pr = KN_NEW(a, kn_problem);
    *pr = *problem;
    kn_plan *plan = KN_NEW(a, kn_plan);
    plan->arena = a;
    plan->before = kn_census_unfused(pr);
    kn_planner p;
    KN_TRY(lower_all(a, pr, &p));
    bool spread = spread_all(&p);
    KN_TRY(kn_assemble(&p, plan));
    plan->after = kn_census_of_plan(plan, &p);
    plan->regions = p.regions;
    plan->schedule = spread || p.phases.len > 1 ? "general" : "rows";
    *out = plan;
    return KN_OK;
}
