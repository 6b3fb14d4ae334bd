/* Where libmvec's functions are slow, and what replaces them. Included by mvec.c, which declares them.
 *
 * They compute usual operands by vectors, and every other lane by a call of the scalar function, some 20 times
 * slower; tiny operands are slow because their squares are subnormal. So a function gets its operands with the
 * unusual ones replaced, and their results are put in afterwards: known ones without computing (SETTLED_*), the rest
 * by the function of doubles, for which hardly an f32 is unusual. What is left is computed by the scalar function here,
 * which takes half the time that a vector function's own call of it does. A lane's result depends on its own operands
 * only. */
#ifndef KN_RUNTIME_CPU_RANGE_H
#define KN_RUNTIME_CPU_RANGE_H

#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef float vec_F32 __attribute__((vector_size(32)));
typedef double vec_F64 __attribute__((vector_size(32)));
/* Results of comparisons: all bits, or none. */
typedef int32_t mask_F32 __attribute__((vector_size(32)));
typedef int64_t mask_F64 __attribute__((vector_size(32)));

/* A number by type: LIMIT(D, of f32, of f64). */
#define LIMIT_F32(a, b) ((float)(a))
#define LIMIT_F64(a, b) ((double)(b))
#define LIMIT(D, a, b) LIMIT_##D(a, b)
#define SAME(D, a) LIMIT_##D(a, a)

