#include "ir/grad_terms.h"

#include <string.h>

bool kn_grad_term_multiply(kn_grad_term *t, kn_node *node, int power)
{
    int i = 0;
    while (i < t->n && t->node[i]->id < node->id)
        i++;
    if (i < t->n && t->node[i] == node) {
        t->power[i] += power;
        if (t->power[i])
            return true;
        t->n--;
        memmove(&t->node[i], &t->node[i + 1], sizeof *t->node * (size_t)(t->n - i));
        memmove(&t->power[i], &t->power[i + 1], sizeof *t->power * (size_t)(t->n - i));
        return true;
    }
    if (t->n == KN_MOST_FACTORS)
        return false;
    memmove(&t->node[i + 1], &t->node[i], sizeof *t->node * (size_t)(t->n - i));
    memmove(&t->power[i + 1], &t->power[i], sizeof *t->power * (size_t)(t->n - i));
    t->node[i] = node;
    t->power[i] = power;
    t->n++;
    return true;
}

static bool same_factors(const kn_grad_term *a, const kn_grad_term *b)
{
    return a->n == b->n && memcmp(a->node, b->node, sizeof *a->node * (size_t)a->n) == 0 &&
           memcmp(a->power, b->power, sizeof *a->power * (size_t)a->n) == 0;
}

void kn_grad_terms_append(kn_grad_terms *s, const kn_grad_term *t)
{
    for (int i = 0; i < s->n; i++)
        if (same_factors(&s->of[i], t)) {
            s->of[i].coefficient += t->coefficient;
            if (s->of[i].coefficient == 0)
                s->of[i] = s->of[--s->n];
            return;
        }
    if (s->n == KN_MOST_TERMS)
        s->n = -1;
    else if (s->n >= 0)
        s->of[s->n++] = *t;
}

kn_grad_terms kn_grad_terms_product(const kn_grad_terms *a, const kn_grad_terms *b, int power)
{
    kn_grad_terms made = {0};
    for (int i = 0; i < a->n && made.n >= 0; i++)
        for (int j = 0; j < b->n && made.n >= 0; j++) {
            kn_grad_term t = a->of[i];
            bool fits = true;
            t.coefficient = power > 0 ? t.coefficient * b->of[j].coefficient
                                      : t.coefficient / b->of[j].coefficient;
            for (int k = 0; k < b->of[j].n && fits; k++)
                fits = kn_grad_term_multiply(&t, b->of[j].node[k], power * b->of[j].power[k]);
            if (fits)
                kn_grad_terms_append(&made, &t);
            else
                made.n = -1;
        }
    if (a->n < 0 || b->n < 0)
        made.n = -1;
    return made;
}
