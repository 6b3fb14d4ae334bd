/* What loops over a few lanes convert before and behind them, by vectors of their own: bytes to integers of 4, 16-bit
 * floats to f32 and back, f32 to integers of 1 and 2 bytes, and f32 that are summed to f64. gcc vectorises a loop of so
 * many lanes by vectors that its narrowest elements fill. */
#include "codegen/emit/c/writer.h"

bool kn_c_is_apart(const kn_c_writing *g, int v)
{
    return g->w->copy[v] < 0 && kn_c_access(g->w->ph, v)->kind[g->w->axis] == KN_STRIDE_PARAM;
}

/* Is it of bytes? gcc vectorises a loop of 16 lanes that touches a byte by vectors of 16 bytes, half a register for f32 with
 * AVX2, and not at all with AVX-512 where bytes are apart; so they are widened to 32 bits before. */
bool kn_c_widens_bytes(const kn_c_writing *g, int v)
{
    return kn_bytes(kn_c_value_at(g, v)->dtype) == 1 &&
           (kn_c_is_adjacent(g->w, v) || kn_c_is_apart(g, v));
}

/* Is it of 4 bytes each, and apart? Compilers take such elements one by one, every second one too. */
bool kn_c_collects(const kn_c_writing *g, int v)
{
    const kn_dtype t = kn_c_value_at(g, v)->dtype;
    return g->seconds && g->l.way[v] == KN_C_READ && kn_c_is_apart(g, v) &&
           (t == KN_F32 || t == KN_I32 || t == KN_U32);
}

const char *kn_c_wide_type(const kn_c_writing *g, int v)
{
    return kn_c_value_at(g, v)->dtype == KN_I8 ? "i32" : "u32";
}

/* Is v a conversion of a 16-bit float to f32; or one of f32 to elements of 1 or 2 bytes? */
static bool is_cast(const kn_c_writing *g, int v, bool narrows)
{
    const kn_value *value = kn_c_value_at(g, v);
    if (value->kind != KN_V_ELEM || value->op != KN_OP_CAST)
        return false;
    const kn_dtype from = kn_c_value_at(g, value->in[0])->dtype, to = value->dtype;
    if (!narrows)
        return kn_is_half(from) && to == KN_F32;
    return from == KN_F32 && to != KN_BOOL && kn_bytes(to) <= 2;
}

/* Does a reduction or a store other than `but` (-1: any) take value v as it is? */
static bool is_taken(const kn_c_writing *g, int v, int but)
{
    const kn_phase *p = g->w->ph;
    for (int r = 0; r < p->nest.reds.len; r++)
        if (p->nest.reds.data[r].value == v)
            return true;
    for (int s = 0; s < p->nest.stores.len; s++)
        if (s != but && p->nest.stores.data[s].kind != KN_STORE_PARTIAL &&
            p->nest.stores.data[s].value == v)
            return true;
    return false;
}

const char *kn_c_if_seconds(kn_c_writing *g, int loop)
{
    kn_text t = kn_text_new(g->w->a);
    const bool seconds = g->seconds;
    g->seconds = true;
    for (int v = 0; v < g->w->ph->nest.values.len; v++)
        if (kn_c_reads(g, v, loop) && kn_c_collects(g, v))
            kn_putf(&t, "%snum[%d] == 2", t.len ? " && " : "",
                    kn_c_number_of(g->w->ph, false, v) + 2 + g->w->axis);
    g->seconds = seconds;
    return t.len ? kn_text_str(&t) : NULL;
}

/* Is it of 16-bit floats that only become f32? Those are converted before, too; every second element is half of what a vector
 * has of 4 bytes each, which a compiler does not see. */
bool kn_c_widens_halves(const kn_c_writing *g, int v)
{
    if (!g->widened || g->l.way[v] != KN_C_READ || !kn_is_half(kn_c_value_at(g, v)->dtype) ||
        !(kn_c_is_adjacent(g->w, v) || kn_c_is_apart(g, v)) || g->l.array[v] || is_taken(g, v, -1))
        return false;
    for (int i = 0; i < g->w->ph->nest.values.len; i++)
        for (int k = 0; k < kn_c_value_at(g, i)->nin; k++)
            if (kn_c_value_at(g, i)->in[k] == v && g->l.way[i] && !is_cast(g, i, false))
                return false;
    return true;
}

