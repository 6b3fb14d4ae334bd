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
    bool fast;        /* only under fast_math */
} kn_pass;

extern const kn_pass kn_graph_passes[];
extern const int kn_graph_pass_count;

typedef struct kn_pass_record {
    const kn_pass *pass;
    int before, after;     /* nodes */
    const kn_graph *graph; /* as it left it */
} kn_pass_record;

/* Runs the whole table, including the passes of fast_math if that is on. `records` is NULL or has room for
 * kn_graph_pass_count + 1: a record for each pass that ran, and one without a pass at the end. */
kn_graph *kn_graph_optimise(kn_arena *a, kn_graph *g, bool fast, kn_pass_record *records);

/* pass/ranks.c: no reduction over an axis that is divided over ranks is left, if there are several: it is one of this
 * rank's part, an exchange, and what makes one of the ranks' results. SHAPE, with its place, where an operation would
 * need elements that other ranks have. */
kn_graph *kn_pass_ranks(kn_arena *a, kn_graph *g);
/* pass/decompose.c: the variance of 16-bit floats becomes one of f32; x ** 2 becomes x * x; a reduction over axes of
 * size 1 becomes elementwise. After it no reduction over nothing is left. */
kn_graph *kn_pass_decompose(kn_arena *a, kn_graph *g);
/* pass/relax.c: what is equal in real numbers only, as a list at the top of it. */
kn_graph *kn_pass_relax(kn_arena *a, kn_graph *g);
/* pass/fold.c: operations on constants become constants; casts to the same type and copies that nobody
 * needs go. */
kn_graph *kn_pass_fold(kn_arena *a, kn_graph *g);
/* The constant that an elementwise node n with operands in[] is; NULL: none, or it depends on what is run. */
kn_node *kn_fold_elem(kn_graph *g, const kn_node *n, kn_node *const *in);
/* Is condition n a constant? */
bool kn_fold_condition(const kn_node *n, bool *holds);
/* pass/algebra.c: identities that hold for every number, as a list at the top of it. */
kn_graph *kn_pass_algebra(kn_arena *a, kn_graph *g);
/* pass/sink.c: what an INDEX or a TAKE reads is no cheap elementwise value, where it need not be. */
kn_graph *kn_pass_sink(kn_arena *a, kn_graph *g);
/* pass/views.c: chains of views become the shortest ones; an output that is a view or a leaf becomes a
 * copy. After it every output is an ELEM or REDUCE. */
kn_graph *kn_pass_views(kn_arena *a, kn_graph *g);
/* pass/nest.c: a reduction of a value over some axes becomes a reduction of another's result, which is of the same
 * value over a part of those axes. */
kn_graph *kn_pass_nest(kn_arena *a, kn_graph *g);
/* pass/share.c: equal subexpressions become one node, nodes that no output needs go. */
kn_graph *kn_pass_share(kn_arena *a, kn_graph *g);

/* pass/refine.c: what the table cannot do, because it depends on a call's sizes (one per symbol). The optimised graph
 * anew, on its own symbols, to which quotients are added: reshapes that split and merge axes are gone (fuse) and the
 * others read what lies in memory. Nodes may have more axes than the arguments they come from or go to, but never other
 * elements in row-major order; *sizes becomes the sizes for all symbols that there are then. */
kn_graph *kn_refine(kn_arena *a, kn_graph *g, bool fuse, const int64_t **sizes);

#endif
