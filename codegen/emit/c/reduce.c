/* Reductions that loops over lanes do by themselves: their local accumulators as text. In rows those are arrays of one
 * for each of KN_FOLD_LANES lanes, as the interpreter's folds have, in columns variables of a lane.
 *
 *   added      lane: the sum, product, ... so far
 *   range      of f32, for a minimum, a maximum, or both of the same value. Bits of floats are integers that ascend from +0 on,
 *              and descend from -0 on; those of NaN lie beyond infinities. lane and least: the greatest and the least of them;
 *              far: the greatest as unsigned. helpers.h says what follows from these
 *   extreme    of f64, for many processors have no integer maximum of 8 bytes. lane: the extreme so far, of what is no NaN;
 *              odd: not 0 if there was a NaN; bits: whose sign is that of an extreme that is a zero
 *   magnitude  lane: the bits of the greatest absolute value, as an integer: those of a NaN are greater than all others
 *   variance   lane and squares: sums of deviations from the shift, and of their squares */
#include "codegen/emit/c/writer.h"

static const kn_red *red_at(const kn_c_writer *w, int r) { return &w->ph->nest.reds.data[r]; }

static bool is_variance(const kn_c_writer *w, int r) { return red_at(w, r)->op == KN_OP_VAR; }

static bool is_extreme(const kn_c_writer *w, int r)
{
    const kn_red *red = red_at(w, r);
    return kn_is_float(kn_c_accumulator(w->ph, red)) &&
           (red->op == KN_OP_MIN || red->op == KN_OP_MAX);
}

/* A maximum of absolute values? */
static bool is_magnitude(const kn_c_writer *w, int r)
{
    const kn_value *v = &w->ph->nest.values.data[red_at(w, r)->value];
    return is_extreme(w, r) && red_at(w, r)->op == KN_OP_MAX && v->kind == KN_V_ELEM &&
           v->op == KN_OP_ABS;
}

bool kn_c_is_range(const kn_c_writer *w, int r)
{
    return is_extreme(w, r) && kn_c_accumulator(w->ph, red_at(w, r)) == KN_F32 &&
           !is_magnitude(w, r);
}

/* The other extreme of what range r is of; -1: only one is wanted. */
static int other_end(const kn_c_writer *w, int r)
{
    for (int i = 0; i < w->ph->nest.reds.len; i++)
        if (i != r && red_at(w, i)->value == red_at(w, r)->value &&
            red_at(w, i)->stage == red_at(w, r)->stage && kn_c_is_range(w, i))
            return i;
    return -1;
}

/* Does the other extreme, which comes first, have the accumulators of this one? */
static bool is_shared(const kn_c_writer *w, int r)
{
    return kn_c_is_range(w, r) && other_end(w, r) >= 0 && other_end(w, r) < r;
}

/* Of a lane: sums of f32 are few, and accumulate in f32; their sums in f64. */
static kn_dtype type_of(const kn_c_writer *w, int r)
{
    if (is_variance(w, r))
        return KN_F64;
    return red_at(w, r)->op == KN_OP_SUM ? w->ph->nest.values.data[red_at(w, r)->value].dtype
                                         : kn_c_accumulator(w->ph, red_at(w, r));
}

static const char *bits_type(kn_dtype t) { return t == KN_F32 ? "u32" : "u64"; }
static const char *signed_type(kn_dtype t) { return t == KN_F32 ? "i32" : "i64"; }

/* Has it an accumulator for each of a few lanes, which loops over j? Else `l` is the only one. */
static bool has_several(const kn_c_writer *w) { return w->mode != KN_C_COLS || w->vectors; }

/* "f64 lane3[KN_FOLD_LANES]", or of one lane "f64 lane3 = 0.0" */
static void put_local(kn_c_writer *w, const char *type, const char *name, int r, const char *start)
{
    const char *const lanes = w->mode == KN_C_COLS ? "KN_COLUMN_LANES" : "KN_FOLD_LANES";
    if (!has_several(w)) {
        kn_c_line(w, "%s %s%d = %s;", type, name, r, start);
        return;
    }
    kn_c_line(w, "%s %s%d[%s];", type, name, r, lanes);
    kn_c_line(w, w->vectors ? "KN_LANES KN_FEW" : "KN_UNROLL");
    kn_c_line(w, "for (int j = 0; j < %s; j++)", lanes);
    kn_c_line(w, "    %s%d[j] = %s;", name, r, start);
}

