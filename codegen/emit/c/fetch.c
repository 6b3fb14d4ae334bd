/* What loops that reduce rows fetch ahead. A row is read from memory by one of its sweeps. Were it fetched there alone, memory
 * would idle while the others compute, and their times would add up; so what the next row has is fetched meanwhile, a share
 * by each of these; and what it writes, for processors read a line before they write to it. */
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

/* Has each row elements of v of its own, side by side in memory, and not in a tile? */
static bool is_of_rows(const kn_c_writer *w, int v)
{
    const kn_nest *nest = &w->ph->nest;
    return w->one_run && nest->ngroup > 0 && w->copy[v] < 0 && !kn_transpose_of(w->ph, v) &&
           nest->values.data[v].kind == KN_V_LOAD && w->needed[v] && kn_c_is_adjacent(w, v) &&
           kn_c_access(w->ph, v)->kind[nest->ngroup - 1] != KN_STRIDE_ZERO;
}

/* Does each row write elements of its own so, through the caches? */
static bool is_to_rows(const kn_c_writer *w, int s)
{
    const kn_nest *nest = &w->ph->nest;
    const kn_store *st = &nest->stores.data[s];
    return w->one_run && nest->ngroup > 0 && w->store_copy[s] < 0 &&
           !kn_transpose_of_store(w->ph, s) && st->kind == KN_STORE_ELEMENT && !st->once &&
           st->access.kind[w->axis] == KN_STRIDE_ONE &&
           st->access.kind[nest->ngroup - 1] != KN_STRIDE_ZERO && !kn_c_can_stream(w, s);
}

/* The sweeps that reduce, as bits; *busy: those with functions. */
static uint32_t reducing(const kn_c_writer *w, uint32_t *busy)
{
    uint32_t all = 0;
    *busy = 0;
    for (int t = 0; t < w->ph->nest.nsweeps && t < 32; t++) {
        bool has_function;
        if (!is_loop(w, t, &has_function))
            continue;
        all |= 1u << t;
        *busy |= has_function ? 1u << t : 0;
    }
    return all;
}

/* Of the sweeps that read v the n-th, as a bit; 0: there are not so many. */
static uint32_t reader_of(const kn_c_writer *w, int v, int n)
{
    for (int t = 0; t < w->ph->nest.nsweeps && t < 32; t++)
        if (needs_of(w, t)[v] && --n == 0)
            return 1u << t;
    return 0;
}

/* Which sweeps fetch ahead what rows have of v: those with functions. Where none has, the one that reads a row again from a cache
 * does, while the first reads it as memory brings it. */
static uint32_t fetching(const kn_c_writer *w, int v, uint32_t reduce, uint32_t busy)
{
    if (!is_of_rows(w, v))
        return 0;
    return !busy ? reduce & reader_of(w, v, 2) : busy != reader_of(w, v, 1) ? busy : 0;
}

void kn_c_find_shares(kn_c_writer *w)
{
    const kn_nest *nest = &w->ph->nest;
    uint32_t reduce = 0, busy = 0;
    if (w->axis >= 0 && kn_c_by_rows(w))
        reduce = reducing(w, &busy);
    w->fetched = KN_NEW_ARRAY(w->a, uint32_t, nest->values.len + 1);
    w->fetched_to = KN_NEW_ARRAY(w->a, uint32_t, nest->stores.len + 1);
    w->fetches_near = !busy;
    for (int v = 0; v < nest->values.len && reduce; v++)
        w->fetched[v] = fetching(w, v, reduce, busy);
    for (int s = 0; s < nest->stores.len && busy; s++)
        w->fetched_to[s] = is_to_rows(w, s) ? busy : 0;
}

/* Does the sweep take a share of what these sweeps fetch? */
static bool takes_share(const kn_c_writing *g, uint32_t by)
{
    return !g->l.group && g->l.stage < 32 && by >> g->l.stage & 1;
}

/* Where the share of an access begins, whose numbers are from `number` on. */
static void put_share(kn_c_writing *g, const kn_access *access, int number, uint32_t by,
                      const char *name, const char *next)
{
    kn_c_writer *w = g->w;
    const int before = __builtin_popcount(by & ((1u << g->l.stage) - 1)); /* sweeps */
    const int rows = w->rows_at_once > 1 ? g->l.stage + 1 : 1; /* to the next first sweep */
    const char *type = kn_c_type(w->k->bufs.data[access->buf].dtype);
    const char *share =
        before ? kn_c_printed(w, " + n * %d / %d", before, __builtin_popcount(by)) : "";
    kn_c_line(w, "const char *const %s =", name);
    kn_c_line(w, "    (const char *)((const %s *)c->buf[%d]%s%s) + %s(c, %s, %d * num[%d]);", type,
              access->buf, kn_c_origin(w, access, number, false), share, next, type, rows,
              number + 2 + w->ph->nest.ngroup - 1);
}

