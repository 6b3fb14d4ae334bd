/* Elementwise operations: types, Python numbers, broadcasting. */
#include <string.h>

#include "ir/build_impl.h"
#include "ir/eval.h"

static const char *op_text(kn_op op) { return kn_ops[op].text; }
static const char *type_text(kn_dtype t) { return kn_dtypes[t].text; }

/* ---- types ---- */

kn_node *kn_build_cast_to(kn_graph *g, kn_node *x, kn_dtype t)
{
    if (x->dtype == t && !x->weak)
        return x;
    if (x->op == KN_OP_CONST)
        return kn_build_constant(g, kn_eval_cast(x->u.value, t), false, x->loc);
    kn_node n = {.op = KN_OP_CAST, .dtype = t, .rank = x->rank, .shape = x->shape, .loc = x->loc};
    n.in[0] = x;
    n.nin = 1;
    return kn_graph_intern(g, &n);
}

kn_node *kn_build_cast(kn_graph *g, kn_node *x, kn_dtype dtype, kn_loc loc)
{
    (void)loc;
    if (!x)
        return NULL;
    if (!kn_dtype_valid((int)dtype)) {
        kn_fail(KN_TYPE, "cast: unknown dtype %d", (int)dtype);
        return NULL;
    }
    return kn_build_cast_to(g, x, dtype);
}

/* A Python integer that an array's type may not hold: beyond 2^63 - 1, or made of sizes. */
static bool is_unbounded(const kn_node *x)
{
    return x->weak && (x->op == KN_OP_CONST ? x->dtype == KN_U64 : kn_is_int(x->dtype));
}

static bool all_integers(kn_node *const *in, int n)
{
    for (int i = 0; i < n; i++)
        if (in[i]->weak && !kn_is_int(in[i]->dtype))
            return false;
    return true;
}

/* NEP 50: array types promote among themselves; a Python number only raises the kind. All weak: weak. */
kn_dtype kn_build_common_type(kn_node *const *in, int n, bool *weak)
{
    kn_dtype strong = KN_NO_DTYPE, soft = KN_NO_DTYPE;
    for (int i = 0; i < n; i++) {
        kn_dtype *t = in[i]->weak ? &soft : &strong;
        *t = *t ? kn_promote(*t, in[i]->dtype) : in[i]->dtype;
        if (in[i]->weak && soft == KN_F64 && all_integers(in, i + 1))
            soft = KN_U64; /* a literal beyond 2^63 - 1 is an integer all the same */
    }
    *weak = !strong;
    if (!strong)
        return soft;
    if (!soft || kn_category(soft) <= kn_category(strong))
        return strong;
    if (soft == KN_U64) /* of bool a Python integer makes i64, which has to hold it */
        return KN_I64;
    return kn_is_complex(soft) && kn_is_float(strong) ? kn_complex_of(strong) : soft;
}

/* That of the functions of floats. Integers of two types need not have an integer type in common: each goes to
 * the float that holds it. A Python integer makes an i64 of bool. */
kn_dtype kn_build_float_type(kn_node *const *in, int n)
{
    bool weak;
    kn_dtype t = kn_build_common_type(in, n, &weak), of = KN_NO_DTYPE;
    for (int i = 0; i < n && !kn_is_inexact(t); i++)
        if (!in[i]->weak && kn_category(in[i]->dtype) == kn_category(t))
            of = of ? kn_promote(of, kn_float_of(in[i]->dtype)) : kn_float_of(in[i]->dtype);
    return of ? of : kn_float_of(t);
}

static kn_node *type_error(kn_op op, kn_dtype t, const char *why)
{
    kn_fail(KN_TYPE, "%s of %s: %s", op_text(op), type_text(t), why);
    return NULL;
}

