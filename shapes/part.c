/* Sizes that are divided over ranks. A part is a symbol named "shard(N)". On demand there are also "shard(N)@start",
 * the sum of the parts of lower ranks, and "shard(N)@2", the part of rank 2. */
#include <stdio.h>
#include <string.h>

#include "shapes/dim_impl.h"

/* The most that a name of a symbol next to a part adds to the part's. */
enum { SUFFIX = 16 };

kn_dim kn_dim_part(kn_symbols *s, const char *name, size_t len)
{
    int whole = kn_symbol_named(s, name, len);
    const char *text = kn_sprintf(s->arena, "shard(%.*s)", (int)len, name);
    int part = whole < 0 ? -1 : kn_symbol_named(s, text, strlen(text));
    if (part < 0)
        return NULL;
    s->syms.data[part].whole = 1 + whole;
    s->syms.data[part].parted = true;
    return kn_dim_of_symbol(s, part);
}

bool kn_dim_has_part(const kn_symbols *s, kn_dim a)
{
    for (int i = 0; i < a->nterms; i++)
        for (int j = 0; j < a->terms[i].nsym; j++)
            if (s->syms.data[a->terms[i].sym[j]].parted)
                return true;
    return false;
}

bool kn_dim_is_divided(kn_symbols *s, kn_dim a)
{
    int part = -1, parts = 0;
    a = kn_dim_resolve(s, a);
    for (int j = 0; a && a->nterms == 1 && j < a->terms[0].nsym; j++)
        if (s->syms.data[a->terms[0].sym[j]].parted) {
            part = a->terms[0].sym[j];
            parts++;
        }
    if (parts != 1)
        return false;
    const kn_symbol *q = &s->syms.data[part];
    return q->whole || (q->fn == KN_DIM_QUOTIENT && kn_dim_is_divided(s, q->num) &&
                        !kn_dim_has_part(s, q->den));
}

bool kn_dim_is_symbol(kn_dim a, int sym) { return kn_dim_lone_symbol(a) == sym; }

int kn_symbol_whole(const kn_symbols *s, int sym) { return s->syms.data[sym].whole - 1; }

/* ---- in other symbols ---- */

/* What takes the place of parts: their wholes, or the symbols next to them whose names end in `suffix`. */
static kn_dim instead(kn_symbols *s, int sym, void *suffix)
{
    const kn_symbol *q = &s->syms.data[sym];
    kn_dim num = q->num, den = q->den;
    if (!q->parted)
        return kn_symbol_resolve(s, sym);
    if (q->equals)
        return kn_dim_map(s, q->equals, instead, suffix);
    if (q->whole && !suffix)
        return kn_symbol_resolve(s, q->whole - 1);
    if (q->whole) {
        const char *name = kn_sprintf(s->arena, "%s%s", q->name, (const char *)suffix);
        return kn_dim_sym(s, name, strlen(name));
    }
    kn_dim_function fn = q->fn;
    num = kn_dim_map(s, num, instead, suffix);
    den = kn_dim_map(s, den, instead, suffix);
    return fn == KN_DIM_QUOTIENT ? kn_dim_quotient(s, num, den)
           : fn == KN_DIM_FLOOR  ? kn_dim_floordiv(s, num, den)
           : fn == KN_DIM_MIN    ? kn_dim_min(s, num, den)
                                 : kn_dim_max(s, num, den);
}

kn_dim kn_dim_whole(kn_symbols *s, kn_dim a) { return kn_dim_map(s, a, instead, NULL); }
kn_dim kn_dim_start(kn_symbols *s, kn_dim a)
{
    char suffix[] = "@start";
    return kn_dim_map(s, a, instead, suffix);
}

kn_dim kn_dim_at_rank(kn_symbols *s, kn_dim a, int rank)
{
    char suffix[SUFFIX];
    snprintf(suffix, sizeof suffix, "@%d", rank);
    return kn_dim_map(s, a, instead, suffix);
}

static kn_dim divided(kn_symbols *s, int sym, void *part)
{
    const int *p = part;
    bool whole = sym == s->syms.data[*p].whole - 1;
    return whole ? kn_dim_of_symbol(s, *p) : kn_symbol_resolve(s, sym);
}

kn_dim kn_dim_divided_as(kn_symbols *s, kn_dim a, kn_dim like)
{
    for (int i = 0; i < like->nterms && !kn_dim_has_part(s, a); i++)
        for (int j = 0; j < like->terms[i].nsym; j++) {
            int sym = like->terms[i].sym[j];
            if (s->syms.data[sym].whole && kn_dim_uses(a, s->syms.data[sym].whole - 1))
                return kn_dim_map(s, a, divided, &sym);
        }
    return a;
}

/* ---- values ---- */

static void set_next_to(const kn_symbols *s, int sym, const char *suffix, int64_t value,
                        int64_t *values)
{
    const size_t len = strlen(s->syms.data[sym].name);
    for (int i = 0; i < s->syms.len; i++) {
        const char *name = s->syms.data[i].name;
        if (name && strncmp(name, s->syms.data[sym].name, len) == 0 &&
            strcmp(name + len, suffix) == 0)
            values[i] = value;
    }
}

void kn_symbols_divide(const kn_symbols *s, int sym, const int64_t *part, int rank, int ranks,
                       int64_t *values)
{
    int64_t start = 0, whole = 0;
    for (int r = 0; r < ranks; r++) {
        char suffix[SUFFIX];
        snprintf(suffix, sizeof suffix, "@%d", r);
        set_next_to(s, sym, suffix, part[r], values);
        start += r < rank ? part[r] : 0;
        whole += part[r];
    }
    set_next_to(s, sym, "@start", start, values);
    if (values[kn_symbol_whole(s, sym)] == KN_UNBOUND)
        values[kn_symbol_whole(s, sym)] = whole;
}
