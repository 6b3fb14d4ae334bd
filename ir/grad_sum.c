/* Sums of gradients over what an operand repeats, as a person would write them: what is the same for all members is
 * taken out of a sum, and what cancels is left out.
 *
 *     sum(-a * r * dy)                 -r * sum(a * dy)            r the same for all members
 *     sum(x - mean(x))                 0
 *     sum(e * u / s) - sum(e) * (sum(e * u) / s) / s      0       where s is sum(e)
 *     sum(where(index == arange(n), u, 0))     u[index]
 *
 * So the gradient of a softmax by the maximum that it subtracts is seen to be 0, and so is what a variance passes to its
 * mean. It is done here, not by a pass, for it is equal in real numbers only; sums of the program itself stay as they
 * are, for they are written so as to cancel nothing. */
#include "ir/grad_impl.h"
#include "ir/grad_terms.h"
#include "ir/view.h"

kn_node *kn_grad_zeros(const kn_grad_site *s, const kn_node *x)
{
    kn_node *zero = kn_build_const(s->g, (kn_scalar){.dtype = x->dtype}, s->loc);
    return kn_build_broadcast_to(s->g, zero, x->shape, x->rank, s->loc);
}

bool kn_grad_is_zero(const kn_node *x)
{
    x = kn_view_root(x);
    return x->op == KN_OP_CONST && x->u.value.f == 0 && x->u.value.im == 0;
}

kn_node *kn_grad_add(const kn_grad_site *s, kn_node *a, kn_node *b)
{
    return a ? kn_grad_op2(s, KN_OP_ADD, a, b) : b;
}

kn_dim kn_grad_count(const kn_grad_site *s, const kn_node *x, uint32_t axes)
{
    kn_dim n = kn_dim_const(s->g->syms, 1);
    for (int j = 0; j < x->rank; j++)
        if (axes >> j & 1)
            n = kn_dim_mul(s->g->syms, n, x->shape[j]);
    return n;
}

/* ---- from values to terms ---- */

typedef struct summing {
    const kn_grad_site *s;
    uint32_t axes; /* that are summed over */
    int *left;     /* values that may be looked at yet: a DAG has very many paths */
} summing;

enum { MOST_STEPS = 512, DEEPEST = 16 };

static kn_node *below_broadcasts(kn_node *x)
{
    while (x->op == KN_OP_BROADCAST)
        x = x->in[0];
    return x;
}

/* Is x the same for all members of the sum? */
static bool is_invariant(const summing *c, const kn_node *x)
{
    for (int j = 0; j < x->rank; j++)
        if (c->axes >> j & 1 && !kn_dim_is_one(c->s->g->syms, x->shape[j]))
            return false;
    return true;
}

/* A product of the program that has a factor to be taken out of the sum. */
static bool has_invariant_factor(const summing *c, kn_node *x, int depth)
{
    x = below_broadcasts(x);
    bool factors = x->op == KN_OP_MUL || x->op == KN_OP_DIV || x->op == KN_OP_NEG;
    if (!factors || is_invariant(c, x) || depth > DEEPEST || --*c->left < 0)
        return false;
    for (int k = 0; k < x->nin; k++)
        if (is_invariant(c, below_broadcasts(x->in[k])) ||
            has_invariant_factor(c, x->in[k], depth + 1))
            return true;
    return false;
}

/* x below views that go back to its shape. */
static kn_node *below_reshapes(kn_graph *g, kn_node *x)
{
    for (kn_node *n = x; n->op == KN_OP_RESHAPE; n = n->in[0]) {
        const kn_node *below = n->in[0];
        bool same = below->rank == x->rank;
        for (int j = 0; same && j < x->rank; j++)
            same = kn_dim_equal(g->syms, below->shape[j], x->shape[j]);
        if (same)
            return below_reshapes(g, n->in[0]);
    }
    return x;
}

static kn_grad_terms as_factor(kn_graph *g, kn_node *x)
{
    kn_grad_terms made = {.n = 1, .of[0] = {.coefficient = 1}};
    const kn_node *c = kn_view_root(x);
    if (c->op == KN_OP_CONST && c->u.value.im == 0 && kn_is_inexact(c->dtype))
        made.of[0].coefficient = c->u.value.f;
    else
        kn_grad_term_multiply(&made.of[0], below_reshapes(g, x), 1);
    if (made.of[0].coefficient == 0)
        made.n = 0;
    return made;
}

static kn_grad_terms expand(const summing *c, kn_node *x, int depth);

