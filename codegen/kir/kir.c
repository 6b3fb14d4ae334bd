#include "codegen/kir/kir.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/integer.h"
#include "base/work.h"
#include "codegen/kir/grid.h"

bool kn_kernel_cooperative(const kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++)
        if (k->phases.data[i].barrier)
            return true;
    return false;
}

bool kn_kernel_resident(const kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++)
        if (kn_phase_resident(&k->phases.data[i]))
            return true;
    return false;
}

bool kn_kernel_meets(const kn_kernel *k)
{
    return kn_kernel_cooperative(k) ||
           (k->phases.len > 0 && k->phases.data[k->phases.len - 1].how.last_block);
}

bool kn_kernel_in_clusters(const kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++)
        if (k->phases.data[i].how.cluster)
            return true;
    return false;
}

int kn_kernel_cluster(const kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++)
        if (k->phases.data[i].how.cluster)
            return (int)k->phases.data[i].num.splits;
    return 1;
}

int kn_first_local(const kn_kernel *k, int p)
{
    while (p > 0 && k->phases.data[p - 1].local)
        p--;
    return p;
}

const kn_value *kn_local_export(const kn_kernel *k, int p, int index, int *phase)
{
    for (int i = p - 1; i >= 0; i--) {
        const kn_phase *local = &k->phases.data[i];
        int export = index - local->first_export;
        if (!local->local || export < 0 || export >= local->exports.len)
            continue;
        *phase = i;
        return &local->nest.values.data[local->exports.data[export]];
    }
    return NULL;
}

bool kn_is_shared_local(const kn_kernel *k, int p)
{
    int host = p, local;
    while (k->phases.data[host].local)
        host++;
    bool shared = false;
    for (int i = host + 1; i < k->phases.len && !k->phases.data[p].nest.ngroup; i++)
        for (int v = 0; v < k->phases.data[i].nest.values.len; v++)
            shared = shared ||
                     (k->phases.data[i].nest.values.data[v].kind == KN_V_LOCAL &&
                      kn_local_export(k, i, k->phases.data[i].nest.values.data[v].index, &local) &&
                      local == p);
    return shared;
}

/* Gives a copied value an access of its own. */
static void copy_access(kn_arena *a, kn_value *v)
{
    if (!kn_has_access(v))
        return;
    kn_access *acc = KN_NEW(a, kn_access);
    *acc = *v->access;
    if (acc->place)
        acc->place = kn_alloc_copy(a, acc->place, sizeof *acc->place * (size_t)v->nin);
    v->access = acc;
}

