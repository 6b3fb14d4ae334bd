/* One loop over the lanes of a block, as text: of rows, which reduce by KN_FOLD_LANES accumulators, and of columns, which
 * take several members. */
#include <string.h>

#include "codegen/emit/c/writer.h"

enum { KN_MEMBERS = 8 };

/* Can it be read by a masked load, for inactive lanes? Processors have those of contiguous elements of 4 and 8 bytes. */
static bool can_guard(const kn_c_writing *g, int v)
{
    const int bytes = kn_bytes(kn_c_value_at(g, v)->dtype);
    return (bytes == 4 || bytes == 8) && kn_c_is_adjacent(g->w, v);
}

/* Reads value v into a local variable, unless the loop has it already. */
static void want(kn_c_writing *g, int v)
{
    kn_c_writer *w = g->w;
    const char *type = kn_c_type(kn_c_value_at(g, v)->dtype), *name = kn_c_value(w, v);
    if (g->l.way[v] != KN_C_READ || g->loaded[v])
        return;
    if (kn_c_widens_halves(g, v)) {
        kn_c_line(w, "const f32 %s = wide%d[j];", name, v);
    } else if (g->widened && kn_c_widens_bytes(g, v)) {
        kn_c_line(w, "const %s %s = wide%d[j];", kn_c_wide_type(g, v), name, v);
    } else if (w->masked && !can_guard(g, v)) {
        kn_c_line(w, "const %s %s = rest%d[j];", type, name, v);
    } else if (w->masked) {
        kn_c_line(w, "%s %s = 0;", type, name);
        kn_c_line(w, "if (in)");
        kn_c_line(w, "    %s = %s;", name, kn_c_element(g, v));
    } else {
        kn_c_line(w, "const %s %s = %s;", type, name, kn_c_element(g, v));
    }
    g->loaded[v] = true;
}

static bool adds_here(const kn_c_writing *g, int r, int loop)
{
    const kn_phase *p = g->w->ph;
    const kn_red *red = &p->nest.reds.data[r];
    if (g->l.group || red->stage != g->l.stage || kn_c_owner(p, r) != r ||
        !kn_c_is_added(g->w, red))
        return false;
    int v = red->value;
    return loop == (g->l.way[v] == KN_C_CALLED   ? g->l.loop[v] + 1
                    : g->l.way[v] == KN_C_INLINE ? g->l.loop[v]
                                                 : 0);
}

static bool adds(const kn_c_writing *g, int loop)
{
    for (int r = 0; r < g->w->ph->nest.reds.len; r++)
        if (adds_here(g, r, loop))
            return true;
    return false;
}

/* Is v made elsewhere, or read, and wanted in an array? Then the first loop copies it. */
static bool copies(const kn_c_writing *g, int v, int loop)
{
    return loop == 0 && g->l.array[v] && g->l.way[v] <= KN_C_READ;
}

/* Does the loop use value v, which is read? */
bool kn_c_reads(const kn_c_writing *g, int v, int loop)
{
    const kn_phase *p = g->w->ph;
    if (g->l.way[v] != KN_C_READ)
        return false;
    bool uses = copies(g, v, loop);
    for (int i = 0; i < p->nest.values.len; i++)
        for (int k = 0; k < kn_c_value_at(g, i)->nin; k++)
            uses |= g->l.way[i] == KN_C_INLINE && g->l.loop[i] == loop &&
                    kn_c_value_at(g, i)->in[k] == v;
    for (int s = 0; s < p->nest.stores.len; s++)
        uses |= kn_c_stores_in(g, s, loop) && kn_c_store_at(g, s)->kind != KN_STORE_PARTIAL &&
                kn_c_store_at(g, s)->value == v;
    for (int r = 0; r < p->nest.reds.len; r++)
        uses |= adds_here(g, r, loop) && p->nest.reds.data[r].value == v;
    return uses;
}

