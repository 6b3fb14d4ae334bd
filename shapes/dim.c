#include "shapes/dim.h"

#include <string.h>

/* One term: coef * product of symbols, the symbols sorted, repeated for powers. */
typedef struct term {
    int64_t coef;
    int nsym;
    int16_t sym[KN_DIM_DEGREE];
} term;

/* Terms sorted by their symbols, the constant last; no zero coefficients. Zero has no terms. */
struct kn_dim_s {
    int nterms;
    term terms[];
};

/* What a symbol is of its two parts. */
typedef enum function { QUOTIENT, FLOOR, MIN, MAX } function;

typedef struct symbol {
    const char *name;
    kn_dim num, den; /* its parts, or NULL */
    function fn;
    kn_dim equals; /* a dimension that does not contain this symbol, or NULL */
} symbol;

struct kn_symbols {
    kn_arena *arena;
    KN_VEC(symbol) syms;
};

kn_symbols *kn_symbols_new(kn_arena *a)
{
    kn_symbols *s = KN_NEW(a, kn_symbols);
    s->arena = a;
    return s;
}

int kn_symbols_count(const kn_symbols *s) { return s->syms.len; }
const char *kn_symbol_name(const kn_symbols *s, int sym) { return s->syms.data[sym].name; }

int kn_symbol_find(const kn_symbols *s, const char *name, size_t len)
{
    for (int i = 0; i < s->syms.len; i++)
        if (strlen(s->syms.data[i].name) == len && memcmp(s->syms.data[i].name, name, len) == 0)
            return i;
    return -1;
}

kn_symbols *kn_symbols_within(kn_arena *a, const kn_symbols *s)
{
    kn_symbols *within = kn_symbols_new(a);
    for (int i = 0; i < s->syms.len; i++)
        kn_push(a, &within->syms, s->syms.data[i]);
    return within;
}

kn_dim kn_dim_copy(kn_symbols *to, kn_dim a)
{
    if (!a)
        return NULL;
    size_t size = sizeof *a + sizeof(term) * (size_t)a->nterms;
    return memcpy(kn_alloc(to->arena, size), a, size);
}

kn_symbols *kn_symbols_clone(kn_arena *a, const kn_symbols *s)
{
    kn_symbols *copy = kn_symbols_new(a);
    for (int i = 0; i < s->syms.len; i++) {
        const symbol *from = &s->syms.data[i];
        symbol to = {kn_strdup(a, from->name), kn_dim_copy(copy, from->num),
                     kn_dim_copy(copy, from->den), from->fn, kn_dim_copy(copy, from->equals)};
        kn_push(a, &copy->syms, to);
    }
    return copy;
}

static int term_order(const term *a, const term *b)
{
    int n = a->nsym < b->nsym ? a->nsym : b->nsym;
    for (int i = 0; i < n; i++)
        if (a->sym[i] != b->sym[i])
            return a->sym[i] < b->sym[i] ? -1 : 1;
    return b->nsym - a->nsym; /* longer products first, the constant last */
}

/* A polynomial under construction. */
typedef struct poly {
    int n;
    bool overflow;
    term t[KN_DIM_TERMS];
} poly;

static void poly_add(poly *p, const term *t)
{
    if (t->coef == 0)
        return;
    int i = 0;
    while (i < p->n && term_order(&p->t[i], t) < 0)
        i++;
    if (i < p->n && term_order(&p->t[i], t) == 0) {
        if (__builtin_add_overflow(p->t[i].coef, t->coef, &p->t[i].coef))
            p->overflow = true;
        if (p->t[i].coef == 0) {
            memmove(&p->t[i], &p->t[i + 1], sizeof(term) * (size_t)(p->n - i - 1));
            p->n--;
        }
        return;
    }
    if (p->n == KN_DIM_TERMS) {
        p->overflow = true;
        return;
    }
    memmove(&p->t[i + 1], &p->t[i], sizeof(term) * (size_t)(p->n - i));
    p->t[i] = *t;
    p->n++;
}

static bool term_mul(const term *a, const term *b, term *out)
{
    if (a->nsym + b->nsym > KN_DIM_DEGREE || __builtin_mul_overflow(a->coef, b->coef, &out->coef))
        return false;
    int i = 0, j = 0;
    out->nsym = 0;
    while (i < a->nsym || j < b->nsym) {
        bool from_a = j == b->nsym || (i < a->nsym && a->sym[i] <= b->sym[j]);
        out->sym[out->nsym++] = from_a ? a->sym[i++] : b->sym[j++];
    }
    return true;
}

