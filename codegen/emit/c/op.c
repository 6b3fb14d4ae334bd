/* Operations as C expressions. The others are functions of the CPU device; so is all arithmetic of complex numbers, and
 * conversions between 16-bit floats and other types than f32. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codegen/emit/c/writer.h"

/* What stands for an operation in floats, in integers, and in bools: operands are $a, $b and $c, $T the operands' type,
 * $U the unsigned type that integers wrap in, $f the suffix of a function of the C library's. NULL: a function computes
 * it. */
typedef struct form {
    const char *of_float, *of_int, *of_bool;
} form;

static const form forms[KN_OP_COUNT] = {
    [KN_OP_ADD] = {"$a + $b", "($T)(($U)$a + ($U)$b)", "$a | $b"},
    [KN_OP_SUB] = {"$a - $b", "($T)(($U)$a - ($U)$b)", NULL},
    [KN_OP_MUL] = {"$a * $b", "($T)(($U)$a * ($U)$b)", "$a & $b"},
    [KN_OP_DIV] = {"$a / $b", NULL, NULL},
    [KN_OP_NEG] = {"-$a", "($T)(0 - ($U)$a)", NULL},
    [KN_OP_ABS] = {"__builtin_fabs$f($a)", "($T)($a < 0 ? 0 - ($U)$a : ($U)$a)", "$a"},
    [KN_OP_SQRT] = {"__builtin_sqrt$f($a)", NULL, NULL},
    [KN_OP_RSQRT] = {"1 / __builtin_sqrt$f($a)", NULL, NULL},
    [KN_OP_FLOOR] = {"__builtin_floor$f($a)", "$a", "$a"},
    [KN_OP_CEIL] = {"__builtin_ceil$f($a)", "$a", "$a"},
    [KN_OP_TRUNC] = {"__builtin_trunc$f($a)", "$a", "$a"},
    [KN_OP_RINT] = {"__builtin_rint$f($a)", NULL, NULL},
    [KN_OP_SIGN] = {"$a > 0 ? 1 : $a < 0 ? -1 : $a == 0 ? 0 : $a", "($T)(($a > 0) - ($a < 0))",
                    NULL},
    [KN_OP_COPYSIGN] = {"kn_copysign$f($a, $b)", NULL, NULL},
    [KN_OP_MINIMUM] = {"kn_minimum_$T($a, $b)", "$a < $b ? $a : $b", "$a & $b"},
    [KN_OP_MAXIMUM] = {"kn_maximum_$T($a, $b)", "$a > $b ? $a : $b", "$a | $b"},
    [KN_OP_BITAND] = {NULL, "($T)($a & $b)", "$a & $b"},
    [KN_OP_BITOR] = {NULL, "($T)($a | $b)", "$a | $b"},
    [KN_OP_BITXOR] = {NULL, "($T)($a ^ $b)", "$a ^ $b"},
    [KN_OP_INVERT] = {NULL, "($T)~$a", NULL},
    [KN_OP_ISNAN] = {"$a != $a", "0", "0"},
    [KN_OP_ISINF] = {"__builtin_fabs$f($a) == __builtin_inf$f()", "0", "0"},
    [KN_OP_ISFINITE] = {"__builtin_fabs$f($a) < __builtin_inf$f()", "1", "1"},
    [KN_OP_SIGNBIT] = {"kn_negative$f($a)", "$a < 0", "0"},
    [KN_OP_LT] = {"$a < $b", "$a < $b", "$a < $b"},
    [KN_OP_LE] = {"$a <= $b", "$a <= $b", "$a <= $b"},
    [KN_OP_GT] = {"$a > $b", "$a > $b", "$a > $b"},
    [KN_OP_GE] = {"$a >= $b", "$a >= $b", "$a >= $b"},
    [KN_OP_EQ] = {"$a == $b", "$a == $b", "$a == $b"},
    [KN_OP_NE] = {"$a != $b", "$a != $b", "$a != $b"},
    [KN_OP_AND] = {NULL, NULL, "$a & $b"},
    [KN_OP_OR] = {NULL, NULL, "$a | $b"},
    [KN_OP_NOT] = {NULL, NULL, "$a == 0"},
    [KN_OP_COPY] = {"$a", "$a", "$a"},
};

/* functions.h. */
static const char *const functions[KN_OP_COUNT][KN_DTYPE_LIMIT] = {
    [KN_OP_EXP] = {[KN_F32] = "kn_exp_f32($a)", [KN_F64] = "kn_exp_f64($a)"},
    [KN_OP_LOG] = {[KN_F32] = "kn_log_f32($a)"},
    [KN_OP_LOG1P] = {[KN_F32] = "kn_log1p_f32($a)"},
    [KN_OP_TANH] = {[KN_F32] = "kn_tanh_f32($a)"},
};

