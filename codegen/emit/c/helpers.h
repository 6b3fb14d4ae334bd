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

/* The same of elements that are two apart, if they are. */
#define KN_FETCH_APART(p, step)                                                                    \
    for (u64 i = 0; (step) == 2 && i < 2 * KN_FOLD_LANES * sizeof *(p); i += 64)                   \
    __builtin_prefetch((const char *)(p) + KN_AHEAD + i)

/* What the first sweep over the next row reads, while another sweep computes: so many bytes on, into the second-level cache. */
#define KN_FETCH_NEXT(p, bytes)                                                                    \
    for (u64 i = 0; i < KN_FOLD_LANES * sizeof *(p); i += 64)                                      \
    __builtin_prefetch((const char *)(p) + (bytes) + i, 0, 2)

/* Bytes to there, of rows that follow each other by so many elements. */
#define KN_NEXT(c, p, step)                                                                        \
    ((c)->parts > 1 || (step) * (i64)sizeof *(p) < KN_AHEAD ? KN_AHEAD : (step) * (i64)sizeof *(p))

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
            } while ((at += WIDE) + WIDE <= (n));                                                  \
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

/* Copies the last KN_FOLD_LANES elements before `end`, with as many zeros behind them: a vector load from
 * KN_FOLD_LANES - left on has the last `left` lanes, and reads nothing past `end`. */
#define KN_TAIL(to, end)                                                                           \
    do {                                                                                           \
        __builtin_memcpy(to, (end)-KN_FOLD_LANES, KN_FOLD_LANES * sizeof *(to));                   \
        __builtin_memset((to) + KN_FOLD_LANES, 0, KN_FOLD_LANES * sizeof *(to));                   \
    } while (0)

/* to[i] = from[(at + i) * step] of n elements. */
#define KN_MOVE(to, from, at, step, n)                                                             \
    do {                                                                                           \
        if ((n) > 0 && (step) == 1)                                                                \
            __builtin_memcpy(to, (from) + (at), (u64)(n) * sizeof *(to));                          \
        else                                                                                       \
            for (i64 i = 0; i < (n); i++)                                                          \
                (to)[i] = (from)[((at) + i) * (step)];                                             \
    } while (0)

