/* Lines, names, literals and indices of a kernel's text. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "codegen/emit/cuda/writer.h"

static void put_line(kn_cuda_writer *w, const char *fmt, va_list ap, const char *end)
{
    kn_putf(w->t, "%*s", w->indent * 4, "");
    kn_putv(w->t, fmt, ap);
    kn_put(w->t, end);
}

void kn_cuda_line(kn_cuda_writer *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_line(w, fmt, ap, "\n");
    va_end(ap);
}

void kn_cuda_open(kn_cuda_writer *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    put_line(w, fmt, ap, " {\n");
    va_end(ap);
    w->indent++;
}

void kn_cuda_block(kn_cuda_writer *w, const char *comment)
{
    kn_cuda_line(w, "{%s%s", *comment ? " // " : "", comment);
    w->indent++;
}

void kn_cuda_close_as(kn_cuda_writer *w, const char *brace)
{
    w->indent--;
    kn_cuda_line(w, "%s", brace);
}

void kn_cuda_close(kn_cuda_writer *w) { kn_cuda_close_as(w, "}"); }

void kn_cuda_guarded(kn_cuda_writer *w, const char *condition, const char *statement)
{
    if (*condition)
        kn_cuda_line(w, "if (%s)", condition);
    kn_cuda_line(w, "%s%s", *condition ? "    " : "", statement);
}

void kn_cuda_open_each(kn_cuda_writer *w, const char *i, int n)
{
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_open(w, "for (int %s = 0; %s < %d; ++%s)", i, i, n, i);
}

void kn_cuda_open_each_of(kn_cuda_writer *w, const char *i, int n, int by)
{
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_open(w, "for (int %s = 0; %s < %d; %s += %d)", i, i, n, i, by);
}

void kn_cuda_each(kn_cuda_writer *w, const char *i, int n, const char *statement)
{
    kn_put(w->t, "#pragma unroll\n");
    kn_cuda_line(w, "for (int %s = 0; %s < %d; ++%s)", i, i, n, i);
    kn_cuda_line(w, "    %s", statement);
}

const char *kn_cuda_block_times(kn_cuda_writer *w, int n)
{
    if (!w->k->bound)
        return kn_cuda_printed(w, "%d", w->k->threads * n);
    return n == 1 ? "blockDim.x" : kn_cuda_printed(w, "(blockDim.x * %d)", n);
}

const char *kn_cuda_type(kn_dtype t) { return kn_dtypes[t].cuda; }

const char *kn_cuda_printed(kn_cuda_writer *w, const char *fmt, ...)
{
    kn_text t = kn_text_new(w->t->arena);
    va_list ap;
    va_start(ap, fmt);
    kn_putv(&t, fmt, ap);
    va_end(ap);
    return kn_text_str(&t);
}

const char *kn_cuda_value(kn_cuda_writer *w, int i) { return kn_value_name(w->t->arena, w->ph, i); }

void kn_cuda_find_wide(kn_cuda_writer *w)
{
    const kn_phase *ph = w->ph;
    int va = kn_phase_vector_axis(ph);
    w->wide = KN_NEW_ARRAY(w->t->arena, bool, ph->nest.values.len + 1);
    w->broadcast = KN_NEW_ARRAY(w->t->arena, bool, ph->nest.values.len + 1);
    bool *differs = ph->how.packed ? w->broadcast : w->wide;
    for (int i = 0; i < ph->nest.values.len && kn_vector_has_groups(ph); i++) {
        const kn_value *v = &ph->nest.values.data[i];
        int local;
        if (v->level != KN_GROUP)
            continue;
        if (kn_has_access(v))
            differs[i] = v->access->kind[ph->how.packed ? 0 : va] != KN_STRIDE_ZERO;
        else if (v->kind == KN_V_LOCAL)
            differs[i] = kn_local_export(w->k, w->p, v->index, &local) &&
                         w->k->phases.data[local].nest.ngroup > 0;
        else
            differs[i] = v->kind == KN_V_RESULT;
        for (int k = 0; k < v->nin; k++)
            differs[i] = differs[i] || differs[v->in[k]];
    }
}

const char *kn_cuda_operand_of_lane(kn_cuda_writer *w, int i, const char *lane)
{
    const char *name = kn_cuda_value(w, i);
    if (w->in_step && w->broadcast[i])
        return kn_cuda_broadcast_value(w, i, lane);
    return w->wide[i] ? kn_cuda_printed(w, "%s[%s]", name, lane) : name;
}

const char *kn_cuda_operand(kn_cuda_writer *w, int i)
{
    return w->paired && w->paired[i] ? kn_cuda_printed(w, "%s.at[l - pair]", kn_cuda_value(w, i))
                                     : kn_cuda_operand_of_lane(w, i, "l");
}

void kn_cuda_open_groups(kn_cuda_writer *w)
{
    if (!kn_vector_has_groups(w->ph))
        return;
    kn_cuda_open_each(w, "l", w->ph->how.vec);
}

void kn_cuda_close_groups(kn_cuda_writer *w)
{
    if (kn_vector_has_groups(w->ph))
        kn_cuda_close(w);
}

void kn_cuda_declare(kn_cuda_writer *w, bool constant, const char *type, const char *name,
                     bool wide, const char *value)
{
    if (!wide) {
        kn_cuda_line(w, "%s%s %s = %s;", constant ? "const " : "", type, name, value);
        return;
    }
    kn_cuda_line(w, "%s %s[%d];", type, name, w->ph->how.vec);
    kn_cuda_open_groups(w);
    kn_cuda_line(w, "%s[l] = %s;", name, value);
    kn_cuda_close_groups(w);
}

static const char *integer_literal(kn_cuda_writer *w, kn_scalar v)
{
    const char *type = kn_cuda_type(v.dtype);
    switch (v.dtype) {
    case KN_BOOL: return v.i ? "true" : "false";
    case KN_I32: /* the smallest int has no decimal literal */
        return kn_cuda_printed(w, "(int)0x%08xu", (unsigned)(uint32_t)v.i);
    case KN_I64:
        if (v.i > -1000000 && v.i < 1000000)
            return kn_cuda_printed(w, "%lldLL", (long long)v.i);
        return kn_cuda_printed(w, "(long long)0x%016llxull", (unsigned long long)v.i);
    case KN_U64: return kn_cuda_printed(w, "%lluull", (unsigned long long)v.i);
    default: return kn_cuda_printed(w, "(%s)%lld", type, (long long)v.i);
    }
}

