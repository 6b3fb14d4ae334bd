/* The loops of a bound kernel's sweeps: how many steps they take at a time, whether these load in batches, and in which
 * direction they walk. They follow from the nest and the rest of the schedule, so they are chosen last, when it is
 * known which blocks finish; what is given is held to the same rules.
 *
 *   unroll     As many steps as keep enough loads in flight, and no more than there are registers for.
 *   batch      The compiler moves no load above a branch, as in a division, nor above a store of the step before to
 *              shared memory, so that each load would be waited for alone (docs/lab/loads-in-flight.md). A counted loop
 *              has as many in flight, but takes the remainder of its count one by one, which is much where a thread has
 *              few steps, as of resident values.
 *   unguarded  Where all threads have all steps, these have no bounds checks, and a batch has as many steps as divide them. Where
 *              most batches are whole, these may have a form of their own (docs/lab/bounds-checks.md).
 *   backwards  Every other sweep walks in reverse, counting on from the phase before that has read the same array: it
 *              then meets first what the sweep before it read last, which may still be in a cache. Tiles do not count
 *              on. */
#include <string.h>

#include "codegen/model/caches.h"
#include "codegen/model/resources.h"
#include "codegen/sched/bind.h"

enum {
    /* Bytes of loads that a thread has in flight where it takes few members: more would only take registers. */
    FEW_BYTES = 8,
    FEW_STEPS = 2, /* of a local phase: no batch */
    SCATTERED = 4, /* steps over members that were found */
    /* Transposed elements of so many bytes, one by one, are this many in flight: mostly all that a thread has of a tile. */
    SMALL_BYTES = 2,
    SMALL_AT_ONCE = 16,
    /* Steps at a time: in a tile, where ptxas spills some of eight; of a register tile that is not stored; where
     * registers hold other things too, such as the results of each group of columns or the rest of a row. */
    TILE_STEPS = 4,
    REGISTER_TILE_STEPS = 4,
    CROWDED_STEPS = 2,
    CROWDED_SINGLES = 4, /* the same of single elements */
    /* Elements at a time that a thread reads from shared memory. It answers soon: more elements of one array save only
     * the loop's counting and cost compile time (docs/lab/registers-or-shared.md, compile-time.md). Of two arrays two
     * steps pay. */
    SHARED_ELEMENTS = 4,
    SHARED_ELEMENTS_OF_SEVERAL = 8,
    /* Of all steps at a time, in additions: beyond that a thread computes long enough for others to load, and more code
     * costs only compile time. */
    MOST_ADDITIONS = 512,
    /* The same of steps that read shared memory alone: it answers soon. */
    MOST_ADDITIONS_SHARED = 32,
    /* The most batches for which each step is guarded, so that the last one needs not be whole. */
    FEW_BATCHES = 8,
    /* Whole batches have a form of their own where a thread has so many at least, of so many additions at most, and where there are
     * so many elements for each thread of the machine. */
    FEW_WHOLE = 2,
    MOST_ADDITIONS_TWICE = 100,
    MANY_ELEMENTS = 32,
};

/* Which loop of the kernel is bound. The arrays have an entry for each value of the phase. */
typedef struct loop_site {
    const kn_target *target;
    const kn_kernel *k;
    const kn_phase *ph;
    int sweep;
    bool on_chip;
    bool *need;  /* the sweep needs it */
    bool *found; /* the sweep finds it in shared memory */
} loop_site;

static bool is_found(const loop_site *s, int i)
{
    return s->on_chip ? kn_part_on_chip(s->k, s->ph, i) > 0 : s->found[i];
}

/* Does the sweep load element value i? */
static bool loads_value(const loop_site *s, int i)
{
    const kn_value *v = kn_value_at(s->ph, i);
    return v->kind == KN_V_LOAD && v->level == KN_ELEMENT && s->need[i] && !is_found(s, i);
}

/* ---- what a loop is over ---- */

