/* Counting temporaries, barriers and bytes by reading the IR. */
#include "codegen/plan.h"

/* Elements that an access touches once each. */
static int64_t footprint(const kn_phase *ph, const kn_access *acc)
{
    int64_t n = acc->split_stride ? ph->splits : 1;
    for (int a = 0; a < ph->naxes; a++)
        if (acc->stride[a] != 0)
            n *= ph->axes[a].extent;
    return n;
}

static void count_phase(const kn_kernel *k, const kn_phase *ph, kn_census *c)
{
    bool *need = KN_NEW_ARRAY(k->arena, bool, ph->values.len + 1);
    bool *group_seen = KN_NEW_ARRAY(k->arena, bool, ph->values.len + 1);
    for (int t = 0; t < ph->nsweeps; t++) {
        kn_phase_needs(ph, t, need);
        for (int i = 0; i < ph->values.len; i++) {
            const kn_value *v = &ph->values.data[i];
            if (!need[i] || v->kind != KN_V_LOAD || group_seen[i])
                continue;
            group_seen[i] = v->level == KN_GROUP || v->kept; /* loaded once, then on chip */
            c->bytes_read += footprint(ph, &v->access) * kn_bytes(v->dtype);
        }
        if (!kn_sweep_reduces(ph, t))
            continue;
        if (ph->walk == KN_WALK_COLS || ph->tpg > 32)
            c->block++;
        else if (ph->tpg > 1)
            c->warp++;
    }
    for (int i = 0; i < ph->stores.len; i++) {
        const kn_access *acc = &ph->stores.data[i].access;
        c->bytes_written += footprint(ph, acc) * kn_bytes(k->bufs.data[acc->buf].dtype);
    }
}

kn_census kn_census_of_plan(const kn_plan *plan, const kn_planner *p)
{
    kn_census c = {0};
    for (int i = 0; i < p->bufs.len; i++)
        if (p->bufs.data[i].kind == KN_BUF_TEMP) {
            c.temporaries++;
            c.temporary_bytes += p->bufs.data[i].bytes;
        }
    for (int i = 0; i < plan->kernels.len; i++) {
        const kn_kernel *k = plan->kernels.data[i];
        for (int j = 0; j < k->phases.len; j++) {
            c.grid += k->phases.data[j].barrier;
            count_phase(k, &k->phases.data[j], &c);
        }
    }
    return c;
}

static int64_t node_bytes(const kn_problem *pr, const kn_node *n)
{
    int64_t shape[KN_MAX_RANK];
    if (kn_node_sizes(n, pr->sizes, shape) != KN_OK)
        return 0;
    return kn_count(shape, n->rank) * kn_bytes(n->dtype);
}

/* One stage an operation: every result that is no output is a temporary, every operand is read once, and
 * a grid barrier stands between one stage and the next. */
kn_census kn_census_unfused(const kn_problem *pr)
{
    kn_census c = {0};
    int stages = 0;
    for (int i = 0; i < pr->graph->nodes.len; i++) {
        const kn_node *n = pr->graph->nodes.data[i];
        bool output = false;
        if (!kn_is_value(n))
            continue;
        stages++;
        for (int o = 0; o < pr->graph->outputs.len; o++)
            output = output || pr->graph->outputs.data[o].node == n;
        if (!output) {
            c.temporaries++;
            c.temporary_bytes += node_bytes(pr, n);
        }
        for (int k = 0; k < n->nin; k++)
            c.bytes_read += node_bytes(pr, n->in[k]);
        c.bytes_written += node_bytes(pr, n);
    }
    c.grid = stages > 0 ? stages - 1 : 0;
    return c;
}
