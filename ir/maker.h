/* Short names for what operations that are made of others are written with, each at the place `loc` of a text.
 * C says nothing of the order in which arguments are evaluated, and nodes are numbered as they are made: no two
 * arguments of one call make nodes, here and wherever graphs are built. */
#ifndef KN_IR_MAKER_H
#define KN_IR_MAKER_H

#include "ir/build_impl.h"

typedef struct maker {
    kn_graph *g;
    kn_loc loc;
} maker;

static inline kn_node *op1(const maker *m, kn_op op, kn_node *a)
{
    return kn_build_elem(m->g, op, &a, 1, m->loc);
}

static inline kn_node *op2(const maker *m, kn_op op, kn_node *a, kn_node *b)
{
    return kn_build_elem(m->g, op, (kn_node *[]){a, b}, 2, m->loc);
}

static inline kn_node *where(const maker *m, kn_node *c, kn_node *a, kn_node *b)
{
    return kn_build_elem(m->g, KN_OP_WHERE, (kn_node *[]){c, a, b}, 3, m->loc);
}

static inline kn_node *cast(const maker *m, kn_node *x, kn_dtype t)
{
    return kn_build_cast(m->g, x, t, m->loc);
}

static inline kn_node *number(const maker *m, double v) { return kn_build_float(m->g, v, m->loc); }

static inline kn_node *whole(const maker *m, int64_t v) { return kn_build_int(m->g, v, m->loc); }

static inline kn_node *add(const maker *m, kn_node *a, kn_node *b)
{
    return op2(m, KN_OP_ADD, a, b);
}

static inline kn_node *mul(const maker *m, kn_node *a, kn_node *b)
{
    return op2(m, KN_OP_MUL, a, b);
}

/* x times a number. */
static inline kn_node *scaled(const maker *m, kn_node *x, double by)
{
    return mul(m, x, number(m, by));
}

static inline kn_node *divide(const maker *m, kn_node *a, kn_node *b)
{
    return op2(m, KN_OP_DIV, a, b);
}

#endif
