#include "ir/build.h"

#include <math.h>
#include <string.h>

#include "ir/eval.h"

static const char *op_text(kn_op op) { return kn_ops[op].text; }
static const char *type_text(kn_dtype t) { return kn_dtypes[t].text; }

static const char *shape_text(kn_graph *g, const kn_dim *shape, int rank)
{
    kn_text t = kn_text_new(g->arena);
    kn_shape_print(&t, g->syms, shape, rank);
    return kn_text_str(&t);
}

static const char *place(kn_graph *g, kn_loc loc)
{
    return loc.line ? kn_sprintf(g->arena, " at %d:%d", loc.line, loc.col) : "";
}

/* ---- leaves ---- */

/* Names stand in generated source, in file names and in Graphviz text. */
static bool is_identifier(const char *name)
{
    bool ok = *name && !(*name >= '0' && *name <= '9');
    for (; ok && *name; name++)
        ok = *name == '_' || (*name >= '0' && *name <= '9') || (*name >= 'a' && *name <= 'z') ||
             (*name >= 'A' && *name <= 'Z');
    return ok;
}

kn_status kn_build_check_name(const char *name, const char *what)
{
    if (!name || !*name)
        return kn_fail(KN_ARGUMENT, "%s needs a name", what);
    if (!is_identifier(name))
        return kn_fail(KN_ARGUMENT, "the name '%s' of %s is not an identifier: letters, digits, _",
                       name, what);
    return KN_OK;
}

static kn_status new_input(kn_graph *g, const char *name, kn_dtype dtype)
{
    KN_TRY(kn_build_check_name(name, "an input"));
    if (!kn_dtype_valid((int)dtype))
        return kn_fail(KN_TYPE, "input %s: unknown dtype %d", name, (int)dtype);
    if (kn_graph_find_input(g, name) >= 0)
        return kn_fail(KN_ARGUMENT, "there is an input %s already", name);
    return KN_OK;
}

kn_node *kn_build_input(kn_graph *g, const char *name, kn_dtype dtype, const kn_dim *shape,
                        int rank, kn_loc loc)
{
    if (new_input(g, name, dtype) != KN_OK)
        return NULL;
    if (rank > KN_MAX_RANK) {
        kn_fail(KN_SHAPE, "input %s has %d dimensions; %d is the limit", name, rank, KN_MAX_RANK);
        return NULL;
    }
    kn_node n = {.op = KN_OP_INPUT, .dtype = dtype, .rank = rank, .shape = shape, .loc = loc};
    n.u.input = g->inputs.len;
    n.name = kn_strdup(g->arena, name);
    kn_node *made = kn_graph_intern(g, &n);
    kn_push(g->arena, &g->inputs, ((kn_input){.name = made->name, .node = made}));
    return made;
}

kn_node *kn_build_scalar(kn_graph *g, const char *name, kn_dtype dtype, const kn_scalar *dflt,
                         kn_loc loc)
{
    if (new_input(g, name, dtype) != KN_OK)
        return NULL;
    kn_node n = {.op = KN_OP_SCALAR, .dtype = dtype, .loc = loc};
    n.u.input = g->inputs.len;
    n.name = kn_strdup(g->arena, name);
    kn_node *made = kn_graph_intern(g, &n);
    kn_input in = {.name = made->name, .node = made, .by_value = true, .has_default = dflt != NULL};
    if (dflt)
        in.dflt = kn_eval_cast(*dflt, dtype);
    kn_push(g->arena, &g->inputs, in);
    return made;
}

static kn_node *constant(kn_graph *g, kn_scalar v, bool weak, kn_loc loc)
{
    kn_node n = {.op = KN_OP_CONST, .dtype = v.dtype, .weak = weak, .loc = loc};
    n.u.value = v;
    return kn_graph_intern(g, &n);
}

kn_node *kn_build_int(kn_graph *g, int64_t v, kn_loc loc)
{
    return constant(g, (kn_scalar){.dtype = KN_I64, .i = v}, true, loc);
}

kn_node *kn_build_float(kn_graph *g, double v, kn_loc loc)
{
    return constant(g, (kn_scalar){.dtype = KN_F64, .f = v}, true, loc);
}

kn_node *kn_build_bool(kn_graph *g, bool v, kn_loc loc)
{
    return constant(g, (kn_scalar){.dtype = KN_BOOL, .i = v}, false, loc);
}

