/* What goes through memory between regions, and what is computed again where it is read.
 *
 * Before: regions. After: every value that another region reads has a buffer (an output of its own, else a
 * temporary) or is marked to be computed again by each region that reads it. Reductions always have a buffer. */
#include <string.h>

#include "codegen/sched/sched.h"
#include "ir/view.h"

/* The largest expression that is computed again. */
enum { MOST_NODES = 16 };

typedef KN_VEC(const kn_region *) region_list;

typedef struct placer {
    kn_planner *p;
    const kn_graph *g;
    bool *crosses; /* per node: another region reads it */
    bool *
        regrouped; /* per node: read through a regrouping reshape, which wants it compact in memory */
    bool *output;      /* per node */
    region_list *also; /* per node: regions that read it for what they compute again */
} placer;

static double bytes_of(const placer *pl, const kn_node *n)
{
    int64_t shape[KN_MAX_RANK];
    kn_node_sizes(n, pl->p->problem->sizes, shape);
    return (double)kn_count(shape, n->rank) * kn_bytes(n->dtype);
}

/* What an expression takes when it is computed again. */
typedef struct expression {
    int nodes;
    double arithmetic; /* additions an element */
    const kn_node *leaf[MOST_NODES];
    int leaves;
} expression;

/* Is x computed again when an expression that uses it is? Else it is read from memory. */
static bool is_inner(const placer *pl, const kn_node *x)
{
    if (kn_ops[x->op].cls != KN_ELEM || pl->output[x->id] || pl->regrouped[x->id])
        return false;
    return kn_is_value(x) && (pl->p->again[x->id] || !pl->crosses[x->id]);
}

/* Adds the operands of x to the expression; false when it gets too large. */
static bool add_operands(const placer *pl, const kn_node *x, expression *e)
{
    if (++e->nodes > MOST_NODES)
        return false;
    e->arithmetic += kn_ops[x->op].cost;
    for (int k = 0; k < x->nin; k++) {
        const kn_node *base = kn_use_of(pl->g, x, k).base;
        bool known = kn_is_uniform_leaf(base);
        for (int i = 0; i < e->leaves; i++)
            known = known || e->leaf[i] == base;
        if (known)
            continue;
        if (is_inner(pl, base)) {
            if (!add_operands(pl, base, e))
                return false;
        } else if (e->leaves == MOST_NODES || kn_moves(pl->g, base)) {
            return false;
        } else {
            e->leaf[e->leaves++] = base;
        }
    }
    return true;
}

static bool reads(const placer *pl, const kn_region *r, const kn_node *leaf)
{
    for (int i = 0; i < r->nodes.len; i++)
        for (int k = 0; k < r->nodes.data[i]->nin; k++)
            if (kn_use_of(pl->g, r->nodes.data[i], k).base == leaf)
                return true;
    for (int i = 0; i < pl->also[leaf->id].len; i++)
        if (pl->also[leaf->id].data[i] == r)
            return true;
    return false;
}

/* Bytes moved that one addition is worth: a GPU has some ten operations a byte to spare, a CPU few. */
static double bytes_per_addition(const kn_target *target) { return target->sm ? 0.1 : 0.5; }

/* Does region r, which is another one, need x? */
static bool needs(const placer *pl, const kn_region *r, const kn_node *x)
{
    return r != pl->p->regions->of[x->id] && reads(pl, r, x);
}

/* Is x all that others need of its region, and the region all that there is at its level? With x computed again, of
 * what is there earlier, what comes later waits once less. */
static bool is_a_barrier(const placer *pl, const kn_node *x, const expression *e)
{
    const kn_regions *regions = pl->p->regions;
    const kn_region *r = regions->of[x->id];
    for (int i = 0; i < regions->list.len; i++)
        if (regions->list.data[i] != r && regions->list.data[i]->level == r->level)
            return false;
    for (int i = 0; i < r->nodes.len; i++)
        if (r->nodes.data[i] != x && pl->crosses[r->nodes.data[i]->id])
            return false;
    for (int k = 0; k < e->leaves; k++)
        if (regions->of[e->leaf[k]->id] == r)
            return false;
    return true;
}

/* Is it cheaper that each region which reads x computes it, by e, than that x goes through memory? */
static bool pays(const placer *pl, const kn_node *x, const expression *e)
{
    const kn_planner *p = pl->p;
    if (p->problem->choices)
        return p->problem->choices->again[x->id];
    double bytes = bytes_of(pl, x), elements = bytes / kn_bytes(x->dtype);
    double memory = bytes, again = 0;
    if (is_a_barrier(pl, x, e))
        memory += kn_schedule_barrier_bytes(p->problem->target);
    for (int i = 0; i < p->regions->list.len; i++) {
        const kn_region *r = p->regions->list.data[i];
        if (!needs(pl, r, x))
            continue;
        memory += bytes;
        again += elements * e->arithmetic * bytes_per_addition(p->problem->target);
        for (int k = 0; k < e->leaves; k++)
            again += reads(pl, r, e->leaf[k]) ? 0 : bytes_of(pl, e->leaf[k]);
    }
    switch (p->problem->force.reuse) {
    case KN_REUSE_RECOMPUTE: return true;
    case KN_REUSE_KEEP: return false;
    default: return again <= memory; /* of nothing, too: no temporary */
    }
}

