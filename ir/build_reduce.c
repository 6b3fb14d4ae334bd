/* Reductions: axes, result types, what is over nothing. */
#include "ir/build_impl.h"

static const char *op_text(kn_op op) { return kn_ops[op].text; }

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
                    op_text(op), axes[i], kn_build_shape_text(g, x->shape, x->rank), x->rank,
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
    case KN_RULE_COUNT: t = kn_sum_of(t); break;
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
    n.u.reduce.ddof = op == KN_OP_VAR ? ddof : 0;
    n.in[0] = kn_build_cast_to(g, x, t);
    kn_node *made = kn_graph_intern(g, &n);
    return keepdims ? made : kn_build_reshape_to(g, made, dropped, left, loc);
}
