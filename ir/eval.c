#include <math.h>

#include "ir/eval_impl.h"
#include "ir/special.h"

/* Field by field: an initialiser becomes wide stores across fields, behind which a load of one field stalls. */
static kn_scalar of_float(kn_dtype t, double f)
{
    kn_scalar v;
    v.dtype = t;
    v.f = kn_round(t, f);
    v.im = 0;
    return v;
}

static kn_scalar of_int(kn_dtype t, uint64_t i)
{
    kn_scalar v;
    v.dtype = t;
    v.i = kn_int_wrap(t, i);
    v.im = 0;
    return v;
}

static kn_scalar of_bool(bool b) { return of_int(KN_BOOL, b); }

/* Truncated, and modulo 2^bits where the type is narrower than the conversion that x86 has for it: i32 for
 * types of 8 and 16 bits, i64 for u32, and for u64 i64 below 2^63 and from there on. Out of that conversion's
 * range, and NaN: its smallest integer. */
static kn_scalar int_of_float(double f, kn_dtype to)
{
    bool narrow = kn_bytes(to) < 4 || to == KN_I32;
    double high = narrow ? 0x1p31 : 0x1p63;
    uint64_t smallest = narrow ? (uint64_t)INT32_MIN : 1ull << 63, upper = 0;
    if (to == KN_U64 && f >= 0x1p63) {
        f -= 0x1p63;
        upper = 1ull << 63;
    }
    bool fits = trunc(f) >= -high && f < high;
    return of_int(to, (fits ? (uint64_t)(int64_t)f : smallest) ^ upper);
}

kn_scalar kn_eval_cast(kn_scalar v, kn_dtype to)
{
    if (to == KN_BOOL && kn_is_complex(v.dtype))
        return of_int(to, v.f != 0 || v.im != 0);
    if (kn_is_complex(to)) {
        kn_scalar real = kn_eval_cast((kn_scalar){kn_real_of(v.dtype), {v.i}, 0}, kn_real_of(to));
        return (kn_scalar){.dtype = to, .f = real.f, .im = kn_round(to, v.im)};
    }
    bool from_float = kn_is_inexact(v.dtype);
    if (to == KN_BOOL)
        return of_int(to, from_float ? v.f != 0 : v.i != 0);
    if (!kn_is_float(to))
        return from_float ? int_of_float(v.f, to) : of_int(to, (uint64_t)v.i);
    if (from_float)
        return of_float(to, v.f);
    if (to == KN_F64)
        return of_float(to, kn_scalar_number(v));
    /* 64-bit integers round once to f32, and from there to a 16-bit float */
    return of_float(to, (double)(v.dtype == KN_U64 ? (float)(uint64_t)v.i : (float)v.i));
}

static int64_t floor_div_int(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a); /* the smallest integer wraps */
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t mod_int(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static uint64_t pow_int(int64_t base, int64_t exp)
{
    if (exp < 0) /* NumPy raises; the whole part of 1 / base**-exp */
        return base == 1 ? 1 : base == -1 ? (exp & 1 ? (uint64_t)-1 : 1) : 0;
    uint64_t result = 1, b = (uint64_t)base;
    for (; exp; exp >>= 1, b *= b)
        if (exp & 1)
            result *= b;
    return result;
}

static double mod_float(double a, double b)
{
    double r = fmod(a, b);
    if (b != 0 && r != 0 && (r < 0) != (b < 0))
        r += b;
    else if (r == 0)
        r = copysign(0.0, b);
    return r;
}

/* The quotient of a - remainder, rounded to a whole number, as NumPy and Python have it. */
static double floor_div_float(double a, double b)
{
    if (b == 0)
        return a / b;
    double r = fmod(a, b), q = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0))
        q -= 1;
    if (q == 0)
        return copysign(0.0, a / b);
    double whole = floor(q);
    return q - whole > 0.5 ? whole + 1 : whole;
}

