/* Expressions: atoms, what is written behind them, and operators by precedence. */
#include "frontend/parse/missing.h"
#include "frontend/parse/parser.h"

/* ---- operators ---- */

enum { PREC_COMPARE, PREC_OR, PREC_XOR, PREC_AND, PREC_SHIFT, PREC_SUM, PREC_PRODUCT };

static const struct binary {
    int tok, prec;
    kn_op op; /* KN_OP_COUNT: not supported */
} binaries[] = {
    {'<', PREC_COMPARE, KN_OP_LT},
    {KN_TOK2('<', '='), PREC_COMPARE, KN_OP_LE},
    {'>', PREC_COMPARE, KN_OP_GT},
    {KN_TOK2('>', '='), PREC_COMPARE, KN_OP_GE},
    {KN_TOK2('=', '='), PREC_COMPARE, KN_OP_EQ},
    {KN_TOK2('!', '='), PREC_COMPARE, KN_OP_NE},
    {'|', PREC_OR, KN_OP_BITOR},
    {'^', PREC_XOR, KN_OP_BITXOR},
    {'&', PREC_AND, KN_OP_BITAND},
    {KN_TOK2('<', '<'), PREC_SHIFT, KN_OP_SHL},
    {KN_TOK2('>', '>'), PREC_SHIFT, KN_OP_SHR},
    {'+', PREC_SUM, KN_OP_ADD},
    {'-', PREC_SUM, KN_OP_SUB},
    {'*', PREC_PRODUCT, KN_OP_MUL},
    {'/', PREC_PRODUCT, KN_OP_DIV},
    {KN_TOK2('/', '/'), PREC_PRODUCT, KN_OP_FLOORDIV},
    {'%', PREC_PRODUCT, KN_OP_MOD},
    {'@', PREC_PRODUCT, KN_OP_COUNT},
    {KN_TOK2('*', '*'), PREC_PRODUCT + 1, KN_OP_POW}, /* used up by unary() */
};

static const struct binary *find_binary(int tok)
{
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        if (binaries[i].tok == tok)
            return &binaries[i];
    return NULL;
}

static bool concatenate(kn_parser *p, kn_pos pos, const kn_object *l, const kn_object *r,
                        kn_object *out)
{
    int n = l->nitems + r->nitems;
    if (n > KN_MAX_TUPLE)
        return kn_perror(p, pos, KN_SYNTAX, "a tuple has %d items at most", KN_MAX_TUPLE);
    kn_object *items = KN_NEW_ARRAY(p->arena, kn_object, n);
    for (int i = 0; i < n; i++)
        items[i] = i < l->nitems ? l->items[i] : r->items[i - l->nitems];
    *out = (kn_object){.kind = KN_OBJECT_TUPLE, .pos = l->pos, .items = items, .nitems = n};
    out->list = l->list;
    return true;
}

bool kn_parse_binary(kn_parser *p, int tok, kn_pos pos, const kn_object *l, const kn_object *r,
                     kn_object *out)
{
    const struct binary *b = find_binary(tok);
    kn_node *in[2];
    if (l->kind == KN_OBJECT_TUPLE && r->kind == KN_OBJECT_TUPLE && tok == '+' &&
        l->list == r->list)
        return concatenate(p, pos, l, r, out);
    if (!kn_as_node(p, l, &in[0]) || !kn_as_node(p, r, &in[1]))
        return false;
    if (tok == '@') {
        kn_node *product = NULL;
        if (in[0]->rank == 1 && in[1]->rank == 1)
            product = kn_build_dot(p->g, in[0], in[1], false, kn_loc_of(pos));
        else
            kn_fail(KN_SHAPE, "'@' is of two vectors here: %s", kn_missing_advice("matmul"));
        *out = kn_node_value(product, l->pos);
        return product || kn_pwrap(p, pos);
    }
    const kn_object operands[] = {*l, *r};
    const char sign[] = {(char)tok, (char)(tok >> 8), '\0'};
    kn_pos start = l->pos;
    kn_node *made = kn_build_elem(p->g, b->op, in, 2, kn_loc_of(pos));
    if (!made)
        return kn_pwrap(p, pos);
    *out = kn_node_value(made, start);
    kn_note_wider(p, sign, pos, operands, 2, out);
    return true;
}

