/* What is kept in shared memory is brought there by copies that take no registers.
 *
 *   rows     A block's part of a group, by the bulk copy engine; the next group's comes while the block still stores the
 *            last pieces of its own, and the other blocks of its multiprocessor work on theirs. The clusters stay, as many
 *            as fit on the machine at a time.
 *   columns  Each thread asks for all of its own elements at once, and waits for them alone. Clusters stay, unless they
 *            store squares of 16-bit elements (a softmax of 65536x1024 106 us on an H200, else 113). Those that store
 *            others ask for the next tile's when they have taken one to registers (a softmax of 8192x8192 turned 173
 *            us, 180 without); of columns that are not turned that was no faster.
 *
 *     full        an mbarrier: all of it has come. One phase of it a group, so its parity turns over
 *
 *     one thread asks for what is kept of the first group: a copy for each run of neighbours in memory
 *     for each group:
 *       wait until it is full; all sweeps but the last
 *       for each piece: the last sweep; when all threads are done its place is free, also where a computed value took it:
 *         one thread asks for the next group's
 *
 * Where the largest cluster has no room for all of a group, its threads have what is left over in registers, from the first
 * sweep to the last. Each sweep goes through that first, so that the next group's is on its way while the last one works on
 * the others.
 *
 * What all groups share, as the gamma and beta of rows, is the same for a block in each of its groups, as its part of them is.
 * Where there is room a block has it in registers from its first group to its last, and two places in turn for what it
 * fetches: while it works on one group the next is on its way, and the one after that is asked for when all threads are done
 * with the last sweep. On an H200 layernorm of 1024 rows of 512 KB took 309 us with gamma and beta loaded for each row, without
 * them, which is wrong, 283, and takes 282 so; kept in shared memory 359, in registers with one place for rows 339, with
 * three 320: two blocks a multiprocessor, of which little is on its way, and too much.
 *
 * Such a block is alone on its multiprocessor, and takes each piece as it comes where it has maximum and sum to find in one
 * sweep: softmax of 64 rows of 4 MB takes 157 us so on an H200, not 166 in three sweeps. Groups for which there is room are
 * waited for in one piece: pieces that are waited for one by one took up to 20 % longer on an H200, where several
 * blocks share a multiprocessor and each has some microseconds of loads on its way. Of ragged rows a piece is of counted
 * members, of which each row has others.
 *
 * Where there are more groups than clusters, the first copies of a cluster begin when the memory has had the time for those
 * of all before it: together they would all load, then all wait, then all store, group after group (batchnorm of four
 * groups a cluster on an H200: 63 us against 77). */
#include "codegen/emit/cuda/writer.h"

static bool is_fetched(const kn_value *v)
{
    return v->kept == KN_KEEP_SHARED && v->kind == KN_V_LOAD;
}

/* Do computed values take the place of what is fetched? */
static bool is_written(const kn_phase *ph)
{
    for (int i = 0; i < ph->nest.values.len; i++)
        if (ph->nest.values.data[i].kept && ph->nest.values.data[i].kind == KN_V_ELEM)
            return true;
    return false;
}

void kn_cuda_skew_launch(kn_cuda_writer *w)
{
    bool columns = w->ph->how.walk == KN_WALK_COLS;
    kn_cuda_line(w, "if (threadIdx.x == 0 && gridDim.x / blocks < %s)", columns ? "tiles" : "work");
    kn_cuda_line(w, "    kn_pause(blockIdx.x / blocks * (unsigned)p%d_apart);", w->p);
    if (columns)
        kn_cuda_line(w, "__syncthreads(); // it is everybody's time");
}

/* Bytes of an element of all that is fetched. */
static int bytes_fetched(const kn_phase *ph)
{
    int bytes = 0;
    for (int i = 0; i < ph->nest.values.len; i++)
        if (is_fetched(&ph->nest.values.data[i]))
            bytes += kn_bytes(ph->nest.values.data[i].dtype);
    return bytes;
}

/* The mbarrier of the piece, or of the place that a block is at. */
static const char *counter(const kn_cuda_writer *w)
{
    return kn_waits_by_chunk(w->ph) ? "&full[piece]"
           : w->ph->how.hoisted     ? "&full[at]"
                                    : "&full[0]";
}

/* The loop over the pieces of what a block keeps, whose threads' steps begin at `first` and go on from piece to piece; NULL:
 * they take none. */
