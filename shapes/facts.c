#include "shapes/facts.h"

#include <string.h>

#include "base/hash.h"

/*                                         between the sides, behind them */
static const char *const form[][2] = {
    [KN_FACT_EQUAL] = {" == ", ""},   [KN_FACT_DIVIDES] = {" % ", " == 0"},
    [KN_FACT_DIFFERS] = {" != ", ""}, [KN_FACT_LESS] = {" < ", ""},
    [KN_FACT_AT_MOST] = {" <= ", ""},
};

bool kn_fact_holds(kn_fact_kind kind, int64_t a, int64_t b)
{
    switch (kind) {
    case KN_FACT_EQUAL: return a == b;
    case KN_FACT_DIVIDES: return b != 0 && a % b == 0;
    case KN_FACT_DIFFERS: return a != b;
    case KN_FACT_LESS: return a < b;
    case KN_FACT_AT_MOST: return a <= b;
    }
    return false;
}

static void put_side(kn_text *t, const kn_symbols *s, const kn_fact *fact, bool right)
{
    kn_text side = kn_text_new(t->arena);
    kn_dim_print(&side, s, right ? fact->b : fact->a);
    const char *text = kn_text_str(&side);
    kn_put(t, fact->kind == KN_FACT_DIVIDES ? kn_dim_operand_text(t->arena, text, right) : text);
}

void kn_fact_print(kn_text *t, const kn_symbols *s, const kn_fact *fact)
{
    put_side(t, s, fact, false);
    kn_put(t, form[fact->kind][0]);
    put_side(t, s, fact, true);
    kn_put(t, form[fact->kind][1]);
}

/* As they are written: sizes that are known to be equal by now are so because of facts like these. */
static bool same_fact(const kn_fact *x, const kn_fact *y)
{
    return x->kind == y->kind && x->a == y->a && x->b == y->b && strcmp(x->why, y->why) == 0 &&
           (x->said == y->said || (x->said && y->said && strcmp(x->said, y->said) == 0));
}

/* Does it hold wherever the facts so far do? An equality is known as soon as it is stated, its own fact included. */
static bool is_evident(kn_symbols *s, const kn_fact *fact)
{
    int64_t a, b;
    if (fact->kind == KN_FACT_EQUAL)
        return fact->a == fact->b;
    return kn_dim_is_const(s, fact->a, &a) && kn_dim_is_const(s, fact->b, &b) &&
           kn_fact_holds(fact->kind, a, b);
}

void kn_facts_add(kn_facts *f, kn_symbols *s, kn_arena *a, kn_fact fact)
{
    if (is_evident(s, &fact))
        return;
    const void *key[] = {fact.a, fact.b};
    uint64_t hash = kn_hash(fact.why, strlen(fact.why), kn_hash(key, sizeof key, fact.kind));
    for (int i = -1; (i = kn_finder_next(&f->by, hash, i)) >= 0;)
        if (same_fact(&f->list.data[i], &fact))
            return;
    kn_push(a, &f->list, fact);
    kn_finder_add(a, &f->by, hash, f->list.len - 1);
}

bool kn_facts_not_negative(const kn_facts *f, kn_symbols *s, kn_dim a)
{
    if (kn_dim_not_negative(s, a))
        return true;
    for (int i = 0; a && i < f->list.len; i++) {
        const kn_fact *fact = &f->list.data[i];
        if (fact->kind != KN_FACT_AT_MOST && fact->kind != KN_FACT_LESS)
            continue;
        kn_dim more =
            kn_dim_sub(s, a, kn_dim_sub(s, fact->b, fact->a)); /* b - a is 0, or 1, at least */
        if (fact->kind == KN_FACT_LESS)
            more = kn_dim_add(s, more, kn_dim_const(s, 1));
        if (kn_dim_not_negative(s, more))
            return true;
    }
    return false;
}

kn_status kn_facts_check(const kn_facts *f, const kn_symbols *s, kn_arena *arena,
                         const int64_t *values)
{
    for (int i = 0; i < f->list.len; i++) {
        const kn_fact *fact = &f->list.data[i];
        int64_t a, b;
        if (!kn_dim_eval(fact->a, values, &a) || !kn_dim_eval(fact->b, values, &b))
            return kn_fail(KN_SHAPE, "a size is unknown or overflows in %s",
                           fact->said ? fact->said : fact->why);
        if (kn_fact_holds(fact->kind, a, b))
            continue;
        kn_text sizes = kn_text_new(arena);
        kn_dim_print_values(&sizes, s, (kn_dim[]){fact->a, fact->b}, 2, values);
        if (fact->said)
            return kn_fail(KN_SHAPE, "%s, but %s", fact->said, kn_text_str(&sizes));
        kn_text text = kn_text_new(arena);
        kn_fact_print(&text, s, fact);
        return kn_fail(KN_SHAPE, "%s needs %s, but it is %lld%s%lld%s (%s)", fact->why,
                       kn_text_str(&text), (long long)a, form[fact->kind][0], (long long)b,
                       form[fact->kind][1], kn_text_str(&sizes));
    }
    return KN_OK;
}
