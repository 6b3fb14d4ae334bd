/* Tiles: turned accesses lie along the members while neighbouring threads take neighbouring groups. They go through
 * shared memory, tile by tile, so that threads side by side touch memory side by side on both of its sides.
 *
 *     for each tile [from, to) of the members:
 *       turned loads: memory -> tile, threads side by side along the members; all meet
 *       the step, for each member: turned loads and stores are of the tile; all meet
 *       turned stores: tile -> memory, threads side by side along the members; all meet
 *
 * A tile has the members one behind the other, each with its groups side by side, and a little room behind them:
 * kn_tile_pitch(). Its memory is what the combines use after the loop.
 *
 * Columns that are kept are such a tile already. What is stored in the last sweep takes the place of a load there, and goes
 * to memory when all of it is there; no room is behind a member's groups, but their vectors change places from one line of
 * a turned array to the next: kn_cuda_column_place(). */
#include "codegen/cuda_writer.h"

static const char *tile_name(kn_cuda_writer *w, char kind, int i)
{
    return kind == 'v' ? kn_cuda_printed(w, "%s_tile", kn_cuda_value(w, i))
                       : kn_cuda_printed(w, "o%d_tile", i);
}

/* Is value i, or store i, turned and this sweep's? */
static bool loads_turned(const kn_cuda_writer *w, int i)
{
    const kn_value *v = &w->ph->values.data[i];
    return v->access.turned && w->need[i] && !w->loaded[i];
}

static bool stores_turned(const kn_cuda_writer *w, int i)
{
    const kn_store *s = &w->ph->stores.data[i];
    return s->access.turned && s->stage == w->sweep && !s->kept;
}

static bool any_load(const kn_cuda_writer *w)
{
    bool any = false;
    for (int i = 0; i < w->ph->values.len; i++)
        any = any || loads_turned(w, i);
    return any;
}

bool kn_cuda_turns(kn_cuda_writer *w)
{
    bool any = any_load(w);
    for (int i = 0; i < w->ph->stores.len; i++)
        any = any || stores_turned(w, i);
    return any;
}

/* One behind the other, in whole 16 bytes. */
static int declare_tile(kn_cuda_writer *w, const kn_access *acc, char kind, int i, int at)
{
    kn_dtype dtype = w->k->bufs.data[acc->buf].dtype;
    kn_cuda_line(w, "%s *const %s = (%s *)(scratch + %d);", kn_cuda_type(dtype),
                 tile_name(w, kind, i), kn_cuda_type(dtype), at);
    return at + kn_tile_bytes_of(w->ph, kn_bytes(dtype));
}

void kn_cuda_declare_tiles(kn_cuda_writer *w)
{
    int at = 0;
    for (int i = 0; i < w->ph->values.len; i++)
        if (w->ph->values.data[i].access.turned)
            at = declare_tile(w, &w->ph->values.data[i].access, 'v', i, at);
    for (int i = 0; i < w->ph->stores.len; i++)
        if (w->ph->stores.data[i].access.turned && !w->ph->stores.data[i].kept)
            at = declare_tile(w, &w->ph->stores.data[i].access, 'o', i, at);
}

const char *kn_cuda_in_tile(kn_cuda_writer *w, const kn_access *acc, char kind, int i,
                            const char *lane)
{
    int pitch = kn_tile_pitch(w->ph, kn_bytes(w->k->bufs.data[acc->buf].dtype));
    return kn_cuda_printed(w, "%s[(i - from) * %d + column * %d%s%s]", tile_name(w, kind, i), pitch,
                           w->ph->vec, lane ? " + " : "", lane ? lane : "");
}

/* Opens a loop over the elements of a tile of so many members by vectors along them: of group c of the tile those from
 * member m on. */
