/* Binding: a call's arguments against a graph's inputs and outputs.
 *
 * After it, every input and output has an address and a layout, every symbol a size, every fact holds, and no
 * two outputs overlap. Each violation is an error that names the argument and both shapes. */
#ifndef KN_RUNTIME_BIND_H
#define KN_RUNTIME_BIND_H

#include "codegen/kir/call.h"
#include "codegen/plan/plan.h"

/* One argument as the caller gave it; strides NULL for compact. */
typedef struct kn_arg {
    const char *name;
    void *data;
    int dtype, rank;
    const int64_t *shape, *strides;
} kn_arg;

typedef struct kn_binding {
    const kn_graph *graph;
    int64_t *sizes; /* per symbol */
    kn_layout *in, *out;
    void **in_data, **out_data;
    kn_span *in_span, *out_span; /* what each may touch; empty when it has no elements */
    kn_scalar *scalars;          /* per input; set for by-value ones */
    int *over;                   /* per input: the output that lies exactly on it, or -1 */
    kn_status refused;           /* outputs overlap */
    /* mode ASSUME: the sizes that were, "N = 128, C = 128"; "" where none was */
    const char *assumed;
} kn_binding;

typedef enum kn_bind_mode {
    KN_BIND_RUN,    /* everything must be there, with addresses */
    KN_BIND_INPUTS, /* inputs only; outputs get compact layouts of their inferred shapes */
    KN_BIND_ASSUME, /* explain: missing inputs are compact, free sizes are assumed, addresses are not read */
} kn_bind_mode;

enum { KN_ASSUMED_SIZE = 128 };

/* What each rank has of each size that is divided: of[k * graph->ranks + r] is rank r's part of the k-th symbol that is a
 * part. */
typedef struct kn_parts {
    int rank; /* this one */
    const int64_t *of;
} kn_parts;

/* A rank's run: the sizes of others are known. */
kn_status kn_bind_rank(kn_arena *a, const kn_graph *g, const kn_arg *args, int nargs,
                       const kn_parts *parts, kn_binding *b);
/* Memory in `a`. What is divided is taken to have parts of one size. */
kn_status kn_bind(kn_arena *a, const kn_graph *g, const kn_arg *args, int nargs, kn_bind_mode mode,
                  kn_binding *b);

#endif
