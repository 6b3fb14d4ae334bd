/* Transposed accesses are contiguous along the members, while neighbouring threads take neighbouring groups. They go
 * through tiles in shared memory, so that neighbouring threads access neighbouring memory on both sides.
 *
 *     for each tile [from, to) of the members:
 *       without reductions, the direct loads of all steps: these are in flight together with the transposed ones
 *       transposed loads: memory to tile, neighbouring threads along the members; barrier
 *       the steps: transposed loads and stores access the tile; barrier
 *       transposed stores: tile to memory, neighbouring threads along the members; barrier
 *
 * A tile has one row of groups for each member, and padding after each row: kn_tile_pitch(). Only dense ones lie as in
 * memory: dense.c. A tile's memory is used by the combines after the loop.
 *
 * Rows have tiles too, of transposed loads: of all groups that a block takes at a time with all of their members, so that
 * they are loaded once for all sweeps. Such a tile has one row of members for each group, and threads read it by vectors.
 *
 * Columns that are kept on chip and whose only transposed accesses are stores need no tiles: each thread takes as many
 * neighbouring members as a stored vector has, a register tile of members and groups, and transposes it in its
 * registers. Shared memory then has its kept values in planes, one for each member of a register tile, so that
 * neighbouring threads access neighbouring vectors of a plane. */
#include "codegen/emit/cuda/writer.h"
#include "codegen/model/resources.h"

const kn_buf *kn_cuda_array_of(const kn_cuda_writer *w, const kn_transpose *t)
{
    return &w->k->bufs.data[kn_transposed_access(w->ph, t)->buf];
}

static const char *type_of(const kn_cuda_writer *w, const kn_transpose *t)
{
    return kn_cuda_type(kn_cuda_array_of(w, t)->dtype);
}

/* Does this sweep load, or store, through this tile? */
static bool loads_through(const kn_cuda_writer *w, const kn_transpose *t)
{
    return !t->store && w->need[t->of] && !w->loaded[t->of];
}

static bool stores_through(const kn_cuda_writer *w, const kn_transpose *t)
{
    return t->store && kn_in_tile(t) && w->ph->nest.stores.data[t->of].stage == w->sweep;
}

/* In scratch, or in dynamic shared memory, each aligned to 16 bytes. */
void kn_cuda_declare_tiles(kn_cuda_writer *w)
{
    const bool dynamic = kn_dynamic_tile_bytes(w->ph, w->k->threads) > 0;
    int at = 0;
    for (int i = 0; i < w->ph->how.transposes.len; i++) {
        const kn_transpose *t = &w->ph->how.transposes.data[i];
        if (!kn_in_tile(t))
            continue;
        kn_cuda_line(w, "%s *const %s = (%s *)(%s + %d);", type_of(w, t), kn_cuda_tile(w, t),
                     type_of(w, t), dynamic ? "(unsigned char *)dynamic" : "scratch", at);
        at += kn_tile_bytes_of(w->ph, kn_bytes(kn_cuda_array_of(w, t)->dtype), w->k->threads);
    }
}

/* ---- where the vectors of a tile are ---- */

/* The part of a transposed access's offset along the groups' axes, or along the members'. */
static const char *part_of_offset(kn_cuda_writer *w, const kn_transpose *t, bool members)
{
    kn_access acc = *kn_transposed_access(w->ph, t);
    for (int a = 0; a < w->ph->nest.naxes; a++)
        if ((a >= w->ph->nest.ngroup) != members)
            acc.kind[a] = KN_STRIDE_ZERO;
    acc.shifted = acc.shifted && !members;
    return kn_cuda_offset(w, &acc, t->store ? 'o' : 'v', t->of, NULL);
}

static const char *group_part(kn_cuda_writer *w, const kn_transpose *t)
{
    return kn_cuda_printed(w, "%c%d_group", t->store ? 'o' : 'v', t->of);
}

void kn_cuda_locate_groups(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->how.transposes.len && w->ph->how.locates_by_shuffles; i++) {
        const kn_transpose *t = &w->ph->how.transposes.data[i];
        if (kn_in_tile(t) && !t->dense)
            kn_cuda_line(w, "const kn_index %s = %s;", group_part(w, t),
                         part_of_offset(w, t, false));
    }
}