/* The same of operands of which so much is known. */
static const char *const functions_of[KN_C_SIGNS][KN_OP_COUNT][KN_DTYPE_LIMIT] = {
    [KN_C_UNSIGNED] = {[KN_OP_LOG1P] = {[KN_F32] = "kn_log1p_unsigned_f32($a)"}},
    [KN_C_BELOW] =
        {[KN_OP_EXP] = {[KN_F32] = "kn_exp_below_f32($a)", [KN_F64] = "kn_exp_below_f64($a)"}},
};

bool kn_c_is_function(kn_op op, kn_dtype type) { return functions[op][type] != NULL; }

bool kn_c_takes_function(const kn_phase *p, int v)
{
    const kn_value *value = &p->nest.values.data[v];
    return value->kind == KN_V_ELEM &&
           kn_c_is_function(value->op, p->nest.values.data[value->in[0]].dtype);
}

/* Is it of 1 or 2 bytes, from memory or made of f32? Those are converted by vectors of 64 bytes where there are such (convert.c). */
static bool is_converted(const kn_phase *p, const kn_value *v)
{
    if (kn_bytes(v->dtype) > 2)
        return false;
    return v->kind == KN_V_LOAD ||
           (kn_is_elem(v, KN_OP_CAST) && p->nest.values.data[v->in[0]].dtype == KN_F32);
}

/* gcc leaves vectors of 64 bytes alone on processors that slow down for them. Functions, sums of f32 in f64, extremes and
 * conversions gain more than that: they are many instructions for each vector, and half of them move what belongs to other
 * halves; and a vector that is converted waits until both halves that a loop wrote have reached the cache. */
bool kn_c_is_wide(const kn_phase *p)
{
    for (int v = 0; v < p->nest.values.len; v++)
        if (kn_c_takes_function(p, v) || is_converted(p, &p->nest.values.data[v]))
            return true;
    for (int r = 0; r < p->nest.reds.len; r++)
        if (p->nest.values.data[p->nest.reds.data[r].value].dtype == KN_F32)
            return true;
    return false;
}

static const char *form_of(kn_op op, kn_dtype type)
{
    if (kn_c_is_function(op, type))
        return functions[op][type];
    if (op == KN_OP_WHERE) /* whatever the type is, for it is only moved */
        return "$a ? $b : $c";
    if (op == KN_OP_COPY)
        return "$a";
    switch (kn_dtypes[type].kind) {
    case KN_KIND_BOOL: return forms[op].of_bool;
    case KN_KIND_INT: return forms[op].of_int;
    case KN_KIND_UINT:
        return op == KN_OP_ABS       ? "$a"
               : op == KN_OP_SIGN    ? "$a != 0"
               : op == KN_OP_SIGNBIT ? "0"
                                     : forms[op].of_int;
    case KN_KIND_FLOAT: return forms[op].of_float;
    default: return NULL;
    }
}

static const char *cast_form(kn_dtype from, kn_dtype to)
{
    if (from == to)
        return "$a";
    if (kn_is_half(from) && to == KN_F32)
        return from == KN_F16 ? "kn_F32_from_F16($a)" : "kn_F32_from_BF16($a)";
    if (from == KN_F32 && kn_is_half(to))
        return to == KN_F16 ? "kn_F16_from_F32($a)" : "kn_BF16_from_F32($a)";
    if (kn_is_half(from) || kn_is_half(to) || kn_is_complex(from) || kn_is_complex(to))
        return NULL;
    if (to == KN_BOOL)
        return from == KN_BOOL ? "$a" : "$a != 0";
    if (from == KN_BOOL) /* not every compiler makes a vector of a mask's conversion */
        return "$a ? ($R)1 : ($R)0";
    return kn_is_float(from) && !kn_is_float(to) ? "KN_TO_$R($a)" : "($R)$a";
}

static const char *substitute(kn_arena *a, const char *text, const char *(*of)(void *ctx, char c),
                              void *ctx)
{
    kn_text t = kn_text_new(a);
    for (; *text; text++)
        if (*text == '$')
            kn_put(&t, of(ctx, *++text));
        else
            kn_putn(&t, text, 1);
    return kn_text_str(&t);
}

typedef struct operands {
    kn_dtype type, to;
    const char *const *in;
} operands;

static const char *word(void *ctx, char c)
{
    const operands *o = ctx;
    switch (c) {
    case 'T': return kn_c_type(o->type);
    case 'R': return kn_c_type(o->to);
    case 'U': return kn_bytes(o->type) == 8 ? "u64" : "u32";
    case 'f': return o->type == KN_F32 ? "f" : "";
    default: return o->in[c - 'a'];
    }
}

