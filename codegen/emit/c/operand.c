/* Values as expressions of a loop: from memory, from an array, by a name, or by an operation. */
#include "codegen/emit/c/writer.h"
#include "codegen/kir/below_max.h"

const char *kn_c_element(kn_c_writing *g, int v)
{
    kn_c_writer *w = g->w;
    if (w->copy[v] >= 0)
        return kn_c_printed(w, "p%d[l]", v);
    return kn_c_printed(
        w, "p%d[%s]", v,
        kn_c_subscript(w, kn_c_access(w->ph, v), kn_c_number_of(w->ph, false, v), "l"));
}

bool kn_c_in_row(const kn_c_writing *g, int v)
{
    return g->w->kept[v] >= 0 && (g->l.array[v] || kn_c_is_kept(g->w, v, g->l.stage));
}

/* "[l]": a lane of its array. */
const char *kn_c_at_lane(const kn_c_writing *g, int v)
{
    if (!g->w->members || !kn_c_in_row(g, v))
        return "[l]";
    if (g->w->over[v] < 0)
        return "[l + m * lanes]";
    return kn_c_printed(g->w, "[l + m * step%d]",
                        kn_c_member_stride(g->w->ph, true, g->w->over[v]));
}

/* The value in loop `loop`, where `l` is the lane. */
const char *kn_c_operand(kn_c_writing *g, int v, int loop)
{
    kn_c_writer *w = g->w;
    const kn_value *value = kn_c_value_at(g, v);
    switch (g->l.way[v]) {
    case KN_C_SAME: return kn_c_value(w, v);
    case KN_C_READ: return g->loaded[v] ? kn_c_value(w, v) : kn_c_element(g, v);
    case KN_C_INLINE: return g->l.loop[v] == loop ? kn_c_value(w, v) : kn_c_printed(w, "a%d[l]", v);
    case KN_C_CALLED: return kn_c_printed(w, "a%d[l]", v);
    default: break;
    }
    if (value->kind == KN_V_CONST)
        return kn_c_literal(w, value->value);
    if (!kn_c_is_fixed(value) && (w->lane[v] || kn_c_is_kept(w, v, g->l.stage)))
        return kn_c_printed(w, "a%d%s", v, kn_c_at_lane(g, v));
    return kn_c_value(w, v);
}

/* Is it one value for all lanes of the function, and members? */
static bool is_uniform(const kn_c_writing *g, int v)
{
    const kn_value *value = kn_c_value_at(g, v);
    if (g->l.way[v] != KN_C_ELSEWHERE)
        return g->l.way[v] == KN_C_SAME;
    return kn_c_is_fixed(value) || (!g->w->lane[v] && !kn_c_is_kept(g->w, v, g->l.stage));
}

/* Of short rows other work hides the divisions of f32. */
bool kn_c_divides(const kn_c_writing *g, int i, kn_dtype type)
{
    const kn_value *v = kn_c_value_at(g, i);
    return !g->l.group &&
           (type == KN_F64 || (g->w->mode != KN_C_SHORT && kn_c_is_wide(g->w->ph))) &&
           g->l.way[i] == KN_C_INLINE && v->kind == KN_V_ELEM && v->op == KN_OP_DIV &&
           v->dtype == type && is_uniform(g, v->in[1]);
}

int kn_c_compared_lane(const kn_c_writing *g, int i)
{
    kn_c_writer *w = g->w;
    const kn_value *v = kn_c_value_at(g, i);
    const bool compares = v->kind == KN_V_ELEM && v->op >= KN_OP_LT && v->op <= KN_OP_NE;
    if (!compares || g->l.group || w->members || g->l.way[i] != KN_C_INLINE)
        return -1;
    for (int k = 0; k < 2; k++) {
        const int at = v->in[k];
        const kn_value *index = kn_c_value_at(g, at);
        if (index->kind == KN_V_INDEX && index->dtype == KN_I64 && g->l.way[at] == KN_C_INLINE &&
            is_uniform(g, v->in[1 - k]) && index->access->kind[w->axis] == KN_STRIDE_ONE)
            return k;
    }
    return -1;
}

/* Such a comparison. */
static const char *comparison(kn_c_writing *g, int i)
{
    const int k = kn_c_compared_lane(g, i);
    const char *in[2];
    if (k < 0)
        return NULL;
    in[k] = g->by_j ? "(i32)(from + j)" : "(i32)l";
    in[1 - k] = kn_c_printed(g->w, "place%d", i);
    return kn_c_op(g->w->a, kn_c_value_at(g, i)->op, KN_I32, KN_BOOL, in);
}

bool kn_c_can_be_quick(const kn_c_writing *g, int loop)
{
    for (int i = 0; i < g->w->ph->nest.values.len && kn_c_by_rows(g->w); i++)
        if (g->l.loop[i] == loop && kn_c_divides(g, i, KN_F64))
            return !kn_c_adds(g, loop) && !g->w->masked;
    return false;
}