/* Where group c begins, as the lane says that has it. */
static const char *shuffled_group_part(kn_cuda_writer *w, const kn_transpose *t)
{
    const int vec = w->ph->how.vec;
    if (vec == 1)
        return kn_cuda_printed(w, "__shfl_sync(0xffffffffu, %s, c)", group_part(w, t));
    return kn_cuda_printed(
        w, "__shfl_sync(0xffffffffu, %s, c / %d) + (kn_index)(c %% %d) * p%d_%c%d_stride%d",
        group_part(w, t), vec, vec, w->p, t->store ? 'o' : 'v', t->of, w->ph->nest.ngroup - 1);
}

/* How the threads of a block share the vectors of a tile: `side` lanes take neighbouring vectors of a group, as many as fall into
 * different banks of the tile with an element each. `shares` of a block's warps have other vectors of the same groups. A thread
 * takes `parts` vectors of a group. */
typedef struct tile_lanes {
    int a_group, side, shares, parts;
} tile_lanes;

static tile_lanes lanes_of(const kn_cuda_writer *w, const kn_transpose *t)
{
    enum { WARP = 32 };
    const int a_group = w->ph->how.tile / t->vec, width = kn_cols_width(w->ph),
              threads = w->k->threads;
    tile_lanes by = {a_group, a_group < WARP / t->vec ? a_group : WARP / t->vec, 1, 1};
    while (threads % (2 * by.shares * by.side * width) == 0 &&
           a_group % (2 * by.shares * by.side) == 0)
        by.shares *= 2;
    by.parts = (a_group + by.shares * by.side - 1) / (by.shares * by.side);
    return by;
}

/* Members between the vectors of a group that a thread takes. */
static int members_between(const kn_cuda_writer *w, const kn_transpose *t)
{
    const tile_lanes by = lanes_of(w, t);
    return by.shares * by.side * t->vec;
}

/* Opens a block's loop over the groups c of a tile, of which a warp takes as many at a time as it has lanes for. Only here a group is
 * located, at `at`. Where lanes do that for each other, none may have left the loop. `at_once`: vectors that are in flight. */
static void open_tile_groups(kn_cuda_writer *w, const kn_transpose *t, int at_once)
{
    const kn_phase *ph = w->ph;
    const tile_lanes by = lanes_of(w, t);
    const int width = kn_cols_width(ph), threads = w->k->threads, all = width * by.side * by.shares,
              steps = (all + threads - 1) / threads,
              batches = (steps * by.parts + at_once - 1) / at_once;
    kn_putf(w->t, "#pragma unroll %d\n", (steps + batches - 1) / batches);
    kn_cuda_open(w, "for (int step = 0; step < %d; ++step)", steps);
    if (by.shares > 1) {
        kn_cuda_line(w, "const int first = (threadIdx.x %% %d + threadIdx.x / %d * %d) * %d;",
                     by.side, width * by.side, by.side, t->vec);
        kn_cuda_line(w, "const int c = threadIdx.x / %d %% %d;", by.side, width);
    } else if (threads % by.side == 0) {
        kn_cuda_line(w,
                     "const int first = threadIdx.x %% %d * %d, c = threadIdx.x / %d + step * %d;",
                     by.side, t->vec, by.side, threads / by.side);
    } else {
        kn_cuda_line(w, "const int vector = step * %d + threadIdx.x;", threads);
        kn_cuda_line(w, "const int first = vector %% %d * %d, c = vector / %d;", by.side, t->vec,
                     by.side);
    }
    if (ph->how.locates_by_shuffles)
        kn_cuda_line(w, "const kn_index at = %s;", shuffled_group_part(w, t));
    if (all % threads)
        kn_cuda_guarded(w,
                        by.shares > 1 ? kn_cuda_printed(w, "first >= %d", ph->how.tile)
                                      : kn_cuda_printed(w, "c >= %d", width),
                        "break;");
    if (ph->how.locates_by_shuffles && !t->store)
        return;
    const char *g = kn_cuda_printed(w, "tile * %d + c", width);
    kn_cuda_line(w, "const kn_count g = %s;",
                 t->store ? g : kn_cuda_printed(w, "kn_least(%s, groups - 1)", g));
    if (ph->how.locates_by_shuffles)
        return;
    kn_cuda_decompose(w, 0, ph->nest.ngroup, "g");
    kn_cuda_line(w, "const kn_index at = %s;", part_of_offset(w, t, false));
}

/* Are members that follow each other neighbours in memory? Then those of a thread are at distances that the compiler knows. */
static bool is_contiguous(const kn_cuda_writer *w, const kn_transpose *t)
{
    const int last = w->ph->nest.naxes - 1;
    return w->ph->nest.ngroup == last &&
           kn_transposed_access(w->ph, t)->kind[last] == KN_STRIDE_ONE;
}

