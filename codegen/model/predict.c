#include "codegen/model/predict.h"

#include <math.h>
#include <stdlib.h>

#include "codegen/kir/grid.h"
#include "codegen/kir/lanes.h"
#include "codegen/kir/precision.h"
#include "codegen/kir/scatter_sum.h"
#include "codegen/model/caches.h"
#include "codegen/model/machine.h"
#include "codegen/model/resources.h"

/* The state of a prediction of one kernel. */
typedef struct model {
    const kn_machine *m;
    const kn_target *target;
    const kn_kernel *k;
    double fit;    /* blocks that fit on a unit */
    double grid;   /* blocks of the launch */
    double rate;   /* DRAM bandwidth */
    double moved;  /* bytes moved so far */
    double *seen;  /* per buffer: `moved` when it was last touched; -1: not yet */
    double *known; /* per buffer: bytes of it that the phase moved which touched it last */
    bool *touched; /* per buffer: by this phase */
    double *own;   /* per buffer: bytes of it that this phase has moved */
    bool *needs;   /* per sweep and value of the phase: kn_phase_needs() */
    bool *need;    /* those of one sweep */
    bool reversed; /* the phase's first sweep is a reverse traversal */
    bool persistent;
} model;

/* How a phase is distributed over the machine. */
typedef struct spread {
    double blocks;
    double units; /* that have a block */
    double waves; /* at least 1; of the last block alone, the pieces of work that it takes */
    double blocks_a_unit; /* blocks on a unit at a time */
    bool cluster;
} spread;

static double least(double x, double y) { return x < y ? x : y; }
static double most(double x, double y) { return x > y ? x : y; }

/* Elements that a CPU thread takes at a time. */
enum { TASK = 16384 };

/* Blocks of an elementwise phase: each takes fewer steps than a thread unrolls before a unit is idle (kir/blocks.h). */
static double flat_blocks(const model *m, const kn_phase *ph)
{
    const double work = (double)kn_grid_phase_blocks(ph, m->k->threads);
    return most(ceil(work / ph->how.unroll), least(work, m->grid));
}

/* Multiprocessors come in groups (GPCs), some of 16 and some of 18, which clusters of more than two blocks do not
 * fill. */
static spread spread_of(const model *m, const kn_phase *ph)
{
    spread s = {.cluster = ph->how.cluster && ph->num.splits > 1, .units = m->target->units};
    double at_once = m->fit * s.units;
    s.blocks = ph->how.walk == KN_WALK_FLAT ? flat_blocks(m, ph)
                                            : (double)kn_grid_phase_blocks(ph, m->k->threads);
    if (m->target->sm == 0 && ph->nest.reds.len == 0)
        s.blocks = most(1, (double)ph->nest.groups * (double)ph->nest.members / TASK);
    else if (m->target->sm == 0)
        s.blocks = (double)ph->nest.groups * (double)ph->num.splits;
    const bool alone = ph->how.last_block && !ph->how.last_of_tile;
    const double turns = alone ? s.blocks : 1;
    if (alone)
        s.blocks = 1;
    if (s.cluster && ph->num.splits > 2) {
        double clusters = floor(m->m->group_fills * m->fit / (double)ph->num.splits);
        at_once = most(1, clusters * s.units / m->m->group) * (double)ph->num.splits;
        s.units *= m->m->group_fills / m->m->group;
    }
    if (s.cluster && ph->how.mixed) /* as many parts have groups as there are clusters at a time */
        s.blocks = least(s.blocks, floor(at_once));
    s.units = least(s.units, s.blocks);
    s.waves = most(turns, s.blocks / at_once);
    s.blocks_a_unit = most(1, least(s.blocks, at_once) / s.units);
    return s;
}

/* ---- bytes ---- */

/* Bytes that DRAM moves for an element of an access, of this stride: of strided ones whole sectors. */
static double bytes_each(const model *m, const kn_access *acc, double stride)
{
    double bytes = kn_bytes(m->k->bufs.data[acc->buf].dtype);
    return least(bytes * most(stride, 1), most(bytes, m->m->sector));
}

/* Of access i. */
static double stride_of(const kn_phase *ph, const kn_access *acc, int i)
{
    int va = kn_phase_vector_axis(ph);
    return va < 0 || kn_transpose_of(ph, i) ? 1 : (double)llabs(acc->stride[va]);
}

/* Bytes that DRAM moves for all that a value reads. Gathered elements are anywhere, except for neighbours along the
 * vector axis that the access itself keeps contiguous. */
