/* Binds by a given schedule, if it is legal for these phases.
 *
 * Which phases there are, and what follows from that, stays the planner's: walks, unaligned vectors, packed rows,
 * tiles, and what is divided over the machine. A given schedule may differ in the block, in the threads, vectors and
 * steps of a group, in the blocks of a cluster, and in what is held and how it is transferred. An error says which
 * rule a schedule breaks. */
#include <string.h>

#include "codegen/model/resources.h"
#include "codegen/sched/bind.h"

static bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

kn_status kn_illegal(int phase, const char *rule)
{
    return kn_fail(KN_ARGUMENT, "schedule, phase %d: %s", phase, rule);
}

#define RULE(holds, text)                                                                          \
    do {                                                                                           \
        if (!(holds))                                                                              \
            return kn_illegal(p, text);                                                            \
    } while (0)

/* Does the schedule leave what the planner has shaped? */
static kn_status keeps_shape(int p, const kn_phase *ph, const kn_phase_schedule *s)
{
    const kn_schedule *shaped = &ph->how, *how = &s->how;
    RULE(shaped->walk == how->walk, "the walk is the planner's");
    RULE(shaped->unaligned == how->unaligned,
         "whether rows are unaligned follows from their strides");
    RULE(shaped->linear == how->linear, "linear vectors are the planner's");
    RULE(shaped->by_run == how->by_run, "whether vectors go by run is the planner's");
    RULE(shaped->packed == how->packed, "which rows are packed follows from their runs");
    RULE(!how->packed || (!how->cluster && shaped->lanes == how->lanes && shaped->tpg == how->tpg &&
                          shaped->steps == how->steps && s->num.pack == ph->num.pack),
         "how rows are packed is the planner's");
    RULE(shaped->tile == how->tile, "tiles are the planner's");
    RULE(shaped->scatter_sum == how->scatter_sum, "what is a scatter sum follows from the program");
    RULE(shaped->split == how->split && shaped->mixed == how->mixed &&
             shaped->resident == how->resident,
         "what is split, mixed or resident is the planner's: the phases follow from it");
    RULE(!how->split || (s->num.splits == ph->num.splits && s->num.chunk == ph->num.chunk),
         "the parts of what is split are the planner's, or fewer where local phases merge them");
    RULE(s->num.parts == ph->num.parts && s->num.rounds == ph->num.rounds,
         "the parts of what is mixed are the planner's");
    RULE(how->hoisted <= shaped->hoisted && how->rest_in_registers == shaped->rest_in_registers,
         "what is hoisted, or has a rest in registers, is the planner's");
    RULE(!how->rest_in_registers ||
             (s->num.splits == ph->num.splits && s->num.chunk == ph->num.chunk &&
              s->num.in_shared == ph->num.in_shared),
         "the parts of what has a rest in registers are the planner's");
    return KN_OK;
}

/* Members of a group that one block walks, or a smaller part of one. */
static int64_t part_of(const kn_phase *ph)
{
    return ph->how.split || ph->how.cluster ? ph->num.chunk : kn_phase_counted(ph);
}

/* Has a phase before p clusters? Given ones are those of the line. */
static bool has_earlier_cluster(const kn_kernel *k, int p)
{
    bool has = false;
    for (int i = 0; i < p; i++)
        has = has || k->phases.data[i].how.cluster;
    return has;
}

static kn_status legal_cluster(int p, const kn_site *at, const kn_kernel *k, const kn_phase *ph)
{
    const kn_numbers *n = &ph->num;
    RULE(at->target->cluster > 0 && ph->nest.reds.len > 0 && ph->how.walk != KN_WALK_FLAT,
         "clusters share groups, on a machine that has clusters");
    RULE(ph->how.mixed ? kn_mixed_in_clusters(ph, at->target) : !ph->no_cluster,
         "clusters are beside no phase that keeps values in shared memory");
    RULE(ph->how.mixed || !has_earlier_cluster(k, p), "one phase of a kernel has clusters");
    RULE((ph->how.mixed ? n->splits > 0 : is_power_of_two(n->splits)) &&
             n->splits <= at->target->cluster,
         "a cluster has 1, 2, 4, 8 or 16 blocks, in mixed phases any number, and no more than the "
         "machine allows");
    RULE(n->chunk > 0 && n->chunk % kn_phase_multiple(ph) == 0 &&
             n->splits * n->chunk >= kn_phase_counted(ph),
         "the parts of a cluster's blocks are whole lines and have all members");
    return KN_OK;
}

