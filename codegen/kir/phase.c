#include "codegen/kir/phase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/integer.h"
#include "base/work.h"
#include "codegen/kir/call.h"

kn_phase kn_phase_copy(kn_arena *a, const kn_phase *p)
{
    kn_phase copy = *p;
    copy.nest = kn_nest_copy(a, &p->nest);
    copy.how = kn_schedule_copy(a, &p->how);
    kn_copy_vec(a, &copy.exports, &p->exports);
    return copy;
}

/* The number comes first, so that no value has the name of a parameter. */
const char *kn_value_name(kn_arena *a, const kn_phase *p, int value)
{
    const char *name = kn_value_at(p, value)->name;
    const char *number = kn_sprintf(a, name ? "v%d_" : "v%d", value);
    return name ? kn_identifier(a, number, name) : number;
}

kn_hold *kn_hold_value(kn_arena *a, kn_phase *p, int value, kn_keep where)
{
    int at = 0;
    while (at < p->how.holds.len && p->how.holds.data[at].value < value)
        at++;
    if (at == p->how.holds.len || p->how.holds.data[at].value != value) {
        kn_push(a, &p->how.holds, (kn_hold){0});
        kn_hold *from = &p->how.holds.data[at];
        memmove(from + 1, from, sizeof *from * (size_t)(p->how.holds.len - 1 - at));
    }
    p->how.holds.data[at] = (kn_hold){.value = value, .where = where, .room = value};
    return &p->how.holds.data[at];
}

void kn_release_value(kn_phase *p, int value)
{
    int kept = 0;
    for (int i = 0; i < p->how.holds.len; i++)
        if (p->how.holds.data[i].value != value)
            p->how.holds.data[kept++] = p->how.holds.data[i];
    p->how.holds.len = kept;
}

bool kn_reads_from(const kn_phase *p, int buf)
{
    for (int i = 0; i < p->nest.values.len; i++)
        if (kn_is_read(kn_value_at(p, i)) && kn_value_at(p, i)->access->buf == buf)
            return true;
    return false;
}

void kn_find_remote(const kn_phase *p, bool *remote)
{
    for (int i = 0; i < p->nest.values.len; i++) {
        const kn_value *v = kn_value_at(p, i);
        remote[i] = v->kind == KN_V_RANK;
        for (int k = 0; k < v->nin && v->level == KN_GROUP; k++)
            remote[i] =
                remote[i] || (remote[v->in[k]] && kn_value_at(p, v->in[k])->stage == v->stage);
    }
}

bool kn_is_passed_on(const kn_phase *p, const bool *remote, int value)
{
    bool read = false;
    for (int i = value + 1; i < p->nest.values.len && remote[value]; i++)
        for (int k = 0; k < kn_value_at(p, i)->nin; k++)
            read =
                read || (kn_value_at(p, i)->in[k] == value &&
                         (!remote[i] || kn_value_at(p, i)->stage != kn_value_at(p, value)->stage));
    for (int i = 0; i < p->nest.reds.len; i++)
        read = read || p->nest.reds.data[i].value == value;
    for (int i = 0; i < p->nest.stores.len; i++) {
        const kn_store *s = &p->nest.stores.data[i];
        read = read || (s->kind != KN_STORE_PARTIAL && s->value == value && !s->sends);
    }
    return read && remote[value];
}

bool kn_sends(const kn_phase *p, int buf)
{
    for (int i = 0; i < p->nest.stores.len; i++)
        if (p->nest.stores.data[i].access.buf == buf && p->nest.stores.data[i].sends)
            return true;
    return false;
}

bool kn_stores_to(const kn_phase *p, int buf)
{
    for (int i = 0; i < p->nest.stores.len; i++)
        if (p->nest.stores.data[i].access.buf == buf)
            return true;
    return false;
}

const kn_transpose *kn_transpose_of(const kn_phase *p, int i)
{
    const bool store = i >= p->nest.values.len;
    const int of = store ? i - p->nest.values.len : i;
    for (int j = 0; j < p->how.transposes.len; j++) {
        const kn_transpose *t = &p->how.transposes.data[j];
        if (t->store == store && t->of == of)
            return t;
    }
    return NULL;
}

