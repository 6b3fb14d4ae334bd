/* Calls that make arrays of numbers and sizes. */
#include <math.h>
#include <string.h>

#include "frontend/parse/calls.h"

static bool optional_dtype(kn_call_site *c, const kn_object *v, kn_dtype *dtype)
{
    return !v || v->kind == KN_OBJECT_NONE || kn_as_dtype(c->p, v, dtype);
}

/* A number that is known here. */
static bool number(const kn_object *v, double *out)
{
    const kn_node *x = v->kind == KN_OBJECT_NODE && v->node->op == KN_OP_CONST ? v->node : NULL;
    if (x && kn_is_complex(x->dtype))
        return false;
    if (x)
        *out = kn_is_float(x->dtype) ? x->u.value.f : (double)x->u.value.i;
    return x != NULL;
}

/* arange with a bound or a step that is no integer: start + i * step in f64. */
static bool float_arange(kn_call_site *c, const kn_object *const *bounds, kn_dtype dtype,
                         kn_object *out)
{
    kn_graph *g = c->p->g;
    double lo = 0, hi = 0, step = 1;
    if ((bounds[0] && !number(bounds[0], &lo)) || !number(bounds[1], &hi) ||
        (bounds[2] && !number(bounds[2], &step)))
        return kn_perror(c->p, c->pos, KN_TYPE,
                         "arange: expected integers made of numbers and sizes, or numbers that are "
                         "known here");
    double n = ceil((hi - lo) / step);
    if (!(n < 0x1p53))
        return kn_perror(c->p, c->pos, KN_SHAPE, "arange: the number of elements is out of range");
    kn_node *i = kn_build_iota(g, kn_dim_const(g->syms, n > 0 ? (int64_t)n : 0), c->loc);
    kn_node *by[2] = {i, kn_build_float(g, lo + step - lo, c->loc)};
    kn_node *from = kn_build_elem(g, KN_OP_MUL, by, 2, c->loc);
    by[0] = from;
    by[1] = kn_build_float(g, lo, c->loc);
    kn_node *made = kn_build_elem(g, KN_OP_ADD, by, 2, c->loc);
    return kn_call_done(c, made ? kn_build_cast(g, made, dtype ? dtype : KN_F64, c->loc) : NULL,
                        KN_STORAGE_NEW, out);
}

bool kn_call_arange(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"start", "stop", "step", "dtype"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_dtype dtype = KN_NO_DTYPE;
    kn_parser *p = c->p;
    int64_t step = 1;
    if (!kn_call_bind(c, names, 4, 4, 0, slot) || !optional_dtype(c, slot[3], &dtype))
        return false;
    if (!slot[0] && !slot[1])
        return kn_perror(p, c->pos, KN_SYNTAX, "arange: the argument 'stop' is missing");
    const kn_object *bounds[3] = {slot[1] ? slot[0] : NULL, slot[1] ? slot[1] : slot[0], slot[2]};
    kn_dim lo = bounds[0] ? kn_as_dim(p, bounds[0]) : kn_dim_const(p->g->syms, 0);
    kn_dim hi = kn_as_dim(p, bounds[1]);
    if (!lo || !hi || (bounds[2] && !kn_as_int(p, bounds[2], &step)))
        return float_arange(c, bounds, dtype, out);
    return kn_call_done(c, kn_build_arange(p->g, lo, hi, step, dtype, c->loc), KN_STORAGE_NEW, out);
}

/* full, zeros, ones, and the same like an array: of its shape and, if no other is given, its type. */
bool kn_call_full(kn_call_site *c, kn_object *out)
{
    static const char *const with_value[] = {"shape", "fill_value", "dtype"},
                             *const without[] = {"shape", "dtype"},
                             *const like_value[] = {"a", "fill_value", "dtype"},
                             *const like[] = {"a", "dtype"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_dim shape[KN_MAX_RANK];
    kn_dtype dtype = KN_NO_DTYPE;
    kn_graph *g = c->p->g;
    kn_node *x = NULL, *value;
    int rank;
    bool given = c->fn->name[0] == 'f', of_array = c->fn->kind == KN_CALL_LIKE;
    const char *const *names = given      ? of_array ? like_value : with_value
                               : of_array ? like
                                          : without;
    int n = given ? 3 : 2;
    if (!kn_call_bind(c, names, n, n, n - 1, slot) || !optional_dtype(c, slot[n - 1], &dtype) ||
        !(of_array ? kn_as_node(c->p, slot[0], &x)
                   : kn_call_shape(c, slot[0], false, shape, &rank)))
        return false;
    if (given && !kn_as_node(c->p, slot[1], &value))
        return false;
    if (!given)
        value = kn_build_int(g, c->fn->name[0] == 'o', c->loc);
    if (!dtype)
        dtype = of_array ? x->dtype : given ? value->dtype : KN_F64;
    const kn_dim *to = of_array ? x->shape : shape;
    return kn_call_done(c, kn_build_full(g, to, of_array ? x->rank : rank, value, dtype, c->loc),
                        KN_STORAGE_NEW, out);
}

bool kn_call_len(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"x"};
    const kn_object *slot[KN_CALL_SLOTS];
    if (!kn_call_bind(c, names, 1, 1, 1, slot))
        return false;
    const kn_object *v = slot[0];
    if (v->kind == KN_OBJECT_TUPLE) {
        *out = kn_node_value(kn_build_int(c->p->g, v->nitems, c->loc), out->pos);
        return true;
    }
    if (v->kind != KN_OBJECT_NODE || v->node->rank == 0)
        return kn_perror(c->p, v->pos, KN_TYPE, "len() of %s", kn_object_text(c->p, v));
    *out = (kn_object){.kind = KN_OBJECT_DIM, .pos = out->pos, .dim = v->node->shape[0]};
    return true;
}
