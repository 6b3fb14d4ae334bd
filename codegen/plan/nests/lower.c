/* Lowers all regions to raw phases, in the order in which they run. */
#include <string.h>

#include "codegen/plan/nests/planner.h"
#include "ir/pieces.h"
#include "ir/view.h"

/* The same as it is known, or in memory where it will be. */
static const kn_phase *know_region(kn_planner *p, int number, kn_lowered_node *of)
{
    const kn_region *region = p->regions->list.data[number];
    const kn_phase *known = kn_raw_recall(p, region);
    if (known)
        return known;
    kn_arena *own = p->arena;
    const kn_arena_mark here = kn_arena_here(p->raws->arena);
    const int extents = p->extents.len;
    kn_phase phase;
    p->arena = p->raws->arena;
    const bool done = kn_lower_region(p, region, of, &phase);
    p->arena = own;
    return done ? kn_raw_keep(p, &phase, extents, here) : NULL;
}

static const kn_phase *lower_alone(kn_planner *p, int number, kn_lowered_node *of)
{
    kn_phase *phase = KN_NEW(p->arena, kn_phase);
    return kn_lower_region(p, p->regions->list.data[number], of, phase) ? phase : NULL;
}

static bool add_region(kn_planner *p, int number, kn_lowered_node *of)
{
    if (p->regions->list.data[number]->exchange)
        return true;
    const kn_phase *phase = p->raws ? know_region(p, number, of) : lower_alone(p, number, of);
    if (phase && phase->nest.stores.len) {
        kn_push(p->arena, &p->lowered, phase);
        kn_push(p->arena, &p->region_of, number);
    }
    return phase;
}

/* Orders phases by level: those that read no other phase's results first, then those that read only these, and so on.
 * So what a phase computes again, instead of reading it, it need not wait for. Phases that wait for an exchange are
 * behind all that do not. */
static void order_phases(kn_planner *p)
{
    int n = p->lowered.len, highest = 0;
    int *level = KN_NEW_ARRAY(p->arena, int, n + 1);
    int *level_of_buf = KN_NEW_ARRAY(p->arena, int, p->bufs.len + 1);
    for (int i = 0; i < n; i++) {
        const kn_phase *ph = p->lowered.data[i];
        level[i] = kn_planner_round(p, i) * n;
        for (int v = 0; v < ph->nest.values.len; v++) {
            int buf =
                kn_is_read(&ph->nest.values.data[v]) ? ph->nest.values.data[v].access->buf : -1;
            if (buf >= 0 && level_of_buf[buf] > level[i])
                level[i] = level_of_buf[buf];
        }
        for (int s = 0; s < ph->nest.stores.len; s++)
            level_of_buf[ph->nest.stores.data[s].access.buf] = level[i] + 1;
        highest = level[i] > highest ? level[i] : highest;
    }
    int *start = KN_NEW_ARRAY(p->arena, int, highest + 2);
    for (int i = 0; i < n; i++)
        start[level[i] + 1]++;
    for (int l = 0; l <= highest; l++)
        start[l + 1] += start[l];
    const kn_phase **phases = KN_NEW_ARRAY(p->arena, const kn_phase *, n + 1);
    int *region_of = KN_NEW_ARRAY(p->arena, int, n + 1);
    for (int i = 0; i < n; i++) {
        int at = start[level[i]]++;
        phases[at] = p->lowered.data[i];
        region_of[at] = p->region_of.data[i];
    }
    p->lowered.data = phases;
    p->lowered.cap = n + 1;
    p->region_of.data = region_of;
    p->region_of.cap = n + 1;
}

void kn_planner_take_phases(kn_planner *p)
{
    p->phases.data = KN_NEW_ARRAY(p->arena, kn_phase, p->lowered.len + 1);
    p->phases.len = p->lowered.len;
    p->phases.cap = p->lowered.len + 1;
    for (int i = 0; i < p->lowered.len; i++)
        p->phases.data[i] =
            p->raws ? kn_phase_copy(p->arena, p->lowered.data[i]) : *p->lowered.data[i];
}

/* Lists what ranks have of each node, in order. */
static void list_exchanges(kn_planner *p)
{
    const kn_graph *g = p->problem->graph;
    p->exchange_of = KN_NEW_ARRAY(p->arena, int, g->nodes.len + 1);
    p->next_exchange = KN_NEW_ARRAY(p->arena, int, g->nodes.len + 1);
    memset(p->exchange_of, -1, sizeof(int) * (size_t)g->nodes.len);
    for (int i = g->nodes.len - 1; i >= 0; i--) {
        if (g->nodes.data[i]->op != KN_OP_OF_RANK)
            continue;
        int *first = &p->exchange_of[kn_view_root(g->nodes.data[i]->in[0])->id];
        p->next_exchange[i] = *first;
        *first = i;
    }
}

/* Lists the outputs that each node is, in order. */
static void list_outputs(kn_planner *p)
{
    const kn_graph *g = p->problem->graph;
    p->output_of = KN_NEW_ARRAY(p->arena, int, g->nodes.len + 1);
    p->next_output = KN_NEW_ARRAY(p->arena, int, g->outputs.len + 1);
    memset(p->output_of, -1, sizeof(int) * (size_t)g->nodes.len);
    for (int o = g->outputs.len - 1; o >= 0; o--) {
        int *first = &p->output_of[g->outputs.data[o].node->id];
        p->next_output[o] = *first;
        *first = o;
    }
}

kn_status kn_lower(kn_planner *p)
{
    const kn_graph *g = p->problem->graph;
    p->buf_of_input = KN_NEW_ARRAY(p->arena, int, g->inputs.len + 1);
    p->buf_of_output = KN_NEW_ARRAY(p->arena, int, g->outputs.len + 1);
    for (int i = 0; i < g->inputs.len; i++) {
        const kn_input *in = &g->inputs.data[i];
        p->buf_of_input[i] = in->by_value ? -1 : p->bufs.len;
        if (!in->by_value)
            kn_push(p->arena, &p->bufs,
                    ((kn_buf){.kind = KN_BUF_INPUT,
                              .index = i,
                              .dtype = in->node->dtype,
                              .name = kn_identifier(p->arena, "in_", in->name)}));
    }
    for (int o = 0; o < g->outputs.len; o++) { /* of pieces the first has the output's own number */
        const kn_place *place = g->outputs.data[o].place;
        p->buf_of_output[o] =
            place && place->output < o ? p->buf_of_output[place->output] : p->bufs.len;
        if (p->buf_of_output[o] < p->bufs.len)
            continue;
        kn_push(p->arena, &p->bufs,
                ((kn_buf){.kind = KN_BUF_OUTPUT,
                          .index = o,
                          .dtype = g->outputs.data[o].node->dtype,
                          .name = kn_identifier(p->arena, "out_", g->outputs.data[o].name)}));
    }
    list_outputs(p);
    list_exchanges(p);
    kn_materialise(p);
    kn_lowered_node *of = KN_NEW_ARRAY(p->arena, kn_lowered_node, g->nodes.len + 1);
    for (int i = 0; i < p->regions->list.len; i++)
        if (!add_region(p, i, of))
            return KN_OK; /* p->blocked is set */
    order_phases(p);
    return KN_OK;
}
