/* Which regions a program is partitioned into: those with the least predicted time.
 *
 * Before: the refined problem. After: a plan that is predicted to take no longer than one kernel an operation.
 *
 * It is searched once for a class of sizes and layouts, at the canonical ones (codegen/plan/canonical.c). Each problem
 * of the class then has one plan, and a second one where the lower bound does not rule out one kernel an operation.
 *
 * Merging everything that may be merged is right for most programs, and is planned first. It is wrong where parts of
 * a region would have better schedules alone: where one part walks an array along another axis than the rest, or
 * where work is done for every element instead of once. So other partitions are planned too, each one change away
 * from the best so far: one merge undone, one more merge, one value rematerialised instead of kept, or kept instead.
 * Those whose lower bound (bound.c) is no better are left out. The more there is to gain, the more of them are
 * planned, as trials (trial.c). */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "codegen/model/machine.h"
#include "codegen/plan/build.h"
#include "codegen/plan/partition.h"
#include "codegen/plan/trial.h"
#include "ir/view.h"

enum {
    MOST_ROUNDS = 4,
    LONGEST_BOND = 8,
    LEAST_TRIED = 3, /* plans, and one more for each GAIN_A_PLAN nanoseconds to be gained */
    GAIN_A_PLAN = 5000,
    MOST_TRIED = 48
};
/* Of two plans within this factor the earlier is taken, so that sizes share kernels. */
static const double alike = 0.98;

/* A partition one change away from the best. */
typedef struct change {
    double bound;
    int number;
    const kn_merge *merges; /* NULL: the best plan's */
    int n;
    int toggled; /* a node to rematerialise instead of keeping, or to keep instead; -1: none */
} change;

typedef struct search {
    kn_arena *a;
    const kn_problem *problem;
    kn_trials trials;
    kn_bounding *bounds; /* NULL: none was asked for yet */
    KN_VEC(const kn_regions *) seen;
    uint64_t bonded;        /* bit i: reduction i has bonds */
    KN_VEC(kn_merge) bonds; /* nodes that have to stay in one region */
    KN_VEC(change) changes;
    double least; /* the lower bound of any partition */
    int tried;
    const kn_trial *best, *next; /* next: the best that one change leads to */
    const kn_reuse *reuse, *next_reuse;
    int order;           /* of merging, that the first plan is of */
    kn_regions *unfused; /* those of one kernel an operation, if that is best */
} search;

/* Of these only the order of merging is chosen: a partition has no room for more. */
static bool is_large(const kn_graph *g) { return g->nodes.len > KN_MOST_SEARCHED; }

/* ---- what must stay together ---- */

static const kn_node *operand(const kn_graph *g, const kn_node *n, int k)
{
    return k < n->nin ? kn_use_of(g, n, k).base : n;
}

/* Follows operands from a reduction of the squares of x - mean(x) to the reduction of x; returns the length of the
 * chain of nodes, 0 if there is none. A mean may be a sum that is divided, by a count that is computed. */
static int follow_squares(const kn_graph *g, const kn_node *n, const kn_node **chain)
{
    const kn_node *square = operand(g, n, 0), *d = operand(g, square, 0), *m = operand(g, d, 1);
    const kn_node *nodes[] = {n, square, d, m};
    int length = 0;
    if (kn_ops[n->op].cls != KN_REDUCE || square->op != KN_OP_MUL ||
        square->in[0] != square->in[1] || d->op != KN_OP_SUB)
        return 0;
    while (length < 4) {
        chain[length] = nodes[length];
        length++;
    }
    if (m->op == KN_OP_DIV || m->op == KN_OP_MUL) {
        const kn_node *count = operand(g, m, 1);
        if (kn_is_value(count))
            chain[length++] = count;
        chain[length++] = m = operand(g, m, 0);
    }
    return kn_ops[m->op].cls == KN_REDUCE && operand(g, m, 0) == operand(g, d, 0) ? length : 0;
}

