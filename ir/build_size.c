/* What Python numbers are, also those made of sizes, which have a value at the run only, and which types can hold
 * them. */
#include "ir/build_impl.h"

enum { DEEPEST = 200, MOST_STEPS = 4096 };

/* `budget` bounds the walk: a DAG can have very many paths. */
static kn_dim size_of(kn_graph *g, const kn_node *x, int *budget, int depth)
{
    kn_symbols *s = g->syms;
    if (--*budget < 0 || depth > DEEPEST)
        return NULL;
    if (x->op == KN_OP_CONST && kn_is_int(x->dtype) && kn_int_fits(x->u.value, KN_I64))
        return kn_dim_const(s, x->u.value.i);
    if (x->op == KN_OP_EXTENT)
        return x->u.dim;
    if (x->nin == 0 || x->nin > 2 || !kn_is_int(x->dtype) || x->rank)
        return NULL;
    kn_dim a = size_of(g, x->in[0], budget, depth + 1), b = NULL;
    if (a && x->nin == 2)
        b = size_of(g, x->in[1], budget, depth + 1);
    if (!a || (x->nin == 2 && !b))
        return NULL;
    int64_t va, vb;
    bool divisor = x->nin == 2 && kn_dim_is_const(s, b, &vb);
    switch (x->op) {
    case KN_OP_CAST: return a;
    case KN_OP_NEG: return kn_dim_mul(s, a, kn_dim_const(s, -1));
    case KN_OP_ADD: return kn_dim_add(s, a, b);
    case KN_OP_SUB: return kn_dim_add(s, a, kn_dim_mul(s, b, kn_dim_const(s, -1)));
    case KN_OP_MUL: return kn_dim_mul(s, a, b);
    case KN_OP_FLOORDIV: return divisor && vb == 0 ? NULL : kn_dim_floordiv(s, a, b);
    case KN_OP_MOD:
        return divisor && vb > 0 && kn_dim_is_const(s, a, &va)
                   ? kn_dim_const(s, va % vb + (va % vb < 0 ? vb : 0))
                   : NULL;
    case KN_OP_MINIMUM: return kn_dim_min(s, a, b);
    case KN_OP_MAXIMUM: return kn_dim_max(s, a, b);
    default: return NULL;
    }
}

kn_dim kn_build_size(kn_graph *g, const kn_node *x)
{
    int budget = MOST_STEPS;
    return size_of(g, x, &budget, 0);
}

bool kn_build_need_fit(kn_graph *g, const char *what, const kn_node *x, kn_dtype t, kn_loc loc)
{
    if (!x->weak || !kn_is_int(x->dtype) || !kn_is_int(t))
        return true;
    if (x->op == KN_OP_CONST) {
        if (kn_int_fits(x->u.value, t))
            return true;
        kn_fail(KN_TYPE, "%s: Python integer %s is out of bounds for %s", what,
                kn_build_int_text(g, x->u.value), kn_dtypes[t].text);
        return false;
    }
    kn_symbols *s = g->syms;
    kn_dim size = t == KN_I64 ? NULL : kn_build_size(g, x), least = kn_dim_const(s, kn_int_min(t));
    if (!size)
        return true;
    if (t != KN_U64)
        kn_build_need(g, KN_FACT_AT_MOST, size, kn_dim_const(s, kn_int_max(t)), what, loc);
    if (!kn_dim_not_negative(s, kn_dim_sub(s, size, least)))
        kn_build_need(g, KN_FACT_AT_MOST, least, size, what, loc);
    return true;
}

bool kn_build_need_number(kn_graph *g, const char *what, const kn_node *x, kn_dtype t, kn_loc loc)
{
    if (kn_is_complex(x->dtype) && !kn_is_complex(t) && t != KN_BOOL) {
        kn_fail(KN_TYPE, "%s: %s cannot have a complex number", what, kn_dtypes[t].text);
        return false;
    }
    if (x->op == KN_OP_CONST && kn_is_float(x->dtype) && kn_is_int(t) &&
        !kn_int_fits(x->u.value, t)) {
        kn_fail(KN_TYPE, "%s: Python number %g is out of bounds for %s", what, x->u.value.f,
                kn_dtypes[t].text);
        return false;
    }
    return kn_build_need_fit(g, what, x, t, loc);
}
