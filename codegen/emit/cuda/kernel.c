#include "codegen/emit/cuda/cuda.h"

#include "codegen/emit/cuda/prelude.h"
#include "codegen/emit/cuda/writer.h"
#include "codegen/kir/params.h"
#include "codegen/model/resources.h"
#include "ir/eval.h"

/* ---- local phases ---- */

/* Makes phase p the one that is written, with what is known of its values. */
static void enter_phase(kn_cuda_writer *w, int p)
{
    w->p = p;
    w->ph = &w->k->phases.data[p];
    w->need = KN_NEW_ARRAY(w->t->arena, bool, w->ph->nest.values.len + 1);
    w->loaded = KN_NEW_ARRAY(w->t->arena, bool, w->ph->nest.values.len + 1);
    w->declared = KN_NEW_ARRAY(w->t->arena, bool, w->ph->nest.values.len + 1);
    w->quotients_from = w->quotients_to = 0; /* those of the phase before are out of scope */
    kn_cuda_find_wide(w);
}

/* The members of a step of whole planes. */
static const char *step_of_planes(kn_cuda_writer *w)
{
    return kn_cuda_printed(w, "(kn_count)p%d_step", w->p);
}

/* ROWS: the members that the workers of a group take in one step. */
static const char *block_step(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    return ph->how.planes ? step_of_planes(w)
           : kn_shares_block(w->k, ph)
               ? kn_cuda_printed(w, "(kn_count)%d", ph->how.tpg * ph->how.vec)
               : kn_cuda_printed(w, "(kn_count)%s", kn_cuda_block_times(w, ph->how.vec));
}

/* The members that a (group, split) works on. A cyclic partition has neighbouring blocks read neighbouring memory at
 * any time (docs/lab/split-order.md); where members have an order, and in tiles, each block takes a contiguous range. */
static void write_range(kn_cuda_writer *w, const char *live)
{
    const bool cyclic = kn_is_cyclic(w->ph);
    const bool cols = w->ph->how.walk == KN_WALK_COLS;
    if (w->ph->how.cluster && !cols) {
        kn_cuda_cluster_range(w, "members");
        return;
    }
    if (cyclic || (!w->ph->how.split && !w->ph->how.cluster)) {
        kn_cuda_line(w, "const kn_count begin = %s, end = %s;",
                     !cyclic ? "0"
                     : cols  ? "split * block_step"
                             : "split < parts ? split * block_step : members",
                     *live ? kn_cuda_printed(w, "%s ? members : 0", live) : "members");
        return;
    }
    kn_cuda_line(w,
                 w->ph->how.cluster
                     ? "const kn_count begin = kn_least(rank * (kn_count)p%d_chunk, members);"
                     : "const kn_count begin = split * (kn_count)p%d_chunk;",
                 w->p);
    const char *limit = kn_cuda_printed(w, "kn_least(begin + (kn_count)p%d_chunk, members)", w->p);
    kn_cuda_line(w, "const kn_count %s = %s;", *live ? "limit" : "end", limit);
    if (*live)
        kn_cuda_line(w, "const kn_count end = %s ? limit : 0;", live);
}

/* Where members are combined in order, worker `lane` of `lanes` takes a contiguous range of [begin, end). */
static kn_cuda_stride in_order(kn_cuda_writer *w, const char *lane, const char *lanes)
{
    int vec =
        w->ph->how.walk == KN_WALK_ROWS ? w->ph->how.vec : 1; /* columns' vectors are of groups */
    kn_cuda_line(w, "const kn_count total = begin < end ? end - begin : 0, lanes = %s;", lanes);
    kn_cuda_line(w, "const kn_count per_lane = (total + lanes * %d - 1) / (lanes * %d) * %d;", vec,
                 vec, vec);
    kn_cuda_line(w, "const kn_count range_begin = kn_least(begin + (kn_count)%s * per_lane, end);",
                 lane);
    kn_cuda_line(w, "const kn_count range_end = kn_least(range_begin + per_lane, end);");
    return (kn_cuda_stride){"range_begin", "range_end", kn_cuda_printed(w, "(kn_count)%d", vec)};
}

