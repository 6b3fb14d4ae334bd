/* What the user or autotune can force; the planner chooses the rest. All 0: nothing is forced. */
#ifndef KN_CODEGEN_FORCE_H
#define KN_CODEGEN_FORCE_H

#include <stdbool.h>

#include "base/text.h"

/* Is a value that several places need computed once and kept, or again in each? */
typedef enum kn_reuse { KN_REUSE_BY_COST, KN_REUSE_KEEP, KN_REUSE_RECOMPUTE, KN_REUSES } kn_reuse;

/* What the members of a group are divided over. A phase that cannot be divided over clusters stays whole. */
typedef enum kn_division {
    KN_DIVIDE_BY_COST,
    KN_DIVIDE_WHOLE,   /* one block, or a part of one */
    KN_DIVIDE_CLUSTER, /* the blocks of a cluster */
    KN_DIVIDE_SPLIT,   /* all blocks of the grid */
    KN_DIVIDE_TILES,   /* as WHOLE; and transposed arrays go through tiles wherever there are any */
    KN_DIVIDE_RESIDENT, /* as SPLIT; and blocks keep on chip what a later phase reads again */
    KN_DIVISIONS
} kn_division;

typedef struct kn_force {
    kn_division division;
    int cluster; /* blocks of a cluster; 0: the planner chooses */
    kn_reuse reuse;
    int max_threads; /* per block; 0: no limit but the target's */
    /* schedules of the kernels as in codegen/kir/schedule_text.h, separated by '|'; NULL: none */
    const char *text;
} kn_force;

/* Reads a division: "whole", "split", "resident", "tiles", "cluster", "cluster=N", or NULL for none; or the text of
 * schedules, which the caller keeps. Other texts are KN_ARGUMENT. */
kn_status kn_force_schedule(const char *text, kn_force *force);
/* Reads "keep", "recompute" or NULL. */
kn_status kn_force_reuse(const char *text, kn_force *force);
/* Writes what is forced: "cluster=4, recompute, at most 256 threads", or "nothing forced". */
void kn_force_put(kn_text *t, const kn_force *force);

#endif
