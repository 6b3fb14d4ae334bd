/* What the files of the builder share.
 *
 *     build.c         leaves, names, constraints
 *     build_output.c  outputs, and inputs that are updated
 *     build_elem.c    elementwise operations and their types
 *     build_size.c    integers that are made of sizes
 *     build_reduce.c  reductions
 *     build_combine.c reductions of the user's own
 *     build_compose.c reductions with a mask or a start, and what is made of several operations
 *     formula.c       elementwise operations made of others
 *     build_complex.c those of complex numbers, made of others on their parts
 *     build_view.c    views that keep every element
 *     build_index.c   slices, counts, and what is made of them
 *     build_take.c    elements at indices that are values, and assignment to a view
 *     build_scatter.c sums by index
 *     build_join.c    concatenation, padding, repetition
 *     build_random.c  random numbers */
#ifndef KN_IR_BUILD_IMPL_H
#define KN_IR_BUILD_IMPL_H

#include "ir/build.h"

/* For messages: "[N, C]", and " at 3:7" or "". */
const char *kn_build_shape_text(kn_graph *g, const kn_dim *shape, int rank);
const char *kn_build_place(kn_graph *g, kn_loc loc);

kn_node *kn_build_constant(kn_graph *g, kn_scalar v, bool weak, kn_loc loc);
/* x in a valid type t, itself where it has that. */
kn_node *kn_build_cast_to(kn_graph *g, kn_node *x, kn_dtype t);
/* x under another shape of as many elements. */
kn_node *kn_build_reshape_to(kn_graph *g, kn_node *x, const kn_dim *shape, int rank, kn_loc loc);
/* Axes of size 1 in front until x has `rank` of them. */
kn_node *kn_build_pad_rank(kn_graph *g, kn_node *x, int rank, kn_loc loc);

/* The type of a reduction of x's type with dtype=; KN_NO_DTYPE after a failure. */
kn_dtype kn_build_reduce_type(kn_op op, kn_dtype x, kn_dtype dtype);
/* A reduction without where= and initial=. total: over nothing it gives its identity. */
kn_node *kn_build_reduce_over(kn_graph *g, kn_op op, kn_node *x, const kn_reduction *r, bool total,
                              kn_loc loc);
/* The shape that operands broadcast to, and its rank; -1 after a failure. */
int kn_build_common_shape(kn_graph *g, kn_op op, kn_node *const *in, int n, kn_dim *out,
                          kn_loc loc);
/* The type that operands have in common, by NumPy's promotion; *weak: they are all Python numbers. */
kn_dtype kn_build_common_type(kn_node *const *in, int n, bool *weak);
/* The float type that functions of floats take them in. */
kn_dtype kn_build_float_type(kn_node *const *in, int n);
/* A FORMULA of `n` operands, as many as it takes. */
kn_node *kn_build_formula(kn_graph *g, kn_op op, kn_node *const *args, int n, kn_loc loc);
/* An operation of the rows MADE that has one operand, x, which is complex. */
kn_node *kn_build_complex(kn_graph *g, kn_op op, kn_node *x, kn_loc loc);
/* REAL, IMAG or CONJ of a real x. */
kn_node *kn_build_part(kn_graph *g, kn_op op, kn_node *x, kn_loc loc);
/* x * x, or x times its conjugate, which is real. */
kn_node *kn_build_square_size(kn_graph *g, kn_node *x, kn_loc loc);
/* A comparison of a signed integer with a u64, which no integer type holds both of. */
kn_node *kn_build_compare_signs(kn_graph *g, kn_op op, kn_node *a, kn_node *b, kn_loc loc);

/* The index along axis `axis` of `shape`, with its rank. */
kn_node *kn_build_index_along(kn_graph *g, const kn_dim *shape, int rank, int axis, kn_loc loc);
/* What a TAKE of x reads: a view that stands for memory, x itself in any case as an INDEX. */
kn_node *kn_build_in_memory(kn_graph *g, kn_node *x, kn_loc loc);
/* x[indices[0], indices[1], ...]: indices of the result's rank, i64, NULL where x's axis is walked. The result has x's
 * rank and `shape`. */
kn_node *kn_build_taken(kn_graph *g, kn_node *x, kn_node *const *indices, const kn_dim *shape,
                        bool checked, kn_loc loc);
/* x with the elements that an INDEX of x's shape shows replaced by those of v, which has the INDEX's shape, or broadcasts
 * to it. */
kn_node *kn_build_put_index(kn_graph *g, kn_node *x, const kn_node *index, kn_node *v, kn_loc loc);
/* Elements of an array of `shape`: along its axis j at indices[j], or where that is NULL at the index along axis[j]. */
typedef struct kn_scatter {
    const char *what; /* for people: "at_add at 3:4" */
    int rank;
    kn_dim shape[KN_MAX_RANK];
    kn_node *indices[KN_MAX_RANK]; /* i64, of v's rank */
    int axis[KN_MAX_RANK];         /* of v; < 0 where `shape` is 1 */
} kn_scatter;

/* For each element the sum of what v has for its indices; an index out of bounds adds nothing. */
kn_node *kn_build_scatter(kn_graph *g, const kn_scatter *t, kn_node *v, kn_loc loc);
/* To where a TAKE's elements come from. */
kn_scatter kn_scatter_of(const kn_node *take, const char *what);
/* The four words of a counter, u32, become those of its block; the seed is a u64. */
void kn_build_philox(kn_graph *g, kn_node **counter, kn_node *seed, kn_loc loc);
/* Bounds an index to 0, ..., n - 1. */
kn_node *kn_build_clamp(kn_graph *g, kn_node *i, kn_dim n, kn_loc loc);

#endif