static bool unary_op(kn_parser *p, int tok, kn_pos pos, const kn_object *v, kn_object *out)
{
    kn_node *x, *made;
    if (!kn_as_node(p, v, &x))
        return false;
    kn_loc loc = kn_loc_of(pos);
    bool number = x->op == KN_OP_CONST && x->weak; /* folded: -1 is a number, not an operation */
    if (tok == '+') {
        if (x->dtype == KN_BOOL)
            return kn_perror(p, pos, KN_TYPE, "unary '+' of bool is not supported");
        made = x;
    } else if (tok == '~') {
        made = kn_build_elem(p->g, KN_OP_INVERT, &x, 1, loc);
    } else if (number && x->dtype == KN_U64 && x->u.value.i == INT64_MIN) { /* 2^63 */
        made = kn_build_int(p->g, INT64_MIN, loc);
    } else if (number && x->dtype == KN_I64 && x->u.value.i != INT64_MIN) {
        made = kn_build_int(p->g, -x->u.value.i, loc);
    } else if (number && x->dtype == KN_F64) {
        made = kn_build_float(p->g, -x->u.value.f, loc);
    } else {
        made = kn_build_elem(p->g, KN_OP_NEG, &x, 1, loc);
    }
    if (!made)
        return kn_pwrap(p, pos);
    *out = kn_node_value(made, pos);
    return true;
}

/* ---- the grammar ---- */

/* Functions between kn_expr() and itself hold values in the arena: 200 of them nest in 64 kB of stack. */

/* Items up to `close`, which is used; a comma makes it a tuple. */
static bool items_until(kn_parser *p, int close, kn_object *out)
{
    KN_VEC(kn_object) items = {0};
    kn_pos open = p->tok.pos;
    bool comma = false;
    kn_advance(p);
    while (!kn_at(p, close)) {
        kn_object *v = KN_NEW(p->arena, kn_object);
        if (!kn_expr(p, v))
            return false;
        if (items.len == KN_MAX_TUPLE)
            return kn_perror(p, v->pos, KN_SYNTAX, "a tuple has %d items at most", KN_MAX_TUPLE);
        kn_push(p->arena, &items, *v);
        if (!kn_accept(p, ','))
            break;
        comma = true;
    }
    if (!kn_at(p, close))
        return kn_pexpected(p, kn_sprintf(p->arena, "',' or '%c' to close the '%c' at %d:%d", close,
                                          *open.at, open.line, open.col));
    kn_advance(p);
    if (close == ')' && items.len == 1 && !comma) {
        *out = items.data[0];
        return true;
    }
    *out =
        (kn_object){.kind = KN_OBJECT_TUPLE, .pos = open, .items = items.data, .nitems = items.len};
    out->list = close == ']';
    return true;
}

static bool atom(kn_parser *p, kn_object *out)
{
    kn_tok t = p->tok;
    kn_loc loc = kn_loc_of(t.pos);
    *out = (kn_object){.pos = t.pos};
    switch (t.kind) {
    case '(': return items_until(p, ')', out);
    case '[': return items_until(p, ']', out);
    case KN_TOK_NAME: kn_advance(p); return kn_name_value(p, kn_tok_text(p, &t), t.pos, out);
    case KN_TOK_INT: *out = kn_node_value(kn_build_uint(p->g, (uint64_t)t.u.i, loc), t.pos); break;
    case KN_TOK_FLOAT: *out = kn_node_value(kn_build_float(p->g, t.u.f, loc), t.pos); break;
    case KN_TOK_IMAGINARY:
        *out = kn_node_value(kn_build_complex_number(p->g, 0, t.u.f, loc), t.pos);
        break;
    case KN_TOK3('.', '.', '.'): out->kind = KN_OBJECT_ELLIPSIS; break;
    case KN_TOK_STRING:
        out->kind = KN_OBJECT_STRING;
        out->text = kn_strndup(p->arena, t.pos.at + 1, t.len - 2);
        break;
    case KN_TOK_KEYWORD:
        if (kn_at_keyword(p, "True") || kn_at_keyword(p, "False"))
            *out = kn_node_value(kn_build_bool(p->g, *t.pos.at == 'T', loc), t.pos);
        else if (kn_at_keyword(p, "None"))
            out->kind = KN_OBJECT_NONE;
        else if (kn_at_keyword(p, "not"))
            return kn_perror(p, t.pos, KN_SYNTAX,
                             "'not' does not work on arrays; write logical_not(x) or ~x");
        else
            return kn_not_missing(p, kn_tok_text(p, &t), t.pos) && kn_pexpected(p, "an expression");
        break;
    default: return kn_pexpected(p, "an expression");
    }
    kn_advance(p);
    return true;
}

static bool postfix(kn_parser *p, kn_object *v)
{
    if (!atom(p, v))
        return false;
    for (;;) {
        if (kn_at(p, '(')) {
            kn_object *callee = KN_NEW(p->arena, kn_object);
            *callee = *v;
            if (!kn_parse_call(p, callee, v))
                return false;
        } else if (kn_at(p, '[')) {
            const kn_subscripts *s = kn_subscripts_of(p);
            if (!s || !kn_index(p, v, s))
                return false;
        } else if (kn_at(p, '.')) {
            if (!kn_attribute(p, v))
                return false;
        } else {
            return true;
        }
    }
}