#define LANE_FUNCTIONS(D, T)                                                                       \
    static inline vec_##D splat_##D(T x) { return x - (vec_##D){0}; }                              \
    static inline vec_##D pick_##D(mask_##D m, vec_##D a, vec_##D b)                               \
    {                                                                                              \
        return (vec_##D)((m & (mask_##D)a) | (~m & (mask_##D)b));                                  \
    }                                                                                              \
    static inline mask_##D sign_##D(vec_##D x)                                                     \
    {                                                                                              \
        return (mask_##D)x & (mask_##D)splat_##D(-0.0F);                                           \
    }                                                                                              \
    static inline vec_##D abs_##D(vec_##D x) { return (vec_##D)((mask_##D)x & ~sign_##D(x)); }     \
    /* of the sign of x, which is positive in a */                                                 \
    static inline vec_##D as_##D(vec_##D a, vec_##D x)                                             \
    {                                                                                              \
        return (vec_##D)((mask_##D)a | sign_##D(x));                                               \
    }
LANE_FUNCTIONS(F32, float)
LANE_FUNCTIONS(F64, double)
static inline bool any_F32(mask_F32 m) { return _mm256_movemask_ps((__m256)m) != 0; }
static inline bool any_F64(mask_F64 m) { return _mm256_movemask_pd((__m256d)m) != 0; }
static inline vec_F32 sqrt_F32(vec_F32 x) { return _mm256_sqrt_ps(x); }
static inline vec_F64 sqrt_F64(vec_F64 x) { return _mm256_sqrt_pd(x); }
static inline vec_F32 rint_F32(vec_F32 x)
{
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vec_F64 rint_F64(vec_F64 x)
{
    return _mm256_round_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Operands so close to 0 that f(x) is f(0), or x if f(0) is 0. The function gets 0 instead. NEAR_<FORM>: how close;
 * PUT_<FORM>: the result. */
#define BELOW_ULP(D) LIMIT(D, 0x1p-26, 0x1p-55)    /* 1 + x is 1 */
#define BELOW_SQUARE(D) LIMIT(D, 0x1p-13, 0x1p-27) /* 1 + x * x / 2 is 1 */
#define NEAR_ANY(D, x) ((mask_##D){0})
#define PUT_ANY(D, near, x, z) z
#define NEAR_SLOPED(D, x) (abs_##D(x) < BELOW_ULP(D)) /* f(0) + x, f(0) not 0 */
#define PUT_SLOPED(D, near, x, z) z
#define NEAR_EVEN(D, x) (abs_##D(x) < BELOW_SQUARE(D)) /* f(0) + x * x / 2 */
#define PUT_EVEN(D, near, x, z) z
#define NEAR_LINE(D, x) (abs_##D(x) < BELOW_ULP(D)) /* x + x * x / 2 */
#define PUT_LINE(D, near, x, z) pick_##D(near, x, z)
#define NEAR_ODD(D, x) (abs_##D(x) < BELOW_SQUARE(D)) /* x + x * x * x / 3 */
#define PUT_ODD(D, near, x, z) pick_##D(near, x, z)

/* USUAL_<OP>: operands that the vector function is fast for. SETTLED_<OP>: statements SET(D, lanes, result) for
 * results known without computing, besides NaN, which stays NaN. */
#define SYMMETRIC(D, x, most_f32, most_f64) (abs_##D(x) <= LIMIT(D, most_f32, most_f64))
#define WITHIN(D, x, low, high) ((x >= low) & (x <= high))
#define POSITIVE(D, x)                                                                             \
    WITHIN(D, x, LIMIT(D, 0x1p-126, 0x1p-1022), LIMIT(D, 0x1.fffffep127, 0x1.fffffffffffffp1023))
#define SET(D, lanes, value)                                                                       \
    {                                                                                              \
        const mask_##D m_ = (lanes);                                                               \
        if (any_##D(m_))                                                                           \
            z = pick_##D(m_, (value), z);                                                          \
        known |= m_;                                                                               \
    }
#define TO(D, number) splat_##D(SAME(D, number))
#define SETTLED_LOGS(D, x)                                                                         \
    SET(D, x < 0, TO(D, NAN)) SET(D, x == 0, TO(D, -INFINITY)) SET(D, x == SAME(D, INFINITY), x)
#define SETTLED_WAVES(D, x) SET(D, abs_##D(x) == SAME(D, INFINITY), TO(D, NAN))

#define USUAL_EXP2(D, x) SYMMETRIC(D, x, 125, 1020)
#define SETTLED_EXP2(D, x)                                                                         \
    SET(D, x < LIMIT(D, -151, -1076), TO(D, 0))                                                    \
    SET(D, x >= LIMIT(D, 128, 1024), TO(D, INFINITY))
#define USUAL_EXPM1(D, x) WITHIN(D, x, LIMIT(D, -18, -38), LIMIT(D, 87, 708))
#define SETTLED_EXPM1(D, x)                                                                        \
    SET(D, x < LIMIT(D, -18, -38), TO(D, -1)) SET(D, x > LIMIT(D, 89, 710), TO(D, INFINITY))
#define USUAL_SINH(D, x) SYMMETRIC(D, x, 87, 708)
#define SETTLED_SINH(D, x) SET(D, abs_##D(x) > LIMIT(D, 90, 711), as_##D(TO(D, INFINITY), x))
#define USUAL_COSH(D, x) SYMMETRIC(D, x, 87, 708)
#define SETTLED_COSH(D, x) SET(D, abs_##D(x) > LIMIT(D, 90, 711), TO(D, INFINITY))
#define USUAL_TANH(D, x) SYMMETRIC(D, x, 10, 20)
#define SETTLED_TANH(D, x) SET(D, abs_##D(x) > LIMIT(D, 10, 20), as_##D(TO(D, 1), x))
#define USUAL_LOG(D, x) POSITIVE(D, x)
#define SETTLED_LOG(D, x) SETTLED_LOGS(D, x)
#define USUAL_LOG2(D, x) POSITIVE(D, x)
#define SETTLED_LOG2(D, x) SETTLED_LOGS(D, x)
#define USUAL_LOG10(D, x) POSITIVE(D, x)
#define SETTLED_LOG10(D, x) SETTLED_LOGS(D, x)
#define USUAL_LOG1P(D, x)                                                                          \
    WITHIN(D, x, LIMIT(D, -0x1.fffffep-1, -0x1.fffffffffffffp-1), SAME(D, 0x1p60))
#define SETTLED_LOG1P(D, x)                                                                        \
    SET(D, x < -1, TO(D, NAN))                                                                     \
    SET(D, x == -1, TO(D, -INFINITY)) SET(D, x > SAME(D, 0x1p60), LOG_whole_##D(x))
#define USUAL_CBRT(D, x)                                                                           \
    WITHIN(D, abs_##D(x), LIMIT(D, 0x1p-126, 0x1p-1022),                                           \
           LIMIT(D, 0x1.fffffep127, 0x1.fffffffffffffp1023))
#define SETTLED_CBRT(D, x) SET(D, (x == 0) | (abs_##D(x) == SAME(D, INFINITY)), x)
#define USUAL_SIN(D, x) SYMMETRIC(D, x, 1e4, 8e6)
#define SETTLED_SIN(D, x) SETTLED_WAVES(D, x)
#define USUAL_COS(D, x) SYMMETRIC(D, x, 1e4, 8e6)
#define SETTLED_COS(D, x) SETTLED_WAVES(D, x)
#define USUAL_TAN(D, x) SYMMETRIC(D, x, 8e3, 1e5)
#define SETTLED_TAN(D, x) SETTLED_WAVES(D, x)
#define USUAL_ARCSIN(D, x) (abs_##D(x) < 1)
#define SETTLED_ARCSIN(D, x)                                                                       \
    SET(D, abs_##D(x) == 1, as_##D(TO(D, M_PI_2), x)) SET(D, abs_##D(x) > 1, TO(D, NAN))
#define USUAL_ARCCOS(D, x) (abs_##D(x) < 1)
#define SETTLED_ARCCOS(D, x)                                                                       \
    SET(D, x == 1, TO(D, 0)) SET(D, x == -1, TO(D, M_PI)) SET(D, abs_##D(x) > 1, TO(D, NAN))
#define USUAL_ARCTAN(D, x) SYMMETRIC(D, x, 0x1p26, 0x1p55)
#define SETTLED_ARCTAN(D, x) SET(D, abs_##D(x) > LIMIT(D, 0x1p26, 0x1p55), as_##D(TO(D, M_PI_2), x))
#define USUAL_ARCSINH(D, x) SYMMETRIC(D, x, 0x1.fffffep127, 0x1.fffffffffffffp1023)
#define SETTLED_ARCSINH(D, x) SET(D, abs_##D(x) == SAME(D, INFINITY), x)
#define USUAL_ARCCOSH(D, x) WITHIN(D, x, 1, LIMIT(D, 0x1.fffffep127, 0x1.fffffffffffffp1023))
#define SETTLED_ARCCOSH(D, x) SET(D, x < 1, TO(D, NAN)) SET(D, x == SAME(D, INFINITY), x)
#define USUAL_ARCTANH(D, x) (abs_##D(x) < 1)
#define SETTLED_ARCTANH(D, x)                                                                      \
    SET(D, abs_##D(x) == 1, as_##D(TO(D, INFINITY), x)) SET(D, abs_##D(x) > 1, TO(D, NAN))
#define USUAL_ERF(D, x) (x == x)
#define SETTLED_ERF(D, x)
#define USUAL_ERFC(D, x) WITHIN(D, x, LIMIT(D, -4, -6), LIMIT(D, 9, 26))
#define SETTLED_ERFC(D, x)                                                                         \
    SET(D, x < LIMIT(D, -4, -6), TO(D, 2)) SET(D, x > LIMIT(D, 10.1, 27.3), TO(D, 0))

/* What is left for the scalar function: f32 beyond what the function of f64 is fast for; f64 has no such function. */
#define FAR_F32(op, x) (abs_F32(x) > ((op) == KN_OP_SIN || (op) == KN_OP_COS ? 8e6F : 1e5F))
#define FAR_F64(op, x) (~(mask_F64){0})
/* But where the vector function is fast for that, too. */
#define VECTORS_FOR_ALL(op) ((op) == KN_OP_TAN || (op) == KN_OP_ERFC)
/* What the function gets instead of unusual operands. */
#define SAFE(op) ((op) == KN_OP_ARCCOSH ? 2.0F : 0.5F)

/* Of two operands, absolute values: their squares and quotients, and the squares of these, neither overflow nor
 * underflow. */
#define USUAL_HYPOT(D, x) WITHIN(D, x, LIMIT(D, 0x1p-40, 0x1p-400), SAME(D, 0x1p16))
#define USUAL_ARCTAN2(D, x) WITHIN(D, x, LIMIT(D, 0x1p-24, 0x1p-60), LIMIT(D, 0x1p24, 0x1p60))

/* The functions of f32 by those of f64. */
static inline vec_F64 low(vec_F32 x) { return _mm256_cvtps_pd(_mm256_castps256_ps128(x)); }
static inline vec_F64 high(vec_F32 x) { return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)); }
static inline vec_F32 narrow(vec_F64 a, vec_F64 b)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(b), _mm256_cvtpd_ps(a));
}

#endif
