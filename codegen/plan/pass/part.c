/* Divides a phase in two: what need not wait, and what must.
 *
 * Before: a raw phase of rows with   s = sum(x)     of each group
 *                                    y = x - s + c  where phases before it store c
 *
 * After: its reductions, with their results stored, which wait for none of these phases and can come before them, and
 * its stores, which load the results. */
#include <string.h>

#include "codegen/plan/pass/passes.h"

/* Marks the buffers that phases [from, to) store. */
static bool *stored_by(const kn_planner *p, int from, int to)
{
    bool *stored = KN_NEW_ARRAY(p->arena, bool, p->bufs.len + 1);
    for (int i = from; i < to; i++)
        for (int j = 0; j < p->phases.data[i].nest.stores.len; j++)
            stored[p->phases.data[i].nest.stores.data[j].access.buf] = true;
    return stored;
}

/* Does the phase read what is stored, but none of its reductions? */
static bool only_stores_wait(const kn_planner *p, const kn_phase *ph, const bool *stored)
{
    bool *need = KN_NEW_ARRAY(p->arena, bool, ph->nest.values.len + 1), waits = false;
    for (int i = 0; i < ph->nest.values.len; i++)
        waits =
            waits || (kn_is_read(kn_value_at(ph, i)) && stored[kn_value_at(ph, i)->access->buf]);
    for (int r = 0; r < ph->nest.reds.len; r++) {
        kn_value_needs(ph, ph->nest.reds.data[r].value, need);
        for (int i = 0; i < ph->nest.values.len; i++)
            if (need[i] && kn_is_read(kn_value_at(ph, i)) &&
                stored[kn_value_at(ph, i)->access->buf])
                return false;
    }
    return waits;
}

/* Sends result i through memory. */
static void hand_over(kn_planner *p, kn_phase *head, kn_phase *tail, int i)
{
    kn_value *v = &tail->nest.values.data[i];
    int buf = kn_planner_temp(p, v->dtype, "result", kn_count_groups(tail));
    kn_access acc = kn_over_groups(tail, buf);
    kn_push(p->arena, &head->nest.stores,
            ((kn_store){.kind = KN_STORE_GROUP, .value = i, .stage = v->stage, .access = acc}));
    v->kind = KN_V_LOAD;
    v->access = kn_alloc_copy(p->arena, &acc, sizeof acc);
}

bool kn_part_phase(kn_planner *p, int index, int from, kn_phase *head, kn_phase *tail)
{
    const kn_phase *ph = &p->phases.data[index];
    if (!only_stores_wait(p, ph, stored_by(p, from, index)))
        return false;
    *head = kn_phase_copy(p->arena, ph);
    *tail = kn_phase_copy(p->arena, ph);
    head->nest.stores.len = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (ph->nest.values.data[i].kind == KN_V_RESULT)
            hand_over(p, head, tail, i);
    kn_drop_dead(p->arena, head);
    kn_drop_dead(p->arena, tail);
    kn_restage(tail);
    return true;
}
