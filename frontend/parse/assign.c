/* Assignments: `x += v`, `x[1:-1] = v`, `x[0] *= v`. */
#include "frontend/parse/missing.h"
#include "frontend/parse/parser.h"

int kn_augmented_op(int tok)
{
    switch (tok) {
    case KN_TOK2('+', '='): return '+';
    case KN_TOK2('-', '='): return '-';
    case KN_TOK2('*', '='): return '*';
    case KN_TOK2('/', '='): return '/';
    case KN_TOK2('%', '='): return '%';
    case KN_TOK2('&', '='): return '&';
    case KN_TOK2('|', '='): return '|';
    case KN_TOK2('^', '='): return '^';
    case KN_TOK2('@', '='): return '@';
    case KN_TOK3('/', '/', '='): return KN_TOK2('/', '/');
    case KN_TOK3('*', '*', '='): return KN_TOK2('*', '*');
    case KN_TOK3('<', '<', '='): return KN_TOK2('<', '<');
    case KN_TOK3('>', '>', '='): return KN_TOK2('>', '>');
    default: return 0;
    }
}

/* Can v be assigned to elements of type t? NumPy casts all but Python numbers that do not fit. */
static bool can_assign(kn_parser *p, kn_pos pos, const kn_node *v, kn_dtype t)
{
    return !v->weak || kn_build_need_number(p->g, "assignment", v, t, kn_loc_of(pos)) ||
           kn_pwrap(p, pos);
}

/* v as an array that broadcasts to `to`: NumPy drops leading axes of size 1. */
static kn_node *fitted(kn_parser *p, kn_node *v, const kn_node *to, kn_loc loc)
{
    int more = v->rank - to->rank;
    bool ones = more > 0;
    for (int i = 0; i < more; i++)
        ones = ones && kn_dim_is_one(p->g->syms, v->shape[i]);
    if (ones)
        v = kn_build_reshape(p->g, v, v->shape + more, to->rank, loc);
    return v && kn_build_broadcast_to(p->g, v, to->shape, to->rank, loc) ? v : NULL;
}

/* The elements that `target` shows become v. */
static bool put(kn_parser *p, const kn_object *target, kn_pos pos, kn_node *v)
{
    kn_storage *s = &p->storages.data[target->storage - 1];
    kn_loc loc = kn_loc_of(pos);
    if (s->readonly || target->readonly)
        return kn_perror(p, pos, KN_SHAPE,
                         "what broadcast_to and diagonal give is read-only, and so are the "
                         "parts of a complex array and what a computed index shows");
    if (target->uncertain)
        return kn_perror(p, pos, KN_SHAPE,
                         "whether ravel gives a view of the same memory depends on strides; assign "
                         "to the array itself");
    v = kn_build_cast(p->g, v, target->node->dtype, loc);
    if (v && v->rank && target->scalar)
        return kn_perror(p, pos, KN_SHAPE,
                         "an element is assigned one number, not an array of rank %d", v->rank);
    v = v ? fitted(p, v, target->node, loc) : NULL;
    kn_node *base = v ? kn_build_put(p->g, s->base, target->node, v, loc) : NULL;
    if (!base)
        return kn_pwrap(p, pos);
    kn_storage_set(p, target->storage, base);
    return true;
}

/* NumPy's kinds, in the order in which one can be cast to the next in place. */
static int kind_of(kn_dtype t) { return 2 * kn_category(t) - kn_is_unsigned(t); }

/* `result`, of target op value, may be written over target: NumPy keeps its type and shape. */
static bool check_in_place(kn_parser *p, const kn_object *target, const kn_object *result,
                           kn_pos pos)
{
    const kn_node *old = target->node, *made = result->node;
    bool same = made->rank == old->rank;
    for (int i = 0; same && i < old->rank; i++)
        same = kn_dim_equal(p->g->syms, made->shape[i], old->shape[i]);
    if (!same)
        return kn_perror(p, pos, KN_SHAPE, "in-place update: the result is %s, but it goes to %s",
                         kn_object_text(p, result), kn_object_text(p, target));
    if (kind_of(made->dtype) > kind_of(old->dtype))
        return kn_perror(
            p, pos, KN_TYPE,
            "in-place update: the result is of type %s, but %s stays %s; write x = x ...",
            kn_dtypes[made->dtype].text, kn_object_text(p, target), kn_dtypes[old->dtype].text);
    return true;
}

bool kn_assign_value(kn_parser *p, const kn_object *target, kn_pos pos, const kn_object *v)
{
    kn_node *x;
    return kn_as_node(p, v, &x) && can_assign(p, v->pos, x, target->node->dtype) &&
           put(p, target, pos, x);
}

bool kn_assign_elements(kn_parser *p, const kn_object *target)
{
    kn_pos pos = p->tok.pos;
    int op = kn_augmented_op(p->tok.kind);
    bool indexed = p->used[-1] == ']';
    kn_object v;
    bool stored = target->kind == KN_OBJECT_NODE && target->storage > 0;
    if (indexed && !stored && target->kind == KN_OBJECT_NODE &&
        kn_view_root(target->node)->op == KN_OP_TAKE)
        return kn_perror(p, target->pos, KN_SYNTAX,
                         "elements at computed indices cannot be assigned to: %s",
                         kn_missing_advice("put"));
    if (!indexed || !stored)
        return kn_perror(p, target->pos, KN_SYNTAX,
                         "only names and elements of a named array can be assigned to");
    kn_advance(p);
    if (!kn_expr_list(p, &v))
        return false;
    if (kn_at(p, '='))
        return kn_perror(p, p->tok.pos, KN_SYNTAX, "write one assignment a statement");
    if (op) {
        kn_object result;
        if (!kn_parse_binary(p, op, pos, target, &v, &result) ||
            (!target->scalar && !check_in_place(p, target, &result, pos)))
            return false;
        v = result;
    }
    return kn_assign_value(p, target, pos, &v);
}

bool kn_assign_augmented(kn_parser *p)
{
    const char *name = kn_tok_text(p, &p->tok);
    kn_pos start = p->tok.pos;
    kn_object old, right, result;
    if (!kn_var_find(p, name))
        return kn_perror(p, start, KN_SYNTAX, "'%s' is no local name yet; assign to it first",
                         name);
    kn_advance(p);
    kn_pos pos = p->tok.pos;
    int op = kn_augmented_op(p->tok.kind);
    if (!kn_name_value(p, name, start, &old))
        return false;
    kn_advance(p);
    if (!kn_expr_list(p, &right) || !kn_parse_binary(p, op, pos, &old, &right, &result))
        return false;
    result.pos = start;
    bool number = old.kind != KN_OBJECT_NODE || old.node->weak ||
                  (old.node->rank == 0 && !p->storages.data[old.storage - 1].param);
    if (number) /* Python makes a new one */
        return kn_set(p, name, start, result);
    if (!check_in_place(p, &old, &result, pos) || !put(p, &old, pos, result.node))
        return false;
    kn_build_name(p->g, kn_var_find(p, name)->value.node, name);
    return true;
}
