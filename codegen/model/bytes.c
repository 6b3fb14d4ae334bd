/* What a phase moves between memory, the last cache and the multiprocessors. */
#include "codegen/model/model.h"

#include <math.h>
#include <stdlib.h>

#include "codegen/kir/rolled.h"
#include "codegen/kir/scatter_sum.h"

/* Bytes that DRAM moves for an element of an access, of this stride: of strided ones whole sectors. */
static double bytes_each(const kn_model *m, const kn_access *acc, double stride)
{
    double bytes = kn_bytes(m->k->bufs.data[acc->buf].dtype);
    return least(bytes * most(stride, 1), most(bytes, m->m->sector));
}

/* Do short rows lie along the members of a CPU's columns? Each is a line or two, which stay in the cache from member to member. */
static bool is_of_short_rows(const kn_model *m, const kn_phase *ph, const kn_access *acc)
{
    const int last = ph->nest.naxes - 1, group = ph->nest.ngroup - 1;
    const int bytes = kn_bytes(m->k->bufs.data[acc->buf].dtype);
    return m->target->sm == 0 && ph->how.walk == KN_WALK_COLS && last > group && group >= 0 &&
           llabs(acc->stride[last]) == 1 && llabs(acc->stride[group]) * bytes <= KN_NEAR_BYTES;
}

/* Of access i. */
static double stride_of(const kn_model *m, const kn_phase *ph, const kn_access *acc, int i)
{
    const int va = kn_phase_vector_axis(ph);
    if (va < 0 || kn_transpose_of(ph, i) || is_of_short_rows(m, ph, acc))
        return 1;
    const bool by_tiles = m->target->sm == 0 && kn_may_go_by_tiles(ph) && !ph->universal;
    return by_tiles && llabs(acc->stride[va - 1]) == 1 && acc->stride[va] != 0
               ? 1
               : (double)llabs(acc->stride[va]);
}

/* Bytes that DRAM moves for all that a value reads. Gathered elements are anywhere, except for neighbours along the
 * vector axis that the access itself keeps contiguous. */
static double bytes_read(const kn_model *m, const kn_phase *ph, int value)
{
    const kn_value *v = &ph->nest.values.data[value];
    kn_touched touched = kn_read_touches(m->k->arena, ph, value);
    double stride = stride_of(m, ph, v->access, value), sector = m->m->sector;
    double each = bytes_each(m, v->access, v->kind == KN_V_GATHER && stride == 0 ? sector : stride);
    double all = bytes_each(m, v->access, 1) * (double)touched.most;
    return least(each * (double)touched.steps, v->kind == KN_V_GATHER ? all : INFINITY);
}

/* How many steps through the axes [from, to) lie between elements that are neighbours in memory; 0: no axis has such. */
static double steps_between(const kn_phase *ph, const kn_access *acc, int from, int to)
{
    double steps = 1;
    for (int a = to - 1; a >= from; a--) {
        if (llabs(acc->stride[a]) == 1)
            return steps;
        steps *= (double)ph->nest.axes[a].extent;
    }
    return 0;
}

/* Is it a load by strides that no tile turns? */
static bool is_strided(const kn_model *m, const kn_phase *ph, int value)
{
    const int va = kn_phase_vector_axis(ph);
    return m->target->sm && va >= 0 && kn_value_at(ph, value)->kind == KN_V_LOAD &&
           llabs(kn_value_at(ph, value)->access->stride[va]) > 1 && !kn_transpose_of(ph, value);
}

/* Bytes that a unit could read while it looks up a line of its cache, one a cycle; and those of a line. */
enum { LOOKUP = 48, LINE = 128 };

/* How often blocks find an element in a sector that they have read: `most_often` at most, where neighbours in memory are so many
 * steps of a group's members apart. A step's threads share sectors, and the next step's find them if the cache has a line for each
 * of these members. */
static double shared_within_group(const kn_model *m, const kn_phase *ph, double between,
                                  double most_often, const kn_traffic *t)
{
    const double groups = most(1, (double)m->k->threads / ph->how.tpg);
    if (between * LINE * groups <= t->near)
        return most_often;
    return least(most_often, most(1, (double)ph->how.tpg * ph->how.vec / between));
}

