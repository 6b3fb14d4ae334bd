/* The search for the partition of the least predicted time: best first.
 *
 * Merging everything that may be merged is right for most programs, and is planned first. It is wrong where parts of
 * a region would have better schedules alone: where one part walks an array along another axis than the rest, or
 * where work is done for every element instead of once. So other partitions are planned too, each one change away
 * from one that was planned, the quickest of them first, but not all of nearly one time: one merge undone, one more merge,
 * one value rematerialised instead of kept, or kept instead, and then a part of a region moved to another. Changes are
 * tried in the order of their lower bounds (bound.c), and left out where these are no better than the best plan. Plans are
 * trials (trial.c). */
#include "codegen/plan/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/work.h"
#include "codegen/plan/build.h"
#include "ir/view.h"

/* Steps of planning (base/work.h) that a search may take, of some 150 ns each: for a GPU what does not show beside its
 * compiler; for a CPU, which runs a program before it is compiled, less, and more where a run could gain as much. */
enum { STEPS_GPU = 40000, STEPS_CPU = 7500, MOST_STEPS = 40000, NS_A_STEP = 150 };
/* Times that differ by less are nearly the same. Of other plans than the first the earlier is taken unless a later one is
 * quicker by more: it has fewer changes. */
static const double nearly_same = 1 / 1.005;
/* What each expanded state of nearly its time adds to a state's, which so comes behind slower ones. */
static const double another_alike = 0.02;

/* A partition one change away from a state. */
typedef struct change {
    double bound;
    int number;
    const kn_merge *merges; /* NULL: the state's */
    int n;
    int toggled; /* a node to rematerialise instead of keeping, or to keep instead; -1: none */
} change;

/* A plan that was tried. */
typedef struct state {
    double ns;
    const kn_merge *merges; /* that make its regions */
    int n;
    const kn_reuse *reuse; /* that it was asked for; NULL: all by cost */
    /* What became of the values that cross, for at other sizes their cost may say otherwise, and then it is a plan that
     * was compared with none. NULL: there are copies, and nodes have other numbers. */
    const kn_reuse *outcome;
    const bool *again; /* per node: rematerialised */
    uint64_t content;  /* a hash of what each of its regions computes */
    bool expanded;     /* its changes were tried */
    bool twin;         /* a state with the same content was expanded */
    int alike;         /* states of nearly the same time whose changes were */
} state;

typedef struct search {
    kn_arena *a;
    const kn_problem *problem;
    kn_trials trials;
    kn_bounding *bounds; /* NULL: none was asked for yet */
    kn_bonds bonds;
    KN_VEC(state) states;  /* the first merges all that may be merged */
    KN_VEC(uint64_t) seen; /* hashes of what was planned */
    KN_VEC(change) changes;
    double least;  /* the lower bound of any partition */
    int64_t begun; /* steps of work before */
    int tried;
    int expanded; /* states */
    int best;     /* a state */
    int quickest; /* the one of the least time, which may not be enough less to be the best */
    int from;     /* the state that changes are of, and its regions */
    const kn_regions *regions;
    int order; /* of merging, that the best is of */
} search;

bool kn_is_large(const kn_graph *g) { return g->nodes.len > KN_MOST_SEARCHED; }

bool kn_is_forced(const kn_problem *pr)
{
    return pr->force.division != KN_DIVIDE_BY_COST || pr->force.reuse != KN_REUSE_BY_COST ||
           pr->force.max_threads;
}

static double best_ns(const search *s) { return s->states.data[s->best].ns; }

/* What the next plan has to be quicker than. */
static double to_beat(const search *s) { return best_ns(s) * (s->best ? nearly_same : kn_alike); }

static const kn_bounding *bounds_of(search *s)
{
    const kn_problem *pr = s->problem;
    if (!s->bounds)
        s->bounds = kn_bounding_of(s->a, pr->graph, pr->sizes, pr->target);
    return s->bounds;
}

static bool may_gain(search *s, const int *part_of, double *bound)
{
    *bound = kn_partition_bound(bounds_of(s), part_of);
    return kn_bonds_hold(&s->bonds, part_of) && *bound < to_beat(s);
}

