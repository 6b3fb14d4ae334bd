/* Reductions: accumulators, what a step adds to them, and how the workers of a group combine theirs: over the lanes of
 * a warp by shuffles, over the warps of a block by shared memory, over the blocks of a cluster by the exchange
 * buffer. */
#include "codegen/emit/cuda/writer.h"
#include "codegen/model/resources.h"
#include "ir/eval.h"

/* Accumulators by kn_state. An empty `type` is the reduction's dtype. `neutral`: the fields before any member.
 * reducer.c has those of a REDUCE_BY. */
static const struct {
    const char *type, *neutral, *combine, *result;
} states[] = {
    [KN_STATE_PLAIN] = {"", "", "", ""},
    [KN_STATE_MOMENTS] = {"kn_moments", "0, 0, 0", "kn_merge_moments", ".m2"},
    [KN_STATE_PEAK] = {"kn_max_expsum", "(%s)-KN_INF, 0", "kn_merge_max_expsum", ".max"},
    [KN_STATE_USER] = {0},
};

static kn_state state_of(kn_cuda_writer *w, int r) { return kn_red_state(w->ph, r); }

/* Do all threads of a group shift the values of its moments by the same, the group's first member? */
static bool shifts_alike(const kn_phase *ph)
{
    return ph->how.cluster || ph->how.unaligned || ph->how.by_run;
}

bool kn_cuda_first_prefetched(kn_cuda_writer *w, int value)
{
    const kn_phase *ph = w->ph;
    bool *need = KN_NEW_ARRAY(w->t->arena, bool, ph->nest.values.len + 1);
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (kn_red_owns(ph, r) && kn_red_state(ph, r) == KN_STATE_MOMENTS)
            kn_value_needs(ph, ph->nest.reds.data[r].value, need);
    return ph->how.mixed && shifts_alike(ph) && kn_is_prefetched(ph, value) && need[value];
}

const char *kn_cuda_first_of_group(kn_cuda_writer *w, int value)
{
    return kn_cuda_printed(w, "%s_first", kn_cuda_value(w, value));
}

/* Moments are accumulated of values shifted by the first member of the range, so that nothing cancels where the mean is
 * large against the deviations. The blocks of a cluster merge their moments, so all shift by the first member of the
 * group. */
static void write_shift(kn_cuda_writer *w, int r)
{
    const kn_red *red = &w->ph->nest.reds.data[r];
    const char *l = kn_vector_has_groups(w->ph) ? "l" : NULL;
    bool *outer = w->need, *need = KN_NEW_ARRAY(w->t->arena, bool, w->ph->nest.values.len + 1);
    const bool first = shifts_alike(w->ph);
    kn_cuda_open(w, w->ph->how.by_run ? "if (edges > 0)"
                    : first           ? "if (members > 0)"
                                      : "if (begin < members)");
    w->in_first_member = w->ph->how.interleaved;
    kn_cuda_line(w, "const kn_count i = %s;", first ? "0" : "begin");
    kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "i");
    kn_value_needs(w->ph, red->value, need);
    w->need = need;
    kn_cuda_open_groups(w);
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        const kn_value *v = &w->ph->nest.values.data[i];
        if (!need[i] || v->level != KN_ELEMENT)
            continue;
        if (v->kind == KN_V_ELEM)
            kn_cuda_define(w, i, kn_cuda_expression(w, i));
        else if (kn_cuda_first_prefetched(w, i))
            kn_cuda_define(w, i, kn_cuda_first_of_group(w, i));
        else
            kn_cuda_define_load(w, i, l);
    }
    kn_cuda_line(w, "shift%d%s = %s;", r, l ? "[l]" : "", kn_cuda_operand(w, red->value));
    kn_cuda_close_groups(w);
    kn_cuda_close(w);
    w->in_first_member = false;
    w->need = outer;
}

/* Declares one for each group of the thread. */
static void declare(kn_cuda_writer *w, const char *type, const char *name, const char *value)
{
    kn_cuda_declare(w, false, type, name, kn_vector_has_groups(w->ph), value);
}

static const char *accumulator_type(kn_cuda_writer *w, int r)
{
    const char *t = kn_cuda_type(w->ph->nest.reds.data[r].dtype),
               *state = states[state_of(w, r)].type;
    if (state_of(w, r) == KN_STATE_USER)
        return kn_cuda_reducer_name(w, r);
    return *state ? kn_cuda_printed(w, "%s<%s>", state, t) : t;
}