/* Counts such a load, of `bytes` in whole sectors for each of its elements. Blocks come back to a sector that their unit's cache
 * still has, a flat walk also to one that the last cache has: between neighbours lie steps, of rows the members of a group, or groups,
 * of which a block takes several at a time. Returns the bytes of DRAM. */
static double share_sectors(const kn_model *m, const kn_phase *ph, int value, double bytes,
                            kn_traffic *t)
{
    const kn_access *acc = kn_value_at(ph, value)->access;
    const bool rows = ph->how.walk == KN_WALK_ROWS, flat = ph->how.walk == KN_WALK_FLAT;
    if (!is_strided(m, ph, value) || !(rows || flat))
        return bytes;
    const int groups = rows ? ph->nest.ngroup : ph->nest.naxes;
    const double members = steps_between(ph, acc, groups, ph->nest.naxes),
                 between = members > 0 ? members : steps_between(ph, acc, 0, groups),
                 stride = stride_of(m, ph, acc, value);
    const double at_once = (double)m->k->threads * (rows ? 1.0 / ph->how.tpg : ph->how.vec);
    if (between == 0)
        return bytes;
    const double one = bytes_each(m, acc, 1), each = bytes_each(m, acc, stride);
    const double in_blocks = members > 0 ? shared_within_group(m, ph, between, each / one, t)
                                         : least(each / one, most(1, at_once / between));
    const bool by_blocks = rows || between * m->m->sector > m->m->cache_bytes;
    const double dram = bytes / (by_blocks ? in_blocks : each / one);
    t->lookups += LOOKUP * bytes / each * least(1, stride * one / LINE);
    t->cache += bytes / in_blocks - dram;
    return dram;
}

/* Bytes that units could read while they look up what a sweep reads element by element though its lanes have vectors: neighbouring
 * lanes are a vector apart, so a warp's load reads as many lines for each element as a vector's worth of elements lies in. */
static double lookups_by_elements(const kn_model *m, const kn_phase *ph, int value)
{
    enum { LANES = 32 };
    const kn_access *acc = kn_value_at(ph, value)->access;
    const int va = kn_phase_vector_axis(ph);
    if (m->target->sm == 0 || ph->how.vec == 1 || va < 0 || llabs(acc->stride[va]) != 1 ||
        kn_value_at(ph, value)->level != KN_ELEMENT || kn_transfer_of(ph, value)->vector ||
        kn_transpose_of(ph, value) || kn_in_tile_of_rows(ph, value) || kn_is_hoisted(ph, value))
        return 0;
    const double span = (double)LANES * ph->how.vec * kn_bytes(m->k->bufs.data[acc->buf].dtype);
    const double lines = least(LANES, span / LINE);
    const double elements = (double)ph->nest.groups * (double)ph->nest.members;
    return LOOKUP * elements / LANES * most(0, lines - 1);
}

static double bytes_written(const kn_model *m, const kn_phase *ph, int store)
{
    const kn_access *acc = &ph->nest.stores.data[store].access;
    double total = bytes_each(m, acc, stride_of(m, ph, acc, ph->nest.values.len + store));
    for (int a = 0; a < ph->nest.naxes; a++)
        total *= acc->stride[a] ? (double)ph->nest.axes[a].extent : 1;
    return acc->split_stride ? total * (double)kn_parts_left(ph) : total;
}

double kn_model_compacting_blocks(const kn_phase *ph)
{
    return ceil((double)ph->nest.groups / kn_cols_width(ph));
}

double kn_model_part_found(const kn_phase *ph)
{
    return ph->how.scatter_sum ? kn_scatter_sum_part(ph, kn_cols_width(ph)) : 1;
}

/* Counts a read of an array of which `known` bytes were last touched `distance` bytes ago; negative: never. The cache
 * holds all of these up to the cache's size, and none from twice the size on. */