/* ---- changes; those of one state live in trials.scratch ---- */

static void add_change(search *s, const kn_merge *merges, int n, int toggled, const int *part_of)
{
    double bound;
    if (may_gain(s, part_of, &bound))
        kn_push(s->a, &s->changes, ((change){bound, s->changes.len, merges, n, toggled}));
}

static const kn_merge *without_merge(search *s, int without, int *n)
{
    const kn_regions *from = s->regions;
    kn_merge *merges = KN_NEW_ARRAY(&s->trials.scratch, kn_merge, from->merges.len + 1);
    *n = 0;
    for (int i = 0; i < from->merges.len; i++)
        if (i != without)
            merges[(*n)++] = from->merges.data[i];
    return merges;
}

static void add_undone(search *s, int without)
{
    int n;
    const kn_merge *merges = without_merge(s, without, &n);
    add_change(s, merges, n, -1, kn_parts_by(&s->trials.scratch, s->regions->graph, merges, n));
}

/* One more merge than these. */
static void add_merge(search *s, const kn_merge *of, int n, kn_merge more)
{
    kn_merge *merges = KN_NEW_ARRAY(&s->trials.scratch, kn_merge, n + 1);
    if (n)
        memcpy(merges, of, sizeof *merges * (size_t)n);
    merges[n] = more;
    add_change(s, merges, n + 1, -1,
               kn_parts_by(&s->trials.scratch, s->regions->graph, merges, n + 1));
}

/* Pairs of regions that touch: one reads a value of the other, or both read the same array or value. */
typedef struct touching {
    search *s;
    const kn_merge *merges; /* that make part_of */
    int n;
    const int *part_of;
    int parted;        /* moves: the part that undoing a merge divides */
    const int *before; /* moves: part_of before that; NULL: any two parts may merge */
    bool *met;         /* per pair of parts */
    KN_VEC(const kn_node *) * readers; /* per node: one of each region that reads it */
} touching;

/* Is exactly one of them a half of the divided part? */
static bool moves(const touching *t, int a, int b)
{
    return (t->before[a] == t->parted) != (t->before[b] == t->parted);
}

static void meet(touching *t, const kn_node *x, const kn_node *y)
{
    const int n = t->s->regions->graph->nodes.len, a = t->part_of[x->id], b = t->part_of[y->id];
    if (a < 0 || a == b || t->met[a * n + b] || (t->before && !moves(t, a, b)))
        return;
    t->met[a * n + b] = t->met[b * n + a] = true;
    add_merge(t->s, t->merges, t->n, (kn_merge){x->id, y->id});
}

static void add_reader(touching *t, const kn_node *x, const kn_node *reader)
{
    meet(t, x, reader);
    for (int i = 0; i < t->readers[x->id].len; i++) {
        const kn_node *other = t->readers[x->id].data[i];
        if (t->part_of[other->id] == t->part_of[reader->id])
            return;
        meet(t, other, reader);
    }
    kn_push(&t->s->trials.scratch, &t->readers[x->id], reader);
}

static void add_touching(touching *t)
{
    search *s = t->s;
    const kn_graph *g = s->regions->graph;
    t->met = KN_NEW_ARRAY(&s->trials.scratch, bool, g->nodes.len * g->nodes.len + 1);
    t->readers = kn_alloc(&s->trials.scratch, sizeof *t->readers * (size_t)(g->nodes.len + 1));
    for (int i = 0; i < g->nodes.len; i++)
        for (int k = 0; k < g->nodes.data[i]->nin && t->part_of[i] >= 0; k++)
            add_reader(t, kn_use_of(g, g->nodes.data[i], k).base, g->nodes.data[i]);
}

static void add_merges(search *s, const int *part_of)
{
    const kn_regions *from = s->regions;
    add_touching(&(touching){
        .s = s, .merges = from->merges.data, .n = from->merges.len, .part_of = part_of});
}

/* Undoes a merge, and merges either half with another region. */
static void add_moves(search *s, int without, const int *before)
{
    const kn_regions *from = s->regions;
    int n = 0;
    const kn_merge *merges = without_merge(s, without, &n);
    add_touching(&(touching){.s = s,
                             .merges = merges,
                             .n = n,
                             .part_of = kn_parts_by(&s->trials.scratch, from->graph, merges, n),
                             .parted = before[from->merges.data[without].a],
                             .before = before});
}