/* Local phases: n times the workers of a group. */
static const char *workers(kn_cuda_writer *w, int n)
{
    return kn_by_block(w->ph) ? kn_cuda_printed(w, "(kn_count)%s", kn_cuda_block_times(w, n))
                              : kn_cuda_printed(w, "(kn_count)%d", w->ph->how.tpg * n);
}

static const char *export_type(const kn_phase *local, int e)
{
    return kn_cuda_type(local->nest.values.data[local->exports.data[e]].dtype);
}

/* One local phase in a scope of its own, which assigns its exports to x<number>, ... `lane` is a worker's index in its
 * group. One that is done by a warp leaves them in `scratch` from byte `at` on. */
static void write_local(kn_cuda_writer *w, int p, const char *lane, const char *live, int at)
{
    enter_phase(w, p);
    const kn_phase *ph = w->ph;
    const bool by_a_warp = kn_by_a_warp(ph);
    for (int e = 0; e < ph->exports.len && !by_a_warp; e++)
        kn_cuda_line(w, kn_vector_has_groups(ph) ? "%s x%d[%d];" : "%s x%d;", export_type(ph, e),
                     ph->first_export + e, ph->how.vec);
    kn_cuda_block(w, kn_cuda_printed(w, "phase %d, %s, local", p, ph->nest.name));
    kn_cuda_line(w, "const kn_count members = %s;",
                 kn_cuda_extents(w, ph->nest.ngroup, ph->nest.naxes));
    write_range(w, live);
    const int vec = ph->how.walk == KN_WALK_ROWS ? ph->how.vec : 1;
    const char *first = vec > 1 ? kn_cuda_printed(w, "%s * %d", lane, vec) : lane;
    kn_cuda_stride by = {kn_cuda_printed(w, "(begin + %s)", first), "end", workers(w, vec)};
    if (ph->how.interleaved)
        by = kn_cuda_interleaved_share(w);
    if (kn_phase_in_order(ph))
        by = in_order(w, lane, workers(w, 1));
    kn_cuda_sweeps(w, &by, "");
    kn_cuda_open_groups(w);
    for (int e = 0; e < ph->exports.len; e++)
        if (by_a_warp)
            kn_cuda_guarded(w, "threadIdx.x % 32 == 0",
                            kn_cuda_printed(w, "*(%s *)(scratch + %d) = %s;", export_type(ph, e),
                                            at + e * KN_EXPORT_BYTES,
                                            kn_cuda_operand(w, ph->exports.data[e])));
        else
            kn_cuda_line(w, "x%d%s = %s;", ph->first_export + e,
                         kn_vector_has_groups(ph) ? "[l]" : "",
                         kn_cuda_operand(w, ph->exports.data[e]));
    kn_cuda_close_groups(w);
    kn_cuda_close(w);
}

/* Where a local phase is written: once for all phases that read it, or in the phase behind it, before its groups or in
 * each of them. */
typedef enum local_scope { SHARED_BY_PHASES, ONCE_A_BLOCK, IN_EACH_GROUP } local_scope;

static local_scope scope_of(const kn_kernel *k, int p)
{
    if (kn_is_shared_local(k, p))
        return SHARED_BY_PHASES;
    return k->phases.data[p].nest.ngroup ? IN_EACH_GROUP : ONCE_A_BLOCK;
}

typedef KN_VEC(int) locals;

/* The local phases of `host` of this scope, in order; `by_a_warp` chooses between those that are done by a warp each and
 * those that are done by all threads. */
static locals locals_at(const kn_cuda_writer *w, int host, local_scope scope, bool by_a_warp)
{
    locals found = {0};
    for (int p = kn_first_local(w->k, host); p < host; p++)
        if (kn_by_a_warp(&w->k->phases.data[p]) == by_a_warp && scope_of(w->k, p) == scope)
            kn_push(w->k->arena, &found, p);
    return found;
}

