/* Tiles of what is contiguous down a tile. Rows of the tile would read as many lines of memory as they have lanes, and
 * where strides are powers of two those lines drive each other out of the cache before the next row reads on from them.
 * So the tile is copied first, by whole lines, to an array in which its rows are contiguous; and what is stored so is put
 * into such an array, and copied from there in the end. */
#include "codegen/emit/c/writer.h"

bool kn_c_is_transposed(const kn_c_writer *w, int v)
{
    const kn_value *value = &w->ph->nest.values.data[v];
    return w->mode == KN_C_TILES && !w->ordered && w->needed[v] && value->kind == KN_V_LOAD &&
           value->level != KN_GROUP && value->access->kind[w->axis] == KN_STRIDE_PARAM &&
           value->access->kind[w->axis - 1] != KN_STRIDE_ZERO;
}

bool kn_c_is_stored_transposed(const kn_c_writer *w, int s)
{
    const kn_store *st = &w->ph->nest.stores.data[s];
    return w->mode == KN_C_TILES && !w->ordered && st->kind == KN_STORE_ELEMENT &&
           st->access.kind[w->axis] == KN_STRIDE_PARAM &&
           st->access.kind[w->axis - 1] != KN_STRIDE_ZERO;
}

/* Does a stage store any? */
static bool stores_any(const kn_c_writer *w, int stage)
{
    for (int s = 0; s < w->ph->nest.stores.len; s++)
        if (w->ph->nest.stores.data[s].stage == stage && w->store_copy[s] >= 0)
            return true;
    return false;
}

/* Which of them a stage reads. */
static bool *find(const kn_c_writer *w, int stage, bool *any)
{
    const int n = w->ph->nest.values.len;
    bool *read = KN_NEW_ARRAY(w->a, bool, n + 1);
    kn_phase_needs(w->ph, stage, read);
    *any = false;
    for (int v = 0; v < n; v++) {
        read[v] = read[v] && w->copy[v] >= 0 && !w->rolled[v];
        *any = *any || read[v];
    }
    return read;
}

bool kn_c_transposes(const kn_c_writer *w, int stage)
{
    bool any;
    find(w, stage, &any);
    return any || stores_any(w, stage);
}

bool kn_c_turns_back(const kn_c_writer *w, int stage) { return stores_any(w, stage); }

const char *kn_c_transposed_by(int bytes)
{
    return bytes == 2 ? "u16" : bytes == 4 ? "u32" : bytes == 8 ? "u64" : NULL;
}

/* Several columns at a time: what they give a row is one store. */
static void put_columns(kn_c_writer *w, int v)
{
    enum { COLUMNS = 8 };
    kn_c_line(w, "i64 l = 0;");
    kn_c_line(w, "for (; l + %d <= columns; l += %d)", COLUMNS, COLUMNS);
    kn_c_line(w, "    for (i64 r = 0; r < rows; r++)");
    kn_c_line(w, "        KN_UNROLL");
    kn_c_line(w, "        for (int k = 0; k < %d; k++)", COLUMNS);
    kn_c_line(w, "            a%d[r * tile + l + k] = p%d[(l + k) * across%d + r * down%d];", v, v,
              v, v);
    kn_c_line(w, "for (; l < columns; l++)");
    kn_c_line(w, "    for (i64 r = 0; r < rows; r++)");
    kn_c_line(w, "        a%d[r * tile + l] = p%d[l * across%d + r * down%d];", v, v, v, v);
}

static void put_turned(kn_c_writer *w, int v)
{
    const kn_access *acc = kn_c_access(w->ph, v);
    const char *type = kn_c_type(w->ph->nest.values.data[v].dtype);
    const char *by = kn_c_transposed_by(kn_bytes(w->ph->nest.values.data[v].dtype));
    const int at = kn_c_number_of(w->ph, false, v), step = at + 2 + w->axis;
    kn_c_line(w, "const i64 across%d = num[%d], down%d = num[%d];", v, step, v, step - 1);
    kn_c_line(w, "const %s *const p%d = (const %s *)c->buf[%d]%s; /* %s */", type, v, type,
              acc->buf, kn_c_origin(w, acc, at, false), w->k->bufs.data[acc->buf].name);
    kn_c_line(w, "%s *const a%d = (%s *)(s->block + %d * c->slot);", type, v, type, w->copy[v]);
    if (by) {
        kn_c_open(w, "if (down%d == 1)", v);
        kn_c_line(w, "kn_turn_%s(a%d, tile, p%d, across%d, rows, columns);", by, v, v, v);
        kn_c_line(w, "KN_FETCH_ROWS(p%d + below + beyond * across%d, across%d, columns, rows, 0);",
                  v, v, v);
        w->indent--;
        kn_c_open(w, "} else");
    } else {
        kn_c_block(w);
    }
    put_columns(w, v);
    kn_c_close(w);
}