/* Follows operands from a sum of where(place == index, x, 0) to the comparison. */
static int follow_places(const kn_graph *g, const kn_node *n, const kn_node **chain)
{
    int length = 0;
    if (n->op != KN_OP_SUM || operand(g, n, 0)->op != KN_OP_WHERE)
        return 0;
    chain[length++] = n;
    chain[length++] = n = operand(g, n, 0);
    n = operand(g, n, 0);
    while (n->op == KN_OP_AND && length < LONGEST_BOND - 1) {
        chain[length++] = n;
        n = operand(g, n, operand(g, n, 0)->op == KN_OP_AND ? 0 : 1);
    }
    chain[length++] = n;
    return n->op == KN_OP_EQ &&
                   (operand(g, n, 0)->op == KN_OP_IOTA || operand(g, n, 1)->op == KN_OP_IOTA)
               ? length
               : 0;
}

/* The planner corrects a variance for the rounding of its mean if both are in one region
 * (codegen/plan/form/moments.c), and makes a scatter sum of one that compares places (codegen/kir/scatter_sum.h). So
 * what is together in the first plan stays together. first: its regions; NULL: s->bonded says what is together. */
static void find_bonds(search *s, const kn_regions *first)
{
    const kn_graph *g = s->problem->graph;
    const kn_node *chain[LONGEST_BOND];
    for (int i = 0; i < g->nodes.len; i++) {
        int length = follow_squares(g, g->nodes.data[i], chain);
        length = length ? length : follow_places(g, g->nodes.data[i], chain);
        if (!length)
            continue;
        bool bonded = first || s->bonded >> i & 1;
        for (int k = 1; first && k < length; k++)
            bonded = bonded && first->of[chain[k]->id] == first->of[i];
        for (int k = 1; bonded && k < length; k++)
            kn_push(s->a, &s->bonds, ((kn_merge){chain[k]->id, chain[k - 1]->id}));
        if (bonded && i < KN_MOST_SEARCHED)
            s->bonded |= (uint64_t)1 << i;
    }
}

static bool keeps_bonds(const search *s, const int *part_of)
{
    for (int i = 0; i < s->bonds.len; i++)
        if (part_of[s->bonds.data[i].a] != part_of[s->bonds.data[i].b])
            return false;
    return true;
}

/* ---- lower bounds ---- */

static const kn_bounding *bounds_of(search *s)
{
    const kn_problem *pr = s->problem;
    if (!s->bounds)
        s->bounds = kn_bounding_of(s->a, pr->graph, pr->sizes, pr->target);
    return s->bounds;
}

static double bound_of(search *s, const int *part_of)
{
    return kn_partition_bound(bounds_of(s), part_of);
}

static const int *parts_of(search *s, const kn_regions *r)
{
    int n = r->graph->nodes.len, *of = KN_NEW_ARRAY(s->a, int, n + 1);
    for (int i = 0; i < n; i++)
        of[i] = r->of[i] ? r->of[i]->nodes.data[0]->id : -1;
    return of;
}

static int find(int *of, int i)
{
    while (of[i] != i)
        i = of[i] = of[of[i]];
    return i;
}

static void unite(int *of, int a, int b)
{
    int x = find(of, a), y = find(of, b);
    of[x > y ? x : y] = x < y ? x : y;
}

static int *each_alone(search *s)
{
    const int n = s->problem->graph->nodes.len;
    int *of = KN_NEW_ARRAY(s->a, int, n + 1);
    for (int i = 0; i < n; i++)
        of[i] = i;
    return of;
}

/* The parts that these merges lead to, if all are allowed. */
static const int *unite_all(search *s, int *of, const kn_merge *merges, int n)
{
    const kn_graph *g = s->problem->graph;
    for (int i = 0; i < n; i++)
        unite(of, merges[i].a, merges[i].b);
    for (int i = g->nodes.len - 1; i >= 0; i--)
        of[i] = kn_is_value(g->nodes.data[i]) ? find(of, i) : -1;
    return of;
}

static const int *parts_by(search *s, const kn_merge *merges, int n)
{
    return unite_all(s, each_alone(s), merges, n);
}

/* ---- changes ---- */

static void add_change(search *s, const kn_merge *merges, int n, int toggled, const int *part_of)
{
    double bound = bound_of(s, part_of);
    if (keeps_bonds(s, part_of) && bound < s->best->ns * alike)
        kn_push(s->a, &s->changes, ((change){bound, s->changes.len, merges, n, toggled}));
}

