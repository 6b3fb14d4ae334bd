/* The C form of each elementwise operation: KN_E_<OP>_<KIND>(D, operands), where KIND is BOOL, INT, UINT
 * or FLOAT and D names the operands' type (BOOL, I8, ..., F64). 16-bit floats are only moved and converted. Each gives exactly what
 * ir/eval.c defines, floats within the bounds of ops.def. Nothing here has undefined behaviour for
 * any operands.
 *
 * Integers wrap, so arithmetic goes through the unsigned type. Floats are never contracted or
 * reassociated. Transcendental functions of f32 are computed in double without branches, so that
 * loops over them vectorise; those of f64 are the C library's. Where there is libmvec, mvec.c has its own. */
#ifndef KN_RUNTIME_CPU_EXPR_H
#define KN_RUNTIME_CPU_EXPR_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ir/special.h"

#define DTYPE(name, code, text, kind, bytes, ctype, cuda, numpy) typedef ctype kn_c_##name;
#include "ir/dtype.def"
#undef DTYPE
/* What an integer type is computed in; its low bits are the result. */
typedef uint32_t kn_u_I8, kn_u_I16, kn_u_I32, kn_u_U8, kn_u_U16, kn_u_U32;
typedef uint64_t kn_u_I64, kn_u_U64;

#define KN_WRAP(D, a, op, b) ((kn_c_##D)((kn_u_##D)(a)op(kn_u_##D)(b)))
/* The C library's function of the type: KN_M_F32(sqrt) is sqrtf. */
#define KN_M_F32(fn) fn##f
#define KN_M_F64(fn) fn

/* ---- arithmetic ---- */
#define KN_E_ADD_BOOL(D, a, b) ((a) | (b))
#define KN_E_ADD_INT(D, a, b) KN_WRAP(D, a, +, b)
#define KN_E_ADD_UINT KN_E_ADD_INT
#define KN_E_ADD_FLOAT(D, a, b) ((a) + (b))
#define KN_E_SUB_INT(D, a, b) KN_WRAP(D, a, -, b)
#define KN_E_SUB_UINT KN_E_SUB_INT
#define KN_E_SUB_FLOAT(D, a, b) ((a) - (b))
#define KN_E_MUL_BOOL(D, a, b) ((a) & (b))
#define KN_E_MUL_INT(D, a, b) KN_WRAP(D, a, *, b)
#define KN_E_MUL_UINT KN_E_MUL_INT
#define KN_E_MUL_FLOAT(D, a, b) ((a) * (b))
#define KN_E_DIV_FLOAT(D, a, b) ((a) / (b))
#define KN_E_FLOORDIV_INT(D, a, b) kn_floordiv_##D(a, b)
#define KN_E_FLOORDIV_UINT KN_E_FLOORDIV_INT
#define KN_E_FLOORDIV_FLOAT(D, a, b) kn_floordiv_##D(a, b)
#define KN_E_MOD_INT(D, a, b) kn_mod_##D(a, b)
#define KN_E_MOD_UINT KN_E_MOD_INT
#define KN_E_MOD_FLOAT(D, a, b) kn_mod_##D(a, b)
#define KN_E_POW_INT(D, a, b) kn_pow_##D(a, b)
#define KN_E_POW_UINT KN_E_POW_INT
#define KN_E_POW_FLOAT(D, a, b) KN_M_##D(pow)(a, b)
#define KN_E_NEG_INT(D, a) KN_WRAP(D, 0, -, a)
#define KN_E_NEG_UINT KN_E_NEG_INT
#define KN_E_NEG_FLOAT(D, a) (-(a))
#define KN_E_ABS_BOOL(D, a) (a)
#define KN_E_ABS_UINT(D, a) (a)
#define KN_E_ABS_INT(D, a) ((a) < 0 ? KN_WRAP(D, 0, -, a) : (a))
#define KN_E_ABS_FLOAT(D, a) KN_M_##D(fabs)(a)
#define KN_E_SQRT_FLOAT(D, a) KN_M_##D(sqrt)(a)
#define KN_E_RSQRT_FLOAT(D, a) ((kn_c_##D)1 / KN_M_##D(sqrt)(a))
#define KN_E_EXP_FLOAT(D, a) kn_exp_##D(a)
#define KN_E_LOG_FLOAT(D, a) kn_log_##D(a)
#define KN_E_TANH_FLOAT(D, a) kn_tanh_##D(a)
#define KN_E_SIN_FLOAT(D, a) KN_M_##D(sin)(a)
#define KN_E_COS_FLOAT(D, a) KN_M_##D(cos)(a)
#define KN_E_FLOOR_BOOL(D, a) (a)
#define KN_E_FLOOR_INT(D, a) (a)
#define KN_E_FLOOR_UINT KN_E_FLOOR_INT
#define KN_E_FLOOR_FLOAT(D, a) KN_M_##D(floor)(a)
#define KN_E_CEIL_BOOL(D, a) (a)
#define KN_E_CEIL_INT(D, a) (a)
#define KN_E_CEIL_UINT KN_E_CEIL_INT
#define KN_E_CEIL_FLOAT(D, a) KN_M_##D(ceil)(a)

