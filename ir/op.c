#include "ir/op.h"

#include <string.h>

const kn_op_info kn_ops[KN_OP_COUNT] = {
#define ELEM(name, txt, n, r, u32, u64, c, fix)                                                    \
    [KN_OP_##name] = {.text = txt,                                                                 \
                      .cls = KN_ELEM,                                                              \
                      .arity = n,                                                                  \
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
#define VIEW(name, txt) [KN_OP_##name] = {.text = txt, .cls = KN_VIEW, .arity = 1, .infix = ""},
#define LEAF(name, txt) [KN_OP_##name] = {.text = txt, .cls = KN_LEAF, .infix = ""},
#include "ir/ops.def"
#undef ELEM
#undef REDUCE
#undef VIEW
#undef LEAF
};

static const struct {
    const char *text;
    kn_op op;
} aliases[] = {
    {"mod", KN_OP_MOD},     {"absolute", KN_OP_ABS},
    {"pow", KN_OP_POW},     {"amin", KN_OP_MIN},
    {"amax", KN_OP_MAX},    {"true_divide", KN_OP_DIV},
    {"astype", KN_OP_CAST}, {"permute_dims", KN_OP_PERMUTE},
};

int kn_op_find(const char *text, size_t len)
{
    for (int i = 0; i < KN_OP_COUNT; i++)
        if (kn_ops[i].cls != KN_LEAF && strlen(kn_ops[i].text) == len &&
            memcmp(kn_ops[i].text, text, len) == 0)
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
    default: return 0;
    }
}
