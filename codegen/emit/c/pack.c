/* Rows whose blocks have several runs of lanes. A run is too short for the loops of a sweep, and for calls; so what lies in
 * runs is packed into arrays of the block first, a sweep works on the block as a whole, and what it stores is unpacked
 * from arrays in the end. What lies without gaps over all runs, which a call's numbers say, stays where it is. So does
 * everything where runs are whole vectors and a sweep is one loop by vectors: that goes from run to run ("strung"). */
#include "codegen/emit/c/writer.h"

static bool is_stored(const kn_c_writer *w, int s, int stage)
{
    const kn_store *st = &w->ph->nest.stores.data[s];
    return st->kind == KN_STORE_ELEMENT && st->stage == stage;
}

/* Which values the lanes of a sweep read from memory, or from their indices. */
static bool *find_read(kn_c_writer *w, int stage)
{
    const kn_phase *p = w->ph;
    bool *read = KN_NEW_ARRAY(w->a, bool, p->nest.values.len + 1);
    kn_phase_needs(p, stage, read);
    for (int v = 0; v < p->nest.values.len; v++) {
        const kn_value *value = &p->nest.values.data[v];
        read[v] =
            read[v] && kn_has_access(value) && !kn_c_is_group(value) && !kn_c_is_kept(w, v, stage);
    }
    return read;
}

bool kn_c_can_pack(kn_c_writer *w, int stage)
{
    enum { MOST = 60 }; /* bits of s->dense */
    const kn_phase *p = w->ph;
    const bool *read = find_read(w, stage);
    if (w->mode != KN_C_ROWS || w->one_run || w->ordered ||
        p->nest.values.len + p->nest.stores.len > MOST)
        return false;
    for (int v = 0; v < p->nest.values.len; v++)
        if (read[v] && p->nest.values.data[v].kind == KN_V_GATHER)
            return false;
    for (int s = 0; s < p->nest.stores.len; s++)
        if (is_stored(w, s, stage) && kn_c_is_guarded(&p->nest.stores.data[s]))
            return false;
    return true;
}

void kn_c_begin_packed(kn_c_writer *w, int stage)
{
    const kn_phase *p = w->ph;
    const bool *read = find_read(w, stage);
    w->packed = w->whole = true;
    w->first_packed = w->group_arrays;
    for (int v = 0; v < p->nest.values.len; v++)
        if (read[v] && kn_c_varies_by_member(w, kn_c_access(p, v)))
            w->copy[v] = w->group_arrays++;
    for (int s = 0; s < p->nest.stores.len; s++)
        if (is_stored(w, s, stage))
            w->store_copy[s] = w->group_arrays++;
    kn_c_find_lanes(w);
}

void kn_c_end_packed(kn_c_writer *w)
{
    w->packed = w->whole = false;
    w->slots = w->group_arrays > w->slots ? w->group_arrays : w->slots;
    w->group_arrays = w->first_packed;
    for (int v = 0; v < w->ph->nest.values.len; v++)
        w->copy[v] = w->copy[v] >= w->first_packed ? -1 : w->copy[v];
    for (int s = 0; s < w->ph->nest.stores.len; s++)
        w->store_copy[s] = -1;
    kn_c_find_lanes(w);
}

const char *kn_c_packed(kn_c_writer *w, const char *type, int array, const char *dense)
{
    const char *const at = kn_c_printed(w, "(%s *)(s->block + %d * c->slot)", type, array);
    if (w->strung && *dense)
        return dense;
    return *dense
               ? kn_c_printed(w, "s->dense >> %d & 1 ? %s : %s", array - w->first_packed, dense, at)
               : at;
}

/* ---- between runs and arrays ---- */

/* "num[7]", the stride along an axis. */
static const char *stride(kn_c_writer *w, const kn_access *acc, int at, int axis)
{
    return acc->kind[axis] == KN_STRIDE_ZERO  ? "0"
           : acc->kind[axis] == KN_STRIDE_ONE ? "1"
                                              : kn_c_printed(w, "num[%d]", at + 2 + axis);
}

