/* The search for the partition of the least predicted time: best first.
 *
 * Merging everything that may be merged is right for most programs, and is planned first. It is wrong where parts of
 * a region would have better schedules alone: where one part walks an array along another axis than the rest, or
 * where work is done for every element instead of once. So other partitions are planned too, each one change away
 * from one that was planned, the quickest of them first: one merge undone, one more merge,
 * one value rematerialised instead of kept, or kept instead, and then a part of a region moved to another. Changes are
 * tried in the order of their lower bounds (bound.c), and left out where these are no better than the best plan. Plans are
 * trials (trial.c).
 *
 * Half of the work is on all changes of the quickest plans. The other half goes further: it is on changes of kinds that
 * have not lost (changes.c), of plans that are not all of nearly one time. */
#include "codegen/plan/search_impl.h"

#include <string.h>

#include "base/hash.h"
#include "base/work.h"
#include "codegen/plan/build.h"
#include "ir/view.h"

/* Steps of planning (base/work.h) that a search may take, of 200 to 300 ns each, whatever the program
 * (docs/lab/steps-of-planning.md): for a GPU what does not show beside its compiler; for a CPU, which runs a program before it
 * is compiled, what its first result can wait for, and more where a run could gain as much. */
enum { STEPS_GPU = 46000, STEPS_CPU = 26000, MOST_CPU = 30000, NS_A_STEP = 200 };
/* What each expanded state of nearly its time adds to a state's, which so comes behind slower ones. */
static const double another_alike = 0.02;

bool kn_is_large(const kn_graph *g) { return g->nodes.len > KN_MOST_SEARCHED; }

bool kn_is_forced(const kn_problem *pr)
{
    return pr->force.division != KN_DIVIDE_BY_COST || pr->force.reuse != KN_REUSE_BY_COST ||
           pr->force.max_threads;
}

static double best_ns(const kn_search *s) { return s->states.data[s->best].ns; }

/* What the next plan has to be quicker than. */
static double to_beat(const kn_search *s)
{
    return best_ns(s) * (s->best ? kn_nearly_same : kn_alike);
}

static const kn_bounding *bounds_of(kn_search *s)
{
    const kn_problem *pr = s->problem;
    if (!s->bounds)
        s->bounds = kn_bounding_of(s->a, pr->graph, pr->sizes, pr->target);
    return s->bounds;
}

bool kn_may_gain(kn_search *s, const int *part_of, double *bound)
{
    if (!kn_bonds_hold(&s->bonds, part_of))
        return false;
    *bound = kn_partition_bound(bounds_of(s), part_of);
    return *bound < to_beat(s);
}

/* Does the part of x store it for another's node? */
static bool crosses(const int *part_of, const kn_node *x, const kn_node *user)
{
    return kn_ops[x->op].cls == KN_ELEM && part_of[x->id] >= 0 && part_of[user->id] >= 0 &&
           part_of[x->id] != part_of[user->id];
}

const bool *kn_crossing(kn_arena *a, const kn_graph *g, const int *part_of)
{
    bool *cross = KN_NEW_ARRAY(a, bool, g->nodes.len + 1);
    for (int i = 0; i < g->nodes.len; i++)
        for (int k = 0; k < g->nodes.data[i]->nin; k++) {
            const kn_node *x = kn_base_of(g, g->nodes.data[i], k);
            cross[x->id] = cross[x->id] || crosses(part_of, x, g->nodes.data[i]);
        }
    for (int o = 0; o < g->outputs.len; o++) /* stored whatever reads them */
        cross[g->outputs.data[o].node->id] = false;
    return cross;
}

/* ---- trying changes ---- */

/* Is another plan worth planning, for what could be gained? */
static bool is_worth_it(const kn_search *s)
{
    const double gain = to_beat(s) - s->least;
    const double cpu = STEPS_CPU + gain / NS_A_STEP;
    const double most = s->problem->target->sm ? STEPS_GPU : cpu < MOST_CPU ? cpu : MOST_CPU;
    return gain > 0 && (double)(kn_work_done() - s->begun) < most;
}

/* Notes that these regions are planned so; false: they were before. */
static bool note(kn_search *s, const kn_regions *r, const kn_reuse *reuse)
{
    return kn_hashes_add(s->a, &s->seen, kn_key_of(s, kn_parts_of(&s->trials.scratch, r), reuse));
}

