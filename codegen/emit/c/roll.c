/* Gathers of two contiguous runs, which are copied to an array of the block without computing indices. */
#include "codegen/emit/c/writer.h"
#include "codegen/kir/rolled.h"

static const kn_value *value_at(const kn_c_writer *w, int v) { return &w->ph->nest.values.data[v]; }

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

bool kn_c_is_rolled(const kn_c_writer *w, int i)
{
    kn_rolled of;
    return !w->ordered && w->needed[i] && kn_is_rolled(w->ph, w->axis, i, &of);
}

void kn_c_put_rolled(kn_c_writer *w, int i)
{
    const kn_value *v = value_at(w, i);
    const char *type = kn_c_type(v->dtype);
    const int at = kn_c_number_of_gathered(w->ph, i, 0);
    kn_rolled of = {0};
    kn_is_rolled(w->ph, w->axis, i, &of);
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