/* Sets the bit of an array that is not needed, for what it would have lies without gaps. */
static void put_dense(kn_c_writer *w, const kn_access *acc, int at, int array)
{
    const int last = w->ph->nest.naxes - 1;
    kn_text t = kn_text_new(w->a);
    if (acc->kind[last] == KN_STRIDE_ZERO)
        return;
    kn_putf(&t, "%s == 1", stride(w, acc, at, last));
    for (int a = last - 1; a >= w->ph->nest.ngroup; a--)
        kn_putf(&t, " && %s == %s * num[%d]", stride(w, acc, at, a), stride(w, acc, at, a + 1),
                a + 1);
    kn_c_line(w, "dense |= (i64)(%s) << %d;", kn_text_str(&t), array - w->first_packed);
}

static void put_dense_function(kn_c_writer *w, int stage)
{
    const kn_phase *p = w->ph;
    kn_c_line(w, "static inline i64 %s_dense%d(const i64 *num)", kn_c_state(w), stage);
    kn_c_block(w);
    kn_c_line(w, "i64 dense = 0;");
    kn_c_line(w, "(void)num;");
    for (int v = 0; v < p->nest.values.len; v++)
        if (w->copy[v] >= 0 && p->nest.values.data[v].kind == KN_V_LOAD)
            put_dense(w, kn_c_access(p, v), kn_c_number_of(p, false, v), w->copy[v]);
    for (int s = 0; s < p->nest.stores.len; s++)
        if (w->store_copy[s] >= 0)
            put_dense(w, kn_c_store_access(p, s), kn_c_number_of(p, true, s), w->store_copy[s]);
    kn_c_line(w, "return dense;");
    kn_c_close(w);
    kn_put(w->t, "\n");
}

/* "u16": elements of so many bytes are moved as these. */
static const char *word_of(int bytes)
{
    return bytes == 1   ? "u8"
           : bytes == 2 ? "u16"
           : bytes == 4 ? "u32"
           : bytes == 8 ? "u64"
                        : "u128";
}

/* ---- runs of whole vectors ---- */

bool kn_c_strings(const kn_c_writing *g) { return g->w->strung && !g->l.group; }

/* May vectors of a sweep that is one loop of them go from run to run: do lanes lie side by side in each run, and are runs along the
 * last axis but one? */
bool kn_c_can_string(kn_c_writing *g)
{
    const kn_c_writer *w = g->w;
    const kn_phase *p = w->ph;
    if (p->nest.naxes - p->nest.ngroup != 2)
        return false;
    for (int v = 0; v < p->nest.values.len; v++)
        if (g->l.way[v] == KN_C_CALLED || kn_c_is_folded(w, &g->l, v) ||
            (w->copy[v] >= 0 && (p->nest.values.data[v].kind != KN_V_LOAD ||
                                 kn_c_access(p, v)->kind[w->axis] != KN_STRIDE_ONE)))
            return false;
    for (int s = 0; s < p->nest.stores.len; s++)
        if (w->store_copy[s] >= 0 && kn_c_store_access(p, s)->kind[w->axis] != KN_STRIDE_ONE)
            return false;
    return true;
}

static void put_gap(kn_c_writer *w, const kn_access *acc, int at, char pointer, int i)
{
    kn_c_line(w, "const i64 gap_%c%d = %s - num[%d];", pointer, i, stride(w, acc, at, w->axis - 1),
              w->axis);
}

void kn_c_put_strides_of_runs(kn_c_writing *g)
{
    kn_c_writer *w = g->w;
    const kn_phase *p = w->ph;
    if (!kn_c_strings(g))
        return;
    kn_c_line(w, "i64 left = num[%d] - s->i[%d]; /* of a run */", w->axis, w->axis);
    for (int v = 0; v < p->nest.values.len; v++)
        if (w->copy[v] >= 0)
            put_gap(w, kn_c_access(p, v), kn_c_number_of(p, false, v), 'p', v);
    for (int s = 0; s < p->nest.stores.len; s++)
        if (w->store_copy[s] >= 0)
            put_gap(w, kn_c_store_access(p, s), kn_c_number_of(p, true, s), 'q', s);
}

