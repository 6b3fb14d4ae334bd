/* From regions to kernels: everything between the optimised graph and source text.
 *
 *   materialise  which values go through memory between regions, and which are computed again where they are read
 *                (rematerialised)
 *   lower        regions -> raw phases: values, reductions, stores, strides along every axis of the region
 *   moments      mean and centred squares: without cancellation, and in one sweep where a group does not stay on chip
 *   online       maximum and sum of exponentials in one sweep, likewise
 *   cross        mixed reductions: reductions of columns in the sweep that reduces rows
 *   spread       split reductions: with too few groups for the machine, they become split phases and finishing ones
 *   local        small reductions by each block for itself instead of once, before a grid barrier
 *   normalise    axes ordered by memory; neighbours that every array walks as one are collapsed
 *   schedule     walk, threads a group, vector width (codegen/sched)
 *   assemble     kernels: barriers, parameter kinds, the canonical key
 *   workspace    temporaries that are not live at the same time share memory
 *
 * The partition of the program into regions is chosen by predicted time: codegen/plan/partition.c plans other
 * partitions too, if one of them may be faster.
 *
 * A pure function of the problem: no device, no environment, no clock. */
#ifndef KN_CODEGEN_PLAN_H
#define KN_CODEGEN_PLAN_H

#include "codegen/kir/force.h"
#include "codegen/kir/formula.h"
#include "codegen/kir/kir.h"
#include "codegen/kir/target.h"
#include "codegen/model/census.h"
#include "ir/interp.h"
#include "ir/pass/pass.h"
#include "ir/region.h"

/* How an argument lies in memory: strides in elements; align: the largest power of two up to 16 that divides its
 * address. */
typedef struct kn_layout {
    int rank;
    int64_t shape[KN_MAX_RANK], stride[KN_MAX_RANK];
    int64_t offset; /* of element (0, 0, ...), in elements */
    int align;
    const kn_strides *formula; /* of offset and strides; NULL: none */
} kn_layout;

/* Gives axes of extent 1, whose strides do not matter, the strides of a compact array, so that what depends on
 * strides is the same as for other sizes. */
void kn_layout_ones(kn_layout *layout);

/* What is tried instead of the planner's own choices. Nodes are those of the refined graph. */
typedef struct kn_choices {
    const kn_merge *merges; /* of regions: kn_regions_form_by() */
    int nmerges;
    /* per node: keep or recompute a value that other regions read; NULL: all by cost */
    const kn_reuse *reuse;
} kn_choices;

typedef struct kn_partitions kn_partitions; /* codegen/plan/partition.h */

typedef struct kn_problem {
    kn_graph *graph;      /* optimised */
    const int64_t *sizes; /* per symbol */
    const kn_layout *in;  /* per graph input */
    const kn_layout *out; /* per graph output */
    /* per graph input: the output that overlaps it exactly, or -1. NULL: none */
    const int *over;
    int rank;    /* this one, of graph->ranks */
    bool inside; /* kernels can exchange with other ranks while they run */
    bool nested; /* and so can groups: all ranks have the same loop nests */
    const kn_target *target;
    bool fusion;
    kn_force force;
    bool fast; /* fast_math */
    /* batch_invariant: no choice that decides in which order a group's members are combined depends on anything but
     * these, so each loop nest is a kernel, and nothing is searched for */
    bool invariant;
    /* One kernel for all sizes, strides, alignments and overlaps. */
    bool universal;
    bool explained; /* for people: the plan has `before` and `steps` */
    /* The sizes are an example, arguments are compact, and numbers have formulas: codegen/kir/formula.h */
    bool formulas;
    bool as_written;           /* axes are not refined, for which can be cut depends on the sizes */
    const kn_choices *choices; /* NULL: the planner's own */
    kn_partitions *known; /* found for this graph before: saves time, decides nothing. NULL: none */
} kn_problem;

/* A step of planning, and the counts after it. */
typedef struct kn_plan_step {
    const char *name, *what;
    kn_census after;
} kn_plan_step;

typedef KN_VEC(kn_kernel *) kn_kernel_list;

typedef struct kn_plan {
    kn_arena *arena;
    kn_kernel_list kernels;     /* in order */
    int64_t workspace;          /* bytes; temporaries are at kn_buf.offset in it */
    kn_census before, after;    /* with one kernel an operation; as planned */
    KN_VEC(kn_plan_step) steps; /* what led from the one to the other, in order */
    KN_VEC(kn_buf) temporaries; /* those that a kernel touches */
    const int64_t *sizes;       /* per symbol of the graph */
    const kn_regions *regions;
    const bool *again;    /* per node of regions->graph: rematerialised by other regions */
    double ns;            /* predicted: codegen/model/predict.h */
    int tried;            /* plans compared, this one included; 0: none were */
    const char *schedule; /* "whole", "cluster", "split", "resident" or "tiles" */
} kn_plan;

/* The plan lives in `a`. Several threads may plan the same graph, which is not changed. */
kn_status kn_plan_make(kn_arena *a, const kn_problem *problem, kn_plan **plan);

/* Copies what running a plan needs to `a`: its kernels, without the dimensions of their extents, the size of its
 * workspace, and what the kernels move. It shares nothing with the plan's arena. codegen/plan/keep.c */
kn_plan *kn_plan_keep(kn_arena *a, const kn_plan *plan);

/* May `output` overwrite `input`, which has the same address, shape, strides and element size, without a copy? Yes,
 * if the thread that stores an element has read it, and nobody reads it later. codegen/plan/alias.c */
bool kn_plan_in_place(kn_arena *a, const kn_plan *plan, int input, int output);

#endif
