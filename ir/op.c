#include "ir/op.h"

#include <string.h>

const kn_op_info kn_ops[KN_OP_COUNT] = {
#define ELEM(name, txt, n, r, u32, u64, c, fix)                                                    \
    [KN_OP_##name] = {.text = txt,                                                                 \
                      .cls = KN_ELEM,                                                              \
                      .arity = n,                                                                  \
                      .least = n,                                                                  \
                      .rule = KN_RULE_##r,                                                         \
                      .ulp_f32 = u32,                                                              \
                      .ulp_f64 = u64,                                                              \
                      .cost = c,                                                                   \
                      .infix = fix},
#define REDUCE(name, txt, r, comb, none)                                                           \
    [KN_OP_##name] = {.text = txt,                                                                 \
                      .cls = KN_REDUCE,                                                            \
                      .arity = 1,                                                                  \
                      .rule = KN_RULE_##r,                                                         \
                      .cost = 1,                                                                   \
                      .combine = KN_OP_##comb,                                                     \
                      .empty = KN_EMPTY_##none,                                                    \
                      .infix = ""},
#define FORMULA(name, txt, lo, hi, r, ulp, unit, is)                                               \
    [KN_OP_##name] = {.text = txt,                                                                 \
                      .cls = KN_FORMULA,                                                           \
                      .arity = hi,                                                                 \
                      .least = lo,                                                                 \
                      .rule = KN_RULE_##r,                                                         \
                      .ulp_f32 = ulp,                                                              \
                      .ulp_f64 = ulp,                                                              \
                      .of = KN_OF_##unit,                                                          \
                      .infix = "",                                                                 \
                      .formula = is},
#define VIEW(name, txt) [KN_OP_##name] = {.text = txt, .cls = KN_VIEW, .arity = 1, .infix = ""},
#define LEAF(name, txt) [KN_OP_##name] = {.text = txt, .cls = KN_LEAF, .infix = ""},
#define REDUCE_OWN(name, txt)                                                                      \
    [KN_OP_##name] = {.text = txt, .cls = KN_REDUCE, .cost = 4, .infix = ""},
#define GATHER(name, txt) [KN_OP_##name] = {.text = txt, .cls = KN_GATHER, .cost = 4, .infix = ""},
#define EXCHANGE(name, txt)                                                                        \
    [KN_OP_##name] = {.text = txt, .cls = KN_EXCHANGE, .arity = 1, .infix = ""},
#include "ir/ops.def"
#undef ELEM
#undef FORMULA
#undef REDUCE
#undef VIEW
#undef LEAF
#undef GATHER
#undef REDUCE_OWN
#undef EXCHANGE
};

const kn_complex_info kn_complex_ops[KN_OP_COUNT] = {
#define ELEM(name, text, arity, rule, f32, f64, cost, infix)
#define FORMULA(name, text, least, most, rule, ulp, of, is)
#define REDUCE(name, text, rule, combine, empty)
#define VIEW(name, text)
#define LEAF(name, text)
#define IS_PART_SAME false
#define IS_PART_BOOL false
#define IS_PART_FIXED false
#define IS_PART_PART true
#define COMPLEX(name, arity, result, bound, unit)                                                  \
    [KN_OP_##name] = {true, false, IS_PART_##result, bound, KN_OF_##unit},
#define MADE(name, bound, unit) [KN_OP_##name] = {true, true, false, bound, KN_OF_##unit},
#include "ir/ops.def"
#undef ELEM
#undef FORMULA
#undef REDUCE
#undef VIEW
#undef LEAF
#undef COMPLEX
#undef MADE
};

static const struct {
    const char *text;
    kn_op op;
} aliases[] = {
    {"mod", KN_OP_MOD},
    {"absolute", KN_OP_ABS},
    {"pow", KN_OP_POW},
    {"amin", KN_OP_MIN},
    {"amax", KN_OP_MAX},
    {"true_divide", KN_OP_DIV},
    {"astype", KN_OP_CAST},
    {"permute_dims", KN_OP_PERMUTE},
    {"asin", KN_OP_ARCSIN},
    {"acos", KN_OP_ARCCOS},
    {"atan", KN_OP_ARCTAN},
    {"asinh", KN_OP_ARCSINH},
    {"acosh", KN_OP_ARCCOSH},
    {"atanh", KN_OP_ARCTANH},
    {"atan2", KN_OP_ARCTAN2},
    {"fix", KN_OP_TRUNC},
    {"conj", KN_OP_CONJ},
    {"degrees", KN_OP_RAD2DEG},
    {"radians", KN_OP_DEG2RAD},
    {"around", KN_OP_ROUND},
    {"bitwise_not", KN_OP_INVERT},
    {"bitwise_invert", KN_OP_INVERT},
    {"bitwise_left_shift", KN_OP_SHL},
    {"bitwise_right_shift", KN_OP_SHR},
};

int kn_op_find(const char *text, size_t len)
{
    for (int i = 0; i < KN_OP_COUNT; i++)
        if (kn_ops[i].cls != KN_LEAF && kn_ops[i].cls != KN_EXCHANGE && i != KN_OP_REDUCE_BY &&
            strlen(kn_ops[i].text) == len && memcmp(kn_ops[i].text, text, len) == 0)
            return i;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strlen(aliases[i].text) == len && memcmp(aliases[i].text, text, len) == 0)
            return (int)aliases[i].op;
    return -1;
}

double kn_op_ulp(kn_op op, kn_dtype dtype)
{
    double f32 = kn_ops[op].ulp_f32;
    switch (dtype) {
    case KN_F64: return kn_ops[op].ulp_f64;
    case KN_F32: return f32;
    case KN_F16:
    case KN_BF16: /* f32's result, rounded once more */
        return f32 == 0 ? 0 : 0.5 + f32 * kn_unit_roundoff(KN_F32) / kn_unit_roundoff(dtype);
    case KN_C64:
    case KN_C128: return kn_complex_ops[op].ulp;
    default: return 0;
    }
}

kn_dtype kn_op_result(kn_op op, kn_dtype operand)
{
    switch (kn_ops[op].rule) {
    case KN_RULE_COMPARE:
    case KN_RULE_TEST: return KN_BOOL;
    case KN_RULE_EXPONENT: return KN_I32;
    case KN_RULE_PAIR: return kn_complex_of(operand);
    case KN_RULE_COMPLEX: return kn_complex_ops[op].part ? kn_real_of(operand) : operand;
    default: return operand;
    }
}

bool kn_op_exists(kn_op op, kn_dtype t)
{
    if (kn_is_complex(t))
        return kn_complex_ops[op].exists && !kn_complex_ops[op].made;
    switch (kn_ops[op].rule) {
    case KN_RULE_SIGNED:
    case KN_RULE_INTEGER: return t != KN_BOOL;
    case KN_RULE_BITS: /* of bool they are logic */
    case KN_RULE_SHIFT:
    case KN_RULE_WHOLE: return kn_is_int(t);
    case KN_RULE_FLOAT:
    case KN_RULE_EXPONENT:
    case KN_RULE_TRUEDIV: return kn_is_float(t);
    case KN_RULE_LOGIC: return t == KN_BOOL;
    case KN_RULE_COMPLEX: return false;
    case KN_RULE_PAIR: return t == KN_F32 || t == KN_F64;
    default: return true;
    }
}
