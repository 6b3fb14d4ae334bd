/* When values of a group are computed: what is taken by an index, and that index, not before it is needed. Its address
 * takes a load to arrive first, for which threads would wait before they began a sweep that needs neither. Loads stay
 * where they are, in flight during the sweep. */
#include <limits.h>

#include "codegen/kir/phase.h"

typedef struct uses {
    int *first;    /* per value: the stage of its first use; INT_MAX: none */
    bool *gathers; /* it is made from what a group takes by an index */
    bool *kept;    /* something uses it that is not deferred */
} uses;

static void use(uses *u, int value, int stage)
{
    u->first[value] = stage < u->first[value] ? stage : u->first[value];
    u->kept[value] = true;
}

static uses begin(kn_arena *a, const kn_phase *ph)
{
    const int n = ph->nest.values.len;
    uses u = {KN_NEW_ARRAY(a, int, n + 1), KN_NEW_ARRAY(a, bool, n + 1),
              KN_NEW_ARRAY(a, bool, n + 1)};
    for (int i = 0; i < n; i++) {
        const kn_value *v = kn_value_at(ph, i);
        u.first[i] = INT_MAX;
        u.gathers[i] = v->kind == KN_V_GATHER;
        for (int k = 0; k < v->nin; k++)
            u.gathers[i] = u.gathers[i] || u.gathers[v->in[k]];
        u.gathers[i] = u.gathers[i] && v->level == KN_GROUP;
    }
    for (int r = 0; r < ph->nest.reds.len; r++)
        use(&u, ph->nest.reds.data[r].value, ph->nest.reds.data[r].stage);
    for (int s = 0; s < ph->nest.stores.len; s++)
        if (ph->nest.stores.data[s].kind != KN_STORE_PARTIAL)
            use(&u, ph->nest.stores.data[s].value, ph->nest.stores.data[s].stage);
    for (int e = 0; e < ph->exports.len; e++)
        use(&u, ph->exports.data[e], 0);
    return u;
}

void kn_defer_gathers(kn_arena *a, kn_phase *ph)
{
    uses u = begin(a, ph);
    for (int i = ph->nest.values.len - 1; i >= 0; i--) {
        kn_value *v = &ph->nest.values.data[i];
        const bool computed = v->kind == KN_V_GATHER || v->kind == KN_V_ELEM;
        const bool defer = v->level == KN_GROUP && computed && u.first[i] != INT_MAX &&
                           u.first[i] > v->stage && (u.gathers[i] || !u.kept[i]);
        v->stage = defer ? u.first[i] : v->stage;
        for (int k = 0; k < v->nin; k++) {
            const bool kept = u.kept[v->in[k]];
            use(&u, v->in[k], v->stage);
            u.kept[v->in[k]] = kept || !defer;
        }
    }
}