static double bytes_read(const model *m, const kn_phase *ph, int value)
{
    const kn_value *v = &ph->nest.values.data[value];
    kn_touched touched = kn_read_touches(m->k->arena, ph, value);
    double stride = stride_of(ph, v->access, value), sector = m->m->sector;
    double each = bytes_each(m, v->access, v->kind == KN_V_GATHER && stride == 0 ? sector : stride);
    double all = bytes_each(m, v->access, 1) * (double)touched.most;
    return least(each * (double)touched.steps, v->kind == KN_V_GATHER ? all : INFINITY);
}

static double bytes_written(const model *m, const kn_phase *ph, int store)
{
    const kn_access *acc = &ph->nest.stores.data[store].access;
    double total = bytes_each(m, acc, stride_of(ph, acc, ph->nest.values.len + store));
    for (int a = 0; a < ph->nest.naxes; a++)
        total *= acc->stride[a] ? (double)ph->nest.axes[a].extent : 1;
    return acc->split_stride ? total * (double)kn_parts_left(ph) : total;
}

/* Of a scatter sum: blocks, or their parts, that test the places of all members. */
static double compacting_blocks(const kn_phase *ph)
{
    return ceil((double)ph->nest.groups / kn_cols_width(ph));
}

/* The part of the members whose steps a thread takes. */
static double part_found(const kn_phase *ph)
{
    return ph->how.scatter_sum ? kn_scatter_sum_part(ph, kn_cols_width(ph)) : 1;
}

/* Bytes moved by DRAM, and by the last-level cache instead; of both, those written. */
typedef struct traffic {
    double memory, cache, written;
    double broadcast; /* bytes that all groups share, read by each block */
    double at_once;   /* groups that the machine works on at a time */
    bool *done;       /* per value: it is not loaded again */
    bool *touched;    /* per buffer: in this phase */
} traffic;

/* The fraction of the last-level cache that still has the end of a stream when it is read in reverse, as far as both
 * sweeps are in step (measured: docs/lab/read-twice.md). */
static const double END_CACHED = 0.8;

/* Counts a read of an array of which `known` bytes were last touched `distance` bytes ago; negative: never. The cache
 * holds all of these up to the cache's size, and none from twice the size on. */
static void count_read(const model *m, traffic *t, double bytes, double known, double distance,
                       bool reversed)
{
    double cached = most(0, least(1, 2 - distance / m->m->cache_bytes));
    if (reversed) /* what was read last is read first, so the cache has the end of the stream */
        cached = most(cached, least(1, END_CACHED * m->m->cache_bytes / distance));
    cached = distance < 0 ? 0 : cached * least(bytes, known);
    t->memory += bytes - cached;
    t->cache += cached;
}

static int sweeps_of(const kn_phase *ph) { return ph->nest.nsweeps > 0 ? ph->nest.nsweeps : 1; }

/* What each sweep of the phase needs, found once for all that is asked of it. */
static void find_needs(model *m, const kn_phase *ph)
{
    const int n = ph->nest.values.len;
    m->needs = KN_NEW_ARRAY(m->k->arena, bool, (int64_t)sweeps_of(ph) * n + 1);
    for (int sweep = 0; sweep < sweeps_of(ph); sweep++)
        kn_phase_needs(ph, sweep, m->needs + (int64_t)sweep * n);
}

static void at_sweep(model *m, const kn_phase *ph, int sweep)
{
    m->need = m->needs + (int64_t)sweep * ph->nest.values.len;
}

/* Does this sweep, the one that m->need is of, load value i from memory? */
static bool is_loaded(const model *m, const kn_phase *ph, int i, int sweep, const bool *done)
{
    const kn_value *v = &ph->nest.values.data[i];
    if (!kn_is_read(v) || done[i])
        return false;
    return v->level == KN_GROUP ? sweep == 0 : m->need[i];
}

static bool differs_by_group(const model *m, const kn_phase *ph, int value)
{
    uint32_t groups = (1u << ph->nest.ngroup) - 1;
    return ph->nest.ngroup == 0 || kn_read_touches(m->k->arena, ph, value).axes & groups;
}

/* Counts a sweep's loads. What an earlier sweep of the phase has read is `distance_in_phase` bytes ago, those of the
 * groups worked on at a time. */
