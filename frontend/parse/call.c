/* Calls: their arguments read, and one function for each kind of operation. */
#include <string.h>

#include "frontend/parse/calls.h"

/* ---- arguments ---- */

static bool parse_args(kn_call_site *c)
{
    kn_parser *p = c->p;
    kn_pos open = p->tok.pos;
    kn_advance(p);
    while (!kn_at(p, ')')) {
        kn_call_argument *a = KN_NEW(p->arena, kn_call_argument);
        a->pos = p->tok.pos;
        if (kn_at(p, '*') || kn_at(p, KN_TOK2('*', '*')))
            return kn_perror(p, a->pos, KN_SYNTAX, "unpacking of arguments is not supported");
        if (kn_at(p, KN_TOK_NAME) && kn_peek(p).kind == '=') {
            a->key = kn_tok_text(p, &p->tok);
            kn_advance(p);
            kn_advance(p);
        } else if (c->args.len > c->by_position) {
            return kn_perror(p, a->pos, KN_SYNTAX,
                             "an argument without a name follows one with a name");
        }
        if (!kn_expr(p, &a->value))
            return false;
        if (c->args.len == KN_MAX_ARGS)
            return kn_perror(p, a->pos, KN_SYNTAX, "a call has %d arguments at most", KN_MAX_ARGS);
        c->by_position += !a->key;
        kn_push(p->arena, &c->args, *a);
        if (!kn_accept(p, ','))
            break;
    }
    if (!kn_at(p, ')'))
        return kn_pexpected(
            p, kn_sprintf(p->arena, "',' or ')' to close the '(' at %d:%d", open.line, open.col));
    kn_advance(p);
    return true;
}

/* ---- one function a kind ---- */

/* Arguments are known by position, and by name where one may be left out. */
static bool call_elem(kn_call_site *c, kn_object *out)
{
    static const char *const decimals[] = {"a", "decimals"}, *const slope[] = {"x", "slope"};
    const kn_op op = c->fn->op;
    const char *const *names = op == KN_OP_ROUND ? decimals : op == KN_OP_LEAKY_RELU ? slope : NULL;
    const kn_object *slot[KN_CALL_SLOTS];
    kn_node *in[KN_MAX_IN];
    int arity = kn_ops[op].arity, n = 0;
    if (c->args.len > c->by_position && !names)
        return kn_perror(c->p, c->args.data[c->by_position].pos, KN_SYNTAX,
                         "%s has no argument '%s'", c->fn->name, c->args.data[c->by_position].key);
    if (!names && c->by_position != arity)
        return kn_call_wrong_count(c, arity, "");
    if (names && !kn_call_bind(c, names, arity, arity, kn_ops[op].least, slot))
        return false;
    for (; n < arity && (!names || slot[n]); n++)
        if (!kn_as_node(c->p, names ? slot[n] : &c->args.data[n].value, &in[n]))
            return false;
    kn_node *made = kn_build_elem(c->p->g, op, in, n, c->loc);
    bool python =
        !c->through_numpy && (strcmp(c->fn->name, "abs") == 0 || /* its built-in functions */
                              strcmp(c->fn->name, "pow") == 0);
    return kn_call_done(c, python ? made : kn_call_typed(c, made), KN_STORAGE_NEW, out);
}

/* Those that NumPy gives two results of. */
static bool call_pair(kn_call_site *c, kn_object *out)
{
    kn_callee half[2] = {*c->fn, *c->fn};
    kn_object *items = KN_NEW_ARRAY(c->p->arena, kn_object, 2);
    half[1].op = c->fn->op == KN_OP_FLOORDIV   ? KN_OP_MOD
                 : c->fn->op == KN_OP_FRACTION ? KN_OP_WHOLE
                                               : KN_OP_EXPONENT;
    for (int i = 0; i < 2; i++) {
        kn_call_site site = *c;
        site.fn = &half[i];
        items[i].pos = out->pos;
        if (!call_elem(&site, &items[i]))
            return false;
    }
    out->kind = KN_OBJECT_TUPLE;
    out->items = items;
    out->nitems = 2;
    return true;
}

/* The method conj() of a real array is the array itself, where the function makes an i8 of bool. */
static bool call_part(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"val"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_node *x;
    if (!kn_call_bind(c, names, 1, 1, 1, slot) || !kn_as_node(c->p, slot[0], &x))
        return false;
    bool itself = c->method && !kn_is_complex(x->dtype);
    if (c->fn->op == KN_OP_CONJ && !itself)
        return kn_call_done(c, kn_call_typed(c, kn_build_elem(c->p->g, KN_OP_CONJ, &x, 1, c->loc)),
                            KN_STORAGE_NEW, out);
    kn_object v = *slot[0];
    v.node = x;
    return kn_part_value(c->p, itself ? KN_OP_REAL : c->fn->op, &v, out) || kn_pwrap(c->p, c->pos);
}