static kn_status legal_map(int p, const kn_site *at, const kn_kernel *k, const kn_phase *ph,
                           int shaped_vec)
{
    const kn_schedule *how = &ph->how;
    int64_t side = (int64_t)how->tpg * how->vec;
    bool fixed = how->unaligned || how->linear || how->by_run || how->packed || how->tile ||
                 how->resident || how->mixed;
    RULE(is_power_of_two(how->vec) && (fixed ? how->vec == shaped_vec : shaped_vec % how->vec == 0),
         "vectors are no wider than extents, strides and alignments allow");
    if (how->cluster)
        KN_TRY(legal_cluster(p, at, k, ph));
    if (how->walk == KN_WALK_FLAT) {
        RULE(how->tpg == 1 && is_power_of_two(how->unroll) && how->unroll <= 8,
             "a flat walk has 1, 2, 4 or 8 steps' loads in flight");
        return KN_OK;
    }
    RULE(!how->unroll, "it is the loops of rows and columns that say unroll");
    if (how->walk == KN_WALK_ROWS)
        RULE(is_power_of_two(how->tpg) &&
                 (how->tpg == k->threads || (how->tpg <= 32 && !how->cluster && !how->unaligned) ||
                  (how->mixed && !how->cluster && how->tpg < k->threads)),
             "a group of rows has a power of two of threads, a warp's at most or the block's");
    else if (how->packed)
        RULE(k->threads >= kn_packed_threads(ph), "a block has a thread for each lane and row");
    else if (how->interleaved)
        RULE(is_power_of_two(how->lanes) && how->tpg == 1 && how->lanes <= k->threads &&
                 kn_members_interleaved(ph) > 0 &&
                 kn_static_bytes(ph, k->threads) <= KN_MOST_TILE_BYTES,
             "interleaved members have a row of lanes, which has room for a whole vector of them, "
             "and shared memory for each column of it");
    else
        RULE(is_power_of_two(how->lanes) && (int64_t)how->tpg * how->lanes == k->threads,
             "rows times lanes of columns are the block");
    RULE(!how->rest_in_registers || ph->num.chunk - ph->num.in_shared <= how->steps * side,
         "all steps together have all that is not in shared memory");
    RULE(how->walk != KN_WALK_ROWS || !how->tile || how->tpg <= 32,
         "the groups of a tile of rows have a warp each at most");
    RULE(!how->mixed || how->steps, "mixed phases have a group's elements in registers");
    if (how->walk == KN_WALK_ROWS && how->steps && !how->rest_in_registers && !how->hoisted)
        RULE(how->steps * side >= part_of(ph), "all steps together have all members");
    if (how->walk == KN_WALK_COLS && how->steps && !how->packed)
        RULE(how->tpg == 1 && how->steps >= ph->nest.members,
             "a thread that keeps a column has all of its members");
    RULE(!how->full ||
             (how->walk == KN_WALK_ROWS && !how->cluster && !how->split && !how->unaligned &&
              !how->mixed && how->full <= how->steps && how->full * side <= kn_phase_counted(ph)),
         "steps are full where members are for all of them");
    return KN_OK;
}

