/* The operation table of ops.def as an enum and an array. */
#ifndef KN_IR_OP_H
#define KN_IR_OP_H

#include <stdbool.h>
#include <stddef.h>

#include "ir/dtype.h"

typedef enum kn_op {
#define ELEM(name, text, arity, rule, f32, f64, cost, infix) KN_OP_##name,
#define FORMULA(name, text, least, most, rule, ulp, of, is) KN_OP_##name,
#define REDUCE(name, text, rule, combine, empty) KN_OP_##name,
#define VIEW(name, text) KN_OP_##name,
#define LEAF(name, text) KN_OP_##name,
#define GATHER(name, text) KN_OP_##name,
#define REDUCE_OWN(name, text) KN_OP_##name,
#define EXCHANGE(name, text) KN_OP_##name,
#include "ir/ops.def"
#undef ELEM
#undef FORMULA
#undef REDUCE
#undef VIEW
#undef LEAF
#undef GATHER
#undef REDUCE_OWN
#undef EXCHANGE
    KN_OP_COUNT
} kn_op;

typedef enum kn_op_class {
    KN_ELEM,
    KN_FORMULA,
    KN_REDUCE,
    KN_VIEW,
    KN_LEAF,
    KN_GATHER,
    KN_EXCHANGE
} kn_op_class;

typedef enum kn_rule {
    KN_RULE_NONE,
    KN_RULE_ARITH,
    KN_RULE_SIGNED,
    KN_RULE_INTEGER,
    KN_RULE_FLOAT,
    KN_RULE_TRUEDIV,
    KN_RULE_ROUND,
    KN_RULE_BITS,
    KN_RULE_SHIFT,
    KN_RULE_WHOLE,
    KN_RULE_COMPARE,
    KN_RULE_TEST,
    KN_RULE_EXPONENT,
    KN_RULE_LOGIC,
    KN_RULE_SELECT,
    KN_RULE_COMPLEX,
    KN_RULE_PAIR,
    KN_RULE_FIXED,
    KN_RULE_COUNT,
    KN_RULE_SAME,
    KN_RULE_BOOL,
} kn_rule;

typedef enum kn_empty { KN_EMPTY_ZERO, KN_EMPTY_ONE, KN_EMPTY_NAN, KN_EMPTY_ERROR } kn_empty;

/* What the units of an accuracy bound are of. */
typedef enum kn_bound_of { KN_OF_RESULT, KN_OF_OPERANDS, KN_OF_ONE, KN_OF_EXPONENT } kn_bound_of;

typedef struct kn_op_info {
    const char *text;
    kn_op_class cls;
    int arity; /* FORMULA: at most */
    int least; /* arguments; fewer than arity only for FORMULA */
    kn_rule rule;
    double ulp_f32, ulp_f64;
    kn_bound_of of;
    int cost;
    const char *infix;
    kn_op combine;
    kn_empty empty;
    const char *formula; /* FORMULA: what it is, in words of the text form */
} kn_op_info;

extern const kn_op_info kn_ops[KN_OP_COUNT];

/* An operation of complex numbers: its rows COMPLEX and MADE. */
typedef struct kn_complex_info {
    bool exists, made; /* made: of others, so that no graph holds it at a complex type */
    bool part;         /* the result is of the type of the parts */
    double ulp;
    kn_bound_of of;
} kn_complex_info;

extern const kn_complex_info kn_complex_ops[KN_OP_COUNT];

/* The operation of that name (also NumPy's other names for it: "mod", "absolute", "amax", ...); -1 if none. */
int kn_op_find(const char *text, size_t len);
/* The accuracy bound of `op` at `dtype`, its result's type, in ULP; 0 for integers. 16-bit floats: f32's bound, and
 * half an ULP of their own. */
double kn_op_ulp(kn_op op, kn_dtype dtype);

/* What an elementwise operation gives for operands converted to `operand` (where: the second's type). */
kn_dtype kn_op_result(kn_op op, kn_dtype operand);
/* Does an elementwise operation compute with operands of type t, without converting them? */
bool kn_op_exists(kn_op op, kn_dtype t);
/* Elementwise, to a user: an operation or a formula. */
static inline bool kn_op_elementwise(int op)
{
    return kn_ops[op].cls == KN_ELEM || kn_ops[op].cls == KN_FORMULA;
}

#endif