void kn_c_put_next_run(kn_c_writing *g)
{
    kn_c_writer *w = g->w;
    if (!kn_c_strings(g))
        return;
    kn_c_open(w, "if (left == 0)");
    kn_c_line(w, "left = num[%d];", w->axis);
    for (int v = 0; v < w->ph->nest.values.len; v++)
        if (w->copy[v] >= 0)
            kn_c_line(w, "p%d += gap_p%d;", v, v);
    for (int s = 0; s < w->ph->nest.stores.len; s++)
        if (w->store_copy[s] >= 0)
            kn_c_line(w, "q%d += gap_q%d;", s, s);
    kn_c_close(w);
    kn_c_line(w, "left -= KN_FOLD_LANES;");
}

/* Defines what copies elements of a type, once in a text. */
static void want_copier(kn_c_writer *w, const char *macro, const char *type)
{
    kn_putf(w->t, "#ifndef %s_%s\n#define %s_%s\n%s(%s)\n#endif\n", macro, type, macro, type, macro,
            type);
}

static void put_copiers(kn_c_writer *w)
{
    const kn_phase *p = w->ph;
    kn_put(w->t, kn_c_runs);
    for (int v = 0; v < p->nest.values.len; v++) {
        const kn_value *value = &p->nest.values.data[v];
        if (w->copy[v] >= 0 && value->kind == KN_V_INDEX)
            want_copier(w, "KN_PACK_INDEX", kn_c_type(value->dtype));
        else if (w->copy[v] >= 0)
            want_copier(w, "KN_PACK", word_of(kn_bytes(value->dtype)));
    }
    for (int s = 0; s < p->nest.stores.len; s++)
        if (w->store_copy[s] >= 0)
            want_copier(w, "KN_UNPACK",
                        word_of(kn_bytes(w->k->bufs.data[kn_c_store_access(p, s)->buf].dtype)));
    kn_put(w->t, "\n");
}

/* The function that copies the lanes of a block from the i-th member on. */
static void put_head(kn_c_writer *w, const char *what, int stage)
{
    const kn_nest *nest = &w->ph->nest;
    const char *name = kn_c_state(w);
    kn_c_line(w, "static void %s_%s%d(const kn_c_call *c, %s *s, i64 i, i64 n)", name, what, stage,
              name);
    kn_c_block(w);
    kn_c_line(w, "const i64 *const num = c->num;");
    for (int a = nest->ngroup; a < nest->naxes; a++)
        kn_c_line(w, "s->i[%d] = 0;", a);
}

/* Copies an array that is needed: `call` gets what it is to be of, the axes of the access, the array, and where member 0 is.
 * when: "" or a condition, with its "if". */
static void put_copy(kn_c_writer *w, const kn_access *acc, int at, int array, const char *when,
                     const char *call)
{
    const kn_nest *nest = &w->ph->nest;
    kn_c_open(w, "if (!(s->dense >> %d & 1))", array - w->first_packed);
    kn_c_line(w, "kn_runs runs;");
    kn_c_line(w, "runs.n = 0;");
    for (int a = nest->ngroup; a < nest->naxes; a++)
        kn_c_line(w, "kn_add_runs(&runs, num[%d], %s);", a, stride(w, acc, at, a));
    kn_c_line(w, "%s%s", when, call);
    kn_c_close(w);
}

