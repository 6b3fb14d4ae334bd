/* Removes what a phase computes but nobody needs. */
#include <string.h>

#include "codegen/kir/kir.h"

/* What is live. A live reduction keeps alive those that share its accumulator. */
typedef struct liveness {
    const kn_phase *ph;
    bool *value, *red;
} liveness;

static void need_one(liveness *l, int red)
{
    l->red[red] = true;
    l->value[l->ph->nest.reds.data[red].value] = true;
}

static void need_red(liveness *l, int red)
{
    int owner = kn_red_owner(l->ph, red), width = kn_red_width(&l->ph->nest.reds.data[owner]);
    need_one(l, red);
    for (int r = owner; r < owner + width; r++)
        need_one(l, r);
}

/* Operands come before their users, so one walk from the back reaches all. */
static void need_operands(liveness *l)
{
    for (int i = l->ph->nest.values.len - 1; i >= 0; i--) {
        const kn_value *v = &l->ph->nest.values.data[i];
        if (!l->value[i])
            continue;
        for (int k = 0; k < v->nin; k++)
            l->value[v->in[k]] = true;
        if (v->kind == KN_V_RESULT)
            need_red(l, v->index);
    }
}

/* The index of each live item once the dead ones are removed; -1 for these. */
static int *new_indices(kn_arena *a, const bool *live, int n)
{
    int *to = KN_NEW_ARRAY(a, int, n + 1), count = 0;
    for (int i = 0; i < n; i++)
        to[i] = live[i] ? count++ : -1;
    return to;
}

static void keep_live(kn_phase *ph, const int *value, const int *red)
{
    int values = 0, reds = 0;
    for (int i = 0; i < ph->nest.values.len; i++) {
        kn_value v = ph->nest.values.data[i];
        if (value[i] < 0)
            continue;
        for (int k = 0; k < v.nin; k++)
            v.in[k] = value[v.in[k]];
        if (v.kind == KN_V_RESULT)
            v.index = red[v.index];
        ph->nest.values.data[values++] = v;
    }
    for (int i = 0; i < ph->nest.reds.len; i++) {
        kn_red r = ph->nest.reds.data[i];
        if (red[i] < 0)
            continue;
        r.value = value[r.value];
        ph->nest.reds.data[reds++] = r;
    }
    ph->nest.values.len = values;
    ph->nest.reds.len = reds;
    for (int i = 0; i < ph->nest.stores.len; i++) {
        kn_store *st = &ph->nest.stores.data[i];
        st->value = (st->kind == KN_STORE_PARTIAL ? red : value)[st->value];
    }
    for (int i = 0; i < ph->exports.len; i++)
        ph->exports.data[i] = value[ph->exports.data[i]];
}

void kn_drop_dead(kn_arena *a, kn_phase *ph)
{
    liveness l = {ph, KN_NEW_ARRAY(a, bool, ph->nest.values.len + 1),
                  KN_NEW_ARRAY(a, bool, ph->nest.reds.len + 1)};
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (ph->nest.stores.data[i].kind == KN_STORE_PARTIAL)
            need_red(&l, ph->nest.stores.data[i].value);
        else
            l.value[ph->nest.stores.data[i].value] = true;
    for (int i = 0; i < ph->exports.len; i++)
        l.value[ph->exports.data[i]] = true;
    need_operands(&l);
    keep_live(ph, new_indices(a, l.value, ph->nest.values.len),
              new_indices(a, l.red, ph->nest.reds.len));
}
