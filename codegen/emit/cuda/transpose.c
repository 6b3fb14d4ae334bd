/* Tiles: turned accesses lie along the members while neighbouring threads take neighbouring groups. They go through
 * shared memory, tile by tile, so that threads side by side touch memory side by side on both of its sides.
 *
 *     for each tile [from, to) of the members:
 *       straight loads, of phases without reductions, into registers, so that they are on their way with the turned ones
 *       turned loads: memory -> tile, threads side by side along the members; all meet
 *       the step, for each member: turned loads and stores are of the tile; all meet
 *       turned stores: tile -> memory, threads side by side along the members; all meet
 *
 * A tile has the members one behind the other, each with its groups side by side, and a little room behind them:
 * kn_tile_pitch(). Its memory is what the combines use after the loop.
 *
 * Columns that are kept on chip, where all that is turned is stored, need no tiles: each thread takes as many members side
 * by side as are a vector of what it stores, and turns such a square of members and groups in its registers. Its kept
 * values are in planes, one for each member of a square, so that threads side by side are side by side in a plane. */
#include "codegen/emit/cuda/writer.h"
#include "codegen/model/resources.h"

/* Is value i, or store i, turned and this sweep's? */
static bool loads_turned(const kn_cuda_writer *w, int i)
{
    const kn_value *v = &w->ph->nest.values.data[i];
    return v->access.transposed && w->need[i] && !w->loaded[i];
}

static bool stores_turned(const kn_cuda_writer *w, int i)
{
    const kn_store *s = &w->ph->nest.stores.data[i];
    return s->access.transposed && s->stage == w->sweep && !s->by_registers;
}

static bool any_load(const kn_cuda_writer *w)
{
    bool any = false;
    for (int i = 0; i < w->ph->nest.values.len; i++)
        any = any || loads_turned(w, i);
    return any;
}

bool kn_cuda_uses_tiles(kn_cuda_writer *w)
{
    bool any = any_load(w);
    for (int i = 0; i < w->ph->nest.stores.len; i++)
        any = any || stores_turned(w, i);
    return any;
}

/* One behind the other, in whole 16 bytes. */
static int declare_tile(kn_cuda_writer *w, const kn_access *acc, char kind, int i, int at)
{
    kn_dtype dtype = w->k->bufs.data[acc->buf].dtype;
    kn_cuda_line(w, "%s *const %s = (%s *)(scratch + %d);", kn_cuda_type(dtype),
                 kn_cuda_tile(w, kind, i), kn_cuda_type(dtype), at);
    return at + kn_tile_bytes_of(w->ph, kn_bytes(dtype));
}

void kn_cuda_declare_tiles(kn_cuda_writer *w)
{
    int at = 0;
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (w->ph->nest.values.data[i].access.transposed)
            at = declare_tile(w, &w->ph->nest.values.data[i].access, 'v', i, at);
    for (int i = 0; i < w->ph->nest.stores.len; i++)
        if (w->ph->nest.stores.data[i].access.transposed &&
            !w->ph->nest.stores.data[i].by_registers)
            at = declare_tile(w, &w->ph->nest.stores.data[i].access, 'o', i, at);
}

/* Opens a loop over the elements of a tile of so many members by vectors along them: of group c of the tile those from
 * member m on. */
static void open_turned(kn_cuda_writer *w, const kn_access *acc, int members, int at_once)
{
    const kn_phase *ph = w->ph;
    int a_group = members / acc->transposed, all = kn_cols_width(ph) * a_group;
    int steps = (all + w->k->threads - 1) / w->k->threads;
    kn_putf(w->t, "#pragma unroll %d\n", at_once);
    kn_cuda_open(w, "for (int step = 0; step < %d; ++step)", steps);
    kn_cuda_line(w, "const int at = step * %d + threadIdx.x;", w->k->threads);
    kn_cuda_line(w, "const int m = at %% %d * %d, c = at / %d;", a_group, acc->transposed, a_group);
    if (all % w->k->threads)
        kn_cuda_guarded(w, kn_cuda_printed(w, "at >= %d", all), "break;");
}