/* Every way to nest expressions comes through here, so the depth is counted here. */
static bool unary(kn_parser *p, kn_object *out)
{
    kn_pos pos = p->tok.pos;
    int kind = p->tok.kind;
    if (++p->depth > KN_PARSE_MAX_DEPTH)
        return kn_perror(p, pos, KN_SYNTAX, "expressions are nested more than %d deep",
                         KN_PARSE_MAX_DEPTH);
    if (kind == '-' || kind == '+' || kind == '~') {
        kn_object *v = KN_NEW(p->arena, kn_object);
        kn_advance(p);
        if (!unary(p, v) || !unary_op(p, kind, pos, v, out))
            return false;
    } else {
        if (!postfix(p, out))
            return false;
        pos = p->tok.pos;
        if (kn_at(p, KN_TOK2('*',
                             '*'))) { /* binds tighter than a sign on its left, not on its right */
            kn_object *side = KN_NEW_ARRAY(p->arena, kn_object, 2);
            side[0] = *out;
            kn_advance(p);
            if (!unary(p, &side[1]) ||
                !kn_parse_binary(p, KN_TOK2('*', '*'), pos, &side[0], &side[1], out))
                return false;
        }
    }
    p->depth--;
    return true;
}

/* An operator whose right side is not there yet. */
typedef struct pending {
    const struct binary *op;
    kn_pos pos;
    kn_object left;
} pending;

/* By precedence, with what waits for its right side in a list. Only comparisons bind less than all others, so one that
 * waits is the first. */
static bool binary(kn_parser *p, kn_object *out)
{
    KN_VEC(pending) waiting = {0};
    for (;;) {
        if (!unary(p, out))
            return false;
        const struct binary *b = find_binary(p->tok.kind);
        for (; waiting.len; waiting.len--) {
            pending *last = &waiting.data[waiting.len - 1];
            if (b && b->prec > last->op->prec)
                break;
            if (b && b->prec == PREC_COMPARE && last->op->prec == PREC_COMPARE)
                return kn_perror(p, p->tok.pos, KN_SYNTAX,
                                 "chained comparisons do not work on arrays; write "
                                 "logical_and(a < b, b < c)");
            kn_object *right = KN_NEW(p->arena, kn_object);
            *right = *out;
            if (!kn_parse_binary(p, last->op->tok, last->pos, &last->left, right, out))
                return false;
        }
        if (!b)
            return true;
        kn_push(p->arena, &waiting, ((pending){b, p->tok.pos, *out}));
        kn_advance(p);
    }
}

bool kn_expr(kn_parser *p, kn_object *out)
{
    if (!binary(p, out))
        return false;
    kn_pos pos = p->tok.pos;
    if (kn_at_keyword(p, "and") || kn_at_keyword(p, "or"))
        return kn_perror(p, pos, KN_SYNTAX, "'%s' does not work on arrays; write logical_%s(a, b)",
                         kn_tok_text(p, &p->tok), kn_tok_text(p, &p->tok));
    if (kn_at_keyword(p, "if"))
        return kn_perror(p, pos, KN_SYNTAX,
                         "'x if c else y' does not work on arrays; write "
                         "where(c, x, y)");
    if (kn_at_keyword(p, "for"))
        return kn_not_missing(p, "for", pos);
    if (kn_at_keyword(p, "in") || kn_at_keyword(p, "is") || kn_at_keyword(p, "not") ||
        kn_at(p, KN_TOK2(':', '=')))
        return kn_perror(p, pos, KN_SYNTAX, "'%s' is not part of the text form",
                         kn_tok_text(p, &p->tok));
    return true;
}

bool kn_expr_list(kn_parser *p, kn_object *out)
{
    kn_object first;
    if (!kn_expr(p, &first))
        return false;
    *out = first;
    if (!kn_at(p, ','))
        return true;
    KN_VEC(kn_object) items = {0};
    kn_push(p->arena, &items, first);
    while (kn_accept(p, ',')) {
        if (kn_at(p, KN_TOK_NEWLINE) || kn_at(p, KN_TOK_END) || kn_at(p, ';') || kn_at(p, '='))
            break;
        kn_object v;
        if (!kn_expr(p, &v))
            return false;
        if (items.len == KN_MAX_TUPLE)
            return kn_perror(p, v.pos, KN_SYNTAX, "a tuple has %d items at most", KN_MAX_TUPLE);
        kn_push(p->arena, &items, v);
    }
    *out = (kn_object){
        .kind = KN_OBJECT_TUPLE, .pos = first.pos, .items = items.data, .nitems = items.len};
    return true;
}