/* Those done by a warp each run side by side, and meet at one barrier. */
static void write_warp_locals(kn_cuda_writer *w, int host, local_scope scope)
{
    const locals l = locals_at(w, host, scope, true);
    if (!l.len)
        return;
    for (int i = 0, at = 0; i < l.len; i++) {
        kn_cuda_line(w, "if (threadIdx.x / 32 == %d %% (blockDim.x / 32))", i);
        write_local(w, l.data[i], "threadIdx.x % 32", "", at);
        at += w->k->phases.data[l.data[i]].exports.len * KN_EXPORT_BYTES;
    }
    kn_cuda_line(w, "__syncthreads();");
    for (int i = 0, at = 0; i < l.len; i++) {
        const kn_phase *local = &w->k->phases.data[l.data[i]];
        for (int e = 0; e < local->exports.len; e++, at += KN_EXPORT_BYTES)
            kn_cuda_line(w, "const %s x%d = *(const %s *)(scratch + %d);", export_type(local, e),
                         local->first_export + e, export_type(local, e), at);
    }
    kn_cuda_line(w, "__syncthreads();");
}

/* The local phases of this scope of the phase being written. */
static void write_locals(kn_cuda_writer *w, local_scope scope, const char *lane, const char *live)
{
    kn_cuda_writer host = *w;
    write_warp_locals(w, host.p, scope);
    const locals l = locals_at(w, host.p, scope, false);
    for (int i = 0; i < l.len; i++)
        write_local(w, l.data[i], lane, live, 0);
    *w = host;
}

/* ---- walks ---- */

static void write_flat(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    write_locals(w, ONCE_A_BLOCK, "threadIdx.x", "");
    kn_cuda_line(w, "const kn_count members = %s;", kn_cuda_extents(w, 0, ph->nest.naxes));
    if (ph->how.tail) {
        kn_cuda_tail_range(w, "members", kn_cuda_printed(w, "%s + 1 == %s", w->block, w->blocks));
        kn_cuda_begin_tail(w);
    }
    kn_cuda_stride by = {
        kn_cuda_printed(w, "((kn_count)%s * %s + threadIdx.x) * %d", w->block,
                        kn_cuda_block_times(w, 1), ph->how.vec),
        kn_cuda_vectors_end(ph),
        kn_cuda_printed(w, "(kn_count)%s * %s", w->blocks, kn_cuda_block_times(w, ph->how.vec))};
    kn_cuda_sweeps(w, &by, kn_cuda_printed(w, "%s == 0 && threadIdx.x == 0", w->block));
}

static void write_shape(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    if (ph->how.by_run) {
        kn_cuda_run_shape(w);
        return;
    }
    kn_cuda_line(w, "const kn_count groups = %s, members = %s;",
                 kn_cuda_extents(w, 0, ph->nest.ngroup),
                 kn_cuda_extents(w, ph->nest.ngroup, ph->nest.naxes));
}

/* A split group has as many parts as there are blocks for it, if those are fewer than the plan has partial results:
 * then no block works on a second part. The remaining partial results are of no members. */
static void write_parts(kn_cuda_writer *w)
{
    kn_cuda_line(w, "const kn_count splits = (kn_count)p%d_splits;", w->p);
    kn_cuda_line(w, "const kn_count work = groups * splits, block_step = %s;", block_step(w));
    kn_cuda_line(w, "const kn_count workers = (kn_count)%s * %s / (groups > 0 ? groups : 1);",
                 w->blocks, kn_cuda_groups_at_once(w));
    kn_cuda_line(w, "const kn_count parts = workers > 0 && workers < splits ? workers : splits;");
}

/* ROWS: the same, and the tail of the range. Of a split group the tail goes to the part whose next vector it would
 * be, which has members; of a cluster to the last block that has some. */
