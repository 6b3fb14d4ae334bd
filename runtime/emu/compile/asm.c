/* Finds the asm statements of a CUDA source text and has their PTX put into C++. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/emu/compile/ptx.h"

enum { MAX_OPERANDS = 64 };

typedef struct scanner {
    kn_arena *arena;
    const char *at;
    kn_text out;
    int number;     /* asm statements so far */
    bool directive; /* in a line that begins with # */
} scanner;

/* One operand of an asm statement. */
typedef struct operand {
    const char *constraint, *expression;
} operand;

typedef struct statement {
    const char *ptx;
    operand operands[MAX_OPERANDS];
    int noperands;
} statement;

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* ---- skipping ---- */

/* Past the quoted text that begins at s. */
static const char *end_of_quoted(const char *s)
{
    char quote = *s++;
    for (; *s && *s != quote; s++)
        if (*s == '\\' && s[1])
            s++;
    return *s ? s + 1 : s;
}

/* Past R"x( ... )x", of which s is at the quote. */
static const char *end_of_raw(const char *s, const char **begin, const char **end)
{
    char close[20] = ")";
    size_t n = strcspn(s + 1, "(");
    if (n > sizeof close - 3)
        return s + 1;
    memcpy(close + 1, s + 1, n);
    strcpy(close + 1 + n, "\"");
    *begin = s + n + 2;
    *end = strstr(*begin, close);
    if (!*end)
        *end = *begin + strlen(*begin);
    return **end ? *end + n + 2 : *end;
}

/* Past a comment at s; s itself if there is none. */
static const char *end_of_comment(const char *s)
{
    if (s[0] != '/')
        return s;
    if (s[1] == '/')
        return s + strcspn(s, "\n");
    if (s[1] != '*')
        return s;
    const char *end = strstr(s + 2, "*/");
    return end ? end + 2 : s + strlen(s);
}

/* Past white space, comments and the backslashes of continued lines. */
static const char *skip(const char *s)
{
    for (;;) {
        const char *past = end_of_comment(s);
        if (past == s && (isspace((unsigned char)*s) || (*s == '\\' && s[1] == '\n')))
            past = s + 1;
        if (past == s)
            return s;
        s = past;
    }
}

/* Past a word, a number, a quoted text, a comment, or else one character. */
static const char *end_of_token(const char *s)
{
    const char *begin, *end, *past = end_of_comment(s);
    if (past > s)
        return past;
    if (in_word(*s)) {
        const char *word = s;
        while (in_word(*s) || (*s == '\'' && isdigit((unsigned char)*word) && in_word(s[1])))
            s++;
        return *s == '"' && s[-1] == 'R' ? end_of_raw(s, &begin, &end) : s;
    }
    return *s == '"' || *s == '\'' ? end_of_quoted(s) : s + 1;
}

static bool is_word(const char *s, const char *const *words)
{
    size_t n = 0;
    while (in_word(s[n]))
        n++;
    for (; *words; words++)
        if (strlen(*words) == n && strncmp(s, *words, n) == 0)
            return true;
    return false;
}

/* ---- the statement ---- */

/* String literals, one after another, put together. NULL when there is none at *at. */
static const char *take_strings(scanner *sc, const char **at)
{
    kn_text text = kn_text_new(sc->arena);
    const char *s = *at = skip(*at);
    if (*s != '"' && strncmp(s, "R\"", 2) != 0)
        return NULL;
    for (; *s == '"' || strncmp(s, "R\"", 2) == 0; s = skip(s)) {
        if (*s == 'R') {
            const char *begin, *end;
            s = end_of_raw(s + 1, &begin, &end);
            kn_putn(&text, begin, (size_t)(end - begin));
            continue;
        }
        const char *end = end_of_quoted(s);
        for (s++; s + 1 < end; s++) {
            char c = *s;
            if (c == '\\') {
                s++;
                c = *s == 'n' || *s == 't' || *s == 'r' || *s == '\n' ? ' ' : *s;
                c = *s == 'n' ? '\n' : c;
            }
            kn_putn(&text, &c, 1);
        }
        s = end;
    }
    *at = s;
    return kn_text_str(&text);
}

/* The expression in brackets at *at, on one line. */
static const char *take_expression(scanner *sc, const char **at)
{
    kn_text text = kn_text_new(sc->arena);
    const char *s = *at = skip(*at);
    int depth = 0;
    if (*s != '(')
        return NULL;
    do {
        const char *end = end_of_token(s);
        depth += (*s == '(') - (*s == ')');
        if (end_of_comment(s) > s || isspace((unsigned char)*s) || (*s == '\\' && s[1] == '\n'))
            kn_put(&text, " ");
        else
            kn_putn(&text, s, (size_t)(end - s));
        s = end;
    } while (*s && depth);
    *at = s;
    return kn_text_str(&text);
}