static bool needs_hoisted(const loop_site *s)
{
    bool needs = false;
    for (int i = 0; i < s->ph->nest.values.len; i++)
        needs = needs || (s->need[i] && kn_is_hoisted(s->ph, i));
    return needs;
}

/* Is it an access of this sweep that is transposed in this way? */
static bool is_of_sweep(const loop_site *s, const kn_transpose *t)
{
    return t->store ? s->ph->nest.stores.data[t->of].stage == s->sweep
                    : s->need[t->of] && !is_found(s, t->of);
}

/* As many vectors of a transposed load as a thread has in flight at a time, of the widest; 0: the sweep has none. */
static int transposed_in_flight(const loop_site *s)
{
    int widest = 0;
    for (int i = 0; i < s->ph->how.transposes.len && s->ph->how.walk != KN_WALK_ROWS; i++) {
        const kn_transpose *t = &s->ph->how.transposes.data[i];
        bool load = !t->store && is_of_sweep(s, t);
        int bytes = load ? kn_bytes(kn_transposed_type(s->ph, t)) * t->vec : 0;
        widest = bytes > widest ? bytes : widest;
    }
    return widest == 0 ? 0 : widest <= SMALL_BYTES ? SMALL_AT_ONCE : kn_steps_at_once(widest);
}

/* Do accesses of the sweep go through tiles, or are they transposed in registers? Those of rows are in their tile before the
 * first sweep. */
static bool transposes(const loop_site *s, bool in_registers)
{
    bool any = false;
    if (s->ph->how.walk == KN_WALK_ROWS)
        return false;
    for (int i = 0; i < s->ph->how.transposes.len; i++) {
        const kn_transpose *t = &s->ph->how.transposes.data[i];
        any = any || (t->in_registers == in_registers && is_of_sweep(s, t));
    }
    return any;
}

static kn_over range_of(const loop_site *s)
{
    const kn_schedule *how = &s->ph->how;
    if (how->steps && !how->rest_in_registers && (!how->hoisted || needs_hoisted(s)))
        return KN_OVER_ALL;
    return transposes(s, false) ? KN_OVER_TILES : KN_OVER_STEPS;
}

/* ---- what is possible ---- */

/* Not of members that are combined in order, that copies bring or that are on chip. */
static bool may_reverse(const loop_site *s)
{
    return !s->on_chip && !s->ph->how.async && !kn_phase_in_order(s->ph) && !s->ph->how.scatter_sum;
}

/* Not where a step is more than its members, where copies come and go with the loop, nor where a batch's registers
 * would displace what is on chip. What goes on to shared memory is worth no batch if the step waits for other loads
 * anyhow. */
static bool may_batch(const loop_site *s)
{
    bool any = false, held = false, others = false;
    if (s->ph->how.scatter_sum)
        return false;
    for (int i = 0; i < s->ph->nest.values.len; i++) {
        if (s->on_chip && is_found(s, i))
            return false;
        if (!loads_value(s, i))
            continue;
        if (!kn_may_batch(s->ph, i))
            others = true;
        else
            *(kn_kept(s->ph, i) == KN_KEEP_SHARED ? &held : &any) = true;
    }
    return (any || (held && !others)) && !s->ph->how.unaligned && kn_transpose_side(s->ph) == 1 &&
           !kn_copies_groups(s->ph);
}

static bool may_be_contiguous(const loop_site *s, const kn_sweep_loop *l)
{
    return kn_is_cyclic(s->ph) && kn_by_block(s->ph) && !kn_phase_resident(s->ph) && !l->backwards;
}

static bool loads_any(const loop_site *s)
{
    bool any = false;
    for (int i = 0; i < s->ph->nest.values.len; i++)
        any = any || loads_value(s, i);
    return any;
}

/* Backwards only where steps load: from shared memory a count gains less than its remainder costs compile time. */
static bool may_count(const loop_site *s, const kn_sweep_loop *l)
{
    return s->on_chip || (kn_by_block(s->ph) && (!l->backwards || (l->unroll > 1 && loads_any(s))));
}

