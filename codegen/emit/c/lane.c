/* What a loop does for one of its lanes or a vector of them, as text, what its accumulators begin with, and which of the values,
 * reductions and stores of a sweep it has. */
#include <string.h>

#include "codegen/emit/c/writer.h"

/* Can it be read by a masked load, for inactive lanes? Processors have those of contiguous elements of 4 and 8 bytes. */
bool kn_c_can_guard(const kn_c_writing *g, int v)
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
    } else if (kn_c_collects(g, v)) {
        kn_c_line(w, "const %s %s = wide%d[j];", type, name, v);
    } else if (w->masked && !kn_c_can_guard(g, v)) {
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

static void put_value(kn_c_writing *g, int i, int loop)
{
    kn_c_writer *w = g->w;
    const kn_value *v = kn_c_value_at(g, i);
    bool here = g->l.way[i] == KN_C_INLINE && g->l.loop[i] == loop;
    if (kn_c_copies(g, i, loop) && !g->dry) {
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
    if (v->kind == KN_V_INDEX) /* where it is compared the lane is instead */
        kn_c_line(w, "(void)%s;", kn_c_value(w, i));
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
void kn_c_put_lane(kn_c_writing *g, int loop)
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
        if (kn_c_adds_here(g, r, loop)) {
            want(g, p->nest.reds.data[r].value);
            put_term(g, r, loop);
        }
    for (int s = 0; s < p->nest.stores.len; s++)
        if (kn_c_narrows(g, s, loop))
            continue;
        else if (kn_c_stores_in(g, s, loop) && (w->masked || kn_c_streams(g, s, loop)))
            kn_c_line(w, "last%d[j] = %s;", s, kn_c_stored(g, s, loop));
        else if (kn_c_stores_in(g, s, loop))
            kn_c_line(w, "q%d[%s] = %s;", s, kn_c_store_subscript(g, s, "l"),
                      kn_c_stored(g, s, loop));
    forget(g);
}

/* The value of reduction r at lane `l`, which no lane has computed yet. */
const char *kn_c_put_ahead(kn_c_writing *g, int r, int loop)
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

/* ---- a vector ---- */

/* Lanes from..from + `count`, lane j of which adds to accumulator j. */
void kn_c_put_lanes_from(kn_c_writing *g, int loop, const char *count)
{
    kn_c_line(g->w, "KN_LANES KN_FEW");
    kn_c_open(g->w, "for (i64 j = 0; j < %s; j++)", count);
    kn_c_line(g->w, "const i64 l = from + j;");
    if (g->widened)
        kn_c_line(g->w, "(void)l;");
    g->by_j = true;
    kn_c_put_lane(g, loop);
    g->by_j = false;
    kn_c_close(g->w);
}

/* Does reduction r of the loop take its terms from memory, behind it? */
bool kn_c_sums_terms(const kn_c_writing *g, int r, int loop)
{
    return kn_c_adds_here(g, r, loop) && kn_c_widens_terms(g, r);
}

/* Adds these up. */
static void put_sums(kn_c_writing *g, int loop, const char *count)
{
    kn_c_writer *w = g->w;
    kn_put(w->t, "#if KN_TERMS\n");
    for (int r = 0; r < w->ph->nest.reds.len; r++)
        if (kn_c_sums_terms(g, r, loop))
            kn_c_put_terms(g, r);
    kn_c_line(w, "KN_LANES KN_FEW");
    kn_c_open(w, "for (int j = 0; j < %s; j++)", count);
    for (int r = 0; r < w->ph->nest.reds.len; r++)
        if (kn_c_sums_terms(g, r, loop))
            kn_c_put_into_acc(w, r, kn_c_printed(w, "summed%d[j]", r));
    kn_c_close(w);
    kn_put(w->t, "#endif\n");
}

static void put_vector(kn_c_writing *g, int loop, const char *count)
{
    bool any = false;
    g->widened = true;
    for (int r = 0; r < g->w->ph->nest.reds.len; r++)
        any |= kn_c_sums_terms(g, r, loop);
    kn_c_put_widened(g, loop, "p", "from");
    kn_c_put_streamed_room(g, loop, count);
    kn_c_put_lanes_from(g, loop, count);
    kn_c_put_narrowed(g, loop, "q", "from");
    kn_c_put_streamed(g, loop);
    if (any)
        put_sums(g, loop, count);
    g->widened = false;
}

/* So many lanes, a vector or two: what is converted by vectors of its own is so before and behind. */
void kn_c_put_vector_of(kn_c_writing *g, int loop, const char *count)
{
    const char *const seconds = kn_c_if_seconds(g, loop);
    if (!seconds) {
        put_vector(g, loop, count);
        return;
    }
    kn_c_open(g->w, "if (%s)", seconds);
    g->seconds = true;
    put_vector(g, loop, count);
    g->seconds = false;
    kn_c_close(g->w);
    kn_c_line(g->w, "else");
    kn_c_block(g->w);
    put_vector(g, loop, count);
    kn_c_close(g->w);
}

/* By products for quotients, and by divisions if that was wrong. */
static void put_quick_vector(kn_c_writing *g, int loop, const char *lanes)
{
    kn_c_writer *w = g->w;
    kn_put(w->t, "#if KN_FUSED\n");
    kn_c_line(w, "i64 odd = 0;");
    for (int i = 0; i < w->ph->nest.values.len; i++)
        if (kn_c_divides(g, i, KN_F64) && g->l.loop[i] == loop)
            kn_c_line(w, "odd |= by%d.odd;", kn_c_value_at(g, i)->in[1]);
    kn_c_open(w, "if (!odd)");
    g->quick = true;
    kn_c_put_vector_of(g, loop, lanes);
    g->quick = false;
    kn_c_close(w);
    kn_c_line(w, "if (odd)");
    kn_put(w->t, "#endif\n");
    kn_c_block(w);
    kn_c_put_vector_of(g, loop, lanes);
    kn_c_close(w);
}

static void put_lanes(kn_c_writing *g, int loop, const char *lanes, bool converts)
{
    if (!converts)
        kn_c_put_lanes_from(g, loop, lanes);
    else if (kn_c_can_be_quick(g, loop))
        put_quick_vector(g, loop, lanes);
    else
        kn_c_put_vector_of(g, loop, lanes);
}

/* Past the caches: in one loop, for its stores find out by themselves whether they are aligned. */
static void put_streaming(kn_c_writing *g, int loop, int s, const char *lanes)
{
    kn_c_writer *w = g->w;
    kn_c_put_lines(g, loop, lanes);
    kn_c_line(w, "const i64 second = KN_SECOND(q%d + %s, %s);", s,
              kn_c_store_subscript(g, s, "from"), lanes);
    kn_c_open(w, "for (;;)");
    kn_c_put_fetches_of_runs(g, loop);
    put_lanes(g, loop, lanes, true);
    kn_c_line(w, "if (from == n - %s)", lanes);
    kn_c_line(w, "    break;");
    kn_c_line(w, "from = KN_MIN(from == 0 ? second : from + %s, n - %s);", lanes, lanes);
    kn_c_close(w);
}

void kn_c_put_overlapping(kn_c_writing *g, int loop, const char *lanes, bool converts)
{
    kn_c_writer *w = g->w;
    const int s = kn_c_first_streamed(g, loop);
    kn_c_block(w);
    kn_c_line(w, "i64 from = 0;");
    if (s >= 0) {
        put_streaming(g, loop, s, lanes);
    } else {
        kn_c_open(w, "do");
        kn_c_open(w, "do");
        kn_c_put_next_run(g);
        kn_c_put_fetches_of_runs(g, loop);
        put_lanes(g, loop, lanes, converts);
        kn_c_close_as(w, "} while ((from += %s) <= n - %s);", lanes, lanes);
        kn_c_close_as(w, "} while (!KN_IS_WHOLE(n, %s) && from < n && (from = n - %s) >= 0);",
                      lanes, lanes);
    }
    kn_c_close(w);
}

/* ---- accumulators ---- */

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
        kn_c_line(w, "shift%d = kn_shift((f64)%s);", r, kn_c_put_ahead(g, r, loop));
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
    kn_c_line(w, "part%d[l] = %s * (1.0 / KN_FOLD_LANES);", r, kn_c_put_ahead(g, r, loop));
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
void kn_c_put_accs(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    for (int r = 0; r < w->ph->nest.reds.len; r++) {
        if (kn_c_shifts(g, r, loop) && kn_c_by_rows(w))
            put_row_shift(g, r, loop);
        if (kn_c_adds_here(g, r, loop))
            kn_c_declare_acc(w, r);
    }
}

void kn_c_join_accs(kn_c_writing *g, int loop)
{
    for (int r = 0; r < g->w->ph->nest.reds.len; r++)
        if (kn_c_adds_here(g, r, loop))
            kn_c_join_acc(g->w, r);
}
