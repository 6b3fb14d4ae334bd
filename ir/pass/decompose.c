#include "ir/build.h"
#include "ir/pass/pass.h"

static kn_dim reduced_count(kn_graph *g, const kn_node *x, uint32_t axes)
{
    kn_dim n = kn_dim_const(g->syms, 1);
    for (int j = 0; j < x->rank; j++)
        if (axes >> j & 1)
            n = kn_dim_mul(g->syms, n, x->shape[j]);
    return n;
}

static kn_node *reduce(kn_graph *g, kn_op op, const kn_node *like, kn_node *x)
{
    kn_node n = *like;
    n.op = op;
    n.in[0] = x;
    n.u.reduce.ddof = 0;
    n.name = NULL;
    return kn_graph_intern(g, &n);
}

static kn_node *elem(kn_graph *g, kn_op op, kn_node *a, kn_node *b, kn_loc loc)
{
    kn_node *in[] = {a, b};
    return kn_build_elem(g, op, in, 2, loc);
}

/* sum((x - mean(x))**2) / (n - ddof), or the mean of it: two passes over x, no cancellation. In f32 for 16-bit
 * floats, so that neither the mean nor a deviation is rounded to 16 bits. */
static kn_node *variance(kn_graph *g, const kn_node *old, kn_node *x)
{
    kn_node wide = *old;
    wide.dtype = kn_compute_dtype(old->dtype);
    if (wide.dtype != old->dtype)
        return kn_build_cast(g, variance(g, &wide, kn_build_cast(g, x, wide.dtype, old->loc)),
                             old->dtype, old->loc);
    int ddof = old->u.reduce.ddof;
    kn_node *d = elem(g, KN_OP_SUB, x, reduce(g, KN_OP_MEAN, old, x), old->loc);
    kn_node *squares = elem(g, KN_OP_MUL, d, d, old->loc);
    if (ddof == 0)
        return reduce(g, KN_OP_MEAN, old, squares);
    kn_node *n = kn_build_extent(g, reduced_count(g, x, old->u.reduce.axes), old->loc);
    kn_node *dof = elem(g, KN_OP_SUB, n, kn_build_int(g, ddof, old->loc), old->loc);
    dof = elem(g, KN_OP_MAXIMUM, dof,
               kn_build_const(g, (kn_scalar){.dtype = KN_I64, .i = 0}, old->loc), old->loc);
    return elem(g, KN_OP_DIV, reduce(g, KN_OP_SUM, old, squares),
                kn_build_cast(g, dof, old->dtype, old->loc), old->loc);
}

static bool is_two(const kn_node *n)
{
    const kn_node *c = kn_view_root(n);
    return c->op == KN_OP_CONST && (kn_is_float(c->dtype) ? c->u.value.f == 2 : c->u.value.i == 2);
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
    if (!n.u.reduce.axes)
        n.op = KN_OP_COPY;
    return kn_node_copy(g, &n, in);
}

kn_graph *kn_pass_decompose(kn_arena *a, kn_graph *g)
{
    g = kn_graph_rewrite(a, g, rewrite, NULL);
    return g ? kn_graph_rewrite(a, g, rewrite, NULL)
             : NULL; /* the means that var left over nothing */
}
