/* A loop over the lanes of columns, as text: over all of them, or a vector at a time, and of several members at once. */
#include "codegen/emit/c/writer.h"

/* COUNTED: as many as the variable `count` says */
enum { KN_MEMBERS = 8, COUNTED = 0 };

/* Does it open a loop over `count` members from the first on that is left? One needs none. */
static bool opens_members(kn_c_writing *g, int count)
{
    if (count == COUNTED) {
        kn_c_open(g->w, "for (i64 m = first; m < first + count; m++)");
        return true;
    }
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
        bytes += kn_c_adds_here(g, r, loop) ? kn_c_acc_bytes(g->w, r) : 0;
    return bytes;
}

/* Fetches what the next members read of so many lanes, from `lane` on, or what some members on does if they are taken one by
 * one. Processors see the rows of few lanes too late, and many rows at once as no row. */
static void put_member_fetches(kn_c_writing *g, int loop, int count, const char *lane,
                               const char *lanes)
{
    kn_c_writer *w = g->w;
    const int member = w->ph->nest.naxes - 1;
    const char *const first = count == COUNTED ? "m"
                              : count == 1     ? "(first + ahead)"
                                               : kn_c_printed(w, "(first + %d)", count);
    for (int v = 0; v < w->ph->nest.values.len && loop == 0; v++) {
        const kn_access *acc = kn_c_access(w->ph, v);
        if (g->l.way[v] == KN_C_READ && acc->kind[w->axis] == KN_STRIDE_ONE &&
            acc->kind[member] == KN_STRIDE_PARAM) {
            const int step = kn_c_member_stride(w->ph, false, v);
            if (w->vectors)
                kn_c_line(w, "if (KN_NEW_LINE(p%d, from))", v);
            if (count == COUNTED)
                kn_c_line(w, "%sfor (i64 m = first + count; m < first + 2 * count; m += %d)",
                          w->vectors ? "    " : "", KN_MEMBERS);
            kn_c_line(w, "%sKN_FETCH_MEMBERS(p%d%s + %s * step%d, step%d, %d, %s);",
                      w->vectors ? "    " : "", v, lane, first, step, step,
                      count == COUNTED ? KN_MEMBERS : count, lanes);
        }
    }
}

/* One member, and how many further on what is fetched is. */
static void open_member(kn_c_writing *g)
{
    opens_members(g, 1);
    if (g->w->members)
        kn_c_line(g->w, "const i64 ahead = KN_MEMBERS_AHEAD(n); (void)ahead;");
}

/* Few lanes at a time, as many as one vector of f32 has. The last vector begins at lanes that were taken before, and keeps
 * nothing of what they add up. */
static void put_vectors_of_members(kn_c_writing *g, int loop, int count)
{
    kn_c_writer *w = g->w;
    if (count == 1)
        open_member(g);
    kn_c_line(w, "i64 taken = 0, from;");
    kn_c_open(w, "do");
    kn_c_line(w, "from = KN_MIN(taken, n - KN_COLUMN_LANES);");
    kn_c_line(w, "/* so many lanes were taken before */");
    kn_c_line(w, "const int again = KN_IS_WHOLE(n, KN_COLUMN_LANES) ? 0 : (int)(taken - from);");
    kn_c_line(w, "(void)again;");
    w->vectors = true;
    put_member_fetches(g, loop, count, " + from", "KN_COLUMN_LANES");
    kn_c_put_accs(g, loop);
    if (count > 1)
        kn_c_line(w, "KN_UNROLL");
    const bool opened = count != 1 && opens_members(g, count);
    kn_c_put_vector_of(g, loop, "KN_COLUMN_LANES");
    if (opened)
        kn_c_close(w);
    kn_c_join_accs(g, loop);
    w->vectors = false;
    kn_c_close_as(w, "} while ((taken = from + KN_COLUMN_LANES) < n);");
}

/* One member, by pieces: what the next one reads of a piece is fetched before, and what goes past the caches is copied behind.
 * So compilers have a loop that only computes. */
static void put_pieces_of_member(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    open_member(g);
    kn_c_open(w, "for (i64 from = 0; from < n; from += KN_PIECE)");
    kn_c_line(w, "const i64 piece = KN_MIN(KN_PIECE, n - from);");
    put_member_fetches(g, loop, 1, " + from", "piece");
    kn_c_put_streamed_room(g, loop, "KN_PIECE");
    kn_c_line(w, "KN_LANES");
    kn_c_open(w, "for (i64 j = 0; j < piece; j++)");
    kn_c_line(w, "const i64 l = from + j;");
    kn_c_put_accs(g, loop);
    kn_c_put_lane(g, loop);
    kn_c_join_accs(g, loop);
    kn_c_close(w);
    kn_c_put_streamed_piece(g, loop, "piece");
    kn_c_close(w);
}