static bool is_empty(const kn_c_writing *g, int loop)
{
    const kn_phase *p = g->w->ph;
    for (int i = 0; i < p->nest.values.len; i++)
        if ((g->l.way[i] == KN_C_INLINE && g->l.loop[i] == loop) || copies(g, i, loop))
            return false;
    for (int s = 0; s < p->nest.stores.len; s++)
        if (kn_c_stores_in(g, s, loop))
            return false;
    return !adds(g, loop);
}

static void put_value(kn_c_writing *g, int i, int loop)
{
    kn_c_writer *w = g->w;
    const kn_value *v = kn_c_value_at(g, i);
    bool here = g->l.way[i] == KN_C_INLINE && g->l.loop[i] == loop;
    if (copies(g, i, loop) && !g->dry) {
        want(g, i);
        kn_c_line(w, "a%d%s = %s;", i, kn_c_at_lane(g, i), kn_c_operand(g, i, loop));
    }
    if (!here)
        return;
    for (int k = 0; k < v->nin; k++)
        want(g, v->in[k]);
    const int s = g->dry ? -1 : kn_c_narrowed_by(g, i, loop);
    if (s >= 0) {
        kn_c_line(w, "out%d[j] = %s;", s, kn_c_operand(g, v->in[0], loop));
        return;
    }
    kn_c_line(w, "const %s %s = %s;", kn_c_local(v->dtype), kn_c_value(w, i),
              kn_c_expression(g, i, loop));
    if (g->l.array[i] && !g->dry)
        kn_c_line(w, "a%d%s = %s;", i, kn_c_at_lane(g, i), kn_c_value(w, i));
}

const char *kn_c_stored(kn_c_writing *g, int s, int loop)
{
    const kn_store *st = kn_c_store_at(g, s);
    if (st->kind == KN_STORE_PARTIAL)
        return kn_c_printed(g->w,
                            g->w->mode == KN_C_COLS && g->w->one_run ? "s->r%d[l]"
                            : g->w->mode == KN_C_COLS                ? "s->r%d[done + l]"
                                                                     : "s->r%d",
                            st->value);
    return kn_c_operand(g, st->value, loop);
}

static void forget(kn_c_writing *g)
{
    memset(g->loaded, 0, sizeof *g->loaded * (size_t)g->w->ph->nest.values.len);
}

const char *kn_c_store_subscript(kn_c_writing *g, int s, const char *l)
{
    if (g->w->store_copy[s] >= 0)
        return l;
    return kn_c_subscript(g->w, &kn_c_store_at(g, s)->access, kn_c_number_of(g->w->ph, true, s), l);
}

/* Adds the lane's value to the accumulator of reduction r, unless that is done behind the loop. */
static void put_term(kn_c_writing *g, int r, int loop)
{
    kn_c_writer *w = g->w;
    const bool behind = kn_c_widens_terms(g, r);
    kn_put(w->t, behind ? "#if !KN_TERMS\n" : "");
    kn_c_put_into_acc(w, r, kn_c_operand(g, w->ph->nest.reds.data[r].value, loop));
    kn_put(w->t, behind ? "#endif\n" : "");
}

/* What is done for lane `l`. */
static void put_lane(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    const kn_phase *p = w->ph;
    forget(g);
    for (int s = 0; s < p->nest.stores.len; s++) /* reads come before stores */
        if (kn_c_stores_in(g, s, loop) && kn_c_store_at(g, s)->kind != KN_STORE_PARTIAL)
            want(g, kn_c_store_at(g, s)->value);
    for (int i = 0; i < p->nest.values.len; i++)
        put_value(g, i, loop);
    for (int r = 0; r < p->nest.reds.len; r++)
        if (adds_here(g, r, loop)) {
            want(g, p->nest.reds.data[r].value);
            put_term(g, r, loop);
        }
    for (int s = 0; s < p->nest.stores.len; s++)
        if (kn_c_narrows(g, s, loop))
            continue;
        else if (kn_c_stores_in(g, s, loop) && w->masked)
            kn_c_line(w, "last%d[j] = %s;", s, kn_c_stored(g, s, loop));
        else if (kn_c_stores_in(g, s, loop))
            kn_c_line(w, "q%d[%s] = %s;", s, kn_c_store_subscript(g, s, "l"),
                      kn_c_stored(g, s, loop));
    forget(g);
}

