#include "tests/sweep/sweep.h"

#include <math.h>

/* ---- numbers ---- */

number number_load(kn_dtype t, const void *element)
{
    kn_scalar s = kn_scalar_load(t, element);
    if (kn_is_float(t))
        return (number){.f = (long double)s.f};
    return (number){.whole = true, .i = kn_is_unsigned(t) ? (wide)(uint64_t)s.i : (wide)s.i};
}

static wide wrapped(kn_dtype t, wide v)
{
    int64_t i = kn_int_wrap(t, (uint64_t)v);
    return t == KN_BOOL ? v != 0 : kn_is_unsigned(t) ? (wide)(uint64_t)i : (wide)i;
}

long double number_round(kn_dtype t, long double x)
{
    return t == KN_F64   ? (long double)(double)x
           : t == KN_F32 ? (long double)(float)x
                         : (long double)kn_round(t, (double)x);
}

long double number_ulp(kn_dtype t, long double x)
{
    long double least = (long double)kn_least(t), most = (long double)kn_largest(t);
    x = fabsl(x) > most ? most : fabsl(x);
    if (x == 0)
        return least;
    long double ulp = ldexpl(2 * (long double)kn_unit_roundoff(t), ilogbl(x));
    return ulp < least ? least : ulp;
}

/* docs/language.md: through i32 for types of 8 and 16 bits, through i64 for wider ones, u64 counting on. */
static wide truncated(long double f, kn_dtype to)
{
    bool narrow = kn_bytes(to) < 4 || to == KN_I32;
    wide limit = (wide)1 << (narrow ? 31 : 63), upper = 0;
    if (to == KN_U64 && f >= (long double)limit) {
        f -= (long double)limit;
        upper = limit;
    }
    f = truncl(f);
    bool fits = f >= -(long double)limit && f < (long double)limit;
    return wrapped(to, (fits ? (wide)f : -limit) + upper);
}

number number_cast(number v, kn_dtype from, kn_dtype to)
{
    if (to == KN_BOOL)
        return (number){.whole = true, .i = v.whole ? v.i != 0 : v.f != 0};
    if (!kn_is_float(to))
        return (number){.whole = true, .i = v.whole ? wrapped(to, v.i) : truncated(v.f, to)};
    long double f = v.whole ? (long double)v.i : v.f;
    if ((kn_bytes(from) == 8 && v.whole && kn_is_half(to)) || to == KN_BF16)
        f = (long double)(float)f;
    return (number){.f = number_round(to, f)};
}

/* ---- types ---- */

static kn_dtype formula_operand(kn_op op, kn_dtype t)
{
    bool is_bool = t == KN_BOOL;
    switch (op) {
    case KN_OP_POSITIVE: return is_bool ? KN_NO_DTYPE : t;
    case KN_OP_SQUARE:
    case KN_OP_RECIPROCAL: return is_bool ? KN_I8 : t;
    case KN_OP_RELU: return is_bool ? KN_I64 : t;
    case KN_OP_ROUND: return is_bool ? KN_F16 : t;
    case KN_OP_ANGLE: return is_bool ? KN_F64 : kn_float_of(t);
    case KN_OP_LDEXP: return kn_float_of(t);
    case KN_OP_XOR: return KN_BOOL;
    default: return t;
    }
}

kn_dtype exact_operand(kn_op op, kn_dtype t)
{
    bool is_bool = t == KN_BOOL, is_float = kn_is_float(t);
    switch (kn_ops[op].rule) {
    case KN_RULE_SIGNED: return is_bool ? KN_NO_DTYPE : t;
    case KN_RULE_INTEGER: return is_bool ? KN_I8 : t;
    case KN_RULE_FLOAT:
    case KN_RULE_EXPONENT: return kn_float_of(t);
    case KN_RULE_TRUEDIV: return is_float ? t : KN_F64;
    case KN_RULE_BITS: return is_float ? KN_NO_DTYPE : t;
    case KN_RULE_SHIFT: return is_float ? KN_NO_DTYPE : is_bool ? KN_I8 : t;
    case KN_RULE_WHOLE: return is_float || is_bool ? KN_NO_DTYPE : t;
    case KN_RULE_LOGIC: return KN_BOOL;
    case KN_RULE_COMPLEX: return op == KN_OP_CONJ && is_bool ? KN_I8 : t;
    case KN_RULE_SAME: return formula_operand(op, t);
    default: return t;
    }
}

/* ---- integers ---- */

static wide magnitude(wide a) { return a < 0 ? -a : a; }

