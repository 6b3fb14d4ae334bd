/* Invariants of phases after every pass, and of kernels. */
#include "codegen/kir/kir.h"
#include "codegen/kir/params.h"

static kn_status broken_in(const char *where, int phase, const char *what)
{
    return kn_fail(KN_INTERNAL, "kernel verifier: %s, phase %d: %s", where, phase, what);
}

kn_status kn_phase_verify(const kn_phase *ph, const char *where, int number, int nbufs)
{
    if (ph->nest.ngroup < 0 || ph->nest.ngroup > ph->nest.naxes || ph->nest.naxes > KN_MAX_RANK)
        return broken_in(where, number, "axes out of range");
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        for (int j = 0; j < v->nin; j++) {
            if (v->in[j] < 0 || v->in[j] >= i)
                return broken_in(where, number, "operand is not an earlier value");
            const kn_value *x = &ph->nest.values.data[v->in[j]];
            if (x->stage > v->stage || (x->level == KN_ELEMENT && v->level == KN_GROUP))
                return broken_in(
                    where, number,
                    "an operand is of a later stage, or an element value of a group value");
        }
        if (kn_is_read(v) && (v->access->buf < 0 || v->access->buf >= nbufs))
            return broken_in(where, number, "load of no buffer");
        if (v->kind == KN_V_RESULT && (v->index < 0 || v->index >= ph->nest.reds.len ||
                                       ph->nest.reds.data[v->index].stage >= v->stage))
            return broken_in(where, number, "a result is used before its combine");
    }
    for (int i = 0; i < ph->nest.reds.len; i++)
        if (ph->nest.reds.data[i].stage != kn_red_stage(ph, i))
            return broken_in(where, number, "a reduction is not in the sweep of its stage");
    for (int i = 0; i < ph->nest.reds.len; i++) {
        const kn_red *red = &ph->nest.reds.data[i];
        if (red->by && (red->carried > i || ph->nest.reds.data[i - red->carried].by != red->by ||
                        i - red->carried + red->by->count > ph->nest.reds.len))
            return broken_in(where, number,
                             "the reductions of a user-defined reduction are not consecutive");
    }
    return KN_OK;
}

static kn_status broken(const kn_kernel *k, int phase, const char *what)
{
    return broken_in(k->name, phase, what);
}

/* Runs that are no multiple of a vector, or begin within one. */
static kn_status verify_vectors(const kn_kernel *k, int p)
{
    const kn_phase *ph = &k->phases.data[p];
    if (ph->how.unaligned &&
        (ph->how.walk != KN_WALK_ROWS || ph->how.vec == 1 || !kn_phase_one_run(ph) ||
         ph->how.split || ph->how.mixed || ph->local || ph->how.steps || ph->how.tpg != k->threads))
        return broken(k, p, "unaligned vectors walk whole rows of one run");
    if (ph->how.linear &&
        (ph->nest.ngroup > 0 || ph->how.walk == KN_WALK_COLS || ph->how.unaligned ||
         ph->how.mixed || ph->local || ph->nest.nsweeps > 1 || kn_phase_in_order(ph)))
        return broken(k, p, "linear vectors walk all members once, in any order");
    if (ph->how.by_run &&
        (ph->how.walk != KN_WALK_ROWS || ph->how.vec == 1 || ph->how.unaligned || ph->how.linear ||
         ph->how.tail || ph->how.hoisted || ph->how.rest_in_registers || ph->how.packed ||
         ph->local || kn_phase_in_order(ph)))
        return broken(k, p,
                      "vectors by run are of rows, in any order, and held of one group at a time");
    if (ph->how.by_run && ph->how.mixed &&
        (!kn_edges_in_one_step(ph) || ph->how.resident || ph->num.parts % kn_group_stride(ph) != 0))
        return broken(k, p,
                      "by run the groups of a mixed part begin alike, each edge has a thread");
    if (ph->how.tail &&
        (ph->how.walk == KN_WALK_COLS || ph->how.vec == 1 || ph->how.unaligned || ph->how.mixed ||
         ph->local || kn_phase_in_order(ph) || !kn_has_lanes_for_tail(ph)))
        return broken(k, p, "a tail is of one aligned run, in any order, an element a thread");
    return KN_OK;
}

