/* Algebra that fast_math allows: equal in real numbers, not in floating point. f32 and f64 only: f16 has no range for
 * another order of factors, bf16 no digits. docs/optimizer.md says what it may change, ir/fast.h by how much.
 *
 * What is divided by, or is a factor, is *narrow* where it has fewer elements than the result: then it is worked on
 * once a group instead of once an element.
 *
 *     x / d                        x * (1 / d)      d narrow, or divided by more than once
 *     x / sqrt(y)                  x * rsqrt(y)
 *     x / exp(y)                   x * exp(-y)
 *     x / (y / z), (x / y) / z     x * z / y, x / (y * z)
 *     (x * a) * b                  x * (a * b)      a * b narrow; so are sums and differences
 *     exp(x) * exp(y)              exp(x + y)
 *     sqrt(x) * sqrt(x)            x
 *     sqrt(x * x)                  abs(x)
 *     log(exp(x)), exp(log(x))     x
 *     log(sqrt(x))                 log(x) * 0.5
 *     x ** c                       products, 1 / x, sqrt(x), rsqrt(x)    c = -4, -3.5, ..., 8
 *     sum(x * c), mean(x * c)      sum(x) * c, mean(x) * c      c the same for all members
 *     x + 0, 0 - x                 x, -x
 *     x * 0, x - x, x / x          0, 0, 1 */
#include <math.h>

#include "ir/build.h"
#include "ir/pass/pass.h"

typedef struct relaxing {
    kn_graph *g;
    const kn_node *old;
    const int *uses;     /* per node of the old graph: operands that it is */
    const int *divisors; /* quotients that it is the divisor of */
} relaxing;

static kn_node *elem2(const relaxing *r, kn_op op, kn_node *a, kn_node *b)
{
    return a && b ? kn_build_elem(r->g, op, (kn_node *[]){a, b}, 2, r->old->loc) : NULL;
}

static kn_node *elem1(const relaxing *r, kn_op op, kn_node *a)
{
    return a ? kn_build_elem(r->g, op, &a, 1, r->old->loc) : NULL;
}

static kn_node *number(const relaxing *r, double f)
{
    return kn_build_const(r->g, (kn_scalar){.dtype = r->old->dtype, .f = f}, r->old->loc);
}

static bool is_number(const kn_node *n, double f)
{
    n = kn_view_root(n);
    return n->op == KN_OP_CONST && kn_is_float(n->dtype) && n->u.value.f == f;
}

/* Is operand k of the old node used by nobody else, so that what it is made of need not be computed for others? */
static bool is_own(const relaxing *r, int k) { return r->uses[r->old->in[k]->id] == 1; }

/* Do a and b (NULL: a alone), combined, have fewer elements than the result? */
static bool are_narrow(const relaxing *r, const kn_node *a, const kn_node *b)
{
    for (int j = 0; j < r->old->rank; j++)
        if (!kn_dim_is_one(r->g->syms, r->old->shape[j]) &&
            kn_dim_is_one(r->g->syms, a->shape[j]) &&
            (!b || kn_dim_is_one(r->g->syms, b->shape[j])))
            return true;
    return false;
}

/* ---- products and quotients ---- */

/* (wide * a) * b, of operands p = wide * a and b. */
static kn_node *gather_factors(const relaxing *r, kn_node *p, kn_node *b, bool own)
{
    if (!own || p->op != KN_OP_MUL)
        return NULL;
    for (int k = 0; k < 2; k++)
        if (are_narrow(r, p->in[k], b) && !are_narrow(r, p->in[1 - k], NULL))
            return elem2(r, KN_OP_MUL, p->in[1 - k], elem2(r, KN_OP_MUL, p->in[k], b));
    return NULL;
}

static kn_node *product(const relaxing *r, kn_node *a, kn_node *b)
{
    if (is_number(a, 0) || is_number(b, 0))
        return number(r, 0);
    if (a->op == KN_OP_EXP && b->op == KN_OP_EXP && is_own(r, 0) && is_own(r, 1))
        return elem1(r, KN_OP_EXP, elem2(r, KN_OP_ADD, a->in[0], b->in[0]));
    if (a == b && a->op == KN_OP_SQRT)
        return a->in[0];
    kn_node *gathered = gather_factors(r, a, b, is_own(r, 0));
    return gathered ? gathered : gather_factors(r, b, a, is_own(r, 1));
}

