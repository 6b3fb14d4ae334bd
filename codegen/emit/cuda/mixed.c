/* Mixed reductions: a block takes the rows of a part cyclically, forwards, or in reverse where the phase before has
 * read the array, and keeps the accumulators across rows in registers. Cyclic rows have all blocks go through the array
 * together (docs/lab/double-centring.md). */
#include "codegen/emit/cuda/writer.h"
#include "codegen/model/resources.h"
#include "ir/eval.h"

/* A thread's steps of its block's part of a group. */
static kn_cuda_stride steps_of_thread(kn_cuda_writer *w)
{
    const bool cluster = w->ph->how.cluster;
    return (kn_cuda_stride){
        kn_cuda_printed(w, "%s(kn_count)lane * %d", cluster ? "begin + " : "", w->ph->how.vec),
        cluster ? "end" : "members", kn_cuda_printed(w, "%d", w->ph->how.tpg * w->ph->how.vec)};
}

/* The loop over the groups of a part. With deferred combines it is an inner loop without barriers: a block that is
 * alone on its multiprocessor would idle at each (docs/lab/double-centring.md). */
static void open_rounds(kn_cuda_writer *w)
{
    const int deferred = w->ph->how.deferred;
    const char *count = kn_phase_resident(w->ph) ? ", iteration = 0" : "",
               *on = *count ? "first += group_stride, ++iteration" : "first += group_stride";
    if (!deferred && w->ph->how.reversed) {
        kn_cuda_open(
            w,
            "for (kn_count iteration = kn_steps(part_first, work, group_stride); iteration-- > 0; )");
    } else if (!deferred) {
        kn_cuda_open(w, "for (kn_count first = part_first%s; first < work; %s)", count, on);
        return;
    } else if (w->ph->how.reversed) {
        kn_cuda_open(
            w,
            "for (kn_count iteration = kn_steps(part_first, work, group_stride); iteration > 0; )");
        kn_cuda_line(w, "kn_count deferred = 0;");
        kn_cuda_open(w, "for (; deferred < %d && iteration > 0; ++deferred)", deferred);
    } else {
        kn_cuda_open(w, "for (kn_count first = part_first%s; first < work; )", count);
        kn_cuda_line(w, "kn_count deferred = 0;");
        kn_cuda_open(w, "for (; deferred < %d && first < work; ++deferred, %s)", deferred, on);
        return;
    }
    if (deferred)
        kn_cuda_line(w, "--iteration;");
    kn_cuda_line(w, "const kn_count first = part_first + iteration * group_stride;");
}

static void copy_step(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (kn_is_prefetched(w->ph, i))
            kn_cuda_line(w, "kn_copy_async(&%s, %s);", kn_cuda_prefetched_vector(w, i),
                         kn_cuda_address(w, i, NULL));
}

static const char *next_of_group(kn_cuda_writer *w, int i)
{
    return kn_cuda_printed(w, "%s_next", kn_cuda_value(w, i));
}

/* Loads the group's first members, by which moments shift: a load in the loop itself would be waited for. */
static void prefetch_first_members(kn_cuda_writer *w)
{
    bool any = false;
    for (int i = 0; i < w->ph->nest.values.len; i++)
        any = any || kn_cuda_first_prefetched(w, i);
    if (!any)
        return;
    kn_cuda_open(w, w->ph->how.by_run ? "if (edges > 0)" : "if (members > 0)");
    kn_cuda_line(w, "const kn_count i = 0;");
    kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "i");
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (kn_cuda_first_prefetched(w, i))
            kn_cuda_line(w, "%s_next = *(%s);", kn_cuda_first_of_group(w, i),
                         kn_cuda_address(w, i, NULL));
    kn_cuda_close(w);
}

/* The function that copies a thread's elements of the groups from `first` on, and loads what they have in common, and its
 * call for the first group of a part. A thread waits for its own copies only, so no barrier is needed. */
