#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/guess.h"
#include "base/hash.h"
#include "frontend/missing.h"
#include "frontend/parse_impl.h"

void kn_parser_init(kn_parser *p, kn_graph *g, const char *text, const char *file, bool joined)
{
    *p = (kn_parser){.g = g, .arena = g->arena, .file = file ? file : "<text>"};
    kn_lex_start(&p->lex, p->arena, text, joined);
    p->used = p->lex.p;
    kn_lex_next(&p->lex, &p->tok);
}

/* ---- messages ---- */

enum { SHOWN = 100, BEFORE = 60 }; /* bytes of a long line, and of those in front of the caret */

bool kn_perror(kn_parser *p, kn_pos pos, kn_status status, const char *fmt, ...)
{
    kn_text t = kn_text_new(p->arena);
    kn_putf(&t, "%s:%d:%d: ", p->file, pos.line, pos.col);
    va_list ap;
    va_start(ap, fmt);
    kn_putv(&t, fmt, ap);
    va_end(ap);

    const char *from = pos.line_start, *to = pos.at;
    if (to - from > BEFORE)
        from = to - BEFORE;
    while (from < to && ((unsigned char)*from & 0xc0) == 0x80)
        from++;
    while (*to && *to != '\n' && *to != '\r' && to - from < SHOWN)
        to++;
    kn_put(&t, "\n    ");
    for (const char *s = from; s < to; s++)
        kn_putf(&t, "%c", (unsigned char)*s < 0x20 && *s != '\t' ? '?' : *s);
    kn_put(&t, "\n    ");
    for (const char *s = from; s < pos.at; s++)
        if (((unsigned char)*s & 0xc0) != 0x80)
            kn_putn(&t, *s == '\t' ? "\t" : " ", 1);
    kn_put(&t, "^");
    p->status = kn_fail(status, "%s", kn_text_str(&t));
    return false;
}

bool kn_pwrap(kn_parser *p, kn_pos pos)
{
    kn_status status = kn_last_status();
    const char *message = kn_strdup(p->arena, kn_last_error());
    return kn_perror(p, pos, status ? status : KN_INTERNAL, "%s", message);
}

const char *kn_tok_text(kn_parser *p, const kn_tok *tok)
{
    return kn_strndup(p->arena, tok->pos.at, tok->len);
}

bool kn_not_missing(kn_parser *p, const char *name, kn_pos pos)
{
    const char *advice = kn_missing_advice(name);
    return !advice || kn_perror(p, pos, KN_SYNTAX, "there is no '%s' here: %s", name, advice);
}

bool kn_pexpected(kn_parser *p, const char *what)
{
    const kn_tok *t = &p->tok;
    int n = t->len > 40 ? 40 : (int)t->len;
    const char *s = t->pos.at, *more = t->len > 40 ? "..." : "";
    switch (t->kind) {
    case KN_TOK_ERROR: return kn_perror(p, t->pos, KN_SYNTAX, "%s", t->u.error);
    case KN_TOK_END:
        return kn_perror(p, t->pos, KN_SYNTAX, "expected %s, found the end of the text", what);
    case KN_TOK_NEWLINE:
        return kn_perror(p, t->pos, KN_SYNTAX, "expected %s, found the end of the line", what);
    case KN_TOK_STRING: return kn_perror(p, t->pos, KN_SYNTAX, "expected %s, found a string", what);
    default:
        return kn_perror(p, t->pos, KN_SYNTAX, "expected %s, found '%.*s%s'", what, n, s, more);
    }
}

/* ---- tokens ---- */

void kn_advance(kn_parser *p)
{
    if (p->tok.kind == KN_TOK_ERROR) /* the lexer does not go on after one */
        return;
    p->used = p->tok.pos.at + p->tok.len;
    kn_lex_next(&p->lex, &p->tok);
}

kn_tok kn_peek(const kn_parser *p)
{
    kn_lexer ahead = p->lex;
    kn_tok tok;
    kn_lex_next(&ahead, &tok);
    return tok;
}

bool kn_at(const kn_parser *p, int kind) { return p->tok.kind == kind; }

bool kn_at_keyword(const kn_parser *p, const char *word)
{
    return kn_tok_is(&p->tok, KN_TOK_KEYWORD, word);
}

bool kn_accept(kn_parser *p, int kind)
{
    if (p->tok.kind != kind)
        return false;
    kn_advance(p);
    return true;
}

bool kn_expect(kn_parser *p, int kind, const char *what)
{
    return kn_accept(p, kind) || kn_pexpected(p, what);
}

kn_loc kn_loc_of(kn_pos pos) { return (kn_loc){pos.line, pos.col}; }

/* ---- variables ---- */

static uint64_t hash_name(const char *name) { return kn_hash(name, strlen(name), 0); }