static void sweep_reads(model *m, const kn_phase *ph, int sweep, double distance_in_phase,
                        traffic *t)
{
    double swept = m->moved;
    at_sweep(m, ph, sweep);
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        if (!is_loaded(m, ph, i, sweep, t->done))
            continue;
        int buf = v->access->buf;
        double bytes = bytes_read(m, ph, i) * (1 - kn_part_on_chip(m->k, ph, i));
        double seen = m->seen[buf];
        bool earlier = !t->touched[buf] && seen >= 0;
        double distance = t->touched[buf] ? distance_in_phase : earlier ? swept - seen : -1;
        count_read(m, t, bytes, t->touched[buf] ? INFINITY : m->known[buf], distance,
                   earlier && sweep == 0 && m->reversed);
        if (ph->how.hoisted && kn_is_hoisted(ph, i))
            t->cache += bytes * (t->at_once - 1);
        else if (v->level == KN_ELEMENT && !differs_by_group(m, ph, i))
            t->broadcast += bytes;
        t->done[i] = kn_kept(ph, i) || v->level == KN_GROUP;
        t->touched[buf] = true;
        m->own[buf] += bytes;
        m->moved += bytes;
    }
}

static void sweep_writes(model *m, const kn_phase *ph, int sweep, traffic *t)
{
    int last = sweeps_of(ph) - 1;
    for (int i = 0; i < ph->nest.stores.len; i++) {
        const kn_store *st = &ph->nest.stores.data[i];
        if ((st->stage < last ? st->stage : last) != sweep)
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
static double groups_at_once(const model *m, const kn_phase *ph, const spread *s)
{
    double side = ph->how.walk == KN_WALK_COLS  ? kn_cols_width(ph)
                  : ph->how.tpg < m->k->threads ? (double)m->k->threads / ph->how.tpg
                                                : 1;
    return most(1, s->blocks / s->waves) * side / (double)ph->num.splits;
}

/* A phase that has touched the buffer ends. */
static void leave(model *m, int buf, double moved_before)
{
    if (m->touched[buf]) {
        m->seen[buf] = moved_before;
        m->known[buf] = m->own[buf];
    }
    m->touched[buf] = false;
    m->own[buf] = 0;
}

static traffic traffic_of(model *m, const kn_phase *ph, const spread *s)
{
    traffic t = {.at_once = least(groups_at_once(m, ph, s), (double)ph->nest.groups),
                 .done = KN_NEW_ARRAY(m->k->arena, bool, ph->nest.values.len + 1),
                 .touched = m->touched};
    double part = t.at_once / (double)ph->nest.groups, before = m->moved;
    for (int sweep = 0; sweep < sweeps_of(ph); sweep++) {
        sweep_reads(m, ph, sweep, (m->moved - before) * part, &t);
        sweep_writes(m, ph, sweep, &t);
    }
    /* broadcast arrays come from the last-level cache again for each group, unless the unit's own cache holds them */
    if (t.broadcast > m->m->near_bytes - (double)m->k->shared * s->blocks_a_unit)
        t.cache += t.broadcast *
                   ((ph->how.scatter_sum ? compacting_blocks(ph) : (double)ph->nest.groups) - 1);
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_is_read(kn_value_at(ph, i)))
            leave(m, kn_value_at(ph, i)->access->buf, before);
    for (int i = 0; i < ph->nest.stores.len; i++)
        leave(m, ph->nest.stores.data[i].access.buf, before);
    return t;
}

/* ---- steps and instructions ---- */

/* Mixed: how many times a block, or a cluster, takes as many groups as it works on at a time; else 1. */
static double rounds(const kn_kernel *k, const kn_phase *ph)
{
    return ph->how.mixed ? ceil((double)ph->num.rounds * ph->how.tpg / k->threads) : 1;
}

/* Steps of a thread through its block's part of a group. */
static double steps(const model *m, const kn_phase *ph)
{
    const kn_kernel *k = m->k;
    double members = (double)(ph->how.split || ph->how.cluster ? ph->num.chunk : ph->nest.members);
    switch (ph->how.walk) {
    case KN_WALK_FLAT:
        return ph->local ? 1
                         : ceil((double)kn_grid_phase_blocks(ph, k->threads) / flat_blocks(m, ph));
    case KN_WALK_ROWS: return ceil(members / kn_phase_step(ph)) * rounds(k, ph);
    case KN_WALK_COLS:
        return ph->how.scatter_sum ? ceil(members * part_found(ph))
                                   : ceil(members / kn_phase_step(ph));
    }
    return 1;
}

/* The same of a sweep over tiles: for each tile its transposed loads, and the direct ones too unless these are in flight
 * with them. 0: the sweep loads through none. */
static double waits_for_tiles(const model *m, const kn_phase *ph, int sweep, const bool *done)
{
    enum { STEPS = 2 }; /* at a time */
    bool any = false, direct = false;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_value_at(ph, i)->level == KN_ELEMENT && is_loaded(m, ph, i, sweep, done)) {
            any = any || kn_in_tile(kn_transpose_of(ph, i));
            direct = direct || !kn_transpose_of(ph, i);
        }
    const double members =
        (double)(ph->how.split || ph->how.cluster ? ph->num.chunk : ph->nest.members);
    const bool after = direct && !kn_loads_whole_tile(ph);
    return any ? ceil(members / ph->how.tile) *
                     (1 + after * ceil(kn_tile_steps(ph) / (double)STEPS))
               : 0;
}