/* Does the region of x store it for another's node, or have that compute it again? */
static bool crosses(const kn_regions *r, const kn_node *x, const kn_node *user)
{
    return kn_ops[x->op].cls == KN_ELEM && r->of[x->id] && r->of[user->id] &&
           r->of[x->id] != r->of[user->id];
}

/* Per node: does its value cross? */
static const bool *crossing(kn_arena *a, const kn_regions *r)
{
    const kn_graph *g = r->graph;
    bool *cross = KN_NEW_ARRAY(a, bool, g->nodes.len + 1);
    for (int i = 0; i < g->nodes.len; i++)
        for (int k = 0; k < g->nodes.data[i]->nin; k++) {
            const kn_node *x = kn_use_of(g, g->nodes.data[i], k).base;
            cross[x->id] = cross[x->id] || crosses(r, x, g->nodes.data[i]);
        }
    return cross;
}

static int lowest_first(const void *a, const void *b)
{
    const change *x = a, *y = b;
    return x->bound != y->bound ? (x->bound < y->bound ? -1 : 1) : x->number - y->number;
}

/* Those from one on. */
static void sort_changes(search *s, int first)
{
    const int n = s->changes.len - first;
    if (n > 0)
        qsort(&s->changes.data[first], (size_t)n, sizeof *s->changes.data, lowest_first);
}

/* Moves come last: what they gain, one of the others often gains too. */
static void find_changes(search *s)
{
    const kn_regions *from = s->regions;
    const int *part_of = kn_parts_of(&s->trials.scratch, from);
    const bool *cross = crossing(&s->trials.scratch, from);
    s->changes.len = 0;
    for (int i = 0; i < from->merges.len; i++)
        add_undone(s, i);
    add_merges(s, part_of);
    for (int i = 0; i < from->graph->nodes.len; i++)
        if (cross[i])
            add_change(s, NULL, 0, i, part_of);
    sort_changes(s, 0);
    const int moves = s->changes.len;
    for (int i = 0; i < from->merges.len && !kn_is_large(from->graph); i++)
        add_moves(s, i, part_of);
    sort_changes(s, moves);
}

/* ---- trying changes ---- */

/* Is another plan worth planning, for what could be gained? */
static bool is_worth_it(const search *s)
{
    const double gain = to_beat(s) - s->least;
    const double steps = (s->problem->target->sm ? STEPS_GPU : STEPS_CPU) + gain / NS_A_STEP;
    return gain > 0 &&
           (double)(kn_work_done() - s->begun) < (steps < MOST_STEPS ? steps : MOST_STEPS);
}

/* Notes that these regions are planned so; false: they were before. */
static bool note(search *s, const kn_regions *r, const kn_reuse *reuse)
{
    const size_t n = (size_t)r->graph->nodes.len;
    uint64_t key = kn_hash(kn_parts_of(s->a, r), sizeof(int) * n, 0);
    key = kn_hash(reuse, sizeof *reuse * n, key);
    for (int i = 0; i < s->seen.len; i++)
        if (s->seen.data[i] == key)
            return false;
    kn_push(s->a, &s->seen, key);
    return true;
}

kn_reuse *kn_outcome(kn_arena *a, const kn_regions *r, const bool *again)
{
    const bool *cross = crossing(a, r);
    kn_reuse *reuse = KN_NEW_ARRAY(a, kn_reuse, r->graph->nodes.len + 1);
    for (int i = 0; i < r->graph->nodes.len; i++)
        reuse[i] = !cross[i] ? KN_REUSE_BY_COST : again[i] ? KN_REUSE_RECOMPUTE : KN_REUSE_KEEP;
    return reuse;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* A hash of which nodes each part computes, equal for plans that differ only in which part owns a value that all its readers
 * rematerialise. */
static uint64_t content_of(kn_arena *a, const kn_regions *r, const bool *again)
{
    const kn_graph *g = r->graph;
    const int *part_of = kn_parts_of(a, r);
    uint64_t by[KN_MOST_SEARCHED] = {0}, of[KN_MOST_SEARCHED] = {0}; /* parts and nodes, as bits */
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
        for (int p = 0; p < g->nodes.len; p++)
            of[p] |= by[i] >> p & 1 ? (uint64_t)1 << i : 0;
        for (int k = 0; k < n->nin; k++)
            by[kn_use_of(g, n, k).base->id] |= by[i];
    }
    qsort(of, KN_MOST_SEARCHED, sizeof *of, by_number);
    return kn_hash(of, sizeof of, 0);
}