/* Opens the loop over the vectors of group c that a thread takes, which begin at member m of the tile. */
static void open_tile_vectors(kn_cuda_writer *w, const kn_transpose *t)
{
    const tile_lanes by = lanes_of(w, t);
    const int pitch = kn_tile_pitch(w->ph, kn_bytes(kn_cuda_array_of(w, t)->dtype));
    if (is_contiguous(w, t)) {
        kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "from");
        kn_cuda_line(w, "const kn_index begins = at + %s + first;", part_of_offset(w, t, true));
    }
    kn_cuda_line(w, "%s *const column_of = %s + (first * %d + c);", type_of(w, t),
                 kn_cuda_tile(w, t), pitch);
    kn_cuda_open_each(w, "part", by.parts);
    kn_cuda_line(w, "const int m = first + part * %d;", members_between(w, t));
    if (by.a_group % (by.shares * by.side))
        kn_cuda_guarded(w, kn_cuda_printed(w, "m >= %d", w->ph->how.tile), "break;");
}

/* The address of a vector of members, from i on. */
static const char *address_of_members(kn_cuda_writer *w, const kn_transpose *t, const char *i)
{
    kn_cuda_line(w, "const kn_count i = %s;", i);
    kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "i");
    return kn_cuda_printed(w, "%s + (at + %s)", kn_cuda_array_of(w, t)->name,
                           part_of_offset(w, t, true));
}

/* The address of the vector at member m, which is there. */
static const char *address_of_vector(kn_cuda_writer *w, const kn_transpose *t)
{
    return is_contiguous(w, t)
               ? kn_cuda_printed(w, "%s + begins + part * %d", kn_cuda_array_of(w, t)->name,
                                 members_between(w, t))
               : address_of_members(w, t, "from + m");
}

/* The same clamped to the last vector that is there. */
static const char *clamped_address(kn_cuda_writer *w, const kn_transpose *t)
{
    if (!is_contiguous(w, t))
        return address_of_members(w, t, kn_cuda_printed(w, "kn_least(from + m, to - %d)", t->vec));
    return kn_cuda_printed(w, "%s + (begins + kn_least(part * %d, (int)(to - from) - %d - first))",
                           kn_cuda_array_of(w, t)->name, members_between(w, t), t->vec);
}

/* Element k of a vector, in the tile. */
static const char *tile_element(kn_cuda_writer *w, const kn_transpose *t)
{
    return kn_cuda_printed(w, "column_of[(part * %d + k) * %d]", members_between(w, t),
                           kn_tile_pitch(w->ph, kn_bytes(kn_cuda_array_of(w, t)->dtype)));
}

/* Loads beyond the edge are clamped to it and not used: loads without conditions are in flight together. In a tile that is whole
 * those of a group have addresses that only differ by constants. */
static void write_tile_load(kn_cuda_writer *w, const kn_transpose *t)
{
    if (t->dense) {
        kn_cuda_load_dense(w, t);
        return;
    }
    open_tile_groups(w, t, w->loop->loads);
    open_tile_vectors(w, t);
    const char *address = clamped_address(w, t);
    if (is_contiguous(w, t))
        address = kn_cuda_printed(w, "whole ? %s : %s", address_of_vector(w, t), address);
    kn_cuda_line(w, "const kn_vec<%s, %d> vec = %s;", type_of(w, t), t->vec,
                 kn_cuda_loaded(w, t->of, t->vec, address));
    kn_cuda_each(w, "k", t->vec, kn_cuda_printed(w, "%s = vec.at[k];", tile_element(w, t)));
    kn_cuda_close(w);
    kn_cuda_close(w);
}

/* Stores `vec`, of the elements `element` for each k, to memory. */
static void store_vector(kn_cuda_writer *w, const kn_transpose *t, const char *element,
                         const char *address)
{
    kn_cuda_line(w, "kn_vec<%s, %d> vec;", type_of(w, t), t->vec);
    kn_cuda_each(w, "k", t->vec, kn_cuda_printed(w, "vec.at[k] = %s;", element));
    kn_cuda_line(w, "%s(%s, vec);", kn_cuda_store_function(w, t->of), address);
}

/* Tile to memory, a few vectors at a time: nothing waits for stores, but each waits for its elements. */
static void write_tile_store(kn_cuda_writer *w, const kn_transpose *t)
{
    if (t->dense) {
        kn_cuda_store_dense(w, t);
        return;
    }
    open_tile_groups(w, t, 1);
    open_tile_vectors(w, t);
    kn_cuda_open(w, "if (g < groups && from + m < to)");
    store_vector(w, t, tile_element(w, t), address_of_vector(w, t));
    kn_cuda_close(w);
    kn_cuda_close(w);
    kn_cuda_close(w);
}

