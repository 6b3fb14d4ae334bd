/* Symbols: their names, what they are of their parts, what they equal, and their values. */
#include <string.h>

#include "base/hash.h"
#include "shapes/dim_impl.h"

kn_symbols *kn_symbols_new(kn_arena *a)
{
    kn_symbols *s = KN_NEW(a, kn_symbols);
    s->arena = a;
    return s;
}

int kn_symbols_count(const kn_symbols *s) { return s->syms.len; }
const char *kn_symbol_name(const kn_symbols *s, int sym) { return s->syms.data[sym].name; }

bool kn_symbol_is_open(const kn_symbols *s, int sym)
{
    return !s->syms.data[sym].fn && !s->syms.data[sym].equals;
}

int kn_symbol_find(const kn_symbols *s, const char *name, size_t len)
{
    uint64_t hash = kn_hash(name, len, 0);
    for (const kn_symbols *at = s; at; at = at->outer) {
        for (int i = -1; (i = kn_finder_next(&at->names_by, hash, i)) >= 0;)
            if (strncmp(s->syms.data[i].name, name, len) == 0 && !s->syms.data[i].name[len])
                return i;
    }
    return -1;
}

kn_symbols *kn_symbols_within(kn_arena *a, const kn_symbols *s)
{
    kn_symbols *within = kn_symbols_new(a);
    int n = within->syms.len = within->syms.cap = s->syms.len;
    within->outer = s;
    within->syms.data = KN_NEW_ARRAY(a, kn_symbol, n + 1);
    if (n)
        memcpy(within->syms.data, s->syms.data, sizeof(kn_symbol) * (size_t)n);
    for (int i = 0; i < n; i++) /* what is added is added to a copy */
        within->syms.data[i].part_of.cap = within->syms.data[i].part_of.len;
    return within;
}

static int new_symbol(kn_symbols *s, kn_symbol symbol)
{
    if (s->syms.len == KN_MAX_SYMBOLS) {
        kn_fail(KN_SHAPE, "a program has at most %d symbols and sizes derived from them",
                KN_MAX_SYMBOLS);
        return -1;
    }
    kn_push(s->arena, &s->syms, symbol);
    return s->syms.len - 1;
}

static int new_name(kn_symbols *s, const char *name)
{
    int sym = new_symbol(s, (kn_symbol){.name = name, .not_negative = true});
    if (sym >= 0)
        kn_finder_add(s->arena, &s->names_by, kn_hash(name, strlen(name), 0), sym);
    return sym;
}

int kn_symbol_named(kn_symbols *s, const char *name, size_t len)
{
    int sym = kn_symbol_find(s, name, len);
    return sym >= 0 ? sym : new_name(s, kn_strndup(s->arena, name, len));
}

kn_dim kn_dim_sym(kn_symbols *s, const char *name, size_t len)
{
    int sym = kn_symbol_named(s, name, len);
    return sym < 0 ? NULL : kn_dim_of_symbol(s, sym);
}

/* ---- functions of two dimensions ---- */

static uint64_t hash_function(kn_dim_function fn, kn_dim a, kn_dim b)
{
    const void *key[] = {a, b};
    return kn_hash(key, sizeof key, fn);
}

static void add_part_of(kn_symbols *s, kn_dim part, int sym)
{
    for (int i = 0; i < part->nterms; i++)
        for (int j = 0; j < part->terms[i].nsym; j++)
            kn_push(s->arena, &s->syms.data[part->terms[i].sym[j]].part_of, sym);
}

/* Known by its parts as they are now. */
static void index_function(kn_symbols *s, int sym)
{
    kn_symbol *q = &s->syms.data[sym];
    kn_dim num = kn_dim_resolve(s, q->num), den = kn_dim_resolve(s, q->den);
    if (!num || !den)
        return;
    bool above = q->fn == KN_DIM_QUOTIENT || kn_dim_not_negative(s, num);
    bool below = q->fn == KN_DIM_QUOTIENT || kn_dim_not_negative(s, den);
    q->not_negative = q->fn == KN_DIM_MAX ? above || below : above && below;
    kn_finder_add(s->arena, &s->functions_by, hash_function(q->fn, num, den), sym);
}

