/* A plan being made: what the steps of planning share, and how nests are made of regions. codegen/plan/plan.h lists the
 * steps. */
#ifndef KN_CODEGEN_PLANNER_H
#define KN_CODEGEN_PLANNER_H

#include "codegen/plan/plan.h"
#include "codegen/sched/bind.h"

/* Raw phases refer to buffers, extents and graph inputs (scalars) of the planner; assembly gives each kernel its own
 * lists. */
typedef KN_VEC(kn_buf) kn_bufs;
typedef KN_VEC(kn_extent_param) kn_extent_params;
typedef KN_VEC(kn_phase) kn_phases;

typedef KN_VEC(int) kn_layouts; /* types and alignments of buffers */
/* Raw phases, local ones and their host, and what they look like normalised and shaped. */
typedef struct kn_shaped {
    const kn_phase *raw, *phases;
    const kn_phase *other_vectors; /* kn_shaped_with_other_vectors(); NULL: not asked for yet */
    int n;
    bool alone;
    kn_layouts layouts;
    bool divided; /* ranges are known */
    kn_range ranges;
} kn_shaped;
/* Those that were asked for, so that nothing is shaped twice. They decide nothing. */
typedef struct kn_shapes {
    kn_arena *arena;
    KN_VEC(kn_shaped *) list;
    kn_finder found;
} kn_shapes;

/* What a region was lowered to: a phase without stores is none. */
typedef KN_VEC(int64_t) kn_raw_key;
typedef struct kn_raw {
    kn_raw_key key;           /* all that lowering it read */
    const kn_phase *phase;    /* those that are the same are one */
    kn_extent_params extents; /* that it was the first to use */
} kn_raw;
/* Those of one graph, so that nothing is lowered twice. They decide nothing. */
typedef struct kn_raws {
    kn_arena *arena;
    const kn_graph *graph; /* that keys are of */
    KN_VEC(kn_raw *) list;
    kn_finder by_key, by_phase;
    kn_raw_key key; /* of the region that was asked for last; empty: it is of another graph */
} kn_raws;

typedef struct kn_planner {
    kn_arena *arena;
    const kn_problem *problem;
    const kn_force *force; /* what phases see of what is forced: kn_force_of_phases() */
    const kn_regions *regions;
    kn_bufs bufs;
    KN_VEC(int) align; /* alignment in bytes of the first buffers: kn_planner_site() */
    kn_extent_params extents;
    kn_finder extents_by;             /* the addresses of their sizes, resolved */
    KN_VEC(const kn_phase *) lowered; /* raw phases as they were lowered */
    kn_phases phases;                 /* the same, to be rewritten */
    int exports;                      /* of local phases */
    KN_VEC(int) region_of; /* per phase: its region; an unfused plan has a kernel for each */
    /* per graph node: the buffer of a value that goes through memory; -1: none */
    int *buf_of_node;
    bool *again;        /* per graph node: other regions rematerialise it */
    bool *elsewhere;    /* per graph node: other regions read it, from memory */
    int *buf_of_input;  /* per graph input; -1 for by-value ones */
    int *buf_of_output; /* per graph output */
    int *output_of;     /* per graph node: the first output that it is; -1: none */
    int *next_output;   /* per graph output: the next one that is the same node; -1: none */
    int *exchange_of;   /* per graph node: the first that is a rank's of it; -1: none */
    int *next_exchange; /* per graph node: the next one that is a rank's of the same; -1: none */
    /* a reshape that these strides do not allow as a view */
    const kn_node *blocked;
    kn_shapes *shapes;
    kn_raws *raws; /* NULL: none */
} kn_planner;

/* ---- the files of this folder ---- */

/* The value that a graph node has in a region. */
typedef struct kn_lowered_node {
    const kn_region *region; /* the last that has one; NULL: none yet */
    int value;
} kn_lowered_node;
/* lower_region.c: the phase of a region, without stores where all its values are computed where they are read. `of` is per
 * graph node. False: p->blocked is set. */