static kn_dim poly_finish(kn_symbols *s, const poly *p)
{
    if (p->overflow) {
        kn_fail(KN_SHAPE, "a dimension is too large or has too many terms");
        return NULL;
    }
    struct kn_dim_s *d = kn_alloc(s->arena, sizeof *d + sizeof(term) * (size_t)(p->n ? p->n : 1));
    d->nterms = p->n;
    memcpy(d->terms, p->t, sizeof(term) * (size_t)p->n);
    return d;
}

kn_dim kn_dim_const(kn_symbols *s, int64_t value)
{
    poly p = {0};
    poly_add(&p, &(term){.coef = value});
    return poly_finish(s, &p);
}

static kn_dim dim_of_symbol(kn_symbols *s, int sym)
{
    poly p = {0};
    poly_add(&p, &(term){.coef = 1, .nsym = 1, .sym = {(int16_t)sym}});
    return poly_finish(s, &p);
}

static int new_symbol(kn_symbols *s, const char *name)
{
    if (s->syms.len == INT16_MAX) {
        kn_fail(KN_SHAPE, "more than %d symbols", INT16_MAX);
        return -1;
    }
    kn_push(s->arena, &s->syms, ((symbol){.name = name}));
    return s->syms.len - 1;
}

kn_dim kn_dim_sym(kn_symbols *s, const char *name, size_t len)
{
    int sym = kn_symbol_find(s, name, len);
    if (sym < 0)
        sym = new_symbol(s, kn_strndup(s->arena, name, len));
    return sym < 0 ? NULL : dim_of_symbol(s, sym);
}

kn_dim kn_dim_add(kn_symbols *s, kn_dim a, kn_dim b)
{
    if (!a || !b)
        return NULL;
    poly p = {0};
    for (int i = 0; i < a->nterms; i++)
        poly_add(&p, &a->terms[i]);
    for (int i = 0; i < b->nterms; i++)
        poly_add(&p, &b->terms[i]);
    return poly_finish(s, &p);
}

kn_dim kn_dim_mul(kn_symbols *s, kn_dim a, kn_dim b)
{
    if (!a || !b)
        return NULL;
    poly p = {0};
    for (int i = 0; i < a->nterms; i++)
        for (int j = 0; j < b->nterms; j++) {
            term t;
            if (term_mul(&a->terms[i], &b->terms[j], &t))
                poly_add(&p, &t);
            else
                p.overflow = true;
        }
    return poly_finish(s, &p);
}

/* t / d, when d divides it. */
static bool term_div(const term *t, const term *d, term *out)
{
    if (t->coef % d->coef != 0)
        return false;
    int j = 0;
    *out = (term){.coef = t->coef / d->coef};
    for (int i = 0; i < t->nsym; i++) {
        if (j < d->nsym && d->sym[j] == t->sym[i])
            j++;
        else
            out->sym[out->nsym++] = t->sym[i];
    }
    return j == d->nsym;
}

kn_dim kn_dim_divide_exact(kn_symbols *s, kn_dim a, kn_dim b)
{
    a = kn_dim_resolve(s, a);
    b = kn_dim_resolve(s, b);
    if (!a || !b || b->nterms != 1)
        return NULL;
    poly p = {0};
    for (int i = 0; i < a->nterms; i++) {
        term t;
        if (!term_div(&a->terms[i], &b->terms[0], &t))
            return NULL;
        poly_add(&p, &t);
    }
    return poly_finish(s, &p);
}

/* `a` as a lone symbol, or -1. */
static int lone_symbol(kn_dim a)
{
    return a->nterms == 1 && a->terms[0].coef == 1 && a->terms[0].nsym == 1 ? a->terms[0].sym[0]
                                                                            : -1;
}

/* A number or a symbol that is no quotient. */
static bool is_one_factor(const kn_symbols *s, kn_dim a)
{
    const term *t = a->terms;
    return a->nterms == 1 &&
           (t->nsym == 0 || (t->nsym == 1 && t->coef == 1 && !s->syms.data[t->sym[0]].num));
}

static void print_part(kn_text *t, const kn_symbols *s, kn_dim a, bool parentheses)
{
    kn_put(t, parentheses ? "(" : "");
    kn_dim_print(t, s, a);
    kn_put(t, parentheses ? ")" : "");
}

