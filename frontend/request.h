/* Builder calls: each is one request, so that running out of memory unwinds to one place, and one rule
 * says what becomes of poisoned values and of errors. */
#ifndef KN_FRONTEND_REQUEST_H
#define KN_FRONTEND_REQUEST_H

#include "frontend/handles.h"

/* The place of what no text wrote; the handle of no value, which what is made of it is too. */
extern const kn_loc kn_nowhere;
extern const kiln_val kn_poison;

typedef struct kn_request kn_request;
struct kn_request {
    kiln_graph *g;
    kn_status (*make)(kn_graph *g, kn_request *r); /* runs inside kn_protect() */
    kn_node *in[KN_MAX_IN];
    int nin;
    /* what `make` wants to know */
    kn_op op;
    const char *name, *dims;
    kn_dtype dtype;
    int64_t i;
    double f, imag;
    bool has_default, keepdims;
    kiln_axes axes;
    int ddof;
    kn_node *result; /* what `make` made, if it makes a value */
};

/* Adds v's node to r->in; false when v is poisoned or not of this graph (then the graph has an error). */
bool kn_request_take(kn_request *r, kiln_val v);
/* The same for any number of values, into `nodes`. */
bool kn_request_nodes(kiln_graph *g, const kiln_val *v, int n, kn_node **nodes);
/* Runs the request; poison when the graph has an error already, or now. */
kiln_val kn_request_finish(kn_request *r);
/* Both for one operand. */
kiln_val kn_request_unary(kn_request r, kiln_val x);
/* False, with an error of the graph, where the text `name`, called `what`, is NULL. */
bool kn_request_named(kiln_graph *g, const char *name, const char *what);
/* The operation `name` if it is of the kind that `is` tests; else -1, with an error of the graph. */
int kn_request_op(kiln_graph *g, const char *name, bool (*is)(int op), const char *kind);
/* Requests that give a status: the first error of the graph, if it has one. r->name is not NULL. */
kiln_status kn_request_status(kn_request *r, const char *what);

/* The handle of a node of g. */
kiln_val kn_request_value(const kiln_graph *g, const kn_node *n);

/* The end of a `make`: what ir/build.h gave is the result; where that is NULL, the status of its failure. */
kn_status kn_request_made(kn_request *r, kn_node *made);

#endif
