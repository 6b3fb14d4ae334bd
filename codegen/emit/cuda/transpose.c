/* Transposed accesses are contiguous along the members, while neighbouring threads take neighbouring groups. They go
 * through tiles in shared memory, so that neighbouring threads access neighbouring memory on both sides.
 *
 *     for each tile [from, to) of the members:
 *       without reductions, the direct loads of all steps: these are in flight together with the transposed ones
 *       transposed loads: memory to tile, neighbouring threads along the members; barrier
 *       the steps: transposed loads and stores access the tile; barrier
 *       transposed stores: tile to memory, neighbouring threads along the members; barrier
 *
 * A tile has one row of groups for each member, and padding after each row: kn_tile_pitch(). Its memory is used by the
 * combines after the loop.
 *
 * Columns that are kept on chip and whose only transposed accesses are stores need no tiles: each thread takes as many
 * neighbouring members as a stored vector has, a register tile of members and groups, and transposes it in its
 * registers. Shared memory then has its kept values in planes, one for each member of a register tile, so that
 * neighbouring threads access neighbouring vectors of a plane. */
#include "codegen/emit/cuda/writer.h"
#include "codegen/model/resources.h"

/* Does this sweep load value i, or do store i, through a tile? */
static bool loads_through_tile(const kn_cuda_writer *w, int i)
{
    const kn_value *v = &w->ph->nest.values.data[i];
    return kn_is_read(v) && v->access->transposed && w->need[i] && !w->loaded[i];
}

static bool stores_through_tile(const kn_cuda_writer *w, int i)
{
    const kn_store *s = &w->ph->nest.stores.data[i];
    return s->access.transposed && s->stage == w->sweep && !s->by_registers;
}

static bool any_load(const kn_cuda_writer *w)
{
    bool any = false;
    for (int i = 0; i < w->ph->nest.values.len; i++)
        any = any || loads_through_tile(w, i);
    return any;
}

/* Declares the tile at `at` in scratch; returns where the next begins, which is aligned to 16 bytes. */
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
        if (kn_is_read(kn_value_at(w->ph, i)) && kn_value_at(w->ph, i)->access->transposed)
            at = declare_tile(w, w->ph->nest.values.data[i].access, 'v', i, at);
    for (int i = 0; i < w->ph->nest.stores.len; i++)
        if (w->ph->nest.stores.data[i].access.transposed &&
            !w->ph->nest.stores.data[i].by_registers)
            at = declare_tile(w, &w->ph->nest.stores.data[i].access, 'o', i, at);
}

/* Opens a block's loop over the vectors along the members of a tile: that of group c which begins at member m. */
static void open_tile_vectors(kn_cuda_writer *w, const kn_access *acc, int at_once)
{
    const kn_phase *ph = w->ph;
    int a_group = ph->how.tile / acc->transposed, all = kn_cols_width(ph) * a_group;
    int steps = (all + w->k->threads - 1) / w->k->threads;
    kn_putf(w->t, "#pragma unroll %d\n", at_once);
    kn_cuda_open(w, "for (int step = 0; step < %d; ++step)", steps);
    kn_cuda_line(w, "const int vector = step * %d + threadIdx.x;", w->k->threads);
    kn_cuda_line(w, "const int m = vector %% %d * %d, c = vector / %d;", a_group, acc->transposed,
                 a_group);
    if (all % w->k->threads)
        kn_cuda_guarded(w, kn_cuda_printed(w, "vector >= %d", all), "break;");
}

/* Element k of a vector, in the tile. */
static const char *tile_element(kn_cuda_writer *w, const kn_access *acc, char kind, int i)
{
    return kn_cuda_printed(w, "%s[(m + k) * %d + c]", kn_cuda_tile(w, kind, i),
                           kn_tile_pitch(w->ph, kn_bytes(w->k->bufs.data[acc->buf].dtype)));
}

/* Loads beyond the edge are clamped to it and not used: loads without conditions are in flight together. */
static void write_tile_load(kn_cuda_writer *w, int i)
{
    const kn_access *acc = w->ph->nest.values.data[i].access;
    const kn_buf *b = &w->k->bufs.data[acc->buf];
    open_tile_vectors(w, acc, w->loop->loads);
    kn_cuda_line(w, "const kn_count g = kn_least(tile * %d + c, groups - 1);",
                 kn_cols_width(w->ph));
    kn_cuda_line(w, "const kn_count i = kn_least(from + m, to - %d);", acc->transposed);
    kn_cuda_decompose(w, 0, w->ph->nest.ngroup, "g");
    kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "i");
    const char *from =
        kn_cuda_printed(w, "%s + (%s)", b->name, kn_cuda_offset(w, acc, 'v', i, NULL));
    kn_cuda_line(w, "const kn_vec<%s, %d> vec = %s;", kn_cuda_type(b->dtype), acc->transposed,
                 kn_cuda_loaded(w, i, acc->transposed, from));
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_line(w, "for (int k = 0; k < %d; ++k)", acc->transposed);
    kn_cuda_line(w, "    %s = vec.at[k];", tile_element(w, acc, 'v', i));
    kn_cuda_close(w);
}