/* The value of reduction r at lane `l`, which no lane has computed yet. */
static const char *put_ahead(kn_c_writing *g, int r, int loop)
{
    const int v = g->w->ph->nest.reds.data[r].value;
    bool *need = KN_NEW_ARRAY(g->w->a, bool, v + 1);
    need[v] = true;
    for (int i = v; i >= 0; i--)
        for (int k = 0; k < kn_c_value_at(g, i)->nin && need[i]; k++)
            need[kn_c_value_at(g, i)->in[k]] = true;
    forget(g);
    g->dry = true;
    for (int i = 0; i <= v; i++)
        if (need[i])
            put_value(g, i, loop);
    want(g, v);
    const char *value = kn_c_operand(g, v, loop);
    g->dry = false;
    forget(g);
    return value;
}

static bool shifts(const kn_c_writing *g, int r, int loop)
{
    return adds_here(g, r, loop) && g->w->ph->nest.reds.data[r].op == KN_OP_VAR;
}

/* ---- rows ---- */

/* Lanes from..from + `count`, lane j of which adds to accumulator j. */
static void put_lanes_from(kn_c_writing *g, int loop, const char *count)
{
    kn_c_line(g->w, "KN_LANES KN_FEW");
    kn_c_open(g->w, "for (i64 j = 0; j < %s; j++)", count);
    kn_c_line(g->w, "const i64 l = from + j;");
    if (g->widened)
        kn_c_line(g->w, "(void)l;");
    put_lane(g, loop);
    kn_c_close(g->w);
}

/* Does reduction r of the loop take its terms from memory, behind it? */
static bool sums_terms(const kn_c_writing *g, int r, int loop)
{
    return adds_here(g, r, loop) && kn_c_widens_terms(g, r);
}

/* Adds these up. */
static void put_sums(kn_c_writing *g, int loop, const char *count)
{
    kn_c_writer *w = g->w;
    kn_put(w->t, "#if KN_TERMS\n");
    for (int r = 0; r < w->ph->nest.reds.len; r++)
        if (sums_terms(g, r, loop))
            kn_c_put_terms(g, r);
    kn_c_line(w, "KN_LANES KN_FEW");
    kn_c_open(w, "for (int j = 0; j < %s; j++)", count);
    for (int r = 0; r < w->ph->nest.reds.len; r++)
        if (sums_terms(g, r, loop))
            kn_c_put_into_acc(w, r, kn_c_printed(w, "summed%d[j]", r));
    kn_c_close(w);
    kn_put(w->t, "#endif\n");
}

/* So many lanes, a vector or two: what is converted by vectors of its own is so before and behind. */
static void put_vector_of(kn_c_writing *g, int loop, const char *count)
{
    bool any = false;
    g->widened = true;
    for (int r = 0; r < g->w->ph->nest.reds.len; r++)
        any |= sums_terms(g, r, loop);
    kn_c_put_widened(g, loop, "p", "from");
    put_lanes_from(g, loop, count);
    kn_c_put_narrowed(g, loop, "q", "from");
    if (any)
        put_sums(g, loop, count);
    g->widened = false;
}

/* KN_FOLD_LANES of them. */
static void put_vector(kn_c_writing *g, int loop) { put_vector_of(g, loop, "KN_FOLD_LANES"); }

/* Fetches what later iterations read. */
static void put_fetches(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    for (int v = 0; v < w->ph->nest.values.len && loop == 0; v++)
        if (g->l.way[v] == KN_C_READ && kn_c_is_adjacent(w, v))
            kn_c_line(w, "KN_FETCH(p%d + from);", v);
}