/* The type operands are converted to; KN_NO_DTYPE after an error. */
static kn_dtype compute_type(kn_op op, kn_rule rule, kn_dtype t)
{
    bool is_bool = t == KN_BOOL;
    if (kn_is_complex(t) && rule != KN_RULE_LOGIC && !kn_complex_ops[op].exists)
        return type_error(op, t, "complex numbers do not have it"), KN_NO_DTYPE;
    switch (rule) {
    case KN_RULE_SIGNED:
        if (is_bool)
            return type_error(op, t, "bool has no sign; use logical_not, or cast first"),
                   KN_NO_DTYPE;
        return t;
    case KN_RULE_INTEGER: return is_bool ? KN_I8 : t;
    case KN_RULE_BITS:
        if (kn_is_float(t))
            return type_error(op, t, "only bool and integers have bits"), KN_NO_DTYPE;
        return t;
    case KN_RULE_SHIFT:
        if (kn_is_float(t))
            return type_error(op, t, "only integers are shifted"), KN_NO_DTYPE;
        return is_bool ? KN_I8 : t;
    case KN_RULE_WHOLE:
        if (!kn_is_int(t))
            return type_error(op, t, "it is of integers only"), KN_NO_DTYPE;
        return t;
    case KN_RULE_TRUEDIV: return kn_is_inexact(t) ? t : KN_F64;
    case KN_RULE_PAIR: return kn_compute_dtype(t);
    case KN_RULE_LOGIC:
    case KN_RULE_BOOL: return KN_BOOL;
    default: return t;
    }
}

/* Python's own operators on Python numbers give Python numbers; functions give NumPy scalars. */
static bool stays_weak(kn_op op)
{
    switch (op) {
    case KN_OP_ADD:
    case KN_OP_SUB:
    case KN_OP_MUL:
    case KN_OP_DIV:
    case KN_OP_FLOORDIV:
    case KN_OP_MOD:
    case KN_OP_POW:
    case KN_OP_NEG:
    case KN_OP_BITAND:
    case KN_OP_BITOR:
    case KN_OP_BITXOR:
    case KN_OP_INVERT:
    case KN_OP_SHL:
    case KN_OP_SHR:
    case KN_OP_ABS:
    case KN_OP_REAL:
    case KN_OP_IMAG: return true;
    default: return false;
    }
}

/* ---- shapes ---- */

int kn_build_common_shape(kn_graph *g, kn_op op, kn_node *const *in, int n, kn_dim *out, kn_loc loc)
{
    kn_symbols *s = g->syms;
    int rank = 0;
    for (int i = 0; i < n; i++)
        rank = in[i]->rank > rank ? in[i]->rank : rank;
    for (int j = 0; j < rank; j++) {
        const kn_node *from = NULL; /* whose dimension out[j] is */
        out[j] = kn_dim_const(s, 1);
        for (int i = 0; i < n; i++) {
            int k = j - (rank - in[i]->rank);
            if (k < 0 || kn_dim_is_one(s, in[i]->shape[k]))
                continue;
            kn_dim d = in[i]->shape[k];
            if (!from || kn_dim_equal(s, out[j], d)) {
                out[j] = from ? out[j] : d;
                from = from ? from : in[i];
                continue;
            }
            const char *a = kn_build_shape_text(g, from->shape, from->rank);
            const char *b = kn_build_shape_text(g, in[i]->shape, in[i]->rank);
            kn_fact fact = {.kind = KN_FACT_EQUAL, .a = out[j], .b = d};
            kn_unified u = kn_dim_unify(s, out[j], d);
            if (u != KN_UNIFIED) {
                kn_fail(KN_SHAPE, "%s: shapes %s and %s do not broadcast%s", op_text(op), a, b,
                        u == KN_UNDECIDED ? ", as far as can be known" : "");
                return -1;
            }
            fact.why = kn_sprintf(g->arena, "%s%s of %s and %s", op_text(op),
                                  kn_build_place(g, loc), a, b);
            kn_facts_add(&g->facts, s, g->arena, fact);
        }
    }
    return rank;
}

/* bool arithmetic is logic */
static kn_op op_on(kn_op op, kn_dtype t)
{
    if (t != KN_BOOL)
        return op;
    switch (op) {
    case KN_OP_ADD:
    case KN_OP_FMAX:
    case KN_OP_BITOR:
    case KN_OP_MAXIMUM: return KN_OP_OR;
    case KN_OP_MUL:
    case KN_OP_FMIN:
    case KN_OP_BITAND:
    case KN_OP_MINIMUM: return KN_OP_AND;
    case KN_OP_BITXOR: return KN_OP_NE;
    case KN_OP_INVERT: return KN_OP_NOT;
    case KN_OP_ABS:
    case KN_OP_FLOOR:
    case KN_OP_TRUNC:
    case KN_OP_CEIL: return KN_OP_COPY;
    default: return op;
    }
}

