/* Rows and columns by tiles: of arrays that are contiguous along the groups, or along another of the members' axes than the last, a
 * row would read a line of memory for each element; and columns of arrays that are contiguous along the members would stride. So a
 * tile of neighbouring groups is copied first, transposed in registers, to memory of the worker's, in which the lanes are contiguous;
 * and what is stored so is copied from there in the end. To the rows or columns, which are written as they always are, these accesses
 * are others, of arrays that the call's own come before. */
#include "codegen/emit/c/writer.h"

static kn_access *access_of(kn_phase *p, const kn_transpose *t)
{
    return t->store ? &p->nest.stores.data[t->of].access : p->nest.values.data[t->of].access;
}

/* Where the numbers of what is transposed begin. */
static int number_of(const kn_phase *p, const kn_transpose *t)
{
    return kn_c_number_of(p, t->store, t->of);
}

/* The axis along which arrays of a tile are contiguous. */
static int lane_axis(const kn_phase *p)
{
    return (p->how.walk == KN_WALK_COLS ? p->nest.ngroup : p->nest.naxes) - 1;
}

/* What rows or columns see of the access: their own place in a tile, then one element behind the other. */
static void see(kn_access *acc, const kn_phase *p, int buf)
{
    const kn_nest *nest = &p->nest;
    acc->buf = buf;
    acc->shifted = true;
    for (int a = 0; a < nest->naxes; a++)
        if (a == lane_axis(p))
            acc->kind[a] = KN_STRIDE_ONE;
        else if (a < nest->ngroup - 1)
            acc->kind[a] = KN_STRIDE_ZERO;
        else if (acc->kind[a] != KN_STRIDE_ZERO)
            acc->kind[a] = KN_STRIDE_PARAM;
}

/* The kernel whose phase has its transposed accesses so. */
static kn_kernel *tiled_kernel(kn_c_writer *w)
{
    kn_kernel *k = KN_NEW(w->a, kn_kernel);
    *k = *w->k;
    kn_copy_vec(w->a, &k->bufs, &w->k->bufs);
    kn_copy_vec(w->a, &k->phases, &w->k->phases);
    kn_phase *p = &k->phases.data[w->p];
    *p = kn_phase_copy(w->a, w->ph);
    for (int i = 0; i < p->how.transposes.len; i++) {
        kn_access *acc = access_of(p, &p->how.transposes.data[i]);
        kn_buf buf = k->bufs.data[acc->buf];
        buf.name = kn_c_printed(w, "%s, transposed", buf.name);
        see(acc, p, k->bufs.len);
        kn_push(w->a, &k->bufs, buf);
    }
    return k;
}

static const char *tiled_type(const kn_c_writer *w, int i)
{
    return kn_c_transposed_by(kn_bytes(kn_transposed_type(w->ph, &w->ph->how.transposes.data[i])));
}

/* ---- the copies ---- */

/* Between memory and the array of transposed access number i. */
static void put_copy(kn_c_writer *w, int i)
{
    const kn_nest *nest = &w->ph->nest;
    const kn_transpose *t = &w->ph->how.transposes.data[i];
    const kn_access *acc = kn_transposed_access(w->ph, t);
    const int at = number_of(w->ph, t), group = nest->ngroup - 1;
    const char *type = tiled_type(w, i);
    const char *there =
        kn_c_printed(w, "(%s *)call->buf[%d]%s", type, acc->buf, kn_c_origin(w, acc, at, false));
    const char *array = kn_c_printed(w, "(%s *)buf[%d]", type, w->k->bufs.len + i);
    kn_c_block(w);
    kn_c_line(w, "kn_box box = {0};");
    for (int a = group; a < nest->naxes; a++)
        if (acc->kind[a] != KN_STRIDE_ZERO)
            kn_c_line(w, "kn_add_axis(&box, %s, %s[%d], %s[%d]);",
                      a == group         ? "groups"
                      : w->ph->how.split ? "members"
                                         : kn_c_printed(w, "num[%d]", a),
                      t->store ? "num" : "seen", at + 2 + a, t->store ? "seen" : "num", at + 2 + a);
    kn_c_line(w, "kn_copy_%s(&box, %s, %s, %d); /* %s */", type, t->store ? there : array,
              t->store ? array : there, t->store, w->k->bufs.data[acc->buf].name);
    kn_c_close(w);
}

