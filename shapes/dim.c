/* Polynomials: each is made once among its symbols, so that equal ones are the same pointer. */
#include <string.h>

#include "shapes/dim_impl.h"

static int term_order(const kn_dim_term *a, const kn_dim_term *b)
{
    int n = a->nsym < b->nsym ? a->nsym : b->nsym;
    for (int i = 0; i < n; i++)
        if (a->sym[i] != b->sym[i])
            return a->sym[i] < b->sym[i] ? -1 : 1;
    return b->nsym - a->nsym; /* longer products first, the constant last */
}

static bool same_terms(kn_dim a, const kn_dim_term *t, int n)
{
    if (a->nterms != n)
        return false;
    for (int i = 0; i < n; i++)
        if (a->terms[i].coef != t[i].coef || term_order(&a->terms[i], &t[i]) != 0)
            return false;
    return true;
}

static uint64_t hash_terms(const kn_dim_term *t, int n)
{
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    uint64_t h = (uint64_t)n;
    for (int i = 0; i < n; i++) {
        h = (h ^ (uint64_t)t[i].coef) * odd;
        for (int j = 0; j < t[i].nsym; j++)
            h = (h ^ (h >> 32) ^ (uint64_t)(t[i].sym[j] + 1)) * odd;
    }
    return h ^ h >> 32;
}

/* The dimension of these terms. */
static kn_dim intern(kn_symbols *s, const kn_dim_term *t, int n)
{
    uint64_t hash = hash_terms(t, n);
    for (const kn_symbols *at = s; at; at = at->outer) {
        for (int i = -1; (i = kn_finder_next(&at->dims_by, hash, i)) >= 0;)
            if (same_terms(at->dims.data[i], t, n))
                return at->dims.data[i];
    }
    struct kn_dim_s *d = kn_alloc(s->arena, sizeof *d + sizeof *t * (size_t)n);
    d->nterms = n;
    memcpy(d->terms, t, sizeof *t * (size_t)n);
    kn_push(s->arena, &s->dims, d);
    kn_finder_add(s->arena, &s->dims_by, hash, s->dims.len - 1);
    return d;
}

kn_dim kn_dim_copy(kn_symbols *to, kn_dim a) { return a ? intern(to, a->terms, a->nterms) : NULL; }

kn_dim kn_dim_const(kn_symbols *s, int64_t value)
{
    return intern(s, &(kn_dim_term){.coef = value}, value != 0);
}

kn_dim kn_dim_of_symbol(kn_symbols *s, int sym)
{
    return intern(s, &(kn_dim_term){.coef = 1, .nsym = 1, .sym = {(int16_t)sym}}, 1);
}

/* ---- arithmetic ---- */

/* A polynomial under construction: its first n terms. */
typedef struct poly {
    int n;
    bool overflow;
    kn_dim_term t[KN_DIM_TERMS];
} poly;

static void poly_clear(poly *p)
{
    p->n = 0;
    p->overflow = false;
}

static void poly_add(poly *p, const kn_dim_term *t)
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
            memmove(&p->t[i], &p->t[i + 1], sizeof *t * (size_t)(p->n - i - 1));
            p->n--;
        }
        return;
    }
    if (p->n == KN_DIM_TERMS) {
        p->overflow = true;
        return;
    }
    memmove(&p->t[i + 1], &p->t[i], sizeof *t * (size_t)(p->n - i));
    p->t[i] = *t;
    p->n++;
}

static kn_dim poly_finish(kn_symbols *s, const poly *p)
{
    if (!p->overflow)
        return intern(s, p->t, p->n);
    kn_fail(KN_SHAPE,
            "a dimension is too large or has too many terms: %d are the limit, each of %d factors",
            KN_DIM_TERMS, KN_DIM_DEGREE);
    return NULL;
}