static const char *neutral(kn_cuda_writer *w, int r)
{
    const kn_red *red = &w->ph->nest.reds.data[r];
    kn_state state = state_of(w, r);
    if (state == KN_STATE_USER)
        return kn_cuda_reducer_identity(w, r);
    return state == KN_STATE_PLAIN ? kn_cuda_literal(w, kn_identity(red->op, red->dtype))
                                   : kn_cuda_printed(w, "%s{%s}", accumulator_type(w, r),
                                                     kn_cuda_printed(w, states[state].neutral,
                                                                     kn_cuda_type(red->dtype)));
}

static bool is_by(const kn_cuda_writer *w, int r, kn_accumulate by)
{
    return kn_accumulated_by(w->ph, r) == by;
}

void kn_cuda_accumulator(kn_cuda_writer *w, int r)
{
    const kn_red *red = &w->ph->nest.reds.data[r];
    if (!kn_red_owns(w->ph, r))
        return;
    if (state_of(w, r) == KN_STATE_MOMENTS) {
        declare(w, kn_cuda_type(red->dtype), kn_cuda_printed(w, "shift%d", r), "0");
        write_shift(w, r);
    }
    declare(w, accumulator_type(w, r), kn_cuda_printed(w, "acc%d", r), neutral(w, r));
    if (is_by(w, r, KN_ACCUMULATE_COUNTED))
        kn_cuda_line(w, "%s seen%d = 0;", kn_cuda_type(red->dtype), r);
}

/* Is it of this sweep, and accumulates a batch at once? Where a step has no element it is as if it were -inf. */
static bool adds_batch(const kn_cuda_writer *w, int r)
{
    return w->batched && w->loop->over != KN_OVER_ALL && is_by(w, r, KN_ACCUMULATE_BATCH) &&
           kn_red_accumulates(w->ph, r, w->sweep);
}

void kn_cuda_before_steps(kn_cuda_writer *w, int steps)
{
    for (int r = 0; r < w->ph->nest.reds.len; r++) {
        if (!adds_batch(w, r))
            continue;
        kn_cuda_line(w, "kn_vec<%s, %d> elements%d;", kn_cuda_type(w->ph->nest.reds.data[r].dtype),
                     steps, r);
        kn_cuda_each(w, "step", steps,
                     kn_cuda_printed(w, "elements%d.at[step] = -(%s)KN_INF;", r,
                                     kn_cuda_type(w->ph->nest.reds.data[r].dtype)));
    }
}

void kn_cuda_after_steps(kn_cuda_writer *w)
{
    for (int r = 0; r < w->ph->nest.reds.len; r++)
        if (adds_batch(w, r))
            kn_cuda_line(w, "acc%d.add(elements%d);", r, r);
}

void kn_cuda_before_lanes(kn_cuda_writer *w, int r)
{
    if (is_by(w, r, KN_ACCUMULATE_VECTOR))
        kn_cuda_line(w, "kn_vec<%s, %d> elements%d;", kn_cuda_type(w->ph->nest.reds.data[r].dtype),
                     w->ph->how.vec, r);
    if (!is_by(w, r, KN_ACCUMULATE_COUNTED))
        return;
    kn_cuda_line(w, "seen%d += 1;", r);
    kn_cuda_line(w, "const %s reciprocal%d = kn_reciprocal(seen%d);",
                 kn_cuda_type(w->ph->nest.reds.data[r].dtype), r, r);
}

void kn_cuda_after_lanes(kn_cuda_writer *w, int r)
{
    if (is_by(w, r, KN_ACCUMULATE_VECTOR))
        kn_cuda_guarded(w, w->ph->how.unaligned ? "whole" : "",
                        kn_cuda_printed(w, "acc%d.add(elements%d);", r, r));
    if (!is_by(w, r, KN_ACCUMULATE_HALVES))
        return;
    const char *op = kn_ops[w->ph->nest.reds.data[r].op].text,
               *halves =
                   kn_cuda_vector(w, kn_value_at(w->ph, w->ph->nest.reds.data[r].value)->in[0]);
    kn_cuda_guarded(w, w->ph->how.unaligned ? "whole" : "",
                    kn_cuda_printed(w, "acc%d = kn_%s::of(acc%d, kn_extreme<kn_%s>(%s));", r, op, r,
                                    op, halves));
}