static void count_read(const kn_model *m, kn_traffic *t, double bytes, double known,
                       double distance, bool reversed)
{
    double cached = most(0, least(1, 2 - distance / m->m->cache_bytes));
    if (reversed) /* what was read last is read first, so the cache has the end of the stream */
        cached = most(cached, least(1, m->m->end_cached * m->m->cache_bytes / distance));
    cached = distance < 0 ? 0 : cached * least(bytes, known);
    t->memory += bytes - cached;
    t->cache += cached;
}

static int sweeps_of(const kn_phase *ph) { return ph->nest.nsweeps > 0 ? ph->nest.nsweeps : 1; }

/* What each sweep of the phase needs, found once for all that is asked of it. */
void kn_model_find_needs(kn_model *m, const kn_phase *ph)
{
    const int n = ph->nest.values.len;
    m->needs = KN_NEW_ARRAY(m->k->arena, bool, (int64_t)sweeps_of(ph) * n + 1);
    for (int sweep = 0; sweep < sweeps_of(ph); sweep++) {
        bool *need = m->needs + (int64_t)sweep * n;
        kn_phase_needs(ph, sweep, need);
        if (m->target->sm == 0) /* a CPU copies what is rolled, whatever finds the indices */
            kn_drop_rolled_indices(m->k->arena, ph, kn_phase_vector_axis(ph), sweep, need);
    }
}

void kn_model_at_sweep(kn_model *m, const kn_phase *ph, int sweep)
{
    m->need = m->needs + (int64_t)sweep * ph->nest.values.len;
}

bool kn_model_loads(const kn_model *m, const kn_phase *ph, int i, int sweep, const bool *done)
{
    const kn_value *v = &ph->nest.values.data[i];
    if (!kn_is_read(v) || done[i])
        return false;
    return v->level == KN_GROUP ? sweep == 0 : m->need[i];
}

bool kn_model_differs_by_group(const kn_model *m, const kn_phase *ph, int value)
{
    uint32_t groups = (1u << ph->nest.ngroup) - 1;
    return ph->nest.ngroup == 0 || kn_read_touches(m->k->arena, ph, value).axes & groups;
}

/* Of what goes through a tile of rows, by its bytes: how much more the runs of its groups read that begin within a sector,
 * whose rest another block reads. */
static double straddled(const kn_model *m, const kn_phase *ph, int value)
{
    const kn_access *acc = kn_value_at(ph, value)->access;
    const int bytes = kn_bytes(kn_value_at(ph, value)->dtype), last = ph->nest.ngroup - 1;
    const double groups =
        ph->how.tile ? (double)m->k->threads / ph->how.tpg : kn_groups_of_tile(ph);
    const double run = bytes * least(groups, (double)ph->nest.axes[last].extent);
    bool aligned = true;
    if (llabs(acc->stride[ph->nest.naxes - 1]) == ph->nest.axes[last].extent)
        return 0; /* the next member's begins where it ends */
    for (int a = 0; a < ph->nest.naxes; a++)
        aligned = aligned && (a == last || acc->stride[a] * bytes % (int64_t)m->m->sector == 0);
    return aligned ? most(m->m->sector / run, 1) - 1 : (m->m->sector - bytes) / run;
}

/* Counts a sweep's loads. What an earlier sweep of the phase has read is `distance_in_phase` bytes ago, those of the
 * groups worked on at a time. */
static void sweep_reads(kn_model *m, const kn_phase *ph, int sweep, double distance_in_phase,
                        kn_traffic *t)
{
    double swept = m->moved;
    kn_model_at_sweep(m, ph, sweep);
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        if (!kn_model_loads(m, ph, i, sweep, t->done))
            continue;
        int buf = v->access->buf;
        const double off_chip = 1 - kn_part_on_chip(m->k, ph, i);
        double bytes = share_sectors(m, ph, i, bytes_read(m, ph, i) * off_chip, t);
        t->lookups += lookups_by_elements(m, ph, i) * off_chip;
        double seen = m->seen[buf];
        bool earlier = !t->touched[buf] && seen >= 0;
        double distance = t->touched[buf] ? distance_in_phase : earlier ? swept - seen : -1;
        count_read(m, t, bytes, t->touched[buf] ? INFINITY : m->known[buf], distance,
                   earlier && sweep == 0 && m->reversed);
        if (!ph->how.mixed && kn_is_hoisted(ph, i))
            t->cache += bytes * (t->at_once - 1);
        else if (v->level == KN_ELEMENT && !kn_model_differs_by_group(m, ph, i))
            t->broadcast += bytes;
        if (kn_in_tile_of_rows(ph, i))
            t->cache += bytes * straddled(m, ph, i);
        t->done[i] = kn_kept(ph, i) || v->level == KN_GROUP || kn_in_tile_of_rows(ph, i);
        t->touched[buf] = true;
        m->own[buf] += bytes;
        m->moved += bytes;
    }
}

