/* Between the walks and the functions of loops.c: indices of the blocks that those take, and their calls. */
#include "codegen/emit/c/writer.h"

void kn_c_put_next(kn_c_writer *w, int first, int end)
{
    for (int a = end - 1; a >= first; a--) {
        if (a > first)
            kn_c_open(w, "if (++s->i[%d] == num[%d])", a, a);
        else
            kn_c_line(w, "s->i[%d]++;", a);
        if (a > first)
            kn_c_line(w, "s->i[%d] = 0;", a);
    }
    for (int a = end - 1; a > first; a--)
        kn_c_close(w);
}

void kn_c_put_runs(kn_c_writer *w, int first, int end)
{
    const char *name = kn_c_state(w), *fn = "fn";
    if (w->one_run)
        return;
    kn_c_line(w, "static inline void %s_runs(const kn_c_call *c, %s *s, i64 lanes%s", name, name,
              w->plain_runs ? ")" : ",");
    if (!w->plain_runs)
        kn_c_line(w, "    void (*fn)(const kn_c_call *c, %s *s, i64 n, i64 done))", name);
    kn_c_block(w);
    kn_c_line(w, "const i64 *const num = c->num, row = s->row;");
    kn_c_line(w, "i64 done = 0;");
    if (w->plain_runs) {
        fn = kn_c_printed(w, "%s_%s0", name, w->packs[0] ? "whole" : "sweep");
        kn_c_open(w, "for (; s->i[%d] == 0 && done < lanes - num[%d]; done += num[%d])", end - 1,
                  end - 1, end - 1);
        kn_c_line(w, "s->i[%d] = 0;", end - 1);
        kn_c_line(w, "s->row = row + done;");
        kn_c_line(w, "%s(c, s, num[%d], done);", fn, end - 1);
        kn_c_put_next(w, first, end - 1);
        kn_c_close(w);
    }
    kn_c_open(w, "for (i64 n; done < lanes; done += n)");
    kn_c_line(w, "n = KN_MIN(num[%d] - s->i[%d], lanes - done);", end - 1, end - 1);
    kn_c_line(w, "s->row = row + done;");
    kn_c_line(w, "%s(c, s, n, done);", fn);
    kn_c_open(w, "if ((s->i[%d] += n) == num[%d])", end - 1, end - 1);
    kn_c_line(w, "s->i[%d] = 0;", end - 1);
    kn_c_put_next(w, first, end - 1);
    kn_c_close(w);
    kn_c_close(w);
    kn_c_line(w, "s->row = row;");
    kn_c_close(w);
    kn_put(w->t, "\n");
}

void kn_c_put_block(kn_c_writer *w, const char *call, const char *what, int stage,
                    const char *start, const char *n)
{
    const char *name = kn_c_state(w);
    if (!w->one_run) {
        for (int a = 0; a < w->ph->nest.ngroup && w->mode == KN_C_COLS; a++)
            kn_c_line(w, "s->i[%d] = s->first[%d];", a, a);
        const char *fn = w->plain_runs ? "" : kn_c_printed(w, ", %s_%s%d", name, what, stage);
        kn_c_line(w, "%s_runs(%s, s, %s%s);", name, call, n, fn);
        return;
    }
    if (w->axis >= 0)
        kn_c_line(w, "s->i[%d] = %s;", w->axis, start);
    kn_c_line(w, "%s_%s%d(%s, s, %s, 0);", name, what, stage, call, n);
}

void kn_c_put_part(kn_c_writer *w)
{
    kn_c_line(w, "const i64 from = KN_MIN(s->part * c->part, c->members);");
    kn_c_line(w, "const i64 to = KN_MIN(from + c->part, c->members);");
    kn_c_line(w, "(void)to;");
}

void kn_c_put_group_stage(kn_c_writer *w, int stage)
{
    kn_c_line(w, "%s_group%d(c, s, 1, 0);", kn_c_state(w), stage);
}
