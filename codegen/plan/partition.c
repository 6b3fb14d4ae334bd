/* Which regions a program is partitioned into: those with the least predicted time.
 *
 * Before: the refined problem. After: a plan that is predicted to take no longer than one kernel an operation.
 *
 * It is searched (search.c) once for a class of sizes and layouts, at the canonical ones (codegen/plan/canonical.c).
 * Each problem of the class then has one plan, a second one where another is better at the largest sizes of the class, and
 * one more where the lower bound does not rule out one kernel an operation. Where its time is out of proportion to the class's,
 * the partition is searched at its own sizes too. */
#include "codegen/plan/partition.h"
#include "codegen/plan/build.h"
#include "codegen/plan/search.h"

/* How many times more than the lower bound the time of a class's plan may grow, and how many times it may shrink, before
 * the partition is searched for the sizes themselves: the binder then does something else. */
static const double out_of_proportion = 1.08;

/* The partition of a problem that is not refined: recalled, or searched. */
static kn_status find_or_search(kn_arena *a, const kn_problem *problem, kn_partition *partition)
{
    kn_problem written = *problem, refined;
    written.force.text = NULL; /* schedules are for the kernels that are found without them */
    kn_partition_key key = kn_partition_key_of(a, problem);
    if (problem->known && kn_partitions_recall(problem->known, &key, partition))
        return KN_OK;
    refined = written;
    KN_TRY(kn_problem_refine(a, &refined));
    KN_TRY(kn_partition_search(a, &written, &refined, partition));
    KN_TRY(kn_partition_divide(a, &refined, partition));
    if (problem->known)
        kn_partitions_keep(problem->known, &key, partition);
    return KN_OK;
}

/* The partition of the problem's class, if it is one of graphs that are refined as this one is; else its own. */
static kn_status find_partition(kn_arena *a, const kn_problem *problem, const kn_problem *refined,
                                kn_partition *p)
{
    kn_problem canonical;
    kn_problem_canonical(a, problem, &canonical);
    if (find_or_search(a, &canonical, p) == KN_OK && p->graph == kn_graph_hash(a, refined->graph))
        return KN_OK;
    kn_clear_error();
    return find_or_search(a, problem, p);
}

/* ---- plans ---- */

/* The plan of a partition that was found. */
typedef struct planning {
    kn_arena *a;
    const kn_problem *problem; /* refined */
    const kn_plan *base;
    kn_partition partition;
    const kn_bounding *bounds;
    kn_bonds bonds;
    kn_draft draft;
    kn_regions *unfused; /* those of one kernel an operation, if that is better */
    int tried;           /* plans, besides the search's */
} planning;

/* The regions of the partition; of large graphs all that may be merged is, in the order that was found. */
static kn_regions *regions_of(planning *g, kn_problem *pr)
{
    const kn_partition *p = &g->partition;
    g->bonds = (kn_bonds){0};
    if (kn_is_large(pr->graph)) {
        kn_regions *merged = kn_regions_form_in(g->a, pr->graph, pr->sizes, p->order);
        kn_bonds_find(g->a, merged, &g->bonds);
        return merged;
    }
    g->bonds.reductions = p->bonds;
    kn_bonds_recall(g->a, pr->graph, &g->bonds);
    pr->fusion = p->fusion;
    return kn_regions_form_by(g->a, pr->graph, pr->sizes, p->chosen.merges, p->chosen.n);
}

/* The problem, its groups divided as the partition's are. */
static kn_problem divided(const planning *g)
{
    kn_problem pr = *g->problem;
    if (g->partition.division != KN_DIVIDE_BY_COST) {
        pr.force.division = g->partition.division;
        pr.force.cluster = g->partition.cluster;
    }
    return pr;
}

static kn_status plan_parted(planning *g)
{
    kn_problem pr = divided(g);
    kn_regions *regions = regions_of(g, &pr);
    const kn_choices searched = {.reuse = g->partition.chosen.reuse};
    pr.choices = kn_is_large(pr.graph) ? NULL : &searched;
    return kn_plan_draft(g->a, &pr, regions, g->base, &g->draft);
}

static double ns_of(const planning *g) { return g->draft.plan->ns; }

/* As the binder divides instead, if that is better: the division that was found is that of the class. */
static kn_status plan_by_cost(planning *g)
{
    planning other = *g;
    if (g->partition.division == KN_DIVIDE_BY_COST)
        return KN_OK;
    other.partition.division = KN_DIVIDE_BY_COST;
    KN_TRY(plan_parted(&other));
    other.tried = ++g->tried;
    if (ns_of(&other) < ns_of(g))
        *g = other;
    return KN_OK;
}

/* How much larger the lower bound is than for the class. */
static double growth_of(const planning *g)
{
    const double bound = kn_partition_bound(g->bounds, kn_parts_whole(g->a, g->problem->graph));
    return bound > g->partition.bound ? bound / g->partition.bound : 1;
}

/* What is better at the largest sizes of the class instead, if it is for these: planned if the chosen plan takes longer than
 * it does at either end. */
static kn_status plan_other(planning *g)
{
    const kn_partition *p = &g->partition;
    planning other = *g;
    if (p->other_ns == 0)
        return KN_OK;
    if (ns_of(g) * kn_alike <= p->other_ns)
        return KN_OK;
    other.partition.chosen = p->other;
    other.partition.division = KN_DIVIDE_BY_COST;
    KN_TRY(plan_parted(&other));
    other.tried = ++g->tried;
    if (ns_of(&other) < ns_of(g) * kn_alike)
        *g = other;
    return KN_OK;
}