/* "num[7]", elements from one run of lanes that a block of rows reads of v to the next; NULL: there is one run. */
static const char *step_of_runs(const kn_c_writing *g, int v)
{
    kn_c_writer *w = g->w;
    const int outer = w->axis - 1;
    return w->one_run || w->packed || w->copy[v] >= 0 || outer < w->ph->nest.ngroup ||
                   !kn_c_by_rows(w) || kn_c_access(w->ph, v)->kind[outer] != KN_STRIDE_PARAM
               ? NULL
               : kn_c_printed(w, "num[%d]", kn_c_number_of(w->ph, false, v) + 2 + outer);
}

/* What the loops of a sweep read of v, run by run, and fetch so. */
static bool fetches_runs(const kn_c_writing *g, int v)
{
    return !g->l.group && g->l.way[v] == KN_C_READ && kn_c_is_adjacent(g->w, v) &&
           step_of_runs(g, v);
}

void kn_c_put_shares(kn_c_writing *g)
{
    kn_c_writer *w = g->w;
    const kn_phase *p = w->ph;
    for (int v = 0; v < p->nest.values.len; v++)
        if (fetches_runs(g, v)) {
            kn_c_line(w, "const i64 left%d = num[%d] - s->i[%d];", v, w->axis, w->axis);
            kn_c_line(w, "const i64 later%d =", v);
            kn_c_line(w, "    kn_later_run(num[%d] * (i64)sizeof *p%d, %s * (i64)sizeof *p%d);",
                      w->axis, v, step_of_runs(g, v), v);
            kn_c_line(w, "(void)left%d, (void)later%d;", v, v); /* not all loops fetch */
        }
    for (int v = 0; v < p->nest.values.len; v++)
        if (takes_share(g, w->fetched[v]))
            put_share(g, kn_c_access(p, v), kn_c_number_of(p, false, v), w->fetched[v],
                      kn_c_printed(w, "next%d", v), "KN_NEXT");
    for (int s = 0; s < p->nest.stores.len; s++)
        if (takes_share(g, w->fetched_to[s]))
            put_share(g, kn_c_store_access(p, s), kn_c_number_of(p, true, s), w->fetched_to[s],
                      kn_c_printed(w, "to%d", s), "KN_NEXT_TO");
}

/* False: v is not fetched run by run. */
static bool put_fetch_of_run(kn_c_writing *g, int v)
{
    const bool fetches = fetches_runs(g, v);
    if (fetches)
        kn_c_line(g->w, "KN_FETCH_RUN(p%d, from, left%d, later%d);", v, v, v);
    return fetches;
}

void kn_c_put_fetches_of_runs(kn_c_writing *g, int loop)
{
    for (int v = 0; v < g->w->ph->nest.values.len && loop == 0; v++)
        put_fetch_of_run(g, v);
}

void kn_c_put_fetches(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    for (int v = 0; v < w->ph->nest.values.len && loop == 0; v++)
        if (takes_share(g, w->fetched[v]))
            kn_c_line(w, "KN_FETCH_SHARE(next%d, from, %s, %d, 0);", v,
                      kn_c_type(kn_c_value_at(g, v)->dtype), __builtin_popcount(w->fetched[v]));
        else if (w->fetched[v] && !w->fetches_near)
            continue;
        else if (put_fetch_of_run(g, v))
            continue;
        else if (g->l.way[v] == KN_C_READ && kn_c_is_adjacent(w, v))
            kn_c_line(w, "KN_FETCH(p%d + from);", v);
        else if (kn_c_reads(g, v, loop) && kn_c_is_apart(g, v))
            kn_c_line(w, "KN_FETCH_APART(p%d + from * num[%d], num[%d]);", v,
                      kn_c_number_of(w->ph, false, v) + 2 + w->axis,
                      kn_c_number_of(w->ph, false, v) + 2 + w->axis);
    for (int s = 0; s < w->ph->nest.stores.len && loop == 0; s++)
        if (takes_share(g, w->fetched_to[s]))
            kn_c_line(w, "KN_FETCH_SHARE(to%d, from, %s, %d, 1);", s,
                      kn_c_type(w->k->bufs.data[kn_c_store_at(g, s)->access.buf].dtype),
                      __builtin_popcount(w->fetched_to[s]));
}
