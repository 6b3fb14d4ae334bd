/* The function that works on a block's lanes: pointers, values that all lanes share, then loops and calls. */
#include <string.h>

#include "codegen/emit/c/writer.h"

/* ---- addresses ---- */

/* The strides that kn_c_subscript() names. Stores of bytes might change numbers in memory, for all that a compiler knows. */
static void put_steps(kn_c_writer *w, const kn_access *acc, int at)
{
    for (int a = 0; a < w->ph->nest.naxes; a++)
        if (acc->kind[a] == KN_STRIDE_PARAM &&
            (a == w->axis || (w->members && a == w->ph->nest.naxes - 1)))
            kn_c_line(w, "const i64 step%d = num[%d];", at + 2 + a, at + 2 + a);
}

/* ---- values ---- */

/* The name of what holds its lanes, as an array; NULL: nothing does. */
static const char *array_of(kn_c_writing *g, int v)
{
    kn_c_writer *w = g->w;
    if (g->l.array[v] || kn_c_in_row(g, v) || (g->l.way[v] == KN_C_ELSEWHERE && w->lane[v]))
        return kn_c_printed(w, "a%d", v);
    return NULL;
}

/* Its declaration at the top, where it comes from elsewhere. */
static void declare(kn_c_writing *g, int v)
{
    kn_c_writer *w = g->w;
    const kn_value *value = kn_c_value_at(g, v);
    const char *type = kn_c_type(value->dtype), *name = kn_c_value(w, v);
    if (g->known[v] || g->l.way[v] != KN_C_ELSEWHERE)
        return;
    g->known[v] = true;
    if (value->kind == KN_V_CONST)
        return;
    if (value->kind == KN_V_SCALAR)
        kn_c_line(w, "const %s %s = *(const %s *)c->scalar[%d];", type, name, type, value->index);
    else if (value->kind == KN_V_EXTENT)
        kn_c_line(w, "const %s %s = c->extent[%d];", type, name, value->index);
    else if (kn_c_is_kept(w, v, g->l.stage))
        kn_c_line(w, "const %s *const a%d = %s;", type, v, kn_c_kept_row(w, v));
    else if (value->kind == KN_V_RESULT && w->lane[v])
        kn_c_line(w, "const %s *const a%d = s->r%d%s;", type, v, value->index,
                  w->one_run ? "" : " + done");
    else if (value->kind == KN_V_RESULT)
        kn_c_line(w, "const %s %s = s->r%d;", type, name, value->index);
    else if (w->lane[v])
        kn_c_line(w, "const %s *const a%d = s->v%d%s;", type, v, v, w->one_run ? "" : " + done");
    else
        kn_c_line(w, "const %s %s = s->v%d;", type, name, v);
}

static void declare_used(kn_c_writing *g)
{
    const kn_phase *p = g->w->ph;
    for (int i = 0; i < p->nest.values.len; i++)
        for (int k = 0; g->l.way[i] && !g->w->rolled[i] && k < kn_c_value_at(g, i)->nin; k++)
            declare(g, kn_c_value_at(g, i)->in[k]);
    for (int i = 0; i < p->nest.stores.len; i++)
        if (g->l.store_loop[i] >= 0 && kn_c_store_at(g, i)->kind != KN_STORE_PARTIAL)
            declare(g, kn_c_store_at(g, i)->value);
    for (int r = 0; r < p->nest.reds.len && !g->l.group; r++)
        if (p->nest.reds.data[r].stage == g->l.stage)
            declare(g, p->nest.reds.data[r].value);
}

/* Does it read or write a row that keeps a value? */
static bool uses_rows(const kn_c_writing *g)
{
    for (int v = 0; v < g->w->ph->nest.values.len; v++)
        if (g->w->kept[v] >= 0 && g->w->over[v] < 0 && (g->l.array[v] || g->known[v]))
            return true;
    return false;
}

/* Is a value that it reads or writes kept where store s writes? */
static bool keeps_at(const kn_c_writing *g, int s)
{
    for (int v = 0; v < g->w->ph->nest.values.len; v++)
        if (g->w->over[v] == s && (g->l.array[v] || g->known[v]))
            return true;
    return false;
}

