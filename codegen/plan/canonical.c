/* The class of a problem: its sizes rounded to a few leading bits, and layouts like its own for them.
 *
 * What is decided at the canonical problem of a class is good for all of it, and history decides nothing, since the
 * canonical problem follows from any of the class. So it must be like them in what plans depend on beyond amounts:
 * which sizes are 0 or 1, what vectors can load, which axes follow each other in memory, and every fact. */
#include <stdlib.h>
#include <string.h>

#include "codegen/plan/partition.h"

/* Sizes up to EXACT are classes of their own. Of larger ones LEADING_BITS behind the first are kept: four classes from
 * one power of two to the next. So is the largest divisor that they have in common with VECTOR, the elements of the
 * widest access. */
enum { EXACT = 16, LEADING_BITS = 2, VECTOR = 16 };

static int64_t divisor_with_vector(int64_t n) { return n & -n & (VECTOR - 1) ? n & -n : VECTOR; }

/* Sizes above EXACT that have the leading bits of n: so many, the first a multiple of that. */
static int64_t alike_in_bits(int64_t n)
{
    return (int64_t)1 << (63 - __builtin_clzll((unsigned long long)n) - LEADING_BITS);
}

/* The size that stands for n's class; at most n. */
static int64_t round_size(int64_t n)
{
    if (n <= EXACT)
        return n;
    int64_t divisor = divisor_with_vector(n), rounded = n & -alike_in_bits(n);
    return divisor_with_vector(rounded) == divisor ? rounded : rounded + divisor;
}

/* The largest size of n's class. */
static int64_t largest_size(int64_t n)
{
    if (n <= EXACT)
        return n;
    int64_t divisor = divisor_with_vector(n), last = n | (alike_in_bits(n) - 1);
    while (divisor_with_vector(last) != divisor)
        last--;
    return last;
}

/* ---- sizes ---- */

typedef struct classing {
    kn_arena *a;
    const kn_problem *own;
    int64_t (*size)(int64_t); /* of the class of one: the canonical one, or the largest */
    int64_t *sizes;           /* as far as they are known */
} classing;

/* Elements of an array of the class, or an element's offset, at most: in bytes, of which an element has 16, it fits four times. */
static const int64_t most_elements = INT64_MAX / 64;

static bool alike(int64_t x, int64_t y) { return x == y || (x > 1 && y > 1); }

static bool node_is_alike(const classing *c, const kn_node *n)
{
    int64_t own[KN_MAX_RANK], shape[KN_MAX_RANK];
    if (kn_node_sizes(n, c->own->sizes, own) || kn_node_sizes(n, c->sizes, shape))
        return false;
    for (int j = 0; j < n->rank; j++)
        if (!alike(own[j], shape[j]))
            return false;
    return kn_count(shape, n->rank) <= most_elements;
}

static bool are_of_class(const classing *c)
{
    const kn_graph *g = c->own->graph;
    bool fit = !kn_facts_check(&g->facts, g->syms, c->a, c->sizes);
    for (int i = 0; i < g->nodes.len && fit; i++)
        fit = node_is_alike(c, g->nodes.data[i]);
    return fit;
}

/* Gives the symbols that are not open the sizes that follow from the others. False if these are not of the class. */
static bool derive(classing *c)
{
    const kn_symbols *s = c->own->graph->syms;
    for (int i = 0; i < kn_symbols_count(s); i++)
        if (!kn_symbol_is_open(s, i))
            c->sizes[i] = KN_UNBOUND;
    if (kn_symbols_derive(s, c->a, c->sizes) == KN_OK && are_of_class(c))
        return true;
    kn_clear_error();
    return false;
}

