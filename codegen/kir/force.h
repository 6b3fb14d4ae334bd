/* What the user or autotune can force; the planner chooses the rest. All 0: nothing is forced. */
#ifndef KN_CODEGEN_FORCE_H
#define KN_CODEGEN_FORCE_H

#include <stdbool.h>
#include <stdint.h>

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
    KN_DIVIDE_CLUSTERS, /* as BY_COST; and one of several phases may have clusters */
    KN_DIVISIONS
} kn_division;

/* Is an output that is assembled stored as one array, or piece by piece (ir/pieces.h)? */
typedef enum kn_storing {
    KN_STORE_BY_COST,
    KN_STORE_JOINED,
    KN_STORE_PIECES,
    KN_STORINGS
} kn_storing;

/* Are arrays that lie transposed read as they lie, or copied first, to compact ones (codegen/plan/compact.c)? */
typedef enum kn_reading {
    KN_READ_BY_COST,
    KN_READ_AS_LAID_OUT,
    KN_READ_COPIES,
    KN_READINGS
} kn_reading;

/* Is a reduction taken by the groups of another one (ir/grouped.h)? */
typedef enum kn_grouping {
    KN_GROUP_BY_COST,
    KN_GROUP_DIRECT,
    KN_GROUP_GROUPED,
    KN_GROUPINGS
} kn_grouping;

/* Are vectors of columns that are not aligned in memory assembled of aligned words (codegen/sched/shape.c), wherever they can be? */
typedef enum kn_assembling {
    KN_ASSEMBLE_BY_COST,
    KN_ASSEMBLE_NONE,
    KN_ASSEMBLE_ALL,
    KN_ASSEMBLINGS
} kn_assembling;

/* What max_threads may be; and how many merges can be undone, the first ones. */
enum { KN_LEAST_LIMIT = 32, KN_MOST_LIMIT = 1024, KN_MOST_UNDONE = 64 };

typedef struct kn_force {
    kn_division division;
    int cluster; /* blocks of a cluster; 0: the planner chooses */
    kn_reuse reuse;
    kn_storing storing;
    kn_reading reading;
    kn_grouping grouping;
    kn_assembling assembling;
    int max_threads; /* per block; 0: no limit but the target's */
    /* bit i: the i-th merge of loop nests of what the planner would choose is undone */
    uint64_t undone;
    /* schedules of the kernels as in codegen/kir/schedule_text.h, separated by '|'; NULL: none */
    const char *text;
} kn_force;

/* A force as text: choices, which the phases of the kernels follow from, then the kernels' schedules; any of it may be
 * left out, and nothing forced is "".
 *
 *     cluster=4, recompute, at most 256 threads, threads 256: rows tpg 256 vec 4, cluster 4, ...
 *     undo 2, undo 3
 *
 * Reads one into *force, which keeps what the text leaves out; the caller keeps the text. KN_ARGUMENT if a choice is
 * unknown; schedules are read where they are bound. */
kn_status kn_force_read(const char *text, kn_force *force);
void kn_force_put(kn_text *t, const kn_force *force);
/* Reads "keep", "recompute" or NULL, which leaves it. */
kn_status kn_force_reuse(const char *text, kn_force *force);

#endif
