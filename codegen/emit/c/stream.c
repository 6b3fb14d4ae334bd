/* Stores that go past the caches (non-temporal). A line of memory that is written is read first otherwise, a third of all that a
 * copy moves; and what is written where arrays are larger than the caches is gone before anybody reads it. So calls that move
 * enough bytes (kn_c_call.stream) store whole vectors so, where those are aligned: loops put a vector's lanes into an array of
 * its own first, which compilers keep in a register. Not for short runs that are no whole lines: a line of which a part is
 * stored so and a part not goes to memory twice, and processors fetch lines beside those that are written otherwise. */
#include "codegen/emit/c/writer.h"

static bool is_read_by_kernel(const kn_c_writer *w, int buf)
{
    for (int i = 0; i < w->k->phases.len; i++)
        if (kn_reads_from(&w->k->phases.data[i], buf))
            return true;
    return false;
}

/* Is a value kept where it writes? */
static bool is_kept_over(const kn_c_writer *w, int s)
{
    for (int v = 0; v < w->ph->nest.values.len; v++)
        if (w->over[v] == s)
            return true;
    return false;
}

/* Does each member take a function, in one of several sweeps? Then memory waits for arithmetic: the caches take what is written
 * meanwhile, and rows that are stored in their last sweep only are slower past them. */
static bool is_arithmetic(const kn_phase *p)
{
    for (int v = 0; v < p->nest.values.len && p->nest.nsweeps > 1; v++) {
        const kn_value *value = &p->nest.values.data[v];
        if (value->kind == KN_V_ELEM && !kn_c_is_group(value) &&
            (kn_c_is_called(p, v) || kn_c_takes_function(p, v)))
            return true;
    }
    return false;
}

bool kn_c_can_stream(const kn_c_writer *w, int s)
{
    const kn_store *st = &w->ph->nest.stores.data[s];
    return !w->ordered && !is_arithmetic(w->ph) && w->axis >= 0 && st->kind == KN_STORE_ELEMENT &&
           !st->once && st->access.kind[w->axis] == KN_STRIDE_ONE &&
           !is_read_by_kernel(w, st->access.buf) && (w->mode == KN_C_ROWS || !is_kept_over(w, s));
}

bool kn_c_streams(const kn_c_writing *g, int s, int loop)
{
    const kn_c_writer *w = g->w;
    return g->streams && !g->l.group && !w->packed && w->store_copy[s] < 0 &&
           kn_c_stores_in(g, s, loop) && kn_c_can_stream(w, s);
}

int kn_c_first_streamed(const kn_c_writing *g, int loop)
{
    for (int s = 0; s < g->w->ph->nest.stores.len && g->streams; s++)
        if (kn_c_streams(g, s, loop))
            return s;
    return -1;
}

/* Does the loop store over a kept value that has no row where calls stream? Lanes that it took twice would read results. */
static bool overwrites_kept(const kn_c_writing *g, int loop)
{
    const kn_c_writer *w = g->w;
    for (int v = 0; v < w->ph->nest.values.len; v++)
        if (w->over[v] >= 0 && kn_c_stores_in(g, w->over[v], loop) &&
            !kn_c_can_stream(w, w->over[v]))
            return true;
    return false;
}

bool kn_c_begin_streams(kn_c_writing *g, int loop, const char *lanes)
{
    g->streams = true;
    if ((kn_c_adds(g, loop) && g->w->mode != KN_C_COLS) || overwrites_kept(g, loop) ||
        kn_c_first_streamed(g, loop) < 0) {
        g->streams = false;
        return false;
    }
    const int s = kn_c_first_streamed(g, loop);
    const kn_access *acc = kn_c_store_access(g->w->ph, s);
    const int member = g->w->ph->nest.naxes - 1;
    const bool steps = g->w->members && acc->kind[member] == KN_STRIDE_PARAM;
    kn_c_open(g->w, "if (KN_STREAMS(c) && n >= %s && KN_SUITS_STREAM(q%d, n, %s))", lanes, s,
              steps ? kn_c_printed(g->w, "step%d", kn_c_member_stride(g->w->ph, true, s)) : "0");
    return true;
}

void kn_c_end_streams(kn_c_writing *g)
{
    g->streams = false;
    kn_c_close(g->w);
    kn_c_line(g->w, "else");
    kn_c_block(g->w);
}

void kn_c_put_lines(kn_c_writing *g, int loop, const char *count)
{
    for (int s = 0; s < g->w->ph->nest.stores.len; s++)
        if (kn_c_streams(g, s, loop))
            kn_c_line(g->w,
                      "const kn_lines lines%d = kn_lines_of(q%d + %s, (u64)n * sizeof *q%d, "
                      "%s * sizeof *q%d);",
                      s, s, kn_c_store_subscript(g, s, "from"), s, count, s);
}

void kn_c_put_streamed_room(kn_c_writing *g, int loop, const char *count)
{
    for (int s = 0; s < g->w->ph->nest.stores.len; s++)
        if (kn_c_streams(g, s, loop))
            kn_c_line(g->w, "KN_LINE_ALIGNED %s last%d[%s];",
                      kn_c_type(g->w->k->bufs.data[kn_c_store_at(g, s)->access.buf].dtype), s,
                      count);
}

void kn_c_put_streamed(kn_c_writing *g, int loop)
{
    for (int s = 0; s < g->w->ph->nest.stores.len; s++)
        if (kn_c_streams(g, s, loop))
            kn_c_line(g->w, "kn_put_past(q%d + %s, last%d, sizeof last%d, lines%d);", s,
                      kn_c_store_subscript(g, s, "from"), s, s, s);
}

void kn_c_put_streamed_piece(kn_c_writing *g, int loop, const char *count)
{
    for (int s = 0; s < g->w->ph->nest.stores.len; s++)
        if (kn_c_streams(g, s, loop))
            kn_c_line(g->w, "kn_stream(q%d + %s, last%d, (u64)%s * sizeof *last%d);", s,
                      kn_c_store_subscript(g, s, "from"), s, count, s);
}

bool kn_c_streams_any(const kn_c_writer *w)
{
    for (int s = 0; s < w->ph->nest.stores.len; s++)
        if (kn_c_can_stream(w, s))
            return true;
    return false;
}
