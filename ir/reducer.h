/* A reduction of the user's own: the values that it carries from element to element, and how what is carried over two
 * neighbouring ranges becomes one.
 *
 *     combine(a, b) -> carried        a: of the elements before, b: of those behind
 *     combine(identity, x) == x == combine(x, identity), and combine is associative
 *
 * Values of the combine are numbered: a[0..count), b[0..count), then one a step. */
#ifndef KN_IR_REDUCER_H
#define KN_IR_REDUCER_H

#include "base/arena.h"
#include "ir/op.h"

enum { KN_MAX_CARRIED = 4, KN_MAX_COMBINE = 256 };

/* A use of a reduction, one of whose results has a gradient: x[count] and y[count] are its operands and results, which
 * keep the axes as size 1, dy is the gradient of y[result]. */
struct kn_node;
typedef struct kn_reduced {
    int count, result;
    struct kn_node **x, **y, *dy;
} kn_reduced;

/* The user's rule: what reaches x[operand], which broadcasts to its shape. NULL after a failure. */
typedef struct kn_reducer_rule {
    struct kn_node *(*gradient)(void *user, const kn_reduced *of, int operand);
    void *user;
} kn_reducer_rule;

typedef struct kn_combine_step {
    kn_op op; /* elementwise, or CONST */
    kn_dtype dtype;
    int in[3], nin;  /* earlier values */
    kn_scalar value; /* CONST */
} kn_combine_step;

typedef struct kn_reducer {
    int count;                      /* values carried */
    kn_dtype dtype[KN_MAX_CARRIED]; /* no 16-bit floats */
    kn_scalar identity[KN_MAX_CARRIED];
    int result[KN_MAX_CARRIED]; /* the values that are carried on */
    bool commutes; /* combine(a, b) == combine(b, a): elements may be taken in any order */
    int nsteps;
    const kn_combine_step *steps;
    const char *text;     /* says all of it but the rule: two of equal text are the same */
    kn_reducer_rule rule; /* .gradient NULL: none */
} kn_reducer;

/* The step behind value `value`; NULL for an operand. */
static inline const kn_combine_step *kn_reducer_step(const kn_reducer *r, int value)
{
    return value < 2 * r->count ? NULL : &r->steps[value - 2 * r->count];
}
static inline kn_dtype kn_reducer_type(const kn_reducer *r, int value)
{
    const kn_combine_step *s = kn_reducer_step(r, value);
    return s ? s->dtype : r->dtype[value % r->count];
}

/* combine(), one value at a time; out may be a or b. */
void kn_reducer_combine(const kn_reducer *r, const kn_scalar *a, const kn_scalar *b,
                        kn_scalar *out);
/* Fills in the text. */
void kn_reducer_describe(kn_arena *a, kn_reducer *r);
/* A copy that shares nothing; it has no rule. */
const kn_reducer *kn_reducer_clone(kn_arena *a, const kn_reducer *r);

#endif