/* Times that a thread waits for memory in a sweep: zero if it loads only what the groups of a block share. */
static double waits(const model *m, const kn_phase *ph, int sweep, const bool *done)
{
    int bytes = 0;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        if (v->level == KN_ELEMENT && is_loaded(m, ph, i, sweep, done) &&
            (kn_by_block(ph) || differs_by_group(m, ph, i)))
            bytes += kn_bytes(v->dtype) * ph->how.vec;
    }
    if (!bytes)
        return 0;
    const double tiles = waits_for_tiles(m, ph, sweep, done);
    if (tiles > 0)
        return tiles;
    double n = steps(m, ph);
    /* steps in registers are loaded together: all of a group's */
    double in_flight = ph->how.steps ? n / rounds(m->k, ph) : kn_steps_at_once(bytes);
    return ph->how.async ? 1 : ceil(n / in_flight);
}

/* Is value i loaded ahead in the first sweep, whichever needs it first? */
static bool loaded_ahead(const kn_phase *ph, int i)
{
    return kn_value_at(ph, i)->kind == KN_V_LOAD && kn_kept(ph, i) == KN_KEEP_REGISTERS;
}

static double combine(const model *m, const kn_phase *ph)
{
    return ph->how.cluster && ph->num.splits > 1
               ? m->m->cluster + m->m->peer * (double)ph->num.splits
           : kn_meets_in_block(ph) ? m->m->block
           : ph->how.tpg > 1       ? m->m->warp
                                   : 0;
}

/* Does it prefetch each group of a mixed phase but the first? */
static bool prefetches(const kn_phase *ph) { return ph->how.mixed && ph->how.prefetch; }

/* The fraction of its groups that a block waits for: only the first where the next is prefetched. */
static double waited(const model *m, const kn_phase *ph, const spread *s)
{
    return ph->how.hoisted ? 1 / s->waves : prefetches(ph) ? 1 / rounds(m->k, ph) : 1;
}

/* Times that a block combines what its threads have in a sweep: of mixed phases deferred ones together. */
static double combines_of(const model *m, const kn_phase *ph)
{
    return ceil(rounds(m->k, ph) / (ph->how.deferred ? ph->how.deferred : 1));
}

/* How often, one exchange behind the other, a group waits for other ranks. */
static int exchanges_of(const kn_phase *ph)
{
    int rounds = 0;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        bool first = v->kind == KN_V_RANK;
        for (int j = 0; j < i && first; j++)
            first = kn_value_at(ph, j)->kind != KN_V_RANK || kn_value_at(ph, j)->round != v->round;
        rounds += first;
    }
    return rounds;
}

/* Counts what a block waits for from its first load to its last store, and the part of it that blocks wait together. */
static void waits_of(model *m, const kn_phase *ph, const spread *s, kn_time *time)
{
    bool *done = KN_NEW_ARRAY(m->k->arena, bool, ph->nest.values.len + 1);
    double in_step = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        done[i] = kn_part_on_chip(m->k, ph, i) == 1 || (ph->how.hoisted && kn_is_hoisted(ph, i));
    for (int sweep = 0; sweep < ph->nest.nsweeps; sweep++) {
        at_sweep(m, ph, sweep);
        double times = waits(m, ph, sweep, done) * waited(m, ph, s);
        double combines = kn_sweep_reduces(ph, sweep) ? combine(m, ph) : 0;
        time->waits += s->waves * times * m->m->latency;
        time->combines += s->waves * combines * combines_of(m, ph);
        in_step += least(times, 1) * m->m->latency + combines;
        for (int i = 0; i < ph->nest.values.len; i++)
            done[i] = done[i] || (m->need[i] && kn_kept(ph, i)) || loaded_ahead(ph, i);
    }
    const double others = exchanges_of(ph) * m->m->ranks;
    time->combines += s->waves * others * combines_of(m, ph);
    in_step += others;
    time->in_step = in_step * most(1, least(s->waves, m->m->in_step) / s->blocks_a_unit);
    time->in_step +=
        s->waves * exchanges_of(ph) * m->m->rank * (s->cluster ? (double)ph->num.splits : 1);
}

