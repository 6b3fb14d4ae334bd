#include "ir/dtype.h"

#include <float.h>
#include <math.h>
#include <string.h>

const kn_dtype_info kn_dtypes[KN_DTYPE_LIMIT] = {
#define DTYPE(name, code, text, kind, bytes, ctype, cuda, numpy)                                   \
    [KN_##name] = {text, KN_KIND_##kind, bytes, cuda, numpy},
#include "ir/dtype.def"
#undef DTYPE
};

#define DTYPE(name, code, text, kind, bytes, ctype, cuda, numpy)                                   \
    _Static_assert(sizeof(ctype) == (bytes) && (code) < KN_DTYPE_LIMIT, text);
#include "ir/dtype.def"
#undef DTYPE

bool kn_dtype_valid(int dtype)
{
    return dtype > 0 && dtype < KN_DTYPE_LIMIT && kn_dtypes[dtype].text;
}

kn_dtype kn_dtype_find(const char *text, size_t len)
{
    for (int t = 1; t < KN_DTYPE_LIMIT; t++)
        if (kn_dtypes[t].text &&
            ((strlen(kn_dtypes[t].text) == len && memcmp(kn_dtypes[t].text, text, len) == 0) ||
             (strlen(kn_dtypes[t].numpy) == len && memcmp(kn_dtypes[t].numpy, text, len) == 0)))
            return (kn_dtype)t;
    return KN_NO_DTYPE;
}

/* A signed and an unsigned integer: the signed type that holds both, f64 where there is none. */
static kn_dtype promote_signs(kn_dtype s, kn_dtype u)
{
    static const kn_dtype twice[] = {[1] = KN_I16, [2] = KN_I32, [4] = KN_I64, [8] = KN_F64};
    return kn_bytes(s) > kn_bytes(u) ? s : twice[kn_bytes(u)];
}

kn_dtype kn_promote(kn_dtype a, kn_dtype b)
{
    if (kn_dtypes[a].kind > kn_dtypes[b].kind) {
        kn_dtype t = a;
        a = b;
        b = t;
    }
    /* now kind(a) <= kind(b) */
    if (a == b || kn_dtypes[a].kind == KN_KIND_BOOL)
        return b;
    if (kn_is_complex(b))
        return kn_complex_of(kn_promote(kn_real_of(a), kn_real_of(b)));
    if (kn_is_half(a) && kn_is_half(b))
        return KN_F32;
    if (kn_dtypes[a].kind == kn_dtypes[b].kind)
        return kn_bytes(a) > kn_bytes(b) ? a : b;
    if (kn_is_int(b))
        return promote_signs(a, b);
    if (kn_is_int(a) && kn_bytes(a) > 1) /* one that holds the integer's range */
        a = kn_float_of(a);
    else if (kn_is_int(a))
        return b;
    return kn_bytes(a) > kn_bytes(b) ? a : b;
}

kn_dtype kn_real_of(kn_dtype t) { return t == KN_C64 ? KN_F32 : t == KN_C128 ? KN_F64 : t; }

kn_dtype kn_complex_of(kn_dtype t)
{
    return kn_real_of(kn_float_of(t)) == KN_F64 ? KN_C128 : KN_C64;
}

kn_dtype kn_float_of(kn_dtype t)
{
    if (kn_is_inexact(t))
        return t;
    return kn_bytes(t) == 1 ? KN_F16 : kn_bytes(t) == 2 ? KN_F32 : KN_F64;
}

kn_dtype kn_sum_of(kn_dtype t)
{
    return kn_is_inexact(t) ? t : kn_is_unsigned(t) ? KN_U64 : KN_I64;
}

/* ---- 16-bit floats: `digits` bits of mantissa, the smallest normal number 2^low ---- */

typedef struct half_format {
    int digits, low;
} half_format;

static half_format format_of(kn_dtype t)
{
    return t == KN_F16 ? (half_format){10, -14} : (half_format){7, -126};
}

double kn_round(kn_dtype t, double x)
{
    t = kn_real_of(t);
    if (t == KN_F64)
        return x;
    if (t != KN_F16)
        x = (double)(float)x;
    if (t == KN_F32 || x == 0 || !isfinite(x))
        return x;
    const half_format h = format_of(t);
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int e = (int)(bits >> 52 & 0x7ff) - 1023, least = e > h.low ? e : h.low;
    bits = (uint64_t)(least - h.digits + 1023) << 52; /* of the last place */
    double unit, r;
    memcpy(&unit, &bits, sizeof unit);
    r = rint(x / unit) * unit;
    return fabs(r) > kn_largest(t) ? copysign(INFINITY, x) : r;
}

static double half_value(kn_dtype t, uint16_t bits)
{
    half_format h = format_of(t);
    int top = (1 << (15 - h.digits)) - 1, e = bits >> h.digits & top;
    int m = bits & ((1 << h.digits) - 1);
    double v = e == top ? (m ? NAN : INFINITY)
               : e      ? ldexp(m + (1 << h.digits), e - 1 + h.low - h.digits)
                        : ldexp(m, h.low - h.digits);
    return bits >> 15 ? -v : v;
}

/* x is a value of the type already. */
static uint16_t half_bits(kn_dtype t, double x)
{
    half_format h = format_of(t);
    unsigned sign = signbit(x) ? 1u << 15 : 0, top = ((1u << (15 - h.digits)) - 1) << h.digits;
    if (isnan(x))
        return (uint16_t)(sign | top | 1u << (h.digits - 1));
    if (isinf(x))
        return (uint16_t)(sign | top);
    int e = x == 0 || ilogb(x) < h.low ? h.low : ilogb(x);
    unsigned m = (unsigned)ldexp(fabs(x), h.digits - e);
    return (uint16_t)(sign | (((unsigned)(e - h.low) << h.digits) + m));
}

double kn_unit_roundoff(kn_dtype t)
{
    t = kn_real_of(t);
    return t == KN_F16    ? 0x1p-11
           : t == KN_BF16 ? 0x1p-8
           : t == KN_F32  ? 0x1p-24
           : t == KN_F64  ? 0x1p-53
                          : 0;
}

double kn_least(kn_dtype t)
{
    t = kn_real_of(t);
    return t == KN_F16    ? 0x1p-24
           : t == KN_BF16 ? 0x1p-133
           : t == KN_F32  ? 0x1p-149
           : t == KN_F64  ? 0x1p-1074
                          : 0;
}

double kn_largest(kn_dtype t)
{
    t = kn_real_of(t);
    return t == KN_F16    ? 65504
           : t == KN_BF16 ? 0x1.fep127
           : t == KN_F32  ? (double)FLT_MAX
           : t == KN_F64  ? DBL_MAX
                          : 0;
}

/* ---- integers ---- */

int64_t kn_int_min(kn_dtype t)
{
    bool is_signed = kn_dtypes[t].kind == KN_KIND_INT;
    return is_signed ? (int64_t) - (1ull << (8 * kn_bytes(t) - 1)) : 0;
}

int64_t kn_int_max(kn_dtype t)
{
    if (t == KN_BOOL)
        return 1;
    return (int64_t)(UINT64_MAX >> (64 - 8 * kn_bytes(t) + !kn_is_unsigned(t)));
}

bool kn_int_fits(kn_scalar v, kn_dtype t)
{
    if (kn_is_float(v.dtype))
        return trunc(v.f) >= (double)kn_int_min(t) &&
               v.f < ldexp(1, 8 * kn_bytes(t) - !kn_is_unsigned(t));
    if (v.dtype == KN_U64)
        return t == KN_U64 || (v.i >= 0 && v.i <= kn_int_max(t));
    return v.i >= kn_int_min(t) && (t == KN_U64 || v.i <= kn_int_max(t));
}

int64_t kn_int_wrap(kn_dtype t, uint64_t i)
{
    if (t == KN_BOOL)
        return i != 0;
    int spare = 64 - 8 * kn_bytes(t);
    return kn_is_unsigned(t) ? (int64_t)(i << spare >> spare) : (int64_t)(i << spare) >> spare;
}

/* ---- elements in memory ---- */

kn_scalar kn_scalar_load(kn_dtype t, const void *p)
{
    kn_scalar v = {.dtype = t};
    switch (t) {
    case KN_BOOL: v.i = *(const uint8_t *)p != 0; break;
    case KN_I8: v.i = *(const int8_t *)p; break;
    case KN_I16: v.i = *(const int16_t *)p; break;
    case KN_I32: v.i = *(const int32_t *)p; break;
    case KN_U8: v.i = *(const uint8_t *)p; break;
    case KN_U16: v.i = *(const uint16_t *)p; break;
    case KN_U32: v.i = *(const uint32_t *)p; break;
    case KN_I64:
    case KN_U64: v.i = *(const int64_t *)p; break;
    case KN_F16:
    case KN_BF16: v.f = half_value(t, *(const uint16_t *)p); break;
    case KN_F32: v.f = (double)*(const float *)p; break;
    case KN_F64: v.f = *(const double *)p; break;
    case KN_C64:
        v.f = (double)((const float *)p)[0];
        v.im = (double)((const float *)p)[1];
        break;
    case KN_C128:
        v.f = ((const double *)p)[0];
        v.im = ((const double *)p)[1];
        break;
    case KN_NO_DTYPE:
    case KN_DTYPE_LIMIT: break;
    }
    return v;
}

void kn_scalar_store(kn_scalar v, void *p)
{
    switch (v.dtype) {
    case KN_BOOL: *(uint8_t *)p = v.i != 0; break;
    case KN_I8:
    case KN_U8: *(uint8_t *)p = (uint8_t)v.i; break;
    case KN_I16:
    case KN_U16: *(uint16_t *)p = (uint16_t)v.i; break;
    case KN_I32:
    case KN_U32: *(uint32_t *)p = (uint32_t)v.i; break;
    case KN_I64:
    case KN_U64: *(int64_t *)p = v.i; break;
    case KN_F16:
    case KN_BF16: *(uint16_t *)p = half_bits(v.dtype, v.f); break;
    case KN_F32: *(float *)p = (float)v.f; break;
    case KN_F64: *(double *)p = v.f; break;
    case KN_C64:
        ((float *)p)[0] = (float)v.f;
        ((float *)p)[1] = (float)v.im;
        break;
    case KN_C128:
        ((double *)p)[0] = v.f;
        ((double *)p)[1] = v.im;
        break;
    case KN_NO_DTYPE:
    case KN_DTYPE_LIMIT: break;
    }
}