static bool was_expanded(const search *s, uint64_t content)
{
    for (int i = 0; i < s->states.len; i++)
        if (s->states.data[i].expanded && s->states.data[i].content == content)
            return true;
    return false;
}

static bool takes_nearly_as_long(const state *as, double ns)
{
    return as->ns * nearly_same <= ns && ns * nearly_same <= as->ns;
}

/* States of nearly this time whose changes were tried. */
static int expanded_alike(const search *s, double ns)
{
    int n = 0;
    for (int i = 0; i < s->states.len; i++)
        n += s->states.data[i].expanded && takes_nearly_as_long(&s->states.data[i], ns);
    return n;
}

static void add_state(search *s, const kn_regions *r, const kn_trial *t, const kn_reuse *reuse)
{
    const int n = r->merges.len;
    const kn_merge *merges = kn_alloc_copy(s->a, r->merges.data, sizeof *merges * (size_t)n);
    const kn_reuse *became = t->copies ? NULL : kn_outcome(s->a, r, t->again);
    const uint64_t content = kn_is_large(r->graph) || t->copies ? (uint64_t)s->states.len
                                                                : content_of(s->a, r, t->again);
    const state new = {.ns = t->ns,
                       .merges = merges,
                       .n = n,
                       .reuse = reuse,
                       .outcome = became,
                       .again = t->again,
                       .content = content,
                       .expanded = t->copies,
                       .twin = was_expanded(s, content),
                       .alike = expanded_alike(s, t->ns)};
    kn_push(s->a, &s->states, new);
    if (became) /* asked for by its outcome it would be the same plan */
        note(s, r, became);
}

/* Plans the regions, unless they were. */
static kn_status try_plan(search *s, kn_regions *regions, const kn_reuse *reuse)
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
    if (t.ns < s->states.data[s->quickest].ns)
        s->quickest = s->states.len;
    add_state(s, regions, &t, reuse);
    return KN_OK;
}

/* Plans with each value that crosses kept or rematerialised by its cost where the state does not say, and with all
 * rematerialised. */
static kn_status try_both(search *s, kn_regions *regions)
{
    const int n = regions->graph->nodes.len;
    const bool *cross = crossing(s->a, regions);
    const kn_reuse *from = s->states.data[s->from].reuse;
    kn_reuse *by_cost = KN_NEW_ARRAY(s->a, kn_reuse, n + 1);
    kn_reuse *again = KN_NEW_ARRAY(s->a, kn_reuse, n + 1);
    for (int i = 0; i < n; i++) {
        by_cost[i] = cross[i] && from ? from[i] : KN_REUSE_BY_COST;
        again[i] = cross[i] ? KN_REUSE_RECOMPUTE : KN_REUSE_BY_COST;
    }
    KN_TRY(try_plan(s, regions, by_cost));
    return kn_is_large(regions->graph) ? KN_OK : try_plan(s, regions, again);
}

/* The regions that merges lead to, in memory of one trial. */
static kn_regions *form(search *s, const kn_merge *merges, int n)
{
    const kn_problem *pr = s->problem;
    return kn_regions_form_by(&s->trials.scratch, pr->graph, pr->sizes, merges, n);
}

static kn_status try_change(search *s, const change *c)
{
    const state *from = &s->states.data[s->from];
    const kn_arena_mark here = kn_arena_here(&s->trials.scratch);
    if (c->toggled < 0) {
        KN_TRY(try_both(s, form(s, c->merges, c->n)));
    } else {
        kn_regions *regions = form(s, from->merges, from->n);
        kn_reuse *reuse = kn_outcome(s->a, regions, from->again);
        reuse[c->toggled] = from->again[c->toggled] ? KN_REUSE_KEEP : KN_REUSE_RECOMPUTE;
        KN_TRY(try_plan(s, regions, reuse));
    }
    kn_arena_back(&s->trials.scratch, here);
    return KN_OK;
}

