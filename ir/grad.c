/* From results to operands: each operation's gradient is complete when all that use it have passed theirs on. */
#include "ir/grad.h"

#include <string.h>

#include "ir/grad_impl.h"

typedef struct derivation {
    kn_grad_site site;
    int n;             /* nodes before */
    kn_grad_form *as;  /* per node */
    bool *asked;       /* per node: is it a wrt? */
    bool *reaches;     /* per node: does a wrt go into it, as a float? */
    kn_node **adjoint; /* per node: its gradient, as far as it is known; NULL: 0 */
} derivation;

/* ---- what a node is differentiated as ---- */

static bool is_operand(const kn_grad_form *f, const kn_node *n)
{
    for (int k = 0; k < f->nin; k++)
        if (f->in[k] == n)
            return true;
    return false;
}

/* Is a wrt among the intermediate values of the expansion of f below n? */
static bool asks_within(const derivation *d, const kn_grad_form *f, const kn_node *n)
{
    for (int k = 0; k < n->nin; k++)
        if (!is_operand(f, n->in[k]) && (d->asked[n->in[k]->id] || asks_within(d, f, n->in[k])))
            return true;
    return false;
}

/* Formulas with a rule as what they are, unless something within one is asked for. */
static void find_forms(derivation *d)
{
    const kn_graph *g = d->site.g;
    for (int i = 0; i < d->n; i++) {
        const kn_node *n = g->nodes.data[i];
        d->as[i] = (kn_grad_form){.op = n->op, .nin = n->nin};
        memcpy(d->as[i].in, n->in, sizeof n->in);
    }
    for (int i = 0; i < g->expansions.len; i++) {
        const kn_expansion *e = &g->expansions.data[i];
        kn_grad_form f = {.op = e->op, .nin = e->nin};
        for (int k = 0; k < e->nin; k++)
            f.in[k] = g->nodes.data[e->in[k]];
        if (kn_grad_rules[e->op].of && !asks_within(d, &f, g->nodes.data[e->node]))
            d->as[e->node] = f;
    }
}

/* Does operand k change what f gives, as a number changes a number? */
static bool passes(const kn_grad_form *f, const kn_node *y, int k)
{
    kn_grad_kind kind = kn_grad_rules[f->op].kind;
    return kn_is_inexact(y->dtype) && kn_is_inexact(f->in[k]->dtype) && kind == KN_GRAD_RULE;
}

/* ---- from results to operands ---- */

static void mark(derivation *d)
{
    for (int i = 0; i < d->n; i++) {
        const kn_grad_form *f = &d->as[i];
        d->reaches[i] = d->asked[i];
        for (int k = 0; k < f->nin && !d->reaches[i]; k++)
            d->reaches[i] = d->reaches[f->in[k]->id] && passes(f, d->site.g->nodes.data[i], k);
    }
}

/* What reaches operand k of s.as is added to what it has. */
static kn_status pass_on(derivation *d, int k)
{
    const kn_grad_site *s = &d->site;
    kn_node *x = s->as->in[k], **to = &d->adjoint[x->id];
    const kn_grad_rule *rule = &kn_grad_rules[s->as->op];
    kn_node *dx = rule->of(s, k);
    if (dx && !kn_grad_is_zero(dx))
        dx = kn_grad_sum_to(s, dx, x->shape);
    if (!dx)
        return kn_last_status();
    if (!kn_grad_is_zero(dx))
        *to = kn_grad_add(s, *to, dx);
    return *to || kn_grad_is_zero(dx) ? KN_OK : kn_last_status();
}

static kn_status propagate(derivation *d)
{
    for (int i = d->n - 1; i >= 0; i--) {
        kn_node *n = d->site.g->nodes.data[i];
        const kn_grad_form *f = d->site.as = &d->as[i];
        d->site.y = n;
        d->site.dy = d->adjoint[i];
        for (int k = 0; d->adjoint[i] && k < f->nin; k++)
            if (d->reaches[f->in[k]->id] && passes(f, n, k))
                KN_TRY(pass_on(d, k));
    }
    return KN_OK;
}

/* ---- what is asked for ---- */

static kn_status check(const kn_node *x, const char *role)
{
    if (kn_is_inexact(x->dtype) && !x->weak)
        return KN_OK;
    return kn_fail(KN_TYPE, "%s, %s, is %s%s: only floats and complex numbers have gradients", role,
                   kn_node_title(x), x->weak ? "a number of the program, " : "",
                   kn_dtypes[x->dtype].text);
}

static kn_status seed(derivation *d, kn_node *y, kn_node *given)
{
    const kn_grad_site *s = &d->site;
    KN_TRY(check(y, "what is differentiated"));
    if (kn_is_complex(given->dtype) && !kn_is_complex(y->dtype))
        return kn_fail(KN_TYPE, "the gradient of %s, which is %s, is given as %s", kn_node_title(y),
                       kn_dtypes[y->dtype].text, kn_dtypes[given->dtype].text);
    kn_node *dy = kn_grad_cast(s, given, y->dtype);
    if (!(dy = kn_build_broadcast_to(s->g, dy, y->shape, y->rank, s->loc)))
        return kn_fail_prefix(KN_SHAPE, "the gradient of %s: ", kn_node_title(y));
    if (d->reaches[y->id])
        d->adjoint[y->id] = kn_grad_add(s, d->adjoint[y->id], dy);
    return KN_OK;
}

kn_status kn_grad(kn_graph *g, const kn_differentiation *what, kn_node **grads, kn_loc loc)
{
    derivation d = {.site = {.g = g, .loc = loc, .first = g->nodes.len}, .n = g->nodes.len};
    d.as = KN_NEW_ARRAY(g->arena, kn_grad_form, d.n);
    d.asked = KN_NEW_ARRAY(g->arena, bool, d.n);
    d.reaches = KN_NEW_ARRAY(g->arena, bool, d.n);
    d.adjoint = KN_NEW_ARRAY(g->arena, kn_node *, d.n);
    for (int i = 0; i < what->nwrt; i++)
        KN_TRY(check(what->wrt[i], "what is differentiated by"));
    for (int i = 0; i < what->nwrt; i++)
        d.asked[what->wrt[i]->id] = true;
    find_forms(&d);
    mark(&d);
    for (int i = 0; i < what->ny; i++)
        KN_TRY(seed(&d, what->y[i], what->seed[i]));
    KN_TRY(propagate(&d));
    for (int i = 0; i < what->nwrt; i++) {
        kn_node *dx = d.adjoint[what->wrt[i]->id];
        grads[i] = dx ? dx : kn_grad_zeros(&d.site, what->wrt[i]);
    }
    return KN_OK;
}
