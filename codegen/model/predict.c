#include "codegen/model/predict.h"

#include <math.h>
#include <stdlib.h>

#include "codegen/kir/grid.h"
#include "codegen/model/caches.h"
#include "codegen/model/model.h"
#include "codegen/model/resources.h"

/* Elements that a CPU thread takes at a time. */
enum { TASK = 16384 };

/* Blocks of an elementwise phase: each takes fewer steps than a thread unrolls before a unit is idle (kir/blocks.h). */
static double flat_blocks(const kn_model *m, const kn_phase *ph)
{
    const double work = (double)kn_grid_phase_blocks(ph, m->k->threads);
    return most(ceil(work / ph->how.unroll), least(work, m->grid));
}

/* Multiprocessors come in groups (GPCs), some of 16 and some of 18, which clusters of more than two blocks do not
 * fill. */
static kn_occupancy occupancy_of(const kn_model *m, const kn_phase *ph)
{
    kn_occupancy s = {.cluster = ph->how.cluster && ph->num.splits > 1, .units = m->target->units};
    double at_once = m->fit * s.units;
    s.blocks = ph->how.walk == KN_WALK_FLAT ? flat_blocks(m, ph)
                                            : (double)kn_grid_phase_blocks(ph, m->k->threads);
    if (m->target->sm == 0 && ph->nest.reds.len == 0)
        s.blocks = most(1, (double)ph->nest.groups * (double)ph->nest.members / TASK);
    else if (m->target->sm == 0)
        s.blocks =
            ceil((double)ph->nest.groups / (ph->how.walk == KN_WALK_COLS ? KN_CPU_COLUMNS : 1)) *
            (double)ph->num.splits;
    const bool alone = ph->how.last_block && !ph->how.last_of_tile;
    const double turns = alone ? s.blocks : 1;
    if (alone)
        s.blocks = 1;
    if (s.cluster && ph->num.splits > 2) {
        /* of groups the last, of half as many, has no room for more than 8 blocks */
        const double groups = most(1, s.units / m->m->group),
                     units = least(s.units, m->m->group_fills);
        const double clusters = floor(units * m->fit / (double)ph->num.splits) *
                                (ph->num.splits > 8 ? floor(groups) : groups);
        at_once = most(1, floor(clusters)) * (double)ph->num.splits;
        s.units *= m->m->group_fills / m->m->group;
    }
    if (s.cluster && ph->how.mixed) /* as many parts have groups as there are clusters at a time */
        s.blocks = least(s.blocks, floor(at_once));
    s.units = least(s.units, s.blocks);
    s.waves = most(turns, s.blocks / at_once);
    s.blocks_a_unit = most(1, least(s.blocks, at_once) / s.units);
    return s;
}

/* ---- steps and waits ---- */

/* Mixed: how many times a block, or a cluster, takes as many groups as it works on at a time; else 1. */
static double rounds(const kn_kernel *k, const kn_phase *ph)
{
    return ph->how.mixed ? ceil((double)ph->num.rounds * ph->how.tpg / k->threads) : 1;
}

/* Steps of a thread through its block's part of a group. */
static double steps(const kn_model *m, const kn_phase *ph)
{
    const kn_kernel *k = m->k;
    double members = (double)(ph->how.split || ph->how.cluster ? ph->num.chunk : ph->nest.members);
    switch (ph->how.walk) {
    case KN_WALK_FLAT:
        return ph->local ? 1
                         : ceil((double)kn_grid_phase_blocks(ph, k->threads) / flat_blocks(m, ph));
    case KN_WALK_ROWS:
        return ceil((double)kn_phase_vectors(ph, (int64_t)members) / ph->how.tpg) * rounds(k, ph);
    case KN_WALK_COLS:
        return ph->how.scatter_sum ? ceil(members * kn_model_part_found(ph))
                                   : ceil(members / kn_phase_step(ph));
    }
    return 1;
}

/* The same of a sweep over tiles: for each tile its transposed loads, and the direct ones too unless these are in flight
 * with them, as those that go on to shared memory are not. 0: the sweep loads through none. */
