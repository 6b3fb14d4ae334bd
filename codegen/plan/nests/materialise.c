/* Which values go through memory between regions (materialise), and which are computed again where they are read
 * (rematerialise).
 *
 * Before: regions. After: every value that another region reads has a buffer, an output or else a temporary, or is
 * marked to be computed again by each region that reads it. Reductions always have a buffer. */
#include <string.h>

#include "base/work.h"
#include "codegen/model/machine.h"
#include "codegen/plan/nests/planner.h"
#include "ir/view.h"

/* Nodes of the largest expression that is rematerialised. */
enum { MOST_NODES = 16 };

typedef KN_VEC(const kn_region *) region_list;

typedef struct placer {
    kn_planner *p;
    const kn_graph *g;
    bool *materialised; /* per node: another region reads it, so it must be in memory */
    /* per node: read through a reshape that needs it compact in memory */
    bool *regrouped;
    bool *output;  /* per node */
    int *of_level; /* per level: its regions */
    /* per node: other regions that read it, directly or for what they compute again */
    region_list *readers;
} placer;

static double bytes_of(const placer *pl, const kn_node *n)
{
    int64_t shape[KN_MAX_RANK];
    kn_node_sizes(n, pl->p->problem->sizes, shape);
    return (double)kn_count(shape, n->rank) * kn_bytes(n->dtype);
}

/* What computing a value again takes. */
typedef struct expression {
    int nodes;
    double arithmetic; /* additions an element */
    const kn_node *leaf[MOST_NODES];
    int leaves;
} expression;

/* Is x computed again with an expression that uses it? Else it is loaded. */
static bool is_inner(const placer *pl, const kn_node *x)
{
    if (kn_ops[x->op].cls != KN_ELEM || pl->output[x->id] || pl->regrouped[x->id])
        return false;
    return kn_is_value(x) && (pl->p->again[x->id] || !pl->materialised[x->id]);
}

/* Adds x and its operands to the expression; false when it gets too large. */
static bool add_operands(const placer *pl, const kn_node *x, expression *e)
{
    if (++e->nodes > MOST_NODES)
        return false;
    e->arithmetic += kn_ops[x->op].cost;
    for (int k = 0; k < x->nin; k++) {
        const kn_node *base = kn_base_of(pl->g, x, k);
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

static bool has_region(const region_list *list, const kn_region *r)
{
    for (int i = 0; i < list->len; i++)
        if (list->data[i] == r)
            return true;
    return false;
}

static void add_region(const placer *pl, region_list *list, const kn_region *r)
{
    if (!has_region(list, r))
        kn_push(pl->p->arena, list, r);
}

/* Does region r compute or load the leaf anyway? */
static bool has(const placer *pl, const kn_region *r, const kn_node *leaf)
{
    return pl->p->regions->of[leaf->id] == r || has_region(&pl->readers[leaf->id], r);
}

/* Values of one region that may be computed again, and what that takes. */
typedef struct candidates {
    const kn_node *x[MOST_NODES];
    expression of[MOST_NODES];
    int n;
} candidates;

static bool has_leaf(const expression *e, const kn_node *leaf)
{
    for (int k = 0; k < e->leaves; k++)
        if (e->leaf[k] == leaf)
            return true;
    return false;
}

static bool is_candidate(const candidates *c, const kn_node *x)
{
    for (int i = 0; i < c->n; i++)
        if (c->x[i] == x)
            return true;
    return false;
}

/* Are they all that others read of their region, and is it the only region of its level? Then computing them again,
 * from what is ready earlier, saves a barrier. */
static bool are_a_barrier(const placer *pl, const candidates *c)
{
    const kn_regions *regions = pl->p->regions;
    const kn_region *r = regions->of[c->x[0]->id];
    if (pl->of_level[r->level] > 1)
        return false;
    for (int i = 0; i < r->nodes.len; i++)
        if (pl->materialised[r->nodes.data[i]->id] && !is_candidate(c, r->nodes.data[i]))
            return false;
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < c->of[i].leaves; k++)
            if (regions->of[c->of[i].leaf[k]->id] == r)
                return false;
    return true;
}

/* Bytes that region r loads to compute those candidates again that it needs. */
static double bytes_of_leaves(const placer *pl, const kn_region *r, const candidates *c)
{
    expression all = {0};
    double bytes = 0;
    for (int i = 0; i < c->n; i++) {
        bool needed = has_region(&pl->readers[c->x[i]->id], r);
        for (int k = 0; needed && k < c->of[i].leaves; k++) {
            const kn_node *leaf = c->of[i].leaf[k];
            if (has(pl, r, leaf) || has_leaf(&all, leaf) || all.leaves == MOST_NODES)
                continue;
            all.leaf[all.leaves++] = leaf;
            bytes += bytes_of(pl, leaf);
        }
    }
    return bytes;
}

/* Bytes of leaves that have to go to memory for it. */
static double bytes_of_stores(const placer *pl, const candidates *c)
{
    double bytes = 0, temporary = kn_temporary_bytes(pl->p->problem->target);
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < c->of[i].leaves; k++) {
            const kn_node *leaf = c->of[i].leaf[k];
            bool known = !kn_is_value(leaf) || pl->materialised[leaf->id] || pl->output[leaf->id];
            for (int before = 0; before < i; before++)
                known = known || has_leaf(&c->of[before], leaf);
            bytes += known ? 0 : bytes_of(pl, leaf) + temporary;
        }
    return bytes;
}

