/* Statements: assignments to names, assertions about sizes, what is returned. */
#include "frontend/parse/parser.h"

typedef struct target {
    const char *name;
    kn_pos pos;
} target;

/* `a =`, `a, b =` or `(a, b) =`. False, nothing used up and no message when there is none. */
static bool targets(kn_parser *p, target *t, int *n, bool *tuple)
{
    kn_lexer back = p->lex;
    kn_tok tok = p->tok;
    bool open = kn_accept(p, '(');
    *n = 0;
    *tuple = false;
    while (kn_at(p, KN_TOK_NAME) && *n < KN_MAX_TUPLE) {
        t[(*n)++] = (target){kn_tok_text(p, &p->tok), p->tok.pos};
        kn_advance(p);
        if (!kn_accept(p, ','))
            break;
        *tuple = true;
    }
    if (*n > 0 && (!open || kn_accept(p, ')')) && kn_accept(p, '='))
        return true;
    p->lex = back;
    p->tok = tok;
    return false;
}

static bool assignment(kn_parser *p, const target *t, int n, bool tuple)
{
    target more[KN_MAX_TUPLE];
    int nmore;
    bool more_tuple;
    kn_object v;
    if (targets(p, more, &nmore, &more_tuple))
        return kn_perror(p, more[0].pos, KN_SYNTAX, "write one assignment a statement");
    if (!kn_expr_list(p, &v))
        return false;
    if (!tuple)
        return kn_set(p, t[0].name, t[0].pos, v);
    if (v.kind != KN_OBJECT_TUPLE)
        return kn_perror(p, v.pos, KN_TYPE, "expected %d values to assign, found %s", n,
                         kn_object_text(p, &v));
    if (v.nitems != n)
        return kn_perror(p, v.pos, KN_TYPE, "%d names are assigned %d values", n, v.nitems);
    for (int i = 0; i < n; i++)
        if (!kn_set(p, t[i].name, t[i].pos, v.items[i]))
            return false;
    return true;
}

static const kn_node *without_cast(const kn_node *x) { return x->op == KN_OP_CAST ? x->in[0] : x; }

/* The relation that a comparison is; `turned` when its sides change places. */
static bool relation_of(kn_op op, kn_fact_kind *kind, bool *turned)
{
    *turned = op == KN_OP_GT || op == KN_OP_GE;
    switch (op) {
    case KN_OP_EQ: *kind = KN_FACT_EQUAL; return true;
    case KN_OP_NE: *kind = KN_FACT_DIFFERS; return true;
    case KN_OP_LT:
    case KN_OP_GT: *kind = KN_FACT_LESS; return true;
    case KN_OP_LE:
    case KN_OP_GE: *kind = KN_FACT_AT_MOST; return true;
    default: return false;
    }
}

/* l % r == 0 */
static bool divisibility(kn_parser *p, const kn_node *l, kn_dim zero, kn_fact *fact)
{
    kn_symbols *s = p->g->syms;
    int64_t v;
    if (l->op != KN_OP_MOD || !zero || !kn_dim_is_const(s, zero, &v) || v != 0)
        return false;
    fact->a = kn_build_size(p->g, l->in[0]);
    fact->b = kn_build_size(p->g, l->in[1]);
    fact->kind = KN_FACT_DIVIDES;
    return fact->a && fact->b && (!kn_dim_is_const(s, fact->b, &v) || v > 0);
}

/* Is it V + P % 4, by which (V + P) % 4 is meant? Says so. */
static bool lacks_parentheses(kn_parser *p, kn_pos pos, const kn_node *l)
{
    const bool add = l->op == KN_OP_ADD;
    const kn_node *rest = add || l->op == KN_OP_SUB ? without_cast(l->in[1]) : l;
    if (rest == l || rest->op != KN_OP_MOD)
        return false;
    kn_symbols *s = p->g->syms;
    kn_dim first = kn_build_size(p->g, without_cast(l->in[0])),
           second = kn_build_size(p->g, rest->in[0]);
    kn_fact meant = {.kind = KN_FACT_DIVIDES, .b = kn_build_size(p->g, rest->in[1])};
    if (!first || !second || !meant.b)
        return false;
    meant.a = add ? kn_dim_add(s, first, second) : kn_dim_sub(s, first, second);
    if (!meant.a)
        return false;
    kn_text text = kn_text_new(p->g->arena);
    kn_fact_print(&text, s, &meant);
    kn_perror(p, pos, KN_SYNTAX, "'%%' comes before '%s'; write %s", add ? "+" : "-",
              kn_text_str(&text));
    return true;
}

