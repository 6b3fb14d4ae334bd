/* A call's arguments put where its names say, and its result. */
#include <limits.h>
#include <string.h>

#include "frontend/parse/calls.h"

bool kn_call_wrong_count(kn_call_site *c, int takes, const char *how)
{
    int given = c->by_position - c->method;
    takes -= c->method;
    return kn_perror(c->p, c->pos, KN_SYNTAX, "%s takes %d argument%s%s, %d given", c->fn->name,
                     takes, takes == 1 ? "" : "s", how, given);
}

bool kn_call_bind(kn_call_site *c, const char *const *names, int total, int positional,
                  int required, const kn_object **slot)
{
    kn_parser *p = c->p;
    for (int i = 0; i < total; i++)
        slot[i] = NULL;
    if (c->by_position > positional)
        return kn_call_wrong_count(c, positional, total > positional ? " by position" : "");
    for (int i = 0; i < c->args.len; i++) {
        const kn_call_argument *a = &c->args.data[i];
        int at = i;
        if (a->key)
            for (at = 0; at < total && strcmp(names[at], a->key) != 0;)
                at++;
        if (at == total) {
            kn_text t = kn_text_new(p->arena);
            for (int k = c->method; k < total; k++)
                kn_putf(&t, "%s%s", k > c->method ? ", " : "", names[k]);
            return kn_perror(p, a->pos, KN_SYNTAX, "%s has no argument '%s'; it has %s",
                             c->fn->name, a->key, t.len ? kn_text_str(&t) : "none");
        }
        if (slot[at])
            return kn_perror(p, a->pos, KN_SYNTAX, "%s: the argument '%s' is given twice",
                             c->fn->name, names[at]);
        slot[at] = &a->value;
    }
    for (int i = 0; i < required; i++)
        if (!slot[i])
            return kn_perror(p, c->pos, KN_SYNTAX, "%s: the argument '%s' is missing", c->fn->name,
                             names[i]);
    return true;
}

bool kn_call_int(kn_call_site *c, const kn_object *v, const char *what, int *out)
{
    int64_t i;
    if (!kn_as_int(c->p, v, &i))
        return kn_perror(c->p, v->pos, KN_TYPE,
                         "%s: %s must be an integer that is known here, found %s", c->fn->name,
                         what, kn_object_text(c->p, v));
    if (i < INT_MIN || i > INT_MAX)
        return kn_perror(c->p, v->pos, KN_SHAPE, "%s: %s is out of range", c->fn->name, what);
    *out = (int)i;
    return true;
}

bool kn_call_axes(kn_call_site *c, const kn_object *v, const char *what, bool lists, int *axes,
                  int *n)
{
    *n = 1;
    if (v->kind != KN_OBJECT_TUPLE)
        return kn_call_int(c, v, what, &axes[0]);
    if (v->list && !lists)
        return kn_perror(c->p, v->pos, KN_TYPE, "%s: %s must be a tuple, found a list", c->fn->name,
                         what);
    if (v->nitems > KN_MAX_RANK)
        return kn_perror(c->p, v->pos, KN_SHAPE, "%s: %s has more than %d entries", c->fn->name,
                         what, KN_MAX_RANK);
    *n = v->nitems;
    for (int i = 0; i < *n; i++)
        if (!kn_call_int(c, &v->items[i], what, &axes[i]))
            return false;
    return true;
}

bool kn_call_done(kn_call_site *c, kn_node *made, int storage, kn_object *out)
{
    if (!made)
        return kn_pwrap(c->p, c->pos);
    *out = kn_node_value(made, out->pos);
    out->storage = kn_view_storage(c->p, storage);
    out->uncertain = storage != KN_STORAGE_NEW && c->args.len && c->args.data[0].value.uncertain;
    out->readonly = storage != KN_STORAGE_NEW && c->args.len && c->args.data[0].value.readonly;
    return true;
}

kn_node *kn_call_typed(kn_call_site *c, kn_node *x)
{
    return x && x->weak ? kn_build_cast(c->p->g, x, x->dtype, c->loc) : x;
}