static void begin_prefetch(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    const kn_nest *nest = &w->ph->nest;
    for (int i = 0; i < nest->values.len; i++)
        if (kn_is_prefetched_of_group(w->ph, i))
            kn_cuda_line(w, "%s %s;", kn_cuda_type(nest->values.data[i].dtype),
                         next_of_group(w, i));
    for (int i = 0; i < nest->values.len; i++)
        if (kn_cuda_first_prefetched(w, i))
            kn_cuda_line(w, "%s %s_next;", kn_cuda_type(nest->values.data[i].dtype),
                         kn_cuda_first_of_group(w, i));
    kn_cuda_open(w, "const auto prefetch = [&](const kn_count first)");
    kn_cuda_write_group(w);
    for (int i = 0; i < nest->values.len; i++) {
        w->need[i] = kn_is_prefetched(w->ph, i);
        if (kn_is_prefetched_of_group(w->ph, i))
            kn_cuda_line(w, "%s = *(%s);", next_of_group(w, i), kn_cuda_address(w, i, NULL));
    }
    prefetch_first_members(w);
    const kn_cuda_unrolled all = kn_cuda_all_steps(w, by, false);
    kn_cuda_write_unrolled(w, &all, copy_step);
    if (w->ph->how.by_run)
        kn_cuda_prefetch_tail(w);
    kn_cuda_close_as(w, "};");
    const char *last = "part_first + (kn_steps(part_first, work, group_stride) - 1) * group_stride";
    kn_cuda_guarded(w, "part_first < work",
                    kn_cuda_printed(w, "prefetch(%s);", w->ph->how.reversed ? last : "part_first"));
}

void kn_cuda_prefetch_next(kn_cuda_writer *w)
{
    const bool reversed = w->ph->how.reversed;
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (kn_is_prefetched_of_group(w->ph, i))
            kn_cuda_line(w, "const %s %s = %s;", kn_cuda_type(kn_value_at(w->ph, i)->dtype),
                         kn_cuda_value(w, i), next_of_group(w, i));
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (kn_cuda_first_prefetched(w, i))
            kn_cuda_line(w, "const %s %s = %s_next;", kn_cuda_type(kn_value_at(w->ph, i)->dtype),
                         kn_cuda_first_of_group(w, i), kn_cuda_first_of_group(w, i));
    kn_cuda_guarded(w, reversed ? "iteration > 0" : "first + group_stride < work",
                    reversed ? "prefetch(first - group_stride);"
                             : "prefetch(first + group_stride);");
}

/* The first group of a part, and how many are from one that a block takes to the next. By run their distance is a multiple
 * of `stride`: parts that begin alike share the groups that do. */
static void write_groups_of_part(kn_cuda_writer *w)
{
    const char *at_once = kn_cuda_groups_at_once(w);
    const int stride = kn_group_stride(w->ph);
    if (w->ph->how.cluster) {
        /* how many clusters there are at a time is known at the launch: any more parts have no groups */
        const char *clusters = w->blocks, *whole = "";
        if (stride > 1) {
            clusters =
                kn_cuda_printed(w, "%s < %d ? %d : %s", w->blocks, stride, stride, w->blocks);
            whole = kn_cuda_printed(w, " / %d * %d", stride, stride);
        }
        kn_cuda_line(w, "const kn_count parts = kn_least((kn_count)p%d_parts, (kn_count)(%s))%s;",
                     w->p, clusters, whole);
        kn_cuda_line(
            w, "const kn_count part_first = part < parts ? part : work, group_stride = parts;");
        return;
    }
    const char *first = stride > 1 ? kn_cuda_printed(w, "part / %d * (%s * %d) + part %% %d",
                                                     stride, at_once, stride, stride)
                                   : kn_cuda_printed(w, "part * %s", at_once);
    kn_cuda_line(w, "const kn_count part_first = %s, group_stride = (kn_count)p%d_parts * %s;",
                 first, w->p, at_once);
}

