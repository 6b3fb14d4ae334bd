/* Which regions a program is partitioned into, and what the search for it found. */
#ifndef KN_CODEGEN_PARTITION_H
#define KN_CODEGEN_PARTITION_H

#include <pthread.h>

#include "base/table.h"
#include "codegen/plan/plan.h"

/* In larger graphs everything that may be merged is, in the best of some orders; in still larger ones in the first. */
enum { KN_MOST_SEARCHED = 64, KN_MOST_ORDERED = 512 };

/* What makes regions of a small graph, and what becomes of values that others read. */
typedef struct kn_merging {
    int n;
    kn_merge merges[KN_MOST_SEARCHED];
    kn_reuse reuse[KN_MOST_SEARCHED];
} kn_merging;

/* The regions of a refined graph. */
typedef struct kn_partition {
    uint64_t graph;       /* a hash of what node numbers refer to: another graph has its own */
    uint64_t bonds;       /* bit i: reduction i has to stay with what it is bonded to */
    bool fusion;          /* false: one kernel an operation, except for bonds */
    kn_division division; /* of all groups; by cost: the binder chooses for each loop nest */
    int cluster;          /* as kn_force has it */
    double ns, bound;     /* where it was searched: predicted, and of any (0: not known) */
    int tried;            /* plans compared */
    int order;            /* of merging, in a large graph */
    kn_merging chosen;
    /* quicker at the largest sizes of the class */
    kn_merging other;
    double other_ns; /* at the smallest sizes or the largest, whichever is less; 0: there is none */
} kn_partition;

/* The partitions found for one program; several threads may use them. */
struct kn_partitions {
    kn_allocator from;
    pthread_mutex_t lock;
    kn_table found; /* by what they depend on besides the program */
};

void kn_partitions_init(kn_partitions *known, const kn_allocator *from);
void kn_partitions_finish(kn_partitions *known);

/* ---- between the files of codegen/plan/ ---- */

/* partition.c: the plan of a problem, fused, with the regions of the least predicted time; `refined` is
 * the same problem, refined. */
kn_status kn_partition_plan(kn_arena *a, const kn_problem *problem, const kn_problem *refined,
                            const kn_plan *base, kn_plan **plan);
/* divisions.c: sets how the groups of a partition that was found are divided. The problem is refined. */
kn_status kn_partition_divide(kn_arena *a, const kn_problem *refined, kn_partition *partition);

/* bound.c: a lower bound on the predicted nanoseconds of any plan whose regions are these parts. part_of[] per node:
 * the first node of its part; -1: it is no value. */
typedef struct kn_bounding kn_bounding;
kn_bounding *kn_bounding_of(kn_arena *a, const kn_graph *g, const int64_t *sizes,
                            const kn_target *target);
double kn_partition_bound(const kn_bounding *bounds, const int *part_of);
/* The same where each part is a kernel of its own, and nothing is computed again. */
double kn_separate_bound(const kn_bounding *bounds, const int *part_of);

/* canonical.c: the problem that stands for its class; it is its own if its sizes or layouts allow no other. */
void kn_problem_canonical(kn_arena *a, const kn_problem *own, kn_problem *canonical);
/* The same of the largest sizes of the class. */
void kn_problem_largest(kn_arena *a, const kn_problem *own, kn_problem *largest);

/* partitions.c: all that a problem's partition depends on besides the program, its graph, and whether it is fast. */
typedef KN_VEC(int64_t) kn_partition_key;
kn_partition_key kn_partition_key_of(kn_arena *a, const kn_problem *problem);
/* Recalls a known partition, or returns false; keeps one, if there is memory. */
bool kn_partitions_recall(kn_partitions *known, const kn_partition_key *key,
                          kn_partition *partition);
void kn_partitions_keep(kn_partitions *known, const kn_partition_key *key,
                        const kn_partition *partition);

#endif