/* Counts what the edges of runs read again when all vectors of a group were, `distance` bytes ago: the sectors at both ends of
 * each run. Edges in one step are with the vectors. */
static void edges_read(const kn_model *m, const kn_phase *ph, double distance, kn_traffic *t)
{
    if (!kn_edges_in_a_loop(ph))
        return;
    const double runs = (double)ph->nest.groups * (double)kn_phase_runs(ph);
    for (int i = 0; i < ph->nest.values.len; i++)
        if (m->need[i] && kn_value_at(ph, i)->kind == KN_V_LOAD && kn_transfer_of(ph, i)->vector)
            count_read(m, t, 2 * m->m->sector * runs, INFINITY, distance, false);
}

static void sweep_writes(kn_model *m, const kn_phase *ph, int sweep, kn_traffic *t)
{
    int last = sweeps_of(ph) - 1;
    for (int i = 0; i < ph->nest.stores.len; i++) {
        const kn_store *st = &ph->nest.stores.data[i];
        if (st->sends || (st->stage < last ? st->stage : last) != sweep)
            continue;
        double bytes = bytes_written(m, ph, i);
        t->memory += bytes;
        t->written += bytes;
        m->moved += bytes;
        t->touched[st->access.buf] = true;
        m->own[st->access.buf] += bytes;
    }
}

/* Groups that the machine works on at a time. */
static double groups_at_once(const kn_model *m, const kn_phase *ph, const kn_occupancy *s)
{
    double side = ph->how.walk == KN_WALK_COLS  ? kn_cols_width(ph)
                  : ph->how.tpg < m->k->threads ? (double)m->k->threads / ph->how.tpg
                                                : 1;
    return most(1, s->blocks / s->waves) * side / (double)ph->num.splits;
}

/* A phase that has touched the buffer ends. */
static void leave(kn_model *m, int buf, double moved_before)
{
    if (m->touched[buf]) {
        m->seen[buf] = moved_before;
        m->known[buf] = m->own[buf];
    }
    m->touched[buf] = false;
    m->own[buf] = 0;
}

kn_traffic kn_model_traffic(kn_model *m, const kn_phase *ph, const kn_occupancy *s)
{
    kn_traffic t = {.at_once = least(groups_at_once(m, ph, s), (double)ph->nest.groups),
                    .near = m->m->near_bytes / s->blocks_a_unit - (double)m->k->shared,
                    .done = KN_NEW_ARRAY(m->k->arena, bool, ph->nest.values.len + 1),
                    .touched = m->touched};
    double part = t.at_once / (double)ph->nest.groups, before = m->moved;
    for (int sweep = 0; sweep < sweeps_of(ph); sweep++) {
        const double swept = m->moved;
        sweep_reads(m, ph, sweep, (swept - before) * part, &t);
        edges_read(m, ph, (m->moved - swept) * part, &t);
        sweep_writes(m, ph, sweep, &t);
    }
    /* broadcast arrays come from the last-level cache again for each group, unless the unit's own cache holds them */
    if (t.broadcast > m->m->near_bytes - (double)m->k->shared * s->blocks_a_unit)
        t.cache +=
            t.broadcast *
            ((ph->how.scatter_sum ? kn_model_compacting_blocks(ph) : (double)ph->nest.groups) - 1);
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_is_read(kn_value_at(ph, i)))
            leave(m, kn_value_at(ph, i)->access->buf, before);
    for (int i = 0; i < ph->nest.stores.len; i++)
        leave(m, ph->nest.stores.data[i].access.buf, before);
    return t;
}