kn_node *kn_build_const(kn_graph *g, kn_scalar v, kn_loc loc) { return constant(g, v, false, loc); }

kn_node *kn_build_extent(kn_graph *g, kn_dim d, kn_loc loc)
{
    int64_t v;
    if (!d)
        return NULL;
    if (kn_dim_is_const(g->syms, d, &v))
        return kn_build_int(g, v, loc);
    kn_node n = {.op = KN_OP_EXTENT, .dtype = KN_I64, .weak = true, .loc = loc};
    n.u.dim = kn_dim_resolve(g->syms, d);
    return kn_graph_intern(g, &n);
}

/* ---- types ---- */

static kn_node *cast_to(kn_graph *g, kn_node *x, kn_dtype t)
{
    if (x->dtype == t && !x->weak)
        return x;
    if (x->op == KN_OP_CONST)
        return constant(g, kn_eval_cast(x->u.value, t), false, x->loc);
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
    return cast_to(g, x, dtype);
}

/* NEP 50: array types promote among themselves; a Python number only raises the kind. All weak: weak. */
static kn_dtype common_type(kn_node *const *in, int n, bool *weak)
{
    kn_dtype strong = KN_NO_DTYPE, soft = KN_NO_DTYPE;
    for (int i = 0; i < n; i++) {
        kn_dtype *t = in[i]->weak ? &soft : &strong;
        *t = *t ? kn_promote(*t, in[i]->dtype) : in[i]->dtype;
    }
    *weak = !strong;
    if (!strong)
        return soft;
    return soft && kn_dtypes[soft].kind > kn_dtypes[strong].kind ? soft : strong;
}

static bool fits(kn_scalar v, kn_dtype t)
{
    return t != KN_I32 || kn_is_float(v.dtype) || (v.i >= INT32_MIN && v.i <= INT32_MAX);
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
    switch (rule) {
    case KN_RULE_SIGNED:
        if (is_bool)
            return type_error(op, t, "bool has no sign; use logical_not, or cast first"),
                   KN_NO_DTYPE;
        return t;
    case KN_RULE_INTEGER:
        if (is_bool)
            return type_error(op, t,
                              "the result would be int8, which is not supported; cast first"),
                   KN_NO_DTYPE;
        return t;
    case KN_RULE_FLOAT:
        if (is_bool)
            return type_error(op, t,
                              "the result would be float16, which is not supported; cast first"),
                   KN_NO_DTYPE;
        return kn_is_float(t) ? t : KN_F64;
    case KN_RULE_TRUEDIV: return kn_is_float(t) ? t : KN_F64;
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
    case KN_OP_ABS: return true;
    default: return false;
    }
}

/* ---- shapes ---- */

static kn_node *reshape_to(kn_graph *g, kn_node *x, const kn_dim *shape, int rank, kn_loc loc)
{
    bool same = rank == x->rank;
    for (int i = 0; same && i < rank; i++)
        same = kn_dim_equal(g->syms, shape[i], x->shape[i]);
    if (same)
        return x;
    kn_node n = {.op = KN_OP_RESHAPE,
                 .dtype = x->dtype,
                 .weak = x->weak,
                 .rank = rank,
                 .shape = shape,
                 .nin = 1,
                 .loc = loc};
    n.in[0] = x;
    return kn_graph_intern(g, &n);
}

static kn_node *pad_rank(kn_graph *g, kn_node *x, int rank, kn_loc loc)
{
    kn_dim shape[KN_MAX_RANK];
    int more = rank - x->rank;
    for (int i = 0; i < rank; i++)
        shape[i] = i < more ? kn_dim_const(g->syms, 1) : x->shape[i - more];
    return reshape_to(g, x, shape, rank, loc);
}