/* ---- operations ---- */

static int function_of(kn_c_writer *w, const kn_value *v)
{
    kn_c_function f = {.op = v->op, .out = v->dtype, .nin = v->nin};
    for (int k = 0; k < v->nin; k++)
        f.in[k] = w->ph->nest.values.data[v->in[k]].dtype;
    for (int i = 0; i < w->out->functions.len; i++)
        if (memcmp(&w->out->functions.data[i], &f, sizeof f) == 0)
            return i;
    kn_push(w->a, &w->out->functions, f);
    return w->out->functions.len - 1;
}

/* "{\n const f32 one1 = v5;\n const void *const in[] = {a3, &one1};\n c->loop[2](n, a6, in, 2);\n}": a call of the function of
 * value v, of n lanes to `out`. Operands without an array are one element for all lanes; where all are, so is the result, which
 * functions find once. */
static void put_call(kn_c_writing *g, const kn_value *v, const char *n, const char *out)
{
    kn_c_writer *w = g->w;
    kn_text t = kn_text_new(w->a);
    unsigned uniform = 0;
    kn_c_block(w);
    for (int k = 0; k < v->nin; k++) {
        int in = v->in[k];
        kn_put(&t, k ? ", " : "");
        if (array_of(g, in) && g->l.way[in] != KN_C_SAME) { /* a loop fills that later */
            kn_put(&t, array_of(g, in));
        } else if (g->l.way[in] == KN_C_READ) {
            kn_putf(&t, "p%d", in);
        } else {
            kn_c_line(w, "const %s one%d = %s;", kn_c_type(kn_c_value_at(g, in)->dtype), k,
                      kn_c_operand(g, in, -1));
            kn_putf(&t, "&one%d", k);
            uniform |= 1u << k;
        }
    }
    kn_c_line(w, "const void *const in[] = {%s};", kn_text_str(&t));
    const bool one = strcmp(n, "1") == 0, same = !one && uniform == (1u << v->nin) - 1;
    if (same)
        kn_c_line(w, "%s same;", kn_c_type(v->dtype));
    kn_c_line(w, "c->loop[%d](%s, %s, in, %u); /* %s */", function_of(w, v), same ? "1" : n,
              same ? "&same" : out, one || same ? 0 : uniform, kn_ops[v->op].text);
    if (same) {
        kn_c_line(w, "KN_LANES");
        kn_c_line(w, "for (i64 l = 0; l < %s; l++)", n);
        kn_c_line(w, "    (%s)[l] = same;", out);
    }
    kn_c_close(w);
}

/* " + index * stride ..." of a GATHER; `l`, where it occurs, is the lane. */
static const char *gather_offset(kn_c_writing *g, int i)
{
    kn_c_writer *w = g->w;
    const kn_value *v = kn_c_value_at(g, i);
    kn_text t = kn_text_new(w->a);
    for (int k = 0; k < v->nin; k++) {
        int at = kn_c_number_of_gathered(w->ph, i, k);
        const char *index = kn_c_operand(g, v->in[k], -1);
        if (v->access->checked)
            kn_putf(&t, " + kn_checked(c, %d, %s, num[%d]) * num[%d]", i, index, at + 1, at);
        else
            kn_putf(&t, " + %s * num[%d]", index, at);
    }
    return kn_text_str(&t);
}

/* Where value i is read from. */
static void put_pointer(kn_c_writing *g, int i)
{
    kn_c_writer *w = g->w;
    const kn_value *v = kn_c_value_at(g, i);
    const char *type = kn_c_type(v->dtype);
    const char *at = kn_c_origin(w, v->access, kn_c_number_of(w->ph, false, i), false);
    if (w->packed && w->copy[i] >= 0) {
        const char *dense = v->kind == KN_V_INDEX
                                ? ""
                                : kn_c_printed(w, "(%s *)c->buf[%d]%s", type, v->access->buf, at);
        kn_c_line(w, "const %s *%sp%d = %s;", type, kn_c_strings(g) ? "" : "const ", i,
                  kn_c_packed(w, type, w->copy[i], dense));
        return;
    }
    if (w->rolled[i]) {
        kn_c_put_rolled(w, i);
        return;
    }
    if (w->copy[i] >= 0) {
        kn_c_line(w, "const %s *const p%d = (const %s *)(s->block + %d * c->slot) + s->line;", type,
                  i, type, w->copy[i]);
        return;
    }
    if (v->kind == KN_V_INDEX) {
        kn_c_line(w, "const i64 p%d = 0%s;", i, at);
        return;
    }
    bool one = v->kind == KN_V_GATHER && g->l.way[i] != KN_C_CALLED; /* index for all lanes */
    kn_c_line(w, "const %s *const p%d = (const %s *)c->buf[%d]%s%s; /* %s */", type, i, type,
              v->access->buf, at, one ? gather_offset(g, i) : "",
              w->k->bufs.data[v->access->buf].name);
}

