/* A kernel's parameters: their names, for messages, and through which of them memory may be written. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/emu/emu.h"

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The "(" of the parameter list of `__global__ ... name(`; NULL when it is not found. */
static const char *find_list(const char *text, const char *name, size_t n)
{
    for (const char *s = text; (s = strstr(s, "__global__")) != NULL; s++) {
        const char *end = s + strcspn(s, "{};");
        for (const char *at = s; at + n < end; at++) {
            if (strncmp(at, name, n) != 0 || in_word(at[-1]) || in_word(at[n]))
                continue;
            const char *open = at + n + strspn(at + n, " \t\n\r");
            if (*open == '(')
                return open;
        }
    }
    return NULL;
}

/* The last word of [s, end), which declares a parameter. */
static void copy_name(const char *s, const char *end, char *name, size_t size)
{
    const char *cut = memchr(s, '=', (size_t)(end - s));
    end = cut ? cut : end;
    cut = memchr(s, '[', (size_t)(end - s));
    end = cut ? cut : end;
    while (end > s && !in_word(end[-1]))
        end--;
    const char *from = end;
    while (from > s && in_word(from[-1]))
        from--;
    size_t n = (size_t)(end - from) < size ? (size_t)(end - from) : size - 1;
    memcpy(name, from, n);
    name[n] = 0;
}

kn_status kn_emu_name_params(kn_code *code, const char *entry)
{
    size_t count = (size_t)code->nparams;
    code->params = calloc(count + 1, sizeof *code->params);
    if (!code->params)
        return kn_fail(KN_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++)
        snprintf(code->params[i], sizeof code->params[i], "parameter %zu", i + 1);
    const char *colons = strstr(entry, "::");
    size_t n = strcspn(entry, "< ");
    while (colons && colons < entry + n) {
        n -= (size_t)(colons + 2 - entry);
        entry = colons + 2;
        colons = strstr(entry, "::");
    }
    const char *s = find_list(code->source, entry, n);
    int depth = 0;
    for (size_t i = 0; s && *s && i < count;) {
        const char *from = ++s;
        for (; *s && (depth > 0 || (*s != ',' && *s != ')')); s++)
            depth += (*s == '(' || *s == '<') - (*s == ')' || *s == '>');
        char name[sizeof *code->params];
        copy_name(from, s, name, sizeof name);
        if (*name)
            memcpy(code->params[i], name, sizeof name);
        i++;
        if (*s == ')')
            break;
    }
    return KN_OK;
}

/* What a pointer parameter reaches is called after it. Memory that only pointers to const reach, or none,
 * is not written by anyone; unless addresses come by another way. */
void kn_emu_span_of_params(const kn_code *code, void *const *values, kn_emu_span *span)
{
    bool written = false;
    for (int i = 0; i < code->nparams; i++) {
        char kind = code->kinds[i];
        if (kind == '?')
            written = true;
        if (kind != 'c' && kind != 'p')
            continue;
        const char *p = *(const char *const *)values[i];
        if (p < span->low || p >= span->high)
            continue;
        span->name = code->params[i];
        written = written || kind == 'p';
    }
    span->unwatched = !written;
}