/* ---- what is chosen ---- */

/* Is it the loop over the steps that are not on chip, where all are? It is there for launches of fewer blocks. */
static bool is_for_fewer_blocks(const loop_site *s)
{
    const kn_phase *ph = s->ph;
    return !s->on_chip && kn_phase_resident(ph) && !ph->how.mixed &&
           (double)s->k->resident_steps >= (double)ph->num.chunk / kn_phase_step(ph);
}

/* Do the workers of a local phase take few members, one at a time? */
static bool takes_few_members(const loop_site *s)
{
    const kn_phase *ph = s->ph;
    const int64_t workers = kn_by_block(ph) ? s->k->threads : ph->how.tpg;
    return ph->local && (ph->how.walk == KN_WALK_COLS ||
                         (ph->how.vec == 1 && ph->nest.members <= FEW_STEPS * workers));
}

/* The most bytes in flight; 0: as many as there are. */
static int most_bytes(const loop_site *s)
{
    const kn_schedule *how = &s->ph->how;
    return how->walk != KN_WALK_COLS && takes_few_members(s) ? FEW_BYTES : 0;
}

/* What a step takes of an element, in additions. */
static int additions_of(const loop_site *s)
{
    int sum = 0;
    for (int i = 0; i < s->ph->nest.values.len; i++) {
        const kn_value *v = kn_value_at(s->ph, i);
        sum +=
            s->need[i] && v->kind == KN_V_ELEM && v->level == KN_ELEMENT ? kn_ops[v->op].cost : 0;
    }
    return sum;
}

/* As many steps as have no more than `most` of what each has so many of, additions or bytes. */
static int at_most(int steps, int each, int most)
{
    while (steps > 1 && steps * each > most)
        steps /= 2;
    return steps;
}

static int choose_unrolling(const loop_site *s, const kn_sweep_loop *l)
{
    const kn_schedule *how = &s->ph->how;
    int bytes = 0, arrays = 0; /* of a step's loads; in shared memory */
    if (kn_transpose_side(s->ph) > 1)
        return transposes(s, true) ? kn_transpose_side(s->ph) : REGISTER_TILE_STEPS;
    for (int i = 0; i < s->ph->nest.values.len; i++) {
        if (loads_value(s, i) && !kn_transpose_of(s->ph, i))
            bytes += kn_bytes_in_flight(s->ph, i);
        arrays += s->need[i] && is_found(s, i);
    }
    if (arrays && !bytes) {
        int elements = arrays == 1 && !s->on_chip ? SHARED_ELEMENTS : SHARED_ELEMENTS_OF_SEVERAL;
        int steps = how->vec < elements ? elements / how->vec : 1;
        return at_most(steps, additions_of(s) * how->vec, MOST_ADDITIONS_SHARED);
    }
    int steps = how->unroll ? how->unroll : kn_sweep_steps_at_once(s->ph, bytes),
        few = most_bytes(s);
    if (l->over == KN_OVER_TILES && steps > TILE_STEPS)
        steps = TILE_STEPS;
    bool stores = how->walk == KN_WALK_COLS && kn_sweep_stores_elements(s->ph, s->sweep);
    const int crowded = stores && how->vec == 1 ? CROWDED_SINGLES : CROWDED_STEPS;
    if ((stores || how->rest_in_registers) && steps > crowded)
        steps = crowded;
    if (few)
        steps = at_most(steps, bytes, few);
    return at_most(steps, additions_of(s) * how->vec, MOST_ADDITIONS);
}

/* Does the sweep load more vectors beside what registers hold than there are registers for, or would what it computes with
 * take more, as 16-bit elements do that become f32? Without a branch in each step the compiler would move all loads, and
 * all conversions, to the front. Loads of single elements it keeps apart itself. */
