/* What a block of lanes computes, as a sequence of loops. A loop computes all arithmetic that needs no result of a call;
 * behind it come the calls whose operands are ready, then the next loop. What one of them leaves to another, to a
 * reduction or to a later sweep is in an array of the block. */
#include <string.h>

#include "codegen/emit/c/writer.h"

static const kn_value *value_at(const kn_c_writer *w, int v) { return &w->ph->nest.values.data[v]; }

/* Loads come first, before anything is stored. */
int kn_c_group_stage(const kn_value *v)
{
    return kn_has_access(v) && v->kind != KN_V_GATHER ? 0 : v->stage;
}

/* Dead code: clears `made` of values that nothing uses. */
static void drop_dead(const kn_c_writer *w, const kn_c_lanes *l, bool *made)
{
    const kn_phase *p = w->ph;
    bool *used = KN_NEW_ARRAY(w->a, bool, p->nest.values.len + 1);
    for (int s = 0; s < p->nest.stores.len; s++)
        if (p->nest.stores.data[s].kind != KN_STORE_PARTIAL)
            used[p->nest.stores.data[s].value] = true;
    for (int r = 0; r < p->nest.reds.len; r++)
        used[p->nest.reds.data[r].value] = true;
    for (int i = p->nest.values.len - 1; i >= 0 && !l->group; i--) {
        const kn_value *v = value_at(w, i);
        made[i] = made[i] && (used[i] || w->kept[i] >= 0);
        for (int k = 0; k < v->nin && made[i] && !w->rolled[i]; k++)
            used[v->in[k]] = true;
    }
}

static void find_made(kn_c_writer *w, const kn_c_lanes *l, bool *made)
{
    const kn_phase *p = w->ph;
    if (!l->group)
        kn_phase_needs(p, l->stage, made);
    for (int i = 0; i < p->nest.values.len; i++) {
        const kn_value *v = value_at(w, i);
        if (l->group)
            made[i] = w->needed[i] && kn_c_is_group(v) && v->kind != KN_V_RESULT &&
                      kn_c_group_stage(v) == l->stage;
        else
            made[i] =
                made[i] && !kn_c_is_group(v) && !kn_c_is_fixed(v) && !kn_c_is_kept(w, i, l->stage);
    }
    drop_dead(w, l, made);
}

/* May its operands differ from lane to lane? */
static bool has_lanes(const kn_c_writer *w, const kn_value *v)
{
    for (int k = 0; k < v->nin; k++)
        if (w->lane[v->in[k]])
            return true;
    return false;
}

static kn_c_way way_of(const kn_c_writer *w, int i)
{
    const kn_value *v = value_at(w, i);
    if (w->copy[i] >= 0)
        return KN_C_READ;
    bool walks = kn_has_access(v) && w->axis >= 0 && v->access->kind[w->axis] != KN_STRIDE_ZERO;
    if (!walks && !has_lanes(w, v))
        return KN_C_SAME;
    switch (v->kind) {
    case KN_V_LOAD: return KN_C_READ;
    case KN_V_GATHER: return has_lanes(w, v) ? KN_C_CALLED : KN_C_READ;
    case KN_V_INDEX: return KN_C_INLINE;
    default: break;
    }
    kn_dtype type = value_at(w, v->in[v->nin - 1])->dtype;
    return kn_c_is_inline(v->op, type, v->dtype) ? KN_C_INLINE : KN_C_CALLED;
}

/* The first loop in which value v can be used. */
static int ready(const kn_c_lanes *l, int v)
{
    return l->way[v] == KN_C_CALLED ? l->loop[v] + 1 : l->way[v] == KN_C_INLINE ? l->loop[v] : 0;
}

static void find_ways(kn_c_writer *w, kn_c_lanes *l)
{
    const int n = w->ph->nest.values.len;
    bool *made = KN_NEW_ARRAY(w->a, bool, n + 1);
    find_made(w, l, made);
    for (int i = 0; i < n; i++) {
        const kn_value *v = value_at(w, i);
        if (!made[i])
            continue;
        l->way[i] = way_of(w, i);
        for (int k = 0; k < v->nin && l->way[i] > KN_C_READ; k++) {
            int in = v->in[k];
            /* a call may follow another one without a loop in between */
            int at =
                l->way[i] == KN_C_CALLED && l->way[in] == KN_C_CALLED ? l->loop[in] : ready(l, in);
            l->loop[i] = at > l->loop[i] ? at : l->loop[i];
        }
    }
}

/* ---- stores and reductions ---- */

static bool stores_here(const kn_c_lanes *l, const kn_phase *p, const kn_store *s)
{
    switch (s->kind) {
    case KN_STORE_ELEMENT: return !l->group && s->stage == l->stage;
    case KN_STORE_GROUP: return l->group && s->stage == l->stage;
    default: return l->group && l->stage == p->nest.nsweeps;
    }
}

