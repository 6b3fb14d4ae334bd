/* Which computed values a phase keeps for its later sweeps, instead of computing them again.
 *
 * Before: a scheduled phase that keeps loads in registers, in shared memory or none. After, of the values that several
 * sweeps need, those are kept whose computing again costs more than keeping them, best first; costs in additions an
 * element (ir/ops.def).
 *
 *   registers  A value takes the registers of a kept one that nobody needs any more once it is there: exp(x - max)
 *              those of x. So keeping costs no register, and pays if it saves anything worth a copy. Where there is
 *              none, as for a float that is computed from 16-bit x, it takes new ones, up to KN_KEPT_WORDS with all
 *              others.
 *   shared     The place of a load in shared memory likewise, of a block or over a cluster, and none of its own: it is
 *              written and read once more.
 *   CPUs       A value is written to the worker's memory and read from there, in phases of rows that the second-level
 *              cache holds. At most MOST_FRAMES of them, so that it does.
 *
 * --reuse keep and recompute force it either way. */
#include <string.h>

#include "codegen/sched/sched.h"

enum { REGISTER_PRICE = 1, MEMORY_PRICE = 4, LOAD_COST = 2, MOST_FRAMES = 2, MOST_VALUES = 256 };

typedef struct keeper {
    kn_phase *ph;
    bool *need; /* of one sweep */
    kn_keep where;
} keeper;

/* Additions an element that the sweeps from `from` on take. */
static int cost_from(const keeper *k, int from)
{
    int cost = 0;
    for (int t = from; t < k->ph->nest.nsweeps; t++) {
        kn_phase_needs(k->ph, t, k->need);
        for (int i = 0; i < k->ph->nest.values.len; i++) {
            const kn_value *v = &k->ph->nest.values.data[i];
            bool kept = v->kept && (v->kind == KN_V_LOAD || t > v->since);
            if (k->need[i] && v->level == KN_ELEMENT && !kept)
                cost += v->kind == KN_V_ELEM ? kn_ops[v->op].cost : LOAD_COST;
        }
    }
    return cost;
}

/* The first sweep from `from` on that needs a value; nsweeps: none. */
static int next_need(const keeper *k, int value, int from)
{
    for (int t = from; t < k->ph->nest.nsweeps; t++) {
        kn_phase_needs(k->ph, t, k->need);
        if (k->need[value])
            return t;
    }
    return k->ph->nest.nsweeps;
}

/* Is value a done with, in every step, before value b takes its registers? Within a step values are computed, or taken
 * from where they are kept, by number. */
static bool is_over_before(const keeper *k, int a, int b)
{
    int since = k->ph->nest.values.data[b].since;
    return a < b && next_need(k, a, 0) <= since &&
           next_need(k, a, since + 1) == k->ph->nest.nsweeps;
}

/* Has value i a place that is its own? */
static bool has_place(const keeper *k, int i)
{
    const kn_value *v = &k->ph->nest.values.data[i];
    return v->kept == k->where && (v->kind == KN_V_LOAD || v->room == i);
}

/* Is nobody who uses the place of value r in need of it when value i is? */
static bool has_room(const keeper *k, int r, int i)
{
    const kn_value *values = k->ph->nest.values.data;
    bool free = has_place(k, r) && values[r].dtype == values[i].dtype &&
                (values[r].kind == KN_V_ELEM || is_over_before(k, r, i));
    for (int o = 0; o < k->ph->nest.values.len && free; o++)
        if (o != i && values[o].kind == KN_V_ELEM && values[o].kept && values[o].room == r)
            free = is_over_before(k, o, i) || is_over_before(k, i, o);
    return free;
}

/* The value of the same type whose place is free for value i as long as that is needed, i itself if there are new
 * registers for it; -1 for none. */
static int find_room(const keeper *k, int i)
{
    int words = kn_kept_words(k->ph, i);
    for (int r = 0; r < k->ph->nest.values.len; r++) {
        if (r != i && has_room(k, r, i))
            return r;
        words += r != i && has_place(k, r) ? kn_kept_words(k->ph, r) : 0;
    }
    return k->where == KN_KEEP_REGISTERS && words <= KN_KEPT_WORDS ? i : -1;
}

/* Additions that keeping value i saves, 0 if there is no room for it. Leaves it kept. */
static int keep_one(keeper *k, int i)
{
    kn_value *v = &k->ph->nest.values.data[i];
    v->since = next_need(k, i, 0);
    int cost = cost_from(k, v->since + 1);
    v->kept = k->where; /* which others are not needed any more depends on it */
    v->room = i;
    if (k->where != KN_KEEP_FRAME && (v->room = find_room(k, i)) < 0)
        return 0;
    return cost - cost_from(k, v->since + 1);
}

/* Keeps the value that saves most, if it is worth more than `price`. */
static bool keep_best(keeper *k, int price)
{
    int best = -1, most = price;
    for (int i = 0; i < k->ph->nest.values.len; i++) {
        kn_value *v = &k->ph->nest.values.data[i];
        if (v->kind != KN_V_ELEM || v->level != KN_ELEMENT || v->kept || v->sweeps < 2)
            continue;
        int gain = keep_one(k, i);
        v->kept = KN_KEEP_NONE;
        if (gain > most) {
            most = gain;
            best = i;
        }
    }
    if (best >= 0)
        keep_one(k, best);
    return best >= 0;
}

void kn_keep_computed(kn_arena *a, kn_phase *ph, const kn_target *target, kn_reuse reuse)
{
    bool cpu = strcmp(target->kind, "cpu") == 0;
    keeper k = {.ph = ph, .need = KN_NEW_ARRAY(a, bool, ph->nest.values.len + 1)};
    if (ph->nest.nsweeps < 2 || ph->how.split || ph->nest.values.len > MOST_VALUES ||
        reuse == KN_REUSE_RECOMPUTE)
        return;
    for (int i = 0; i < ph->nest.values.len && !k.where; i++)
        if (!kn_is_hoisted(ph, &ph->nest.values.data[i]))
            k.where = ph->nest.values.data[i].kept;
    if (cpu && ph->how.walk == KN_WALK_ROWS && ph->nest.members <= KN_FRAME_MEMBERS)
        k.where = KN_KEEP_FRAME;
    if (!k.where)
        return;
    int price = reuse == KN_REUSE_KEEP         ? 0
                : k.where == KN_KEEP_REGISTERS ? REGISTER_PRICE
                                               : MEMORY_PRICE;
    for (int n = 0; (k.where != KN_KEEP_FRAME || n < MOST_FRAMES) && keep_best(&k, price);)
        n++;
}
