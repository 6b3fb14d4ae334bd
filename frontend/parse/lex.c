#include "frontend/parse/lex.h"

#include <string.h>

#include "base/number.h"

static const char *const keywords[] = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
};

void kn_lex_start(kn_lexer *lx, kn_arena *arena, const char *text, bool joined)
{
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        text += 3;
    *lx = (kn_lexer){
        .arena = arena, .p = text, .line_start = text, .counted = text, .joined = joined};
    lx->line = lx->col = 1;
}

bool kn_tok_is(const kn_tok *tok, int kind, const char *text)
{
    return tok->kind == kind && strlen(text) == tok->len &&
           memcmp(tok->pos.at, text, tok->len) == 0;
}

/* The place of `at`, which is on the current line. */
static kn_pos place(kn_lexer *lx, const char *at)
{
    if (lx->counted < lx->line_start || lx->counted > at) {
        lx->counted = lx->line_start;
        lx->col = 1;
    }
    for (; lx->counted < at; lx->counted++)
        lx->col += ((unsigned char)*lx->counted & 0xc0) != 0x80; /* not UTF-8's following bytes */
    return (kn_pos){lx->line_start, at, lx->line, lx->col};
}

/* <ctype.h> follows the application's locale; Python's names do not. */
static bool digit(char c) { return c >= '0' && c <= '9'; }
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c; }
static bool name_start(char c) { return (lower(c) >= 'a' && lower(c) <= 'z') || c == '_'; }
static bool name_char(char c) { return name_start(c) || digit(c); }
static int digit_value(char c)
{
    return digit(c) ? c - '0' : lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : 99;
}

/* Not printable, and not a blank that Python knows. */
static bool control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t' && c != '\f') || c == 0x7f;
}

static void line_break(kn_lexer *lx)
{
    lx->p++;
    lx->line++;
    lx->line_start = lx->p;
}

static void error_at(kn_lexer *lx, kn_tok *tok, const char *at, const char *message)
{
    tok->kind = KN_TOK_ERROR;
    tok->pos = place(lx, at);
    tok->len = *at != '\0';
    tok->u.error = message;
}

static void invalid_char(kn_lexer *lx, kn_tok *tok, const char *at)
{
    unsigned char c = (unsigned char)*at;
    if (control(*at))
        error_at(lx, tok, at, kn_sprintf(lx->arena, "invalid control character 0x%02x", c));
    else if (c >= 0x80)
        error_at(lx, tok, at, "invalid character: only ASCII outside of comments and strings");
    else
        error_at(lx, tok, at, kn_sprintf(lx->arena, "invalid character '%c'", c));
}

/* Up to the next token or line end. False when an error token was made. */
static bool skip_blanks(kn_lexer *lx, kn_tok *tok)
{
    for (;;) {
        const char *p = lx->p;
        size_t cr = *p == '\\' && p[1] == '\r'; /* "\r\n" ends a line, too */
        if (*p == ' ' || *p == '\t' || *p == '\f') {
            lx->p++;
        } else if (*p == '\r' && p[1] == '\n') {
            lx->p++;
        } else if (*p == '\\' && p[1 + cr] == '\n') {
            lx->p += 1 + cr;
            line_break(lx);
        } else if (*p == '#') {
            while (*lx->p && *lx->p != '\n' && !(*lx->p == '\r' && lx->p[1] == '\n')) {
                if (control(*lx->p)) {
                    invalid_char(lx, tok, lx->p);
                    return false;
                }
                lx->p++;
            }
        } else if (*p == '\n' && (lx->depth > 0 || lx->joined || !lx->has_line)) {
            line_break(lx);
        } else {
            return true;
        }
    }
}

static void lex_string(kn_lexer *lx, kn_tok *tok, const char *quote)
{
    bool triple = quote[1] == *quote && quote[2] == *quote;
    kn_pos start = tok->pos;
    tok->kind = KN_TOK_STRING;
    lx->p = quote + (triple ? 3 : 1);
    for (;;) {
        char c = *lx->p;
        if (c == *quote && (!triple || (lx->p[1] == c && lx->p[2] == c))) {
            lx->p += triple ? 3 : 1;
            tok->len = (size_t)(lx->p - start.at);
            return;
        }
        if (c == '\0' || (c == '\n' && !triple)) {
            tok->kind = KN_TOK_ERROR;
            tok->len = 1;
            tok->u.error = "this string is never closed";
            return;
        }
        if (c == '\\' && lx->p[1] && lx->p[1] != '\n') {
            lx->p += 2;
        } else if (c == '\\' && lx->p[1] == '\n') {
            lx->p++;
            line_break(lx);
        } else if (c == '\n') {
            line_break(lx);
        } else if (control(c) && c != '\r') {
            invalid_char(lx, tok, lx->p);
            return;
        } else {
            lx->p++;
        }
    }
}

/* Digits of `base` with single underscores between them, copied to `to` without. */
static bool digits(const char **p, int base, char **to)
{
    bool any = false;
    for (;; (*p)++) {
        char c = **p;
        if (c == '_' && any && digit_value((*p)[1]) < base)
            continue;
        if (digit_value(c) >= base)
            return any;
        *(*to)++ = c;
        any = true;
    }
}

