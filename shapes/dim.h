/* Symbolic dimensions: polynomials with integer coefficients over sizes.
 *
 *     "N"  "3"  "G*K"  "2*N + 1"
 *
 * A kn_dim is immutable, lives in the arena of its kn_symbols and is there once: dimensions of the same terms
 * are the same pointer. Symbols are shared by name, those made of others by their parts. Operations
 * record equalities between dimensions as they meet (broadcasting, reshape); kn_dim_unify() keeps them:
 * a symbol that equals another one, or a constant, is replaced wherever dimensions are compared. What
 * cannot be decided by substitution stays a fact that is checked when the sizes are known (facts.h).
 *
 * A symbol is free (bound by an argument's shape) or stands for what is no polynomial of the others: a
 * quotient num/den (from reshape with -1), which must divide without remainder, a quotient rounded down, a
 * minimum or a maximum (from slices). Its value is known when those of its two parts are. */
#ifndef KN_SHAPES_DIM_H
#define KN_SHAPES_DIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"

enum { KN_MAX_RANK = 16, KN_DIM_TERMS = 64, KN_DIM_DEGREE = 16, KN_MAX_SYMBOLS = INT16_MAX };

typedef struct kn_symbols kn_symbols;
typedef const struct kn_dim_s *kn_dim;

kn_symbols *kn_symbols_new(kn_arena *a);
int kn_symbols_count(const kn_symbols *s);
/* NULL for one that is made of others. */
const char *kn_symbol_name(const kn_symbols *s, int sym);
/* Does nothing give it a value but an argument: is it neither made of others nor equal to what is? */
bool kn_symbol_is_open(const kn_symbols *s, int sym);
/* The number of the symbol of that name, or -1. */
int kn_symbol_find(const kn_symbols *s, const char *name, size_t len);

/* ---- sizes that are divided over ranks ----
 *
 * "shard(N)" is a symbol too: what one rank has of N, its part. Dimensions with a part in them are sizes of arrays of
 * which each rank has a part. They equal no dimension without one. */
kn_dim kn_dim_part(kn_symbols *s, const char *name, size_t len);
bool kn_dim_has_part(const kn_symbols *s, kn_dim a);
/* Does each rank have a contiguous range of this size? True of a part, and of products and quotients of it by sizes
 * without one. */
bool kn_dim_is_divided(kn_symbols *s, kn_dim a);
/* Is it this symbol alone? */
bool kn_dim_is_symbol(kn_dim a, int sym);
/* The symbol of the whole size of which `sym` is the part; -1: it is none. */
int kn_symbol_whole(const kn_symbols *s, int sym);
/* `a` with each part replaced: by the whole size; by the sum of the parts of lower ranks, which is where this rank's
 * range begins; by another rank's part. NULL, and a message, as from constructors. */
kn_dim kn_dim_whole(kn_symbols *s, kn_dim a);
kn_dim kn_dim_start(kn_symbols *s, kn_dim a);
kn_dim kn_dim_at_rank(kn_symbols *s, kn_dim a, int rank);
/* `a` with the part that `like` has in the place of its whole size; `a` itself where there is none. */
kn_dim kn_dim_divided_as(kn_symbols *s, kn_dim a, kn_dim like);
/* The sizes of the symbols that those stand for, where they are there; part[r] is rank r's of the part `sym`. */
void kn_symbols_divide(const kn_symbols *s, int sym, const int64_t *part, int rank, int ranks,
                       int64_t *values);

/* The symbols of `s`, numbers and dimensions included, for work whose results live in `a`: `s` stays as it is, and must
 * for as long. */
kn_symbols *kn_symbols_within(kn_arena *a, const kn_symbols *s);
/* A copy that shares nothing with `s`, and a dimension of `s` in the copy. */
kn_symbols *kn_symbols_clone(kn_arena *a, const kn_symbols *s);
kn_dim kn_dim_copy(kn_symbols *to, kn_dim a);

