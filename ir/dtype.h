/* Element types, and NumPy 2's rules of how they combine. */
#ifndef KN_IR_DTYPE_H
#define KN_IR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kn_dtype {
    KN_NO_DTYPE = 0,
#define DTYPE(name, code, text, kind, bytes, ctype, cuda, numpy) KN_##name = code,
#include "ir/dtype.def"
#undef DTYPE
    KN_DTYPE_LIMIT = 16
} kn_dtype;

typedef enum kn_kind {
    KN_KIND_NONE,
    KN_KIND_BOOL,
    KN_KIND_INT,
    KN_KIND_UINT,
    KN_KIND_HALF,
    KN_KIND_FLOAT,
    KN_KIND_COMPLEX
} kn_kind;

typedef struct kn_dtype_info {
    const char *text;
    kn_kind kind;
    int bytes;
    const char *cuda;
    const char *numpy;
} kn_dtype_info;

/* Indexed by kn_dtype; rows of missing codes have text NULL. */
extern const kn_dtype_info kn_dtypes[KN_DTYPE_LIMIT];

bool kn_dtype_valid(int dtype);
/* KN_NO_DTYPE when `text` names none. */
kn_dtype kn_dtype_find(const char *text, size_t len);
/* NumPy's result type of two array operands. bf16 as ml_dtypes has it: it holds bool, i8 and u8, and meets f16
 * and the 16-bit integers in f32, wider integers in f64. */
kn_dtype kn_promote(kn_dtype a, kn_dtype b);
/* The type of a complex number's parts; a real type's own. */
kn_dtype kn_real_of(kn_dtype t);
/* The complex type that holds what NumPy's functions of floats make of type t: c64 up to f32, else c128. */
kn_dtype kn_complex_of(kn_dtype t);
/* The type in which NumPy's functions of floats take an operand of type t: the narrowest float that holds it
 * (bool and 8-bit integers in f16, 16-bit ones in f32, wider ones in f64); a float's or complex type's own. */
kn_dtype kn_float_of(kn_dtype t);
/* What sums and products of type t are of: 64-bit integers for bool and integers, else their own type. */
kn_dtype kn_sum_of(kn_dtype t);

/* A real float. */
static inline bool kn_is_float(kn_dtype t)
{
    return kn_dtypes[t].kind == KN_KIND_HALF || kn_dtypes[t].kind == KN_KIND_FLOAT;
}
static inline bool kn_is_complex(kn_dtype t) { return kn_dtypes[t].kind == KN_KIND_COMPLEX; }
/* A float or a complex type. */
static inline bool kn_is_inexact(kn_dtype t) { return kn_dtypes[t].kind >= KN_KIND_HALF; }
static inline bool kn_is_half(kn_dtype t) { return kn_dtypes[t].kind == KN_KIND_HALF; }
static inline bool kn_is_unsigned(kn_dtype t) { return kn_dtypes[t].kind == KN_KIND_UINT; }
static inline bool kn_is_int(kn_dtype t)
{
    return kn_dtypes[t].kind == KN_KIND_INT || kn_dtypes[t].kind == KN_KIND_UINT;
}
static inline int kn_bytes(kn_dtype t) { return kn_dtypes[t].bytes; }
/* The type that devices compute in with values of type t: f32 for 16-bit floats. */
static inline kn_dtype kn_compute_dtype(kn_dtype t) { return kn_is_half(t) ? KN_F32 : t; }
/* NEP 50's order of kinds, bool < integer < float < complex: a Python number of a higher kind changes an array's
 * type. */
static inline int kn_category(kn_dtype t)
{
    return kn_dtypes[t].kind == KN_KIND_BOOL ? 0 : kn_is_int(t) ? 1 : kn_is_float(t) ? 2 : 3;
}

/* One value of any dtype: f for floats, f + im * 1j for complex numbers, i for the rest (bool is 0 or 1; u64 by its
 * bits). */
typedef struct kn_scalar {
    kn_dtype dtype;
    union {
        int64_t i;
        double f;
    };
    double im; /* 0 for all others */
} kn_scalar;

/* The value as a number, of a complex one the real part; integers of 64 bits rounded. */
static inline double kn_scalar_number(kn_scalar v)
{
    return kn_is_inexact(v.dtype)    ? v.f
           : kn_is_unsigned(v.dtype) ? (double)(uint64_t)v.i
                                     : (double)v.i;
}

/* x rounded to a float type, or that of a complex type's parts, to nearest, ties to even; overflow gives infinity. bf16
 * through f32, as ml_dtypes rounds. */
double kn_round(kn_dtype t, double x);
/* Half the distance of 1 and the next number; the smallest positive number; the largest finite one. Of a complex type:
 * its parts'. */
double kn_unit_roundoff(kn_dtype t);
double kn_least(kn_dtype t);
double kn_largest(kn_dtype t);
/* The range of an integer type or bool; u64's maximum by its bits. */
int64_t kn_int_min(kn_dtype t);
int64_t kn_int_max(kn_dtype t);
/* Does the integer type t have the number v, which is not complex, without its fraction? */
bool kn_int_fits(kn_scalar v, kn_dtype t);
/* The integer `i` modulo 2^bits of an integer type t; as bool: is it not 0? */
int64_t kn_int_wrap(kn_dtype t, uint64_t i);

/* Reads or writes one element at `p`. */
kn_scalar kn_scalar_load(kn_dtype t, const void *p);
void kn_scalar_store(kn_scalar v, void *p);

#endif