/* So many bytes as integers, by vectors of 8. gcc converts elements of a vector that is no register one by one. */
typedef i64 kn_two_i64 __attribute__((vector_size(16)));
typedef short kn_eight_i16 __attribute__((vector_size(16)));
typedef char kn_sixteen_bytes __attribute__((vector_size(16)));
#if defined(__AVX2__) && !defined(__clang__)
#define KN_EIGHT_i8(few) __builtin_ia32_pmovsxbd256((kn_sixteen_bytes)(kn_two_i64){(few), 0})
#define KN_EIGHT_u8(few) __builtin_ia32_pmovzxbd256((kn_sixteen_bytes)(kn_two_i64){(few), 0})
#endif
#define KN_FROM_BYTES(T, B)                                                                        \
    typedef B kn_few_##B __attribute__((vector_size(8)));                                          \
    typedef T kn_few_##T __attribute__((vector_size(32)));                                         \
    static inline void kn_##T##_from_bytes(T *to, const void *from, int lanes)                     \
    {                                                                                              \
        for (int j = 0; j < lanes; j += 8) {                                                       \
            i64 few;                                                                               \
            kn_few_##T wide;                                                                       \
            __builtin_memcpy(&few, (const char *)from + j, sizeof few);                            \
            wide = (kn_few_##T)KN_EIGHT_##B(few);                                                  \
            __builtin_memcpy(to + j, &wide, sizeof wide);                                          \
        }                                                                                          \
    }
#if !defined(KN_EIGHT_i8)
#define KN_EIGHT_i8(few) __builtin_convertvector((kn_few_i8)(few), kn_few_i32)
#define KN_EIGHT_u8(few) __builtin_convertvector((kn_few_u8)(few), kn_few_u32)
#endif
KN_FROM_BYTES(i32, i8)
KN_FROM_BYTES(u32, u8)
#undef KN_FROM_BYTES

/* So many 16-bit floats as f32, and back: with the same results as one by one (functions.h), but for bits of a NaN.
 * Loops over so many elements of 2 bytes would be vectors of 32 bytes, half a register for f32 with AVX-512. */
#if defined(__AVX512F__)
#define KN_HALVES 16
#else
#define KN_HALVES 8
#endif
/* Lanes that a loop over columns takes where it converts: one vector of f32 */
#define KN_COLUMN_LANES KN_HALVES
/* and those of one vector whose narrowest elements have so many bytes */
#define KN_WHOLE_LANES(bytes) (4 * KN_HALVES / (bytes))
typedef u16 kn_halves __attribute__((vector_size(2 * KN_HALVES)));
typedef short kn_halves_i16 __attribute__((vector_size(2 * KN_HALVES)));
typedef int kn_halves_i32 __attribute__((vector_size(4 * KN_HALVES)));
typedef u32 kn_halves_u32 __attribute__((vector_size(4 * KN_HALVES)));
typedef f32 kn_halves_f32 __attribute__((vector_size(4 * KN_HALVES)));

#if defined(__AVX512F__) && !defined(__clang__) /* gcc makes two halves of the other */
#define KN_U32S_FROM_U16S(h)                                                                       \
    ((kn_halves_u32)__builtin_ia32_pmovzxwd512_mask((kn_halves_i16)(h), (kn_halves_i32)none,       \
                                                    (unsigned short)-1))
#elif defined(__AVX2__) && !defined(__clang__)
#define KN_U32S_FROM_U16S(h) ((kn_halves_u32)__builtin_ia32_pmovzxwd256((kn_eight_i16)(h)))
#else
#define KN_U32S_FROM_U16S(h) __builtin_convertvector(h, kn_halves_u32)
#endif

static inline void kn_widen_bf16(f32 *to, const void *from, int lanes)
{
    const kn_halves_u32 none = {0};
    (void)none;
    for (int j = 0; j < lanes; j += KN_HALVES) {
        kn_halves h;
        __builtin_memcpy(&h, (const u16 *)from + j, sizeof h);
        const kn_halves_u32 u = KN_U32S_FROM_U16S(h) << 16;
        __builtin_memcpy(to + j, &u, sizeof u);
    }
}

/* The upper halves of so many integers. With AVX-512 that is one instruction; gcc takes three. */
#if defined(__AVX512BW__) && !defined(__clang__)
typedef u16 kn_both_halves __attribute__((vector_size(4 * KN_HALVES)));
static inline void kn_upper_halves(void *to, kn_halves_u32 u)
{
    const kn_both_halves upper = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                  1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    const kn_both_halves h = __builtin_shuffle((kn_both_halves)u, upper);
    __builtin_memcpy(to, &h, sizeof h / 2);
}
#else
static inline void kn_upper_halves(void *to, kn_halves_u32 u)
{
    const kn_halves h = __builtin_convertvector(u >> 16, kn_halves);
    __builtin_memcpy(to, &h, sizeof h);
}
#endif

static inline void kn_narrow_bf16(void *to, const f32 *from, int lanes)
{
    for (int j = 0; j < lanes; j += KN_HALVES) {
        kn_halves_f32 x;
        __builtin_memcpy(&x, from + j, sizeof x);
        const kn_halves_u32 u = (kn_halves_u32)x, nan = (kn_halves_u32)(x != x);
        const kn_halves_u32 nearest = u + 0x7fff + (u >> 16 & 1);
        kn_upper_halves((u16 *)to + j, (nearest & ~nan) | (nan & 0x7fc00000));
    }
}

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

/* Are f32 that a loop reads and sums read again behind it, as f64? Of a vector of 64 bytes in a register half is moved first,
 * and the rest spread, by a unit that also adds; what is read from memory comes as it is needed. */
#if defined(__AVX512F__) && !defined(__clang__)
#define KN_TERMS 1
typedef f32 kn_eight_f32 __attribute__((vector_size(32)));
typedef f64 kn_eight_f64 __attribute__((vector_size(64)));

/* So many f32 as f64. The compiler is not told that it has read them before. */
static inline void kn_f64s_from_f32s(f64 *to, const f32 *from, int lanes)
{
    const kn_eight_f64 none = {0};
    __asm__("" : "+r"(from));
    KN_UNROLL
    for (int j = 0; j < lanes; j += 8) {
        kn_eight_f32 x;
        kn_eight_f64 wide;
        __builtin_memcpy(&x, from + j, sizeof x);
        wide = __builtin_ia32_cvtps2pd512_mask(x, none, (unsigned char)-1, 4);
        __builtin_memcpy(to + j, &wide, sizeof wide);
    }
}
#else
#define KN_TERMS 0
#endif

#if defined(__AVX512F__)
#define KN_F32S_FROM_F16S(h)                                                                       \
    __builtin_ia32_vcvtph2ps512_mask((kn_halves_i16)(h), none, (unsigned short)-1, 4)
#define KN_F16S_FROM_F32S(x) __builtin_ia32_vcvtps2ph512_mask(x, 0, none, (unsigned short)-1)
#elif defined(__F16C__)
#define KN_F32S_FROM_F16S(h) __builtin_ia32_vcvtph2ps256((kn_halves_i16)(h))
#define KN_F16S_FROM_F32S(x) __builtin_ia32_vcvtps2ph256(x, 0)
#endif

static inline void kn_widen_f16(f32 *to, const void *from, int lanes)
{
#if defined(KN_F32S_FROM_F16S)
    const kn_halves_f32 none = {0};
    (void)none;
    for (int j = 0; j < lanes; j += KN_HALVES) {
        kn_halves h;
        __builtin_memcpy(&h, (const u16 *)from + j, sizeof h);
        const kn_halves_f32 x = KN_F32S_FROM_F16S(h);
        __builtin_memcpy(to + j, &x, sizeof x);
    }
#else
    KN_LANES KN_FEW for (int j = 0; j < lanes; j++) to[j] = kn_F32_from_F16(((const u16 *)from)[j]);
#endif
}

static inline void kn_narrow_f16(void *to, const f32 *from, int lanes)
{
#if defined(KN_F16S_FROM_F32S)
    const kn_halves_i16 none = {0};
    (void)none;
    for (int j = 0; j < lanes; j += KN_HALVES) {
        kn_halves_f32 x;
        __builtin_memcpy(&x, from + j, sizeof x);
        const kn_halves_i16 h = KN_F16S_FROM_F32S(x);
        __builtin_memcpy((u16 *)to + j, &h, sizeof h);
    }
#else
    KN_LANES KN_FEW for (int j = 0; j < lanes; j++)((u16 *)to)[j] = kn_F16_from_F32(from[j]);
#endif
}

/* 16-bit floats that are `step` apart. Of every second one, a vector of elements of 4 bytes that begins one before has each as
 * its upper half; `behind`: there is one before, which is what lies between these. */
#define KN_WIDEN_BY(H)                                                                             \
    static inline void kn_widen_##H##_by(f32 *to, const void *from, i64 step, truth behind,        \
                                         int lanes)                                                \
    {                                                                                              \
        u16 h[KN_FOLD_LANES];                                                                      \
        if (step == 2 && behind && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {                    \
            for (int j = 0; j < lanes; j += KN_HALVES) {                                           \
                kn_halves_u32 u;                                                                   \
                __builtin_memcpy(&u, (const u16 *)from + 2 * j - 1, sizeof u);                     \
                const kn_halves upper = __builtin_convertvector(u >> 16, kn_halves);               \
                __builtin_memcpy(h + j, &upper, sizeof upper);                                     \
            }                                                                                      \
        } else {                                                                                   \
            for (int j = 0; j < lanes; j++)                                                        \
                h[j] = ((const u16 *)from)[j * step];                                              \
        }                                                                                          \
        kn_widen_##H(to, h, lanes);                                                                \
    }
KN_WIDEN_BY(f16)
KN_WIDEN_BY(bf16)
#undef KN_WIDEN_BY

/* Bytes that are `step` apart, as integers. Of every second one, 16 are in two vectors: one that begins with the first, and one that
 * ends with the last. */
#if defined(__AVX2__) && !defined(__clang__)
typedef u16 kn_eight_u16 __attribute__((vector_size(16)));
#define KN_SECOND_BYTES(T, V, WIDEN)                                                               \
    for (; step == 2 && j + 16 <= lanes; j += 16) {                                                \
        V a, b;                                                                                    \
        __builtin_memcpy(&a, (const char *)from + 2 * j, sizeof a);                                \
        __builtin_memcpy(&b, (const char *)from + 2 * j + 15, sizeof b);                           \
        const kn_few_##T low = (kn_few_##T)WIDEN((kn_eight_i16)(a << 8 >> 8));                     \
        const kn_few_##T high = (kn_few_##T)WIDEN((kn_eight_i16)(b >> 8));                         \
        __builtin_memcpy(to + j, &low, sizeof low);                                                \
        __builtin_memcpy(to + j + 8, &high, sizeof high);                                          \
    }
#else
#define KN_SECOND_BYTES(T, V, WIDEN)
#endif
#define KN_FROM_BYTES_BY(T, B, V, WIDEN)                                                           \
    static inline void kn_##T##_from_bytes_by(T *to, const void *from, i64 step, int lanes)        \
    {                                                                                              \
        int j = 0;                                                                                 \
        KN_SECOND_BYTES(T, V, WIDEN)                                                               \
        for (; j < lanes; j++)                                                                     \
            to[j] = ((const B *)from)[j * step];                                                   \
    }
KN_FROM_BYTES_BY(i32, i8, kn_eight_i16, __builtin_ia32_pmovsxwd256)
KN_FROM_BYTES_BY(u32, u8, kn_eight_u16, __builtin_ia32_pmovzxwd256)
#undef KN_FROM_BYTES_BY

/* Elements of two vectors, by a vector of their places or by those. */
#if defined(__clang__)
#define KN_SHUFFLE(a, b, mask, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define KN_SHUFFLE(a, b, mask, ...) __builtin_shuffle(a, b, mask)
#endif
/* The same of elements of 4 bytes. */
#if KN_HALVES == 16
#define KN_SECONDS 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31
#else
#define KN_SECONDS 0, 2, 4, 6, 9, 11, 13, 15
#endif
#define KN_SECONDS_OF(T)                                                                           \
    static inline void kn_seconds_##T(T *to, const T *from, int lanes)                             \
    {                                                                                              \
        const kn_halves_i32 mask = {KN_SECONDS};                                                   \
        (void)mask;                                                                                \
        for (int j = 0; j < lanes; j += KN_HALVES) {                                               \
            kn_halves_##T a, b;                                                                    \
            __builtin_memcpy(&a, from + 2 * j, sizeof a);                                          \
            __builtin_memcpy(&b, from + 2 * j + KN_HALVES - 1, sizeof b);                          \
            a = KN_SHUFFLE(a, b, mask, KN_SECONDS);                                                \
            __builtin_memcpy(to + j, &a, sizeof a);                                                \
        }                                                                                          \
    }
KN_SECONDS_OF(f32)
KN_SECONDS_OF(i32)
KN_SECONDS_OF(u32)
#undef KN_SECONDS_OF

/* Tiles of contiguous columns: to[r * tile + l] = from[l * across + r], by squares of 16-byte vectors. Each step interleaves
 * vectors that are half a square apart; after log2 of the side columns are rows. */
#define KN_LOW_2 0, 2
#define KN_HIGH_2 1, 3
#define KN_LOW_4 0, 4, 1, 5
#define KN_HIGH_4 2, 6, 3, 7
#define KN_LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define KN_HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define KN_TURN(U, SIDE)                                                                           \
    typedef U kn_line_##U __attribute__((vector_size(16)));                                        \
    static inline void kn_turn_##U(void *to, i64 tile, const void *from, i64 across, i64 rows,     \
                                   i64 columns)                                                    \
    {                                                                                              \
        const kn_line_##U low = {KN_LOW_##SIDE}, high = {KN_HIGH_##SIDE};                          \
        i64 l = 0;                                                                                 \
        (void)low, (void)high;                                                                     \
        for (; l + SIDE <= columns; l += SIDE) {                                                   \
            i64 r = 0;                                                                             \
            for (; r + SIDE <= rows; r += SIDE) {                                                  \
                kn_line_##U v[SIDE], t[SIDE];                                                      \
                KN_UNROLL                                                                          \
                for (int k = 0; k < SIDE; k++)                                                     \
                    __builtin_memcpy(&v[k], (const U *)from + (l + k) * across + r, 16);           \
                KN_UNROLL                                                                          \
                for (int step = 1; step < SIDE; step *= 2) {                                       \
                    KN_UNROLL                                                                      \
                    for (int k = 0; k < SIDE / 2; k++) {                                           \
                        t[2 * k] = KN_SHUFFLE(v[k], v[k + SIDE / 2], low, KN_LOW_##SIDE);          \
                        t[2 * k + 1] = KN_SHUFFLE(v[k], v[k + SIDE / 2], high, KN_HIGH_##SIDE);    \
                    }                                                                              \
                    KN_UNROLL                                                                      \
                    for (int k = 0; k < SIDE; k++)                                                 \
                        v[k] = t[k];                                                               \
                }                                                                                  \
                KN_UNROLL                                                                          \
                for (int k = 0; k < SIDE; k++)                                                     \
                    __builtin_memcpy((U *)to + (r + k) * tile + l, &v[k], 16);                     \
            }                                                                                      \
            for (; r < rows; r++)                                                                  \
                for (int k = 0; k < SIDE; k++)                                                     \
                    __builtin_memcpy((U *)to + r * tile + l + k,                                   \
                                     (const U *)from + (l + k) * across + r, sizeof(U));           \
        }                                                                                          \
        for (; l < columns; l++)                                                                   \
            for (i64 r = 0; r < rows; r++)                                                         \
                __builtin_memcpy((U *)to + r * tile + l, (const U *)from + l * across + r,         \
                                 sizeof(U));                                                       \
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

/* What does not fit an i32 (or an i64, for types of 32 bits or more) becomes its smallest value, and narrower types get
 * the low bits of that. The limits are exact in f32 and f64. */
#define KN_TO_i32(a) ((a) >= -0x1p31f && (a) < 0x1p31f ? (i32)(a) : (i32)(-2147483647 - 1))
#define KN_TO_i64(a) ((a) >= -0x1p63f && (a) < 0x1p63f ? (i64)(a) : (i64)(-9223372036854775807 - 1))
#define KN_TO_i8(a) ((i8)(u32)KN_TO_i32(a))
#define KN_TO_u8(a) ((u8)(u32)KN_TO_i32(a))
#define KN_TO_i16(a) ((i16)(u32)KN_TO_i32(a))
#define KN_TO_u16(a) ((u16)(u32)KN_TO_i32(a))
#define KN_TO_u32(a) ((u32)(u64)KN_TO_i64(a))
#define KN_TO_u64(a)                                                                               \
    ((a) >= 0x1p63f ? (u64)KN_TO_i64((a)-0x1p63f) ^ (u64)1 << 63 : (u64)KN_TO_i64(a))

/* So many f32 as integers of 1 or 2 bytes, as KN_TO_i8() and the like have them one by one. x86 has an instruction for
 * KN_TO_i32(); what loops over lanes become has vectors that the bytes fill, and takes three for it. */
#if defined(__AVX512BW__) && defined(__AVX512VL__) && !defined(__clang__)
#define KN_NARROW_LOW(name, N, bytes, LOW)                                                         \
    static inline void name(void *to, const f32 *from, int lanes)                                  \
    {                                                                                              \
        const kn_halves_i32 none = {0};                                                            \
        for (int j = 0; j < lanes; j += 16) {                                                      \
            kn_halves_f32 x;                                                                       \
            __builtin_memcpy(&x, from + j, sizeof x);                                              \
            const kn_halves_i32 v =                                                                \
                __builtin_ia32_cvttps2dq512_mask(x, none, (unsigned short)-1, 4);                  \
            const N n = (N)LOW(v, (N){0}, (unsigned short)-1);                                     \
            __builtin_memcpy((char *)to + j * bytes, &n, sizeof n);                                \
        }                                                                                          \
    }
KN_NARROW_LOW(kn_narrow_8, kn_sixteen_bytes, 1, __builtin_ia32_pmovdb512_mask)
KN_NARROW_LOW(kn_narrow_16, kn_halves_i16, 2, __builtin_ia32_pmovdw512_mask)
#elif defined(__AVX2__) && !defined(__clang__)
typedef short kn_sixteen_i16 __attribute__((vector_size(32)));
typedef long long kn_four_i64 __attribute__((vector_size(32)));

/* The low bits, `mask`, of the integers of 8 f32, of which the second 8 are zeros if there are no more. */
static inline kn_four_i64 kn_low_bits(const f32 *from, int more, int mask)
{
    kn_halves_f32 x, y = {0};
    __builtin_memcpy(&x, from, sizeof x);
    if (more)
        __builtin_memcpy(&y, from + 8, sizeof y);
    const kn_halves_i32 a = __builtin_ia32_cvttps2dq256(x) & mask;
    const kn_halves_i32 b = __builtin_ia32_cvttps2dq256(y) & mask;
    return __builtin_ia32_permdi256((kn_four_i64)__builtin_ia32_packusdw256(a, b), 0xd8);
}

static inline void kn_narrow_8(void *to, const f32 *from, int lanes)
{
    for (int j = 0; j < lanes; j += 16) {
        const int more = lanes - j > 8;
        const kn_four_i64 h = kn_low_bits(from + j, more, 0xff);
        const kn_sixteen_bytes b = (kn_sixteen_bytes)__builtin_ia32_packuswb128(
            (kn_eight_i16)__builtin_ia32_extract128i256(h, 0),
            (kn_eight_i16)__builtin_ia32_extract128i256(h, 1));
        __builtin_memcpy((char *)to + j, &b, more ? 16 : 8);
    }
}

static inline void kn_narrow_16(void *to, const f32 *from, int lanes)
{
    for (int j = 0; j < lanes; j += 16) {
        const int more = lanes - j > 8;
        const kn_four_i64 h = kn_low_bits(from + j, more, 0xffff);
        __builtin_memcpy((u16 *)to + j, &h, more ? 32 : 16);
    }
}
#else
static inline void kn_narrow_8(void *to, const f32 *from, int lanes)
{
    KN_LANES KN_FEW for (int j = 0; j < lanes; j++)((u8 *)to)[j] = KN_TO_u8(from[j]);
}

static inline void kn_narrow_16(void *to, const f32 *from, int lanes)
{
    KN_LANES KN_FEW for (int j = 0; j < lanes; j++)((u16 *)to)[j] = KN_TO_u16(from[j]);
}
#endif
#define kn_narrow_i8 kn_narrow_8
#define kn_narrow_u8 kn_narrow_8
#define kn_narrow_i16 kn_narrow_16
#define kn_narrow_u16 kn_narrow_16