static void write_range_of_rows(kn_cuda_writer *w, const char *live)
{
    const kn_schedule *how = &w->ph->how;
    write_range(w, live);
    if (how->tail)
        kn_cuda_tail_range(w, "end",
                           how->split     ? "tail / block_step % parts == split"
                           : how->cluster ? "begin < end"
                                          : "");
}

static void write_rank(kn_cuda_writer *w)
{
    kn_cuda_line(w, "const kn_count rank = kn_cluster_rank(), blocks = kn_cluster_blocks();");
}

/* What the blocks of a cluster have before their loop over groups: a part of the members, and the exchange buffer. */
static void begin_cluster(kn_cuda_writer *w)
{
    write_rank(w);
    if (!w->ph->how.unaligned)
        write_range_of_rows(w, "");
    kn_cuda_begin_exchange(w);
}

/* The loop over the groups of a phase of clusters, and what comes before it. */
static void open_clusters(kn_cuda_writer *w)
{
    begin_cluster(w);
    if (w->ph->how.persistent && !w->ph->how.skewed)
        kn_cuda_skew(w);
    if (w->ph->how.async)
        kn_cuda_copy_first(w);
    if (w->ph->how.rest_in_registers)
        kn_cuda_load_rest(w);
    if (w->ph->how.hoisted) {
        const kn_cuda_stride by = {
            kn_cuda_printed(w, "begin + (kn_count)lane * %d", w->ph->how.vec),
            kn_cuda_vectors_end(w->ph), block_step(w)};
        kn_cuda_load_hoisted(w, &by);
    }
    kn_cuda_begin_peers(w); /* behind the copies, which are under way */
    kn_cuda_open(
        w, "for (kn_count first = blockIdx.x / blocks; first < work; first += gridDim.x / blocks)");
}

/* `work`: how many (group, split)s there are. */
static void write_work(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    if (kn_is_cyclic(ph))
        write_parts(w);
    else if (ph->how.split)
        kn_cuda_line(w, "const kn_count work = groups * (kn_count)p%d_splits;", w->p);
    else
        kn_cuda_line(w, "const kn_count work = groups;");
}

/* That loop of blocks that share no group; before batches of groups what these have in common. */
static void open_groups_of_block(kn_cuda_writer *w)
{
    if (w->ph->how.groups) {
        const kn_cuda_stride by = {kn_cuda_printed(w, "(kn_count)lane * %d", w->ph->how.vec),
                                   "members", block_step(w)};
        kn_cuda_load_hoisted(w, &by);
    }
    kn_cuda_open_groups_of_block(w);
}

/* The loop over the groups that a block takes at a time, from `first` on, and a thread's index among them. */
static void open_rows(kn_cuda_writer *w)
{
    int tpg = w->ph->how.tpg;
    if (kn_shares_block(w->k, w->ph))
        kn_cuda_line(w, "const int lane = threadIdx.x %% %d, row = threadIdx.x / %d;", tpg, tpg);
    else
        kn_cuda_line(w, "const int lane = threadIdx.x%s;", w->ph->how.tile ? ", row = 0" : "");
    if (!w->ph->how.cluster)
        kn_cuda_begin_peers(w);
    if (w->ph->how.mixed && w->ph->how.cluster) {
        begin_cluster(w);
        w->block = "blockIdx.x / blocks";
        w->blocks = "gridDim.x / blocks";
    }
    if (w->ph->how.mixed)
        kn_cuda_open_mixed(w);
    else if (w->ph->how.cluster)
        open_clusters(w);
    else
        open_groups_of_block(w);
}