static void put_same(kn_c_writing *g, int i)
{
    kn_c_writer *w = g->w;
    const kn_value *v = kn_c_value_at(g, i);
    const char *type = kn_c_type(v->dtype), *name = kn_c_value(w, i);
    if (kn_is_read(v)) {
        kn_c_line(w, "const %s %s = *p%d;", type, name, i);
    } else if (v->kind == KN_V_INDEX ||
               kn_c_is_inline(v->op, kn_c_value_at(g, v->in[v->nin - 1])->dtype, v->dtype)) {
        kn_c_line(w, "const %s %s = %s;", type, name, kn_c_expression(g, i, -1));
    } else {
        kn_c_line(w, "%s %s;", type, name);
        put_call(g, v, "1", kn_c_printed(w, "&%s", name));
    }
    if (g->l.group && w->group_array[i] < 0)
        kn_c_line(w, "s->v%d = %s;", i, name);
}

static void put_array(kn_c_writing *g, int v)
{
    kn_c_writer *w = g->w;
    const char *type = kn_c_type(kn_c_value_at(g, v)->dtype);
    if (g->l.through[v] >= 0)
        kn_c_line(w, "%s *const a%d = q%d;", type, v, g->l.through[v]);
    else if (kn_c_in_row(g, v))
        kn_c_line(w, "%s *const a%d = %s;", type, v, kn_c_kept_row(w, v));
    else
        kn_c_line(w, "%s *const a%d = (%s *)(s->block + %d * c->slot)%s;", type, v, type,
                  g->l.slot[v], w->one_run ? "" : " + done");
}

/* What lanes are divided by, as reciprocals. */
static void put_divisors(kn_c_writing *g)
{
    const int n = g->w->ph->nest.values.len;
    bool *done = KN_NEW_ARRAY(g->w->a, bool, n + 1);
    for (int i = 0; i < n; i++) {
        const bool wide = kn_c_divides(g, i, KN_F64) && kn_c_can_be_quick(g, g->l.loop[i]);
        const int s = wide || kn_c_divides(g, i, KN_F32) ? kn_c_value_at(g, i)->in[1] : -1;
        if (s < 0 || done[s])
            continue;
        done[s] = true;
        kn_c_line(g->w,
                  wide ? "const kn_divisor64 by%d = kn_divisor64_of(%s);"
                       : "const kn_divisor by%d = KN_DIVISOR(%s);",
                  s, kn_c_operand(g, s, -1));
        kn_c_line(g->w, "(void)by%d;", s);
    }
}

/* The lanes at which an index is what it is compared with. */
static void put_compared_lanes(kn_c_writing *g)
{
    for (int i = 0; i < g->w->ph->nest.values.len; i++) {
        const int k = kn_c_compared_lane(g, i);
        const int *in = kn_c_value_at(g, i)->in;
        if (k >= 0)
            kn_c_line(g->w, "const i32 place%d = kn_lane_at(%s, p%d);", i,
                      kn_c_operand(g, in[1 - k], -1), in[k]);
    }
}

/* ---- the top ---- */