bool kn_has_dense_tile(const kn_phase *p)
{
    bool dense = false;
    for (int i = 0; i < p->how.transposes.len; i++)
        dense = dense || p->how.transposes.data[i].dense;
    return dense;
}

bool kn_may_be_dense(const kn_phase *p, const kn_transpose *t)
{
    return p->how.walk == KN_WALK_COLS && !t->in_registers && p->how.tile >= p->nest.members &&
           p->num.splits <= 1 && kn_cols_width(p) * p->nest.members % t->vec == 0;
}

int kn_transpose_side(const kn_phase *p)
{
    int side = 1;
    for (int i = 0; i < p->how.transposes.len; i++) {
        const kn_transpose *t = &p->how.transposes.data[i];
        side = t->in_registers && t->vec > side ? t->vec : side;
    }
    return side;
}

bool kn_holds(const kn_phase *p, kn_keep where)
{
    for (int i = 0; i < p->how.holds.len; i++)
        if (p->how.holds.data[i].where == where)
            return true;
    return false;
}

bool kn_same_for_groups(const kn_phase *p, const kn_value *v)
{
    bool same = v->kind == KN_V_LOAD && v->level == KN_ELEMENT;
    for (int a = 0; a < p->nest.ngroup; a++)
        same = same && v->access->kind[a] == KN_STRIDE_ZERO;
    return same;
}

bool kn_is_hoisted(const kn_phase *p, int value)
{
    const bool stays = p->how.mixed || p->how.hoisted || (p->how.groups && !p->how.by_run);
    return stays && kn_kept(p, value) == KN_KEEP_REGISTERS &&
           kn_same_for_groups(p, kn_value_at(p, value));
}

bool kn_may_prefetch(const kn_phase *p, int value)
{
    enum { LEAST_COPY = 4 };
    const kn_value *v = kn_value_at(p, value);
    return v->kind == KN_V_LOAD && v->level == KN_ELEMENT && !kn_same_for_groups(p, v) &&
           (kn_transfer_of(p, value)->vector || p->how.vec == 1) && !kn_is_shifted(p, value) &&
           p->how.vec * kn_bytes(v->dtype) >= LEAST_COPY;
}

bool kn_is_prefetched(const kn_phase *p, int value)
{
    return p->how.mixed && p->how.prefetch && kn_kept(p, value) == KN_KEEP_REGISTERS &&
           kn_may_prefetch(p, value);
}

bool kn_is_prefetched_of_group(const kn_phase *p, int value)
{
    return ((p->how.mixed && p->how.prefetch) || p->how.groups) &&
           kn_value_at(p, value)->kind == KN_V_LOAD && kn_value_at(p, value)->level == KN_GROUP;
}

bool kn_may_batch_groups(const kn_phase *p)
{
    bool loads = false, taken = false; /* is what stays for all groups overwritten? */
    for (int i = 0; i < p->how.holds.len; i++) {
        const kn_hold *h = &p->how.holds.data[i];
        const bool load = kn_value_at(p, h->value)->kind == KN_V_LOAD;
        loads = loads || (load && h->where == KN_KEEP_REGISTERS);
        taken = taken || (!load && kn_same_for_groups(p, kn_value_at(p, h->room)));
    }
    return loads && !taken && p->how.walk == KN_WALK_ROWS && p->how.steps && !p->how.mixed &&
           !p->how.split && !p->how.cluster && !p->how.tile && !p->how.unaligned && !p->how.tail &&
           !kn_edges_in_one_step(p);
}

bool kn_is_shifted(const kn_phase *p, int value)
{
    const kn_transfer *by = kn_transfer_of(p, value);
    return by->vector && by->form >= KN_BY_SHIFT;
}

bool kn_is_assembled(const kn_phase *p)
{
    bool any = false;
    for (int i = 0; i < p->nest.values.len; i++)
        any = any || kn_is_shifted(p, i);
    return any;
}

int kn_bytes_in_flight(const kn_phase *p, int value)
{
    return kn_bytes(kn_value_at(p, value)->dtype) * p->how.vec * (kn_is_shifted(p, value) ? 2 : 1);
}