/* Costs in additions, beside those of codegen/kir/precision.h: of an accumulation by its state, a step of a vector, and
 * locating it along a further axis. */
enum {
    DOUBLE = 2,   /* 64 bits relative to 32, but for functions */
    QUOTIENT = 8, /* the same of quotients and remainders of integers */
    PLAIN_COST = 2,
    MOMENTS_COST = 18,
    PEAK_COST = 12, /* of f32; of f64 its exponentials are exact */
    EXACT_PEAK_COST = 18,
    STEP_COST = 15,
    FULL_COST = 5,    /* of a step without a bounds check */
    GROUP_COST = 40,  /* of a group, to each thread that works on it */
    RANGE_COST = 20,  /* of what a block's warps have of it */
    SHUFFLE_COST = 4, /* of combining with another lane */
    ONCE = 2,         /* what a thread computes once a group, where nothing is in between */
    AXIS_COST = 38,
    COMPACT_COST = 12,   /* of testing a member's place */
    LANE_AXIS_COST = 10, /* of a lane of linear vectors */
    TILE_COST = 4,       /* of an element that goes through a tile, besides its load or store */
    TILE_STEP_COST = 12, /* of a vector between memory and the tile */
    TILE_START_COST = 80 /* of a thread's share of a tile, where blocks take one at a time */
};

static double accumulating(const kn_phase *ph, int red)
{
    if (kn_red_owner(ph, red) != red)
        return 0;
    kn_state state = kn_red_state(ph, red);
    return state == KN_STATE_MOMENTS ? MOMENTS_COST
           : state == KN_STATE_PEAK
               ? ph->nest.reds.data[red].dtype == KN_F32 ? PEAK_COST : EXACT_PEAK_COST
               : PLAIN_COST;
}

/* Is it another name for registers that are there: an integer in more or fewer bits, the upper half of 64? */
static bool is_renamed(const kn_phase *ph, const kn_value *v)
{
    const kn_value *x = v->kind == KN_V_ELEM ? kn_value_at(ph, v->in[0]) : v;
    const kn_value *by = kn_is_elem(v, KN_OP_SHR) ? kn_value_at(ph, v->in[1]) : NULL;
    if (!kn_is_int(v->dtype) || !kn_is_int(x->dtype))
        return false;
    return kn_is_elem(v, KN_OP_CAST) ||
           (by && by->kind == KN_V_CONST && kn_bytes(v->dtype) == 8 && by->value.i == 32);
}

/* What value i takes a lane: lanes that are alike share it, and what is known of them beforehand takes nothing. */
static double a_lane(const kn_phase *ph, const kn_lanes *lanes, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    bool chosen = kn_is_elem(v, KN_OP_WHERE) && lanes && lanes[v->in[0]].known;
    return !lanes ? 1 : lanes[i].known || chosen ? 0 : 1.0 / lanes[i].alike;
}

/* Has each lane of linear vectors to find the indices of its element? */
static bool finds_indices(const kn_phase *ph)
{
    bool finds = false;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = kn_any_access(ph, i);
        finds = finds || (acc && acc->axes && !acc->linear);
    }
    return finds;
}

/* What going through tiles takes an element. Of the last tile, and the last columns, only a part counts, but lanes go
 * through all of it. */
static double transposing(const model *m, const kn_phase *ph)
{
    if (!ph->how.tile)
        return 0;
    const int tile = ph->how.tile, width = kn_cols_width(ph);
    const double members = (double)ph->nest.members, groups = (double)ph->nest.groups;
    double sum = 0;
    for (int i = 0; i < ph->how.transposes.len; i++) {
        const kn_transpose *t = &ph->how.transposes.data[i];
        const int sweeps = t->store || kn_kept(ph, t->of) ? 1 : kn_value_at(ph, t->of)->sweeps;
        if (kn_in_tile(t))
            sum += sweeps * (TILE_COST + (double)TILE_STEP_COST / t->vec);
    }
    if (ph->nest.reds.len == 0) {
        const double share = least(members, (double)ph->num.chunk) * width / m->k->threads;
        sum += (TILE_START_COST + AXIS_COST * (ph->nest.ngroup - 1)) / most(1, share);
    }
    return sum * (double)kn_round_up(ph->nest.members, tile) / members *
           (double)kn_round_up(ph->nest.groups, width) / groups;
}