/* A reshape that adds or drops axes of size 1, of each factor of its operand. */
static kn_grad_terms expand_reshape(const summing *c, kn_node *x, int depth)
{
    kn_graph *g = c->s->g;
    kn_node *below = x->in[0];
    int8_t to[KN_MAX_RANK];
    if (!kn_reshape_axes(g, x, to))
        return as_factor(g, x);
    summing inner = {c->s, 0, c->left};
    for (int j = 0; j < below->rank; j++)
        inner.axes |= to[j] >= 0 && c->axes >> to[j] & 1 ? 1u << j : 0;
    const kn_grad_terms of = expand(&inner, below, depth);
    kn_grad_terms made = {.n = of.n < 0 ? -1 : 0};
    for (int i = 0; i < of.n; i++) {
        kn_grad_term t = {.coefficient = of.of[i].coefficient};
        for (int k = 0; k < of.of[i].n; k++) {
            kn_node *f = of.of[i].node[k];
            kn_dim shape[KN_MAX_RANK];
            for (int j = 0; j < x->rank; j++)
                shape[j] = kn_dim_const(g->syms, 1);
            for (int j = 0; j < f->rank; j++)
                if (to[j + below->rank - f->rank] >= 0)
                    shape[to[j + below->rank - f->rank]] = f->shape[j];
            if (f->rank)
                f = below_reshapes(g, kn_build_reshape_to(g, f, shape, x->rank, c->s->loc));
            kn_grad_term_multiply(&t, f, of.of[i].power[k]);
        }
        kn_grad_terms_append(&made, &t);
    }
    return made;
}

static kn_grad_terms expand(const summing *c, kn_node *x, int depth)
{
    x = below_broadcasts(x);
    bool own = x->id >= c->s->first; /* made by differentiation */
    if (depth > DEEPEST || --*c->left < 0 || !(own || has_invariant_factor(c, x, 0)))
        return as_factor(c->s->g, x);
    if (x->op == KN_OP_RESHAPE)
        return expand_reshape(c, x, depth + 1);
    if (x->op != KN_OP_NEG && x->op != KN_OP_MUL && x->op != KN_OP_DIV && x->op != KN_OP_ADD &&
        x->op != KN_OP_SUB)
        return as_factor(c->s->g, x);
    static const kn_grad_terms minus = {.n = 1, .of[0] = {.coefficient = -1}};
    kn_grad_terms a = expand(c, x->in[0], depth + 1);
    if (x->op == KN_OP_NEG)
        return kn_grad_terms_product(&a, &minus, 1);
    kn_grad_terms b = expand(c, x->in[1], depth + 1);
    if (x->op == KN_OP_MUL)
        return kn_grad_terms_product(&a, &b, 1);
    if (x->op == KN_OP_DIV) {
        if (b.n != 1)
            b = as_factor(c->s->g, below_broadcasts(x->in[1]));
        return b.n == 1 ? kn_grad_terms_product(&a, &b, -1) : as_factor(c->s->g, x);
    }
    if (x->op == KN_OP_SUB)
        b = kn_grad_terms_product(&b, &minus, 1);
    for (int i = 0; i < b.n && a.n >= 0; i++)
        kn_grad_terms_append(&a, &b.of[i]);
    a.n = b.n < 0 ? -1 : a.n;
    return a;
}

/* ---- from terms to values ---- */

/* node ** power, power above 0; x times that, where there is an x. */
static kn_node *times(const kn_grad_site *s, kn_node *x, kn_node *node, int power)
{
    for (; power > 0; power--)
        x = x ? kn_grad_op2(s, KN_OP_MUL, x, node) : node;
    return x;
}

/* A term without its coefficient; NULL: 1. */
static kn_node *value_of(const kn_grad_site *s, const kn_grad_term *t, kn_dtype dtype)
{
    kn_node *above = NULL, *below = NULL;
    for (int i = 0; i < t->n; i++)
        above = times(s, above, t->node[i], t->power[i]);
    for (int i = 0; i < t->n; i++)
        below = times(s, below, t->node[i], -t->power[i]);
    if (!below)
        return above;
    above = above ? above : kn_grad_cast(s, kn_grad_number(s, 1), dtype);
    return kn_grad_op2(s, KN_OP_DIV, above, below);
}

/* x, and a term, of which there may be none yet. */
static kn_node *plus(const kn_grad_site *s, kn_node *x, const kn_grad_term *t, kn_dtype dtype)
{
    double c = t->coefficient;
    bool minus = c < 0 && x;
    kn_node *y = value_of(s, t, dtype);
    c = minus ? -c : c;
    if (!y)
        y = kn_grad_cast(s, kn_grad_number(s, c), dtype);
    else if (c == -1)
        y = kn_grad_op1(s, KN_OP_NEG, y);
    else if (c != 1)
        y = kn_grad_op2(s, KN_OP_MUL, y, kn_grad_number(s, c));
    return x ? kn_grad_op2(s, minus ? KN_OP_SUB : KN_OP_ADD, x, y) : y;
}