/* Is it cheaper that each region that reads them computes them than that they go through memory? */
static bool pays(const placer *pl, const candidates *c)
{
    const kn_planner *p = pl->p;
    double memory = are_a_barrier(pl, c) ? kn_barrier_bytes(p->problem->target) : 0;
    double again = bytes_of_stores(pl, c);
    region_list needing = {0};
    for (int i = 0; i < c->n; i++) {
        const region_list *readers = &pl->readers[c->x[i]->id];
        double bytes = bytes_of(pl, c->x[i]), elements = bytes / kn_bytes(c->x[i]->dtype);
        memory += bytes * (1 + readers->len) + kn_temporary_bytes(p->problem->target);
        again += elements * readers->len * c->of[i].arithmetic *
                 kn_machine_of(p->problem->target)->addition;
        for (int k = 0; k < readers->len; k++)
            add_region(pl, &needing, readers->data[k]);
    }
    for (int i = 0; i < needing.len; i++)
        again += bytes_of_leaves(pl, needing.data[i], c);
    return again <= memory; /* also where nothing is moved: it saves a temporary */
}

/* What is forced for x, if anything. */
static kn_reuse forced(const placer *pl, const kn_node *x)
{
    const kn_problem *pr = pl->p->problem;
    if (kn_has_own_nest(x))
        return KN_REUSE_KEEP;
    kn_reuse own = pr->choices && pr->choices->reuse ? pr->choices->reuse[x->id] : KN_REUSE_BY_COST;
    if (own != KN_REUSE_BY_COST || pr->force.reuse != KN_REUSE_BY_COST)
        return own != KN_REUSE_BY_COST ? own : pr->force.reuse;
    return pr->invariant ? KN_REUSE_KEEP
                         : KN_REUSE_BY_COST; /* the cost would depend on the sizes */
}

/* Are the candidates computed again? Forcing applies to single values only. */
static bool is_again(const placer *pl, const candidates *c)
{
    for (int i = 0; i < c->n; i++)
        if (forced(pl, c->x[i]) != KN_REUSE_BY_COST)
            return c->n == 1 && forced(pl, c->x[i]) == KN_REUSE_RECOMPUTE;
    return pays(pl, c);
}

/* Marks x, and those of its operands that are not in memory, as computed again; other regions now load the rest. */
static void compute_again(placer *pl, const kn_node *x)
{
    pl->p->again[x->id] = true;
    for (int k = 0; k < x->nin; k++) {
        const kn_node *base = kn_base_of(pl->g, x, k);
        if (is_inner(pl, base))
            compute_again(pl, base);
        else if (kn_is_value(base))
            pl->materialised[base->id] = true;
    }
}

/* The regions that read x load its leaves instead. */
static void read_leaves(placer *pl, const kn_node *x, const expression *e)
{
    const region_list *readers = &pl->readers[x->id];
    for (int i = 0; i < readers->len; i++)
        for (int k = 0; k < e->leaves; k++)
            if (!has(pl, readers->data[i], e->leaf[k]))
                kn_push(pl->p->arena, &pl->readers[e->leaf[k]->id], readers->data[i]);
}

static void find_crossing(placer *pl)
{
    for (int i = 0; i < pl->g->nodes.len; i++) {
        const kn_node *user = pl->g->nodes.data[i];
        if (!pl->p->regions->of[i])
            continue;
        if (user->op == KN_OP_OF_RANK) { /* computed once, and stored where the exchange is from */
            pl->output[kn_view_root(user->in[0])->id] = true;
            continue;
        }
        for (int k = 0; k < user->nin; k++) {
            const kn_node *base = kn_base_of(pl->g, user, k), *x = kn_view_root(base);
            if (x != base)
                pl->regrouped[x->id] = true;
            if (pl->p->regions->of[x->id] == pl->p->regions->of[i])
                continue;
            pl->materialised[x->id] = true;
            add_region(pl, &pl->readers[base->id], pl->p->regions->of[i]);
        }
    }
    for (int o = 0; o < pl->g->outputs.len; o++)
        pl->output[pl->g->outputs.data[o].node->id] = true;
}

