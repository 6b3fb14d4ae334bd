/* Functions that both generated C and the loops of the CPU device compute in line. They have no branches, so that loops
 * are vectorised, and give the same result at every place of a block. Part of each generated text, so it includes nothing.
 * Errors are below 2 ULP, of exp without fused multiply-adds below 2.2. */
#ifndef KN_CODEGEN_C_FUNCTIONS_H
#define KN_CODEGEN_C_FUNCTIONS_H

/* a * b + c, rounded once where all loops of the processor can: x86-64 is asked for both at once (select.c). */
#if (defined(__AVX2__) && defined(__FMA__)) || defined(__ARM_FEATURE_FMA)
#define KN_FUSED 1
#define KN_FMA(a, b, c) __builtin_fmaf(a, b, c)
#define KN_FMA64(a, b, c) __builtin_fma(a, b, c)
#else
#define KN_FUSED 0
#define KN_FMA(a, b, c) ((a) * (b) + (c))
#define KN_FMA64(a, b, c) ((a) * (b) + (c))
#endif

static inline unsigned kn_bits_of(float x)
{
    unsigned u;
    __builtin_memcpy(&u, &x, sizeof u);
    return u;
}

static inline float kn_of_bits(unsigned u)
{
    float x;
    __builtin_memcpy(&x, &u, sizeof x);
    return x;
}

static inline __UINT64_TYPE__ kn_bits_of64(double x)
{
    __UINT64_TYPE__ u;
    __builtin_memcpy(&u, &x, sizeof u);
    return u;
}

static inline double kn_of_bits64(__UINT64_TYPE__ u)
{
    double x;
    __builtin_memcpy(&x, &u, sizeof x);
    return x;
}

/* Repeats what an array begins with, a power of 2 times in all. */
static inline void kn_repeat(void *a, __INT64_TYPE__ bytes, __INT64_TYPE__ times)
{
    for (__INT64_TYPE__ k = 1; k < times; k *= 2)
        __builtin_memcpy((char *)a + k * bytes, a, (__SIZE_TYPE__)(k * bytes));
}

/* ---- signs ---- */

/* Is it less than 0, or -0? A NaN is not: its sign is what a compiler makes of it, which folds 0 / 0 to either and takes
 * x * x for positive. So bits are read, as an integer that is above those of -inf for a NaN. */
static inline int kn_negativef(float x) { return (int)kn_bits_of(x) <= -0x800000; }

static inline int kn_negative(double x)
{
    return (__INT64_TYPE__)kn_bits_of64(x) <= -0x10000000000000;
}

static inline float kn_copysignf(float a, float b)
{
    return __builtin_copysignf(a, kn_negativef(b) ? -1.0f : 1.0f);
}

static inline double kn_copysign(double a, double b)
{
    return __builtin_copysign(a, kn_negative(b) ? -1.0 : 1.0);
}

/* ---- 16-bit floats ---- */

static inline float kn_F32_from_BF16(unsigned short h) { return kn_of_bits((unsigned)h << 16); }

static inline unsigned short kn_BF16_from_F32(float x)
{
    unsigned u = kn_bits_of(x), nearest = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (unsigned short)(x != x ? 0x7fc0 : nearest);
}

/* Shifts the exponent into place; the multiplication corrects its bias and normalises subnormal numbers. */
static inline float kn_F32_from_F16(unsigned short h)
{
    unsigned m = h & 0x7fffu;
    unsigned u = m >= 0x7c00 ? m << 13 | 0x7f800000 : kn_bits_of(kn_of_bits(m << 13) * 0x1p112f);
    return kn_of_bits(u | (unsigned)(h & 0x8000u) << 16);
}