bool kn_lower_region(kn_planner *p, const kn_region *region, kn_lowered_node *of, kn_phase *phase);
/* lower.c. Sets `lowered`, and region_of. Stops with KN_OK and p->blocked set when an input must be made compact first. */
kn_status kn_lower(kn_planner *p);
/* recall.c: what this region was lowered to; NULL where it was not yet. Then, what it was lowered to in memory of p->raws
 * since `here`, which is kept with its extents from number `extents` on. */
const kn_phase *kn_raw_recall(kn_planner *p, const kn_region *region);
const kn_phase *kn_raw_keep(kn_planner *p, const kn_phase *phase, int extents, kn_arena_mark here);
/* lower.c: sets `phases`. What belongs to p->raws is copied. */
void kn_planner_take_phases(kn_planner *p);
/* lower_region.c: adds an extent that is not there. */
void kn_planner_add_extent(kn_planner *p, kn_extent_param extent);
/* materialise.c: sets buf_of_node, again and elsewhere. */
void kn_materialise(kn_planner *p);
/* planner.c: what binding needs, with the planner's buffers or with a kernel's. */
kn_site kn_planner_site(kn_planner *p);
/* The problem's, by cost where one of several phases may have clusters. */
const kn_force *kn_force_of_phases(kn_arena *a, const kn_problem *problem);
kn_site kn_kernel_site(const kn_planner *p, const kn_kernel *k);
/* planner.c: adds a temporary, and returns its number among the buffers. */
int kn_planner_temp(kn_planner *p, kn_dtype dtype, const char *name, int64_t count);
/* layout.c: the number of a node's elements. */
kn_dim kn_shape_elements(kn_planner *p, const kn_node *n);
/* planner.c: how many exchanges between ranks, one behind the other, come before phase `index`. */
int kn_planner_round(const kn_planner *p, int index);
/* planner.c: inserts a phase as number `at`; `region`: its region's number. Or drops one. */
void kn_insert_phase(kn_planner *p, int at, kn_phase phase, int region);
void kn_drop_phase(kn_planner *p, int at);
/* locate.c: where a node's elements are: an argument, a temporary, or a view of one. False if
 * strides cannot express a view (p->blocked says which). */
bool kn_locate(kn_planner *p, const kn_node *n, int *buf, kn_layout *out);
/* layout.c: the layout of a reshaped view; false if strides cannot express it. */
bool kn_layout_reshape(const kn_layout *from, const int64_t *shape, int rank, kn_layout *to);
/* layout.c: the formulas of that, of the sizes of RESHAPE `n` and its operand; NULL if they are not the same for all
 * sizes. */
const kn_strides *kn_strides_reshape(kn_planner *p, const kn_node *n, const kn_strides *from);
/* shape.c: shapes n raw phases of the planner. */
kn_shaped *kn_shape(kn_planner *p, const kn_phase *phases, int n, bool alone);
/* shape.c: the same, with vectors by run or narrower ones where these are quicker: what kernels are made of. Passes
 * decide by what they are without, whose elements may also be held. */
const kn_phase *kn_shaped_with_other_vectors(kn_planner *p, kn_shaped *shaped);
/* preview.c: a phase by itself as it would be shaped, to base decisions on; and the ranges that its members would be
 * split into. */
kn_shaped *kn_preview(kn_planner *p, const kn_phase *phase);
kn_range kn_preview_splits(kn_planner *p, kn_shaped *preview);
/* Where groups of a phase stay on chip, so that further sweeps are cheap; NONE if any does not. What a cluster could
 * keep in registers counts as in shared memory. alone: would one of its blocks take all the shared memory of a
 * multiprocessor, with elements of at least 32 bits? */
typedef struct kn_keeping {
    kn_keep keep;
    bool alone;
} kn_keeping;
/* preview.c: where groups of phase `index` stay. It is expensive: call it only where a decision
 * depends on it. */
kn_keeping kn_preview_keep(kn_planner *p, int index);

#endif
