#include "codegen/plan.h"

#include <string.h>

#include "codegen/sched/sched.h"
#include "ir/view.h"

/* Puts a copy under one regrouping reshape, so that it reads compact memory. */
static kn_node *copy_under(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    kn_node *x = old == ctx ? kn_copy_of(g, in[0]) : NULL;
    return kn_node_copy(g, old, x ? &x : in);
}

static kn_status lower_all(kn_arena *a, kn_problem *pr, kn_planner *p)
{
    pr->graph = kn_refine(a, pr->graph, pr->fusion, &pr->sizes);
    while (pr->graph) {
        *p = (kn_planner){.arena = a, .problem = pr};
        p->regions = kn_regions_form(a, pr->graph, pr->sizes, pr->fusion);
        if (!p->regions)
            return KN_INTERNAL;
        KN_TRY(kn_lower(p));
        if (!p->blocked)
            return KN_OK;
        pr->graph = kn_graph_rewrite(a, pr->graph, copy_under, (void *)(uintptr_t)p->blocked);
    }
    return KN_INTERNAL;
}

/* A copy of a raw phase, normalised and with the vectors it would have, to decide by. */
static kn_phase preview(kn_planner *p, int index)
{
    kn_phase ph = kn_phase_copy(p->arena, &p->phases.data[index]);
    int *align = KN_NEW_ARRAY(p->arena, int, p->bufs.len + 1);
    for (int i = 0; i < p->bufs.len; i++)
        align[i] = 16;
    kn_normalise(p->arena, &ph, 1, p->problem->target->sm != 0);
    ph.alone = p->phases.len == 1 || !p->problem->fusion;
    ph.splits = 1;
    ph.chunk = ph.members;
    kn_count_sweeps(p->arena, &ph);
    ph.walk = kn_schedule_choose(&ph)->walk;
    kn_schedule_vectors(&ph, align, p->bufs.data);
    return ph;
}

static void record(kn_plan *plan, const kn_planner *p, const char *name, const char *what)
{
    kn_plan_step step = {name, what,
                         kn_census_of_phases(p->arena, p->problem->graph, p->phases.data,
                                             p->phases.len, p->bufs.data, p->bufs.len)};
    kn_push(p->arena, &plan->steps, step);
}

/* How many ranges the members of a phase as it was previewed are split into; 1: none. */
static int64_t splits_of(const kn_planner *p, const kn_phase *ph, int64_t *chunk)
{
    return kn_schedule_splits(ph, kn_schedule_choose(ph), p->problem->target, p->problem->schedule,
                              chunk);
}

/* Where every group stays on chip, and in one place, so that sweeps are cheap; NONE if it does not. */
static kn_keep kept(kn_planner *p, int i)
{
    kn_phase ph = preview(p, i);
    int64_t chunk;
    return ph.walk == KN_WALK_ROWS && splits_of(p, &ph, &chunk) < 2
               ? kn_rows_keep(&ph, p->problem->target)
               : KN_KEEP_NONE;
}

/* The online form saves a sweep over memory. It also saves shared memory if it leaves nothing to sweep again. */
static void use_online(kn_planner *p, int i)
{
    kn_keep keep = kept(p, i);
    kn_phase online = kn_phase_copy(p->arena, &p->phases.data[i]);
    if (p->problem->target->sm == 0 || keep == KN_KEEP_REGISTERS || !kn_use_online(p, &online))
        return;
    kn_count_sweeps(p->arena, &online);
    if (keep == KN_KEEP_NONE || online.nsweeps == 1)
        p->phases.data[i] = online;
}

/* Splits where most of the machine would idle. */
static bool spread_all(kn_planner *p)
{
    bool any = false;
    for (int i = 0; i < p->phases.len; i++) {
        kn_phase ph = preview(p, i);
        int64_t chunk, splits = splits_of(p, &ph, &chunk);
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
    if (pr->universal && pr->reuse == KN_REUSE_BY_COST)
        pr->reuse = KN_REUSE_RECOMPUTE; /* the cost follows from the sizes */
    kn_plan *plan = KN_NEW(a, kn_plan);
    plan->arena = a;
    int symbols = kn_symbols_count(pr->graph->syms);
    int64_t *sizes = KN_NEW_ARRAY(a, int64_t, symbols + 1);
    memcpy(sizes, pr->sizes, sizeof *sizes * (size_t)symbols);
    plan->sizes = sizes;
    plan->before = kn_census_of_graph(a, pr->graph, pr->sizes);
    kn_planner p;
    KN_TRY(lower_all(a, pr, &p));
    record(plan, &p, "merge", "operations that share an iteration space in one loop nest");
    for (int i = 0; i < p.phases.len; i++)
        kn_use_moments(&p, &p.phases.data[i], kept(&p, i) == KN_KEEP_NONE);
    record(plan, &p, "moments", "mean and centred squares without cancellation, in one sweep");
    for (int i = 0; i < p.phases.len; i++)
        use_online(&p, i);
    record(plan, &p, "online", "maximum and sum of exponentials in one sweep");
    bool spread = spread_all(&p);
    record(plan, &p, "spread", "reductions of few groups over the whole machine");
    if (pr->target->sm != 0 && pr->fusion && !pr->universal) {
        kn_make_local(&p);
        record(plan, &p, "local", "small reductions by each block for itself");
    }
    KN_TRY(kn_assemble(&p, plan));
    plan->after = kn_census_of_kernels(a, pr->graph, plan->kernels.data, plan->kernels.len,
                                       p.bufs.data, p.bufs.len);
    kn_push(a, &plan->steps,
            ((kn_plan_step){"schedule", "groups to threads, values kept on chip", plan->after}));
    plan->regions = p.regions;
    plan->schedule = spread || p.phases.len > 1 ? "general" : "rows";
    *out = plan;
    return KN_OK;
}
