/* The walks of rows: of those that are several blocks, and of short ones. */
#include "codegen/emit/c/writer.h"

/* What takes a function, or is converted from fewer bytes, has results late, and is work enough for a row to pay for a state in
 * memory. None may be under way that has to read before another one writes. */
static int rows_at_once(const kn_c_writer *w)
{
    const kn_nest *nest = &w->ph->nest;
    if (w->mode != KN_C_SHORT || w->ordered || nest->nsweeps <= 1)
        return 1;
    for (int i = 0; i < nest->values.len; i++) {
        const kn_value *v = &nest->values.data[i];
        if (w->needed[i] && !kn_c_is_group(v) &&
            (kn_c_takes_function(w->ph, i) ||
             (v->kind == KN_V_LOAD && kn_c_is_adjacent(w, i) && kn_bytes(v->dtype) <= 2)))
            return nest->nsweeps;
    }
    return 1;
}

static bool has_plain_runs(const kn_c_writer *w)
{
    enum { MOST = 40 };
    const kn_nest *nest = &w->ph->nest;
    bool plain = w->mode == KN_C_ROWS && !w->one_run && nest->nsweeps == 1 && nest->reds.len == 0 &&
                 nest->values.len <= MOST;
    for (int v = 0; v < nest->values.len; v++)
        plain = plain && (nest->values.data[v].kind == KN_V_GATHER || !kn_c_is_called(w->ph, v));
    return plain;
}

/* Are the sums of the first sweep all that it reduces, and nothing else to be done with a row before? */
static bool adds_together(const kn_c_writer *w)
{
    const kn_phase *p = w->ph;
    bool any = false;
    if (w->mode != KN_C_SHORT || w->ordered || w->rows > 0 || kn_c_calls(p) || w->rows_at_once > 1)
        return false;
    for (int v = 0; v < p->nest.values.len; v++)
        if (w->needed[v] && kn_c_is_group(&p->nest.values.data[v]) &&
            kn_c_group_stage(&p->nest.values.data[v]) == 0)
            return false;
    for (int r = 0; r < p->nest.reds.len; r++) {
        const kn_red *red = &p->nest.reds.data[r];
        if (red->stage != 0)
            continue;
        if (red->op != KN_OP_SUM || kn_c_owner(p, r) != r || kn_c_accumulator(p, red) != KN_F64 ||
            p->nest.values.data[red->value].dtype != KN_F32)
            return false;
        any = true;
    }
    return any;
}

void kn_c_choose_rows(kn_c_writer *w)
{
    const kn_phase *p = w->ph;
    w->rows_at_once = rows_at_once(w);
    w->plain_runs = has_plain_runs(w);
    w->sums = KN_NEW_ARRAY(w->a, int, p->nest.reds.len + 1);
    w->nsums = 0;
    if (!adds_together(w))
        return;
    for (int r = 0; r < p->nest.reds.len; r++)
        if (p->nest.reds.data[r].stage == 0)
            w->sums[w->nsums++] = r;
}

static void put_sweep_of_row(kn_c_writer *w, int stage)
{
    const kn_phase *p = w->ph;
    kn_c_put_starts(w, stage, "1");
    if (!w->one_run)
        kn_c_put_seek(w, p->nest.ngroup, p->nest.naxes, "from");
    if (!w->one_run)
        kn_c_line(w, "kn_blocks b%d = kn_start(c, from);", stage);
    if (w->packs[stage] && (p->nest.ngroup > 0 || p->nest.nsweeps > 1))
        kn_c_line(w, "s->packed = 0;");
    kn_c_open(w, "for (i64 i = from, stop; i < to; i = stop)");
    kn_c_line(
        w, w->one_run ? "stop = KN_MIN(to, i + c->most);" : "stop = kn_block_end(c, &b%d, i, to);",
        stage);
    kn_c_line(w, "s->row = i - from;");
    if (w->folds[stage] || w->packs[stage]) {
        kn_c_open(w, "if (KN_RUNS(c))");
        kn_c_put_block(w, "c", "whole", stage, "i", "stop - i");
        kn_c_line(w, "continue;");
        kn_c_close(w);
    }
    if (w->packs[stage]) {
        if (!w->by_runs)
            kn_c_put_packed_block(w, stage);
        kn_c_close(w);
        kn_c_put_finish(w, stage, "1");
        return;
    }
    kn_c_put_block(w, "c", "sweep", stage, "i", "stop - i");
    if (w->folds[stage])
        kn_c_line(w, "%s_fold%d(c, s, stop - i);", kn_c_state(w), stage);
    kn_c_close(w);
    kn_c_put_finish(w, stage, "1");
}

/* Groups are counted, for divisions take longer than short rows. */
void kn_c_put_rows(kn_c_writer *w)
{
    const int sweeps = w->ph->nest.nsweeps;
    kn_c_put_seek(w, 0, w->ph->nest.ngroup, "unit / c->parts");
    kn_c_line(w, "s->part = unit %% c->parts;");
    kn_c_open(w, "for (; unit < end; unit++)");
    kn_c_put_part(w);
    for (int t = 0; t <= sweeps; t++) {
        kn_c_put_group_stage(w, t);
        if (t < sweeps)
            put_sweep_of_row(w, t);
    }
    kn_c_open(w, "if (++s->part == c->parts)");
    kn_c_line(w, "s->part = 0;");
    kn_c_put_next(w, 0, w->ph->nest.ngroup);
    kn_c_close(w);
    kn_c_close(w);
}