static void put_copies(kn_c_writer *w, bool stores)
{
    for (int i = 0; i < w->ph->how.transposes.len; i++)
        if (w->ph->how.transposes.data[i].store == stores)
            put_copy(w, i);
}

/* For elements of each width that are copied. */
static void put_copiers(kn_c_writer *w)
{
    kn_put(w->t, kn_c_copy);
    for (int bytes = 2; bytes <= 8; bytes *= 2)
        for (int i = 0; i < w->ph->how.transposes.len; i++)
            if (kn_bytes(kn_transposed_type(w->ph, &w->ph->how.transposes.data[i])) == bytes) {
                kn_c_line(w, "KN_COPY_BOX(%s)", kn_c_transposed_by(bytes));
                break;
            }
    kn_put(w->t, "\n");
}

/* ---- the walk ---- */

/* The arrays of a tile, one behind the other, and the strides that are seen: each has a row for each group, or where lanes are
 * groups, for each member. */
static void put_arrays(kn_c_writer *w)
{
    const kn_nest *nest = &w->ph->nest;
    const int group = nest->ngroup - 1, last = nest->naxes - 1;
    const bool cols = w->ph->how.walk == KN_WALK_COLS;
    const int lane = lane_axis(w->ph), row = cols ? last : group;
    kn_c_line(w, "char *at = scratch + ((%d * call->slot + %d * call->row + 63) & ~(i64)63);",
              w->slots, w->rows);
    for (int i = 0; i < w->ph->how.transposes.len; i++) {
        const kn_transpose *t = &w->ph->how.transposes.data[i];
        const kn_access *acc = kn_transposed_access(w->ph, t);
        const int at = number_of(w->ph, t), bytes = kn_bytes(kn_transposed_type(w->ph, t));
        kn_text dense = kn_text_new(w->a);
        kn_c_line(w, "buf[%d] = at;", w->k->bufs.len + i);
        kn_c_line(w, "seen[%d] = kn_tile_row(call->%s, %d);", at + 2 + row,
                  cols ? "tile_groups" : "part", bytes);
        kn_c_line(w, "seen[%d] = 1;", at + 2 + lane);
        kn_c_line(w, "at += call->%s * seen[%d] * %d;", cols ? "members" : "tile_groups",
                  at + 2 + row, bytes);
        if (cols)
            kn_putf(&dense, "seen[%d] * ", at + 2 + row);
        kn_putf(&dense, "num[%d]", last);
        for (int a = last - 1; a >= nest->ngroup; a--) {
            if (acc->kind[a] == KN_STRIDE_ZERO)
                continue;
            kn_c_line(w, "seen[%d] = %s;", at + 2 + a, kn_text_str(&dense));
            kn_putf(&dense, " * num[%d]", a);
        }
    }
}

static bool stores_any(const kn_phase *p)
{
    return p->how.transposes.data[p->how.transposes.len - 1].store;
}

/* The numbers and arrays of the call that rows or columns are given. */
static void put_call(kn_c_writer *w, int bufs)
{
    kn_c_line(w, "const i64 *const num = call->num;");
    kn_c_line(w, "i64 seen[%d]; /* the numbers that are seen */", kn_c_numbers(w->ph, NULL));
    kn_c_line(w, "void *buf[%d];", bufs);
    kn_c_line(w, "kn_c_call copy = *call;");
    kn_c_line(w, "__builtin_memcpy(seen, num, sizeof seen);");
    kn_c_line(w, "__builtin_memcpy(buf, call->buf, %d * sizeof *buf);", w->k->bufs.len);
    kn_c_line(w, "copy.num = seen;");
    kn_c_line(w, "copy.buf = buf;");
    put_arrays(w);
}

/* Work on rows of a tile, or a part of each. */
static void put_rows_of_tile(kn_c_writer *rows, int group)
{
    const char *const name = kn_c_state(rows);
    kn_c_line(rows, "const i64 from = tile / tiles * num[%d] + first;", group);
    if (!rows->ph->how.split) {
        kn_c_line(rows, "%s_work(&copy, from, from + groups, scratch);", name);
        return;
    }
    kn_c_open(rows, "for (i64 g = from; g < from + groups; g++)");
    kn_c_line(rows, "const i64 row = g * call->parts + part;");
    kn_c_line(rows, "%s_work(&copy, row, row + 1, scratch);", name);
    kn_c_close(rows);
}

