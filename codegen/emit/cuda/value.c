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

/* Does value v divide by group value `by`, before fast math comes into it? */
static bool divides_by_group(const kn_cuda_writer *w, const kn_value *v, int by)
{
    return kn_is_elem(v, KN_OP_DIV) && kn_is_float(v->dtype) && v->in[1] == by &&
           w->ph->nest.values.data[by].level == KN_GROUP && !divides_fast(w, v->op, v->dtype);
}

/* How to divide by a group value that divides many numbers, or that is known before they are: by a divisor with its
 * reciprocal, whose name has this suffix. */
typedef struct division {
    const char *suffix, *type, *make;
} division;

static const division exact_f32 = {"divisor", "kn_divisor<float>", "kn_make_divisor"},
                      exact_f64 = {"divisor", "kn_divisor<double>", "kn_make_divisor"},
                      approximate_f32 = {"approx_divisor", "kn_approximate_divisor",
                                         "kn_make_approximate_divisor"},
                      integer_f32 = {"int_divisor", "kn_integer_divisor",
                                     "kn_make_integer_divisor"};

/* How value i divides by value `by`; NULL: by an ordinary division, or not at all. */
static const division *division_of(const kn_cuda_writer *w, int i, int by)
{
    const kn_value *v = kn_value_at(w->ph, i);
    if (v->kind != KN_V_ELEM || !divides_by_group(w, v, by))
        return NULL;
    if (v->level == KN_ELEMENT)
        return w->imprecise[i] ? &approximate_f32 : v->dtype == KN_F64 ? &exact_f64 : &exact_f32;
    return v->dtype == KN_F32 && w->ph->how.reciprocals && kn_is_known_integer(w->ph, by)
               ? &integer_f32
               : NULL;
}

/* What is kept may lie where one of its operands does, so that it cannot be computed again. */
bool kn_cuda_divides_first(const kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    if (v->kind != KN_V_ELEM || v->level != KN_ELEMENT || !w->need[i] || w->loaded[i] ||
        kn_kept(w->ph, i))
        return false;
    const division *d = division_of(w, i, kn_value_at(w->ph, i)->in[1]);
    return d == &exact_f32 || d == &exact_f64;
}

/* Declares the divisor of one kind of group value i, if there are such divisions. */
static void define_divisor(kn_cuda_writer *w, int i, const division *d)
{
    bool divides = false;
    for (int j = i + 1; j < w->ph->nest.values.len; j++)
        divides = divides || division_of(w, j, i) == d;
    if (divides)
        kn_cuda_declare(w, true, d->type,
                        kn_cuda_printed(w, "%s_%s", kn_cuda_value(w, i), d->suffix), w->wide[i],
                        kn_cuda_printed(w, "%s(%s)", d->make, kn_cuda_operand(w, i)));
}

/* Value i, a factor of 64 bits, as a number of 32; NULL: it may have more. */
static const char *narrow_factor(kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    if (v->kind == KN_V_CONST)
        return v->value.i >> 32 == 0 ? kn_cuda_printed(w, "%uu", (unsigned)v->value.i) : NULL;
    bool widened = kn_is_elem(v, KN_OP_CAST) && !kn_kept(w->ph, i) &&
                   kn_value_at(w->ph, v->in[0])->dtype == KN_U32;
    return widened ? kn_cuda_operand(w, v->in[0]) : NULL;
}

/* A product in 64 bits of factors of 32, which is one instruction; NULL: value i is none. */
static const char *wide_product(kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    if (!kn_is_elem(v, KN_OP_MUL) || v->dtype != KN_U64)
        return NULL;
    const char *x = narrow_factor(w, v->in[0]), *y = narrow_factor(w, v->in[1]);
    return x && y ? kn_cuda_printed(w, "kn_multiply_wide(%s, %s)", x, y) : NULL;
}

bool kn_cuda_is_rounded_float(const kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    return v->kind == KN_V_ELEM && v->dtype == KN_BF16 && !kn_kept(w->ph, i) &&
           (v->op == KN_OP_WHERE ||
            (v->op == KN_OP_CAST && kn_value_at(w->ph, v->in[0])->dtype == KN_F32));
}

/* Value i, of bf16, as a float. What is only rounded to bf16 stays in a float's bits. */
static const char *widened(kn_cuda_writer *w, int i)
{
    const kn_value *v = kn_value_at(w->ph, i);
    if (!kn_cuda_is_rounded_float(w, i))
        return kn_cuda_printed(w, "kn_cast<float>(%s)", kn_cuda_operand(w, i));
    if (v->op == KN_OP_CAST)
        return kn_cuda_printed(w, "kn_round_to_bf16(%s)", kn_cuda_operand(w, v->in[0]));
    return kn_cuda_printed(w, "kn_where(%s, %s, %s)", kn_cuda_operand(w, v->in[0]),
                           widened(w, v->in[1]), widened(w, v->in[2]));
}