void kn_cuda_open_mixed(kn_cuda_writer *w)
{
    const bool resident = kn_phase_resident(w->ph);
    kn_cuda_open(w, "for (kn_count part = %s; part < (kn_count)p%d_parts; part += %s)", w->block,
                 w->p, w->blocks);
    write_groups_of_part(w);
    if (w->ph->how.by_run)
        kn_cuda_run_of_part(w);
    kn_cuda_across_accumulators(w);
    const kn_cuda_stride by = steps_of_thread(w);
    kn_cuda_load_hoisted(w, &by);
    if (w->ph->how.by_run)
        kn_cuda_begin_tail_of_part(w);
    if (w->ph->how.prefetch)
        begin_prefetch(w, &by);
    if (kn_turn_bytes(w->ph))
        kn_cuda_line(w, "unsigned turn = 0;");
    open_rounds(w);
    if (!resident)
        return;
    kn_cuda_line(w, "// what the first iterations over a block's first part load is resident");
    kn_cuda_line(
        w, "const bool resident = part == %s && (iteration + 1) * %d <= (kn_count)resident_steps;",
        w->block, w->ph->how.steps);
    kn_cuda_line(w, "const kn_count slot = iteration * %s + threadIdx.x;",
                 kn_cuda_block_times(w, w->ph->how.steps));
}

void kn_cuda_deferred_groups(kn_cuda_writer *w)
{
    const char *leader = kn_shares_block(w->k, w->ph) ? "live && lane % 32 == 0" : "lane % 32 == 0";
    kn_cuda_close(w);
    kn_cuda_line(w, "__syncthreads();");
    kn_cuda_line(w, "const kn_count next = %s, count = deferred;",
                 w->ph->how.reversed ? "part_first + iteration * group_stride" : "first");
    kn_cuda_open(w, "for (deferred = lane / 32; deferred < count; deferred += %d)",
                 w->ph->how.tpg / 32);
    kn_cuda_line(w, w->ph->how.reversed
                        ? "const kn_count first = next + (count - 1 - deferred) * group_stride;"
                        : "const kn_count first = next - (count - deferred) * group_stride;");
    kn_cuda_write_group(w);
    kn_cuda_combine_deferred(w);
    kn_cuda_declare_results(w, 0);
    kn_cuda_group_values(w, 0, leader);
    for (int t = 1; t <= kn_cuda_last_stage(w->ph); t++) {
        kn_cuda_group_values(w, t, leader);
        kn_cuda_group_stores(w, t, leader);
    }
    kn_cuda_close(w);
    kn_cuda_line(w, "__syncthreads();");
}

/* ---- across groups: acc<r>[step][l] is of one member, over the groups of a part ---- */

static const char *across(kn_cuda_writer *w, int r)
{
    return kn_cuda_printed(w, w->in_tail ? "acc%d_tail" : "acc%d", r);
}

void kn_cuda_across_accumulators(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    for (int r = 0; r < ph->nest.reds.len; r++) {
        const kn_red *red = &ph->nest.reds.data[r];
        if (!red->across)
            continue;
        kn_cuda_line(w, "%s %s[%d][%d];", kn_cuda_type(red->dtype), across(w, r), ph->how.steps,
                     ph->how.vec);
        kn_cuda_each(w, "step", ph->how.steps,
                     kn_cuda_printed(w, "for (int l = 0; l < %d; ++l)", ph->how.vec));
        kn_cuda_line(w, "        %s[step][l] = %s;", across(w, r),
                     kn_cuda_literal(w, kn_identity(red->op, red->dtype)));
    }
}

static void write_axes_of_part(kn_cuda_writer *w)
{
    if (w->ph->how.by_run)
        kn_cuda_write_axes_of_run(w);
    else
        kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "i");
}

/* Where accumulator r of a step is stored; `l`: an element of it that has no index of its own. */
static const char *part_of_store(kn_cuda_writer *w, int i, const char *l)
{
    const kn_access *acc = &w->ph->nest.stores.data[i].access;
    return kn_cuda_printed(w, "%s + (%s + (kn_index)part * p%d_o%d_split_stride)",
                           w->k->bufs.data[acc->buf].name, kn_cuda_offset(w, acc, 'o', i, l), w->p,
                           i);
}

static bool stores_red(const kn_phase *ph, int i, int r)
{
    const kn_store *s = &ph->nest.stores.data[i];
    return kn_stores_across(ph, s) && s->value == r;
}