/* Operations of one operand that a function is there for. */
static double (*const functions[KN_OP_COUNT])(double) = {
    [KN_OP_SQRT] = sqrt,     [KN_OP_EXP] = exp,          [KN_OP_LOG] = log,
    [KN_OP_TANH] = tanh,     [KN_OP_SIN] = sin,          [KN_OP_COS] = cos,
    [KN_OP_EXP2] = exp2,     [KN_OP_EXPM1] = expm1,      [KN_OP_LOG2] = log2,
    [KN_OP_LOG10] = log10,   [KN_OP_LOG1P] = log1p,      [KN_OP_CBRT] = cbrt,
    [KN_OP_TAN] = tan,       [KN_OP_ARCSIN] = asin,      [KN_OP_ARCCOS] = acos,
    [KN_OP_ARCTAN] = atan,   [KN_OP_SINH] = sinh,        [KN_OP_COSH] = cosh,
    [KN_OP_ARCSINH] = asinh, [KN_OP_ARCCOSH] = acosh,    [KN_OP_ARCTANH] = atanh,
    [KN_OP_ERF] = erf,       [KN_OP_ERFC] = erfc,        [KN_OP_ERFINV] = kn_erfinv,
    [KN_OP_GAMMA] = tgamma,  [KN_OP_LGAMMA] = kn_lgamma, [KN_OP_FLOOR] = floor,
    [KN_OP_CEIL] = ceil,     [KN_OP_TRUNC] = trunc,      [KN_OP_RINT] = rint,
    [KN_OP_ABS] = fabs,
};

static kn_scalar eval_float(kn_op op, kn_dtype t, double a, double b)
{
    int exponent;
    if (functions[op])
        return of_float(t, functions[op](a));
    switch (op) {
    case KN_OP_ADD: return of_float(t, a + b);
    case KN_OP_SUB: return of_float(t, a - b);
    case KN_OP_MUL: return of_float(t, a * b);
    case KN_OP_DIV: return of_float(t, a / b);
    case KN_OP_FLOORDIV: return of_float(t, floor_div_float(a, b));
    case KN_OP_MOD: return of_float(t, mod_float(a, b));
    case KN_OP_POW: return of_float(t, pow(a, b));
    case KN_OP_NEG: return of_float(t, -a);
    case KN_OP_RSQRT: return of_float(t, 1 / sqrt(a));
    case KN_OP_ARCTAN2: return of_float(t, atan2(a, b));
    case KN_OP_HYPOT: return of_float(t, hypot(a, b));
    case KN_OP_SIGN: return of_float(t, isnan(a) ? a : (a > 0) - (a < 0));
    case KN_OP_COPYSIGN: return of_float(t, copysign(a, b));
    case KN_OP_FMOD: return of_float(t, fmod(a, b));
    case KN_OP_SCALB: return of_float(t, kn_scalb(a, b));
    case KN_OP_MANTISSA: return of_float(t, frexp(a, &exponent));
    case KN_OP_EXPONENT:
        frexp(isfinite(a) ? a : 0, &exponent);
        return of_int(KN_I32, (uint64_t)(int64_t)exponent);
    case KN_OP_FMIN:
        return isnan(b) ? of_float(t, a) : eval_float(KN_OP_MINIMUM, t, isnan(a) ? b : a, b);
    case KN_OP_FMAX:
        return isnan(b) ? of_float(t, a) : eval_float(KN_OP_MAXIMUM, t, isnan(a) ? b : a, b);
    case KN_OP_ISNAN: return of_bool(isnan(a));
    case KN_OP_ISINF: return of_bool(isinf(a));
    case KN_OP_ISFINITE: return of_bool(isfinite(a));
    case KN_OP_SIGNBIT: return of_bool(signbit(a));
    case KN_OP_MINIMUM:
        return of_float(t, isnan(a) || a < b ? a : isnan(b) ? b : a == b && signbit(a) ? a : b);
    case KN_OP_MAXIMUM:
        return of_float(t, isnan(a) || a > b ? a : isnan(b) ? b : a == b && !signbit(a) ? a : b);
    case KN_OP_LT: return of_int(KN_BOOL, a < b);
    case KN_OP_LE: return of_int(KN_BOOL, a <= b);
    case KN_OP_GT: return of_int(KN_BOOL, a > b);
    case KN_OP_GE: return of_int(KN_BOOL, a >= b);
    case KN_OP_EQ: return of_int(KN_BOOL, a == b);
    case KN_OP_NE: return of_int(KN_BOOL, a != b);
    default: return of_float(t, NAN);
    }
}