kn_reuse *kn_outcome(kn_arena *a, const kn_regions *r, const bool *again)
{
    const bool *cross = kn_crossing(a, r->graph, kn_parts_of(a, r));
    kn_reuse *reuse = KN_NEW_ARRAY(a, kn_reuse, r->graph->nodes.len + 1);
    for (int i = 0; i < r->graph->nodes.len; i++)
        reuse[i] = !cross[i] ? KN_REUSE_BY_COST : again[i] ? KN_REUSE_RECOMPUTE : KN_REUSE_KEEP;
    return reuse;
}

/* A hash of which nodes each part computes, equal for plans that differ only in which part owns a value that all its readers
 * rematerialise. */
static uint64_t content_of(kn_arena *a, const kn_regions *r, const bool *again)
{
    const kn_graph *g = r->graph;
    const int *part_of = kn_parts_of(a, r);
    uint64_t by[KN_MOST_SEARCHED] = {0}, of[KN_MOST_SEARCHED] = {0}; /* parts and nodes, as bits */
    uint64_t content = 0;
    for (int o = 0; o < g->outputs.len; o++) {
        const int i = g->outputs.data[o].node->id;
        by[i] = part_of[i] < 0 ? 0 : (uint64_t)1 << part_of[i];
    }
    for (int i = g->nodes.len - 1; i >= 0; i--) {
        const kn_node *n = g->nodes.data[i];
        if (part_of[i] < 0)
            continue;
        if (by[i] && !again[i])
            by[i] = (uint64_t)1 << part_of[i];
        for (uint64_t left = by[i]; left; left &= left - 1)
            of[__builtin_ctzll(left)] |= (uint64_t)1 << i;
        for (int k = 0; k < n->nin; k++)
            by[kn_base_of(g, n, k)->id] |= by[i];
    }
    for (int p = 0; p < g->nodes.len; p++) /* a sum, for parts have no order */
        content += of[p] ? kn_hash(&of[p], sizeof of[p], 0) : 0;
    return content;
}

/* Were changes of a state with this content tried, or all of them? */
static bool was_expanded(const kn_search *s, uint64_t content, bool all)
{
    for (int i = 0; i < s->states.len; i++) {
        const kn_tried *as = &s->states.data[i];
        if (as->content == content && (all ? as->done : as->expanded))
            return true;
    }
    return false;
}

static bool takes_nearly_as_long(const kn_tried *as, double ns)
{
    return as->ns * kn_nearly_same <= ns && ns * kn_nearly_same <= as->ns;
}

/* States of nearly this time whose changes were tried. */
static int expanded_alike(const kn_search *s, double ns)
{
    int n = 0;
    for (int i = 0; i < s->states.len; i++)
        n += s->states.data[i].expanded && takes_nearly_as_long(&s->states.data[i], ns);
    return n;
}

static void add_state(kn_search *s, const kn_regions *r, const kn_trial *t, const kn_reuse *reuse)
{
    const int n = r->merges.len;
    const kn_merge *merges = kn_alloc_copy(s->a, r->merges.data, sizeof *merges * (size_t)n);
    const kn_reuse *became = t->copies ? NULL : kn_outcome(s->a, r, t->again);
    const uint64_t content = kn_is_large(r->graph) || t->copies
                                 ? (uint64_t)s->states.len
                                 : content_of(&s->trials.scratch, r, t->again);
    const kn_tried new = {
        .ns = t->ns,
        .merges = merges,
        .n = n,
        .reuse =
            reuse ? kn_alloc_copy(s->a, reuse, sizeof *reuse * (size_t)r->graph->nodes.len) : NULL,
        .outcome = became,
        .again = t->again,
        .content = content,
        .expanded = t->copies,
        .done = t->copies,
        .twin = was_expanded(s, content, true),
        .alike = expanded_alike(s, t->ns)};
    kn_push(s->a, &s->states, new);
    if (became) /* asked for by its outcome it would be the same plan */
        note(s, r, became);
}

/* Plans the regions, unless they were. */
static kn_status try_plan(kn_search *s, kn_regions *regions, const kn_reuse *reuse)
{
    kn_problem pr = *s->problem;
    kn_trial t;
    if (!note(s, regions, reuse))
        return KN_OK;
    pr.choices = &(kn_choices){.reuse = reuse};
    KN_TRY(kn_plan_try(&s->trials, &pr, regions, &t));
    s->tried++;
    if (t.copies)
        return KN_OK;
    if (t.ns < to_beat(s))
        s->best = s->states.len;
    add_state(s, regions, &t, reuse);
    return KN_OK;
}

/* What becomes of the values that cross. */
typedef struct ways {
    kn_reuse *by_cost; /* kept or rematerialised by their cost, where the state does not say */
    kn_reuse *again;   /* rematerialised */
    kn_reuse *kept;    /* those that cost does not keep, too */
} ways;