/* All loads that are read again are kept in registers, or all in shared memory, or none is; so are computed values. */
static kn_status legal_holds(int p, const kn_site *at, const kn_phase *ph)
{
    kn_keep where = KN_KEEP_NONE;
    int va = kn_phase_vector_axis(ph), loaded = 0;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(ph, i);
        bool varies = v->kind == KN_V_LOAD && v->level == KN_ELEMENT && va >= 0 &&
                      v->access->kind[va] != KN_STRIDE_ZERO;
        const kn_keep kept = kn_kept(ph, i);
        where = where || kn_is_hoisted(ph, i) ? where : kept;
        loaded += kept == KN_KEEP_REGISTERS && v->kind == KN_V_LOAD ? kn_kept_words(ph, i) : 0;
        RULE(!kept || varies || (v->kind == KN_V_ELEM && v->level == KN_ELEMENT),
             "elements are held, loaded or computed");
        RULE(!kept || v->kind == KN_V_ELEM || kn_hold_of(ph, i)->room == i,
             "a held load shares its memory with computed values only");
        RULE(kept != KN_KEEP_FRAME || at->target->sm == 0, "frames are a CPU's");
        RULE(kept != KN_KEEP_REGISTERS || ph->how.steps > 0,
             "registers hold what a known number of steps has");
    }
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_keep kept = kn_kept(ph, i);
        RULE(!kept || kept == where || kn_is_hoisted(ph, i),
             "all is held in registers, or all in shared memory");
    }
    /* what is computed may spill, where computing it again would take longer */
    RULE(loaded <= KN_KEPT_WORDS, "a thread has no registers for so much");
    RULE(where != KN_KEEP_SHARED || kn_shared_holds_all(at->arena, ph),
         "shared memory holds all that is read again, or nothing");
    RULE(where != KN_KEEP_SHARED || kn_reread_element(ph) > 0,
         "shared memory holds what several sweeps read");
    RULE(kn_computed_have_room(at->arena, ph),
         "a computed value is held since the first sweep that needs it, in memory of its own or in "
         "that of a held one which no later sweep needs");
    RULE(
        !ph->how.groups || (ph->how.groups <= KN_MOST_GROUPS && kn_may_batch_groups(ph)),
        "batches of at most 8 groups are of rows whose loads registers hold, in no cluster or tile");
    return KN_OK;
}

/* Nanoseconds, of which the product with any number of blocks at a time has 32 bits. */
enum { MOST_SKEW = 100000 };

/* Async copies are for what the planner has shaped, and would bind, for them, and for rows that they could bring though
 * it prefers registers. */
static kn_status legal_transfer(int p, const kn_site *at, const kn_kernel *k, const kn_phase *ph,
                                const kn_phase *otherwise)
{
    bool rows = ph->how.walk == KN_WALK_ROWS && kn_rows_copies(ph, at->target);
    int64_t stride = (int64_t)k->threads * ph->how.vec;
    RULE(!ph->how.async || otherwise->how.async || rows,
         "async copies bring whole runs of what is held");
    RULE(!kn_copies_in_chunks(ph) ||
             (ph->num.copy_chunk > 0 && ph->num.copy_chunk % stride == 0 &&
              kn_ceil_div(kn_phase_held(ph), ph->num.copy_chunk) <= KN_MOST_CHUNKS),
         "a chunk is a multiple of what the block takes in a step, and there are 16 at most");
    bool copied = false;
    for (int i = 0; i < ph->nest.values.len; i++)
        copied = copied || kn_is_copied(ph, i);
    RULE(!ph->how.async || copied, "async copies bring what shared memory holds");
    RULE(ph->how.async || !(ph->how.hoisted || ph->how.rest_in_registers),
         "async copies bring what goes with what is hoisted, or with a rest in registers");
    RULE(!ph->how.by_chunk || ph->how.rest_in_registers,
         "only a block with a rest in registers takes its copies by chunk");
    bool steps = ph->how.async && ph->how.walk == KN_WALK_COLS && kn_transpose_side(ph) == 1;
    RULE(steps ? is_power_of_two(ph->how.copies) && ph->how.copies <= 8 : !ph->how.copies,
         "async copies of columns are of 1, 2, 4 or 8 steps at a time");
    RULE(!ph->how.persistent || ph->how.cluster, "it is clusters that are persistent");
    RULE(!ph->how.skewed || (at->target->sm && k->phases.len == 1 && ph->how.walk != KN_WALK_FLAT &&
                             !ph->how.split && !ph->how.mixed),
         "blocks begin one after the other that have whole groups of the only phase");
    RULE(!ph->how.prefetch || ph->how.mixed ||
             (ph->how.walk == KN_WALK_COLS && ph->how.cluster && ph->how.async &&
              kn_transpose_side(ph) > 1),
         "clusters prefetch tiles that async copies bring and registers transpose");
    RULE(!ph->how.prefetch || !ph->how.mixed || kn_mixed_prefetches(ph, at->target),
         "mixed phases prefetch what registers hold of a group");
    RULE(ph->how.deferred >= 0 && ph->how.deferred <= kn_deferrable_groups(ph),
         "so many groups' combines cannot be deferred");
    RULE(ph->num.skew >= 0 && ph->num.skew <= MOST_SKEW, "skew is a time of at most 100,000 ns");
    return KN_OK;
}