static const char *identity(kn_c_writer *w, int r)
{
    const kn_dtype t = type_of(w, r);
    return is_variance(w, r) ? "0.0" : kn_c_literal(w, kn_identity(red_at(w, r)->op, t));
}

int kn_c_acc_bytes(const kn_c_writer *w, int r)
{
    const int each = is_shared(w, r) ? 0 : kn_bytes(type_of(w, r));
    const bool one = is_magnitude(w, r) || !(is_extreme(w, r) || is_variance(w, r));
    return one ? each : 3 * each;
}

/* The extreme of r so far, of a lane: rows begin with none. */
static const char *extreme_so_far(kn_c_writer *w, int r)
{
    return w->mode != KN_C_COLS ? identity(w, r)
                                : kn_c_printed(w, "acc%d[%s]", r, w->vectors ? "from + j" : "l");
}

/* What range r begins with, if its extremes so far are these. */
static void declare_range(kn_c_writer *w, int r)
{
    const int other = other_end(w, r);
    const char *low = extreme_so_far(w, r), *high = low;
    if (other >= 0)
        *(red_at(w, r)->op == KN_OP_MIN ? &high : &low) = extreme_so_far(w, other);
    put_local(w, "i32", "lane", r, kn_c_printed(w, "(i32)kn_bits_of_f32(%s)", high));
    put_local(w, "i32", "least", r,
              other >= 0 ? kn_c_printed(w, "kn_least_of(%s, %s)", low, high)
                         : kn_c_printed(w, "(i32)kn_bits_of_f32(%s)", low));
    put_local(w, "u32", "far", r, kn_c_printed(w, "kn_bits_of_f32(%s)", low));
}

void kn_c_declare_acc(kn_c_writer *w, int r)
{
    const kn_dtype t = type_of(w, r);
    const bool cols = w->mode == KN_C_COLS;
    if (kn_c_is_range(w, r)) {
        if (!is_shared(w, r))
            declare_range(w, r);
        return;
    }
    if (is_magnitude(w, r)) {
        put_local(w, signed_type(t), "lane", r, t == KN_F32 ? "KN_LEAST_f32" : "KN_LEAST_f64");
        return;
    }
    if (is_extreme(w, r)) {
        put_local(w, kn_c_type(t), "lane", r, identity(w, r));
        put_local(w, bits_type(t), "odd", r, "0");
        put_local(w, bits_type(t), "bits", r, red_at(w, r)->op == KN_OP_MIN ? "0" : "-1");
        return;
    }
    const char *const l = w->vectors ? "from + j" : "l";
    if (is_variance(w, r) && cols)
        put_local(w, "f64", "shift", r, kn_c_printed(w, "shifts%d[%s]", r, l));
    put_local(w, kn_c_type(t), "lane", r,
              !cols               ? identity(w, r)
              : is_variance(w, r) ? kn_c_printed(w, "sums%d[%s]", r, l)
                                  : kn_c_printed(w, "acc%d[%s]", r, l));
    if (is_variance(w, r))
        put_local(w, "f64", "squares", r, cols ? kn_c_printed(w, "sumsquares%d[%s]", r, l) : "0.0");
}

/* to = to + value, or what the reduction combines by, of type t. */
static void put_combine_of(kn_c_writer *w, int r, kn_dtype t, const char *to, const char *value)
{
    const char *in[] = {to, value};
    kn_c_line(w, "%s = %s;", to, kn_c_op(w->a, kn_ops[red_at(w, r)->op].combine, t, t, in));
}

static void put_combine(kn_c_writer *w, int r, const char *to, const char *value)
{
    put_combine_of(w, r, type_of(w, r), to, value);
}

/* Range r takes the ends of another: a greatest and a least number of bits, and a greatest as unsigned. */
static void put_wider(kn_c_writer *w, int r, const char *at, const char *greatest,
                      const char *least, const char *far)
{
    kn_c_line(w, "lane%d%s = %s > lane%d%s ? %s : lane%d%s;", r, at, greatest, r, at, greatest, r,
              at);
    kn_c_line(w, "least%d%s = %s < least%d%s ? %s : least%d%s;", r, at, least, r, at, least, r, at);
    kn_c_line(w, "far%d%s = %s > far%d%s ? %s : far%d%s;", r, at, far, r, at, far, r, at);
}