const char *kn_c_op(kn_arena *a, kn_op op, kn_dtype type, kn_dtype to, const char *const *in)
{
    const char *text = op == KN_OP_CAST ? cast_form(type, to) : form_of(op, type);
    operands o = {type, to, in};
    return text ? substitute(a, text, word, &o) : NULL;
}

const char *kn_c_op_of(kn_arena *a, kn_op op, kn_dtype type, kn_c_sign sign, const char *in)
{
    operands o = {type, type, &in};
    const char *text = functions_of[sign][op][type];
    return text ? substitute(a, text, word, &o) : NULL;
}

/* Rounded to f32, the product of f64 is the quotient: its error is below 2^-51.9 of it, and no quotient of two f32 is so close
 * to the middle of two neighbours, where rounding changes, but in the very middle. It is there only if it is subnormal and
 * the divisor an even integer: x = m c, where x is a multiple of 2^-149 and m an odd one of 2^-150. */
const char *kn_c_quotient(kn_arena *a, const char *x, double c)
{
    const bool is = isfinite(c) && fmod(c, 2) != 0;
    return is ? kn_sprintf(a, "(f32)((f64)%s * %a)", x, 1 / c) : NULL;
}

const char *kn_c_limit(kn_arena *a, kn_op op, const char *x, kn_scalar c, const char *literal)
{
    const bool max = op == KN_OP_MAXIMUM;
    const bool zero = c.f == 0;
    if ((!max && op != KN_OP_MINIMUM) || !kn_is_float(c.dtype) || isnan(c.f) ||
        (zero && signbit(c.f)))
        return NULL;
    return kn_sprintf(a, "%s(%s, %s)%s", max ? "KN_AT_LEAST" : "KN_AT_MOST", x, literal,
                      max && zero ? " + 0" : "");
}

bool kn_c_is_inline(kn_op op, kn_dtype type, kn_dtype to)
{
    return (op == KN_OP_CAST ? cast_form(type, to) : form_of(op, type)) != NULL;
}

bool kn_c_is_called(const kn_phase *p, int v)
{
    const kn_value *values = p->nest.values.data, *value = &values[v];
    return value->kind == KN_V_GATHER ||
           (value->kind == KN_V_ELEM &&
            !kn_c_is_inline(value->op, values[value->in[value->nin - 1]].dtype, value->dtype));
}

bool kn_c_calls(const kn_phase *p)
{
    for (int v = 0; v < p->nest.values.len; v++)
        if (kn_c_is_called(p, v))
            return true;
    return false;
}

kn_dtype kn_c_accumulator(const kn_phase *p, const kn_red *red)
{
    kn_dtype t = p->nest.values.data[red->value].dtype;
    if (red->by || red->op == KN_OP_VAR || kn_is_complex(t) || red->part != KN_PART_RESULT)
        return KN_NO_DTYPE;
    return kn_is_float(t) && (red->op == KN_OP_SUM || red->op == KN_OP_PROD) ? KN_F64 : t;
}

bool kn_c_has_f64_variance(const kn_phase *p, int stage)
{
    for (int r = 0; r < p->nest.reds.len; r++) {
        const kn_red *red = &p->nest.reds.data[r];
        if (red->op == KN_OP_VAR && red->stage == stage &&
            p->nest.values.data[red->value].dtype != KN_F32)
            return true;
    }
    return false;
}

int kn_c_owner(const kn_phase *p, int r)
{
    const kn_red *red = &p->nest.reds.data[r];
    if (red->by || red->op != KN_OP_SUM || p->nest.values.data[red->value].dtype != KN_F32)
        return kn_red_owner(p, r);
    for (int v = 0; v < p->nest.reds.len; v++) {
        const kn_red *var = &p->nest.reds.data[v];
        if (var->op == KN_OP_VAR && var->value == red->value && var->stage == red->stage &&
            kn_red_owner(p, v) == v)
            return v;
    }
    return r;
}

bool kn_c_is_added(const kn_c_writer *w, const kn_red *red)
{
    const bool known = kn_c_accumulator(w->ph, red) != KN_NO_DTYPE || red->op == KN_OP_VAR;
    return known && !red->by && (w->mode == KN_C_COLS || w->one_run || w->whole);
}

const char *kn_c_acc(kn_c_writer *w, int r)
{
    bool one = kn_c_by_rows(w) && kn_c_accumulator(w->ph, &w->ph->nest.reds.data[r]) != KN_NO_DTYPE;
    return kn_c_printed(w, one ? "&s->acc%d" : "s->acc%d", r);
}