const char *kn_cuda_literal(kn_cuda_writer *w, kn_scalar v)
{
    if (kn_is_complex(v.dtype)) {
        const kn_dtype t = kn_real_of(v.dtype);
        return kn_cuda_printed(w, "%s{%s, %s}", kn_cuda_type(v.dtype),
                               kn_cuda_literal(w, (kn_scalar){.dtype = t, .f = v.f}),
                               kn_cuda_literal(w, (kn_scalar){.dtype = t, .f = v.im}));
    }
    if (!kn_is_float(v.dtype))
        return integer_literal(w, v);
    if (kn_is_half(v.dtype)) {
        uint16_t bits;
        kn_scalar_store(v, &bits);
        return kn_cuda_printed(w, "%s{0x%04x}", kn_cuda_type(v.dtype), bits);
    }
    const char *cast = v.dtype == KN_F32 ? "(float)" : "";
    if (isnan(v.f))
        return kn_cuda_printed(w, "%sKN_NAN", cast);
    if (isinf(v.f))
        return kn_cuda_printed(w, "(%s%sKN_INF)", v.f < 0 ? "-" : "", cast);
    const char *digits = kn_cuda_printed(w, v.dtype == KN_F32 ? "%.9g" : "%.17g", v.f);
    const char *point = strpbrk(digits, ".e") ? "" : ".0";
    return kn_cuda_printed(w, signbit(v.f) ? "(%s%s%s)" : "%s%s%s", digits, point,
                           v.dtype == KN_F32 ? "f" : "");
}

/* ---- indices ---- */

