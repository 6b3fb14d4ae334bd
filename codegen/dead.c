/* What a phase computes and nobody needs. */
#include <string.h>

#include "codegen/plan.h"

/* What is live: values, and reductions with what they share an accumulator with. */
typedef struct liveness {
    const kn_phase *ph;
    bool *value, *red;
} liveness;

static void need_value(liveness *l, int value);

static void need_red(liveness *l, int red)
{
    int owner = kn_red_owner(l->ph, red), width = kn_red_width(&l->ph->reds.data[owner]);
    if (l->red[red])
        return;
    l->red[red] = true;
    need_value(l, l->ph->reds.data[red].value);
    for (int r = owner; r < owner + width; r++)
        need_red(l, r);
}

static void need_value(liveness *l, int value)
{
    const kn_value *v = &l->ph->values.data[value];
    if (l->value[value])
        return;
    l->value[value] = true;
    for (int k = 0; k < v->nin; k++)
        need_value(l, v->in[k]);
    if (v->kind == KN_V_RESULT)
        need_red(l, v->index);
}

/* Closes up; the new place of each that stays. */
static int *places(kn_arena *a, const bool *live, int n)
{
    int *to = KN_NEW_ARRAY(a, int, n + 1), count = 0;
    for (int i = 0; i < n; i++)
        to[i] = live[i] ? count++ : -1;
    return to;
}

static void keep_live(kn_phase *ph, const int *value, const int *red)
{
    int values = 0, reds = 0;
    for (int i = 0; i < ph->values.len; i++) {
        kn_value v = ph->values.data[i];
        if (value[i] < 0)
            continue;
        for (int k = 0; k < v.nin; k++)
            v.in[k] = value[v.in[k]];
        if (v.kind == KN_V_RESULT)
            v.index = red[v.index];
        ph->values.data[values++] = v;
    }
    for (int i = 0; i < ph->reds.len; i++) {
        kn_red r = ph->reds.data[i];
        if (red[i] < 0)
            continue;
        r.value = value[r.value];
        ph->reds.data[reds++] = r;
    }
    ph->values.len = values;
    ph->reds.len = reds;
    for (int i = 0; i < ph->stores.len; i++) {
        kn_store *st = &ph->stores.data[i];
        st->value = (st->kind == KN_STORE_PARTIAL ? red : value)[st->value];
    }
    for (int i = 0; i < ph->exports.len; i++)
        ph->exports.data[i] = value[ph->exports.data[i]];
}

void kn_drop_dead(kn_arena *a, kn_phase *ph)
{
    liveness l = {ph, KN_NEW_ARRAY(a, bool, ph->values.len + 1),
                  KN_NEW_ARRAY(a, bool, ph->reds.len + 1)};
    for (int i = 0; i < ph->stores.len; i++)
        if (ph->stores.data[i].kind == KN_STORE_PARTIAL)
            need_red(&l, ph->stores.data[i].value);
        else
            need_value(&l, ph->stores.data[i].value);
    for (int i = 0; i < ph->exports.len; i++)
        need_value(&l, ph->exports.data[i]);
    keep_live(ph, places(a, l.value, ph->values.len), places(a, l.red, ph->reds.len));
}