/* The parts of all ranks, in their order. */
static int exchange_buffer(const placer *pl, const kn_node *n)
{
    kn_planner *p = pl->p;
    const int ranks = p->problem->graph->ranks, number = 1 + n->u.part.exchange;
    int64_t shape[KN_MAX_RANK];
    for (int i = 0; i < p->bufs.len; i++)
        if (p->bufs.data[i].exchange == number)
            return i;
    kn_node_sizes(n, p->problem->sizes, shape);
    const int64_t part = kn_count(shape, n->rank);
    const int buf = kn_planner_temp(p, n->dtype, kn_node_title(n->in[0]), ranks * part);
    p->bufs.data[buf].part = part * kn_bytes(n->dtype);
    p->bufs.data[buf].exchange = number;
    return buf;
}

/* A value that is an output is read from there, unless it is a piece of one, or reshaped, which needs it compact. */
static void give_buffer(const placer *pl, const kn_node *n)
{
    kn_planner *p = pl->p;
    int *buf = &p->buf_of_node[n->id];
    if (n->op == KN_OP_OF_RANK) {
        *buf = exchange_buffer(pl, n);
        return;
    }
    for (int o = p->output_of[n->id]; o >= 0 && !pl->regrouped[n->id]; o = p->next_output[o])
        if (!pl->g->outputs.data[o].place)
            *buf = p->buf_of_output[o]; /* the last */
    if (*buf >= 0)
        return;
    int64_t shape[KN_MAX_RANK];
    kn_node_sizes(n, p->problem->sizes, shape);
    *buf = kn_planner_temp(p, n->dtype, kn_node_title(n), kn_count(shape, n->rank));
    if (p->problem->formulas)
        p->bufs.data[*buf].elements = kn_shape_elements(p, n);
}

/* Adds x if it may be computed again. While it is a candidate it counts as computed again. */
static void add_candidate(placer *pl, candidates *c, const kn_node *x)
{
    if (!pl->materialised[x->id] || kn_ops[x->op].cls != KN_ELEM || pl->output[x->id] ||
        pl->regrouped[x->id] || c->n == MOST_NODES)
        return;
    c->of[c->n] = (expression){0};
    if (!add_operands(pl, x, &c->of[c->n]))
        return;
    c->x[c->n++] = x;
    pl->p->again[x->id] = true;
}

/* Decides on the candidates; true if they are computed again from now on. */
static bool decide(placer *pl, const candidates *c)
{
    bool again = c->n > 0 && is_again(pl, c);
    for (int i = 0; i < c->n; i++)
        pl->p->again[c->x[i]->id] = again;
    for (int i = 0; i < c->n && again; i++)
        read_leaves(pl, c->x[i], &c->of[i]);
    for (int i = 0; i < c->n && again; i++) {
        pl->materialised[c->x[i]->id] = false;
        compute_again(pl, c->x[i]);
    }
    return again;
}

/* Decides on each value that crosses, alone and with the others of its region; true if one changed. A decision may
 * leave a region with a single value that others wait for, so the caller repeats this. */
static bool decide_all(placer *pl)
{
    const kn_regions *regions = pl->p->regions;
    candidates c;
    bool changed = false;
    for (int i = 0; i < pl->g->nodes.len; i++) {
        c.n = 0;
        add_candidate(pl, &c, pl->g->nodes.data[i]);
        changed = decide(pl, &c) || changed;
    }
    for (int i = 0; i < regions->list.len; i++) {
        c.n = 0;
        for (int k = 0; k < regions->list.data[i]->nodes.len; k++)
            add_candidate(pl, &c, regions->list.data[i]->nodes.data[k]);
        changed = decide(pl, &c) || changed;
    }
    return changed;
}

void kn_materialise(kn_planner *p)
{
    const kn_graph *g = p->problem->graph;
    int n = g->nodes.len;
    placer pl = {.p = p,
                 .g = g,
                 .materialised = KN_NEW_ARRAY(p->arena, bool, n + 1),
                 .regrouped = KN_NEW_ARRAY(p->arena, bool, n + 1),
                 .output = KN_NEW_ARRAY(p->arena, bool, n + 1),
                 .of_level = KN_NEW_ARRAY(p->arena, int, n + 1),
                 .readers = KN_NEW_ARRAY(p->arena, region_list, n + 1)};

    for (int i = 0; i < p->regions->list.len; i++)
        pl.of_level[p->regions->list.data[i]->level]++;
    p->buf_of_node = KN_NEW_ARRAY(p->arena, int, n + 1);
    p->again = KN_NEW_ARRAY(p->arena, bool, n + 1);
    memset(p->buf_of_node, -1, sizeof(int) * (size_t)n);
    kn_work(n / 2);
    find_crossing(&pl);
    while (p->problem->fusion && decide_all(&pl)) {
    }
    for (int i = 0; i < n; i++)
        if (p->regions->of[i] &&
            (pl.materialised[i] || pl.regrouped[i] || g->nodes.data[i]->op == KN_OP_OF_RANK))
            give_buffer(&pl, g->nodes.data[i]);
    p->elsewhere = pl.materialised;
}