#define KN_E_TRUNC_BOOL(D, a) (a)
#define KN_E_TRUNC_INT(D, a) (a)
#define KN_E_TRUNC_UINT(D, a) (a)
#define KN_E_TRUNC_FLOAT(D, a) KN_M_##D(trunc)(a)
#define KN_E_RINT_FLOAT(D, a) KN_M_##D(rint)(a)
#define KN_E_SIGN_INT(D, a) (((a) > 0) - ((a) < 0))
#define KN_E_SIGN_UINT(D, a) ((a) != 0)
#define KN_E_SIGN_FLOAT(D, a) ((a) > 0 ? 1 : (a) < 0 ? -1 : (a) == 0 ? 0 : (a))
#define KN_E_COPYSIGN_FLOAT(D, a, b) KN_M_##D(copysign)(a, b)
#define KN_E_EXP2_FLOAT(D, a) KN_M_##D(exp2)(a)
#define KN_E_EXPM1_FLOAT(D, a) KN_M_##D(expm1)(a)
#define KN_E_LOG2_FLOAT(D, a) KN_M_##D(log2)(a)
#define KN_E_LOG10_FLOAT(D, a) KN_M_##D(log10)(a)
#define KN_E_LOG1P_FLOAT(D, a) KN_M_##D(log1p)(a)
#define KN_E_CBRT_FLOAT(D, a) KN_M_##D(cbrt)(a)
#define KN_E_TAN_FLOAT(D, a) KN_M_##D(tan)(a)
#define KN_E_ARCSIN_FLOAT(D, a) KN_M_##D(asin)(a)
#define KN_E_ARCCOS_FLOAT(D, a) KN_M_##D(acos)(a)
#define KN_E_ARCTAN_FLOAT(D, a) KN_M_##D(atan)(a)
#define KN_E_SINH_FLOAT(D, a) KN_M_##D(sinh)(a)
#define KN_E_COSH_FLOAT(D, a) KN_M_##D(cosh)(a)
#define KN_E_ARCSINH_FLOAT(D, a) KN_M_##D(asinh)(a)
#define KN_E_ARCCOSH_FLOAT(D, a) KN_M_##D(acosh)(a)
#define KN_E_ARCTANH_FLOAT(D, a) KN_M_##D(atanh)(a)
#define KN_E_ARCTAN2_FLOAT(D, a, b) KN_M_##D(atan2)(a, b)
#define KN_E_HYPOT_FLOAT(D, a, b) KN_M_##D(hypot)(a, b)
#define KN_E_ERF_FLOAT(D, a) KN_M_##D(erf)(a)
#define KN_E_ERFC_FLOAT(D, a) KN_M_##D(erfc)(a)
#define KN_E_ERFINV_FLOAT(D, a) ((kn_c_##D)kn_erfinv((double)(a)))
#define KN_E_GAMMA_FLOAT(D, a) ((kn_c_##D)tgamma((double)(a)))
#define KN_E_LGAMMA_FLOAT(D, a) ((kn_c_##D)kn_lgamma((double)(a)))
#define KN_E_FMOD_INT(D, a, b) ((b) == 0 || (b) == -1 ? 0 : (a) % (b))
#define KN_E_FMOD_UINT(D, a, b) ((b) == 0 ? 0 : (a) % (b))
#define KN_E_FMOD_FLOAT(D, a, b) KN_M_##D(fmod)(a, b)
#define KN_E_SCALB_FLOAT(D, a, b) ((kn_c_##D)kn_scalb((double)(a), (double)(b)))
#define KN_E_MANTISSA_FLOAT(D, a) KN_M_##D(kn_mantissa)(a)
#define KN_E_EXPONENT_FLOAT(D, a) kn_exponent((double)(a))

