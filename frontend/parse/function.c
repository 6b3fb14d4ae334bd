/* A function: its parameters and its body. */
#include <string.h>

#include "frontend/parse/parser.h"

/* ---- parameters ---- */

static bool annotation(kn_parser *p, kn_dtype *dtype)
{
    bool numpy = false;
    if (kn_tok_is(&p->tok, KN_TOK_NAME, "kiln") && kn_peek(p).kind == '.') {
        kn_advance(p);
        kn_advance(p);
    } else if (kn_tok_is(&p->tok, KN_TOK_NAME, "np") || kn_tok_is(&p->tok, KN_TOK_NAME, "numpy")) {
        kn_advance(p);
        numpy = true;
        if (!kn_expect(p, '.', "'.' and a type"))
            return false;
    }
    if (!kn_at(p, KN_TOK_NAME))
        return kn_pexpected(p, "a type such as f32 or f32[N, C]");
    kn_tok t = p->tok;
    *dtype = kn_dtype_find(t.pos.at, t.len);
    if (!*dtype || (numpy && !kn_tok_is(&t, KN_TOK_NAME, kn_dtypes[*dtype].numpy)))
        return kn_dtype_unknown(p, kn_tok_text(p, &t), t.pos);
    kn_advance(p);
    return true;
}

/* A number, as `dtype` can have it. */
static bool default_value(kn_parser *p, kn_dtype dtype, kn_scalar *out)
{
    kn_pos pos = p->tok.pos;
    kn_object v;
    if (!kn_expr(p, &v))
        return false;
    const kn_node *x = v.kind == KN_OBJECT_NODE ? v.node : NULL;
    if (!x || x->op != KN_OP_CONST)
        return kn_perror(p, pos, KN_SYNTAX, "a default must be a number, found %s",
                         kn_object_text(p, &v));
    *out = x->u.value;
    int from = kn_category(out->dtype), to = kn_category(dtype);
    if (from > to || (dtype == KN_BOOL && from != to))
        return kn_perror(p, pos, KN_TYPE, "a parameter of type %s cannot have %s as its default",
                         kn_dtypes[dtype].text, kn_object_text(p, &v));
    if (kn_is_int(dtype) && out->dtype != KN_BOOL && !kn_int_fits(*out, dtype))
        return kn_perror(p, pos, KN_TYPE, "%s is out of bounds for %s",
                         kn_build_int_text(p->g, *out), kn_dtypes[dtype].text);
    return true;
}

static bool parameter(kn_parser *p, bool *defaults)
{
    if (!kn_at(p, KN_TOK_NAME))
        return kn_pexpected(p, "a parameter's name");
    const char *name = kn_tok_text(p, &p->tok);
    kn_pos pos = p->tok.pos;
    kn_loc loc = kn_loc_of(pos);
    if (kn_var_find(p, name))
        return kn_perror(p, pos, KN_SYNTAX, "there are two parameters '%s'", name);
    if (p->g->inputs.len == KN_PARSE_MAX_PARAMS)
        return kn_perror(p, pos, KN_SYNTAX, "a function has %d parameters at most",
                         KN_PARSE_MAX_PARAMS);
    kn_advance(p);
    if (!kn_at(p, ':'))
        return kn_pexpected(
            p, kn_sprintf(p->arena, "':' and the type of '%.64s', as in x: f32[N, C]", name));
    kn_advance(p);

    kn_dtype dtype = KN_NO_DTYPE;
    kn_dim shape[KN_MAX_RANK];
    int rank = 0;
    if (!annotation(p, &dtype))
        return false;
    bool array = kn_at(p, '[');
    if (array && !kn_dims(p, shape, &rank))
        return false;
    kn_scalar dflt;
    bool has_default = kn_at(p, '=');
    if (has_default && array)
        return kn_perror(p, p->tok.pos, KN_SYNTAX, "only a 0-d value (%s alone) can have a default",
                         kn_dtypes[dtype].text);
    if (has_default) {
        kn_advance(p);
        if (!default_value(p, dtype, &dflt))
            return false;
    } else if (*defaults) {
        return kn_perror(p, pos, KN_SYNTAX,
                         "parameter '%s' has no default but follows one that has", name);
    }
    *defaults = has_default;
    kn_node *x = array ? kn_build_input(p->g, name, dtype, shape, rank, loc)
                       : kn_build_scalar(p->g, name, dtype, has_default ? &dflt : NULL, loc);
    if (!x)
        return kn_pwrap(p, pos);
    return kn_var_set(p, name, pos, kn_node_value(x, pos), true);
}

static bool parameters(kn_parser *p)
{
    bool defaults = false;
    if (!kn_expect(p, '(', "'(' after the function's name"))
        return false;
    while (!kn_at(p, ')')) {
        if (!parameter(p, &defaults))
            return false;
        if (!kn_accept(p, ','))
            break;
    }
    if (!kn_expect(p, ')', "',' or ')' after a parameter"))
        return false;
    for (int i = 0; i < p->vars.len; i++) {
        const kn_var *v = &p->vars.data[i];
        if (kn_symbol_find(p->g->syms, v->name, strlen(v->name)) >= 0)
            return kn_perror(p, v->value.pos, KN_SYNTAX,
                             "'%s' is both a parameter and a dimension; rename one", v->name);
    }
    return true;
}

/* ---- the body ---- */

static bool body(kn_parser *p)
{
    bool returned = false;
    if (!kn_accept(p, KN_TOK_NEWLINE)) {
        if (!kn_statements(p, &returned))
            return false;
    } else {
        kn_tok first = p->tok;
        size_t indent = kn_indentation(&first);
        if (kn_at(p, KN_TOK_END) || indent == 0)
            return kn_pexpected(p, "an indented line with the function's body");
        while (!kn_at(p, KN_TOK_END) && kn_indentation(&p->tok) > 0) {
            size_t n = kn_indentation(&p->tok);
            if (n != indent || memcmp(p->tok.pos.line_start, first.pos.line_start, n) != 0)
                return kn_perror(p, p->tok.pos, KN_SYNTAX,
                                 n > indent ? "unexpected indentation"
                                            : "this line is indented otherwise than the first one");
            if (!kn_statements(p, &returned))
                return false;
        }
    }
    if (kn_at(p, KN_TOK_ERROR))
        return kn_pexpected(p, "the end of the function");
    bool updated;
    if (!kn_updates(p, &updated))
        return false;
    if (!returned && !updated)
        return kn_perror(p, p->tok.pos, KN_SYNTAX, "the function has no return");
    return true;
}

/* ---- the whole ---- */

/* `-> anything` */
static bool result_annotation(kn_parser *p)
{
    if (!kn_accept(p, KN_TOK2('-', '>')))
        return true;
    for (int depth = 0; depth > 0 || !kn_at(p, ':'); kn_advance(p)) {
        if (kn_at(p, KN_TOK_ERROR) || kn_at(p, KN_TOK_NEWLINE) || kn_at(p, KN_TOK_END))
            return kn_pexpected(p, "':' after the function's result");
        depth += kn_at(p, '(') || kn_at(p, '[') || kn_at(p, '{');
        depth -= kn_at(p, ')') || kn_at(p, ']') || kn_at(p, '}');
    }
    return true;
}

bool kn_definition(kn_parser *p)
{
    kn_advance(p);
    if (!kn_at(p, KN_TOK_NAME))
        return kn_pexpected(p, "the function's name");
    p->g->name = kn_tok_text(p, &p->tok);
    kn_advance(p);
    return parameters(p) && result_annotation(p) && kn_expect(p, ':', "':' after the parameters") &&
           body(p);
}