/* Below the normal numbers, adding 1/2 rounds at the last bit. */
static inline unsigned short kn_F16_from_F32(float x)
{
    unsigned u = kn_bits_of(x), m = u & 0x7fffffff;
    unsigned small = kn_bits_of(kn_of_bits(m) + 0.5f) - 0x3f000000;
    unsigned normal = (m - 0x38000000 + 0xfff + (m >> 13 & 1)) >> 13;
    unsigned h = m < 0x38800000 ? small : normal;
    h = m >= 0x477ff000 ? 0x7c00 : h;
    h = m > 0x7f800000 ? 0x7e00 : h;
    return (unsigned short)(h | (u >> 16 & 0x8000));
}

/* ---- functions ---- */

/* exp(x) = p * 2^n for p = exp(r), |r| <= ln(2) / 2. Adding 1.5 * 2^23 rounds x / ln(2) to n, in the low bits, where 152 is
 * added to it. Gives `scale`, a power of 2, times p, and the bits. */
static inline float kn_exp_part(float x, float scale, unsigned *bits)
{
    const float t = KN_FMA(x, 0x1.715476p+0f, 0x1.8p23f + 152), n = t - (0x1.8p23f + 152);
    const float r = KN_FMA(n, 2.1219444e-4f, KN_FMA(n, -0.693359375f, x));
    float p = scale * 0x1.0ebc8cp-7f;
    p = KN_FMA(p, r, scale * 0x1.573b7ep-5f);
    p = KN_FMA(p, r, scale * 0x1.555d42p-3f);
    p = KN_FMA(p, r, scale * 0x1.fffdc2p-2f);
    p = KN_FMA(p, r, scale * 0x1.ffffeep-1f);
    *bits = kn_bits_of(t);
    return KN_FMA(p, r, scale);
}

/* exp(x) = p * s for -105.7 < x < 70, as p has the factor 2^-25: s is normal wherever exp(x) is not 0, and 0 for n = -152. So no
 * product underflows there, at which processors are slow. */
static inline float kn_exp_parts(float x, float *s)
{
    unsigned bits;
    const float p = kn_exp_part(x, 0x1p-25f, &bits);
    *s = kn_of_bits(bits << 23);
    return p;
}

/* `limit > x ? limit : x` is one instruction, and gives x if x is NaN. Of a constant limit gcc makes a comparison and a
 * selection; so limits are variables in generated functions, of values that it cannot see. */
#if defined(__x86_64__) && !defined(__clang__)
#define KN_HIDE(x) __asm__("" : "+x"(x))
#else
#define KN_HIDE(x) (void)(x)
#endif

/* exp(-105.4) is 0, and exp(89) infinite. */
static const float kn_least_exp_f32 __attribute__((unused)) = -105.4f;
static const float kn_most_exp_f32 __attribute__((unused)) = 89.0f;
static const double kn_least_exp_f64 __attribute__((unused)) = -747.0;
static const double kn_most_exp_f64 __attribute__((unused)) = 710.0;
#define KN_HIDE_LIMITS_f32                                                                         \
    float kn_least_exp_f32 = -105.4f, kn_most_exp_f32 = 89.0f;                                     \
    KN_HIDE(kn_least_exp_f32);                                                                     \
    KN_HIDE(kn_most_exp_f32)
#define KN_HIDE_LIMITS_f64                                                                         \
    double kn_least_exp_f64 = -747.0, kn_most_exp_f64 = 710.0;                                     \
    KN_HIDE(kn_least_exp_f64);                                                                     \
    KN_HIDE(kn_most_exp_f64)

/* The power of 2 as two factors, the same or 1 : 2, as p has the factor 2^102: the first is 0 from n = -151 on, where the result
 * rounds to 0. It is rounded once, by the last product. */