/* Constants that are limits, as variables: of those gcc makes one instruction. */
static void hide_limits(kn_c_writing *g)
{
    const int n = g->w->ph->nest.values.len;
    bool exps[KN_DTYPE_LIMIT] = {false};
    g->hidden = KN_NEW_ARRAY(g->w->a, bool, n + 1);
    for (int i = 0; i < n; i++) {
        const kn_value *v = kn_c_value_at(g, i);
        if (!g->l.way[i] || (v->dtype != KN_F32 && v->dtype != KN_F64))
            continue;
        if (kn_is_elem(v, KN_OP_EXP) && !exps[v->dtype]) {
            exps[v->dtype] = true;
            kn_c_line(g->w, "KN_HIDE_LIMITS_%s;", kn_c_type(v->dtype));
        }
        if (!kn_is_elem(v, KN_OP_MINIMUM) && !kn_is_elem(v, KN_OP_MAXIMUM))
            continue;
        for (int k = 0; k < 2; k++) {
            const kn_value *c = kn_c_value_at(g, v->in[k]);
            if (c->kind != KN_V_CONST || g->hidden[v->in[k]])
                continue;
            g->hidden[v->in[k]] = true;
            kn_c_line(g->w, "%s limit%d = %s;", kn_c_type(c->dtype), v->in[k],
                      kn_c_literal(g->w, c->value));
            kn_c_line(g->w, "KN_HIDE(limit%d);", v->in[k]);
        }
    }
}

/* Pointers, arrays, and what all lanes share. */
static void put_top(kn_c_writing *g)
{
    kn_c_writer *w = g->w;
    const kn_phase *p = w->ph;
    kn_c_line(w, "const i64 *const num = c->num;");
    kn_c_line(w, "(void)num, (void)s, (void)n, (void)done;");
    hide_limits(g);
    declare_used(g);
    if (w->members && uses_rows(g))
        kn_c_line(w, "const i64 lanes = s->lanes;");
    for (int s = 0; s < p->nest.stores.len; s++) {
        const kn_store *st = kn_c_store_at(g, s);
        bool partial = st->kind == KN_STORE_PARTIAL, here = g->l.store_loop[s] >= 0;
        if ((here || keeps_at(g, s)) && w->store_copy[s] < 0)
            put_steps(w, &st->access, kn_c_number_of(p, true, s));
        if (!here && (partial || g->l.through[st->value] != s))
            continue;
        const kn_buf *buf = &w->k->bufs.data[st->access.buf];
        const char *type = kn_c_type(buf->dtype);
        const char *to =
            kn_c_printed(w, "(%s *)c->buf[%d]%s", type, st->access.buf,
                         kn_c_origin(w, &st->access, kn_c_number_of(p, true, s), partial));
        if (w->store_copy[s] >= 0)
            to = w->packed ? kn_c_packed(w, type, w->store_copy[s], to)
                           : kn_c_printed(w, "(%s *)(s->block + %d * c->slot) + s->line", type,
                                          w->store_copy[s]);
        kn_c_line(w, "%s *%sq%d = %s; /* %s */", type,
                  kn_c_strings(g) && w->store_copy[s] >= 0 ? "" : "const ", s, to, buf->name);
    }
    for (int i = 0; i < p->nest.values.len; i++) {
        if (g->l.way[i] && kn_has_access(kn_c_value_at(g, i))) {
            if (w->copy[i] < 0)
                put_steps(w, kn_c_access(p, i), kn_c_number_of(p, false, i));
            put_pointer(g, i);
        }
        if (g->l.way[i] == KN_C_SAME)
            put_same(g, i);
        if (g->l.array[i])
            put_array(g, i);
    }
    put_divisors(g);
    put_compared_lanes(g);
    kn_c_put_shares(g);
    kn_c_put_strides_of_runs(g);
    for (int r = 0; r < p->nest.reds.len && !g->l.group && w->mode == KN_C_COLS; r++) {
        const kn_red *red = &p->nest.reds.data[r];
        if (red->stage == g->l.stage && kn_c_owner(p, r) == r && kn_c_is_added(w, red))
            kn_c_point_at_acc(w, r);
    }
}