static void open_turned(kn_cuda_writer *w, const kn_access *acc, int members, int at_once)
{
    const kn_phase *ph = w->ph;
    int a_group = members / acc->turned, all = kn_cols_width(ph) * a_group;
    int steps = (all + w->k->threads - 1) / w->k->threads;
    kn_putf(w->t, "#pragma unroll %d\n", at_once);
    kn_cuda_open(w, "for (int step = 0; step < %d; ++step)", steps);
    kn_cuda_line(w, "const int at = step * %d + threadIdx.x;", w->k->threads);
    kn_cuda_line(w, "const int m = at %% %d * %d, c = at / %d;", a_group, acc->turned, a_group);
    if (all % w->k->threads)
        kn_cuda_guarded(w, kn_cuda_printed(w, "at >= %d", all), "break;");
}

/* Between vector `at` and the tile, an element after the other. */
static const char *in_turn(kn_cuda_writer *w, const kn_access *acc, char kind, int i)
{
    return kn_cuda_printed(w, "%s[(m + k) * %d + c]", tile_name(w, kind, i),
                           kn_tile_pitch(w->ph, kn_bytes(w->k->bufs.data[acc->buf].dtype)));
}

/* What is beyond the edge is read from the edge, and nobody uses it: loads without conditions are on their way
 * together. */
static void write_turned_load(kn_cuda_writer *w, int i)
{
    const kn_access *acc = &w->ph->values.data[i].access;
    const kn_buf *b = &w->k->bufs.data[acc->buf];
    open_turned(w, acc, w->ph->tile, kn_steps_at_once(kn_bytes(b->dtype) * acc->turned));
    kn_cuda_line(w, "const kn_count g = kn_least(tile * %d + c, groups - 1);",
                 kn_cols_width(w->ph));
    kn_cuda_line(w, "const kn_count i = kn_least(from + m, to - %d);", acc->turned);
    kn_cuda_decompose(w, 0, w->ph->ngroup, "g");
    kn_cuda_decompose(w, w->ph->ngroup, w->ph->naxes, "i");
    kn_cuda_line(w, "const kn_vec<%s, %d> some = kn_load<%d>(%s + (%s));", kn_cuda_type(b->dtype),
                 acc->turned, acc->turned, b->name, kn_cuda_offset(w, acc, 'v', i, NULL));
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_line(w, "for (int k = 0; k < %d; ++k)", acc->turned);
    kn_cuda_line(w, "    %s = some.at[k];", in_turn(w, acc, 'v', i));
    kn_cuda_close(w);
}

/* To memory, what `element` says is member m + k of group c; a tile has `members`. One step at a time: nobody waits for
 * stores, and to have several at hand takes registers that softmax lacks. */
static void write_turned_store(kn_cuda_writer *w, int i, int members, const char *element)
{
    const kn_access *acc = &w->ph->stores.data[i].access;
    const kn_buf *b = &w->k->bufs.data[acc->buf];
    open_turned(w, acc, members, 1);
    kn_cuda_line(w, "const kn_count g = tile * %d + c, i = from + m;", kn_cols_width(w->ph));
    kn_cuda_open(w, "if (g < groups && i < to)");
    kn_cuda_decompose(w, 0, w->ph->ngroup, "g");
    kn_cuda_decompose(w, w->ph->ngroup, w->ph->naxes, "i");
    kn_cuda_line(w, "kn_vec<%s, %d> some;", kn_cuda_type(b->dtype), acc->turned);
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_line(w, "for (int k = 0; k < %d; ++k)", acc->turned);
    kn_cuda_line(w, "    some.at[k] = %s;", element);
    kn_cuda_line(w, "%s(%s + (%s), some);", kn_cuda_store_function(w, acc->buf), b->name,
                 kn_cuda_offset(w, acc, 'o', i, NULL));
    kn_cuda_close(w);
    kn_cuda_close(w);
}