static inline float kn_exp_within_f32(float x, float least, float most)
{
    unsigned bits;
    const float z = most < x ? most : x, p = kn_exp_part(least > z ? least : z, 0x1p102f, &bits);
    const unsigned half = bits >> 1;
    return p * kn_of_bits(half << 23) * kn_of_bits((bits - half) << 23);
}
/* The same bits of what is not above 0, or is NaN. */
static inline float kn_exp_from_f32(float x, float least)
{
    float s;
    const float p = kn_exp_parts(least > x ? least : x, &s);
    return p * s;
}
#define kn_exp_f32(x) kn_exp_within_f32(x, kn_least_exp_f32, kn_most_exp_f32)
#define kn_exp_below_f32(x) kn_exp_from_f32(x, kn_least_exp_f32)

/* 1 - 2 / (exp(2x) + 1), which cancels near 0: there a polynomial. */
static inline float kn_tanh_f32(float x)
{
    const float a = __builtin_fabsf(x), z = a > 10.0f ? 20.0f : a + a, w = x * x;
    float s;
    const float e = kn_exp_parts(z, &s);
    const float far = 1 - 2 / KN_FMA(e, s, 1.0f);
    float p = -5.70498872745e-3f;
    p = KN_FMA(p, w, 2.06390887954e-2f);
    p = KN_FMA(p, w, -5.37397155531e-2f);
    p = KN_FMA(p, w, 1.33314422036e-1f);
    p = KN_FMA(p, w, -3.33332819422e-1f);
    const float near = KN_FMA(p * w, a, a);
    return __builtin_copysignf(a < 0.625f ? near : far, x);
}

/* exp(x) = p * s * s of f64 for p = 2^968 exp(r), |r| <= ln(2), and s = 2^(n - 484): an even power of 2 takes one factor where
 * others take two that differ. n = -539 is the first at which it is 0. */
static inline double kn_exp_from_f64(double x, double least)
{
    const double z = least > x ? least : x;
    const double t = KN_FMA64(z, 0x1.71547652b82fep-1, 0x1.8p52 + (1023 - 484)),
                 n = t - (0x1.8p52 + (1023 - 484));
    const double r = KN_FMA64(n, -0x1.3de6af278ece6p-41, KN_FMA64(n, -0x1.62e42fefa3000p+0, z));
    double p = 0x1.5e6dde557b037p+935;
    p = KN_FMA64(p, r, 0x1.217a60af756e5p+939);
    p = KN_FMA64(p, r, 0x1.ae71313b05b37p+942);
    p = KN_FMA64(p, r, 0x1.27e1caa765009p+946);
    p = KN_FMA64(p, r, 0x1.71de2a033af99p+949);
    p = KN_FMA64(p, r, 0x1.a01a0580abd19p+952);
    p = KN_FMA64(p, r, 0x1.a01a01b23401cp+955);
    p = KN_FMA64(p, r, 0x1.6c16c169c1343p+958);
    p = KN_FMA64(p, r, 0x1.1111111108277p+961);
    p = KN_FMA64(p, r, 0x1.5555555556940p+963);
    p = KN_FMA64(p, r, 0x1.55555555555b6p+965);
    p = KN_FMA64(p, r, 0x1.ffffffffffff3p+966);
    p = KN_FMA64(p, r, 0x1p+968);
    p = KN_FMA64(p, r, 0x1p+968);
    const double s = kn_of_bits64(kn_bits_of64(t) << 52);
    return p * s * s;
}

static inline double kn_exp_within_f64(double x, double least, double most)
{
    return kn_exp_from_f64(most < x ? most : x, least);
}
#define kn_exp_f64(x) kn_exp_within_f64(x, kn_least_exp_f64, kn_most_exp_f64)
#define kn_exp_below_f64(x) kn_exp_from_f64(x, kn_least_exp_f64)

