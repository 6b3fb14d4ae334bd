/* Conversions of many elements of generated C, behind helpers.h: 16-bit floats, bytes and integers, f32 as f64, by vectors that
 * compilers do not find, with the same results as one by one. */

/* So many bytes as integers, a vector of these at a time: a vector that is read where two halves of it were written waits until
 * they are in the cache. gcc converts elements of a vector that is no register one by one. */
typedef short kn_eight_i16 __attribute__((vector_size(16)));
typedef char kn_sixteen_bytes __attribute__((vector_size(16)));
#if defined(__AVX512F__) && !defined(__clang__)
#define KN_BYTES 16
typedef int kn_sixteen_i32 __attribute__((vector_size(64)));
#define KN_WIDER_i8(few)                                                                           \
    __builtin_ia32_pmovsxbd512_mask((kn_sixteen_bytes)(few), (kn_sixteen_i32){0},                  \
                                    (unsigned short)-1)
#define KN_WIDER_u8(few)                                                                           \
    __builtin_ia32_pmovzxbd512_mask((kn_sixteen_bytes)(few), (kn_sixteen_i32){0},                  \
                                    (unsigned short)-1)
#elif defined(__AVX2__) && !defined(__clang__)
#define KN_BYTES 8
typedef i64 kn_two_i64 __attribute__((vector_size(16)));
#define KN_WIDER_i8(few) __builtin_ia32_pmovsxbd256((kn_sixteen_bytes)(kn_two_i64){(i64)(few), 0})
#define KN_WIDER_u8(few) __builtin_ia32_pmovzxbd256((kn_sixteen_bytes)(kn_two_i64){(i64)(few), 0})
#else
#define KN_BYTES 8
#define KN_WIDER_i8(few) __builtin_convertvector(few, kn_few_i32)
#define KN_WIDER_u8(few) __builtin_convertvector(few, kn_few_u32)
#endif
#define KN_FROM_BYTES(T, B)                                                                        \
    typedef B kn_few_##B __attribute__((vector_size(KN_BYTES)));                                   \
    typedef T kn_few_##T __attribute__((vector_size(4 * KN_BYTES)));                               \
    static inline void kn_##T##_from_bytes(T *to, const void *from, int lanes)                     \
    {                                                                                              \
        for (int j = 0; j < lanes; j += KN_BYTES) {                                                \
            kn_few_##B few;                                                                        \
            kn_few_##T wide;                                                                       \
            __builtin_memcpy(&few, (const char *)from + j, sizeof few);                            \
            wide = (kn_few_##T)KN_WIDER_##B(few);                                                  \
            __builtin_memcpy(to + j, &wide, sizeof wide);                                          \
        }                                                                                          \
    }
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
typedef long long kn_four_i64 __attribute__((vector_size(32)));

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

/* f32 rounded to bf16, each as the upper half of 4 bytes; the bits of a NaN are others than one by one has. AVX512_BF16 has an
 * instruction for it that takes subnormal numbers for 0. */
static inline void kn_bf16_above(kn_halves_u32 *to, const f32 *from)
{
    kn_halves_f32 x;
    __builtin_memcpy(&x, from, sizeof x);
    const kn_halves_u32 u = (kn_halves_u32)x;
#if defined(__AVX512F__) && !defined(__clang__)
    const kn_halves_i32 nearest = (kn_halves_i32)(u + 0x7fff + (u >> 16 & 1)),
                        nan = (kn_halves_i32){0} - 1;
    *to = (kn_halves_u32)__builtin_ia32_blendmd_512_mask(
        nearest, nan, (unsigned short)__builtin_ia32_cmpps512_mask(x, x, 4, (unsigned short)-1, 4));
#else
    *to = (u + 0x7fff + (u >> 16 & 1)) | (kn_halves_u32)(x != x);
#endif
}

/* The upper halves of so many integers, side by side. With AVX-512 that is one instruction, of which gcc makes three; with AVX2
 * it is less for two vectors at once. */
#if defined(__AVX512BW__) && !defined(__clang__)
typedef u16 kn_both_halves __attribute__((vector_size(4 * KN_HALVES)));
static inline void kn_narrow_bf16(void *to, const f32 *from, int lanes)
{
    const kn_both_halves upper = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                  1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    for (int j = 0; j < lanes; j += KN_HALVES) {
        kn_halves_u32 above;
        kn_bf16_above(&above, from + j);
        const kn_both_halves h = __builtin_shuffle((kn_both_halves)above, upper);
        __builtin_memcpy((u16 *)to + j, &h, sizeof h / 2);
    }
}
#elif defined(__AVX2__) && !defined(__AVX512F__) && !defined(__clang__)
static inline void kn_narrow_bf16(void *to, const f32 *from, int lanes)
{
    for (int j = 0; j < lanes; j += 16) {
        const int more = lanes - j > 8;
        kn_halves_u32 a, b;
        kn_bf16_above(&a, from + j);
        kn_bf16_above(&b, from + (more ? j + 8 : j));
        const kn_four_i64 h =
            __builtin_ia32_permdi256((kn_four_i64)__builtin_ia32_packusdw256(
                                         (kn_halves_i32)(a >> 16), (kn_halves_i32)(b >> 16)),
                                     0xd8);
        __builtin_memcpy((u16 *)to + j, &h, more ? 32 : 16);
    }
}
#else
static inline void kn_narrow_bf16(void *to, const f32 *from, int lanes)
{
    for (int j = 0; j < lanes; j += KN_HALVES) {
        kn_halves_u32 above;
        kn_bf16_above(&above, from + j);
        const kn_halves h = __builtin_convertvector(above >> 16, kn_halves);
        __builtin_memcpy((u16 *)to + j, &h, sizeof h);
    }
}
#endif

/* to[0..left) are the last `left` elements, fewer than KN_FOLD_LANES, of a row of at least KN_FOLD_LANES elements that ends at `end`;
 * zeros follow. Nothing past the end is read. Each vector is stored as a whole: a load that spans several earlier stores waits
 * until these have reached the cache, and the rest of the row waits with it. */
#if defined(__AVX512BW__) && defined(__AVX512VL__) && !defined(__clang__)
static inline void kn_last_1(void *to, const void *end, int left)
{
    const kn_sixteen_bytes none = {0};
    const kn_sixteen_bytes v =
        __builtin_ia32_loaddquqi128_mask((const kn_sixteen_bytes *)((const char *)end - left), none,
                                         (unsigned short)((1u << left) - 1));
    __builtin_memcpy(to, &v, sizeof v);
}

static inline void kn_last_2(void *to, const void *end, int left)
{
    const kn_halves_i16 none = {0};
    const kn_halves_i16 v = __builtin_ia32_loaddquhi256_mask(
        (const kn_halves_i16 *)((const u16 *)end - left), none, (unsigned short)((1u << left) - 1));
    __builtin_memcpy(to, &v, sizeof v);
}
#elif defined(__SSSE3__) && !defined(__clang__)
/* The 16 bytes at `from`, moved down by some of them, all at most. */
static inline void kn_put_down(void *to, const void *from, int by)
{
    static const char places[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    kn_sixteen_bytes v, at;
    __builtin_memcpy(&v, from, sizeof v);
    __builtin_memcpy(&at, places + by, sizeof at);
    v = __builtin_ia32_pshufb128(v, at);
    __builtin_memcpy(to, &v, sizeof v);
}

static inline void kn_last_1(void *to, const void *end, int left)
{
    kn_put_down(to, (const char *)end - 16, 16 - left);
}

static inline void kn_last_2(void *to, const void *end, int left)
{
    const u16 *const last = (const u16 *)end;
    kn_put_down(to, last - (left > 8 ? left : 8), left > 8 ? 0 : 16 - 2 * left);
    kn_put_down((u16 *)to + 8, last - 8, left > 8 ? 32 - 2 * left : 16);
}
#else
static inline void kn_last_1(void *to, const void *end, int left)
{
    char tail[2 * KN_FOLD_LANES] = {0};
    __builtin_memcpy(tail, (const char *)end - KN_FOLD_LANES, KN_FOLD_LANES);
    __builtin_memcpy(to, tail + KN_FOLD_LANES - left, KN_FOLD_LANES);
}

static inline void kn_last_2(void *to, const void *end, int left)
{
    u16 tail[2 * KN_FOLD_LANES] = {0};
    __builtin_memcpy(tail, (const u16 *)end - KN_FOLD_LANES, KN_FOLD_LANES * sizeof *tail);
    __builtin_memcpy(to, tail + KN_FOLD_LANES - left, KN_FOLD_LANES * sizeof *tail);
}
#endif

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
typedef i32 kn_eight_i32 __attribute__((vector_size(32)));
typedef u32 kn_eight_u32 __attribute__((vector_size(32)));
#define KN_SECOND_BYTES(T, V, WIDEN)                                                               \
    for (; step == 2 && j + 16 <= lanes; j += 16) {                                                \
        V a, b;                                                                                    \
        __builtin_memcpy(&a, (const char *)from + 2 * j, sizeof a);                                \
        __builtin_memcpy(&b, (const char *)from + 2 * j + 15, sizeof b);                           \
        const kn_eight_##T low = (kn_eight_##T)WIDEN((kn_eight_i16)(a << 8 >> 8));                 \
        const kn_eight_##T high = (kn_eight_##T)WIDEN((kn_eight_i16)(b >> 8));                     \
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