#define KN_E_MINIMUM_BOOL(D, a, b) ((a) & (b))
#define KN_E_MINIMUM_INT(D, a, b) ((a) < (b) ? (a) : (b))
#define KN_E_MINIMUM_UINT KN_E_MINIMUM_INT
#define KN_E_MINIMUM_FLOAT(D, a, b) kn_minimum_##D(a, b)
#define KN_E_MAXIMUM_BOOL(D, a, b) ((a) | (b))
#define KN_E_MAXIMUM_INT(D, a, b) ((a) > (b) ? (a) : (b))
#define KN_E_MAXIMUM_UINT KN_E_MAXIMUM_INT
#define KN_E_MAXIMUM_FLOAT(D, a, b) kn_maximum_##D(a, b)

#define KN_E_FMIN_BOOL KN_E_MINIMUM_BOOL
#define KN_E_FMIN_INT KN_E_MINIMUM_INT
#define KN_E_FMIN_UINT KN_E_MINIMUM_UINT
#define KN_E_FMIN_FLOAT(D, a, b) ((a) != (a) ? (b) : (b) != (b) ? (a) : kn_minimum_##D(a, b))
#define KN_E_FMAX_BOOL KN_E_MAXIMUM_BOOL
#define KN_E_FMAX_INT KN_E_MAXIMUM_INT
#define KN_E_FMAX_UINT KN_E_MAXIMUM_UINT
#define KN_E_FMAX_FLOAT(D, a, b) ((a) != (a) ? (b) : (b) != (b) ? (a) : kn_maximum_##D(a, b))