/* An access whose offset is written: of value or store i, by lane `lane` along the vector axis unless that is NULL. */
typedef struct offset_of {
    const kn_access *acc;
    char kind;
    int i;
    const char *lane;
    bool of_column, of_member; /* interleaved: it is of the column's number, or of the member's */
} offset_of;

static const char *stride_along(kn_cuda_writer *w, const offset_of *o, int a)
{
    return kn_cuda_printed(w, "p%d_%c%d_stride%d", w->p, o->kind, o->i, a);
}

/* The index along axis a of its lane, which begins at `first`. */
static const char *index_along(kn_cuda_writer *w, const offset_of *o, int a, const char *first)
{
    const int va = kn_phase_vector_axis(w->ph);
    const char *lane = o->lane;
    if (w->ph->how.packed && o->acc->kind[va] == KN_STRIDE_ZERO)
        return kn_cuda_printed(w, "(%s + (kn_index)my_group)", first);
    if (a == va && o->of_column)
        return kn_cuda_printed(w, "columns[%s]", lane ? lane : "0");
    if (a == w->ph->nest.naxes - 1 && o->of_member)
        return kn_cuda_printed(w, "(%s + rows[%s])", first, lane ? lane : "0");
    return a == va && lane ? kn_cuda_printed(w, "(%s + %s)", first, lane) : first;
}

/* Up to which of the axes that have quotients in scope the access varies, if along all of them to there, and two at least;
 * else -1. */
static int last_carried(const kn_cuda_writer *w, const kn_access *acc)
{
    int a = w->quotients_from;
    while (a < w->quotients_to && acc->kind[a] != KN_STRIDE_ZERO)
        a++;
    const bool more = kn_access_varies(acc, a, w->quotients_to);
    return more || a - w->quotients_from < 2 ? -1 : a - 1;
}

/* What the axes up to `last` add to the offset, from quotients without remainders: where index a is q[a + 1] - q[a] * n[a], the
 * sum of index * stride is that of q[a + 1] * (stride[a] - n[a + 1] * stride[a + 1]). The products may wrap around, the sum
 * is an offset. A lane's part is added to that, so that compilers know how far apart lanes are. */
static const char *carried_offset(kn_cuda_writer *w, const offset_of *o, int last)
{
    kn_text t = kn_text_new(w->t->arena);
    const int va = kn_phase_vector_axis(w->ph);
    const bool by_lane = last == va && last == w->quotients_to - 1 && o->lane && !o->of_column;
    const offset_of first = {o->acc,       o->kind,     o->i, by_lane ? NULL : o->lane,
                             o->of_column, o->of_member};
    for (int a = last; a >= w->quotients_from; a--) {
        const kn_stride_kind kind = o->acc->kind[a];
        const bool linear = a == w->quotients_to - 1;
        kn_put(&t, a < last ? " + " : "");
        kn_put(&t, linear ? index_along(w, &first, a, w->quotients_of)
                          : kn_cuda_printed(w, "q%d", a + 1));
        if (a < last)
            kn_putf(&t, " * (%s - (kn_count)p%d_n%d%s%s)",
                    kind == KN_STRIDE_ONE ? "1" : stride_along(w, o, a), w->p, a + 1,
                    o->acc->kind[a + 1] == KN_STRIDE_ONE ? "" : " * ",
                    o->acc->kind[a + 1] == KN_STRIDE_ONE ? "" : stride_along(w, o, a + 1));
        else if (kind == KN_STRIDE_PARAM)
            kn_putf(&t, " * %s", stride_along(w, o, a));
    }
    const char *of_first = kn_cuda_printed(w, "(kn_index)(%s)", kn_text_str(&t));
    return !by_lane ? of_first
           : o->acc->kind[last] == KN_STRIDE_PARAM
               ? kn_cuda_printed(w, "%s + %s * %s", of_first, o->lane, stride_along(w, o, last))
               : kn_cuda_printed(w, "%s + %s", of_first, o->lane);
}