/* The schedule with what it leaves out of the numbers that follow from the sizes. */
static kn_phase_schedule with_sizes(const kn_phase *shaped, const kn_phase_schedule *s)
{
    kn_phase_schedule with = *s;
    kn_numbers *n = &with.num;
    if (!n->splits && !with.how.cluster)
        n->splits = shaped->num.splits;
    if (!n->chunk)
        n->chunk =
            !with.how.cluster || !n->splits ? shaped->num.chunk : kn_phase_part(shaped, n->splits);
    n->parts = n->parts ? n->parts : shaped->num.parts;
    n->rounds = n->rounds ? n->rounds : shaped->num.rounds;
    n->pack = n->pack ? n->pack : shaped->num.pack;
    n->in_shared = n->in_shared ? n->in_shared : shaped->num.in_shared;
    if (with.how.packed && !with.how.lanes) {
        with.how.tpg = shaped->how.tpg;
        with.how.lanes = shaped->how.lanes;
        with.how.steps = shaped->how.steps;
    }
    if (!with.how.transposes.len && with.how.walk == shaped->how.walk)
        with.how.transposes = shaped->how.transposes;
    return with;
}

/* Interleaves a shaped phase of columns, or undoes it. */
static kn_status interleave(const kn_site *at, kn_kernel *k, int p, bool interleaved)
{
    kn_phase *ph = &k->phases.data[p];
    if (ph->how.interleaved && !interleaved)
        kn_undo_interleaving(at, ph);
    RULE(!interleaved || ph->how.interleaved ||
             (!ph->how.tile && !ph->how.cluster && kn_interleave(at, ph)),
         "members are interleaved where they are contiguous, and in no order");
    RULE(!interleaved || kn_locals_suit_interleaving(at, k, p),
         "local phases of groups are interleaved where their host does");
    return KN_OK;
}

/* Lets loads of a shaped phase be assembled of aligned words, or not. */
static kn_status assemble(const kn_site *at, kn_phase *ph, int p, bool assembled)
{
    if (ph->how.assembled != assembled) {
        RULE(!assembled || kn_may_assemble(at, ph),
             "what is assembled are vectors of columns that are not aligned in memory");
        ph->how.assembled = assembled;
        kn_schedule_vectors(at, ph);
    }
    return KN_OK;
}

/* Binds a shaped phase by the schedule. `otherwise`: what it would be bound to by itself, with the same block and
 * cluster. */
