/* What is best at the other end of a class of sizes.
 *
 * A class is searched at its smallest sizes. Of the plans that took little longer than the best there, another may be
 * the best at the largest: what is computed again grows, where what a barrier takes does not, or a grid of whole waves
 * becomes one of parts. That plan is the partition's other one, to be compared with at sizes in between. */
#include "base/hash.h"
#include "base/work.h"
#include "codegen/plan/build.h"
#include "codegen/plan/search_impl.h"

/* Plans that take so many times as long as the best are not the best of any size of the class. */
static const double within = 1.06;
/* The search's steps of planning to one that the other end may take. */
enum { SEARCHED_TO_ONE = 10 };

typedef struct ends {
    kn_search *s;
    kn_problem largest; /* refined */
    kn_former *begun;   /* its regions */
    kn_hashes seen;     /* states */
} ends;

/* Plans of the same content may differ in what comes first. */
static uint64_t hash_of(const kn_tried *t) { return kn_hash(&t->ns, sizeof t->ns, t->content); }

/* The quickest state, of those that compute something else than what was tried; -1: there is none. */
static int next_state(const ends *e)
{
    const kn_search *s = e->s;
    const double most = s->states.data[s->best].ns * within;
    int next = -1;
    for (int i = 0; i < s->states.len; i++) {
        const kn_tried *t = &s->states.data[i];
        if (t->ns < most && t->outcome && !kn_hashes_have(&e->seen, hash_of(t)) &&
            (next < 0 || t->ns < s->states.data[next].ns))
            next = i;
    }
    return next;
}

static kn_status try_state(ends *e, int state, double *ns)
{
    kn_search *s = e->s;
    const kn_tried *t = &s->states.data[state];
    const kn_arena_mark here = kn_arena_here(&s->trials.scratch);
    kn_regions *regions = kn_regions_form_as(&s->trials.scratch, e->begun, t->merges, t->n);
    kn_trial trial;
    kn_hashes_add(s->a, &e->seen, hash_of(t));
    const kn_choices choices = {.reuse = t->outcome};
    kn_problem largest = e->largest;
    largest.choices = &choices;
    KN_TRY(kn_plan_try(&s->trials, &largest, regions, &trial));
    s->tried++;
    *ns = trial.ns;
    kn_arena_back(&s->trials.scratch, here);
    return KN_OK;
}

static kn_status find_other(ends *e, kn_partition *p)
{
    kn_search *s = e->s;
    const int64_t now = kn_work_done(), until = now + (now - s->begun) / SEARCHED_TO_ONE;
    double best, ns;
    KN_TRY(kn_problem_refine(s->a, &e->largest));
    if (kn_graph_hash(s->a, e->largest.graph) != p->graph)
        return KN_OK;
    kn_trials_forget(&s->trials);
    e->begun = kn_regions_begin(s->a, e->largest.graph, e->largest.sizes, true);
    KN_TRY(try_state(e, s->best, &best));
    best *= kn_alike; /* or it would not be taken */
    for (int i; kn_work_done() < until && (i = next_state(e)) >= 0;) {
        KN_TRY(try_state(e, i, &ns));
        if (ns >= best)
            continue;
        best = ns;
        p->other = kn_merging_of(s, &s->states.data[i]);
        p->other_ns = ns < s->states.data[i].ns ? ns : s->states.data[i].ns;
    }
    return KN_OK;
}

void kn_find_other(kn_search *s, const kn_problem *written, kn_partition *p)
{
    ends e = {.s = s};
    if (s->states.len < 2 || !s->states.data[s->best].outcome)
        return;
    kn_problem_largest(s->a, written, &e.largest);
    if (find_other(&e, p) != KN_OK)
        kn_clear_error(); /* those sizes cannot be planned: other ones may be */
    p->tried = 1 + s->tried;
}