static kn_node *quotient(const relaxing *r, kn_node *a, kn_node *b)
{
    if (a == b)
        return number(r, 1);
    if (b->op == KN_OP_SQRT)
        return elem2(r, KN_OP_MUL, a, elem1(r, KN_OP_RSQRT, b->in[0]));
    if (b->op == KN_OP_EXP && is_own(r, 1))
        return elem2(r, KN_OP_MUL, a, elem1(r, KN_OP_EXP, elem1(r, KN_OP_NEG, b->in[0])));
    if (b->op == KN_OP_DIV && is_own(r, 1))
        return elem2(r, KN_OP_DIV, elem2(r, KN_OP_MUL, a, b->in[1]), b->in[0]);
    if (a->op == KN_OP_DIV && is_own(r, 0) && !is_number(a->in[0], 1))
        return elem2(r, KN_OP_DIV, a->in[0], elem2(r, KN_OP_MUL, a->in[1], b));
    /* sum / count is how means are recognised, and 1 / b is what this makes */
    if (kn_ops[kn_view_root(a)->op].cls == KN_REDUCE || is_number(a, 1))
        return NULL;
    if (are_narrow(r, b, NULL) || r->divisors[r->old->in[1]->id] > 1)
        return elem2(r, KN_OP_MUL, a, elem2(r, KN_OP_DIV, number(r, 1), b));
    return NULL;
}

/* x ** whole, of a positive whole number, by squaring. */
static kn_node *whole_power(const relaxing *r, kn_node *x, int whole)
{
    kn_node *result = NULL;
    for (; whole; whole >>= 1) {
        if (whole & 1)
            result = result ? elem2(r, KN_OP_MUL, result, x) : x;
        if (whole > 1)
            x = elem2(r, KN_OP_MUL, x, x);
    }
    return result;
}

static kn_node *power(const relaxing *r, kn_node *x, const kn_node *by)
{
    by = kn_view_root(by);
    double c = by->op == KN_OP_CONST ? by->u.value.f : NAN, size = fabs(c);
    if (!(c >= -4 && c <= 8) || c == 0 || 2 * c != floor(2 * c))
        return NULL;
    int whole = (int)size;
    bool half = size != whole;
    if (!half && c < 0) {
        kn_node *one = number(r, 1);
        return elem2(r, KN_OP_DIV, one, whole_power(r, x, whole));
    }
    kn_node *root = half ? elem1(r, c < 0 ? KN_OP_RSQRT : KN_OP_SQRT, x) : NULL;
    if (!whole)
        return root;
    kn_node *power = whole_power(r, x, whole);
    return !half ? power : elem2(r, c < 0 ? KN_OP_DIV : KN_OP_MUL, root, power);
}

/* ---- sums and differences ---- */

/* (wide +- a) +- b with a and b combined first: wide +- (a +- b). `op`: of p and b. */
static kn_node *gather_terms(const relaxing *r, kn_op op, kn_node *p, kn_node *b, bool own)
{
    bool sum = p->op == KN_OP_ADD;
    if (!own || (!sum && p->op != KN_OP_SUB))
        return NULL;
    kn_op inner = sum == (op == KN_OP_ADD) ? KN_OP_ADD : KN_OP_SUB;
    for (int k = 1; k >= (sum ? 0 : 1); k--)
        if (are_narrow(r, p->in[k], b) && !are_narrow(r, p->in[1 - k], NULL))
            return elem2(r, p->op, p->in[1 - k], elem2(r, inner, p->in[k], b));
    return NULL;
}

static kn_node *sum_of_two(const relaxing *r, kn_node *a, kn_node *b)
{
    if (is_number(a, 0) || is_number(b, 0))
        return is_number(b, 0) ? a : b;
    kn_node *gathered = gather_terms(r, KN_OP_ADD, a, b, is_own(r, 0));
    return gathered ? gathered : gather_terms(r, KN_OP_ADD, b, a, is_own(r, 1));
}

