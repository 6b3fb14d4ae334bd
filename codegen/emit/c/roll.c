/* Gathers at index where(i < c, i + a, i + b), as of roll(): two contiguous runs, which are copied to an array of the block
 * without computing indices. */
#include "codegen/emit/c/writer.h"

enum { DEEP = 4 }; /* how many operations deep is looked */

static const kn_value *value_at(const kn_c_writer *w, int v) { return &w->ph->nest.values.data[v]; }

/* Is it the same number for all lanes, made of sizes and of constants so small that sums of them are exact? */
static bool is_number(const kn_c_writer *w, int i, int deep)
{
    const kn_value *v = value_at(w, i);
    const int64_t large = INT64_C(1) << 40;
    if (v->dtype != KN_I64 || deep > DEEP)
        return false;
    if (v->kind == KN_V_CONST)
        return v->value.i > -large && v->value.i < large;
    if (v->kind != KN_V_ELEM)
        return v->kind == KN_V_EXTENT;
    if (v->op != KN_OP_COPY && v->op != KN_OP_CAST && v->op != KN_OP_ADD && v->op != KN_OP_SUB &&
        v->op != KN_OP_NEG)
        return false;
    for (int k = 0; k < v->nin; k++)
        if (!is_number(w, v->in[k], deep + 1))
            return false;
    return true;
}

/* Does it grow by one from lane to lane? */
static bool is_own(const kn_c_writer *w, int i, int deep)
{
    const kn_value *v = value_at(w, i);
    if (v->dtype != KN_I64 || v->level == KN_GROUP || deep > DEEP)
        return false;
    if (v->kind == KN_V_INDEX)
        return v->access->kind[w->axis] == KN_STRIDE_ONE;
    if (v->kind != KN_V_ELEM || (v->op != KN_OP_ADD && v->op != KN_OP_SUB))
        return false;
    const bool first = is_own(w, v->in[0], deep + 1) && is_number(w, v->in[1], deep + 1);
    return first || (v->op == KN_OP_ADD && is_number(w, v->in[0], deep + 1) &&
                     is_own(w, v->in[1], deep + 1));
}

/* The C text of such a value, at the first lane. */
static const char *text_of(kn_c_writer *w, int i)
{
    const kn_value *v = value_at(w, i);
    const char *in[KN_MAX_IN];
    switch (v->kind) {
    case KN_V_CONST: return kn_c_literal(w, v->value);
    case KN_V_EXTENT: return kn_c_printed(w, "c->extent[%d]", v->index);
    case KN_V_INDEX:
        return kn_c_printed(w, "(0%s)",
                            kn_c_origin(w, v->access, kn_c_number_of(w->ph, false, i), false));
    default: break;
    }
    for (int k = 0; k < v->nin; k++)
        in[k] = kn_c_printed(w, "(%s)", text_of(w, v->in[k]));
    return kn_c_op(w->a, v->op, v->dtype, v->dtype, in);
}

/* Operands of where(x < c, y, z), with x, y and z growing by one a lane and c the same for all lanes; also with <=, >=, >. */
typedef struct pieces {
    int own, limit;   /* what is compared */
    int first, other; /* the index of the lanes before the limit is reached, and behind */
    bool past;        /* the lane at the limit is still one of the first */
} pieces;

static bool find_pieces(const kn_c_writer *w, const kn_value *gather, pieces *out)
{
    const kn_value *v = value_at(w, gather->in[0]);
    if (v->kind != KN_V_ELEM || v->op != KN_OP_WHERE || v->level == KN_GROUP)
        return false;
    const kn_value *is = value_at(w, v->in[0]);
    const bool below = is->kind == KN_V_ELEM && (is->op == KN_OP_LT || is->op == KN_OP_LE);
    const bool above = is->kind == KN_V_ELEM && (is->op == KN_OP_GE || is->op == KN_OP_GT);
    if (!below && !above)
        return false;
    *out = (pieces){.own = is->in[0],
                    .limit = is->in[1],
                    .first = v->in[below ? 1 : 2],
                    .other = v->in[below ? 2 : 1],
                    .past = is->op == KN_OP_LE || is->op == KN_OP_GT};
    return is_own(w, out->own, 0) && is_number(w, out->limit, 0) && is_own(w, out->first, 0) &&
           is_own(w, out->other, 0);
}

bool kn_c_is_rolled(const kn_c_writer *w, int i)
{
    const kn_value *v = value_at(w, i);
    pieces of;
    return w->axis >= 0 && !w->ordered && w->needed[i] && v->kind == KN_V_GATHER &&
           v->level != KN_GROUP && v->nin == 1 && !v->access->checked &&
           v->access->kind[w->axis] == KN_STRIDE_ZERO && find_pieces(w, v, &of);
}

void kn_c_put_rolled(kn_c_writer *w, int i)
{
    const kn_value *v = value_at(w, i);
    const char *type = kn_c_type(v->dtype);
    const int at = kn_c_number_of_gathered(w->ph, i, 0);
    pieces of = {0};
    find_pieces(w, v, &of);
    kn_c_line(w, "%s *const p%d = (%s *)(s->block + %d * c->slot);", type, i, type, w->copy[i]);
    kn_c_block(w);
    kn_c_line(w, "const %s *const from = (const %s *)c->buf[%d]%s; /* %s */", type, type,
              v->access->buf, kn_c_origin(w, v->access, kn_c_number_of(w->ph, false, i), false),
              w->k->bufs.data[v->access->buf].name);
    kn_c_line(w, "const i64 step = num[%d], before = (%s) - (%s)%s;", at, text_of(w, of.limit),
              text_of(w, of.own), of.past ? " + 1" : "");
    kn_c_line(w, "const i64 first = before < 0 ? 0 : KN_MIN(before, n);");
    kn_c_line(w, "KN_MOVE(p%d, from, %s, step, first);", i, text_of(w, of.first));
    kn_c_line(w, "KN_MOVE(p%d + first, from, %s + first, step, n - first);", i,
              text_of(w, of.other));
    kn_c_close(w);
}
