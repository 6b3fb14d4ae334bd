#include "codegen/plan/build.h"
#include "codegen/plan/partition.h"

#include <string.h>

kn_status kn_plan_make(kn_arena *a, const kn_problem *problem, kn_plan **out)
{
    kn_problem pr = *problem;
    if (pr.universal && pr.force.reuse == KN_REUSE_BY_COST)
        pr.force.reuse = KN_REUSE_RECOMPUTE; /* the cost would depend on the sizes */
    kn_plan base = {.arena = a};
    int symbols = kn_symbols_count(pr.graph->syms);
    int64_t *sizes = KN_NEW_ARRAY(a, int64_t, symbols + 1);
    memcpy(sizes, pr.sizes, sizeof *sizes * (size_t)symbols);
    base.sizes = sizes;
    if (pr.explained)
        base.before = kn_census_of_graph(a, pr.graph, pr.sizes);
    KN_TRY(kn_problem_refine(a, &pr));
    if (pr.explained)
        kn_push(a, &base.steps,
                ((kn_plan_step){"refine", "reshapes that split or merge axes as views",
                                kn_census_of_graph(a, pr.graph, pr.sizes)}));
    const kn_choices *c = pr.choices;
    if (pr.fusion && !pr.universal && !pr.invariant && !c)
        return kn_partition_plan(a, problem, &pr, &base, out);
    kn_draft draft;
    kn_regions *regions = c ? kn_regions_form_by(a, pr.graph, pr.sizes, c->merges, c->nmerges)
                            : kn_regions_form(a, pr.graph, pr.sizes, pr.fusion);
    KN_TRY(kn_plan_draft(a, &pr, regions, &base, &draft));
    KN_TRY(kn_draft_finish(&draft));
    *out = draft.plan;
    return KN_OK;
}
