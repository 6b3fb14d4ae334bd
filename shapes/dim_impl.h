/* Between the files of dimensions and symbols. */
#ifndef KN_SHAPES_DIM_IMPL_H
#define KN_SHAPES_DIM_IMPL_H

#include "base/table.h"
#include "shapes/dim.h"

/* One term: coef * product of symbols, the symbols sorted, repeated for powers. */
typedef struct kn_dim_term {
    int64_t coef;
    int nsym;
    int16_t sym[KN_DIM_DEGREE];
} kn_dim_term;

/* Terms sorted by their symbols, the constant last; no zero coefficients. Zero has no terms. */
struct kn_dim_s {
    int nterms;
    kn_dim_term terms[];
};

/* What a symbol is of its two parts. */
typedef enum kn_dim_function {
    KN_DIM_FREE,
    KN_DIM_QUOTIENT,
    KN_DIM_FLOOR,
    KN_DIM_MIN,
    KN_DIM_MAX
} kn_dim_function;

typedef struct kn_symbol {
    const char *name; /* of a free one, else NULL */
    kn_dim_function fn;
    kn_dim num, den;     /* its parts, of symbols with lower numbers; NULL of a free one */
    int whole;           /* of a part: 1 + the symbol of the whole size; 0: it is none */
    bool parted;         /* it, or what it is made of, is a part */
    bool not_negative;   /* known to be so, whatever the sizes are */
    kn_dim equals;       /* a dimension that does not contain this symbol, or NULL */
    KN_VEC(int) part_of; /* symbols whose parts, equalities substituted, have it */
} kn_symbol;

struct kn_symbols {
    kn_arena *arena;
    /* those that these are within, whose dimensions are used as they are; or NULL */
    const kn_symbols *outer;
    KN_VEC(kn_symbol) syms; /* the outer ones' first */
    KN_VEC(kn_dim) dims;    /* of these symbols: each is there once */
    kn_finder dims_by, names_by, functions_by;
};

/* The constant 0, a lone symbol, a number: what they are, without a look at equalities. */
static inline bool kn_dim_constant(kn_dim a, int64_t *value)
{
    if (a->nterms > 1 || (a->nterms == 1 && a->terms[0].nsym))
        return false;
    *value = a->nterms ? a->terms[0].coef : 0;
    return true;
}

/* `a` as a lone symbol, or -1. */
static inline int kn_dim_lone_symbol(kn_dim a)
{
    const kn_dim_term *t = a->terms;
    return a->nterms == 1 && t->coef == 1 && t->nsym == 1 ? t->sym[0] : -1;
}

/* How many times symbol `sym` is written in a. */
static inline int kn_dim_uses(kn_dim a, int sym)
{
    int uses = 0;
    for (int i = 0; i < a->nterms; i++)
        for (int j = 0; j < a->terms[i].nsym; j++)
            uses += a->terms[i].sym[j] == sym;
    return uses;
}

/* symbols.c: the symbol of that name, which has none of its own yet. */
int kn_symbol_named(kn_symbols *s, const char *name, size_t len);
/* dim.c */
kn_dim kn_dim_of_symbol(kn_symbols *s, int sym);
/* symbols.c: the symbol for a function of two resolved dimensions; the one there is already if there is one. NULL when
 * there are too many symbols. */
kn_dim kn_symbol_of(kn_symbols *s, kn_dim_function fn, kn_dim a, kn_dim b);
/* symbols.c: `sym`, which has none yet, has an equal one now, and so have functions of it that become simpler. */
void kn_symbol_equate(kn_symbols *s, int sym, kn_dim equals);
/* symbols.c: what `sym` equals, in symbols that equal nothing else; NULL where that is too large. */
kn_dim kn_symbol_resolve(kn_symbols *s, int sym);
/* dim.c: `a` with symbols replaced by what of() gives for them. */
typedef kn_dim (*kn_symbol_fn)(kn_symbols *s, int sym, void *ctx);
kn_dim kn_dim_map(kn_symbols *s, kn_dim a, kn_symbol_fn of, void *ctx);
/* dim.c: `a` with the symbols that equal others replaced, by `to` where it is not NULL and of symbol `sym`. */
bool kn_dim_has_known_equal(const kn_symbols *s, kn_dim a);
/* NumPy's a // b. */
int64_t kn_floor_divide(int64_t a, int64_t b);

#endif
