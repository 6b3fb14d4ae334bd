/* What generated C uses; the second part of each generated text. Types have the names that the text form gives them;
 * b8 is a bool. All of it is C11 and C++17. */
typedef unsigned char b8, u8;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef __INT64_TYPE__ i64;
typedef unsigned short u16, f16, bf16;
typedef unsigned u32;
typedef __UINT64_TYPE__ u64;
typedef float f32;
typedef double f64;
#ifdef __cplusplus
typedef bool
    truth; /* a bool that is computed: compilers know that it is 0 or 1, and make masks of it */
#else
typedef _Bool truth;
typedef float _Complex c64;
typedef double _Complex c128;
#endif

#ifndef KN_WORK /* of a phase's function */
#define KN_WORK __attribute__((visibility("default")))
#endif
#define KN_VECTOR_ALIGNED __attribute__((aligned(16)))

/* Loops that reduce rows do more for each line of memory than processors look ahead past: KN_FOLD_LANES elements that follow
 * in KN_AHEAD bytes. It is harmless past the end of an array. */
#define KN_AHEAD 4096
#define KN_FETCH(p)                                                                                \
    for (u64 i = 0; i < KN_FOLD_LANES * sizeof *(p); i += 64)                                      \
    __builtin_prefetch((const char *)(p) + KN_AHEAD + i)

/* The same where lanes lie in runs that are apart: of `left` elements of this run at p, what follows in KN_AHEAD bytes is in this run, or
 * kn_later_run() bytes further on, in a later one. A run has so many bytes, and the next one begins `step` bytes behind its beginning. */
static inline i64 kn_later_run(i64 bytes, i64 step)
{
    return bytes < 1          ? 0
           : bytes < KN_AHEAD ? (KN_AHEAD + bytes - 1) / bytes * step - KN_AHEAD
                              : step - bytes;
}
#define KN_FETCH_RUN(p, from, left, later)                                                         \
    for (u64 i = 0; i < KN_FOLD_LANES * sizeof *(p); i += 64)                                      \
    __builtin_prefetch((const char *)((p) + (from)) + KN_AHEAD + i +                               \
                       (((from) - (left)) * (i64)sizeof *(p) < -KN_AHEAD ? 0 : (later)))

/* The same of elements that are two apart, if they are. */
#define KN_FETCH_APART(p, step)                                                                    \
    for (u64 i = 0; (step) == 2 && i < 2 * KN_FOLD_LANES * sizeof *(p); i += 64)                   \
    __builtin_prefetch((const char *)(p) + KN_AHEAD + i)

/* One of so many shares of what a later row has, or writes, at these lanes, while a sweep computes: into the second-level cache. */
#define KN_FETCH_SHARE(at, from, type, shares, write)                                              \
    for (u64 i = 0; i < KN_FOLD_LANES * sizeof(type) / (shares); i += 64)                          \
    __builtin_prefetch((at) + (u64)(from) * sizeof(type) / (shares) + i, write, 2)

/* Bytes to there, of rows that follow each other by so many elements. */
#define KN_NEXT(c, type, step)                                                                     \
    ((c)->parts > 1 || (step) * (i64)sizeof(type) < KN_AHEAD ? KN_AHEAD                            \
                                                             : (step) * (i64)sizeof(type))

/* The same of rows that are written; of those too long to stay in a cache beside what they are made of this row itself. */
#define KN_NEXT_TO(c, type, step) ((step) * (i64)sizeof(type) > 65536 ? 0 : KN_NEXT(c, type, step))

/* Moves n elements that lie side by side. Few are moved by vectors, for a call takes as long; the last one may take some
 * again. Short rows are written so often that the memory behind them is fetched, too. */
#define KN_COPY(to, from, n)                                                                       \
    do {                                                                                           \
        enum { WIDE = sizeof *(to) < 32 ? 32 / sizeof *(to) : 1 };                                 \
        if ((n) >= WIDE && (n) <= 8 * WIDE) {                                                      \
            i64 at = 0;                                                                            \
            for (i64 i = 0; i < (n); i += 2 * WIDE)                                                \
                __builtin_prefetch((to) + i + 32 * WIDE, 1);                                       \
            do {                                                                                   \
                KN_LANES KN_FEW for (int j = 0; j < WIDE; j++)(to)[at + j] = (from)[at + j];       \
            } while ((at += WIDE) <= (n)-WIDE);                                                    \
            if (at == (n))                                                                         \
                break;                                                                             \
            at = (n)-WIDE;                                                                         \
            KN_LANES KN_FEW for (int j = 0; j < WIDE; j++)(to)[at + j] = (from)[at + j];           \
        } else {                                                                                   \
            __builtin_memcpy(to, from, (u64)(n) * sizeof *(to));                                   \
        }                                                                                          \
    } while (0)

