/* Functions of floats for expr.h, and conversions of 16-bit ones. */
#ifndef KN_RUNTIME_CPU_REAL_H
#define KN_RUNTIME_CPU_REAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "codegen/emit/c/functions.h"
#include "runtime/cpu/whole.h"

/* ---- 16-bit floats ---- */
/* Rounds to f32 to odd (the last bit is set if any was cut off), so that rounding again gives the correctly rounded
 * result. */
static inline uint16_t kn_F16_from_F64(double x)
{
    float f = (float)x;
    double back = (double)f, a = back < 0 ? -back : back, b = x < 0 ? -x : x;
    uint32_t u = kn_bits_of(f);
    uint32_t odd = a > b ? u - 1 : u + 1;
    u = a != b && !(u & 1) ? odd : u;
    return kn_F16_from_F32(x != x ? f : kn_of_bits(u));
}

/* ---- the parts of a float; numbers that are not finite have exponent 0 ---- */
static inline double kn_mantissa(double a)
{
    int e;
    return frexp(a, &e);
}

static inline float kn_mantissaf(float a)
{
    int e;
    return frexpf(a, &e);
}

static inline int32_t kn_exponent(double a)
{
    int e = 0;
    frexp(fabs(a) < INFINITY ? a : 0, &e);
    return e;
}

/* ---- float division as Python's, by fmod, so that a is nearly (a // b) * b + a % b ---- */
static inline double kn_mod_F64(double a, double b)
{
    double r = fmod(a, b);
    if (b == 0) /* NaN */
        return r;
    if (r == 0)
        return copysign(0.0, b);
    return (b < 0) != (r < 0) ? r + b : r;
}

static inline double kn_floordiv_F64(double a, double b)
{
    if (b == 0)
        return a / b;
    double r = fmod(a, b), q = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0))
        q -= 1;
    if (q == 0)
        return copysign(0.0, a / b);
    double whole = floor(q); /* q is an integer except for its rounding */
    return q - whole > 0.5 ? whole + 1 : whole;
}

static inline float kn_mod_F32(float a, float b) { return (float)kn_mod_F64(a, b); }
static inline float kn_floordiv_F32(float a, float b) { return (float)kn_floordiv_F64(a, b); }

/* ---- minimum and maximum: a NaN on either side wins (unequal to itself on the left, compares
 * false on the right), and -0 is less than 0 ---- */
#define KN_PICK(D, UINT, name, less, merge)                                                        \
    static inline kn_c_##D name##_##D(kn_c_##D a, kn_c_##D b)                                      \
    {                                                                                              \
        UINT ua, ub, u;                                                                            \
        memcpy(&ua, &a, sizeof ua);                                                                \
        memcpy(&ub, &b, sizeof ub);                                                                \
        u = ((a less b) | (a != a)) ? ua : ub;                                                     \
        u = a == b ? ua merge ub : u; /* the same bits, unless they are zeros */                   \
        memcpy(&a, &u, sizeof a);                                                                  \
        return a;                                                                                  \
    }
KN_PICK(F32, uint32_t, kn_minimum, <, |)
KN_PICK(F64, uint64_t, kn_minimum, <, |)
KN_PICK(F32, uint32_t, kn_maximum, >, &)
KN_PICK(F64, uint64_t, kn_maximum, >, &)
#undef KN_PICK

/* ---- transcendental functions ---- */
#define kn_exp_F32 kn_exp_f32
#define kn_exp_F64 kn_exp_f64
#define kn_log_F32 kn_log_f32
#define kn_log_F64 log
#define kn_log1p_F32 kn_log1p_f32
#define kn_log1p_F64 log1p
#define kn_tanh_F32 kn_tanh_f32
#define kn_tanh_F64 tanh

#endif
