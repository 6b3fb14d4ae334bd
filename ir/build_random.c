/* Random numbers as functions of a seed, an offset and the position of an element: Philox4x32-10 (Salmon, Moraes, Dror,
 * Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11), as elementwise operations of integers. So they are the
 * same on every device, in every schedule and for every layout.
 *
 *     key = seed                      two words, the low one first
 *     counter = block, offset         two words each
 *
 * Element i of 32 bits is word i % 4 of block i / 4; one of 64 bits is two words, i % 2 of block i / 2. Two neighbours
 * of normal numbers come from the words that both have. */
#include <math.h>

#include "ir/maker.h"

enum { ROUNDS = 10 };

static kn_node *low(const maker *m, kn_node *x) { return cast(m, x, KN_U32); }

static kn_node *high(const maker *m, kn_node *x)
{
    return cast(m, op2(m, KN_OP_SHR, x, whole(m, 32)), KN_U32);
}

/* ---- the generator ---- */

void kn_build_philox(kn_graph *g, kn_node **c, kn_node *seed, kn_loc loc)
{
    const maker at = {g, loc}, *m = &at;
    static const int64_t factor[] = {0xD2511F53, 0xCD9E8D57}, weyl[] = {0x9E3779B9, 0xBB67AE85};
    kn_node *key[] = {low(m, seed), NULL};
    key[1] = high(m, seed);
    for (int r = 0; r < ROUNDS; r++) {
        kn_node *product[2];
        for (int i = 0; i < 2; i++) {
            kn_node *wide = cast(m, c[2 * i], KN_U64);
            product[i] = op2(m, KN_OP_MUL, wide, whole(m, factor[i]));
        }
        for (int i = 0; i < 2; i++) {
            kn_node *mixed = op2(m, KN_OP_BITXOR, high(m, product[1 - i]), c[2 * i + 1]);
            c[2 * i] = op2(m, KN_OP_BITXOR, mixed, key[i]);
        }
        for (int i = 0; i < 2; i++) {
            c[2 * i + 1] = low(m, product[1 - i]);
            key[i] = op2(m, KN_OP_ADD, key[i], whole(m, weyl[i]));
        }
    }
}

/* Where each element is in row-major order, as a u64. */
static kn_node *positions(const maker *m, const kn_dim *shape, int rank)
{
    kn_dim count = kn_dim_const(m->g->syms, 1);
    for (int j = 0; j < rank; j++)
        if (!(count = kn_dim_mul(m->g->syms, count, shape[j])))
            return NULL;
    kn_node *i = kn_build_iota(m->g, count, m->loc);
    return i ? cast(m, kn_build_reshape_to(m->g, i, shape, rank, m->loc), KN_U64) : NULL;
}

/* A seed or an offset as a u64. */
static kn_node *integer(const maker *m, const char *what, const char *role, kn_node *x)
{
    if (!x)
        return NULL;
    if (x->rank == 0 && kn_is_int(x->dtype))
        return cast(m, x, KN_U64);
    kn_fail(KN_TYPE, "%s: %s must be one integer, not %s%s", what, role, kn_dtypes[x->dtype].text,
            kn_build_shape_text(m->g, x->shape, x->rank));
    return NULL;
}

/* Four words an element, of the block that it shares with `sharing` - 1 others. */
static bool blocks(const maker *m, const char *what, const kn_random *r, int sharing,
                   kn_node **words)
{
    kn_node *seed = integer(m, what, "seed", r->seed), *i = positions(m, r->shape, r->rank);
    kn_node *offset = seed ? integer(m, what, "offset", r->offset) : NULL;
    if (!seed || !offset || !i)
        return false;
    kn_node *block = op2(m, KN_OP_SHR, i, whole(m, sharing == 4 ? 2 : 1));
    words[0] = low(m, block);
    words[1] = high(m, block);
    words[2] = low(m, offset);
    words[3] = high(m, offset);
    kn_build_philox(m->g, words, seed, m->loc);
    return words[0] != NULL;
}

/* Is bit `bit` of an element's position 0? */
static kn_node *is_even(const maker *m, const kn_random *r, int64_t bit)
{
    kn_node *position = positions(m, r->shape, r->rank);
    kn_node *rest = op2(m, KN_OP_BITAND, position, whole(m, bit));
    return op2(m, KN_OP_EQ, rest, whole(m, 0));
}

static kn_node *joined(const maker *m, kn_node *lo, kn_node *hi)
{
    kn_node *upper = cast(m, hi, KN_U64);
    upper = op2(m, KN_OP_SHL, upper, whole(m, 32));
    return op2(m, KN_OP_BITOR, upper, cast(m, lo, KN_U64));
}

/* A word an element, u32, or two of them as a u64. */
static kn_node *bits_of(const maker *m, const char *what, const kn_random *r, bool wide)
{
    kn_node *w[4];
    if (!blocks(m, what, r, wide ? 2 : 4, w))
        return NULL;
    kn_node *first = is_even(m, r, 1);
    kn_node *half = wide ? NULL : is_even(m, r, 2);
    kn_node *lower = wide ? joined(m, w[0], w[1]) : where(m, first, w[0], w[1]);
    kn_node *upper = wide ? joined(m, w[2], w[3]) : where(m, first, w[2], w[3]);
    return where(m, wide ? first : half, lower, upper);
}

