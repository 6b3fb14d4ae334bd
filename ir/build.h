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
kn_node *kn_build_uint(kn_graph *g, uint64_t v, kn_loc loc);
kn_node *kn_build_float(kn_graph *g, double v, kn_loc loc);
kn_node *kn_build_complex_number(kn_graph *g, double re, double im, kn_loc loc);
kn_node *kn_build_bool(kn_graph *g, bool v, kn_loc loc);
/* The digits of an integer, for messages. */
const char *kn_build_int_text(kn_graph *g, kn_scalar v);
/* A typed constant. */
kn_node *kn_build_const(kn_graph *g, kn_scalar v, kn_loc loc);
/* A size as a weak integer: what `x.shape[0]` is. */
kn_node *kn_build_extent(kn_graph *g, kn_dim d, kn_loc loc);

/* The value of a Python integer that is made of numbers and sizes; NULL, perhaps after kn_fail(), where it is none. */
kn_dim kn_build_size(kn_graph *g, const kn_node *x);
/* If x is a Python integer, `what` needs t, an array's type, to hold it: false, after kn_fail(), where it does not. One
 * that is made of sizes has to at the run. */
bool kn_build_need_fit(kn_graph *g, const char *what, const kn_node *x, kn_dtype t, kn_loc loc);
/* The same of any number that Python itself would convert to t: a float without its fraction, too. */
bool kn_build_need_number(kn_graph *g, const char *what, const kn_node *x, kn_dtype t, kn_loc loc);

/* Elementwise operations but cast. */
kn_node *kn_build_elem(kn_graph *g, kn_op op, kn_node *const *in, int n, kn_loc loc);
kn_node *kn_build_cast(kn_graph *g, kn_node *x, kn_dtype dtype, kn_loc loc);

/* A reduction with NumPy's arguments. */
typedef struct kn_reduction {
    const int *axes; /* negative: from the end */
    int naxes;       /* < 0: all */
    bool keepdims;
    kn_dtype dtype; /* KN_NO_DTYPE: by rule */
    int ddof;
    kn_node *where; /* a bool mask that broadcasts to x, or NULL: only these elements count */
    kn_node *initial[KN_MAX_CARRIED]; /* 0-d values that the results begin with, or NULL */
    bool skip_nan;                    /* nansum, nanmin, ...: NaN does not count */
} kn_reduction;

/* Axes as NumPy has them (naxes < 0: all) as a mask; false after a failure that calls the operation `what`. */
bool kn_build_axes(kn_graph *g, const char *what, const kn_node *x, const int *axes, int naxes,
                   uint32_t *mask);
/* sum, prod, min, max, any, all, mean, var with all of these. */
kn_node *kn_build_reduction(kn_graph *g, kn_op op, kn_node *x, const kn_reduction *r, kn_loc loc);

/* nan_to_num with what NaN, inf and -inf become: 0-d values, or NULL for 0 and the largest numbers. */
enum { KN_NOT_FINITE = 3 };
kn_node *kn_build_nan_to_num(kn_graph *g, kn_node *x, kn_node *const *instead, kn_loc loc);

/* clip; NULL: no bound on that side. Nor is a Python integer beyond all numbers of x's type one, as for NumPy. */
kn_node *kn_build_clip(kn_graph *g, kn_node *x, kn_node *lo, kn_node *hi, kn_loc loc);

/* An operand of a combine: what is carried from the elements before, or from those behind. TYPE for 16-bit floats. */
kn_node *kn_build_carried(kn_graph *g, kn_dtype dtype, kn_loc loc);

/* A reduction of the user's own, as an expression: ir/reducer.h. left and right are CARRIED, combined is made of them,
 * of numbers and elementwise operations; identities are numbers. */
typedef struct kn_combining {
    int count; /* 1 to KN_MAX_CARRIED */
    kn_node *left[KN_MAX_CARRIED], *right[KN_MAX_CARRIED], *combined[KN_MAX_CARRIED],
        *identity[KN_MAX_CARRIED];
    bool commutes;
    kn_reducer_rule rule;
} kn_combining;

/* out[c] from x[c]; r's axes, keepdims, where and initial, which come before all elements. */
kn_status kn_build_reduce_by(kn_graph *g, const kn_combining *by, kn_node *const *x,
                             const kn_reduction *r, kn_node **out, kn_loc loc);

/* combine(a, b) of reducer r as nodes; out may be b. */
bool kn_build_combine(kn_graph *g, const kn_reducer *r, kn_node *const *a, kn_node *const *b,
                      kn_node **out, kn_loc loc);

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
/* The inner product of two vectors; of a 0-d value the product. conjugate: a's conjugate is taken. */
kn_node *kn_build_dot(kn_graph *g, kn_node *a, kn_node *b, bool conjugate, kn_loc loc);

/* A NULL dimension stands for -1, at most one. */
kn_node *kn_build_reshape(kn_graph *g, kn_node *x, const kn_dim *shape, int rank, kn_loc loc);
/* perm NULL reverses the axes; entries may be negative. */
kn_node *kn_build_transpose(kn_graph *g, kn_node *x, const int *perm, int n, kn_loc loc);
kn_node *kn_build_broadcast_to(kn_graph *g, kn_node *x, const kn_dim *shape, int rank, kn_loc loc);
/* Inserts axes of size 1, which are those `axes` of the result (negative from its end). */
kn_node *kn_build_expand_dims(kn_graph *g, kn_node *x, const int *axes, int naxes, kn_loc loc);

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

/* What take() does with an index out of bounds: an error where devices check (others read the nearest element),
 * counted around, or the nearest element. Only KN_TAKE_RAISE counts negative ones from the end. */