/* The members of a group that a thread takes. */
static kn_cuda_stride stride_of_rows(kn_cuda_writer *w, bool shares)
{
    const kn_phase *ph = w->ph;
    kn_cuda_declare_plane(w, kn_cuda_printed(w, "(kn_count)lane * %d", ph->how.vec));
    if (ph->how.unaligned)
        kn_cuda_unaligned_range(w);
    else if (!ph->how.cluster)
        write_range_of_rows(w, kn_cuda_live_in_step(w, shares ? "live" : ""));
    if (ph->how.by_run && (shares || !ph->how.mixed))
        kn_cuda_run_range(w, shares ? "live" : "");
    if (ph->how.tail || kn_edges_in_one_step(ph))
        kn_cuda_begin_tail(w);
    const char *first = kn_cuda_printed(w, "begin + (kn_count)lane * %d", ph->how.vec);
    const char *end = kn_cuda_vectors_end(ph);
    const char *step = kn_is_cyclic(ph) ? "parts * block_step" : block_step(w);
    if (kn_phase_in_order(ph))
        return in_order(w, "lane",
                        shares ? kn_cuda_printed(w, "%d", ph->how.tpg) : kn_cuda_block_times(w, 1));
    if (ph->how.steps && !ph->how.rest_in_registers)
        return (kn_cuda_stride){first, end, step};
    kn_cuda_line(w, "const kn_count stride = %s;", step);
    if (!ph->how.unaligned)
        return (kn_cuda_stride){first, end, "stride"};
    kn_cuda_unaligned_share(w, first);
    return (kn_cuda_stride){"start", "inner_end", "stride"};
}

/* The loads of a batch of groups, then the loop over these, in which each finds its own. */
static void load_batch_of_groups(kn_cuda_writer *w, bool shares)
{
    kn_cuda_declare_batch_of_groups(w);
    kn_cuda_open_batch_of_groups(w);
    kn_cuda_write_group(w);
    const kn_cuda_stride by = stride_of_rows(w, shares);
    kn_cuda_load_group(w, &by);
    kn_cuda_close(w);
    kn_cuda_open_batch_of_groups(w);
    kn_cuda_take_group(w);
}

static void write_rows(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    bool shares = kn_shares_block(w->k, ph);
    write_locals(w, ONCE_A_BLOCK, "threadIdx.x", "");
    write_shape(w);
    kn_cuda_declare_tiles(w);
    kn_cuda_declare_shared(w);
    write_work(w);
    open_rows(w);
    if (ph->how.groups)
        load_batch_of_groups(w, shares);
    kn_cuda_write_group(w);
    write_locals(w, IN_EACH_GROUP, "lane", shares ? "live" : "");
    const kn_cuda_stride by = stride_of_rows(w, shares);
    kn_cuda_sweeps(w, &by,
                   ph->how.cluster ? "lane == 0 && rank == 0"
                   : shares        ? "live && lane == 0"
                                   : "lane == 0");
    if (ph->how.deferred)
        kn_cuda_deferred_groups(w);
    if (ph->how.groups)
        kn_cuda_close(w);
    kn_cuda_close(w);
    if (ph->how.mixed)
        kn_cuda_close_mixed(w);
}

/* Which columns of a tile are a thread's. One beyond the last group works on that without storing anything. */
static void write_columns_of_thread(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    if (ph->how.interleaved) {
        kn_cuda_decompose(w, 0, ph->nest.ngroup - 1, "tile");
        kn_cuda_line(w, "const kn_index a%d = (kn_index)across;", ph->nest.ngroup - 1);
        return;
    }
    kn_cuda_line(w, "const kn_count first_group = tile * %d + column * %d;", kn_cols_width(ph),
                 ph->how.vec);
    kn_cuda_line(w, "const bool live = first_group < groups;");
    kn_cuda_line(w, "const kn_count g = live ? first_group : groups - %d;", ph->how.vec);
    kn_cuda_decompose(w, 0, ph->nest.ngroup, "g");
}