static bool exceeds_registers(const loop_site *s)
{
    const kn_phase *ph = s->ph;
    int words = 0, converted = 0;
    bool any = false;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_hold *h = kn_hold_of(ph, i);
        bool held = h && h->where == KN_KEEP_REGISTERS && h->room == i &&
                    (kn_value_at(ph, i)->kind == KN_V_LOAD || h->since < s->sweep);
        bool loaded = !h && ph->how.vec > 1 && loads_value(s, i);
        bool narrow = h && s->need[i] && kn_is_half(kn_value_at(ph, i)->dtype);
        any = any || loaded;
        words += held || loaded ? kn_kept_words(ph, i) : 0;
        converted += narrow ? kn_words(ph->how.vec, 4) * ph->how.steps : 0;
    }
    return (any && words > KN_KEPT_WORDS) || converted > KN_KEPT_WORDS;
}

/* Has a thread so few steps that the remainder of their count, which waits step by step, takes longer than the rest? */
static bool is_mostly_remainder(const loop_site *s, const kn_sweep_loop *l)
{
    const kn_phase *ph = s->ph;
    const int64_t members = ph->how.split || ph->how.cluster ? ph->num.chunk : ph->nest.members;
    const int64_t batch = (int64_t)l->unroll * kn_phase_step(ph);
    return !ph->universal && !kn_phase_resident(ph) && members % batch != 0 &&
           members < FEW_BATCHES * batch;
}

/* Does the sweep load what is assembled of aligned words? Each such load has a branch, for the ends of the array. */
static bool loads_shifted(const loop_site *s)
{
    bool any = false;
    for (int i = 0; i < s->ph->nest.values.len; i++)
        any = any || (loads_value(s, i) && kn_is_shifted(s->ph, i));
    return any;
}

/* In a cyclic partition of a split group the steps of a batch are contiguous, so that each block reads memory in longer
 * runs (docs/lab/split-order.md). Not of threads with several reductions, whose registers would let fewer blocks
 * fit. */
static kn_batch choose_batch(const loop_site *s, const kn_sweep_loop *l)
{
    bool contiguous = s->ph->nest.reds.len == 1 && may_be_contiguous(s, l);
    /* those of a batch rescale what was summed once */
    const bool together = s->ph->how.vec == 1 && kn_has_state(s->ph, KN_STATE_PEAK);
    bool counted = kn_by_block(s->ph) && !l->backwards && !s->ph->local && !together &&
                   !is_mostly_remainder(s, l);
    const bool alone = counted ? !s->on_chip && !contiguous : s->on_chip;
    if (l->unroll == 1 || (takes_few_members(s) && s->ph->how.walk == KN_WALK_ROWS) ||
        (alone && !loads_shifted(s)) || !may_batch(s))
        return KN_BATCH_NONE;
    return contiguous ? KN_BATCH_CONTIGUOUS : KN_BATCH_CYCLIC;
}

/* ---- batches whose steps all have members ---- */

/* Is it known when the kernel is chosen how many steps each group, or each block's part of one, has? */
static bool has_known_parts(const kn_phase *ph)
{
    return ph->how.walk != KN_WALK_FLAT && !ph->universal && !ph->nest.extents && !ph->local &&
           !ph->how.mixed && !ph->how.packed && !ph->how.interleaved && !ph->how.tile &&
           !ph->how.rest_in_registers && !kn_is_cyclic(ph) && !kn_phase_in_order(ph) &&
           !kn_phase_resident(ph) && !(ph->how.by_run && ph->how.cluster);
}

/* Members of the longest part, and of the last one, in whole vectors. */
static int64_t longest_part(const kn_phase *ph, int64_t *last)
{
    const int64_t vec = ph->how.walk == KN_WALK_ROWS ? ph->how.vec : 1,
                  members = kn_phase_counted(ph) / vec * vec;
    const bool shared = ph->how.split || ph->how.cluster;
    const int64_t chunk = shared && ph->num.chunk < members ? ph->num.chunk : members;
    *last = chunk ? (members - 1) % chunk + 1 : 0;
    return chunk;
}