/* log(1 + f) for 1 + f from 2/3 to 4/3, and `k` times ln(2). */
static inline float kn_log_part(float f, float k)
{
    float p = 0x1.1f452cp-3f;
    p = KN_FMA(p, f, -0x1.3b2baep-3f);
    p = KN_FMA(p, f, 0x1.1ea1dap-3f);
    p = KN_FMA(p, f, -0x1.50325ap-3f);
    p = KN_FMA(p, f, 0x1.99d42ep-3f);
    p = KN_FMA(p, f, -0x1.001482p-2f);
    p = KN_FMA(p, f, 0x1.5554fap-2f);
    p = KN_FMA(p, f, -0x1.ffffd6p-2f);
    return KN_FMA(k, 0x1.62e43p-1f, KN_FMA(p * f, f, f));
}

/* x is 2^k times a number from 2/3 to 4/3: k, as bits above those of the number. */
static inline int kn_octave(float x) { return (int)((kn_bits_of(x) - 0x3f2aaaab) & 0xff800000); }

static inline float kn_log_f32(float x)
{
    const float small = x < 0x1p-126f ? 0x1p23f : 1.0f, below = x < 0x1p-126f ? -23.0f : 0.0f;
    const float z = x * small;
    const int k = kn_octave(z);
    float y =
        kn_log_part(kn_of_bits(kn_bits_of(z) - (unsigned)k) - 1, KN_FMA((float)k, 0x1p-23f, below));
    y = x > 0 ? y : x == 0 ? -__builtin_inff() : __builtin_nanf("");
    return x < __builtin_inff() ? y : x;
}

/* By 1 + x for the power of 2 alone: f = x / 2^k + (1 / 2^k - 1), both exact where it matters. Of x > -1. */
static inline float kn_log1p_part(float x)
{
    const int k = kn_octave(1 + x);
    const float part = KN_FMA(kn_of_bits(0x40800000 - (unsigned)k), 0.25f, -1.0f);
    return kn_log_part(kn_of_bits(kn_bits_of(x) - (unsigned)k) + part, (float)k * 0x1p-23f);
}

/* It has the sign of x. */
static inline float kn_log1p_f32(float x)
{
    float y = kn_of_bits(kn_bits_of(kn_log1p_part(x)) | (kn_bits_of(x) & 0x80000000));
    y = x > -1 ? y : x == -1 ? -__builtin_inff() : __builtin_nanf("");
    return x < __builtin_inff() ? y : x;
}

/* The same of what has no sign, or is NaN. */
static inline float kn_log1p_unsigned_f32(float x)
{
    const float y = kn_log1p_part(x);
    return x < __builtin_inff() ? y : x;
}

/* ---- variances ---- */

/* What deviations are taken from, given a member: what is infinite would leave none. */
static inline double kn_shift(double member) { return member - member == 0 ? member : 0; }

/* Members of a group that have been seen, and others: how many others, their share of all, and that of the product. */
typedef struct kn_weights {
    double others, part, both;
} kn_weights;

static inline kn_weights kn_weights_of(double seen, double others)
{
    const double part = others / (seen + others);
    const kn_weights s = {others, part, seen * part};
    return s;
}

/* The mean of the members that have been seen, the sum of their squared deviations from it, and their own, merged with those
 * of others whose deviations from `shift` have these sums (Chan; codegen/plan/form/moments.c has the source). The sum is
 * not the mean's product, which an infinity makes NaN. */
static inline void kn_merge_moments(double *mean, double *m2, double *total, kn_weights s,
                                    const double of[3])
{
    const double shift = of[0], sum = of[1], squares = of[2];
    const double off = sum / s.others, rest = squares - off * sum;
    const double d = shift + off - *mean;
    *mean += d * s.part;
    *m2 += (rest < 0 ? 0 : rest) + d * d * s.both;
    *total += s.others * shift + sum;
}

/* The same of one group: `acc` is its mean, sum of squared deviations, sum, and count. */
static inline void kn_add_moments(double acc[4], double others, double shift, double sum,
                                  double squares)
{
    const double of[3] = {shift, sum, squares};
    if (others == 0)
        return;
    kn_merge_moments(&acc[0], &acc[1], &acc[2], kn_weights_of(acc[3], others), of);
    acc[3] += others;
}

#endif