int kn_nest_add(kn_arena *a, kn_nest *nest, kn_value v)
{
    copy_access(a, &v);
    for (int k = 0; k < v.nin; k++) {
        const kn_value *x = &nest->values.data[v.in[k]];
        v.stage = x->stage > v.stage ? x->stage : v.stage;
        v.level = x->level > v.level ? x->level : v.level;
    }
    kn_push(a, &nest->values, v);
    return nest->values.len - 1;
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

kn_phase kn_phase_copy(kn_arena *a, const kn_phase *p)
{
    kn_phase copy = *p;
    kn_copy_vec(a, &copy.nest.values, &p->nest.values);
    for (int i = 0; i < copy.nest.values.len; i++)
        copy_access(a, &copy.nest.values.data[i]);
    kn_copy_vec(a, &copy.nest.reds, &p->nest.reds);
    kn_copy_vec(a, &copy.nest.stores, &p->nest.stores);
    kn_copy_vec(a, &copy.exports, &p->exports);
    kn_copy_vec(a, &copy.how.holds, &p->how.holds);
    kn_copy_vec(a, &copy.how.loops, &p->how.loops);
    kn_copy_vec(a, &copy.how.transposes, &p->how.transposes);
    return copy;
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

int kn_transpose_side(const kn_phase *p)
{
    int side = 1;
    for (int i = 0; i < p->how.transposes.len; i++) {
        const kn_transpose *t = &p->how.transposes.data[i];
        side = t->in_registers && t->vec > side ? t->vec : side;
    }
    return side;
}

int kn_steps_for(int bytes, int wanted)
{
    int steps = 1;
    while (steps < 8 && steps * 2 * bytes <= wanted)
        steps *= 2;
    return steps;
}

int kn_steps_at_once(int bytes) { return kn_steps_for(bytes, 64); }

bool kn_may_batch(const kn_phase *p, int value)
{
    const kn_value *v = kn_value_at(p, value);
    return v->kind == KN_V_LOAD && kn_kept(p, value) != KN_KEEP_SHARED && v->level == KN_ELEMENT &&
           !kn_transpose_of(p, value) && (v->access->vector || p->how.vec == 1);
}

bool kn_is_known_integer(const kn_phase *p, int value)
{
    const kn_value *v = kn_value_at(p, value);
    return v->level == KN_GROUP && v->stage == 0 && kn_is_elem(v, KN_OP_CAST) &&
           kn_is_int(kn_value_at(p, v->in[0])->dtype);
}

bool kn_sums_atomically(const kn_phase *p)
{
    return p->nest.reds.len == 1 && p->nest.reds.data[0].atomic;
}

/* Numbers of pieces fit in 32 bits; more would only be dealt less evenly. */
static int64_t at_most(int64_t pieces)
{
    const int64_t most = 1 << 30;
    return pieces < most ? pieces : most;
}

bool kn_runs_beside(const kn_kernel *k, int p, kn_part_of_grid *part)
{
    const kn_phase *phases = k->phases.data;
    const bool by_pieces = kn_grid_at_once(k) && !kn_grid_persistent(k);
    int64_t (*pieces)(const kn_phase *, int) =
        by_pieces ? kn_grid_phase_share : kn_grid_phase_blocks;
    int next = p + 1;
    while (next < k->phases.len && phases[next].local)
        next++;
    *part = (kn_part_of_grid){.blocks = at_most(pieces(&phases[p], k->threads))};
    for (int i = p, beside = phases[p].how.beside; i > 0 && beside;) {
        if (phases[--i].local)
            continue;
        part->first = at_most(part->first + at_most(pieces(&phases[i], k->threads)));
        beside = phases[i].how.beside;
    }
    return phases[p].how.beside || (next < k->phases.len && phases[next].how.beside);
}

bool kn_begins_after_all(const kn_phase *p)
{
    return p->barrier || (p->how.last_block && !p->how.last_of_tile && !kn_sums_atomically(p));
}

bool kn_phase_resident(const kn_phase *p)
{
    for (int i = 0; i < p->how.holds.len; i++)
        if (p->how.holds.data[i].where == KN_KEEP_RESIDENT)
            return true;
    return false;
}

double kn_part_on_chip(const kn_kernel *k, const kn_phase *p, int value)
{
    const kn_hold *h = kn_hold_of(p, value);
    for (const kn_phase *q = k->phases.data; h && h->where == KN_KEEP_RESIDENT && q < p; q++)
        for (int i = 0; i < q->how.holds.len; i++) {
            const kn_hold *x = &q->how.holds.data[i];
            double steps = p->how.mixed ? (double)kn_steps_of_part(p, k->threads)
                                        : (double)p->num.chunk / kn_phase_step(p);
            if (x->where == KN_KEEP_RESIDENT && x->offset == h->offset)
                return (double)k->resident_steps < steps ? (double)k->resident_steps / steps : 1;
        }
    return 0;
}

int64_t kn_steps_of_part(const kn_phase *p, int threads)
{
    int64_t rounds = kn_ceil_div(p->num.chunk, threads / p->how.tpg);
    return p->how.mixed ? rounds * p->how.steps
                        : kn_ceil_div(p->nest.members, p->num.splits * kn_phase_step(p));
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
    return (p->how.mixed || p->how.hoisted) && kn_kept(p, value) == KN_KEEP_REGISTERS &&
           kn_same_for_groups(p, kn_value_at(p, value));
}

bool kn_is_cyclic(const kn_phase *p)
{
    return p->how.split && !p->how.tile && !kn_phase_in_order(p);
}

const char *kn_identifier(kn_arena *a, const char *prefix, const char *name)
{
    const size_t length = strlen(prefix), size = length + strlen(name) + 1;
    char *id = kn_alloc(a, size);
    memcpy(id, prefix, length);
    memcpy(id + length, name, size - length);
    for (char *c = id; *c; c++)
        if (!(*c == '_' || (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
              (*c >= 'A' && *c <= 'Z')))
            *c = '_';
    return id;
}

int64_t kn_phase_part(const kn_phase *p, int64_t blocks)
{
    int multiple = kn_phase_multiple(p);
    int64_t part = kn_ceil_div(p->nest.members + kn_phase_slack(p), blocks);
    return kn_ceil_div(part, multiple) * multiple;
}