/* First steps that all batches of the loop have for all threads. */
static int full_steps(const kn_phase *ph, int unroll)
{
    const int64_t step = kn_phase_step(ph);
    int64_t last, chunk = has_known_parts(ph) ? longest_part(ph, &last) : 0;
    if (chunk == 0)
        return 0;
    const int64_t of_chunk = ((chunk - 1) % (unroll * step) + 1) / step,
                  of_last = ((last - 1) % (unroll * step) + 1) / step;
    return (int)(of_last < of_chunk ? of_last : of_chunk);
}

/* Makes a batch as long as divides the steps of every thread, if that is more than half of `unroll` or all steps: then it needs no
 * checks. Else a batch that would have all steps is cut to the power of two from there. */
static void fit_batch(const loop_site *s, kn_sweep_loop *l)
{
    const kn_phase *ph = s->ph;
    int64_t last, chunk = has_known_parts(ph) ? longest_part(ph, &last) : 0;
    const int64_t taken = kn_ceil_div(chunk, kn_phase_step(ph));
    if (chunk == 0)
        return;
    for (int n = taken < l->unroll ? (int)taken : l->unroll; n > 1; n--)
        if ((2 * n > l->unroll || n == taken) && full_steps(ph, n) == n) {
            l->unroll = l->unguarded = n;
            return;
        }
    if (taken < l->unroll)
        l->unroll = (int)kn_power_of_two_from(taken);
    if (l->unroll == 1)
        l->batch = KN_BATCH_NONE;
}

/* Do most batches of a thread have all of their steps? An elementwise grid mostly leaves each thread one. */
static bool are_mostly_whole(const loop_site *s, const kn_sweep_loop *l)
{
    const kn_phase *ph = s->ph;
    const int64_t part = ph->how.split || ph->how.cluster ? ph->num.chunk : kn_phase_counted(ph);
    const int64_t steps =
        kn_is_cyclic(ph) ? kn_steps_of_part(ph, s->k->threads) : part / kn_phase_step(ph);
    return ph->how.walk == KN_WALK_FLAT || steps >= FEW_WHOLE * (int64_t)l->unroll;
}

/* A form of its own for whole batches takes time to compile. It is for loops that make up for that: over single elements, of which a
 * bounds check is much, with little arithmetic, and with many of them for each thread of the machine. */
static bool has_form_of_whole(const loop_site *s, const kn_sweep_loop *l)
{
    const kn_phase *ph = s->ph;
    const double all = (double)ph->nest.groups * (double)ph->nest.members,
                 threads = (double)s->target->units * s->target->max_threads_unit;
    return ph->how.vec == 1 && !ph->universal && !ph->local && !ph->how.tile &&
           !kn_phase_resident(ph) && additions_of(s) * l->unroll <= MOST_ADDITIONS_TWICE &&
           all >= threads * MANY_ELEMENTS && are_mostly_whole(s, l);
}

static void choose_checks(const loop_site *s, kn_sweep_loop *l)
{
    if (l->batch)
        fit_batch(s, l);
    l->whole = l->batch && !l->unguarded && has_form_of_whole(s, l);
}

/* Steps that have a bounds check, or a branch: the loads that nothing holds would be waited for one by one
 * (docs/lab/loads-in-flight.md). */
static void batch_all_steps(const loop_site *s, kn_sweep_loop *l)
{
    const kn_phase *ph = s->ph;
    int bytes = 0, words = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (loads_value(s, i) && kn_may_batch(ph, i) && !kn_kept(ph, i)) {
            bytes += kn_bytes_in_flight(ph, i);
            words += kn_vector_words(ph, i);
        }
    const int steps = bytes ? kn_all_steps_at_once(ph, bytes, words) : 1;
    if (steps == 1 || (ph->how.full == ph->how.steps && !l->guarded))
        return;
    l->unroll = steps;
    l->batch = KN_BATCH_CYCLIC;
}

