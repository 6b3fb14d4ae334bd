/* Calls of reductions, with the arguments that NumPy's have. */
#include <math.h>
#include <string.h>

#include "frontend/parse/calls.h"
#include "frontend/parse/missing.h"

/* Names of arguments, those by position first. */
typedef struct signature {
    int positional;
    const char *names[KN_CALL_SLOTS];
} signature;

static const signature *signature_of(const kn_callee *fn)
{
    static const signature sum = {3, {"a", "axis", "dtype", "keepdims", "initial", "where"}},
                           extreme = {2, {"a", "axis", "keepdims", "initial", "where"}},
                           logical = {2, {"a", "axis", "keepdims", "where"}},
                           mean = {3, {"a", "axis", "dtype", "keepdims", "where"}},
                           var = {3,
                                  {"a", "axis", "dtype", "ddof", "keepdims", "where",
                                   "correction"}},
                           axes = {2, {"a", "axis", "keepdims"}},
                           average = {3, {"a", "axis", "weights", "keepdims"}},
                           norm = {3, {"x", "ord", "axis", "keepdims"}},
                           softmax = {2, {"x", "axis"}};
    switch (fn->kind) {
    case KN_CALL_PTP:
    case KN_CALL_COUNT_NONZERO:
    case KN_CALL_LOGSUMEXP: return &axes;
    case KN_CALL_AVERAGE: return &average;
    case KN_CALL_NORM: return &norm;
    case KN_CALL_SOFTMAX: return &softmax;
    default: break;
    }
    switch (fn->op) {
    case KN_OP_SUM:
    case KN_OP_PROD: return &sum;
    case KN_OP_MIN:
    case KN_OP_MAX: return &extreme;
    case KN_OP_MEAN: return &mean;
    case KN_OP_VAR: return &var;
    default: return &logical;
    }
}

bool kn_call_flag(kn_call_site *c, const kn_object *v, const char *what, bool *out)
{
    const kn_node *x = v->kind == KN_OBJECT_NODE && v->node->op == KN_OP_CONST ? v->node : NULL;
    if (!x || kn_is_inexact(x->dtype))
        return kn_perror(c->p, v->pos, KN_TYPE, "%s: %s must be True or False, found %s",
                         c->fn->name, what, kn_object_text(c->p, v));
    *out = x->u.value.i != 0;
    return true;
}

/* What the call was given, by name. */
typedef struct given {
    kn_call_site *c;
    const signature *sig;
    const kn_object *slot[KN_CALL_SLOTS];
} given;

/* NULL where the argument was not given, or is None. */
static const kn_object *argument(const given *a, const char *name)
{
    for (int i = 0; i < KN_CALL_SLOTS && a->sig->names[i]; i++)
        if (strcmp(a->sig->names[i], name) == 0)
            return a->slot[i] && a->slot[i]->kind != KN_OBJECT_NONE ? a->slot[i] : NULL;
    return NULL;
}

static bool node_argument(const given *a, const char *name, kn_node **out)
{
    const kn_object *v = argument(a, name);
    *out = NULL;
    return !v || kn_as_node(a->c->p, v, out);
}

static bool order_of(const given *a, double *order)
{
    const kn_object *v = argument(a, "ord");
    *order = 2;
    if (!v)
        return true;
    const kn_node *x = v->kind == KN_OBJECT_NODE && v->node->op == KN_OP_CONST ? v->node : NULL;
    if (!x || kn_is_complex(x->dtype))
        return kn_perror(a->c->p, v->pos, KN_TYPE, "norm: ord must be a number, found %s",
                         kn_object_text(a->c->p, v));
    *order = kn_is_float(x->dtype) ? x->u.value.f : (double)x->u.value.i;
    return true;
}

static bool reduction_of(const given *a, kn_reduction *r, int *axes)
{
    kn_call_site *c = a->c;
    const kn_object *axis = argument(a, "axis"), *keep = argument(a, "keepdims");
    const kn_object *dtype = argument(a, "dtype"), *ddof = argument(a, "ddof");
    const kn_object *correction = argument(a, "correction");
    *r = (kn_reduction){.axes = axes, .naxes = -1};
    if (axis && axis->kind == KN_OBJECT_NODE && !axis->node->weak &&
        (c->fn->op == KN_OP_MIN || c->fn->op == KN_OP_MAX) && c->fn->kind == KN_CALL_REDUCE)
        return kn_perror(c->p, axis->pos, KN_TYPE,
                         "%s reduces one array, and its second argument is an axis; of two values "
                         "write %simum(a, b)",
                         c->fn->name, kn_ops[c->fn->op].text);
    if (ddof && correction)
        return kn_perror(c->p, correction->pos, KN_TYPE, "%s: ddof and correction are the same",
                         c->fn->name);
    ddof = ddof ? ddof : correction;
    r->skip_nan = strncmp(c->fn->name, "nan", 3) == 0;
    return (!axis || kn_call_axes(c, axis, "axis", false, axes, &r->naxes)) &&
           (!keep || kn_call_flag(c, keep, "keepdims", &r->keepdims)) &&
           (!dtype || kn_as_dtype(c->p, dtype, &r->dtype)) &&
           (!ddof || kn_call_int(c, ddof, "ddof", &r->ddof)) &&
           node_argument(a, "where", &r->where) && node_argument(a, "initial", &r->initial[0]);
}