static ways ways_of(kn_search *s, const int *part_of)
{
    kn_arena *a = &s->trials.scratch;
    const kn_graph *g = s->problem->graph;
    const int n = g->nodes.len;
    const bool *cross = kn_crossing(a, g, part_of);
    const kn_reuse *from = s->states.data[s->from].reuse;
    const ways w = {KN_NEW_ARRAY(a, kn_reuse, n + 1), KN_NEW_ARRAY(a, kn_reuse, n + 1),
                    KN_NEW_ARRAY(a, kn_reuse, n + 1)};
    for (int i = 0; i < n; i++) {
        w.by_cost[i] = cross[i] && from ? from[i] : KN_REUSE_BY_COST;
        w.again[i] = cross[i] ? KN_REUSE_RECOMPUTE : KN_REUSE_BY_COST;
        w.kept[i] = cross[i] && w.by_cost[i] == KN_REUSE_BY_COST ? KN_REUSE_KEEP : w.by_cost[i];
    }
    return w;
}

/* Plans regions in the first two ways. Where the first computes what a state does that was changed, also in the third. */
static kn_status try_ways(kn_search *s, kn_regions *regions)
{
    const int states = s->states.len;
    const ways w = ways_of(s, kn_parts_of(&s->trials.scratch, regions));
    KN_TRY(try_plan(s, regions, w.by_cost));
    if (kn_is_large(regions->graph))
        return KN_OK;
    const bool known =
        s->states.len > states && was_expanded(s, s->states.data[states].content, false);
    KN_TRY(try_plan(s, regions, w.again));
    return known ? try_plan(s, regions, w.kept) : KN_OK;
}

/* Were these parts planned in the first two ways? Then their regions need not be formed again. */
static bool are_planned(kn_search *s, const int *part_of)
{
    const ways w = ways_of(s, part_of);
    return kn_hashes_have(&s->seen, kn_key_of(s, part_of, w.by_cost)) &&
           kn_hashes_have(&s->seen, kn_key_of(s, part_of, w.again));
}

/* The regions that merges lead to, in memory of one trial. */
static kn_regions *form(kn_search *s, const kn_merge *merges, int n)
{
    const kn_problem *pr = s->problem;
    if (!s->separate)
        s->separate = kn_regions_begin(s->a, pr->graph, pr->sizes, true);
    return kn_regions_form_as(&s->trials.scratch, s->separate, merges, n);
}

static kn_status try_change(kn_search *s, const kn_change *c)
{
    const kn_tried *from = &s->states.data[s->from];
    const double ns = from->ns;
    const int first = s->states.len;
    if (c->toggled >= 0 && !s->regions)
        s->regions = form(s, from->merges, from->n);
    const kn_arena_mark here = kn_arena_here(&s->trials.scratch);
    if (c->toggled < 0) {
        if (!are_planned(s, kn_parts_by(&s->trials.scratch, s->problem->graph, c->merges, c->n)))
            KN_TRY(try_ways(s, form(s, c->merges, c->n)));
    } else {
        kn_reuse *reuse = kn_outcome(&s->trials.scratch, s->regions, from->again);
        reuse[c->toggled] = from->again[c->toggled] ? KN_REUSE_KEEP : KN_REUSE_RECOMPUTE;
        KN_TRY(try_plan(s, s->regions, reuse));
    }
    bool lost = true;
    for (int i = first; i < s->states.len; i++)
        lost = lost && s->states.data[i].ns >= ns * kn_nearly_same;
    if (lost)
        kn_hashes_add(s->a, &s->lost, c->kind);
    kn_arena_back(&s->trials.scratch, here);
    return KN_OK;
}

/* Other orders of merging. */
static kn_status try_orders(kn_search *s)
{
    const kn_problem *pr = s->problem;
    double bound;
    for (int order = 1; order < KN_REGION_ORDERS; order++) {
        const kn_arena_mark here = kn_arena_here(&s->trials.scratch);
        const int best = s->best;
        kn_regions *regions = kn_regions_form_in(&s->trials.scratch, pr->graph, pr->sizes, order);
        if (kn_may_gain(s, kn_parts_of(&s->trials.scratch, regions), &bound))
            KN_TRY(try_ways(s, regions));
        s->order = s->best != best ? order : s->order;
        kn_arena_back(&s->trials.scratch, here);
    }
    return KN_OK;
}

