#include "codegen/plan/exchanges.h"

#include "base/hash.h"

bool kn_fits_mailboxes(const kn_graph *g, const int64_t *sizes)
{
    int64_t words = 0, shape[KN_MAX_RANK];
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        if (n->op != KN_OP_OF_RANK || n->u.part.rank > 0)
            continue;
        kn_node_sizes(n, sizes, shape);
        words += kn_words_of(n->dtype, kn_count(shape, n->rank));
    }
    return words <= KN_MOST_MAIL;
}

typedef KN_VEC(int) numbers;
/* What is exchanged, and by which phase, is written as its number; these are none. */
enum { KERNEL = -1, ROUND = -2, STORE = -3 };

/* Groups that threads which wait for each other have at a time: all of them have made one exchange before any makes the
 * next. */
static int groups_in_step(const kn_phase *ph)
{
    if (ph->how.walk == KN_WALK_COLS)
        return kn_cols_width(ph);
    return ph->how.tpg < 32 ? 32 / ph->how.tpg : 1;
}

static bool has_rounds(const kn_nest *nest)
{
    int first = -1;
    for (int i = 0; i < nest->values.len; i++) {
        const kn_value *v = &nest->values.data[i];
        first = first < 0 && v->kind == KN_V_RANK ? v->round : first;
        if (v->kind == KN_V_RANK && v->round != first)
            return true;
    }
    return false;
}

static void put_phase(kn_arena *a, const kn_kernel *k, int p, numbers *to)
{
    const kn_phase *ph = &k->phases.data[p];
    if (kn_begins_round(k, p))
        kn_push(a, to, ROUND);
    if (has_rounds(&ph->nest))
        kn_push(a, to, groups_in_step(ph));
    if (kn_nest_exchanges(&ph->nest))
        for (int i = 0; i < ph->nest.ngroup; i++)
            kn_push(a, to, (int)ph->nest.axes[i].of);
    for (int i = 0; i < ph->nest.values.len; i++)
        if (ph->nest.values.data[i].kind == KN_V_RANK)
            kn_push(a, to, k->bufs.data[ph->nest.values.data[i].access->buf].exchange);
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (kn_is_exchanged(&k->bufs.data[ph->nest.stores.data[i].access.buf]))
            kn_push(a, to, STORE - k->bufs.data[ph->nest.stores.data[i].access.buf].exchange);
}

uint64_t kn_plan_exchanges(kn_arena *a, const kn_plan *plan)
{
    numbers all = {0};
    for (int i = 0; i < plan->kernels.len; i++) {
        kn_push(a, &all, KERNEL);
        for (int p = 0; p < plan->kernels.data[i]->phases.len; p++)
            put_phase(a, plan->kernels.data[i], p, &all);
    }
    return kn_hash(all.data, sizeof *all.data * (size_t)all.len, 0);
}