/* Tile to memory, not unrolled: nothing waits for stores, and several in flight would take registers. */
static void write_tile_store(kn_cuda_writer *w, int i)
{
    const kn_access *acc = &w->ph->nest.stores.data[i].access;
    const kn_buf *b = &w->k->bufs.data[acc->buf];
    open_tile_vectors(w, acc, 1);
    kn_cuda_line(w, "const kn_count g = tile * %d + c, i = from + m;", kn_cols_width(w->ph));
    kn_cuda_open(w, "if (g < groups && i < to)");
    kn_cuda_decompose(w, 0, w->ph->nest.ngroup, "g");
    kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "i");
    kn_cuda_line(w, "kn_vec<%s, %d> vec;", kn_cuda_type(b->dtype), acc->transposed);
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_line(w, "for (int k = 0; k < %d; ++k)", acc->transposed);
    kn_cuda_line(w, "    vec.at[k] = %s;", tile_element(w, acc, 'o', i));
    kn_cuda_line(w, "%s(%s + (%s), vec);", kn_cuda_store_function(acc), b->name,
                 kn_cuda_offset(w, acc, 'o', i, NULL));
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

void kn_cuda_load_tile(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (loads_through_tile(w, i))
            write_tile_load(w, i);
    if (any_load(w))
        kn_cuda_line(w, "__syncthreads();");
}

/* The last barrier leaves the tile's memory free. */
void kn_cuda_close_tile(kn_cuda_writer *w)
{
    bool any = false;
    kn_cuda_line(w, "__syncthreads();");
    for (int i = 0; i < w->ph->nest.stores.len; i++) {
        if (!stores_through_tile(w, i))
            continue;
        write_tile_store(w, i);
        any = true;
    }
    if (any)
        kn_cuda_line(w, "__syncthreads();");
    kn_cuda_close(w);
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
        kn_put(w->t, "#pragma unroll\n");
        kn_cuda_line(w, "for (int r = 0; r < %d; ++r)", kn_transpose_side(ph));
        kn_cuda_line(w, "    %s_regs[r] = %s;", name, kn_cuda_shared_vector(w, i));
    }
}

static bool stores_register_tile(const kn_cuda_writer *w, int i)
{
    return w->ph->nest.stores.data[i].by_registers && w->ph->nest.stores.data[i].stage == w->sweep;
}

static const char *element_type(const kn_cuda_writer *w, int i)
{
    return kn_cuda_type(w->k->bufs.data[w->ph->nest.stores.data[i].access.buf].dtype);
}

void kn_cuda_declare_register_tiles(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.stores.len; i++)
        if (stores_register_tile(w, i))
            kn_cuda_line(w, "kn_vec<%s, %d> o%d_regs[%d];", element_type(w, i), w->ph->how.vec, i,
                         kn_transpose_side(w->ph));
}

/* Stores the members of each group of the thread, by vectors along the members. */
static void store_register_tile(kn_cuda_writer *w, int i)
{
    const kn_access *acc = &w->ph->nest.stores.data[i].access;
    const kn_buf *b = &w->k->bufs.data[acc->buf];
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_open(w, "for (int r = 0; r < %d; r += %d)", kn_transpose_side(w->ph), acc->transposed);
    kn_cuda_line(w, "const kn_count i = i0 + r;");
    kn_cuda_decompose(w, w->ph->nest.ngroup, w->ph->nest.naxes, "i");
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_open(w, "for (int l = 0; l < %d; ++l)", w->ph->how.vec);
    kn_cuda_line(w, "kn_vec<%s, %d> vec;", element_type(w, i), acc->transposed);
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_line(w, "for (int k = 0; k < %d; ++k)", acc->transposed);
    kn_cuda_line(w, "    vec.at[k] = o%d_regs[r + k].at[l];", i);
    kn_cuda_line(w, "%s(%s + (%s), vec);", kn_cuda_store_function(acc), b->name,
                 kn_cuda_offset(w, acc, 'o', i, "l"));
    kn_cuda_close(w);
    kn_cuda_close(w);
}

void kn_cuda_store_register_tiles(kn_cuda_writer *w)
{
    for (int i = 0; i < w->ph->nest.stores.len; i++)
        if (stores_register_tile(w, i))
            store_register_tile(w, i);
}
