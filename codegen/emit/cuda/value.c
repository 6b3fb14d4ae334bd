/* Values: expressions, and what is computed or stored once a group. */
#include "codegen/emit/cuda/writer.h"

static bool is_infix(kn_op op, kn_dtype operand)
{
    if (!*kn_ops[op].infix)
        return false;
    return !kn_is_int(operand) || kn_ops[op].rule == KN_RULE_COMPARE;
}

/* Is the quotient the hardware's approximation? */
static bool divides_fast(const kn_cuda_writer *w, kn_op op, kn_dtype t)
{
    return w->k->fast && op == KN_OP_DIV && t == KN_F32;
}

/* Is a cast C's own? A cast to a float whose range is too small gives an infinity. */
static bool is_cast_of_c(kn_dtype t, kn_dtype operand)
{
    return (t == KN_F32 || t == KN_F64) && !kn_is_half(operand) && !kn_is_complex(operand);
}

const char *kn_cuda_operation(kn_cuda_writer *w, kn_op op, kn_dtype t, kn_dtype operand,
                              const char *const *in, int nin)
{
    if (op == KN_OP_CAST)
        return kn_cuda_printed(w, is_cast_of_c(t, operand) ? "(%s)%s" : "kn_cast<%s>(%s)",
                               kn_cuda_type(t), in[0]);
    if (op == KN_OP_COPY)
        return in[0];
    if (divides_fast(w, op, t))
        return kn_cuda_printed(w, "kn_fast_divide(%s, %s)", in[0], in[1]);
    if (is_infix(op, operand))
        return kn_cuda_printed(w, "%s %s %s", in[0], kn_ops[op].infix, in[1]);
    return kn_cuda_printed(w, "kn_%s(%s%s%s%s%s)", kn_ops[op].text, in[0], nin > 1 ? ", " : "",
                           nin > 1 ? in[1] : "", nin > 2 ? ", " : "", nin > 2 ? in[2] : "");
}

static bool divides_by(const kn_cuda_writer *w, int value, int by)
{
    const kn_select how = kn_selected_of(w->ph, value)->by;
    return (how == KN_SELECT_DIVISOR || how == KN_SELECT_APPROXIMATE_DIVISOR) &&
           kn_value_at(w->ph, value)->in[1] == by;
}

/* Declares the divisor of group value i, if there are divisions by it. */
static void define_divisor(kn_cuda_writer *w, int i)
{
    static const char *const makers[] = {[KN_DIVISOR_ANY] = "kn_make_divisor",
                                         [KN_DIVISOR_ORDINARY] = "kn_make_ordinary_divisor",
                                         [KN_DIVISOR_CONSTANT] = "kn_make_constant_divisor"};
    bool divides = false;
    for (int j = i + 1; j < w->ph->nest.values.len; j++)
        divides = divides || divides_by(w, j, i);
    if (divides)
        kn_cuda_declare(
            w, true,
            kn_cuda_printed(w, "kn_divisor<%s>", kn_cuda_type(kn_value_at(w->ph, i)->dtype)),
            kn_cuda_printed(w, "%s_divisor", kn_cuda_value(w, i)), w->wide[i],
            kn_cuda_printed(w, "%s(%s)", makers[kn_divisor_of(w->ph, i)], kn_cuda_operand(w, i)));
}

/* Factor i of 64 bits, as a number of 32. */
static const char *narrow_factor(kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    return v->kind == KN_V_CONST ? kn_cuda_printed(w, "%uu", (unsigned)v->value.i)
                                 : kn_cuda_operand(w, v->in[0]);
}

/* Value i, of bf16, as a float. What is only rounded to bf16 stays in a float's bits. */
static const char *widened(kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    if (!kn_selected_of(w->ph, i)->rounded)
        return kn_cuda_printed(w, "kn_cast<float>(%s)", kn_cuda_operand(w, i));
    if (v->op == KN_OP_CAST)
        return kn_cuda_printed(w, "kn_round_to_bf16(%s)", kn_cuda_operand(w, v->in[0]));
    return kn_cuda_printed(w, "kn_where(%s, %s, %s)", kn_cuda_operand(w, v->in[0]),
                           widened(w, v->in[1]), widened(w, v->in[2]));
}

/* The divisor of group value i. */
static const char *divisor(kn_cuda_writer *w, int i)
{
    return kn_cuda_printed(w, "%s_divisor%s", kn_cuda_value(w, i), w->wide[i] ? "[l]" : "");
}

