/* Between the files of region forming. */
#ifndef KN_IR_REGION_IMPL_H
#define KN_IR_REGION_IMPL_H

#include "ir/region.h"
#include "ir/view.h"

/* Operand k of `node`. */
typedef struct kn_reader {
    const kn_node *node;
    int k;
} kn_reader;

typedef KN_VEC(kn_reader) kn_readers;

/* An array that a region loads, and one of its loads. */
typedef struct kn_load {
    const kn_node *leaf;
    kn_reader by;
} kn_load;

/* A region being formed. */
typedef struct kn_forming {
    kn_region *region;
    int first;            /* its lowest node */
    int sends;            /* the lowest round of a value that ranks exchange; none: INT_MAX */
    int earliest, latest; /* how many reductions its first and its last one wait for; none: 0, -1 */
    /* values that it reads; after merging perhaps its own, or several of one region */
    KN_VEC(int) reads;
    KN_VEC(kn_load) loads; /* by leaf number */
    KN_VEC(int) unlike;    /* regions whose axes do not allow it to be one with them */
} kn_forming;

/* Regions are known by the number of one of their nodes, to which parent[] leads from the others. */
struct kn_former {
    kn_arena *a;
    kn_graph *g;
    const int64_t *sizes;
    bool fuse;
    kn_regions *out;
    int *parent;              /* per node; -1 where it is no value */
    kn_forming *forming;      /* per region */
    kn_use (*use)[KN_MAX_IN]; /* per node: how it reads its operands */
    kn_readers *readers;      /* per value: who reads it, through whatever views */
    bool *output;             /* per node */
    bool empty;               /* is there a size of 0? */
    int *seen, visit;         /* marks of one search */
    int *listed, list;        /* marks of one list */
    int *place;               /* per node: where it is in the region that is looked at */
    int *waits;               /* per node: reductions one behind the other that it needs */
    int *round;               /* the same, exchanges */
    int *exchange;          /* per node: the first node of the exchange of it; -1: there is none */
    bool *sent;             /* per node: ranks exchange it */
    int *cost;              /* per node: additions that computing it from arguments alone takes */
    int64_t *bytes;         /* per node: what it reads for that */
    const char *why, *need; /* of the last refusal */
    /* region_order.c, per region */
    int64_t *label;      /* rises along the order */
    int *before, *after; /* its neighbours there */
    KN_VEC(int) needed;  /* regions of the last search */
    int between;         /* a region that needs what one makes, and makes what the other needs */
};

/* The region that a node is in now. */
static inline int kn_region_find(kn_former *f, int node)
{
    while (f->parent[node] != node)
        node = f->parent[node] = f->parent[f->parent[node]];
    return node;
}
/* Makes the regions of two nodes one, if that is allowed. False where they are one already. */
bool kn_region_merge(kn_former *f, int x, int y);
/* May region s become part of region t? Then map has the axis of t for each of s; new ones are behind t's. */
bool kn_region_can_merge(kn_former *f, int t, int s, int8_t *map);

/* region_order.c: the order of regions, once all are there; the one behind r in it, or -1: each is behind what it
 * reads. */
void kn_region_order_begin(kn_former *f);
int kn_region_next(const kn_former *f, int r);
/* Does one of two regions need, through a third one, what the other makes? */
bool kn_region_between(kn_former *f, int a, int b);
/* s becomes part of t; right behind a kn_region_between() that said no. */
void kn_region_order_merge(kn_former *f, int t, int s);

/* region_axes.c: the place of an array among those that a region loads, or the one where it would be. */
int kn_find_load(const kn_forming *region, const kn_node *leaf);
/* The same as kn_region_can_merge() as far as axes go; two regions may also need a third one between them. */
bool kn_region_map_axes(kn_former *f, int t, int s, int8_t *map);
/* Does their loop nest compute all that it must, though sizes are 0? */
bool kn_region_all_walked(kn_former *f, int t, int s, const int8_t *map);

/* region_refusal.c: the name of a region: what the user called the last named value in it, else its last operation:
 * "multiply(x, exp)". */
const char *kn_region_title(const kn_former *f, const kn_region *r);
/* Return false. */
bool kn_region_refuse(kn_former *f, const char *why, const char *need);
/* Because of f->between. */
bool kn_region_refuse_between(kn_former *f);

/* region_cost.c: fills cost and bytes. */
void kn_region_costs(kn_former *f);
/* Is n cheap enough to be computed from arguments once more, in a loop nest of that many elements? */
bool kn_region_may_repeat(const kn_former *f, const kn_node *n, int64_t elements);
/* Elements of a shape; of as many as 63 bits hold when they are more or unknown. */
int64_t kn_region_elements(const kn_former *f, const kn_dim *shape, int rank);

#endif
