/* What of a phase needs what: values, reductions, sweeps, and phases of what others wrote. */
#include "base/integer.h"
#include "base/work.h"
#include "codegen/kir/kir.h"

/* And what these are made of. What is kept since an earlier sweep needs no operands; sweep -1: nothing is kept yet. */
static void need_operands(const kn_phase *p, int sweep, bool *need)
{
    int last = p->values.len - 1;
    while (last >= 0 && !need[last])
        last--;
    kn_work(last + 1);
    for (int i = last; i >= 0; i--) { /* operands come before their users */
        const kn_value *v = &p->values.data[i];
        if (!need[i])
            continue;
        for (int k = 0; k < v->nin && !(v->kept && sweep > v->since); k++)
            need[v->in[k]] = true;
    }
}

bool kn_phase_stores_elements(const kn_phase *p)
{
    for (int i = 0; i < p->stores.len; i++)
        if (p->stores.data[i].kind == KN_STORE_ELEMENT)
            return true;
    return false;
}

void kn_phase_needs(const kn_phase *p, int sweep, bool *need)
{
    for (int i = 0; i < p->values.len; i++)
        need[i] = false;
    for (int i = 0; i < p->reds.len; i++)
        if (p->reds.data[i].stage == sweep)
            need[p->reds.data[i].value] = true;
    for (int i = 0; i < p->stores.len; i++)
        if (p->stores.data[i].kind == KN_STORE_ELEMENT && p->stores.data[i].stage == sweep)
            need[p->stores.data[i].value] = true;
    need_operands(p, sweep, need);
}

void kn_value_needs(const kn_phase *p, int value, bool *need)
{
    for (int i = 0; i < p->values.len; i++)
        need[i] = false;
    need[value] = true;
    need_operands(p, -1, need);
}

int kn_red_owner(const kn_phase *p, int red)
{
    const kn_red *of = &p->reds.data[red];
    if (of->by)
        return red - of->carried;
    for (int r = 0; of->part != KN_PART_RESULT && r < p->reds.len; r++) {
        const kn_red *own = &p->reds.data[r];
        if (own->op == of->op && own->value == of->value && own->part == KN_PART_RESULT)
            return r;
    }
    return red;
}

int kn_red_stage(const kn_phase *p, int red)
{
    const kn_red *first = &p->reds.data[kn_red_owner(p, red)];
    int stage = p->values.data[p->reds.data[red].value].stage;
    for (int c = 0; first->by && c < first->by->count; c++)
        if (p->values.data[first[c].value].stage > stage)
            stage = p->values.data[first[c].value].stage;
    return stage;
}

bool kn_phase_in_order(const kn_phase *p)
{
    for (int r = 0; r < p->reds.len; r++)
        if (p->reds.data[r].by && !p->reds.data[r].by->commutes)
            return true;
    return false;
}

void kn_restage(kn_phase *ph)
{
    for (int i = 0; i < ph->values.len; i++) {
        kn_value *v = &ph->values.data[i];
        v->stage = v->kind == KN_V_RESULT ? kn_red_stage(ph, v->index) + 1 : 0;
        for (int k = 0; k < v->nin; k++)
            if (ph->values.data[v->in[k]].stage > v->stage)
                v->stage = ph->values.data[v->in[k]].stage;
    }
    for (int r = 0; r < ph->reds.len; r++)
        ph->reds.data[r].stage = kn_red_stage(ph, r);
    for (int i = 0; i < ph->stores.len; i++)
        if (ph->stores.data[i].kind != KN_STORE_PARTIAL)
            ph->stores.data[i].stage = ph->values.data[ph->stores.data[i].value].stage;
}

kn_state kn_red_state(const kn_phase *p, int red)
{
    if (p->reds.data[red].op == KN_OP_VAR)
        return KN_STATE_MOMENTS;
    if (p->reds.data[red].by)
        return KN_STATE_OWN;
    for (int r = 0; r < p->reds.len; r++)
        if (p->reds.data[r].part == KN_PART_EXPSUM && kn_red_owner(p, r) == red)
            return KN_STATE_PEAK;
    return KN_STATE_PLAIN;
}

bool kn_sweep_reduces(const kn_phase *p, int sweep)
{
    for (int i = 0; i < p->reds.len; i++)
        if (p->reds.data[i].stage == sweep && !p->reds.data[i].across)
            return true;
    return false;
}

bool kn_stores_across(const kn_phase *p, const kn_store *s)
{
    return s->kind == KN_STORE_PARTIAL && p->reds.data[s->value].across;
}

kn_written kn_nothing_written(kn_arena *a, int nbufs)
{
    return (kn_written){1, KN_NEW_ARRAY(a, int, nbufs + 1)};
}

static bool reads_written(const kn_phase *ph, const kn_written *written)
{
    for (int j = 0; j < ph->values.len; j++)
        if (kn_is_read(&ph->values.data[j]) &&
            written->at[ph->values.data[j].access.buf] == written->since)
            return true;
    return false;
}

bool kn_phase_waits(const kn_phase *phases, int i, kn_written *written)
{
    bool waits = reads_written(&phases[i], written);
    for (int j = i - 1; j >= 0 && phases[j].local; j--)
        waits = waits || reads_written(&phases[j], written);
    written->since += waits;
    for (int j = 0; j < phases[i].stores.len; j++)
        written->at[phases[i].stores.data[j].access.buf] = written->since;
    return waits;
}

void kn_count_sweeps(kn_arena *a, kn_phase *ph)
{
    ph->nsweeps = 0;
    for (int i = 0; i < ph->reds.len; i++)
        if (ph->reds.data[i].stage >= ph->nsweeps)
            ph->nsweeps = ph->reds.data[i].stage + 1;
    for (int i = 0; i < ph->stores.len; i++)
        if (ph->stores.data[i].kind == KN_STORE_ELEMENT && ph->stores.data[i].stage >= ph->nsweeps)
            ph->nsweeps = ph->stores.data[i].stage + 1;
    bool *need = KN_NEW_ARRAY(a, bool, ph->values.len + 1);
    for (int i = 0; i < ph->values.len; i++)
        ph->values.data[i].sweeps = 0;
    for (int t = 0; t < ph->nsweeps; t++) {
        kn_phase_needs(ph, t, need);
        for (int i = 0; i < ph->values.len; i++)
            ph->values.data[i].sweeps += need[i];
    }
}

bool kn_sweep_stores_elements(const kn_phase *ph, int sweep)
{
    for (int i = 0; i < ph->stores.len; i++)
        if (ph->stores.data[i].kind == KN_STORE_ELEMENT && ph->stores.data[i].stage == sweep)
            return true;
    return false;
}