static bool term_mul(const kn_dim_term *a, const kn_dim_term *b, kn_dim_term *out)
{
    *out = (kn_dim_term){0};
    if (a->nsym + b->nsym > KN_DIM_DEGREE || __builtin_mul_overflow(a->coef, b->coef, &out->coef))
        return false;
    int i = 0, j = 0;
    while (i < a->nsym || j < b->nsym) {
        bool from_a = j == b->nsym || (i < a->nsym && a->sym[i] <= b->sym[j]);
        out->sym[out->nsym++] = from_a ? a->sym[i++] : b->sym[j++];
    }
    return true;
}

static void poly_sum(poly *p, kn_dim a, kn_dim b)
{
    poly_clear(p);
    for (int i = 0; i < a->nterms; i++)
        poly_add(p, &a->terms[i]);
    for (int i = 0; i < b->nterms; i++)
        poly_add(p, &b->terms[i]);
}

/* The symbol of a term that is a number times one of this function, else NULL. */
static const kn_symbol *lone(const kn_symbols *s, const kn_dim_term *t, kn_dim_function fn)
{
    const kn_symbol *q = t->nsym == 1 ? &s->syms.data[t->sym[0]] : NULL;
    return q && q->fn == fn ? q : NULL;
}

/* The larger of two and the smaller of two that are as far apart are known together: max(a, b) + min(c, d) is a + c where
 * that is b + d. */
static bool poly_both(poly *p, const kn_symbol *max, const kn_symbol *min)
{
    const kn_dim parts[] = {min->num, min->den};
    for (int i = 0; i < 2; i++) {
        poly other;
        poly_sum(p, max->num, parts[i]);
        poly_sum(&other, max->den, parts[1 - i]);
        bool same = p->n == other.n && !p->overflow && !other.overflow;
        for (int k = 0; k < p->n && same; k++)
            same = p->t[k].coef == other.t[k].coef && term_order(&p->t[k], &other.t[k]) == 0;
        if (same)
            return true;
    }
    return false;
}

/* Puts together what was cut: max(N - 1, 0) + min(1, N), the lengths of x[1:] and x[:1], is N. False: nothing was. */
static bool poly_join(const kn_symbols *s, poly *p)
{
    for (int i = 0; i < p->n; i++)
        for (int j = 0; j < p->n; j++) {
            const kn_symbol *max = lone(s, &p->t[i], KN_DIM_MAX),
                            *min = lone(s, &p->t[j], KN_DIM_MIN);
            poly both;
            if (!max || !min || p->t[i].coef != p->t[j].coef || !poly_both(&both, max, min))
                continue;
            const kn_dim_term cut[] = {p->t[i], p->t[j]};
            for (int k = 0; k < 2; k++) {
                kn_dim_term away = cut[k];
                away.coef = -away.coef;
                poly_add(p, &away);
            }
            for (int k = 0; k < both.n; k++) {
                p->overflow |= __builtin_mul_overflow(both.t[k].coef, cut[0].coef, &both.t[k].coef);
                poly_add(p, &both.t[k]);
            }
            return true;
        }
    return false;
}

kn_dim kn_dim_add(kn_symbols *s, kn_dim a, kn_dim b)
{
    poly p;
    if (!a || !b)
        return NULL;
    poly_sum(&p, a, b);
    while (!p.overflow && poly_join(s, &p))
        continue;
    return poly_finish(s, &p);
}

kn_dim kn_dim_mul(kn_symbols *s, kn_dim a, kn_dim b)
{
    poly p;
    if (!a || !b)
        return NULL;
    poly_clear(&p);
    for (int i = 0; i < a->nterms; i++)
        for (int j = 0; j < b->nterms; j++) {
            kn_dim_term t;
            if (term_mul(&a->terms[i], &b->terms[j], &t))
                poly_add(&p, &t);
            else
                p.overflow = true;
        }
    return poly_finish(s, &p);
}

kn_dim kn_dim_sub(kn_symbols *s, kn_dim a, kn_dim b)
{
    return kn_dim_add(s, a, kn_dim_mul(s, kn_dim_const(s, -1), b));
}

