/* The binder: see bind.h. */
#include "codegen/sched/bind.h"

#include <string.h>

#include "codegen/kir/lanes.h"
#include "codegen/kir/selection.h"
#include "codegen/model/predict.h"
#include "codegen/model/resources.h"

enum { WARP = 32, WARP_STEPS = 16 };

/* Are a few steps of one warp enough for a local phase, and does it wait for no other? */
static bool suits_a_warp(const kn_phase *local)
{
    bool suits = local->nest.ngroup == 0 && local->nest.reds.len > 0 &&
                 local->nest.members <= WARP * WARP_STEPS && !kn_phase_in_order(local);
    for (int i = 0; i < local->nest.values.len; i++)
        suits = suits && kn_value_at(local, i)->kind != KN_V_GATHER &&
                kn_value_at(local, i)->kind != KN_V_LOCAL;
    return suits;
}

/* The threads of its host's groups walk a local phase, or, if it has no groups, all threads of a block: by vectors if
 * each thread has one, for every block waits for them (measured: docs/lab/double-centring.md). Columns keep their vectors:
 * what they load along the groups are compact temporaries. */
static void follow_host(const kn_site *at, const kn_kernel *k, kn_phase *local,
                        const kn_phase *host)
{
    bool block = local->nest.ngroup == 0;
    local->how.walk = block ? KN_WALK_ROWS : host->how.walk;
    local->how.tpg = block ? k->threads : host->how.tpg;
    local->how.interleaved = !block && host->how.interleaved;
    bool vectors = block && at->target->sm && !kn_by_a_warp(local);
    if (vectors)
        kn_schedule_vectors(at, local);
    if (!vectors || local->nest.members < (int64_t)local->how.vec * k->threads)
        kn_schedule_as(at->arena, local, local->how.walk == KN_WALK_COLS ? host->how.vec : 1);
    local->how.lanes = host->how.lanes;
}

/* Has phase p a local phase that suits a warp? */
static bool may_take_warps(const kn_kernel *k, int p)
{
    bool any = false;
    for (int i = kn_first_local(k, p); i < p; i++)
        any = any || suits_a_warp(&k->phases.data[i]);
    return any;
}

/* The local phases of phase p that suit a warp go by one each, at the same time, where that is predicted to be quicker
 * (measured: docs/lab/several-arrays.md). */
static void take_warps(const kn_site *at, kn_kernel *k, int p)
{
    const int first = kn_first_local(k, p);
    const size_t n = (size_t)(p - first);
    kn_phase *locals = &k->phases.data[first];
    const kn_phase *before = kn_alloc_copy(at->arena, locals, sizeof *locals * n);
    const double by_block = kn_predict_locals_ns(k, at->target, p);
    for (size_t i = 0; i < n; i++)
        if (suits_a_warp(&locals[i])) {
            locals[i] = kn_phase_copy(at->arena, &before[i]);
            locals[i].how.tpg = WARP;
            kn_schedule_as(at->arena, &locals[i], 1);
            locals[i].selection = kn_select_phase(k->arena, &locals[i], k->fast);
        }
    if (kn_predict_locals_ns(k, at->target, p) >= by_block)
        memcpy(locals, before, sizeof *locals * n);
}

/* Does a thread keep elements of 64 bits in registers? */
static bool keeps_wide(const kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++)
        for (int j = 0; j < k->phases.data[i].nest.values.len; j++) {
            const kn_phase *ph = &k->phases.data[i];
            if (kn_kept(ph, j) == KN_KEEP_REGISTERS && kn_bytes(kn_value_at(ph, j)->dtype) > 4)
                return true;
        }
    return false;
}

/* The largest block that the code serves. Where a block, or independent threads and parts of warps, work on each
 * group, a block may have any size up to a limit, as a number. It is structure, 0, for columns that are not packed,
 * which combine in as many rows as the block has, for mixed phases, whose groups share a block, and for tiles of rows. */