/* What follows `asm volatile`: ("..." : outputs : inputs : clobbers). False when it is not understood. */
static bool take_statement(scanner *sc, const char **at, statement *st)
{
    const char *s = skip(*at);
    if (*s++ != '(' || !(st->ptx = take_strings(sc, &s)))
        return false;
    for (int section = 0; *(s = skip(s)) != ')';) {
        if (*s == ':') {
            section++;
            s++;
            continue;
        }
        if (*s == ',') {
            s++;
            continue;
        }
        const char *text = take_strings(sc, &s);
        if (!text)
            return false;
        if (section > 2) /* a clobber */
            continue;
        const char *expression = take_expression(sc, &s);
        if (!expression || section == 0 || st->noperands == MAX_OPERANDS)
            return false;
        st->operands[st->noperands++] = (operand){text, expression};
    }
    *at = s + 1;
    return true;
}

static const char *type_of(const char *constraint)
{
    switch (constraint[strspn(constraint, "=+&")]) {
    case 'h': return "unsigned short";
    case 'r': return "unsigned";
    case 'l': return "unsigned long long";
    case 'f': return "float";
    case 'd': return "double";
    default: return NULL;
    }
}

/* The registers of the operands. */
static void put_operands(scanner *sc, const statement *st, const char **names)
{
    for (int i = 0; i < st->noperands; i++) {
        const operand *o = &st->operands[i];
        const char *type = type_of(o->constraint);
        bool constant = strchr(o->constraint, 'n') != NULL;
        names[i] = constant ? o->expression : kn_sprintf(sc->arena, "kn_emu_o%d", i);
        if (constant)
            continue;
        if (!type)
            kn_emu_put_refusal(&sc->out, "an asm operand's constraint \\\"%s\\\"", o->constraint);
        else if (o->constraint[0] == '=')
            kn_putf(&sc->out, "%s %s; ", type, names[i]);
        else
            kn_putf(&sc->out, "%s %s = kn_emu_ptx::in<%s>%s; ", type, names[i], type,
                    o->expression);
    }
}

static void put_statement(scanner *sc, const statement *st)
{
    const char *names[MAX_OPERANDS];
    kn_put(&sc->out, "do { ");
    put_operands(sc, st, names);
    kn_emu_put_ptx(&sc->out, st->ptx, names, st->noperands, sc->number);
    for (int i = 0; i < st->noperands; i++)
        if (strchr("=+", st->operands[i].constraint[0]) && type_of(st->operands[i].constraint))
            kn_putf(&sc->out, "kn_emu_ptx::out(%s, %s); ", st->operands[i].expression, names[i]);
    kn_put(&sc->out, "} while (0)");
}

/* At the word after `asm`: replaces the statement, unless it is none. */
static void replace(scanner *sc, const char *word)
{
    static const char *const qualifiers[] = {"volatile", "__volatile__", "inline", NULL};
    const char *s = skip(sc->at);
    while (is_word(s, qualifiers))
        s = skip(end_of_token(s));
    statement st = {0};
    if (*s != '(') {
        kn_putn(&sc->out, word, (size_t)(sc->at - word));
        return;
    }
    const char *begin = sc->at, *end = s;
    sc->number++;
    if (take_statement(sc, &s, &st)) {
        end = s;
        put_statement(sc, &st);
    } else {
        take_expression(sc, &end);
        kn_emu_put_refusal(&sc->out, "an asm statement of this form");
    }
    for (; begin < end; begin++) /* the lines after it keep their numbers */
        if (*begin == '\n')
            kn_put(&sc->out, sc->directive ? " \\\n" : "\n");
    sc->at = end;
}

const char *kn_emu_without_asm(kn_arena *a, const char *text)
{
    static const char *const words[] = {"asm", "__asm__", "__asm", NULL};
    scanner sc = {.arena = a, .at = text, .out = kn_text_new(a)};
    bool blank = true; /* so far in this line */
    if (!strstr(text, "asm"))
        return NULL;
    while (*sc.at) {
        const char *begin = sc.at, *end = end_of_token(begin);
        sc.at = end;
        if (is_word(begin, words) && in_word(*begin)) {
            replace(&sc, begin);
            continue;
        }
        if (*begin == '#' && blank)
            sc.directive = true;
        if (*begin == '\n' && (begin == text || begin[-1] != '\\'))
            sc.directive = false;
        blank = *begin == '\n' || (blank && isspace((unsigned char)*begin));
        kn_putn(&sc.out, begin, (size_t)(end - begin));
    }
    return sc.number ? kn_text_str(&sc.out) : NULL;
}