/* Per node: is it elementwise, and read by several? */
static const bool *find_shared(kn_arena *a, const kn_graph *g)
{
    int *readers = KN_NEW_ARRAY(a, int, g->nodes.len + 1);
    bool *shared = KN_NEW_ARRAY(a, bool, g->nodes.len + 1);
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        for (int k = 0; k < n->nin && kn_is_value(n); k++)
            readers[kn_base_of(g, n, k)->id]++;
    }
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        shared[i] = kn_is_value(n) && kn_ops[n->op].cls == KN_ELEM && readers[i] > 1;
    }
    return shared;
}

/* Merges of all that touch, but for shared values. */
typedef struct others {
    const bool *shared;
    int *reader; /* per node: 1 + the last that reads it */
    bool any;    /* are there shared values? */
    KN_VEC(kn_merge) merges;
} others;

static void merge_others(kn_search *s, others *o, const kn_node *n)
{
    for (int k = 0; k < n->nin; k++) {
        const kn_node *x = kn_base_of(s->problem->graph, n, k);
        o->any = o->any || o->shared[x->id];
        if (kn_is_value(x) && !o->shared[x->id])
            kn_push(&s->trials.scratch, &o->merges, ((kn_merge){x->id, n->id}));
        else if (o->reader[x->id] && !kn_is_uniform_leaf(x))
            kn_push(&s->trials.scratch, &o->merges, ((kn_merge){o->reader[x->id] - 1, n->id}));
        o->reader[x->id] = n->id + 1;
    }
}

/* Values that several read are apart, for each of these to compute for itself, and all else is merged: a value that is in a
 * loop nest with one of its readers has a say in what that goes over. */
static kn_status try_shared_apart(kn_search *s)
{
    const kn_graph *g = s->problem->graph;
    const kn_arena_mark here = kn_arena_here(&s->trials.scratch);
    others o = {.shared = find_shared(&s->trials.scratch, g),
                .reader = KN_NEW_ARRAY(&s->trials.scratch, int, g->nodes.len + 1)};
    double bound;
    for (int i = 0; i < g->nodes.len; i++)
        if (kn_is_value(g->nodes.data[i]) && !o.shared[i])
            merge_others(s, &o, g->nodes.data[i]);
    if (o.any) {
        kn_regions *regions = form(s, o.merges.data, o.merges.len);
        if (kn_may_gain(s, kn_parts_of(&s->trials.scratch, regions), &bound))
            KN_TRY(try_ways(s, regions));
    }
    kn_arena_back(&s->trials.scratch, here);
    return KN_OK;
}

/* Are the changes of x tried before those of y? Those of the quicker one; where only new ones count, of the quicker but for
 * how many of nearly its time were changed: most of those are changed alike, and a way out of them leads through slower ones.
 * Those that would be changed as another one was come last. */
static bool comes_before(const kn_search *s, const kn_tried *x, const kn_tried *y)
{
    const double each = s->only_new ? another_alike : 0;
    if (x->twin != y->twin)
        return y->twin;
    return x->ns * (1 + each * x->alike) < y->ns * (1 + each * y->alike);
}

/* The state whose changes are tried next; -1: there is none. */
static int next_state(const kn_search *s)
{
    const kn_tried *states = s->states.data;
    int next = -1;
    kn_work(1 + s->states.len / 8);
    for (int i = 0; i < s->states.len; i++)
        if (!states[i].done && !(s->only_new && states[i].expanded) &&
            (next < 0 || comes_before(s, &states[i], &states[next])))
            next = i;
    return next;
}

static void note_expanded(kn_search *s, kn_tried *of)
{
    const bool first = !of->expanded;
    of->expanded = true;
    of->done = !s->only_new;
    for (int i = 0; i < s->states.len; i++) {
        kn_tried *other = &s->states.data[i];
        other->twin |= of->done && other->content == of->content;
        other->alike += first && takes_nearly_as_long(other, of->ns);
    }
}

static kn_status expand(kn_search *s)
{
    const kn_arena_mark here = kn_arena_here(&s->trials.scratch);
    const int64_t before = kn_work_done();
    kn_tried *from = &s->states.data[s->from];
    note_expanded(s, from);
    s->regions = NULL;
    kn_find_changes(s);
    for (int i = 0; i < s->changes.len && is_worth_it(s); i++)
        if (s->changes.data[i].bound < to_beat(s))
            KN_TRY(try_change(s, &s->changes.data[i]));
    kn_arena_back(&s->trials.scratch, here);
    *(s->only_new ? &s->on_new : &s->on_all) += kn_work_done() - before;
    return KN_OK;
}

