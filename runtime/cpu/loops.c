/* One function for each operation and type, made from ops.def and expr.h. Needs -O3 -ffp-contract=off -fno-math-errno
 * -fno-trapping-math: without the last two, square roots and selections are not vectorised. They change no result. */
#include "runtime/cpu/loops.h"

#include "runtime/cpu/expr.h"

#ifndef KN_ISA
#define KN_ISA baseline
#define KN_MATHS NULL
#endif
#define KN_PASTE_(a, b) a##b
#define KN_PASTE(a, b) KN_PASTE_(a, b)
#define KN_STRING_(a) #a
#define KN_STRING(a) KN_STRING_(a)

#define EACH KN_LANES for (int64_t i = 0; i < n; i++)

#define LOOP_1(OP, D, KIND, RD)                                                                    \
    static void OP##_##D(int64_t n, void *out, const void *const *in, unsigned uniform)            \
    {                                                                                              \
        (void)uniform;                                                                             \
        const kn_c_##D *a = in[0];                                                                 \
        kn_c_##RD *z = out;                                                                        \
        EACH z[i] = (kn_c_##RD)KN_E_##OP##_##KIND(D, a[i]);                                        \
    }

#define LOOP_2(OP, D, KIND, RD)                                                                    \
    static void OP##_##D(int64_t n, void *out, const void *const *in, unsigned uniform)            \
    {                                                                                              \
        const kn_c_##D *a = in[0], *b = in[1];                                                     \
        kn_c_##RD *z = out;                                                                        \
        if (uniform == 1) {                                                                        \
            const kn_c_##D s = a[0];                                                               \
            EACH z[i] = (kn_c_##RD)KN_E_##OP##_##KIND(D, s, b[i]);                                 \
        } else if (uniform == 2) {                                                                 \
            const kn_c_##D s = b[0];                                                               \
            EACH z[i] = (kn_c_##RD)KN_E_##OP##_##KIND(D, a[i], s);                                 \
        } else {                                                                                   \
            EACH z[i] = (kn_c_##RD)KN_E_##OP##_##KIND(D, a[i], b[i]);                              \
        }                                                                                          \
    }

/* Only for WHERE, whose first operand is bool. It reads both others, whichever is chosen: a conditional load would be
 * slow. */
#define CHOOSE(OP, D, KIND, A, B)                                                                  \
    EACH                                                                                           \
    {                                                                                              \
        const kn_c_##D x = A, y = B;                                                               \
        z[i] = KN_E_##OP##_##KIND(D, c[i], x, y);                                                  \
    }
#define LOOP_3(OP, D, KIND, RD)                                                                    \
    static void OP##_##D(int64_t n, void *out, const void *const *in, unsigned uniform)            \
    {                                                                                              \
        const uint8_t *c = in[0];                                                                  \
        const kn_c_##D *a = in[1], *b = in[2], s = a[0], t = b[0];                                 \
        kn_c_##RD *z = out;                                                                        \
        if (uniform & 1) {                                                                         \
            const kn_c_##D *from = *c ? a : b;                                                     \
            const int64_t step = uniform & (*c ? 2 : 4) ? 0 : 1;                                   \
            EACH z[i] = from[i * step];                                                            \
        } else if (uniform == 2) {                                                                 \
            CHOOSE(OP, D, KIND, s, b[i])                                                           \
        } else if (uniform == 4) {                                                                 \
            CHOOSE(OP, D, KIND, a[i], t)                                                           \
        } else if (uniform == 6) {                                                                 \
            CHOOSE(OP, D, KIND, s, t)                                                              \
        } else {                                                                                   \
            CHOOSE(OP, D, KIND, a[i], b[i])                                                        \
        }                                                                                          \
    }

#define LOOP_CAST(FROM, FKIND, TO, TKIND)                                                          \
    static void CAST_##FROM##_##TO(int64_t n, void *out, const void *const *in, unsigned uniform)  \
    {                                                                                              \
        (void)uniform;                                                                             \
        const kn_c_##FROM *a = in[0];                                                              \
        kn_c_##TO *z = out;                                                                        \
        EACH z[i] = (kn_c_##TO)KN_CAST_##FKIND##_##TKIND(TO, a[i]);                                \
    }

/* Casts of types without arithmetic. */
#define LOOP_HALF(FROM, TO)                                                                        \
    static void CAST_##FROM##_##TO(int64_t n, void *out, const void *const *in, unsigned uniform)  \
    {                                                                                              \
        (void)uniform;                                                                             \
        const kn_c_##FROM *a = in[0];                                                              \
        kn_c_##TO *z = out;                                                                        \
        EACH z[i] = kn_##TO##_from_##FROM(a[i]);                                                   \
    }

/* The types that an operation exists at, by its type rule; X(OP, D, KIND, result) */
#define AT_INTS(X, OP)                                                                             \
    X(OP, I8, INT, I8)                                                                             \
    X(OP, I16, INT, I16)                                                                           \
    X(OP, I32, INT, I32)                                                                           \
    X(OP, I64, INT, I64)                                                                           \
    X(OP, U8, UINT, U8) X(OP, U16, UINT, U16) X(OP, U32, UINT, U32) X(OP, U64, UINT, U64)
#define AT_ARITH(X, OP) AT_ROUND(X, OP)
#define AT_SIGNED(X, OP) AT_INTS(X, OP) AT_FLOAT(X, OP)
#define AT_INTEGER(X, OP) AT_SIGNED(X, OP)
#define AT_FLOAT(X, OP) X(OP, F32, FLOAT, F32) X(OP, F64, FLOAT, F64)
#define AT_TRUEDIV(X, OP) AT_FLOAT(X, OP)
#define AT_ROUND(X, OP) X(OP, BOOL, BOOL, BOOL) AT_SIGNED(X, OP)
#define AT_COMPARE(X, OP)                                                                          \
    X(OP, BOOL, BOOL, BOOL)                                                                        \
    X(OP, I8, INT, BOOL)                                                                           \
    X(OP, I16, INT, BOOL)                                                                          \
    X(OP, I32, INT, BOOL)                                                                          \
    X(OP, I64, INT, BOOL)                                                                          \
    X(OP, U8, UINT, BOOL)                                                                          \
    X(OP, U16, UINT, BOOL)                                                                         \
    X(OP, U32, UINT, BOOL)                                                                         \
    X(OP, U64, UINT, BOOL) X(OP, F32, FLOAT, BOOL) X(OP, F64, FLOAT, BOOL)
#define AT_TEST(X, OP) AT_COMPARE(X, OP)
#define AT_BITS(X, OP) AT_INTS(X, OP)
#define AT_SHIFT(X, OP) AT_INTS(X, OP)
#define AT_WHOLE(X, OP) AT_INTS(X, OP)
#define AT_EXPONENT(X, OP) X(OP, F32, FLOAT, I32) X(OP, F64, FLOAT, I32)
#define AT_LOGIC(X, OP) X(OP, BOOL, BOOL, BOOL)
#define AT_SELECT(X, OP) AT_ROUND(X, OP) X(OP, F16, HALF, F16) X(OP, BF16, HALF, BF16)
#define AT_COMPLEX(X, OP) /* below: only some operations have complex numbers */
#define AT_PAIR(X, OP) X(OP, F32, FLOAT, C64) X(OP, F64, FLOAT, C128)
#define AT_FIXED(X, OP) AT_FIXED_##OP(X)
#define AT_FIXED_COPY(X) AT_SELECT(X, COPY)
#define AT_FIXED_CAST(X) /* below: casts */

/* The same for complex numbers, by the result's type */
#define OF_COMPLEX_SAME(X, OP) X(OP, C64, COMPLEX, C64) X(OP, C128, COMPLEX, C128)
#define OF_COMPLEX_PART(X, OP) X(OP, C64, COMPLEX, F32) X(OP, C128, COMPLEX, F64)
#define OF_COMPLEX_BOOL(X, OP) X(OP, C64, COMPLEX, BOOL) X(OP, C128, COMPLEX, BOOL)
#define OF_COMPLEX_FIXED(X, OP) /* casts: below */

#define CASTS_FROM(X, D, KIND)                                                                     \
    X(D, KIND, BOOL, BOOL)                                                                         \
    X(D, KIND, I8, INT)                                                                            \
    X(D, KIND, I16, INT)                                                                           \
    X(D, KIND, I32, INT)                                                                           \
    X(D, KIND, I64, INT)                                                                           \
    X(D, KIND, U8, INT)                                                                            \
    X(D, KIND, U16, INT)                                                                           \
    X(D, KIND, U32, INT)                                                                           \
    X(D, KIND, U64, INT) X(D, KIND, F32, FLOAT) X(D, KIND, F64, FLOAT)
#define CASTS(X)                                                                                   \
    CASTS_FROM(X, BOOL, BOOL)                                                                      \
    CASTS_FROM(X, I8, INT)                                                                         \
    CASTS_FROM(X, I16, INT)                                                                        \
    CASTS_FROM(X, I32, INT)                                                                        \
    CASTS_FROM(X, I64, INT)                                                                        \
    CASTS_FROM(X, U8, INT)                                                                         \
    CASTS_FROM(X, U16, INT)                                                                        \
    CASTS_FROM(X, U32, INT)                                                                        \
    CASTS_FROM(X, U64, INT)                                                                        \
    CASTS_FROM(X, F32, FLOAT)                                                                      \
    CASTS_FROM(X, F64, FLOAT)                                                                      \
    X(F32, FLOAT, C64, COMPLEX)                                                                    \
    X(F64, FLOAT, C128, COMPLEX)                                                                   \
    X(C64, COMPLEX, C128, COMPLEX)                                                                 \
    X(C128, COMPLEX, C64, COMPLEX) X(C64, COMPLEX, BOOL, BOOL) X(C128, COMPLEX, BOOL, BOOL)
#define HALVES(X) X(F16, F32) X(BF16, F32) X(F32, F16) X(F32, BF16) X(F64, F16)

#define FORMULA(name, text, least, most, rule, ulp, of, is)
#define REDUCE(name, text, rule, combine, empty)
#define VIEW(name, text)
#define LEAF(name, text)

#define ELEM(name, text, arity, rule, f32, f64, cost, infix) AT_##rule(LOOP_##arity, name)
#define COMPLEX(name, arity, result, ulp, of) OF_COMPLEX_##result(LOOP_##arity, name)
#include "ir/ops.def"
#undef ELEM
#undef COMPLEX
CASTS(LOOP_CAST)
HALVES(LOOP_HALF)

/* ---- reductions ---- */

enum { LANES = KN_FOLD_LANES };

#define FOLD(OP, COMBINE, D, KIND, AD)                                                             \
    static void OP##_start_##D(int64_t n, void *acc)                                               \
    {                                                                                              \
        kn_c_##AD *z = acc;                                                                        \
        EACH z[i] = (kn_c_##AD)KN_ID_##OP##_##KIND(AD);                                            \
    }                                                                                              \
    static void OP##_reduce_##D(int64_t n, void *acc, const void *in)                              \
    {                                                                                              \
        const kn_c_##D *a = in;                                                                    \
        kn_c_##AD *z = acc, lane[LANES];                                                           \
        for (int j = 0; j < LANES; j++)                                                            \
            lane[j] = (kn_c_##AD)KN_ID_##OP##_##KIND(AD);                                          \
        for (; n >= LANES; n -= LANES, a += LANES)                                                 \
            for (int j = 0; j < LANES; j++)                                                        \
                lane[j] = (kn_c_##AD)KN_E_##COMBINE##_##KIND(AD, lane[j], (kn_c_##AD)a[j]);        \
        for (int j = 0; j < (int)n; j++)                                                           \
            lane[j] = (kn_c_##AD)KN_E_##COMBINE##_##KIND(AD, lane[j], (kn_c_##AD)a[j]);            \
        for (int half = LANES / 2; half; half /= 2)                                                \
            for (int j = 0; j < half; j++)                                                         \
                lane[j] = (kn_c_##AD)KN_E_##COMBINE##_##KIND(AD, lane[j], lane[j + half]);         \
        *z = (kn_c_##AD)KN_E_##COMBINE##_##KIND(AD, *z, lane[0]);                                  \
    }                                                                                              \
    static void OP##_accumulate_##D(int64_t n, void *acc, const void *in)                          \
    {                                                                                              \
        const kn_c_##D *a = in;                                                                    \
        kn_c_##AD *z = acc;                                                                        \
        EACH z[i] = (kn_c_##AD)KN_E_##COMBINE##_##KIND(AD, z[i], (kn_c_##AD)a[i]);                 \
    }                                                                                              \
    static void OP##_finish_##D(int64_t n, void *out, const void *acc)                             \
    {                                                                                              \
        const kn_c_##AD *a = acc;                                                                  \
        kn_c_##D *z = out;                                                                         \
        EACH z[i] = (kn_c_##D)a[i];                                                                \
    }

/* Deciding which NaN and which zero an extreme is would take most of the time, so that is done only if there is a NaN
 * or the extreme is a zero. MASK: an integer as wide as D. */
#define BEYOND_MIN <
#define BEYOND_MAX >
#define NEARER(OP, MASK, best, nan, x)                                                             \
    {                                                                                              \
        best = x BEYOND_##OP best ? x : best;                                                      \
        nan |= -(MASK)(x != x);                                                                    \
    }
#define FOLD_EXTREME(OP, COMBINE, D, MASK)                                                         \
    FOLD(OP, COMBINE, D, FLOAT, D)                                                                 \
    static void OP##_quick_##D(int64_t n, void *acc, const void *in)                               \
    {                                                                                              \
        const kn_c_##D *a = in;                                                                    \
        kn_c_##D *z = acc, lane[LANES];                                                            \
        MASK nan[LANES] = {0};                                                                     \
        for (int j = 0; j < LANES; j++)                                                            \
            lane[j] = KN_ID_##OP##_FLOAT(D);                                                       \
        int64_t i = 0;                                                                             \
        for (; i + LANES <= n; i += LANES)                                                         \
            for (int j = 0; j < LANES; j++)                                                        \
                NEARER(OP, MASK, lane[j], nan[j], a[i + j])                                        \
        for (int j = 0; i + j < n; j++)                                                            \
            NEARER(OP, MASK, lane[j], nan[j], a[i + j])                                            \
        for (int half = LANES / 2; half; half /= 2)                                                \
            for (int j = 0; j < half; j++) {                                                       \
                lane[j] = lane[j + half] BEYOND_##OP lane[j] ? lane[j + half] : lane[j];           \
                nan[j] |= nan[j + half];                                                           \
            }                                                                                      \
        if (nan[0] || lane[0] == 0)                                                                \
            OP##_reduce_##D(n, acc, in);                                                           \
        else                                                                                       \
            *z = KN_E_##COMBINE##_FLOAT(D, *z, lane[0]);                                           \
    }

/* X(OP, COMBINE, D, KIND, accumulator) */
#define OVER_INTS(X, OP, COMBINE)                                                                  \
    X(OP, COMBINE, BOOL, BOOL, BOOL)                                                               \
    X(OP, COMBINE, I8, INT, I8)                                                                    \
    X(OP, COMBINE, I16, INT, I16)                                                                  \
    X(OP, COMBINE, I32, INT, I32)                                                                  \
    X(OP, COMBINE, I64, INT, I64)                                                                  \
    X(OP, COMBINE, U8, UINT, U8)                                                                   \
    X(OP, COMBINE, U16, UINT, U16) X(OP, COMBINE, U32, UINT, U32) X(OP, COMBINE, U64, UINT, U64)
#define OVER_COUNT(X, OP, COMBINE)                                                                 \
    OVER_INTS(X, OP, COMBINE)                                                                      \
    X(OP, COMBINE, F32, FLOAT, F64)                                                                \
    X(OP, COMBINE, F64, FLOAT, F64)                                                                \
    X(OP, COMBINE, C64, COMPLEX, C128) X(OP, COMBINE, C128, COMPLEX, C128)
#define OVER_SAME(X, OP, COMBINE)                                                                  \
    OVER_INTS(X, OP, COMBINE)                                                                      \
    X##_EXTREME(OP, COMBINE, F32, int32_t) X##_EXTREME(OP, COMBINE, F64, int64_t)                  \
        X(OP, COMBINE, C64, COMPLEX, C64) X(OP, COMBINE, C128, COMPLEX, C128)
#define OVER_BOOL(X, OP, COMBINE) X(OP, COMBINE, BOOL, BOOL, BOOL)
#define OVER_FLOAT(X, OP, COMBINE) /* MEAN: never in the kernel IR; VAR: below */

#undef REDUCE
#define ELEM(name, text, arity, rule, f32, f64, cost, infix)
#define REDUCE(name, text, rule, combine, empty) OVER_##rule(FOLD, name, combine)
#include "ir/ops.def"
#undef ELEM
#undef REDUCE

/* ---- variances ---- */

/* The state of n groups, in doubles: the number of members so far, n means, n sums of squared deviations from them. */
static void VAR_start(int64_t n, void *acc)
{
    double *z = acc;
    for (int64_t i = 0; i <= 2 * n; i++)
        z[i] = 0;
}

/* Chan's merge (codegen/plan/form/moments.c has the source). */
static void VAR_merge(int64_t n, void *acc, const void *from)
{
    double *count = acc, *mean = count + 1, *m2 = mean + n;
    const double *other = from, *b = other + 1, *b2 = b + n;
    const double sum = *count + *other;
    if (*other == 0)
        return;
    const double part = *other / sum, both = *count * part;
    EACH
    {
        const double d = b[i] - mean[i];
        mean[i] += d * part;
        m2[i] += b2[i] + d * d * both;
    }
    *count = sum;
}

static void VAR_mean(int64_t n, double *out, const void *acc)
{
    memcpy(out, (const double *)acc + 1, (size_t)n * sizeof *out);
}

static void VAR_count(int64_t n, double *out, const void *acc)
{
    const double seen = *(const double *)acc;
    EACH out[i] = seen;
}

/* A block is reduced about its own mean, and then merged. Single members go by Welford's update, whose division all
 * groups share. */
#define DEVIATION(sum, from_mean)                                                                  \
    {                                                                                              \
        const double d = from_mean;                                                                \
        sum += squares ? d * d : d;                                                                \
    }
#define MOMENTS(D)                                                                                 \
    static double sum_of_##D(int64_t n, const kn_c_##D *a, double mean, bool squares)              \
    {                                                                                              \
        double lane[LANES] = {0};                                                                  \
        for (; n >= LANES; n -= LANES, a += LANES)                                                 \
            for (int j = 0; j < LANES; j++)                                                        \
                DEVIATION(lane[j], (double)a[j] - mean)                                            \
        for (int j = 0; j < (int)n; j++)                                                           \
            DEVIATION(lane[j], (double)a[j] - mean)                                                \
        for (int half = LANES / 2; half; half /= 2)                                                \
            for (int j = 0; j < half; j++)                                                         \
                lane[j] += lane[j + half];                                                         \
        return lane[0];                                                                            \
    }                                                                                              \
    static void VAR_reduce_##D(int64_t n, void *acc, const void *in)                               \
    {                                                                                              \
        const double mean = sum_of_##D(n, in, 0, false) / (double)n;                               \
        const double block[] = {(double)n, mean, sum_of_##D(n, in, mean, true)};                   \
        VAR_merge(1, acc, block);                                                                  \
    }                                                                                              \
    static void VAR_accumulate_##D(int64_t n, void *acc, const void *in)                           \
    {                                                                                              \
        const kn_c_##D *a = in;                                                                    \
        double *count = acc, *mean = count + 1, *m2 = mean + n;                                    \
        const double part = 1 / (*count += 1);                                                     \
        EACH                                                                                       \
        {                                                                                          \
            const double d = (double)a[i] - mean[i];                                               \
            mean[i] += d * part;                                                                   \
            m2[i] += d * ((double)a[i] - mean[i]);                                                 \
        }                                                                                          \
    }                                                                                              \
    static void VAR_finish_##D(int64_t n, void *out, const void *acc)                              \
    {                                                                                              \
        const double *m2 = (const double *)acc + 1 + n;                                            \
        kn_c_##D *z = out;                                                                         \
        EACH z[i] = (kn_c_##D)m2[i];                                                               \
    }
MOMENTS(F32)
MOMENTS(F64)

/* ---- the tables ---- */

#define ROW_ELEM(OP, D, KIND, RD) [KN_OP_##OP][KN_##D] = OP##_##D,
#define ROW_CAST(FROM, FKIND, TO, TKIND) [KN_##FROM][KN_##TO] = CAST_##FROM##_##TO,
#define ROW_HALF(FROM, TO) [KN_##FROM][KN_##TO] = CAST_##FROM##_##TO,
#define IS_SUM_OF_F64(OP, D) (KN_OP_##OP == KN_OP_SUM && KN_##D == KN_F64)
#define ROW_FOLDED(OP, D, AD, REDUCE)                                                              \
    [KN_OP_##OP][KN_##D] = {.acc_bytes = (int)sizeof(kn_c_##AD),                                   \
                            .blocked = IS_SUM_OF_F64(OP, D),                                       \
                            .start = OP##_start_##D,                                               \
                            .reduce = REDUCE,                                                      \
                            .accumulate = OP##_accumulate_##D,                                     \
                            .merge = OP##_accumulate_##D,                                          \
                            .finish = OP##_finish_##D},
#define ROW_FOLD(OP, COMBINE, D, KIND, AD) ROW_FOLDED(OP, D, AD, OP##_reduce_##D)
#define ROW_FOLD_EXTREME(OP, COMBINE, D, MASK) ROW_FOLDED(OP, D, D, OP##_quick_##D)

#define ROW_MOMENTS(D)                                                                             \
    [KN_OP_VAR][KN_##D] = {.acc_bytes = 3 * (int)sizeof(double),                                   \
                           .blocked = true,                                                        \
                           .start = VAR_start,                                                     \
                           .reduce = VAR_reduce_##D,                                               \
                           .accumulate = VAR_accumulate_##D,                                       \
                           .merge = VAR_merge,                                                     \
                           .finish = VAR_finish_##D,                                               \
                           .mean = VAR_mean,                                                       \
                           .count = VAR_count},

const kn_loops KN_PASTE(kn_loops_, KN_ISA) = {
    .isa = KN_STRING(KN_ISA),
    .maths = KN_MATHS,
#define ELEM(name, text, arity, rule, f32, f64, cost, infix) AT_##rule(ROW_ELEM, name)
#define COMPLEX(name, arity, result, ulp, of) OF_COMPLEX_##result(ROW_ELEM, name)
#define REDUCE(name, text, rule, combine, empty)
    .elem =
        {
#include "ir/ops.def"
        },
#undef ELEM
#undef COMPLEX
#undef REDUCE
    .cast = {CASTS(ROW_CAST) HALVES(ROW_HALF)},
#define ELEM(name, text, arity, rule, f32, f64, cost, infix)
#define REDUCE(name, text, rule, combine, empty) OVER_##rule(ROW_FOLD, name, combine)
    .fold =
        {
#include "ir/ops.def"
            ROW_MOMENTS(F32) ROW_MOMENTS(F64)},
#undef ELEM
#undef REDUCE
};