void kn_cuda_open_tile(kn_cuda_writer *w, const char *limit)
{
    int tile = w->ph->how.tile;
    if (!w->loop->backwards) {
        kn_cuda_open(w, "for (kn_count from = begin; from < %s; from += %d)", limit, tile);
    } else {
        kn_cuda_open(w,
                     "for (kn_count from = kn_walk_end(begin, %s, (kn_count)%d); from != begin; )",
                     limit, tile);
        kn_cuda_line(w, "from -= %d;", tile);
    }
    kn_cuda_line(w, "const kn_count to = kn_least(from + %d, %s);", tile, limit);
}

/* Does `what` for each transposed access that the sweep loads, or stores, so. Is there any? */
static bool each_transpose(kn_cuda_writer *w,
                           bool (*is)(const kn_cuda_writer *, const kn_transpose *),
                           void (*what)(kn_cuda_writer *, const kn_transpose *))
{
    bool any = false;
    for (int i = 0; i < w->ph->how.transposes.len; i++) {
        const kn_transpose *t = &w->ph->how.transposes.data[i];
        if (!is(w, t))
            continue;
        what(w, t);
        any = true;
    }
    return any;
}

bool kn_cuda_load_tile(kn_cuda_writer *w)
{
    bool dense = false, contiguous = false; /* twice: for tiles that are whole, and for others */
    for (int i = 0; i < w->ph->how.transposes.len; i++) {
        const kn_transpose *t = &w->ph->how.transposes.data[i];
        dense = dense || (loads_through(w, t) && t->dense);
        contiguous = contiguous || (loads_through(w, t) && !t->dense && is_contiguous(w, t));
    }
    const bool twice = dense || contiguous;
    if (twice)
        kn_cuda_open(w, "const auto load_tile = [&](const auto whole)");
    const bool any = each_transpose(w, loads_through, write_tile_load);
    if (twice) {
        kn_cuda_close_as(w, "};");
        const int width = kn_cols_width(w->ph);
        kn_cuda_guarded(
            w,
            kn_cuda_printed(
                w, "%s%s%s",
                dense ? kn_cuda_printed(w, "groups - tile * %d >= %d", width, width) : "",
                dense && contiguous ? " && " : "",
                contiguous ? kn_cuda_printed(w, "to - from == %d", w->ph->how.tile) : ""),
            "load_tile(kn_bool<true>());");
        kn_cuda_line(w, "else");
        kn_cuda_line(w, "    load_tile(kn_bool<false>());");
    }
    if (any)
        kn_cuda_line(w, "__syncthreads();");
    return twice;
}

/* The last barrier leaves the tile's memory free, and the next work item, which was asked for ahead of the tile's loads, to all. */
void kn_cuda_close_tile(kn_cuda_writer *w)
{
    if (w->ph->how.fetch)
        kn_cuda_guarded(w, "threadIdx.x == 0",
                        kn_cuda_printed(w, "fetched[turn] = %s + next;", w->blocks));
    kn_cuda_line(w, "__syncthreads();");
    if (each_transpose(w, stores_through, write_tile_store))
        kn_cuda_line(w, "__syncthreads();");
    kn_cuda_close(w);
}

/* ---- tiles of rows ---- */

/* Which group c of the block's, and which of its first members m0, a thread loads: a warp has as many groups side by side as
 * make a sector, and as fall into different banks with a vector of members each. */
static void write_loaders(kn_cuda_writer *w, int bytes)
{
    enum { WARP = 32, SECTOR = 32 };
    const int groups = w->k->threads / w->ph->how.tpg;
    int side = WARP / w->ph->how.vec;
    side = side < SECTOR / bytes ? SECTOR / bytes : side;
    side = side < groups ? side : groups;
    side = side < WARP / w->ph->how.tpg ? WARP / w->ph->how.tpg : side;
    kn_cuda_line(w, "const int c = threadIdx.x %% %d + threadIdx.x / 32 %% %d * %d;", side,
                 groups / side, side);
    kn_cuda_line(w, "const int m0 = threadIdx.x %% 32 / %d + threadIdx.x / %d * %d;", side,
                 WARP * groups / side, WARP / side);
}

/* All of a batch's loads come before it is stored to the tile. Those beyond the edge are clamped to it, in flight with the others,
 * and nobody reads them there. */