static kn_status apply_phase(const kn_site *at, kn_kernel *k, int p, const kn_phase_schedule *given)
{
    kn_phase *ph = &k->phases.data[p];
    KN_TRY(assemble(at, ph, p, given->how.assembled));
    KN_TRY(interleave(at, k, p, given->how.interleaved));
    const kn_phase_schedule with = with_sizes(ph, given), *s = &with;
    const kn_schedule shaped = ph->how;
    if (s->how.split && s->num.splits > 0 && s->num.splits < ph->num.splits &&
        kn_may_have_fewer_parts(k, p))
        kn_have_parts(k, p, s->num.splits);
    KN_TRY(keeps_shape(p, ph, s));
    ph->how = s->how;
    memset(&ph->how.holds, 0, sizeof ph->how.holds);
    ph->how.transfers = shaped.transfers;
    /* who finishes, and whether blocks stay, is found once all phases are bound */
    ph->how.last_block = ph->how.last_of_tile = ph->how.atomic = ph->how.fetch = false;
    if (!ph->how.lanes && !ph->how.mixed)
        ph->how.lanes = KN_COLS_LANES;
    ph->num = s->num;
    if (!s->how.cluster && !s->how.split) {
        ph->num.splits = 1;
        ph->num.chunk = ph->nest.members;
    }
    KN_TRY(legal_map(p, at, k, ph, shaped.vec));
    const char *broken = kn_broken_transpose(at, ph, &shaped, k->threads);
    if (broken)
        return kn_illegal(p, broken);
    kn_schedule_as(at->arena, ph, ph->how.vec);
    RULE(ph->how.assembled == kn_is_assembled(ph),
         "what is assembled are vectors that are not aligned in memory");
    RULE(!s->how.tail || ph->how.tail, "whether vectors leave a tail follows from their extent");
    RULE(!ph->how.tail || kn_has_lanes_for_tail(ph), "a tail has a thread for each element");
    const bool rows = ph->how.walk == KN_WALK_ROWS && kn_rows_copies(ph, at->target);
    kn_phase otherwise = kn_phase_copy(at->arena, ph);
    otherwise.how.async = false; /* its walk says whether it would be */
    kn_walker_of(otherwise.how.walk)->bind(at, &otherwise, k->threads);
    if (rows && ph->how.async && !ph->num.copy_chunk)
        ph->num.copy_chunk = kn_rows_chunk(ph, k->threads);
    if (ph->how.async && !ph->how.copies)
        ph->how.copies = otherwise.how.copies;
    for (int i = 0; i < s->how.holds.len; i++) {
        const kn_hold *h = &s->how.holds.data[i];
        RULE(h->value < ph->nest.values.len && h->room < ph->nest.values.len,
             "there is no such value");
        RULE(!h->since || kn_value_at(ph, h->value)->kind == KN_V_ELEM,
             "a load is held from the first sweep that needs it on");
        bool resident = h->where == KN_KEEP_RESIDENT; /* set once it is known what fits */
        if (resident && !ph->how.mixed)
            continue;
        kn_hold *held = kn_hold_value(at->arena, ph, h->value, h->where);
        held->where = resident ? KN_KEEP_REGISTERS : h->where;
        held->room = h->room;
        held->since = h->since;
    }
    KN_TRY(legal_holds(p, at, ph));
    return legal_transfer(p, at, k, ph, &otherwise);
}

kn_status kn_bind_as(const kn_site *at, kn_kernel *k, const kn_kernel_schedule *s)
{
    if (s->phases.len != k->phases.len)
        return kn_fail(KN_ARGUMENT, "the schedule has %d phases, the kernel %d", s->phases.len,
                       k->phases.len);
    kn_resident_align(at, k);
    k->threads = s->threads;
    k->min_blocks = s->min_blocks;
    int p = 0;
    RULE(k->threads >= 32 && is_power_of_two(k->threads) && k->threads <= kn_block_limit(at, k),
         "a block has a power of two of threads, 32 at least, and no more than the limit");
    for (; p < k->phases.len; p++) {
        RULE(s->phases.data[p].local == k->phases.data[p].local,
             "which phases are local is the planner's");
        RULE(at->target->sm != 0 || !s->phases.data[p].how.loops.len, "loops are a GPU's");
        k->phases.data[p].how.loops = s->phases.data[p].how.loops;
        if (!k->phases.data[p].local)
            KN_TRY(apply_phase(at, k, p, &s->phases.data[p]));
    }
    for (p = 0; p < k->phases.len && at->target->sm; p++)
        if (!s->phases.data[p].num.splits)
            kn_fit_parts(at, k, p);
    kn_bind_rest(at, k, true);
    p = 0;
    RULE(!k->bound || k->threads <= k->bound,
         "a block that several groups share has 256 threads at most");
    RULE(at->target->sm == 0 || k->shared + kn_kernel_static_bytes(k) <= at->target->smem_block,
         "a block has no shared memory for so much");
    return KN_OK;
}
