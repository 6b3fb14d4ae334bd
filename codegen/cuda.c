#include "codegen/cuda.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "ir/eval.h"

extern const char kn_prelude_prelude[];

/* Writing one kernel. */
typedef struct writer {
    kn_text *t;
    const kn_kernel *k;
    const kn_phase *ph;
    int p; /* phase number */
    int indent;
    int sweep;
    bool *need;   /* values of the current sweep */
    bool *loaded; /* kept values that are in their registers */
} writer;

static void line(writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void line(writer *w, const char *fmt, ...)
{
    va_list ap;
    kn_putf(w->t, "%*s", w->indent * 4, "");
    va_start(ap, fmt);
    kn_putv(w->t, fmt, ap);
    va_end(ap);
    kn_put(w->t, "\n");
}

static void open(writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void open(writer *w, const char *fmt, ...)
{
    va_list ap;
    kn_putf(w->t, "%*s", w->indent * 4, "");
    va_start(ap, fmt);
    kn_putv(w->t, fmt, ap);
    va_end(ap);
    kn_put(w->t, " {\n");
    w->indent++;
}

static void close(writer *w)
{
    w->indent--;
    line(w, "}");
}

static const char *ctype(kn_dtype t) { return kn_dtypes[t].cuda; }

static const char *printed(writer *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static const char *printed(writer *w, const char *fmt, ...)
{
    kn_text t = kn_text_new(w->t->arena);
    va_list ap;
    va_start(ap, fmt);
    kn_putv(&t, fmt, ap);
    va_end(ap);
    return kn_text_str(&t);
}

static const char *value_name(writer *w, int i)
{
    const kn_value *v = &w->ph->values.data[i];
    return kn_identifier(w->t->arena, "", printed(w, "%s_%d", v->name ? v->name : "v", i));
}

static const char *literal(writer *w, kn_scalar v)
{
    switch (v.dtype) {
    case KN_BOOL: return v.i ? "true" : "false";
    case KN_I32: /* the smallest integer has no literal of its own */
        return printed(w, "(int)0x%08xu", (unsigned)(uint32_t)v.i);
    case KN_I64:
        if (v.i > -1000000 && v.i < 1000000)
            return printed(w, "%lldLL", (long long)v.i);
        return printed(w, "(long long)0x%016llxull", (unsigned long long)v.i);
    default: break;
    }
    const char *cast = v.dtype == KN_F32 ? "(float)" : "";
    if (isnan(v.f))
        return printed(w, "%sKN_NAN", cast);
    if (isinf(v.f))
        return printed(w, "(%s%sKN_INF)", v.f < 0 ? "-" : "", cast);
    const char *digits = printed(w, v.dtype == KN_F32 ? "%.9g" : "%.17g", v.f);
    const char *point = strpbrk(digits, ".e") ? "" : ".0";
    return printed(w, signbit(v.f) ? "(%s%s%s)" : "%s%s%s", digits, point,
                   v.dtype == KN_F32 ? "f" : "");
}

/* ---- indices ---- */

/* "a0 * p0_v3_s00 + a1": the element's place, with `lane` added along the vector axis. */
static const char *offset(writer *w, const kn_access *acc, char kind, int i, const char *lane)
{
    kn_text t = kn_text_new(w->t->arena);
    int va = kn_phase_vector_axis(w->ph);
    for (int a = 0; a < w->ph->naxes; a++) {
        if (acc->kind[a] == KN_STRIDE_ZERO)
            continue;
        const char *index =
            a == va && lane ? printed(w, "(a%d + %s)", a, lane) : printed(w, "a%d", a);
        kn_putf(&t, "%s%s", t.len ? " + " : "", index);
        if (acc->kind[a] == KN_STRIDE_PARAM)
            kn_putf(&t, " * p%d_%c%d_s%02d", w->p, kind, i, a);
    }
    return t.len ? kn_text_str(&t) : "0";
}

/* Declares the axis indices [from, to) from the linear index `linear`. */
static void decompose(writer *w, int from, int to, const char *linear)
{
    if (from == to)
        return;
    if (to - from == 1) {
        line(w, "const kn_index a%d = (kn_index)%s;", from, linear);
        return;
    }
    const char *rest = linear;
    for (int a = to - 1; a > from; a--) {
        const char *next = printed(w, "q%d", a);
        line(w, "const kn_count %s = %s / (kn_count)p%d_n%d;", next, rest, w->p, a);
        line(w, "const kn_index a%d = (kn_index)(%s - %s * (kn_count)p%d_n%d);", a, rest, next,
             w->p, a);
        rest = next;
    }
    line(w, "const kn_index a%d = (kn_index)%s;", from, rest);
}

static const char *extent_product(writer *w, int from, int to)
{
    kn_text t = kn_text_new(w->t->arena);
    for (int a = from; a < to; a++)
        kn_putf(&t, "%s(kn_count)p%d_n%d", a > from ? " * " : "", w->p, a);
    return to > from ? kn_text_str(&t) : "(kn_count)1";
}

/* ---- values ---- */

static bool is_infix(const kn_value *v, kn_dtype operand)
{
    if (!*kn_ops[v->op].infix)
        return false;
    return !kn_is_int(operand) || kn_ops[v->op].rule == KN_RULE_COMPARE;
}

static const char *expression(writer *w, int i)
{
    const kn_value *v = &w->ph->values.data[i];
    const char *in[KN_MAX_IN] = {"", "", ""};
    for (int k = 0; k < v->nin; k++)
        in[k] = value_name(w, v->in[k]);
    if (v->op == KN_OP_CAST)
        return printed(w, "kn_cast<%s>(%s)", ctype(v->dtype), in[0]);
    if (v->op == KN_OP_COPY)
        return in[0];
    if (is_infix(v, w->ph->values.data[v->in[0]].dtype))
        return printed(w, "%s %s %s", in[0], kn_ops[v->op].infix, in[1]);
    return printed(w, "kn_%s(%s%s%s%s%s)", kn_ops[v->op].text, in[0], v->nin > 1 ? ", " : "", in[1],
                   v->nin > 2 ? ", " : "", in[2]);
}

static void define(writer *w, int i, const char *expr)
{
    line(w, "const %s %s = %s;", ctype(w->ph->values.data[i].dtype), value_name(w, i), expr);
}

static void define_load(writer *w, int i, const char *lane)
{
    const kn_access *acc = &w->ph->values.data[i].access;
    define(w, i,
           printed(w, "%s[%s]", w->k->bufs.data[acc->buf].name, offset(w, acc, 'v', i, lane)));
}

/* The group values of one stage: before the sweeps for stage 0, else after a combine. */
static void write_group_values(writer *w, int stage)
{
    for (int i = 0; i < w->ph->values.len; i++) {
        const kn_value *v = &w->ph->values.data[i];
        if (v->level != KN_GROUP || v->stage != stage)
            continue;
        switch (v->kind) {
        case KN_V_LOAD: define_load(w, i, NULL); break;
        case KN_V_SCALAR: define(w, i, w->k->scalars.data[v->index].name); break;
        case KN_V_CONST: define(w, i, literal(w, v->value)); break;
        case KN_V_EXTENT: define(w, i, printed(w, "count%d", v->index)); break;
        case KN_V_RESULT: define(w, i, printed(w, "r%d", v->index)); break;
        case KN_V_ELEM: define(w, i, expression(w, i)); break;
        }
    }
}

/* "a0 == 0 && a2 == 0" for the axes in `once` */
static const char *once_condition(writer *w, const kn_store *s, const char *also)
{
    kn_text t = kn_text_new(w->t->arena);
    kn_put(&t, also);
    for (int a = 0; a < w->ph->naxes; a++)
        if (s->once >> a & 1)
            kn_putf(&t, "%sa%d == 0", t.len ? " && " : "", a);
    return kn_text_str(&t);
}

static void write_group_stores(writer *w, int stage, const char *leader)
{
    for (int i = 0; i < w->ph->stores.len; i++) {
        const kn_store *s = &w->ph->stores.data[i];
        if (s->kind == KN_STORE_ELEMENT || s->stage != stage)
            continue;
        const char *who = w->ph->split && s->kind == KN_STORE_GROUP
                              ? printed(w, "%s && split == 0", leader)
                              : leader;
        const char *what =
            s->kind == KN_STORE_PARTIAL ? printed(w, "r%d", s->value) : value_name(w, s->value);
        const char *to = offset(w, &s->access, 'o', i, NULL);
        if (s->kind == KN_STORE_PARTIAL)
            to = printed(w, "%s + (kn_index)split * p%d_o%d_split", to, w->p, i);
        line(w, "if (%s)", once_condition(w, s, who));
        line(w, "    %s[%s] = %s;", w->k->bufs.data[s->access.buf].name, to, what);
    }
}

/* ---- one step of a sweep ---- */

static bool varies_by_lane(writer *w, const kn_access *acc)
{
    int va = kn_phase_vector_axis(w->ph);
    return w->ph->vec > 1 && va >= 0 && acc->kind[va] != KN_STRIDE_ZERO;
}

static bool keeps_now(const writer *w, int i)
{
    return w->ph->values.data[i].kept == KN_KEEP_REGISTERS && w->need[i] && !w->loaded[i];
}

/* Declares <name>_at, this step's elements of a load, as a vector of vec elements. */
static void write_vector_load(writer *w, int i)
{
    const kn_value *v = &w->ph->values.data[i];
    const char *name = value_name(w, i), *buf = w->k->bufs.data[v->access.buf].name;
    if (v->access.vector || w->ph->vec == 1) {
        line(w, "const kn_vec<%s, %d> %s_at = kn_load<%d>(%s + (%s));", ctype(v->dtype), w->ph->vec,
             name, w->ph->vec, buf, offset(w, &v->access, 'v', i, NULL));
        return;
    }
    line(w, "kn_vec<%s, %d> %s_at;", ctype(v->dtype), w->ph->vec, name);
    kn_put(w->t, "#pragma unroll\n");
    line(w, "for (int l = 0; l < %d; ++l)", w->ph->vec);
    line(w, "    %s_at.at[l] = %s[%s];", name, buf, offset(w, &v->access, 'v', i, "l"));
}

/* The same for what is kept in shared memory: from there, once it is there. */
static void write_shared_load(writer *w, int i)
{
    const char *name = value_name(w, i), *t = ctype(w->ph->values.data[i].dtype);
    if (w->loaded[i]) {
        line(w, "const kn_vec<%s, %d> %s_at = %s_kept[i / %d];", t, w->ph->vec, name, name,
             w->ph->vec);
        return;
    }
    write_vector_load(w, i);
    line(w, "%s_kept[i / %d] = %s_at;", name, w->ph->vec, name);
}

/* Where the values kept in shared memory are, one array behind the other. */
static void declare_shared(writer *w)
{
    const char *at = "dynamic";
    for (int i = 0; i < w->ph->values.len; i++) {
        const kn_value *v = &w->ph->values.data[i];
        if (v->kept != KN_KEEP_SHARED)
            continue;
        const char *name = value_name(w, i),
                   *t = printed(w, "kn_vec<%s, %d>", ctype(v->dtype), w->ph->vec);
        line(w, "%s *const %s_kept = (%s *)(%s);", t, name, t, at);
        at = printed(w, "%s_kept + (members + %d) / %d", name, w->ph->vec - 1, w->ph->vec);
    }
}

/* A value that is kept in registers lives in <name>_kept[step] from the first sweep that needs it on. */
static void write_kept_loads(writer *w)
{
    const kn_phase *ph = w->ph;
    for (int i = 0; i < ph->values.len; i++) {
        const kn_value *v = &ph->values.data[i];
        if (!keeps_now(w, i))
            continue;
        const char *name = value_name(w, i), *buf = w->k->bufs.data[v->access.buf].name;
        if (v->access.vector) {
            line(w, "%s_kept[step] = kn_load<%d>(%s + (%s));", name, ph->vec, buf,
                 offset(w, &v->access, 'v', i, NULL));
            continue;
        }
        if (ph->vec > 1)
            kn_put(w->t, "#pragma unroll\n");
        line(w, "for (int l = 0; l < %d; ++l)", ph->vec);
        line(w, "    %s_kept[step].at[l] = %s[%s];", name, buf, offset(w, &v->access, 'v', i, "l"));
    }
}

/* Loads first, all of them, so that they are in flight together. */
static void write_loads(writer *w)
{
    for (int i = 0; i < w->ph->values.len; i++) {
        const kn_value *v = &w->ph->values.data[i];
        if (!w->need[i] || v->level != KN_ELEMENT || v->kind != KN_V_LOAD ||
            v->kept == KN_KEEP_REGISTERS)
            continue;
        if (v->kept == KN_KEEP_SHARED)
            write_shared_load(w, i);
        else if (v->access.vector)
            write_vector_load(w, i);
        else if (!varies_by_lane(w, &v->access))
            define_load(w, i, NULL);
    }
}

static void write_element_store(writer *w, int i)
{
    const kn_store *s = &w->ph->stores.data[i];
    bool lanes = varies_by_lane(w, &s->access);
    const char *guard = w->ph->walk == KN_WALK_COLS ? "live" : "";
    if (w->ph->vec > 1 && !lanes)
        guard = "l == 0";
    guard = once_condition(w, s, guard);
    if (*guard)
        line(w, "if (%s)", guard);
    line(w, "%s%s[%s] = %s;", *guard ? "    " : "", w->k->bufs.data[s->access.buf].name,
         offset(w, &s->access, 'o', i, lanes ? "l" : NULL), value_name(w, s->value));
}

static bool stores_now(writer *w, int i)
{
    const kn_store *s = &w->ph->stores.data[i];
    return s->kind == KN_STORE_ELEMENT && s->stage == w->sweep;
}

/* A vector store needs every lane, so it can't be one of the stores that only index 0 does. */
static bool vector_store(writer *w, int i)
{
    const kn_store *s = &w->ph->stores.data[i];
    return s->access.vector && !s->once && w->ph->walk != KN_WALK_COLS;
}

static void write_accumulation(writer *w, int r)
{
    const kn_red *red = &w->ph->reds.data[r];
    const char *x = value_name(w, red->value);
    if (red->op == KN_OP_MEAN)
        return; /* its VAR knows */
    if (red->op == KN_OP_VAR)
        line(w, "acc%d.add(%s - pilot%d);", r, x, r);
    else if (red->op == KN_OP_SUM && kn_is_float(red->dtype))
        line(w, "acc%d += %s;", r, x);
    else
        line(w, "acc%d = kn_%s::of(acc%d, %s);", r, kn_ops[red->op].text, r, x);
}

/* Does a phase of this kernel load what this access stores? If not, caches need not keep it. */
static bool read_again(const writer *w, const kn_access *acc)
{
    for (int p = 0; p < w->k->phases.len; p++)
        for (int i = 0; i < w->k->phases.data[p].values.len; i++) {
            const kn_value *v = &w->k->phases.data[p].values.data[i];
            if (v->kind == KN_V_LOAD && v->access.buf == acc->buf)
                return true;
        }
    return false;
}

static void write_step(writer *w)
{
    const kn_phase *ph = w->ph;
    write_loads(w);
    for (int i = 0; i < ph->stores.len; i++)
        if (stores_now(w, i) && vector_store(w, i))
            line(w, "kn_vec<%s, %d> o%d_at;",
                 ctype(w->k->bufs.data[ph->stores.data[i].access.buf].dtype), ph->vec, i);
    if (ph->vec > 1) {
        kn_put(w->t, "#pragma unroll\n");
        open(w, "for (int l = 0; l < %d; ++l)", ph->vec);
    }
    for (int i = 0; i < ph->values.len; i++) {
        const kn_value *v = &ph->values.data[i];
        if (!w->need[i] || v->level != KN_ELEMENT)
            continue;
        if (v->kind == KN_V_ELEM)
            define(w, i, expression(w, i));
        else if (v->kept == KN_KEEP_REGISTERS)
            define(w, i,
                   printed(w, "%s_kept[step].at[%s]", value_name(w, i), ph->vec > 1 ? "l" : "0"));
        else if (v->access.vector || v->kept == KN_KEEP_SHARED)
            define(w, i, printed(w, "%s_at.at[%s]", value_name(w, i), ph->vec > 1 ? "l" : "0"));
        else if (varies_by_lane(w, &v->access))
            define_load(w, i, "l");
    }
    for (int r = 0; r < ph->reds.len; r++)
        if (ph->reds.data[r].stage == w->sweep)
            write_accumulation(w, r);
    for (int i = 0; i < ph->stores.len; i++) {
        if (!stores_now(w, i))
            continue;
        if (vector_store(w, i))
            line(w, "o%d_at.at[l] = %s;", i, value_name(w, ph->stores.data[i].value));
        else
            write_element_store(w, i);
    }
    if (ph->vec > 1)
        close(w);
    for (int i = 0; i < ph->stores.len; i++)
        if (stores_now(w, i) && vector_store(w, i))
            line(w, "%s(%s + (%s), o%d_at);",
                 read_again(w, &ph->stores.data[i].access) ? "kn_store" : "kn_stream",
                 w->k->bufs.data[ph->stores.data[i].access.buf].name,
                 offset(w, &ph->stores.data[i].access, 'o', i, NULL), i);
}

/* ---- sweeps ---- */

/* Deviations are from the first member of the range, so that they are of the size of the spread. */
static void write_pilot(writer *w, int r)
{
    const kn_red *red = &w->ph->reds.data[r];
    bool *outer = w->need, *need = KN_NEW_ARRAY(w->t->arena, bool, w->ph->values.len + 1);
    line(w, "%s pilot%d = 0;", ctype(red->dtype), r);
    open(w, "if (members > 0)");
    line(w, "const kn_count i = begin;");
    decompose(w, w->ph->ngroup, w->ph->naxes, "i");
    kn_value_needs(w->ph, red->value, need);
    w->need = need;
    for (int i = 0; i < w->ph->values.len; i++) {
        const kn_value *v = &w->ph->values.data[i];
        if (!need[i] || v->level != KN_ELEMENT)
            continue;
        if (v->kind == KN_V_ELEM)
            define(w, i, expression(w, i));
        else
            define_load(w, i, NULL);
    }
    line(w, "pilot%d = %s;", r, value_name(w, red->value));
    close(w);
    w->need = outer;
}

static void write_accumulator(writer *w, int r)
{
    const kn_red *red = &w->ph->reds.data[r];
    if (red->op == KN_OP_MEAN)
        return;
    if (red->op == KN_OP_VAR) {
        write_pilot(w, r);
        line(w, "kn_moments<%s> acc%d = {0, 0, 0};", ctype(red->dtype), r);
        return;
    }
    line(w, "%s acc%d = %s;", ctype(red->dtype), r, literal(w, kn_identity(red->op, red->dtype)));
}

static void write_combine(writer *w, int r)
{
    const kn_red *red = &w->ph->reds.data[r];
    const char *t = ctype(red->dtype), *op = kn_ops[red->op].text, *id, *result;
    if (red->op == KN_OP_MEAN) {
        int of = kn_red_moments(w->ph, r);
        line(w, "const %s r%d = (%s)pilot%d + (%s)m%d.mean;", t, r, t, of, t, of);
        return;
    }
    bool moments = red->op == KN_OP_VAR;
    id = moments ? printed(w, "kn_moments<%s>{0, 0, 0}", t)
                 : literal(w, kn_identity(red->op, red->dtype));
    result =
        moments ? printed(w, "const kn_moments<%s> m%d", t, r) : printed(w, "const %s r%d", t, r);
    if (w->ph->walk == KN_WALK_COLS)
        line(w, "%s = kn_combine_rows<kn_%s, %d>(acc%d, %s, scratch);", result, op,
             w->k->threads / 32, r, id);
    else if (w->ph->tpg > 32)
        line(w, "%s = kn_combine_block<kn_%s, %d>(acc%d, %s, scratch);", result, op, w->k->threads,
             r, id);
    else
        line(w, "%s = kn_combine_lanes<kn_%s, %d>(acc%d);", result, op, w->ph->tpg, r);
    if (moments)
        line(w, "const %s r%d = m%d.m2;", t, r, r);
}

/* How a sweep steps through the members: `first`, first + step, ... below `end`. */
typedef struct stride {
    const char *first, *end, *step;
} stride;

/* Steps to unroll so that a thread has about 64 bytes of loads on their way. */
static int unrolling(writer *w)
{
    int bytes = 0, steps = 1;
    for (int i = 0; i < w->ph->values.len; i++) {
        const kn_value *v = &w->ph->values.data[i];
        if (w->need[i] && v->level == KN_ELEMENT && v->kind == KN_V_LOAD && !w->loaded[i])
            bytes += kn_bytes(v->dtype) * w->ph->vec;
    }
    while (steps < 8 && steps * 2 * bytes <= 64)
        steps *= 2;
    return steps;
}

/* Every other sweep walks backwards: the members it meets first are the ones that the sweep before touched
 * last, and may still be in a cache. */
static void write_loop(writer *w, const stride *by)
{
    kn_putf(w->t, "#pragma unroll %d\n", unrolling(w));
    if (w->sweep % 2 == 0) {
        open(w, "for (kn_count i = %s; i < %s; i += %s)", by->first, by->end, by->step);
    } else {
        open(w, "for (kn_count i = kn_walk_end(%s, %s, %s); i != %s; )", by->first, by->end,
             by->step, by->first);
        line(w, "i -= %s;", by->step);
    }
    decompose(w, w->ph->ngroup, w->ph->naxes, "i");
    write_step(w);
    close(w);
    for (int i = 0; i < w->ph->values.len; i++)
        w->loaded[i] = w->loaded[i] || (w->need[i] && w->ph->values.data[i].kept == KN_KEEP_SHARED);
}

/* A known number of steps, unrolled; `body` writes one. */
static void write_unrolled(writer *w, const stride *by, void (*body)(writer *w))
{
    kn_put(w->t, "#pragma unroll\n");
    open(w, "for (int step = 0; step < %d; ++step)", w->ph->steps);
    line(w, "const kn_count i = %s + (kn_count)step * %s;", by->first, by->step);
    open(w, "if (i < %s)", by->end);
    decompose(w, w->ph->ngroup, w->ph->naxes, "i");
    body(w);
    close(w);
    close(w);
}

/* Before the first sweep that needs them, the values to keep are loaded, all steps at once. */
static void write_steps(writer *w, const stride *by)
{
    bool loads = false;
    for (int i = 0; i < w->ph->values.len; i++) {
        const kn_value *v = &w->ph->values.data[i];
        if (!keeps_now(w, i))
            continue;
        loads = true;
        line(w, "kn_vec<%s, %d> %s_kept[%d];", ctype(v->dtype), w->ph->vec, value_name(w, i),
             w->ph->steps);
    }
    if (loads)
        write_unrolled(w, by, write_kept_loads);
    for (int i = 0; i < w->ph->values.len; i++)
        w->loaded[i] = w->loaded[i] || keeps_now(w, i);
    write_unrolled(w, by, write_step);
}

static void write_sweep(writer *w, int t, const stride *by)
{
    const kn_phase *ph = w->ph;
    w->sweep = t;
    kn_phase_needs(ph, t, w->need);
    line(w, "// sweep %d", t);
    for (int r = 0; r < ph->reds.len; r++)
        if (ph->reds.data[r].stage == t)
            write_accumulator(w, r);
    if (ph->steps)
        write_steps(w, by);
    else
        write_loop(w, by);
    for (int mean = 0; mean < 2; mean++) /* a MEAN is part of its VAR's combine */
        for (int r = 0; r < ph->reds.len; r++)
            if (ph->reds.data[r].stage == t && (ph->reds.data[r].op == KN_OP_MEAN) == mean)
                write_combine(w, r);
}

static int last_stage(const kn_phase *ph)
{
    int last = ph->nsweeps;
    for (int i = 0; i < ph->stores.len; i++)
        if (ph->stores.data[i].stage > last)
            last = ph->stores.data[i].stage;
    return last;
}

static void write_sweeps(writer *w, const stride *by, const char *leader)
{
    for (int t = 0; t <= last_stage(w->ph); t++) {
        write_group_values(w, t);
        write_group_stores(w, t, leader);
        if (t < w->ph->nsweeps)
            write_sweep(w, t, by);
    }
}

/* ---- walks ---- */

static void write_flat(writer *w)
{
    const kn_phase *ph = w->ph;
    line(w, "const kn_count members = %s;", extent_product(w, 0, ph->naxes));
    stride by = {
        printed(w, "((kn_count)blockIdx.x * %d + threadIdx.x) * %d", w->k->threads, ph->vec),
        "members", printed(w, "(kn_count)gridDim.x * %d", w->k->threads * ph->vec)};
    write_sweeps(w, &by, "blockIdx.x == 0 && threadIdx.x == 0");
}

/* The range of members that a (group, split) works on. */
static void write_range(writer *w, const char *live)
{
    if (!w->ph->split) {
        line(w, "const kn_count begin = 0, end = %s;",
             *live ? printed(w, "%s ? members : 0", live) : "members");
        return;
    }
    line(w, "const kn_count begin = split * (kn_count)p%d_chunk;", w->p);
    line(
        w,
        "const kn_count limit = begin + (kn_count)p%d_chunk < members ? begin + (kn_count)p%d_chunk : members;",
        w->p, w->p);
    line(w, "const kn_count end = %s;", *live ? printed(w, "%s ? limit : 0", live) : "limit");
}

static void write_rows(writer *w)
{
    const kn_phase *ph = w->ph;
    int tpg = ph->tpg, per_block = w->k->threads / tpg;
    line(w, "const kn_count groups = %s, members = %s;", extent_product(w, 0, ph->ngroup),
         extent_product(w, ph->ngroup, ph->naxes));
    declare_shared(w);
    if (ph->split)
        line(w, "const kn_count work = groups * (kn_count)p%d_splits;", w->p);
    else
        line(w, "const kn_count work = groups;");
    if (per_block > 1)
        line(w, "const int lane = threadIdx.x %% %d, row = threadIdx.x / %d;", tpg, tpg);
    else
        line(w, "const int lane = threadIdx.x;");
    open(
        w,
        "for (kn_count first = (kn_count)blockIdx.x * %d; first < work; first += (kn_count)gridDim.x * %d)",
        per_block, per_block);
    if (per_block > 1) { /* every thread takes part in every combine, live or not */
        line(w, "const bool live = first + row < work;");
        line(w, "const kn_count item = live ? first + row : work - 1;");
    } else {
        line(w, "const kn_count item = first;");
    }
    if (ph->split) {
        line(
            w,
            "const kn_count g = item / (kn_count)p%d_splits, split = item - g * (kn_count)p%d_splits;",
            w->p, w->p);
    } else {
        line(w, "const kn_count g = item;");
    }
    decompose(w, 0, ph->ngroup, "g");
    const char *live = per_block > 1 ? "live" : "";
    write_range(w, live);
    stride by = {printed(w, "(begin + (kn_count)lane * %d)", ph->vec), "end",
                 printed(w, "(kn_count)%d", tpg * ph->vec)};
    write_sweeps(w, &by, per_block > 1 ? "live && lane == 0" : "lane == 0");
    close(w);
}

static void write_cols(writer *w)
{
    const kn_phase *ph = w->ph;
    line(w, "const kn_count groups = %s, members = %s;", extent_product(w, 0, ph->ngroup),
         extent_product(w, ph->ngroup, ph->naxes));
    line(w, "const kn_count tiles = (groups + 31) / 32;");
    line(w, "const int column = threadIdx.x %% 32, row = threadIdx.x / 32;");
    const char *work = ph->split ? printed(w, "tiles * (kn_count)p%d_splits", w->p) : "tiles";
    open(w, "for (kn_count item = blockIdx.x; item < %s; item += gridDim.x)", work);
    if (ph->split)
        line(w, "const kn_count split = item / tiles, tile = item - split * tiles;");
    else
        line(w, "const kn_count tile = item;");
    line(w, "const bool live = tile * 32 + column < groups;");
    line(w, "const kn_count g = live ? tile * 32 + column : groups - 1;");
    decompose(w, 0, ph->ngroup, "g");
    write_range(w, "");
    stride by = {"(begin + row)", "end", printed(w, "(kn_count)%d", w->k->threads / 32)};
    write_sweeps(w, &by, "live && row == 0");
    close(w);
}

/* ---- the kernel ---- */

static int scratch_bytes(const kn_kernel *k)
{
    int bytes = 0;
    for (int i = 0; i < k->phases.len; i++) {
        const kn_phase *ph = &k->phases.data[i];
        int values = ph->walk == KN_WALK_COLS ? k->threads : ph->tpg > 32 ? 32 : 0;
        for (int r = 0; r < ph->reds.len; r++) {
            int size =
                kn_bytes(ph->reds.data[r].dtype) * (ph->reds.data[r].op == KN_OP_VAR ? 3 : 1);
            bytes = values * size > bytes ? values * size : bytes;
        }
    }
    return bytes;
}

static void write_signature(writer *w)
{
    const kn_kernel *k = w->k;
    int n = kn_kernel_params(k, NULL, NULL, 0);
    kn_param *ps = KN_NEW_ARRAY(w->t->arena, kn_param, n + 1);
    kn_kernel_params(k, w->t->arena, ps, n);
    kn_putf(w->t, "extern \"C\" __global__ void __launch_bounds__(%d)\n%s(", k->threads, k->name);
    for (int i = 0; i < n; i++) {
        kn_putf(w->t, "%s", i ? ",\n    " : "");
        const kn_buf *b = ps[i].kind == KN_PARAM_BUF ? &k->bufs.data[ps[i].index] : NULL;
        switch (ps[i].kind) {
        case KN_PARAM_BUF: /* temporaries and outputs are read again after other blocks wrote them */
            kn_putf(w->t, b->kind == KN_BUF_INPUT ? "const %s *__restrict__ %s" : "%s *%s",
                    ctype(b->dtype), b->name);
            break;
        case KN_PARAM_SCALAR: kn_putf(w->t, "const %s %s", ctype(ps[i].dtype), ps[i].name); break;
        case KN_PARAM_EXTENT: kn_putf(w->t, "const long long %s", ps[i].name); break;
        case KN_PARAM_INDEX: kn_putf(w->t, "const kn_index %s", ps[i].name); break;
        case KN_PARAM_BARRIER: kn_putf(w->t, "unsigned *%s", ps[i].name); break;
        }
    }
    kn_put(w->t, ")\n{\n");
}

static void describe_phase(writer *w)
{
    const kn_phase *ph = w->ph;
    kn_putf(w->t, "    // phase %d, %s:", w->p, ph->name);
    for (int a = 0; a < ph->naxes; a++)
        kn_putf(w->t, "%s%s",
                a == 0 && ph->ngroup ? " groups "
                : a == ph->ngroup    ? " members "
                                     : " x ",
                ph->axes[a].name);
    kn_put(w->t, "\n");
}

void kn_cuda_kernel(kn_text *t, const kn_kernel *k)
{
    writer w = {.t = t, .k = k, .indent = 1};
    kn_putf(t, "typedef %s kn_index;\ntypedef %s kn_count;\n\n", k->wide ? "long long" : "int",
            k->wide ? "unsigned long long" : "unsigned");
    write_signature(&w);
    if (scratch_bytes(k))
        line(&w, "__shared__ alignas(16) unsigned char scratch[%d];", scratch_bytes(k));
    if (k->shared)
        line(&w, "extern __shared__ uint4 dynamic[];");
    for (w.p = 0; w.p < k->phases.len; w.p++) {
        w.ph = &k->phases.data[w.p];
        w.need = KN_NEW_ARRAY(t->arena, bool, w.ph->values.len + 1);
        w.loaded = KN_NEW_ARRAY(t->arena, bool, w.ph->values.len + 1);
        if (w.ph->barrier)
            line(&w, "kn_grid_barrier(barrier);");
        describe_phase(&w);
        line(&w, "{");
        w.indent++;
        switch (w.ph->walk) {
        case KN_WALK_FLAT: write_flat(&w); break;
        case KN_WALK_ROWS: write_rows(&w); break;
        case KN_WALK_COLS: write_cols(&w); break;
        }
        close(&w);
    }
    kn_put(t, "}\n");
}

const char *kn_cuda_source(kn_arena *a, const kn_kernel *k)
{
    kn_text t = kn_text_new(a);
    kn_put(&t, kn_prelude_prelude);
    kn_put(&t, "\n// ---- the kernel ----\n\n");
    kn_cuda_kernel(&t, k);
    return kn_text_str(&t);
}