kn_var *kn_var_find(kn_parser *p, const char *name)
{
    for (int i = -1; (i = kn_finder_next(&p->vars_by, hash_name(name), i)) >= 0;)
        if (strcmp(p->vars.data[i].name, name) == 0)
            return &p->vars.data[i];
    return NULL;
}

static void count_names(kn_parser *p, const kn_value *v, int change)
{
    if (v->kind == KN_V_NODE && v->store > 0)
        p->stores.data[v->store - 1].names += change;
    if (v->kind == KN_V_TUPLE)
        for (int i = 0; i < v->nitems; i++)
            if (v->items[i].kind == KN_V_NODE && v->items[i].store > 0)
                p->stores.data[v->items[i].store - 1].names += change;
}

static bool used_as_global(const kn_parser *p, const char *name)
{
    for (int i = 0; i < p->globals.len; i++)
        if (strcmp(p->globals.data[i], name) == 0)
            return true;
    return false;
}

bool kn_var_set(kn_parser *p, const char *name, kn_pos pos, kn_value v, bool param)
{
    if (strcmp(name, "np") == 0 || strcmp(name, "numpy") == 0)
        return kn_perror(p, pos, KN_SYNTAX, "'%s' means NumPy and cannot be another name", name);
    kn_var *var = kn_var_find(p, name);
    if (!var && used_as_global(p, name))
        return kn_perror(
            p, pos, KN_SYNTAX,
            "'%s' is used above with its meaning outside of the function; Python makes a "
            "name that is assigned local everywhere, so choose another one",
            name);
    kn_own_store(p, &v, param ? name : NULL, var ? &var->value : NULL);
    v.name = NULL;
    count_names(p, &v, 1);
    if (var) {
        count_names(p, &var->value, -1);
        var->value = v;
        var->param = param;
    } else {
        kn_push(p->arena, &p->vars, ((kn_var){.name = name, .value = v, .param = param}));
        kn_finder_add(p->arena, &p->vars_by, hash_name(name), p->vars.len - 1);
    }
    return true;
}

/* ---- unknown names ---- */

static void guess_functions(kn_guess *s)
{
    for (int i = 0; kn_function_name(i); i++)
        kn_guess_try(s, kn_function_name(i));
}

static bool unknown(kn_parser *p, kn_pos pos, const char *what, kn_guess *s)
{
    return kn_not_missing(p, s->wrong, pos) &&
           kn_perror(p, pos, KN_SYNTAX, "unknown %s '%.64s'%s", what, s->wrong, kn_guess_text(s));
}

bool kn_dtype_unknown(kn_parser *p, const char *name, kn_pos pos)
{
    kn_text t = kn_text_new(p->arena);
    for (int i = 0; i < KN_DTYPE_LIMIT; i++)
        if (kn_dtypes[i].text)
            kn_putf(&t, "%s%s", t.len ? ", " : "", kn_dtypes[i].text);
    return kn_perror(p, pos, KN_SYNTAX, "unknown type '%.64s'; the types are %s", name,
                     kn_text_str(&t));
}

bool kn_attribute_unknown(kn_parser *p, const char *name, kn_pos pos)
{
    static const char *const attributes[] = {"T", "shape", "ndim", "size", "dtype"};
    kn_function fn;
    if (kn_function_find(name, &fn) && fn.bare)
        return kn_perror(p, pos, KN_SYNTAX, "arrays have no method '%s'; write %s(x)", name, name);
    kn_guess s = kn_guess_new(name);
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        kn_guess_try(&s, attributes[i]);
    for (int i = 0; kn_function_name(i); i++)
        if (kn_function_find(kn_function_name(i), &fn) && fn.method)
            kn_guess_try(&s, kn_function_name(i));
    return unknown(p, pos, "attribute", &s);
}

/* ---- meanings ---- */

static const struct {
    const char *name;
    double value;
} constants[] = {{"inf", INFINITY}, {"nan", NAN}, {"pi", M_PI}, {"e", M_E}};

/* What is the same with np. in front and without. */
static bool common_value(kn_parser *p, const char *name, kn_pos pos, kn_value *out)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(constants[i].name, name) == 0) {
            *out = kn_node_value(kn_build_float(p->g, constants[i].value, kn_loc_of(pos)), pos);
            return true;
        }
    *out = (kn_value){.pos = pos};
    if (strcmp(name, "newaxis") == 0) {
        out->kind = KN_V_NONE;
        return true;
    }
    out->kind = KN_V_DTYPE;
    for (int i = 0; i < KN_DTYPE_LIMIT; i++)
        if (kn_dtypes[i].text && strcmp(kn_dtypes[i].numpy, name) == 0) {
            out->dtype = (kn_dtype)i;
            return true;
        }
    out->kind = KN_V_FUNCTION;
    return kn_function_find(name, &out->fn);
}