/* Stores of 16 and 32 bytes that go past the caches. */
typedef long long kn_half_line __attribute__((vector_size(32), may_alias));
typedef long long kn_quarter_line __attribute__((vector_size(16), may_alias));
#if defined(__clang__)
#define KN_PAST_32(to, v) __builtin_nontemporal_store(v, to)
#define KN_PAST_16(to, v) __builtin_nontemporal_store(v, to)
#elif defined(__AVX__)
#if defined(                                                                                       \
    KN_LINE_VECTORS) /* what loops write is vectors of so many bytes, so it is there to be read as one */
typedef long long kn_line __attribute__((vector_size(64), may_alias));
#define KN_PAST_64(to, v) __builtin_ia32_movntdq512(to, v)
#endif
#define KN_PAST_32(to, v) __builtin_ia32_movntdq256(to, v)
#define KN_PAST_16(to, v) __builtin_ia32_movntdq(to, v)
#elif defined(__SSE2__)
#define KN_PAST_16(to, v) __builtin_ia32_movntdq(to, v)
#else
#define KN_PAST_16(to, v) (*(to) = (v))
#endif
/* What was stored past the caches is seen by other threads after this. */
#if defined(__SSE2__)
#define KN_END_STREAMS __builtin_ia32_sfence()
#else
#define KN_END_STREAMS (void)0
#endif
#define KN_LINE_ALIGNED __attribute__((aligned(64)))

/* Whole pieces of kn_put_past(), from byte k on. */
#define KN_PUT_PIECES(piece, PAST)                                                                 \
    KN_UNROLL                                                                                      \
    for (; k + sizeof(piece) <= bytes; k += sizeof(piece)) {                                       \
        piece v;                                                                                   \
        __builtin_memcpy(&v, f + k, sizeof v);                                                     \
        if (past)                                                                                  \
            PAST((piece *)(void *)(t + k), v);                                                     \
        else                                                                                       \
            __builtin_memcpy(t + k, &v, sizeof v);                                                 \
    }

/* Lines of memory that are stored whole, past the caches. A line of which a part is stored through the cache is written back
 * for each part that is not. */
typedef struct kn_lines {
    u64 first, bytes;
} kn_lines;

/* Those of a row of so many bytes that neither its first vector touches, nor its last one, unless these are aligned. */
static inline kn_lines kn_lines_of(const void *to, u64 row, u64 vector)
{
    const u64 t = (u64)to, end = t + row;
    const u64 first = t % 64 ? (t + vector + 63) & ~(u64)63 : t;
    const u64 last = end % 64 ? (end - vector) & ~(u64)63 : end;
    const kn_lines lines = {first, last > first ? last - first : 0};
    return lines;
}

/* Stores a vector of lanes, past the caches if it is aligned and of one of those lines. */
static inline __attribute__((always_inline)) void kn_put_past(void *to, const void *from, u64 bytes,
                                                              kn_lines lines)
{
    char *const t = (char *)to;
    const char *const f = (const char *)from;
    const int past =
        (((u64)t & ((bytes < 64 ? bytes : 64) - 1)) == 0) & ((u64)t - lines.first < lines.bytes);
    u64 k = 0;
#ifdef KN_PAST_64
    KN_PUT_PIECES(kn_line, KN_PAST_64)
#endif
#ifdef KN_PAST_32
    KN_PUT_PIECES(kn_half_line, KN_PAST_32)
#endif
    KN_PUT_PIECES(kn_quarter_line, KN_PAST_16)
}

/* Is a run of n elements at p, and at each multiple of step from there, long enough, or of whole lines, to go past the caches? */
#define KN_SUITS_STREAM(p, n, step)                                                                \
    ((u64)(n) * sizeof *(p) >= KN_LONG_RUN ||                                                      \
     ((u64)(n) * sizeof *(p) >= KN_LINES_RUN &&                                                    \
      (((u64)(p) | (u64)(n) * sizeof *(p) | (u64)(step) * sizeof *(p)) & 63) == 0))
enum { KN_LONG_RUN = 4096, KN_LINES_RUN = 256 }; /* bytes */

