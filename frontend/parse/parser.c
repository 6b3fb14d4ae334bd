/* The parser's place in the text, and its messages. */
#include <stdarg.h>

#include "frontend/parse/missing.h"
#include "frontend/parse/parser.h"

void kn_parser_init(kn_parser *p, kn_graph *g, const char *text, const char *file, bool joined)
{
    *p = (kn_parser){.g = g, .arena = g->arena, .file = file ? file : "<text>"};
    kn_lex_start(&p->lex, p->arena, text, joined);
    p->used = p->lex.p;
    kn_lex_next(&p->lex, &p->tok);
}

/* ---- messages ---- */

enum { SHOWN = 100, BEFORE = 60 }; /* bytes of a long line, and of those in front of the caret */

static bool is_inside_character(char c) { return ((unsigned char)c & 0xc0) == 0x80; } /* of UTF-8 */

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
    while (from < to && is_inside_character(*from))
        from++;
    while (*to && *to != '\n' && *to != '\r' && (to - from < SHOWN || is_inside_character(*to)))
        to++;
    kn_put(&t, "\n    ");
    for (const char *s = from; s < to; s++)
        kn_putf(&t, "%c", (unsigned char)*s < 0x20 && *s != '\t' ? '?' : *s);
    kn_put(&t, "\n    ");
    for (const char *s = from; s < pos.at; s++)
        if (!is_inside_character(*s))
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

size_t kn_indentation(const kn_tok *tok) { return (size_t)(tok->pos.at - tok->pos.line_start); }