static kn_status try_changes(kn_search *s)
{
    while (is_worth_it(s)) {
        s->only_new = s->on_new < s->on_all;
        s->from = next_state(s);
        if (s->from < 0 && s->only_new) {
            s->only_new = false;
            s->from = next_state(s);
        }
        if (s->from < 0)
            return KN_OK;
        KN_TRY(expand(s));
    }
    return KN_OK;
}

/* ---- one kernel an operation ---- */

kn_status kn_unfused_try(kn_trials *trials, const kn_problem *problem, const kn_bonds *bonds,
                         double *ns, kn_regions **regions)
{
    kn_arena *a = trials->arena;
    kn_problem pr = *problem;
    kn_trial t;
    pr.fusion = false;
    kn_regions *unfused = kn_regions_form(a, pr.graph, pr.sizes, false);
    if (!kn_bonds_hold(bonds, kn_parts_of(a, unfused)))
        unfused = kn_regions_form_by(a, pr.graph, pr.sizes, bonds->merges.data, bonds->merges.len);
    KN_TRY(kn_plan_try(trials, &pr, unfused, &t));
    if (t.ns < *ns) {
        *ns = t.ns;
        *regions = unfused;
    }
    return KN_OK;
}

static kn_status try_unfused(kn_search *s, double *ns, kn_regions **regions)
{
    const kn_graph *g = s->problem->graph;
    const int *part_of = kn_parts_separate(s->a, g, &s->bonds);
    if (kn_separate_bound(bounds_of(s), part_of) >= *ns)
        return KN_OK;
    s->tried++;
    return kn_unfused_try(&s->trials, s->problem, &s->bonds, ns, regions);
}

/* ---- the search ---- */

uint64_t kn_graph_hash(kn_arena *a, const kn_graph *g)
{
    KN_VEC(int) numbers = {0};
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        kn_push(a, &numbers, (int)n->op);
        kn_push(a, &numbers, n->rank);
        for (int k = 0; k < n->nin; k++)
            kn_push(a, &numbers, n->in[k]->id);
    }
    return kn_hash(numbers.data, sizeof *numbers.data * (size_t)numbers.len, 0);
}

kn_merging kn_merging_of(const kn_search *s, const kn_tried *from)
{
    kn_merging m = {.n = from->n};
    if (m.n)
        memcpy(m.merges, from->merges, sizeof *m.merges * (size_t)m.n);
    if (from->outcome)
        memcpy(m.reuse, from->outcome, sizeof *m.reuse * (size_t)s->problem->graph->nodes.len);
    return m;
}

/* Describes the best partition, which takes `ns`; unfused: if that is better still. */
static void describe(kn_search *s, const kn_regions *unfused, double ns, kn_partition *p)
{
    const kn_graph *g = s->problem->graph;
    *p = (kn_partition){.graph = kn_graph_hash(s->a, g),
                        .bonds = s->bonds.reductions,
                        .fusion = !unfused,
                        .ns = ns,
                        .bound = s->least,
                        .tried = 1 + s->tried,
                        .order = s->order};
    if (kn_is_large(g))
        return;
    const kn_tried alone = {.merges = unfused ? unfused->merges.data : NULL,
                            .n = unfused ? unfused->merges.len : 0};
    p->chosen = kn_merging_of(s, unfused ? &alone : &s->states.data[s->best]);
}

kn_status kn_partition_search(kn_arena *a, const kn_problem *written, const kn_problem *problem,
                              kn_partition *partition)
{
    kn_search s = {.a = a, .problem = problem, .begun = kn_work_done()};
    const bool all = !kn_is_forced(problem) && !kn_is_large(problem->graph);
    kn_regions *first = kn_regions_form(a, problem->graph, problem->sizes, true), *unfused = NULL;
    kn_trial merged;
    kn_trials_begin(&s.trials, a);
    KN_TRY(kn_plan_try(&s.trials, problem, first, &merged));
    kn_bonds_find(a, first, &s.bonds);
    add_state(&s, first, &merged, NULL);
    if (!merged.copies) {
        s.least = kn_partition_bound(bounds_of(&s), kn_parts_whole(a, problem->graph));
        if (first->list.len > 1)
            KN_TRY(try_orders(&s));
        if (all) {
            KN_TRY(try_shared_apart(&s));
            KN_TRY(try_changes(&s));
        }
    }
    double ns = best_ns(&s);
    if (all)
        KN_TRY(try_unfused(&s, &ns, &unfused));
    describe(&s, unfused, ns, partition);
    if (all && !unfused)
        kn_find_other(&s, written, partition);
    return KN_OK;
}
