#include "shapes/facts.h"

#include <string.h>

void kn_facts_add(kn_facts *f, kn_symbols *s, kn_arena *a, kn_fact fact)
{
    int64_t va, vb;
    if (fact.a == fact.b)
        return;
    if (fact.kind == KN_FACT_DIVIDES && kn_dim_is_const(s, fact.a, &va) &&
        kn_dim_is_const(s, fact.b, &vb) && vb != 0 && va % vb == 0)
        return;
    for (int i = 0; i < f->list.len; i++)
        if (f->list.data[i].kind == fact.kind && kn_dim_equal(s, f->list.data[i].a, fact.a) &&
            kn_dim_equal(s, f->list.data[i].b, fact.b) &&
            strcmp(f->list.data[i].why, fact.why) == 0)
            return;
    kn_text t = kn_text_new(a);
    kn_dim_print(&t, s, fact.a);
    kn_put(&t, fact.kind == KN_FACT_EQUAL ? " == " : " % ");
    kn_dim_print(&t, s, fact.b);
    if (fact.kind == KN_FACT_DIVIDES)
        kn_put(&t, " == 0");
    fact.text = kn_text_str(&t);
    kn_push(a, &f->list, fact);
}

kn_status kn_facts_check(const kn_facts *f, const int64_t *values)
{
    for (int i = 0; i < f->list.len; i++) {
        const kn_fact *fact = &f->list.data[i];
        int64_t a, b;
        if (!kn_dim_eval(fact->a, values, &a) || !kn_dim_eval(fact->b, values, &b))
            return kn_fail(KN_SHAPE, "a size is unknown or overflows in %s", fact->why);
        if (fact->kind == KN_FACT_EQUAL ? a == b : b != 0 && a % b == 0)
            continue;
        if (fact->kind == KN_FACT_DIVIDES)
            return kn_fail(KN_SHAPE, "%s needs %s, but it is %lld %% %lld", fact->why, fact->text,
                           (long long)a, (long long)b);
        return kn_fail(KN_SHAPE, "%s needs %s, but it is %lld == %lld", fact->why, fact->text,
                       (long long)a, (long long)b);
    }
    return KN_OK;
}