static bool call_cast(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"x", "dtype"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_node *x;
    kn_dtype dtype;
    if (!kn_call_bind(c, names, 2, 2, 2, slot) || !kn_as_node(c->p, slot[0], &x) ||
        !kn_as_dtype(c->p, slot[1], &dtype))
        return false;
    return kn_call_done(c, kn_build_cast(c->p->g, x, dtype, c->loc), KN_STORAGE_NEW, out);
}

/* The value of an argument that may be left out, or None; NULL then. */
static bool optional_node(kn_call_site *c, const kn_object *v, kn_node **out)
{
    *out = NULL;
    return !v || v->kind == KN_OBJECT_NONE || kn_as_node(c->p, v, out);
}

static bool call_clip(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"a", "a_min", "a_max", "min", "max"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_node *x, *lo, *hi;
    if (!kn_call_bind(c, names, 5, 3, 1, slot))
        return false;
    if ((slot[1] || slot[2]) && (slot[3] || slot[4]))
        return kn_perror(c->p, c->pos, KN_SYNTAX, "clip: a_min and a_max, or min and max");
    if (!kn_as_node(c->p, slot[0], &x) || !optional_node(c, slot[1] ? slot[1] : slot[3], &lo) ||
        !optional_node(c, slot[2] ? slot[2] : slot[4], &hi))
        return false;
    kn_node *made = lo && hi
                        ? kn_build_elem(c->p->g, KN_OP_CLIP, (kn_node *[]){x, lo, hi}, 3, c->loc)
                        : kn_build_clip(c->p->g, x, lo, hi, c->loc);
    return kn_call_done(c, kn_call_typed(c, made), KN_STORAGE_NEW, out);
}

static bool call_nan_to_num(kn_call_site *c, kn_object *out)
{
    static const char *const names[] = {"x", "copy", "nan", "posinf", "neginf"};
    const kn_object *slot[KN_CALL_SLOTS];
    kn_node *x, *copy, *instead[KN_NOT_FINITE];
    if (!kn_call_bind(c, names, 5, 5, 1, slot) || !kn_as_node(c->p, slot[0], &x) ||
        !optional_node(c, slot[1], &copy))
        return false;
    if (copy && (copy->op != KN_OP_CONST || !copy->u.value.i))
        return kn_perror(
            c->p, slot[1]->pos, KN_TYPE,
            "nan_to_num: with copy=False x would change; write x[...] = nan_to_num(x)");
    for (int i = 0; i < KN_NOT_FINITE; i++)
        if (!optional_node(c, slot[2 + i], &instead[i]))
            return false;
    return kn_call_done(c, kn_build_nan_to_num(c->p->g, x, instead, c->loc), KN_STORAGE_NEW, out);
}

static bool (*const calls[KN_CALL_COUNT])(kn_call_site *, kn_object *) = {
    [KN_CALL_ELEM] = call_elem,
    [KN_CALL_CAST] = call_cast,
    [KN_CALL_CLIP] = call_clip,
    [KN_CALL_NAN_TO_NUM] = call_nan_to_num,
    [KN_CALL_PAIR] = call_pair,
    [KN_CALL_PART] = call_part,
    [KN_CALL_REDUCE] = kn_call_reduce,
    [KN_CALL_STD] = kn_call_reduce,
    [KN_CALL_PTP] = kn_call_reduce,
    [KN_CALL_COUNT_NONZERO] = kn_call_reduce,
    [KN_CALL_AVERAGE] = kn_call_reduce,
    [KN_CALL_NORM] = kn_call_reduce,
    [KN_CALL_LOGSUMEXP] = kn_call_reduce,
    [KN_CALL_SOFTMAX] = kn_call_reduce,
    [KN_CALL_DOT] = kn_call_dot,
    [KN_CALL_ARG] = kn_call_arg,
    [KN_CALL_FLIP] = kn_call_flip,
    [KN_CALL_DIAGONAL] = kn_call_diagonal,
    [KN_CALL_TRIANGLE] = kn_call_triangle,
    [KN_CALL_MOVEAXIS] = kn_call_moveaxis,
    [KN_CALL_JOIN] = kn_call_join,
    [KN_CALL_PAD] = kn_call_pad,
    [KN_CALL_TAKE] = kn_call_take,
    [KN_CALL_TAKE_ALONG] = kn_call_take_along,
    [KN_CALL_AT_ADD] = kn_call_at_add,
    [KN_CALL_REPEAT] = kn_call_repeat,
    [KN_CALL_TILE] = kn_call_tile,
    [KN_CALL_ROLL] = kn_call_roll,
    [KN_CALL_ARANGE] = kn_call_arange,
    [KN_CALL_FULL] = kn_call_full,
    [KN_CALL_LIKE] = kn_call_full,
    [KN_CALL_LEN] = kn_call_len,
    [KN_CALL_RANDOM] = kn_call_random,
    [KN_CALL_BERNOULLI] = kn_call_bernoulli,
    [KN_CALL_DROPOUT] = kn_call_dropout,
    [KN_CALL_VJP] = kn_call_vjp,
    [KN_CALL_GRAD] = kn_call_grad,
    [KN_CALL_RESHAPE] = kn_call_reshape,
    [KN_CALL_RAVEL] = kn_call_ravel,
    [KN_CALL_TRANSPOSE] = kn_call_transpose,
    [KN_CALL_SWAPAXES] = kn_call_swapaxes,
    [KN_CALL_BROADCAST] = kn_call_reshape,
    [KN_CALL_EXPAND] = kn_call_expand,
    [KN_CALL_SQUEEZE] = kn_call_squeeze,
};