/* Accumulator `at` ("[j]", or "") takes the extreme `value`, `odd` and `bits` of others, or of one element. */
static void put_nearer(kn_c_writer *w, int r, const char *at, const char *value, const char *odd,
                       const char *bits)
{
    const bool min = red_at(w, r)->op == KN_OP_MIN;
    if (is_magnitude(w, r)) {
        kn_c_line(w, "lane%d%s = %s > lane%d%s ? %s : lane%d%s;", r, at, value, r, at, value, r,
                  at);
        return;
    }
    kn_c_line(w, "lane%d%s = %s %s lane%d%s ? %s : lane%d%s;", r, at, value, min ? "<" : ">", r, at,
              value, r, at);
    kn_c_line(w, "odd%d%s |= %s;", r, at, odd);
    kn_c_line(w, "bits%d%s %s= %s;", r, at, min ? "|" : "&", bits);
}

void kn_c_put_into_acc(kn_c_writer *w, int r, const char *value)
{
    const char *const at = has_several(w) ? "[j]" : "", *const type = kn_c_type(type_of(w, r));
    const char *const shift = kn_c_printed(w, "shift%d%s", r, w->vectors ? "[j]" : "");
    if (is_shared(w, r))
        return;
    if (kn_c_is_range(w, r)) { /* the least is an element already, or no better than none */
        kn_c_line(w,
                  w->masked ? "const i32 near%d = in ? (i32)kn_bits_of_f32(%s) : least%d%s;"
                            : "const i32 near%d = (i32)kn_bits_of_f32(%s);",
                  r, value, r, at);
        value = kn_c_printed(w, "near%d", r);
        put_wider(w, r, at, value, value, kn_c_printed(w, "(u32)%s", value));
        return;
    }
    if (w->masked && !is_variance(w, r)) { /* lanes that are none change nothing */
        kn_c_line(w, "const %s some%d = in ? (%s)%s : %s;", type, r, type, value, identity(w, r));
        value = kn_c_printed(w, "some%d", r);
    }
    if (is_magnitude(w, r)) {
        kn_c_line(w, "const %s near%d = (%s)kn_bits_of_%s(%s);", signed_type(type_of(w, r)), r,
                  signed_type(type_of(w, r)), type, value);
        put_nearer(w, r, at, kn_c_printed(w, "near%d", r), NULL, NULL);
        return;
    }
    if (is_extreme(w, r)) {
        put_nearer(w, r, at, value, kn_c_printed(w, "%s != %s ? -1 : 0", value, value),
                   kn_c_printed(w, "kn_bits_of_%s(%s)", type, value));
        return;
    }
    if (!is_variance(w, r)) {
        put_combine(w, r, kn_c_printed(w, "lane%d%s", r, at),
                    kn_c_printed(w, "(%s)%s", type, value));
        return;
    }
    kn_c_line(w,
              w->masked ? "const f64 off%d = in ? (f64)%s - %s : 0.0;"
                        : "const f64 off%d = (f64)%s - %s;",
              r, value, shift);
    kn_c_line(w, "lane%d%s += off%d;", r, at, r);
    kn_c_line(w, "squares%d%s += off%d * off%d;", r, at, r, r);
}

/* Lanes are combined in halves. */
static void put_tree(kn_c_writer *w, int r)
{
    for (int half = KN_FOLD_LANES / 2; half; half /= 2) {
        const char *other = kn_c_printed(w, "%d[j + %d]", r, half);
        kn_c_line(w, "KN_FEW");
        kn_c_open(w, "for (int j = 0; j < %d; j++)", half);
        if (kn_c_is_range(w, r))
            put_wider(w, r, "[j]", kn_c_printed(w, "lane%s", other),
                      kn_c_printed(w, "least%s", other), kn_c_printed(w, "far%s", other));
        else if (is_extreme(w, r))
            put_nearer(w, r, "[j]", kn_c_printed(w, "lane%s", other),
                       kn_c_printed(w, "odd%s", other), kn_c_printed(w, "bits%s", other));
        else
            put_combine(w, r, kn_c_printed(w, "lane%d[j]", r), kn_c_printed(w, "lane%s", other));
        if (is_variance(w, r))
            kn_c_line(w, "squares%d[j] += squares%s;", r, other);
        kn_c_close(w);
    }
}