static kn_node *plain_sum(const summing *c, kn_node *x)
{
    int axes[KN_MAX_RANK], n = 0;
    for (int j = 0; j < x->rank; j++)
        if (c->axes >> j & 1)
            axes[n++] = j;
    const kn_reduction r = {.axes = axes, .naxes = n, .keepdims = true, .dtype = x->dtype};
    return kn_build_reduction(c->s->g, KN_OP_SUM, x, &r, c->s->loc);
}

/* ---- sums of which one member counts ---- */

/* Does c compare an index with the position along an axis that is summed over? */
static bool matches_index(const summing *c, const kn_node *eq, kn_node **index, int *axis)
{
    kn_graph *g = c->s->g;
    for (int k = 0; k < 2 && eq->op == KN_OP_EQ; k++) {
        const kn_node *i = eq->in[k];
        *index = eq->in[1 - k];
        for (*axis = 0; *axis < i->rank && kn_dim_is_one(g->syms, i->shape[*axis]);)
            ++*axis;
        if (kn_view_root(i)->op == KN_OP_IOTA && *axis < i->rank && c->axes >> *axis & 1 &&
            (*index)->dtype == KN_I64 && kn_dim_is_one(g->syms, (*index)->shape[*axis]))
            return true;
    }
    return false;
}

/* The indices that c asks for, an axis each. */
static bool match_indices(const summing *c, const kn_node *is, kn_node **indices)
{
    kn_node *index;
    int axis;
    if (is->op == KN_OP_AND)
        return match_indices(c, is->in[0], indices) && match_indices(c, is->in[1], indices);
    if (!matches_index(c, is, &index, &axis) || indices[axis])
        return false;
    indices[axis] = index;
    return true;
}

/* sum(where(index == arange(n), u, 0)) is u[index], or 0 out of bounds: the gradient of a scatter is a gather. NULL where
 * x is no such selection. */
static kn_node *as_gather(const summing *c, kn_node *x)
{
    const kn_grad_site *s = c->s;
    kn_node *indices[KN_MAX_RANK] = {0}, *inside = NULL;
    kn_dim shape[KN_MAX_RANK];
    x = below_broadcasts(x);
    if (x->op != KN_OP_WHERE || !kn_grad_is_zero(x->in[2]) || !match_indices(c, x->in[0], indices))
        return NULL;
    for (int j = 0; j < x->rank; j++) {
        shape[j] = x->shape[j];
        if (!(c->axes >> j & 1))
            continue;
        if (!indices[j])
            return NULL;
        kn_node *near = kn_build_clamp(s->g, indices[j], x->shape[j], s->loc);
        kn_node *same = kn_grad_op2(s, KN_OP_EQ, near, indices[j]);
        inside = inside ? kn_grad_op2(s, KN_OP_AND, inside, same) : same;
        indices[j] = near;
        shape[j] = kn_dim_const(s->g->syms, 1);
    }
    kn_node *u = below_broadcasts(x->in[1]);
    if (!is_invariant(c, u)) {
        u = kn_build_broadcast_to(s->g, u, x->shape, x->rank, s->loc);
        u = kn_build_taken(s->g, u, indices, shape, false, s->loc);
    }
    return kn_grad_select(s, inside, u,
                          kn_build_const(s->g, (kn_scalar){.dtype = x->dtype}, s->loc));
}

/* ---- sums of products ---- */

/* Is n the number, or the size, d? */
static bool is_count(kn_graph *g, const kn_node *n, kn_dim d)
{
    int64_t v;
    n = kn_view_root(n);
    while (n->op == KN_OP_CAST)
        n = kn_view_root(n->in[0]);
    if (n->op == KN_OP_CONST)
        return kn_dim_is_const(g->syms, d, &v) && kn_scalar_number(n->u.value) == (double)v;
    return n->op == KN_OP_EXTENT && kn_dim_equal(g->syms, n->u.dim, d);
}

/* What m is the mean of, over the axes in *axes, however it is written; NULL where it is none. */
static const kn_node *mean_of(const kn_grad_site *s, const kn_node *m, uint32_t *axes)
{
    const kn_node *sum = m->op == KN_OP_DIV ? below_broadcasts(m->in[0]) : m;
    if (sum->op != (m->op == KN_OP_DIV ? KN_OP_SUM : KN_OP_MEAN))
        return NULL;
    *axes = sum->u.reduce.axes;
    kn_dim n = kn_grad_count(s, sum->in[0], *axes);
    return sum == m || is_count(s->g, m->in[1], n) ? below_broadcasts(sum->in[0]) : NULL;
}