/* What deviations are taken from: the first member, or of f64 the mean of the first (runtime/cpu/forms.h says why). */
static void put_row_shift(kn_c_writing *g, int r, int loop)
{
    kn_c_writer *w = g->w;
    const bool mean = kn_c_value_at(g, w->ph->nest.reds.data[r].value)->dtype == KN_F64;
    kn_c_line(w, "f64 shift%d;", r);
    if (!mean || w->mode != KN_C_SHORT) {
        if (mean)
            kn_c_open(w, "if (n < KN_FOLD_LANES)");
        else
            kn_c_block(w);
        kn_c_line(w, "const i64 l = 0;");
        kn_c_line(w, "shift%d = kn_shift((f64)%s);", r, put_ahead(g, r, loop));
        kn_c_close(w);
    }
    if (!mean)
        return;
    if (w->mode != KN_C_SHORT)
        kn_c_line(w, "else");
    kn_c_block(w);
    kn_c_line(w, "f64 part%d[KN_FOLD_LANES];", r);
    kn_c_line(w, "KN_LANES KN_FEW");
    kn_c_open(w, "for (i64 l = 0; l < KN_FOLD_LANES; l++)");
    kn_c_line(w, "part%d[l] = %s * (1.0 / KN_FOLD_LANES);", r, put_ahead(g, r, loop));
    kn_c_close(w);
    for (int half = KN_FOLD_LANES / 2; half; half /= 2) {
        kn_c_line(w, "KN_FEW");
        kn_c_line(w, "for (int j = 0; j < %d; j++)", half);
        kn_c_line(w, "    part%d[j] += part%d[j + %d];", r, r, half);
    }
    kn_c_line(w, "shift%d = kn_shift(part%d[0]);", r, r);
    kn_c_close(w);
}

/* What the accumulators of a loop begin with. */
static void put_accs(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    for (int r = 0; r < w->ph->nest.reds.len; r++) {
        if (shifts(g, r, loop) && kn_c_by_rows(w))
            put_row_shift(g, r, loop);
        if (adds_here(g, r, loop))
            kn_c_declare_acc(w, r);
    }
}

static void join_accs(kn_c_writing *g, int loop)
{
    for (int r = 0; r < g->w->ph->nest.reds.len; r++)
        if (adds_here(g, r, loop))
            kn_c_join_acc(g->w, r);
}

static void put_rest(kn_c_writing *g, int loop)
{
    kn_c_open(g->w, "if (from < n)");
    put_lanes_from(g, loop, "n - from");
    kn_c_close(g->w);
}

/* A loop that adds up its lanes: KN_FOLD_LANES accumulators each, as the interpreter's folds have. */
static void put_adding_loop(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    kn_c_block(w);
    put_accs(g, loop);
    kn_c_line(w, "i64 from = 0;");
    kn_c_open(w, "for (; from + KN_FOLD_LANES <= n; from += KN_FOLD_LANES)");
    put_fetches(g, loop);
    put_vector(g, loop);
    kn_c_close(w);
    put_rest(g, loop);
    join_accs(g, loop);
    kn_c_close(w);
}

/* ---- short rows ---- */

/* Lanes by whole vectors, of which there is one at least. What takes them has no path around it, and no index chooses an
 * accumulator: so compilers keep those in registers, from the first lane to the result. */
static void put_vectors(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    kn_c_line(w, "i64 from = 0;");
    kn_c_open(w, "do");
    put_fetches(g, loop);
    put_vector(g, loop);
    kn_c_close_as(w, "} while ((from += KN_FOLD_LANES) + KN_FOLD_LANES <= n);");
}

/* Can the lanes that are left be a vector with inactive lanes? Not of complex numbers, which are no vectors. */
static bool can_mask(const kn_c_writing *g)
{
    for (int v = 0; v < g->w->ph->nest.values.len; v++)
        if (g->l.way[v] && kn_is_complex(kn_c_value_at(g, v)->dtype))
            return false;
    return true;
}