/* Additions an element in all sweeps. */
static double additions(model *m, const kn_phase *ph)
{
    const double unaligned_rows =
        1.2; /* the check whether a vector is the first or the last of a row */
    const kn_lanes *lanes = m->target->sm ? kn_find_lanes(m->k->arena, ph) : NULL;
    const bool *imprecise = m->target->sm ? kn_find_imprecise(m->k->arena, ph) : NULL;
    double sum = 0;
    for (int s = 0; s < ph->nest.nsweeps; s++) {
        at_sweep(m, ph, s);
        for (int i = 0; i < ph->nest.values.len; i++) {
            const kn_value *v = &ph->nest.values.data[i];
            if (!m->need[i] || v->level != KN_ELEMENT || kn_is_found(ph, i, s))
                continue;
            int cost = v->kind == KN_V_ELEM ? kn_ops[v->op].cost : KN_LOAD_COST;
            bool costly = cost > KN_FUNCTION_COST;
            double wide = v->dtype != KN_F64 ? 1 : costly ? m->m->wide : DOUBLE;
            if (m->target->sm && is_renamed(ph, v))
                continue;
            if (m->target->sm && v->kind == KN_V_ELEM && kn_is_int(v->dtype) &&
                kn_bytes(v->dtype) == 8)
                wide = costly ? QUOTIENT : DOUBLE;
            if (imprecise && kn_is_approximated_function(ph, imprecise, m->k->fast, i))
                wide /= KN_APPROXIMATED;
            sum += cost * wide * a_lane(ph, lanes, i);
        }
    }
    for (int i = 0; i < ph->nest.reds.len; i++)
        sum += accumulating(ph, i) * (ph->nest.reds.data[i].dtype == KN_F64 ? DOUBLE : 1);
    int more = kn_stepped_axes(ph) - 1;
    const double full = ph->how.full ? (double)ph->how.full / ph->how.steps : 0;
    double step = full * FULL_COST + (1 - full) * STEP_COST +
                  (ph->how.linear ? 0 : AXIS_COST * (more > 0 ? more : 0));
    sum += m->target->sm ? ph->nest.nsweeps * step / ph->how.vec : 0;
    sum += ph->how.linear ? LANE_AXIS_COST * more * finds_indices(ph) : 0;
    sum += m->target->sm ? transposing(m, ph) : 0;
    return ph->how.unaligned ? sum * unaligned_rows : sum;
}

/* Additions of each thread that works on a group of rows, once: its results' combines, and what is computed of them. */
static double additions_a_group(const kn_phase *ph)
{
    const int lanes = ph->how.tpg < 32 ? ph->how.tpg : 32;
    double sum = GROUP_COST, combine = SHUFFLE_COST * log2(lanes);
    if (kn_by_block(ph))
        combine = 2 * combine + RANGE_COST;
    for (int i = 0; i < ph->nest.reds.len; i++) {
        const bool plain = kn_red_state(ph, i) == KN_STATE_PLAIN;
        if (kn_red_owner(ph, i) == i)
            sum += combine * (plain ? 1 : 2);
    }
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        if (v->level == KN_GROUP && v->kind == KN_V_ELEM)
            sum += ONCE * kn_ops[v->op].cost;
    }
    return sum;
}

/* Additions of all threads. */
static double all_additions(model *m, const kn_phase *ph)
{
    double members = (double)ph->nest.members, testing = m->target->sm ? compacting_blocks(ph) : 1;
    const double groups = (double)ph->nest.groups;
    /* what divides a group waits for others, in the meantime */
    const bool rows = m->target->sm && ph->how.walk == KN_WALK_ROWS && !ph->how.mixed &&
                      !ph->how.cluster && !ph->how.split && !ph->how.last_block;
    return groups * members * part_found(ph) * additions(m, ph) +
           (rows ? groups * ph->how.tpg * additions_a_group(ph) : 0) +
           (ph->how.scatter_sum ? testing * members * COMPACT_COST : 0);
}

/* ---- times ---- */

/* Does a block wait for all of its group before it goes on? */
static bool keeps_loads(const kn_phase *ph)
{
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_kept(ph, i) && kn_kept(ph, i) != KN_KEEP_RESIDENT &&
            ph->nest.values.data[i].kind == KN_V_LOAD)
            return true;
    return false;
}

static double units_side(const kn_time *t)
{
    return most(most(t->transfer, t->work), t->waits + t->combines);
}

static double cubes(double x, double y) { return cbrt(x * x * x + y * y * y); }