/* The symbol for a function of two dimensions; the one there is already if there is one. */
static kn_dim symbol_of(kn_symbols *s, function fn, kn_dim a, kn_dim b)
{
    static const char *const before[] = {"", "(", "min(", "max("}, *const between[] = {"/", ")//(",
                                                                                       ", ", ", "};
    for (int i = 0; i < s->syms.len; i++) {
        const symbol *q = &s->syms.data[i];
        if (q->num && q->fn == fn && kn_dim_equal(s, q->num, a) && kn_dim_equal(s, q->den, b))
            return dim_of_symbol(s, i);
    }
    kn_text name = kn_text_new(s->arena);
    kn_put(&name, before[fn]);
    print_part(&name, s, a, fn == QUOTIENT && a->nterms > 1);
    kn_put(&name, between[fn]);
    print_part(&name, s, b, fn == QUOTIENT && !is_one_factor(s, b));
    kn_put(&name, fn == QUOTIENT ? "" : ")");
    int sym = new_symbol(s, kn_text_str(&name));
    if (sym < 0)
        return NULL;
    s->syms.data[sym].num = a;
    s->syms.data[sym].den = b;
    s->syms.data[sym].fn = fn;
    return dim_of_symbol(s, sym);
}

kn_dim kn_dim_quotient(kn_symbols *s, kn_dim a, kn_dim b)
{
    kn_dim exact = kn_dim_divide_exact(s, a, b);
    if (exact)
        return exact;
    a = kn_dim_resolve(s, a);
    b = kn_dim_resolve(s, b);
    if (!a || !b)
        return NULL;
    if (b->nterms == 0) {
        kn_fail(KN_SHAPE, "cannot divide a dimension by zero");
        return NULL;
    }
    int divisor = lone_symbol(b);
    const symbol *d = divisor >= 0 ? &s->syms.data[divisor] : NULL;
    if (d && d->num && d->fn == QUOTIENT && kn_dim_equal(s, d->num, a))
        return d->den; /* a / (a / d) */
    return symbol_of(s, QUOTIENT, a, b);
}

