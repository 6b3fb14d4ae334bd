/* What the source text says of a kernel: its name, its parameters' names, its cluster. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "runtime/emu/compile/compile.h"

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* A declaration "__global__ ... name(" in a text. */
typedef struct declaration {
    const char *begin;       /* of __global__ */
    const char *name, *list; /* list: the "(" of the parameters */
    size_t length;           /* of the name */
} declaration;

/* The last word before the brackets that hold the parameters: attributes have brackets too, but a word that
 * begins with "__". */
static bool read_declaration(const char *s, declaration *d)
{
    *d = (declaration){.begin = s};
    const char *word = NULL;
    int depth = 0;
    for (; *s && !strchr("{;", *s); s++) {
        if (depth == 0 && in_word(*s) && (s == d->begin || !in_word(s[-1])))
            word = s;
        if (*s == '(' && depth++ == 0 && word && strncmp(word, "__", 2) != 0) {
            size_t n = 0;
            while (in_word(word[n]))
                n++;
            d->name = word;
            d->length = n;
            d->list = s;
            return true;
        }
        depth -= *s == ')';
    }
    return false;
}

/* The next one from *at on, which is moved past it. */
static bool next_declaration(const char **at, declaration *d)
{
    for (const char *s; (s = strstr(*at, "__global__")) != NULL;) {
        *at = s + 1;
        if (read_declaration(s, d))
            return true;
    }
    return false;
}

/* The name in "space::name<arguments>". */
static const char *own_name(const char *entry, size_t *length)
{
    size_t n = strcspn(entry, "< ");
    for (const char *colons; (colons = strstr(entry, "::")) != NULL && colons < entry + n;) {
        n -= (size_t)(colons + 2 - entry);
        entry = colons + 2;
    }
    *length = n;
    return entry;
}

static bool find_declaration(const char *text, const char *entry, declaration *d)
{
    size_t n;
    const char *name = own_name(entry, &n);
    while (next_declaration(&text, d))
        if (d->length == n && strncmp(d->name, name, n) == 0)
            return true;
    return false;
}

bool kn_emu_find_entry(const char *text, const char *entry, char *list, size_t size)
{
    declaration d;
    bool found = find_declaration(text, entry, &d);
    size_t len = 0;
    list[0] = 0;
    while (next_declaration(&text, &d) && len + d.length + 3 < size)
        len += (size_t)snprintf(list + len, size - len, "%s%.*s", len ? ", " : "", (int)d.length,
                                d.name);
    return found;
}

const char *kn_emu_find_cluster(const char *text, const char *entry, size_t *length)
{
    static const char word[] = "__cluster_dims__";
    declaration d;
    *length = 0;
    if (!find_declaration(text, entry, &d))
        return "";
    /* before or behind __global__, but of this declaration */
    const char *from = d.begin;
    while (from > text && !strchr(";}", from[-1]))
        from--;
    const char *at = strstr(from, word);
    const char *open = at && at < d.list ? strchr(at, '(') : NULL;
    if (!open || open >= d.list)
        return "";
    const char *s = open + 1;
    for (int depth = 1; *s && depth; s++)
        depth += (*s == '(') - (*s == ')');
    *length = (size_t)(s - open) - 2;
    return open + 1;
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

void kn_emu_name_params(const char *text, const char *entry, kn_emu_name *names, int count)
{
    declaration d;
    for (int i = 0; i < count; i++)
        snprintf(names[i], sizeof names[i], "parameter %d", i + 1);
    const char *s = find_declaration(text, entry, &d) ? d.list : NULL;
    int depth = 0;
    for (int i = 0; s && *s && i < count;) {
        const char *from = ++s;
        for (; *s && (depth > 0 || (*s != ',' && *s != ')')); s++)
            depth += (*s == '(' || *s == '<') - (*s == ')' || *s == '>');
        kn_emu_name name;
        copy_name(from, s, name, sizeof name);
        if (*name)
            memcpy(names[i], name, sizeof name);
        i++;
        if (*s == ')')
            break;
    }
}