bool kn_c_is_folded(const kn_c_writer *w, const kn_c_lanes *l, int v)
{
    const kn_phase *p = w->ph;
    for (int r = 0; r < p->nest.reds.len && !l->group; r++) {
        const kn_red *red = &p->nest.reds.data[r];
        if (red->value == v && red->stage == l->stage && kn_c_owner(p, r) == r &&
            !kn_c_is_added(w, red))
            return true;
    }
    return false;
}

/* Can a call write value v where store s does? */
static bool can_write_through(const kn_c_writer *w, const kn_c_lanes *l, int v, const kn_store *s)
{
    return l->way[v] == KN_C_CALLED && !w->ordered && s->kind == KN_STORE_ELEMENT && !s->once &&
           w->kept[v] < 0 && l->through[v] < 0 && w->axis >= 0 &&
           (w->packed || s->access.kind[w->axis] == KN_STRIDE_ONE) &&
           (w->one_run || w->packed || !kn_c_is_folded(w, l, v));
}

static void place_stores(kn_c_writer *w, kn_c_lanes *l)
{
    const kn_phase *p = w->ph;
    int last = 0;
    for (int i = 0; i < p->nest.values.len; i++)
        last = l->way[i] > KN_C_READ && l->loop[i] > last ? l->loop[i] : last;
    for (int i = 0; i < p->nest.stores.len; i++) {
        const kn_store *s = &p->nest.stores.data[i];
        l->store_loop[i] = -1;
        if (!stores_here(l, p, s))
            continue;
        int v = s->kind == KN_STORE_PARTIAL ? -1 : s->value;
        if (v >= 0 && can_write_through(w, l, v, s)) {
            l->through[v] = i;
            continue;
        }
        l->store_loop[i] = v >= 0 ? ready(l, v) : 0;
        last = l->store_loop[i] > last ? l->store_loop[i] : last;
    }
    for (int r = 0; r < p->nest.reds.len && !l->group; r++)
        if (p->nest.reds.data[r].stage == l->stage && ready(l, p->nest.reds.data[r].value) > last)
            last = ready(l, p->nest.reds.data[r].value);
    l->loops = last + 1;
    for (int i = 0; i < p->nest.stores.len; i++)
        if (l->store_loop[i] >= 0 && w->ordered)
            l->store_loop[i] = last;
}

/* ---- arrays ---- */

/* Does v have lanes that a pointer can give to a function as they are? Not where a store may have been there before. */
static bool is_contiguous(const kn_c_writer *w, const kn_c_lanes *l, int v)
{
    return l->way[v] == KN_C_READ && !w->ordered && kn_c_is_adjacent(w, v);
}

static bool has_own_array(const kn_c_writer *w, const kn_c_lanes *l, int v)
{
    return l->way[v] == KN_C_ELSEWHERE && w->lane[v];
}

static void want_array(kn_c_writer *w, kn_c_lanes *l, int v)
{
    if (!has_own_array(w, l, v) && !kn_c_is_kept(w, v, l->stage))
        l->array[v] = true;
}

static void want_arrays(kn_c_writer *w, kn_c_lanes *l)
{
    const kn_phase *p = w->ph;
    for (int i = 0; i < p->nest.values.len; i++) {
        const kn_value *v = value_at(w, i);
        for (int k = 0; k < v->nin && l->way[i] > KN_C_READ; k++) {
            int in = v->in[k];
            bool other = l->way[in] == KN_C_INLINE && l->loop[in] < l->loop[i];
            bool called = l->way[i] == KN_C_CALLED && l->way[in] > KN_C_SAME &&
                          !(is_contiguous(w, l, in) && v->kind != KN_V_GATHER) &&
                          !(l->way[in] == KN_C_READ && v->kind == KN_V_GATHER);
            if (other || called)
                want_array(w, l, in);
        }
        if (l->way[i] == KN_C_CALLED || (l->way[i] && w->kept[i] >= 0) ||
            (l->way[i] && l->group && w->group_array[i] >= 0))
            l->array[i] = true;
        if (kn_c_is_folded(w, l, i) && !is_contiguous(w, l, i))
            want_array(w, l, i);
    }
    for (int i = 0; i < p->nest.values.len; i++)
        l->copied[i] = !w->one_run && kn_c_is_folded(w, l, i) && is_contiguous(w, l, i);
    for (int s = 0; s < p->nest.stores.len; s++) {
        const kn_store *st = &p->nest.stores.data[s];
        if (l->store_loop[s] >= 0 && st->kind != KN_STORE_PARTIAL &&
            l->way[st->value] == KN_C_INLINE &&
            (kn_c_is_guarded(st) || l->loop[st->value] < l->store_loop[s]))
            l->array[st->value] = true;
    }
}

