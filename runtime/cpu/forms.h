/* What a function of the CPU device is, whatever the operation and its type: macros that make one of each expression of
 * expr.h. This file is both, part of the library and the beginning of emitted programs, so it is C11 and C++17. */
#ifndef KN_RUNTIME_CPU_FORMS_H
#define KN_RUNTIME_CPU_FORMS_H

#include "codegen/emit/c/functions.h"
#include "codegen/emit/c/prelude.h"
#include "runtime/cpu/expr.h"

#define EACH KN_LANES for (int64_t i = 0; i < n; i++)

#define LOOP_1(OP, D, KIND, RD)                                                                    \
    static void OP##_##D(int64_t n, void *out, const void *const *in, unsigned uniform)            \
    {                                                                                              \
        (void)uniform;                                                                             \
        const kn_c_##D *a = (const kn_c_##D *)in[0];                                               \
        kn_c_##RD *z = (kn_c_##RD *)out;                                                           \
        EACH z[i] = (kn_c_##RD)KN_E_##OP##_##KIND(D, a[i]);                                        \
    }

#define LOOP_2(OP, D, KIND, RD)                                                                    \
    static void OP##_##D(int64_t n, void *out, const void *const *in, unsigned uniform)            \
    {                                                                                              \
        const kn_c_##D *a = (const kn_c_##D *)in[0], *b = (const kn_c_##D *)in[1];                 \
        kn_c_##RD *z = (kn_c_##RD *)out;                                                           \
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
        const uint8_t *c = (const uint8_t *)in[0];                                                 \
        const kn_c_##D *a = (const kn_c_##D *)in[1], *b = (const kn_c_##D *)in[2], s = a[0],       \
                       t = b[0];                                                                   \
        kn_c_##RD *z = (kn_c_##RD *)out;                                                           \
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
        const kn_c_##FROM *a = (const kn_c_##FROM *)in[0];                                         \
        kn_c_##TO *z = (kn_c_##TO *)out;                                                           \
        EACH z[i] = (kn_c_##TO)KN_CAST_##FKIND##_##TKIND(TO, a[i]);                                \
    }

/* Casts of types without arithmetic. */
#define LOOP_HALF(FROM, TO)                                                                        \
    static void CAST_##FROM##_##TO(int64_t n, void *out, const void *const *in, unsigned uniform)  \
    {                                                                                              \
        (void)uniform;                                                                             \
        const kn_c_##FROM *a = (const kn_c_##FROM *)in[0];                                         \
        kn_c_##TO *z = (kn_c_##TO *)out;                                                           \
        EACH z[i] = kn_##TO##_from_##FROM(a[i]);                                                   \
    }
/* ---- reductions ---- */

enum { LANES = KN_FOLD_LANES };

/* What lanes, and columns between two merges, accumulate in: sums of f32 in f32, which are few; their sums, as products, in
 * f64. */
#define LANES_OF_SUM(D, AD) D
#define LANES_OF_PROD(D, AD) AD
#define LANES_OF_MIN(D, AD) AD
#define LANES_OF_MAX(D, AD) AD
#define LANES_OF_ANY(D, AD) AD
#define LANES_OF_ALL(D, AD) AD
#define FOLD(OP, COMBINE, D, KIND, AD) FOLD_BY(OP, COMBINE, D, KIND, AD, LANES_OF_##OP(D, AD))
#define FOLD_BY(OP, COMBINE, D, KIND, AD, LD) FOLD_LANES(OP, COMBINE, D, KIND, AD, LD)

#define FOLD_LANES(OP, COMBINE, D, KIND, AD, LD)                                                   \
    static void OP##_start_##D(int64_t n, void *acc)                                               \
    {                                                                                              \
        kn_c_##AD *z = (kn_c_##AD *)acc;                                                           \
        EACH z[i] = (kn_c_##AD)KN_ID_##OP##_##KIND(AD);                                            \
    }                                                                                              \
    static void OP##_reduce_##D(int64_t n, void *acc, const void *in)                              \
    {                                                                                              \
        const kn_c_##D *a = (const kn_c_##D *)in;                                                  \
        kn_c_##AD *z = (kn_c_##AD *)acc;                                                           \
        kn_c_##LD lane[LANES];                                                                     \
        KN_UNROLL                                                                                  \
        for (int j = 0; j < LANES; j++)                                                            \
            lane[j] = (kn_c_##LD)KN_ID_##OP##_##KIND(LD);                                          \
        for (; n >= LANES; n -= LANES, a += LANES)                                                 \
            KN_FEW for (int j = 0; j < LANES; j++) lane[j] =                                       \
                (kn_c_##LD)KN_E_##COMBINE##_##KIND(LD, lane[j], (kn_c_##LD)a[j]);                  \
        for (int j = 0; j < (int)n; j++)                                                           \
            lane[j] = (kn_c_##LD)KN_E_##COMBINE##_##KIND(LD, lane[j], (kn_c_##LD)a[j]);            \
        for (int half = LANES / 2; half; half /= 2)                                                \
            KN_FEW for (int j = 0; j < half; j++) lane[j] =                                        \
                (kn_c_##LD)KN_E_##COMBINE##_##KIND(LD, lane[j], lane[j + half]);                   \
        *z = (kn_c_##AD)KN_E_##COMBINE##_##KIND(AD, *z, (kn_c_##AD)lane[0]);                       \
    }                                                                                              \
    static void OP##_accumulate_##D(int64_t n, void *acc, const void *in)                          \
    {                                                                                              \
        const kn_c_##D *a = (const kn_c_##D *)in;                                                  \
        kn_c_##LD *z = (kn_c_##LD *)acc;                                                           \
        EACH z[i] = (kn_c_##LD)KN_E_##COMBINE##_##KIND(LD, z[i], (kn_c_##LD)a[i]);                 \
    }                                                                                              \
    static void OP##_merge_##D(int64_t n, void *acc, const void *from)                             \
    {                                                                                              \
        const kn_c_##LD *a = (const kn_c_##LD *)from;                                              \
        kn_c_##AD *z = (kn_c_##AD *)acc;                                                           \
        EACH z[i] = (kn_c_##AD)KN_E_##COMBINE##_##KIND(AD, z[i], (kn_c_##AD)a[i]);                 \
    }                                                                                              \
    static void OP##_again_##D(int64_t n, void *acc, const void *total)                            \
    {                                                                                              \
        kn_c_##LD *z = (kn_c_##LD *)acc;                                                           \
        (void)total;                                                                               \
        EACH z[i] = (kn_c_##LD)KN_ID_##OP##_##KIND(LD);                                            \
    }                                                                                              \
    static void OP##_halve_##D(int64_t n, void *acc)                                               \
    {                                                                                              \
        kn_c_##AD *z = (kn_c_##AD *)acc;                                                           \
        const kn_c_##AD *a = z + n;                                                                \
        EACH z[i] = (kn_c_##AD)KN_E_##COMBINE##_##KIND(AD, z[i], a[i]);                            \
    }                                                                                              \
    static void OP##_finish_##D(int64_t n, void *out, const void *acc)                             \
    {                                                                                              \
        const kn_c_##AD *a = (const kn_c_##AD *)acc;                                               \
        kn_c_##D *z = (kn_c_##D *)out;                                                             \
        EACH z[i] = (kn_c_##D)a[i];                                                                \
    }

/* Deciding which NaN and which zero an extreme is would take most of the time, so that is done only if there is a NaN
 * or the extreme is a zero. MASK: an integer as wide as D. */
#define BEYOND_MIN <
#define BEYOND_MAX >
#define NEARER(OP, MASK, best, nan, x)                                                             \
    do {                                                                                           \
        best = x BEYOND_##OP best ? x : best;                                                      \
        nan |= -(MASK)(x != x);                                                                    \
    } while (0)
#define FOLD_EXTREME(OP, COMBINE, D, MASK)                                                         \
    FOLD(OP, COMBINE, D, FLOAT, D)                                                                 \
    static void OP##_quick_##D(int64_t n, void *acc, const void *in)                               \
    {                                                                                              \
        const kn_c_##D *a = (const kn_c_##D *)in;                                                  \
        kn_c_##D *z = (kn_c_##D *)acc, lane[LANES];                                                \
        MASK nan[LANES] = {0};                                                                     \
        KN_UNROLL                                                                                  \
        for (int j = 0; j < LANES; j++)                                                            \
            lane[j] = KN_ID_##OP##_FLOAT(D);                                                       \
        int64_t i = 0;                                                                             \
        for (; i + LANES <= n; i += LANES)                                                         \
            KN_FEW for (int j = 0; j < LANES; j++) NEARER(OP, MASK, lane[j], nan[j], a[i + j]);    \
        for (int j = 0; i + j < n; j++)                                                            \
            NEARER(OP, MASK, lane[j], nan[j], a[i + j]);                                           \
        for (int half = LANES / 2; half; half /= 2)                                                \
            KN_FEW for (int j = 0; j < half; j++)                                                  \
            {                                                                                      \
                lane[j] = lane[j + half] BEYOND_##OP lane[j] ? lane[j + half] : lane[j];           \
                nan[j] |= nan[j + half];                                                           \
            }                                                                                      \
        if (nan[0] || lane[0] == 0)                                                                \
            OP##_reduce_##D(n, acc, in);                                                           \
        else                                                                                       \
            *z = KN_E_##COMBINE##_FLOAT(D, *z, lane[0]);                                           \
    }
/* ---- variances ---- */

/* The totals of n groups, in doubles: n means, n sums of squared deviations from them, n sums, the number of members so far.
 * What columns accumulate is n shifts, n sums of deviations from the shift, n sums of their squares, the number of members:
 * it comes last, so that lines of memory have whole vectors of the others.
 *
 * The variance about a shift is that about the mean and the square of what lies between, and their difference loses as many
 * bits as the second is larger: of n members, one of which is the shift, at most as many as n has. Deviations of f32 have these
 * to spare: the shift is the first member of a block, of columns later the mean so far. Of f64 it is the first of few members,
 * whose mean is that of some more, and so on (kn_members_end()); rows have the mean of their first. */
static __attribute__((unused)) void VAR_start(int64_t n, void *acc)
{
    double *z = (double *)acc;
    for (int64_t i = 0; i <= 3 * n; i++)
        z[i] = 0;
}

static __attribute__((unused)) void VAR_merge(int64_t n, void *acc, const void *from)
{
    double *mean = (double *)acc, *m2 = mean + n, *total = m2 + n, *count = total + n;
    const double *shift = (const double *)from, *sums = shift + n, *squares = sums + n;
    const double other = squares[n];
    if (other == 0)
        return;
    const kn_weights share = kn_weights_of(*count, other);
    EACH
    {
        const double of[3] = {shift[i], sums[i], squares[i]};
        kn_merge_moments(&mean[i], &m2[i], &total[i], share, of);
    }
    *count += other;
}

/* -0 members: the shift is known, from the first members on. */
static __attribute__((unused)) void VAR_again(int64_t n, void *acc, const void *total)
{
    double *z = (double *)acc;
    const double *mean = (const double *)total;
    if (mean[3 * n] == 0) {
        VAR_start(n, acc);
        return;
    }
    EACH z[i] = kn_shift(mean[i]);
    memset(z + n, 0, 2 * (size_t)n * sizeof *z);
    z[3 * n] = -0.0;
}

/* The totals of 2 n groups, all of as many members. */
static __attribute__((unused)) void VAR_halve(int64_t n, void *acc)
{
    double *mean = (double *)acc, *m2 = mean + n, *total = m2 + n;
    const double *squares = mean + 2 * n, *sums = mean + 4 * n, count = mean[6 * n],
                 both = count / 2;
    for (int64_t i = 0; i < n; i++) {
        const double d = mean[n + i] - mean[i], sum = squares[i] + squares[n + i];
        mean[i] += d / 2;
        m2[i] = sum + d * d * both;
    }
    for (int64_t i = 0; i < n; i++)
        total[i] = sums[i] + sums[n + i];
    mean[3 * n] = count + count;
}

static __attribute__((unused)) void VAR_mean(int64_t n, double *out, const void *acc)
{
    memcpy(out, acc, (size_t)n * sizeof *out);
}

static __attribute__((unused)) void VAR_count(int64_t n, double *out, const void *acc)
{
    const double seen = ((const double *)acc)[3 * n];
    EACH out[i] = seen;
}

static __attribute__((unused)) double VAR_shift_F32(int64_t n, const float *a)
{
    (void)n;
    return kn_shift((double)a[0]);
}

/* Parts are added, of which no sum overflows. */
static __attribute__((unused)) double VAR_shift_F64(int64_t n, const double *a)
{
    double part[LANES];
    if (n < LANES)
        return kn_shift(a[0]);
    for (int j = 0; j < LANES; j++)
        part[j] = a[j] * (1.0 / LANES);
    for (int half = LANES / 2; half; half /= 2)
        KN_FEW for (int j = 0; j < half; j++) part[j] += part[j + half];
    return kn_shift(part[0]);
}

#define DEVIATION(sum, squares, x, shift)                                                          \
    do {                                                                                           \
        const double d = (double)(x)-shift;                                                        \
        sum += d;                                                                                  \
        squares += d * d;                                                                          \
    } while (0)
#define MOMENTS(D)                                                                                 \
    static void VAR_reduce_##D(int64_t n, void *acc, const void *in)                               \
    {                                                                                              \
        const kn_c_##D *a = (const kn_c_##D *)in;                                                  \
        const double shift = VAR_shift_##D(n, a), count = (double)n;                               \
        double sum[LANES] = {0}, squares[LANES] = {0};                                             \
        for (; n >= LANES; n -= LANES, a += LANES)                                                 \
            KN_FEW for (int j = 0; j < LANES; j++) DEVIATION(sum[j], squares[j], a[j], shift);     \
        for (int j = 0; j < (int)n; j++)                                                           \
            DEVIATION(sum[j], squares[j], a[j], shift);                                            \
        for (int half = LANES / 2; half; half /= 2)                                                \
            KN_FEW for (int j = 0; j < half; j++)                                                  \
            {                                                                                      \
                sum[j] += sum[j + half];                                                           \
                squares[j] += squares[j + half];                                                   \
            }                                                                                      \
        kn_add_moments((double *)acc, count, shift, sum[0], squares[0]);                           \
    }                                                                                              \
    static void VAR_accumulate_##D(int64_t n, void *acc, const void *in)                           \
    {                                                                                              \
        const kn_c_##D *a = (const kn_c_##D *)in;                                                  \
        double *shift = (double *)acc, *sum = shift + n, *squares = sum + n, *count = squares + n; \
        if (*count == 0 && !signbit(*count))                                                       \
            EACH shift[i] = kn_shift((double)a[i]);                                                \
        *count += 1;                                                                               \
        EACH DEVIATION(sum[i], squares[i], a[i], shift[i]);                                        \
    }                                                                                              \
    static void VAR_sum_##D(int64_t n, void *out, const void *acc)                                 \
    {                                                                                              \
        const double *total = (const double *)acc + 2 * n;                                         \
        kn_c_##D *z = (kn_c_##D *)out;                                                             \
        EACH z[i] = (kn_c_##D)total[i];                                                            \
    }                                                                                              \
    static void VAR_finish_##D(int64_t n, void *out, const void *acc)                              \
    {                                                                                              \
        const double *m2 = (const double *)acc + n;                                                \
        kn_c_##D *z = (kn_c_##D *)out;                                                             \
        EACH z[i] = (kn_c_##D)m2[i];                                                               \
    }

/* ---- a reduction's functions together ---- */

#define FOLD_OF(OP, D, AD, BLOCKED, REDUCE)                                                        \
    {                                                                                              \
        (int)sizeof(kn_c_##AD), BLOCKED, OP##_start_##D, REDUCE, OP##_accumulate_##D,              \
            OP##_merge_##D, OP##_again_##D, OP##_halve_##D, OP##_finish_##D, 0, 0, 0               \
    }
#define FOLD_OF_MOMENTS(D)                                                                         \
    {                                                                                              \
        4 * (int)sizeof(double), 1, VAR_start, VAR_reduce_##D, VAR_accumulate_##D, VAR_merge,      \
            VAR_again, VAR_halve, VAR_finish_##D, VAR_mean, VAR_count, VAR_sum_##D                 \
    }

#endif