static bool negative_const(const kn_node *x)
{
    return x->op == KN_OP_CONST && kn_is_int(x->dtype) && x->dtype != KN_U64 && x->u.value.i < 0;
}

/* Arithmetic of Python integers, which do not wrap. False where 64 bits do not hold the result. */
static bool python_int(kn_op op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case KN_OP_ADD: return !__builtin_add_overflow(a, b, out);
    case KN_OP_SUB: return !__builtin_sub_overflow(a, b, out);
    case KN_OP_MUL: return !__builtin_mul_overflow(a, b, out);
    case KN_OP_NEG: return !__builtin_sub_overflow(0, a, out);
    case KN_OP_SHL:
        *out = b < 62 ? (int64_t)1 << b : INT64_MAX;
        return b >= 0 &&
               (a == 0 ? (*out = 0, true) : b < 62 && !__builtin_mul_overflow(a, *out, out));
    case KN_OP_SHR: *out = a >> (b < 63 ? b : 63); return b >= 0;
    case KN_OP_ABS: *out = a; return a >= 0 || !__builtin_sub_overflow(0, a, out);
    case KN_OP_POW:
        *out = a == -1 && b & 1 ? -1 : a == 0 && b ? 0 : 1;
        if (a >= -1 && a <= 1)
            return true;
        while (b-- > 0)
            if (__builtin_mul_overflow(*out, a, out))
                return false;
        return true;
    default: break;
    }
    kn_scalar in[2] = {{.dtype = KN_I64, .i = a}, {.dtype = KN_I64, .i = b}};
    *out = kn_eval(op, KN_I64, in).i;
    return a != INT64_MIN || b != -1; /* // and % */
}

/* What Python itself works out before an array meets it: *out is the number, or keeps KN_NO_DTYPE where the
 * operands are not all numbers of its kinds that are known. False after an error. */
static bool python_number(kn_op op, kn_node *const *in, int n, kn_dtype t, kn_scalar *out)
{
    bool divides = op == KN_OP_DIV || op == KN_OP_FLOORDIV || op == KN_OP_MOD;
    int64_t v;
    if (in[0]->op != KN_OP_CONST || in[n - 1]->op != KN_OP_CONST)
        return true;
    if (divides && kn_eval_cast(in[1]->u.value, KN_BOOL).i == 0) {
        kn_fail(KN_TYPE, "%s: division of a Python number by zero", op_text(op));
        return false;
    }
    if (t == KN_U64) {
        kn_fail(KN_TYPE, "%s: Python integers beyond 2^63 - 1 can only be literals", op_text(op));
        return false;
    }
    if (kn_is_complex(t)) {
        kn_scalar c[2] = {kn_eval_cast(in[0]->u.value, t), kn_eval_cast(in[n - 1]->u.value, t)};
        *out = kn_eval(op, kn_op_result(op, t), c);
        return true;
    }
    if (t != KN_I64)
        return true;
    if ((op == KN_OP_SHL || op == KN_OP_SHR) && in[1]->u.value.i < 0) {
        kn_fail(KN_TYPE, "%s: negative shift count", op_text(op));
        return false;
    }
    if (!python_int(op, in[0]->u.value.i, in[n - 1]->u.value.i, &v)) {
        kn_fail(KN_TYPE, "%s: the integer does not fit in 64 bits", op_text(op));
        return false;
    }
    *out = (kn_scalar){.dtype = KN_I64, .i = v};
    return true;
}

/* Right number of operands, none of them the NULL of a failure before. */
static bool check_operands(kn_op op, kn_node *const *args, int n)
{
    const kn_op_info *info = &kn_ops[op];
    if (!kn_op_elementwise((int)op) || op == KN_OP_CAST) {
        kn_fail(KN_ARGUMENT, "%s is not an elementwise operation", info->text);
        return false;
    }
    if (n < info->least || n > info->arity) {
        kn_fail(KN_ARGUMENT, "%s takes %d argument%s, %d given", info->text, info->arity,
                info->arity == 1 ? "" : "s", n);
        return false;
    }
    for (int i = 0; i < n; i++)
        if (!args[i])
            return false;
    return true;
}

