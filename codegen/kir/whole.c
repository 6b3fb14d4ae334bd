#include "codegen/kir/whole.h"

#include <math.h>

/* Small enough to be rounded by adding a number whose last place is 1: codegen/emit/cuda/prelude/casts.cuh. */
static const double SMALL = 1 << 21;

/* What is known of the values. */
typedef struct whole {
    const kn_phase *ph;
    double *least, *most; /* a float is NaN or between these */
    bool *later;          /* all of its uses are clips to integers and small casts */
    bool *rounded;        /* behind a rounding that is later */
    kn_whole *found;
} whole;

static bool is_f32(const kn_value *v, kn_op op) { return kn_is_elem(v, op) && v->dtype == KN_F32; }

static void bound(whole *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    const int x = v->nin > 0 ? v->in[0] : 0, y = v->nin > 1 ? v->in[1] : 0;
    w->least[i] = -INFINITY;
    w->most[i] = INFINITY;
    if (v->dtype != KN_F32)
        return;
    if (v->kind == KN_V_CONST && !isnan(v->value.f)) {
        w->least[i] = w->most[i] = v->value.f;
    } else if (is_f32(v, KN_OP_MAXIMUM)) {
        w->least[i] = fmax(w->least[x], w->least[y]);
        w->most[i] = fmax(w->most[x], w->most[y]);
    } else if (is_f32(v, KN_OP_MINIMUM)) {
        w->least[i] = fmin(w->least[x], w->least[y]);
        w->most[i] = fmin(w->most[x], w->most[y]);
    } else if (is_f32(v, KN_OP_RINT)) {
        w->least[i] = rint(w->least[x]);
        w->most[i] = rint(w->most[x]);
    }
}

/* Is value i a cast that would gain from a small operand? */
static bool is_narrow_cast(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    return kn_is_elem(v, KN_OP_CAST) && kn_is_int(v->dtype) && kn_bytes(v->dtype) <= 2 &&
           kn_value_at(ph, v->in[0])->dtype == KN_F32;
}

static bool is_small_cast(const whole *w, int i)
{
    const int of = kn_value_at(w->ph, i)->in[0];
    return is_narrow_cast(w->ph, i) && w->least[of] >= -SMALL && w->most[of] <= SMALL;
}

static bool is_whole_number(const whole *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    return v->kind == KN_V_CONST && v->dtype == KN_F32 && v->value.f == rint(v->value.f);
}

/* Does value u clip its operand to an integer? Rounding before that is rounding after it. */
static bool clips(const whole *w, int u)
{
    const kn_value *v = kn_value_at(w->ph, u);
    return (is_f32(v, KN_OP_MAXIMUM) || is_f32(v, KN_OP_MINIMUM)) &&
           (is_whole_number(w, v->in[0]) || is_whole_number(w, v->in[1]));
}

static bool is_used_elsewhere(const kn_phase *ph, int i)
{
    bool used = false;
    for (int r = 0; r < ph->nest.reds.len; r++)
        used = used || ph->nest.reds.data[r].value == i;
    for (int s = 0; s < ph->nest.stores.len; s++)
        used = used || (ph->nest.stores.data[s].kind != KN_STORE_PARTIAL &&
                        ph->nest.stores.data[s].value == i);
    for (int e = 0; e < ph->exports.len; e++)
        used = used || ph->exports.data[e] == i;
    return used;
}

const kn_whole *kn_find_whole(kn_arena *a, const kn_phase *ph)
{
    const int n = ph->nest.values.len;
    bool any = false;
    for (int i = 0; i < n; i++)
        any = any || is_narrow_cast(ph, i);
    if (!any)
        return NULL;
    whole w = {ph,
               KN_NEW_ARRAY(a, double, n + 1),
               KN_NEW_ARRAY(a, double, n + 1),
               KN_NEW_ARRAY(a, bool, n + 1),
               KN_NEW_ARRAY(a, bool, n + 1),
               KN_NEW_ARRAY(a, kn_whole, n + 1)};
    for (int i = 0; i < n; i++) {
        bound(&w, i);
        w.later[i] = kn_value_at(ph, i)->kind == KN_V_ELEM && !is_used_elsewhere(ph, i);
    }
    for (int i = n - 1; i >= 0; i--) { /* users come after their operands */
        const kn_value *v = kn_value_at(ph, i);
        const bool use = is_small_cast(&w, i) || (clips(&w, i) && w.later[i]);
        for (int k = 0; k < v->nin; k++)
            w.later[v->in[k]] = w.later[v->in[k]] && use;
    }
    for (int i = 0; i < n; i++) {
        const kn_value *v = kn_value_at(ph, i);
        const bool rounds = is_f32(v, KN_OP_RINT) && w.later[i];
        for (int k = 0; k < v->nin; k++)
            w.rounded[i] = w.rounded[i] || (w.rounded[v->in[k]] && w.later[v->in[k]]);
        if (rounds)
            w.found[i] = KN_WHOLE_LATER;
        else if (is_small_cast(&w, i))
            w.found[i] = w.rounded[i] ? KN_WHOLE_NEAREST : KN_WHOLE_SMALL;
        w.rounded[i] = w.rounded[i] || rounds;
    }
    return w.found;
}