kn_node *kn_build_random_bits(kn_graph *g, const kn_random *r, kn_loc loc)
{
    const maker m = {g, loc};
    return bits_of(&m, "random_bits", r, false);
}

/* ---- numbers ---- */

/* In [0, 1): the upper bits, as many as a number of the type has. */
static kn_node *fraction(const maker *m, kn_node *bits, kn_dtype t)
{
    kn_node *kept = op2(m, KN_OP_SHR, bits, whole(m, t == KN_F64 ? 11 : 8));
    return scaled(m, cast(m, kept, t), t == KN_F64 ? 0x1p-53 : 0x1p-24);
}

/* The numbers k of 24 bits whose fraction k * 2^-24 is below p, a single f32, are those below this one. 2^24 for NaN. */
static kn_node *threshold(const maker *m, kn_node *p)
{
    kn_node *above = op1(m, KN_OP_CEIL, scaled(m, cast(m, p, KN_F32), 0x1p24));
    kn_node *most = op2(m, KN_OP_FMIN, above, number(m, 0x1p24));
    return cast(m, op2(m, KN_OP_FMAX, most, number(m, 0)), KN_U32);
}

static bool is_made(const char *what, kn_dtype t)
{
    if (t == KN_F32 || t == KN_F64)
        return true;
    kn_fail(KN_TYPE, "%s: dtype= must be f32 or f64; cast what it gives", what);
    return false;
}

kn_node *kn_build_uniform(kn_graph *g, const kn_random *r, kn_dtype t, kn_loc loc)
{
    const maker m = {g, loc};
    kn_node *bits = is_made("uniform", t) ? bits_of(&m, "uniform", r, t == KN_F64) : NULL;
    return bits ? fraction(&m, bits, t) : NULL;
}

/* By Box and Muller: of a pair of neighbours the first has the cosine, the second the sine. */
kn_node *kn_build_normal(kn_graph *g, const kn_random *r, kn_dtype t, kn_loc loc)
{
    const maker m = {g, loc};
    kn_node *w[4], *u, *v;
    if (!is_made("normal", t) || !blocks(&m, "normal", r, t == KN_F64 ? 2 : 4, w))
        return NULL;
    if (t == KN_F64) {
        u = joined(&m, w[0], w[1]);
        v = joined(&m, w[2], w[3]);
    } else {
        kn_node *first = is_even(&m, r, 2);
        u = where(&m, first, w[0], w[2]);
        v = where(&m, first, w[1], w[3]);
    }
    u = fraction(&m, u, t);
    u = op2(&m, KN_OP_ADD, u, number(&m, t == KN_F64 ? 0x1p-53 : 0x1p-24)); /* no logarithm of 0 */
    kn_node *size = op1(&m, KN_OP_SQRT, scaled(&m, op1(&m, KN_OP_LOG, u), -2));
    kn_node *angle = scaled(&m, fraction(&m, v, t), 2 * M_PI);
    kn_node *first = is_even(&m, r, 1);
    kn_node *cosine = op1(&m, KN_OP_COS, angle), *sine = op1(&m, KN_OP_SIN, angle);
    return mul(&m, size, where(&m, first, cosine, sine));
}

/* Is p a real number, or an array of them? */
static bool is_probability(const char *what, const kn_node *p)
{
    if (!p || !kn_is_complex(p->dtype))
        return p != NULL;
    kn_fail(KN_TYPE, "%s: the probability is %s", what, kn_dtypes[p->dtype].text);
    return false;
}

kn_node *kn_build_bernoulli(kn_graph *g, kn_node *p, const kn_random *r, kn_loc loc)
{
    const maker m = {g, loc};
    kn_node *bits = is_probability("bernoulli", p) ? bits_of(&m, "bernoulli", r, false) : NULL;
    return bits ? op2(&m, KN_OP_LT, fraction(&m, bits, KN_F32), p) : NULL;
}

kn_node *kn_build_dropout(kn_graph *g, kn_node *x, kn_node *p, kn_node *seed, kn_node *offset,
                          kn_loc loc)
{
    const maker m = {g, loc};
    if (!x || !is_probability("dropout", p))
        return NULL;
    if (!kn_is_inexact(x->dtype) || p->rank > 0) {
        kn_fail(KN_TYPE,
                p->rank > 0 ? "dropout: the probability must be one number"
                            : "dropout of %s: it is of floats and complex numbers",
                kn_dtypes[x->dtype].text);
        return NULL;
    }
    kn_random r = {.seed = seed, .offset = offset, .shape = x->shape, .rank = x->rank};
    kn_node *bits = bits_of(&m, "dropout", &r, false);
    if (!bits)
        return NULL;
    kn_dtype t = kn_compute_dtype(kn_real_of(x->dtype));
    p = cast(&m, p, t);
    kn_node *drawn = op2(&m, KN_OP_SHR, bits, whole(&m, 8));
    kn_node *kept = op2(&m, KN_OP_GE, drawn, threshold(&m, p)), *one = number(&m, 1);
    kn_node *scale = divide(&m, one, op2(&m, KN_OP_SUB, one, p));
    kn_node *larger = mul(&m, cast(&m, x, kn_compute_dtype(x->dtype)), scale);
    larger = cast(&m, larger, x->dtype);
    return where(&m, kept, larger, cast(&m, number(&m, 0), x->dtype));
}