/* Is all that becomes of value v, a 16-bit float or an integer of at most 16 bits, that store s of the loop writes it to
 * where it lies side by side? Then the f32 that it comes from is converted behind the loop. */
bool kn_c_narrows(const kn_c_writing *g, int s, int loop)
{
    const kn_c_writer *w = g->w;
    const kn_store *st = kn_c_store_at(g, s);
    if (!g->widened || !kn_c_stores_in(g, s, loop) || st->kind != KN_STORE_ELEMENT ||
        !is_cast(g, st->value, true) || g->l.array[st->value] ||
        g->l.way[st->value] != KN_C_INLINE || g->l.loop[st->value] != loop ||
        !(w->store_copy[s] >= 0 || st->access.kind[w->axis] == KN_STRIDE_ONE))
        return false;
    for (int i = 0; i < w->ph->nest.values.len; i++)
        for (int k = 0; k < kn_c_value_at(g, i)->nin; k++)
            if (kn_c_value_at(g, i)->in[k] == st->value && g->l.way[i])
                return false;
    return !is_taken(g, st->value, s);
}

bool kn_c_stores_bytes(kn_c_writing *g, int loop)
{
    const bool widened = g->widened;
    bool any = false;
    g->widened = true;
    for (int s = 0; s < g->w->ph->nest.stores.len; s++)
        any |= kn_c_stores_in(g, s, loop) && !kn_c_narrows(g, s, loop) &&
               kn_bytes(g->w->k->bufs.data[kn_c_store_at(g, s)->access.buf].dtype) == 1;
    g->widened = widened;
    return any;
}

/* The store that narrows value v, if there is one; else -1. */
int kn_c_narrowed_by(const kn_c_writing *g, int v, int loop)
{
    for (int s = 0; s < g->w->ph->nest.stores.len; s++)
        if (kn_c_store_at(g, s)->value == v && kn_c_narrows(g, s, loop))
            return s;
    return -1;
}

/* Bytes of the narrowest elements that the loop converts if it goes by vectors, 0 if none; does it store integers, or are there
 * any f16, or any with gaps? */
static int narrowest(kn_c_writing *g, int loop, bool *slow)
{
    const bool widened = g->widened;
    int bytes = 0;
    g->widened = true;
    *slow = false;
    for (int s = 0; s < g->w->ph->nest.stores.len; s++)
        if (kn_c_narrows(g, s, loop)) {
            bytes = 2;
            *slow |= kn_c_value_at(g, kn_c_store_at(g, s)->value)->dtype != KN_BF16;
        }
    for (int v = 0; v < g->w->ph->nest.values.len; v++) {
        const kn_dtype t = kn_c_value_at(g, v)->dtype;
        if (!kn_c_reads(g, v, loop) || !(kn_c_widens_halves(g, v) || kn_c_widens_bytes(g, v)))
            continue;
        bytes = bytes && bytes < kn_bytes(t) ? bytes : kn_bytes(t);
        *slow |= t == KN_F16 || kn_c_is_apart(g, v);
    }
    g->widened = widened;
    return bytes;
}

int kn_c_narrowest(kn_c_writing *g, int loop)
{
    bool slow;
    const int bytes = narrowest(g, loop, &slow);
    return bytes ? bytes : 4;
}

bool kn_c_gains_by_vectors(kn_c_writing *g, int loop, int accumulated)
{
    bool slow;
    const int bytes = narrowest(g, loop, &slow);
    return bytes > 0 && (slow || accumulated > 8 * bytes);
}

/* Only variances, which accumulate in f64, and only of what is read: what is computed would go to memory and back for it. */
bool kn_c_widens_terms(const kn_c_writing *g, int r)
{
    const kn_red *red = &g->w->ph->nest.reds.data[r];
    return g->widened && !g->w->masked && kn_c_value_at(g, red->value)->dtype == KN_F32 &&
           g->l.way[red->value] == KN_C_READ && kn_c_is_adjacent(g->w, red->value) &&
           red->op == KN_OP_VAR;
}

static const char *lanes_of(const kn_c_writing *g)
{
    return g->w->mode == KN_C_COLS ? "KN_COLUMN_LANES" : "KN_FOLD_LANES";
}

/* " + from + m * step5": where lane `first` is; "" of what begins with it. */
static const char *read_from(kn_c_writing *g, int v, const char *first)
{
    kn_c_writer *w = g->w;
    if (!first)
        return "";
    if (w->copy[v] >= 0)
        return kn_c_printed(w, " + %s", first);
    return kn_c_printed(
        w, " + %s",
        kn_c_subscript(w, kn_c_access(w->ph, v), kn_c_number_of(w->ph, false, v), first));
}