void kn_cuda_accumulate(kn_cuda_writer *w, int r)
{
    const kn_red *red = &w->ph->nest.reds.data[r];
    const char *x = kn_cuda_operand(w, red->value), *l = kn_vector_has_groups(w->ph) ? "[l]" : "";
    if (red->across)
        l = w->in_tail ? "_tail[step][0]" : w->ph->how.vec > 1 ? "[step][l]" : "[step][0]";
    if (!kn_red_owns(w->ph, r))
        return;
    if (red->by) {
        kn_cuda_line(w, "acc%d%s = %s::of(acc%d%s, %s);", r, l, kn_cuda_reducer_combine(w, r), r, l,
                     kn_cuda_reducer_element(w, r));
        return;
    }
    if (state_of(w, r) == KN_STATE_MOMENTS)
        x = kn_cuda_printed(w, "%s - shift%d%s", x, r, l);
    if (adds_batch(w, r)) {
        kn_cuda_line(w, "elements%d.at[step] = %s;", r, x);
    } else if (is_by(w, r, KN_ACCUMULATE_VECTOR)) {
        if (w->ph->how.unaligned)
            kn_cuda_guarded(w, "!whole", kn_cuda_printed(w, "acc%d.add(%s);", r, x));
        kn_cuda_line(w, "elements%d.at[l] = %s;", r, x);
    } else if (is_by(w, r, KN_ACCUMULATE_COUNTED)) {
        kn_cuda_line(w, "acc%d[l].add(%s, seen%d, reciprocal%d);", r, x, r, r);
    } else if (state_of(w, r) != KN_STATE_PLAIN) {
        kn_cuda_line(w, "acc%d%s.add(%s);", r, l, x);
    } else if (red->op == KN_OP_SUM && kn_is_float(red->dtype)) {
        kn_cuda_line(w, "acc%d%s += %s;", r, l, x);
    } else if (!is_by(w, r, KN_ACCUMULATE_HALVES) || w->ph->how.unaligned) {
        const char *more = kn_cuda_printed(w, "acc%d%s = kn_%s::of(acc%d%s, %s);", r, l,
                                           kn_ops[red->op].text, r, l, x);
        kn_cuda_guarded(w, is_by(w, r, KN_ACCUMULATE_HALVES) ? "!whole" : "", more);
    }
}

/* The result of a reduction, in the accumulator of its owner. */
static const char *part_of(kn_cuda_writer *w, int r)
{
    const kn_red *red = &w->ph->nest.reds.data[r];
    const char *t = kn_cuda_type(red->dtype), *l = kn_vector_has_groups(w->ph) ? "[l]" : "";
    int of = kn_red_owner(w->ph, r);
    if (red->by)
        return kn_cuda_printed(w, "acc%d%s.c%d", of, l, red->carried);
    switch (red->part) {
    case KN_PART_MEAN:
        return kn_cuda_printed(w, "(%s)shift%d%s + (%s)acc%d%s.mean", t, of, l, t, of, l);
    case KN_PART_COUNT: return kn_cuda_printed(w, "(%s)acc%d%s.n", t, of, l);
    case KN_PART_EXPSUM: /* a part's sum is finite: only the whole sum is NaN where the maximum is infinite */
        return kn_cuda_printed(w, "acc%d%s.%s", of, l, w->ph->how.split ? "sum" : "result_sum()");
    default: return kn_cuda_printed(w, "acc%d%s%s", r, l, states[state_of(w, r)].result);
    }
}

static const char *combine_op(kn_cuda_writer *w, int r)
{
    kn_state state = state_of(w, r);
    if (state == KN_STATE_USER)
        return kn_cuda_reducer_combine(w, r);
    return state == KN_STATE_PLAIN
               ? kn_cuda_printed(w, "kn_%s", kn_ops[w->ph->nest.reds.data[r].op].text)
               : states[state].combine;
}

/* Where deferred combines have several groups in scratch: the offset of group `slot`. Where combines take turns: that of
 * the half whose turn it is. */
static const char *offset_in_scratch(kn_cuda_writer *w, int sweep, const char *slot)
{
    return slot ? kn_cuda_printed(w, "%s * %d + ", slot, kn_sweep_bytes(w->ph, sweep))
           : kn_turn_bytes(w->ph) > 0 ? "turn + "
                                      : "";
}

