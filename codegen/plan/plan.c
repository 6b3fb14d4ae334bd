#include "codegen/model/machine.h"
#include "codegen/plan/build.h"
#include "codegen/plan/partition.h"
#include "codegen/plan/search.h"

#include <string.h>

/* The plan of a problem, which is `written` or what that was cut into. */
static kn_status plan_one(kn_arena *a, const kn_problem *problem, const kn_problem *written,
                          kn_plan **out)
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
        base.before = kn_census_of_graph(a, written->graph, pr.sizes);
    if (pr.explained && pr.graph != written->graph)
        kn_push(a, &base.steps,
                ((kn_plan_step){"pieces", "parts of outputs, each stored by what computes it",
                                kn_census_of_graph(a, pr.graph, pr.sizes)}));
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

/* What copying inputs takes that the plan cannot overwrite. */
static double copying_ns(kn_arena *a, const kn_problem *pr, const kn_plan *plan)
{
    const kn_machine *m = kn_machine_of(pr->target);
    double ns = 0;
    for (int i = 0; i < pr->graph->inputs.len; i++) {
        const kn_layout *in = &pr->in[i];
        const int over = pr->over ? pr->over[i] : -1;
        const int64_t bytes = kn_bytes(pr->graph->inputs.data[i].node->dtype);
        if (over >= 0 && !kn_plan_in_place(a, plan, i, over))
            ns += m->launch + 2 * (double)(kn_count(in->shape, in->rank) * bytes) / m->memory;
    }
    return ns;
}

/* May the graph's outputs be stored in pieces? */
static bool may_cut(const kn_problem *pr)
{
    return pr->graph->in_pieces && pr->fusion && pr->force.storing != KN_STORE_JOINED &&
           !pr->universal && !pr->invariant && !pr->formulas && !pr->choices;
}

/* The plan whose outputs are in pieces. */
typedef struct piecewise {
    kn_arena *a;
    const kn_problem *cut, *written;
    kn_plan *plan;
} piecewise;

static kn_status plan_pieces(void *ctx)
{
    piecewise *p = ctx;
    return plan_one(p->a, p->cut, p->written, &p->plan);
}

/* Both plans are made, and the quicker one is taken; the whole one if the other has more operations than its budget. That depends on nothing that is forced on loop nests, so that what is is
 * meant for the same ones. */
static kn_status plan_quicker(kn_arena *a, const kn_problem *problem, const kn_problem *cut,
                              kn_plan **out)
{
    const bool forced = problem->force.text || problem->force.undone || kn_is_forced(problem);
    kn_problem whole = *problem, parted = *cut;
    piecewise by = {.a = a, .cut = &parted, .written = problem};
    whole.force = parted.force = (kn_force){.max_threads = problem->force.max_threads};
    KN_TRY(plan_one(a, &whole, problem, out));
    const kn_status status = kn_protect(a, plan_pieces, &by);
    if (status && status != KN_ARGUMENT)
        return status;
    if (status) {
        kn_clear_error();
        return forced ? plan_one(a, problem, problem, out) : KN_OK;
    }
    const kn_plan *pieces = by.plan;
    const double joined = (*out)->ns + copying_ns(a, problem, *out);
    const bool cuts =
        pieces->ns <= (*out)->ns && pieces->ns + copying_ns(a, problem, pieces) < joined * kn_alike;
    const int tried = (*out)->tried + pieces->tried;
    if (forced)
        return plan_one(a, cuts ? cut : problem, problem, out);
    *out = cuts ? by.plan : *out;
    (*out)->tried = tried;
    return KN_OK;
}

kn_status kn_plan_make(kn_arena *a, const kn_problem *problem, kn_plan **out)
{
    kn_problem cut;
    if (!may_cut(problem))
        return plan_one(a, problem, problem, out);
    KN_TRY(kn_problem_cut(a, problem, &cut));
    return problem->force.storing == KN_STORE_PIECES ? plan_one(a, &cut, problem, out)
                                                     : plan_quicker(a, problem, &cut, out);
}
