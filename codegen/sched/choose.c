#include "codegen/sched/sched.h"

#include <string.h>

#include "codegen/model/machine.h"
#include "codegen/model/predict.h"

static const kn_schedule *const kinds[] = {&kn_sched_flat, &kn_sched_cols, &kn_sched_rows};

const kn_schedule *kn_schedule_of(kn_walk walk)
{
    size_t i = 0;
    while (kinds[i]->walk != walk)
        i++;
    return kinds[i];
}

kn_keep kn_schedule_keep(const kn_phase *ph, const kn_target *target)
{
    return ph->walk == KN_WALK_ROWS   ? kn_rows_keep(ph, target)
           : ph->walk == KN_WALK_COLS ? kn_cols_keep(ph, target)
                                      : KN_KEEP_NONE;
}

const kn_schedule *kn_schedule_choose(const kn_phase *ph)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !ph->banded; i++)
        if (kinds[i]->can(ph) && !(ph->universal && kinds[i]->walk == KN_WALK_COLS))
            return kinds[i];
    return &kn_sched_rows;
}

bool kn_vector_fits(const kn_phase *ph, const kn_access *acc, const kn_buf *buf, int align, int va,
                    int vec)
{
    int bytes = kn_bytes(buf->dtype) * vec;
    if (acc->stride[va] != 1)
        return true;
    if (align % (bytes < 16 ? bytes : 16) != 0)
        return false;
    for (int a = 0; a < ph->naxes; a++)
        if (a != va && ph->axes[a].extent != 1 && acc->stride[a] % vec != 0)
            return false;
    return acc->split_stride % vec == 0 && acc->offset % vec == 0;
}

static bool differs_by_group(const kn_phase *ph, const kn_access *acc)
{
    for (int a = 0; a < ph->ngroup; a++)
        if (acc->stride[a] != 0)
            return true;
    return false;
}

static bool differs_by_member(const kn_phase *ph, const kn_access *acc)
{
    for (int a = ph->ngroup; a < ph->naxes; a++)
        if (acc->stride[a] != 0)
            return true;
    return false;
}

/* Partial results of a single group are neighbours by chance, which is not worth a kernel. */
static void set_kinds(const kn_phase *ph, kn_access *acc, int va)
{
    bool by_chance = ph->local && ph->vec == 1;
    int along = acc->turned ? ph->naxes - 1 : va;
    for (int a = 0; a < ph->naxes; a++)
        if (ph->universal)
            acc->kind[a] = acc->axes >> a & 1 ? KN_STRIDE_PARAM : KN_STRIDE_ZERO;
        else
            acc->kind[a] = acc->stride[a] == 0                               ? KN_STRIDE_ZERO
                           : a == along && acc->stride[a] == 1 && !by_chance ? KN_STRIDE_ONE
                                                                             : KN_STRIDE_PARAM;
    acc->shifted = acc->offset != 0 || ph->universal;
    acc->vector = ph->vec > 1 && va >= 0 && acc->kind[va] == KN_STRIDE_ONE &&
                  (!ph->ragged || differs_by_group(ph, acc));
}

static void set_all_kinds(kn_phase *ph)
{
    int va = kn_phase_vector_axis(ph);
    for (int i = 0; i < ph->values.len; i++)
        if (kn_has_access(&ph->values.data[i]))
            set_kinds(ph, &ph->values.data[i].access, va);
    for (int i = 0; i < ph->stores.len; i++)
        set_kinds(ph, &ph->stores.data[i].access, va);
}

/* From elements of 16 bytes to those of 4, to one. */
static int narrower(int vec, int bytes) { return vec * bytes > 4 && bytes < 4 ? 4 / bytes : 1; }

/* A load, or what is stored of elements. NULL for what is none. */
static const kn_access *vector_access(const kn_phase *ph, int i)
{
    bool element = i < ph->values.len || kn_store_at(ph, i)->kind == KN_STORE_ELEMENT;
    return element ? kn_access_at(ph, i) : NULL;
}

