/* Gradients of the builder's values. */
#include "frontend/request.h"
#include "ir/grad.h"

#undef kiln_grad

enum { MOST = 256 };

typedef struct deriving {
    kn_request r; /* first: `make` gets it */
    kn_node *wrt[MOST], *grads[MOST];
    int n;
} deriving;

static kn_status make_gradients(kn_graph *g, kn_request *r)
{
    deriving *in = (deriving *)r;
    const kn_differentiation d = {&r->in[0], &r->in[1], 1, in->wrt, in->n};
    return kn_grad(g, &d, in->grads, kn_nowhere);
}

kiln_status kiln_grad(kiln_graph *g, kiln_val y, kiln_val seed, const kiln_val *wrt, int n,
                      kiln_val *grads)
{
    deriving in = {.r = {.g = g, .make = make_gradients, .name = ""}, .n = n};
    if (!g)
        return (kiln_status)kn_fail(KN_ARGUMENT, "graph is NULL");
    if (!wrt || !grads)
        return kn_handle_fail(g, kn_fail(KN_ARGUMENT, "grad: %s is NULL", wrt ? "grads" : "wrt"));
    for (int i = 0; i < n; i++)
        grads[i] = kn_poison;
    if (n < 1 || n > MOST)
        return kn_handle_fail(g,
                              kn_fail(KN_ARGUMENT, "grad is by 1 to %d values, not %d", MOST, n));
    bool fine = g->status == KILN_OK && kn_request_take(&in.r, y) && kn_request_take(&in.r, seed) &&
                kn_request_nodes(g, wrt, n, in.wrt) && kn_request_status(&in.r, "name") == KILN_OK;
    for (int i = 0; i < n && fine; i++)
        grads[i] = kn_request_value(g, in.grads[i]);
    return kiln_graph_status(g);
}
