/* May an output overwrite an input? */
#include "codegen/plan/plan.h"

static int find_buf(const kn_kernel *k, kn_buf_kind kind, int index)
{
    for (int i = 0; i < k->bufs.len; i++)
        if (k->bufs.data[i].kind == kind && k->bufs.data[i].index == index)
            return i;
    return -1;
}

/* Have all sweeps that need value i loaded it before sweep `stage` stores? Kept values are loaded once, by the first
 * sweep that needs them; but edges in a loop of their own by all. */
static bool read_by(kn_arena *a, const kn_phase *ph, int i, int stage)
{
    bool *need = KN_NEW_ARRAY(a, bool, ph->nest.values.len), before = false;
    for (int t = 0; t < ph->nest.nsweeps; t++) {
        kn_phase_needs(ph, t, need);
        if (!need[i])
            continue;
        before = before || t <= stage;
        if (t > stage && !(before && kn_kept(ph, i) && !kn_edges_in_a_loop(ph)))
            return false;
    }
    return true;
}

/* Does a variance in sweep `stage` or later read one element of value i in all threads, as the pilot that deviations
 * are measured from? */
static bool is_pilot(kn_arena *a, const kn_phase *ph, int i, int stage)
{
    bool *need = KN_NEW_ARRAY(a, bool, ph->nest.values.len);
    for (int r = 0; r < ph->nest.reds.len; r++) {
        const kn_red *red = &ph->nest.reds.data[r];
        if (red->op != KN_OP_VAR || red->stage < stage)
            continue;
        kn_value_needs(ph, red->value, need);
        if (need[i])
            return true;
    }
    return false;
}

static bool are_apart(kn_access_ends x, kn_access_ends y, int64_t period)
{
    if (!period)
        return x.high < y.low || y.high < x.low;
    const int64_t from = ((y.low - x.low) % period + period) % period;
    return from > x.high - x.low && from + (y.high - y.low) < period;
}

/* An access of a phase: of value i, or behind these of a store. */
typedef struct place {
    const kn_phase *ph;
    int i;
} place;

static const kn_access *access_at(place at) { return kn_any_access(at.ph, at.i); }

/* Does it never happen? What is loaded or stored once a group happens without members, too. */
static bool is_empty(place at)
{
    const kn_nest *nest = &at.ph->nest;
    const bool element = at.i < nest->values.len ? kn_value_at(at.ph, at.i)->level == KN_ELEMENT
                                                 : kn_store_at(at.ph, at.i)->kind != KN_STORE_GROUP;
    for (int a = 0; a < (element ? nest->naxes : nest->ngroup); a++)
        if (nest->axes[a].extent == 0)
            return true;
    return false;
}

/* Could a load and a store touch the same element? Not where one has some rows or columns and the other others. */
static bool may_meet(place load, place store)
{
    const kn_access *x = access_at(load), *y = access_at(store);
    if (kn_value_at(load.ph, load.i)->kind == KN_V_GATHER || y->split_stride ||
        load.ph->nest.extents || store.ph->nest.extents) /* of one kernel for several sizes */
        return true;
    bool apart =
        is_empty(load) || is_empty(store) ||
        are_apart(kn_access_reach(&load.ph->nest, x, 0), kn_access_reach(&store.ph->nest, y, 0), 0);
    for (int a = 0; a < store.ph->nest.naxes && !apart; a++) {
        const int64_t period = y->stride[a] < 0 ? -y->stride[a] : y->stride[a];
        apart = period > 1 && are_apart(kn_access_reach(&load.ph->nest, x, period),
                                        kn_access_reach(&store.ph->nest, y, period), period);
    }
    return !apart;
}

/* Is it the thread that stores an element, and it alone, that loads it, and before? Within a sweep loads come before stores, and
 * a group's sweeps are in order. */
static bool loads_before_storing(kn_arena *a, place load, place store)
{
    const kn_phase *ph = load.ph;
    const kn_value *v = kn_value_at(ph, load.i);
    const kn_store *st = kn_store_at(ph, store.i);
    return st->kind == KN_STORE_ELEMENT && !st->once && v->kind != KN_V_GATHER &&
           v->level == KN_ELEMENT && kn_access_alike(v->access, &st->access) &&
           read_by(a, ph, load.i, st->stage) && !is_pilot(a, ph, load.i, st->stage);
}

/* Does phase `writer` store nothing that phase `reader`, perhaps the same one, has yet to load? */
static bool keeps_apart(kn_arena *a, const kn_phase *reader, int in, const kn_phase *writer,
                        int out)
{
    const int values = writer->nest.values.len;
    for (int s = 0; s < writer->nest.stores.len; s++)
        for (int i = 0; i < reader->nest.values.len; i++) {
            const place load = {reader, i}, store = {writer, values + s};
            const kn_value *v = kn_value_at(reader, i);
            if (access_at(store)->buf != out || !kn_is_read(v) || v->access->buf != in ||
                !may_meet(load, store))
                continue;
            if (reader != writer || !loads_before_storing(a, load, store))
                return false;
        }
    return true;
}

/* Phases that load the input or store to the output, in order. */
typedef struct touching {
    const kn_phase *ph;
    int in, out; /* the buffers, if it does */
    bool loads, stores;
    int after; /* those before this number have ended when it begins */
} touching;
typedef KN_VEC(touching) touchings;

static touchings list_touching(kn_arena *a, const kn_plan *plan, int input, int output)
{
    touchings list = {0};
    for (int i = 0; i < plan->kernels.len; i++) {
        const kn_kernel *k = plan->kernels.data[i];
        const int in = find_buf(k, KN_BUF_INPUT, input), out = find_buf(k, KN_BUF_OUTPUT, output);
        int after = list.len;
        for (int p = 0; p < k->phases.len; p++) {
            const kn_phase *ph = &k->phases.data[p];
            if (kn_begins_after_all(ph))
                after = list.len;
            const bool loads = in >= 0 && kn_reads_from(ph, in);
            const bool stores = out >= 0 && kn_stores_to(ph, out);
            if (loads || stores)
                kn_push(a, &list, ((touching){ph, in, out, loads, stores, after}));
        }
    }
    return list;
}

bool kn_plan_in_place(kn_arena *a, const kn_plan *plan, int input, int output)
{
    const touchings list = list_touching(a, plan, input, output);
    bool apart = true;
    for (int i = 0; i < list.len && apart; i++) {
        const touching *now = &list.data[i];
        for (int j = 0; j < i && apart && now->loads; j++) { /* what was stored is gone */
            const touching *before = &list.data[j];
            apart = !before->stores || keeps_apart(a, now->ph, now->in, before->ph, before->out);
        }
        /* other blocks may still be loading it, or this one */
        for (int j = now->after; j <= i && apart && now->stores; j++) {
            const touching *before = &list.data[j];
            apart = !before->loads || keeps_apart(a, before->ph, before->in, now->ph, now->out);
        }
    }
    return apart;
}