bool kn_numpy_value(kn_parser *p, const char *name, kn_pos pos, kn_value *out)
{
    if (common_value(p, name, pos, out) && (out->kind != KN_V_FUNCTION || out->fn.numpy)) {
        out->through_numpy = true;
        return true;
    }
    if (strcmp(name, "bool_") == 0) {
        *out = (kn_value){.kind = KN_V_DTYPE, .pos = pos, .dtype = KN_BOOL};
        return true;
    }
    if (strcmp(name, "linalg") == 0) {
        *out = (kn_value){.kind = KN_V_NUMPY, .pos = pos, .text = name};
        return true;
    }
    kn_dtype ours = kn_dtype_find(name, strlen(name));
    if (ours)
        return kn_perror(p, pos, KN_SYNTAX, "NumPy has no '%s'; write np.%s or %s", name,
                         kn_dtypes[ours].numpy, name);
    if (out->kind == KN_V_FUNCTION && out->fn.name && out->fn.bare)
        return kn_perror(p, pos, KN_SYNTAX, "NumPy has no '%s'; write %s(...) without np.", name,
                         name);
    kn_guess s = kn_guess_new(name);
    guess_functions(&s);
    return unknown(p, pos, "NumPy function", &s);
}

bool kn_name_value(kn_parser *p, const char *name, kn_pos pos, kn_value *out)
{
    const kn_var *var = kn_var_find(p, name);
    if (var) {
        *out = var->value;
        if (out->stale)
            return kn_perror(
                p, pos, KN_TYPE,
                "'%s' was reshaped from an array that has been assigned to since, or is a part of a "
                "complex one; it may or may not show that. Reshape again, or copy first",
                name);
        out->pos = pos;
        out->name = name;
        return true;
    }
    bool known = true;
    kn_dtype dtype = kn_dtype_find(name, strlen(name));
    if (kn_symbol_find(p->g->syms, name, strlen(name)) >= 0) {
        *out = (kn_value){.kind = KN_V_DIM, .pos = pos};
        out->dim = kn_dim_sym(p->g->syms, name, strlen(name));
    } else if (strcmp(name, "np") == 0 || strcmp(name, "numpy") == 0) {
        *out = (kn_value){.kind = KN_V_NUMPY, .pos = pos};
    } else if (strcmp(name, "float") == 0 || strcmp(name, "int") == 0 ||
               strcmp(name, "complex") == 0) {
        kn_dtype python = *name == 'f' ? KN_F64 : *name == 'i' ? KN_I64 : KN_C128;
        *out = (kn_value){.kind = KN_V_DTYPE, .pos = pos, .dtype = python};
    } else if (dtype) {
        *out = (kn_value){.kind = KN_V_DTYPE, .pos = pos, .dtype = dtype};
    } else {
        known = common_value(p, name, pos, out) && (out->kind != KN_V_FUNCTION || out->fn.bare);
    }
    if (known) {
        out->name = name;
        if (!used_as_global(p, name))
            kn_push(p->arena, &p->globals, name);
        return true;
    }
    kn_guess s = kn_guess_new(name);
    for (int i = 0; i < p->vars.len; i++)
        kn_guess_try(&s, p->vars.data[i].name);
    for (int i = 0; i < kn_symbols_count(p->g->syms); i++)
        if (kn_symbol_name(p->g->syms, i))
            kn_guess_try(&s, kn_symbol_name(p->g->syms, i));
    guess_functions(&s);
    return unknown(p, pos, "name", &s);
}

const char *kn_value_text(kn_parser *p, const kn_value *v)
{
    switch (v->kind) {
    case KN_V_NODE: {
        const char *type = kn_dtypes[v->node->dtype].text;
        if (v->node->weak)
            return kn_is_int(v->node->dtype)       ? "an integer"
                   : kn_is_complex(v->node->dtype) ? "a complex number"
                                                   : "a float";
        if (v->node->rank == 0)
            return kn_sprintf(p->arena, "a value of type %s", type);
        kn_text t = kn_text_new(p->arena);
        kn_putf(&t, "an array of type %s", type);
        kn_shape_print(&t, p->g->syms, v->node->shape, v->node->rank);
        return kn_text_str(&t);
    }
    case KN_V_DIM: return "a size";
    case KN_V_TUPLE: return v->list ? "a list" : "a tuple";
    case KN_V_DTYPE: return kn_sprintf(p->arena, "the type %s", kn_dtypes[v->dtype].text);
    case KN_V_STRING: return "a string";
    case KN_V_NONE: return "None";
    case KN_V_ELLIPSIS: return "'...'";
    case KN_V_NUMPY: return "the module NumPy";
    case KN_V_FUNCTION: return kn_sprintf(p->arena, "the function %s", v->fn.name);
    }
    return "a value";
}