static kn_status verify_exchanges(const kn_kernel *k, int p)
{
    const kn_phase *ph = &k->phases.data[p];
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_value_at(ph, i)->kind == KN_V_RANK &&
            (kn_value_at(ph, i)->level != KN_GROUP || ph->local || ph->how.mixed))
            return broken(k, p,
                          "ranks exchange what groups have, which are whole and taken in order");
    return KN_OK;
}

static kn_status verify_tile(const kn_kernel *k, int p)
{
    const kn_phase *ph = &k->phases.data[p];
    if (!ph->how.tile)
        return KN_OK;
    if (ph->how.walk == KN_WALK_FLAT || ph->nest.ngroup == 0 || ph->nest.ngroup == ph->nest.naxes)
        return broken(k, p, "tiles have groups and members");
    if (kn_phase_in_order(ph))
        return broken(k, p, "tiles do not combine members in order");
    for (int i = 0; i < ph->how.transposes.len; i++)
        if (ph->how.transposes.data[i].dense && !kn_may_be_dense(ph, &ph->how.transposes.data[i]))
            return broken(k, p, "a dense tile has all members of whole groups");
    if (ph->how.walk == KN_WALK_ROWS &&
        (ph->how.tile < ph->nest.members || kn_by_block(ph) || ph->how.split || ph->how.mixed))
        return broken(k, p,
                      "a tile of rows has all members of whole groups, of a warp each at most");
    return KN_OK;
}

static kn_status verify_interleaved(const kn_kernel *k, int p)
{
    const kn_phase *ph = &k->phases.data[p];
    if (!ph->how.interleaved)
        return KN_OK;
    if (ph->how.walk != KN_WALK_COLS || ph->how.tpg != 1 || ph->how.tile || ph->how.packed ||
        ph->how.cluster || ph->how.scatter_sum || ph->how.steps || ph->how.lanes > k->threads)
        return broken(k, p, "interleaved members are of columns, in one row of lanes");
    if (!kn_suits_interleaving(ph) || kn_members_interleaved(ph) < 1)
        return broken(k, p,
                      "interleaved members are contiguous, and a row of lanes has room for some");
    return KN_OK;
}

static kn_status verify_last_block(const kn_kernel *k, int p)
{
    const kn_phase *ph = &k->phases.data[p];
    if (!ph->how.last_block)
        return KN_OK;
    if (ph->barrier || !kn_others_wait_behind(k, p))
        return broken(k, p, "a phase of the last block has no barrier in front, but one behind it");
    if (kn_phase_resident(ph) || ph->how.cluster)
        return broken(k, p, "the last block cannot read what other blocks hold on chip");
    if (kn_shares_locals(k, p))
        return broken(k, p, "later phases read local phases that only the last block runs");
    return KN_OK;
}

/* Has another phase clusters, or values where clusters have theirs? */
static bool leaves_no_cluster(const kn_kernel *k, int p)
{
    bool none = false;
    for (int i = 0; i < k->phases.len; i++)
        none = none ||
               (i != p && (k->phases.data[i].how.cluster || kn_keeps_shared(&k->phases.data[i])));
    return none;
}