static void open_pieces(kn_cuda_writer *w, const char *first)
{
    const bool numbered = kn_waits_by_chunk(w->ph);
    kn_put(w->t, "#pragma unroll 1\n");
    kn_cuda_open(w, "for (kn_count from = base, to%s%s; from < base + %s; from = to%s)",
                 numbered ? ", piece = 0" : "", first ? kn_cuda_printed(w, ", i = %s", first) : "",
                 kn_cuda_held(w), numbered ? ", ++piece" : "");
    kn_cuda_line(w, "to = kn_least(from + (kn_count)p%d_piece, base + %s);", w->p, kn_cuda_held(w));
}

/* On to the other place. */
static void change_places(kn_cuda_writer *w)
{
    kn_cuda_line(w, "at ^= 1;");
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (is_fetched(&w->ph->nest.values.data[i])) {
            const char *kept = kn_cuda_printed(w, "%s_kept", kn_cuda_value(w, i));
            const char *part = kn_cuda_printed(w, "(kn_count)p%d_chunk / %d", w->p, w->ph->how.vec);
            kn_cuda_line(w, "%s = at ? %s + %s : %s - %s;", kept, kept, part, kept, part);
        }
}

/* A copy for each run of neighbours from `low` to `high`. */
static void write_copies(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    int va = kn_phase_vector_axis(ph);
    kn_put(w->t, "#pragma unroll 1\n");
    kn_cuda_open(w, "for (kn_count i = low, run; i < high; i += run)");
    if (ph->how.unaligned)
        kn_cuda_unaligned_place(w);
    else
        kn_cuda_decompose(w, ph->nest.ngroup, ph->nest.naxes, "i");
    kn_cuda_line(w, "run = kn_least((kn_count)(p%d_n%d - a%d), high - i);", w->p, va, va);
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        if (!is_fetched(v))
            continue;
        const char *from = kn_cuda_offset(w, &v->access, 'v', i, NULL);
        kn_cuda_line(w, "kn_fetch(%s_kept + (i - base) / %d, %s + (%s),", kn_cuda_value(w, i),
                     ph->how.vec, w->k->bufs.data[v->access.buf].name, from);
        kn_cuda_line(w, "         (unsigned)run * %d, %s, policy);", kn_bytes(v->dtype),
                     counter(w));
    }
    kn_cuda_close(w);
}

void kn_cuda_copy_first(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    const char *begin = ph->how.unaligned ? "inner" : "begin", *end = kn_cuda_copied_end(ph);
    const bool pieces = kn_waits_by_chunk(ph);
    if (ph->how.rest_in_registers)
        kn_cuda_line(w, "const kn_count held_end = kn_least(begin + %s, end);", kn_cuda_held(w));
    kn_cuda_line(w, "const kn_count base = rank * (kn_count)p%d_chunk;", w->p);
    kn_cuda_open(
        w, "const auto fetch = [&](const kn_count g, const kn_count from, const kn_count to%s)",
        pieces ? ", const kn_count piece" : "");
    kn_cuda_decompose(w, 0, ph->nest.ngroup, "g");
    if (ph->how.unaligned)
        kn_cuda_unaligned_range(w);
    kn_cuda_line(w, "const kn_count low = from < %s ? %s : from, high = kn_least(to, %s);", begin,
                 begin, end);
    const char *some = pieces ? "low < high ? high - low"
                              : kn_cuda_printed(w, "%s < %s ? %s - %s", begin, end, end, begin);
    kn_cuda_guarded(w, pieces ? "" : "from == base",
                    kn_cuda_printed(w, "kn_expect(%s, (unsigned)(%s : 0) * %d);", counter(w), some,
                                    bytes_fetched(ph)));
    write_copies(w);
    w->indent--;
    kn_cuda_line(w, "};");
    if (pieces) {
        kn_cuda_open(w, "if (threadIdx.x == 0 && blockIdx.x / blocks < work)");
        open_pieces(w, NULL);
        kn_cuda_line(w, "fetch(blockIdx.x / blocks, from, to, piece);");
        kn_cuda_close(w);
        kn_cuda_close(w);
        return;
    }
    for (int place = 0; place < kn_copy_stages(ph); place++) {
        const char *g = place ? "(blockIdx.x + gridDim.x) / blocks" : "blockIdx.x / blocks";
        kn_cuda_line(w, "if (threadIdx.x == 0 && %s < work)", g);
        kn_cuda_line(w, "    fetch(%s, base, base + %s);", g, kn_cuda_held(w));
        if (kn_copy_stages(ph) > 1)
            change_places(w);
    }
}

