/* Which loop nests a program is parted into, and what was found of that. */
#ifndef KN_CODEGEN_PARTITION_H
#define KN_CODEGEN_PARTITION_H

#include <pthread.h>

#include "base/table.h"
#include "codegen/plan/plan.h"

/* Graphs of more nodes are not searched: all that may be merged is. */
enum { KN_MOST_SEARCHED = 64 };

/* Loop nests of a refined graph. */
typedef struct kn_partition {
    uint64_t
        graph; /* a hash of what the numbers of its nodes stand for: they mean nothing in another */
    uint64_t bonds; /* bit i: reduction i, of squares, has to be in the loop nest of their mean */
    bool fusion;    /* false: one kernel an operation, but for bonds */
    int tried;      /* plans that were compared */
    int nmerges;
    kn_merge merges[KN_MOST_SEARCHED];
    kn_reuse reuse[KN_MOST_SEARCHED];
} kn_partition;

/* Of one program, those that were found. For several threads. */
struct kn_partitions {
    kn_allocator from;
    pthread_mutex_t lock;
    kn_table found; /* by all that they follow from besides the program */
};

void kn_partitions_init(kn_partitions *known, const kn_allocator *from);
void kn_partitions_finish(kn_partitions *known);

/* ---- between the files of codegen/plan/ ---- */

/* canonical.c: the problem that stands for its class; it is its own where its sizes or layouts allow no other. */
void kn_problem_canonical(kn_arena *a, const kn_problem *own, kn_problem *canonical);

/* partitions.c: all that a problem's partition follows from but the program, its graph and whether it is fast. */
typedef KN_VEC(int64_t) kn_partition_key;
kn_partition_key kn_partition_key_of(kn_arena *a, const kn_problem *problem);
/* Is one known? Keeps one, if there is memory. */
bool kn_partitions_recall(kn_partitions *known, const kn_partition_key *key,
                          kn_partition *partition);
void kn_partitions_keep(kn_partitions *known, const kn_partition_key *key,
                        const kn_partition *partition);

#endif
