/* Python's tokens, made one at a time. A lexer is a small value: copying it looks ahead.
 *
 * Blank lines and comments vanish, line breaks inside brackets and after a backslash too. There
 * are no INDENT tokens: the parser compares the blanks in front of a line's first token. What is
 * no token at all becomes one KN_TOK_ERROR, which the parser reports when it gets there. */
#ifndef KN_FRONTEND_PARSE_LEX_H
#define KN_FRONTEND_PARSE_LEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* Operators and brackets have their characters as the kind: '+', KN_TOK2('*', '*'), ... */
#define KN_TOK2(a, b) ((a) | (b) << 8)
#define KN_TOK3(a, b, c) ((a) | (b) << 8 | (c) << 16)
enum {
    KN_TOK_END = 1 << 24,
    KN_TOK_NEWLINE,
    KN_TOK_NAME,
    KN_TOK_KEYWORD, /* Python's reserved words, True, False and None among them */
    KN_TOK_INT,
    KN_TOK_FLOAT,
    KN_TOK_IMAGINARY,
    KN_TOK_STRING,
    KN_TOK_ERROR,
};

typedef struct kn_pos {
    const char *line_start, *at;
    int line, col; /* from 1; columns are characters */
} kn_pos;

typedef struct kn_tok {
    int kind;
    kn_pos pos;
    size_t len; /* the token's text is pos.at[0 .. len) */
    union {
        int64_t i;         /* INT */
        double f;          /* FLOAT, IMAGINARY */
        const char *error; /* ERROR: the message */
    } u;
} kn_tok;

typedef struct kn_lexer {
    kn_arena *arena;
    const char *p, *line_start;
    const char *counted; /* columns are known up to here ... */
    int col;             /* ... which is this one */
    int line, depth;
    bool joined;   /* line breaks are blanks */
    bool has_line; /* the logical line has a token already */
} kn_lexer;

void kn_lex_start(kn_lexer *lx, kn_arena *arena, const char *text, bool joined);
void kn_lex_next(kn_lexer *lx, kn_tok *tok);

bool kn_tok_is(const kn_tok *tok, int kind, const char *text);

#endif