/* The last loop, or call behind it, that uses v's array. */
static int last_use(const kn_c_writer *w, const kn_c_lanes *l, int v)
{
    const kn_phase *p = w->ph;
    int last = kn_c_is_folded(w, l, v) ? l->loops : l->loop[v];
    for (int i = 0; i < p->nest.values.len; i++)
        for (int k = 0; k < value_at(w, i)->nin && l->way[i] > KN_C_READ; k++)
            if (value_at(w, i)->in[k] == v && l->loop[i] > last)
                last = l->loop[i];
    for (int r = 0; r < p->nest.reds.len && !l->group; r++)
        if (p->nest.reds.data[r].value == v && p->nest.reds.data[r].stage == l->stage &&
            ready(l, v) > last)
            last = ready(l, v);
    for (int s = 0; s < p->nest.stores.len; s++)
        if (l->store_loop[s] >= 0 && p->nest.stores.data[s].kind != KN_STORE_PARTIAL &&
            p->nest.stores.data[s].value == v)
            last = kn_c_is_guarded(&p->nest.stores.data[s]) ? l->loops
                   : l->store_loop[s] > last                ? l->store_loop[s]
                                                            : last;
    return last;
}

/* An array is free again after the loop that uses its value last. */
static void assign_slots(kn_c_writer *w, kn_c_lanes *l)
{
    const int n = w->ph->nest.values.len;
    int *busy = KN_NEW_ARRAY(w->a, int, n + 1), used = 0; /* until which loop */
    for (int loop = 0; loop < l->loops; loop++)
        for (int v = 0; v < n; v++) {
            l->slot[v] = loop == 0 ? -1 : l->slot[v];
            int made = l->way[v] > KN_C_READ ? l->loop[v] : 0;
            if ((!l->array[v] && !l->copied[v]) || made != loop || l->through[v] >= 0 ||
                w->kept[v] >= 0)
                continue;
            if (l->group && w->group_array[v] >= 0) {
                l->slot[v] = w->group_array[v];
                continue;
            }
            /* what is folded when all runs of a block are there outlasts what each run puts into others */
            int slot = !w->one_run && kn_c_is_folded(w, l, v) ? used : 0;
            while (slot < used && busy[slot] >= loop)
                slot++;
            used = slot == used ? used + 1 : used;
            busy[slot] = last_use(w, l, v);
            l->slot[v] = w->group_arrays + slot;
        }
    w->slots = w->group_arrays + used > w->slots ? w->group_arrays + used : w->slots;
}

/* Can one loop take several members: is it all that a sweep does for them, and knows where they are? */
static bool takes_several(const kn_c_writer *w, const kn_c_lanes *l)
{
    const kn_phase *p = w->ph;
    if (w->mode != KN_C_COLS || l->group || w->ordered || p->nest.naxes == p->nest.ngroup)
        return false;
    for (int i = 0; i < p->nest.values.len; i++) {
        const kn_value *v = value_at(w, i);
        const bool plain = v->kind == KN_V_LOAD || v->kind == KN_V_INDEX ||
                           (v->kind == KN_V_ELEM &&
                            kn_c_is_inline(v->op, value_at(w, v->in[v->nin - 1])->dtype, v->dtype));
        if (l->way[i] && !plain)
            return false;
    }
    for (int s = 0; s < p->nest.stores.len; s++)
        if (stores_here(l, p, &p->nest.stores.data[s]) && kn_c_is_guarded(&p->nest.stores.data[s]))
            return false;
    for (int r = 0; r < p->nest.reds.len; r++)
        if (p->nest.reds.data[r].stage == l->stage && !kn_c_is_added(w, &p->nest.reds.data[r]))
            return false;
    return true;
}

/* What is the same for all lanes need not be so for all members. */
static void find_members(const kn_c_writer *w, kn_c_lanes *l)
{
    l->several = takes_several(w, l);
    for (int i = 0; i < w->ph->nest.values.len && l->several; i++)
        if (l->way[i] == KN_C_SAME)
            l->way[i] = kn_is_read(value_at(w, i)) ? KN_C_READ : KN_C_INLINE;
}

void kn_c_divide(kn_c_writer *w, bool group, int stage, kn_c_lanes *l)
{
    const int n = w->ph->nest.values.len + 1;
    *l = (kn_c_lanes){.group = group, .stage = stage};
    l->way = KN_NEW_ARRAY(w->a, kn_c_way, n);
    l->loop = KN_NEW_ARRAY(w->a, int, n);
    l->array = KN_NEW_ARRAY(w->a, bool, n);
    l->copied = KN_NEW_ARRAY(w->a, bool, n);
    l->slot = KN_NEW_ARRAY(w->a, int, n);
    l->through = KN_NEW_ARRAY(w->a, int, n);
    l->store_loop = KN_NEW_ARRAY(w->a, int, w->ph->nest.stores.len + 1);
    memset(l->through, -1, sizeof *l->through * (size_t)n);
    find_ways(w, l);
    find_members(w, l);
    place_stores(w, l);
    want_arrays(w, l);
    assign_slots(w, l);
}