/* Of a loop by so many lanes: where its second vector begins, aligned. It takes some lanes of the first again. */
#define KN_SECOND(to, lanes)                                                                       \
    ((u64)(to) % sizeof *(to) == 0                                                                 \
         ? (lanes) - (i64)((u64)(to) / sizeof *(to)) % KN_MIN(lanes, 64 / (i64)sizeof *(to))       \
         : (lanes))

/* Copies bytes, whole lines past the caches. */
static inline void kn_stream(void *to, const void *from, u64 bytes)
{
    char *t = (char *)to;
    const char *f = (const char *)from;
    u64 edge = -(u64)t & 63;
    edge = edge < bytes ? edge : bytes;
    __builtin_memcpy(t, f, edge);
    const kn_lines all = {(u64)t + edge, bytes - edge};
    for (t += edge, f += edge, bytes -= edge; bytes >= 64; t += 64, f += 64, bytes -= 64)
        kn_put_past(t, f, 64, all);
    __builtin_memcpy(t, f, bytes);
}

/* to[i] = from[(at + i) * step] of n elements. */
#define KN_MOVE(to, from, at, step, n)                                                             \
    do {                                                                                           \
        if ((n) > 0 && (step) == 1)                                                                \
            __builtin_memcpy(to, (from) + (at), (u64)(n) * sizeof *(to));                          \
        else                                                                                       \
            for (i64 i = 0; i < (n); i++)                                                          \
                (to)[i] = (from)[((at) + i) * (step)];                                             \
    } while (0)

/* ---- quotients ---- */

/* What many lanes are divided by: 1 / s as the sum of two f64, of one sign and good to 2^-104 of it. */
typedef struct kn_divisor {
    f64 most, rest;
} kn_divisor;

/* The rest has the sign of the reciprocal, and is not 0 unless that is: zeros and infinities become what a division makes of
 * them. A divisor of 0 or infinity, or NaN, has a NaN for its remainder. */
static inline kn_divisor kn_divisor_of(f64 s)
{
    kn_divisor by = {1 / s, 0};
    f64 left = KN_FMA64(-by.most, s, 1.0);
    if (left < 0) { /* it was rounded up */
        by.most = kn_of_bits64(kn_bits_of64(by.most) - 1);
        left = KN_FMA64(-by.most, s, 1.0);
    }
    by.rest = by.most * (left > 0 ? left : 0x1p-110);
    return by;
}

/* The quotient of two f32 as a sum of products, which is rounded to f64 once and so never crosses the middle of two f32:
 * that is as far as 2^-49 of it, or is met exactly. */
static inline f32 kn_quotient32(f32 x, kn_divisor by)
{
    return (f32)KN_FMA64((f64)x, by.most, (f64)x * by.rest);
}

#if KN_FUSED && defined(__AVX512F__) /* of vectors of 32 bytes divisions are as quick */
#define KN_QUOTIENT(x, s, by) kn_quotient32(x, by)
#define KN_DIVISOR(s) kn_divisor_of(s)
#else
#define KN_QUOTIENT(x, s, by) ((x) / (s))
#define KN_DIVISOR(s)                                                                              \
    {                                                                                              \
        0, 0                                                                                       \
    }
#endif

/* The same of f64: the quotient q is good to 0.5001 units of its last place, what is left of x is exact, and its share, by
 * 1 / s as it is rounded, decides (Markstein). That takes operands whose products are normal numbers, and no -0; and a
 * divisor whose mantissa is not next to 2. Loops note whether there was another one, and do it again by divisions. */
typedef struct kn_divisor64 {
    f64 most, rest, near;
    i64 odd; /* not 0: it is no such divisor */
} kn_divisor64;

static inline kn_divisor64 kn_divisor64_of(f64 s)
{
    const u64 mantissa = kn_bits_of64(s) & 0xfffffffffffff;
    const f64 a = __builtin_fabs(s), near = 1 / s, most = near * (1 - 0x1p-52);
    const truth good = a >= 0x1p-400 && a <= 0x1p400 && mantissa < 0xfffffffffe000;
    const kn_divisor64 by = {most, most * KN_FMA64(-most, s, 1.0), near, good ? 0 : -1};
    return by;
}

static inline f64 kn_quotient64(f64 x, f64 s, kn_divisor64 by)
{
    const f64 q = KN_FMA64(x, by.most, x * by.rest);
    return KN_FMA64(KN_FMA64(-q, s, x), by.near, q);
}

static inline i64 kn_is_odd(f64 x)
{
    const f64 a = __builtin_fabs(x);
    const truth usual = ((a >= 0x1p-400) & (a <= 0x1p400)) | (kn_bits_of64(x) == 0);
    return usual ? 0 : -1;
}