/* Between vector `at` and the tile, an element after the other. */
static const char *in_turn(kn_cuda_writer *w, const kn_access *acc, char kind, int i)
{
    return kn_cuda_printed(w, "%s[(m + k) * %d + c]", kn_cuda_tile(w, kind, i),
                           kn_tile_pitch(w->ph, kn_bytes(w->k->bufs.data[acc->buf].dtype)));
}

/* What is beyond the edge is read from the edge, and nobody uses it: loads without conditions are on their way
 * together. */
static void write_turned_load(kn_cuda_writer *w, int i)
{
    const kn_access *acc = &w->ph->nest.values.data[i].access;
    const kn_buf *b = &w->k->bufs.data[acc->buf];
    open_turned(w, acc, w->ph->how.tile, kn_steps_at_once(kn_bytes(b->dtype) * acc->transposed));
    kn_cuda_line(w, "const kn_count g = kn_least(tile * %d + c, groups - 1);",
                 kn_cols_width(w->ph));
    kn_cuda_line(w, "const kn_count i = kn_least(from + m, to - %d);", acc->transposed);
    kn_cuda_decompose(w, 0, w->ph->nest.ngroup, "g");
    kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "i");
    const char *from =
        kn_cuda_printed(w, "%s + (%s)", b->name, kn_cuda_offset(w, acc, 'v', i, NULL));
    kn_cuda_line(w, "const kn_vec<%s, %d> some = %s;", kn_cuda_type(b->dtype), acc->transposed,
                 kn_cuda_loaded(w, &w->ph->nest.values.data[i], acc->transposed, from));
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_line(w, "for (int k = 0; k < %d; ++k)", acc->transposed);
    kn_cuda_line(w, "    %s = some.at[k];", in_turn(w, acc, 'v', i));
    kn_cuda_close(w);
}

/* To memory, what `element` says is member m + k of group c; a tile has `members`. One step at a time: nobody waits for
 * stores, and to have several at hand takes registers that softmax lacks. */
static void write_turned_store(kn_cuda_writer *w, int i, int members, const char *element)
{
    const kn_access *acc = &w->ph->nest.stores.data[i].access;
    const kn_buf *b = &w->k->bufs.data[acc->buf];
    open_turned(w, acc, members, 1);
    kn_cuda_line(w, "const kn_count g = tile * %d + c, i = from + m;", kn_cols_width(w->ph));
    kn_cuda_open(w, "if (g < groups && i < to)");
    kn_cuda_decompose(w, 0, w->ph->nest.ngroup, "g");
    kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "i");
    kn_cuda_line(w, "kn_vec<%s, %d> some;", kn_cuda_type(b->dtype), acc->transposed);
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_line(w, "for (int k = 0; k < %d; ++k)", acc->transposed);
    kn_cuda_line(w, "    some.at[k] = %s;", element);
    kn_cuda_line(w, "%s(%s + (%s), some);", kn_cuda_store_function(w, acc->buf), b->name,
                 kn_cuda_offset(w, acc, 'o', i, NULL));
    kn_cuda_close(w);
    kn_cuda_close(w);
}

/* Every other sweep walks backwards, as in cuda_sweep.c. */
void kn_cuda_open_tile(kn_cuda_writer *w, const char *limit)
{
    int tile = w->ph->how.tile;
    if (w->sweep % 2 == 0) {
        kn_cuda_open(w, "for (kn_count from = begin; from < %s; from += %d)", limit, tile);
    } else {
        kn_cuda_open(w,
                     "for (kn_count from = kn_walk_end(begin, %s, (kn_count)%d); from != begin; )",
                     limit, tile);
        kn_cuda_line(w, "from -= %d;", tile);
    }
    kn_cuda_line(w, "const kn_count to = kn_least(from + %d, %s);", tile, limit);
}