static kn_node *norm(kn_call_site *c, kn_node *x, double order, bool ordered, const kn_reduction *r)
{
    if (ordered && (r->naxes < 0 ? x->rank : r->naxes) != 1) {
        kn_fail(KN_SHAPE, "norm with ord= is of vectors: give one axis=");
        return NULL;
    }
    if (r->naxes == 0 || r->naxes > 2) {
        kn_fail(KN_SHAPE, "norm is over one axis or two");
        return NULL;
    }
    return kn_build_norm(c->p->g, x, order, r, c->loc);
}

static kn_node *reduced(const given *a, kn_node *x, kn_node *weights, double order,
                        const kn_reduction *r)
{
    kn_call_site *c = a->c;
    kn_graph *g = c->p->g;
    switch (c->fn->kind) {
    case KN_CALL_PTP: return kn_build_ptp(g, x, r, c->loc);
    case KN_CALL_COUNT_NONZERO: return kn_build_count_nonzero(g, x, r, c->loc);
    case KN_CALL_LOGSUMEXP: return kn_build_logsumexp(g, x, r, c->loc);
    case KN_CALL_AVERAGE: return kn_build_average(g, x, weights, r, c->loc);
    case KN_CALL_NORM: return norm(c, x, order, argument(a, "ord") != NULL, r);
    case KN_CALL_SOFTMAX: return kn_build_softmax(g, x, r, c->fn->name[0] == 'l', c->loc);
    case KN_CALL_STD:
        x = kn_build_reduction(g, c->fn->op, x, r, c->loc);
        return x ? kn_build_elem(g, KN_OP_SQRT, &x, 1, c->loc) : NULL;
    default: return kn_build_reduction(g, c->fn->op, x, r, c->loc);
    }
}

bool kn_call_reduce(kn_call_site *c, kn_object *out)
{
    given a = {.c = c, .sig = signature_of(c->fn)};
    kn_graph *g = c->p->g;
    int total = 0, axes[KN_MAX_RANK] = {0};
    while (total < KN_CALL_SLOTS && a.sig->names[total])
        total++;
    kn_node *x, *weights, *made;
    kn_reduction r;
    double order;
    if (!kn_call_bind(c, a.sig->names, total, a.sig->positional, 1, a.slot) ||
        !kn_as_node(c->p, a.slot[0], &x) || !reduction_of(&a, &r, axes) || !order_of(&a, &order) ||
        !node_argument(&a, "weights", &weights))
        return false;
    uint32_t mask; /* a bad axis is an error of this call, not of an operation that it is made of */
    made = kn_build_axes(g, c->fn->name, x, axes, r.naxes, &mask)
               ? reduced(&a, x, weights, order, &r)
               : NULL;
    return kn_call_done(c, kn_call_typed(c, made), KN_STORAGE_NEW, out);
}

bool kn_call_dot(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"a", "b"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_node *a, *b;
    if (!kn_call_bind(c, names, 2, 2, 2, slot) || !kn_as_node(c->p, slot[0], &a) ||
        !kn_as_node(c->p, slot[1], &b))
        return false;
    if (a->rank && b->rank && (a->rank > 1 || b->rank > 1))
        return kn_perror(c->p, c->pos, KN_SHAPE, "%s is of two vectors here: %s", c->fn->name,
                         kn_missing_advice("matmul"));
    bool conjugate = strcmp(c->fn->name, "vdot") == 0;
    kn_node *made = kn_build_dot(c->p->g, a, b, conjugate, c->loc);
    return kn_call_done(c, kn_call_typed(c, made), KN_STORAGE_NEW, out);
}

bool kn_call_arg(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"a", "axis", "keepdims"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_node *x;
    int axis;
    bool keepdims = false;
    if (!kn_call_bind(c, names, 3, 2, 1, slot) || !kn_as_node(c->p, slot[0], &x) ||
        (slot[2] && !kn_call_flag(c, slot[2], "keepdims", &keepdims)))
        return false;
    bool one = slot[1] && slot[1]->kind != KN_OBJECT_NONE;
    if (one && !kn_call_int(c, slot[1], "axis", &axis))
        return false;
    return kn_call_done(c,
                        kn_build_arg(c->p->g, c->fn->op, x, one ? &axis : NULL, keepdims, c->loc),
                        KN_STORAGE_NEW, out);
}
