/* A text: imports and functions. One function is parsed; the others need only be valid tokens. */
#include <string.h>

#include "base/guess.h"
#include "base/hash.h"
#include "frontend/parse/parser.h"

typedef struct defined {
    const char *name;
    kn_pos pos;
} defined;

typedef struct definitions {
    KN_VEC(defined) list;
    kn_finder by; /* name */
    bool whole;   /* of all the text: there may be no more */
} definitions;

static int find(const definitions *d, const char *name)
{
    int i = -1;
    while ((i = kn_finder_next(&d->by, kn_hash(name, strlen(name), 0), i)) >= 0 &&
           strcmp(d->list.data[i].name, name) != 0) {
    }
    return i;
}

static bool at_line_between(const kn_parser *p)
{
    return kn_at_keyword(p, "import") || kn_at_keyword(p, "from") || kn_at(p, KN_TOK_STRING);
}

static bool skip_line(kn_parser *p)
{
    while (!kn_at(p, KN_TOK_NEWLINE) && !kn_at(p, KN_TOK_END)) {
        if (kn_at(p, KN_TOK_ERROR))
            return kn_pexpected(p, "the end of the line");
        kn_advance(p);
    }
    kn_accept(p, KN_TOK_NEWLINE);
    return true;
}

static bool skip_function(kn_parser *p)
{
    do {
        if (!skip_line(p))
            return false;
    } while (!kn_at(p, KN_TOK_END) && kn_indentation(&p->tok) > 0);
    return true;
}

static bool define(kn_parser *p, definitions *d, const kn_tok *name)
{
    const char *text = kn_tok_text(p, name);
    if (find(d, text) >= 0)
        return kn_perror(p, name->pos, KN_SYNTAX, "there are two functions '%.64s'", text);
    kn_finder_add(p->arena, &d->by, kn_hash(text, name->len, 0), d->list.len);
    kn_push(p->arena, &d->list, ((defined){text, name->pos}));
    return true;
}

/* The functions of the text, up to what is not the language, which is reported when the parser gets there. */
static bool look_ahead(kn_parser *p, definitions *d)
{
    kn_parser ahead = *p;
    for (bool good = true; good && !kn_at(&ahead, KN_TOK_END);) {
        if (kn_at_keyword(&ahead, "def")) {
            kn_tok name = kn_peek(&ahead);
            if (name.kind == KN_TOK_NAME && !define(p, d, &name))
                return false;
            good = skip_function(&ahead);
        } else {
            good = at_line_between(&ahead) && skip_line(&ahead);
        }
    }
    d->whole = kn_at(&ahead, KN_TOK_END);
    return true;
}

static const char *names_text(const kn_parser *p, const definitions *d)
{
    enum { SHOWN = 20 };
    kn_text t = kn_text_new(p->arena);
    for (int i = 0; i < d->list.len && i < SHOWN; i++)
        kn_putf(&t, "%s%.64s", i ? ", " : "", d->list.data[i].name);
    kn_put(&t, d->list.len > SHOWN ? ", ..." : "");
    return kn_text_str(&t);
}

static bool unknown(kn_parser *p, const definitions *d, const char *name)
{
    kn_guess s = kn_guess_new(name);
    for (int i = 0; i < d->list.len; i++)
        kn_guess_try(&s, d->list.data[i].name);
    p->status = kn_fail(KN_ARGUMENT, "%s has no function '%.64s'; it has %s%s", p->file, name,
                        names_text(p, d), kn_guess_text(&s));
    return false;
}

/* The function to be parsed is the one of that name; NULL: the only one. */
static bool choose(kn_parser *p, const char *name)
{
    definitions d = {0};
    if (!look_ahead(p, &d))
        return false;
    if (!name && d.list.len > 1)
        return kn_perror(
            p, d.list.data[1].pos, KN_ARGUMENT,
            "there are several functions: %s; say which one is meant, as in FILE:%.64s "
            "or kiln_parse_named()",
            names_text(p, &d), d.list.data[0].name);
    return !name || !d.list.len || !d.whole || find(&d, name) >= 0 || unknown(p, &d, name);
}

bool kn_module(kn_parser *p, const char *name)
{
    bool parsed = false;
    if (!choose(p, name))
        return false;
    while (!parsed || !kn_at(p, KN_TOK_END)) {
        if (at_line_between(p)) {
            if (!skip_line(p))
                return false;
            continue;
        }
        if (kn_at(p, '@'))
            return kn_perror(p, p->tok.pos, KN_SYNTAX, "decorators are not part of the text form");
        if (!kn_at_keyword(p, "def"))
            return kn_pexpected(p, parsed ? "the end of the text after the function"
                                          : "'def name(...):'");
        if (kn_indentation(&p->tok) > 0)
            return kn_perror(p, p->tok.pos, KN_SYNTAX, "unexpected indentation");
        kn_tok next = kn_peek(p);
        bool wanted = !parsed && (!name || kn_tok_is(&next, KN_TOK_NAME, name));
        if (!(wanted ? kn_definition(p) : skip_function(p)))
            return false;
        parsed = parsed || wanted;
    }
    return true;
}