/* Can everything that is walked along axis `va` go by vectors of `vec` elements? */
static bool vectors_fit(const kn_phase *ph, const int *align, const kn_buf *bufs, int va, int vec)
{
    bool fits = ph->axes[va].extent % vec == 0 && ph->axes[va].extent > 0;
    for (int i = 0; fits && i < kn_accesses(ph); i++) {
        const kn_access *acc = vector_access(ph, i);
        fits = !acc || kn_vector_fits(ph, acc, &bufs[acc->buf], align[acc->buf], va, vec);
    }
    return fits;
}

/* Does `acc` begin in each group where `first` does, within a vector? Sets *first if it is NULL. What all groups share
 * goes by elements: it is small, and in a cache. */
static bool begins_alike(const kn_phase *ph, const kn_access *acc, const kn_buf *buf, int align,
                         const kn_access **first)
{
    int va = ph->naxes - 1, bytes = kn_bytes(buf->dtype) * ph->vec;
    if (acc->stride[va] != 1 || !differs_by_group(ph, acc))
        return true;
    if (align % (bytes < 16 ? bytes : 16) != 0)
        return false;
    bool alike = true;
    for (int a = 0; *first && a < ph->ngroup; a++)
        alike = alike && (acc->stride[a] - (*first)->stride[a]) % ph->vec == 0;
    alike = alike && (!*first || (acc->offset - (*first)->offset) % ph->vec == 0);
    *first = *first ? *first : acc;
    return alike;
}

/* Rows whose beginnings lie anywhere go by vectors too, if all arrays' lie alike: a row of 50257 floats by vectors of
 * 4, but for its first and last. Long ones only, which registers would not keep element by element. */
static bool ragged_fits(kn_phase *ph, const int *align, const kn_buf *bufs, const kn_target *target)
{
    const kn_access *first = NULL;
    if (target->sm == 0 || ph->walk != KN_WALK_ROWS || ph->reds.len == 0 || ph->split ||
        ph->banded || ph->local || ph->universal || !kn_phase_one_run(ph) ||
        kn_phase_in_order(ph) || ph->members <= KN_KEEP_STEPS * target->max_block)
        return false;
    bool fits = true;
    for (int i = 0; fits && i < kn_accesses(ph); i++) {
        const kn_access *acc = vector_access(ph, i);
        fits = !acc || begins_alike(ph, acc, &bufs[acc->buf], align[acc->buf], &first);
    }
    return fits && first;
}

/* Bytes of the widest element that is loaded or stored. */
static int widest_element(const kn_phase *ph, const kn_buf *bufs)
{
    int widest = 1;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = vector_access(ph, i);
        int bytes = acc ? kn_bytes(bufs[acc->buf].dtype) : 0;
        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

bool kn_has_wide_functions(const kn_phase *ph, const kn_target *target)
{
    enum { FUNCTION = 16 }; /* additions: more than of a quotient */
    bool wide = false;
    for (int i = 0; i < ph->values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        wide = wide || (v->kind == KN_V_ELEM && v->level == KN_ELEMENT && v->dtype == KN_F64 &&
                        kn_ops[v->op].cost >= FUNCTION);
    }
    for (int r = 0; r < ph->reds.len; r++)
        wide = wide || (ph->reds.data[r].dtype == KN_F64 && kn_red_state(ph, r) == KN_STATE_PEAK);
    return wide && target->sm;
}

/* Would there be too few registers for functions of several elements at a time? Softmax of 512 columns of 65536 f64, turned,
 * on an H200: by vectors of 2 333 us, with 120 bytes spilled, and 346 in blocks of 256, without; by single elements 330. */
static bool spills_vectors(const kn_phase *ph, const kn_target *target)
{
    return ph->walk == KN_WALK_COLS && ph->split && !ph->resident &&
           kn_has_wide_functions(ph, target);
}

void kn_schedule_vectors(kn_phase *ph, const int *align, const kn_buf *bufs,
                         const kn_target *target)
{
    int va = kn_phase_vector_axis(ph), widest = widest_element(ph, bufs);
    ph->vec = widest < 2 ? 8 : 16 / widest;
    ph->lanes = KN_COLS_LANES;
    if (ph->walk == KN_WALK_COLS && ph->vec > 4)
        ph->vec = 4;
    if (va < 0 || ph->universal || spills_vectors(ph, target))
        ph->vec = 1;
    while (ph->walk == KN_WALK_COLS && ph->vec > 1 && ph->groups < KN_COLS_LANES * ph->vec)
        ph->vec /= 2; /* narrow tables: rather all lanes than wide ones */
    ph->ragged = ph->vec > 1 && !vectors_fit(ph, align, bufs, va, ph->vec) &&
                 ragged_fits(ph, align, bufs, target);
    while (!ph->ragged && ph->vec > 1 && !vectors_fit(ph, align, bufs, va, ph->vec))
        ph->vec = narrower(ph->vec, widest);
    set_all_kinds(ph);
}

void kn_schedule_as(kn_phase *ph, int vec)
{
    ph->vec = vec;
    set_all_kinds(ph);
}

int kn_phase_element_bytes(const kn_phase *ph)
{
    int bytes = 0;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = vector_access(ph, i);
        bool whole = acc != NULL;
        for (int a = 0; whole && a < ph->naxes; a++)
            whole = acc->stride[a] != 0 || ph->axes[a].extent == 1;
        for (int j = 0; whole && j < i; j++)
            whole = !vector_access(ph, j) || vector_access(ph, j)->buf != acc->buf;
        int value = i < ph->values.len ? i : kn_store_at(ph, i)->value;
        bytes += whole ? kn_bytes(ph->values.data[value].dtype) : 0;
    }
    return bytes;
}

