/* The builder's operations, over ir/build.h. */
#include <string.h>

#include "frontend/parse/parse.h"
#include "frontend/request.h"

#undef kiln_add
#undef kiln_sub
#undef kiln_mul
#undef kiln_div
#undef kiln_floordiv
#undef kiln_mod
#undef kiln_pow
#undef kiln_minimum
#undef kiln_maximum
#undef kiln_lt
#undef kiln_le
#undef kiln_gt
#undef kiln_ge
#undef kiln_eq
#undef kiln_ne
#undef kiln_and
#undef kiln_or
#undef kiln_where
#undef kiln_not
#undef kiln_neg
#undef kiln_abs
#undef kiln_sqrt
#undef kiln_rsqrt
#undef kiln_exp
#undef kiln_log
#undef kiln_tanh
#undef kiln_sin
#undef kiln_cos
#undef kiln_floor
#undef kiln_ceil
#undef kiln_cast
#undef kiln_assign

/* ---- elementwise ---- */

static kn_status make_elem(kn_graph *g, kn_request *r)
{
    return kn_request_made(r, kn_build_elem(g, r->op, r->in, r->nin, kn_nowhere));
}

static kiln_val elem(kiln_graph *g, kn_op op, int n, kiln_val a, kiln_val b, kiln_val c)
{
    kn_request r = {.g = g, .make = make_elem, .op = op};
    if (!g || !kn_request_take(&r, a) || (n > 1 && !kn_request_take(&r, b)) ||
        (n > 2 && !kn_request_take(&r, c)))
        return kn_poison;
    return kn_request_finish(&r);
}

#define UNARY(name, op)                                                                            \
    kiln_val kiln_##name(kiln_graph *g, kiln_val a) { return elem(g, KN_OP_##op, 1, a, a, a); }
#define BINARY(name, op)                                                                           \
    kiln_val kiln_##name(kiln_graph *g, kiln_val a, kiln_val b)                                    \
    {                                                                                              \
        return elem(g, KN_OP_##op, 2, a, b, b);                                                    \
    }
BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)
BINARY(div, DIV)
BINARY(floordiv, FLOORDIV)
BINARY(mod, MOD)
BINARY(pow, POW)
BINARY(minimum, MINIMUM)
BINARY(maximum, MAXIMUM)
BINARY(lt, LT)
BINARY(le, LE)
BINARY(gt, GT)
BINARY(ge, GE)
BINARY(eq, EQ)
BINARY(ne, NE)
BINARY(and, AND)
BINARY(or, OR)
UNARY(not, NOT)
UNARY(neg, NEG)
UNARY(abs, ABS)
UNARY(sqrt, SQRT)
UNARY(rsqrt, RSQRT)
UNARY(exp, EXP)
UNARY(log, LOG)
UNARY(tanh, TANH)
UNARY(sin, SIN)
UNARY(cos, COS)
UNARY(floor, FLOOR)
UNARY(ceil, CEIL)

kiln_val kiln_where(kiln_graph *g, kiln_val a, kiln_val b, kiln_val c)
{
    return elem(g, KN_OP_WHERE, 3, a, b, c);
}

static kn_status make_cast(kn_graph *g, kn_request *r)
{
    return kn_request_made(r, kn_build_cast(g, r->in[0], r->dtype, kn_nowhere));
}

kiln_val kiln_cast(kiln_graph *g, kiln_val a, kiln_dtype dtype)
{
    return kn_request_unary((kn_request){.g = g, .make = make_cast, .dtype = (kn_dtype)dtype}, a);
}

kiln_val kiln_apply(kiln_graph *g, const char *op, const kiln_val *args, int nargs)
{
    int found = kn_request_op(g, op, kn_op_elementwise, "elementwise operation");
    if (found < 0)
        return kn_poison;
    kn_request r = {.g = g, .make = make_elem, .op = (kn_op)found};
    if (nargs < 0 || nargs > KN_MAX_IN || (nargs && !args)) {
        kn_handle_fail(g, kn_fail(KN_ARGUMENT, "%s: %d arguments", op, nargs));
        return kn_poison;
    }
    for (int i = 0; i < nargs; i++)
        if (!kn_request_take(&r, args[i]))
            return kn_poison;
    return kn_request_finish(&r);
}

/* ---- views ---- */

static kn_status make_reshape(kn_graph *g, kn_request *r)
{
    kn_dim shape[KN_MAX_RANK];
    int rank;
    KN_TRY(kn_parse_dims(g, r->dims, true, shape, &rank));
    return kn_request_made(r, kn_build_reshape(g, r->in[0], shape, rank, kn_nowhere));
}

kiln_val kiln_reshape(kiln_graph *g, kiln_val x, const char *dims)
{
    kn_request r = {.g = g, .make = make_reshape, .dims = dims};
    return kn_request_named(g, dims, "dims") ? kn_request_unary(r, x) : kn_poison;
}

static kn_status make_broadcast(kn_graph *g, kn_request *r)
{
    kn_dim shape[KN_MAX_RANK];
    int rank;
    KN_TRY(kn_parse_dims(g, r->dims, false, shape, &rank));
    return kn_request_made(r, kn_build_broadcast_to(g, r->in[0], shape, rank, kn_nowhere));
}

kiln_val kiln_broadcast_to(kiln_graph *g, kiln_val x, const char *dims)
{
    kn_request r = {.g = g, .make = make_broadcast, .dims = dims};
    return kn_request_named(g, dims, "dims") ? kn_request_unary(r, x) : kn_poison;
}

static kn_status make_expansion(kn_graph *g, kn_request *r)
{
    int axis = (int)r->i;
    return kn_request_made(r, kn_build_expand_dims(g, r->in[0], &axis, 1, kn_nowhere));
}

kiln_val kiln_expand_dims(kiln_graph *g, kiln_val x, int axis)
{
    return kn_request_unary((kn_request){.g = g, .make = make_expansion, .i = axis}, x);
}

static kn_status make_transpose(kn_graph *g, kn_request *r)
{
    const int *perm = r->axes.count < 0 ? NULL : r->axes.axis;
    return kn_request_made(r, kn_build_transpose(g, r->in[0], perm, r->axes.count, kn_nowhere));
}

kiln_val kiln_transpose(kiln_graph *g, kiln_val x, kiln_axes axes)
{
    return kn_request_unary((kn_request){.g = g, .make = make_transpose, .axes = axes}, x);
}

static kn_status make_slice(kn_graph *g, kn_request *r)
{
    return kn_parse_slice(g, r->name, r->in[0], &r->result);
}

kiln_val kiln_slice(kiln_graph *g, kiln_val x, const char *index)
{
    kn_request r = {.g = g, .make = make_slice, .name = index};
    return kn_request_named(g, index, "index") ? kn_request_unary(r, x) : kn_poison;
}

static kn_status make_assignment(kn_graph *g, kn_request *r)
{
    return kn_parse_put(g, r->name, r->in[0], r->in[1], &r->result);
}

kiln_val kiln_assign(kiln_graph *g, kiln_val x, const char *index, kiln_val a)
{
    kn_request r = {.g = g, .make = make_assignment, .name = index};
    if (!kn_request_named(g, index, "index") || !kn_request_take(&r, x) || !kn_request_take(&r, a))
        return kn_poison;
    return kn_request_finish(&r);
}