/* t / d, when d divides it. */
static bool term_div(const kn_dim_term *t, const kn_dim_term *d, kn_dim_term *out)
{
    if (t->coef % d->coef != 0)
        return false;
    int j = 0;
    *out = (kn_dim_term){.coef = t->coef / d->coef};
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
    poly p;
    a = kn_dim_resolve(s, a);
    b = kn_dim_resolve(s, b);
    if (!a || !b || b->nterms != 1)
        return NULL;
    poly_clear(&p);
    for (int i = 0; i < a->nterms; i++) {
        kn_dim_term t;
        if (!term_div(&a->terms[i], &b->terms[0], &t))
            return NULL;
        poly_add(&p, &t);
    }
    return poly_finish(s, &p);
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
    int divisor = kn_dim_lone_symbol(b);
    const kn_symbol *d = divisor >= 0 ? &s->syms.data[divisor] : NULL;
    if (d && d->fn == KN_DIM_QUOTIENT && kn_dim_equal(s, d->num, a))
        return d->den; /* a / (a / d) */
    return kn_symbol_of(s, KN_DIM_QUOTIENT, a, b);
}

int64_t kn_floor_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

kn_dim kn_dim_floordiv(kn_symbols *s, kn_dim a, kn_dim b)
{
    int64_t va, vb;
    a = kn_dim_resolve(s, a);
    b = kn_dim_resolve(s, b);
    if (!a || !b)
        return NULL;
    if (kn_dim_constant(a, &va) && kn_dim_constant(b, &vb) && vb)
        return kn_dim_const(s, kn_floor_divide(va, vb));
    kn_dim exact = kn_dim_divide_exact(s, a, b);
    return exact ? exact : kn_symbol_of(s, KN_DIM_FLOOR, a, b);
}

bool kn_dim_not_negative(kn_symbols *s, kn_dim a)
{
    a = kn_dim_resolve(s, a);
    for (int i = 0; a && i < a->nterms; i++) {
        if (a->terms[i].coef < 0)
            return false;
        for (int j = 0; j < a->terms[i].nsym; j++)
            if (!s->syms.data[a->terms[i].sym[j]].not_negative)
                return false;
    }
    return a != NULL;
}

/* The one of a and b that is known to be the smaller, or the larger; else a symbol. */
static kn_dim extreme(kn_symbols *s, kn_dim_function fn, kn_dim a, kn_dim b)
{
    a = kn_dim_resolve(s, a);
    b = kn_dim_resolve(s, b);
    kn_dim difference = kn_dim_sub(s, a, b);
    if (!difference)
        return NULL;
    if (kn_dim_not_negative(s, difference))
        return fn == KN_DIM_MAX ? a : b;
    if (kn_dim_not_negative(s, kn_dim_sub(s, b, a)))
        return fn == KN_DIM_MAX ? b : a;
    return kn_symbol_of(s, fn, a, b);
}

kn_dim kn_dim_min(kn_symbols *s, kn_dim a, kn_dim b) { return extreme(s, KN_DIM_MIN, a, b); }
kn_dim kn_dim_max(kn_symbols *s, kn_dim a, kn_dim b) { return extreme(s, KN_DIM_MAX, a, b); }

/* ---- equalities ---- */

bool kn_dim_has_known_equal(const kn_symbols *s, kn_dim a)
{
    for (int i = 0; i < a->nterms; i++)
        for (int j = 0; j < a->terms[i].nsym; j++)
            if (s->syms.data[a->terms[i].sym[j]].equals)
                return true;
    return false;
}

kn_dim kn_dim_map(kn_symbols *s, kn_dim a, kn_symbol_fn of, void *ctx)
{
    kn_dim sum = kn_dim_const(s, 0);
    for (int i = 0; i < a->nterms; i++) {
        kn_dim product = kn_dim_const(s, a->terms[i].coef);
        for (int j = 0; j < a->terms[i].nsym; j++)
            product = kn_dim_mul(s, product, of(s, a->terms[i].sym[j], ctx));
        sum = kn_dim_add(s, sum, product);
    }
    return sum;
}

typedef struct replacing {
    int sym;
    kn_dim by;
} replacing;