static void put_packing(kn_c_writer *w, int stage)
{
    const kn_phase *p = w->ph;
    put_head(w, "pack", stage);
    for (int v = 0; v < p->nest.values.len; v++) {
        const kn_value *value = &p->nest.values.data[v];
        if (w->copy[v] < 0)
            continue;
        const int at = kn_c_number_of(p, false, v), bytes = kn_bytes(value->dtype);
        const bool index = value->kind == KN_V_INDEX;
        const char *type =
            index ? kn_c_type(value->dtype) : kn_c_printed(w, "kn_word_%s", word_of(bytes));
        const char *origin = kn_c_origin(w, value->access, at, false);
        const char *array = kn_c_packed(w, type, w->copy[v], "");
        put_copy(
            w, value->access, at, w->copy[v],
            "if (n > s->packed || !kn_repeats(&runs, i - s->packed_at)) ",
            index
                ? kn_c_printed(w, "kn_pack_index_%s(&runs, %s, 0%s, i, n);", type, array, origin)
                : kn_c_printed(w, "kn_pack_%s(&runs, %s, (const %s *)c->buf[%d]%s, i, n); /* %s */",
                               word_of(bytes), array, type, value->access->buf, origin,
                               w->k->bufs.data[value->access->buf].name));
    }
    kn_c_line(w, "s->packed_at = i;");
    kn_c_line(w, "s->packed = n;");
    kn_c_close(w);
    kn_put(w->t, "\n");
}

static void put_unpacking(kn_c_writer *w, int stage)
{
    const kn_phase *p = w->ph;
    put_head(w, "unpack", stage);
    for (int s = 0; s < p->nest.stores.len; s++) {
        const kn_access *acc = kn_c_store_access(p, s);
        if (w->store_copy[s] < 0)
            continue;
        const int at = kn_c_number_of(p, true, s);
        const kn_buf *buf = &w->k->bufs.data[acc->buf];
        const char *word = word_of(kn_bytes(buf->dtype)),
                   *type = kn_c_printed(w, "kn_word_%s", word);
        put_copy(w, acc, at, w->store_copy[s], "",
                 kn_c_printed(w, "kn_unpack_%s(&runs, %s, (%s *)c->buf[%d]%s, i, n); /* %s */",
                              word, kn_c_packed(w, type, w->store_copy[s], ""), type, acc->buf,
                              kn_c_origin(w, acc, at, false), buf->name));
    }
    kn_c_close(w);
    kn_put(w->t, "\n");
}

/* Bits of the arrays of values, or of stores. */
static uint64_t bits_of(const kn_c_writer *w, const int *arrays, int n)
{
    uint64_t bits = 0;
    for (int i = 0; i < n; i++)
        bits |= arrays[i] < 0 ? 0 : (uint64_t)1 << (arrays[i] - w->first_packed);
    return bits;
}

void kn_c_put_packing(kn_c_writer *w, int stage)
{
    w->packed_in[stage] = bits_of(w, w->copy, w->ph->nest.values.len);
    w->packed_out[stage] = bits_of(w, w->store_copy, w->ph->nest.stores.len);
    put_dense_function(w, stage);
    put_copiers(w);
    if (w->packed_in[stage])
        put_packing(w, stage);
    if (w->packed_out[stage])
        put_unpacking(w, stage);
}

void kn_c_put_packed_block(kn_c_writer *w, int stage)
{
    const kn_phase *p = w->ph;
    const char *name = kn_c_state(w);
    const uint64_t in = w->packed_in[stage], out = w->packed_out[stage];
    kn_c_line(w, "s->dense = %s_dense%d(num);", name, stage);
    if (w->strings[stage]) {
        kn_c_open(w, "if (~s->dense & 0x%llx && KN_IS_WHOLE(num[%d] | i | stop, KN_FOLD_LANES))",
                  (unsigned long long)(in | out), w->axis);
        kn_c_put_seek(w, p->nest.ngroup, p->nest.naxes, "i");
        kn_c_line(w, "%s_strung%d(c, s, stop - i, 0);", name, stage);
        kn_c_line(w, "continue;");
        kn_c_close(w);
    }
    if (in) {
        kn_c_line(w, "if (~s->dense & 0x%llx)", (unsigned long long)in);
        kn_c_line(w, "    %s_pack%d(c, s, i, stop - i);", name, stage);
    }
    kn_c_put_seek(w, p->nest.ngroup, p->nest.naxes, "i");
    kn_c_line(w, "%s_packed%d(c, s, stop - i, 0);", name, stage);
    if (out) {
        kn_c_line(w, "if (~s->dense & 0x%llx)", (unsigned long long)out);
        kn_c_line(w, "    %s_unpack%d(c, s, i, stop - i);", name, stage);
    }
}