static bool broadcast_shapes(kn_graph *g, kn_op op, kn_node *const *in, int n, kn_dim *out,
                             int rank, kn_loc loc)
{
    kn_symbols *s = g->syms;
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
            const char *a = shape_text(g, from->shape, from->rank);
            const char *b = shape_text(g, in[i]->shape, in[i]->rank);
            kn_fact fact = {KN_FACT_EQUAL, out[j], d, NULL, NULL};
            kn_unified u = kn_dim_unify(s, out[j], d);
            if (u != KN_UNIFIED) {
                kn_fail(KN_SHAPE, "%s: shapes %s and %s do not broadcast%s", op_text(op), a, b,
                        u == KN_UNDECIDED ? ", as far as can be known" : "");
                return false;
            }
            fact.why = kn_sprintf(g->arena, "%s%s of %s and %s", op_text(op), place(g, loc), a, b);
            kn_facts_add(&g->facts, s, g->arena, fact);
        }
    }
    return true;
}

/* bool arithmetic is logic */
static kn_op op_on(kn_op op, kn_dtype t)
{
    if (t != KN_BOOL)
        return op;
    switch (op) {
    case KN_OP_ADD:
    case KN_OP_MAXIMUM: return KN_OP_OR;
    case KN_OP_MUL:
    case KN_OP_MINIMUM: return KN_OP_AND;
    case KN_OP_ABS:
    case KN_OP_FLOOR:
    case KN_OP_CEIL: return KN_OP_COPY;
    default: return op;
    }
}

static bool negative_const(const kn_node *x)
{
    return x->op == KN_OP_CONST && !kn_is_float(x->dtype) && x->u.value.i < 0;
}

