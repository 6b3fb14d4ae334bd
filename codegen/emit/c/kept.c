/* Values that later sweeps read again. They are in rows of the worker's memory; but those of a softmax, which becomes what
 * it writes, are where the last sweep that reads them writes: a row less in the second-level cache. */
#include "codegen/emit/c/writer.h"

/* Is every sweep one loop, in which a lane is read before it is written? */
static bool is_loops(const kn_c_writer *w)
{
    const kn_phase *p = w->ph;
    for (int v = 0; v < p->nest.values.len; v++) {
        const kn_value *value = &p->nest.values.data[v];
        if (!w->needed[v] || kn_c_is_fixed(value) || kn_c_is_group(value))
            continue;
        if (kn_c_is_called(p, v))
            return false;
    }
    for (int r = 0; r < p->nest.reds.len; r++)
        if (kn_c_owner(p, r) == r && !kn_c_is_added(w, &p->nest.reds.data[r]))
            return false;
    return true;
}

/* Does a sweep read value v as it was kept? */
static bool is_read(kn_c_writer *w, int v, int sweep)
{
    const kn_phase *p = w->ph;
    bool *need = KN_NEW_ARRAY(w->a, bool, p->nest.values.len + 1);
    kn_phase_needs(p, sweep, need);
    return need[v] && kn_is_found(p, v, sweep);
}

static bool can_lie_at(kn_c_writer *w, int v, const kn_store *s)
{
    const kn_phase *p = w->ph;
    const int member = p->nest.naxes - 1;
    if (s->kind != KN_STORE_ELEMENT || s->once || s->access.kind[w->axis] != KN_STRIDE_ONE ||
        w->k->bufs.data[s->access.buf].dtype != p->nest.values.data[v].dtype)
        return false;
    if (w->mode == KN_C_COLS && s->access.kind[member] != KN_STRIDE_PARAM)
        return false;
    for (int t = s->stage + 1; t < p->nest.nsweeps; t++)
        if (is_read(w, v, t))
            return false;
    return is_read(w, v, s->stage);
}

/* Of short rows there is no gain, and vectors of them may end behind the output. */
static bool can_lie_at_all(const kn_c_writer *w)
{
    return w->axis >= 0 && !w->ordered &&
           ((w->mode == KN_C_ROWS && w->one_run) || w->mode == KN_C_COLS) && is_loops(w);
}

void kn_c_place_kept(kn_c_writer *w)
{
    const kn_phase *p = w->ph;
    const bool can = can_lie_at_all(w);
    bool *taken = KN_NEW_ARRAY(w->a, bool, p->nest.stores.len + 1);
    w->kept = KN_NEW_ARRAY(w->a, int, p->nest.values.len + 1);
    w->over = KN_NEW_ARRAY(w->a, int, p->nest.values.len + 1);
    w->rows = 0;
    for (int v = 0; v < p->nest.values.len; v++)
        w->over[v] = w->kept[v] = -1;
    for (int v = 0; v < p->nest.values.len; v++) {
        if (kn_kept(p, v) != KN_KEEP_FRAME)
            continue;
        for (int s = 0; s < p->nest.stores.len && can && w->over[v] < 0; s++)
            if (!taken[s] && can_lie_at(w, v, &p->nest.stores.data[s]))
                w->over[v] = s;
        if (w->over[v] >= 0)
            taken[w->over[v]] = true;
        const bool streams = w->over[v] >= 0 && kn_c_can_stream(w, w->over[v]);
        w->kept[v] = w->over[v] >= 0 && !streams ? 0 : w->rows++;
    }
}

const char *kn_c_kept_row(kn_c_writer *w, int v)
{
    const char *type = kn_c_type(w->ph->nest.values.data[v].dtype);
    const char *row = kn_c_printed(w, "(%s *)(s->rows + %d * c->row) + s->row", type, w->kept[v]);
    if (w->over[v] < 0)
        return row;
    const kn_access *at = kn_c_store_access(w->ph, w->over[v]);
    const char *there =
        kn_c_printed(w, "(%s *)c->buf[%d]%s", type, at->buf,
                     kn_c_origin(w, at, kn_c_number_of(w->ph, true, w->over[v]), false));
    return kn_c_can_stream(w, w->over[v]) ? kn_c_printed(w, "KN_STREAMS(c) ? %s : %s", row, there)
                                          : there;
}

bool kn_c_stores_over_kept(const kn_c_writing *g, int loop)
{
    for (int v = 0; v < g->w->ph->nest.values.len; v++)
        if (g->w->over[v] >= 0 && kn_c_stores_in(g, g->w->over[v], loop))
            return true;
    return false;
}