/* Is all that a sweep of rows does to look for the first index at which something is so? Then the value that tells; else -1. */
static int index_sought(const kn_c_writing *g)
{
    const kn_phase *p = g->w->ph;
    const kn_red *only = NULL;
    for (int r = 0; r < p->nest.reds.len; r++)
        if (p->nest.reds.data[r].stage == g->l.stage) {
            if (only)
                return -1;
            only = &p->nest.reds.data[r];
        }
    for (int s = 0; s < p->nest.stores.len; s++)
        if (g->l.store_loop[s] >= 0)
            return -1;
    if (!only || only->op != KN_OP_MIN || !kn_c_by_rows(g->w) || !g->w->one_run)
        return -1;
    const kn_value *v = kn_c_value_at(g, only->value);
    if (v->kind != KN_V_ELEM || v->op != KN_OP_WHERE)
        return -1;
    const kn_value *index = kn_c_value_at(g, v->in[1]), *none = kn_c_value_at(g, v->in[2]);
    const bool known = none->kind == KN_V_CONST && index->kind == KN_V_INDEX &&
                       index->access->kind[g->w->axis] == KN_STRIDE_ONE;
    return known && none->value.i == kn_identity(KN_OP_MIN, v->dtype).i ? v->in[1] : -1;
}

/* Once the index is found, none of a later block comes before it. */
static void put_exit(kn_c_writing *g)
{
    const int index = g->l.group ? -1 : index_sought(g);
    for (int r = 0; r < g->w->ph->nest.reds.len && index >= 0; r++)
        if (g->w->ph->nest.reds.data[r].stage == g->l.stage) {
            kn_c_line(g->w, "if (s->acc%d <= p%d)", r, index);
            kn_c_line(g->w, "    return;");
        }
}

/* ---- behind a loop ---- */

static void put_calls(kn_c_writing *g, int loop)
{
    kn_c_writer *w = g->w;
    for (int i = 0; i < w->ph->nest.values.len; i++) {
        const kn_value *v = kn_c_value_at(g, i);
        if (g->l.way[i] != KN_C_CALLED || g->l.loop[i] != loop)
            continue;
        if (v->kind == KN_V_GATHER) {
            kn_c_line(w, "for (i64 l = 0; l < n; l++)");
            kn_c_line(w, "    a%d[l] = p%d[%s%s];", i, i,
                      kn_c_subscript(w, v->access, kn_c_number_of(w->ph, false, i), "l"),
                      gather_offset(g, i));
            continue;
        }
        put_call(g, v, "n", kn_c_printed(w, "a%d", i));
    }
}

/* Stores that only some do. */
static void put_guarded(kn_c_writing *g)
{
    kn_c_writer *w = g->w;
    const kn_phase *p = w->ph;
    for (int s = 0; s < p->nest.stores.len; s++) {
        const kn_store *st = kn_c_store_at(g, s);
        if (g->l.store_loop[s] < 0 || !kn_c_is_guarded(st))
            continue;
        kn_text t = kn_text_new(w->a);
        kn_put(&t, st->kind == KN_STORE_GROUP ? "s->part == 0" : "");
        for (int a = 0; a < p->nest.naxes; a++)
            if (st->once >> a & 1)
                kn_putf(&t, "%ss->i[%d] == 0", t.len ? " && " : "", a);
        kn_c_line(w, "if (%s)", kn_text_str(&t));
        kn_c_line(w, "    for (i64 l = 0; l < %s; l++)",
                  w->axis >= 0 && (st->once >> w->axis & 1) ? "1" : "n");
        kn_c_line(w, "        q%d[%s] = %s;", s,
                  kn_c_subscript(w, &st->access, kn_c_number_of(p, true, s), "l"),
                  kn_c_stored(g, s, -1));
    }
}

/* The reductions that folds do, over n lanes; `copies`: what was copied is reduced from the copy. */
static void put_folds(kn_c_writing *g, bool copies)
{
    kn_c_writer *w = g->w;
    const kn_phase *p = w->ph;
    for (int r = 0; r < p->nest.reds.len; r++) {
        const kn_red *red = &p->nest.reds.data[r];
        if (red->stage != g->l.stage || kn_c_owner(p, r) != r || kn_c_is_added(w, red))
            continue;
        bool array = array_of(g, red->value) || (copies && g->l.copied[red->value]);
        kn_c_line(w, "c->fold[%d]->%s(n, %s, %c%d); /* %s */", r,
                  w->mode == KN_C_COLS ? "accumulate" : "reduce", kn_c_acc(w, r), array ? 'a' : 'p',
                  red->value, kn_ops[red->op].text);
    }
}

