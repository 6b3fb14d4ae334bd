/* Asynchronous copies into shared memory of what a block keeps there, which take no registers.
 *
 *   rows     Bulk copies bring a block's part of a group, by a persistent cluster. While the block stores the last chunks
 *            of a group, the next group's are on their way, and other blocks of the multiprocessor work on theirs.
 *   columns  Each thread copies its own elements, all of them at once, and waits for these alone. Clusters are persistent
 *            unless they store 16-bit elements by in-register transposes. Those that store others so prefetch the next
 *            tile as soon as they have loaded one to registers; plain columns gain nothing from that
 *            (docs/lab/columns-on-chip.md).
 *
 *     full        an mbarrier that completes a phase for each group, so that the awaited parity alternates
 *
 *     one thread starts the copies of the first group, one for each contiguous run in memory
 *     for each group:
 *       wait until `full` completes; all sweeps but the last
 *       for each chunk: the last sweep; when all threads are done the chunk's memory is free, also where a computed value
 *         has replaced what was copied: one thread starts the next group's copies
 *
 * Where the largest cluster has too little shared memory for a group, its threads keep the rest in registers from the
 * first sweep to the last. Each sweep takes the rest first, so that the next group's loads are in flight while the last
 * sweep works on what shared memory has.
 *
 * Broadcast operands, as the gamma and beta of rows, are the same for all groups of a block, as its part of a group is
 * always the same range. Where there are registers for them a persistent block keeps them there, and shared memory has
 * two stages: while the block works on one group the next one's copies are in flight, and those of the group after that
 * start when all threads are done with the last sweep (docs/lab/broadcast-operands.md).
 *
 * A block that keeps the rest in registers is alone on its multiprocessor. It takes each chunk as it arrives if one
 * sweep finds maximum and sum (docs/lab/rows-larger-than-a-cluster.md); other blocks wait for a whole group at once
 * (docs/lab/async-copy-chunks.md). In unaligned rows, and by run, a chunk is a number of members, which lie elsewhere in each row.
 *
 * Where there are more groups than clusters their launches are skewed: a cluster starts its first copies once memory
 * has had the time for those of all clusters before it. Otherwise all would load together, then wait, then store, group
 * after group (docs/lab/launch-skew.md). */
#include "codegen/emit/cuda/writer.h"

/* Do computed values replace what is copied? */
static bool overwrites_copies(const kn_phase *ph)
{
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_kept(ph, i) && ph->nest.values.data[i].kind == KN_V_ELEM)
            return true;
    return false;
}

void kn_cuda_skew(kn_cuda_writer *w)
{
    const bool columns = w->ph->how.walk == KN_WALK_COLS, of_grid = w->ph->how.skewed;
    const char *more = columns ? " && gridDim.x / blocks < tiles" : " && gridDim.x / blocks < work";
    kn_cuda_line(w, "if (threadIdx.x == 0%s)", of_grid ? "" : more);
    kn_cuda_line(w, "    kn_spin(%s);",
                 kn_cuda_printed(w,
                                 of_grid ? "blockIdx.x * (unsigned)p%d_skew / gridDim.x"
                                         : "blockIdx.x / blocks * (unsigned)p%d_skew",
                                 w->p));
    /* rows of clusters need no barrier: one thread starts their copies, and all wait for these */
    if (of_grid || columns)
        kn_cuda_line(w, "__syncthreads(); // the skew has passed");
}

/* Bytes of one element of each array that is copied. */
static int copied_element_bytes(const kn_phase *ph)
{
    int bytes = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (kn_is_copied(ph, i))
            bytes += kn_bytes(ph->nest.values.data[i].dtype);
    return bytes;
}

/* The mbarrier of the current chunk, or of the current stage. */
static const char *mbarrier(const kn_cuda_writer *w)
{
    return w->ph->how.by_chunk ? "&full[chunk]" : w->ph->how.hoisted ? "&full[stage]" : "&full[0]";
}

/* The loop over the chunks of what a block keeps. A thread's steps begin at `first` and run on from chunk to chunk;
 * NULL: the loop has no steps. */
static void open_chunk_loop(kn_cuda_writer *w, const char *first)
{
    const bool numbered = w->ph->how.by_chunk;
    kn_put(w->t, "#pragma unroll 1\n");
    kn_cuda_open(w, "for (kn_count from = base, to%s%s; from < base + %s; from = to%s)",
                 numbered ? ", chunk = 0" : "", first ? kn_cuda_printed(w, ", i = %s", first) : "",
                 kn_cuda_held(w), numbered ? ", ++chunk" : "");
    kn_cuda_line(w, "to = kn_least(from + (kn_count)p%d_copy_chunk, base + %s);", w->p,
                 kn_cuda_held(w));
}