static void store_warp_results(kn_cuda_writer *w, int sweep, const kn_combine_batch *t,
                               const char *slot)
{
    int at = 0;
    for (int r = t->first; r < t->end; r++) {
        if (!kn_red_accumulates(w->ph, r, sweep))
            continue;
        const int other = kn_combine_partner(w->ph, sweep, t, r);
        const char *to =
            kn_cuda_printed(w, "scratch + %s%d", offset_in_scratch(w, sweep, slot), at);
        if (other < 0)
            kn_cuda_line(w, "kn_store_warp_result<%s>(acc%d, %s);", combine_op(w, r), r, to);
        else
            kn_cuda_line(w, "kn_store_warp_results<%s>(acc%d, acc%d, %s);", combine_op(w, r), r,
                         other, to);
        at += kn_warps_bytes(w->ph, r) * (other < 0 ? 1 : 2);
        r = other < 0 ? r : other;
    }
}

static void combine_warp_results(kn_cuda_writer *w, int sweep, const kn_combine_batch *t,
                                 const char *slot)
{
    const kn_phase *ph = w->ph;
    const char *which = ph->how.mixed ? kn_cuda_printed(w, "threadIdx.x / %d * %d, %d", ph->how.tpg,
                                                        ph->how.tpg / 32, ph->how.tpg / 32)
                                      : "0, blockDim.x / 32";
    int at = 0;
    for (int r = t->first; r < t->end; r++) {
        if (!kn_red_accumulates(ph, r, sweep))
            continue;
        const int other = kn_combine_partner(w->ph, sweep, t, r);
        const char *op = combine_op(w, r),
                   *from = kn_cuda_printed(w, "%s, scratch + %s%d, %s", neutral(w, r),
                                           offset_in_scratch(w, sweep, slot), at, which);
        if (other >= 0 && slot)
            kn_cuda_line(w, "%s acc%d, acc%d;", accumulator_type(w, r), r, other);
        if (other >= 0)
            kn_cuda_line(w, "kn_combine_warps<%s>(acc%d, acc%d, %s);", op, r, other, from);
        else
            kn_cuda_line(w, "%sacc%d = kn_combine_warps<%s>(%s);", slot ? "const auto " : "", r, op,
                         from);
        at += kn_warps_bytes(ph, r) * (other < 0 ? 1 : 2);
        r = other < 0 ? r : other;
    }
}

void kn_cuda_combine_deferred(kn_cuda_writer *w)
{
    const kn_combine_batch all = kn_combine_whole_sweep(w->ph, 0);
    combine_warp_results(w, 0, &all, "deferred");
}

static void open_exchange(kn_cuda_writer *w, int sweep);
static void store_to_blocks(kn_cuda_writer *w, int sweep);

/* Over the warps of a block, all of which get the result. Reductions share a barrier as far as scratch has room. One
 * barrier is enough where combines take turns: by the next one, all threads have read what the last had in the other
 * half. In a cluster the first warp alone gets the result, and stores it to all blocks, this one too: nobody gets past the
 * exchange before scratch is free again. */
static void combine_warps(kn_cuda_writer *w, int sweep)
{
    const int turn = kn_turn_bytes(w->ph);
    const bool cluster = w->ph->how.cluster;
    for (kn_combine_batch now = {0}; now.end < w->ph->nest.reds.len;) {
        now = kn_combine_batch_from(w->ph, sweep, now.end);
        const bool exchange = cluster && now.end == w->ph->nest.reds.len;
        store_warp_results(w, sweep, &now, NULL);
        kn_cuda_line(w, "__syncthreads();");
        if (exchange)
            open_exchange(w, sweep);
        if (cluster)
            kn_cuda_open(w, "if (kn_is_first_warp())");
        combine_warp_results(w, sweep, &now, NULL);
        if (cluster)
            kn_cuda_line(w, "__syncwarp(); // scratch has been read");
        if (exchange)
            store_to_blocks(w, sweep);
        if (cluster)
            kn_cuda_close(w);
        if (turn)
            kn_cuda_line(w, "turn ^= %d;", turn);
        else if (!exchange)
            kn_cuda_line(w, "__syncthreads();");
    }
}

void kn_cuda_declare_results(kn_cuda_writer *w, int sweep)
{
    for (int r = 0; r < w->ph->nest.reds.len; r++)
        if (w->ph->nest.reds.data[r].stage == sweep && !w->ph->nest.reds.data[r].across)
            declare(w, kn_cuda_type(w->ph->nest.reds.data[r].dtype), kn_cuda_printed(w, "r%d", r),
                    part_of(w, r));
}