static uint64_t size_of(int64_t a) { return a < 0 ? 0 - (uint64_t)a : (uint64_t)a; }
static uint64_t bits_of(kn_dtype t) { return 8 * (uint64_t)kn_bytes(t); }

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* In the type's own arithmetic, as NumPy has it: abs of the smallest integer is itself. */
static uint64_t lcm(kn_dtype t, uint64_t a, uint64_t b)
{
    uint64_t d = gcd(a, b);
    return d ? (uint64_t)kn_int_wrap(t, a / d * b) : 0;
}

static kn_scalar eval_int(kn_op op, kn_dtype t, int64_t a, int64_t b)
{
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    switch (op) {
    case KN_OP_ADD: return of_int(t, ua + ub); /* bool: 0, 1 or 2, that is a or b */
    case KN_OP_SUB: return of_int(t, ua - ub);
    case KN_OP_MUL: return of_int(t, ua * ub);
    case KN_OP_FLOORDIV: return of_int(t, (uint64_t)floor_div_int(a, b));
    case KN_OP_MOD: return of_int(t, (uint64_t)mod_int(a, b));
    case KN_OP_POW: return of_int(t, pow_int(a, b));
    case KN_OP_NEG: return of_int(t, 0 - ua);
    case KN_OP_ABS: return of_int(t, a < 0 ? 0 - ua : ua);
    case KN_OP_FLOOR:
    case KN_OP_CEIL:
    case KN_OP_TRUNC: return of_int(t, ua);
    case KN_OP_SIGN: return of_int(t, (uint64_t)(int64_t)((a > 0) - (a < 0)));
    case KN_OP_FMOD: return of_int(t, b == 0 || b == -1 ? 0 : (uint64_t)(a % b));
    case KN_OP_BITAND: return of_int(t, ua & ub);
    case KN_OP_BITOR: return of_int(t, ua | ub);
    case KN_OP_BITXOR: return of_int(t, ua ^ ub);
    case KN_OP_INVERT: return of_int(t, ~ua);
    case KN_OP_SHL: return of_int(t, ub < bits_of(t) ? ua << ub : 0);
    case KN_OP_SHR: return of_int(t, (uint64_t)(a >> (ub < bits_of(t) ? ub : 63)));
    case KN_OP_GCD: return of_int(t, gcd(size_of(a), size_of(b)));
    case KN_OP_LCM: return of_int(t, lcm(t, size_of(a), size_of(b)));
    case KN_OP_FMIN:
    case KN_OP_MINIMUM: return of_int(t, a < b ? ua : ub);
    case KN_OP_FMAX:
    case KN_OP_MAXIMUM: return of_int(t, a > b ? ua : ub);
    case KN_OP_ISNAN:
    case KN_OP_ISINF: return of_int(KN_BOOL, 0);
    case KN_OP_ISFINITE: return of_int(KN_BOOL, 1);
    case KN_OP_SIGNBIT:
    case KN_OP_LT: return of_int(KN_BOOL, a < b);
    case KN_OP_LE: return of_int(KN_BOOL, a <= b);
    case KN_OP_GT: return of_int(KN_BOOL, a > b);
    case KN_OP_GE: return of_int(KN_BOOL, a >= b);
    case KN_OP_EQ: return of_int(KN_BOOL, a == b);
    case KN_OP_NE: return of_int(KN_BOOL, a != b);
    case KN_OP_AND: return of_int(KN_BOOL, a && b);
    case KN_OP_OR: return of_int(KN_BOOL, a || b);
    case KN_OP_NOT: return of_int(KN_BOOL, !a);
    default: return of_int(t, 0);
    }
}