static const char *written_from(kn_c_writing *g, int s, const char *first)
{
    return first ? kn_c_printed(g->w, " + %s", kn_c_store_subscript(g, s, first)) : "";
}

/* "num[7]", the stride of lanes of v. */
static const char *stride_of(kn_c_writing *g, int v)
{
    return kn_c_printed(g->w, "num[%d]", kn_c_number_of(g->w->ph, false, v) + 2 + g->w->axis);
}

static void put_widened_halves(kn_c_writing *g, int v, const char *what, const char *first)
{
    kn_c_writer *w = g->w;
    const char *type = kn_c_type(kn_c_value_at(g, v)->dtype), *at = read_from(g, v, first);
    if (first && kn_c_is_apart(g, v))
        kn_c_line(w, "kn_widen_%s_by(wide%d, %s%d%s, %s, %s > 0, %s);", type, v, what, v, at,
                  stride_of(g, v), first, lanes_of(g));
    else
        kn_c_line(w, "kn_widen_%s(wide%d, %s%d%s, %s);", type, v, what, v, at, lanes_of(g));
}

static void put_widened_bytes(kn_c_writing *g, int v, const char *what, const char *first)
{
    kn_c_writer *w = g->w;
    const char *type = kn_c_wide_type(g, v), *at = read_from(g, v, first);
    kn_c_line(w, "%s wide%d[%s];", type, v, lanes_of(g));
    if (first && kn_c_is_apart(g, v))
        kn_c_line(w, "kn_%s_from_bytes_by(wide%d, %s%d%s, %s, %s);", type, v, what, v, at,
                  stride_of(g, v), lanes_of(g));
    else
        kn_c_line(w, "kn_%s_from_bytes(wide%d, %s%d%s, %s);", type, v, what, v, at, lanes_of(g));
}

/* The bytes that the loop reads from `what`, as integers of 4, 16-bit floats as f32, and what is apart side by side; and room for
 * what it narrows. */
void kn_c_put_widened(kn_c_writing *g, int loop, const char *what, const char *first)
{
    const char *const lanes = lanes_of(g);
    for (int s = 0; s < g->w->ph->nest.stores.len; s++)
        if (kn_c_narrows(g, s, loop))
            kn_c_line(g->w, "f32 out%d[%s];", s, lanes);
    for (int v = 0; v < g->w->ph->nest.values.len; v++) {
        if (kn_c_reads(g, v, loop) && kn_c_widens_halves(g, v)) {
            kn_c_line(g->w, "f32 wide%d[%s];", v, lanes);
            put_widened_halves(g, v, what, first);
        }
        if (kn_c_reads(g, v, loop) && kn_c_widens_bytes(g, v))
            put_widened_bytes(g, v, what, first);
        if (kn_c_reads(g, v, loop) && kn_c_collects(g, v)) {
            const char *type = kn_c_type(kn_c_value_at(g, v)->dtype);
            kn_c_line(g->w, "%s wide%d[%s];", type, v, lanes);
            kn_c_line(g->w, "kn_seconds_%s(wide%d, %s%d%s, %s);", type, v, what, v,
                      read_from(g, v, first), lanes);
        }
    }
}

void kn_c_put_narrowed(kn_c_writing *g, int loop, const char *to, const char *first)
{
    const char *const lanes = lanes_of(g);
    for (int s = 0; s < g->w->ph->nest.stores.len; s++) {
        const bool streams = kn_c_streams(g, s, loop);
        if (kn_c_narrows(g, s, loop))
            kn_c_line(g->w, "kn_narrow_%s(%s%d%s, out%d, %s);",
                      kn_c_type(kn_c_value_at(g, kn_c_store_at(g, s)->value)->dtype),
                      streams ? "last" : to, s, streams ? "" : written_from(g, s, first), s, lanes);
    }
}

void kn_c_put_terms(kn_c_writing *g, int r)
{
    const int v = g->w->ph->nest.reds.data[r].value;
    const char *const lanes = lanes_of(g);
    kn_c_line(g->w, "f64 summed%d[%s];", r, lanes);
    kn_c_line(g->w, "kn_f64s_from_f32s(summed%d, p%d%s, %s);", r, v, read_from(g, v, "from"),
              lanes);
}