/* Lanes that are left of values whose loads have no guard, zeros behind them, and room for what the loop stores. */
static void put_rest_arrays(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    for (int v = 0; v < w->ph->nest.values.len; v++) {
        const char *const type = kn_c_type(kn_c_value_at(g, v)->dtype);
        if (!kn_c_reads(g, v, loop) || can_guard(g, v))
            continue;
        if (kn_c_is_adjacent(w, v)) {
            kn_c_line(w, "%s tail%d[2 * KN_FOLD_LANES];", type, v);
            kn_c_line(w, "KN_TAIL(tail%d, p%d + n);", v, v);
            kn_c_line(w, "const %s *const rest%d = tail%d + KN_FOLD_LANES - left;", type, v, v);
            continue;
        }
        kn_c_line(w, "%s rest%d[KN_FOLD_LANES] = {0};", type, v);
        kn_c_line(w, "for (i64 l = from; l < n; l++)");
        kn_c_line(w, "    rest%d[l - from] = %s;", v, kn_c_element(g, v));
    }
    for (int s = 0; s < w->ph->nest.stores.len; s++)
        if (kn_c_stores_in(g, s, loop))
            kn_c_line(w, "%s last%d[KN_FOLD_LANES];",
                      kn_c_type(w->k->bufs.data[kn_c_store_at(g, s)->access.buf].dtype), s);
}

/* Less than a vector of lanes. */
static void put_masked_lanes(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    kn_c_line(w, "const int left = (int)(n - from);");
    put_rest_arrays(g, loop);
    w->masked = g->widened = true;
    kn_c_put_widened(g, loop, "rest", NULL);
    kn_c_line(w, "KN_LANES KN_FEW");
    kn_c_open(w, "for (int j = 0; j < KN_FOLD_LANES; j++)");
    kn_c_line(w, "const i64 l = from + j;");
    kn_c_line(w, "const truth in = j < left;");
    put_lane(g, loop);
    kn_c_close(w);
    kn_c_put_narrowed(g, loop, "last", NULL);
    w->masked = g->widened = false;
    for (int s = 0; s < w->ph->nest.stores.len; s++)
        if (kn_c_stores_in(g, s, loop)) {
            kn_c_line(w, "for (i64 l = from; l < n; l++)");
            kn_c_line(w, "    q%d[%s] = last%d[l - from];", s, kn_c_store_subscript(g, s, "l"), s);
        }
}

static void put_masked_rest(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    const bool can = can_mask(g);
    if (can) {
        kn_put(w->t, "#if KN_MASKS\n");
        put_masked_lanes(g, loop);
        kn_put(w->t, "#else\n");
    }
    put_rest(g, loop);
    kn_put(w->t, can ? "#endif\n" : "");
}

static void put_short_adding_loop(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    for (int whole = 1; whole >= 0; whole--) {
        kn_c_open(w, whole ? "if (n %% KN_FOLD_LANES == 0)" : "else");
        put_accs(g, loop);
        put_vectors(g, loop);
        if (!whole)
            put_masked_rest(g, loop);
        join_accs(g, loop);
        kn_c_close(w);
    }
}

static bool stores_bytes(const kn_c_writing *g, int loop)
{
    for (int s = 0; s < g->w->ph->nest.stores.len; s++)
        if (kn_c_stores_in(g, s, loop) &&
            kn_bytes(g->w->k->bufs.data[kn_c_store_at(g, s)->access.buf].dtype) == 1)
            return true;
    return false;
}

static void put_two_vectors(kn_c_writing *g, int loop)
{
    put_lanes_from(g, loop, "2 * KN_FOLD_LANES");
}