/* Switches to the other stage. */
static void advance_stage(kn_cuda_writer *w)
{
    kn_cuda_line(w, "stage ^= 1;");
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (kn_is_copied(w->ph, i)) {
            const char *kept = kn_cuda_printed(w, "%s_kept", kn_cuda_value(w, i));
            const char *part = kn_cuda_printed(w, "(kn_count)p%d_chunk / %d", w->p, w->ph->how.vec);
            kn_cuda_line(w, "%s = stage ? %s + %s : %s - %s;", kept, kept, part, kept, part);
        }
}

/* A copy for each contiguous run from `low` to `high`. */
static void write_copies(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    int va = kn_phase_vector_axis(ph);
    kn_put(w->t, "#pragma unroll 1\n");
    kn_cuda_open(w, "for (kn_count i = low, run; i < high; i += run)");
    if (ph->how.unaligned)
        kn_cuda_unaligned_index(w);
    else if (ph->how.by_run)
        kn_cuda_write_axes_of_run(w);
    else
        kn_cuda_decompose(w, ph->nest.ngroup, ph->nest.naxes, "i");
    kn_cuda_line(w, "run = kn_least((kn_count)(%s), high - i);",
                 ph->how.by_run ? kn_cuda_printed(w, "p%d_whole - at", w->p)
                                : kn_cuda_printed(w, "p%d_n%d - a%d", w->p, va, va));
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        if (!kn_is_copied(w->ph, i))
            continue;
        const char *from = kn_cuda_offset(w, v->access, 'v', i, NULL);
        kn_cuda_line(w, "kn_copy_bulk(%s_kept + (i - base) / %d, %s + (%s),", kn_cuda_value(w, i),
                     ph->how.vec, w->k->bufs.data[v->access->buf].name, from);
        kn_cuda_line(w, "             (unsigned)run * %d, %s, policy);", kn_bytes(v->dtype),
                     mbarrier(w));
    }
    kn_cuda_close(w);
}

void kn_cuda_copy_first(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    const char *begin = ph->how.unaligned ? "inner" : "begin", *end = kn_cuda_copied_end(ph);
    const bool chunks = ph->how.by_chunk;
    if (ph->how.rest_in_registers)
        kn_cuda_line(w, "const kn_count in_shared_end = kn_least(begin + %s, %s);", kn_cuda_held(w),
                     kn_cuda_vectors_end(ph));
    kn_cuda_line(w, "const kn_count base = rank * (kn_count)p%d_chunk;", w->p);
    kn_cuda_open(
        w, "const auto copy = [&](const kn_count g, const kn_count from, const kn_count to%s)",
        chunks ? ", const kn_count chunk" : "");
    kn_cuda_decompose(w, 0, ph->nest.ngroup, "g");
    if (ph->how.unaligned)
        kn_cuda_unaligned_range(w);
    kn_cuda_line(w, "const kn_count low = from < %s ? %s : from, high = kn_least(to, %s);", begin,
                 begin, end);
    const char *bytes = chunks ? "low < high ? high - low"
                               : kn_cuda_printed(w, "%s < %s ? %s - %s", begin, end, end, begin);
    kn_cuda_guarded(w, chunks ? "" : "from == base",
                    kn_cuda_printed(w, "kn_expect_bytes(%s, (unsigned)(%s : 0) * %d);", mbarrier(w),
                                    bytes, copied_element_bytes(ph)));
    write_copies(w);
    kn_cuda_close_as(w, "};");
    if (chunks) {
        kn_cuda_open(w, "if (threadIdx.x == 0 && blockIdx.x / blocks < work)");
        open_chunk_loop(w, NULL);
        kn_cuda_line(w, "copy(blockIdx.x / blocks, from, to, chunk);");
        kn_cuda_close(w);
        kn_cuda_close(w);
        return;
    }
    for (int stage = 0; stage < kn_copy_stages(ph); stage++) {
        const char *g = stage ? "(blockIdx.x + gridDim.x) / blocks" : "blockIdx.x / blocks";
        kn_cuda_line(w, "if (threadIdx.x == 0 && %s < work)", g);
        kn_cuda_line(w, "    copy(%s, base, base + %s);", g, kn_cuda_held(w));
        if (kn_copy_stages(ph) > 1)
            advance_stage(w);
    }
}

void kn_cuda_copy_next(kn_cuda_writer *w)
{
    if (overwrites_copies(w->ph))
        kn_cuda_line(w, "kn_fence_async_proxy();");
    kn_cuda_line(w, "__syncthreads(); // its memory is free");
    kn_cuda_line(w, "const kn_count next = first + %d * (gridDim.x / blocks);",
                 kn_copy_stages(w->ph));
    kn_cuda_line(w, "if (threadIdx.x == 0 && next < work)");
    kn_cuda_line(w, "    copy(next, base, base + %s);", kn_cuda_held(w));
    advance_stage(w);
}