static void add_undone(search *s, int without)
{
    const kn_regions *from = s->best->regions;
    kn_merge *merges = KN_NEW_ARRAY(s->a, kn_merge, from->merges.len + 1);
    int n = 0;
    for (int i = 0; i < from->merges.len; i++)
        if (i != without)
            merges[n++] = from->merges.data[i];
    add_change(s, merges, n, -1, parts_by(s, merges, n));
}

static void add_merge(search *s, const kn_node *x, const kn_node *y)
{
    const kn_regions *from = s->best->regions;
    int n = from->merges.len;
    kn_merge *merges = KN_NEW_ARRAY(s->a, kn_merge, n + 1);
    if (n)
        memcpy(merges, from->merges.data, sizeof *merges * (size_t)n);
    merges[n] = (kn_merge){x->id, y->id};
    add_change(s, merges, n + 1, -1, parts_by(s, merges, n + 1));
}

static bool crosses(const kn_regions *r, const kn_node *x, const kn_node *user)
{
    return kn_ops[x->op].cls == KN_ELEM && r->of[x->id] && r->of[user->id] &&
           r->of[x->id] != r->of[user->id];
}

/* Changes of two regions of which one reads the other's value, or that both read an array: merge them, or
 * rematerialise the value, or keep it. */
static void add_touching(search *s, const int *part_of)
{
    const kn_regions *r = s->best->regions;
    const kn_graph *g = r->graph;
    const kn_node **reader = KN_NEW_ARRAY(s->a, const kn_node *, g->nodes.len + 1);
    bool *toggled = KN_NEW_ARRAY(s->a, bool, g->nodes.len + 1);
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        for (int k = 0; k < n->nin && r->of[i]; k++) {
            const kn_node *x = kn_use_of(g, n, k).base;
            const kn_node *other = r->of[x->id] ? x : reader[x->id];
            if (other && r->of[other->id] != r->of[i])
                add_merge(s, other, n);
            if (crosses(r, x, n) && !toggled[x->id])
                add_change(s, NULL, 0, x->id, part_of);
            toggled[x->id] = toggled[x->id] || crosses(r, x, n);
            reader[x->id] = n;
        }
    }
}

static int lowest_first(const void *a, const void *b)
{
    const change *x = a, *y = b;
    return x->bound != y->bound ? (x->bound < y->bound ? -1 : 1) : x->number - y->number;
}

/* ---- trying changes ---- */

/* Is another plan worth planning, for what could be gained? */
static bool is_worth_it(const search *s)
{
    double gain = s->best->ns * alike - s->least, plans = LEAST_TRIED + gain / GAIN_A_PLAN;
    return gain > 0 && s->tried < (plans < MOST_TRIED ? plans : MOST_TRIED);
}

static kn_status try(search *s, kn_regions *regions, const kn_reuse *reuse, const kn_trial **t)
{
    kn_problem pr = *s->problem;
    pr.choices = &(kn_choices){.reuse = reuse};
    KN_TRY(kn_plan_try(&s->trials, &pr, regions, t));
    s->tried++;
    /* a plan that needs a copy for a reshape is of another graph */
    if ((*t)->regions == regions && (*t)->ns < s->next->ns * (s->next == s->best ? alike : 1)) {
        s->next = *t;
        s->next_reuse = reuse;
    }
    return KN_OK;
}

static kn_reuse *copy_reuse(search *s)
{
    int n = s->problem->graph->nodes.len;
    kn_reuse *reuse = KN_NEW_ARRAY(s->a, kn_reuse, n + 1);
    if (s->reuse)
        memcpy(reuse, s->reuse, sizeof *reuse * (size_t)n);
    return reuse;
}

/* Plans with each value that crosses kept or rematerialised by its cost, and with all rematerialised. */
static kn_status try_both(search *s, kn_regions *regions)
{
    const kn_graph *g = regions->graph;
    const kn_trial *t;
    KN_TRY(try(s, regions, s->reuse, &t));
    if (is_large(g))
        return KN_OK;
    kn_reuse *reuse = copy_reuse(s);
    bool kept = false;
    for (int i = 0; i < g->nodes.len; i++)
        for (int k = 0; k < g->nodes.data[i]->nin; k++) {
            const kn_node *x = kn_use_of(g, g->nodes.data[i], k).base;
            if (!crosses(regions, x, g->nodes.data[i]))
                continue;
            reuse[x->id] = KN_REUSE_RECOMPUTE;
            kept = kept || !t->again[x->id];
        }
    return kept ? try(s, regions, reuse, &t) : KN_OK;
}