/* Constructors. NULL (and a message) when the result overflows or has too many terms. */
kn_dim kn_dim_const(kn_symbols *s, int64_t value);
kn_dim kn_dim_sym(kn_symbols *s, const char *name, size_t len);
kn_dim kn_dim_add(kn_symbols *s, kn_dim a, kn_dim b);
kn_dim kn_dim_mul(kn_symbols *s, kn_dim a, kn_dim b);
/* a / b when b divides every term of a, d when b is a quotient a / d; else a new quotient symbol. */
kn_dim kn_dim_quotient(kn_symbols *s, kn_dim a, kn_dim b);
/* NumPy's a // b, and the smaller and the larger of two: symbols of their own where it is not known. */
kn_dim kn_dim_floordiv(kn_symbols *s, kn_dim a, kn_dim b);
kn_dim kn_dim_min(kn_symbols *s, kn_dim a, kn_dim b);
kn_dim kn_dim_max(kn_symbols *s, kn_dim a, kn_dim b);
kn_dim kn_dim_sub(kn_symbols *s, kn_dim a, kn_dim b);
/* `a` with its first quotient that is rounded down taken as exact, of *num by *den; NULL if it has none. */
kn_dim kn_dim_take_exact(kn_symbols *s, kn_dim a, kn_dim *num, kn_dim *den);
/* True when no sizes make it negative; sizes are not negative. */
bool kn_dim_not_negative(kn_symbols *s, kn_dim a);
/* a / b when b is one term that divides every term of a, else NULL without a message. */
kn_dim kn_dim_divide_exact(kn_symbols *s, kn_dim a, kn_dim b);

/* `a` with every equality known so far substituted. */
kn_dim kn_dim_resolve(kn_symbols *s, kn_dim a);
bool kn_dim_is_const(kn_symbols *s, kn_dim a, int64_t *value);
bool kn_dim_is_one(kn_symbols *s, kn_dim a);
bool kn_dim_equal(kn_symbols *s, kn_dim a, kn_dim b);
/* Records a == b, so that both are compared as one from now on. KN_NEVER: no sizes make them equal;
 * KN_UNDECIDED: some may (2*N against M*M), but neither can stand for the other. */
typedef enum kn_unified { KN_NEVER, KN_UNIFIED, KN_UNDECIDED } kn_unified;
kn_unified kn_dim_unify(kn_symbols *s, kn_dim a, kn_dim b);

/* Evaluation: values[sym] for each symbol, KN_UNBOUND where not known. */
#define KN_UNBOUND INT64_MIN
/* False when a symbol is unbound or the value overflows 63 bits. */
bool kn_dim_eval(kn_dim a, const int64_t *values, int64_t *out);
/* Binds the single unbound symbol of `a` so that a == value. 1: bound, or already equal; 0: cannot tell
 * yet (several unbound symbols); -1: no value of the symbol gives `value`. */
int kn_dim_solve(const kn_symbols *s, kn_dim a, int64_t value, int64_t *values);
/* Gives every symbol that follows from bound ones (quotients, recorded equalities) its value. Free
 * symbols that no argument binds stay KN_UNBOUND. SHAPE when a quotient leaves a remainder; a text in `a`. */
kn_status kn_symbols_derive(const kn_symbols *s, kn_arena *a, int64_t *values);

/* Text for people: what is derived from derived sizes and would be long has KN_DIM_CUT in place of what is nested in
 * it. */
#define KN_DIM_CUT "..."
void kn_dim_print(kn_text *t, const kn_symbols *s, kn_dim a);
void kn_symbol_print(kn_text *t, const kn_symbols *s, int sym);
/* As a C expression; name() gives that of a symbol. shapes/dim_c.c */
typedef const char *(*kn_symbol_name_fn)(void *user, int sym);
void kn_dim_put_c(kn_text *t, kn_dim a, kn_symbol_name_fn name, void *user);
/* What a symbol is: num '/' den without a remainder, num 'f' den rounded down, the smaller ('<') or the larger ('>') of both,
 * '=' num; 0: free. */
typedef struct kn_symbol_parts {
    char op;
    kn_dim num, den;
} kn_symbol_parts;
kn_symbol_parts kn_symbol_made_of(const kn_symbols *s, int sym);
/* The lowest symbol of `a` with a number above `sym`; -1: none. */
int kn_dim_symbol_after(kn_dim a, int sym);
/* The product of two printed dimensions (the second may be ""), in `a`: what quotients divide by is left out where it
 * is a factor too. "16" and "N/16" give "N". shapes/product.c */
const char *kn_dim_product_text(kn_arena *a, const char *x, const char *y);
/* A printed dimension as an operand of '%', in `a`: a sum gets parentheses, on the right a product too. */
const char *kn_dim_operand_text(kn_arena *a, const char *x, bool right);
/* Does a number among the factors of a printed dimension say that `by` divides it? */
bool kn_dim_text_divides(const char *x, int by);
/* "N is 4, M is 3": the symbols of n dimensions. */
void kn_dim_print_values(kn_text *t, const kn_symbols *s, const kn_dim *dims, int n,
                         const int64_t *values);
/* "[N, C, 4]" */
void kn_shape_print(kn_text *t, const kn_symbols *s, const kn_dim *shape, int rank);

#endif
