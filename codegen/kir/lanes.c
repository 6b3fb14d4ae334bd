#include "codegen/kir/lanes.h"

static int least(int x, int y) { return x < y ? x : y; }

static bool is_wide_integer(kn_dtype t) { return kn_is_int(t) && kn_bytes(t) >= 4; }

/* Is value i a constant from 0 to 63? */
static bool small(const kn_phase *ph, int i, int *value)
{
    const kn_value *v = kn_value_at(ph, i);
    bool is = v->kind == KN_V_CONST && kn_is_int(v->dtype) && v->value.i >= 0 && v->value.i < 64;
    *value = is ? (int)v->value.i : 0;
    return is;
}

bool kn_is_lane_number(const kn_phase *ph, const kn_lanes *lanes, int i, int *bits)
{
    const kn_value *v = kn_value_at(ph, i);
    return kn_is_elem(v, KN_OP_BITAND) && lanes[v->in[0]].position && small(ph, v->in[1], bits) &&
           *bits < ph->how.vec;
}

/* An operation of positions, or of what its operands have in common. */
static kn_lanes of_operation(const kn_phase *ph, const kn_lanes *lanes, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    const kn_lanes *x = &lanes[v->in[0]];
    kn_lanes made = {.alike = ph->how.vec, .known = v->nin > 0};
    int shift = 0, bits;
    for (int k = 0; k < v->nin; k++) {
        made.alike = least(made.alike, lanes[v->in[k]].alike);
        made.known = made.known && lanes[v->in[k]].known;
    }
    made.position =
        x->position && is_wide_integer(v->dtype) && (v->op == KN_OP_CAST || v->op == KN_OP_COPY);
    if (v->op == KN_OP_SHR && x->position && small(ph, v->in[1], &shift))
        made.alike = shift < 5 ? least(1 << shift, ph->how.vec) : ph->how.vec;
    made.known = made.known || kn_is_lane_number(ph, lanes, i, &bits);
    return made;
}

static kn_lanes of_value(const kn_phase *ph, const kn_lanes *lanes, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    const int vec = ph->how.vec;
    const bool columns = ph->how.walk == KN_WALK_COLS;
    switch (v->kind) {
    case KN_V_CONST: return (kn_lanes){.alike = vec, .known = true};
    case KN_V_SCALAR:
    case KN_V_EXTENT: return (kn_lanes){.alike = vec};
    case KN_V_RESULT: return (kn_lanes){.alike = columns ? 1 : vec};
    case KN_V_INDEX:
        return (kn_lanes){.alike = kn_same_for_lanes(ph, v->access) ? vec : 1,
                          .position = kn_transfer_of(ph, i)->vector};
    case KN_V_RANK:
    case KN_V_LOAD: return (kn_lanes){.alike = kn_same_for_lanes(ph, v->access) ? vec : 1};
    case KN_V_ELEM: return of_operation(ph, lanes, i);
    case KN_V_GATHER:
    case KN_V_LOCAL: break;
    }
    return (kn_lanes){.alike = 1};
}

/* Below casts, is value i a position that counts along vectors? */
static bool is_position(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    while (kn_is_elem(v, KN_OP_CAST) || kn_is_elem(v, KN_OP_COPY)) {
        i = v->in[0];
        v = kn_value_at(ph, i);
    }
    return v->kind == KN_V_INDEX && kn_transfer_of(ph, i)->vector;
}

bool kn_shares_blocks(const kn_phase *ph)
{
    bool shares = false;
    int shift;
    for (int i = 0; i < ph->nest.values.len && ph->how.vec > 1; i++) {
        const kn_value *v = kn_value_at(ph, i);
        shares = shares || (kn_is_elem(v, KN_OP_SHR) && v->level == KN_ELEMENT &&
                            small(ph, v->in[1], &shift) && shift > 0 && is_position(ph, v->in[0]));
    }
    return shares;
}

const kn_lanes *kn_find_lanes(kn_arena *a, const kn_phase *ph)
{
    bool positions = false;
    for (int i = 0; i < ph->nest.values.len && ph->how.vec > 1; i++) {
        const kn_value *v = kn_value_at(ph, i);
        positions = positions || (v->kind == KN_V_INDEX && kn_transfer_of(ph, i)->vector);
    }
    if (!positions)
        return NULL;
    kn_lanes *lanes = KN_NEW_ARRAY(a, kn_lanes, ph->nest.values.len + 1);
    for (int i = 0; i < ph->nest.values.len; i++) {
        lanes[i] = of_value(ph, lanes, i);
        if (kn_kept(ph, i)) /* an element for each lane */
            lanes[i] = (kn_lanes){.alike = 1};
    }
    return lanes;
}
