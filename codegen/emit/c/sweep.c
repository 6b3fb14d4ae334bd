/* One loop over the lanes of a block, as text: of rows, which reduce by KN_FOLD_LANES accumulators. */
#include "codegen/emit/c/writer.h"

/* ---- rows ---- */

/* From `from` to n: compilers see that these are less than a vector of the narrowest elements. */
static void put_rest(kn_c_writing *g, int loop)
{
    kn_c_open(g->w, "if (!KN_IS_WHOLE(n, KN_FOLD_LANES) && from < n)");
    kn_c_put_lanes_from(g, loop, "(n & (KN_FOLD_LANES - 1))");
    kn_c_close(g->w);
}

/* A loop that adds up its lanes: KN_FOLD_LANES accumulators each, as the interpreter's folds have. */
static void put_adding_loop(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    kn_c_block(w);
    kn_c_put_accs(g, loop);
    kn_c_line(w, "i64 from = 0;");
    kn_c_open(w, "for (; from <= n - KN_FOLD_LANES; from += KN_FOLD_LANES)");
    kn_c_put_next_run(g);
    kn_c_put_fetches(g, loop);
    kn_c_put_vector_of(g, loop, "KN_FOLD_LANES");
    kn_c_close(w);
    if (!kn_c_strings(g))
        put_rest(g, loop);
    kn_c_join_accs(g, loop);
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
    kn_c_put_fetches(g, loop);
    kn_c_put_vector_of(g, loop, "KN_FOLD_LANES");
    kn_c_close_as(w, "} while ((from += KN_FOLD_LANES) <= n - KN_FOLD_LANES);");
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
        if (!kn_c_reads(g, v, loop) || kn_c_can_guard(g, v))
            continue;
        if (kn_c_is_adjacent(w, v)) {
            kn_c_line(w, "%s rest%d[KN_FOLD_LANES];", type, v);
            kn_c_line(w, "kn_last_%d(rest%d, p%d + n, left);", kn_bytes(kn_c_value_at(g, v)->dtype),
                      v, v);
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
    kn_c_line(w, "const int left = (int)(n & (KN_FOLD_LANES - 1));");
    put_rest_arrays(g, loop);
    w->masked = g->widened = true;
    kn_c_put_widened(g, loop, "rest", NULL);
    kn_c_line(w, "KN_LANES KN_FEW");
    kn_c_open(w, "for (int j = 0; j < KN_FOLD_LANES; j++)");
    kn_c_line(w, "const i64 l = from + j;");
    kn_c_line(w, "const truth in = j < left;");
    g->by_j = true;
    kn_c_put_lane(g, loop);
    g->by_j = false;
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
        kn_c_open(w, whole ? "if (KN_IS_WHOLE(n, KN_FOLD_LANES))" : "else");
        kn_c_put_accs(g, loop);
        put_vectors(g, loop);
        if (!whole)
            put_masked_rest(g, loop);
        kn_c_join_accs(g, loop);
        kn_c_close(w);
    }
}

/* few: there are less than a vector. */
static void put_each_lane(kn_c_writing *g, int loop, bool few)
{
    if (!few)
        kn_c_line(g->w, "KN_LANES");
    kn_c_open(g->w, "for (i64 l = 0; l < n; l++)");
    if (few)
        kn_c_line(g->w, "KN_SCALAR;");
    kn_c_put_lane(g, loop);
    kn_c_close(g->w);
}

/* Bytes are stored by vectors of 32. */
static void put_short_loop(kn_c_writing *g, int loop)
{
    const bool bytes = kn_c_stores_bytes(g, loop);
    if (bytes) {
        kn_c_open(g->w, "if (n >= 2 * KN_FOLD_LANES)");
        kn_c_put_overlapping(g, loop, "2 * KN_FOLD_LANES", false);
        kn_c_close(g->w);
        kn_c_line(g->w, "else");
    }
    kn_c_put_overlapping(g, loop, "KN_FOLD_LANES", true);
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
    if (g->w->mode == KN_C_COLS || g->l.group || kn_c_adds(g, loop))
        return false;
    for (int i = 0; i < p->nest.values.len; i++)
        if ((g->l.way[i] == KN_C_INLINE && g->l.loop[i] == loop) || kn_c_copies(g, i, loop))
            return false;
    for (int s = 0; s < p->nest.stores.len; s++)
        if (kn_c_stores_in(g, s, loop) && !is_copy(g, s))
            return false;
    return true;
}

static void put_copies(kn_c_writing *g, int loop)
{
    for (int s = 0; s < g->w->ph->nest.stores.len; s++) {
        const int v = kn_c_store_at(g, s)->value;
        if (!kn_c_stores_in(g, s, loop))
            continue;
        if (kn_c_streams(g, s, loop)) {
            kn_c_line(g->w, "if (KN_STREAMS(c))");
            kn_c_line(g->w, "    kn_stream(q%d, p%d, (u64)n * sizeof *q%d);", s, v, s);
            kn_c_line(g->w, "else");
        }
        kn_c_line(g->w, "KN_COPY(q%d, p%d, n);", s, v);
    }
}

bool kn_c_is_of_vectors(kn_c_writing *g)
{
    return g->l.loops == 1 && !kn_c_is_empty(g, 0) && !only_copies(g, 0) && !kn_c_is_long(g, 0) &&
           kn_c_can_overlap(g, 0);
}

static void put_cached(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    if (kn_c_adds(g, loop) && w->mode == KN_C_SHORT) {
        put_short_adding_loop(g, loop);
    } else if (kn_c_adds(g, loop)) {
        put_adding_loop(g, loop);
    } else if (g->l.group || w->ordered || kn_c_stores_over_kept(g, loop) ||
               kn_c_is_long(g, loop)) {
        put_each_lane(g, loop, false);
    } else if (w->mode == KN_C_SHORT) {
        put_short_loop(g, loop);
    } else {
        kn_c_open(w, "if (KN_IS_WHOLE(n, KN_FOLD_LANES) || n >= KN_FOLD_LANES)");
        put_short_loop(g, loop);
        kn_c_close(w);
        kn_c_line(w, "else");
        kn_c_block(w);
        put_each_lane(g, loop, w->mode == KN_C_ROWS); /* the last tile of each row may be narrow */
        kn_c_close(w);
    }
}

void kn_c_put_loop(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    if (kn_c_is_empty(g, loop))
        return;
    if (only_copies(g, loop)) {
        g->streams = true;
        put_copies(g, loop);
        g->streams = false;
        return;
    }
    if (w->mode == KN_C_COLS) {
        kn_c_put_loop_of_columns(g, loop);
        return;
    }
    const bool streams = !kn_c_is_long(g, loop) && kn_c_begin_streams(g, loop, "KN_FOLD_LANES");
    if (streams) {
        kn_c_put_overlapping(g, loop, "KN_FOLD_LANES", true);
        kn_c_end_streams(g);
    }
    put_cached(g, loop);
    if (streams)
        kn_c_close(w);
}