bool kn_may_batch(const kn_phase *p, int value)
{
    const kn_value *v = kn_value_at(p, value);
    const kn_transfer *by = kn_transfer_of(p, value);
    return v->kind == KN_V_LOAD && v->level == KN_ELEMENT && !kn_transpose_of(p, value) &&
           (by->vector || by->form == KN_BY_ELEMENTS || p->how.vec == 1);
}

bool kn_is_known_integer(const kn_phase *p, int value)
{
    const kn_value *v = kn_value_at(p, value);
    return v->level == KN_GROUP && v->stage == 0 && kn_is_elem(v, KN_OP_CAST) &&
           kn_is_int(kn_value_at(p, v->in[0])->dtype);
}

bool kn_begins_after_all(const kn_phase *p)
{
    return p->barrier || (p->how.last_block && !p->how.last_of_tile && !p->how.atomic);
}

int64_t kn_phase_vectors(const kn_phase *p, int64_t members)
{
    const int64_t run = p->nest.naxes ? p->nest.axes[p->nest.naxes - 1].extent : 0;
    if (!p->how.by_run || run == 0)
        return kn_ceil_div(members, p->how.vec);
    const double each = (double)kn_phase_whole(p) / p->how.vec + (double)kn_phase_edges(p);
    return (int64_t)ceil((double)members / (double)run * each);
}

int kn_phase_leader(const kn_phase *p)
{
    int leader = -1, narrowest = 0;
    for (int i = 0; i < kn_accesses(p); i++) {
        if (!kn_transfer_of(p, i)->vector)
            continue;
        const int value = i < p->nest.values.len ? i : kn_store_at(p, i)->value,
                  bytes = kn_bytes(kn_value_at(p, value)->dtype);
        if (leader < 0 || bytes < narrowest) {
            leader = i;
            narrowest = bytes;
        }
    }
    return leader;
}

bool kn_is_cyclic(const kn_phase *p)
{
    /* blocks share a cyclic partition, however many there are */
    return p->how.split && !p->how.tile && !kn_phase_in_order(p) && !kn_is_invariant(p);
}

int kn_members_interleaved(const kn_phase *p)
{
    const int64_t columns = p->nest.axes[p->nest.ngroup - 1].extent;
    if (columns < 1)
        return 0;
    const int64_t whole = p->how.vec / kn_common_divisor(columns, p->how.vec),
                  fit = (int64_t)p->how.lanes * p->how.vec / columns;
    return (int)(fit / whole * whole);
}

int64_t kn_phase_part(const kn_phase *p, int64_t blocks)
{
    int multiple = kn_phase_multiple(p);
    int64_t part = kn_ceil_div(kn_phase_counted(p), blocks);
    return kn_ceil_div(part, multiple) * multiple;
}

int64_t kn_steps_of_part(const kn_phase *p, int threads)
{
    int64_t rounds = kn_ceil_div(p->num.rounds, threads / p->how.tpg);
    return p->how.mixed ? rounds * p->how.steps
                        : kn_ceil_div(p->nest.members, p->num.splits * kn_phase_step(p));
}

int kn_steps_for(int bytes, int wanted)
{
    int steps = 1;
    while (steps < 8 && steps * 2 * bytes <= wanted)
        steps *= 2;
    return steps;
}

int kn_steps_at_once(int bytes) { return kn_steps_for(bytes, 64); }

/* Do threads have a few steps each, of columns that are not the kernel's only work, and store only results? Local ones are
 * partial results. */
static bool combines_few(const kn_phase *p)
{
    enum { FEW_STEPS = 16 };
    return p->how.walk == KN_WALK_COLS && p->nest.reds.len > 0 &&
           (p->local ||
            (!p->alone && !p->how.split && !p->how.tile && !p->how.interleaved &&
             p->nest.members <= FEW_STEPS * kn_phase_step(p) && !kn_phase_stores_elements(p)));
}

int kn_sweep_steps_at_once(const kn_phase *p, int bytes)
{
    /* More for one load a step; less for several, each of which needs accumulators of its own. Vectors of a local phase would
     * leave its host too few registers. */
    enum { LOAD = 16, OF_A_LOAD = 128, OF_SEVERAL = 64, OF_LOCAL_VECTORS = 32 };
    if (!combines_few(p))
        return kn_steps_at_once(bytes);
    return kn_steps_for(bytes, p->local && p->how.vec > 1 ? OF_LOCAL_VECTORS
                               : bytes <= LOAD            ? OF_A_LOAD
                                                          : OF_SEVERAL);
}