/* A sweep of a short row, with what comes before it, and behind the last one. */
static void put_short_sweep(kn_c_writer *w, int stage)
{
    kn_c_put_group_stage(w, stage);
    kn_c_put_starts(w, stage, "1");
    kn_c_put_block(w, "c", "sweep", stage, "0", "n");
    kn_c_put_finish(w, stage, "1");
    if (stage + 1 == w->ph->nest.nsweeps)
        kn_c_put_group_stage(w, stage + 1);
}

/* The indices of the groups, to where a walk begins again. */
static void put_groups(kn_c_writer *w, const char *to, const char *from)
{
    for (int a = 0; a < w->ph->nest.ngroup; a++)
        kn_c_line(w, "%s[%d] = %s[%d];", to, a, from, a);
}

/* Up to KN_TOGETHER rows at a time: their first sweep, which leaves sums as lanes; those of all; and what is left of each row. */
static void put_rows_together(kn_c_writer *w)
{
    const kn_nest *nest = &w->ph->nest;
    for (int i = 0; i < w->nsums; i++)
        kn_c_line(w, "KN_VECTOR_ALIGNED f32 lanes%d[KN_TOGETHER * KN_HALF_LANES] = {0};",
                  w->sums[i]);
    kn_c_line(w, "s->part = s->row = 0;");
    kn_c_line(w,
              nest->nsweeps > 1
                  ? "const i64 most = KN_MIN((i64)KN_TOGETHER, 1 + KN_TOGETHER_LANES / KN_SOME(n));"
                  : "const i64 most = KN_TOGETHER;");
    kn_c_open(w, "for (i64 rows; unit < end; unit += rows)");
    kn_c_line(w, "i64 first[%d];", nest->ngroup);
    kn_c_line(w, "rows = KN_MIN(most, end - unit);");
    put_groups(w, "first", "s->i");
    kn_c_open(w, "for (i64 k = 0; k < rows; k++)");
    for (int i = 0; i < w->nsums; i++)
        kn_c_line(w, "s->lanes%d = lanes%d + k * KN_HALF_LANES;", w->sums[i], w->sums[i]);
    kn_c_put_block(w, "c", "sweep", 0, "0", "n");
    kn_c_put_next(w, 0, nest->ngroup);
    kn_c_close(w);
    for (int i = 0; i < w->nsums; i++) {
        kn_c_line(w, "f32 sums%d[KN_TOGETHER];", w->sums[i]);
        kn_c_line(w, "kn_sum_rows(sums%d, lanes%d, rows);", w->sums[i], w->sums[i]);
    }
    put_groups(w, "s->i", "first");
    kn_c_open(w, "for (i64 k = 0; k < rows; k++)");
    kn_c_put_group_stage(w, 0);
    kn_c_put_starts(w, 0, "1");
    for (int i = 0; i < w->nsums; i++)
        kn_c_line(w, "s->acc%d = s->acc%d + (f64)sums%d[k];", w->sums[i], w->sums[i], w->sums[i]);
    kn_c_put_finish(w, 0, "1");
    if (nest->nsweeps == 1)
        kn_c_put_group_stage(w, 1);
    for (int t = 1; t < nest->nsweeps; t++)
        put_short_sweep(w, t);
    kn_c_put_next(w, 0, nest->ngroup);
    kn_c_close(w);
    kn_c_close(w);
}

/* A row is a sweep ahead of the one before it: each sweep of one waits for what the sweep before has reduced, and others are
 * work meanwhile. */
static void put_rows_at_once(kn_c_writer *w, int rows)
{
    kn_c_open(w, "for (const i64 first = unit; unit < end + %d; unit++)", rows - 1);
    for (int t = 0; t < rows; t++) {
        if (t == 0)
            kn_c_open(w, "if (unit < end)");
        else
            kn_c_open(w, "if (unit >= first + %d && unit < end + %d)", t, t);
        kn_c_line(w, "%s *const s = row[%d];", kn_c_state(w), t);
        put_short_sweep(w, t);
        kn_c_close(w);
    }
    kn_c_line(w, "s = row[%d];", rows - 1);
    kn_c_line(w, "__builtin_memcpy(s->i, row[0]->i, sizeof s->i);");
    kn_c_line(w, "KN_UNROLL");
    kn_c_line(w, "for (int k = %d; k > 0; k--)", rows - 1);
    kn_c_line(w, "    row[k] = row[k - 1];");
    kn_c_line(w, "row[0] = s;");
    kn_c_put_next(w, 0, w->ph->nest.ngroup);
    kn_c_close(w);
}

/* Each in one block, whose length is the same for all. */
void kn_c_put_short_rows(kn_c_writer *w)
{
    const int rows = w->rows_at_once;
    kn_c_put_seek(w, 0, w->ph->nest.ngroup, "unit");
    kn_c_line(w, "const i64 n = c->members;");
    if (rows > 1) {
        put_rows_at_once(w, rows);
        return;
    }
    if (w->nsums > 0) {
        put_rows_together(w);
        return;
    }
    kn_c_line(w, "s->part = s->row = 0;");
    kn_c_open(w, "for (; unit < end; unit++)");
    for (int t = 0; t < w->ph->nest.nsweeps; t++)
        put_short_sweep(w, t);
    if (w->ph->nest.nsweeps == 0)
        kn_c_put_group_stage(w, 0);
    kn_c_put_next(w, 0, w->ph->nest.ngroup);
    kn_c_close(w);
}
