/* Dimensions as C. */
#include "shapes/dim_impl.h"

void kn_dim_put_c(kn_text *t, kn_dim a, kn_symbol_name_fn name, void *user)
{
    if (a->nterms == 0)
        kn_put(t, "0");
    for (int i = 0; i < a->nterms; i++) {
        const kn_dim_term *m = &a->terms[i];
        const int64_t coef = i && m->coef < 0 ? -m->coef : m->coef;
        kn_put(t, !i ? "" : m->coef < 0 ? " - " : " + ");
        if (m->nsym && coef == -1)
            kn_put(t, "-");
        else if (coef != 1 || !m->nsym)
            kn_putf(t, "%lld%s", (long long)coef, m->nsym ? " * " : "");
        for (int j = 0; j < m->nsym; j++)
            kn_putf(t, "%s%s", j ? " * " : "", name(user, m->sym[j]));
    }
}

kn_symbol_parts kn_symbol_made_of(const kn_symbols *s, int sym)
{
    static const char ops[] = {[KN_DIM_FREE] = 0,
                               [KN_DIM_QUOTIENT] = '/',
                               [KN_DIM_FLOOR] = 'f',
                               [KN_DIM_MIN] = '<',
                               [KN_DIM_MAX] = '>'};
    const kn_symbol *q = &s->syms.data[sym];
    return q->fn ? (kn_symbol_parts){ops[q->fn], q->num, q->den}
                 : (kn_symbol_parts){q->equals ? '=' : 0, q->equals, NULL};
}

int kn_dim_symbol_after(kn_dim a, int sym)
{
    int next = -1;
    for (int i = 0; a && i < a->nterms; i++)
        for (int j = 0; j < a->terms[i].nsym; j++) {
            const int s = a->terms[i].sym[j];
            if (s > sym && (next < 0 || s < next))
                next = s;
        }
    return next;
}
