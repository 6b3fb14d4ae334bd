/* Facts: what must hold between sizes for a program to have a meaning.
 *
 * Building a graph records one fact for each equality or divisibility that an operation requires and that
 * is not evident. A fact carries where it came from, so that a violated one names the operation, the
 * shapes and the place in the user's text. */
#ifndef KN_SHAPES_FACTS_H
#define KN_SHAPES_FACTS_H

#include "shapes/dim.h"

typedef enum kn_fact_kind {
    KN_FACT_EQUAL,   /* a == b */
    KN_FACT_DIVIDES, /* a % b == 0 */
} kn_fact_kind;

typedef struct kn_fact {
    kn_fact_kind kind;
    kn_dim a, b;
    const char *why;  /* "add at 3:9 of [N, C] and [M, C]" */
    const char *text; /* "N == M", filled in by kn_facts_add() */
} kn_fact;

typedef struct kn_facts {
    KN_VEC(kn_fact) list;
} kn_facts;

/* Adds a fact; one that is already there (or trivially true) is not added again. */
void kn_facts_add(kn_facts *f, kn_symbols *s, kn_arena *a, kn_fact fact);
/* SHAPE with a message that names the first violated fact and its two sides' values. */
kn_status kn_facts_check(const kn_facts *f, const int64_t *values);
#endif