static uint64_t pow_unsigned(uint64_t base, uint64_t exp)
{
    uint64_t result = 1;
    for (; exp; exp >>= 1, base *= base)
        if (exp & 1)
            result *= base;
    return result;
}

/* Where unsigned integers differ from signed ones. */
static kn_scalar eval_unsigned(kn_op op, kn_dtype t, kn_scalar x, kn_scalar y)
{
    uint64_t a = (uint64_t)x.i, b = (uint64_t)y.i;
    switch (op) {
    case KN_OP_FLOORDIV: return of_int(t, b ? a / b : 0);
    case KN_OP_MOD: return of_int(t, b ? a % b : 0);
    case KN_OP_POW: return of_int(t, pow_unsigned(a, b));
    case KN_OP_ABS: return x;
    case KN_OP_SIGN: return of_int(t, a != 0);
    case KN_OP_FMOD: return of_int(t, b ? a % b : 0);
    case KN_OP_SHR: return of_int(t, b < bits_of(t) ? a >> b : 0);
    case KN_OP_GCD: return of_int(t, gcd(a, b));
    case KN_OP_LCM: return of_int(t, lcm(t, a, b));
    case KN_OP_FMIN:
    case KN_OP_MINIMUM: return a < b ? x : y;
    case KN_OP_FMAX:
    case KN_OP_MAXIMUM: return a > b ? x : y;
    case KN_OP_SIGNBIT: return of_int(KN_BOOL, 0);
    case KN_OP_LT: return of_int(KN_BOOL, a < b);
    case KN_OP_LE: return of_int(KN_BOOL, a <= b);
    case KN_OP_GT: return of_int(KN_BOOL, a > b);
    case KN_OP_GE: return of_int(KN_BOOL, a >= b);
    default: return eval_int(op, t, x.i, y.i);
    }
}

kn_scalar kn_eval(kn_op op, kn_dtype dtype, const kn_scalar *in)
{
    if (op == KN_OP_CAST)
        return kn_eval_cast(in[0], dtype);
    if (op == KN_OP_COPY)
        return in[0];
    if (op == KN_OP_WHERE)
        return in[0].i ? in[1] : in[2];
    if (op == KN_OP_PAIR)
        return (kn_scalar){.dtype = dtype, .f = in[0].f, .im = in[1].f};
    if (kn_is_float(in[0].dtype))
        return eval_float(op, dtype, in[0].f, kn_ops[op].arity > 1 ? in[1].f : 0);
    kn_scalar y = kn_ops[op].arity > 1 ? in[1] : (kn_scalar){.dtype = in[0].dtype};
    if (kn_is_complex(in[0].dtype))
        return kn_eval_complex(op, dtype, in[0], y);
    return kn_is_unsigned(in[0].dtype) ? eval_unsigned(op, dtype, in[0], y)
                                       : eval_int(op, dtype, in[0].i, y.i);
}

kn_scalar kn_identity(kn_op reduce, kn_dtype t)
{
    bool f = kn_is_inexact(t);
    if (kn_is_complex(t) && (reduce == KN_OP_MIN || reduce == KN_OP_MAX)) {
        const double far = reduce == KN_OP_MIN ? INFINITY : -INFINITY;
        return (kn_scalar){.dtype = t, .f = far, .im = far};
    }
    switch (reduce) {
    case KN_OP_PROD: return f ? of_float(t, 1) : of_int(t, 1);
    case KN_OP_ALL: return of_int(t, 1);
    case KN_OP_MIN: return f ? of_float(t, INFINITY) : (kn_scalar){.dtype = t, .i = kn_int_max(t)};
    case KN_OP_MAX: return f ? of_float(t, -INFINITY) : (kn_scalar){.dtype = t, .i = kn_int_min(t)};
    default: return f ? of_float(t, 0) : of_int(t, 0);
    }
}