/* On an H200 a launch starts a block in 0.62 ns, in which memory moves 2.5 kB; blocks that move 4 to 8 kB are 2 to 4 %
 * quicker than those of 16 to 32 (x + x*x of 64 Mi floats 129 us and 133). */
int kn_schedule_small_block(const kn_phase *ph, const kn_target *target, double elements)
{
    const double enough = 4096;
    int threads = 64;
    while (threads < KN_SMALL_BLOCK && threads < target->max_block &&
           threads * elements * kn_phase_element_bytes(ph) < enough)
        threads *= 2;
    return threads;
}

typedef struct splitting {
    int64_t least_rows, least_cols;   /* members that make a range worth a block */
    int rows_per_unit, cols_per_unit; /* ranges to split into, for a multiprocessor or CPU thread */
} splitting;

static const splitting gpu_splitting = {4096, 64, 4, 2};
static const splitting cpu_splitting = {16384, 64, 1, 1};

double kn_schedule_barrier_bytes(const kn_target *target)
{
    const kn_machine *m = kn_machine_of(target);
    double rate = m->unit * target->units;
    return m->grid * (rate < m->memory ? rate : m->memory);
}

double kn_schedule_temporary_bytes(const kn_target *target)
{
    return kn_schedule_barrier_bytes(target) / 128;
}

/* Bytes that the sweeps of a phase move: all of them, or as if each array were loaded once. */
static double bytes_moved(const kn_phase *ph, const kn_buf *bufs, bool once)
{
    double bytes = 0, elements = (double)ph->groups * (double)ph->members;
    for (int i = 0; i < kn_accesses(ph); i++) {
        const kn_access *acc = vector_access(ph, i);
        int sweeps = i < ph->values.len && !once ? ph->values.data[i].sweeps : 1;
        if (acc && differs_by_member(ph, acc))
            bytes += elements * sweeps * kn_bytes(bufs[acc->buf].dtype);
    }
    return bytes;
}

/* Moments, and a maximum with its sum, take two sweeps over the partial results to merge, and more work each. */
static bool merges_twice(const kn_phase *ph)
{
    bool twice = false;
    for (int i = 0; i < ph->reds.len; i++)
        twice = twice || kn_red_state(ph, i) == KN_STATE_MOMENTS ||
                kn_red_state(ph, i) == KN_STATE_PEAK;
    return twice;
}

/* What the threads of a block of columns wait for, step after step, to merge so many partial results. */
static double merging_columns_ns(const kn_phase *ph, const kn_machine *m, int64_t parts)
{
    const int64_t rows = 512 / KN_COLS_LANES;
    return (double)kn_ceil_div(parts, rows) * (merges_twice(ph) ? 2 : 1) * m->latency;
}

