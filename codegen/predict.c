#include "codegen/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/grid.h"
#include "codegen/machine.h"

/* What a kernel is predicted with. */
typedef struct model {
    const kn_machine *m;
    const kn_target *target;
    const kn_kernel *k;
    double at_once; /* blocks that the machine has at a time */
    double moved;   /* bytes, so far */
    double *seen;   /* per buffer: of these, when it was last touched; -1: not yet */
    bool *need;     /* per value, of one sweep */
} model;

static double least(double x, double y) { return x < y ? x : y; }
static double most(double x, double y) { return x > y ? x : y; }

/* ---- what fits at a time ---- */

/* Registers that a thread takes, whatever it keeps besides. */
enum { OWN_REGISTERS = 32, UNIT_REGISTERS = 65536, UNIT_BLOCKS = 32, BLOCK_SHARED = 2048 };

static int registers(const kn_kernel *k)
{
    int largest = 0;
    for (int i = 0; i < k->phases.len; i++) {
        const kn_phase *ph = &k->phases.data[i];
        int words = 0;
        for (int v = 0; v < ph->values.len; v++)
            if (ph->values.data[v].kept == KN_KEEP_REGISTERS &&
                (ph->values.data[v].kind == KN_V_LOAD || ph->values.data[v].room == v))
                words += kn_kept_words(ph, v);
        largest = words > largest ? words : largest;
    }
    int bound = UNIT_REGISTERS / (k->bound ? k->bound : k->threads);
    return (int)least(OWN_REGISTERS + largest, bound);
}

/* Multiprocessors come in groups of 16 or 18; a cluster stays within one. */
static double at_once(const kn_kernel *k, const kn_target *target)
{
    enum { GROUP = 16 };
    const double units_a_group = 17.6;
    if (target->sm == 0)
        return target->units;
    int threads = k->threads * registers(k) <= UNIT_REGISTERS ? k->threads * registers(k) : 0;
    double fit = threads ? floor((double)UNIT_REGISTERS / threads) : 1;
    fit = least(fit, floor((double)target->max_threads_unit / k->threads));
    fit = least(fit, floor((double)target->smem_block / (double)(k->shared + BLOCK_SHARED)));
    fit = most(1, least(fit, UNIT_BLOCKS));
    int cluster = kn_kernel_cluster(k);
    if (cluster <= 2)
        return fit * target->units;
    double clusters = most(1, floor(GROUP * fit / cluster)) * target->units / units_a_group;
    return most(1, clusters) * cluster;
}

/* ---- bytes ---- */

/* Bytes that memory moves for all elements of an access. */
static double footprint(const model *m, const kn_phase *ph, const kn_access *acc)
{
    int va = kn_phase_vector_axis(ph);
    double bytes = kn_bytes(m->k->bufs.data[acc->buf].dtype);
    double apart = va < 0 || acc->turned ? 1 : (double)llabs(acc->stride[va]);
    double total = least(bytes * most(apart, 1), most(bytes, m->m->sector));
    for (int a = 0; a < ph->naxes; a++)
        total *= acc->stride[a] ? (double)ph->axes[a].extent : 1;
    return acc->split_stride ? total * (double)ph->splits : total;
}

/* Of what is read after so many bytes of other things, the part that the cache still has. */
static double part_cached(const model *m, double distance)
{
    return most(0, least(1, 2 - distance / m->m->cache_bytes));
}

/* Bytes from memory and from the cache. */
typedef struct traffic {
    double memory, cache;
} traffic;

static void read(const model *m, traffic *t, double bytes, double distance)
{
    double cached = distance < 0 ? 0 : part_cached(m, distance);
    t->memory += bytes * (1 - cached);
    t->cache += bytes * cached;
}

/* Is value i loaded from memory in the sweep that m->need is of? */
static bool is_loaded(const model *m, const kn_phase *ph, int i, int sweep, const bool *done)
{
    const kn_value *v = &ph->values.data[i];
    if (!kn_is_read(v) || done[i])
        return false;
    return v->level == KN_GROUP ? sweep == 0 : m->need[i];
}