/* Their calls make Python numbers, which have no value here. */
static bool python_type(const char *name)
{
    return name && (strcmp(name, "float") == 0 || strcmp(name, "int") == 0 ||
                    strcmp(name, "bool") == 0 || strcmp(name, "complex") == 0);
}

/* Of a call that does not name a type. */
static void note_wider(const kn_call_site *c, const kn_object *made)
{
    kn_object *operands = KN_NEW_ARRAY(c->p->arena, kn_object,
                                       c->args.len + 1); /* not on the stack of nested calls */
    bool dtype = c->fn->kind == KN_CALL_FULL || c->fn->kind == KN_CALL_ARANGE;
    const char *what =
        dtype ? kn_sprintf(c->p->arena, "%s without dtype=", c->fn->name) : c->fn->name;
    for (int i = 0; i < c->args.len; i++) {
        const kn_call_argument *a = &c->args.data[i];
        operands[i] = a->value;
        if (a->value.kind == KN_OBJECT_DTYPE || a->value.kind == KN_OBJECT_STRING ||
            (a->key && strcmp(a->key, "dtype") == 0))
            return;
    }
    kn_note_wider(c->p, what, c->pos, operands, c->args.len, made);
}

bool kn_parse_call(kn_parser *p, const kn_object *callee, kn_object *out)
{
    static const kn_callee conversion = {.name = "cast", .kind = KN_CALL_CAST, .op = KN_OP_CAST};
    kn_call_site *c = KN_NEW(p->arena, kn_call_site);
    *c = (kn_call_site){
        .p = p, .fn = &callee->fn, .pos = callee->pos, .loc = kn_loc_of(callee->pos)};
    if (callee->kind != KN_OBJECT_FUNCTION && callee->kind != KN_OBJECT_DTYPE) {
        if (callee->name)
            return kn_perror(p, callee->pos, KN_TYPE, "'%s' is %s here and cannot be called",
                             callee->name, kn_object_text(p, callee));
        return kn_perror(p, callee->pos, KN_TYPE, "%s cannot be called", kn_object_text(p, callee));
    }
    if (callee->kind == KN_OBJECT_DTYPE && python_type(callee->name))
        return kn_perror(p, c->pos, KN_SYNTAX, "%s() does not work on arrays; write cast(x, %s)",
                         callee->name, kn_dtypes[callee->dtype].text);
    c->through_numpy = callee->through_numpy;
    c->method = callee->kind == KN_OBJECT_FUNCTION && callee->node;
    if (c->method) {
        kn_object self = kn_node_value(callee->node, callee->pos);
        self.storage = callee->storage;
        self.readonly = callee->readonly;
        self.uncertain = callee->uncertain;
        kn_push(p->arena, &c->args, ((kn_call_argument){.pos = callee->pos, .value = self}));
        c->by_position = 1;
    }
    if (!parse_args(c))
        return false;
    *out = (kn_object){.pos = callee->pos};
    if (callee->kind == KN_OBJECT_FUNCTION) {
        if (!calls[callee->fn.kind](c, out))
            return false;
        note_wider(c, out);
        return true;
    }

    /* f32(x) */
    c->fn = &conversion;
    if (c->args.len != 1 || c->by_position != 1)
        return kn_perror(p, c->pos, KN_SYNTAX, "%s takes 1 argument",
                         kn_dtypes[callee->dtype].text);
    kn_node *x;
    if (!kn_as_node(p, &c->args.data[0].value, &x))
        return false;
    bool fits = !x->weak ||
                kn_build_need_number(p->g, kn_dtypes[callee->dtype].text, x, callee->dtype, c->loc);
    return kn_call_done(c, fits ? kn_build_cast(p->g, x, callee->dtype, c->loc) : NULL,
                        KN_STORAGE_NEW, out);
}