kn_dim kn_dim_sub(kn_symbols *s, kn_dim a, kn_dim b)
{
    return kn_dim_add(s, a, kn_dim_mul(s, kn_dim_const(s, -1), b));
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

kn_dim kn_dim_floordiv(kn_symbols *s, kn_dim a, kn_dim b)
{
    int64_t va, vb;
    a = kn_dim_resolve(s, a);
    b = kn_dim_resolve(s, b);
    if (!a || !b)
        return NULL;
    if (kn_dim_is_const(s, a, &va) && kn_dim_is_const(s, b, &vb) && vb)
        return kn_dim_const(s, floor_divide(va, vb));
    kn_dim exact = kn_dim_divide_exact(s, a, b);
    return exact ? exact : symbol_of(s, FLOOR, a, b);
}

bool kn_dim_not_negative(kn_symbols *s, kn_dim a)
{
    a = kn_dim_resolve(s, a);
    for (int i = 0; a && i < a->nterms; i++) {
        if (a->terms[i].coef < 0)
            return false;
        for (int j = 0; j < a->terms[i].nsym; j++) {
            const symbol *q = &s->syms.data[a->terms[i].sym[j]];
            bool num = !q->num || q->fn == QUOTIENT || kn_dim_not_negative(s, q->num);
            bool den = !q->num || q->fn == QUOTIENT || kn_dim_not_negative(s, q->den);
            if (q->num && q->fn == MAX ? !num && !den : !num || !den)
                return false;
        }
    }
    return a != NULL;
}

/* The one of a and b that is known to be the smaller, or the larger; else a symbol. */
static kn_dim extreme(kn_symbols *s, function fn, kn_dim a, kn_dim b)
{
    a = kn_dim_resolve(s, a);
    b = kn_dim_resolve(s, b);
    kn_dim difference = kn_dim_sub(s, a, b);
    if (!difference)
        return NULL;
    if (kn_dim_not_negative(s, difference))
        return fn == MAX ? a : b;
    if (kn_dim_not_negative(s, kn_dim_sub(s, b, a)))
        return fn == MAX ? b : a;
    return symbol_of(s, fn, a, b);
}

kn_dim kn_dim_min(kn_symbols *s, kn_dim a, kn_dim b) { return extreme(s, MIN, a, b); }
kn_dim kn_dim_max(kn_symbols *s, kn_dim a, kn_dim b) { return extreme(s, MAX, a, b); }

static bool has_known_equal(const kn_symbols *s, kn_dim a)
{
    for (int i = 0; i < a->nterms; i++)
        for (int j = 0; j < a->terms[i].nsym; j++)
            if (s->syms.data[a->terms[i].sym[j]].equals)
                return true;
    return false;
}

kn_dim kn_dim_resolve(kn_symbols *s, kn_dim a)
{
    if (!a || !has_known_equal(s, a))
        return a;
    kn_dim sum = kn_dim_const(s, 0);
    for (int i = 0; i < a->nterms; i++) {
        kn_dim product = kn_dim_const(s, a->terms[i].coef);
        for (int j = 0; j < a->terms[i].nsym; j++) {
            int sym = a->terms[i].sym[j];
            kn_dim to = s->syms.data[sym].equals;
            product = kn_dim_mul(s, product, to ? kn_dim_resolve(s, to) : dim_of_symbol(s, sym));
        }
        sum = kn_dim_add(s, sum, product);
    }
    return sum;
}

kn_dim kn_dim_take_exact(kn_symbols *s, kn_dim a, kn_dim *num, kn_dim *den)
{
    int found = -1;
    for (int i = 0; i < a->nterms && found < 0; i++)
        for (int j = 0; j < a->terms[i].nsym && found < 0; j++) {
            const symbol *q = &s->syms.data[a->terms[i].sym[j]];
            if (q->num && q->fn == FLOOR)
                found = a->terms[i].sym[j];
        }
    if (found < 0)
        return NULL;
    *num = s->syms.data[found].num;
    *den = s->syms.data[found].den;
    kn_dim by = kn_dim_quotient(s, *num, *den), sum = kn_dim_const(s, 0);
    for (int i = 0; i < a->nterms; i++) {
        kn_dim product = kn_dim_const(s, a->terms[i].coef);
        for (int j = 0; j < a->terms[i].nsym; j++) {
            int sym = a->terms[i].sym[j];
            product = kn_dim_mul(s, product, sym == found ? by : dim_of_symbol(s, sym));
        }
        sum = kn_dim_add(s, sum, product);
    }
    return sum;
}

static bool is_const(kn_dim a, int64_t *value)
{
    if (a->nterms > 1 || (a->nterms == 1 && a->terms[0].nsym))
        return false;
    *value = a->nterms ? a->terms[0].coef : 0;
    return true;
}

bool kn_dim_is_const(kn_symbols *s, kn_dim a, int64_t *value)
{
    a = kn_dim_resolve(s, a); /* NULL when the substituted form overflows: then nothing is known */
    return a && is_const(a, value);
}

bool kn_dim_is_one(kn_symbols *s, kn_dim a)
{
    int64_t v;
    return kn_dim_is_const(s, a, &v) && v == 1;
}

static bool same(kn_dim a, kn_dim b)
{
    if (a->nterms != b->nterms)
        return false;
    for (int i = 0; i < a->nterms; i++)
        if (a->terms[i].coef != b->terms[i].coef || term_order(&a->terms[i], &b->terms[i]) != 0)
            return false;
    return true;
}

bool kn_dim_equal(kn_symbols *s, kn_dim a, kn_dim b)
{
    if (a == b)
        return true;
    a = kn_dim_resolve(s, a);
    b = kn_dim_resolve(s, b);
    return a && b && same(a, b);
}

/* difference == 0 solved for a symbol that occurs once, alone, with factor 1 or -1; the latest such. */
static bool isolate(kn_symbols *s, kn_dim difference)
{
    int best = -1;
    for (int i = 0; i < difference->nterms; i++) {
        const term *t = &difference->terms[i];
        int uses = 0;
        if (t->nsym != 1 || (t->coef != 1 && t->coef != -1))
            continue;
        for (int j = 0; j < difference->nterms; j++)
            for (int k = 0; k < difference->terms[j].nsym; k++)
                uses += difference->terms[j].sym[k] == t->sym[0];
        if (uses == 1 && (best < 0 || t->sym[0] > difference->terms[best].sym[0]))
            best = i;
    }
    if (best < 0)
        return false;
    int64_t sign = -difference->terms[best].coef;
    poly rest = {0};
    for (int j = 0; j < difference->nterms; j++)
        if (j != best) {
            term t = difference->terms[j];
            t.coef *= sign;
            poly_add(&rest, &t);
        }
    kn_dim equals = poly_finish(s, &rest);
    if (equals)
        s->syms.data[difference->terms[best].sym[0]].equals = equals;
    return equals != NULL;
}

kn_unified kn_dim_unify(kn_symbols *s, kn_dim a, kn_dim b)
{
    a = kn_dim_resolve(s, a);
    b = kn_dim_resolve(s, b);
    if (!a || !b)
        return KN_UNDECIDED;
    if (same(a, b))
        return KN_UNIFIED;
    kn_dim difference = kn_dim_add(s, a, kn_dim_mul(s, kn_dim_const(s, -1), b));
    int64_t constant;
    if (!difference)
        return KN_UNDECIDED;
    if (is_const(difference, &constant))
        return KN_NEVER;
    return isolate(s, difference) ? KN_UNIFIED : KN_UNDECIDED;
}

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

kn_status kn_symbols_derive(kn_symbols *s, int64_t *values)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < s->syms.len; i++) {
            const symbol *q = &s->syms.data[i];
            int64_t num, den;
            if (values[i] != KN_UNBOUND)
                continue;
            if (q->num) { /* its value, whatever it should be equal to: that is a fact */
                if (!kn_dim_eval(q->num, values, &num) || !kn_dim_eval(q->den, values, &den))
                    continue;
                if (q->fn == QUOTIENT && (den == 0 || num % den != 0))
                    return kn_fail(KN_SHAPE, "%s is not a whole number: %lld does not divide %lld",
                                   q->name, (long long)den, (long long)num);
                if (q->fn == FLOOR && den == 0)
                    return kn_fail(KN_SHAPE, "%s divides by zero", q->name);
                values[i] = q->fn == QUOTIENT ? num / den
                            : q->fn == FLOOR  ? floor_divide(num, den)
                            : q->fn == MIN    ? (num < den ? num : den)
                                              : (num > den ? num : den);
                changed = true;
            } else if (q->equals && kn_dim_eval(q->equals, values, &num)) {
                values[i] = num;
                changed = true;
            }
        }
        /* and the other way round: N == 4 or N == M known through the representative */
        for (int i = 0; i < s->syms.len; i++) {
            const symbol *q = &s->syms.data[i];
            if (values[i] == KN_UNBOUND || !q->equals)
                continue;
            int sym = lone_symbol(q->equals);
            if (sym >= 0 && values[sym] == KN_UNBOUND) {
                values[sym] = values[i];
                changed = true;
            }
        }
    }
    return KN_OK;
}