/* Deviations from a mean over what is summed here, or over a part of it. */
static bool is_deviation(const summing *c, const kn_grad_term *t)
{
    const kn_node *d = t->n == 1 && t->power[0] == 1 ? t->node[0] : NULL;
    uint32_t axes = 0;
    if (!d || d->op != KN_OP_SUB)
        return false;
    const kn_node *m = below_reshapes(c->s->g, below_broadcasts(d->in[1])),
                  *x = mean_of(c->s, m, &axes);
    return x == below_broadcasts(d->in[0]) && d->rank == m->rank && axes && (axes & ~c->axes) == 0;
}

/* How many members there are. */
static kn_node *count_members(const summing *c, const kn_node *x)
{
    kn_dim n = kn_grad_count(c->s, x, c->axes);
    return kn_grad_cast(c->s, kn_build_extent(c->s->g, n, c->s->loc), x->dtype);
}

/* The sum of a term of x over the members, as the factors that all members share times the sum of the rest. False
 * where there is no room; *sums counts the sums that the program does not have yet. */
static bool sum_term(const summing *c, kn_node *x, const kn_grad_term *t, kn_grad_terms *to,
                     int *sums)
{
    kn_grad_term invariant = {.coefficient = t->coefficient}, rest = {.coefficient = 1};
    for (int i = 0; i < t->n; i++)
        kn_grad_term_multiply(is_invariant(c, t->node[i]) ? &invariant : &rest, t->node[i],
                              t->power[i]);
    if (is_deviation(c, &rest))
        return true;
    kn_node *sum = NULL;
    if (rest.n == 0) {
        sum = count_members(c, x);
    } else if (rest.n == 1 && rest.power[0] == 1) {
        sum = as_gather(c, rest.node[0]);
    }
    if (!sum) {
        kn_node *of = value_of(c->s, &rest, x->dtype);
        of = kn_build_broadcast_to(c->s->g, of, x->shape, x->rank, c->s->loc);
        int before = c->s->g->nodes.len;
        sum = of ? plain_sum(c, of) : NULL;
        *sums += sum && sum->id >= before;
    }
    const kn_grad_terms one = {.n = 1, .of[0] = invariant};
    const kn_grad_terms factor = sum ? as_factor(c->s->g, sum) : (kn_grad_terms){.n = -1};
    const kn_grad_terms made = kn_grad_terms_product(&one, &factor, 1);
    for (int i = 0; i < made.n; i++)
        kn_grad_terms_append(to, &made.of[i]);
    return made.n >= 0 && to->n >= 0;
}

/* NULL where nothing is gained. */
static kn_node *factored_sum(const summing *c, kn_node *x, const kn_dim *shape)
{
    kn_grad_terms of = expand(c, x, 0), made = {0};
    kn_node *sum = NULL;
    int sums = 0;
    if (of.n == 1 && of.of[0].coefficient == 1) {
        bool any = false;
        for (int i = 0; i < of.of[0].n; i++)
            any = any || is_invariant(c, of.of[0].node[i]);
        if (!any && of.of[0].n && !is_deviation(c, &of.of[0]))
            return NULL;
    }
    for (int i = 0; i < of.n; i++)
        if (!sum_term(c, x, &of.of[i], &made, &sums))
            return NULL;
    if (of.n < 0 || sums > 1)
        return NULL;
    for (int i = 0; i < made.n; i++)
        if (!(sum = plus(c->s, sum, &made.of[i], x->dtype)))
            return NULL;
    sum = sum ? sum : kn_build_const(c->s->g, (kn_scalar){.dtype = x->dtype}, c->s->loc);
    return kn_build_broadcast_to(c->s->g, sum, shape, x->rank, c->s->loc);
}

kn_node *kn_grad_sum_to(const kn_grad_site *s, kn_node *x, const kn_dim *shape)
{
    int left = MOST_STEPS;
    summing c = {s, 0, &left};
    kn_node *better;
    for (int j = 0; j < x->rank; j++)
        if (kn_dim_is_one(s->g->syms, shape[j]) && !kn_dim_is_one(s->g->syms, x->shape[j]))
            c.axes |= 1u << j;
    if (!c.axes)
        return x;
    if ((better = as_gather(&c, x)))
        return kn_build_broadcast_to(s->g, better, shape, x->rank, s->loc);
    better = kn_is_half(x->dtype) ? NULL : factored_sum(&c, x, shape);
    return better ? better : plain_sum(&c, x);
}