/* What operands of the common type t are computed in; KN_NO_DTYPE after a failure. */
static kn_dtype operand_type(kn_op op, kn_node *const *in, int n, kn_dtype t, bool weak)
{
    kn_rule rule = kn_ops[op].rule;
    bool negative_power = op == KN_OP_POW && negative_const(in[1]);
    if (negative_power && weak)
        t = KN_F64;
    if (rule == KN_RULE_FLOAT || rule == KN_RULE_EXPONENT || rule == KN_RULE_PAIR)
        t = kn_build_float_type(in, n);
    t = compute_type(op, rule, t);
    if (negative_power && t && kn_is_int(t)) {
        type_error(op, t, "integers to negative integer powers are not allowed");
        return KN_NO_DTYPE;
    }
    if (rule == KN_RULE_COMPARE && t && kn_is_int(t))
        for (int i = 0; i < n; i++) /* a Python integer compares by its value, with u64 too */
            if (in[i]->weak && in[i]->op == KN_OP_CONST && !kn_int_fits(in[i]->u.value, t))
                t = t == KN_U64 ? KN_F64 : KN_I64;
    return t;
}

static bool integers_fit(kn_graph *g, kn_op op, kn_node *const *in, int n, kn_dtype t, kn_loc loc)
{
    for (int i = 0; i < n; i++)
        if (!kn_build_need_fit(g, op_text(op), in[i], t, loc))
            return false;
    return true;
}

kn_node *kn_build_elem(kn_graph *g, kn_op op, kn_node *const *args, int n, kn_loc loc)
{
    const kn_op_info *info = &kn_ops[op];
    kn_node *in[KN_MAX_IN] = {0};
    if (!check_operands(op, args, n))
        return NULL;
    memcpy(in, args, sizeof *in * (size_t)n);
    if (info->cls == KN_FORMULA)
        return kn_build_formula(g, op, in, n, loc);
    if (info->rule == KN_RULE_COMPLEX && !kn_is_complex(in[0]->dtype))
        return kn_build_part(g, op, in[0], loc);
    if (kn_is_complex(in[0]->dtype) && n == 1 && kn_complex_ops[op].made)
        return kn_build_complex(g, op, in[0], loc);

    for (int i = 0; i < n && info->rule == KN_RULE_COMPARE; i++) /* by value, as what it is */
        if (is_unbounded(in[i]) && !in[1 - i]->weak && kn_is_int(in[1 - i]->dtype))
            in[i] = kn_build_cast_to(g, in[i], in[i]->dtype);
    int first = op == KN_OP_WHERE; /* the condition does not take part in promotion */
    bool weak;
    kn_dtype t = kn_build_common_type(in + first, n - first, &weak);
    weak = weak && stays_weak(op);
    if (info->rule == KN_RULE_COMPARE && kn_is_float(t) && kn_is_int(in[0]->dtype) &&
        kn_is_int(in[1]->dtype) && !in[0]->weak && !in[1]->weak)
        return kn_build_compare_signs(g, op, in[0], in[1], loc);
    t = operand_type(op, in, n, t, weak);
    if (!t || !integers_fit(g, op, in + first, n - first, t, loc))
        return NULL;

    kn_scalar number = {.dtype = KN_NO_DTYPE};
    if (weak && !python_number(op, in, n, t, &number))
        return NULL;
    if (number.dtype)
        return kn_build_constant(g, number, true, loc);

    kn_dim shape[KN_MAX_RANK];
    int rank = kn_build_common_shape(g, op, in, n, shape, loc);
    if (rank < 0)
        return NULL;
    for (int i = 0; i < n; i++)
        in[i] =
            kn_build_pad_rank(g, kn_build_cast_to(g, in[i], i < first ? KN_BOOL : t), rank, loc);

    kn_node node = {.op = op_on(op, t),
                    .dtype = kn_op_result(op, t),
                    .weak = weak,
                    .rank = rank,
                    .shape = shape,
                    .nin = n,
                    .loc = loc};
    memcpy(node.in, in, sizeof in);
    return kn_graph_intern(g, &node);
}