static const char *extreme_of(kn_c_writer *w, int r, const char *at)
{
    if (is_magnitude(w, r))
        return kn_c_printed(w, "kn_magnitude_%s(lane%d%s)", kn_c_type(type_of(w, r)), r, at);
    const int of = is_shared(w, r) ? other_end(w, r) : r;
    if (kn_c_is_range(w, r))
        return kn_c_printed(w, "kn_%s_of(lane%d%s, least%d%s, far%d%s)",
                            red_at(w, r)->op == KN_OP_MIN ? "minimum" : "maximum", of, at, of, at,
                            of, at);
    return kn_c_printed(w, "kn_extreme_%s(lane%d%s, odd%d%s, bits%d%s)", kn_c_type(type_of(w, r)),
                        r, at, r, at, r, at);
}

/* "acc0[l] = lane0;"; of a vector the lanes that were taken before stay as they are. */
static void put_back(kn_c_writer *w, int r, const char *to, const char *lane)
{
    if (w->vectors)
        kn_c_line(w, "%s%d[l] = j < again ? %s%d[l] : %s%d[j];", to, r, to, r, lane, r);
    else
        kn_c_line(w, "%s%d[l] = %s%d;", to, r, lane, r);
}

static void join_column(kn_c_writer *w, int r)
{
    if (w->vectors) {
        kn_c_line(w, "KN_LANES KN_FEW");
        kn_c_open(w, "for (int j = 0; j < KN_COLUMN_LANES; j++)");
        kn_c_line(w, "const i64 l = from + j;");
    }
    if (kn_c_is_range(w, r)) {
        kn_c_line(w, "acc%d[l] = %s;", r, extreme_of(w, r, w->vectors ? "[j]" : ""));
    } else if (is_extreme(w, r)) { /* the same extreme twice is one */
        put_combine(w, r, kn_c_printed(w, "acc%d[l]", r),
                    extreme_of(w, r, w->vectors ? "[j]" : ""));
    } else if (is_variance(w, r)) {
        put_back(w, r, "sums", "lane");
        put_back(w, r, "sumsquares", "squares");
    } else {
        put_back(w, r, "acc", "lane");
    }
    if (w->vectors)
        kn_c_close(w);
}

void kn_c_join_acc(kn_c_writer *w, int r)
{
    const char *const acc = kn_c_printed(w, "s->acc%d", r);
    if (w->mode == KN_C_COLS) {
        join_column(w, r);
        return;
    }
    if (red_at(w, r)->stage == 0 && w->nsums > 0) {
        kn_c_line(w, "KN_LANES KN_FEW");
        kn_c_line(w, "for (int j = 0; j < KN_HALF_LANES; j++)");
        kn_c_line(w, "    s->lanes%d[j] = lane%d[j] + lane%d[j + KN_HALF_LANES];", r, r, r);
        return;
    }
    if (!is_shared(w, r))
        put_tree(w, r);
    if (is_extreme(w, r))
        put_combine(w, r, acc, extreme_of(w, r, "[0]"));
    else if (is_variance(w, r))
        kn_c_line(w, "kn_add_moments(%s, (f64)n, shift%d, lane%d[0], squares%d[0]);", acc, r, r, r);
    else {
        const kn_dtype t = kn_c_accumulator(w->ph, red_at(w, r));
        put_combine_of(w, r, t, acc, kn_c_printed(w, "(%s)lane%d[0]", kn_c_type(t), r));
    }
}

void kn_c_point_at_acc(kn_c_writer *w, int r)
{
    const char *const done = w->one_run ? "" : " + done";
    if (!is_variance(w, r)) {
        const char *type = kn_c_type(type_of(w, r));
        kn_c_line(w, "%s *const acc%d = (%s *)s->acc%d%s;", type, r, type, r, done);
        return;
    }
    kn_c_line(w, "f64 *const shifts%d = (f64 *)s->acc%d%s;", r, r, done);
    kn_c_line(w, "f64 *const sums%d = shifts%d + s->lanes;", r, r);
    kn_c_line(w, "f64 *const sumsquares%d = sums%d + s->lanes;", r, r);
}