void kn_cuda_copy_next(kn_cuda_writer *w)
{
    if (is_written(w->ph))
        kn_cuda_line(w, "kn_write_before_fetch();");
    kn_cuda_line(w, "__syncthreads(); // its place is free");
    kn_cuda_line(w, "const kn_count next = first + %d * (gridDim.x / blocks);",
                 kn_copy_stages(w->ph));
    kn_cuda_line(w, "if (threadIdx.x == 0 && next < work)");
    kn_cuda_line(w, "    fetch(next, base, base + %s);", kn_cuda_held(w));
    change_places(w);
}

void kn_cuda_open_chunks(kn_cuda_writer *w, const char *first)
{
    kn_cuda_line(w, "const kn_count next = first + gridDim.x / blocks;");
    if (w->ph->how.rest_in_registers)
        kn_cuda_guarded(w, "next < work", "take_rest(next);");
    if (w->ph->how.unaligned || is_written(w->ph))
        kn_cuda_line(w, "kn_write_before_fetch();");
    open_pieces(w, first);
}

void kn_cuda_close_chunks(kn_cuda_writer *w)
{
    kn_cuda_line(w, "__syncthreads(); // its place is free");
    kn_cuda_line(w, "if (threadIdx.x == 0 && next < work)");
    kn_cuda_line(w, "    fetch(next, from, to%s);", kn_waits_by_chunk(w->ph) ? ", piece" : "");
    kn_cuda_close(w);
}

/* Vectors that a group has only a part of: by who works on them, as their copies would be of more than the group. */
static void load_edges(kn_cuda_writer *w)
{
    kn_cuda_unaligned_edges(w);
    kn_cuda_unaligned_place(w);
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (is_fetched(&w->ph->nest.values.data[i]))
            kn_cuda_line(w, "%s = %s;", kn_cuda_shared_place(w, i), kn_cuda_edge(w, i));
    kn_cuda_close(w);
}

void kn_cuda_await_copies(kn_cuda_writer *w)
{
    if (w->ph->how.walk == KN_WALK_COLS) {
        kn_cuda_line(w, "kn_await_own();");
    } else {
        if (w->ph->how.unaligned)
            load_edges(w);
        kn_cuda_line(w, "kn_await(%s, parity);", counter(w));
        if (!kn_waits_by_chunk(w->ph))
            kn_cuda_line(w, w->ph->how.hoisted ? "parity ^= at;" : "parity ^= 1;");
    }
    for (int i = 0; i < w->ph->nest.values.len; i++)
        w->loaded[i] = w->loaded[i] || is_fetched(&w->ph->nest.values.data[i]);
}

void kn_cuda_open_arrivals(kn_cuda_writer *w, const char *first)
{
    open_pieces(w, first);
    kn_cuda_await_copies(w);
}

void kn_cuda_close_arrivals(kn_cuda_writer *w)
{
    kn_cuda_close(w);
    kn_cuda_line(w, "parity ^= 1;");
}

/* ---- columns ---- */

/* What is kept of member i of the thread's groups. */
static void write_own_copies(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    kn_cuda_decompose(w, ph->nest.ngroup, ph->nest.naxes, "i");
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        if (is_fetched(v))
            kn_cuda_line(w, "kn_fetch_own(&%s, %s + (%s));", kn_cuda_shared_place(w, i),
                         w->k->bufs.data[v->access.buf].name,
                         kn_cuda_offset(w, &v->access, 'v', i, NULL));
    }
}

void kn_cuda_copy_own(kn_cuda_writer *w, const kn_cuda_stride *by)
{
    const kn_phase *ph = w->ph;
    bool squares = kn_transpose_side(ph) > 1;
    const char *at = squares ? "at" : "i";
    if (kn_prefetches_tile(ph))
        kn_cuda_open(w, "if (tile == %s)", w->block);
    kn_putf(w->t, "#pragma unroll %d\n", squares ? 1 : 4);
    kn_cuda_open(w, "for (kn_count %s = %s; %s < %s; %s += %s)", at, by->first, at, by->end, at,
                 by->step);
    if (squares)
        kn_cuda_open_members(w, kn_transpose_side(ph));
    write_own_copies(w);
    if (squares)
        kn_cuda_close(w);
    kn_cuda_close(w);
    if (kn_prefetches_tile(ph))
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
    kn_cuda_open_members(w, kn_transpose_side(ph));
    write_own_copies(w);
    kn_cuda_close(w);
    kn_cuda_close(w);
}