/* `reversed`: the phase's first sweep walks in reverse. */
static kn_sweep_loop choose_loop(const loop_site *s, bool reversed)
{
    kn_sweep_loop l = {.sweep = s->sweep, .on_chip = s->on_chip, .over = range_of(s)};
    if (l.over == KN_OVER_ALL) {
        l.unroll = s->ph->how.steps;
        l.guarded = s->ph->how.full && exceeds_registers(s);
        batch_all_steps(s, &l);
        return l;
    }
    l.loads = transposed_in_flight(s);
    l.backwards = may_reverse(s) && (s->sweep + (reversed && l.over != KN_OVER_TILES)) % 2;
    const bool with_tile = s->ph->nest.reds.len == 0 || (l.loads && may_batch(s));
    if (l.over == KN_OVER_TILES && with_tile && kn_loads_whole_tile(s->ph)) {
        l.unroll = kn_tile_steps(s->ph);
        l.batch = KN_BATCH_CYCLIC;
        return l;
    }
    l.unroll = s->ph->how.scatter_sum   ? SCATTERED
               : is_for_fewer_blocks(s) ? 1
                                        : choose_unrolling(s, &l);
    if (l.over == KN_OVER_TILES || s->ph->how.scatter_sum)
        return l;
    l.batch = choose_batch(s, &l);
    choose_checks(s, &l);
    l.counted = !l.batch && may_count(s, &l) && !takes_few_members(s);
    return l;
}

/* ---- what is given ---- */

static bool is_unrolling(int n) { return n == 1 || n == 2 || n == 4 || n == 8; }

static bool is_of_batch(int steps) { return steps > 1 && steps <= 8; }

/* The rule that a given loop over all steps breaks; NULL: none. */
static const char *broken_rule_of_all(const kn_schedule *how, const kn_sweep_loop *l)
{
    if (l->loads || l->backwards || l->counted || l->unguarded || l->whole ||
        l->batch == KN_BATCH_CONTIGUOUS)
        return "a loop over all steps has no choice but whether it is guarded, and batches";
    if (l->batch ? l->unroll < 2 || how->steps % l->unroll != 0 : l->unroll != how->steps)
        return "a loop over all steps takes them all, or batches of several that divide them";
    return l->guarded && !how->full ? "what is not full is guarded anyhow" : NULL;
}

/* The same of any loop. */
static const char *broken_rule(const loop_site *s, const kn_sweep_loop *l)
{
    const int tile = kn_tile_steps(s->ph), side = kn_transpose_side(s->ph);
    const bool prefetch = s->ph->how.prefetch && s->sweep + 1 == s->ph->nest.nsweeps;
    if (l->over == KN_OVER_ALL)
        return broken_rule_of_all(&s->ph->how, l);
    if (l->guarded)
        return "it is full steps that may be guarded";
    if (l->backwards && !may_reverse(s))
        return "members that are in order, copied or on chip are walked forwards";
    if (transposed_in_flight(s) ? !is_unrolling(l->loads) && l->loads != SMALL_AT_ONCE : l->loads)
        return "transposed loads, where there are any, are 1, 2, 4, 8 or 16 vectors at a time";
    if (l->over == KN_OVER_TILES && l->batch)
        return l->batch != KN_BATCH_CYCLIC || l->unroll != tile || l->unguarded || l->whole
                   ? "a batch of a tile is all of it"
                   : NULL;
    if (!is_unrolling(l->unroll) && !(l->batch && is_of_batch(l->unroll)))
        return "a loop takes 1, 2, 4 or 8 steps at a time, a batch 2 to 8";
    if (l->unroll < side && (transposes(s, true) || prefetch))
        return "a register tile that is stored or prefetched is unrolled";
    if (l->batch && (l->unroll == 1 || l->counted || !may_batch(s)))
        return "a batch is of several steps, not counted, which load what is not on chip";
    if ((l->unguarded || l->whole) && !l->batch)
        return "it is steps of batches that are unguarded, and batches that are whole";
    if (l->unguarded > l->unroll || (l->unguarded && l->unguarded > full_steps(s->ph, l->unroll)))
        return "steps of a batch are unguarded where members are for all of them";
    if (l->whole && l->unguarded)
        return "first steps of batches are unguarded, or whole batches have a form of their own";
    if (l->batch == KN_BATCH_CONTIGUOUS && !may_be_contiguous(s, l))
        return "contiguous batches are of blocks that share a group cyclically";
    if (l->counted && (l->over == KN_OVER_TILES || !may_count(s, l)))
        return "only a block's steps are counted, and backwards only unrolled ones that load";
    if (!l->counted && !l->batch && (s->on_chip || kn_copies_groups(s->ph)))
        return "steps on chip, or that copies serve, are counted";
    return NULL;
}