/* ---- dependences: which values sweeps and reductions need, and which phases must wait for others ---- */

/* Adds the operands of what is needed. A value kept since an earlier sweep needs none; sweep -1: nothing is kept yet. */
static void need_operands(const kn_phase *p, int sweep, bool *need)
{
    int last = p->nest.values.len - 1;
    while (last >= 0 && !need[last])
        last--;
    kn_work(1 + last / 8);
    for (int i = last; i >= 0; i--) { /* operands come before their users */
        const kn_value *v = &p->nest.values.data[i];
        if (!need[i] || v->nin == 0 || kn_is_found(p, i, sweep))
            continue;
        for (int k = 0; k < v->nin; k++)
            need[v->in[k]] = true;
    }
}

bool kn_phase_stores_elements(const kn_phase *p)
{
    for (int i = 0; i < p->nest.stores.len; i++)
        if (p->nest.stores.data[i].kind == KN_STORE_ELEMENT)
            return true;
    return false;
}

void kn_phase_takes(const kn_phase *p, int sweep, bool *taken)
{
    for (int i = 0; i < p->nest.values.len; i++)
        taken[i] = false;
    for (int i = 0; i < p->nest.reds.len; i++)
        if (p->nest.reds.data[i].stage == sweep)
            taken[p->nest.reds.data[i].value] = true;
    for (int i = 0; i < p->nest.stores.len; i++)
        if (p->nest.stores.data[i].kind == KN_STORE_ELEMENT &&
            p->nest.stores.data[i].stage == sweep)
            taken[p->nest.stores.data[i].value] = true;
}

void kn_phase_needs(const kn_phase *p, int sweep, bool *need)
{
    kn_phase_takes(p, sweep, need);
    need_operands(p, sweep, need);
}

void kn_value_needs(const kn_phase *p, int value, bool *need)
{
    for (int i = 0; i < p->nest.values.len; i++)
        need[i] = false;
    need[value] = true;
    need_operands(p, -1, need);
}

/* The axes along which a GATHER's indices vary: those of all that they are computed from. */
static uint32_t index_axes(kn_arena *a, const kn_phase *p, const kn_value *gather)
{
    const uint32_t groups = (1u << p->nest.ngroup) - 1;
    const kn_arena_mark here = kn_arena_here(a);
    bool *need = KN_NEW_ARRAY(a, bool, p->nest.values.len + 1);
    uint32_t axes = 0;
    for (int k = 0; k < gather->nin; k++) {
        kn_value_needs(p, gather->in[k], need);
        for (int i = 0; i < p->nest.values.len; i++) {
            const kn_value *v = &p->nest.values.data[i];
            if (need[i] && (v->kind == KN_V_RESULT || v->kind == KN_V_LOCAL))
                axes |= groups;
            for (int x = 0; x < p->nest.naxes && need[i] && kn_has_access(v); x++)
                axes |= v->access->stride[x] ? 1u << x : 0;
        }
    }
    kn_arena_back(a, here);
    return axes;
}

kn_touched kn_read_touches(kn_arena *a, const kn_phase *p, int value)
{
    const kn_value *v = &p->nest.values.data[value];
    kn_touched touched = {v->kind == KN_V_GATHER ? index_axes(a, p, v) : 0, 1, 1};
    for (int i = 0; i < p->nest.naxes; i++) {
        bool walked = v->access->stride[i] != 0;
        touched.axes |= walked ? 1u << i : 0;
        touched.steps =
            kn_capped_product(touched.steps, touched.axes >> i & 1 ? p->nest.axes[i].extent : 1);
        touched.most = kn_capped_product(touched.most, walked ? p->nest.axes[i].extent : 1);
    }
    for (int k = 0; v->kind == KN_V_GATHER && k < v->nin; k++)
        touched.most = kn_capped_product(touched.most, v->access->gathered[k].extent);
    return touched;
}

int kn_red_owner(const kn_phase *p, int red)
{
    const kn_red *of = &p->nest.reds.data[red];
    if (of->by)
        return red - of->carried;
    for (int r = 0; of->part != KN_PART_RESULT && r < p->nest.reds.len; r++) {
        const kn_red *own = &p->nest.reds.data[r];
        if (own->op == of->op && own->value == of->value && own->part == KN_PART_RESULT)
            return r;
    }
    return red;
}