/* What the sweeps read again is apart by what the groups that are worked on at a time have. */
static traffic phase_traffic(model *m, const kn_phase *ph, double groups_at_once)
{
    traffic t = {0};
    bool *done = KN_NEW_ARRAY(m->k->arena, bool, ph->values.len + 1);
    bool *here = KN_NEW_ARRAY(m->k->arena, bool, m->k->bufs.len + 1);
    double share = least(1, groups_at_once / most(1, (double)ph->groups * (double)ph->splits));
    double before = m->moved;
    for (int s = 0; s < ph->nsweeps || s == 0; s++) {
        double swept = m->moved;
        kn_phase_needs(ph, s, m->need);
        for (int i = 0; i < ph->values.len; i++) {
            const kn_value *v = &ph->values.data[i];
            if (!is_loaded(m, ph, i, s, done))
                continue;
            int buf = v->access.buf;
            double bytes = footprint(m, ph, &v->access);
            double distance = here[buf]           ? (m->moved - before) * share
                              : m->seen[buf] >= 0 ? swept - m->seen[buf]
                                                  : -1;
            read(m, &t, bytes, distance);
            done[i] = v->kept || v->level == KN_GROUP;
            here[buf] = true;
            m->moved += bytes;
        }
        for (int i = 0; i < ph->stores.len; i++) {
            const kn_store *st = &ph->stores.data[i];
            if ((st->stage < ph->nsweeps ? st->stage : ph->nsweeps - 1) != s && ph->nsweeps > 0)
                continue;
            double bytes = footprint(m, ph, &st->access);
            t.memory += bytes;
            m->moved += bytes;
            here[st->access.buf] = true;
        }
    }
    for (int b = 0; b < m->k->bufs.len; b++)
        if (here[b])
            m->seen[b] = before;
    return t;
}

/* ---- steps and instructions ---- */

/* Steps that a thread takes through what its block has of a group. */
static double steps(const kn_kernel *k, const kn_phase *ph)
{
    double members = (double)(ph->split || ph->cluster ? ph->chunk : ph->members);
    switch (ph->walk) {
    case KN_WALK_FLAT: return kn_flat_steps(ph);
    case KN_WALK_ROWS: {
        double n = ceil(members / ((double)ph->tpg * ph->vec));
        return ph->banded ? n * ceil((double)ph->chunk * ph->tpg / k->threads) : n;
    }
    case KN_WALK_COLS: return ceil(members / ph->tpg);
    }
    return 1;
}

/* Times that a thread waits for memory in a sweep: not at all where nothing is loaded. */
static double waits(const model *m, const kn_phase *ph, int sweep, const bool *done)
{
    int bytes = 0;
    for (int i = 0; i < ph->values.len; i++) {
        const kn_value *v = &ph->values.data[i];
        if (v->level == KN_ELEMENT && is_loaded(m, ph, i, sweep, done))
            bytes += kn_bytes(v->dtype) * ph->vec;
    }
    if (!bytes)
        return 0;
    double n = steps(m->k, ph);
    double together = ph->steps && !ph->banded ? n : kn_steps_at_once(bytes);
    return ph->fetched ? 1 : ceil(n / together);
}

static double combine(const model *m, const kn_phase *ph)
{
    return ph->cluster                                   ? m->m->cluster
           : ph->walk == KN_WALK_COLS || kn_by_block(ph) ? m->m->block
           : ph->tpg > 1                                 ? m->m->warp
                                                         : 0;
}

/* What a block waits for from its first load to its last store, with nobody in its way. */
static void turn(model *m, const kn_phase *ph, double turns, kn_time *time)
{
    bool *done = KN_NEW_ARRAY(m->k->arena, bool, ph->values.len + 1);
    for (int s = 0; s < ph->nsweeps; s++) {
        kn_phase_needs(ph, s, m->need);
        time->waits += turns * waits(m, ph, s, done) * m->m->latency;
        time->combines += kn_sweep_reduces(ph, s) ? turns * combine(m, ph) : 0;
        for (int i = 0; i < ph->values.len; i++)
            done[i] = done[i] || (m->need[i] && ph->values.data[i].kept);
    }
}

