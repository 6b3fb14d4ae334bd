/* What a plan can be forced to: choices that are otherwise the planner's. All 0: none is forced. */
#ifndef KN_CODEGEN_FORCE_H
#define KN_CODEGEN_FORCE_H

#include <stdbool.h>

#include "base/text.h"

/* A value that is needed in several places: is it computed once and kept, or again in each? */
typedef enum kn_reuse { KN_REUSE_BY_COST, KN_REUSE_KEEP, KN_REUSE_RECOMPUTE, KN_REUSES } kn_reuse;

/* What the members of a group are divided over. What cannot be divided over clusters is whole. */
typedef enum kn_division {
    KN_DIVIDE_BY_COST,
    KN_DIVIDE_WHOLE,   /* nothing: a group is a block's or a part of one's */
    KN_DIVIDE_CLUSTER, /* the blocks of a cluster */
    KN_DIVIDE_SPLIT,   /* the machine */
    KN_DIVIDE_TILES, /* nothing; arrays that lie transposed go through tiles wherever there are any */
    KN_DIVIDE_RESIDENT, /* the machine, whose blocks keep on chip what they load again */
    KN_DIVISIONS
} kn_division;

typedef struct kn_force {
    kn_division division;
    int cluster; /* blocks of a cluster where there are any; 0: chosen */
    kn_reuse reuse;
    int max_threads; /* a block; 0: no limit but the target's */
    const char *
        text; /* schedules of the kernels, one behind the other with '|' between them, as codegen/kir/schedule_text.h
                       * has them; NULL: none */
} kn_force;

/* A division in words, NULL for none: "whole", "split", "resident", "tiles", "cluster" or "cluster=N"; or the text of schedules,
 * which the caller keeps. ARGUMENT when it is none of them. */
kn_status kn_force_schedule(const char *text, kn_force *force);
/* The same of reuse: "keep" or "recompute". */
kn_status kn_force_reuse(const char *text, kn_force *force);
/* Adds it in words: "cluster=4, recompute, at most 256 threads"; "nothing forced". */
void kn_force_put(kn_text *t, const kn_force *force);

#endif
