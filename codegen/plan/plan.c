#include "codegen/model/machine.h"
#include "codegen/plan/build.h"
#include "codegen/plan/partition.h"
#include "codegen/plan/search.h"

#include <string.h>

/* A problem as it is written, or with its graph in another form. */
typedef struct form {
    kn_problem problem;
    const struct form *of; /* NULL: as it is written */
    const char *name, *what;
    bool is_out;  /* what is forced asks for another */
    bool grouped; /* with reductions by the groups of others */
    bool copies;  /* its graph is still to be made */
} form;

/* The steps that lead to a form, from the program as it is written. */
static void record_forms(kn_arena *a, const form *f, kn_plan *plan)
{
    const kn_census after = kn_census_of_graph(a, f->problem.graph, f->problem.sizes);
    if (!f->of) {
        plan->before = after;
        return;
    }
    record_forms(a, f->of, plan);
    kn_push(a, &plan->steps, ((kn_plan_step){f->name, f->what, after}));
}

/* The plan of a form, with this forced. */
static kn_status plan_one(kn_arena *a, const form *f, const kn_force *force, kn_plan **out)
{
    kn_problem forced = f->problem, *problem = &forced;
    problem->force = *force;
    kn_problem pr = *problem;
    if (pr.universal && pr.force.reuse == KN_REUSE_BY_COST)
        pr.force.reuse = KN_REUSE_RECOMPUTE; /* the cost would depend on the sizes */
    kn_plan base = {.arena = a};
    int symbols = kn_symbols_count(pr.graph->syms);
    int64_t *sizes = KN_NEW_ARRAY(a, int64_t, symbols + 1);
    memcpy(sizes, pr.sizes, sizeof *sizes * (size_t)symbols);
    base.sizes = sizes;
    if (pr.explained)
        record_forms(a, f, &base);
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

/* As written, with outputs in pieces, with reductions by the groups of others, with both; each also with copies of arguments. */
enum { MOST_FORMS = 8 };

typedef struct forms {
    kn_arena *a;
    form of[MOST_FORMS];
    int n;
    /* while they are compared: which, and its plan */
    int at;
    kn_plan *plan;
} forms;

/* The form that `of` has with reductions by the groups of others. */
static void add_grouped(forms *f, const form *of)
{
    if (!of->problem.graph->grouped || of->problem.force.grouping == KN_GROUP_DIRECT)
        return;
    form *new = &f->of[f->n++];
    *new = (form){.problem = of->problem,
                  .of = of,
                  .name = "group",
                  .what = "reductions by the groups of others",
                  .is_out = of->is_out,
                  .grouped = true};
    new->problem.graph = of->problem.graph->grouped;
}

/* Where reductions have to be so, and some form has any that can be. */
static void leave_out_direct(forms *f)
{
    bool any = false;
    for (int i = 0; i < f->n; i++)
        any = any || f->of[i].grouped;
    for (int i = 0; i < f->n && any; i++)
        f->of[i].is_out |= !f->of[i].grouped;
}

/* The form that form i has with copies of its arguments that lie transposed. */
static void add_copying(forms *f, int i)
{
    f->of[f->n++] = (form){.problem = f->of[i].problem,
                           .of = &f->of[i],
                           .name = "copies",
                           .what = "arguments that lie transposed, copied first",
                           .is_out = f->of[i].is_out,
                           .copies = true};
}

/* Makes the graph of form i, if it has none yet. */
static kn_status complete(forms *f, int i)
{
    form *made = &f->of[i];
    if (!made->copies)
        return KN_OK;
    made->copies = false;
    return kn_problem_compact(f->a, &made->of->problem, &made->problem);
}

/* All that there are, but for copies that are not asked for: of these, only the quickest other form's are tried. */
static kn_status find_forms(kn_arena *a, const kn_problem *pr, forms *f)
{
    const bool cuts = pr->graph->in_pieces && pr->force.storing != KN_STORE_JOINED;
    form *whole = f->of, *cut;
    *f = (forms){.a = a, .n = 1};
    *whole = (form){.problem = *pr};
    if (!pr->fusion || pr->universal || pr->invariant || pr->formulas || pr->choices)
        return KN_OK;
    whole->is_out = cuts && pr->force.storing == KN_STORE_PIECES;
    add_grouped(f, whole);
    if (cuts) {
        cut = &f->of[f->n++];
        *cut = (form){.problem = *pr,
                      .of = whole,
                      .name = "pieces",
                      .what = "parts of outputs, each stored by what computes it"};
        KN_TRY(kn_problem_cut(a, pr, &cut->problem));
        add_grouped(f, cut);
    }
    if (pr->force.grouping == KN_GROUP_GROUPED)
        leave_out_direct(f);
    const bool copies = pr->force.reading == KN_READ_COPIES && kn_may_compact(pr);
    for (int i = 0, n = f->n; i < n && copies; i++) {
        add_copying(f, i);
        f->of[i].is_out = true;
    }
    return KN_OK;
}

static kn_status plan_form(void *ctx)
{
    forms *f = ctx;
    KN_TRY(complete(f, f->at));
    const kn_force unforced = {.max_threads = f->of[f->at].problem.force.max_threads};
    return plan_one(f->a, &f->of[f->at], &unforced, &f->plan);
}

/* The quickest plan so far, and its form; ns: with the copies of inputs that it needs. */
typedef struct quickest {
    int form;
    kn_plan *plan;
    double ns;
    int tried;
} quickest;

/* A later form has to be quicker by more than predictions are alike, and is none if it has more operations than its budget. */
static kn_status try_form(forms *f, int i, quickest *q)
{
    f->at = i;
    if (f->of[i].is_out)
        return KN_OK;
    const kn_status status = q->plan ? kn_protect(f->a, plan_form, f) : plan_form(f);
    if (status == KN_ARGUMENT && q->plan) {
        kn_clear_error();
        return KN_OK;
    }
    KN_TRY(status);
    const double ns = f->plan->ns + copying_ns(f->a, &f->of[i].problem, f->plan);
    q->tried += f->plan->tried;
    if (!q->plan || (f->plan->ns <= q->plan->ns && ns < q->ns * kn_alike))
        *q = (quickest){i, f->plan, ns, q->tried};
    return KN_OK;
}

/* This depends on nothing that is forced on loop nests, so that what is is meant for the same ones. */
static kn_status choose_form(forms *f, bool may_copy, quickest *q)
{
    for (int i = 0; i < f->n; i++)
        KN_TRY(try_form(f, i, q));
    if (may_copy) {
        add_copying(f, q->form);
        KN_TRY(try_form(f, f->n - 1, q));
    }
    q->plan->tried = q->tried;
    return KN_OK;
}

kn_status kn_plan_make(kn_arena *a, const kn_problem *problem, kn_plan **out)
{
    const kn_force *force = &problem->force;
    const bool may_copy = force->reading == KN_READ_BY_COST && kn_may_compact(problem),
               forced = force->text || force->undone || force->assembling || kn_is_forced(problem);
    forms f;
    quickest q = {0};
    int left = 0;
    KN_TRY(find_forms(a, problem, &f));
    for (int i = 0; i < f.n; i++)
        if (!f.of[i].is_out) {
            q.form = i;
            left++;
        }
    if (left > 1 || may_copy)
        KN_TRY(choose_form(&f, may_copy, &q));
    *out = q.plan;
    if (q.plan && !forced)
        return KN_OK;
    KN_TRY(complete(&f, q.form));
    return plan_one(a, &f.of[q.form], force, out);
}
