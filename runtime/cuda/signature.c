#include "runtime/cuda/signature.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool in_name(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Behind a literal, whose quote is at s. */
static const char *behind_literal(const char *s)
{
    char quote = *s++;
    while (*s && *s != quote && *s != '\n')
        s += *s == '\\' && s[1] ? 2 : 1;
    return *s == quote ? s + 1 : s;
}

/* Behind a directive of the preprocessor, which ends with its line unless that ends with a backslash. */
static const char *behind_directive(const char *s)
{
    while (*s && *s != '\n')
        s += *s == '\\' && s[1] ? 2 : 1;
    return s;
}

/* The next character of a program from s on: no space, comment, literal or directive. */
static const char *next(const char *s)
{
    for (;;) {
        const char *end;
        if (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')
            s++;
        else if (s[0] == '/' && s[1] == '/')
            s = behind_directive(s);
        else if (s[0] == '/' && s[1] == '*')
            s = (end = strstr(s + 2, "*/")) ? end + 2 : s + strlen(s);
        else if (*s == '"' || *s == '\'')
            s = behind_literal(s);
        else if (*s == '#')
            s = behind_directive(s);
        else
            return s;
    }
}

static size_t name_length(const char *s)
{
    size_t n = 0;
    while (in_name(s[n]))
        n++;
    return n;
}

/* Of the parameters in the parentheses that begin at s, up to one that has a default; *end is behind them. */
static uint64_t pointers_in(const char *s, const char **end)
{
    uint64_t found = 0;
    int depth = 0, i = 0;
    do {
        char c = *s;
        if (depth == 1 && (c == '*' || c == '[') && i < 64)
            found |= (uint64_t)1 << i;
        if (c == '(' || c == '[' || c == '{' || c == '<')
            depth++;
        else if (c == ')' || c == ']' || c == '}' || c == '>')
            depth--;
        else if (depth == 1 && c == '=')
            break;
        i += depth == 1 && c == ',';
        s = next(s + (c != 0));
    } while (*s && depth > 0);
    *end = s;
    return found;
}

uint64_t kn_signature_pointers(const char *source, const char *entry)
{
    size_t length = strcspn(entry, "<"), first;
    while (length && entry[length - 1] == ' ')
        length--;
    for (first = length; first && in_name(entry[first - 1]);)
        first--;
    const char *name = entry + first;
    length -= first;
    uint64_t all = 0;
    bool kernel = false, any = false; /* behind __global__, in front of what is declared */
    for (const char *s = next(source); *s;) {
        size_t n = name_length(s);
        const char *behind = next(s + (n ? n : 1));
        if (kernel && n && n == length && memcmp(s, name, n) == 0 && *behind == '(') {
            uint64_t here = pointers_in(behind, &behind);
            all = any ? all & here : here;
            any = true;
            kernel = false;
        } else if (n == 10 && memcmp(s, "__global__", n) == 0) {
            kernel = true;
        } else if (*s == ';' || *s == '{' || *s == '}') {
            kernel = false;
        }
        s = behind;
    }
    return all;
}