/* few: there are less than a vector of lanes. */
static void put_lanes_of_members(kn_c_writing *g, int loop, int count, bool few)
{
    kn_c_writer *w = g->w;
    if (count != 1)
        put_member_fetches(g, loop, count, "", "n");
    if (!few)
        kn_c_line(w, "KN_LANES");
    kn_c_open(w, "for (i64 l = 0; l < n; l++)");
    if (few)
        kn_c_line(w, "KN_SCALAR;");
    kn_c_put_accs(g, loop);
    if (count > 1 && !few)
        kn_c_line(w, "KN_UNROLL");
    const bool opened = opens_members(g, count);
    kn_c_put_lane(g, loop);
    if (opened)
        kn_c_close(w);
    kn_c_join_accs(g, loop);
    kn_c_close(w);
}

/* What is reduced by no lane: as compilers make vectors of it, which take more lanes at a time the narrower elements are, and by
 * vectors of f32 what these leave. */
static void put_stored_members(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    kn_c_open(w, "if (KN_IS_WHOLE(n, KN_COLUMN_LANES) || n >= KN_COLUMN_LANES)");
    opens_members(g, 1);
    kn_c_line(w, "const i64 whole = n & -KN_WHOLE_LANES(%d);", kn_c_narrowest(g, loop));
    kn_c_line(w, "KN_LANES");
    kn_c_open(w, "for (i64 l = 0; l < whole; l++)");
    kn_c_put_lane(g, loop);
    kn_c_close(w);
    kn_c_open(w, "for (i64 taken = whole; taken < n; taken += KN_COLUMN_LANES)");
    kn_c_line(w, "const i64 from = KN_MIN(taken, n - KN_COLUMN_LANES);");
    kn_c_put_vector_of(g, loop, "KN_COLUMN_LANES");
    kn_c_close(w);
    w->indent--;
    kn_c_open(w, "} else");
    put_lanes_of_members(g, loop, 1, true);
    kn_c_close(w);
}

/* Do all lanes that the loop reads lie side by side? */
static bool reads_adjacent(const kn_c_writing *g, int loop)
{
    for (int v = 0; v < g->w->ph->nest.values.len; v++)
        if (kn_c_reads(g, v, loop) && g->w->lane[v] && !kn_c_is_adjacent(g->w, v))
            return false;
    return true;
}

/* Does it look for extremes of f32? */
static bool takes_extremes(const kn_c_writing *g, int loop)
{
    bool any = false;
    for (int r = 0; r < g->w->ph->nest.reds.len; r++)
        any |= kn_c_adds_here(g, r, loop) && kn_c_is_range(g->w, r);
    return any;
}

/* Does it sum f32 that are made f64? */
static bool sums_floats(kn_c_writing *g, int loop)
{
    bool any = false;
    g->widened = true;
    for (int r = 0; r < g->w->ph->nest.reds.len; r++)
        any |= kn_c_sums_terms(g, r, loop);
    g->widened = false;
    return any;
}

bool kn_c_can_overlap(kn_c_writing *g, int loop)
{
    return !g->w->ordered && !kn_c_stores_over_kept(g, loop) && !kn_c_stores_bytes(g, loop);
}

/* Does it take so few lanes at a time that the members are counted? */
static bool goes_by_vectors(kn_c_writing *g, int loop)
{
    return kn_c_can_overlap(g, loop) && kn_c_gains_by_vectors(g, loop, acc_bytes(g, loop));
}

/* Does the loop add up what it stores, or beside it, one member at a time? */
static bool adds_and_stores(const kn_c_writing *g, int loop)
{
    if (g->w->members && kn_c_adds(g, loop))
        for (int s = 0; s < g->w->ph->nest.stores.len; s++)
            if (kn_c_stores_in(g, s, loop))
                return true;
    return false;
}

