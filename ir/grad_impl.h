/* Between the files of differentiation.
 *
 *     grad.def       the rules
 *     grad.c         from results to operands
 *     grad_rules.c   its table, and what the formulas of elementwise operations are made of
 *     grad_reduce.c  reductions
 *     grad_view.c    views
 *     grad_take.c    elements at computed indices
 *     grad_sum.c     sums of gradients as a person would write them; grad_terms.c counts their terms */
#ifndef KN_IR_GRAD_IMPL_H
#define KN_IR_GRAD_IMPL_H

#include "ir/build_impl.h"
#include "ir/grad.h"

/* What a node is differentiated as: its operation, or the formula whose expansion ends in it. */
typedef struct kn_grad_form {
    kn_op op;
    int nin;
    kn_node *in[KN_MAX_IN];
} kn_grad_form;

/* A use of a rule. */
typedef struct kn_grad_site {
    kn_graph *g;
    kn_loc loc;  /* of what is made */
    int first;   /* the number of the first node that differentiation made */
    kn_node *y;  /* the operation whose gradient is known, */
    kn_node *dy; /* of its type and shape */
    const kn_grad_form *as;
} kn_grad_site;

/* What reaches operand k of s->as, before it is summed over what the operand repeats. NULL after a failure. */
typedef kn_node *(*kn_grad_fn)(const kn_grad_site *s, int k);

typedef enum kn_grad_kind { KN_GRAD_RULE, KN_GRAD_ZERO, KN_GRAD_NONE } kn_grad_kind;

typedef struct kn_grad_rule {
    kn_grad_kind kind;
    kn_grad_fn of; /* NULL of a formula: it is differentiated as what it is made of */
} kn_grad_rule;

extern const kn_grad_rule kn_grad_rules[KN_OP_COUNT];

#define GRAD(name, function) kn_node *function(const kn_grad_site *s, int k);
#define GRAD1(name, da)
#define GRAD2(name, da, db)
#define ZERO(name)
#define NONE(name)
#include "ir/grad.def"
#undef GRAD
#undef GRAD1
#undef GRAD2
#undef ZERO
#undef NONE

/* x summed over the axes that are 1 in `shape` and not in x, so that it has that shape. */
kn_node *kn_grad_sum_to(const kn_grad_site *s, kn_node *x, const kn_dim *shape);
/* a + b; a may be NULL. */
kn_node *kn_grad_add(const kn_grad_site *s, kn_node *a, kn_node *b);

/* How many elements of x there are along these axes. */
kn_dim kn_grad_count(const kn_grad_site *s, const kn_node *x, uint32_t axes);

/* ---- what rules are made of ---- */

static inline kn_node *kn_grad_op1(const kn_grad_site *s, kn_op op, kn_node *a)
{
    return kn_build_elem(s->g, op, &a, 1, s->loc);
}
static inline kn_node *kn_grad_op2(const kn_grad_site *s, kn_op op, kn_node *a, kn_node *b)
{
    return kn_build_elem(s->g, op, (kn_node *[]){a, b}, 2, s->loc);
}
static inline kn_node *kn_grad_select(const kn_grad_site *s, kn_node *c, kn_node *a, kn_node *b)
{
    return kn_build_elem(s->g, KN_OP_WHERE, (kn_node *[]){c, a, b}, 3, s->loc);
}
static inline kn_node *kn_grad_number(const kn_grad_site *s, double v)
{
    return kn_build_float(s->g, v, s->loc);
}
static inline kn_node *kn_grad_cast(const kn_grad_site *s, kn_node *x, kn_dtype t)
{
    return kn_build_cast(s->g, x, t, s->loc);
}
bool kn_grad_is_zero(const kn_node *x);
/* Zeros of x's type and shape. */
kn_node *kn_grad_zeros(const kn_grad_site *s, const kn_node *x);

#endif