/* Waves of blocks that wait for each other, in a cluster or at the next grid barrier. The last wave may have few
 * blocks, but takes at least as long as one of them. */
static double waves_until_all_are_done(const spread *s, const kn_time *t)
{
    double whole = floor(s->waves), left = s->waves - whole;
    double alone = most(t->waits, t->transfer / s->blocks_a_unit) + t->combines;
    double all = most(most(t->memory, t->cache), units_side(t));
    return left > 0 ? whole + most(left, least(1, alone / all)) : whole;
}

/* How much longer memory takes for columns that async copies bring: a tile's rows are pieces as long as it is wide,
 * or whole lines where L2 is asked to fetch the rest. */
static double column_slowdown(const model *m, const kn_phase *ph)
{
    const double line = 128;
    bool async_columns = ph->how.async && ph->how.walk == KN_WALK_COLS;
    return async_columns ? 1 + m->m->between / most(kn_reread_line(ph), line) : 1;
}

/* The next phase that is not local. */
static const kn_phase *host_of(const kn_phase *local)
{
    while (local->local)
        local++;
    return local;
}

static bool is_empty(const kn_phase *ph) { return ph->nest.groups == 0 || ph->nest.members == 0; }

/* What every block of the host does before it goes on: once, or for each of its groups. The waits of the first local
 * phase count twice, like those of a phase of one wave: on the units' side, and in step. The time of a grid barrier
 * includes one load and one combine, which is all that a few partial results take. */
static double local_time(model *m, const kn_phase *ph)
{
    const kn_phase *host = host_of(ph);
    spread s = spread_of(m, host);
    bool *done = KN_NEW_ARRAY(m->k->arena, bool, ph->nest.values.len + 1);
    if (ph->how.walk == KN_WALK_COLS) /* each step waits for the one before */
        return ph->nest.nsweeps * (steps(m, ph) * m->m->latency + m->m->block);
    const bool first = ph == m->k->phases.data || !ph[-1].local;
    if (!first && kn_by_a_warp(ph) && kn_by_a_warp(ph - 1))
        return 0; /* at the same time */
    double wait = first && host->barrier ? -m->m->latency - m->m->block : 0;
    for (int sweep = 0; sweep < ph->nest.nsweeps; sweep++) {
        at_sweep(m, ph, sweep);
        wait += waits(m, ph, sweep, done) * m->m->latency;
        wait += kn_sweep_reduces(ph, sweep) ? combine(m, ph) : 0;
    }
    double groups = ph->nest.ngroup ? most(1, (double)m->k->threads / ph->how.tpg) : 1;
    double idle = most(1, m->m->threads / (s.blocks_a_unit * m->k->threads));
    double work =
        s.blocks_a_unit * groups * (double)ph->nest.members * additions(m, ph) * idle / m->m->adds;
    return ((first ? 2 : 1) * most(0, wait) + work) * (ph->nest.ngroup ? s.waves : 1);
}

static kn_time phase_time(model *m, const kn_phase *ph)
{
    kn_time t = {.barriers = ph->how.last_block ? m->m->last : ph->barrier ? m->m->grid : 0};
    if (kn_begins_round(m->k, (int)(ph - m->k->phases.data)))
        t.barriers += m->m->grid + m->m->ranks;
    t.ns = t.barriers;
    if (is_empty(ph) || is_empty(host_of(ph)))
        return t;
    find_needs(m, ph);
    if (ph->local) {
        t.in_step = local_time(m, ph);
        t.ns += t.in_step;
        return t;
    }
    spread s = spread_of(m, ph);
    traffic bytes = traffic_of(m, ph, &s);
    double all = bytes.memory + bytes.cache, straggling = s.cluster ? m->m->stragglers : 1;
    t.memory = straggling * column_slowdown(m, ph) * bytes.memory / m->rate;
    t.cache = straggling * all / m->m->cache;
    t.transfer = all / (s.units * m->m->unit);
    double idle = most(1, m->m->threads / (s.blocks_a_unit * m->k->threads));
    t.work = all_additions(m, ph) * idle;
    t.work /= s.units * m->m->adds;
    t.machine =
        most(most(t.memory, t.cache), most(t.transfer, t.work) * s.units / m->target->units);
    double start = m->persistent ? 0 : m->m->start;
    t.starts = s.blocks / s.units * (s.cluster ? m->m->cluster_start : start);
    waits_of(m, ph, &s, &t);
    double before =
        keeps_loads(ph) ? t.transfer * (1 - bytes.written / all) * waited(m, ph, &s) : 0;
    t.waits += (t.work + before) / s.blocks_a_unit;
    if (s.cluster || ph->how.split) {
        double longer = waves_until_all_are_done(&s, &t) / s.waves;
        double *parts[] = {&t.memory, &t.cache,    &t.transfer, &t.work,
                           &t.waits,  &t.combines, &t.machine};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            *parts[i] *= longer;
    }
    t.ns += most(cubes(most(t.memory, t.cache), units_side(&t)), t.starts) + t.in_step;
    return t;
}