/* What a search at these sizes finds instead, if it is better: where the chosen plan is slower out of proportion, or quicker
 * though no size is smaller, what others take may have changed by more. */
static kn_status plan_searched(planning *g, const kn_problem *written)
{
    const kn_partition *p = &g->partition;
    planning other = *g;
    if (p->bound <= 0 || kn_is_large(g->problem->graph))
        return KN_OK;
    if (ns_of(g) <= p->ns * growth_of(g) * out_of_proportion &&
        ns_of(g) * out_of_proportion >= p->ns)
        return KN_OK;
    KN_TRY(find_or_search(g->a, written, &other.partition));
    KN_TRY(plan_parted(&other));
    const int tried = g->tried + 1;
    other.tried = tried + p->tried;
    g->tried = tried + other.partition.tried;
    if (ns_of(&other) < ns_of(g) * kn_alike)
        *g = other;
    return KN_OK;
}

/* The plan of what is best at these sizes. */
static kn_status plan_best(planning *g, const kn_problem *written)
{
    const kn_problem *own = g->problem;
    g->bounds = kn_bounding_of(g->a, own->graph, own->sizes, own->target);
    KN_TRY(plan_parted(g));
    if (kn_is_forced(own))
        return KN_OK;
    KN_TRY(plan_by_cost(g));
    KN_TRY(plan_other(g));
    return plan_searched(g, written);
}

/* Unfused instead, if that is better. */
static kn_status plan_unfused(planning *g, double least)
{
    kn_problem pr = *g->problem;
    kn_trials trials;
    double ns = ns_of(g);
    if (least >= ns)
        return KN_OK;
    kn_trials_begin(&trials, g->a);
    g->tried++;
    KN_TRY(kn_unfused_try(&trials, &pr, &g->bonds, &ns, &g->unfused));
    pr.fusion = false;
    if (g->unfused)
        g->partition.division = KN_DIVIDE_BY_COST;
    return g->unfused ? kn_plan_draft(g->a, &pr, g->unfused, g->base, &g->draft) : KN_OK;
}

/* One kernel an operation on the axes as they are written instead, where reshapes have other axes in common. */
static kn_status plan_as_written(planning *g, const kn_problem *written, double least)
{
    kn_problem pr = *written;
    kn_draft draft;
    pr.fusion = false;
    pr.force.text = NULL;
    if (g->bonds.merges.len || least >= ns_of(g))
        return KN_OK;
    KN_TRY(kn_problem_refine(g->a, &pr));
    if (kn_graph_hash(g->a, pr.graph) == kn_graph_hash(g->a, g->problem->graph))
        return KN_OK;
    KN_TRY(kn_plan_draft(g->a, &pr, kn_regions_form(g->a, pr.graph, pr.sizes, false), g->base,
                         &draft));
    g->tried++;
    if (draft.plan->ns < ns_of(g))
        g->draft = draft;
    return KN_OK;
}

static double least_unfused(const planning *g)
{
    return kn_separate_bound(g->bounds, kn_parts_separate(g->a, g->problem->graph, &g->bonds));
}

/* The plan again, without the merges that are undone. */
static kn_status plan_undone(planning *g, const kn_problem *problem)
{
    const kn_regions *from = g->draft.plan->regions;
    const int n = from->merges.len;
    const uint64_t undone = problem->force.undone;
    kn_problem pr = divided(g);
    kn_merge *merges = KN_NEW_ARRAY(g->a, kn_merge, n + 1);
    int left = 0;
    if (n < KN_MOST_UNDONE && undone >> n)
        return kn_fail(KN_ARGUMENT, "there are %d merges of loop nests to undo", n);
    if (from->graph != pr.graph)
        return kn_fail(KN_ARGUMENT, "no merge can be undone where a reshape takes a copy");
    for (int i = 0; i < n; i++)
        if (i >= KN_MOST_UNDONE || !(undone >> i & 1))
            merges[left++] = from->merges.data[i];
    pr.fusion = g->partition.fusion && !g->unfused;
    pr.choices =
        &(kn_choices){.reuse = kn_is_large(from->graph) ? NULL : g->partition.chosen.reuse};
    return kn_plan_draft(g->a, &pr, kn_regions_form_by(g->a, pr.graph, pr.sizes, merges, left),
                         g->base, &g->draft);
}

kn_status kn_partition_plan(kn_arena *a, const kn_problem *problem, const kn_problem *refined,
                            const kn_plan *base, kn_plan **plan)
{
    kn_problem own = *refined;
    planning g = {.a = a, .problem = &own, .base = base, .partition = {.fusion = true, .tried = 1}};
    own.force.text = NULL; /* schedules are for the plan that is found without them */
    if (refined->graph->nodes.len <= KN_MOST_ORDERED)
        KN_TRY(find_partition(a, problem, refined, &g.partition));
    KN_TRY(plan_best(&g, problem));
    if (!kn_is_forced(&own)) {
        const double least = least_unfused(&g);
        if (g.partition.fusion)
            KN_TRY(plan_unfused(&g, least));
        KN_TRY(plan_as_written(&g, problem, least));
    }
    if (refined->force.undone)
        KN_TRY(plan_undone(&g, refined));
    if (refined->force.text)
        KN_TRY(kn_draft_bind_as(&g.draft, refined->force.text));
    KN_TRY(kn_draft_finish(&g.draft));
    *plan = g.draft.plan;
    (*plan)->tried = refined->force.undone ? 0 : g.partition.tried + g.tried;
    return KN_OK;
}