/* From where the arrays of a tile would have the first group's first member. What all groups share has one row. */
static void put_offsets(kn_c_writer *w, int group)
{
    for (int i = 0; i < w->ph->how.transposes.len; i++) {
        const kn_transpose *t = &w->ph->how.transposes.data[i];
        const int at = number_of(w->ph, t);
        if (kn_transposed_access(w->ph, t)->kind[group] == KN_STRIDE_ZERO)
            kn_c_line(w, "seen[%d] = -start;", at);
        else
            kn_c_line(w, "seen[%d] = -first * seen[%d] - start;", at, at + 2 + group);
    }
}

/* All tiles have a part of their members before any has the next part: a line of memory that two tiles share is in a cache then. */
static void put_tile_of_rows(kn_c_writer *w, kn_c_writer *rows)
{
    const int group = w->ph->nest.ngroup - 1;
    kn_c_line(w, "const i64 tiles = (num[%d] + call->tile_groups - 1) / call->tile_groups;", group);
    kn_c_line(w, "const i64 all = call->groups / KN_SOME(num[%d]) * tiles;", group);
    kn_c_open(w, "for (; unit < end; unit++)");
    kn_c_line(w, "const i64 tile = unit %% all, part = unit / all, start = part * call->part;");
    kn_c_line(w, "const i64 first = tile %% tiles * call->tile_groups;");
    kn_c_line(w, "const i64 groups = KN_MIN(call->tile_groups, num[%d] - first);", group);
    kn_c_put_seek(w, 0, group, "tile / tiles");
    kn_c_line(w, "s->i[%d] = first;", group);
    if (w->ph->how.split) {
        kn_c_line(w, "const i64 members = KN_MIN(call->part, call->members - start);");
        kn_c_line(w, "s->i[%d] = start;", group + 1);
    }
    put_offsets(w, group);
    put_copies(w, false);
    put_rows_of_tile(rows, group);
    put_copies(w, true);
    kn_c_close(w);
}

/* A tile is a unit of the columns, which is of one run of groups. */
static void put_tile_of_columns(kn_c_writer *w, kn_c_writer *cols)
{
    const int group = w->ph->nest.ngroup - 1;
    kn_c_open(w, "for (; unit < end; unit++)");
    kn_c_put_columns_of_unit(w, "call");
    kn_c_put_seek(w, 0, group + 1, "start");
    kn_c_line(w, "const i64 first = s->i[%d], groups = n;", group);
    for (int i = 0; i < w->ph->how.transposes.len; i++)
        kn_c_line(w, "seen[%d] = -first;", number_of(w->ph, &w->ph->how.transposes.data[i]));
    put_copies(w, false);
    kn_c_line(cols, "%s_work(&copy, unit, unit + 1, scratch);", kn_c_state(cols));
    put_copies(w, true);
    kn_c_close(w);
}

void kn_c_put_tiled(kn_c_writer *w)
{
    const bool cols = w->mode == KN_C_TILED_COLS;
    kn_c_writer inner = *w;
    inner.k = tiled_kernel(w);
    inner.ph = &inner.k->phases.data[w->p];
    inner.mode = cols ? KN_C_COLS : w->mode == KN_C_TILED_ROWS ? KN_C_ROWS : KN_C_SHORT;
    if (stores_any(w->ph))
        kn_put(w->t, "#undef KN_STREAMS /* tiles are stored to a cache */\n"
                     "#define KN_STREAMS(c) 0\n\n");
    kn_c_put_walk(&inner);
    w->slots = inner.slots;
    w->rows = inner.rows;
    put_copiers(w);
    kn_c_line(w, "KN_WORK void %s_work(const kn_c_call *call, i64 unit, i64 end, char *scratch)",
              kn_c_state(w));
    kn_c_block(w);
    put_call(w, inner.k->bufs.len);
    kn_c_line(w, "struct { i64 i[%d]; } state = {{0}}, *const s = &state;", w->ph->nest.naxes);
    (cols ? put_tile_of_columns : put_tile_of_rows)(w, &inner);
    kn_c_close(w);
    kn_put(w->t, "\n");
}