const char *kn_cuda_expression(kn_cuda_writer *w, int i)
{
    const kn_value *v = &w->ph->nest.values.data[i];
    const char *in[KN_MAX_IN] = {0}, *product = wide_product(w, i);
    int bits;
    if (product)
        return product;
    if (kn_is_elem(v, KN_OP_CAST) && v->dtype == KN_F32 &&
        kn_value_at(w->ph, v->in[0])->dtype == KN_BF16)
        return widened(w, v->in[0]);
    if (w->lanes && v->level == KN_ELEMENT && kn_is_lane_number(w->ph, w->lanes, i, &bits))
        return kn_cuda_printed(w, "(%s)(l & %d)", kn_cuda_type(v->dtype), bits);
    for (int k = 0; k < v->nin; k++)
        in[k] = kn_cuda_operand(w, v->in[k]);
    const division *d = division_of(w, i, v->in[1]);
    if (d) {
        const char *by = kn_cuda_printed(w, "%s_%s%s", kn_cuda_value(w, v->in[1]), d->suffix,
                                         w->wide[v->in[1]] ? "[l]" : "");
        if (d == &approximate_f32 || d == &integer_f32)
            return kn_cuda_printed(w, "%s / %s", in[0], by);
        const char *const quotients[] = {[KN_EACH_TESTED] = "%s / %s",
                                         [KN_BY_RECIPROCAL] =
                                             "kn_divide_by_reciprocal(%s, %s, exact)",
                                         [KN_BY_DIVISION] = "kn_divide_any(%s, %s)",
                                         [KN_FOUND] = "%s / %s"};
        return kn_cuda_printed(w, quotients[w->quotients], in[0], by);
    }
    if (!w->k->fast && kn_is_approximated(w->ph, w->imprecise, i))
        return v->op == KN_OP_EXP
                   ? kn_cuda_printed(w, "kn_approximate_exp(%s)", in[0])
                   : kn_cuda_printed(w, "kn_approximate_quotient(%s, %s)", in[0], in[1]);
    if (w->whole[i] == KN_WHOLE_LATER)
        return in[0];
    if (w->whole[i])
        return kn_cuda_printed(w,
                               w->whole[i] == KN_WHOLE_NEAREST ? "kn_cast_nearest<%s>(%s)"
                                                               : "kn_cast_small<%s>(%s)",
                               kn_cuda_type(v->dtype), in[0]);
    if (w->ph->how.inline_quotients && v->level == KN_GROUP && kn_is_elem(v, KN_OP_DIV) &&
        v->dtype == KN_F32)
        return kn_cuda_printed(w, "kn_divide(%s, %s)", in[0], in[1]);
    return kn_cuda_operation(w, v->op, v->dtype, w->ph->nest.values.data[v->in[0]].dtype, in,
                             v->nin);
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
    if (w->tiled && kn_transpose_of(w->ph, i))
        kn_cuda_define(w, i, kn_cuda_in_tile(w, kn_transpose_of(w->ph, i), lane));
    else
        kn_cuda_define(w, i, kn_cuda_printed(w, "%s[%s]", w->k->bufs.data[acc->buf].name, at));
}

static void define_divisors(kn_cuda_writer *w, int i)
{
    define_divisor(w, i, &exact_f32);
    define_divisor(w, i, &exact_f64);
    define_divisor(w, i, &approximate_f32);
    define_divisor(w, i, &integer_f32);
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
    define_divisors(w, i);
}

void kn_cuda_group_value_is(kn_cuda_writer *w, int i, const char *value)
{
    kn_cuda_define(w, i, value);
    define_divisors(w, i);
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
        bool wide = kn_cuda_wide(w->ph) && !w->ph->how.packed, once = wide && s->once >> va & 1;
        const char *who = w->ph->how.split && s->kind == KN_STORE_GROUP
                              ? kn_cuda_printed(w, "%s && split == 0", leader)
                              : leader;
        const bool partial = s->kind == KN_STORE_PARTIAL;
        bool vector = s->access.vector && wide && !once && (partial || w->wide[s->value]);
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
            kn_cuda_line(w, "%s%s[%s] = %s;", once ? "if (l == 0) " : "", buf, to, what);
            if (wide)
                kn_cuda_close_groups(w);
        }
        kn_cuda_close(w);
    }
}