static bool is_new(search *s, const kn_regions *regions)
{
    for (int i = 0; i < s->seen.len; i++)
        if (kn_regions_same(s->seen.data[i], regions))
            return false;
    kn_push(s->a, &s->seen, regions);
    return true;
}

static kn_status try_change(search *s, const change *c)
{
    const kn_problem *pr = s->problem;
    if (c->toggled < 0) {
        kn_regions *regions = kn_regions_form_by(s->a, pr->graph, pr->sizes, c->merges, c->n);
        return is_new(s, regions) ? try_both(s, regions) : KN_OK;
    }
    kn_reuse *reuse = copy_reuse(s);
    const kn_trial *t;
    reuse[c->toggled] = s->best->again[c->toggled] ? KN_REUSE_KEEP : KN_REUSE_RECOMPUTE;
    return try(s, (kn_regions *)(uintptr_t)s->best->regions, reuse, &t);
}

/* Other orders of merging. */
static kn_status try_orders(search *s)
{
    const kn_problem *pr = s->problem;
    for (int order = 1; order < KN_REGION_ORDERS; order++) {
        kn_regions *regions = kn_regions_form_in(s->a, pr->graph, pr->sizes, order);
        const int *part_of = parts_of(s, regions);
        if (is_new(s, regions) && keeps_bonds(s, part_of) &&
            bound_of(s, part_of) < s->best->ns * alike)
            KN_TRY(try_both(s, regions));
        s->order = s->next->regions == regions ? order : s->order;
    }
    return KN_OK;
}

/* What one kernel an operation takes at least. What only gives an output its shape is none, and bonds hold. */
static double least_unfused(search *s)
{
    const kn_graph *g = s->problem->graph;
    int *of = each_alone(s);
    for (int o = 0; o < g->outputs.len; o++) {
        const kn_node *n = g->outputs.data[o].node;
        const kn_node *shown = kn_is_output_copy(g, n) ? kn_shown_value(n) : NULL;
        if (shown)
            unite(of, n->id, shown->id);
    }
    return kn_separate_bound(bounds_of(s), unite_all(s, of, s->bonds.data, s->bonds.len));
}

/* One kernel an operation, except that the first plan's bonds hold: sets s->unfused if that takes less than `ns`. */
static kn_status try_unfused(search *s, double least, double ns)
{
    kn_problem pr = *s->problem;
    const kn_trial *t;
    pr.fusion = false;
    if (least >= ns)
        return KN_OK;
    kn_regions *regions = kn_regions_form(s->a, pr.graph, pr.sizes, false);
    if (!keeps_bonds(s, parts_of(s, regions)))
        regions = kn_regions_form_by(s->a, pr.graph, pr.sizes, s->bonds.data, s->bonds.len);
    KN_TRY(kn_plan_try(&s->trials, &pr, regions, &t));
    s->tried++;
    if (t->ns < ns)
        s->unfused = regions;
    return KN_OK;
}

/* ---- the search ---- */

static bool step(search *s)
{
    if (s->next == s->best)
        return false;
    s->best = s->next;
    s->reuse = s->next_reuse;
    return true;
}

/* Hill climbing: one change at a time, as long as they pay. */
static kn_status climb(search *s)
{
    for (int round = 0; round < MOST_ROUNDS && is_worth_it(s); round++) {
        const kn_regions *from = s->best->regions;
        s->changes.len = 0;
        for (int i = 0; i < from->merges.len; i++)
            add_undone(s, i);
        if (from->list.len > 1)
            add_touching(s, parts_of(s, from));
        if (s->changes.len)
            qsort(s->changes.data, (size_t)s->changes.len, sizeof *s->changes.data, lowest_first);
        for (int i = 0; i < s->changes.len && is_worth_it(s); i++)
            KN_TRY(try_change(s, &s->changes.data[i]));
        if (!step(s))
            break;
    }
    return KN_OK;
}