static double waits_for_tiles(const kn_model *m, const kn_phase *ph, int sweep, const bool *done)
{
    enum { STEPS = 2, STEPS_TO_SHARED = 4 }; /* at a time */
    bool any = false, direct = false, shared = false;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_value_at(ph, i)->level == KN_ELEMENT && kn_model_loads(m, ph, i, sweep, done)) {
            any = any || (ph->how.tile && kn_in_tile(kn_transpose_of(ph, i)));
            direct = direct || !kn_transpose_of(ph, i);
            shared = shared || (!kn_transpose_of(ph, i) && kn_kept(ph, i) == KN_KEEP_SHARED);
        }
    const double members =
        (double)(ph->how.split || ph->how.cluster ? ph->num.chunk : ph->nest.members);
    const bool after = direct && (shared || !kn_loads_whole_tile(ph));
    const double steps = least(kn_tile_steps(ph), ceil(members / ph->how.tpg));
    return any ? ceil(members / ph->how.tile) *
                     (1 + after * ceil(steps / (shared ? STEPS_TO_SHARED : STEPS)))
               : 0;
}

/* Before the first sweep: for each batch of its loads to a tile of rows, with which those that registers hold are in flight. */
static double waits_for_tile_of_rows(const kn_phase *ph)
{
    double waits = 0;
    for (int i = 0; i < ph->how.transposes.len && ph->how.walk == KN_WALK_ROWS && ph->how.tile;
         i++) {
        const int bytes = kn_bytes(kn_transposed_type(ph, &ph->how.transposes.data[i]));
        waits += (double)kn_ceil_div(kn_ceil_div(ph->nest.members, ph->how.tpg),
                                     kn_tile_batch(ph, bytes));
    }
    return waits > 0 && ph->how.steps ? waits - 1 : waits;
}

/* Steps whose loads are in flight together where all are written out, of a thread's n: what is held is loaded before the first
 * of its group. */
static double steps_in_flight(const kn_model *m, const kn_phase *ph, int sweep, const bool *done,
                              double n)
{
    int bytes = 0, words = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_value_at(ph, i)->level == KN_ELEMENT && kn_model_loads(m, ph, i, sweep, done) &&
            kn_may_batch(ph, i) && !kn_kept(ph, i)) {
            bytes += kn_bytes_in_flight(ph, i);
            words += kn_vector_words(ph, i);
        }
    const double of_group = n / rounds(m->k, ph);
    return bytes && ph->how.mixed
               ? of_group / ceil(of_group / kn_all_steps_at_once(ph, bytes, words))
               : of_group;
}

/* Times that a thread waits for memory in a sweep: zero if it loads only what the groups of a block share. */
static double waits(const kn_model *m, const kn_phase *ph, int sweep, const bool *done)
{
    int bytes = 0;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        if (v->level == KN_ELEMENT && kn_model_loads(m, ph, i, sweep, done) &&
            (kn_by_block(ph) || kn_model_differs_by_group(m, ph, i)))
            bytes += kn_bytes_in_flight(ph, i);
    }
    const bool edges = kn_edges_in_a_loop(ph); /* loaded behind the vectors, by each sweep */
    if (!bytes)
        return edges;
    const double tiles = waits_for_tiles(m, ph, sweep, done);
    if (tiles > 0)
        return tiles;
    double n = steps(m, ph);
    double in_flight =
        ph->how.steps ? steps_in_flight(m, ph, sweep, done, n) : kn_sweep_steps_at_once(ph, bytes);
    return ph->how.async ? 1 : ceil(n / in_flight) + edges;
}

/* Is value i loaded ahead in the first sweep, whichever needs it first? */
static bool loaded_ahead(const kn_phase *ph, int i)
{
    return kn_value_at(ph, i)->kind == KN_V_LOAD && kn_kept(ph, i) == KN_KEEP_REGISTERS;
}