/* Every open symbol has the size of its class; where sizes do not allow that, as many as they do. */
static void set_sizes(classing *c)
{
    const kn_symbols *s = c->own->graph->syms;
    int n = kn_symbols_count(s);
    for (int i = 0; i < n; i++)
        c->sizes[i] = c->size(c->own->sizes[i]);
    if (derive(c))
        return;
    memcpy(c->sizes, c->own->sizes, sizeof *c->sizes * (size_t)n);
    for (int i = 0; i < n; i++) {
        int64_t own = c->own->sizes[i];
        if (!kn_symbol_is_open(s, i) || c->size(own) == own)
            continue;
        c->sizes[i] = c->size(own);
        if (!derive(c))
            c->sizes[i] = own;
    }
    derive(c);
}

/* ---- layouts ---- */

/* The axis of more than one element with the smallest stride among those not done; -1: none is left. */
static int next_axis(const kn_layout *l, const bool *done)
{
    int best = -1;
    for (int j = l->rank - 1; j >= 0; j--)
        if (!done[j] && l->shape[j] > 1 &&
            (best < 0 || llabs(l->stride[j]) < llabs(l->stride[best])))
            best = j;
    return best;
}

/* Axes in the same order, without a gap where there is none. False where elements are reached twice, or too far away. */
static bool lay_out(const classing *c, const kn_layout *own, const int64_t *shape, kn_layout *to)
{
    bool done[KN_MAX_RANK] = {false};
    int64_t reach = 1, canonical = 1; /* of the axes done */
    *to = *own;
    memcpy(to->shape, shape, sizeof *shape * (size_t)own->rank);
    if (kn_count(shape, own->rank) == 0) {
        kn_compact_strides(shape, own->rank, to->stride);
        return true;
    }
    for (int j; (j = next_axis(own, done)) >= 0; done[j] = true) {
        int64_t stride = llabs(own->stride[j]);
        if (stride == 0)
            continue;
        if (stride < reach)
            return false;
        int64_t rounded = c->size(stride),
                behind = ((canonical + VECTOR - 1) & -VECTOR) + divisor_with_vector(stride);
        int64_t step = stride == reach ? canonical : rounded > canonical ? rounded : behind;
        to->stride[j] = own->stride[j] < 0 ? -step : step;
        if (__builtin_mul_overflow(stride, own->shape[j], &reach) ||
            __builtin_mul_overflow(step, shape[j], &canonical) || canonical > most_elements)
            return false;
    }
    kn_layout_ones(to);
    return true;
}

static bool lay_out_node(const classing *c, const kn_node *n, const kn_layout *own, kn_layout *to)
{
    int64_t shape[KN_MAX_RANK];
    return kn_node_sizes(n, c->sizes, shape) == KN_OK && lay_out(c, own, shape, to);
}

/* The problem at these sizes of its class. */
static void set_problem(kn_arena *a, const kn_problem *own, int64_t (*size)(int64_t),
                        kn_problem *of_class)
{
    const kn_graph *g = own->graph;
    classing c = {a, own, size, KN_NEW_ARRAY(a, int64_t, kn_symbols_count(g->syms) + 1)};
    kn_layout *in = KN_NEW_ARRAY(a, kn_layout, g->inputs.len + 1);
    kn_layout *out = KN_NEW_ARRAY(a, kn_layout, g->outputs.len + 1);
    bool all = true;
    *of_class = *own;
    set_sizes(&c);
    for (int i = 0; i < g->inputs.len && all; i++)
        all = g->inputs.data[i].by_value ||
              lay_out_node(&c, g->inputs.data[i].node, &own->in[i], &in[i]);
    for (int o = 0; o < g->outputs.len && all; o++)
        all = lay_out_node(&c, g->outputs.data[o].node, &own->out[o], &out[o]);
    if (!all)
        return;
    of_class->sizes = c.sizes;
    of_class->in = in;
    of_class->out = out;
}

void kn_problem_canonical(kn_arena *a, const kn_problem *own, kn_problem *canonical)
{
    set_problem(a, own, round_size, canonical);
}

void kn_problem_largest(kn_arena *a, const kn_problem *own, kn_problem *largest)
{
    set_problem(a, own, largest_size, largest);
}
