/* Functions of floats by libmvec, the vector functions of glibc, for AVX2: 8 elements of f32 or 4 of f64 a call.
 *
 * They are called by their names in the vector function ABI (x86-64 AVX2 "d", unmasked "N"), not through the
 * vectoriser. That would leave the last elements of a block to the scalar functions, whose results differ, so that a
 * result would depend on its place. Their errors are within the bounds of ops.def (tests/sweep). */
#include "runtime/cpu/loops.h"

#if defined(KN_LIBMVEC)
#ifndef __AVX2__
#error "vectors of 32 bytes are passed otherwise without -mavx2"
#endif

#include <string.h>

#include "runtime/cpu/range.h"

/* X(operation, C function, its form near 0 (range.h)) of one operand, X(operation, C function) of two. */
#define FUNCTIONS_1(X)                                                                             \
    X(EXP2, exp2, SLOPED)                                                                          \
    X(EXPM1, expm1, LINE)                                                                          \
    X(LOG2, log2, ANY)                                                                             \
    X(LOG10, log10, ANY)                                                                           \
    X(CBRT, cbrt, ANY)                                                                             \
    X(SIN, sin, ODD)                                                                               \
    X(COS, cos, EVEN)                                                                              \
    X(TAN, tan, ODD)                                                                               \
    X(ARCSIN, asin, ODD)                                                                           \
    X(ARCCOS, acos, SLOPED)                                                                        \
    X(ARCTAN, atan, ODD)                                                                           \
    X(SINH, sinh, ODD)                                                                             \
    X(COSH, cosh, EVEN)                                                                            \
    X(ARCSINH, asinh, ODD)                                                                         \
    X(ARCCOSH, acosh, ANY)                                                                         \
    X(ARCTANH, atanh, ODD)                                                                         \
    X(ERF, erf, ANY)                                                                               \
    X(ERFC, erfc, SLOPED)
/* Of f64; f32 has those of fused.c, and both have its exp. */
#define FUNCTIONS_F64(X) X(LOG, log, ANY) X(LOG1P, log1p, LINE) X(TANH, tanh, ODD)
#define FUNCTIONS_2(X)                                                                             \
    X(POW, pow)                                                                                    \
    X(ARCTAN2, atan2)                                                                              \
    X(HYPOT, hypot)

#define DECLARE_F64(OP, name, form) vec_F64 _ZGVdN4v_##name(vec_F64);
#define DECLARE_1(OP, name, form)                                                                  \
    vec_F32 _ZGVdN8v_##name##f(vec_F32);                                                           \
    DECLARE_F64(OP, name, form)
#define DECLARE_2(OP, name)                                                                        \
    vec_F32 _ZGVdN8vv_##name##f(vec_F32, vec_F32);                                                 \
    vec_F64 _ZGVdN4vv_##name(vec_F64, vec_F64);
FUNCTIONS_1(DECLARE_1)
FUNCTIONS_F64(DECLARE_F64)
FUNCTIONS_2(DECLARE_2)