/* No partition takes less than a single region of everything would. */
static double least_of(search *s)
{
    const kn_graph *g = s->problem->graph;
    int *of = KN_NEW_ARRAY(s->a, int, g->nodes.len + 1), first = -1;
    for (int i = 0; i < g->nodes.len; i++) {
        first = first < 0 && kn_is_value(g->nodes.data[i]) ? i : first;
        of[i] = kn_is_value(g->nodes.data[i]) ? first : -1;
    }
    return bound_of(s, of);
}

/* A forced schedule is meant for the regions of the first plan. */
static bool is_forced(const kn_problem *pr)
{
    return pr->force.division != KN_DIVIDE_BY_COST || pr->force.reuse != KN_REUSE_BY_COST ||
           pr->force.max_threads || pr->force.text;
}

static kn_status try_merged(search *s, kn_regions *first)
{
    KN_TRY(kn_plan_try(&s->trials, s->problem, first, &s->best));
    s->next = s->best;
    find_bonds(s, first);
    return KN_OK;
}

/* A hash of what the node numbers of a refined graph refer to. */
static uint64_t graph_hash(kn_arena *a, const kn_graph *g)
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

/* Describes what the search has found. */
static void describe(search *s, const kn_regions *first, kn_partition *p)
{
    /* a reshape that needs a copy makes the plan one of another graph */
    const kn_graph *g = s->problem->graph;
    const kn_regions *regions = s->unfused                     ? s->unfused
                                : s->best->regions->graph == g ? s->best->regions
                                                               : first;
    *p = (kn_partition){.graph = graph_hash(s->a, g),
                        .bonds = s->bonded,
                        .fusion = !s->unfused,
                        .tried = 1 + s->tried,
                        .order = s->order,
                        .nmerges = is_large(g) ? 0 : regions->merges.len};
    if (p->nmerges)
        memcpy(p->merges, regions->merges.data, sizeof *p->merges * (size_t)p->nmerges);
    if (s->reuse && !s->unfused && !is_large(g))
        memcpy(p->reuse, s->reuse, sizeof *p->reuse * (size_t)g->nodes.len);
}

static kn_status search_partition(kn_arena *a, const kn_problem *problem, kn_partition *partition)
{
    search s = {.a = a, .problem = problem};
    kn_trials_begin(&s.trials, a);
    kn_regions *first = kn_regions_form(a, problem->graph, problem->sizes, true);
    KN_TRY(try_merged(&s, first));
    if (s.best->regions == first) {
        is_new(&s, first);
        s.least = least_of(&s);
        if (first->list.len > 1)
            KN_TRY(try_orders(&s));
        step(&s);
        if (!is_forced(problem) && !is_large(problem->graph))
            KN_TRY(climb(&s));
    }
    if (!is_forced(problem) && !is_large(problem->graph))
        KN_TRY(try_unfused(&s, least_unfused(&s), s.best->ns));
    describe(&s, first, partition);
    return KN_OK;
}

/* The partition of a problem that is not refined: recalled, or searched. */
static kn_status find_or_search(kn_arena *a, const kn_problem *problem, kn_partition *partition)
{
    kn_problem refined = *problem;
    refined.force.text = NULL; /* schedules are for the kernels that are found without them */
    kn_partition_key key = kn_partition_key_of(a, problem);
    if (problem->known && kn_partitions_recall(problem->known, &key, partition))
        return KN_OK;
    KN_TRY(kn_problem_refine(a, &refined));
    KN_TRY(search_partition(a, &refined, partition));
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
    if (find_or_search(a, &canonical, p) == KN_OK && p->graph == graph_hash(a, refined->graph))
        return KN_OK;
    kn_clear_error();
    return find_or_search(a, problem, p);
}

/* ---- plans ---- */

/* The plan of a partition that was found. */
typedef struct planning {
    search s; /* for what may be better still */
    const kn_plan *base;
    kn_partition partition;
    kn_plan *plan;
} planning;

/* The regions of the partition; of large graphs all that may be merged is, in the order that was found. */
static kn_regions *regions_of(planning *g, kn_problem *pr)
{
    const kn_partition *p = &g->partition;
    search *s = &g->s;
    if (is_large(pr->graph)) {
        kn_regions *merged = kn_regions_form_in(s->a, pr->graph, pr->sizes, p->order);
        find_bonds(s, merged);
        return merged;
    }
    s->bonded = p->bonds;
    find_bonds(s, NULL);
    pr->fusion = p->fusion;
    return kn_regions_form_by(s->a, pr->graph, pr->sizes, p->merges, p->nmerges);
}

