/* Sums of products of values with whole powers, like terms being one. */
#ifndef KN_IR_GRAD_TERMS_H
#define KN_IR_GRAD_TERMS_H

#include "ir/graph.h"

enum { KN_MOST_FACTORS = 16, KN_MOST_TERMS = 8 };

/* coefficient * node[0] ** power[0] * ..., by the numbers of the nodes; no power is 0. */
typedef struct kn_grad_term {
    double coefficient;
    int n;
    kn_node *node[KN_MOST_FACTORS];
    int power[KN_MOST_FACTORS];
} kn_grad_term;

/* n < 0: there was no room. */
typedef struct kn_grad_terms {
    int n;
    kn_grad_term of[KN_MOST_TERMS];
} kn_grad_terms;

/* t becomes t * node ** power; false where it has no room. */
bool kn_grad_term_multiply(kn_grad_term *t, kn_node *node, int power);
void kn_grad_terms_append(kn_grad_terms *s, const kn_grad_term *t);
/* a * b, or a / b for power -1, where b is one term. */
kn_grad_terms kn_grad_terms_product(const kn_grad_terms *a, const kn_grad_terms *b, int power);

#endif