/* Elements of two vectors, by a vector of their places or by those. */
#if defined(__clang__)
#define KN_SHUFFLE(a, b, mask, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define KN_SHUFFLE(a, b, mask, ...) __builtin_shuffle(a, b, mask)
#endif
/* What a sum becomes by a total that begins as 0: -0 is 0. */
static inline void kn_add_zero(i64 n, f32 *to, const f32 *from)
{
    KN_LANES
    for (i64 l = 0; l < n; l++)
        to[l] = from[l] + 0.0f;
}

/* Sums of short rows, of KN_HALF_LANES lanes each; of four rows at a time, in memory for as many. Lanes are added in halves, those of four rows side by side. */
enum {
    KN_TOGETHER = 8,
    KN_TOGETHER_LANES = 2048, /* of rows that later sweeps read again */
    KN_HALF_LANES = KN_FOLD_LANES / 2
};
typedef f32 kn_quarter __attribute__((vector_size(16)));
static inline kn_quarter kn_quarter_of(const f32 *lane)
{
    kn_quarter part[2];
    __builtin_memcpy(part, lane, sizeof part);
    return part[0] + part[1];
}
static inline void kn_sum_rows(f32 *to, const f32 *lane, i64 rows)
{
    typedef u32 places __attribute__((vector_size(16)));
    const places first = {0, 1, 4, 5}, second = {2, 3, 6, 7};
    const places even = {0, 2, 4, 6}, odd = {1, 3, 5, 7};
    (void)first, (void)second, (void)even, (void)odd;
    for (i64 r = 0; r < rows; r += 4, lane += 4 * KN_HALF_LANES) {
        const kn_quarter a = kn_quarter_of(lane), b = kn_quarter_of(lane + KN_HALF_LANES);
        const kn_quarter c = kn_quarter_of(lane + 2 * KN_HALF_LANES),
                         d = kn_quarter_of(lane + 3 * KN_HALF_LANES);
        const kn_quarter ab =
            KN_SHUFFLE(a, b, first, 0, 1, 4, 5) + KN_SHUFFLE(a, b, second, 2, 3, 6, 7);
        const kn_quarter cd =
            KN_SHUFFLE(c, d, first, 0, 1, 4, 5) + KN_SHUFFLE(c, d, second, 2, 3, 6, 7);
        const kn_quarter sums =
            KN_SHUFFLE(ab, cd, even, 0, 2, 4, 6) + KN_SHUFFLE(ab, cd, odd, 1, 3, 5, 7);
        __builtin_memcpy(to + r, &sums, sizeof sums);
    }
}

/* Tiles of contiguous columns: to[r * tile + l] = from[l * across + r], by squares of 16-byte vectors. Each step interleaves
 * vectors that are half a square apart; after log2 of the side columns are rows. Of a square there may be fewer rows, or columns. */
#define KN_LOW_2 0, 2
#define KN_HIGH_2 1, 3
#define KN_LOW_4 0, 4, 1, 5
#define KN_HIGH_4 2, 6, 3, 7
#define KN_LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define KN_HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define KN_INTERLEAVE(SIDE, v, t, LOW, HIGH)                                                       \
    KN_UNROLL                                                                                      \
    for (int step = 1; step < SIDE; step *= 2) {                                                   \
        KN_UNROLL                                                                                  \
        for (int k = 0; k < SIDE / 2; k++) {                                                       \
            t[2 * k] = KN_SHUFFLE(v[k], v[k + SIDE / 2], low, LOW);                                \
            t[2 * k + 1] = KN_SHUFFLE(v[k], v[k + SIDE / 2], high, HIGH);                          \
        }                                                                                          \
        KN_UNROLL                                                                                  \
        for (int k = 0; k < SIDE; k++)                                                             \
            v[k] = t[k];                                                                           \
    }