/* Arithmetic of Python integers, which do not wrap. False where 64 bits do not hold the result. */
static bool python_int(kn_op op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case KN_OP_ADD: return !__builtin_add_overflow(a, b, out);
    case KN_OP_SUB: return !__builtin_sub_overflow(a, b, out);
    case KN_OP_MUL: return !__builtin_mul_overflow(a, b, out);
    case KN_OP_NEG: return !__builtin_sub_overflow(0, a, out);
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

/* What Python itself works out before an array meets it: *out is the number, or stays NULL where the
 * operands are not all integers that are known. False after an error. */
static bool python_number(kn_graph *g, kn_op op, kn_node *const *in, int n, kn_dtype t, kn_loc loc,
                          kn_node **out)
{
    bool divides = op == KN_OP_DIV || op == KN_OP_FLOORDIV || op == KN_OP_MOD;
    int64_t v;
    if (in[0]->op != KN_OP_CONST || in[n - 1]->op != KN_OP_CONST)
        return true;
    if (divides && kn_eval_cast(in[1]->u.value, KN_BOOL).i == 0) {
        kn_fail(KN_TYPE, "%s: division of a Python number by zero", op_text(op));
        return false;
    }
    if (t != KN_I64)
        return true;
    if (!python_int(op, in[0]->u.value.i, in[n - 1]->u.value.i, &v)) {
        kn_fail(KN_TYPE, "%s: the integer does not fit in 64 bits", op_text(op));
        return false;
    }
    *out = kn_build_int(g, v, loc);
    return true;
}

kn_node *kn_build_elem(kn_graph *g, kn_op op, kn_node *const *args, int n, kn_loc loc)
{
    const kn_op_info *info = &kn_ops[op];
    kn_node *in[KN_MAX_IN] = {0};
    if (info->cls != KN_ELEM || op == KN_OP_CAST) {
        kn_fail(KN_ARGUMENT, "%s is not an elementwise operation", info->text);
        return NULL;
    }
    if (n != info->arity) {
        kn_fail(KN_ARGUMENT, "%s takes %d argument%s, %d given", info->text, info->arity,
                info->arity == 1 ? "" : "s", n);
        return NULL;
    }
    int rank = 0;
    for (int i = 0; i < n; i++) {
        if (!args[i])
            return NULL;
        in[i] = args[i];
        rank = in[i]->rank > rank ? in[i]->rank : rank;
    }

    int first = op == KN_OP_WHERE; /* the condition does not take part in promotion */
    bool weak, negative_power = op == KN_OP_POW && negative_const(in[1]);
    kn_dtype t = common_type(in + first, n - first, &weak);
    weak = weak && stays_weak(op);
    if (negative_power && weak)
        t = KN_F64;
    t = compute_type(op, info->rule, t);
    if (!t)
        return NULL;
    if (negative_power && kn_is_int(t))
        return type_error(op, t, "integers to negative integer powers are not allowed");
    if (info->rule == KN_RULE_COMPARE && t == KN_I32)
        for (int i = 0; i < n; i++) /* a Python integer compares by its value */
            if (in[i]->weak && in[i]->op == KN_OP_CONST && !fits(in[i]->u.value, t))
                t = KN_I64;
    for (int i = first; i < n; i++)
        if (in[i]->weak && in[i]->op == KN_OP_CONST && kn_is_int(t) && !fits(in[i]->u.value, t)) {
            kn_fail(KN_TYPE, "%s: Python integer %lld is out of bounds for %s", info->text,
                    (long long)in[i]->u.value.i, type_text(t));
            return NULL;
        }

    kn_node *number = NULL;
    if (weak && (!python_number(g, op, in, n, t, loc, &number) || number))
        return number;

    kn_dim shape[KN_MAX_RANK];
    if (!broadcast_shapes(g, op, in, n, shape, rank, loc))
        return NULL;
    for (int i = 0; i < n; i++)
        in[i] = pad_rank(g, cast_to(g, in[i], i < first ? KN_BOOL : t), rank, loc);

    kn_node node = {.op = op_on(op, t),
                    .dtype = info->rule == KN_RULE_COMPARE ? KN_BOOL : t,
                    .weak = weak,
                    .rank = rank,
                    .shape = shape,
                    .nin = n,
                    .loc = loc};
    memcpy(node.in, in, sizeof in);
    return kn_graph_intern(g, &node);
}

kn_node *kn_build_reduce(kn_graph *g, kn_op op, kn_node *x, const int *axes, int naxes,
                         bool keepdims, kn_dtype dtype, int ddof, kn_loc loc)
{
    if (!x)
        return NULL;
    if (kn_ops[op].cls != KN_REDUCE) {
        kn_fail(KN_ARGUMENT, "%s is not a reduction", op_text(op));
        return NULL;
    }
    uint32_t mask = 0;
    for (int i = 0; i < naxes; i++) {
        int axis = axes[i] < 0 ? axes[i] + x->rank : axes[i];
        if (axis < 0 || axis >= x->rank) {
            kn_fail(KN_SHAPE, "%s: axis %d is out of bounds for %s, which has %d dimension%s",
                    op_text(op), axes[i], shape_text(g, x->shape, x->rank), x->rank,
                    x->rank == 1 ? "" : "s");
            return NULL;
        }
        if (mask >> axis & 1) {
            kn_fail(KN_SHAPE, "%s: axis %d is given twice", op_text(op), axes[i]);
            return NULL;
        }
        mask |= 1u << axis;
    }
    if (naxes < 0)
        mask = (1u << x->rank) - 1;

    kn_dtype t = x->dtype;
    switch (kn_ops[op].rule) {
    case KN_RULE_COUNT: t = kn_is_float(t) ? t : KN_I64; break;
    case KN_RULE_FLOAT: t = kn_is_float(t) ? t : KN_F64; break;
    case KN_RULE_BOOL: t = KN_BOOL; break;
    default: break;
    }
    if (dtype) {
        bool fixed = kn_ops[op].rule == KN_RULE_SAME || kn_ops[op].rule == KN_RULE_BOOL;
        bool not_float = kn_ops[op].rule == KN_RULE_FLOAT && !kn_is_float(dtype);
        if (!kn_dtype_valid((int)dtype) || fixed || not_float) {
            kn_fail(KN_TYPE, "%s: dtype= %s", op_text(op),
                    fixed       ? "does not apply"
                    : not_float ? "must be a float type"
                                : "is unknown");
            return NULL;
        }
        t = dtype;
    }
    int64_t extent;
    if (kn_ops[op].empty == KN_EMPTY_ERROR)
        for (int i = 0; i < x->rank; i++)
            if (mask >> i & 1 && kn_dim_is_const(g->syms, x->shape[i], &extent) && extent == 0) {
                kn_fail(KN_SHAPE, "%s over %s: nothing to reduce, and %s has no identity",
                        op_text(op), shape_text(g, x->shape, x->rank), op_text(op));
                return NULL;
            }

    kn_dim shape[KN_MAX_RANK], dropped[KN_MAX_RANK], members = kn_dim_const(g->syms, 1);
    int left = 0;
    for (int i = 0; i < x->rank; i++)
        if (mask >> i & 1)
            members = kn_dim_mul(g->syms, members, x->shape[i]);
    if (!members) {
        kn_fail_prefix(KN_SHAPE, "%s over %s, the number of elements: ", op_text(op),
                       shape_text(g, x->shape, x->rank));
        return NULL;
    }
    for (int i = 0; i < x->rank; i++) {
        bool reduced = mask >> i & 1;
        shape[i] = reduced ? kn_dim_const(g->syms, 1) : x->shape[i];
        if (!reduced)
            dropped[left++] = x->shape[i];
    }
    /* bool sums count through i64; min and max of bool are all and any */
    if (t == KN_BOOL)
        op = op == KN_OP_MIN || op == KN_OP_PROD  ? KN_OP_ALL
             : op == KN_OP_MAX || op == KN_OP_SUM ? KN_OP_ANY
                                                  : op;
    kn_node n = {.op = op, .dtype = t, .rank = x->rank, .shape = shape, .nin = 1, .loc = loc};
    n.u.reduce.axes = mask;
    n.u.reduce.ddof = op == KN_OP_VAR ? ddof : 0;
    n.in[0] = cast_to(g, x, t);
    kn_node *made = kn_graph_intern(g, &n);
    return keepdims ? made : reshape_to(g, made, dropped, left, loc);
}

/* ---- views ---- */

kn_node *kn_build_reshape(kn_graph *g, kn_node *x, const kn_dim *shape, int rank, kn_loc loc)
{
    if (!x)
        return NULL;
    if (rank > KN_MAX_RANK) {
        kn_fail(KN_SHAPE, "reshape: %d dimensions; %d is the limit", rank, KN_MAX_RANK);
        return NULL;
    }
    kn_symbols *s = g->syms;
    kn_dim to[KN_MAX_RANK], count = kn_dim_const(s, 1), total = kn_node_count(g, x);
    int hole = -1;
    for (int i = 0; i < rank; i++) {
        to[i] = shape[i];
        if (shape[i]) {
            count = kn_dim_mul(s, count, shape[i]);
        } else if (hole >= 0) {
            kn_fail(KN_SHAPE, "reshape: only one dimension can be -1");
            return NULL;
        } else {
            hole = i;
        }
    }
    if (!count || !total)
        return NULL;
    if (hole >= 0) {
        int64_t vc, vt;
        if (kn_dim_is_const(s, count, &vc) && kn_dim_is_const(s, total, &vt) &&
            (vc == 0 || vt % vc != 0)) {
            kn_fail(KN_SHAPE, "reshape: %s does not divide into parts of %lld",
                    shape_text(g, x->shape, x->rank), (long long)vc);
            return NULL;
        }
        to[hole] = kn_dim_quotient(s, total, count);
        return to[hole] ? reshape_to(g, x, to, rank, loc) : NULL;
    }
    if (!kn_dim_equal(s, total, count)) {
        const char *a = shape_text(g, x->shape, x->rank), *b = shape_text(g, to, rank);
        kn_fact fact = {KN_FACT_EQUAL, total, count, NULL, NULL};
        if (kn_dim_unify(s, total, count) == KN_NEVER) {
            kn_fail(KN_SHAPE, "reshape: %s and %s have different numbers of elements", a, b);
            return NULL;
        }
        fact.why = kn_sprintf(g->arena, "reshape%s of %s to %s", place(g, loc), a, b);
        kn_facts_add(&g->facts, s, g->arena, fact);
    }
    return reshape_to(g, x, to, rank, loc);
}

kn_node *kn_build_transpose(kn_graph *g, kn_node *x, const int *perm, int n, kn_loc loc)
{
    if (!x)
        return NULL;
    if (perm && n != x->rank) {
        kn_fail(KN_SHAPE, "transpose: %d axes given for %s", n, shape_text(g, x->shape, x->rank));
        return NULL;
    }
    kn_node node = {.op = KN_OP_PERMUTE,
                    .dtype = x->dtype,
                    .weak = x->weak,
                    .rank = x->rank,
                    .nin = 1,
                    .loc = loc};
    kn_dim shape[KN_MAX_RANK];
    uint32_t seen = 0;
    bool identity = true;
    for (int i = 0; i < x->rank; i++) {
        int from = perm ? perm[i] : x->rank - 1 - i;
        if (from < 0)
            from += x->rank;
        if (from < 0 || from >= x->rank || seen >> from & 1) {
            kn_fail(KN_SHAPE, "transpose: axis %d of %s is out of bounds or given twice",
                    perm ? perm[i] : from, shape_text(g, x->shape, x->rank));
            return NULL;
        }
        seen |= 1u << from;
        node.u.perm[i] = (int8_t)from;
        shape[i] = x->shape[from];
        identity = identity && from == i;
    }
    if (identity)
        return x;
    node.shape = shape;
    node.in[0] = x;
    return kn_graph_intern(g, &node);
}

kn_node *kn_build_broadcast_to(kn_graph *g, kn_node *x, const kn_dim *shape, int rank, kn_loc loc)
{
    if (!x)
        return NULL;
    if (rank < x->rank || rank > KN_MAX_RANK) {
        kn_fail(KN_SHAPE, "broadcast_to: %s does not broadcast to %s",
                shape_text(g, x->shape, x->rank), shape_text(g, shape, rank));
        return NULL;
    }
    x = pad_rank(g, x, rank, loc);
    bool same = true;
    for (int i = 0; i < rank; i++) {
        if (kn_dim_equal(g->syms, x->shape[i], shape[i]))
            continue;
        if (kn_dim_is_one(g->syms, x->shape[i])) {
            same = false;
            continue;
        }
        const char *a = shape_text(g, x->shape, rank), *b = shape_text(g, shape, rank);
        kn_fact fact = {KN_FACT_EQUAL, x->shape[i], shape[i], NULL, NULL};
        if (kn_dim_unify(g->syms, x->shape[i], shape[i]) != KN_UNIFIED) {
            kn_fail(KN_SHAPE, "broadcast_to: %s does not broadcast to %s", a, b);
            return NULL;
        }
        fact.why = kn_sprintf(g->arena, "broadcast_to%s of %s to %s", place(g, loc), a, b);
        kn_facts_add(&g->facts, g->syms, g->arena, fact);
    }
    if (same)
        return x;
    kn_node n = {.op = KN_OP_BROADCAST,
                 .dtype = x->dtype,
                 .weak = x->weak,
                 .rank = rank,
                 .shape = shape,
                 .nin = 1,
                 .loc = loc};
    n.in[0] = x;
    return kn_graph_intern(g, &n);
}

kn_node *kn_build_expand_dims(kn_graph *g, kn_node *x, int axis, kn_loc loc)
{
    if (!x)
        return NULL;
    int at = axis < 0 ? axis + x->rank + 1 : axis;
    if (at < 0 || at > x->rank || x->rank == KN_MAX_RANK) {
        kn_fail(KN_SHAPE, "expand_dims: axis %d is out of bounds for %s", axis,
                shape_text(g, x->shape, x->rank));
        return NULL;
    }
    kn_dim shape[KN_MAX_RANK];
    for (int i = 0; i <= x->rank; i++)
        shape[i] = i == at ? kn_dim_const(g->syms, 1) : x->shape[i - (i > at)];
    return reshape_to(g, x, shape, x->rank + 1, loc);
}

/* ---- the rest ---- */

kn_status kn_build_output(kn_graph *g, const char *name, kn_node *x, kn_loc loc)
{
    (void)loc;
    KN_TRY(kn_build_check_name(name, "an output"));
    if (kn_graph_find_output(g, name) >= 0 || kn_graph_find_input(g, name) >= 0)
        return kn_fail(KN_ARGUMENT, "there is an %s %s already",
                       kn_graph_find_output(g, name) >= 0 ? "output" : "input", name);
    if (x->weak)
        x = cast_to(g, x, x->dtype);
    kn_push(g->arena, &g->outputs, ((kn_output){kn_strdup(g->arena, name), x}));
    return KN_OK;
}

void kn_build_name(kn_graph *g, kn_node *x, const char *name)
{
    if (x && !x->name)
        x->name = kn_strdup(g->arena, name);
}

void kn_build_assume(kn_graph *g, kn_fact_kind kind, kn_dim a, kn_dim b, kn_loc loc)
{
    if (kind == KN_FACT_EQUAL)
        kn_dim_unify(g->syms, a, b);
    kn_fact fact = {kind, a, b, kn_sprintf(g->arena, "the constraint%s", place(g, loc)), NULL};
    kn_facts_add(&g->facts, g->syms, g->arena, fact);
}
