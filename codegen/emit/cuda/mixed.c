/* Mixed reductions: a block takes the rows of a part cyclically, forwards, or in reverse where the phase before has
 * read the array, and keeps the accumulators across rows in registers. Cyclic rows have all blocks go through the array
 * together (docs/lab/double-centring.md). */
#include "codegen/emit/cuda/writer.h"
#include "codegen/model/resources.h"

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

static void store_across(kn_cuda_writer *w, const kn_cuda_unrolled *all)
{
    const bool shares = kn_shares_block(w->k, w->ph);
    kn_cuda_open_each(w, "step", all->steps);
    kn_cuda_line(w, "const kn_count i = %s;", all->index);
    kn_cuda_combine_across(w);
    kn_cuda_open(w, "if (%s%s)", shares ? "row == 0 && " : "", all->guard);
    if (w->ph->how.by_run)
        kn_cuda_write_axes_of_run(w);
    else
        kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "i");
    kn_cuda_store_across(w);
    kn_cuda_close(w);
    kn_cuda_close(w);
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