/* Takes this loop out of `given` if it is there, or chooses one. */
static kn_status bind_loop(const loop_site *s, bool reversed, kn_phase *ph, kn_schedule *given)
{
    kn_sweep_loop l = choose_loop(s, reversed);
    for (int i = 0; i < given->loops.len; i++) {
        kn_sweep_loop of = given->loops.data[i];
        if (of.sweep != s->sweep || of.on_chip != s->on_chip)
            continue;
        of.over = l.over;
        of.unroll = of.unroll ? of.unroll : ph->how.unroll;
        l = of;
        given->loops.data[i] = given->loops.data[--given->loops.len];
        const char *rule = broken_rule(s, &l);
        if (rule)
            return kn_illegal((int)(ph - s->k->phases.data), rule);
        break;
    }
    kn_push(s->k->arena, &ph->how.loops, l);
    return KN_OK;
}

static kn_status bind_sweep(loop_site *s, bool reversed, kn_phase *ph, kn_schedule *given)
{
    kn_phase_needs(ph, s->sweep, s->need);
    if (range_of(s) == KN_OVER_STEPS && kn_phase_resident(ph)) {
        s->on_chip = true;
        KN_TRY(bind_loop(s, reversed, ph, given));
        s->on_chip = false;
    }
    KN_TRY(bind_loop(s, reversed, ph, given));
    for (int i = 0; i < ph->nest.values.len; i++)
        s->found[i] = s->found[i] || (s->need[i] && kn_kept(ph, i) == KN_KEEP_SHARED);
    return KN_OK;
}

static kn_status bind_phase(const kn_target *target, kn_kernel *k, int p, bool reversed, bool given)
{
    kn_phase *ph = &k->phases.data[p];
    const bool walks = kn_goes_by_group(ph) || ph->how.mixed; /* groups, forwards or in reverse */
    kn_schedule text = ph->how;
    loop_site s = {.target = target,
                   .k = k,
                   .ph = ph,
                   .need = KN_NEW_ARRAY(k->arena, bool, ph->nest.values.len + 1),
                   .found = KN_NEW_ARRAY(k->arena, bool, ph->nest.values.len + 1)};
    memset(&ph->how.loops, 0, sizeof ph->how.loops);
    if (!given || ph->local)
        ph->how.reversed = walks && reversed && !ph->local && !kn_nest_exchanges(&ph->nest);
    if (ph->how.reversed && kn_nest_exchanges(&ph->nest))
        return kn_illegal(p, "groups that ranks exchange are taken in one order");
    if (ph->how.reversed && !walks)
        return kn_illegal(p, "it is whole groups that are taken in reverse");
    for (int i = 0; i < ph->nest.values.len && ph->how.async; i++)
        s.found[i] = kn_is_copied(ph, i);
    for (; s.sweep < ph->nest.nsweeps && (ph->how.split || !ph->how.atomic); s.sweep++)
        KN_TRY(bind_sweep(&s, reversed && !kn_goes_by_group(ph), ph, &text));
    return text.loops.len ? kn_illegal(p, "there is no such loop") : KN_OK;
}

kn_status kn_bind_loops(const kn_target *target, kn_kernel *k, bool given)
{
    const bool *reversed = kn_walks_backwards(k);
    for (int p = 0; p < k->phases.len; p++)
        KN_TRY(bind_phase(target, k, p, reversed[p], given));
    return KN_OK;
}