/* Nanoseconds of a phase that is split over the machine, at a barrier a combine. The split form is not there yet to be
 * predicted: it moves all bytes at nearly the memory's rate, but for what is resident, and its phases begin one after the
 * other. Ragged rows have no vectors then: elements take as long as if they had more bytes (softmax of 32 rows of 524287
 * floats on an H200: 73 us, by clusters 62; of 16 of 1048577 in bf16 51 and 41). */
static double split_ns(const kn_phase *ph, const kn_buf *bufs, const kn_target *target,
                       const kn_range *ranges)
{
    const double nearly = kn_phase_stores_elements(ph) ? 1.10 : 1.12, least = 6;
    const kn_machine *m = kn_machine_of(target);
    int stages = 0;
    for (int i = 0; i < ph->reds.len; i++)
        stages = ph->reds.data[i].stage >= stages ? ph->reds.data[i].stage + 1 : stages;
    double bytes = bytes_moved(ph, bufs, false);
    if (ranges->resident)
        bytes -=
            kn_resident_part(ph, target, ranges->length) * (bytes - bytes_moved(ph, bufs, true));
    if (ph->ragged && widest_element(ph, bufs) < least)
        bytes *= least / widest_element(ph, bufs);
    double split = m->launch + nearly * bytes / m->memory + stages * m->grid;
    if (ph->walk == KN_WALK_COLS)
        split += stages * merging_columns_ns(ph, m, ranges->n);
    return split + (stages + 1) * (m->latency + m->block);
}

/* Is that quicker than to leave each group to its own block, or cluster? */
static bool pays(kn_arena *a, const kn_phase *ph, const kn_buf *bufs, int nbufs,
                 const kn_target *target, const kn_range *ranges)
{
    return split_ns(ph, bufs, target, ranges) < kn_predict_phase_ns(a, ph, bufs, nbufs, target);
}

/* Two sweeps take so much longer than a sum on an H200, of rows, but less than another barrier. */
static double merging_ns(const kn_phase *ph)
{
    const double ns = 2500;
    return ph->walk != KN_WALK_COLS && merges_twice(ph) ? ns : 0;
}

bool kn_schedule_splits_in_one(kn_arena *a, const kn_phase *one, const kn_phase *ph,
                               const kn_buf *bufs, int nbufs, const kn_target *target)
{
    const kn_range resident = kn_resident_ranges(one, target, false);
    return resident.n > 1 && split_ns(one, bufs, target, &resident) + merging_ns(one) <
                                 kn_predict_phase_ns(a, ph, bufs, nbufs, target);
}

/* A group in several runs that is too large for any cluster. Split it moves as many bytes as read twice by one block,
 * and is served by the kernel for few groups. */
static bool nothing_keeps(const kn_phase *ph, const kn_target *target)
{
    return target->cluster > 1 && kn_schedule_choose(ph)->walk == KN_WALK_ROWS && !ph->cluster &&
           ph->alone && kn_reread_bytes(ph) && !kn_phase_one_run(ph) &&
           kn_rows_keep(ph, target) == KN_KEEP_NONE;
}

kn_range kn_ranges_of(int64_t n, int64_t want)
{
    int64_t length = ((n + want - 1) / want + 7) / 8 * 8;
    return (kn_range){(n + length - 1) / length, length, false};
}

/* Ranges that fill the machine, for blocks that keep nothing of them. `blocks`: that all groups have. */
static kn_range ranges_to_fill(const kn_phase *ph, const kn_target *target, int64_t blocks,
                               bool forced)
{
    bool cols = ph->walk == KN_WALK_COLS;
    const splitting *how = strcmp(target->kind, "cuda") == 0 ? &gpu_splitting : &cpu_splitting;
    int64_t least = forced ? 1 : cols ? how->least_cols : how->least_rows;
    int64_t all = (cols ? how->cols_per_unit : how->rows_per_unit) * target->units;
    int64_t want = all / blocks; /* all of them at a time, none in a second turn */
    int64_t most = (ph->members + least - 1) / least;
    if (want < 2)
        want = blocks < all || forced ? 2 : 1;
    if (want > most)
        want = most;
    return want < 2 ? (kn_range){1, ph->members, false} : kn_ranges_of(ph->members, want);
}