void kn_cuda_load_tile(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (loads_turned(w, i))
            write_turned_load(w, i);
    if (any_load(w))
        kn_cuda_line(w, "__syncthreads();");
}

/* The tile's memory is free again at the end. */
void kn_cuda_close_tile(kn_cuda_writer *w)
{
    bool any = false;
    kn_cuda_line(w, "__syncthreads();");
    for (int i = 0; i < w->ph->nest.stores.len; i++) {
        if (!stores_turned(w, i))
            continue;
        write_turned_store(w, i, w->ph->how.tile,
                           in_turn(w, &w->ph->nest.stores.data[i].access, 'o', i));
        any = true;
    }
    if (any)
        kn_cuda_line(w, "__syncthreads();");
    kn_cuda_close(w);
}

/* ---- squares ---- */

void kn_cuda_open_members(kn_cuda_writer *w, int at_once)
{
    kn_putf(w->t, "#pragma unroll %d\n", at_once);
    kn_cuda_open(w, "for (int r = 0; r < %d; ++r)", kn_transpose_side(w->ph));
    kn_cuda_line(w, "const kn_count i = at + r;");
}

void kn_cuda_take_transposed(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    w->ahead = true;
    for (int i = 0; i < ph->nest.values.len; i++) {
        const kn_value *v = &ph->nest.values.data[i];
        const char *name = kn_cuda_value(w, i);
        if (!w->need[i] || !w->loaded[i] || v->kept != KN_KEEP_SHARED)
            continue;
        kn_cuda_line(w, "kn_vec<%s, %d> %s_square[%d];", kn_cuda_type(v->dtype), ph->how.vec, name,
                     kn_transpose_side(ph));
        kn_put(w->t, "#pragma unroll\n");
        kn_cuda_line(w, "for (int r = 0; r < %d; ++r)", kn_transpose_side(ph));
        kn_cuda_line(w, "    %s_square[r] = %s;", name, kn_cuda_shared_place(w, i));
    }
}

static bool stores_square(const kn_cuda_writer *w, int i)
{
    return w->ph->nest.stores.data[i].by_registers && w->ph->nest.stores.data[i].stage == w->sweep;
}

bool kn_cuda_stores_transposed(const kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.stores.len; i++)
        if (stores_square(w, i))
            return true;
    return false;
}

static const char *element_type(const kn_cuda_writer *w, int i)
{
    return kn_cuda_type(w->k->bufs.data[w->ph->nest.stores.data[i].access.buf].dtype);
}

void kn_cuda_declare_transposed(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.stores.len; i++)
        if (stores_square(w, i))
            kn_cuda_line(w, "kn_vec<%s, %d> o%d_square[%d];", element_type(w, i), w->ph->how.vec, i,
                         kn_transpose_side(w->ph));
}

/* Of each group of the thread its members, as vectors along them. */
static void write_square(kn_cuda_writer *w, int i)
{
    const kn_access *acc = &w->ph->nest.stores.data[i].access;
    const kn_buf *b = &w->k->bufs.data[acc->buf];
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_open(w, "for (int r = 0; r < %d; r += %d)", kn_transpose_side(w->ph), acc->transposed);
    kn_cuda_line(w, "const kn_count i = at + r;");
    kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "i");
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_open(w, "for (int l = 0; l < %d; ++l)", w->ph->how.vec);
    kn_cuda_line(w, "kn_vec<%s, %d> some;", element_type(w, i), acc->transposed);
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_line(w, "for (int k = 0; k < %d; ++k)", acc->transposed);
    kn_cuda_line(w, "    some.at[k] = o%d_square[r + k].at[l];", i);
    kn_cuda_line(w, "%s(%s + (%s), some);", kn_cuda_store_function(w, acc->buf), b->name,
                 kn_cuda_offset(w, acc, 'o', i, "l"));
    kn_cuda_close(w);
    kn_cuda_close(w);
}

void kn_cuda_write_transposed(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.stores.len; i++)
        if (stores_square(w, i))
            write_square(w, i);
}
