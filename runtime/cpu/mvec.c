/* Functions of floats by libmvec, the vector functions of glibc, for AVX2: 8 elements of f32 or 4 of f64 a call.
 *
 * They are called by their names in the vector function ABI, of x86-64's AVX2 ("d"), unmasked ("N"), and not
 * through the vectoriser: that would leave the last elements of a block to the scalar functions, whose results
 * differ, and an element's result would depend on its place. Their errors are within the bounds of
 * ops.def (tests/sweep). */
#include "runtime/cpu/loops.h"

#if defined(KN_LIBMVEC)
#include <string.h>

#ifndef __AVX2__
#error "vectors of 32 bytes are passed otherwise without -mavx2"
#endif

typedef float vec_F32 __attribute__((vector_size(32)));
typedef double vec_F64 __attribute__((vector_size(32)));

/* X(operation, C function), of one operand and of two. */
#define FUNCTIONS_1(X)                                                                             \
    X(EXP, exp)                                                                                    \
    X(EXP2, exp2)                                                                                  \
    X(EXPM1, expm1)                                                                                \
    X(LOG, log)                                                                                    \
    X(LOG2, log2)                                                                                  \
    X(LOG10, log10)                                                                                \
    X(LOG1P, log1p)                                                                                \
    X(CBRT, cbrt)                                                                                  \
    X(SIN, sin)                                                                                    \
    X(COS, cos)                                                                                    \
    X(TAN, tan)                                                                                    \
    X(ARCSIN, asin)                                                                                \
    X(ARCCOS, acos)                                                                                \
    X(ARCTAN, atan)                                                                                \
    X(SINH, sinh)                                                                                  \
    X(COSH, cosh)                                                                                  \
    X(TANH, tanh)                                                                                  \
    X(ARCSINH, asinh)                                                                              \
    X(ARCCOSH, acosh)                                                                              \
    X(ARCTANH, atanh)                                                                              \
    X(ERF, erf)                                                                                    \
    X(ERFC, erfc)
#define FUNCTIONS_2(X)                                                                             \
    X(POW, pow)                                                                                    \
    X(ARCTAN2, atan2)                                                                              \
    X(HYPOT, hypot)

#define DECLARE_1(OP, name)                                                                        \
    vec_F32 _ZGVdN8v_##name##f(vec_F32);                                                           \
    vec_F64 _ZGVdN4v_##name(vec_F64);
#define DECLARE_2(OP, name)                                                                        \
    vec_F32 _ZGVdN8vv_##name##f(vec_F32, vec_F32);                                                 \
    vec_F64 _ZGVdN4vv_##name(vec_F64, vec_F64);
FUNCTIONS_1(DECLARE_1)
FUNCTIONS_2(DECLARE_2)

/* load: a vector of elements from `a` on; uniform: all of them are a[0]. load_last: of n elements, the last of
 * the block; the rest of the vector is like the first of them, so that it takes no slow path of its own. */
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
#define LOOPS_1(OP, name)                                                                          \
    LOOP_1(OP, F32, float, _ZGVdN8v_##name##f) LOOP_1(OP, F64, double, _ZGVdN4v_##name)
#define LOOPS_2(OP, name)                                                                          \
    LOOP_2(OP, F32, float, _ZGVdN8vv_##name##f) LOOP_2(OP, F64, double, _ZGVdN4vv_##name)
FUNCTIONS_1(LOOPS_1)
FUNCTIONS_2(LOOPS_2)

#define ROW(OP, name) [KN_OP_##OP] = {[KN_F32] = OP##_F32, [KN_F64] = OP##_F64},

const kn_maths kn_maths_mvec = {.name = "libmvec", .elem = {FUNCTIONS_1(ROW) FUNCTIONS_2(ROW)}};
#else
typedef int kn_no_mvec; /* ISO C forbids an empty translation unit */
#endif
