/* Tiles of what is contiguous down a tile. Rows of the tile would read as many lines of memory as they have lanes, and
 * where strides are powers of two those lines drive each other out of the cache before the next row reads on from them.
 * So the tile is copied first, by whole lines, to an array in which its rows are contiguous. */
#include "codegen/emit/c/writer.h"

bool kn_c_is_transposed(const kn_c_writer *w, int v)
{
    const kn_value *value = &w->ph->nest.values.data[v];
    return w->mode == KN_C_TILES && !w->ordered && w->needed[v] && value->kind == KN_V_LOAD &&
           value->level != KN_GROUP && value->access->kind[w->axis] == KN_STRIDE_PARAM &&
           value->access->kind[w->axis - 1] != KN_STRIDE_ZERO;
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
    return any;
}

/* Several columns at a time: what they give a row is one store. */
static void put_columns(kn_c_writer *w, int v)
{
    enum { COLUMNS = 8 };
    kn_c_line(w, "i64 l%d = 0;", v);
    kn_c_line(w, "for (; l%d + %d <= columns; l%d += %d)", v, COLUMNS, v, COLUMNS);
    kn_c_line(w, "    for (i64 r = 0; r < rows; r++)");
    kn_c_line(w, "        KN_UNROLL");
    kn_c_line(w, "        for (int k = 0; k < %d; k++)", COLUMNS);
    kn_c_line(w, "            a%d[r * tile + l%d + k] = p%d[(l%d + k) * across%d + r * down%d];", v,
              v, v, v, v, v);
    kn_c_line(w, "for (; l%d < columns; l%d++)", v, v);
    kn_c_line(w, "    for (i64 r = 0; r < rows; r++)");
    kn_c_line(w, "        a%d[r * tile + l%d] = p%d[l%d * across%d + r * down%d];", v, v, v, v, v,
              v);
}

void kn_c_put_transpose(kn_c_writer *w, int stage)
{
    const char *name = kn_c_state(w);
    bool any;
    const bool *read = find(w, stage, &any);
    if (!any)
        return;
    kn_c_line(w, "static void %s_transpose%d(const kn_c_call *c, %s *s, i64 rows, i64 columns)",
              name, stage, name);
    kn_c_block(w);
    kn_c_line(w, "const i64 *const num = c->num, tile = c->tile;");
    for (int v = 0; v < w->ph->nest.values.len; v++) {
        const kn_access *acc = kn_c_access(w->ph, v);
        const char *type = kn_c_type(w->ph->nest.values.data[v].dtype);
        if (!read[v])
            continue;
        const int at = kn_c_number_of(w->ph, false, v), step = at + 2 + w->axis;
        kn_c_line(w, "const i64 across%d = num[%d], down%d = num[%d];", v, step, v, step - 1);
        kn_c_line(w, "const %s *const p%d = (const %s *)c->buf[%d]%s; /* %s */", type, v, type,
                  acc->buf, kn_c_origin(w, acc, at, false), w->k->bufs.data[acc->buf].name);
        kn_c_line(w, "%s *const a%d = (%s *)(s->block + %d * c->slot);", type, v, type, w->copy[v]);
        put_columns(w, v);
    }
    kn_c_close(w);
    kn_put(w->t, "\n");
}