/* Every other sweep walks backwards, as in cuda_sweep.c. */
void kn_cuda_open_tile(kn_cuda_writer *w, const char *limit)
{
    int tile = w->ph->tile;
    if (w->sweep % 2 == 0) {
        kn_cuda_open(w, "for (kn_count from = begin; from < %s; from += %d)", limit, tile);
    } else {
        kn_cuda_open(w,
                     "for (kn_count from = kn_walk_end(begin, %s, (kn_count)%d); from != begin; )",
                     limit, tile);
        kn_cuda_line(w, "from -= %d;", tile);
    }
    kn_cuda_line(w, "const kn_count to = kn_least(from + %d, %s);", tile, limit);
    for (int i = 0; i < w->ph->values.len; i++)
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
    for (int i = 0; i < w->ph->stores.len; i++) {
        if (!stores_turned(w, i))
            continue;
        write_turned_store(w, i, w->ph->tile, in_turn(w, &w->ph->stores.data[i].access, 'o', i));
        any = true;
    }
    if (any)
        kn_cuda_line(w, "__syncthreads();");
    kn_cuda_close(w);
}

/* ---- stores that are kept ---- */

/* The first that there is; -1: none. */
static int kept_store(const kn_phase *ph)
{
    for (int i = 0; i < ph->stores.len; i++)
        if (ph->stores.data[i].kept)
            return i;
    return -1;
}

const char *kn_cuda_column_place(kn_cuda_writer *w, const char *at, const char *slot)
{
    int store = kept_store(w->ph);
    if (store < 0)
        return kn_cuda_printed(w, "%s * %d + %s", at, w->ph->lanes, slot);
    return kn_cuda_printed(w, "%s * %d + (%s ^ %s / %d %% %d)", at, w->ph->lanes, slot, at,
                           w->ph->stores.data[store].access.turned, w->ph->lanes);
}

static const char *store_type(kn_cuda_writer *w, int i)
{
    kn_dtype dtype = w->k->bufs.data[w->ph->stores.data[i].access.buf].dtype;
    return kn_cuda_printed(w, "kn_vec<%s, %d>", kn_cuda_type(dtype), w->ph->vec);
}

void kn_cuda_keep_store(kn_cuda_writer *w, int i)
{
    kn_cuda_line(w, "((%s *)%s_kept)[%s] = o%d_at;", store_type(w, i),
                 kn_cuda_value(w, w->ph->stores.data[i].room),
                 kn_cuda_column_place(w, w->ph->cluster ? "(i - begin)" : "i", "column"), i);
}

/* A line of the array that is written, of each group side by side, at a time. */
static void write_kept_store(kn_cuda_writer *w, int i)
{
    const kn_phase *ph = w->ph;
    const kn_store *s = &ph->stores.data[i];
    int line = 128 / kn_bytes(w->k->bufs.data[s->access.buf].dtype);
    const char *limit = ph->cluster ? "limit" : "members";
    kn_cuda_open(w, "for (kn_count from = begin; from < %s; from += %d)", limit, line);
    kn_cuda_line(w, "const kn_count to = kn_least(from + %d, %s);", line, limit);
    const char *at = ph->cluster ? "(from + m + k - begin)" : "(from + m + k)";
    write_turned_store(
        w, i, line,
        kn_cuda_printed(
            w, "((const %s *)%s_kept)[%s].at[c %% %d]", store_type(w, i), kn_cuda_value(w, s->room),
            kn_cuda_column_place(w, at, kn_cuda_printed(w, "c / %d", ph->vec)), ph->vec));
    kn_cuda_close(w);
}

void kn_cuda_write_kept_stores(kn_cuda_writer *w)
{
    if (kept_store(w->ph) < 0 || w->sweep + 1 < w->ph->nsweeps)
        return;
    kn_cuda_line(w, "__syncthreads();");
    for (int i = 0; i < w->ph->stores.len; i++)
        if (w->ph->stores.data[i].kept)
            write_kept_store(w, i);
    kn_cuda_line(w, "__syncthreads(); // its place is free");
}
