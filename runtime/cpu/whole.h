/* Functions of integers for expr.h: kn_NAME_<type>. They are defined for all operands, and wrap on overflow. */
#ifndef KN_RUNTIME_CPU_WHOLE_H
#define KN_RUNTIME_CPU_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

#define DTYPE(name, code, text, kind, bytes, ctype, cuda, numpy) typedef ctype kn_c_##name;
#include "ir/dtype.def"
#undef DTYPE
/* The type that an integer type computes in; its low bits are the result. */
typedef uint32_t kn_u_I8, kn_u_I16, kn_u_I32, kn_u_U8, kn_u_U16, kn_u_U32;
typedef uint64_t kn_u_I64, kn_u_U64;

#define KN_WRAP(D, a, op, b) ((kn_c_##D)((kn_u_##D)(a)op(kn_u_##D)(b)))

/* ---- integer division and power ---- */
#define KN_POWER_FUNCTION(D)                                                                       \
    static inline kn_c_##D kn_power_##D(kn_c_##D x, kn_u_##D n)                                    \
    {                                                                                              \
        kn_u_##D result = 1, base = (kn_u_##D)x;                                                   \
        for (; n; n /= 2) {                                                                        \
            if (n % 2)                                                                             \
                result *= base;                                                                    \
            base *= base;                                                                          \
        }                                                                                          \
        return (kn_c_##D)result;                                                                   \
    }
KN_POWER_FUNCTION(I8)
KN_POWER_FUNCTION(I16)
KN_POWER_FUNCTION(I32)
KN_POWER_FUNCTION(I64)
KN_POWER_FUNCTION(U8)
KN_POWER_FUNCTION(U16)
KN_POWER_FUNCTION(U32)
KN_POWER_FUNCTION(U64)
#undef KN_POWER_FUNCTION

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
        return kn_power_##D(x, (kn_u_##D)n);                                                       \
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
    static inline kn_c_##D kn_pow_##D(kn_c_##D x, kn_c_##D n) { return kn_power_##D(x, n); }
KN_UNSIGNED_FUNCTIONS(U8)
KN_UNSIGNED_FUNCTIONS(U16)
KN_UNSIGNED_FUNCTIONS(U32)
KN_UNSIGNED_FUNCTIONS(U64)
#undef KN_UNSIGNED_FUNCTIONS

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
#define KN_NOT_NEGATIVE(a) false
KN_DIVISOR_FUNCTIONS(I8, KN_NEGATIVE)
KN_DIVISOR_FUNCTIONS(I16, KN_NEGATIVE)
KN_DIVISOR_FUNCTIONS(I32, KN_NEGATIVE)
KN_DIVISOR_FUNCTIONS(I64, KN_NEGATIVE)
KN_DIVISOR_FUNCTIONS(U8, KN_NOT_NEGATIVE)
KN_DIVISOR_FUNCTIONS(U16, KN_NOT_NEGATIVE)
KN_DIVISOR_FUNCTIONS(U32, KN_NOT_NEGATIVE)
KN_DIVISOR_FUNCTIONS(U64, KN_NOT_NEGATIVE)
#undef KN_DIVISOR_FUNCTIONS
#undef KN_NEGATIVE
#undef KN_NOT_NEGATIVE

#endif
