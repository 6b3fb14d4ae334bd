/* Accumulators between the loops of a walk: begun, added to totals, halved and finished. */
#include "codegen/emit/c/writer.h"

bool kn_c_has_total(const kn_red *red) { return red->op == KN_OP_SUM || red->op == KN_OP_VAR; }

static bool accumulates(const kn_phase *p, int r, int stage)
{
    return p->nest.reds.data[r].stage == stage && kn_c_owner(p, r) == r;
}

/* Is it a sum of columns of f32 that needs no total where all members are one block? A total that begins as 0 makes -0 of it 0. */
static bool can_be_one_block(const kn_c_writer *w, int r)
{
    const kn_phase *p = w->ph;
    const kn_red *red = &p->nest.reds.data[r];
    return w->mode == KN_C_COLS && !p->how.split && red->op == KN_OP_SUM && red->dtype == KN_F32 &&
           kn_c_accumulator(p, red) == KN_F64 && p->nest.values.data[red->value].dtype == KN_F32 &&
           !kn_c_has_f64_variance(p, red->stage);
}

void kn_c_put_starts(kn_c_writer *w, int stage, const char *n)
{
    const kn_phase *p = w->ph;
    for (int r = 0; r < p->nest.reds.len; r++) {
        kn_dtype t = kn_c_accumulator(p, &p->nest.reds.data[r]);
        if (!accumulates(p, r, stage))
            continue;
        if (kn_c_by_rows(w) && p->nest.reds.data[r].op == KN_OP_VAR) {
            kn_c_line(w, "s->acc%d[0] = s->acc%d[1] = s->acc%d[2] = s->acc%d[3] = 0;", r, r, r, r);
            continue;
        }
        if (kn_c_by_rows(w) && t != KN_NO_DTYPE) {
            kn_c_line(w, "s->acc%d = %s;", r,
                      kn_c_literal(w, kn_identity(p->nest.reds.data[r].op, t)));
            continue;
        }
        if (w->mode == KN_C_COLS && kn_c_has_total(&p->nest.reds.data[r])) {
            const bool once = can_be_one_block(w, r);
            if (once) {
                kn_c_line(w, "if (s->once)");
                kn_c_line(w, "    __builtin_memset(s->acc%d, 0, (u64)%s * sizeof(f32));", r, n);
                kn_c_open(w, "else");
            }
            kn_c_line(w, "c->fold[%d]->start(%s, c->fold[%d]->blocked ? s->total%d : s->acc%d);", r,
                      n, r, r, r);
            kn_c_line(w, "if (c->fold[%d]->blocked)", r);
            kn_c_line(w, "    c->fold[%d]->again(%s, s->acc%d, s->total%d);", r, n, r, r);
            if (once)
                kn_c_close(w);
        } else {
            kn_c_line(w, "c->fold[%d]->start(%s, s->acc%d);", r, n, r);
        }
    }
}

/* Columns: adds accumulators of members [i, stop) of those up to `end` to totals, of so many lanes. */
void kn_c_put_merges(kn_c_writer *w, int stage, const char *lanes, const char *end)
{
    const kn_phase *p = w->ph;
    for (int r = 0; r < p->nest.reds.len; r++) {
        if (!accumulates(p, r, stage) || !kn_c_has_total(&p->nest.reds.data[r]))
            continue;
        kn_c_open(w,
                  can_be_one_block(w, r) ? "if (c->fold[%d]->blocked && !s->once)"
                                         : "if (c->fold[%d]->blocked)",
                  r);
        if (p->nest.reds.data[r].op == KN_OP_VAR)
            kn_c_line(w, "((f64 *)s->acc%d)[3 * s->lanes] = (f64)(stop - i);", r);
        kn_c_line(w, "c->fold[%d]->merge(%s, s->total%d, s->acc%d);", r, lanes, r, r);
        kn_c_line(w, "if (stop < %s)", end);
        kn_c_line(w, "    c->fold[%d]->again(%s, s->acc%d, s->total%d);", r, lanes, r, r);
        kn_c_close(w);
    }
}

/* What members side by side have accumulated becomes that of n groups. */
void kn_c_put_halves(kn_c_writer *w, int stage)
{
    const kn_phase *p = w->ph;
    for (int r = 0; r < p->nest.reds.len; r++) {
        if (!accumulates(p, r, stage))
            continue;
        const char *state = kn_c_printed(w, "s->acc%d", r);
        if (kn_c_has_total(&p->nest.reds.data[r]))
            state = kn_c_printed(w, "c->fold[%d]->blocked ? s->total%d : s->acc%d", r, r, r);
        kn_c_line(w, "for (i64 k = lanes / 2; k >= n; k /= 2)");
        kn_c_line(w, "    c->fold[%d]->halve(k, %s);", r, state);
        if (!kn_c_has_total(&p->nest.reds.data[r]))
            continue;
        kn_c_line(w, "if (c->fold[%d]->blocked)", r);
        kn_c_line(w, "    c->fold[%d]->again(n, s->acc%d, s->total%d);", r, r, r);
    }
}

/* What a reduction takes of its accumulator: the name of a function, and which moment it is. */
static const char *part_of(const kn_red *red, bool own, int *moment)
{
    const bool sum = !own && red->op == KN_OP_SUM;
    *moment = sum ? 2 : red->part == KN_PART_MEAN ? 0 : red->part == KN_PART_COUNT ? 3 : 1;
    return sum                          ? "sum"
           : red->part == KN_PART_MEAN  ? "mean"
           : red->part == KN_PART_COUNT ? "count"
                                        : "finish";
}

void kn_c_put_finish(kn_c_writer *w, int stage, const char *n)
{
    const kn_phase *p = w->ph;
    for (int r = 0; r < p->nest.reds.len; r++) {
        const kn_red *red = &p->nest.reds.data[r];
        const int owner = kn_c_owner(p, r);
        const char *type = kn_c_type(red->dtype);
        int moment;
        const char *part = part_of(red, owner == r, &moment);
        if (red->stage != stage)
            continue;
        if (kn_c_by_rows(w) && p->nest.reds.data[owner].op == KN_OP_VAR)
            kn_c_line(w, "s->r%d = (%s)s->acc%d[%d];", r, type, owner, moment);
        else if (kn_c_by_rows(w) && kn_c_accumulator(p, red) != KN_NO_DTYPE)
            kn_c_line(w, "s->r%d = (%s)s->acc%d;", r, type, owner);
        else if (kn_c_by_rows(w))
            kn_c_line(w, "c->fold[%d]->%s(%s, &s->r%d, s->acc%d);", owner, part, n, r, owner);
        else if (kn_c_has_total(&p->nest.reds.data[owner])) {
            if (owner == r && can_be_one_block(w, r)) {
                kn_c_line(w, "if (s->once)");
                kn_c_line(w, "    kn_add_zero(%s, s->r%d, (const f32 *)s->acc%d);", n, r, r);
                kn_c_line(w, "else");
            }
            kn_c_line(w,
                      "c->fold[%d]->%s(%s, s->r%d, c->fold[%d]->blocked ? s->total%d : s->acc%d);",
                      owner, part, n, r, owner, owner, owner);
        } else
            kn_c_line(w, "c->fold[%d]->%s(%s, s->r%d, s->acc%d);", owner, part, n, r, owner);
    }
}
