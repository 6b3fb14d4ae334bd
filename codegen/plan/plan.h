/* From regions to kernels: everything between the optimised graph and source text.
 *
 *   place      what goes through memory between regions, and what is computed again where it is read
 *   lower      regions -> raw phases: values, reductions, stores, strides along every axis of the region
 *   moments    mean and centred squares: without cancellation, and in one sweep where a group does not stay within a
 *              block
 *   online     maximum and sum of exponentials likewise
 *   cross      reductions along the columns of an array in the sweep that reduces its rows
 *   spread     a reduction with too few groups for the machine becomes split phases and finishing ones
 *   local      small reductions by each block for itself instead of once behind a grid barrier
 *   normalise  axes ordered by memory, neighbours that every array walks as one collapsed
 *   schedule   walk, threads a group, vector width (codegen/sched)
 *   assemble   kernels: barriers, parameter kinds, the canonical key
 *   workspace  temporaries that do not live at the same time share memory
 *
 * What a program is parted into is decided by predicted time: codegen/plan/partition.c plans other partitions too where one of
 * them may be quicker.
 *
 * A pure function of the problem: no device, no environment, no clock. */
#ifndef KN_CODEGEN_PLAN_H
#define KN_CODEGEN_PLAN_H

#include "codegen/kir/force.h"
#include "codegen/kir/kir.h"
#include "codegen/kir/target.h"
#include "codegen/model/census.h"
#include "ir/interp.h"
#include "ir/pass/pass.h"
#include "ir/region.h"

/* An argument's place in memory: strides in elements; align: the largest power of two up to 16 that
 * divides its address. */
typedef struct kn_layout {
    int rank;
    int64_t shape[KN_MAX_RANK], stride[KN_MAX_RANK];
    int64_t offset; /* of element (0, 0, ...), in elements */
    int align;
} kn_layout;

/* Gives axes of one element, whose strides do not matter, those of a compact array: what follows from strides is
 * then the same as for other sizes. */
void kn_layout_ones(kn_layout *layout);

/* What is tried in place of the planner's own choices. Nodes are those of the refined graph. */
typedef struct kn_choices {
    const kn_merge *merges; /* of loop nests: kn_regions_form_by() */
    int nmerges;
    const kn_reuse
        *reuse; /* per node: of what crosses from one loop nest to another; NULL: all by cost */
} kn_choices;

typedef struct kn_partitions kn_partitions; /* codegen/plan/partition.h */

typedef struct kn_problem {
    kn_graph *graph;      /* optimised */
    const int64_t *sizes; /* per symbol */
    const kn_layout *in;  /* per graph input */
    const kn_layout *out; /* per graph output */
    const int *over; /* per graph input: the output that lies exactly on it, or -1. NULL: none */
    const kn_target *target;
    bool fusion;
    kn_force force;
    bool fast; /* fast_math */
    /* Kernels that rely on nothing: of every size, stride, alignment and overlap, one each. */
    bool universal;
    const kn_choices *choices; /* NULL: the planner's own */
    kn_partitions *known; /* found for this graph before: saves time, decides nothing. NULL: none */
} kn_problem;

/* A step of planning and what it left. */
typedef struct kn_plan_step {
    const char *name, *what;
    kn_census after;
} kn_plan_step;

typedef struct kn_plan {
    kn_arena *arena;
    KN_VEC(kn_kernel *) kernels; /* in order */
    int64_t workspace;           /* bytes, at the peak; temporaries are at kn_buf.offset in it */
    kn_census before, after;     /* one stage an operation; as planned */
    KN_VEC(kn_plan_step) steps;  /* from the one to the other, in order */
    KN_VEC(kn_buf) temporaries;  /* those that a kernel touches */
    const int64_t *sizes;        /* per symbol of the graph */
    const kn_regions *regions;
    const bool *again;    /* per node of regions->graph: other loop nests compute it again */
    double ns;            /* predicted: codegen/model/predict.h */
    int tried;            /* plans that were compared, this one included; 0: none */
    const char *schedule; /* "whole", "cluster", "split", "resident" or "tiles" */
} kn_plan;

/* Arena memory; the plan lives as long as `a`. Several threads may plan the same graph, which stays as it is. */
kn_status kn_plan_make(kn_arena *a, const kn_problem *problem, kn_plan **plan);

/* What running a plan takes of it, in `a`, which shares nothing with the plan's arena: its kernels, whose extents have no
 * dimensions then, its workspace, and what the kernels move. codegen/plan/keep.c */
kn_plan *kn_plan_keep(kn_arena *a, const kn_plan *plan);

/* May `output` be written over `input`, of the same address, shape, strides and element size, without a copy?
 * Yes when whoever stores an element has read it and nobody reads it later. codegen/plan/alias.c */
bool kn_plan_in_place(kn_arena *a, const kn_plan *plan, int input, int output);

#endif