/* A square, of which only so many columns are read and rows stored; and two, beside or below each other. */
#define KN_SQUARE(U, SIDE)                                                                         \
    typedef U kn_line_##U __attribute__((vector_size(16)));                                        \
    static inline void kn_square_##U(U *to, i64 tile, const U *from, i64 across, int rows,         \
                                     int columns)                                                  \
    {                                                                                              \
        const kn_line_##U low = {KN_LOW_##SIDE}, high = {KN_HIGH_##SIDE};                          \
        kn_line_##U v[SIDE], t[SIDE];                                                              \
        (void)low, (void)high;                                                                     \
        KN_UNROLL                                                                                  \
        for (int k = 0; k < SIDE; k++)                                                             \
            if (k < columns)                                                                       \
                __builtin_memcpy(&v[k], from + k * across, 16);                                    \
            else                                                                                   \
                v[k] = v[0];                                                                       \
        KN_INTERLEAVE(SIDE, v, t, KN_LOW_##SIDE, KN_HIGH_##SIDE)                                   \
        KN_UNROLL                                                                                  \
        for (int k = 0; k < SIDE; k++)                                                             \
            if (k < rows)                                                                          \
                __builtin_memcpy(to + k * tile, &v[k], 16);                                        \
    }
#if defined(__AVX2__) && (defined(__clang__) || __GNUC__ >= 12)
#define KN_PAIR_2 0, 1, 2, 3
#define KN_PAIR_LOW_2 0, 4, 2, 6
#define KN_PAIR_HIGH_2 1, 5, 3, 7
#define KN_UPPER_2 2, 3
#define KN_PAIR_4 0, 1, 2, 3, 4, 5, 6, 7
#define KN_PAIR_LOW_4 0, 8, 1, 9, 4, 12, 5, 13
#define KN_PAIR_HIGH_4 2, 10, 3, 11, 6, 14, 7, 15
#define KN_UPPER_4 4, 5, 6, 7
#define KN_PAIR_8 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define KN_PAIR_LOW_8 0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27
#define KN_PAIR_HIGH_8 4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31
#define KN_UPPER_8 8, 9, 10, 11, 12, 13, 14, 15
#define KN_SQUARES(U, SIDE)                                                                        \
    typedef U kn_pair_##U __attribute__((vector_size(32)));                                        \
    static inline void kn_squares_across_##U(U *to, i64 tile, const U *from, i64 across, int rows) \
    {                                                                                              \
        const kn_pair_##U low = {KN_PAIR_LOW_##SIDE}, high = {KN_PAIR_HIGH_##SIDE};                \
        kn_pair_##U v[SIDE], t[SIDE];                                                              \
        (void)low, (void)high;                                                                     \
        KN_UNROLL                                                                                  \
        for (int k = 0; k < SIDE; k++) {                                                           \
            kn_line_##U a, b;                                                                      \
            __builtin_memcpy(&a, from + k * across, 16);                                           \
            __builtin_memcpy(&b, from + (SIDE + k) * across, 16);                                  \
            v[k] = __builtin_shufflevector(a, b, KN_PAIR_##SIDE);                                  \
        }                                                                                          \
        KN_INTERLEAVE(SIDE, v, t, KN_PAIR_LOW_##SIDE, KN_PAIR_HIGH_##SIDE)                         \
        KN_UNROLL                                                                                  \
        for (int k = 0; k < SIDE; k++)                                                             \
            if (k < rows)                                                                          \
                __builtin_memcpy(to + k * tile, &v[k], 32);                                        \
    }                                                                                              \
    static inline void kn_squares_down_##U(U *to, i64 tile, const U *from, i64 across,             \
                                           int columns)                                            \
    {                                                                                              \
        const kn_pair_##U low = {KN_PAIR_LOW_##SIDE}, high = {KN_PAIR_HIGH_##SIDE};                \
        kn_pair_##U v[SIDE], t[SIDE];                                                              \
        (void)low, (void)high;                                                                     \
        KN_UNROLL                                                                                  \
        for (int k = 0; k < SIDE; k++)                                                             \
            if (k < columns)                                                                       \
                __builtin_memcpy(&v[k], from + k * across, 32);                                    \
            else                                                                                   \
                v[k] = v[0];                                                                       \
        KN_INTERLEAVE(SIDE, v, t, KN_PAIR_LOW_##SIDE, KN_PAIR_HIGH_##SIDE)                         \
        KN_UNROLL                                                                                  \
        for (int k = 0; k < SIDE; k++)                                                             \
            __builtin_memcpy(to + k * tile, &v[k], 16);                                            \
        KN_UNROLL                                                                                  \
        for (int k = 0; k < SIDE; k++) {                                                           \
            const kn_line_##U upper = __builtin_shufflevector(v[k], v[k], KN_UPPER_##SIDE);        \
            __builtin_memcpy(to + (SIDE + k) * tile, &upper, 16);                                  \
        }                                                                                          \
    }
#else
#define KN_SQUARES(U, SIDE)                                                                        \
    static inline void kn_squares_across_##U(U *to, i64 tile, const U *from, i64 across, int rows) \
    {                                                                                              \
        kn_square_##U(to, tile, from, across, rows, SIDE);                                         \
        kn_square_##U(to + SIDE, tile, from + SIDE * across, across, rows, SIDE);                  \
    }                                                                                              \
    static inline void kn_squares_down_##U(U *to, i64 tile, const U *from, i64 across,             \
                                           int columns)                                            \
    {                                                                                              \
        kn_square_##U(to, tile, from, across, SIDE, columns);                                      \
        kn_square_##U(to + SIDE * tile, tile, from + SIDE, across, SIDE, columns);                 \
    }
#endif
/* The last squares of a line begin in those before. Of few rows what is read beyond them is of the columns behind; of few
 * columns, which lie without gaps, what is written beyond them the rows behind overwrite. */
#define KN_TURN(U, SIDE)                                                                           \
    KN_SQUARE(U, SIDE)                                                                             \
    KN_SQUARES(U, SIDE)                                                                            \
    static void kn_turn_wide_##U(U *to, i64 tile, const U *from, i64 across, i64 rows,             \
                                 i64 columns)                                                      \
    {                                                                                              \
        for (i64 l = 0; l < columns; l += 2 * SIDE) {                                              \
            l = l < columns - 2 * SIDE ? l : columns - 2 * SIDE;                                   \
            const U *f = from + l * across;                                                        \
            U *t = to + l;                                                                         \
            i64 left = rows;                                                                       \
            for (; left >= SIDE; left -= SIDE, f += SIDE, t += SIDE * tile)                        \
                kn_squares_across_##U(t, tile, f, across, SIDE);                                   \
            if (left > 0)                                                                          \
                kn_squares_across_##U(t - (SIDE - left) * tile, tile, f - (SIDE - left), across,   \
                                      SIDE);                                                       \
        }                                                                                          \
    }                                                                                              \
    static void kn_turn_high_##U(U *to, i64 tile, const U *from, i64 across, i64 rows,             \
                                 i64 columns)                                                      \
    {                                                                                              \
        for (i64 r = 0; r < rows; r += 2 * SIDE) {                                                 \
            r = r < rows - 2 * SIDE ? r : rows - 2 * SIDE;                                         \
            const U *f = from + r;                                                                 \
            U *t = to + r * tile;                                                                  \
            i64 left = columns;                                                                    \
            for (; left >= SIDE; left -= SIDE, f += SIDE * across, t += SIDE)                      \
                kn_squares_down_##U(t, tile, f, across, SIDE);                                     \
            if (left > 0)                                                                          \
                kn_squares_down_##U(t - (SIDE - left), tile, f - (SIDE - left) * across, across,   \
                                    SIDE);                                                         \
        }                                                                                          \
    }                                                                                              \
    static void kn_turn_small_##U(U *to, i64 tile, const U *from, i64 across, i64 rows,            \
                                  i64 columns)                                                     \
    {                                                                                              \
        for (i64 r = 0; r < rows; r += SIDE)                                                       \
            for (i64 l = 0; l < columns; l += SIDE) {                                              \
                r = r < rows - SIDE ? r : rows - SIDE;                                             \
                l = l < columns - SIDE ? l : columns - SIDE;                                       \
                kn_square_##U(to + r * tile + l, tile, from + l * across + r, across, SIDE, SIDE); \
            }                                                                                      \
    }                                                                                              \
    static i64 kn_turn_few_rows_##U(U *to, i64 tile, const U *from, i64 across, i64 rows,          \
                                    i64 columns)                                                   \
    {                                                                                              \
        i64 l = 0;                                                                                 \
        for (; (l + 2 * SIDE - 1) * across + SIDE <= (columns - 1) * across + rows; l += 2 * SIDE) \
            kn_squares_across_##U(to + l, tile, from + l * across, across, (int)rows);             \
        return l;                                                                                  \
    }                                                                                              \
    static i64 kn_turn_few_columns_##U(U *to, const U *from, i64 across, i64 rows, i64 columns)    \
    {                                                                                              \
        i64 r = 0;                                                                                 \
        for (; (r + 2 * SIDE - 1) * columns + SIDE <= rows * columns; r += 2 * SIDE)               \
            kn_squares_down_##U(to + r * columns, columns, from + r, across, (int)columns);        \
        return r;                                                                                  \
    }                                                                                              \
    static __attribute__((noinline, unused)) void kn_turn_##U(                                     \
        void *to, i64 tile, const void *from, i64 across, i64 rows, i64 columns)                   \
    {                                                                                              \
        U *const t = (U *)to;                                                                      \
        const U *const f = (const U *)from;                                                        \
        i64 r = 0, l = 0;                                                                          \
        if (rows >= SIDE && columns >= SIDE) {                                                     \
            (rows < 2 * SIDE && columns < 2 * SIDE ? kn_turn_small_##U                             \
             : columns >= rows                     ? kn_turn_wide_##U                              \
                               : kn_turn_high_##U)(t, tile, f, across, rows, columns);             \
            return;                                                                                \
        }                                                                                          \
        if (columns < SIDE && tile == columns)                                                     \
            r = kn_turn_few_columns_##U(t, f, across, rows, columns);                              \
        else if (rows < SIDE && across >= rows)                                                    \
            l = kn_turn_few_rows_##U(t, tile, f, across, rows, columns);                           \
        for (; r < rows; r++)                                                                      \
            for (i64 m = l; m < columns; m++)                                                      \
                __builtin_memcpy(t + r * tile + m, f + m * across + r, sizeof(U));                 \
    }
KN_TURN(u16, 8)
KN_TURN(u32, 4)
KN_TURN(u64, 2)
#undef KN_TURN

/* Of a tile: the lines of n lanes of so many rows, for reading (0) or writing (1). */
#define KN_FETCH_ROWS(p, down, rows, n, write)                                                     \
    for (i64 r = 0; r < (rows); r++)                                                               \
        for (u64 i = (u64)((p) + r * (down)) & ~(u64)63, end = (u64)((p) + r * (down) + (n));      \
             i < end; i += 64)                                                                     \
    __builtin_prefetch((const void *)i, write)

/* Does a vector of columns that begins at `from` begin a line of memory, of those behind p? */
#define KN_NEW_LINE(p, from) ((u64)(from) * sizeof *(p) % 64 < KN_COLUMN_LANES * sizeof *(p))

/* Of columns: n lanes of so many members. */
#define KN_FETCH_MEMBERS(p, step, count, n)                                                        \
    for (i64 k = 0; k < (count); k++)                                                              \
        for (i64 i = 0; i < (n) * (i64)sizeof *(p); i += 64)                                       \
    __builtin_prefetch((const char *)((p) + k * (step)) + i)

/* Members of n lanes in a KiB of f32, about: what comes so much later is fetched where they are taken one by one. */
#define KN_MEMBERS_AHEAD(n) (1 + 255 / (n))
enum { KN_PIECE = 256 }; /* lanes of one member between which memory is fetched */

/* Are loads that a condition guards vectors, of elements of 4 and 8 bytes? */
#if defined(__AVX2__) || defined(__ARM_FEATURE_SVE)
#define KN_MASKS 1
#else
#define KN_MASKS 0
#endif

#define KN_SOME(n) ((n) + ((n) == 0)) /* what may be divided by: an axis may be empty */
#define KN_MIN(a, b) ((a) < (b) ? (a) : (b))

/* What is known of a call when its text is compiled begins the text: what other calls would take is left out then. */
#ifndef KN_STREAMS
#define KN_STREAMS(c) ((c)->stream)
#endif
#ifndef KN_RUNS
#define KN_RUNS(c) ((c)->run != 0)
#endif
/* Are n lanes, of a block or a run, whole vectors of so many? */
#ifndef KN_IS_WHOLE
#define KN_IS_WHOLE(n, lanes) ((n) % (lanes) == 0)
#endif

/* The lane of an index that lane 0 has `first` of; if it is none of a function's, which has less than KN_MOST_LANES, one below or
 * above all of them. */
static inline i32 kn_lane_at(i64 index, i64 first)
{
    const u64 lane = (u64)index - (u64)first;
    return index < first ? -1 : (i32)KN_MIN(lane, (u64)KN_MOST_LANES);
}

/* Where blocks end: lanes left of a run, and of a step of it. */
typedef struct kn_blocks {
    i64 run, step;
} kn_blocks;

static inline kn_blocks kn_start(const kn_c_call *c, i64 lane)
{
    kn_blocks b = {0, 0};
    if (KN_RUNS(c)) {
        i64 within = lane % c->run;
        b.run = c->run - within;
        b.step = c->run_step - within % c->run_step;
    }
    return b;
}

/* The end of the block that begins at lane i. */
static inline i64 kn_block_end(const kn_c_call *c, kn_blocks *b, i64 i, i64 end)
{
    if (!KN_RUNS(c))
        return KN_MIN(end, i + c->most);
    i64 n = KN_MIN(end - i, KN_MIN(b->run, b->step));
    b->run -= n;
    b->step = b->run == 0 || b->step == n ? c->run_step : b->step - n;
    b->run = b->run == 0 ? c->run : b->run;
    return i + n;
}

/* An index that a GATHER is given: itself, or 0 after a report where it is out of bounds. */
static inline i64 kn_checked(const kn_c_call *c, int value, i64 at, i64 size)
{
    if (at >= 0 && at < size)
        return at;
    if (!__atomic_exchange_n(&c->bad->found, 1, __ATOMIC_RELAXED)) {
        c->bad->value = value;
        c->bad->index = at;
        c->bad->size = size;
    }
    return 0;
}

/* The bits of -infinity: an integer below those of all absolute values. */
#define KN_LEAST_f32 (-0x800000)
#define KN_LEAST_f64 (-0x10000000000000)

/* The extreme of floats that a loop has found, of which it knows that of all but NaN; whether there was a NaN; and of
 * which sign the extreme is if it is a zero. Of absolute values it knows the greatest bits, which a NaN has. */
#define KN_EXTREME(T, U, S)                                                                        \
    static inline U kn_bits_of_##T(T x)                                                            \
    {                                                                                              \
        U u;                                                                                       \
        __builtin_memcpy(&u, &x, sizeof u);                                                        \
        return u;                                                                                  \
    }                                                                                              \
    static inline T kn_extreme_##T(T best, U odd, U bits)                                          \
    {                                                                                              \
        const T zero = bits >> (8 * sizeof(U) - 1) ? -(T)0 : (T)0;                                 \
        return odd ? (T)__builtin_nanf("") : best == 0 ? zero : best;                              \
    }                                                                                              \
    static inline T kn_magnitude_##T(S bits)                                                       \
    {                                                                                              \
        T x;                                                                                       \
        __builtin_memcpy(&x, &bits, sizeof x);                                                     \
        return x != x ? (T)__builtin_nanf("") : x;                                                 \
    }
KN_EXTREME(f32, u32, i32)
KN_EXTREME(f64, u64, i64)
#undef KN_EXTREME

/* Minimum and maximum of f32 whose bits have these ends: the greatest and the least, and the greatest as unsigned. If some have no
 * sign, the greatest is the maximum; else the least is. If some have one, the greatest as unsigned is the minimum; else the
 * least is. So zeros are told apart, and NaN is the greatest of its sign. */
static inline f32 kn_end_of(u32 bits, i32 greatest, u32 far)
{
    const truth nan = (greatest > 0x7f800000) | (far > 0xff800000u);
    f32 x;
    bits = nan ? 0x7fc00000 : bits;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

static inline f32 kn_minimum_of(i32 greatest, i32 least, u32 far)
{
    return kn_end_of((i32)far < 0 ? far : (u32)least, greatest, far);
}

static inline f32 kn_maximum_of(i32 greatest, i32 least, u32 far)
{
    return kn_end_of((u32)(greatest < 0 ? least : greatest), greatest, far);
}

/* The least bits of numbers whose minimum and maximum are known, as far as those matter; of no numbers infinities are. */
static inline i32 kn_least_of(f32 minimum, f32 maximum)
{
    const i32 low = (i32)kn_bits_of_f32(minimum), high = (i32)kn_bits_of_f32(maximum);
    return minimum > maximum ? 0x7fffffff : low < high ? low : high;
}

/* Maximum and minimum with a constant c, which is neither NaN nor -0: processors choose the second operand where one is NaN, and
 * of two zeros. So the minimum with +0 is right, and the maximum takes "+ 0", which makes +0 of -0. */
#define KN_AT_LEAST(a, c) ((c) > (a) ? (c) : (a))
#define KN_AT_MOST(a, c) ((c) < (a) ? (c) : (a))

/* Minimum and maximum: a NaN on either side wins (unequal to itself on the left, compares false on the right), and -0
 * is less than 0. */
#define KN_PICK(T, U, name, less, merge)                                                           \
    static inline T name##_##T(T a, T b)                                                           \
    {                                                                                              \
        U ua, ub, u;                                                                               \
        __builtin_memcpy(&ua, &a, sizeof ua);                                                      \
        __builtin_memcpy(&ub, &b, sizeof ub);                                                      \
        u = ((a less b) | (a != a)) ? ua : ub;                                                     \
        u = a == b ? ua merge ub : u; /* the same bits, unless they are zeros */                   \
        __builtin_memcpy(&a, &u, sizeof a);                                                        \
        return a;                                                                                  \
    }
KN_PICK(f32, u32, kn_minimum, <, |)
KN_PICK(f64, u64, kn_minimum, <, |)
KN_PICK(f32, u32, kn_maximum, >, &)
KN_PICK(f64, u64, kn_maximum, >, &)
#undef KN_PICK