void kn_dim_print(kn_text *t, const kn_symbols *s, kn_dim a)
{
    if (a->nterms == 0)
        kn_put(t, "0");
    for (int i = 0; i < a->nterms; i++) {
        const term *m = &a->terms[i];
        int64_t coef = m->coef;
        if (i)
            kn_put(t, coef < 0 ? " - " : " + ");
        else if (coef < 0)
            kn_put(t, "-");
        if (coef < 0)
            coef = -coef;
        if (coef != 1 || m->nsym == 0)
            kn_putf(t, "%lld%s", (long long)coef, m->nsym ? "*" : "");
        for (int j = 0; j < m->nsym; j++) {
            const symbol *q = &s->syms.data[m->sym[j]];
            bool quotient = q->num && q->fn == QUOTIENT && (coef != 1 || m->nsym > 1);
            kn_putf(t, quotient ? "%s(%s)" : "%s%s", j ? "*" : "", q->name);
        }
    }
}

/* Is the k-th symbol of term j of dimension i in something before that? */
static bool seen_before(const kn_dim *dims, int i, int j, int k)
{
    int sym = dims[i]->terms[j].sym[k];
    for (int x = 0; x <= i; x++)
        for (int y = 0; y < (x == i ? j + 1 : dims[x]->nterms); y++)
            for (int z = 0; z < (x == i && y == j ? k : dims[x]->terms[y].nsym); z++)
                if (dims[x]->terms[y].sym[z] == sym)
                    return true;
    return false;
}

void kn_dim_print_values(kn_text *t, const kn_symbols *s, const kn_dim *dims, int n,
                         const int64_t *values)
{
    size_t start = t->len;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < dims[i]->nterms; j++)
            for (int k = 0; k < dims[i]->terms[j].nsym; k++)
                if (!seen_before(dims, i, j, k))
                    kn_putf(t, "%s%s is %lld", t->len > start ? ", " : "",
                            s->syms.data[dims[i]->terms[j].sym[k]].name,
                            (long long)values[dims[i]->terms[j].sym[k]]);
}

void kn_shape_print(kn_text *t, const kn_symbols *s, const kn_dim *shape, int rank)
{
    kn_put(t, "[");
    for (int i = 0; i < rank; i++) {
        if (i)
            kn_put(t, ", ");
        kn_dim_print(t, s, shape[i]);
    }
    kn_put(t, "]");
}