static kn_status verify_phase(const kn_kernel *k, int p)
{
    const kn_phase *ph = &k->phases.data[p];
    KN_TRY(kn_phase_verify(ph, k->name, p, k->bufs.len));
    for (int i = 0; i < ph->nest.reds.len; i++)
        if (ph->nest.reds.data[i].stage >= ph->nest.nsweeps)
            return broken(k, p, "reduction outside its sweep");
    for (int i = 0, local; i < ph->nest.values.len; i++)
        if (ph->nest.values.data[i].kind == KN_V_LOCAL &&
            !kn_local_export(k, p, ph->nest.values.data[i].index, &local))
            return broken(k, p, "no local phase has this value");
    KN_TRY(verify_exchanges(k, p));
    if (ph->local && (ph->nest.stores.len || ph->how.split || p + 1 == k->phases.len))
        return broken(k, p, "a local phase is whole, stores nothing and has a host");
    for (int i = 0; i < ph->nest.reds.len; i++)
        if (ph->nest.reds.data[i].across && (!ph->how.mixed || kn_red_state(ph, i)))
            return broken(k, p, "reductions across groups are of one plain value, in mixed phases");
    if (ph->how.mixed &&
        (ph->how.split || ph->local || ph->how.walk != KN_WALK_ROWS || !ph->how.steps))
        return broken(k, p, "a mixed phase has whole rows of a known number of steps");
    KN_TRY(verify_last_block(k, p));
    if (ph->how.beside && (p == 0 || ph->local || ph->barrier || ph->how.last_block ||
                           ph->how.cluster || kn_keeps_shared(ph)))
        return broken(k, p, "phases side by side wait for nobody, and share no blocks");
    if (ph->how.last_of_tile &&
        (!ph->how.last_block || ph->how.walk != KN_WALK_COLS || ph->how.split))
        return broken(k, p,
                      "tiles that their last block finishes are of columns that are not split");
    if (ph->how.split && ph->nest.nsweeps > 1)
        return broken(k, p, "a split phase has one sweep");
    if (kn_phase_resident(ph) && !ph->how.mixed &&
        (!kn_is_cyclic(ph) ||
         (ph->how.walk == KN_WALK_ROWS && (!kn_by_block(ph) || ph->how.tpg != k->threads))))
        return broken(k, p, "resident values need a mixed phase or a cyclic partition over blocks");
    if (ph->how.fetch &&
        (!ph->how.tile || !ph->how.split || ph->nest.reds.len > 0 || p >= KN_FETCH_WORDS ||
         (ph->num.splits - 1) * ph->num.chunk >= ph->nest.members))
        return broken(k, p, "parts that blocks fetch have a tile of columns each");
    if (ph->how.cluster && (ph->how.split || ph->how.walk == KN_WALK_FLAT ||
                            (ph->how.walk == KN_WALK_ROWS && ph->how.tpg != k->threads)))
        return broken(k, p, "whole blocks of a cluster share groups");
    if (ph->how.cluster && !ph->how.mixed && leaves_no_cluster(k, p))
        return broken(k, p, "clusters need a kernel's shared memory, which another phase has");
    KN_TRY(verify_vectors(k, p));
    if (ph->how.rest_in_registers &&
        (!kn_copies_groups(ph) || ph->how.unaligned ||
         ph->num.chunk - ph->num.in_shared > (int64_t)ph->how.steps * kn_phase_step(ph)))
        return broken(k, p,
                      "registers keep the rest of what async copies bring, in aligned vectors");
    if (ph->how.hoisted && (!kn_copies_groups(ph) || !ph->how.steps || ph->how.rest_in_registers))
        return broken(k, p, "hoisted loads are in registers, next to async copies of whole rows");
    if (ph->how.async && !ph->how.cluster && ph->how.walk != KN_WALK_COLS)
        return broken(k, p, "async copies are for columns and for clusters");
    if (ph->how.packed && (ph->how.walk != KN_WALK_COLS || !ph->alone || !ph->how.steps ||
                           ph->how.vec == 1 || ph->nest.ngroup != 1 || kn_phase_one_run(ph) ||
                           ph->how.cluster || ph->how.split || ph->how.tile))
        return broken(k, p, "packed rows are groups in several runs, kept in registers");
    KN_TRY(verify_tile(k, p));
    KN_TRY(verify_interleaved(k, p));
    if (ph->how.walk == KN_WALK_FLAT && (ph->nest.reds.len || ph->nest.ngroup))
        return broken(k, p, "a flat phase has no groups");
    return KN_OK;
}

kn_status kn_kernel_verify(const kn_kernel *k)
{
    for (int p = 0; p < k->phases.len; p++) {
        if (k->bound && k->threads > k->bound)
            return broken(k, p, "the block is larger than the code serves");
        KN_TRY(verify_phase(k, p));
    }
    return KN_OK;
}
