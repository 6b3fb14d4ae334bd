/* Regions: sets of nodes that share one iteration space and run as one phase of a kernel.
 *
 * A region has axes. Every node of it maps its own axes to them; reductions of it all reduce the same set,
 * the member axes, and the remaining axes are its groups. So all of its reductions and everything
 * elementwise around them run in one loop nest, group by group, with nothing in global memory between.
 * Values that cross from one region to another go through memory or are computed again. */
#ifndef KN_IR_REGION_H
#define KN_IR_REGION_H

#include "ir/graph.h"

typedef struct kn_region {
    int naxes;
    kn_dim dim[KN_MAX_RANK];
    bool reduces;     /* has reductions; then `members` are its member axes */
    uint32_t members; /* bit a: axis a is reduced */
    int norder;       /* not 0: the member axes are walked in this order */
    int8_t order[KN_MAX_RANK];
    bool exchange; /* all its nodes are of one exchange between ranks: it is between loop nests */
    int round;     /* so many of these, one behind the other, come before it */
    int level;     /* 1 + the highest level of a region it reads from; 0 if none */
    KN_VEC(const kn_node *) nodes; /* operands first */
    /* other regions' elementwise nodes that it computes for itself */
    KN_VEC(const kn_node *) again;
} kn_region;

/* Why two regions that touch were not merged. */
typedef struct kn_refusal {
    const char *what; /* "mean and y" */
    const char *why;  /* in words */
    const char *need; /* the fact that would allow it */
} kn_refusal;

typedef KN_VEC(kn_refusal) kn_refusals;

typedef struct kn_former kn_former;

/* Of the regions of two nodes. */
typedef struct kn_merge {
    int a, b; /* nodes */
} kn_merge;

typedef struct kn_regions {
    const kn_graph *graph;
    KN_VEC(kn_region *) list; /* in execution order: by level */
    kn_region **of;           /* per node; NULL for views and leaves */
    const int *round; /* per node: so many exchanges, one behind the other, come before it */
    int8_t (*axis)[KN_MAX_RANK]; /* per node: region axis of each of its axes (a reduction's are its
                                    operand's); -1 for axes of size 1 */
    /* what made them, in order; before that each value is a region, and so are all OF_RANK nodes of one exchange */
    KN_VEC(kn_merge) merges;
    int64_t work; /* steps that forming them took: for tests */
    kn_former *former;
} kn_regions;

/* Partitions the ELEM and REDUCE nodes of a refined graph. fuse false: each node is its own region. `sizes`, per
 * symbol, say which loop nests are empty (a value that is not empty stays out of them) and how much memory a value
 * takes. A region may read its own elementwise value along other axes if that is cheap to compute from arguments: it
 * is then computed again. */
kn_regions *kn_regions_form(kn_arena *a, kn_graph *g, const int64_t *sizes, bool fuse);
/* Other orders of merging, 0 being the one above: the best order differs between programs. */
enum { KN_REGION_ORDERS = 4 };
kn_regions *kn_regions_form_in(kn_arena *a, kn_graph *g, const int64_t *sizes, int order);
/* Are they the same partition of one graph? */
bool kn_regions_same(const kn_regions *x, const kn_regions *y);
/* The same by these merges alone, one after the other; those that are not allowed are left out. For searches: whether
 * another partition would do better. */
kn_regions *kn_regions_form_by(kn_arena *a, kn_graph *g, const int64_t *sizes,
                               const kn_merge *merges, int n);
/* Every value a region of its own; and the same by merges of these, of which many may be tried: nothing is changed that
 * was begun, and it has to live as long. */
kn_former *kn_regions_begin(kn_arena *a, kn_graph *g, const int64_t *sizes, bool fuse);
kn_regions *kn_regions_form_as(kn_arena *a, const kn_former *begun, const kn_merge *merges, int n);
/* One for each two regions that touch: one reads what the other makes, or both read the same array. */
kn_refusals kn_regions_refusals(const kn_regions *r);

/* The dimensions a node is iterated over: its own, or a reduction's operand's. */
const kn_dim *kn_node_space(const kn_node *n);

#endif