bool kn_constraint(kn_parser *p, kn_fact *fact, bool *evident)
{
    kn_symbols *s = p->g->syms;
    kn_object v;
    int64_t va, vb;
    bool turned;
    *fact = (kn_fact){0};
    *evident = false;
    if (!kn_expr(p, &v))
        return false;
    const kn_node *x = v.kind == KN_OBJECT_NODE ? v.node : NULL;
    if (x && x->rank == 0 && relation_of(x->op, &fact->kind, &turned)) {
        const kn_node *l = without_cast(x->in[turned]), *r = without_cast(x->in[!turned]);
        fact->a = kn_build_size(p->g, l);
        fact->b = kn_build_size(p->g, r);
        if (fact->a && fact->b && kn_dim_is_const(s, fact->a, &va) &&
            kn_dim_is_const(s, fact->b, &vb)) {
            *evident = kn_fact_holds(fact->kind, va, vb);
            return *evident || kn_perror(p, v.pos, KN_SHAPE, "this is never true: %lld and %lld",
                                         (long long)va, (long long)vb);
        }
        if ((fact->a && fact->b) ||
            (fact->kind == KN_FACT_EQUAL && divisibility(p, l, fact->b, fact)))
            return true;
        if (fact->kind == KN_FACT_EQUAL && fact->b && kn_dim_is_const(s, fact->b, &vb) && vb == 0 &&
            lacks_parentheses(p, v.pos, l))
            return false;
    }
    return kn_perror(p, v.pos, KN_SYNTAX,
                     "expected a constraint on sizes: C %% 4 == 0, N == 2*M, or C <= 1024");
}

/* assert C % 4 == 0, "why" */
static bool assertion(kn_parser *p)
{
    kn_pos pos = p->tok.pos;
    kn_object message;
    kn_fact fact;
    bool evident;
    kn_advance(p);
    if (!kn_constraint(p, &fact, &evident) || (kn_accept(p, ',') && !kn_expr(p, &message)))
        return false;
    const char *said = kn_sprintf(p->g->arena, "%s:%d:%d: %.*s", p->file, pos.line, pos.col,
                                  (int)(p->used - pos.at), pos.at);
    if (!evident)
        kn_build_assume(p->g, fact.kind, fact.a, fact.b, said, kn_loc_of(pos));
    return true;
}

static bool name_taken(const kn_graph *g, const char *name)
{
    return kn_graph_find_output(g, name) >= 0 || kn_graph_find_input(g, name) >= 0;
}

bool kn_outputs(kn_parser *p, const kn_object *v)
{
    const kn_object *items = v->kind == KN_OBJECT_TUPLE ? v->items : v;
    int n = v->kind == KN_OBJECT_TUPLE ? v->nitems : 1;
    if (n == 0)
        return kn_perror(p, v->pos, KN_SYNTAX, "expected at least one value, found an empty tuple");
    for (int i = 0; i < n; i++) {
        const char *name = items[i].name;
        kn_node *x;
        if (kn_updated_param(p, &items[i])) /* it is the output already */
            continue;
        if (!kn_as_node(p, &items[i], &x))
            return false;
        for (int k = i; !name || name_taken(p->g, name); k++)
            name = kn_sprintf(p->arena, "out%d", k);
        if (kn_build_output(p->g, name, x, kn_loc_of(items[i].pos)) != KN_OK)
            return kn_pwrap(p, items[i].pos);
    }
    return true;
}

static bool statement(kn_parser *p, bool *returned)
{
    kn_pos pos = p->tok.pos;
    target t[KN_MAX_TUPLE];
    int n;
    bool tuple;
    kn_object v;
    if (*returned)
        return kn_perror(p, pos, KN_SYNTAX, "nothing can follow return");
    if (kn_at(p, KN_TOK_STRING) || kn_at_keyword(p, "pass")) {
        kn_advance(p);
        return true;
    }
    if (kn_at_keyword(p, "return")) {
        kn_advance(p);
        *returned = true;
        if (kn_at(p, KN_TOK_NEWLINE) || kn_at(p, ';'))
            return kn_pexpected(p, "a value to return");
        return kn_expr_list(p, &v) && kn_outputs(p, &v);
    }
    if (kn_at_keyword(p, "assert"))
        return assertion(p);
    if (kn_at(p, KN_TOK_NAME) && kn_augmented_op(kn_peek(p).kind))
        return kn_assign_augmented(p);
    if (targets(p, t, &n, &tuple))
        return assignment(p, t, n, tuple);
    if (kn_at(p, KN_TOK_NAME) && kn_peek(p).kind == ':') {
        kn_advance(p);
        return kn_perror(p, p->tok.pos, KN_SYNTAX, "only parameters have a type; write %s = ...",
                         kn_strndup(p->arena, pos.at, (size_t)(p->tok.pos.at - pos.at)));
    } else if (kn_at(p, KN_TOK_NAME)) {
        if (!kn_expr_list(p, &v))
            return false;
        if (kn_at(p, '=') || kn_augmented_op(p->tok.kind))
            return kn_assign_elements(p, &v);
        if (!kn_at(p, KN_TOK_NEWLINE) && !kn_at(p, ';'))
            return kn_pexpected(p, "an operator or the end of the line");
        return kn_perror(p, pos, KN_SYNTAX,
                         "this value is not used; expected an assignment, assert or return");
    }
    if (kn_at(p, KN_TOK_KEYWORD) && !kn_not_missing(p, kn_tok_text(p, &p->tok), pos))
        return false;
    return kn_pexpected(p, "an assignment, assert or return");
}

bool kn_statements(kn_parser *p, bool *returned)
{
    do {
        if (!statement(p, returned))
            return false;
    } while (kn_accept(p, ';') && !kn_at(p, KN_TOK_NEWLINE));
    return kn_expect(p, KN_TOK_NEWLINE, "an operator or the end of the line");
}