/* The loop over the parts of all tiles of columns. Blocks that fetch theirs ask for the next one before they work on one. */
static void open_items(kn_cuda_writer *w)
{
    const char *items = kn_cuda_printed(w, "tiles * (kn_count)p%d_splits", w->p);
    if (!w->ph->how.fetch) {
        kn_cuda_open(w, "for (kn_count item = %s; item < %s; item += %s)", w->block, items,
                     w->blocks);
        return;
    }
    kn_cuda_line(w, "const kn_count items = %s;", items);
    kn_cuda_line(
        w, "__shared__ unsigned fetched[2]; // by turns, for some read one when the next is there");
    kn_cuda_line(w, "unsigned turn = 0;");
    kn_cuda_open(w, "for (kn_count item = %s; item < items; item = fetched[turn], turn ^= 1)",
                 w->block);
    kn_cuda_line(w, "unsigned next = 0;");
    kn_cuda_guarded(w, "threadIdx.x == 0",
                    kn_cuda_printed(w, "next = atomicInc(barrier + %d, (unsigned)items - 1);",
                                    KN_BARRIER_WORDS - 1 - w->p));
}

/* The loop over tiles of columns, and what clusters do before it. */
static void open_cols(kn_cuda_writer *w)
{
    if (w->ph->how.cluster) {
        write_rank(w);
        kn_cuda_begin_exchange(w);
        if (w->ph->how.persistent && !w->ph->how.skewed)
            kn_cuda_skew(w);
        w->block = "blockIdx.x / blocks";
        w->blocks = "gridDim.x / blocks";
    }
    if (w->ph->how.last_of_tile) {
        /* the members are the partial results that the split phase has stored for each tile */
        kn_cuda_open(w,
                     "for (kn_count item = blockIdx.x; item < tiles * members; item += gridDim.x)");
        kn_cuda_line(w, "const kn_count tile = item %% tiles;");
        kn_cuda_guarded(w, "!kn_last_block(barrier + 1 + tile, (unsigned)members)", "continue;");
    } else if (w->ph->how.split) {
        open_items(w);
        /* a tile is soon done, and a division takes as long as some elements of it */
        kn_cuda_line(w, "const kn_count split = %sitem / tiles, tile = item - split * tiles;",
                     w->ph->how.tile && w->ph->nest.reds.len == 0
                         ? kn_cuda_printed(w, "p%d_splits == 1 ? 0 : ", w->p)
                         : "");
        if (kn_is_cyclic(w->ph))
            kn_cuda_line(
                w, "const kn_count block_step = %s, stride = block_step * (kn_count)p%d_splits;",
                w->ph->how.interleaved ? "interleaved"
                : w->ph->how.planes    ? step_of_planes(w)
                                       : kn_cuda_printed(w, "%d", w->ph->how.tpg),
                w->p);
    } else {
        kn_cuda_open(w, "for (kn_count tile = %s; tile < tiles; tile += %s)", w->block, w->blocks);
    }
}

/* How many tiles of columns there are, and where a thread is in each. */
static void write_tiles(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    const int width = kn_cols_width(ph), lanes = ph->how.lanes;
    if (ph->how.interleaved) {
        kn_cuda_line(w, "const kn_count tiles = %s;", kn_cuda_extents(w, 0, ph->nest.ngroup - 1));
        kn_cuda_interleaved_columns(w);
        return;
    }
    kn_cuda_line(w, "const kn_count tiles = (groups + %d) / %d;", width - 1, width);
    kn_cuda_line(w, "const int column = threadIdx.x %% %d, row = threadIdx.x / %d;", lanes, lanes);
}