static void write_load_of_rows(kn_cuda_writer *w, const kn_transpose *t)
{
    const int bytes = kn_bytes(kn_cuda_array_of(w, t)->dtype), tpg = w->ph->how.tpg,
              batch = kn_tile_batch(w->ph, bytes);
    kn_cuda_block(w, "");
    write_loaders(w, bytes);
    kn_cuda_line(w, "const kn_count item = kn_least(first + c, work - 1), g = %s;",
                 w->ph->how.reversed ? "work - 1 - item" : "item");
    kn_cuda_decompose(w, 0, w->ph->nest.ngroup, "g");
    kn_cuda_open(w, "for (kn_count from = m0; from < members; from += %d)", batch * tpg);
    kn_cuda_line(w, "kn_vec<%s, 1> loaded[%d];", type_of(w, t), batch);
    kn_cuda_open_each(w, "step", batch);
    kn_cuda_line(w, "const kn_count i = kn_least(from + step * %d, members - 1);", tpg);
    kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "i");
    kn_cuda_line(w, "loaded[step] = %s;",
                 kn_cuda_loaded(w, t->of, 1, kn_cuda_address(w, t->of, NULL)));
    kn_cuda_close(w);
    kn_cuda_line(w, "%s *const to = %s + (c * %d + from);", type_of(w, t), kn_cuda_tile(w, t),
                 kn_tile_pitch(w->ph, bytes));
    kn_cuda_open_each(w, "step", batch);
    kn_cuda_line(w, "to[step * %d] = loaded[step].at[0];", tpg);
    kn_cuda_close(w);
    kn_cuda_close(w);
    kn_cuda_close(w);
}

/* The first barrier waits for those that still read the tiles of the groups before. */
void kn_cuda_load_tile_of_rows(kn_cuda_writer *w)
{
    kn_cuda_line(w, "__syncthreads();");
    for (int i = 0; i < w->ph->how.transposes.len; i++)
        write_load_of_rows(w, &w->ph->how.transposes.data[i]);
    kn_cuda_line(w, "__syncthreads();");
}

/* ---- in-register transposes ---- */

void kn_cuda_open_register_tile(kn_cuda_writer *w, int at_once)
{
    kn_putf(w->t, "#pragma unroll %d\n", at_once);
    kn_cuda_open(w, "for (int r = 0; r < %d; ++r)", kn_transpose_side(w->ph));
    kn_cuda_line(w, "const kn_count i = i0 + r;");
}

void kn_cuda_load_register_tiles(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    w->in_register_tile = true;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        const char *name = kn_cuda_value(w, i);
        if (!w->need[i] || !w->loaded[i] || kn_kept(ph, i) != KN_KEEP_SHARED)
            continue;
        kn_cuda_line(w, "kn_vec<%s, %d> %s_regs[%d];", kn_cuda_type(v->dtype), ph->how.vec, name,
                     kn_transpose_side(ph));
        kn_cuda_each(w, "r", kn_transpose_side(ph),
                     kn_cuda_printed(w, "%s_regs[r] = %s;", name, kn_cuda_shared_vector(w, i)));
    }
}

static bool stores_register_tile(const kn_cuda_writer *w, const kn_transpose *t)
{
    return t->in_registers && w->ph->nest.stores.data[t->of].stage == w->sweep;
}

static void declare_register_tile(kn_cuda_writer *w, const kn_transpose *t)
{
    kn_cuda_line(w, "kn_vec<%s, %d> o%d_regs[%d];", type_of(w, t), w->ph->how.vec, t->of,
                 kn_transpose_side(w->ph));
}

void kn_cuda_declare_register_tiles(kn_cuda_writer *w)
{
    each_transpose(w, stores_register_tile, declare_register_tile);
}

/* Stores the members of each group of the thread, by vectors along the members. */
static void store_register_tile(kn_cuda_writer *w, const kn_transpose *t)
{
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_open(w, "for (int r = 0; r < %d; r += %d)", kn_transpose_side(w->ph), t->vec);
    kn_cuda_line(w, "const kn_count i = i0 + r;");
    kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "i");
    kn_cuda_open_each(w, "l", w->ph->how.vec);
    store_vector(
        w, t, kn_cuda_printed(w, "o%d_regs[r + k].at[l]", t->of),
        kn_cuda_printed(w, "%s + (%s)", kn_cuda_array_of(w, t)->name,
                        kn_cuda_offset(w, kn_transposed_access(w->ph, t), 'o', t->of, "l")));
    kn_cuda_close(w);
    kn_cuda_close(w);
}

void kn_cuda_store_register_tiles(kn_cuda_writer *w)
{
    each_transpose(w, stores_register_tile, store_register_tile);
}