/* So many lanes at a time. The last ones may be some that were taken before: it does the same to them. */
static void put_overlapping(kn_c_writing *g, int loop, bool twice)
{
    const char *const lanes = twice ? "2 * KN_FOLD_LANES" : "KN_FOLD_LANES";
    void (*const put)(kn_c_writing *, int) = twice ? put_two_vectors : put_vector;
    kn_c_block(g->w);
    kn_c_line(g->w, "i64 from = 0;");
    kn_c_open(g->w, "do");
    put(g, loop);
    kn_c_close_as(g->w, "} while ((from += %s) + %s <= n);", lanes, lanes);
    kn_c_open(g->w, "if (from < n)");
    kn_c_line(g->w, "from = n - %s;", lanes);
    put(g, loop);
    kn_c_close(g->w);
    kn_c_close(g->w);
}

static void put_each_lane(kn_c_writing *g, int loop)
{
    kn_c_line(g->w, "KN_LANES");
    kn_c_open(g->w, "for (i64 l = 0; l < n; l++)");
    put_lane(g, loop);
    kn_c_close(g->w);
}

/* Bytes are stored by vectors of 32. */
static void put_short_loop(kn_c_writing *g, int loop)
{
    const bool bytes = stores_bytes(g, loop);
    if (bytes) {
        kn_c_open(g->w, "if (n >= 2 * KN_FOLD_LANES)");
        put_overlapping(g, loop, true);
        kn_c_close(g->w);
        kn_c_line(g->w, "else");
    }
    put_overlapping(g, loop, false);
}

/* ---- columns ---- */

/* Does it open a loop over `count` members from the first on that is left? One needs none. */
static bool opens_members(kn_c_writing *g, int count)
{
    if (count > 1) {
        kn_c_open(g->w, "for (int k = 0; k < %d; k++)", count);
        kn_c_line(g->w, "const i64 m = first + k;");
    } else if (g->w->members) {
        kn_c_line(g->w, "const i64 m = first;");
    }
    return count > 1;
}

/* What the loop accumulates of a lane. */
static int acc_bytes(const kn_c_writing *g, int loop)
{
    int bytes = 0;
    for (int r = 0; r < g->w->ph->nest.reds.len; r++)
        bytes += adds_here(g, r, loop) ? kn_c_acc_bytes(g->w, r) : 0;
    return bytes;
}

/* Fetches what the next members read of so many lanes, from `lane` on. Processors see the rows of few lanes too late, and
 * many rows at once as no row. */
static void put_member_fetches(kn_c_writing *g, int loop, int count, const char *lane,
                               const char *lanes)
{
    kn_c_writer *w = g->w;
    const int member = w->ph->nest.naxes - 1;
    for (int v = 0; v < w->ph->nest.values.len && loop == 0 && count > 1; v++) {
        const kn_access *acc = kn_c_access(w->ph, v);
        if (g->l.way[v] == KN_C_READ && acc->kind[w->axis] == KN_STRIDE_ONE &&
            acc->kind[member] == KN_STRIDE_PARAM) {
            const int step = kn_c_member_stride(w->ph, false, v);
            if (*lane)
                kn_c_line(w, "if (KN_NEW_LINE(p%d, from))", v);
            kn_c_line(w, "%sKN_FETCH_MEMBERS(p%d%s + (first + %d) * step%d, step%d, %d, %s);",
                      *lane ? "    " : "", v, lane, count, step, step, count, lanes);
        }
    }
}

/* Few lanes at a time, as many as one vector of f32 has. The last vector begins at lanes that were taken before, and keeps
 * nothing of what they add up. */
static void put_vectors_of_members(kn_c_writing *g, int loop, int count)
{
    kn_c_writer *w = g->w;
    kn_c_line(w, "i64 taken = 0, from;");
    kn_c_open(w, "do");
    kn_c_line(w, "from = KN_MIN(taken, n - KN_COLUMN_LANES);");
    kn_c_line(w, "const int again = (int)(taken - from); /* so many lanes were taken before */");
    kn_c_line(w, "(void)again;");
    put_member_fetches(g, loop, count, " + from", "KN_COLUMN_LANES");
    w->vectors = true;
    put_accs(g, loop);
    const bool opened = opens_members(g, count);
    put_vector_of(g, loop, "KN_COLUMN_LANES");
    if (opened)
        kn_c_close(w);
    join_accs(g, loop);
    w->vectors = false;
    kn_c_close_as(w, "} while ((taken = from + KN_COLUMN_LANES) < n);");
}