static int largest_block(const kn_kernel *k, int limit)
{
    if (keeps_wide(k) && k->threads <= KN_HALF_BLOCK)
        limit = KN_HALF_BLOCK;
    int largest = limit < KN_SMALL_BLOCK ? limit : KN_SMALL_BLOCK;
    for (int i = 0; i < k->phases.len; i++) {
        const kn_phase *ph = &k->phases.data[i];
        if (!ph->local &&
            ((ph->how.walk == KN_WALK_COLS && !ph->how.packed) || ph->how.mixed || ph->how.tile))
            return 0;
        if (!ph->local && (kn_by_block(ph) || ph->how.packed))
            largest = limit;
    }
    return largest;
}

/* Results of neighbouring groups are stored by vectors where they are aligned in memory. */
static void store_results_by_vectors(const kn_site *at, kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++) {
        kn_phase *ph = &k->phases.data[i];
        int va = kn_phase_vector_axis(ph);
        for (int j = 0; j < ph->nest.stores.len && ph->how.walk == KN_WALK_COLS && !ph->how.packed;
             j++) {
            const kn_store *s = &ph->nest.stores.data[j];
            kn_transfer *by = &ph->how.transfers.data[ph->nest.values.len + j];
            if (s->kind == KN_STORE_GROUP)
                by->vector =
                    by->vector && kn_vector_fits(ph, &s->access, &at->bufs[s->access.buf],
                                                 at->align[s->access.buf], va, ph->how.vec);
        }
    }
}

/* Mixed phases have a block size of their own. */
static bool wants_half(const kn_kernel *k, const kn_target *target)
{
    bool half = false;
    for (int i = 0; i < k->phases.len; i++) {
        const kn_phase *ph = &k->phases.data[i];
        if (ph->how.mixed)
            return false;
        half = half || (!ph->local && kn_has_wide_functions(ph, target));
    }
    return half;
}

/* What the machine, or whoever forces less, allows. */
static int most_threads(const kn_site *at)
{
    return at->force->max_threads > 0 ? at->force->max_threads : at->target->max_block;
}

int kn_block_limit(const kn_site *at, const kn_kernel *k)
{
    int limit = most_threads(at);
    return limit > KN_HALF_BLOCK && wants_half(k, at->target) ? KN_HALF_BLOCK : limit;
}

/* The limit for largest_block(). A block of half the threads that has a multiprocessor's registers to itself
 * (min_blocks 1) limits the code to its size; otherwise the compiler may use no more registers than the largest block
 * leaves, so that several blocks fit. */
static int served_limit(const kn_site *at, const kn_kernel *k)
{
    return k->min_blocks == 1 ? kn_block_limit(at, k) : most_threads(at);
}

/* The block size that suits all phases best. */
static void choose_block(const kn_site *at, kn_kernel *k)
{
    int limit = kn_block_limit(at, k);
    k->threads = 32;
    for (int i = 0; i < k->phases.len; i++) {
        const kn_phase *ph = &k->phases.data[i];
        int want = ph->local ? 0 : kn_walker_of(ph->how.walk)->threads(ph, at->target);
        k->threads = want > k->threads ? want : k->threads;
    }
    if (k->threads > KN_HALF_BLOCK && limit == KN_HALF_BLOCK && wants_half(k, at->target))
        k->min_blocks = 1;
    while (k->threads > 32 && k->threads > limit)
        k->threads /= 2;
}

/* May phase p > 0 finish the tiles of the one before (codegen/plan/assemble.c)? */
static bool may_finish_tiles(const kn_kernel *k, int p)
{
    const kn_phase *ph = &k->phases.data[p], *before = ph - 1;
    if (!before->how.split || before->how.walk != KN_WALK_COLS || before->how.interleaved ||
        !ph->barrier || !kn_others_wait_behind(k, p))
        return false;
    for (int i = 0; i < before->nest.stores.len; i++)
        if (before->nest.stores.data[i].once && ph->nest.groups > kn_cols_width(ph))
            return false;
    return true;
}