static void write_cols(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    int lanes = ph->how.lanes;
    int side = kn_transpose_side(ph);
    const char *rows =
        ph->how.planes ? step_of_planes(w) : kn_cuda_printed(w, "(kn_count)%d", ph->how.tpg * side);
    write_locals(w, ONCE_A_BLOCK, "threadIdx.x", "");
    write_shape(w);
    write_tiles(w);
    kn_cuda_declare_tiles(w);
    kn_cuda_declare_shared(w);
    kn_cuda_begin_peers(w);
    open_cols(w);
    write_columns_of_thread(w);
    kn_cuda_locate_groups(w);
    write_locals(w, IN_EACH_GROUP, "row", "live");
    kn_cuda_declare_plane(w, "(kn_count)row");
    write_range(w, kn_cuda_live_in_step(w, "live"));
    kn_cuda_stride by = {"(begin + row)", "end", kn_is_cyclic(ph) ? "stride" : rows};
    if (ph->how.interleaved)
        by = kn_cuda_interleaved_share(w);
    if (kn_phase_in_order(ph))
        by = in_order(w, "row", rows);
    if (side > 1) {
        by.first = kn_cuda_printed(w, "(begin + row * %d)", side);
        kn_cuda_line(w, "const kn_count plane_size = %s / %d * %d;",
                     ph->how.cluster ? kn_cuda_printed(w, "(kn_count)p%d_chunk", w->p) : "members",
                     side, lanes);
    }
    if (ph->how.async)
        kn_cuda_copy_columns(w, &by);
    kn_cuda_sweeps(w, &by,
                   ph->how.cluster       ? "live && row == 0 && rank == 0"
                   : ph->how.interleaved ? "across < width"
                                         : "live && row == 0");
    kn_cuda_close(w);
}

/* ---- the kernel ---- */

static void write_signature(kn_cuda_writer *w)
{
    const kn_kernel *k = w->k;
    int n = kn_kernel_params(k, NULL, NULL, 0);
    kn_param *ps = KN_NEW_ARRAY(w->t->arena, kn_param, n + 1);
    kn_kernel_params(k, w->t->arena, ps, n);
    kn_putf(w->t, "extern \"C\" __global__ void __launch_bounds__(%d%s)\n%s(",
            k->bound ? k->bound : k->threads,
            k->min_blocks ? kn_cuda_printed(w, ", %d", k->min_blocks) : "", k->name);
    for (int i = 0; i < n; i++) {
        kn_putf(w->t, "%s", i ? ",\n    " : "");
        const kn_buf *b = ps[i].kind == KN_PARAM_BUF ? &k->bufs.data[ps[i].index] : NULL;
        switch (ps[i].kind) {
        case KN_PARAM_BUF: /* not restrict: blocks read what others have stored to temporaries and outputs */
            kn_putf(w->t,
                    b->kind != KN_BUF_INPUT ? "%s *%s"
                    : w->k->disjoint        ? "const %s *__restrict__ %s"
                                            : "const %s *%s",
                    kn_cuda_type(b->dtype), b->name);
            break;
        case KN_PARAM_SCALAR:
            kn_putf(w->t, "const %s %s", kn_cuda_type(ps[i].dtype), ps[i].name);
            break;
        case KN_PARAM_EXTENT: kn_putf(w->t, "const long long %s", ps[i].name); break;
        case KN_PARAM_INDEX: kn_putf(w->t, "const kn_index %s", ps[i].name); break;
        case KN_PARAM_POLICY: kn_putf(w->t, "const unsigned long long %s", ps[i].name); break;
        case KN_PARAM_BARRIER: kn_putf(w->t, "unsigned *%s", ps[i].name); break;
        case KN_PARAM_RANKS: kn_putf(w->t, "kn_ranks *%s", ps[i].name); break;
        }
    }
    kn_put(w->t, ")\n{\n");
}

static void describe_phase(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    kn_putf(w->t, "    // phase %d, %s:", w->p, ph->nest.name);
    for (int a = 0; a < ph->nest.naxes; a++)
        kn_putf(w->t, "%s%s",
                a == 0 && ph->nest.ngroup ? " groups "
                : a == ph->nest.ngroup    ? (a ? ", members " : " members ")
                                          : " x ",
                ph->nest.axes[a].name);
    kn_put(w->t, "\n");
}

