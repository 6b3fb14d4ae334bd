/* The C form of each elementwise operation: KN_E_<OP>_<KIND>(D, operands), where KIND is BOOL, INT, UINT, FLOAT or
 * COMPLEX (complex.h) and D names the operands' type (BOOL, I8, ..., C128). 16-bit floats are only moved and
 * converted. Each gives exactly what ir/eval.c defines, floats within the bounds of ops.def, and no operands have
 * undefined behaviour.
 *
 * Integers wrap, so arithmetic uses the unsigned type. Floats are never contracted or reassociated. exp, log,
 * log1p and tanh of f32 and exp of f64 have no branches, so that loops over them vectorise; other functions are the C
 * library's. With libmvec, those of mvec.c take precedence. */
#ifndef KN_RUNTIME_CPU_EXPR_H
#define KN_RUNTIME_CPU_EXPR_H

#include <math.h>

#include "ir/special.h"
#include "runtime/cpu/complex.h"
#include "runtime/cpu/real.h"
#include "runtime/cpu/whole.h"

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
#define KN_E_COPYSIGN_FLOAT(D, a, b) KN_M_##D(kn_copysign)(a, b)
#define KN_E_EXP2_FLOAT(D, a) KN_M_##D(exp2)(a)
#define KN_E_EXPM1_FLOAT(D, a) KN_M_##D(expm1)(a)
#define KN_E_LOG2_FLOAT(D, a) KN_M_##D(log2)(a)
#define KN_E_LOG10_FLOAT(D, a) KN_M_##D(log10)(a)
#define KN_E_LOG1P_FLOAT(D, a) kn_log1p_##D(a)
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
/* A shift by a negative number, or by the type's width or more, shifts out all bits. */
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
#define KN_E_SIGNBIT_FLOAT(D, a) KN_M_##D(kn_negative)(a)

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
/* The limits are exact in f32 and f64. What does not fit an i32 (or an i64, for types of 32 bits or more) becomes its
 * smallest value, and narrower types get the low bits of that. */
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

#endif
