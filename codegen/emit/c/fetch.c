/* What loops that reduce rows fetch ahead. A row is read from memory by one of its sweeps. Were it fetched there alone, memory
 * would idle while the others compute, and their times would add up; so what the next row has is fetched meanwhile, a share
 * by each of these. */
#include "codegen/emit/c/writer.h"

static bool *needs_of(const kn_c_writer *w, int sweep)
{
    bool *need = KN_NEW_ARRAY(w->a, bool, w->ph->nest.values.len + 1);
    kn_phase_needs(w->ph, sweep, need);
    return need;
}

/* Is it one loop, which reduces? *busy: it computes a function. */
static bool is_loop(const kn_c_writer *w, int sweep, bool *busy)
{
    const kn_phase *p = w->ph;
    const bool *need = needs_of(w, sweep);
    bool reduces = false;
    for (int r = 0; r < p->nest.reds.len; r++) {
        const kn_red *red = &p->nest.reds.data[r];
        if (red->stage != sweep || kn_c_owner(p, r) != r)
            continue;
        if (!kn_c_is_added(w, red))
            return false;
        reduces = true;
    }
    *busy = false;
    for (int v = 0; v < p->nest.values.len; v++) {
        const kn_value *value = &p->nest.values.data[v];
        if (!need[v] || kn_c_is_fixed(value) || kn_c_is_group(value) || kn_is_found(p, v, sweep))
            continue;
        if (kn_c_is_called(p, v))
            return false;
        *busy = *busy || kn_c_takes_function(p, v);
    }
    return reduces;
}

/* Has each row elements of v of its own, side by side in memory? */
static bool is_of_rows(const kn_c_writer *w, int v)
{
    const kn_nest *nest = &w->ph->nest;
    for (int i = 0; i < w->ph->how.transposes.len; i++)
        if (!w->ph->how.transposes.data[i].store && w->ph->how.transposes.data[i].of == v)
            return false; /* a tile has them */
    return kn_c_by_rows(w) && w->one_run && nest->ngroup > 0 && w->copy[v] < 0 &&
           nest->values.data[v].kind == KN_V_LOAD && w->needed[v] && kn_c_is_adjacent(w, v) &&
           kn_c_access(w->ph, v)->kind[nest->ngroup - 1] != KN_STRIDE_ZERO;
}

/* The sweeps that share in fetching v, as bits: those with functions, or if none has, all that reduce. 0: who reads it
 * fetches it. */
static uint32_t sharing(const kn_c_writer *w, int v)
{
    uint32_t all = 0, busy = 0, reads = 0;
    if (!is_of_rows(w, v))
        return 0;
    for (int t = 0; t < w->ph->nest.nsweeps && t < 32; t++) {
        bool has_function;
        reads |= needs_of(w, t)[v] ? 1u << t : 0;
        if (!is_loop(w, t, &has_function))
            continue;
        all |= 1u << t;
        busy |= has_function ? 1u << t : 0;
    }
    all = busy ? busy : all;
    return all == (reads & -reads) ? 0 : all;
}

void kn_c_find_shares(kn_c_writer *w)
{
    w->fetched = KN_NEW_ARRAY(w->a, uint32_t, w->ph->nest.values.len + 1);
    for (int v = 0; v < w->ph->nest.values.len && w->axis >= 0; v++)
        w->fetched[v] = sharing(w, v);
}

/* Does the sweep take a share of v? */
static bool takes_share(const kn_c_writing *g, int v)
{
    return !g->l.group && g->l.stage < 32 && g->w->fetched[v] >> g->l.stage & 1;
}

void kn_c_put_shares(kn_c_writing *g)
{
    kn_c_writer *w = g->w;
    const int rows =
        kn_c_rows_at_once(w) > 1 ? g->l.stage + 1 : 1; /* to that whose first sweep comes next */
    for (int v = 0; v < w->ph->nest.values.len; v++) {
        if (!takes_share(g, v))
            continue;
        const kn_access *access = kn_c_access(w->ph, v);
        const int number = kn_c_number_of(w->ph, false, v),
                  before = __builtin_popcount(w->fetched[v] & ((1u << g->l.stage) - 1));
        const char *type = kn_c_type(kn_c_value_at(g, v)->dtype);
        const char *share =
            before ? kn_c_printed(w, " + n * %d / %d", before, __builtin_popcount(w->fetched[v]))
                   : "";
        kn_c_line(w, "const char *const next%d =", v);
        kn_c_line(w,
                  "    (const char *)((const %s *)c->buf[%d]%s%s) + KN_NEXT(c, %s, %d * num[%d]);",
                  type, access->buf, kn_c_origin(w, access, number, false), share, type, rows,
                  number + 2 + w->ph->nest.ngroup - 1);
    }
}

void kn_c_put_fetches(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    for (int v = 0; v < w->ph->nest.values.len && loop == 0; v++)
        if (takes_share(g, v))
            kn_c_line(w, "KN_FETCH_SHARE(next%d, from, %s, %d);", v,
                      kn_c_type(kn_c_value_at(g, v)->dtype), __builtin_popcount(w->fetched[v]));
        else if (w->fetched[v])
            continue;
        else if (g->l.way[v] == KN_C_READ && kn_c_is_adjacent(w, v))
            kn_c_line(w, "KN_FETCH(p%d + from);", v);
        else if (kn_c_reads(g, v, loop) && kn_c_is_apart(g, v))
            kn_c_line(w, "KN_FETCH_APART(p%d + from * num[%d], num[%d]);", v,
                      kn_c_number_of(w->ph, false, v) + 2 + w->axis,
                      kn_c_number_of(w->ph, false, v) + 2 + w->axis);
}