/* Where the threads of a block have members to themselves. */
static void store_own(kn_cuda_writer *w, const kn_cuda_unrolled *all, int r)
{
    const kn_phase *ph = w->ph;
    kn_cuda_open_each(w, "step", all->steps);
    kn_cuda_line(w, "const kn_count i = %s;", all->index);
    kn_cuda_open(w, "if (%s)", all->guard);
    write_axes_of_part(w);
    for (int i = 0; i < ph->nest.stores.len; i++) {
        const bool vector = kn_transfer_of_store(ph, i)->vector;
        if (!stores_red(ph, i, r))
            continue;
        const char *to = part_of_store(w, i, ph->how.vec > 1 && !vector ? "l" : NULL);
        if (vector)
            kn_cuda_line(w, "kn_store(%s, %s[step]);", to, across(w, r));
        else
            kn_cuda_each(w, "l", ph->how.vec,
                         kn_cuda_printed(w, "*(%s) = %s[step][l];", to, across(w, r)));
    }
    kn_cuda_close(w);
    kn_cuda_close(w);
}

/* Over the rows of threads of a block that have the same members: all leave what they have of several steps, and then each thread
 * adds up, and stores, what they have left of a member (docs/lab/combining-columns.md). */
static void store_sums(kn_cuda_writer *w, const kn_cuda_unrolled *all, int r)
{
    const kn_phase *ph = w->ph;
    const kn_red *red = &ph->nest.reds.data[r];
    const int rows = w->k->threads / ph->how.tpg,
              at_once = kn_across_steps_at_once(ph, r, w->k->threads);
    const char *op = kn_ops[red->op].text, *shape = kn_cuda_printed(w, "%d, %d", rows, ph->how.tpg);
    kn_cuda_open_each_of(w, "first_step", all->steps, at_once);
    kn_cuda_each(
        w, "step", at_once,
        kn_cuda_printed(w, "kn_store_row<kn_%s, %s>(%s[first_step + step], scratch + step * %d);",
                        op, shape, across(w, r), kn_across_bytes(ph, r, w->k->threads)));
    kn_cuda_line(w, "__syncthreads();");
    kn_putf(w->t, "#pragma unroll 1\n");
    kn_cuda_open(w, "for (int number = threadIdx.x; number < %d; number += %d)",
                 at_once * ph->how.vec * ph->how.tpg, w->k->threads);
    kn_cuda_line(w, "const kn_column<%s, %d, %s> column(number);", shape, ph->how.vec,
                 kn_cuda_type(red->dtype));
    kn_cuda_line(w, "const int lane = column.lane(), step = first_step + column.step();");
    kn_cuda_line(w, "const kn_count i = %s + column.element();", all->index);
    kn_cuda_open(w, "if (%s)", all->guard);
    write_axes_of_part(w);
    for (int i = 0; i < ph->nest.stores.len; i++)
        if (stores_red(ph, i, r))
            kn_cuda_line(w, "*(%s) = column.combined<kn_%s>(scratch);", part_of_store(w, i, NULL),
                         op);
    kn_cuda_close(w);
    kn_cuda_close(w);
    kn_cuda_line(w, "__syncthreads();");
    kn_cuda_close(w);
}

static void store_across(kn_cuda_writer *w, const kn_cuda_unrolled *all)
{
    for (int r = 0; r < w->ph->nest.reds.len; r++)
        if (w->ph->nest.reds.data[r].across)
            (w->ph->how.tpg == w->k->threads ? store_own : store_sums)(w, all, r);
}

void kn_cuda_close_mixed(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    bool across = false;
    for (int r = 0; r < ph->nest.reds.len; r++)
        across = across || ph->nest.reds.data[r].across;
    if (kn_turn_bytes(ph))
        kn_cuda_line(w, "__syncthreads(); // the last results have been read");
    if (across) {
        const kn_cuda_stride by = steps_of_thread(w);
        const kn_cuda_unrolled all = kn_cuda_all_steps(w, &by, false);
        store_across(w, &all);
        if (ph->how.by_run)
            kn_cuda_of_tail(w, store_across);
    }
    kn_cuda_close(w);
}
