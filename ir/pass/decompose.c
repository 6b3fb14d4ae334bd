#include "ir/build.h"
#include "ir/pass/pass.h"

static kn_node *elem(kn_graph *g, kn_op op, kn_node *a, kn_node *b, kn_loc loc)
{
    kn_node *in[] = {a, b};
    return kn_build_elem(g, op, in, 2, loc);
}

/* The variance of 16-bit floats is one of f32, so that neither the mean nor a deviation is rounded to 16 bits. That of
 * one member is 0, or NaN where it is not finite or ddof leaves nothing to divide by. */
static kn_node *variance(kn_graph *g, const kn_node *old, kn_node *x)
{
    kn_node n = *old;
    n.dtype = kn_compute_dtype(old->dtype);
    n.in[0] = x;
    if (n.dtype != old->dtype) {
        n.name = NULL;
        return kn_build_cast(g, variance(g, &n, kn_build_cast(g, x, n.dtype, old->loc)), old->dtype,
                             old->loc);
    }
    if (n.u.reduce.axes)
        return kn_graph_intern(g, &n);
    kn_node *d = elem(g, KN_OP_SUB, x, x, old->loc), *square = elem(g, KN_OP_MUL, d, d, old->loc);
    int ddof = old->u.reduce.ddof;
    if (ddof == 0)
        return square;
    kn_node *dof = kn_build_int(g, ddof < 1 ? 1 - ddof : 0, old->loc);
    return elem(g, KN_OP_DIV, square, kn_build_cast(g, dof, old->dtype, old->loc), old->loc);
}

static bool is_two(const kn_node *n)
{
    const kn_node *c = kn_view_root(n);
    return c->op == KN_OP_CONST && c->u.value.im == 0 &&
           (kn_is_inexact(c->dtype) ? c->u.value.f == 2 : c->u.value.i == 2);
}

/* x ** 2 is x * x, which is exact to half an ULP and which variances are recognised by; NULL for other powers. */
static kn_node *square(kn_graph *g, const kn_node *old, kn_node *const *in)
{
    if (old->op != KN_OP_POW || !is_two(in[1]) || in[0]->rank != old->rank)
        return NULL;
    for (int j = 0; j < old->rank; j++)
        if (!kn_dim_equal(g->syms, in[0]->shape[j], old->shape[j]))
            return NULL;
    kn_node *made = elem(g, KN_OP_MUL, in[0], in[0], old->loc);
    if (made && !made->name)
        made->name = old->name;
    return made;
}

static kn_node *rewrite(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    (void)ctx;
    kn_node *squared = square(g, old, in);
    if (squared)
        return squared;
    if (kn_ops[old->op].cls != KN_REDUCE)
        return kn_node_copy(g, old, in);
    kn_node n = *old;
    for (int j = 0; j < n.rank; j++)
        if (kn_dim_is_one(g->syms, in[0]->shape[j]))
            n.u.reduce.axes &= ~(1u << j);
    if (old->op == KN_OP_VAR)
        return variance(g, &n, in[0]);
    return n.u.reduce.axes ? kn_node_copy(g, &n, in) : kn_reduce_nothing(g, &n, in);
}

kn_graph *kn_pass_decompose(kn_arena *a, kn_graph *g)
{
    return kn_graph_rewrite(a, g, rewrite, NULL);
}