/* The lowest bits of a position, of lane l. */
static const char *lane_number(kn_cuda_writer *w, const kn_value *v)
{
    return kn_cuda_printed(w, "(%s)(l & %d)", kn_cuda_type(v->dtype),
                           (int)kn_value_at(w->ph, v->in[1])->value.i);
}

const char *kn_cuda_expression(kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    const kn_dtype operand = kn_value_at(w->ph, v->in[0])->dtype;
    const kn_select by = kn_selected_of(w->ph, i)->by;
    const char *in[KN_MAX_IN] = {0};
    if (by == KN_SELECT_WIDE_PRODUCT)
        return kn_cuda_printed(w, "kn_multiply_wide(%s, %s)", narrow_factor(w, v->in[0]),
                               narrow_factor(w, v->in[1]));
    if (by == KN_SELECT_LANE_NUMBER && w->in_step)
        return lane_number(w, v);
    if (kn_is_elem(v, KN_OP_CAST) && v->dtype == KN_F32 && operand == KN_BF16)
        return widened(w, v->in[0]);
    for (int k = 0; k < v->nin; k++)
        in[k] = kn_cuda_operand(w, v->in[k]);
    switch (by) {
    case KN_SELECT_DIVISOR: return kn_cuda_printed(w, "%s / %s", in[0], divisor(w, v->in[1]));
    case KN_SELECT_APPROXIMATE_DIVISOR:
        return kn_cuda_printed(w, "kn_rough_quotient(%s, %s)", in[0], divisor(w, v->in[1]));
    case KN_SELECT_INLINE_QUOTIENT: return kn_cuda_printed(w, "kn_divide(%s, %s)", in[0], in[1]);
    case KN_SELECT_MODERATE_QUOTIENT:
        return kn_cuda_printed(w, "kn_divide_moderately(%s, %s)", in[0], in[1]);
    case KN_SELECT_APPROXIMATION:
        return v->op == KN_OP_EXP
                   ? kn_cuda_printed(w, "kn_approximate_exp(%s)", in[0])
                   : kn_cuda_printed(w, "kn_approximate_quotient(%s, %s)", in[0], in[1]);
    case KN_SELECT_SMALL_CAST:
        return kn_cuda_printed(w, "kn_cast_small<%s>(%s)", kn_cuda_type(v->dtype), in[0]);
    case KN_SELECT_NEAREST_CAST:
        return kn_cuda_printed(w, "kn_cast_nearest<%s>(%s)", kn_cuda_type(v->dtype), in[0]);
    case KN_SELECT_LATER_ROUNDING: return in[0];
    case KN_SELECT_WIDE_PRODUCT:
    case KN_SELECT_LANE_NUMBER:
    case KN_SELECT_OPERATION: break;
    }
    return kn_cuda_operation(w, v->op, v->dtype, operand, in, v->nin);
}

void kn_cuda_define(kn_cuda_writer *w, int i, const char *expr)
{
    if (w->paired && w->paired[i])
        kn_cuda_line(w, "%s = %s;", kn_cuda_operand(w, i), expr);
    else
        kn_cuda_declare(w, true, kn_cuda_type(kn_value_at(w->ph, i)->dtype), kn_cuda_value(w, i),
                        w->wide[i], expr);
}

/* The offset of a GATHER: its access's, `at`, and that of each index. */
static const char *gathered(kn_cuda_writer *w, int i, const char *at)
{
    const kn_value *v = &w->ph->nest.values.data[i];
    bool some = kn_shares_block(w->k, w->ph) || w->ph->how.walk == KN_WALK_COLS;
    const char *live = some && v->level == KN_GROUP ? "live" : "true";
    kn_text t = kn_text_new(w->t->arena);
    kn_put(&t, at);
    for (int k = 0; k < v->nin; k++) {
        const char *index = kn_cuda_operand(w, v->in[k]);
        if (v->access->checked)
            index = kn_cuda_printed(w, "kn_checked_index(%s, p%d_v%d_g%d_extent, %s)", index, w->p,
                                    i, k, live);
        kn_putf(&t, " + (kn_index)%s * p%d_v%d_g%d_stride", index, w->p, i, k);
    }
    return kn_text_str(&t);
}

void kn_cuda_define_load(kn_cuda_writer *w, int i, const char *lane)
{
    const kn_value *v = &w->ph->nest.values.data[i];
    const kn_access *acc = v->access;
    const char *at = kn_cuda_offset(w, acc, 'v', i, lane);
    if (v->kind == KN_V_INDEX) {
        kn_cuda_define(w, i, at);
        return;
    }
    if (v->kind == KN_V_GATHER)
        at = gathered(w, i, at);
    const kn_transpose *tile = kn_cuda_tile_of(w, i);
    if (tile)
        kn_cuda_define(w, i, kn_cuda_in_tile(w, tile, lane));
    else
        kn_cuda_define(w, i, kn_cuda_printed(w, "%s[%s]", w->k->bufs.data[acc->buf].name, at));
}