/* "a0 * p0_v3_stride0 + a1" */
static void put_axes(kn_cuda_writer *w, kn_text *t, const offset_of *o)
{
    const int last = last_carried(w, o->acc);
    for (int a = 0; a < w->ph->nest.naxes; a++) {
        if (o->acc->kind[a] == KN_STRIDE_ZERO)
            continue;
        kn_put(t, t->len ? " + " : "");
        if (a == w->quotients_from && last >= 0) {
            kn_put(t, carried_offset(w, o, last));
            a = last;
            continue;
        }
        kn_put(t, index_along(w, o, a, kn_cuda_printed(w, "a%d", a)));
        if (o->acc->kind[a] == KN_STRIDE_PARAM)
            kn_putf(t, " * %s", stride_along(w, o, a));
    }
}

const char *kn_cuda_offset(kn_cuda_writer *w, const kn_access *acc, char kind, int i,
                           const char *lane)
{
    kn_text t = kn_text_new(w->t->arena);
    const int va = kn_phase_vector_axis(w->ph);
    const bool linear =
        (kind == 'v' ? kn_transfer_of(w->ph, i) : kn_transfer_of_store(w->ph, i))->linear;
    if (acc->shifted)
        kn_putf(&t, "p%d_%c%d_offset", w->p, kind, i);
    if (linear) {
        kn_putf(&t, lane ? "%s(kn_index)(i + %s)" : "%s(kn_index)i", t.len ? " + " : "", lane);
        return kn_text_str(&t);
    }
    /* interleaved: what is not of elements is of the column's number */
    const bool of_column =
        w->ph->how.interleaved &&
        (w->in_first_member || (kind == 'v' ? kn_value_at(w->ph, i)->level == KN_GROUP
                                            : w->ph->nest.stores.data[i].kind != KN_STORE_ELEMENT));
    const bool of_member = w->ph->how.interleaved && !of_column && acc->kind[va] == KN_STRIDE_ZERO;
    /* of linear vectors each lane has indices of its own */
    const offset_of o = {acc, kind, i, w->ph->how.linear ? NULL : lane, of_column, of_member};
    put_axes(w, &t, &o);
    return t.len ? kn_text_str(&t) : "0";
}

/* From the last axis to the first: index = rest % extent, rest /= extent. */
void kn_cuda_decompose(kn_cuda_writer *w, int from, int to, const char *linear)
{
    if (from == to)
        return;
    if (from >= w->ph->nest.ngroup) {
        w->quotients_from = from;
        w->quotients_to = to;
        w->quotients_of = linear;
    }
    if (to - from == 1) {
        kn_cuda_line(w, "const kn_index a%d = (kn_index)%s;", from, linear);
        return;
    }
    const char *rest = linear;
    for (int a = to - 1; a > from; a--) {
        const char *next = kn_cuda_printed(w, "q%d", a);
        if (w->k->wide)
            kn_cuda_line(w, "const kn_count %s = %s / (kn_count)p%d_n%d;", next, rest, w->p, a);
        else
            kn_cuda_line(w,
                         "const kn_count %s = kn_quotient(%s, p%d_n%d_multiplier, p%d_n%d_shift);",
                         next, rest, w->p, a, w->p, a);
        kn_cuda_line(w, "const kn_index a%d = (kn_index)(%s - %s * (kn_count)p%d_n%d);", a, rest,
                     next, w->p, a);
        rest = next;
    }
    kn_cuda_line(w, "const kn_index a%d = (kn_index)%s;", from, rest);
}

const char *kn_cuda_extents(kn_cuda_writer *w, int from, int to)
{
    kn_text t = kn_text_new(w->t->arena);
    for (int a = from; a < to; a++)
        kn_putf(&t, "%s(kn_count)p%d_n%d", a > from ? " * " : "", w->p, a);
    return to > from ? kn_text_str(&t) : "(kn_count)1";
}

/* ---- values ---- */

const char *kn_cuda_broadcast_value(kn_cuda_writer *w, int i, const char *lane)
{
    return kn_cuda_printed(w, "%s_broadcast%d[%s]", kn_cuda_value(w, i), w->sweep, lane);
}