/* What a sweep takes to combine the columns of a block: the barriers of each run of alike reductions, of which the first
 * waits for the slowest warp, and shared memory's time for what its threads store. */
static double combine_columns(const kn_model *m, const kn_phase *ph, int sweep)
{
    const double again = 0.5,
                 values = 4096; /* which take shared memory as long as the first barriers */
    int runs = 0;
    for (int r = 0, end; r < ph->nest.reds.len; r = end) {
        end = kn_combined_columns_end(ph, sweep, r, m->k->threads);
        runs += kn_red_accumulates(ph, r, sweep);
    }
    return m->m->block * (1 + again * (runs - 1) + runs * m->k->threads * ph->how.vec / values);
}

/* Mixed: what all blocks take at the end of their parts, when memory is idle, to combine what rows of threads have accumulated
 * across groups: two barriers for what they store at a time, and shared memory's time for all of it. */
static double combine_across(const kn_model *m, const kn_phase *ph)
{
    const double again = 0.5,
                 bytes = 8 * 1024; /* which take shared memory as long as the first barriers */
    double sum = 0;
    for (int r = 0; r < ph->nest.reds.len && ph->how.tpg < m->k->threads; r++) {
        if (!ph->nest.reds.data[r].across)
            continue;
        const int steps = kn_across_steps_at_once(ph, r, m->k->threads);
        sum += (sum > 0 ? again : 1) + again * (ph->how.steps / steps - 1) +
               ph->how.steps * kn_across_bytes(ph, r, m->k->threads) / bytes;
    }
    return m->m->block * sum;
}

/* What a sweep takes to combine what threads have accumulated. */
static double combine(const kn_model *m, const kn_phase *ph, int sweep)
{
    const bool cluster = ph->how.cluster && ph->num.splits > 1, block = kn_meets_in_block(ph);
    const bool cols = block && ph->how.walk == KN_WALK_COLS && !ph->how.packed && !ph->local;
    const double exchange = cluster ? m->m->cluster + m->m->peer * (double)ph->num.splits : 0;
    if (!kn_sweep_reduces(ph, sweep))
        return 0;
    return cols              ? exchange + combine_columns(m, ph, sweep)
           : cluster         ? exchange
           : block           ? m->m->block
           : ph->how.tpg > 1 ? m->m->warp
                             : 0;
}

/* Does it prefetch each group of a mixed phase but the first? */
static bool prefetches(const kn_phase *ph) { return ph->how.mixed && ph->how.prefetch; }

/* The fraction of its groups that a block waits for in a sweep: only the first where the next is prefetched, and one of each batch
 * of groups, whose loads come first. */
static double waited(const kn_model *m, const kn_phase *ph, const kn_occupancy *s, int sweep)
{
    const double together = sweep == 0 && ph->how.groups ? least(ph->how.groups, s->waves) : 1;
    return (ph->how.hoisted ? 1 / s->waves : prefetches(ph) ? 1 / rounds(m->k, ph) : 1) / together;
}