static kn_status plan_parted(planning *g)
{
    kn_problem pr = *g->s.problem;
    kn_regions *regions = regions_of(g, &pr);
    const kn_choices searched = {.reuse = g->partition.reuse};
    pr.choices = is_large(pr.graph) ? NULL : &searched;
    return kn_plan_with(g->s.a, &pr, regions, g->base, &g->plan);
}

/* Unfused instead, if that is better. */
static kn_status plan_unfused(planning *g, double least)
{
    kn_problem pr = *g->s.problem;
    if (least >= g->plan->ns)
        return KN_OK;
    kn_trials_begin(&g->s.trials, g->s.a);
    KN_TRY(try_unfused(&g->s, least, g->plan->ns));
    pr.fusion = false;
    return g->s.unfused ? kn_plan_with(g->s.a, &pr, g->s.unfused, g->base, &g->plan) : KN_OK;
}

/* One kernel an operation on the axes as they are written instead, where reshapes have other axes in common. */
static kn_status plan_as_written(planning *g, const kn_problem *written, double least)
{
    search *s = &g->s;
    kn_problem pr = *written;
    kn_plan *plan;
    pr.fusion = false;
    if (s->bonds.len || least >= g->plan->ns)
        return KN_OK;
    KN_TRY(kn_problem_refine(s->a, &pr));
    if (graph_hash(s->a, pr.graph) == graph_hash(s->a, s->problem->graph))
        return KN_OK;
    KN_TRY(
        kn_plan_with(s->a, &pr, kn_regions_form(s->a, pr.graph, pr.sizes, false), g->base, &plan));
    s->tried++;
    if (plan->ns < g->plan->ns)
        g->plan = plan;
    return KN_OK;
}

/* The plan again, without the merges that are undone. */
static kn_status plan_undone(planning *g, const kn_problem *problem)
{
    const kn_regions *from = g->plan->regions;
    const int n = from->merges.len;
    const uint64_t undone = problem->force.undone;
    kn_problem pr = *problem;
    kn_merge *merges = KN_NEW_ARRAY(g->s.a, kn_merge, n + 1);
    int left = 0;
    if (n < KN_MOST_UNDONE && undone >> n)
        return kn_fail(KN_ARGUMENT, "there are %d merges of loop nests to undo", n);
    if (from->graph != pr.graph)
        return kn_fail(KN_ARGUMENT, "no merge can be undone where a reshape takes a copy");
    for (int i = 0; i < n; i++)
        if (i >= KN_MOST_UNDONE || !(undone >> i & 1))
            merges[left++] = from->merges.data[i];
    pr.fusion = g->partition.fusion && !g->s.unfused;
    pr.choices = &(kn_choices){.reuse = is_large(from->graph) ? NULL : g->partition.reuse};
    return kn_plan_with(g->s.a, &pr, kn_regions_form_by(g->s.a, pr.graph, pr.sizes, merges, left),
                        g->base, &g->plan);
}

kn_status kn_partition_plan(kn_arena *a, const kn_problem *problem, const kn_problem *refined,
                            const kn_plan *base, kn_plan **plan)
{
    kn_problem own = *refined;
    planning g = {
        .s = {.a = a, .problem = &own}, .base = base, .partition = {.fusion = true, .tried = 1}};
    if (refined->force.undone)
        own.force.text = NULL; /* schedules are for what is left of the merges */
    if (refined->graph->nodes.len <= KN_MOST_ORDERED)
        KN_TRY(find_partition(a, problem, refined, &g.partition));
    KN_TRY(plan_parted(&g));
    if (!is_forced(&own)) {
        const double least = least_unfused(&g.s);
        if (g.partition.fusion)
            KN_TRY(plan_unfused(&g, least));
        KN_TRY(plan_as_written(&g, problem, least));
    }
    if (refined->force.undone)
        KN_TRY(plan_undone(&g, refined));
    *plan = g.plan;
    (*plan)->tried = refined->force.undone ? 0 : g.partition.tried + g.s.tried;
    return KN_OK;
}