/* The schedules of a kernel's shaped phases. */
static void choose(const kn_site *at, kn_kernel *k)
{
    for (int i = 0; i < k->phases.len; i++)
        if (i > 0 && !k->phases.data[i].local && !may_finish_tiles(k, i))
            kn_schedule_few_columns(&k->phases.data[i], at->target);
    for (int i = 0; i < k->phases.len; i++)
        if (k->phases.data[i].how.interleaved && !kn_locals_suit_interleaving(at, k, i))
            kn_undo_interleaving(at, &k->phases.data[i]);
    kn_resident_align(at, k);
    choose_block(at, k);
    for (int i = 0; i < k->phases.len; i++) {
        kn_phase *ph = &k->phases.data[i];
        if (ph->local)
            continue;
        kn_walker_of(ph->how.walk)->bind(at, ph, k->threads);
        kn_keep_computed(at, ph, k->fast);
        int min_blocks = ph->how.mixed ? kn_mixed_min_blocks(at->target, k->threads)
                                       : kn_transposing_min_blocks(ph, k->threads);
        k->min_blocks = min_blocks ? min_blocks : k->min_blocks;
        /* the compiler, which sees much to compute, would have few registers and load late */
        if (at->target->sm && ph->alone && ph->how.full && kn_shares_blocks(ph))
            k->min_blocks = (int)kn_blocks_a_unit(k, at->target);
    }
}

/* Blocks a multiprocessor that the grid of several phases counts on, for which the code has to leave registers: each phase is
 * divided among as many as there is thought to be room for, but for no more than leave 64 registers, which most code takes. And
 * those of tiles of rows, of which one loads while another waits at its barriers.
 * 0: one, or any; functions of f64 would spill (measured: docs/lab/registers-for-blocks.md). */
static int blocks_counted_on(const kn_kernel *k, const kn_target *target)
{
    enum { FEW_REGISTERS = 64 };
    const int blocks = (int)kn_blocks_a_unit(k, target),
              most = KN_UNIT_REGISTERS / (k->threads * FEW_REGISTERS);
    int hosts = 0;
    bool wide = false;
    for (int i = 0; i < k->phases.len; i++) {
        const kn_phase *ph = &k->phases.data[i];
        hosts += ph->how.walk == KN_WALK_ROWS && ph->how.tile ? 2 : !ph->local;
        wide = wide || kn_has_wide_functions(&k->phases.data[i], target);
    }
    return hosts < 2 || wide || blocks < 2 || most < 2 ? 0 : blocks < most ? blocks : most;
}

void kn_bind_rest(const kn_site *at, kn_kernel *k, bool given)
{
    for (int i = 0; i < k->phases.len; i++) {
        kn_phase *ph = &k->phases.data[i];
        if (ph->local)
            continue;
        for (int j = kn_first_local(k, i); j < i; j++)
            follow_host(at, k, &k->phases.data[j], ph);
        kn_bind_tile(ph);
        k->shared += kn_phase_kept_bytes(ph) + kn_exchange_bytes(ph) +
                     kn_packed_bytes(ph, k->threads) + kn_dynamic_tile_bytes(ph, k->threads);
    }
    k->shared += kn_kernel_prefetch_bytes(k);
    kn_resident_keep(k, at->target);
    store_results_by_vectors(at, k);
    if (at->target->sm)
        kn_bind_arithmetic(k, given);
    /* several blocks a multiprocessor are so many of this size */
    k->bound = k->min_blocks > 1 ? 0 : largest_block(k, served_limit(at, k));
    if (at->target->sm && !given && !k->bound && !k->min_blocks)
        k->min_blocks = blocks_counted_on(k, at->target);
    for (int i = 0; i < k->phases.len && at->target->sm; i++) {
        kn_phase *ph = &k->phases.data[i];
        if (!ph->local && may_take_warps(k, i))
            take_warps(at, k, i);
        if (!given || ph->how.planes) /* how many axes they have follows from the sizes */
            ph->how.planes = kn_axes_of_planes(ph);
        if (!given && kn_kernel_cooperative(k))
            kn_batch_groups(k, ph, at->target);
    }
}

void kn_bind_kernel(const kn_site *at, kn_kernel *k)
{
    choose(at, k);
    for (int i = 0; i < k->phases.len && at->target->sm; i++)
        kn_fit_parts(at, k, i);
    kn_bind_rest(at, k, false);
}
