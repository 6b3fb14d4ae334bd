/* What a bound phase takes of a block and of a multiprocessor. */
#include "codegen/model/resources.h"

#include <limits.h>
#include <math.h>

#include "base/integer.h"

/* Of n, up to `most`; at least 1. */
static int greatest_divisor(int n, int most)
{
    int divisor = n < most ? n : most;
    while (divisor > 1 && n % divisor != 0)
        divisor--;
    return divisor > 1 ? divisor : 1;
}

int kn_packed_sum_bytes(const kn_phase *ph)
{
    int widest = 1;
    for (int r = 0; r < ph->nest.reds.len; r++) {
        int bytes = kn_bytes(ph->nest.reds.data[r].dtype);
        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

int kn_packed_sums(const kn_phase *ph)
{
    int most = 0;
    for (int r = 0; r < ph->nest.reds.len; r++) {
        int same = 0;
        for (int o = 0; o < ph->nest.reds.len; o++)
            same += ph->nest.reds.data[o].stage == ph->nest.reds.data[r].stage;
        most = same > most ? same : most;
    }
    return most;
}

bool kn_is_broadcast(const kn_phase *ph, int i, int sweep, const bool *need)
{
    if (ph->nest.values.data[i].level != KN_GROUP)
        return false;
    for (int j = i + 1; j < ph->nest.values.len; j++) {
        const kn_value *v = &ph->nest.values.data[j];
        for (int k = 0; k < v->nin; k++)
            if (v->in[k] == i && v->level == KN_ELEMENT && (!need || need[j]))
                return true;
    }
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (ph->nest.reds.data[r].value == i && (!need || ph->nest.reds.data[r].stage == sweep))
            return true;
    for (int s = 0; s < ph->nest.stores.len; s++)
        if (ph->nest.stores.data[s].kind == KN_STORE_ELEMENT &&
            ph->nest.stores.data[s].value == i && (!need || ph->nest.stores.data[s].stage == sweep))
            return true;
    return false;
}

int64_t kn_packed_bytes(const kn_phase *ph, int threads)
{
    int64_t slots = 0;
    if (!ph->how.packed)
        return 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        slots += kn_is_broadcast(ph, i, 0, NULL);
    int64_t each = ((int64_t)threads * ph->how.vec + ph->num.pack) * kn_packed_sum_bytes(ph);
    return kn_round_up(each, KN_PACKED_SLOT) * kn_packed_sums(ph) +
           slots * ph->num.pack * KN_PACKED_SLOT;
}

int kn_packed_lane_words(const kn_phase *ph, int sweep, bool *need)
{
    int n = 0;
    kn_phase_needs(ph, sweep, need);
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (ph->nest.reds.data[r].stage == sweep)
            n += kn_words(1, kn_bytes(ph->nest.reds.data[r].dtype));
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        bool shared = v->kind == KN_V_CONST || v->kind == KN_V_SCALAR || v->kind == KN_V_EXTENT;
        if (!shared && kn_is_broadcast(ph, i, sweep, need))
            n += kn_words(1, kn_bytes(v->dtype));
    }
    return n;
}

int kn_reducer_bytes(const kn_reducer *by)
{
    int size = 0, widest = 1;
    for (int c = 0; c < by->count; c++) {
        int bytes = kn_bytes(by->dtype[c]);
        size = (int)kn_round_up(size, bytes) + bytes;
        widest = bytes > widest ? bytes : widest;
    }
    return (int)kn_round_up(size, widest);
}

bool kn_red_owns(const kn_phase *ph, int r) { return kn_red_owner(ph, r) == r; }

/* Bytes of what the accumulator of reduction r holds. */
static int red_state_bytes(const kn_phase *ph, int r)
{
    const kn_red *red = &ph->nest.reds.data[r];
    const int fields[] = {
        [KN_STATE_PLAIN] = 1, [KN_STATE_MOMENTS] = 3, [KN_STATE_PEAK] = 2, [KN_STATE_USER] = 0};
    return red->by ? kn_reducer_bytes(red->by) : kn_bytes(red->dtype) * fields[kn_red_state(ph, r)];
}

bool kn_red_accumulates(const kn_phase *ph, int r, int sweep)
{
    const kn_red *red = &ph->nest.reds.data[r];
    return red->stage == sweep && kn_red_owns(ph, r) && !red->across;
}

int kn_warps_bytes(const kn_phase *ph, int r) { return 32 * red_state_bytes(ph, r); }

static kn_combine_batch batch_of(const kn_phase *ph, int sweep, int first, int most)
{
    kn_combine_batch t = {first, first, 0};
    for (; t.end < ph->nest.reds.len; t.end++) {
        int bytes = kn_red_accumulates(ph, t.end, sweep) ? kn_warps_bytes(ph, t.end) : 0;
        if (t.bytes && bytes > most - t.bytes)
            break;
        t.bytes += bytes;
    }
    return t;
}

kn_combine_batch kn_combine_batch_from(const kn_phase *ph, int sweep, int first)
{
    return batch_of(ph, sweep, first, KN_COMBINE_BYTES);
}

kn_combine_batch kn_combine_whole_sweep(const kn_phase *ph, int sweep)
{
    return batch_of(ph, sweep, 0, INT_MAX);
}

/* Are two reductions plain ones of one operation and type? */
static bool are_alike(const kn_phase *ph, int r, int other)
{
    const kn_red *reds = ph->nest.reds.data;
    return reds[other].op == reds[r].op && reds[other].dtype == reds[r].dtype &&
           reds[r].dtype != KN_BOOL && kn_red_state(ph, r) == KN_STATE_PLAIN &&
           kn_red_state(ph, other) == KN_STATE_PLAIN;
}

int kn_combine_partner(const kn_phase *ph, int sweep, const kn_combine_batch *t, int r)
{
    int next = r + 1;
    while (next < t->end && !kn_red_accumulates(ph, next, sweep))
        next++;
    return next < t->end && are_alike(ph, r, next) ? next : -1;
}

/* Threads that store what rows of so many have: of narrow ones those of a warp's first. */
static int storing_threads(int width, int threads)
{
    return width < 32 ? threads / 32 * width : threads;
}

/* What the threads of a block store of one reduction of columns. */
static int columns_bytes(const kn_phase *ph, int r, int threads)
{
    const int stored =
        ph->how.interleaved ? ph->how.lanes : storing_threads(ph->how.lanes, threads);
    return stored * ph->how.vec * red_state_bytes(ph, r);
}

/* For what is combined together. */
enum { ROOM = 16 * 1024 };

int kn_across_bytes(const kn_phase *ph, int r, int threads)
{
    return storing_threads(ph->how.tpg, threads) * ph->how.vec * red_state_bytes(ph, r);
}

int kn_across_steps_at_once(const kn_phase *ph, int r, int threads)
{
    return greatest_divisor(ph->how.steps, ROOM / kn_across_bytes(ph, r, threads));
}

int kn_combined_columns_end(const kn_phase *ph, int sweep, int r, int threads)
{
    int bytes = columns_bytes(ph, r, threads), end = r + 1;
    for (; kn_red_accumulates(ph, r, sweep) && end < ph->nest.reds.len; end++) {
        if (!kn_red_accumulates(ph, end, sweep))
            continue;
        bytes += columns_bytes(ph, end, threads);
        if (bytes > ROOM || !are_alike(ph, r, end))
            break;
    }
    return end;
}

int kn_sweep_bytes(const kn_phase *ph, int sweep)
{
    return kn_combine_whole_sweep(ph, sweep).bytes;
}

/* Bytes of the largest batch of all sweeps. */
static int most_of_batches(const kn_phase *ph)
{
    int most = 0;
    for (int t = 0; t < ph->nest.nsweeps; t++)
        for (kn_combine_batch now = {0}; now.end < ph->nest.reds.len;) {
            now = kn_combine_batch_from(ph, t, now.end);
            most = now.bytes > most ? now.bytes : most;
        }
    return most;
}

int kn_turn_bytes(const kn_phase *ph)
{
    return ph->how.mixed && kn_by_block(ph) && !ph->how.deferred ? most_of_batches(ph) : 0;
}

/* Bytes of the most columns that are combined together. */
static int most_of_columns(const kn_phase *ph, int threads)
{
    int most = 0;
    for (int t = 0; t < ph->nest.nsweeps; t++)
        for (int r = 0, end; r < ph->nest.reds.len; r = end) {
            int bytes = 0;
            end = kn_combined_columns_end(ph, t, r, threads);
            for (int i = r; i < end; i++)
                bytes += kn_red_accumulates(ph, i, t) ? columns_bytes(ph, i, threads) : 0;
            most = bytes > most ? bytes : most;
        }
    return most;
}

int kn_scratch_bytes(const kn_phase *ph, int block)
{
    const bool cols = ph->how.walk == KN_WALK_COLS && !ph->how.packed && kn_meets_in_block(ph);
    int most = ph->how.deferred  ? ph->how.deferred * kn_sweep_bytes(ph, 0)
               : kn_by_block(ph) ? most_of_batches(ph) + kn_turn_bytes(ph)
               : cols            ? most_of_columns(ph, block)
                                 : 0;
    for (int r = 0; r < ph->nest.reds.len; r++) {
        const bool rows = ph->nest.reds.data[r].across && ph->how.tpg < block;
        int bytes =
            rows ? kn_across_bytes(ph, r, block) * kn_across_steps_at_once(ph, r, block) : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

int kn_exchange_message(const kn_phase *ph, int r)
{
    int groups = ph->how.walk == KN_WALK_COLS ? kn_cols_width(ph) : 1;
    return (int)kn_round_up(red_state_bytes(ph, r), 4) * groups;
}

/* A slot is aligned for any type. */
int kn_exchange_slot(const kn_phase *ph, int r)
{
    return (int)kn_round_up(kn_exchange_message(ph, r), 16);
}

int kn_exchange_stride(const kn_phase *ph)
{
    int most = 0;
    for (int t = 0; t < ph->nest.nsweeps && ph->how.cluster; t++) {
        int bytes = 0;
        for (int r = 0; r < ph->nest.reds.len; r++)
            bytes += kn_red_accumulates(ph, r, t) ? kn_exchange_slot(ph, r) : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

int64_t kn_exchange_bytes(const kn_phase *ph)
{
    return 2 * ph->num.splits * kn_exchange_stride(ph);
}

int kn_static_bytes(const kn_phase *ph, int threads)
{
    int scratch = kn_scratch_bytes(ph, threads),
        tiles = kn_dynamic_tile_bytes(ph, threads) ? 0 : kn_tile_bytes(ph, threads);
    return scratch > tiles ? scratch : tiles;
}

/* Of a kn_exchange (codegen/emit/cuda/prelude/ranks.cuh). */
enum { KN_EXCHANGE_BYTES = 40 };

int kn_peers_bytes(const kn_kernel *k)
{
    int ranks = 0;
    for (int p = 0; p < k->phases.len; p++) {
        const int of = kn_nest_ranks(&k->phases.data[p].nest);
        ranks = of > ranks ? of : ranks;
    }
    return ranks ? (int)kn_round_up(KN_EXCHANGE_BYTES + ranks * 8, 16) : 0;
}

bool kn_receives_by_a_warp(const kn_kernel *k, const kn_phase *ph)
{
    return kn_nest_exchanges(&ph->nest) && kn_by_block(ph) && !kn_shares_block(k, ph);
}

/* Those of the phase that has most. */
static int shown_bytes(const kn_kernel *k)
{
    const kn_arena_mark here = kn_arena_here(k->arena);
    int most = 0;
    for (int p = 0; p < k->phases.len; p++) {
        const kn_phase *ph = &k->phases.data[p];
        int shown = 0;
        if (!kn_receives_by_a_warp(k, ph))
            continue;
        bool *remote = KN_NEW_ARRAY(k->arena, bool, ph->nest.values.len);
        kn_find_remote(ph, remote);
        for (int i = 0; i < ph->nest.values.len; i++)
            shown += kn_is_passed_on(ph, remote, i);
        most = shown > most ? shown : most;
    }
    kn_arena_back(k->arena, here);
    return most * KN_SHOWN_BYTES;
}

int kn_ranks_bytes(const kn_kernel *k)
{
    const int peers = kn_peers_bytes(k);
    return peers ? peers + shown_bytes(k) : 0;
}

int kn_kernel_static_bytes(const kn_kernel *k)
{
    int most = 0;
    for (int p = 0; p < k->phases.len; p++) {
        int bytes = kn_static_bytes(&k->phases.data[p], k->threads);
        int exports = k->phases.data[p].local ? 0 : kn_warp_local_bytes(k, p);
        most = bytes > most ? bytes : most;
        most = exports > most ? exports : most;
    }
    const int exchanging = kn_ranks_bytes(k);
    return exchanging ? (int)kn_round_up(most, 16) + exchanging : most;
}

int kn_peers_at(const kn_kernel *k) { return kn_kernel_static_bytes(k) - kn_ranks_bytes(k); }

int kn_deferrable_groups(const kn_phase *ph)
{
    enum { MOST = 32, BYTES = 4096 };
    bool may = ph->how.mixed && !ph->how.cluster && kn_by_block(ph) && ph->nest.nsweeps == 1 &&
               kn_sweep_reduces(ph, 0);
    for (int r = 0; r < ph->nest.reds.len; r++)
        may = may && kn_red_state(ph, r) == KN_STATE_PLAIN;
    for (int i = 0; i < ph->nest.values.len; i++)
        may = may && kn_value_at(ph, i)->kind != KN_V_LOCAL;
    int groups = may ? BYTES / kn_sweep_bytes(ph, 0) : 0;
    return groups < MOST ? groups : MOST;
}

enum { UNIT_BLOCKS = 32, OWN_REGISTERS = 32, OWN_SHARED = 2048 };

/* Of a thread: what it keeps, and as many for everything else. */
static int registers(const kn_kernel *k)
{
    int blocks = k->min_blocks > 1 ? k->min_blocks : 1;
    int largest = 0, bound = KN_UNIT_REGISTERS / (blocks * (k->bound ? k->bound : k->threads));
    for (int i = 0; i < k->phases.len; i++) {
        int words = kn_held_words(&k->phases.data[i]);
        largest = words > largest ? words : largest;
    }
    return OWN_REGISTERS + largest < bound ? OWN_REGISTERS + largest : bound;
}

int kn_warp_local_bytes(const kn_kernel *k, int p)
{
    int bytes = 0;
    for (int i = kn_first_local(k, p); i < p; i++)
        if (kn_by_a_warp(&k->phases.data[i]))
            bytes += k->phases.data[i].exports.len * KN_EXPORT_BYTES;
    return bytes;
}

/* Of tiles of rows in static shared memory. */
static int most_of_tiles(const kn_kernel *k)
{
    int most = 0;
    for (int i = 0; i < k->phases.len; i++) {
        const kn_phase *ph = &k->phases.data[i];
        const bool has = ph->how.walk == KN_WALK_ROWS && !kn_dynamic_tile_bytes(ph, k->threads);
        const int bytes = has ? kn_tile_bytes(ph, k->threads) : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

double kn_blocks_a_unit(const kn_kernel *k, const kn_target *target)
{
    if (target->sm == 0)
        return 1;
    double fit = floor((double)KN_UNIT_REGISTERS / (k->threads * registers(k)));
    fit = fmin(fit, floor((double)target->max_threads_unit / k->threads));
    fit = fmin(fit, floor((double)target->smem_block /
                          (double)(k->shared + most_of_tiles(k) + OWN_SHARED)));
    return fmax(1, fmin(fit, UNIT_BLOCKS));
}

int kn_prefetch_bytes(const kn_phase *ph, int threads)
{
    int bytes = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_is_prefetched(ph, i))
            bytes += kn_bytes(kn_value_at(ph, i)->dtype) * ph->how.vec * ph->how.steps;
    return (int)kn_round_up(bytes * threads, 16);
}

int kn_prefetch_offset(const kn_kernel *k, int p)
{
    int bytes = 0;
    for (int i = 0; i < p; i++)
        bytes += kn_prefetch_bytes(&k->phases.data[i], k->threads);
    return bytes;
}

int kn_kernel_prefetch_bytes(const kn_kernel *k) { return kn_prefetch_offset(k, k->phases.len); }

int kn_tile_batch(const kn_phase *p, int bytes)
{
    enum { IN_FLIGHT = 64, MOST = 16 };
    const int64_t steps = kn_ceil_div(p->how.tile, p->how.tpg),
                  most = bytes < IN_FLIGHT / MOST ? MOST : IN_FLIGHT / bytes;
    return (int)kn_ceil_div(steps, kn_ceil_div(steps, most));
}

/* Room for whole batches, so that none tests where the members end; an odd number of the vectors, of a word at least, that threads
 * read. */
static int pitch_of_rows(const kn_phase *p, int bytes)
{
    const int batch = kn_tile_batch(p, bytes) * p->how.tpg,
              line = (int)kn_round_up(p->how.tile, batch);
    const int word = bytes < 4 ? 4 / bytes : 1, vec = p->how.vec > word ? p->how.vec : word;
    return (int)(kn_ceil_div(line, vec) | 1) * vec;
}

int kn_tile_pitch(const kn_phase *p, int bytes)
{
    return p->how.walk == KN_WALK_ROWS ? pitch_of_rows(p, bytes)
                                       : kn_cols_width(p) + (bytes < 4 ? 4 / bytes : 1);
}

int kn_tile_bytes_of(const kn_phase *p, int bytes, int threads)
{
    const int lines = p->how.walk == KN_WALK_ROWS ? threads / p->how.tpg : p->how.tile;
    return (int)kn_round_up(lines * kn_tile_pitch(p, bytes) * bytes, 16);
}

bool kn_loads_whole_tile(const kn_phase *p)
{
    int words = 0;
    for (int i = 0; i < p->nest.values.len; i++)
        if (kn_is_read(kn_value_at(p, i)) && kn_may_batch(p, i) && kn_kept(p, i) != KN_KEEP_SHARED)
            words += kn_vector_words(p, i) * kn_tile_steps(p);
    return words <= KN_KEPT_WORDS / (p->nest.reds.len ? 2 : 1);
}

int kn_tile_bytes(const kn_phase *p, int threads)
{
    int total = 0;
    for (int i = 0; i < p->how.transposes.len && p->how.tile; i++) {
        const kn_transpose *t = &p->how.transposes.data[i];
        if (kn_in_tile(t))
            total += kn_tile_bytes_of(p, kn_bytes(kn_transposed_type(p, t)), threads);
    }
    return total;
}

int kn_dynamic_tile_bytes(const kn_phase *p, int threads)
{
    const int bytes = p->how.walk == KN_WALK_ROWS && p->alone ? kn_tile_bytes(p, threads) : 0;
    return bytes > KN_MOST_TILE_BYTES ? bytes : 0;
}

int kn_words(int n, int bytes) { return (n * bytes + 3) / 4; }

int kn_vector_words(const kn_phase *p, int value)
{
    return kn_words(p->how.vec, kn_bytes(p->nest.values.data[value].dtype));
}

int kn_kept_words(const kn_phase *p, int value) { return kn_vector_words(p, value) * p->how.steps; }

int kn_edge_words(const kn_phase *p)
{
    int words = 0;
    for (int i = 0; i < p->nest.values.len && p->how.steps && kn_edges_in_one_step(p); i++) {
        const kn_value *v = kn_value_at(p, i);
        if (v->kind == KN_V_LOAD && v->level == KN_ELEMENT && v->sweeps > 0)
            words += kn_words(1, kn_bytes(v->dtype));
    }
    return words;
}

int kn_held_words(const kn_phase *p)
{
    int words = kn_edge_words(p);
    for (int i = 0; i < p->how.holds.len; i++) {
        const kn_hold *h = &p->how.holds.data[i];
        if (h->where == KN_KEEP_REGISTERS && h->room == h->value)
            words += kn_kept_words(p, h->value);
    }
    return words;
}

/* So that all loads of mixed phases are in flight before the first is waited for. */
bool kn_stays(const kn_phase *ph, int i)
{
    const kn_value *v = kn_value_at(ph, i);
    return ph->how.mixed && ph->how.resident
               ? v->kind == KN_V_LOAD && v->level == KN_ELEMENT &&
                     v->access->kind[kn_phase_vector_axis(ph)] != KN_STRIDE_ZERO
               : kn_is_reread(ph, i);
}

int kn_across_words(const kn_phase *ph)
{
    int words = 0;
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (ph->nest.reds.data[r].across)
            words += kn_words(ph->how.vec, kn_bytes(ph->nest.reds.data[r].dtype));
    return words;
}

int kn_step_words(const kn_phase *ph, int least)
{
    int words = 0;
    for (int i = 0; i < ph->nest.values.len; i++) {
        if (!kn_stays(ph, i))
            continue;
        const int bytes = kn_bytes(kn_value_at(ph, i)->dtype) * (kn_is_shifted(ph, i) ? 2 : 1);
        words += kn_words(ph->how.vec, bytes > least ? bytes : least);
    }
    return words + kn_across_words(ph);
}

int kn_all_steps_at_once(const kn_phase *p, int bytes, int words)
{
    enum { BYTES = 64 };
    const int room = KN_KEPT_WORDS - kn_held_words(p) - kn_across_words(p) * p->how.steps,
              fit = room / words < BYTES / bytes ? room / words : BYTES / bytes;
    return greatest_divisor(p->how.steps, fit);
}

int64_t kn_phase_kept_bytes(const kn_phase *p)
{
    int64_t members = p->how.cluster ? kn_phase_held(p) : kn_phase_counted(p);
    bool cols = p->how.walk == KN_WALK_COLS;
    int64_t n = cols ? members * kn_cols_width(p) : kn_round_up(members, p->how.vec);
    int64_t bytes = 0;
    for (int i = 0; i < p->nest.values.len; i++)
        if (kn_kept(p, i) == KN_KEEP_SHARED && p->nest.values.data[i].kind == KN_V_LOAD)
            bytes += n * kn_bytes(p->nest.values.data[i].dtype);
    return bytes * kn_copy_stages(p);
}