/* ---- bits ---- */
#define KN_E_BITAND_INT(D, a, b) ((a) & (b))
#define KN_E_BITAND_UINT KN_E_BITAND_INT
#define KN_E_BITOR_INT(D, a, b) ((a) | (b))
#define KN_E_BITOR_UINT KN_E_BITOR_INT
#define KN_E_BITXOR_INT(D, a, b) ((a) ^ (b))
#define KN_E_BITXOR_UINT KN_E_BITXOR_INT
#define KN_E_INVERT_INT(D, a) (~(a))
#define KN_E_INVERT_UINT(D, a) (~(a))
/* A shift by the type's width and more, or by a negative number, shifts everything out. */
#define KN_WIDTH(D) (8 * sizeof(kn_c_##D))
#define KN_E_SHL_INT(D, a, b)                                                                      \
    ((kn_u_##D)(b) < KN_WIDTH(D) ? (kn_c_##D)((kn_u_##D)(a) << (b)) : (kn_c_##D)0)
#define KN_E_SHL_UINT KN_E_SHL_INT
#define KN_E_SHR_INT(D, a, b)                                                                      \
    ((kn_c_##D)((a) >> ((kn_u_##D)(b) < KN_WIDTH(D) ? (int)(b) : (int)KN_WIDTH(D) - 1)))
#define KN_E_SHR_UINT(D, a, b) ((kn_c_##D)((kn_u_##D)(b) < KN_WIDTH(D) ? (a) >> (b) : 0))
#define KN_E_GCD_INT(D, a, b) kn_gcd_##D(a, b)
#define KN_E_GCD_UINT KN_E_GCD_INT
#define KN_E_LCM_INT(D, a, b) kn_lcm_##D(a, b)
#define KN_E_LCM_UINT KN_E_LCM_INT

/* ---- tests ---- */
#define KN_E_ISNAN_BOOL(D, a) ((void)(a), 0)
#define KN_E_ISNAN_INT KN_E_ISNAN_BOOL
#define KN_E_ISNAN_UINT KN_E_ISNAN_BOOL
#define KN_E_ISNAN_FLOAT(D, a) ((a) != (a))
#define KN_E_ISINF_BOOL KN_E_ISNAN_BOOL
#define KN_E_ISINF_INT KN_E_ISNAN_BOOL
#define KN_E_ISINF_UINT KN_E_ISNAN_BOOL
#define KN_E_ISINF_FLOAT(D, a) (KN_M_##D(fabs)(a) == INFINITY)
#define KN_E_ISFINITE_BOOL(D, a) ((void)(a), 1)
#define KN_E_ISFINITE_INT KN_E_ISFINITE_BOOL
#define KN_E_ISFINITE_UINT KN_E_ISFINITE_BOOL
#define KN_E_ISFINITE_FLOAT(D, a) (KN_M_##D(fabs)(a) < INFINITY)
#define KN_E_SIGNBIT_BOOL KN_E_ISNAN_BOOL
#define KN_E_SIGNBIT_INT(D, a) ((a) < 0)
#define KN_E_SIGNBIT_UINT KN_E_ISNAN_BOOL
#define KN_E_SIGNBIT_FLOAT(D, a) (KN_M_##D(copysign)(1, a) < 0)

/* ---- comparison, logic, selection ---- */
#define KN_E_LT_BOOL(D, a, b) ((a) < (b))
#define KN_E_LT_INT KN_E_LT_BOOL
#define KN_E_LT_UINT KN_E_LT_BOOL
#define KN_E_LT_FLOAT KN_E_LT_BOOL
#define KN_E_LE_BOOL(D, a, b) ((a) <= (b))
#define KN_E_LE_INT KN_E_LE_BOOL
#define KN_E_LE_UINT KN_E_LE_BOOL
#define KN_E_LE_FLOAT KN_E_LE_BOOL
#define KN_E_GT_BOOL(D, a, b) ((a) > (b))
#define KN_E_GT_INT KN_E_GT_BOOL
#define KN_E_GT_UINT KN_E_GT_BOOL
#define KN_E_GT_FLOAT KN_E_GT_BOOL
#define KN_E_GE_BOOL(D, a, b) ((a) >= (b))
#define KN_E_GE_INT KN_E_GE_BOOL
#define KN_E_GE_UINT KN_E_GE_BOOL
#define KN_E_GE_FLOAT KN_E_GE_BOOL
#define KN_E_EQ_BOOL(D, a, b) ((a) == (b))
#define KN_E_EQ_INT KN_E_EQ_BOOL
#define KN_E_EQ_UINT KN_E_EQ_BOOL
#define KN_E_EQ_FLOAT KN_E_EQ_BOOL
#define KN_E_NE_BOOL(D, a, b) ((a) != (b))
#define KN_E_NE_INT KN_E_NE_BOOL
#define KN_E_NE_UINT KN_E_NE_BOOL
#define KN_E_NE_FLOAT KN_E_NE_BOOL
#define KN_E_AND_BOOL(D, a, b) ((a) & (b))
#define KN_E_OR_BOOL(D, a, b) ((a) | (b))
#define KN_E_NOT_BOOL(D, a) ((a) == 0)
#define KN_E_WHERE_BOOL(D, c, a, b) ((c) ? (a) : (b))
#define KN_E_WHERE_INT KN_E_WHERE_BOOL
#define KN_E_WHERE_UINT KN_E_WHERE_BOOL
#define KN_E_WHERE_FLOAT KN_E_WHERE_BOOL
#define KN_E_WHERE_HALF KN_E_WHERE_BOOL
#define KN_E_COPY_BOOL(D, a) (a)
#define KN_E_COPY_INT(D, a) (a)
#define KN_E_COPY_UINT KN_E_COPY_INT
#define KN_E_COPY_FLOAT(D, a) (a)
#define KN_E_COPY_HALF(D, a) (a)

/* ---- conversion: KN_CAST_<kind from>_<kind to>(type to, operand) ---- */
#define KN_CAST_BOOL_BOOL(D, a) (a)
#define KN_CAST_BOOL_INT(D, a) ((kn_c_##D)(a))
#define KN_CAST_BOOL_FLOAT(D, a) ((kn_c_##D)(a))
#define KN_CAST_INT_BOOL(D, a) ((a) != 0)
#define KN_CAST_INT_INT(D, a) ((kn_c_##D)(kn_u_##D)(a))
#define KN_CAST_INT_FLOAT(D, a) ((kn_c_##D)(a))
#define KN_CAST_FLOAT_BOOL(D, a) ((a) != 0)
#define KN_CAST_FLOAT_INT(D, a) KN_FLOAT_TO_##D(a)
#define KN_CAST_FLOAT_FLOAT(D, a) ((kn_c_##D)(a))
/* The limits are exact in f32 and f64. What fits no i32 (i64 for types of 32 bits and more) becomes its
 * smallest value, and narrower types have that one's low bits. */
#define KN_FLOAT_TO_I32(a) ((a) >= -0x1p31f && (a) < 0x1p31f ? (int32_t)(a) : INT32_MIN)
#define KN_FLOAT_TO_I64(a) ((a) >= -0x1p63f && (a) < 0x1p63f ? (int64_t)(a) : INT64_MIN)
#define KN_FLOAT_TO_I8(a) ((int8_t)(uint32_t)KN_FLOAT_TO_I32(a))
#define KN_FLOAT_TO_U8(a) ((uint8_t)(uint32_t)KN_FLOAT_TO_I32(a))
#define KN_FLOAT_TO_I16(a) ((int16_t)(uint32_t)KN_FLOAT_TO_I32(a))
#define KN_FLOAT_TO_U16(a) ((uint16_t)(uint32_t)KN_FLOAT_TO_I32(a))
#define KN_FLOAT_TO_U32(a) ((uint32_t)(uint64_t)KN_FLOAT_TO_I64(a))
#define KN_FLOAT_TO_U64(a)                                                                         \
    ((a) >= 0x1p63f ? (uint64_t)KN_FLOAT_TO_I64((a)-0x1p63f) ^ 1ull << 63                          \
                    : (uint64_t)KN_FLOAT_TO_I64(a))

/* ---- identities of reductions ---- */
#define KN_MIN_I8 INT8_MIN
#define KN_MIN_I16 INT16_MIN
#define KN_MIN_I32 INT32_MIN
#define KN_MIN_I64 INT64_MIN
#define KN_MIN_U8 0
#define KN_MIN_U16 0
#define KN_MIN_U32 0
#define KN_MIN_U64 0
#define KN_MAX_I8 INT8_MAX
#define KN_MAX_I16 INT16_MAX
#define KN_MAX_I32 INT32_MAX
#define KN_MAX_I64 INT64_MAX
#define KN_MAX_U8 UINT8_MAX
#define KN_MAX_U16 UINT16_MAX
#define KN_MAX_U32 UINT32_MAX
#define KN_MAX_U64 UINT64_MAX
#define KN_ID_SUM_BOOL(D) 0
#define KN_ID_SUM_INT(D) 0
#define KN_ID_SUM_UINT KN_ID_SUM_INT
#define KN_ID_SUM_FLOAT(D) 0
#define KN_ID_PROD_BOOL(D) 1
#define KN_ID_PROD_INT(D) 1
#define KN_ID_PROD_UINT KN_ID_PROD_INT
#define KN_ID_PROD_FLOAT(D) 1
#define KN_ID_MIN_BOOL(D) 1
#define KN_ID_MIN_INT(D) KN_MAX_##D
#define KN_ID_MIN_UINT KN_ID_MIN_INT
#define KN_ID_MIN_FLOAT(D) INFINITY
#define KN_ID_MAX_BOOL(D) 0
#define KN_ID_MAX_INT(D) KN_MIN_##D
#define KN_ID_MAX_UINT KN_ID_MAX_INT
#define KN_ID_MAX_FLOAT(D) (-INFINITY)
#define KN_ID_ANY_BOOL(D) 0
#define KN_ID_ALL_BOOL(D) 1

/* ---- integer division and power ---- */
#define KN_SIGNED_FUNCTIONS(D)                                                                     \
    static inline kn_c_##D kn_floordiv_##D(kn_c_##D a, kn_c_##D b)                                 \
    {                                                                                              \
        if (b == 0)                                                                                \
            return 0;                                                                              \
        if (b == -1) /* MIN / -1 does not fit */                                                   \
            return KN_WRAP(D, 0, -, a);                                                            \
        kn_c_##D q = (kn_c_##D)(a / b);                                                            \
        return a % b != 0 && (a < 0) != (b < 0) ? (kn_c_##D)(q - 1) : q;                           \
    }                                                                                              \
    static inline kn_c_##D kn_mod_##D(kn_c_##D a, kn_c_##D b)                                      \
    {                                                                                              \
        if (b == 0 || b == -1)                                                                     \
            return 0;                                                                              \
        kn_c_##D r = (kn_c_##D)(a % b);                                                            \
        return r != 0 && (r < 0) != (b < 0) ? (kn_c_##D)(r + b) : r;                               \
    }                                                                                              \
    static inline kn_c_##D kn_pow_##D(kn_c_##D x, kn_c_##D n)                                      \
    {                                                                                              \
        if (n < 0)                                                                                 \
            return x == 1 ? 1 : x == -1 ? (n % 2 ? -1 : 1) : 0;                                    \
        kn_u_##D result = 1, base = (kn_u_##D)x;                                                   \
        for (; n; n = (kn_c_##D)(n / 2)) {                                                         \
            if (n % 2)                                                                             \
                result *= base;                                                                    \
            base *= base;                                                                          \
        }                                                                                          \
        return (kn_c_##D)result;                                                                   \
    }
KN_SIGNED_FUNCTIONS(I8)
KN_SIGNED_FUNCTIONS(I16)
KN_SIGNED_FUNCTIONS(I32)
KN_SIGNED_FUNCTIONS(I64)
#undef KN_SIGNED_FUNCTIONS

#define KN_UNSIGNED_FUNCTIONS(D)                                                                   \
    static inline kn_c_##D kn_floordiv_##D(kn_c_##D a, kn_c_##D b)                                 \
    {                                                                                              \
        return (kn_c_##D)(b == 0 ? 0 : a / b);                                                     \
    }                                                                                              \
    static inline kn_c_##D kn_mod_##D(kn_c_##D a, kn_c_##D b)                                      \
    {                                                                                              \
        return (kn_c_##D)(b == 0 ? 0 : a % b);                                                     \
    }                                                                                              \
    static inline kn_c_##D kn_pow_##D(kn_c_##D x, kn_c_##D n)                                      \
    {                                                                                              \
        kn_u_##D result = 1, base = (kn_u_##D)x;                                                   \
        for (; n; n = (kn_c_##D)(n / 2)) {                                                         \
            if (n % 2)                                                                             \
                result *= base;                                                                    \
            base *= base;                                                                          \
        }                                                                                          \
        return (kn_c_##D)result;                                                                   \
    }
KN_UNSIGNED_FUNCTIONS(U8)
KN_UNSIGNED_FUNCTIONS(U16)
KN_UNSIGNED_FUNCTIONS(U32)
KN_UNSIGNED_FUNCTIONS(U64)
#undef KN_UNSIGNED_FUNCTIONS

/* ---- 16-bit floats; without branches ---- */
static inline uint32_t kn_bits32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float kn_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float kn_F32_from_BF16(uint16_t h) { return kn_float((uint32_t)h << 16); }

static inline uint16_t kn_BF16_from_F32(float x)
{
    uint32_t u = kn_bits32(x), nearest = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (uint16_t)(x != x ? 0x7fc0 : nearest);
}

/* The exponent is shifted into place; multiplying mends its bias, and makes subnormal numbers normal. */
static inline float kn_F32_from_F16(uint16_t h)
{
    uint32_t m = h & 0x7fffu;
    uint32_t u = m >= 0x7c00 ? m << 13 | 0x7f800000 : kn_bits32(kn_float(m << 13) * 0x1p112f);
    return kn_float(u | (uint32_t)(h & 0x8000u) << 16);
}

/* Below the normal numbers, adding 1/2 rounds where the last bit is. */
static inline uint16_t kn_F16_from_F32(float x)
{
    uint32_t u = kn_bits32(x), m = u & 0x7fffffff;
    uint32_t small = kn_bits32(kn_float(m) + 0.5f) - 0x3f000000;
    uint32_t normal = (m - 0x38000000 + 0xfff + (m >> 13 & 1)) >> 13;
    uint32_t h = m < 0x38800000 ? small : normal;
    h = m >= 0x477ff000 ? 0x7c00 : h;
    h = m > 0x7f800000 ? 0x7e00 : h;
    return (uint16_t)(h | (u >> 16 & 0x8000));
}

/* To f32 with the last bit set when anything was cut off, so that rounding once more rounds as at once. */
static inline uint16_t kn_F16_from_F64(double x)
{
    float f = (float)x;
    double back = (double)f, a = back < 0 ? -back : back, b = x < 0 ? -x : x;
    uint32_t u = kn_bits32(f);
    uint32_t odd = a > b ? u - 1 : u + 1;
    u = a != b && !(u & 1) ? odd : u;
    return kn_F16_from_F32(x != x ? f : kn_float(u));
}

/* Euclid's, of absolute values; the smallest integer's is itself. */
#define KN_DIVISOR_FUNCTIONS(D, negative)                                                          \
    static inline kn_u_##D kn_magnitude_##D(kn_c_##D x)                                            \
    {                                                                                              \
        kn_u_##D u = (kn_u_##D)x;                                                                  \
        return negative(x) ? 0 - u : u;                                                            \
    }                                                                                              \
    static inline kn_u_##D kn_divisor_##D(kn_u_##D a, kn_u_##D b)                                  \
    {                                                                                              \
        while (b) {                                                                                \
            kn_u_##D r = a % b;                                                                    \
            a = b;                                                                                 \
            b = r;                                                                                 \
        }                                                                                          \
        return a;                                                                                  \
    }                                                                                              \
    static inline kn_c_##D kn_gcd_##D(kn_c_##D x, kn_c_##D y)                                      \
    {                                                                                              \
        return (kn_c_##D)kn_divisor_##D(kn_magnitude_##D(x), kn_magnitude_##D(y));                 \
    }                                                                                              \
    static inline kn_c_##D kn_lcm_##D(kn_c_##D x, kn_c_##D y)                                      \
    {                                                                                              \
        kn_u_##D a = kn_magnitude_##D(x), b = kn_magnitude_##D(y), d = kn_divisor_##D(a, b);       \
        return (kn_c_##D)(d == 0 ? 0 : a / d * b);                                                 \
    }
#define KN_NEGATIVE(a) ((a) < 0)
#define KN_NEVER(a) false
KN_DIVISOR_FUNCTIONS(I8, KN_NEGATIVE)
KN_DIVISOR_FUNCTIONS(I16, KN_NEGATIVE)
KN_DIVISOR_FUNCTIONS(I32, KN_NEGATIVE)
KN_DIVISOR_FUNCTIONS(I64, KN_NEGATIVE)
KN_DIVISOR_FUNCTIONS(U8, KN_NEVER)
KN_DIVISOR_FUNCTIONS(U16, KN_NEVER)
KN_DIVISOR_FUNCTIONS(U32, KN_NEVER)
KN_DIVISOR_FUNCTIONS(U64, KN_NEVER)
#undef KN_DIVISOR_FUNCTIONS
#undef KN_NEGATIVE
#undef KN_NEVER

/* ---- the parts of a float; the exponent of what is not finite is 0 ---- */
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

/* ---- float division: Python's, through fmod, so that a == (a // b) * b + a % b nearly ---- */
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
    double whole = floor(q); /* q is whole but for its rounding */
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
        u = (a less b) | (a != a) ? ua : ub;                                                       \
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
#define kn_exp_F64 exp
#define kn_log_F64 log
#define kn_tanh_F64 tanh

static inline uint64_t kn_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline double kn_double(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* exp(z) for |z| <= 200 or NaN, to about 2^-36: exp(z) = 2^k exp(r), |r| <= ln(2)/2, series to r^9.
 */
static inline double kn_exp_core(double z)
{
    const double shift = 0x1.8p52; /* adding it rounds to an integer, found in the low bits */
    double t = z * 0x1.71547652b82fep0 + shift;
    double r = z - (t - shift) * 0x1.62e42fefa39efp-1;
    double p = 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return p * kn_double((kn_bits(t) + 1023) << 52);
}

/* Beyond 200 the result is inf or 0 in f32 all the same, and rounding to f32 makes it so. */
static inline float kn_exp_F32(float x)
{
    double z = x;
    z = z > 200.0 ? 200.0 : z;
    z = z < -200.0 ? -200.0 : z;
    return (float)kn_exp_core(z);
}

/* log(x) = k ln(2) + log(m), sqrt(1/2) <= m < sqrt(2); log(m) = 2 atanh((m - 1) / (m + 1)). In
 * double every f32 is a normal number. */
static inline float kn_log_F32(float x)
{
    const uint64_t half = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000; /* sqrt(1/2), 1 */
    uint64_t u = kn_bits(x) + (one - half);
    double k = kn_double((u >> 52) | 0x4330000000000000) - (0x1p52 + 1023);
    double m = kn_double((u & 0x000fffffffffffff) + half);
    double s = (m - 1.0) / (m + 1.0), w = s * s;
    double p = 2.0 / 15;
    p = p * w + 2.0 / 13;
    p = p * w + 2.0 / 11;
    p = p * w + 2.0 / 9;
    p = p * w + 2.0 / 7;
    p = p * w + 2.0 / 5;
    p = p * w + 2.0 / 3;
    p = p * w + 2.0;
    float y = (float)(k * 0x1.62e42fefa39efp-1 + s * p);
    y = x < INFINITY ? y : x; /* inf, NaN */
    y = x < 0 ? NAN : y;
    return x == 0 ? -INFINITY : y;
}

/* 1 - 2 / (exp(2x) + 1), which cancels near 0: there the series. */
static inline float kn_tanh_F32(float x)
{
    double a = fabs((double)x), w = a * a;
    double z = a > 20.0 ? 20.0 : a;
    double far = 1.0 - 2.0 / (kn_exp_core(2.0 * z) + 1.0);
    double p = 62.0 / 2835;
    p = p * w - 17.0 / 315;
    p = p * w + 2.0 / 15;
    p = p * w - 1.0 / 3;
    double near = a + a * w * p;
    double y = a < 0.0625 ? near : far;
    return (float)copysign(y, (double)x);
}

#endif