static wide divisor(wide a, wide b)
{
    while (b) {
        wide r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static wide floor_divided(wide a, wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/* Modulo 2^64. */
static wide power(wide a, wide b)
{
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    uint64_t result = 1, base = (uint64_t)a;
    for (; b; b /= 2, base *= base)
        if (b % 2)
            result *= base;
    return (wide)result;
}

static wide shifted(kn_op op, kn_dtype t, wide a, wide b)
{
    bool out = b < 0 || b >= 8 * kn_bytes(t);
    if (op == KN_OP_SHL)
        return out ? 0 : (wide)((uint64_t)a << (int)b);
    return out ? -(a < 0) : a >> (int)b;
}

static wide of_whole(kn_op op, kn_dtype t, wide a, wide b, wide c)
{
    switch (op) {
    case KN_OP_ADD: return a + b;
    case KN_OP_SUB: return a - b;
    case KN_OP_MUL: return (wide)((uint64_t)a * (uint64_t)b);
    case KN_OP_FLOORDIV: return b == 0 ? 0 : floor_divided(a, b);
    case KN_OP_MOD: return b == 0 ? 0 : a - b * floor_divided(a, b);
    case KN_OP_FMOD: return b == 0 ? 0 : a % b;
    case KN_OP_POW: return power(a, b);
    case KN_OP_SQUARE: return power(a, 2);
    case KN_OP_RECIPROCAL: return truncated(1 / (long double)a, t);
    case KN_OP_NEG: return -a;
    case KN_OP_ABS: return magnitude(a);
    case KN_OP_SIGN: return (a > 0) - (a < 0);
    case KN_OP_FMIN:
    case KN_OP_MINIMUM: return a < b ? a : b;
    case KN_OP_FMAX:
    case KN_OP_MAXIMUM: return a > b ? a : b;
    case KN_OP_RELU: return a > 0 ? a : 0;
    case KN_OP_CLIP: a = a > b ? a : b; return a < c ? a : c;
    case KN_OP_BITAND: return a & b;
    case KN_OP_BITOR: return a | b;
    case KN_OP_XOR:
    case KN_OP_BITXOR: return a ^ b;
    case KN_OP_INVERT: return t == KN_BOOL ? !a : ~a;
    case KN_OP_SHL:
    case KN_OP_SHR: return shifted(op, t, a, b);
    case KN_OP_GCD: return divisor(magnitude(a), magnitude(b));
    case KN_OP_LCM:
        return a == 0 || b == 0
                   ? 0
                   : (wide)((uint64_t)(magnitude(a) / divisor(magnitude(a), magnitude(b))) *
                            (uint64_t)magnitude(b));
    case KN_OP_ISNAN:
    case KN_OP_ISINF: return 0;
    case KN_OP_ISFINITE: return 1;
    case KN_OP_SIGNBIT: return a < 0;
    case KN_OP_AND: return a && b;
    case KN_OP_OR: return a || b;
    case KN_OP_NOT: return !a;
    case KN_OP_WHERE: return a ? b : c;
    case KN_OP_IMAG: return 0;
    default: return a; /* floor, copy, ... */
    }
}

/* ---- floats ---- */

static long double least(long double a, long double b) { return a != a || a < b ? a : b; }
static long double most(long double a, long double b) { return a != a || a > b ? a : b; }

static const long double PI = 3.141592653589793238462643383279502884L,
                         LN2 = 0.693147180559945309417232121458176568L,
                         SQRT_HALF = 0.707106781186547524400844362104849039L,
                         SQRT_2_PI = 0.797884560802865355879892119868763737L;

/* Python's, of exact quotients. */
static long double floor_quotient(long double a, long double b)
{
    if (b == 0)
        return a / b;
    long double r = fmodl(a, b), q = roundl((a - r) / b) - (r != 0 && (r < 0) != (b < 0));
    return q == 0 ? copysignl(0, a / b) : q;
}

static long double remainder_of(long double a, long double b)
{
    long double r = fmodl(a, b);
    if (b == 0)
        return r;
    return r == 0 ? copysignl(0, b) : (r < 0) != (b < 0) ? r + b : r;
}

/* Newton's method on erf; in the tails on log(erfc), whose slope is known from the other side too. */
static long double erfinv(long double x)
{
    const long double a = fabsl(x),
                      slope = 1.128379167095512573896158903121545172L; /* 2 / sqrt(pi) */
    if (!(a < 1))
        return a == 1 ? copysignl(INFINITY, x) : (long double)NAN;
    if (a < 1e-11L)
        return x / slope;
    long double w = -logl((1 - a) * (1 + a)), y = w > 3 ? sqrtl(w) : a / slope;
    for (int i = 0; i < 60; i++) {
        long double density = slope * expl(-y * y), tail = erfcl(y);
        long double step =
            a < 0.5L ? (erfl(y) - a) / density : -logl(tail / (1 - a)) * tail / density;
        y -= step;
        if (fabsl(step) <= 1e-12L * y) /* the next one has twice the digits, and is the last */
            i = i < 58 ? 58 : i;
    }
    return copysignl(y, x);
}

static long double lgamma_of(long double x)
{
    int sign;
    return lgammal_r(x, &sign);
}

static long double sigmoid(long double x) { return 1 / (1 + expl(-x)); }

/* log(base**a + base**b) / log(base) */
static long double log_add(long double a, long double b, long double log_base)
{
    if (a == b) /* infinities too */
        return a + LN2 / log_base;
    return most(a, b) + log1pl(expl(-fabsl(a - b) * log_base)) / log_base;
}

static long double of_formula(kn_op op, kn_dtype t, long double a, long double b, long double c)
{
    switch (op) {
    case KN_OP_CLIP: return least(most(a, b), c);
    case KN_OP_SQUARE: return a * a;
    case KN_OP_RECIPROCAL: return 1 / a;
    case KN_OP_NAN_TO_NUM:
        return a != a ? 0 : isinf(a) ? copysignl((long double)kn_largest(t), a) : a;
    case KN_OP_ROUND: return rintl(a);
    case KN_OP_FRACTION: return copysignl(isinf(a) ? 0 : a - truncl(a), a);
    case KN_OP_WHOLE: return truncl(a);
    case KN_OP_LDEXP: return ldexpl(a, b > 20000 ? 20000 : b < -20000 ? -20000 : (int)b);
    case KN_OP_FABS: return fabsl(a);
    case KN_OP_LOGADDEXP: return log_add(a, b, 1);
    case KN_OP_LOGADDEXP2: return log_add(a, b, LN2);
    case KN_OP_SINC:
        if (isinf(number_round(kn_compute_dtype(t), PI * a))) /* NaN, as in NumPy */
            return (long double)NAN;
        return a == 0 ? 1 : sinl(PI * remainderl(a, 2)) / (PI * a);
    case KN_OP_HEAVISIDE: return a != a ? a : a < 0 ? 0 : a == 0 ? b : 1;
    case KN_OP_DEG2RAD: return a * (PI / 180);
    case KN_OP_RAD2DEG: return a * (180 / PI);
    case KN_OP_SIGMOID: return sigmoid(a);
    case KN_OP_SOFTPLUS: return a > 0 ? a + log1pl(expl(-a)) : log1pl(expl(a));
    case KN_OP_SILU: return a * sigmoid(a);
    case KN_OP_GELU: return a * 0.5L * erfcl(-a * SQRT_HALF);
    case KN_OP_GELU_TANH: return a * sigmoid(2 * SQRT_2_PI * (a + 0.044715L * a * a * a));
    case KN_OP_RELU: return most(a, 0);
    case KN_OP_ANGLE: return atan2l(0, a);
    case KN_OP_LEAKY_RELU: return a < 0 ? a * b : a;
    default: return a;
    }
}

static long double of_float(kn_op op, kn_dtype t, long double a, long double b, long double c)
{
    int e;
    switch (op) {
    case KN_OP_ADD: return a + b;
    case KN_OP_SUB: return a - b;
    case KN_OP_MUL: return a * b;
    case KN_OP_DIV: return a / b;
    case KN_OP_FLOORDIV: return floor_quotient(a, b);
    case KN_OP_MOD: return remainder_of(a, b);
    case KN_OP_FMOD: return fmodl(a, b);
    case KN_OP_POW:
        return isinf(a) ? (long double)pow((double)a, (double)b)
                        : powl(a, b); /* glibc: powl(-inf, -0x1p63) is inf */
    case KN_OP_NEG: return -a;
    case KN_OP_ABS: return fabsl(a);
    case KN_OP_SQRT: return sqrtl(a);
    case KN_OP_RSQRT: return 1 / sqrtl(a);
    case KN_OP_EXP: return expl(a);
    case KN_OP_LOG: return logl(a);
    case KN_OP_TANH: return tanhl(a);
    case KN_OP_SIN: return sinl(a);
    case KN_OP_COS: return cosl(a);
    case KN_OP_EXP2: return exp2l(a);
    case KN_OP_EXPM1: return expm1l(a);
    case KN_OP_LOG2: return log2l(a);
    case KN_OP_LOG10: return log10l(a);
    case KN_OP_LOG1P: return log1pl(a);
    case KN_OP_CBRT: return cbrtl(a);
    case KN_OP_TAN: return tanl(a);
    case KN_OP_ARCSIN: return asinl(a);
    case KN_OP_ARCCOS: return acosl(a);
    case KN_OP_ARCTAN: return atanl(a);
    case KN_OP_SINH: return sinhl(a);
    case KN_OP_COSH: return coshl(a);
    case KN_OP_ARCSINH: return asinhl(a);
    case KN_OP_ARCCOSH: return acoshl(a);
    case KN_OP_ARCTANH: return atanhl(a);
    case KN_OP_ARCTAN2: return atan2l(a, b);
    case KN_OP_HYPOT: return hypotl(a, b);
    case KN_OP_ERF: return erfl(a);
    case KN_OP_ERFC: return erfcl(a);
    case KN_OP_ERFINV: return erfinv(a);
    case KN_OP_GAMMA: return tgammal(a);
    case KN_OP_LGAMMA: return lgamma_of(a);
    case KN_OP_FLOOR: return floorl(a);
    case KN_OP_CEIL: return ceill(a);
    case KN_OP_TRUNC: return truncl(a);
    case KN_OP_RINT: return rintl(a);
    case KN_OP_SIGN: return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a;
    case KN_OP_COPYSIGN: return copysignl(a, b);
    case KN_OP_SCALB:
        return b != b ? b : ldexpl(a, b > 20000 ? 20000 : b < -20000 ? -20000 : (int)b);
    case KN_OP_MANTISSA: return isfinite(a) ? frexpl(a, &e) : a;
    case KN_OP_MINIMUM: return least(a, b);
    case KN_OP_MAXIMUM: return most(a, b);
    case KN_OP_FMIN: return a != a ? b : b != b ? a : least(a, b);
    case KN_OP_FMAX: return a != a ? b : b != b ? a : most(a, b);
    case KN_OP_WHERE: return a != 0 ? b : c;
    case KN_OP_IMAG: return 0;
    default: return of_formula(op, t, a, b, c);
    }
}

/* ---- both ---- */

/* *out: the result of a test or a comparison. */
static bool of_test(kn_op op, const number *x, wide *out)
{
    bool whole = x[0].whole;
    wide a = x[0].i, b = x[1].i;
    long double f = x[0].f, g = x[1].f;
    int e = 0;
    switch (op) {
    case KN_OP_LT: *out = whole ? a < b : f < g; return true;
    case KN_OP_LE: *out = whole ? a <= b : f <= g; return true;
    case KN_OP_GT: *out = whole ? a > b : f > g; return true;
    case KN_OP_GE: *out = whole ? a >= b : f >= g; return true;
    case KN_OP_EQ: *out = whole ? a == b : f == g; return true;
    case KN_OP_NE: *out = whole ? a != b : f != g; return true;
    default: break;
    }
    if (whole)
        return false;
    switch (op) {
    case KN_OP_ISNAN: *out = f != f; return true;
    case KN_OP_ISINF: *out = isinf(f) != 0; return true;
    case KN_OP_ISFINITE: *out = isfinite(f) != 0; return true;
    case KN_OP_SIGNBIT: *out = signbit(f) != 0; return true;
    case KN_OP_EXPONENT:
        if (isfinite(f))
            frexpl(f, &e);
        *out = e;
        return true;
    default: return false;
    }
}

number exact_result(kn_op op, kn_dtype t, const number *x)
{
    wide whole;
    if (of_test(op, x, &whole))
        return (number){.whole = true, .i = whole};
    if (!kn_is_float(t))
        return (number){.whole = true, .i = of_whole(op, t, x[0].i, x[1].i, x[2].i)};
    number c = x[0];
    return (number){.f = of_float(op, t, c.whole ? (long double)c.i : c.f, x[1].f, x[2].f)};
}

long double exact_magnitude(kn_op op, kn_dtype t, const number *x, number result)
{
    long double of = fabsl(result.f);
    if (op == KN_OP_SILU) /* a sigmoid that is subnormal has fewer digits */
        return most(of, fabsl(x[0].f) * (long double)(kn_least(t) / (2 * kn_unit_roundoff(t))));
    if (op == KN_OP_LGAMMA && x[0].f < 0) /* reflected: the difference of two such numbers */
        return most(of, 1 + fabsl(lgamma_of(-x[0].f)));
    for (int k = 0; k < kn_ops[op].arity && kn_ops[op].of == KN_OF_OPERANDS; k++)
        of = isfinite(x[k].f) ? most(of, fabsl(x[k].f)) : of;
    return kn_ops[op].of == KN_OF_ONE ? most(of, 1) : of;
}