int kn_red_stage(const kn_phase *p, int red)
{
    const kn_red *first = &p->nest.reds.data[kn_red_owner(p, red)];
    int stage = p->nest.values.data[p->nest.reds.data[red].value].stage;
    for (int c = 0; first->by && c < first->by->count; c++)
        if (p->nest.values.data[first[c].value].stage > stage)
            stage = p->nest.values.data[first[c].value].stage;
    return stage;
}

bool kn_phase_in_order(const kn_phase *p)
{
    for (int r = 0; r < p->nest.reds.len; r++)
        if (p->nest.reds.data[r].by && !p->nest.reds.data[r].by->commutes)
            return true;
    return false;
}

static void stage_values(kn_phase *ph)
{
    for (int i = 0; i < ph->nest.values.len; i++) {
        kn_value *v = &ph->nest.values.data[i];
        v->stage = v->kind == KN_V_RANK     ? v->stage
                   : v->kind == KN_V_RESULT ? kn_red_stage(ph, v->index) + 1
                                            : 0;
        for (int k = 0; k < v->nin; k++)
            if (ph->nest.values.data[v->in[k]].stage > v->stage)
                v->stage = ph->nest.values.data[v->in[k]].stage;
    }
}

/* What ranks exchange in one round they wait for once: when they have sent the last of it. Did that change a stage? */
static bool wait_together(kn_nest *nest)
{
    bool changed = false;
    for (int i = 0; i < nest->values.len; i++)
        for (int j = 0; j < nest->values.len && nest->values.data[i].kind == KN_V_RANK; j++) {
            kn_value *v = &nest->values.data[i];
            const kn_value *other = &nest->values.data[j];
            if (other->kind != KN_V_RANK || other->round != v->round ||
                nest->values.data[other->in[0]].stage <= v->stage)
                continue;
            v->stage = nest->values.data[other->in[0]].stage;
            changed = true;
        }
    return changed;
}

void kn_restage(kn_phase *ph)
{
    for (int i = 0; i < ph->nest.values.len; i++)
        if (ph->nest.values.data[i].kind == KN_V_RANK)
            ph->nest.values.data[i].stage = 0;
    do
        stage_values(ph);
    while (wait_together(&ph->nest));
    for (int r = 0; r < ph->nest.reds.len; r++)
        ph->nest.reds.data[r].stage = kn_red_stage(ph, r);
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (ph->nest.stores.data[i].kind != KN_STORE_PARTIAL)
            ph->nest.stores.data[i].stage =
                ph->nest.values.data[ph->nest.stores.data[i].value].stage;
}

kn_state kn_red_state(const kn_phase *p, int red)
{
    if (p->nest.reds.data[red].op == KN_OP_VAR)
        return KN_STATE_MOMENTS;
    if (p->nest.reds.data[red].by)
        return KN_STATE_USER;
    for (int r = 0; r < p->nest.reds.len; r++)
        if (p->nest.reds.data[r].part == KN_PART_EXPSUM && kn_red_owner(p, r) == red)
            return KN_STATE_PEAK;
    return KN_STATE_PLAIN;
}

bool kn_has_state(const kn_phase *p, kn_state state)
{
    for (int r = 0; r < p->nest.reds.len; r++)
        if (kn_red_state(p, r) == state)
            return true;
    return false;
}

bool kn_sweep_reduces(const kn_phase *p, int sweep)
{
    for (int i = 0; i < p->nest.reds.len; i++)
        if (p->nest.reds.data[i].stage == sweep && !p->nest.reds.data[i].across)
            return true;
    return false;
}

bool kn_stores_across(const kn_phase *p, const kn_store *s)
{
    return s->kind == KN_STORE_PARTIAL && p->nest.reds.data[s->value].across;
}

kn_written kn_nothing_written(kn_arena *a, int nbufs)
{
    return (kn_written){1, KN_NEW_ARRAY(a, int, nbufs + 1)};
}

static bool reads_written(const kn_phase *ph, const kn_written *written)
{
    for (int j = 0; j < ph->nest.values.len; j++)
        if (kn_is_read(&ph->nest.values.data[j]) &&
            written->at[ph->nest.values.data[j].access->buf] == written->since)
            return true;
    return false;
}