void kn_cuda_open_chunks(kn_cuda_writer *w, const char *first)
{
    kn_cuda_line(w, "const kn_count next = first + gridDim.x / blocks;");
    if (w->ph->how.rest_in_registers)
        kn_cuda_guarded(w, "next < work", "load_rest(next);");
    if (w->ph->how.unaligned || overwrites_copies(w->ph))
        kn_cuda_line(w, "kn_fence_async_proxy();");
    open_chunk_loop(w, first);
}

void kn_cuda_close_chunks(kn_cuda_writer *w)
{
    kn_cuda_line(w, "__syncthreads(); // its memory is free");
    kn_cuda_line(w, "if (threadIdx.x == 0 && next < work)");
    kn_cuda_line(w, "    copy(next, from, to%s);", w->ph->how.by_chunk ? ", chunk" : "");
    kn_cuda_close(w);
}

/* Peeled vectors are loaded by the thread that works on them: a copy would bring elements of other groups. */
static void load_edges(kn_cuda_writer *w)
{
    kn_cuda_unaligned_edges(w);
    kn_cuda_unaligned_index(w);
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (kn_is_copied(w->ph, i))
            kn_cuda_line(w, "%s = %s;", kn_cuda_shared_vector(w, i), kn_cuda_edge(w, i));
    kn_cuda_close(w);
}

void kn_cuda_await_copies(kn_cuda_writer *w)
{
    if (w->ph->how.walk == KN_WALK_COLS) {
        kn_cuda_line(w, "kn_wait_copies();");
    } else {
        if (w->ph->how.unaligned)
            load_edges(w);
        kn_cuda_line(w, "kn_wait_barrier(%s, parity);", mbarrier(w));
        if (!w->ph->how.by_chunk)
            kn_cuda_line(w, w->ph->how.hoisted ? "parity ^= stage;" : "parity ^= 1;");
    }
    for (int i = 0; i < w->ph->nest.values.len; i++)
        w->loaded[i] = w->loaded[i] || kn_is_copied(w->ph, i);
}

void kn_cuda_open_arrivals(kn_cuda_writer *w, const char *first)
{
    open_chunk_loop(w, first);
    kn_cuda_await_copies(w);
}

void kn_cuda_close_arrivals(kn_cuda_writer *w)
{
    kn_cuda_close(w);
    kn_cuda_line(w, "parity ^= 1;");
}

/* ---- columns ---- */

/* Copies of what is kept of member i of the thread's groups. */
static void write_column_copies(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    kn_cuda_decompose(w, ph->nest.ngroup, ph->nest.naxes, "i");
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        if (kn_is_copied(w->ph, i))
            kn_cuda_line(w, "kn_copy_async(&%s, %s + (%s));", kn_cuda_shared_vector(w, i),
                         w->k->bufs.data[v->access->buf].name,
                         kn_cuda_offset(w, v->access, 'v', i, NULL));
    }
}

void kn_cuda_copy_columns(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    const kn_phase *ph = w->ph;
    bool register_tile = kn_transpose_side(ph) > 1;
    const char *at = register_tile ? "i0" : "i";
    if (ph->how.prefetch)
        kn_cuda_open(w, "if (tile == %s)", w->block);
    kn_putf(w->t, "#pragma unroll %d\n", register_tile ? 1 : ph->how.copies);
    kn_cuda_open(w, "for (kn_count %s = %s; %s < %s; %s += %s)", at, by->first, at, by->end, at,
                 by->step);
    if (register_tile)
        kn_cuda_open_register_tile(w, kn_transpose_side(ph));
    write_column_copies(w);
    if (register_tile)
        kn_cuda_close(w);
    kn_cuda_close(w);
    if (ph->how.prefetch)
        kn_cuda_close(w);
}

void kn_cuda_prefetch_tile(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    kn_cuda_line(w, "const kn_count next = tile + %s;", w->blocks);
    kn_cuda_open(w, "if (next < tiles)");
    kn_cuda_line(w, "const kn_count g = kn_least(next * %d + column * %d, groups - %d);",
                 kn_cols_width(ph), ph->how.vec, ph->how.vec);
    kn_cuda_decompose(w, 0, ph->nest.ngroup, "g");
    kn_cuda_open_register_tile(w, kn_transpose_side(ph));
    write_column_copies(w);
    kn_cuda_close(w);
    kn_cuda_close(w);
}
