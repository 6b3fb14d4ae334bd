/* Dimensions as text, made where it is read. A size that is derived from derived ones would have a text that doubles
 * with each, so what is nested too deep, or comes too late, is written as "...". */
#include <string.h>

#include "shapes/dim_impl.h"

enum { DEEPEST = 12, LONGEST = 160 };

typedef struct printer {
    kn_text *t;
    const kn_symbols *s;
    size_t end; /* no symbol's parts are written from here on */
    int depth;
} printer;

static void print_symbol(printer *p, int sym);

static void print_dim(printer *p, kn_dim a)
{
    kn_text *t = p->t;
    if (a->nterms == 0)
        kn_put(t, "0");
    for (int i = 0; i < a->nterms; i++) {
        const kn_dim_term *m = &a->terms[i];
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
            bool quotient =
                p->s->syms.data[m->sym[j]].fn == KN_DIM_QUOTIENT && (coef != 1 || m->nsym > 1);
            kn_put(t, j ? "*" : "");
            kn_put(t, quotient ? "(" : "");
            print_symbol(p, m->sym[j]);
            kn_put(t, quotient ? ")" : "");
        }
    }
}

static void print_part(printer *p, kn_dim a, bool parentheses)
{
    kn_put(p->t, parentheses ? "(" : "");
    print_dim(p, a);
    kn_put(p->t, parentheses ? ")" : "");
}

/* A number or a symbol that is no quotient. */
static bool is_one_factor(const kn_symbols *s, kn_dim a)
{
    const kn_dim_term *t = a->terms;
    return a->nterms == 1 &&
           (t->nsym == 0 || (t->nsym == 1 && t->coef == 1 && !s->syms.data[t->sym[0]].fn));
}

static void print_symbol(printer *p, int sym)
{
    static const char *const before[] = {"", "", "(", "min(", "max("}, *const between[] = {
                                                                           "", "/", ")//(", ", ",
                                                                           ", "};
    const kn_symbol *q = &p->s->syms.data[sym];
    if (!q->fn) {
        kn_put(p->t, q->name);
    } else if (p->depth == DEEPEST || p->t->len >= p->end) {
        kn_put(p->t, KN_DIM_CUT);
    } else {
        bool quotient = q->fn == KN_DIM_QUOTIENT;
        p->depth++;
        kn_put(p->t, before[q->fn]);
        print_part(p, q->num, quotient && q->num->nterms > 1);
        kn_put(p->t, between[q->fn]);
        print_part(p, q->den, quotient && !is_one_factor(p->s, q->den));
        kn_put(p->t, quotient ? "" : ")");
        p->depth--;
    }
}

void kn_dim_print(kn_text *t, const kn_symbols *s, kn_dim a)
{
    print_dim(&(printer){t, s, t->len + LONGEST, 0}, a);
}

void kn_symbol_print(kn_text *t, const kn_symbols *s, int sym)
{
    print_symbol(&(printer){t, s, t->len + LONGEST, 0}, sym);
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
                if (!seen_before(dims, i, j, k)) {
                    int sym = dims[i]->terms[j].sym[k];
                    kn_put(t, t->len > start ? ", " : "");
                    kn_symbol_print(t, s, sym);
                    kn_putf(t, " is %lld", (long long)values[sym]);
                }
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