/* Other orders of merging. */
static kn_status try_orders(search *s)
{
    const kn_problem *pr = s->problem;
    double bound;
    for (int order = 1; order < KN_REGION_ORDERS; order++) {
        const kn_arena_mark here = kn_arena_here(&s->trials.scratch);
        const int best = s->best;
        kn_regions *regions = kn_regions_form_in(&s->trials.scratch, pr->graph, pr->sizes, order);
        if (may_gain(s, kn_parts_of(s->a, regions), &bound))
            KN_TRY(try_both(s, regions));
        s->order = s->best != best ? order : s->order;
        kn_arena_back(&s->trials.scratch, here);
    }
    return KN_OK;
}

/* Are the changes of x tried before those of y? In turn of the quickest, and of the quickest but for how many of nearly its
 * time were expanded: most of those are changed alike, and a way out of them leads through slower ones. Those that would be
 * changed as another one was come last. */
static bool comes_before(const search *s, const state *x, const state *y)
{
    const double each = s->expanded % 2 ? another_alike : 0;
    if (x->twin != y->twin)
        return y->twin;
    return x->ns * (1 + each * x->alike) < y->ns * (1 + each * y->alike);
}

/* The state whose changes are tried next; -1: there is none. */
static int next_state(const search *s)
{
    const state *states = s->states.data;
    int next = -1;
    for (int i = 0; i < s->states.len; i++)
        if (!states[i].expanded && (next < 0 || comes_before(s, &states[i], &states[next])))
            next = i;
    return next;
}

static void note_expanded(search *s, state *of)
{
    of->expanded = true;
    s->expanded++;
    for (int i = 0; i < s->states.len; i++) {
        s->states.data[i].twin |= s->states.data[i].content == of->content;
        s->states.data[i].alike += takes_nearly_as_long(&s->states.data[i], of->ns);
    }
}

static kn_status try_changes(search *s)
{
    while (is_worth_it(s) && (s->from = next_state(s)) >= 0) {
        const kn_arena_mark here = kn_arena_here(&s->trials.scratch);
        state *from = &s->states.data[s->from];
        note_expanded(s, from);
        s->regions = form(s, from->merges, from->n);
        find_changes(s);
        for (int i = 0; i < s->changes.len && is_worth_it(s); i++)
            if (s->changes.data[i].bound < to_beat(s))
                KN_TRY(try_change(s, &s->changes.data[i]));
        kn_arena_back(&s->trials.scratch, here);
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

static kn_status try_unfused(search *s, double *ns, kn_regions **regions)
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

static kn_merging merging_of(const search *s, const state *from)
{
    kn_merging m = {.n = from->n};
    if (m.n)
        memcpy(m.merges, from->merges, sizeof *m.merges * (size_t)m.n);
    if (from->outcome)
        memcpy(m.reuse, from->outcome, sizeof *m.reuse * (size_t)s->problem->graph->nodes.len);
    return m;
}

/* Describes the best partition, which takes `ns`; unfused: if that is better still. */
static void describe(search *s, const kn_regions *unfused, double ns, kn_partition *p)
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
    const state alone = {.merges = unfused ? unfused->merges.data : NULL,
                         .n = unfused ? unfused->merges.len : 0};
    p->chosen = merging_of(s, unfused ? &alone : &s->states.data[s->best]);
    if (unfused || s->best != 0 || s->quickest == 0)
        return;
    const state *quickest = &s->states.data[s->quickest];
    p->other = merging_of(s, quickest);
    p->other_ns = quickest->ns;
}

kn_status kn_partition_search(kn_arena *a, const kn_problem *problem, kn_partition *partition)
{
    search s = {.a = a, .problem = problem, .begun = kn_work_done()};
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
        if (all)
            KN_TRY(try_changes(&s));
    }
    double ns = best_ns(&s);
    if (all)
        KN_TRY(try_unfused(&s, &ns, &unfused));
    describe(&s, unfused, ns, partition);
    return KN_OK;
}