kn_dim kn_symbol_of(kn_symbols *s, kn_dim_function fn, kn_dim a, kn_dim b)
{
    uint64_t hash = hash_function(fn, a, b);
    for (const kn_symbols *at = s; at; at = at->outer) {
        for (int i = -1; (i = kn_finder_next(&at->functions_by, hash, i)) >= 0;) {
            const kn_symbol *q = &s->syms.data[i];
            if (q->fn == fn && kn_dim_equal(s, q->num, a) && kn_dim_equal(s, q->den, b))
                return kn_dim_of_symbol(s, i);
        }
    }
    bool parted = kn_dim_has_part(s, a) || kn_dim_has_part(s, b);
    int sym = new_symbol(s, (kn_symbol){.fn = fn, .num = a, .den = b, .parted = parted});
    if (sym < 0)
        return NULL;
    index_function(s, sym);
    add_part_of(s, a, sym);
    add_part_of(s, b, sym);
    return kn_dim_of_symbol(s, sym);
}

/* ---- equalities ---- */

/* What symbol `sym`, a function, is of its parts as they are now; NULL where it is nothing simpler than itself. */
static kn_dim simpler(kn_symbols *s, int sym)
{
    const kn_symbol *q = &s->syms.data[sym];
    kn_dim_function fn = q->fn;
    kn_dim num = kn_dim_resolve(s, q->num), den = kn_dim_resolve(s, q->den), made;
    bool divides = fn == KN_DIM_QUOTIENT || fn == KN_DIM_FLOOR;
    if (!num || !den || (divides && den == kn_dim_const(s, 0)))
        return NULL;
    made = fn == KN_DIM_QUOTIENT ? kn_dim_quotient(s, num, den)
           : fn == KN_DIM_FLOOR  ? kn_dim_floordiv(s, num, den)
           : fn == KN_DIM_MIN    ? kn_dim_min(s, num, den)
                                 : kn_dim_max(s, num, den);
    made = kn_dim_resolve(s, made);
    return made && !kn_dim_uses(made, sym) ? made : NULL;
}

void kn_symbol_equate(kn_symbols *s, int sym, kn_dim equals)
{
    KN_VEC(int) todo = {0};
    s->syms.data[sym].equals = equals;
    kn_push(s->arena, &todo, sym);
    while (todo.len) {
        sym = todo.data[--todo.len];
        for (int i = 0; i < s->syms.data[sym].part_of.len; i++) {
            int whole = s->syms.data[sym].part_of.data[i];
            index_function(s, whole);
            add_part_of(s, s->syms.data[sym].equals, whole);
            kn_dim made = s->syms.data[whole].equals ? NULL : simpler(s, whole);
            if (made) {
                s->syms.data[whole].equals = made;
                kn_push(s->arena, &todo, whole);
            }
        }
    }
}

/* A symbol in what `sym` equals that equals what is itself not resolved, or -1. */
static int unresolved_in(const kn_symbols *s, int sym)
{
    kn_dim a = s->syms.data[sym].equals;
    for (int i = 0; i < a->nterms; i++)
        for (int j = 0; j < a->terms[i].nsym; j++) {
            kn_dim equals = s->syms.data[a->terms[i].sym[j]].equals;
            if (equals && kn_dim_has_known_equal(s, equals))
                return a->terms[i].sym[j];
        }
    return -1;
}

kn_dim kn_symbol_resolve(kn_symbols *s, int sym)
{
    KN_VEC(int) todo = {0};
    const kn_symbol *q = &s->syms.data[sym];
    if (!q->equals)
        return kn_dim_of_symbol(s, sym);
    if (!kn_dim_has_known_equal(s, q->equals))
        return q->equals;
    kn_push(s->arena, &todo, sym);
    while (todo.len) {
        int last = todo.data[todo.len - 1], first = unresolved_in(s, last);
        if (first >= 0) {
            kn_push(s->arena, &todo, first);
            continue;
        }
        kn_dim resolved = kn_dim_resolve(s, s->syms.data[last].equals);
        if (!resolved)
            return NULL;
        s->syms.data[last].equals = resolved;
        todo.len--;
    }
    return s->syms.data[sym].equals;
}

/* ---- copies ---- */

kn_symbols *kn_symbols_clone(kn_arena *a, const kn_symbols *s)
{
    kn_symbols *copy = kn_symbols_new(a);
    for (int i = 0; i < s->syms.len; i++) {
        const kn_symbol *from = &s->syms.data[i];
        kn_symbol to = {.fn = from->fn,
                        .num = kn_dim_copy(copy, from->num),
                        .den = kn_dim_copy(copy, from->den)};
        if (from->name)
            new_name(copy, kn_strdup(a, from->name));
        else
            new_symbol(copy, to);
        copy->syms.data[i].whole = from->whole;
        copy->syms.data[i].parted = from->parted;
        copy->syms.data[i].equals = kn_dim_copy(copy, from->equals);
    }
    for (int i = 0; i < s->syms.len; i++) {
        if (s->syms.data[i].fn)
            index_function(copy, i);
        for (int k = 0; k < s->syms.data[i].part_of.len; k++)
            kn_push(a, &copy->syms.data[i].part_of, s->syms.data[i].part_of.data[k]);
    }
    return copy;
}