void kn_cuda_group_value(kn_cuda_writer *w, int i)
{
    const kn_value *v = &w->ph->nest.values.data[i];
    const char *lane = w->wide[i] ? "[l]" : "";
    switch (v->kind) {
    case KN_V_INDEX:
    case KN_V_GATHER:
    case KN_V_LOAD:
        if (!kn_is_prefetched_of_group(w->ph, i))
            kn_cuda_define_load(w, i, w->wide[i] ? "l" : NULL);
        break;
    case KN_V_RANK: kn_cuda_define(w, i, kn_cuda_received(w, i)); break;
    case KN_V_SCALAR: kn_cuda_define(w, i, w->k->scalars.data[v->index].name); break;
    case KN_V_CONST: kn_cuda_define(w, i, kn_cuda_literal(w, v->value)); break;
    case KN_V_EXTENT: kn_cuda_define(w, i, kn_cuda_printed(w, "count%d", v->index)); break;
    case KN_V_RESULT: kn_cuda_define(w, i, kn_cuda_printed(w, "r%d%s", v->index, lane)); break;
    case KN_V_LOCAL: kn_cuda_define(w, i, kn_cuda_printed(w, "x%d%s", v->index, lane)); break;
    case KN_V_ELEM: kn_cuda_define(w, i, kn_cuda_expression(w, i)); break;
    }
    define_divisor(w, i);
}

void kn_cuda_group_value_is(kn_cuda_writer *w, int i, const char *value)
{
    kn_cuda_define(w, i, value);
    define_divisor(w, i);
}

/* "a0 == 0 && a2 == 0" for the axes in `once`. */
const char *kn_cuda_once(kn_cuda_writer *w, const kn_store *s, const char *also)
{
    kn_text t = kn_text_new(w->t->arena);
    kn_put(&t, also);
    for (int a = 0; a < w->ph->nest.naxes; a++)
        if (s->once >> a & 1)
            kn_putf(&t, "%sa%d == 0", t.len ? " && " : "", a);
    return kn_text_str(&t);
}

void kn_cuda_group_stores(kn_cuda_writer *w, int stage, const char *leader)
{
    int va = kn_phase_vector_axis(w->ph);
    for (int i = 0; i < w->ph->nest.stores.len; i++) {
        const kn_store *s = &w->ph->nest.stores.data[i];
        if (s->kind == KN_STORE_ELEMENT || s->stage != stage || s->sends ||
            kn_stores_across(w->ph, s))
            continue;
        bool wide = kn_vector_has_groups(w->ph) && !w->ph->how.packed,
             once = wide && s->once >> va & 1;
        const char *who = w->ph->how.split && s->kind == KN_STORE_GROUP
                              ? kn_cuda_printed(w, "%s && split == 0", leader)
                              : leader;
        const bool partial = s->kind == KN_STORE_PARTIAL;
        bool vector = kn_transfer_of_store(w->ph, i)->vector && wide && !once &&
                      (partial || w->wide[s->value]);
        const char *buf = w->k->bufs.data[s->access.buf].name,
                   *what = partial
                               ? kn_cuda_printed(w, wide && !vector ? "r%d[l]" : "r%d", s->value)
                           : vector ? kn_cuda_value(w, s->value)
                                    : kn_cuda_operand(w, s->value);
        const char *to =
            kn_cuda_offset(w, &s->access, 'o', i, wide && !once && !vector ? "l" : NULL);
        if (partial)
            to = kn_cuda_printed(w, "%s + (kn_index)split * p%d_o%d_split_stride", to, w->p, i);
        kn_cuda_open(w, "if (%s)", kn_cuda_once(w, s, who));
        if (vector) {
            kn_cuda_line(w, "kn_store(%s + (%s), %s);", buf, to, what);
        } else {
            if (wide)
                kn_cuda_open_groups(w);
            kn_cuda_line(w, "%s%s[%s] = %s;",
                         once                             ? "if (l == 0) "
                         : wide && w->ph->how.interleaved ? "if (across + l < width) "
                                                          : "",
                         buf, to, what);
            if (wide)
                kn_cuda_close_groups(w);
        }
        kn_cuda_close(w);
    }
}
