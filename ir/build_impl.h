/* What the files of the builder share.
 *
 *     build.c         leaves, names, outputs, constraints
 *     build_elem.c    elementwise operations and their types
 *     build_reduce.c  reductions
 *     build_view.c    views */
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

#endif