typedef enum kn_take_mode { KN_TAKE_RAISE, KN_TAKE_WRAP, KN_TAKE_CLIP } kn_take_mode;

/* x with the elements of an axis at `indices`, integers of any shape, in the axis's place. axis NULL: of all
 * elements. */
kn_node *kn_build_take(kn_graph *g, kn_node *x, kn_node *indices, const int *axis,
                       kn_take_mode mode, kn_loc loc);
/* An index for each element of the result, as argmax gives them; other axes broadcast. */
kn_node *kn_build_take_along(kn_graph *g, kn_node *x, kn_node *indices, const int *axis,
                             kn_loc loc);

/* x[i] += v along an axis with each index counted, however often it is there, as np.add.at(); v is cast to x's type and
 * broadcasts to the shape of x[i]. What is out of bounds is left out. */
kn_node *kn_build_at_add(kn_graph *g, kn_node *x, kn_node *indices, kn_node *v, int axis,
                         kn_loc loc);

/* What `base` becomes when v is assigned to `view` of it: v in base's type and of view's shape, or broadcast to it.
 * SHAPE where the view repeats elements, or regroups them. */
kn_node *kn_build_put(kn_graph *g, kn_node *base, const kn_node *view, kn_node *v, kn_loc loc);
/* `view`, a chain of views of `from`, of `to` instead; NULL without a message where it is none. */
kn_node *kn_build_same_view(kn_graph *g, const kn_node *view, const kn_node *from, kn_node *to);

kn_node *kn_build_concatenate(kn_graph *g, kn_node *const *x, int n, int axis, kn_loc loc);
kn_node *kn_build_stack(kn_graph *g, kn_node *const *x, int n, int axis, kn_loc loc);

typedef enum kn_pad_mode {
    KN_PAD_CONSTANT,
    KN_PAD_EDGE,
    KN_PAD_WRAP,
    KN_PAD_REFLECT,
    KN_PAD_SYMMETRIC
} kn_pad_mode;

/* What is in front of each axis, or behind each. values: 0-d, for KN_PAD_CONSTANT; those of a later axis are in the
 * corners. */
typedef struct kn_padding {
    kn_dim width[KN_MAX_RANK];
    kn_node *value[KN_MAX_RANK];
} kn_padding;

kn_node *kn_build_pad(kn_graph *g, kn_node *x, const kn_padding *before, const kn_padding *after,
                      kn_pad_mode mode, kn_loc loc);
/* Each element n times. axis NULL: of all elements. */
kn_node *kn_build_repeat(kn_graph *g, kn_node *x, kn_dim n, const int *axis, kn_loc loc);
kn_node *kn_build_tile(kn_graph *g, kn_node *x, const kn_dim *n, int rank, kn_loc loc);
kn_node *kn_build_roll(kn_graph *g, kn_node *x, const int64_t *shift, int nshift, const int *axes,
                       int naxes, kn_loc loc);

/* 0, 1, ..., n - 1 in i64; and NumPy's arange with sizes as bounds. */
kn_node *kn_build_iota(kn_graph *g, kn_dim n, kn_loc loc);
kn_node *kn_build_arange(kn_graph *g, kn_dim start, kn_dim stop, int64_t step, kn_dtype dtype,
                         kn_loc loc);
/* `value`, 0-d, everywhere. dtype KN_NO_DTYPE: its own. */
kn_node *kn_build_full(kn_graph *g, const kn_dim *shape, int rank, kn_node *value, kn_dtype dtype,
                       kn_loc loc);

/* Random numbers: functions of 0-d integers and of where an element is in row-major order: build_random.c. */
typedef struct kn_random {
    kn_node *seed, *offset;
    const kn_dim *shape;
    int rank;
} kn_random;

kn_node *kn_build_random_bits(kn_graph *g, const kn_random *r, kn_loc loc); /* u32 */
/* In [0, 1), and of mean 0 and variance 1: f32 or f64. */
kn_node *kn_build_uniform(kn_graph *g, const kn_random *r, kn_dtype t, kn_loc loc);
kn_node *kn_build_normal(kn_graph *g, const kn_random *r, kn_dtype t, kn_loc loc);
/* True with probability p. */
kn_node *kn_build_bernoulli(kn_graph *g, kn_node *p, const kn_random *r, kn_loc loc);
/* Each element 0 with probability p, else divided by 1 - p. */
kn_node *kn_build_dropout(kn_graph *g, kn_node *x, kn_node *p, kn_node *seed, kn_node *offset,
                          kn_loc loc);

/* Adds a named output. A weak value becomes f64, i64 or bool, as NumPy makes it. */
kn_status kn_build_output(kn_graph *g, const char *name, kn_node *x, kn_loc loc);
/* A run leaves x, cast and broadcast to it, in the array input `name`, which is an output of that name then. */
kn_status kn_build_update(kn_graph *g, const char *name, kn_node *x, kn_loc loc);
/* ARGUMENT unless `name`, of `what` ("an input"), is a C identifier. */
kn_status kn_build_check_name(const char *name, const char *what);
/* Gives a node the user's name for it (the first one stays). */
void kn_build_name(kn_graph *g, kn_node *x, const char *name);
/* What must hold of sizes: as the operation `what` at `loc` needs it, or as the user said it. */
void kn_build_need(kn_graph *g, kn_fact_kind kind, kn_dim a, kn_dim b, const char *what,
                   kn_loc loc);
void kn_build_assume(kn_graph *g, kn_fact_kind kind, kn_dim a, kn_dim b, const char *said,
                     kn_loc loc);

#endif