static void add(kn_time *sum, const kn_time *t)
{
    sum->ns += t->ns;
    sum->launch += t->launch;
    sum->memory += t->memory;
    sum->cache += t->cache;
    sum->transfer += t->transfer;
    sum->work += t->work;
    sum->starts += t->starts;
    sum->waits += t->waits;
    sum->combines += t->combines;
    sum->in_step += t->in_step;
    sum->barriers += t->barriers;
    sum->machine += t->machine;
}

/* What a block takes to find out whether it has a piece of a phase that runs beside others. */
enum { PART_NS = 100 };

/* A run of phases side by side: the longest wait among them, and the sum of their waits; a phase that only some blocks
 * have a piece of counts by these blocks' part of the grid. */
typedef struct run {
    double longest, sum;
    kn_dealing dealing;
} run;

/* What phase p waits, besides what the machine needs for it, longer than the phases before it in its run: a block waits
 * for each phase that it has a piece of. */
static double waits_beside(const model *m, int p, run *r, double waits)
{
    const double before = most(r->longest, r->sum);
    const bool parted = kn_runs_beside(m->k, p);
    kn_deal_to(&r->dealing, p);
    const double part = parted ? least(1, (double)r->dealing.blocks / m->grid) : 1;
    if (!m->k->phases.data[p].how.beside) {
        r->longest = waits;
        r->sum = waits * part;
        return waits + (parted ? PART_NS : 0);
    }
    if (!parted)
        return waits;
    r->longest = most(r->longest, waits);
    r->sum += waits * part;
    return most(r->longest, r->sum) - before + PART_NS;
}

kn_time kn_predict_kernel(const kn_kernel *k, const kn_target *target, kn_time *phases)
{
    model m = {.m = kn_machine_of(target), .target = target, .k = k};
    const kn_arena_mark here = kn_arena_here(k->arena);
    m.seen = KN_NEW_ARRAY(k->arena, double, k->bufs.len + 1);
    m.known = KN_NEW_ARRAY(k->arena, double, k->bufs.len + 1);
    m.touched = KN_NEW_ARRAY(k->arena, bool, k->bufs.len + 1);
    m.own = KN_NEW_ARRAY(k->arena, double, k->bufs.len + 1);
    for (int b = 0; b < k->bufs.len; b++)
        m.seen[b] = -1;
    m.fit = kn_blocks_a_unit(k, target);
    m.grid = kn_grid_all_blocks(k, (int)most(1, m.fit), target->units);
    m.persistent = kn_grid_persistent(k);
    const bool *backwards = target->sm != 0 ? kn_walks_backwards(k) : NULL;
    m.rate = kn_streams_through(k) ? m.m->stream : m.m->memory;
    kn_time sum = {.ns = m.m->launch, .launch = m.m->launch};
    run now = {.dealing = kn_deal(k)};
    for (int i = 0; i < k->phases.len; i++) {
        m.reversed = backwards && !k->phases.data[i].local && backwards[i];
        kn_time t = phase_time(&m, &k->phases.data[i]);
        if (!k->phases.data[i].local) {
            double waits = t.ns - t.machine;
            t.ns -= waits - waits_beside(&m, i, &now, waits);
        }
        if (phases)
            phases[i] = t;
        add(&sum, &t);
    }
    kn_arena_back(k->arena, here);
    return sum;
}

double kn_predict_ns(kn_kernel *const *kernels, int n, const kn_target *target)
{
    double ns = 0;
    for (int i = 0; i < n; i++)
        ns += kn_predict_kernel(kernels[i], target, NULL).ns;
    return ns;
}

const char *kn_time_bound(const kn_time *t)
{
    const struct {
        double ns;
        const char *text;
    } parts[] = {{t->memory, "memory"},     {t->cache, "cache"},
                 {t->work, "instructions"}, {t->waits + t->combines, "latency"},
                 {t->transfer, "transfer"}, {t->starts, "starts"},
                 {t->barriers, "barriers"}, {t->launch, "launch"}};
    size_t best = 0;
    for (size_t i = 1; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].ns > parts[best].ns)
            best = i;
    return parts[best].text;
}
