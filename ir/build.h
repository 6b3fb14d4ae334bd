/* Building a graph: one function an operation kind, with NumPy's type and shape rules.
 *
 * Each returns NULL after kn_fail() when the operation has no meaning: TYPE or SHAPE, with the operation,
 * its operands' types and shapes and the place in the text. A NULL operand gives NULL silently, so that
 * the first error of a chain is the one reported. Equalities that broadcasting needs are recorded in
 * graph->facts. */
#ifndef KN_IR_BUILD_H
#define KN_IR_BUILD_H

#include "ir/graph.h"

/* `shape` dimensions belong to g->syms. A repeated name is an ARGUMENT error. */
kn_node *kn_build_input(kn_graph *g, const char *name, kn_dtype dtype, const kn_dim *shape,
                        int rank, kn_loc loc);
/* A 0-d argument passed by value; dflt may be NULL. */
kn_node *kn_build_scalar(kn_graph *g, const char *name, kn_dtype dtype, const kn_scalar *dflt,
                         kn_loc loc);

/* Python numbers: weak, they take the type of what they meet (NEP 50). */
kn_node *kn_build_int(kn_graph *g, int64_t v, kn_loc loc);
kn_node *kn_build_float(kn_graph *g, double v, kn_loc loc);
kn_node *kn_build_bool(kn_graph *g, bool v, kn_loc loc);
/* A typed constant. */
kn_node *kn_build_const(kn_graph *g, kn_scalar v, kn_loc loc);
/* A size as a weak integer: what `x.shape[0]` is. */
kn_node *kn_build_extent(kn_graph *g, kn_dim d, kn_loc loc);

/* Elementwise operations but cast. */
kn_node *kn_build_elem(kn_graph *g, kn_op op, kn_node *const *in, int n, kn_loc loc);
kn_node *kn_build_cast(kn_graph *g, kn_node *x, kn_dtype dtype, kn_loc loc);

/* `axes` as NumPy has them (negative from the end); naxes < 0 means all. dtype KN_NO_DTYPE: by rule. */
kn_node *kn_build_reduce(kn_graph *g, kn_op op, kn_node *x, const int *axes, int naxes,
                         bool keepdims, kn_dtype dtype, int ddof, kn_loc loc);

/* A reduction with NumPy's arguments. */
typedef struct kn_reduction {
    const int *axes;
    int naxes; /* < 0: all */
    bool keepdims;
    kn_dtype dtype; /* KN_NO_DTYPE: by rule */
    int ddof;
    kn_node *where;   /* a bool mask that broadcasts to x, or NULL: only these elements count */
    kn_node *initial; /* a 0-d value that the result begins with, or NULL */
    bool skip_nan;    /* nansum, nanmin, ...: NaN does not count */
} kn_reduction;

/* sum, prod, min, max, any, all, mean, var with all of these. */
kn_node *kn_build_reduction(kn_graph *g, kn_op op, kn_node *x, const kn_reduction *r, kn_loc loc);

/* Made of several operations; they use r's axes and keepdims. */
kn_node *kn_build_ptp(kn_graph *g, kn_node *x, const kn_reduction *r, kn_loc loc);
kn_node *kn_build_count_nonzero(kn_graph *g, kn_node *x, const kn_reduction *r, kn_loc loc);
kn_node *kn_build_logsumexp(kn_graph *g, kn_node *x, const kn_reduction *r, kn_loc loc);
/* log: of it, by the sum of exponentials. */
kn_node *kn_build_softmax(kn_graph *g, kn_node *x, const kn_reduction *r, bool log, kn_loc loc);
/* The vector norm of that order, which may be infinite. */
kn_node *kn_build_norm(kn_graph *g, kn_node *x, double order, const kn_reduction *r, kn_loc loc);
/* weights: of x's shape, or one an element along the one axis; NULL: 1. */
kn_node *kn_build_average(kn_graph *g, kn_node *x, kn_node *weights, const kn_reduction *r,
                          kn_loc loc);
/* The inner product of two vectors; of a 0-d value the product. */
kn_node *kn_build_dot(kn_graph *g, kn_node *a, kn_node *b, kn_loc loc);

/* A NULL dimension stands for -1, at most one. */
kn_node *kn_build_reshape(kn_graph *g, kn_node *x, const kn_dim *shape, int rank, kn_loc loc);
/* perm NULL reverses the axes; entries may be negative. */
kn_node *kn_build_transpose(kn_graph *g, kn_node *x, const int *perm, int n, kn_loc loc);
kn_node *kn_build_broadcast_to(kn_graph *g, kn_node *x, const kn_dim *shape, int rank, kn_loc loc);
/* Inserts an axis of size 1 in front of `axis` (0..rank, or negative from the end of the result). */
kn_node *kn_build_expand_dims(kn_graph *g, kn_node *x, int axis, kn_loc loc);

/* One item of an index: x[lo], x[lo:hi:step], x[None], x[...]. */
typedef enum kn_index_kind {
    KN_INDEX_AT,
    KN_INDEX_SLICE,
    KN_INDEX_NEWAXIS,
    KN_INDEX_ELLIPSIS
} kn_index_kind;

typedef struct kn_index_item {
    kn_index_kind kind;
    kn_dim lo, hi; /* NULL where not given; negative ones count from the end, if that is known */
    int64_t step;  /* SLICE */
} kn_index_item;

kn_node *kn_build_index(kn_graph *g, kn_node *x, const kn_index_item *items, int n, kn_loc loc);
kn_node *kn_build_flip(kn_graph *g, kn_node *x, const int *axes, int naxes, kn_loc loc);
/* The elements x[..., i, i + offset] of two axes, as the last axis. */
kn_node *kn_build_diagonal(kn_graph *g, kn_node *x, int64_t offset, int axis1, int axis2,
                           kn_loc loc);
/* triu, or tril: 0 below, or above, the k-th diagonal of the last two axes. */
kn_node *kn_build_triangle(kn_graph *g, kn_node *x, int64_t k, bool upper, kn_loc loc);
/* argmin (op MIN) or argmax (MAX) along an axis; axis NULL: of all elements in row-major order. */
kn_node *kn_build_arg(kn_graph *g, kn_op op, kn_node *x, const int *axis, bool keepdims,
                      kn_loc loc);

/* 0, 1, ..., n - 1 in i64; and NumPy's arange with sizes as bounds. */
kn_node *kn_build_iota(kn_graph *g, kn_dim n, kn_loc loc);
kn_node *kn_build_arange(kn_graph *g, kn_dim start, kn_dim stop, int64_t step, kn_dtype dtype,
                         kn_loc loc);
/* `value`, 0-d, everywhere. dtype KN_NO_DTYPE: its own. */
kn_node *kn_build_full(kn_graph *g, const kn_dim *shape, int rank, kn_node *value, kn_dtype dtype,
                       kn_loc loc);

/* Adds a named output. A weak value becomes f64, i64 or bool, as NumPy makes it. */
kn_status kn_build_output(kn_graph *g, const char *name, kn_node *x, kn_loc loc);
/* ARGUMENT unless `name`, of `what` ("an input"), is a C identifier. */
kn_status kn_build_check_name(const char *name, const char *what);
/* Gives a node the user's name for it (the first one stays). */
void kn_build_name(kn_graph *g, kn_node *x, const char *name);
/* What must hold of sizes. said: the user's words, or NULL for what an operation at `loc` needs. */
void kn_build_assume(kn_graph *g, kn_fact_kind kind, kn_dim a, kn_dim b, const char *said,
                     kn_loc loc);

#endif