static bool folds(const kn_c_writing *g)
{
    for (int v = 0; v < g->w->ph->nest.values.len; v++)
        if (kn_c_is_folded(g->w, &g->l, v))
            return true;
    return false;
}

/* Where blocks have one run each, reduces it; else copies what is to be reduced from memory when all runs are there. */
static void put_folds_of_runs(kn_c_writing *g)
{
    kn_c_writer *w = g->w;
    if (!folds(g))
        return;
    if (w->mode == KN_C_COLS) {
        kn_c_open(w, "if (KN_RUNS(c))");
        put_folds(g, false);
        kn_c_line(w, "return;");
        kn_c_close(w);
    }
    for (int v = 0; v < w->ph->nest.values.len; v++) {
        const char *type = kn_c_type(kn_c_value_at(g, v)->dtype);
        if (!g->l.copied[v])
            continue;
        kn_c_line(
            w,
            "__builtin_memcpy((%s *)(s->block + %d * c->slot) + done, p%d, (u64)n * sizeof(%s));",
            type, g->l.slot[v], v, type);
    }
}

/* A block of several runs, whose operands all have arrays; they begin with the block. */
static void put_fold_function(kn_c_writing *g, const char *name)
{
    kn_c_writer *w = g->w;
    if (!folds(g))
        return;
    kn_c_line(w, "static void %s_fold%d(const kn_c_call *c, %s *s, i64 n)", name, g->l.stage, name);
    kn_c_block(w);
    for (int v = 0; v < w->ph->nest.values.len; v++) {
        const kn_value *value = kn_c_value_at(g, v);
        const char *type = kn_c_type(value->dtype);
        if (!kn_c_is_folded(w, &g->l, v))
            continue;
        if (kn_c_in_row(g, v))
            kn_c_line(w, "const %s *const a%d = %s;", type, v, kn_c_kept_row(w, v));
        else if (g->l.array[v] || g->l.copied[v])
            kn_c_line(w, "const %s *const a%d = (const %s *)(s->block + %d * c->slot);", type, v,
                      type, g->l.slot[v]);
        else if (value->kind == KN_V_RESULT)
            kn_c_line(w, "const %s *const a%d = s->r%d;", type, v, value->index);
        else
            kn_c_line(w, "const %s *const a%d = s->v%d;", type, v, v);
    }
    put_folds(g, true);
    kn_c_close(w);
    kn_put(w->t, "\n");
}

void kn_c_put_lanes(kn_c_writer *w, bool group, int stage)
{
    const int n = w->ph->nest.values.len + 1;
    const char *name = kn_c_state(w);
    kn_c_writing g = {.w = w};
    kn_c_divide(w, group, stage, &g.l);
    w->members = g.l.several;
    if (w->packed && !w->strung && !group)
        w->strings[stage] = kn_c_is_of_vectors(&g) && kn_c_can_string(&g);
    g.known = KN_NEW_ARRAY(w->a, bool, n);
    g.loaded = KN_NEW_ARRAY(w->a, bool, n);
    const bool plain = !group && !w->packed && !w->strung && w->plain_runs;
    kn_c_line(w, "static %svoid %s_%s%d(const kn_c_call *c, %s *s, i64 n, i64 done)",
              plain ? "inline __attribute__((always_inline)) " : "", name,
              group       ? "group"
              : w->strung ? "strung"
              : w->packed ? "packed"
              : w->whole  ? "whole"
                          : "sweep",
              stage, name);
    kn_c_block(w);
    put_top(&g);
    put_exit(&g);
    for (int loop = 0; loop < g.l.loops; loop++) {
        kn_c_put_loop(&g, loop);
        put_calls(&g, loop);
    }
    put_guarded(&g);
    if (!group && (w->one_run || w->whole))
        put_folds(&g, false);
    else if (!group)
        put_folds_of_runs(&g);
    kn_c_close(w);
    kn_put(w->t, "\n");
    if (!group && !w->one_run && !w->whole)
        put_fold_function(&g, name);
    if (!group && !w->whole) {
        w->folds[stage] = !w->one_run && folds(&g);
        w->several[stage] = w->members;
    }
    w->members = false;
}
