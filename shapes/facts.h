/* Facts: what must hold between sizes for a program to have a meaning.
 *
 * Building a graph records one fact for each relation that an operation requires, or that the user states, and
 * that is not evident. A fact carries where it came from, so that a violated one names the operation or the
 * user's own words, the shapes and the place in the user's text, and the sizes that were given. */
#ifndef KN_SHAPES_FACTS_H
#define KN_SHAPES_FACTS_H

#include "base/table.h"
#include "shapes/dim.h"

typedef enum kn_fact_kind {
    KN_FACT_EQUAL,   /* a == b */
    KN_FACT_DIVIDES, /* a % b == 0 */
    KN_FACT_DIFFERS, /* a != b */
    KN_FACT_LESS,    /* a < b */
    KN_FACT_AT_MOST, /* a <= b */
} kn_fact_kind;

typedef struct kn_fact {
    kn_fact_kind kind;
    kn_dim a, b;
    const char *why;  /* "add at 3:9 of [N, C] and [M, C]" */
    const char *said; /* the user's own words: "f.kiln:2:5: assert C % 4 == 0"; or NULL */
} kn_fact;

typedef struct kn_facts {
    KN_VEC(kn_fact) list;
    kn_finder by;
} kn_facts;

bool kn_fact_holds(kn_fact_kind kind, int64_t a, int64_t b);
/* Adds a fact; one that is already there (or trivially true) is not added again. */
void kn_facts_add(kn_facts *f, kn_symbols *s, kn_arena *a, kn_fact fact);
/* "N == M" */
void kn_fact_print(kn_text *t, const kn_symbols *s, const kn_fact *fact);
/* True when `a` cannot be negative given the facts, as far as a single fact shows it. */
bool kn_facts_not_negative(const kn_facts *f, kn_symbols *s, kn_dim a);
/* SHAPE with a message that names the first violated fact and the sizes in it; a text in `a`. */
kn_status kn_facts_check(const kn_facts *f, const kn_symbols *s, kn_arena *a,
                         const int64_t *values);
#endif