static kn_node *difference(const relaxing *r, kn_node *a, kn_node *b)
{
    if (a == b)
        return number(r, 0);
    if (is_number(a, 0))
        return elem1(r, KN_OP_NEG, b);
    return gather_terms(r, KN_OP_SUB, a, b, is_own(r, 0));
}

/* ---- functions and reductions ---- */

static kn_node *logarithm(const relaxing *r, kn_node *x)
{
    if (x->op == KN_OP_EXP)
        return x->in[0];
    if (x->op != KN_OP_SQRT)
        return NULL;
    kn_node *twice = elem1(r, KN_OP_LOG, x->in[0]);
    return elem2(r, KN_OP_MUL, twice, number(r, 0.5));
}

/* A factor that is the same for all members is taken once. Not where x is used elsewhere: x - mean(x) is to stay. */
static kn_node *reduction(const relaxing *r, kn_node *x)
{
    if (x->op != KN_OP_MUL || !is_own(r, 0))
        return NULL;
    for (int k = 0; k < 2; k++) {
        bool same = true;
        for (int j = 0; j < x->rank; j++)
            if (r->old->u.reduce.axes >> j & 1)
                same = same && kn_dim_is_one(r->g->syms, x->in[k]->shape[j]) &&
                       kn_dim_equal(r->g->syms, x->in[1 - k]->shape[j], x->shape[j]);
        if (!same)
            continue;
        kn_node n = *r->old;
        kn_dim shape[KN_MAX_RANK];
        n.in[0] = x->in[1 - k];
        n.name = NULL;
        n.shape = shape;
        for (int j = 0; j < n.rank; j++)
            shape[j] = r->old->u.reduce.axes >> j & 1 ? r->old->shape[j] : x->in[1 - k]->shape[j];
        return elem2(r, KN_OP_MUL, kn_graph_intern(r->g, &n), x->in[k]);
    }
    return NULL;
}

static kn_node *simpler(const relaxing *r, kn_node *const *in)
{
    switch (r->old->op) {
    case KN_OP_MUL: return product(r, in[0], in[1]);
    case KN_OP_DIV: return quotient(r, in[0], in[1]);
    case KN_OP_POW: return power(r, in[0], in[1]);
    case KN_OP_ADD: return sum_of_two(r, in[0], in[1]);
    case KN_OP_SUB: return difference(r, in[0], in[1]);
    case KN_OP_EXP: return in[0]->op == KN_OP_LOG ? in[0]->in[0] : NULL;
    case KN_OP_LOG: return logarithm(r, in[0]);
    case KN_OP_SQRT:
        return in[0]->op == KN_OP_MUL && in[0]->in[0] == in[0]->in[1]
                   ? elem1(r, KN_OP_ABS, in[0]->in[0])
                   : NULL;
    case KN_OP_SUM:
    case KN_OP_MEAN: return reduction(r, in[0]);
    default: return NULL;
    }
}

static kn_node *rewrite(void *ctx, kn_graph *g, const kn_node *old, kn_node *const *in)
{
    relaxing *r = ctx;
    r->g = g;
    r->old = old;
    kn_node *made = old->dtype == KN_F32 || old->dtype == KN_F64 ? simpler(r, in) : NULL;
    return !made ? kn_node_copy(g, old, in)
                 : kn_build_broadcast_to(g, made, old->shape, old->rank, old->loc);
}

kn_graph *kn_pass_relax(kn_arena *a, kn_graph *g)
{
    int *uses = KN_NEW_ARRAY(a, int, g->nodes.len + 1);
    int *divisors = KN_NEW_ARRAY(a, int, g->nodes.len + 1);
    for (int i = 0; i < g->nodes.len; i++) {
        const kn_node *n = g->nodes.data[i];
        for (int k = 0; k < n->nin; k++)
            uses[n->in[k]->id]++;
        if (n->op == KN_OP_DIV)
            divisors[n->in[1]->id]++;
    }
    for (int o = 0; o < g->outputs.len; o++)
        uses[g->outputs.data[o].node->id]++;
    relaxing r = {.uses = uses, .divisors = divisors};
    return kn_graph_rewrite(a, g, rewrite, &r);
}
