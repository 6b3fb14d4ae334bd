/* How the groups of a partition's loop nests are divided, as one choice for the whole plan.
 *
 * The binder chooses nest by nest, and splits a group over the machine or a cluster where its rules say so. What all
 * nests of a plan take together it does not see: partial results that a later nest combines, a barrier, what stays on
 * chip for the next nest. So the plan is predicted again with each division forced on all of its nests.
 *
 * A machine that is no larger than a cluster, as the emulator's, has little to divide over.
 *
 * The least of several predictions is the most optimistic one, so another division has to be quicker by more than the
 * model is off for its kind (docs/lab/divisions-of-plans.md). */
#include <string.h>

#include "base/work.h"
#include "codegen/plan/partition.h"
#include "codegen/plan/search.h"

static const struct {
    kn_division division;
    int cluster;
    double quicker; /* than the binder's own, at least: times */
} others[] = {
    {KN_DIVIDE_CLUSTERS, 0, 1},    {KN_DIVIDE_SPLIT, 0, 0.95},    {KN_DIVIDE_CLUSTER, 0, 0.75},
    {KN_DIVIDE_WHOLE, 0, 0.9},     {KN_DIVIDE_RESIDENT, 0, 0.85}, {KN_DIVIDE_TILES, 0, 0.85},
    {KN_DIVIDE_CLUSTER, 16, 0.75}, {KN_DIVIDE_CLUSTER, 8, 0.75},  {KN_DIVIDE_CLUSTER, 4, 0.75},
};
enum { OTHERS = sizeof others / sizeof *others };
/* Steps of planning (base/work.h) after which no more are tried. */
enum { MOST_STEPS = 8000 };

typedef struct dividing {
    kn_trials trials;
    kn_problem problem;
    double own;              /* nanoseconds, as the binder divides */
    int64_t until;           /* steps of work */
    kn_partition *partition; /* the best so far */
} dividing;

static kn_status try_division(dividing *d, kn_regions *regions, const kn_partition *of,
                              double quicker)
{
    const kn_force *f = &d->problem.force;
    kn_trial t;
    KN_TRY(kn_plan_try(&d->trials, &d->problem, regions, &t));
    d->partition->tried++;
    if (t.ns >= quicker * d->own || t.ns >= d->partition->ns || t.copies)
        return KN_OK;
    const int tried = d->partition->tried;
    *d->partition = *of;
    memcpy(d->partition->chosen.reuse, kn_outcome(d->trials.arena, regions, t.again),
           sizeof(kn_reuse) * (size_t)regions->graph->nodes.len);
    d->partition->tried = tried;
    d->partition->ns = t.ns;
    d->partition->division = f->division;
    d->partition->cluster = f->cluster;
    return KN_OK;
}

/* All divisions of the regions that a partition has. */
static kn_status try_all(kn_arena *a, dividing *d, const kn_partition *of)
{
    kn_problem *pr = &d->problem;
    const int most = pr->target->cluster;
    const kn_choices choices = {.reuse = of->chosen.reuse};
    pr->fusion = of->fusion;
    pr->choices = &choices;
    kn_regions *regions =
        kn_regions_form_by(a, pr->graph, pr->sizes, of->chosen.merges, of->chosen.n);
    for (int i = 0; i < OTHERS; i++) {
        const int cluster = others[i].cluster;
        if (kn_work_done() > d->until || (others[i].division == KN_DIVIDE_CLUSTERS && most < 2) ||
            (others[i].division == KN_DIVIDE_CLUSTER && (most < 2 || cluster > most)))
            continue;
        pr->force.division = others[i].division;
        pr->force.cluster = cluster;
        kn_trials_forget(&d->trials);
        KN_TRY(try_division(d, regions, of, others[i].quicker));
    }
    pr->choices = NULL;
    return KN_OK;
}

kn_status kn_partition_divide(kn_arena *a, const kn_problem *refined, kn_partition *partition)
{
    if (kn_is_forced(refined) || kn_is_large(refined->graph) || !refined->target->sm ||
        refined->target->units <= KN_MOST_CLUSTER)
        return KN_OK;
    dividing d = {.problem = *refined,
                  .own = partition->ns,
                  .until = kn_work_done() + MOST_STEPS,
                  .partition = partition};
    kn_trials_begin(&d.trials, a);
    const kn_partition searched = *partition;
    KN_TRY(try_all(a, &d, &searched));
    const kn_regions *all = kn_regions_form(a, refined->graph, refined->sizes, true);
    if (searched.fusion && searched.chosen.n == all->merges.len)
        return KN_OK; /* they are the same, but for what is rematerialised */
    kn_partition merged = {.graph = searched.graph,
                           .bonds = searched.bonds,
                           .fusion = true,
                           .bound = searched.bound,
                           .chosen.n = all->merges.len};
    if (searched.fusion) { /* which may be better at other sizes */
        merged.other = searched.chosen;
        merged.other_ns = searched.ns;
    }
    if (all->merges.len)
        memcpy(merged.chosen.merges, all->merges.data,
               sizeof *all->merges.data * (size_t)all->merges.len);
    return try_all(a, &d, &merged);
}