/* Additions that all sweeps take for an element. */
static double additions(model *m, const kn_phase *ph)
{
    enum { LOAD_COST = 2, REDUCE_COST = 2 };
    double sum = 0;
    for (int s = 0; s < ph->nsweeps; s++) {
        kn_phase_needs(ph, s, m->need);
        for (int i = 0; i < ph->values.len; i++) {
            const kn_value *v = &ph->values.data[i];
            bool kept = v->kept && (v->kind == KN_V_LOAD || s > v->since);
            if (!m->need[i] || v->level != KN_ELEMENT || kept)
                continue;
            double wide = v->dtype == KN_F64 ? m->m->wide : 1;
            sum += v->kind == KN_V_ELEM ? kn_ops[v->op].cost * wide : LOAD_COST;
        }
    }
    for (int i = 0; i < ph->reds.len; i++)
        sum += REDUCE_COST * (ph->reds.data[i].dtype == KN_F64 ? m->m->wide : 1);
    return sum;
}

/* ---- times ---- */

static kn_time phase_time(model *m, const kn_phase *ph)
{
    kn_time time = {.barriers = ph->barrier || ph->last_block ? m->m->grid : 0};
    if (ph->local || ph->groups == 0 || ph->members == 0)
        return time; /* on chip, a few elements */
    double blocks = (double)kn_grid_phase_blocks(ph, m->k->threads);
    if (ph->walk == KN_WALK_FLAT)
        blocks = ceil(blocks / kn_flat_steps(ph));
    if (m->target->sm == 0)
        blocks = most(1, (double)ph->groups * (double)ph->members / 16384);
    if (ph->last_block)
        blocks = 1;
    double busy = least(blocks, m->at_once), units = least(busy, m->target->units);
    double side = ph->walk == KN_WALK_COLS ? KN_COLS_LANES * ph->vec
                  : ph->tpg > 0            ? most(1, (double)m->k->threads / ph->tpg)
                                           : 1;
    traffic t = phase_traffic(m, ph, busy * side);
    double reach = units * m->m->unit;
    time.memory = t.memory / least(m->m->memory, reach);
    time.cache = t.cache / least(m->m->cache, reach);
    double waves = blocks / busy;
    turn(m, ph, ph->cluster || ph->split ? ceil(waves) : waves, &time);
    time.work = (double)ph->groups * (double)ph->members * additions(m, ph) / (m->m->adds * units);
    time.ns = most(time.memory + time.cache, most(time.waits + time.combines, time.work));
    time.ns += time.barriers;
    return time;
}

static void add(kn_time *sum, const kn_time *t)
{
    sum->ns += t->ns;
    sum->launch += t->launch;
    sum->memory += t->memory;
    sum->cache += t->cache;
    sum->waits += t->waits;
    sum->combines += t->combines;
    sum->work += t->work;
    sum->barriers += t->barriers;
}

kn_time kn_predict_kernel(const kn_kernel *k, const kn_target *target, kn_time *phases)
{
    model m = {.m = kn_machine_of(target), .target = target, .k = k};
    int values = 0;
    for (int i = 0; i < k->phases.len; i++)
        values = k->phases.data[i].values.len > values ? k->phases.data[i].values.len : values;
    m.need = KN_NEW_ARRAY(k->arena, bool, values + 1);
    m.seen = KN_NEW_ARRAY(k->arena, double, k->bufs.len + 1);
    for (int b = 0; b < k->bufs.len; b++)
        m.seen[b] = -1;
    m.at_once = at_once(k, target);
    kn_time sum = {.ns = m.m->launch, .launch = m.m->launch};
    for (int i = 0; i < k->phases.len; i++) {
        kn_time t = phase_time(&m, &k->phases.data[i]);
        if (phases)
            phases[i] = t;
        add(&sum, &t);
    }
    return sum;
}

double kn_predict_ns(const kn_plan *plan, const kn_target *target)
{
    double ns = 0;
    for (int i = 0; i < plan->kernels.len; i++)
        ns += kn_predict_kernel(plan->kernels.data[i], target, NULL).ns;
    return ns;
}

const char *kn_time_bound(const kn_time *t)
{
    const struct {
        double ns;
        const char *text;
    } parts[] = {{t->memory + t->cache, "memory"},
                 {t->waits + t->combines, "latency"},
                 {t->work, "instructions"},
                 {t->barriers, "barriers"},
                 {t->launch, "launch"}};
    size_t best = 0;
    for (size_t i = 1; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].ns > parts[best].ns)
            best = i;
    return parts[best].text;
}
