/* Reductions: axes, result types, what is over nothing. */
#include "ir/build_impl.h"

static const char *op_text(kn_op op) { return kn_ops[op].text; }

bool kn_build_axes(kn_graph *g, const char *what, const kn_node *x, const int *axes, int naxes,
                   uint32_t *mask)
{
    *mask = naxes < 0 ? (1u << x->rank) - 1 : 0;
    for (int i = 0; i < naxes; i++) {
        int axis = axes[i] < 0 ? axes[i] + x->rank : axes[i];
        if (axis < 0 || axis >= x->rank) {
            kn_fail(KN_SHAPE, "%s: axis %d is out of bounds for %s, which has %d dimension%s", what,
                    axes[i], kn_build_shape_text(g, x->shape, x->rank), x->rank,
                    x->rank == 1 ? "" : "s");
            return false;
        }
        if (*mask >> axis & 1) {
            kn_fail(KN_SHAPE, "%s: axis %d is given twice", what, axes[i]);
            return false;
        }
        *mask |= 1u << axis;
    }
    return true;
}

kn_dtype kn_build_reduce_type(kn_op op, kn_dtype x, kn_dtype dtype)
{
    kn_rule rule = kn_ops[op].rule;
    bool fixed = rule == KN_RULE_SAME || rule == KN_RULE_BOOL;
    bool known = !dtype || kn_dtype_valid((int)dtype);
    if (dtype && (!known || fixed || (rule == KN_RULE_FLOAT && !kn_is_inexact(dtype)))) {
        kn_fail(KN_TYPE, "%s: dtype= %s", op_text(op),
                !known  ? "is unknown"
                : fixed ? "does not apply"
                        : "must be a float type");
        return KN_NO_DTYPE;
    }
    if (dtype)
        return dtype;
    switch (rule) {
    case KN_RULE_COUNT: return kn_sum_of(x);
    case KN_RULE_FLOAT: return kn_is_inexact(x) ? x : KN_F64;
    case KN_RULE_BOOL: return KN_BOOL;
    default: return x;
    }
}

/* SUM or MEAN of a complex x, or its VAR, which is real: by parts. */
static kn_node *complex_sum(kn_graph *g, kn_op op, kn_node *x, const kn_reduction *r, kn_loc loc)
{
    kn_reduction of_parts = *r;
    of_parts.dtype = KN_NO_DTYPE;
    kn_node *re = kn_build_elem(g, KN_OP_REAL, &x, 1, loc);
    kn_node *im = kn_build_elem(g, KN_OP_IMAG, &x, 1, loc);
    re = kn_build_reduce_over(g, op, re, &of_parts, false, loc);
    im = kn_build_reduce_over(g, op, im, &of_parts, false, loc);
    return kn_build_elem(g, op == KN_OP_VAR ? KN_OP_ADD : KN_OP_PAIR, (kn_node *[]){re, im}, 2,
                         loc);
}

kn_node *kn_build_reduce_over(kn_graph *g, kn_op op, kn_node *x, const kn_reduction *r, bool total,
                              kn_loc loc)
{
    uint32_t mask;
    if (!x)
        return NULL;
    if (kn_ops[op].cls != KN_REDUCE) {
        kn_fail(KN_ARGUMENT, "%s is not a reduction", op_text(op));
        return NULL;
    }
    if (!kn_build_axes(g, op_text(op), x, r->axes, r->naxes, &mask))
        return NULL;
    kn_dtype t = kn_build_reduce_type(op, x->dtype, r->dtype);
    if (!t)
        return NULL;
    if (kn_is_complex(t) && (op == KN_OP_SUM || kn_ops[op].rule == KN_RULE_FLOAT))
        return complex_sum(g, op, kn_build_cast_to(g, x, t), r, loc);
    int64_t extent;
    bool nonempty = kn_ops[op].empty == KN_EMPTY_ERROR && !total;
    if (nonempty)
        for (int i = 0; i < x->rank; i++)
            if (mask >> i & 1 && kn_dim_is_const(g->syms, x->shape[i], &extent) && extent == 0) {
                kn_fail(KN_SHAPE, "%s over %s: nothing to reduce, and %s has no identity",
                        op_text(op), kn_build_shape_text(g, x->shape, x->rank), op_text(op));
                return NULL;
            }

    kn_dim shape[KN_MAX_RANK], dropped[KN_MAX_RANK], members = kn_dim_const(g->syms, 1);
    int left = 0;
    for (int i = 0; i < x->rank; i++)
        if (mask >> i & 1)
            members = kn_dim_mul(g->syms, members, x->shape[i]);
    if (!members) {
        kn_fail_prefix(KN_SHAPE, "%s over %s, the number of elements: ", op_text(op),
                       kn_build_shape_text(g, x->shape, x->rank));
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
    n.u.reduce.ddof = op == KN_OP_VAR ? r->ddof : 0;
    n.u.reduce.nonempty = nonempty;
    n.in[0] = kn_build_cast_to(g, x, t);
    kn_node *made = kn_graph_intern(g, &n);
    return r->keepdims ? made : kn_build_reshape_to(g, made, dropped, left, loc);
}