/* ---- values ---- */

bool kn_dim_eval(kn_dim a, const int64_t *values, int64_t *out)
{
    int64_t sum = 0;
    for (int i = 0; i < a->nterms; i++) {
        int64_t product = a->terms[i].coef;
        for (int j = 0; j < a->terms[i].nsym; j++) {
            int64_t v = values[a->terms[i].sym[j]];
            if (v == KN_UNBOUND || __builtin_mul_overflow(product, v, &product))
                return false;
        }
        if (__builtin_add_overflow(sum, product, &sum))
            return false;
    }
    *out = sum;
    return true;
}

int kn_dim_solve(const kn_symbols *s, kn_dim a, int64_t value, int64_t *values)
{
    (void)s;
    int unknown = -1;
    for (int i = 0; i < a->nterms; i++)
        for (int j = 0; j < a->terms[i].nsym; j++) {
            int sym = a->terms[i].sym[j];
            if (values[sym] != KN_UNBOUND)
                continue;
            if (unknown >= 0)
                return 0; /* two unknowns, or one squared */
            unknown = sym;
        }
    int64_t got, rest, slope;
    if (unknown < 0)
        return kn_dim_eval(a, values, &got) && got == value ? 1 : -1;
    values[unknown] = 0;
    bool ok = kn_dim_eval(a, values, &rest);
    values[unknown] = 1;
    ok = ok && kn_dim_eval(a, values, &got);
    values[unknown] = KN_UNBOUND;
    if (!ok)
        return -1;
    slope = got - rest;
    if (slope == 0)
        return value == rest ? 0 : -1;
    if ((value - rest) % slope != 0 || (value - rest) / slope < 0)
        return -1;
    values[unknown] = (value - rest) / slope;
    return 1;
}

/* The value of a function of two values. */
static kn_status apply(const kn_symbols *s, kn_arena *a, int sym, int64_t num, int64_t den,
                       int64_t *value)
{
    kn_dim_function fn = s->syms.data[sym].fn;
    bool remainder = fn == KN_DIM_QUOTIENT && (den == 0 || num % den != 0);
    if (remainder || (fn == KN_DIM_FLOOR && den == 0)) {
        kn_text name = kn_text_new(a);
        kn_symbol_print(&name, s, sym);
        return remainder ? kn_fail(KN_SHAPE, "%s is not a whole number: %lld does not divide %lld",
                                   kn_text_str(&name), (long long)den, (long long)num)
                         : kn_fail(KN_SHAPE, "%s divides by zero", kn_text_str(&name));
    }
    *value = fn == KN_DIM_QUOTIENT ? num / den
             : fn == KN_DIM_FLOOR  ? kn_floor_divide(num, den)
             : fn == KN_DIM_MIN    ? (num < den ? num : den)
                                   : (num > den ? num : den);
    return KN_OK;
}

/* The value of a symbol from its parts, even where an equality gives it another: that is checked as a fact. */
static kn_status derive(const kn_symbols *s, kn_arena *a, int sym, int64_t *values)
{
    const kn_symbol *q = &s->syms.data[sym];
    int64_t num, den;
    if (q->fn && kn_dim_eval(q->num, values, &num) && kn_dim_eval(q->den, values, &den))
        return apply(s, a, sym, num, den, &values[sym]);
    if (!q->fn && q->equals && kn_dim_eval(q->equals, values, &num))
        values[sym] = num;
    return KN_OK;
}

kn_status kn_symbols_derive(const kn_symbols *s, kn_arena *a, int64_t *values)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < s->syms.len; i++) {
            if (values[i] != KN_UNBOUND)
                continue;
            KN_TRY(derive(s, a, i, values));
            changed = changed || values[i] != KN_UNBOUND;
        }
        /* and the other way round: N == 4 or N == M known through the representative */
        for (int i = 0; i < s->syms.len; i++) {
            const kn_symbol *q = &s->syms.data[i];
            int sym = q->equals && values[i] != KN_UNBOUND ? kn_dim_lone_symbol(q->equals) : -1;
            if (sym >= 0 && values[sym] == KN_UNBOUND) {
                values[sym] = values[i];
                changed = true;
            }
        }
    }
    return KN_OK;
}