/* Over the rows of threads that share columns: together what is combined alike. */
static void combine_rows(kn_cuda_writer *w, int sweep)
{
    const kn_phase *ph = w->ph;
    const char *one = ph->how.vec > 1 ? "" : "&";
    for (int r = 0, end; r < ph->nest.reds.len; r = end) {
        end = kn_combined_columns_end(ph, sweep, r, w->k->threads);
        if (!kn_red_accumulates(ph, r, sweep))
            continue;
        const char *all = kn_cuda_printed(w, "%sacc%d", one, r);
        for (int i = r + 1; i < end; i++)
            all = kn_red_accumulates(ph, i, sweep) ? kn_cuda_printed(w, "%s, %sacc%d", all, one, i)
                                                   : all;
        const char *only = kn_are_only_stored(ph, sweep) ? "true" : "false";
        if (ph->how.interleaved)
            kn_cuda_line(
                w, "kn_combine_interleaved<%s, %d, %s>(scratch, width, interleaved, columns, %s);",
                combine_op(w, r), ph->how.vec, only, all);
        else
            kn_cuda_line(w, "kn_combine_rows_of<%s, %d, %d, %d, %s>(scratch, %s);",
                         combine_op(w, r), ph->how.tpg, ph->how.lanes, ph->how.vec, only, all);
    }
}

/* Over the lanes of a group that has a part of a warp. */
static void combine_lanes(kn_cuda_writer *w, int sweep)
{
    for (int r = 0; r < w->ph->nest.reds.len; r++)
        if (kn_red_accumulates(w->ph, r, sweep))
            kn_cuda_line(w, "acc%d = kn_combine_lanes<%s, %d>(acc%d);", r, combine_op(w, r),
                         w->ph->how.tpg, r);
}

/* ---- the exchange buffer of a cluster ---- */

void kn_cuda_begin_exchange(kn_cuda_writer *w)
{
    const bool copies = kn_copies_groups(w->ph);
    const int before = kn_kernel_prefetch_bytes(w->k);
    kn_cuda_line(w, "unsigned char *const exchange = (unsigned char *)dynamic%s;",
                 before ? kn_cuda_printed(w, " + %d", before) : "");
    const int counters = copies ? kn_copy_barriers(w->ph) : 0;
    kn_cuda_line(w, "__shared__ alignas(8) unsigned long long received[2]%s;",
                 counters ? kn_cuda_printed(w, ", full[%d]", counters) : "");
    kn_cuda_line(w, "unsigned exchanges = 0%s%s;", copies ? ", parity = 0" : "",
                 kn_copy_stages(w->ph) > 1 ? ", stage = 0" : "");
    kn_cuda_open(w, "if (threadIdx.x == 0)");
    kn_cuda_line(w, "kn_init_barrier(&received[0]);");
    kn_cuda_line(w, "kn_init_barrier(&received[1]);");
    if (counters) {
        kn_cuda_line(w, "for (int i = 0; i < %d; ++i)", counters);
        kn_cuda_line(w, "    kn_init_barrier(&full[i]);");
    }
    kn_cuda_line(w, "kn_fence_barrier_init();");
    kn_cuda_close(w);
    if (copies)
        kn_cuda_line(w, "__syncthreads(); // the mbarriers are initialised");
    kn_cuda_line(w, "kn_cluster_arrive(); // the other blocks may store to its buffer");
}

/* Bytes that a block stores to another in a sweep. */
static int bytes_of_exchange(const kn_phase *ph, int sweep)
{
    int bytes = 0;
    for (int r = 0; r < ph->nest.reds.len; r++)
        bytes += kn_red_accumulates(ph, r, sweep) ? kn_exchange_message(ph, r) : 0;
    return bytes;
}

static void open_exchange(kn_cuda_writer *w, int sweep)
{
    kn_cuda_line(w, "unsigned char *const exchange%d = exchange + exchanges %% 2 * (blocks * %d);",
                 sweep, kn_exchange_stride(w->ph));
    if (sweep == 0) { /* every sweep but the last reduces, so the first exchange is sweep 0's */
        kn_cuda_line(w, "if (exchanges == 0)");
        kn_cuda_line(w,
                     "    kn_cluster_wait(); // all blocks have started, so their buffers exist");
    }
}

