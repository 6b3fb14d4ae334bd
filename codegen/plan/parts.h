/* Partitions of a graph's values into parts, as numbers: per node the first node of its part; -1: it is no value. */
#ifndef KN_CODEGEN_PARTS_H
#define KN_CODEGEN_PARTS_H

#include "ir/region.h"

/* Nodes that have to stay in one part, as nodes to merge. */
typedef struct kn_bonds {
    uint64_t reductions; /* bit i: reduction i has bonds */
    KN_VEC(kn_merge) merges;
} kn_bonds;

const int *kn_parts_of(kn_arena *a, const kn_regions *r);
/* Those that the merges lead to, if all are allowed. */
const int *kn_parts_by(kn_arena *a, const kn_graph *g, const kn_merge *merges, int n);
/* The same as these, and one more. */
const int *kn_parts_with(kn_arena *a, const kn_graph *g, const int *part_of, kn_merge more);
/* One for each operation. What only gives an output its shape is none, and bonds hold. */
const int *kn_parts_separate(kn_arena *a, const kn_graph *g, const kn_bonds *bonds);
/* One for all. */
const int *kn_parts_whole(kn_arena *a, const kn_graph *g);

/* What is together in these regions and has to stay so. */
void kn_bonds_find(kn_arena *a, const kn_regions *first, kn_bonds *bonds);
/* The same where the reductions that have bonds are known, of the graph or of one that differs in its sizes. */
void kn_bonds_recall(kn_arena *a, const kn_graph *g, kn_bonds *bonds);
bool kn_bonds_hold(const kn_bonds *bonds, const int *part_of);

#endif
