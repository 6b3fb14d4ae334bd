#include "codegen/kir/remainder.h"

#include "codegen/kir/selection.h"

static kn_phase *copy_of(kn_arena *a, const kn_phase *ph)
{
    kn_phase *copy = KN_NEW(a, kn_phase);
    *copy = kn_phase_copy(a, ph);
    copy->how.async = copy->how.rest_in_registers = false;
    return copy;
}

/* The same, element by element. */
static kn_phase *by_elements(kn_arena *a, const kn_phase *ph)
{
    kn_phase *copy = copy_of(a, ph);
    copy->how.vec = 1;
    for (int i = 0; i < copy->how.transfers.len; i++)
        copy->how.transfers.data[i].vector = false;
    return copy;
}

const kn_phase *kn_phase_of_tail(kn_arena *a, const kn_phase *ph, bool fast)
{
    kn_phase *tail = by_elements(a, ph);
    tail->how.steps = 1;
    tail->how.holds.len = 0;
    tail->how.hoisted = tail->how.prefetch = false;
    for (int i = 0; i < tail->nest.values.len && tail->how.walk == KN_WALK_ROWS; i++) {
        const kn_value *v = kn_value_at(tail, i);
        if (v->kind == KN_V_LOAD && v->level == KN_ELEMENT && v->sweeps > 0)
            kn_hold_value(a, tail, i, KN_KEEP_REGISTERS);
    }
    tail->selection = kn_select_phase(a, tail, fast);
    return tail;
}

const kn_phase *kn_phase_of_edges(kn_arena *a, const kn_phase *ph, bool fast)
{
    kn_phase *edges = by_elements(a, ph);
    edges->how.holds.len = 0;
    edges->selection = kn_select_phase(a, edges, fast);
    return edges;
}

const kn_phase *kn_phase_of_rest(kn_arena *a, const kn_phase *ph, bool fast)
{
    kn_phase *rest = copy_of(a, ph);
    for (int i = 0; i < rest->how.holds.len; i++)
        rest->how.holds.data[i].where = KN_KEEP_REGISTERS;
    rest->selection = kn_select_phase(a, rest, fast);
    return rest;
}