/* Rows of the array are columns of memory. */
static void put_turned_back(kn_c_writer *w, int s)
{
    const kn_access *acc = kn_c_store_access(w->ph, s);
    const kn_buf *buf = &w->k->bufs.data[acc->buf];
    const char *type = kn_c_type(buf->dtype), *by = kn_c_transposed_by(kn_bytes(buf->dtype));
    const int at = kn_c_number_of(w->ph, true, s), step = at + 2 + w->axis;
    kn_c_block(w);
    kn_c_line(w, "const i64 across = num[%d], down = num[%d];", step, step - 1);
    kn_c_line(w, "%s *const q%d = (%s *)c->buf[%d]%s; /* %s */", type, s, type, acc->buf,
              kn_c_origin(w, acc, at, false), buf->name);
    kn_c_line(w, "const %s *const a%d = (const %s *)(s->block + %d * c->slot);", type, s, type,
              w->store_copy[s]);
    if (by) {
        kn_c_open(w, "if (down == 1)");
        kn_c_line(w, "kn_turn_%s(q%d, across, a%d, tile, columns, rows);", by, s, s);
        w->indent--;
        kn_c_open(w, "} else");
    } else {
        kn_c_block(w);
    }
    kn_c_line(w, "for (i64 l = 0; l < columns; l++)");
    kn_c_line(w, "    for (i64 r = 0; r < rows; r++)");
    kn_c_line(w, "        q%d[l * across + r * down] = a%d[r * tile + l];", s, s);
    kn_c_close(w);
    kn_c_close(w);
}

static void put_back_function(kn_c_writer *w, int stage)
{
    const char *name = kn_c_state(w);
    if (!stores_any(w, stage))
        return;
    kn_c_line(w, "static void %s_back%d(const kn_c_call *c, %s *s, i64 rows, i64 columns)", name,
              stage, name);
    kn_c_block(w);
    kn_c_line(w, "const i64 *const num = c->num, tile = KN_TILE_SIDE;");
    for (int s = 0; s < w->ph->nest.stores.len; s++)
        if (w->ph->nest.stores.data[s].stage == stage && w->store_copy[s] >= 0)
            put_turned_back(w, s);
    kn_c_close(w);
    kn_put(w->t, "\n");
}

/* Fetches what the next tile has of an access: its rows, or of a store that is contiguous down the tile, its columns. A tile
 * has a little of so many rows that processors do not see them coming. store: which one it is; -1: it is read. */
static void put_next_tile(kn_c_writer *w, const kn_access *acc, int at, int store)
{
    const int down = w->axis - 1;
    const char *type = kn_c_type(w->k->bufs.data[acc->buf].dtype);
    const char *next =
        kn_c_printed(w, "(const %s *)c->buf[%d]%s", type, acc->buf, kn_c_origin(w, acc, at, false));
    const char *step = kn_c_printed(w, "num[%d]", at + 2 + down);
    if (acc->kind[down] != KN_STRIDE_PARAM)
        return;
    if (acc->kind[w->axis] == KN_STRIDE_ONE) {
        if (store >= 0 && kn_c_can_stream(w, store))
            kn_c_line(w, "if (!KN_STREAMS(c))");
        kn_c_line(w, "KN_FETCH_ROWS(%s + below * %s + beyond, %s, rows, columns, %d);", next, step,
                  step, store >= 0);
    } else if (store >= 0 && acc->kind[w->axis] == KN_STRIDE_PARAM) {
        kn_c_line(w, "if (%s == 1)", step);
        step = kn_c_printed(w, "num[%d]", at + 2 + w->axis);
        kn_c_line(w, "    KN_FETCH_ROWS(%s + below + beyond * %s, %s, columns, rows, 1);", next,
                  step, step);
    }
}

/* Is the array of value v, which is read, that of an earlier one? A stencil's points share their tiles. */
static bool is_read_before(const kn_phase *p, int v, const bool *read)
{
    for (int i = 0; i < v; i++)
        if (read[i] && p->nest.values.data[i].kind == KN_V_LOAD &&
            kn_c_access(p, i)->buf == kn_c_access(p, v)->buf)
            return true;
    return false;
}

void kn_c_put_transpose(kn_c_writer *w, int stage)
{
    const kn_phase *p = w->ph;
    const char *name = kn_c_state(w);
    bool any;
    const bool *copied = find(w, stage, &any);
    bool *read = KN_NEW_ARRAY(w->a, bool, p->nest.values.len + 1);
    if (!kn_c_transposes(w, stage))
        return;
    put_back_function(w, stage);
    kn_phase_needs(p, stage, read);
    kn_c_line(w, "static void %s_transpose%d(const kn_c_call *c, %s *s, i64 rows, i64 columns)",
              name, stage, name);
    kn_c_block(w);
    kn_c_line(w, "const i64 *const num = c->num, tile = KN_TILE_SIDE;");
    kn_c_line(w, "const i64 below = s->downwards ? rows : 0, beyond = s->downwards ? 0 : columns;");
    kn_c_line(w, "(void)tile;");
    for (int v = 0; v < p->nest.values.len; v++)
        if (copied[v])
            put_turned(w, v);
        else if (read[v] && p->nest.values.data[v].kind == KN_V_LOAD && !is_read_before(p, v, read))
            put_next_tile(w, kn_c_access(p, v), kn_c_number_of(p, false, v), -1);
    for (int s = 0; s < p->nest.stores.len; s++)
        if (p->nest.stores.data[s].kind == KN_STORE_ELEMENT &&
            p->nest.stores.data[s].stage == stage)
            put_next_tile(w, &p->nest.stores.data[s].access, kn_c_number_of(p, true, s), s);
    kn_c_close(w);
    kn_put(w->t, "\n");
}