kn_range kn_schedule_splits(kn_arena *a, const kn_phase *ph, const kn_buf *bufs, int nbufs,
                            const kn_target *target, kn_division force)
{
    bool forced = force == KN_DIVIDE_SPLIT || force == KN_DIVIDE_RESIDENT,
         gpu = strcmp(target->kind, "cuda") == 0;
    const kn_range whole = {1, ph->members, false};
    if (ph->universal || ph->split || ph->local || ph->banded || ph->reds.len == 0 ||
        ph->members < 2 || (force != KN_DIVIDE_BY_COST && !forced) || (gpu && !target->cooperative))
        return whole;
    int64_t tile = ph->walk == KN_WALK_COLS && gpu ? kn_cols_width(ph) : 1;
    int64_t blocks = kn_ceil_div(ph->groups, tile);
    if (blocks == 0)
        return whole;
    kn_range ranges = force == KN_DIVIDE_SPLIT
                          ? whole
                          : kn_resident_ranges(ph, target, force == KN_DIVIDE_RESIDENT);
    if (ranges.n < 2)
        ranges = ranges_to_fill(ph, target, blocks, forced);
    return forced || nothing_keeps(ph, target) || pays(a, ph, bufs, nbufs, target, &ranges) ? ranges
                                                                                            : whole;
}

static kn_range columns_left(const kn_phase *columns, int64_t blocks)
{
    int64_t tile = kn_cols_width(columns), tiles = (columns->groups + tile - 1) / tile;
    int64_t most = columns->members / gpu_splitting.least_cols, splits = blocks / tiles;
    splits = splits > most ? most : splits;
    return kn_ranges_of(columns->members, splits < 1 ? 1 : splits);
}

/* A thread of a band waits for its loads of one group before it asks for the next. So many bytes of them keep
 * memory busy. */
enum { BYTES_ON_THEIR_WAY = 64 };

/* How much longer than at full speed it takes to go through the groups in bands, by so many threads each. */
static double slowness(int tpg, double group_bytes)
{
    double bytes = group_bytes / tpg;
    return bytes < BYTES_ON_THEIR_WAY ? BYTES_ON_THEIR_WAY / bytes : 1;
}

/* Rows in registers that are summed before they are stored take so much longer. By both on an H200 double centring of
 * 8192x8192, 4096x4096 and 65536x1024 floats is in bands, and of 2048x8192, which took 65.5 us then, not 62, is not. */
static const double waiting = 0.05, twice = 2;

/* Fewer bands leave fewer partial results, more of them fill the machine. Everything in bytes that could be moved
 * meanwhile. */
kn_bands kn_schedule_bands(const kn_phase *rows, const kn_phase *columns, const kn_target *target,
                           const kn_crossing_cost *cost)
{
    if (cost->saved <= 0)
        return (kn_bands){.bands = {0}};
    double group = cost->again / (double)rows->groups;
    int block = kn_sched_rows.threads(rows, target), tpg = kn_band_lanes(rows);
    int64_t side = block / tpg, rounds = kn_ceil_div(rows->groups, side);
    double full = target->units * kn_bands_a_unit(target, block);
    double barrier = kn_schedule_barrier_bytes(target);
    kn_bands best = {.left = columns_left(columns, (int64_t)full)};
    double results = cost->partial * (double)(1 + (columns->nsweeps > 1 ? best.left.n : 1));
    double least = 2 * cost->saved - barrier * cost->barriers;
    if (cost->again > 0) {
        /* nobody moves anything else while they are combined; but rows wait no more for their own sums */
        results *= twice;
        least += waiting * cost->again;
    }
    double loaded = cost->again > cost->saved ? cost->again : cost->saved;
    double all = cost->saved * slowness(tpg, loaded / (double)rows->groups);
    for (int64_t want = (int64_t)full; want > 0; want /= 2) {
        kn_range bands = {.n = want < rounds ? want : rounds};
        bands.length = kn_ceil_div(rounds, bands.n) * side;
        double idle = (double)bands.n < full ? full / (double)bands.n : 1;
        double part = kn_resident_part_of_band(target, block, group * (double)bands.length);
        double bytes = all * idle + results * (double)bands.n + cost->again * (1 - part);
        if (bytes >= least)
            continue;
        least = bytes;
        best.bands = bands;
    }
    return best;
}