static void put_lanes_of_members(kn_c_writing *g, int loop, int count, bool unrolled)
{
    kn_c_writer *w = g->w;
    put_member_fetches(g, loop, count, "", "n");
    kn_c_line(w, "KN_LANES");
    kn_c_open(w, "for (i64 l = 0; l < n; l++)");
    put_accs(g, loop);
    if (count > 1 && unrolled)
        kn_c_line(w, "KN_UNROLL");
    const bool opened = opens_members(g, count);
    put_lane(g, loop);
    if (opened)
        kn_c_close(w);
    join_accs(g, loop);
    kn_c_close(w);
}

/* Does the loop sum f32, of lanes that all lie side by side? */
static bool sums_floats(kn_c_writing *g, int loop)
{
    bool any = false;
    for (int v = 0; v < g->w->ph->nest.values.len; v++)
        if (kn_c_reads(g, v, loop) && g->w->lane[v] && !kn_c_is_adjacent(g->w, v))
            return false;
    g->widened = true;
    for (int r = 0; r < g->w->ph->nest.reds.len; r++)
        any |= sums_terms(g, r, loop);
    g->widened = false;
    return any;
}

/* `count` members from the first on that is left. Stores of bytes are no vectors of so few lanes. */
static void put_members(kn_c_writing *g, int loop, int count)
{
    kn_c_writer *w = g->w;
    const bool can = !w->ordered && !kn_c_stores_over_kept(g, loop) && !stores_bytes(g, loop);
    const bool gains = can && kn_c_gains_by_vectors(g, loop, acc_bytes(g, loop));
    if (!gains && !(can && count > 1 && sums_floats(g, loop))) {
        put_lanes_of_members(g, loop, count, true);
        return;
    }
    kn_c_open(w, gains ? "if (n >= KN_COLUMN_LANES)" : "if (KN_TERMS && n >= KN_COLUMN_LANES)");
    put_vectors_of_members(g, loop, count);
    w->indent--;
    kn_c_open(w, "} else");
    put_lanes_of_members(g, loop, count, !gains);
    kn_c_close(w);
}

/* Does the phase merge what an earlier one left for each part of a split? Those are few. */
static bool merges_parts(const kn_c_writer *w)
{
    for (int i = 0; i < w->p; i++)
        for (int s = 0; s < w->k->phases.data[i].nest.stores.len; s++) {
            const kn_store *st = &w->k->phases.data[i].nest.stores.data[s];
            if (st->kind == KN_STORE_PARTIAL && kn_reads_from(w->ph, st->access.buf))
                return true;
        }
    return false;
}

/* How many members a loop takes at once, so that accumulators stay in registers meanwhile. Not where it stores: then it
 * would write, and read, as many rows at places of the same low bits. */
static int at_once(const kn_c_writing *g)
{
    const kn_phase *p = g->w->ph;
    if (merges_parts(g->w))
        return 1;
    for (int s = 0; s < p->nest.stores.len; s++)
        if (g->l.store_loop[s] >= 0)
            return 1;
    for (int i = 0; i < p->nest.values.len; i++) {
        const kn_value *v = kn_c_value_at(g, i);
        if (g->l.way[i] == KN_C_INLINE && v->kind == KN_V_ELEM &&
            kn_c_is_function(v->op, p->nest.values.data[v->in[0]].dtype))
            return 2;
    }
    return KN_MEMBERS;
}