static void store_to_blocks(kn_cuda_writer *w, int sweep)
{
    const kn_phase *ph = w->ph;
    const int stride = kn_exchange_stride(ph);
    kn_cuda_line(w, "if (threadIdx.x == 0)");
    kn_cuda_line(w, "    kn_expect_bytes(&received[exchanges %% 2], blocks * %d);",
                 bytes_of_exchange(ph, sweep));
    const char *shape =
        ph->how.walk == KN_WALK_COLS
            ? kn_cuda_printed(w, "_rows<%d, %d, %d>", ph->how.tpg, ph->how.lanes, stride)
            : kn_cuda_printed(w, "<%d>", stride);
    for (int r = 0, at = 0; r < ph->nest.reds.len; r++) {
        if (!kn_red_accumulates(ph, r, sweep))
            continue;
        kn_cuda_line(w, "kn_exchange_store%s(acc%d, exchange%d + %d, &received[exchanges %% 2]);",
                     shape, r, sweep, at);
        at += kn_exchange_slot(ph, r);
    }
}

/* Each block stores what it has accumulated to the buffers of all blocks, waits until all have stored to its own, and
 * merges what is there. Two buffers alternate. No barrier is needed before the first is used again: by then a block has
 * received from all others what they stored to the second, which they do after reading the first. */
static void combine_in_cluster(kn_cuda_writer *w, int sweep)
{
    const kn_phase *ph = w->ph;
    const int stride = kn_exchange_stride(ph);
    int at = 0;
    if (!kn_by_block(ph)) {
        open_exchange(w, sweep);
        store_to_blocks(w, sweep);
    }
    kn_cuda_line(w, "kn_wait_barrier(&received[exchanges %% 2], exchanges / 2 %% 2);");
    for (int r = 0; r < ph->nest.reds.len; r++) {
        if (!kn_red_accumulates(ph, r, sweep))
            continue;
        if (ph->how.walk == KN_WALK_COLS)
            kn_cuda_line(w, "kn_exchange_merge_rows<%s, %d, %d>(acc%d, exchange%d + %d, %s);",
                         combine_op(w, r), ph->how.lanes, stride, r, sweep, at, neutral(w, r));
        else
            kn_cuda_line(w, "acc%d = kn_exchange_merge<%s, %d, %d>(exchange%d + %d, %s);", r,
                         combine_op(w, r), KN_MOST_CLUSTER, stride, sweep, at, neutral(w, r));
        at += kn_exchange_slot(ph, r);
    }
    kn_cuda_line(w, "++exchanges;");
}

/* Over the columns of each of the groups packed into a row. */
static void combine_packed(kn_cuda_writer *w, int sweep)
{
    const kn_phase *ph = w->ph;
    int n = 0;
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (kn_red_accumulates(ph, r, sweep))
            kn_cuda_line(w, "kn_store_packed(acc%d, sums + %d * sum_bytes);", r, n++);
    kn_cuda_line(w, "__syncthreads();");
    n = 0;
    for (int r = 0; r < ph->nest.reds.len; r++)
        if (kn_red_accumulates(ph, r, sweep))
            kn_cuda_line(
                w,
                "kn_combine_packed<%s, %d>(%s, sums + %d * sum_bytes, rows, lanes, packed, run);",
                combine_op(w, r), ph->how.vec, neutral(w, r), n++);
    kn_cuda_line(w, "__syncthreads();");
    n = 0;
    for (int r = 0; r < ph->nest.reds.len; r++) {
        const char *type = kn_cuda_type(ph->nest.reds.data[r].dtype);
        if (kn_red_accumulates(ph, r, sweep))
            kn_cuda_line(w,
                         "const %s r%d = kn_load_packed<%d, %s>(sums + %d * sum_bytes, my_group);",
                         type, r, ph->how.vec, type, n++);
    }
}

void kn_cuda_combine(kn_cuda_writer *w, int sweep)
{
    const kn_phase *ph = w->ph;
    if (ph->how.packed) {
        if (kn_sweep_reduces(ph, sweep))
            combine_packed(w, sweep);
        return;
    }
    if (ph->how.deferred) {
        const kn_combine_batch all = kn_combine_whole_sweep(ph, sweep);
        store_warp_results(w, sweep, &all, "deferred");
        return;
    }
    if (kn_by_block(ph) && kn_sweep_reduces(ph, sweep))
        combine_warps(w, sweep);
    else if (ph->how.walk == KN_WALK_COLS && kn_meets_in_block(ph))
        combine_rows(w, sweep);
    else if (ph->how.walk == KN_WALK_ROWS)
        combine_lanes(w, sweep);
    if (ph->how.cluster && kn_sweep_reduces(ph, sweep))
        combine_in_cluster(w, sweep);
    kn_cuda_declare_results(w, sweep);
    if (ph->how.atomic)
        kn_cuda_line(w, "sum = kn_add(sum, r0);");
}
