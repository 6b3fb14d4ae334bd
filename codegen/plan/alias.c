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
 * sweep that needs them. */
static bool read_by(kn_arena *a, const kn_phase *ph, int i, int stage)
{
    bool *need = KN_NEW_ARRAY(a, bool, ph->nest.values.len), before = false;
    for (int t = 0; t < ph->nest.nsweeps; t++) {
        kn_phase_needs(ph, t, need);
        if (!need[i])
            continue;
        before = before || t <= stage;
        if (t > stage && !(before && kn_kept(ph, i)))
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

/* In a phase that loads one array and stores the other: is the thread that stores an element the only one that reads
 * it, and before? Within a sweep loads come before stores, and a group's sweeps are in order. */
static bool reads_before_storing(kn_arena *a, const kn_phase *ph, int in, int out)
{
    for (int s = 0; s < ph->nest.stores.len; s++) {
        const kn_store *st = &ph->nest.stores.data[s];
        if (st->access.buf != out)
            continue;
        if (st->kind != KN_STORE_ELEMENT || st->once)
            return false;
        for (int i = 0; i < ph->nest.values.len; i++) {
            const kn_value *v = &ph->nest.values.data[i];
            if (!kn_is_read(v) || v->access->buf != in)
                continue;
            if (v->kind == KN_V_GATHER || v->level != KN_ELEMENT ||
                !kn_access_alike(v->access, &st->access) || !read_by(a, ph, i, st->stage) ||
                is_pilot(a, ph, i, st->stage))
                return false;
        }
    }
    return true;
}

bool kn_plan_in_place(kn_arena *a, const kn_plan *plan, int input, int output)
{
    bool stored = false; /* from then on the input's elements are gone */
    for (int i = 0; i < plan->kernels.len; i++) {
        const kn_kernel *k = plan->kernels.data[i];
        int in = find_buf(k, KN_BUF_INPUT, input), out = find_buf(k, KN_BUF_OUTPUT, output);
        bool loaded = false; /* other blocks may still be loading it */
        for (int p = 0; p < k->phases.len; p++) {
            const kn_phase *ph = &k->phases.data[p];
            bool now_loads = in >= 0 && kn_reads_from(ph, in),
                 now_stores = out >= 0 && kn_stores_to(ph, out);
            if (kn_begins_after_all(ph))
                loaded = false;
            if ((now_loads && stored) || (now_stores && loaded) ||
                (now_loads && now_stores && !reads_before_storing(a, ph, in, out)))
                return false;
            loaded = loaded || now_loads;
            stored = stored || now_stores;
        }
    }
    return true;
}
