/* Calls while they are made into nodes: what the functions for their kinds get and use. */
#ifndef KN_FRONTEND_PARSE_CALLS_H
#define KN_FRONTEND_PARSE_CALLS_H

#include "frontend/parse/parser.h"

/* A call while it is made into nodes. */
typedef struct kn_call_argument {
    const char *key; /* NULL: by position */
    kn_pos pos;
    kn_object value;
} kn_call_argument;

typedef struct kn_call_site {
    kn_parser *p;
    const kn_callee *fn;
    kn_pos pos; /* of the function's name */
    kn_loc loc;
    bool method, through_numpy;
    KN_VEC(kn_call_argument)
    args; /* those by position first; a method's array is the first of them */
    int by_position;
} kn_call_site;

/* ---- args.c ---- */

/* Puts the arguments into slots by NumPy's names: the first `positional` of `names` by position,
 * all `total` of them by name, the first `required` in any case. Slots of arguments not given
 * are NULL. */
bool kn_call_bind(kn_call_site *c, const char *const *names, int total, int positional,
                  int required, const kn_object **slot);
/* Fails: the function `takes` so many arguments, `how` (" by position"). Returns false. */
bool kn_call_wrong_count(kn_call_site *c, int takes, const char *how);
bool kn_call_int(kn_call_site *c, const kn_object *v, const char *what, int *out);
/* An integer or a tuple of them (a list too, where NumPy takes one). */
bool kn_call_axes(kn_call_site *c, const kn_object *v, const char *what, bool lists, int *axes,
                  int *n);
/* Python's operators on Python numbers give Python numbers; NumPy's functions give NumPy's. */
kn_node *kn_call_typed(kn_call_site *c, kn_node *x);
/* The call's result: `made`, or the failure to make it. */
bool kn_call_done(kn_call_site *c, kn_node *made, int storage, kn_object *out);

/* ---- one function a kind of call ---- */

/* reduce.c */
bool kn_call_reduce(kn_call_site *c, kn_object *out);
bool kn_call_dot(kn_call_site *c, kn_object *out);
bool kn_call_arg(kn_call_site *c, kn_object *out);
bool kn_call_flag(kn_call_site *c, const kn_object *v, const char *what, bool *out);

/* view.c */
bool kn_call_reshape(kn_call_site *c, kn_object *out);
bool kn_call_ravel(kn_call_site *c, kn_object *out);
bool kn_call_transpose(kn_call_site *c, kn_object *out);
bool kn_call_swapaxes(kn_call_site *c, kn_object *out);
bool kn_call_expand(kn_call_site *c, kn_object *out);
bool kn_call_squeeze(kn_call_site *c, kn_object *out);
bool kn_call_flip(kn_call_site *c, kn_object *out);
bool kn_call_diagonal(kn_call_site *c, kn_object *out);
bool kn_call_triangle(kn_call_site *c, kn_object *out);
bool kn_call_moveaxis(kn_call_site *c, kn_object *out);
/* A shape: one size or a tuple of them. `hole`: -1 is allowed and becomes NULL. */
bool kn_call_shape(kn_call_site *c, const kn_object *v, bool hole, kn_dim *shape, int *rank);

/* join.c */
bool kn_call_join(kn_call_site *c, kn_object *out);
bool kn_call_pad(kn_call_site *c, kn_object *out);
bool kn_call_take(kn_call_site *c, kn_object *out);
bool kn_call_take_along(kn_call_site *c, kn_object *out);
bool kn_call_at_add(kn_call_site *c, kn_object *out);
bool kn_call_repeat(kn_call_site *c, kn_object *out);
bool kn_call_tile(kn_call_site *c, kn_object *out);
bool kn_call_roll(kn_call_site *c, kn_object *out);

/* make.c */
bool kn_call_arange(kn_call_site *c, kn_object *out);
bool kn_call_full(kn_call_site *c, kn_object *out);
bool kn_call_len(kn_call_site *c, kn_object *out);

/* random.c */
bool kn_call_random(kn_call_site *c, kn_object *out);
bool kn_call_bernoulli(kn_call_site *c, kn_object *out);
bool kn_call_dropout(kn_call_site *c, kn_object *out);

/* grad.c */
bool kn_call_vjp(kn_call_site *c, kn_object *out);
bool kn_call_grad(kn_call_site *c, kn_object *out);

#endif