/* x is computed again, and with it what of its expression is not in memory; what is in memory is read from
 * there by other regions now. */
static void compute_again(placer *pl, const kn_node *x)
{
    pl->p->again[x->id] = true;
    for (int k = 0; k < x->nin; k++) {
        const kn_node *base = kn_use_of(pl->g, x, k).base;
        if (is_inner(pl, base))
            compute_again(pl, base);
        else if (kn_is_value(base))
            pl->crosses[base->id] = true;
    }
}

/* The regions that need x read what it is computed from. */
static void read_leaves(placer *pl, const kn_node *x, const expression *e)
{
    const kn_regions *regions = pl->p->regions;
    for (int i = 0; i < regions->list.len; i++) {
        const kn_region *r = regions->list.data[i];
        if (!needs(pl, r, x))
            continue;
        for (int k = 0; k < e->leaves; k++)
            kn_push(pl->p->arena, &pl->also[e->leaf[k]->id], r);
    }
}

static void find_crossing(placer *pl)
{
    for (int i = 0; i < pl->g->nodes.len; i++) {
        const kn_node *user = pl->g->nodes.data[i];
        if (!pl->p->regions->of[i])
            continue;
        for (int k = 0; k < user->nin; k++) {
            const kn_node *base = kn_use_of(pl->g, user, k).base, *x = kn_view_root(base);
            if (x != base)
                pl->regrouped[x->id] = true;
            if (pl->p->regions->of[x->id] != pl->p->regions->of[i])
                pl->crosses[x->id] = true;
        }
    }
    for (int o = 0; o < pl->g->outputs.len; o++)
        pl->output[pl->g->outputs.data[o].node->id] = true;
}

/* A value is read from an output where it is one, unless it is regrouped: that needs it compact. */
static void give_buffer(const placer *pl, const kn_node *n)
{
    kn_planner *p = pl->p;
    int *buf = &p->buf_of_node[n->id];
    for (int o = 0; o < pl->g->outputs.len && !pl->regrouped[n->id]; o++)
        if (pl->g->outputs.data[o].node == n)
            *buf = p->buf_of_output[o];
    if (*buf >= 0)
        return;
    int64_t shape[KN_MAX_RANK];
    kn_node_sizes(n, p->problem->sizes, shape);
    *buf = kn_planner_temp(p, n->dtype, kn_node_title(n), kn_count(shape, n->rank));
}

/* Looks at every value that crosses once; true when one of them is computed again now. What is decided of one may turn
 * another into all that a region is waited for. */
static bool decide(placer *pl)
{
    bool changed = false;
    for (int i = 0; i < pl->g->nodes.len; i++) {
        const kn_node *x = pl->g->nodes.data[i];
        expression e = {0};
        if (!pl->crosses[i] || kn_ops[x->op].cls != KN_ELEM || pl->output[i] || pl->regrouped[i] ||
            !add_operands(pl, x, &e) || !pays(pl, x, &e))
            continue;
        read_leaves(pl, x, &e);
        pl->crosses[i] = false;
        compute_again(pl, x);
        changed = true;
    }
    return changed;
}

void kn_place_values(kn_planner *p)
{
    const kn_graph *g = p->problem->graph;
    int n = g->nodes.len;
    placer pl = {.p = p,
                 .g = g,
                 .crosses = KN_NEW_ARRAY(p->arena, bool, n + 1),
                 .regrouped = KN_NEW_ARRAY(p->arena, bool, n + 1),
                 .output = KN_NEW_ARRAY(p->arena, bool, n + 1),
                 .also = KN_NEW_ARRAY(p->arena, region_list, n + 1)};

    p->buf_of_node = KN_NEW_ARRAY(p->arena, int, n + 1);
    p->again = KN_NEW_ARRAY(p->arena, bool, n + 1);
    memset(p->buf_of_node, -1, sizeof(int) * (size_t)n);
    find_crossing(&pl);
    while (p->problem->fusion && decide(&pl)) {
    }
    for (int i = 0; i < n; i++)
        if (p->regions->of[i] && (pl.crosses[i] || pl.regrouped[i]))
            give_buffer(&pl, g->nodes.data[i]);
}