/* x / y by products, to the bit; NULL: it takes a division. */
static const char *quotient(kn_c_writing *g, int i, const char *x, const char *y)
{
    const kn_value *v = kn_c_value_at(g, i), *by = kn_c_value_at(g, v->in[v->nin - 1]);
    const char *product = NULL;
    if (v->op != KN_OP_DIV)
        return NULL;
    if (v->dtype == KN_F32 && by->kind == KN_V_CONST)
        product = kn_c_quotient(g->w->a, x, by->value.f);
    if (product)
        return product;
    if (kn_c_divides(g, i, KN_F32))
        return kn_c_printed(g->w, "KN_QUOTIENT(%s, %s, by%d)", x, y, v->in[1]);
    if (g->quick && kn_c_divides(g, i, KN_F64)) {
        kn_c_line(g->w, "odd |= kn_is_odd(%s);", x);
        return kn_c_printed(g->w, "kn_quotient64(%s, %s, by%d)", x, y, v->in[1]);
    }
    return NULL;
}

/* An extreme of a float and a constant; else NULL. */
static const char *limit(kn_c_writing *g, const kn_value *v, const char *const *in)
{
    for (int k = 0; k < 2 && v->nin == 2 && v->kind == KN_V_ELEM; k++) {
        const kn_value *c = kn_c_value_at(g, v->in[k]);
        const bool is_hidden = g->hidden && g->hidden[v->in[k]];
        const char *text =
            c->kind == KN_V_CONST && kn_is_float(v->dtype)
                ? kn_c_limit(g->w->a, v->op, in[1 - k], c->value,
                             is_hidden ? kn_c_printed(g->w, "limit%d", v->in[k]) : in[k])
                : NULL;
        if (text)
            return text;
    }
    return NULL;
}

/* Is it the logarithm of a softmax's sum, in which the maximum adds exp(0)? */
static bool is_log_of_sum(const kn_phase *p, const kn_value *v)
{
    const kn_value *sum = kn_is_elem(v, KN_OP_LOG) ? &p->nest.values.data[v->in[0]] : NULL;
    if (!sum || sum->kind != KN_V_RESULT)
        return false;
    const kn_subtracted_max of = kn_find_subtracted_max(p, sum->index);
    return of.red >= 0 && of.finite < 0;
}

/* Not above 0: a value less the maximum of its group, also less the logarithm of their sum, and the negative of what has no sign. */
static kn_c_sign sign_of(const kn_c_writing *g, int v)
{
    const kn_value *value = kn_c_value_at(g, v);
    if (value->kind != KN_V_ELEM)
        return KN_C_ANY;
    if (value->op == KN_OP_EXP || value->op == KN_OP_ABS)
        return KN_C_UNSIGNED;
    if (value->op == KN_OP_NEG && sign_of(g, value->in[0]) == KN_C_UNSIGNED)
        return KN_C_BELOW;
    if (value->op != KN_OP_SUB)
        return KN_C_ANY;
    const kn_value *by = kn_c_value_at(g, value->in[1]);
    if (is_log_of_sum(g->w->ph, by))
        return sign_of(g, value->in[0]) == KN_C_BELOW ? KN_C_BELOW : KN_C_ANY;
    const kn_red *red = by->kind == KN_V_RESULT ? &g->w->ph->nest.reds.data[by->index] : NULL;
    return red && red->op == KN_OP_MAX && !red->by && red->value == value->in[0] ? KN_C_BELOW
                                                                                 : KN_C_ANY;
}

const char *kn_c_expression(kn_c_writing *g, int i, int loop)
{
    kn_c_writer *w = g->w;
    const kn_value *v = kn_c_value_at(g, i);
    const char *in[KN_MAX_IN];
    if (v->kind == KN_V_INDEX) {
        /* of a sum compilers add as few bits as it is converted to, but not of `l`, which addresses take as well */
        const char *lane = kn_c_subscript(w, v->access, kn_c_number_of(w->ph, false, i),
                                          g->by_j ? "(from + j)" : "l");
        return g->l.way[i] == KN_C_SAME ? kn_c_printed(w, "(%s)p%d", kn_c_type(v->dtype), i)
                                        : kn_c_printed(w, "(%s)p%d + (%s)(%s)", kn_c_type(v->dtype),
                                                       i, kn_c_type(v->dtype), lane);
    }
    const char *compared = comparison(g, i);
    if (compared)
        return compared;
    for (int k = 0; k < v->nin; k++)
        in[k] = kn_c_operand(g, v->in[k], loop);
    if (kn_c_widens_halves(g, v->in[0])) /* it is an f32 already */
        return in[0];
    const kn_value *last = kn_c_value_at(g, v->in[v->nin - 1]);
    const char *product = quotient(g, i, in[0], in[v->nin - 1]);
    if (product)
        return product;
    const char *limited = limit(g, v, in);
    if (limited)
        return limited;
    const char *fewer =
        v->nin == 1 ? kn_c_op_of(w->a, v->op, last->dtype, sign_of(g, v->in[0]), in[0]) : NULL;
    if (fewer)
        return fewer;
    return kn_c_op(w->a, v->op, last->dtype, v->dtype, in);
}
