/* Graph passes: each rewrites a graph into a better one, in one file, with one signature. The table in
 * ir/pass/table.c is the pipeline; the driver verifies after each pass and records what it changed. */
#ifndef KN_IR_PASS_H
#define KN_IR_PASS_H

#include "ir/graph.h"

typedef kn_graph *(*kn_pass_fn)(kn_arena *a, kn_graph *g);

typedef struct kn_pass {
    const char *name;
    const char *what; /* for explain */
    kn_pass_fn run;   /* NULL after kn_fail() */
} kn_pass;

extern const kn_pass kn_graph_passes[];
extern const int kn_graph_pass_count;

typedef struct kn_pass_record {
    const kn_pass *pass;
    int before, after; /* nodes */
} kn_pass_record;

/* Runs the whole table. records has room for kn_graph_pass_count, or is NULL. */
kn_graph *kn_graph_optimise(kn_arena *a, kn_graph *g, kn_pass_record *records);

/* pass/decompose.c: var becomes mean, centred squares and a sum; a reduction over axes of size 1 becomes
 * a copy. After it no VAR and no reduction over nothing is left. */
kn_graph *kn_pass_decompose(kn_arena *a, kn_graph *g);
/* pass/fold.c: operations on constants become constants; casts to the same type and copies that nobody
 * needs go. */
kn_graph *kn_pass_fold(kn_arena *a, kn_graph *g);
/* pass/views.c: chains of views become the shortest ones; an output that is a view or a leaf becomes a
 * copy; what a regrouping reshape reads is a value or an input. After it every output is an ELEM or
 * REDUCE. */
kn_graph *kn_pass_views(kn_arena *a, kn_graph *g);
/* pass/share.c: equal subexpressions become one node, nodes that no output needs go. */
kn_graph *kn_pass_share(kn_arena *a, kn_graph *g);

#endif