static void int_value(kn_lexer *lx, kn_tok *tok, const char *text, int base)
{
    uint64_t v = 0;
    for (; *text; text++) {
        if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
            __builtin_add_overflow(v, (uint64_t)digit_value(*text), &v)) {
            error_at(lx, tok, tok->pos.at, "this integer does not fit in 64 bits");
            return;
        }
    }
    tok->u.i = (int64_t)v;
}

static void lex_number(kn_lexer *lx, kn_tok *tok)
{
    const char *p = lx->p, *end = p;
    while (name_char(*end) || *end == '.' ||
           ((*end == '+' || *end == '-') && (end[-1] == 'e' || end[-1] == 'E')))
        end++;
    char *copy = kn_alloc(lx->arena, (size_t)(end - p) + 1), *to = copy;
    int base = 10;
    bool ok = true, is_float = false;
    if (*p == '0' && p[1] && strchr("xXoObB", p[1])) {
        base = lower(p[1]) == 'x' ? 16 : lower(p[1]) == 'o' ? 8 : 2;
        p += p[2] == '_' ? 3 : 2;
        ok = digits(&p, base, &to);
    } else {
        bool whole = digits(&p, 10, &to), part = false;
        if (*p == '.') {
            is_float = true;
            *to++ = *p++;
            part = digits(&p, 10, &to);
        }
        ok = whole || part;
        if (ok && (*p == 'e' || *p == 'E')) {
            is_float = true;
            *to++ = *p++;
            if (*p == '+' || *p == '-')
                *to++ = *p++;
            ok = digits(&p, 10, &to);
        }
    }
    bool imaginary = ok && base == 10 && lower(*p) == 'j';
    p += imaginary;
    if (!ok || name_char(*p)) {
        while (name_char(*p))
            p++;
        int n = p - lx->p > 40 ? 40 : (int)(p - lx->p);
        error_at(lx, tok, tok->pos.at, kn_sprintf(lx->arena, "invalid number '%.*s'", n, lx->p));
        return;
    }
    tok->len = (size_t)(p - lx->p);
    lx->p = p;
    if (is_float || imaginary) {
        tok->kind = imaginary ? KN_TOK_IMAGINARY : KN_TOK_FLOAT;
        tok->u.f = kn_read_float(copy);
    } else if (base == 10 && *copy == '0' && strspn(copy, "0") != strlen(copy)) {
        error_at(lx, tok, tok->pos.at, "an integer cannot begin with 0");
    } else {
        tok->kind = KN_TOK_INT;
        int_value(lx, tok, copy, base);
    }
}

static void lex_name(kn_lexer *lx, kn_tok *tok)
{
    const char *p = lx->p;
    while (name_char(*p))
        p++;
    tok->len = (size_t)(p - lx->p);
    if (tok->len == 1 && strchr("rRuU", *lx->p) && (*p == '"' || *p == '\'')) {
        lex_string(lx, tok, p);
        return;
    }
    tok->kind = KN_TOK_NAME;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (kn_tok_is(tok, KN_TOK_NAME, keywords[i])) {
            tok->kind = KN_TOK_KEYWORD;
            break;
        }
    lx->p = p;
}

static void lex_punct(kn_lexer *lx, kn_tok *tok)
{
    static const char *const long_ones[] = {
        "**=", "//=", "<<=", ">>=", "...", "**", "//", "<<", ">>", "<=", ">=", "==",
        "!=",  "->",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "@=", ":=",
    };
    const char *p = lx->p;
    for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; i++) {
        size_t n = strlen(long_ones[i]);
        if (strncmp(p, long_ones[i], n) == 0) {
            tok->kind = n == 3 ? KN_TOK3(p[0], p[1], p[2]) : KN_TOK2(p[0], p[1]);
            tok->len = n;
            lx->p += n;
            return;
        }
    }
    if (!strchr("+-*/%@&|^~<>()[]{},:;.=", *p)) {
        invalid_char(lx, tok, p);
        return;
    }
    tok->kind = *p;
    tok->len = 1;
    lx->p++;
    if (strchr("([{", *p))
        lx->depth++;
    else if (strchr(")]}", *p) && lx->depth > 0)
        lx->depth--;
}

void kn_lex_next(kn_lexer *lx, kn_tok *tok)
{
    *tok = (kn_tok){0};
    if (!skip_blanks(lx, tok))
        return;
    const char *p = lx->p;
    tok->pos = place(lx, p);
    if (*p == '\n' || (*p == '\0' && lx->has_line && !lx->joined && lx->depth == 0)) {
        tok->kind = KN_TOK_NEWLINE;
        lx->has_line = false;
        if (*p)
            line_break(lx);
        return;
    }
    if (*p == '\0') {
        tok->kind = KN_TOK_END;
        return;
    }
    lx->has_line = true;
    if (digit(*p) || (*p == '.' && digit(p[1])))
        lex_number(lx, tok);
    else if (name_start(*p))
        lex_name(lx, tok);
    else if (*p == '"' || *p == '\'')
        lex_string(lx, tok, p);
    else
        lex_punct(lx, tok);
}
