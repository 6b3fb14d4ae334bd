/* Reductions of the builder: kiln's, and those of the user's own. */
#include <string.h>

#include "frontend/request.h"

static bool check(kiln_graph *g, kn_op op, kiln_axes axes, unsigned flags)
{
    if (g && axes.count > KN_MAX_RANK)
        kn_handle_fail(g, kn_fail(KN_ARGUMENT, "%s: %d axes", kn_ops[op].text, axes.count));
    else if (g && flags & ~(unsigned)KILN_KEEPDIMS)
        kn_handle_fail(g, kn_fail(KN_ARGUMENT, "%s: unknown flags 0x%x", kn_ops[op].text, flags));
    else
        return g != NULL;
    return false;
}

static kn_status make_reduction(kn_graph *g, kn_request *r)
{
    const kn_reduction how = {.axes = r->axes.axis,
                              .naxes = r->axes.count,
                              .keepdims = r->keepdims,
                              .dtype = r->dtype,
                              .ddof = r->ddof};
    return kn_request_made(r, kn_build_reduction(g, r->op, r->in[0], &how, kn_nowhere));
}

/* r has the graph, the operation, its axes, and perhaps more. */
static kiln_val reduce(kn_request r, kiln_val x, unsigned flags)
{
    r.make = make_reduction;
    r.keepdims = flags & KILN_KEEPDIMS;
    return check(r.g, r.op, r.axes, flags) ? kn_request_unary(r, x) : kn_poison;
}

#define REDUCTION(name, OP)                                                                        \
    kiln_val kiln_##name(kiln_graph *g, kiln_val x, kiln_axes axes, unsigned flags)                \
    {                                                                                              \
        return reduce((kn_request){.g = g, .op = KN_OP_##OP, .axes = axes}, x, flags);             \
    }
REDUCTION(sum, SUM)
REDUCTION(prod, PROD)
REDUCTION(min, MIN)
REDUCTION(max, MAX)
REDUCTION(any, ANY)
REDUCTION(all, ALL)
REDUCTION(mean, MEAN)
REDUCTION(var, VAR)

static bool is_reduction(int op) { return kn_ops[op].cls == KN_REDUCE; }

kiln_val kiln_reduce(kiln_graph *g, const char *op, kiln_val x, kiln_axes axes, unsigned flags,
                     kiln_dtype dtype, int ddof)
{
    int found = kn_request_op(g, op, is_reduction, "reduction");
    if (found < 0)
        return kn_poison;
    const kn_request r = {
        .g = g, .op = (kn_op)found, .axes = axes, .dtype = (kn_dtype)dtype, .ddof = ddof};
    return reduce(r, x, flags);
}

/* ---- of the user's own ---- */

static kn_status make_carried(kn_graph *g, kn_request *r)
{
    return kn_request_made(r, kn_build_carried(g, r->dtype, kn_nowhere));
}

kiln_val kiln_carried(kiln_graph *g, kiln_dtype dtype)
{
    kn_request r = {.g = g, .make = make_carried, .dtype = (kn_dtype)dtype};
    return kn_request_finish(&r);
}

/* The caller's rule for a gradient. */
typedef struct rule {
    kiln_graph *g;
    kiln_val (*gradient)(void *user, kiln_graph *g, const kiln_reduced *of, int operand);
    void *user;
} rule;

static kn_node *apply_rule(void *user, const kn_reduced *of, int operand)
{
    const rule *by = user;
    kiln_val x[KN_MAX_CARRIED], results[KN_MAX_CARRIED];
    kn_node *made;
    for (int c = 0; c < of->count; c++) {
        x[c] = kn_request_value(by->g, of->x[c]);
        results[c] = kn_request_value(by->g, of->y[c]);
    }
    const kiln_reduced given = {of->count, of->result, x, results, kn_request_value(by->g, of->dy)};
    kiln_val v = by->gradient(by->user, by->g, &given, operand);
    return kn_request_nodes(by->g, &v, 1, &made) ? made : NULL;
}

typedef struct reducing {
    kn_request r; /* first: `make` gets it */
    kn_combining by;
    kn_reduction how;
    kn_node *x[KN_MAX_CARRIED], *out[KN_MAX_CARRIED];
    rule rule;
} reducing;

static kn_status make_reduction_by(kn_graph *g, kn_request *r)
{
    reducing *in = (reducing *)r;
    if (in->rule.gradient) {
        rule *kept = KN_NEW(g->arena, rule);
        *kept = in->rule;
        in->by.rule = (kn_reducer_rule){apply_rule, kept};
    }
    KN_TRY(kn_build_reduce_by(g, &in->by, in->x, &in->how, in->out, kn_nowhere));
    return kn_request_made(r, in->out[0]);
}

static bool take(kiln_graph *g, reducing *in, const kiln_reducer *by, const kiln_val *x,
                 const kiln_val *where, const kiln_val *initial)
{
    int n = by->count;
    in->by.count = n;
    in->by.commutes = by->commutes;
    in->rule = (rule){g, by->gradient, by->user};
    return kn_request_nodes(g, by->left, n, in->by.left) &&
           kn_request_nodes(g, by->right, n, in->by.right) &&
           kn_request_nodes(g, by->combined, n, in->by.combined) &&
           kn_request_nodes(g, by->identity, n, in->by.identity) &&
           kn_request_nodes(g, x, n, in->x) &&
           (!where || kn_request_nodes(g, where, 1, &in->how.where)) &&
           (!initial || kn_request_nodes(g, initial, n, in->how.initial));
}

kiln_status kiln_reduce_by(kiln_graph *g, const kiln_reducer *by, const kiln_val *x, kiln_axes axes,
                           unsigned flags, const kiln_val *where, const kiln_val *initial,
                           kiln_val *results)
{
    reducing in = {
        .r = {.g = g, .make = make_reduction_by},
        .how = {.axes = axes.axis, .naxes = axes.count, .keepdims = flags & KILN_KEEPDIMS}};
    if (!g)
        return (kiln_status)kn_fail(KN_ARGUMENT, "graph is NULL");
    if (!by || !x || !results)
        return kn_handle_fail(g, kn_fail(KN_ARGUMENT, "reduce_by: %s is NULL",
                                         !by ? "by"
                                         : x ? "results"
                                             : "x"));
    if (by->count < 1 || by->count > KILN_MAX_CARRIED)
        return kn_handle_fail(g, kn_fail(KN_ARGUMENT, "reduce_by carries 1 to %d values, not %d",
                                         KILN_MAX_CARRIED, by->count));
    for (int c = 0; c < by->count; c++)
        results[c] = kn_poison;
    if (g->status == KILN_OK && check(g, KN_OP_REDUCE_BY, axes, flags) &&
        take(g, &in, by, x, where, initial) && kn_request_finish(&in.r).id)
        for (int c = 0; c < by->count; c++)
            results[c] = kn_request_value(g, in.out[c]);
    return kiln_graph_status(g);
}