/* Times that a block combines what its threads have in a sweep: of mixed phases deferred ones together. */
static double combines_of(const kn_model *m, const kn_phase *ph)
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
static void waits_of(kn_model *m, const kn_phase *ph, const kn_occupancy *s, kn_time *time)
{
    bool *done = KN_NEW_ARRAY(m->k->arena, bool, ph->nest.values.len + 1);
    double in_step = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        done[i] = kn_part_on_chip(m->k, ph, i) == 1 || kn_in_tile_of_rows(ph, i) ||
                  (!ph->how.mixed && kn_is_hoisted(ph, i));
    for (int sweep = 0; sweep < ph->nest.nsweeps; sweep++) {
        kn_model_at_sweep(m, ph, sweep);
        double times = waits(m, ph, sweep, done) * waited(m, ph, s, sweep) +
                       (sweep == 0 ? waits_for_tile_of_rows(ph) : 0);
        double combines = combine(m, ph, sweep);
        time->waits += s->waves * times * m->m->latency;
        time->combines += s->waves * combines * combines_of(m, ph);
        in_step += least(times, 1) * m->m->latency + combines;
        for (int i = 0; i < ph->nest.values.len; i++)
            done[i] = done[i] || (m->need[i] && kn_kept(ph, i)) || loaded_ahead(ph, i);
    }
    const double others = exchanges_of(ph) * m->m->ranks;
    time->combines += s->waves * others * combines_of(m, ph);
    in_step += others + combine_across(m, ph);
    time->in_step = in_step * most(1, least(s->waves, m->m->in_step) / s->blocks_a_unit);
    time->in_step +=
        s->waves * exchanges_of(ph) * m->m->rank * (s->cluster ? (double)ph->num.splits : 1);
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

/* Of two sides that overlap: as the cube root of the sum of their cubes, and less where a block is alone on its unit and
 * no other loads while it computes what it keeps. */
static double overlap(double x, double y, bool alone)
{
    const double power = alone ? 1.5 : 3;
    return pow(pow(x, power) + pow(y, power), 1 / power);
}

/* Does a block load a tile, wait, and add it up, one tile after the other? */
static bool adds_tiles(const kn_phase *ph)
{
    return ph->how.walk == KN_WALK_COLS && ph->how.tile && !ph->how.cluster &&
           ph->nest.reds.len > 0;
}

/* Does each unit take one block after the other, which has all of a group before it goes on, and no next one on its way?
 * Clusters start one after the other (docs/lab/launch-skew.md), so that some load while others compute. Of tiles that a block adds
 * up none is on its way while it does (docs/lab/transposed-tiles.md#blocks-that-stay). */
static bool works_alone(const kn_phase *ph, const kn_occupancy *s)
{
    return (adds_tiles(ph) && s->blocks_a_unit < 2) ||
           (s->waves > 1 && s->blocks_a_unit <= 1 && keeps_loads(ph) && !ph->how.cluster &&
            !ph->how.mixed);
}

/* Does a wave take as long as one of its blocks: of those that wait for each other, in a cluster or at the next grid barrier, or that
 * have all of a group of rows before they go on? */
static bool takes_waves(const kn_model *m, const kn_phase *ph, const kn_occupancy *s)
{
    const bool keeps =
        m->target->sm && ph->how.walk == KN_WALK_ROWS && !ph->how.mixed && keeps_loads(ph);
    return keeps || s->cluster || ph->how.split;
}

/* Waves of blocks, of which the last may have few, but takes at least as long as one of them. */
static double waves_until_all_are_done(const kn_occupancy *s, const kn_time *t)
{
    double whole = floor(s->waves), left = s->waves - whole;
    double alone = most(t->waits, t->transfer / s->blocks_a_unit) + t->combines;
    double all = most(most(t->memory, t->cache), units_side(t));
    return left > 0 ? whole + most(left, least(1, alone / all)) : whole;
}

/* How much longer memory takes for columns that async copies bring: a tile's rows are pieces as long as it is wide,
 * or whole lines where L2 is asked to fetch the rest. */
static double column_slowdown(const kn_model *m, const kn_phase *ph)
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

/* What the sweeps of a local phase wait for. What a warp has found the block still gets, behind a barrier; all warps share
 * what rows of threads have found of columns. */
static double local_wait(kn_model *m, const kn_phase *ph)
{
    bool *done = KN_NEW_ARRAY(m->k->arena, bool, ph->nest.values.len + 1);
    double wait = 0;
    for (int sweep = 0; sweep < ph->nest.nsweeps; sweep++) {
        kn_model_at_sweep(m, ph, sweep);
        wait += waits(m, ph, sweep, done) * m->m->latency;
        wait += ph->how.walk == KN_WALK_COLS ? m->m->block : combine(m, ph, sweep);
    }
    return kn_by_a_warp(ph) ? wait + m->m->block - m->m->warp : wait;
}

/* What the blocks of the host take to read what a local phase of columns has for theirs: all of them at a time, of a unit or of
 * the last cache. */
static double local_transfer(kn_model *m, const kn_phase *ph, const kn_occupancy *s)
{
    bool *done = KN_NEW_ARRAY(m->k->arena, bool, ph->nest.values.len + 1);
    double bytes = 0;
    for (int sweep = 0; sweep < ph->nest.nsweeps; sweep++) {
        kn_model_at_sweep(m, ph, sweep);
        for (int i = 0; i < ph->nest.values.len; i++)
            if (kn_value_at(ph, i)->level == KN_ELEMENT && kn_model_loads(m, ph, i, sweep, done) &&
                kn_model_differs_by_group(m, ph, i))
                bytes += kn_bytes(kn_value_at(ph, i)->dtype);
    }
    bytes *= (double)ph->nest.members *
             least((double)kn_cols_width(host_of(ph)), (double)ph->nest.groups) * s->blocks_a_unit;
    return most(bytes / m->m->unit, bytes * s->units / m->m->cache);
}

/* What every block of the host does before it goes on: once, or for each of its groups. The waits of the first local
 * phase that has any count twice, like those of a phase of one wave: on the units' side, and in step. The time of a grid
 * barrier includes one load and one combine, which is all that a few partial results take. */
static double local_time(kn_model *m, const kn_phase *ph, bool first)
{
    const kn_phase *host = host_of(ph);
    kn_occupancy s = occupancy_of(m, host);
    const double times = ph->nest.ngroup ? s.waves : 1;
    double wait = local_wait(m, ph);
    m->waited = m->waited || wait > 0;
    if (first && host->barrier)
        wait -= m->m->latency + m->m->block;
    if (ph->how.walk == KN_WALK_COLS)
        return times * most(wait, local_transfer(m, ph, &s));
    double groups = ph->nest.ngroup ? most(1, (double)m->k->threads / ph->how.tpg) : 1;
    double idle = most(1, m->m->threads / (s.blocks_a_unit * m->k->threads));
    double work = s.blocks_a_unit * groups * (double)ph->nest.members * kn_model_additions(m, ph) *
                  idle / m->m->adds;
    return times * ((first ? 2 : 1) * most(0, wait) + work);
}

/* Of those by a warp each what one takes longer than the ones before. */
static double time_of_local(kn_model *m, const kn_phase *ph)
{
    const bool warp = kn_by_a_warp(ph), beside = warp && m->together;
    const double before = beside ? m->longest : 0;
    m->first = beside ? m->first : !m->waited;
    m->together = warp;
    m->longest = most(before, local_time(m, ph, m->first));
    return m->longest - before;
}

static kn_time phase_time(kn_model *m, const kn_phase *ph)
{
    if (ph == m->k->phases.data || !ph[-1].local)
        m->waited = m->together = false;
    kn_time t = {.barriers = ph->how.last_block ? m->m->last : ph->barrier ? m->m->grid : 0};
    if (kn_begins_round(m->k, (int)(ph - m->k->phases.data)))
        t.barriers += m->m->grid + m->m->ranks;
    t.ns = t.barriers;
    if (is_empty(ph) || is_empty(host_of(ph)))
        return t;
    kn_model_find_needs(m, ph);
    if (ph->local) {
        t.in_step = time_of_local(m, ph);
        t.ns += t.in_step;
        return t;
    }
    kn_occupancy s = occupancy_of(m, ph);
    kn_traffic bytes = kn_model_traffic(m, ph, &s);
    double all = bytes.memory + bytes.cache, straggling = s.cluster ? m->m->stragglers : 1;
    t.memory = straggling * column_slowdown(m, ph) * bytes.memory / m->rate;
    t.cache = straggling * all / m->m->cache;
    t.transfer = (all + bytes.lookups) / (s.units * m->m->unit);
    double idle = most(1, m->m->threads / (s.blocks_a_unit * m->k->threads));
    t.work = kn_model_all_additions(m, ph) * idle;
    t.work /= s.units * m->m->adds;
    t.machine =
        most(most(t.memory, t.cache), most(t.transfer, t.work) * s.units / m->target->units);
    double start = m->persistent ? 0 : m->m->start;
    t.starts = s.blocks / s.units * (s.cluster ? m->m->cluster_start : start);
    waits_of(m, ph, &s, &t);
    double before =
        keeps_loads(ph) ? t.transfer * (1 - bytes.written / all) * waited(m, ph, &s, 0) : 0;
    t.waits += (t.work + before) / s.blocks_a_unit;
    if (takes_waves(m, ph, &s)) {
        double longer = waves_until_all_are_done(&s, &t) / s.waves;
        double *parts[] = {&t.memory, &t.cache,    &t.transfer, &t.work,
                           &t.waits,  &t.combines, &t.machine};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            *parts[i] *= longer;
    }
    t.ns += most(overlap(most(t.memory, t.cache), units_side(&t), works_alone(ph, &s)), t.starts);
    t.ns += t.in_step;
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

/* A run of phases side by side: the longest wait among them, and the sum of their waits; a phase of which
 * only some blocks have work items counts by these blocks' part of the grid. */
typedef struct run {
    double longest, sum;
    kn_assignment assigned;
} run;

/* What phase p waits, besides what the machine needs for it, longer than the phases before it in its run: a block waits
 * for each phase that it has work items of. */
static double waits_beside(const kn_model *m, int p, run *r, double waits)
{
    const double before = most(r->longest, r->sum);
    const bool parted = kn_runs_beside(m->k, p);
    kn_assign_phase(&r->assigned, p);
    const double part = parted ? least(1, (double)r->assigned.blocks / m->grid) : 1;
    if (!m->k->phases.data[p].how.beside) {
        r->longest = waits;
        r->sum = waits * part;
        return waits + (parted ? m->m->part : 0);
    }
    if (!parted)
        return waits;
    r->longest = most(r->longest, waits);
    r->sum += waits * part;
    return most(r->longest, r->sum) - before + m->m->part;
}

static kn_model model_of(const kn_kernel *k, const kn_target *target)
{
    kn_model m = {.m = kn_machine_of(target), .target = target, .k = k};
    m.seen = KN_NEW_ARRAY(k->arena, double, k->bufs.len + 1);
    m.known = KN_NEW_ARRAY(k->arena, double, k->bufs.len + 1);
    m.touched = KN_NEW_ARRAY(k->arena, bool, k->bufs.len + 1);
    m.own = KN_NEW_ARRAY(k->arena, double, k->bufs.len + 1);
    for (int b = 0; b < k->bufs.len; b++)
        m.seen[b] = -1;
    m.fit = kn_blocks_a_unit(k, target);
    m.grid = kn_grid_all_blocks(k, (int)most(1, m.fit), target->units);
    m.persistent = kn_grid_persistent(k);
    m.rate = kn_streams_through(k) ? m.m->stream : m.m->memory;
    return m;
}

double kn_predict_locals_ns(const kn_kernel *k, const kn_target *target, int host)
{
    const kn_arena_mark here = kn_arena_here(k->arena);
    kn_model m = model_of(k, target);
    double ns = 0;
    for (int i = kn_first_local(k, host); i < host; i++)
        ns += phase_time(&m, &k->phases.data[i]).ns;
    kn_arena_back(k->arena, here);
    return ns;
}

kn_time kn_predict_kernel(const kn_kernel *k, const kn_target *target, kn_time *phases)
{
    const kn_arena_mark here = kn_arena_here(k->arena);
    kn_model m = model_of(k, target);
    const bool *backwards = target->sm != 0 ? kn_walks_backwards(k) : NULL;
    kn_time sum = {.ns = m.m->launch, .launch = m.m->launch};
    run now = {.assigned = kn_assign_work(k)};
    for (int i = 0; i < k->phases.len; i++) {
        m.reversed = backwards && !k->phases.data[i].local && backwards[i];
        kn_time t = phase_time(&m, &k->phases.data[i]);
        if (!k->phases.data[i].local) {
            const double waits =
                t.ns - t.machine - t.barriers; /* a run begins behind its barrier */
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