static void put_cached_members(kn_c_writing *g, int loop, int count)
{
    kn_c_writer *w = g->w;
    const bool can = kn_c_can_overlap(g, loop), gains = goes_by_vectors(g, loop);
    if (count == 1 && !gains && adds_and_stores(g, loop)) {
        put_pieces_of_member(g, loop);
        return;
    }
    if (can && !gains && !kn_c_adds(g, loop) && !g->l.group && !kn_c_is_long(g, loop)) {
        put_stored_members(g, loop);
        return;
    }
    const bool adjacent = can && count > 1 && reads_adjacent(g, loop),
               always = gains || (adjacent && takes_extremes(g, loop));
    if (!always && !(adjacent && sums_floats(g, loop))) {
        put_lanes_of_members(g, loop, count, false);
        return;
    }
    kn_c_open(w, always ? "if (KN_IS_WHOLE(n, KN_COLUMN_LANES) || n >= KN_COLUMN_LANES)"
                        : "if (KN_TERMS && n >= KN_COLUMN_LANES)");
    put_vectors_of_members(g, loop, count);
    w->indent--;
    kn_c_open(w, "} else");
    put_lanes_of_members(g, loop, count, gains);
    kn_c_close(w);
}

/* `count` members from the first on that is left; what stores takes one at a time: at_once(). */
static void put_members(kn_c_writing *g, int loop, int count)
{
    const bool adds = kn_c_adds(g, loop),
               streams = (adds ? adds_and_stores(g, loop) && !goes_by_vectors(g, loop)
                               : kn_c_can_overlap(g, loop)) &&
                         kn_c_begin_streams(g, loop, "KN_COLUMN_LANES");
    if (streams) {
        if (adds) {
            put_pieces_of_member(g, loop);
        } else {
            opens_members(g, 1);
            kn_c_put_overlapping(g, loop, "KN_COLUMN_LANES", true);
        }
        kn_c_end_streams(g);
    }
    put_cached_members(g, loop, count);
    if (streams)
        kn_c_close(g->w);
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
    for (int i = 0; i < p->nest.values.len; i++)
        if (g->l.way[i] == KN_C_INLINE && kn_c_takes_function(p, i))
            return 2;
    return KN_MEMBERS;
}

/* The very first member is what deviations are taken from, until there is a mean. */
static void put_shifts(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    for (int r = 0; r < w->ph->nest.reds.len; r++) {
        if (!kn_c_shifts(g, r, loop))
            continue;
        kn_c_open(w, "if (s->fresh && ((const f64 *)s->total%d)[3 * s->lanes] == 0)", r);
        if (w->members)
            kn_c_line(w, "const i64 m = 0;");
        kn_c_line(w, "KN_LANES");
        kn_c_open(w, "for (i64 l = 0; l < n; l++)");
        kn_c_line(w, "shifts%d[l] = kn_shift((f64)%s);", r, kn_c_put_ahead(g, r, loop));
        kn_c_close(w);
        kn_c_close(w);
    }
}

/* "n <= 64 && step5 <= 64": do few columns lie close together, so that more members at once leave what they read in the cache?
 * Then accumulators move less often. */
static const char *are_close(const kn_c_writing *g)
{
    const kn_c_writer *w = g->w;
    kn_text t = kn_text_new(w->a);
    kn_put(&t, "n <= 64");
    for (int v = 0; v < w->ph->nest.values.len; v++)
        if (kn_c_reads(g, v, 0) && w->copy[v] < 0 &&
            kn_c_access(w->ph, v)->kind[w->ph->nest.naxes - 1] == KN_STRIDE_PARAM)
            kn_putf(&t, " && step%d <= 64", kn_c_member_stride(w->ph, false, v));
    return kn_text_str(&t);
}

void kn_c_put_loop_of_columns(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    put_shifts(g, loop);
    if (!w->members) {
        put_members(g, loop, 1);
        return;
    }
    const int count = at_once(g);
    kn_c_line(w, "i64 first = 0;");
    if (count > 1 && goes_by_vectors(g, loop)) {
        kn_c_open(w, "for (i64 count; first < s->members; first += count)");
        kn_c_line(w, "count = KN_MIN(s->members - first, %s ? %d : %d);", are_close(g),
                  2 * KN_MEMBERS, KN_MEMBERS);
        put_members(g, loop, COUNTED);
        kn_c_close(w);
        return;
    }
    if (count > 1) {
        kn_c_open(w, "for (; first + %d <= s->members; first += %d)", count, count);
        put_members(g, loop, count);
        kn_c_close(w);
    }
    kn_c_open(w, "for (; first < s->members; first++)");
    put_members(g, loop, 1);
    kn_c_close(w);
}