/* A function for all operands, also near 0 and outside of its usual range. */
#define WHOLE_1(OP, D, form, call, wide, scalar)                                                   \
    static __attribute__((noinline, cold)) vec_##D OP##_beyond_##D(vec_##D x, mask_##D beyond)     \
    {                                                                                              \
        const vec_##D safe = splat_##D(SAFE(KN_OP_##OP));                                          \
        vec_##D z = x + x;                                                                         \
        mask_##D known = x != x;                                                                   \
        SETTLED_##OP(D, x);                                                                        \
        const mask_##D rest = beyond & ~known, far = rest & FAR_##D(KN_OP_##OP, x);                \
        z = pick_##D(beyond, z, call(pick_##D(beyond, safe, x)));                                  \
        if (any_##D(rest & ~far))                                                                  \
            z = pick_##D(rest, wide(pick_##D(rest & ~far, x, safe)), z);                           \
        if (VECTORS_FOR_ALL(KN_OP_##OP) && any_##D(far))                                           \
            return pick_##D(far, call(pick_##D(far, x, safe)), z);                                 \
        for (int i = 0; i < (int)(sizeof x / sizeof x[0]) && any_##D(far); i++)                    \
            if (far[i])                                                                            \
                z[i] = scalar(x[i]);                                                               \
        return z;                                                                                  \
    }                                                                                              \
    static inline vec_##D OP##_whole_##D(vec_##D x)                                                \
    {                                                                                              \
        const mask_##D near = NEAR_##form(D, x), beyond = ~USUAL_##OP(D, x);                       \
        const vec_##D given = (vec_##D)((mask_##D)x & ~near);                                      \
        const vec_##D z = any_##D(beyond) ? OP##_beyond_##D(given, beyond) : call(given);          \
        return PUT_##form(D, near, x, z);                                                          \
    }
#define WHOLES_F64(OP, name, form) WHOLE_1(OP, F64, form, _ZGVdN4v_##name, _ZGVdN4v_##name, name)
#define WHOLES_1(OP, name, form)                                                                   \
    static inline vec_F32 OP##_wide(vec_F32 x)                                                     \
    {                                                                                              \
        return narrow(_ZGVdN4v_##name(low(x)), _ZGVdN4v_##name(high(x)));                          \
    }                                                                                              \
    WHOLE_1(OP, F32, form, _ZGVdN8v_##name##f, OP##_wide, name##f)                                 \
    WHOLES_F64(OP, name, form)
FUNCTIONS_1(WHOLES_1)
FUNCTIONS_F64(WHOLES_F64)

/* Of two operands. Powers of a negative number are those of its absolute value, except for the sign. */
#define WHOLE_POW(D, call)                                                                         \
    static inline vec_##D POW_whole_##D(vec_##D a, vec_##D b)                                      \
    {                                                                                              \
        const mask_##D negative = (a < 0) & (a > SAME(D, -INFINITY));                              \
        if (!any_##D(negative))                                                                    \
            return call(a, b);                                                                     \
        const mask_##D whole = rint_##D(b) == b, even = rint_##D(b / 2) == b / 2;                  \
        const vec_##D z = call(pick_##D(negative, -a, a), b);                                      \
        const vec_##D of_sign = pick_##D(whole, pick_##D(even, z, -z), TO(D, NAN));                \
        return pick_##D(negative, of_sign, z);                                                     \
    }
WHOLE_POW(F32, _ZGVdN8vv_powf)
WHOLE_POW(F64, _ZGVdN4vv_pow)

/* The larger of both times a factor near 1, so that no square overflows or underflows. */
#define WHOLE_HYPOT(D, call)                                                                       \
    static __attribute__((noinline, cold)) vec_##D HYPOT_beyond_##D(vec_##D a, vec_##D b)          \
    {                                                                                              \
        const vec_##D most = pick_##D(a > b, a, b), least = pick_##D(a > b, b, a);                 \
        vec_##D r = least / most;                                                                  \
        r = pick_##D(r < BELOW_SQUARE(D), TO(D, 0), r);                                            \
        vec_##D z = most * sqrt_##D(1 + r * r);                                                    \
        z = pick_##D((most == 0) | (a != a) | (b != b), a + b, z);                                 \
        return pick_##D((a == SAME(D, INFINITY)) | (b == SAME(D, INFINITY)), TO(D, INFINITY), z);  \
    }                                                                                              \
    static inline vec_##D HYPOT_whole_##D(vec_##D a, vec_##D b)                                    \
    {                                                                                              \
        a = abs_##D(a);                                                                            \
        b = abs_##D(b);                                                                            \
        const mask_##D some = USUAL_HYPOT(D, a), other = USUAL_HYPOT(D, b);                        \
        const mask_##D usual = (some | other) & (some | (a == 0)) & (other | (b == 0));            \
        if (!any_##D(~usual))                                                                      \
            return call(a, b);                                                                     \
        const vec_##D z = call(pick_##D(usual, a, TO(D, 1)), pick_##D(usual, b, TO(D, 1)));        \
        return pick_##D(usual, z, HYPOT_beyond_##D(a, b));                                         \
    }
WHOLE_HYPOT(F32, _ZGVdN8vv_hypotf)
WHOLE_HYPOT(F64, _ZGVdN4vv_hypot)

/* By the quotient whose absolute value is at most 1. */
#define WHOLE_ARCTAN2(D, call)                                                                     \
    static __attribute__((noinline, cold)) vec_##D ARCTAN2_beyond_##D(vec_##D y, vec_##D x)        \
    {                                                                                              \
        const vec_##D a = abs_##D(y), b = abs_##D(x);                                              \
        const mask_##D steep = a > b;                                                              \
        vec_##D r = pick_##D(steep, b, a) / pick_##D(steep, a, b);                                 \
        r = pick_##D((a == b) & (a == SAME(D, INFINITY)), TO(D, 1), r);                            \
        r = ARCTAN_whole_##D(pick_##D((a == 0) & (b == 0), TO(D, 0), r));                          \
        r = pick_##D(steep, SAME(D, M_PI_2) - r, r);                                               \
        return as_##D(pick_##D(sign_##D(x) != 0, SAME(D, M_PI) - r, r), y);                        \
    }                                                                                              \
    static inline vec_##D ARCTAN2_whole_##D(vec_##D y, vec_##D x)                                  \
    {                                                                                              \
        const mask_##D usual =                                                                     \
            USUAL_ARCTAN2(D, abs_##D(x)) & (USUAL_ARCTAN2(D, abs_##D(y)) | (y == 0));              \
        if (!any_##D(~usual))                                                                      \
            return call(y, x);                                                                     \
        const vec_##D z = call(pick_##D(usual, y, TO(D, 1)), pick_##D(usual, x, TO(D, 1)));        \
        return pick_##D(usual, z, ARCTAN2_beyond_##D(y, x));                                       \
    }
WHOLE_ARCTAN2(F32, _ZGVdN8vv_atan2f)
WHOLE_ARCTAN2(F64, _ZGVdN4vv_atan2)

/* load: a vector of elements from `a` on; uniform: all are a[0]. load_last: the last n elements of a block; the other
 * lanes repeat the first of these, so that they take no slow path of their own. */
#define MOVE(D, T)                                                                                 \
    static inline vec_##D load_##D(const T *a, bool uniform)                                       \
    {                                                                                              \
        vec_##D v;                                                                                 \
        if (uniform)                                                                               \
            v = (vec_##D){0} + a[0];                                                               \
        else                                                                                       \
            memcpy(&v, a, sizeof v);                                                               \
        return v;                                                                                  \
    }                                                                                              \
    static inline vec_##D load_last_##D(const T *a, bool uniform, int64_t n)                       \
    {                                                                                              \
        vec_##D v = load_##D(a, true);                                                             \
        if (!uniform)                                                                              \
            memcpy(&v, a, (size_t)n * sizeof *a);                                                  \
        return v;                                                                                  \
    }
MOVE(F32, float)
MOVE(F64, double)
#define LANES(D, T) (int64_t)(sizeof(vec_##D) / sizeof(T))

#define LOOP_1(OP, D, T, call)                                                                     \
    static void OP##_##D(int64_t n, void *out, const void *const *in, unsigned uniform)            \
    {                                                                                              \
        const T *a = in[0];                                                                        \
        T *z = out;                                                                                \
        vec_##D v;                                                                                 \
        int64_t i = 0;                                                                             \
        (void)uniform;                                                                             \
        for (; i + LANES(D, T) <= n; i += LANES(D, T)) {                                           \
            v = call(load_##D(a + i, false));                                                      \
            memcpy(z + i, &v, sizeof v);                                                           \
        }                                                                                          \
        if (i == n)                                                                                \
            return;                                                                                \
        v = call(load_last_##D(a + i, false, n - i));                                              \
        memcpy(z + i, &v, (size_t)(n - i) * sizeof *z);                                            \
    }
#define LOOP_2(OP, D, T, call)                                                                     \
    static void OP##_##D(int64_t n, void *out, const void *const *in, unsigned uniform)            \
    {                                                                                              \
        const T *a = in[0], *b = in[1];                                                            \
        T *z = out;                                                                                \
        vec_##D v;                                                                                 \
        bool same_a = uniform & 1, same_b = uniform >> 1 & 1;                                      \
        int64_t i = 0;                                                                             \
        for (; i + LANES(D, T) <= n; i += LANES(D, T)) {                                           \
            v = call(load_##D(same_a ? a : a + i, same_a), load_##D(same_b ? b : b + i, same_b));  \
            memcpy(z + i, &v, sizeof v);                                                           \
        }                                                                                          \
        if (i == n)                                                                                \
            return;                                                                                \
        v = call(load_last_##D(same_a ? a : a + i, same_a, n - i),                                 \
                 load_last_##D(same_b ? b : b + i, same_b, n - i));                                \
        memcpy(z + i, &v, (size_t)(n - i) * sizeof *z);                                            \
    }
#define LOOPS_F64(OP, name, form) LOOP_1(OP, F64, double, OP##_whole_F64)
#define LOOPS_1(OP, name, form) LOOP_1(OP, F32, float, OP##_whole_F32) LOOPS_F64(OP, name, form)
#define LOOPS_2(OP, name)                                                                          \
    LOOP_2(OP, F32, float, OP##_whole_F32) LOOP_2(OP, F64, double, OP##_whole_F64)
FUNCTIONS_1(LOOPS_1)
FUNCTIONS_F64(LOOPS_F64)
FUNCTIONS_2(LOOPS_2)

#define ROW(OP, name, ...) [KN_OP_##OP] = {[KN_F32] = OP##_F32, [KN_F64] = OP##_F64},
#define ROW_F64(OP, name, form)                                                                    \
    [KN_OP_##OP] = {[KN_F32] = kn_fused_##name##_f32, [KN_F64] = OP##_F64},

const kn_maths kn_maths_mvec = {
    .name = "libmvec",
    .elem = {FUNCTIONS_1(ROW) FUNCTIONS_F64(ROW_F64) FUNCTIONS_2(ROW)[KN_OP_EXP] = {
                 [KN_F32] = kn_fused_exp_f32, [KN_F64] = kn_fused_exp_f64}}};
#else
typedef int kn_no_mvec; /* ISO C forbids an empty translation unit */
#endif
