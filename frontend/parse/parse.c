#include "frontend/parse/parse.h"

#include <string.h>

#include "frontend/parse/parser.h"

static kn_status check_text(const char *text, const char *file)
{
    if (!text)
        return kn_fail(KN_ARGUMENT, "there is no text to parse");
    if (strnlen(text, KN_PARSE_MAX_TEXT + 1) > KN_PARSE_MAX_TEXT)
        return kn_fail(KN_SYNTAX, "%s:1:1: the text is longer than %d bytes",
                       file ? file : "<text>", KN_PARSE_MAX_TEXT);
    return KN_OK;
}

/* Its own copy of a text that places will be in. */
static const char *take_text(kn_graph *g, const char *text)
{
    const char *copy = kn_strdup(g->arena, text);
    if (g->texts++ == 0)
        g->source = copy;
    return copy;
}

kn_status kn_parse_named(kn_graph *g, const char *text, const char *file, const char *name)
{
    kn_parser p;
    KN_TRY(check_text(text, file));
    g->file = file ? kn_strdup(g->arena, file) : NULL;
    kn_parser_init(&p, g, take_text(g, text), g->file, false);
    return kn_module(&p, name) ? KN_OK : p.status;
}

kn_status kn_parse(kn_graph *g, const char *text, const char *file)
{
    return kn_parse_named(g, text, file, NULL);
}

kn_status kn_parse_expr(kn_graph *g, const char *text)
{
    kn_parser p;
    kn_object v;
    const char *file = g->file ? g->file : "expression";
    KN_TRY(check_text(text, file));
    kn_parser_init(&p, g, take_text(g, text), file, true);
    for (int i = 0; i < g->inputs.len; i++)
        if (!kn_var_set(&p, g->inputs.data[i].name, p.tok.pos,
                        kn_node_value(g->inputs.data[i].node, p.tok.pos), true))
            return p.status;
    if (!kn_expr_list(&p, &v))
        return p.status;
    if (!kn_at(&p, KN_TOK_END)) {
        kn_pexpected(&p, "an operator or the end of the text");
        return p.status;
    }
    kn_object *items = KN_NEW_ARRAY(g->arena, kn_object, v.kind == KN_OBJECT_TUPLE ? v.nitems : 1);
    int n = v.kind == KN_OBJECT_TUPLE ? v.nitems : 1;
    for (int i = 0; i < n; i++) {
        items[i] = v.kind == KN_OBJECT_TUPLE ? v.items[i] : v;
        items[i].name = NULL; /* these are out0, out1, ... whatever they are */
    }
    v = (kn_object){.kind = KN_OBJECT_TUPLE, .pos = v.pos, .items = items, .nitems = n};
    return kn_outputs(&p, &v) ? KN_OK : p.status;
}

kn_status kn_parse_value(kn_graph *g, const char *text, const char *const *names,
                         kn_node *const *values, int n, kn_node **out)
{
    kn_parser p;
    kn_object v;
    KN_TRY(check_text(text, "expression"));
    kn_parser_init(&p, g, take_text(g, text), "expression", true);
    for (int i = 0; i < n; i++) {
        KN_TRY(kn_build_check_name(names[i], "a value in an expression"));
        if (!kn_var_set(&p, kn_strdup(g->arena, names[i]), p.tok.pos,
                        kn_node_value(values[i], p.tok.pos), true))
            return p.status;
    }
    if (!kn_expr(&p, &v) ||
        (!kn_at(&p, KN_TOK_END) && !kn_pexpected(&p, "an operator or the end of the expression")) ||
        !kn_as_node(&p, &v, out))
        return p.status;
    return KN_OK;
}

/* *x becomes x[index]; its storage, whose base x is, is that of x. */
static bool take_slice(kn_parser *p, kn_graph *g, const char *index, kn_object *x)
{
    kn_parser_init(p, g, take_text(g, kn_sprintf(g->arena, "[%s]", index)), "index", true);
    x->pos = p->tok.pos;
    if (x->node->weak)
        return kn_perror(p, x->pos, KN_TYPE, "%s cannot be indexed", kn_object_text(p, x));
    kn_own_storage(p, x, NULL, NULL);
    const kn_subscripts *s = kn_subscripts_of(p);
    return s && (kn_at(p, KN_TOK_END) || kn_pexpected(p, "the end of the index")) &&
           kn_index(p, x, s);
}

kn_status kn_parse_slice(kn_graph *g, const char *index, kn_node *x, kn_node **out)
{
    kn_parser p;
    kn_object v = {.kind = KN_OBJECT_NODE, .node = x};
    KN_TRY(check_text(index, "index"));
    if (!take_slice(&p, g, index, &v))
        return p.status;
    *out = v.node;
    return KN_OK;
}

kn_status kn_parse_put(kn_graph *g, const char *index, kn_node *x, kn_node *v, kn_node **out)
{
    kn_parser p;
    kn_object target = {.kind = KN_OBJECT_NODE, .node = x};
    KN_TRY(check_text(index, "index"));
    if (!take_slice(&p, g, index, &target))
        return p.status;
    const kn_object value = kn_node_value(v, target.pos);
    if (!kn_assign_value(&p, &target, target.pos, &value))
        return p.status;
    *out = p.storages.data[target.storage - 1].base;
    return KN_OK;
}

kn_status kn_parse_constraint(kn_graph *g, const char *text)
{
    kn_parser p;
    kn_parser_init(&p, g, kn_strdup(g->arena, text), "constraint", true);
    kn_fact fact;
    bool evident;
    if (!kn_constraint(&p, &fact, &evident) ||
        (!kn_at(&p, KN_TOK_END) && !kn_pexpected(&p, "an operator or the end")))
        return p.status;
    if (!evident)
        kn_build_assume(g, fact.kind, fact.a, fact.b,
                        kn_sprintf(g->arena, "the program assumes %s", text), (kn_loc){0});
    return KN_OK;
}
