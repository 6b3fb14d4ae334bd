/* Formulas: what the numbers of a nest, the fields marked (n) there, are of the program's sizes.
 *
 * A plan is made for one call's sizes, and its numbers are that call's. What outlives them, a program that is emitted, asks
 * for formulas as well (kn_problem.formulas): then the sizes are an example, and each number also has the dimension that it
 * is. What such a plan relies on is that quotients that refining axes has made are whole (with kn_problem.as_written there
 * are none), and that rows that keep values have at most KN_FRAME_MEMBERS members. Formulas are of the axes of the region that the nest
 * was lowered from, which do not change while the nest's own are ordered, collapsed and dropped. */
#ifndef KN_CODEGEN_FORMULA_H
#define KN_CODEGEN_FORMULA_H

#include "codegen/kir/nest.h"

/* The extent of each axis of a nest's region. */
typedef struct kn_extents {
    kn_symbols *syms;
    kn_dim of[KN_MAX_RANK];
} kn_extents;

/* Where an array's elements are: along its own axes, or along a region's. */
typedef struct kn_strides {
    kn_dim offset, stride[KN_MAX_RANK];
} kn_strides;

/* The strides of a compact array of that shape. */
const kn_strides *kn_strides_compact(kn_arena *a, kn_symbols *s, const kn_dim *shape, int rank);

/* The nest has formulas. */
kn_dim kn_extent_formula(const kn_nest *nest, int axis);
kn_dim kn_stride_formula(const kn_nest *nest, const kn_access *acc, int axis);

/* Is the number this, for all sizes where there are formulas? */
bool kn_extent_is(const kn_nest *nest, int axis, int64_t value);
bool kn_stride_is(const kn_nest *nest, const kn_access *acc, int axis, int64_t value);
bool kn_offset_is(const kn_nest *nest, const kn_access *acc, int64_t value);
/* Does the access walk axes `axis` and the next as one of both extents, likewise? */
bool kn_walks_as_one(const kn_nest *nest, const kn_access *acc, int axis);
/* Does it walk all axes as one, in order? */
bool kn_walks_all_as_one(const kn_nest *nest, const kn_access *acc);

#endif