/* Phases side by side: the blocks that have work items of this one. */
static bool open_part_of_grid(kn_cuda_writer *w)
{
    if (!kn_runs_beside(w->k, w->p))
        return false;
    kn_cuda_line(w, "const kn_part_of_grid part = kn_part_of(p%d_first, p%d_blocks);", w->p, w->p);
    kn_cuda_open(w, "if (part.block < part.blocks)");
    w->block = "part.block";
    w->blocks = "part.blocks";
    return true;
}

/* Do threads of a block still read a tile of rows when others are done with the phase before? */
static bool follows_tile_of_rows(const kn_cuda_writer *w)
{
    const kn_phase *before = w->ph - (w->p - kn_first_local(w->k, w->p)) - 1;
    return before >= w->k->phases.data && before->how.walk == KN_WALK_ROWS && before->how.tile;
}

static void write_phase(kn_cuda_writer *w, int p)
{
    enter_phase(w, p);
    if (kn_begins_round(w->k, p))
        kn_cuda_exchange_all(w, p);
    if (w->ph->barrier)
        kn_cuda_line(w, "kn_grid_barrier(barrier);");
    else if (follows_tile_of_rows(w))
        kn_cuda_line(w, "__syncthreads(); // the tile has been read");
    write_locals(w, SHARED_BY_PHASES, "threadIdx.x", "");
    describe_phase(w);
    const bool one_block = w->ph->how.last_block && !w->ph->how.last_of_tile;
    if (one_block && w->ph->how.atomic)
        kn_cuda_line(w, "if (kn_last_to_add(sum, barrier + 2, gridDim.x))");
    else if (one_block)
        kn_cuda_line(w, "if (kn_last_block(barrier + 1, gridDim.x))");
    w->block = one_block ? "0" : "blockIdx.x";
    w->blocks = one_block ? "1" : "gridDim.x";
    kn_cuda_block(w, "");
    if (w->ph->how.skewed)
        kn_cuda_skew(w);
    const bool beside = open_part_of_grid(w);
    switch (w->ph->how.walk) {
    case KN_WALK_FLAT: write_flat(w); break;
    case KN_WALK_ROWS: write_rows(w); break;
    case KN_WALK_COLS: w->ph->how.packed ? kn_cuda_packed(w) : write_cols(w); break;
    }
    if (beside)
        kn_cuda_close(w);
    kn_cuda_close(w);
}

void kn_cuda_kernel(kn_text *t, const kn_kernel *k)
{
    kn_cuda_writer w = {.t = t, .k = k, .indent = 1};
    kn_putf(t, "typedef %s kn_index;\ntypedef %s kn_count;\n\n", k->wide ? "long long" : "int",
            k->wide ? "unsigned long long" : "unsigned");
    kn_cuda_reducer_types(&w);
    write_signature(&w);
    if (kn_kernel_static_bytes(k))
        kn_cuda_line(&w, "__shared__ alignas(16) unsigned char scratch[%d];",
                     kn_kernel_static_bytes(k));
    if (k->shared)
        kn_cuda_line(&w, "extern __shared__ uint4 dynamic[];");
    if (k->phases.data[0].how.atomic)
        kn_cuda_line(&w, "%s sum = 0;", kn_cuda_type(k->phases.data[0].nest.reds.data[0].dtype));
    for (int p = 0; p < k->phases.len; p++)
        if (!k->phases.data[p].local)
            write_phase(&w, p);
    if (k->ranks)
        kn_cuda_line(&w, "kn_count_launch(ranks);");
    kn_put(t, "}\n");
}

const char *kn_cuda_source(kn_arena *a, const kn_kernel *k)
{
    kn_text t = kn_text_new(a), kernel = kn_text_new(a);
    kn_cuda_kernel(&kernel, k);
    kn_prelude(&t, kn_text_str(&kernel), k->fast);
    kn_put(&t, "// ---- the kernel ----\n\n");
    kn_put(&t, kn_text_str(&kernel));
    return kn_text_str(&t);
}