static kn_dim replaced(kn_symbols *s, int sym, void *ctx)
{
    const replacing *r = ctx;
    return sym == r->sym ? r->by : kn_symbol_resolve(s, sym);
}

/* `a` with what symbols equal in their place, and `by` in that of symbol `sym`. */
static kn_dim replace(kn_symbols *s, kn_dim a, int sym, kn_dim by)
{
    return kn_dim_map(s, a, replaced, &(replacing){sym, by});
}

kn_dim kn_dim_resolve(kn_symbols *s, kn_dim a)
{
    return a && kn_dim_has_known_equal(s, a) ? replace(s, a, -1, NULL) : a;
}

kn_dim kn_dim_take_exact(kn_symbols *s, kn_dim a, kn_dim *num, kn_dim *den)
{
    for (int i = 0; i < a->nterms; i++)
        for (int j = 0; j < a->terms[i].nsym; j++) {
            int sym = a->terms[i].sym[j];
            if (s->syms.data[sym].fn != KN_DIM_FLOOR)
                continue;
            *num = s->syms.data[sym].num;
            *den = s->syms.data[sym].den;
            return replace(s, a, sym, kn_dim_quotient(s, *num, *den));
        }
    return NULL;
}

bool kn_dim_is_const(kn_symbols *s, kn_dim a, int64_t *value)
{
    a = kn_dim_resolve(s, a); /* NULL when the substituted form overflows: then nothing is known */
    return a && kn_dim_constant(a, value);
}

bool kn_dim_is_one(kn_symbols *s, kn_dim a)
{
    int64_t v;
    int lone = a ? kn_dim_lone_symbol(a) : -1; /* as most are */
    if (lone >= 0 && !s->syms.data[lone].equals)
        return false;
    return kn_dim_is_const(s, a, &v) && v == 1;
}

bool kn_dim_equal(kn_symbols *s, kn_dim a, kn_dim b)
{
    if (a == b)
        return true;
    a = kn_dim_resolve(s, a);
    return a && a == kn_dim_resolve(s, b);
}

/* difference == 0 solved for the latest symbol that occurs once, alone, with factor 1 or -1. */
static bool isolate(kn_symbols *s, kn_dim difference)
{
    int best = -1;
    for (int i = 0; i < difference->nterms; i++) {
        const kn_dim_term *t = &difference->terms[i];
        if (t->nsym == 1 && (t->coef == 1 || t->coef == -1) &&
            kn_dim_uses(difference, t->sym[0]) == 1 &&
            (best < 0 || t->sym[0] > difference->terms[best].sym[0]))
            best = i;
    }
    if (best < 0)
        return false;
    int64_t sign = -difference->terms[best].coef;
    poly rest;
    poly_clear(&rest);
    for (int j = 0; j < difference->nterms; j++)
        if (j != best) {
            kn_dim_term t = difference->terms[j];
            t.coef *= sign;
            poly_add(&rest, &t);
        }
    kn_symbol_equate(s, difference->terms[best].sym[0], intern(s, rest.t, rest.n));
    return true;
}

kn_unified kn_dim_unify(kn_symbols *s, kn_dim a, kn_dim b)
{
    a = kn_dim_resolve(s, a);
    b = kn_dim_resolve(s, b);
    if (!a || !b)
        return KN_UNDECIDED;
    if (a == b)
        return KN_UNIFIED;
    kn_dim difference = kn_dim_sub(s, a, b);
    int64_t constant;
    if (!difference)
        return KN_UNDECIDED;
    bool parts = kn_dim_has_part(s, a);
    if (kn_dim_constant(difference, &constant) || parts != kn_dim_has_part(s, b))
        return KN_NEVER;
    kn_dim whole = parts ? kn_dim_whole(s, a) : NULL, other = parts ? kn_dim_whole(s, b) : NULL;
    if (!isolate(s, difference))
        return KN_UNDECIDED;
    kn_dim_unify(s, whole, other); /* what is equal on every rank is so as a whole */
    return KN_UNIFIED;
}
