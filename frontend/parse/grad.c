/* Gradients: vjp(y, dy, (x, w)), and grad(s, (x, w)) of a number s. */
#include "ir/grad.h"
#include "frontend/parse/calls.h"

typedef struct values {
    kn_node *node[KN_MAX_TUPLE];
    int n;
} values;

static bool nodes_of(kn_call_site *c, const kn_object *v, values *to)
{
    const kn_object *items = v->kind == KN_OBJECT_TUPLE ? v->items : v;
    to->n = v->kind == KN_OBJECT_TUPLE ? v->nitems : 1;
    for (int i = 0; i < to->n; i++)
        if (!kn_as_node(c->p, &items[i], &to->node[i]))
            return false;
    return true;
}

/* Like wrt: one value, or a tuple of them. */
static bool differentiate(kn_call_site *c, const values *y, const values *dy, const kn_object *wrt,
                          kn_object *out)
{
    values *x = KN_NEW(c->p->arena, values);
    kn_node *grads[KN_MAX_TUPLE];
    if (!nodes_of(c, wrt, x))
        return false;
    const kn_differentiation d = {y->node, dy->node, y->n, x->node, x->n};
    if (kn_grad(c->p->g, &d, grads, c->loc) != KN_OK)
        return kn_pwrap(c->p, c->pos);
    kn_object *items = KN_NEW_ARRAY(c->p->arena, kn_object, x->n + 1);
    for (int i = 0; i < x->n; i++)
        items[i] = kn_node_value(grads[i], out->pos);
    *out =
        wrt->kind == KN_OBJECT_TUPLE
            ? (kn_object){.kind = KN_OBJECT_TUPLE, .pos = out->pos, .items = items, .nitems = x->n}
            : items[0];
    return true;
}

bool kn_call_vjp(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"y", "dy", "wrt"};
    const kn_object *slot[KN_CALL_SLOTS];
    values *y = KN_NEW(c->p->arena, values), *dy = KN_NEW(c->p->arena, values);
    if (!kn_call_bind(c, names, 3, 3, 3, slot) || !nodes_of(c, slot[0], y) ||
        !nodes_of(c, slot[1], dy))
        return false;
    if (y->n != dy->n)
        return kn_perror(c->p, slot[1]->pos, KN_TYPE,
                         "vjp of %d value%s with %d gradient%s of them", y->n, y->n == 1 ? "" : "s",
                         dy->n, dy->n == 1 ? "" : "s");
    return differentiate(c, y, dy, slot[2], out);
}

bool kn_call_grad(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"s", "wrt"};
    const kn_object *slot[KN_CALL_SLOTS];
    values *y = KN_NEW(c->p->arena, values), *dy = KN_NEW(c->p->arena, values);
    if (!kn_call_bind(c, names, 2, 2, 2, slot) || !kn_as_node(c->p, slot[0], &y->node[0]))
        return false;
    const kn_node *s = y->node[0];
    if (s->rank > 0 || !kn_is_float(s->dtype))
        return kn_perror(c->p, slot[0]->pos, KN_TYPE,
                         "grad is of a real number, found %s; write sum(y), or vjp(y, dy, x)",
                         kn_object_text(c->p, slot[0]));
    y->n = dy->n = 1;
    dy->node[0] = kn_build_float(c->p->g, 1, c->loc);
    return differentiate(c, y, dy, slot[1], out);
}
