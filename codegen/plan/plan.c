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
    if (pr.explained && pr.graph != written->graph) {
        const bool cut = pr.graph == written->graph->in_pieces;
        kn_push(a, &base.steps,
                ((kn_plan_step){cut ? "pieces" : "copies",
                                cut ? "parts of outputs, each stored by what computes it"
                                    : "arguments that lie transposed, copied first",
                                kn_census_of_graph(a, pr.graph, pr.sizes)}));
    }
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

/* The forms of a problem: as written, with its outputs in pieces, with copies of its arguments. */
enum { MOST_FORMS = 3 };

typedef struct forms {
    kn_arena *a;
    const kn_problem *written;
    kn_problem of[MOST_FORMS];
    int n;
    int tried; /* plans */
    /* while they are compared: which, and its plan */
    int at;
    kn_plan *plan;
} forms;

/* Those that nothing forced rules out. */
static kn_status find_forms(kn_arena *a, const kn_problem *problem, forms *f)
{
    const kn_force *force = &problem->force;
    *f = (forms){.a = a, .written = problem};
    kn_problem *next = f->of;
    if (may_cut(problem)) {
        KN_TRY(kn_problem_cut(a, problem, next));
        next += force->reading != KN_READ_COPIES;
    }
    if (force->storing != KN_STORE_PIECES && force->reading != KN_READ_AS_LAID_OUT)
        next += kn_problem_compact(a, problem, next);
    const bool only = (force->storing == KN_STORE_PIECES || force->reading == KN_READ_COPIES) &&
                      next > f->of;
    if (!only)
        *next++ = *problem;
    f->n = (int)(next - f->of);
    return KN_OK;
}

static kn_status plan_form(void *ctx)
{
    forms *f = ctx;
    kn_problem pr = f->of[f->at];
    pr.force = (kn_force){.max_threads = pr.force.max_threads};
    return plan_one(f->a, &pr, f->written, &f->plan);
}

/* The form of the quickest plan, and that plan; one that has more operations than its budget is none. That depends on nothing
 * that is forced on loop nests, so that what is is meant for the same ones. */
static kn_status choose_form(forms *f, int *best, kn_plan **plan)
{
    double least = 0;
    for (f->at = f->n - 1; f->at >= 0; f->at--) {
        const bool as_written = f->at == f->n - 1;
        const kn_status status = as_written ? plan_form(f) : kn_protect(f->a, plan_form, f);
        if (status && (as_written || status != KN_ARGUMENT))
            return status;
        if (status) {
            kn_clear_error();
            continue;
        }
        f->tried += f->plan->tried;
        const double ns = f->plan->ns + copying_ns(f->a, f->written, f->plan);
        if (as_written || (f->plan->ns <= (*plan)->ns && ns < least * kn_alike)) {
            *best = f->at;
            *plan = f->plan;
            least = ns;
        }
    }
    return KN_OK;
}

kn_status kn_plan_make(kn_arena *a, const kn_problem *problem, kn_plan **out)
{
    const bool forced = problem->force.text || problem->force.undone || kn_is_forced(problem);
    forms f;
    int best = 0;
    KN_TRY(find_forms(a, problem, &f));
    if (f.n == 1)
        return plan_one(a, &f.of[0], problem, out);
    KN_TRY(choose_form(&f, &best, out));
    (*out)->tried = f.tried;
    return forced ? plan_one(a, &f.of[best], problem, out) : KN_OK;
}