/* The very first member is what deviations are taken from, until there is a mean. */
static void put_shifts(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    for (int r = 0; r < w->ph->nest.reds.len; r++) {
        if (!shifts(g, r, loop))
            continue;
        kn_c_open(w, "if (s->fresh && *(const f64 *)s->total%d == 0)", r);
        if (w->members)
            kn_c_line(w, "const i64 m = 0;");
        kn_c_line(w, "KN_LANES");
        kn_c_open(w, "for (i64 l = 0; l < n; l++)");
        kn_c_line(w, "shifts%d[l] = kn_shift((f64)%s);", r, put_ahead(g, r, loop));
        kn_c_close(w);
        kn_c_close(w);
    }
}

static void put_loop_of_columns(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    put_shifts(g, loop);
    if (!w->members) {
        put_members(g, loop, 1);
        return;
    }
    const int count = at_once(g);
    kn_c_line(w, "i64 first = 0;");
    if (count > 1) {
        kn_c_open(w, "for (; first + %d <= s->members; first += %d)", count, count);
        put_members(g, loop, count);
        kn_c_close(w);
    }
    kn_c_open(w, "for (; first < s->members; first++)");
    put_members(g, loop, 1);
    kn_c_close(w);
}

/* ---- copies ---- */

/* Does store s of the loop only move what lies side by side to where it lies side by side again? */
static bool is_copy(const kn_c_writing *g, int s)
{
    const kn_c_writer *w = g->w;
    const kn_store *st = kn_c_store_at(g, s);
    return st->kind == KN_STORE_ELEMENT && !w->ordered && w->axis >= 0 &&
           g->l.way[st->value] == KN_C_READ &&
           (w->store_copy[s] >= 0 || st->access.kind[w->axis] == KN_STRIDE_ONE) &&
           kn_c_is_adjacent(w, st->value);
}

/* Is that all that the loop does? */
static bool only_copies(const kn_c_writing *g, int loop)
{
    const kn_phase *p = g->w->ph;
    if (g->w->mode == KN_C_COLS || g->l.group || adds(g, loop))
        return false;
    for (int i = 0; i < p->nest.values.len; i++)
        if ((g->l.way[i] == KN_C_INLINE && g->l.loop[i] == loop) || copies(g, i, loop))
            return false;
    for (int s = 0; s < p->nest.stores.len; s++)
        if (kn_c_stores_in(g, s, loop) && !is_copy(g, s))
            return false;
    return true;
}

static void put_copies(kn_c_writing *g, int loop)
{
    for (int s = 0; s < g->w->ph->nest.stores.len; s++)
        if (kn_c_stores_in(g, s, loop))
            kn_c_line(g->w, "KN_COPY(q%d, p%d, n);", s, kn_c_store_at(g, s)->value);
}

/* Has the loop so many operations that writing it twice costs more to compile than its remainder takes? */
static bool is_long(const kn_c_writing *g, int loop)
{
    enum { MOST = 200 };
    int n = 0;
    for (int v = 0; v < g->w->ph->nest.values.len; v++)
        n += g->l.way[v] == KN_C_INLINE && g->l.loop[v] == loop;
    return n > MOST;
}

void kn_c_put_loop(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    if (is_empty(g, loop))
        return;
    if (only_copies(g, loop)) {
        put_copies(g, loop);
    } else if (w->mode == KN_C_COLS) {
        put_loop_of_columns(g, loop);
    } else if (adds(g, loop) && w->mode == KN_C_SHORT) {
        put_short_adding_loop(g, loop);
    } else if (adds(g, loop)) {
        put_adding_loop(g, loop);
    } else if (g->l.group || w->ordered || kn_c_stores_over_kept(g, loop) || is_long(g, loop)) {
        put_each_lane(g, loop);
    } else if (w->mode == KN_C_SHORT) {
        put_short_loop(g, loop);
    } else {
        kn_c_open(w, "if (n >= KN_FOLD_LANES)");
        put_short_loop(g, loop);
        kn_c_close(w);
        kn_c_line(w, "else");
        kn_c_block(w);
        put_each_lane(g, loop);
        kn_c_close(w);
    }
}