bool kn_phase_waits(const kn_phase *phases, int i, kn_written *written)
{
    bool waits = reads_written(&phases[i], written);
    for (int j = i - 1; j >= 0 && phases[j].local; j--)
        waits = waits || reads_written(&phases[j], written);
    written->since += waits;
    for (int j = 0; j < phases[i].nest.stores.len; j++)
        written->at[phases[i].nest.stores.data[j].access.buf] = written->since;
    return waits;
}

void kn_count_sweeps(kn_arena *a, kn_phase *ph)
{
    ph->nest.nsweeps = 0;
    for (int i = 0; i < ph->nest.reds.len; i++)
        if (ph->nest.reds.data[i].stage >= ph->nest.nsweeps)
            ph->nest.nsweeps = ph->nest.reds.data[i].stage + 1;
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (ph->nest.stores.data[i].kind == KN_STORE_ELEMENT &&
            ph->nest.stores.data[i].stage >= ph->nest.nsweeps)
            ph->nest.nsweeps = ph->nest.stores.data[i].stage + 1;
    bool *need = KN_NEW_ARRAY(a, bool, ph->nest.values.len + 1);
    for (int i = 0; i < ph->nest.values.len; i++)
        ph->nest.values.data[i].sweeps = 0;
    for (int t = 0; t < ph->nest.nsweeps; t++) {
        kn_phase_needs(ph, t, need);
        for (int i = 0; i < ph->nest.values.len; i++)
            ph->nest.values.data[i].sweeps += need[i];
    }
}

bool kn_sweep_stores_elements(const kn_phase *ph, int sweep)
{
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (ph->nest.stores.data[i].kind == KN_STORE_ELEMENT &&
            ph->nest.stores.data[i].stage == sweep)
            return true;
    return false;
}

/* A GATHER may use one as its index. */
bool kn_are_only_stored(const kn_phase *p, int sweep)
{
    bool only = !p->how.cluster && !p->local && sweep + 1 == p->nest.nsweeps;
    for (int i = 0; i < p->nest.values.len; i++)
        only = only && kn_value_at(p, i)->kind != KN_V_GATHER;
    return only;
}

/* Of columns, of which the members of a group have so many bytes. */
static int columns_of_tile(const kn_phase *p, int64_t bytes)
{
    enum { MOST = 1024, LEAST = 32, ROOM = 24 * 1024 };
    int columns = MOST;
    while (columns > LEAST && columns * bytes > ROOM)
        columns /= 2;
    return p->nest.axes[p->nest.ngroup - 1].extent >= LEAST && columns * bytes <= 8 * ROOM ? columns
                                                                                           : 0;
}

int kn_groups_of_tile(const kn_phase *p)
{
    enum { LINE = 64, ROOM = 512 * 1024 };
    int bytes = 0, narrowest = LINE / KN_LEAST_ROWS, least = 1;
    for (int i = 0; i < p->how.transposes.len; i++) {
        const kn_transpose *t = &p->how.transposes.data[i];
        const int each = kn_bytes(kn_transposed_type(p, t));
        bytes += each;
        narrowest = each < narrowest ? each : narrowest;
        if (llabs(kn_transposed_access(p, t)->stride[p->nest.ngroup - 1]) == 1)
            least = KN_LEAST_ROWS;
    }
    const int64_t members = p->how.split ? p->num.chunk : p->nest.members;
    int rows = LINE / narrowest;
    if (bytes && p->how.walk == KN_WALK_COLS)
        return columns_of_tile(p, members * bytes);
    while (rows > least && rows * members * bytes > ROOM)
        rows /= 2;
    return bytes && rows * members * bytes <= ROOM ? rows : 0;
}

bool kn_may_go_by_tiles(const kn_phase *p)
{
    enum { LEAST = 16 }; /* of a side */
    const int last = p->nest.naxes - 1;
    return p->how.walk == KN_WALK_FLAT && p->nest.ngroup == 0 && last >= 1 && !p->how.split &&
           p->nest.reds.len == 0 && p->nest.axes[last].extent >= LEAST &&
           p->nest.axes[last - 1].extent >= LEAST;
}
